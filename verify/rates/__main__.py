"""``python -m verify.rates``."""

from __future__ import annotations

from verify.console import leave
from verify.rates.command import main

if __name__ == "__main__":
    leave(main)
