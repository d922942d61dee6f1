"""Upper bounds for sparse regression when labels are private, and what WX21 prints."""

from __future__ import annotations

import math

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from minimax import bound as symbols
from minimax.bound import Bound
from minimax.core.bound import Assumption, Parts, Point
from minimax.core.privacy import Approximate, Definition
from minimax.core.randomised_response import randomised_response_epsilon
from minimax.methods.divergences import tv_contraction
from minimax.methods.recursion import DATA_FREE, vacuous
from minimax.papers import THIS_WORK
from minimax.problems.label_regression.lower import S_AT_MOST_P
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.local_regression.problem import NOTHING, SQUARED
from minimax.problems.local_regression.upper import NO_MEAN, claimed_in_the_ball, threshold_factor

Array = NDArray[np.float64]


RANDOM_ROWS = "for rows independent and uniform on {-1, 1}^p"


def one_shot_label_upper(problem: LabelRegressionProblem, privacy: Definition) -> Bound:
    r"""Risk of one step of LabelHardThresholding, from 0 and of length 1, on one-bit labels.

    **Protocol.** User i reports y clipped to [-B, B], B = sqrt(s) + C, as one bit z_i.
    u = (1/n) sum_i z_i x_i. The estimate is H_s(u), projected on the unit ball.

    **Statement.** With v = (B/tanh(e/2))^2/n, e of `randomised_response_epsilon`:
    E|estimate - theta|^2 <= v `threshold_factor`(p, s), and never more than 4.

    **Assumptions.** The rows are independent and uniform on {-1, 1}^p. The lower bounds hold for
    every design, hence for this one too.

    **Proof.** |y| <= |theta|_1 + C <= B. z_i x_ij is +-M with mean E y x_j = theta_j, independent
    over i: by Hoeffding's lemma u_j - theta_j has the proxy M^2/n.

    **Constants.** About 4 (sqrt(s) + C)^2 s log(p/s)/(n tanh(e/2)^2) for large p/s: the rate of
    WX21: Theorem 7 but for the s in B^2, where the other coordinates' share of y counts as noise.

    **Source.** WX21: Algorithm 2 with one step from 0 and one-bit reports.
    """
    t = float(tv_contraction(randomised_response_epsilon(privacy)))

    def compute(at: Point) -> Parts:
        M = (math.sqrt(at["s"]) + at["C"]) / t
        total = min(M * M / at["n"] * threshold_factor(at["p"], at["s"]), 4.0)
        return Parts(None, total, total)

    n, p, s, C = symbols.n, symbols.p, symbols.s, symbols.C
    v = (sp.sqrt(s) + C) ** 2 * sp.Float(1 / t) ** 2 / n
    fits = problem.s <= problem.p
    return Bound(
        name="one-shot correlation with private labels",
        source=f"{THIS_WORK}: local_upper.one_shot_label_upper",
        side="upper",
        kind="certified",
        names=("n", "p", "s", "C"),
        compute=compute,
        expr=v * threshold_factor(p, s),
        assumptions=(S_AT_MOST_P, Assumption(RANDOM_ROWS, lambda at: True)),
        loss=SQUARED,
        remark=vacuous(compute(problem.point).total, NOTHING) if fits else "",
        defaults=problem.point,
    )


def best_label_upper(problem: LabelRegressionProblem, privacy: Definition) -> tuple[float, str]:
    """(risk, estimator): one step on one-bit labels, for the linear model, or releasing 0."""
    risk = one_shot_label_upper(problem, privacy).value()
    if not risk < NOTHING:
        return NOTHING, DATA_FREE
    return risk, (
        "LabelHardThresholding(mechanism='binary', steps=1, step_size=1): one step on one-bit "
        f"labels; {RANDOM_ROWS}"
    )


# --- What the paper prints ------------------------------------------------------------------------


RANGE = Assumption("epsilon <= 1", lambda at: at["epsilon"] <= 1)


def claimed_label_bounds(privacy: Definition, *, link: bool) -> list[Bound]:
    """WX21: Theorem 6, or with `link` Theorem 11, as claimed: (epsilon, delta)-private labels."""
    if not isinstance(privacy, Approximate):
        return []
    n, p, s, C, b = symbols.n, symbols.p, symbols.s, symbols.C, symbols.b
    eps, delta = symbols.epsilon, symbols.delta
    rate = C**2 * sp.log(1 / delta) ** 2 * s * sp.log(p) / (n * eps**2)
    names = ("n", "p", "s", "C", "epsilon", "delta")
    remark = (
        "log(1/delta)^2 as printed, log(1/delta) follows from the proof; the noise is for labels "
        f"within [-2C, 2C], but |y| <= sqrt(s) + C; {NO_MEAN}"
    )
    if link:
        more = "needs a/b > sqrt(5)/3; the proof ends with 1/(n epsilon) for 1/(sqrt(n) epsilon)"
        return [
            claimed_in_the_ball("11", (*names, "b"), b**2 * rate, (RANGE,), f"{more}; {remark}")
        ]
    return [claimed_in_the_ball("6", names, rate, (RANGE,), remark)]
