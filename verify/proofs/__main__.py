"""``python -m verify.proofs``."""

from __future__ import annotations

import sys

from verify.proofs import main

if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted: no file was left half-written", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)
