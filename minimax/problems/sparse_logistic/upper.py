r"""Upper bounds for sparse logistic regression (WG19 §5.2), s* for the class's sparsity.

The class is that of `minimax.problems.sparse_logistic.lower`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from minimax.core.best import VACUOUS, Best, with_remark
from minimax.core.bound import Assumption, Optimum, Point, Setting, UpperBound
from minimax.core.calibration import Allowance, budget_of, repeated_noise
from minimax.core.privacy import Privacy, Pure
from minimax.core.symbolic import LETTERS, Number, library, with_value
from minimax.methods.recursion import Array, gaussian_terms, least_risk, rounded, step_grid
from minimax.problems.erm.upper import claimed_theorem_8
from minimax.problems.logistic.planned import planned_logistic_upper
from minimax.problems.logistic.problem import LogisticProblem
from minimax.problems.sparse_logistic.problem import SparseLogisticProblem
from minimax.problems.sparse_regression.thresholded import StepTerms
from minimax.problems.sparse_regression.upper import (
    claimed_corollary_5_8,
    log_odds,
    noisy_thresholding_upper,
)

TRIED = (1.5, 2, 3, 5)
"""Multiples of s* that are tried for the estimator's s, besides s* and d."""


def all_coefficients_upper(
    problem: SparseLogisticProblem, privacy: Privacy, *, cautious: bool = False
) -> UpperBound:
    r"""Risk of PlannedLogisticRegression, which makes no use of sparsity.

    **Statement.** `planned_logistic_upper` at the radius a sqrt(d/s*).

    **Proof.** For L = 1 |x_j| = 1/sqrt(s*) and E x x' = I/s*. So x sqrt(s*/d) and beta sqrt(d/s*)
    are of the class of `minimax.problems.logistic` with that radius; their product and the loss
    |.|_Sigma are the same, and so are the iterates, with `row_bound` sqrt(d/s*).

    `cautious` plans for the least curvature of the class, as `reach` does there.
    """
    start = problem.radius * math.sqrt(problem.d / problem.s)
    reach = start if cautious else None
    dense = planned_logistic_upper(
        LogisticProblem(problem.n, problem.d, start), privacy, reach=reach
    )

    def settings(at: Point, found: Optimum) -> dict[str, Setting]:
        longest = math.sqrt(at["d"] / at["s"])
        return {**dense.settings(at, found), "radius": start / longest, "row_bound": longest}

    return with_remark(replace(of_all_coefficients(problem, dense, privacy), settings=settings))


def of_all_coefficients(
    problem: SparseLogisticProblem, dense: UpperBound, privacy: Privacy
) -> UpperBound:
    """A bound of `minimax.problems.logistic` as one of a sparse problem, by the proof of
    `all_coefficients_upper`."""
    defaults = {**problem.point, **privacy.parameters}

    def closed(at: Point, found: Optimum) -> Number:
        assert dense.closed_formula is not None
        return dense.closed_formula(_stretched(at), found)

    def lifted(assumption: Assumption) -> Assumption:
        return replace(assumption, holds=lambda at: assumption.holds(_stretched(at)))

    return replace(
        dense,
        parameters=tuple(defaults),
        formula=lambda at, found: dense.formula(_stretched(at), found),
        optimise=lambda at: dense.optimise(_stretched(at)),
        expression=lambda: with_value(dense.expr, "radius", _stretched(LETTERS)["radius"]),
        closed_formula=None if dense.closed_formula is None else closed,
        assumptions=(
            Assumption("L = 1", lambda at: problem.L == 1),
            *(lifted(each) for each in dense.assumptions if each.text != "L = 1"),
        ),
        loss=problem.loss,
        defaults=defaults,
        zero_release_risk=problem.zero_release_risk,
        remark="",
    )


def _stretched(at: Point) -> dict[str, Number]:
    """The point of the dense problem."""
    radius = at["radius"] * library(at["d"]).sqrt(at["d"] / at["s"])
    return {**{name: value for name, value in at.items() if name != "s"}, "radius": radius}


def stated_bounds() -> list[UpperBound]:
    """WG19: Corollary 5.8 and WX21: Theorem 8, as claimed."""
    return [claimed_corollary_5_8(), claimed_theorem_8()]


def best_upper(problem: SparseLogisticProblem, privacy: Privacy) -> Best:
    """The least proven risk: NoisyHardThresholding unless the budget is pure, for L = 1 also
    PlannedLogisticRegression; never more than releasing 0, (L/s*) radius^2."""
    found = []
    if problem.L == 1:
        found += [all_coefficients_upper(problem, privacy, cautious=c) for c in (False, True)]
    if not isinstance(privacy, Pure):
        found += [_best_thresholding(problem, privacy, s) for s in _sparsities(problem)]
    nothing = Best(problem.zero_release_risk(), note=VACUOUS)
    return min([*map(Best.of, found), nothing], key=lambda best: best.risk)


def _sparsities(problem: SparseLogisticProblem) -> list[int]:
    """Sparsities of an estimator that are tried: with L > 1 only s*, see `thresholded_upper`."""
    if problem.L > 1:
        return [problem.s]
    more = {min(math.ceil(factor * problem.s), problem.d) for factor in TRIED}
    return sorted({problem.s, problem.d} | more)


def _best_thresholding(problem: SparseLogisticProblem, privacy: Privacy, s: int) -> UpperBound:
    """The bound at the step size and number of steps of the least risk proven for a given s."""
    d, s_star, a, model = problem.d, problem.s, problem.radius, type(privacy)
    G = math.sqrt(d / s_star)
    descent = log_odds(problem.point, problem.L, s, a)
    grid = step_grid(descent.curvature)

    def risk(steps: int) -> Array:
        noise = repeated_noise(budget_of(privacy), 2 * G / problem.n, steps)
        terms = StepTerms(0.0, *gaussian_terms(s, s_star, d, grid.step_size, noise))
        return np.asarray(descent.risk(*grid, steps, terms))

    steps, row, _ = least_risk(risk)
    return noisy_thresholding_upper(
        problem,
        s=s,
        radius=a,
        G=G,
        step_size=rounded(grid.step_size[row, 0], 5),
        steps=steps,
        noise=lambda at: repeated_noise(Allowance(model, at), 2 * G / at["n"], steps),
        privacy=privacy,
        loss="logistic",
    )
