"""How many records: the bounds of a problem inverted in n.

A bound costs up to a second to evaluate, so that every evaluation counts: each lower bound is asked
only where those before it have not excluded n already, and the border is found by interpolation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from scipy import optimize

from minimax.core.bound import LowerBound, OutsideRegime
from minimax.core.privacy import Privacy, check_privacy
from minimax.core.problem import Problem

LARGEST_N = 10**15
STRIDE = 4
"""From one n that is tried to the next."""
JUMP = 128
"""Between numbers of records at which an upper bound is first looked at, from the largest down."""
EXACT_UP_TO = 10**8
"""Larger numbers of records are found up to so many parts of themselves."""
SMALLEST = 1e-300
"""Values below this count as this."""


@dataclass(frozen=True)
class Plan:
    """How many records a target risk needs, and how many are proven to be enough."""

    risk: float
    impossible_below: int
    by: str
    enough_at: int | None
    with_estimator: str


class Border(NamedTuple):
    """Two numbers of records, on either side."""

    low: int
    high: int


Excess = Callable[[int], float]
"""log(bound/risk) at an n; minus infinity where nothing is proved."""


def plan(problem: Problem, privacy: Privacy, risk: float) -> Plan:
    """Invert the bounds in n, whatever the problem's own n: both answers are true where given, and
    as near to each other as the bounds allow up to `EXACT_UP_TO`.

    The minimax risk does not grow with n, so a lower bound above `risk` at one n excludes every
    smaller n too, even where the bound itself is not proved; and what is reached with n records is
    reached with more.
    """
    check_privacy(privacy)
    excluded, by = 1, "none"
    for bound in problem.comparable_lower(type(privacy)):
        last = _last_excluded(_excess_of(bound, problem, privacy, risk), excluded)
        if last is not None:
            excluded, by = last + 1, bound.name

    @cache
    def missing(n: int) -> float:
        return _log_ratio(replace(problem, n=n).best_upper(privacy).risk, risk)

    enough = _first_proven(missing)
    return Plan(
        risk=risk,
        impossible_below=min(excluded, LARGEST_N),
        by=by,
        enough_at=enough,
        with_estimator=str(replace(problem, n=enough).best_upper(privacy)) if enough else "",
    )


def _log_ratio(value: float, risk: float) -> float:
    return math.log(max(value, SMALLEST)) - math.log(risk)


def _excess_of(bound: LowerBound, problem: Problem, privacy: Privacy, risk: float) -> Excess:
    @cache
    def excess(n: int) -> float:
        try:
            value = bound.value(**{**problem.point, "n": n}, **privacy.parameters)
        except OutsideRegime:
            return -math.inf
        return _log_ratio(value, risk)

    return excess


def _last_excluded(excess: Excess, start: int) -> int | None:
    """The last n from `start` on at which the excess is positive, if there is one.

    In its regime a bound may grow with n at first, where its proof is worth little, and falls then.
    """
    n, before, last = start, -math.inf, None
    while n <= LARGEST_N:
        here = excess(n)
        if here > 0:
            last = n
        elif last is not None:
            return _border(excess, last, n).low
        elif here < before:
            return None
        if n == LARGEST_N:
            break
        n, before = min(n * STRIDE, LARGEST_N), here
    return last


def _first_proven(missing: Excess) -> int | None:
    """The first n at which nothing is missing, if there is one."""
    if missing(1) <= 0:
        return 1
    below, n = 1, LARGEST_N
    while missing(n) > 0:  # a proof for a huge n may fail where one for fewer records does not
        n //= JUMP
        if n <= 1:
            return None
    while n > STRIDE * below:
        middle = math.isqrt(below * n)
        below, n = (below, middle) if missing(middle) <= 0 else (middle, n)
    return _border(missing, below, n).high


def _border(excess: Excess, low: int, high: int) -> Border:
    """Where a positive excess ends: it has one at low, and none at high."""

    def floored(x: float) -> float:
        return max(excess(round(x)), -1e3)

    width = max(1, low // EXACT_UP_TO)
    if high - low > width:
        near = round(optimize.brentq(floored, low, high, xtol=width / 4, rtol=1e-15, maxiter=200))
        low, high = _closer(excess, near, Border(low, high), width)
    while high - low > width:
        middle = (low + high) // 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return Border(low, high)


def _closer(excess: Excess, near: int, known: Border, step: int) -> Border:
    """A narrower border, by doubled steps about a number that is near it."""
    low, high = known
    if excess(near) > 0:
        low = near
        while near + step < high and excess(near + step) > 0:
            low, step = near + step, 2 * step
        return Border(low, min(near + step, high))
    high = near
    while near - step > low and excess(near - step) <= 0:
        high, step = near - step, 2 * step
    return Border(max(near - step, low), high)
