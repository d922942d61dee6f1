"""``python -m verify.attacks``."""

from __future__ import annotations

from verify.attacks.command import main
from verify.console import leave

if __name__ == "__main__":
    leave(main)
