"""Every certified lower bound against the best private mechanism of a tiny problem.

The prior is the one of the bound's own proof, so the bound must not exceed the risk of any private
mechanism under it: `tests.contract.mechanisms` finds the best, by linear programming. A row enters
by standing among its problem's lower bounds. Run with ``-s`` to see bound/optimum for each.

Controls: twice a bound, and the bound for half the budget, are caught under every definition, by
mechanisms that look at the data.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from minimax.catalogue import PROBLEMS
from minimax.core.bound import LowerBound, OutsideRegime, Parts
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Pure,
    Renyi,
    ZeroConcentrated,
    parameter_names,
)
from minimax.core.problem import Problem
from minimax.methods.priors import BlockPrior, LogisticPrior, SignPrior
from minimax.methods.van_trees import ball_exponent, sign_bayes_risk
from minimax.problems.local_regression.problem import LOSSES
from tests.contract.finite_priors import (
    Reports,
    TooLarge,
    central_problem,
    finite,
    label_problem,
    local_problem,
    logistic_signs,
    signs,
)
from tests.contract.mechanisms import FiniteProblem, least_risk

BUDGETS: dict[type[Privacy], list[Privacy]] = {
    Pure: [Pure(epsilon) for epsilon in (0.05, 0.2, 0.5, 1.0, 2.0, 5.0)],
    Approximate: [
        Approximate(epsilon, delta)
        for epsilon, delta in [(0.05, 1e-6), (0.5, 1e-6), (1, 1e-3), (0.2, 0.05), (2, 0.3), (5, 1e-3)]
    ],
    ZeroConcentrated: [ZeroConcentrated(rho) for rho in (1e-3, 0.02, 0.3, 3.0)],
    Gaussian: [Gaussian(mu) for mu in (0.05, 0.3, 1.0, 2.4)],
    Renyi: [Renyi(2.0, 0.1), Renyi(4.0, 1.0)],
    OffsetConcentrated: [OffsetConcentrated(0.05, 0.1)],
}
LEAST = {Pure: 300, Approximate: 200, ZeroConcentrated: 150, Gaussian: 150, Renyi: 20}
LEAST[OffsetConcentrated] = 10
"""Comparisons that a definition must come to."""
NUMBERS: dict[str, tuple[float | None, ...]] = {
    "d": (1, 2),
    "p": (1, 2),
    "s": (1,),
    "sigma": (1.0,),
    "radius": (5.0,),
    "C": (2.0, 0.3),
    "b": (None, 0.5),
}
"""What each number of a problem is set to, in all combinations."""
RECORDS = {"central": (1, 2, 4), "local": (1, 3), "label": (1, 3)}
MOST_DATA_SETS = 9
ROUNDING = 1e-9
"""The solver's, relative."""


@dataclass(frozen=True)
class Comparison:
    """A bound beside the risk of a private mechanism under the prior of its proof."""

    row: str
    where: str
    parts: Parts
    risk: float
    constant: float
    """The risk of the best constant."""

    @property
    def ratio(self) -> float:
        return self.parts.total / self.risk


def forms() -> Iterator[Problem]:
    """Every problem of the catalogue at its tiny points."""
    for problem in PROBLEMS.values():
        names = [name for name in problem.parameters() if name != "n"]
        losses = list(LOSSES.values()) if "loss" in problem.options else [None]
        for values, n, loss in product(
            product(*(NUMBERS[name] for name in names)), RECORDS[problem.scope], losses
        ):
            point = dict(zip(names, values, strict=True))
            if {"s", "d"} <= point.keys() and point["s"] == point["d"]:
                continue  # the sparse bounds need two coordinates in a block
            form = {} if loss is None else {"loss": loss}
            yield problem.at({"n": n, **point}, **form)


def tiny(problem: Problem, bound: LowerBound, parts: Parts, given: dict[str, float]) -> Reports | FiniteProblem:
    """The prior of the bound's proof as a finite problem."""
    assert bound.prior_at is not None, f"{bound.name} has no prior"
    prior = bound.prior_at(bound.point(given), parts)
    if problem.scope == "local":
        return local_problem(prior, problem.n)
    if problem.scope == "label":
        return label_problem(prior, problem.n)
    return central_problem(prior, problem.n, bound.loss)


SOLVED: dict[object, float] = {}
"""Rows that share a prior share its programme."""


def risk_of(case: Reports | FiniteProblem, privacy: Privacy) -> float:
    if isinstance(case, Reports):
        return case.least_risk(privacy)
    if len(case.joint) > MOST_DATA_SETS:
        raise TooLarge(f"{len(case.joint)} data sets")
    key = (case.joint.tobytes(), case.targets.tobytes(), case.neighbours, privacy)
    if key not in SOLVED:
        SOLVED[key] = least_risk(case, privacy).risk
    return SOLVED[key]


def compare(
    problem: Problem, bound: LowerBound, privacy: Privacy, stated: Privacy
) -> Comparison | None:
    """The bound at the budget `stated` against mechanisms with the budget `privacy`.

    None where nothing is proved (or nothing more than 0), or the prior has too many data sets.
    """
    given = {**problem.point, **stated.parameters}
    try:
        parts = bound.parts(**given)
        if parts.total == 0:
            return None
        case = tiny(problem, bound, parts, given)
        risk = risk_of(case, privacy)
    except (OutsideRegime, TooLarge):
        return None
    row, where = f"{problem.name}: {bound.name}", f"{problem} {privacy}"
    return Comparison(row, where, parts, risk, case.constant_risk())


def halved(privacy: Privacy) -> Privacy:
    """Half the budget, on the scale of epsilon."""
    numbers = {k: v / (4 if k in ("rho", "kappa") else 2) for k, v in privacy.parameters.items()}
    kept = {k: v for k, v in privacy.parameters.items() if k in ("delta", "alpha")}
    return replace(privacy, **{**numbers, **kept})


def rows(problem: Problem, model: type[Privacy]) -> list[LowerBound]:
    """The certified lower bounds of a problem that are about privacy."""
    if model in (Renyi, OffsetConcentrated) and problem.scope == "central":
        return []
    names = set(parameter_names(model))
    bounds = problem.lower(model)
    return [bound for bound in bounds if bound.kind == "certified" and names <= {*bound.parameters}]


@lru_cache
def comparisons(model: type[Privacy], *, half: bool = False) -> list[Comparison]:
    """Of every row of every problem; with `half` stated for half the budget."""
    found = []
    for problem in forms():
        for bound, privacy in product(rows(problem, model), BUDGETS[model]):
            here = compare(problem, bound, privacy, halved(privacy) if half else privacy)
            found += [here] if here is not None else []
    return found


@pytest.mark.parametrize("model", BUDGETS)
def test_no_private_mechanism_beats_a_bound(model: type[Privacy]) -> None:
    seen = comparisons(model)
    largest: dict[str, float] = defaultdict(float)
    for each in seen:
        largest[each.row] = max(largest[each.row], each.ratio)
    top = max(largest.values())
    print(f"\n{model.__name__}: {len(seen)} comparisons, bound/optimum at most {top:.9f}")
    for row, ratio in largest.items():
        print(f"  {ratio:.4f}  {row}")
    assert not [each for each in seen if each.ratio > 1 + ROUNDING]
    assert len(seen) >= LEAST[model]
