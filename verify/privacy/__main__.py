"""``python -m verify.privacy``."""

from __future__ import annotations

from verify.console import leave
from verify.privacy.command import main

if __name__ == "__main__":
    leave(main)
