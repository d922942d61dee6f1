"""How much of a long check runs: a part of it by default, all of it with ``pytest --thorough``.

Every test runs in either case. What is scaled here is how often one thing is looked at (points of a
walk, examples of a property, trials of a simulation), never what is looked at or what is asserted.
"""

from __future__ import annotations

THOROUGH = False
"""Set by `tests/conftest.py` before any test is imported."""


def part(some: int, *, of: int) -> int:
    """So many of a whole, or the whole."""
    return of if THOROUGH else some
