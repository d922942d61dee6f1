"""``python -m verify.rates``."""

import sys

from verify.rates.command import main

if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted: no file was left half-written", file=sys.stderr)
        sys.exit(130)
