"""``python -m verify.rates``: does measured error stay between the bounds?

The flow, left to right: claims -> grid -> measure -> judge -> rows -> report and plots; `run` goes
through it, `command` is the command line. `special` holds what is run besides the claims.

A claim of one's own is checked in the same way:

    from verify.rates import Claim, Sweep, main
    main(["--json", "mine.json"], claims=[Claim(..., sweeps=(Sweep("privacy", base),))])
"""

from __future__ import annotations

from collections.abc import Sequence

from verify.rates.claim import Claim, Sweep

__all__ = ["Claim", "Sweep", "main"]


def main(argv: list[str] | None = None, claims: Sequence[Claim] | None = None) -> int:
    """Run the command, on claims of one's own if given; returns the exit code."""
    from verify.rates import command  # what needs one module of the package loads no other

    return command.main(argv, claims)
