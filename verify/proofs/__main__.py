"""``python -m verify.proofs``."""

from __future__ import annotations

from verify.console import leave
from verify.proofs import main

if __name__ == "__main__":
    leave(main)
