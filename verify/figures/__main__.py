"""``python -m verify.figures``."""

from __future__ import annotations

from verify.console import leave
from verify.figures.command import main

if __name__ == "__main__":
    leave(main)
