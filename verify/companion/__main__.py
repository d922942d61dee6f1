"""``python -m verify.companion``."""

from __future__ import annotations

from verify.companion.command import main
from verify.console import leave

if __name__ == "__main__":
    leave(main)
