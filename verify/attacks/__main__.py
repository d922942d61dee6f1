"""``python -m verify.attacks``."""

from __future__ import annotations

from verify.console import leave_from

if __name__ == "__main__":
    leave_from("verify.attacks.command")
