"""How many records: the bounds of a problem inverted in n."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from minimax.core.privacy import Privacy
from minimax.core.problem import Problem

LARGEST_N = 10**15


@dataclass(frozen=True)
class Plan:
    """How many records a target risk needs, and how many are proven to be enough."""

    risk: float
    impossible_below: int
    by: str
    enough_at: int | None
    with_estimator: str


def plan(problem: Problem, privacy: Privacy, risk: float) -> Plan:
    """Invert the bounds in n by bisection, whatever the problem's own n.

    The minimax risk does not grow with n, so a lower bound above `risk` at one n excludes every
    smaller n too, even where the bound itself is not proved.
    """

    def excluded(n: int) -> bool:
        return replace(problem, n=n).best_lower(privacy).risk > risk

    def proven(n: int) -> bool:
        return replace(problem, n=n).best_upper(privacy).risk <= risk

    powers = [2**k for k in range(LARGEST_N.bit_length())]
    low = 0
    for n in powers:
        if excluded(n):
            low = n
        elif low:  # below that, a bound may be outside its regime; above, it only falls
            break
    impossible_below = _bisect(lambda n: not excluded(n), low, 2 * low) if low else 1
    high = next((n for n in powers if proven(n)), None)
    enough = _bisect(proven, high // 2, high) if high else None
    return Plan(
        risk=risk,
        impossible_below=impossible_below,
        by=replace(problem, n=max(impossible_below - 1, 1)).best_lower(privacy).name,
        enough_at=enough,
        with_estimator=str(replace(problem, n=enough).best_upper(privacy)) if enough else "",
    )


def _bisect(condition: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest n in (low, high] at which a condition that holds at `high` begins to hold."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle, high)
    return high
