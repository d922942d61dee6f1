"""Which budget, dimension or sparsity: the bounds of a problem inverted in a number but n."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from minimax.core.privacy import Privacy
from minimax.core.problem import Problem

LEVELS = ("epsilon", "rho", "mu")
"""Privacy levels: the minimax risk does not grow with them."""
SIZES = ("d", "p", "s")
LARGEST_SIZE = 2**20
LEVEL_GRID = tuple(4.0**k for k in range(-10, 4))
"""Levels that are tried first; those of rho are half their squares, as for Gaussian noise."""
STEPS = 64
"""Of a bisection at the most: sizes are found to the last one."""
CLOSE = 1e-5
"""Levels are, to this part of them."""


@dataclass(frozen=True)
class NumberPlan:
    """At which value of a number a target risk is out of reach, and at which it is proved."""

    risk: float
    number: str
    impossible_at: float | None
    """A value at which no private estimator has the risk: of a level the largest that was found,
    and all smaller ones are excluded too; of a size the smallest."""
    by: str
    enough_at: float | None
    """A value at which an estimator is proved to have it: the least level, the largest size."""
    with_estimator: str


Asked = Callable[[float], bool]
Middle = Callable[[float, float], float]


def plan_for(problem: Problem, privacy: Privacy, risk: float, number: str) -> NumberPlan:
    """Invert the bounds in a privacy level or a size, whatever its value in problem and budget.

    Both answers are true where they are given: a lower bound above the risk at that value, and a
    proven upper bound at most the risk. For a level the first holds at all smaller ones as well,
    since a smaller budget only leaves fewer estimators. For sizes nothing is said in between.
    """

    def at(value: float) -> tuple[Problem, Privacy]:
        if number in LEVELS:
            budget: Any = privacy
            return problem, replace(budget, **{number: value})
        return replace(problem, **{number: int(value)}), privacy

    def excluded(value: float) -> bool:
        where, budget = at(value)
        return where.best_lower(budget).risk > risk

    def proven(value: float) -> bool:
        where, budget = at(value)
        return where.best_upper(budget).risk <= risk

    if number in LEVELS:
        grid = [level**2 / 2 if number == "rho" else level for level in LEVEL_GRID]
        impossible, enough = _last(excluded, grid, _between), _first(proven, grid, _between)
    else:
        sizes = _sizes(problem, number)
        impossible, enough = _first(excluded, sizes, _halfway), _last(proven, sizes, _halfway)
    lower = "" if impossible is None else at(impossible)[0].best_lower(at(impossible)[1]).name
    upper = "" if enough is None else str(at(enough)[0].best_upper(at(enough)[1]))
    return NumberPlan(risk, number, impossible, lower, enough, upper)


def _sizes(problem: Problem, number: str) -> list[float]:
    """Powers of two: dimensions from the sparsity on, sparsities up to the dimension."""
    point = problem.point
    if number == "s":
        least, largest = 1, int(point.get("d", point.get("p", LARGEST_SIZE)))
    else:
        least, largest = int(point.get("s", 1)), LARGEST_SIZE
    doubled = [least * 2**k for k in range(21) if least * 2**k < largest]
    return [*map(float, doubled), float(largest)]


def _first(asked: Asked, grid: Sequence[float], middle: Middle) -> float | None:
    """The first value at which the answer is yes, made smaller while it stays so."""
    for below, value in zip([None, *grid], grid, strict=False):
        if asked(value):
            return value if below is None else _bisected(asked, below, value, middle)
    return None


def _last(asked: Asked, grid: Sequence[float], middle: Middle) -> float | None:
    """The last value of the first run of those at which the answer is yes, made larger while it
    stays so."""
    found = None
    for value in grid:
        if asked(value):
            found = value
        elif found is not None:
            return _bisected(asked, value, found, middle)
    return found


def _bisected(asked: Asked, no: float, yes: float, middle: Middle) -> float:
    """A value near the border at which the answer is yes."""
    for _ in range(STEPS):
        tried = middle(no, yes)
        if tried in (no, yes):
            break
        no, yes = (no, tried) if asked(tried) else (tried, yes)
    return yes


def _between(no: float, yes: float) -> float:
    """Of levels; one of the two if they are close."""
    return yes if abs(no / yes - 1) < CLOSE else math.sqrt(no * yes)


def _halfway(no: float, yes: float) -> float:
    """Of sizes, which are whole numbers."""
    return (no + yes) // 2
