"""``python -m verify.contraction``: the former name of ``python -m verify.channels``."""

import sys

from verify import channels


def main(argv: list[str] | None = None) -> int:
    """Name the new command, then run it."""
    print("verify.contraction is now called verify.channels", file=sys.stderr)
    return channels.main(argv)


if __name__ == "__main__":
    sys.exit(main())
