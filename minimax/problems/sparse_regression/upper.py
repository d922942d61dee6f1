r"""Upper bounds for sparse regression: the least of all, noisy hard thresholding (WG19 §5), claims.

The class is that of `minimax.problems.sparse_regression.lower`, with s* for its sparsity and s >=
s* for that of the estimator. All constants are explicit. CWZ19 §4.4 is in
`minimax.problems.sparse_regression.private_thresholding`, what it shares with the bounds here in
`minimax.problems.sparse_regression.thresholded`; results for fixed data and any loss are in
`minimax.problems.erm.upper`.
"""

from __future__ import annotations

import math
from typing import Literal

from minimax.core.best import VACUOUS, Best
from minimax.core.bound import Assumption, Point, Rule, Terms, UpperBound, rule_at
from minimax.core.calibration import (
    Allowance,
    repeated_noise,
)
from minimax.core.claimed import claimed_bound
from minimax.core.privacy import Privacy, Pure
from minimax.core.symbolic import Number, library
from minimax.methods.noisy_descent import logistic_flatness
from minimax.methods.recursion import (
    gaussian_terms,
)
from minimax.problems.erm.upper import claimed_theorem_8
from minimax.problems.regression.problem import LOSS
from minimax.problems.sparse_logistic.problem import SparseLogisticProblem
from minimax.problems.sparse_regression.private_thresholding import best_descent
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from minimax.problems.sparse_regression.residual_clipped import sparse_residual_clipped_upper
from minimax.problems.sparse_regression.table_1 import TO_THE_SPARSE_POINT, table_1
from minimax.problems.sparse_regression.thresholded import (
    Choice,
    StepTerms,
    Thresholded,
    thresholded_upper,
)

THEOREM_STEPS = 4
"""Steps at which WG19: Corollary 5.6 is shown with its constants."""


def best_upper(problem: SparseRegressionProblem, privacy: Privacy) -> Best:
    """The least proven risk: `best_descent` or, for L = 1, phases of clipped residuals.

    Never more than releasing 0, (L/s*) radius^2.
    """
    candidates = [best_descent(problem, privacy)]
    if problem.L == 1:
        candidates.append(Best.of(sparse_residual_clipped_upper(problem, privacy)))
    best = min(candidates, key=lambda best: best.risk)
    return best.or_zero(problem.zero_release_risk(), VACUOUS)


# --- WG19: Corollaries 5.6 and 5.8 ---------------------------------------------------------------


def _least_squares(point: Point, L: float, s: int, radius: float) -> Thresholded:
    return Thresholded(point, L, s, radius, point["sigma"] ** 2 / point["s"])


def log_odds(point: Point, L: float, s: int, radius: float) -> Thresholded:
    """The descent on the logistic loss."""
    lib, s_star = library(point["s"]), point["s"]
    reach = lib.least(lib.sqrt(point["d"] / s_star), lib.sqrt(s / s_star)) * radius
    return Thresholded(point, L, s, radius, 1 / (4 * s_star), logistic_flatness(reach), 0.25)


def _clipped_residuals(point: Point, s: int, radius: float, G: float, first: bool) -> Number:
    """C of `noisy_thresholding_upper`; in the first step b = 0."""
    lib, s_star = library(point["s"]), point["s"]
    K = lib.sqrt(point["d"] / s_star)
    moved = 0.0 if first else lib.least(K, lib.sqrt(s / s_star)) * radius
    return excess_rms(G / K - point["radius"] - moved, point["sigma"])


def noisy_thresholding_upper(
    problem: SparseRegressionProblem | SparseLogisticProblem,
    *,
    s: int,
    radius: float,
    G: float,
    step_size: Rule,
    steps: Rule,
    noise: Rule,
    loss: Literal["squared", "logistic"] = "squared",
    privacy: Privacy | None = None,
) -> UpperBound:
    r"""Risk of NoisyHardThresholding, each record's gradient clipped to l2 norm G.

    **Statement.** As `private_thresholding_upper` with, in each step, the terms of `Recursion`
    (thresholded descent) for N(0, noise^2 I_d) on the averaged gradient. With K = sqrt(d/s*),
    the largest |x|_2:

    * squared loss: sqrt(h) C in place of sqrt(h) B, C^2 = E((|xi| - u)^+)^2, xi ~ N(0, sigma^2),
      u = G/K - a - min(K, sqrt(s/s*)) c0, and u = G/K - a if T = 1;
    * logistic loss, y = 1 with chance 1/(1 + exp(-<x, beta>)): 1/4 in place of sigma^2, nothing
      clipped (G >= K), and [f l, h/4] in place of [l, h], f = e^M/(1 + e^M)^2,
      M = min(K, sqrt(s/s*)) c0.

    **Proof.** Squared: clipping changes the residual <x_i, b> - y_i only beyond G/|x_i| >= G/K, by
    at most f_i = (|xi_i| - u)^+: |<x_i, beta>| <= a, as x_i has length 1 on s* coordinates,
    |<x_i, b>| <= min(K, sqrt(s/s*)) c0, and b = 0 in the first step. So the gradient is off by
    X'f'/n with |f'_i| <= f_i for every b, whose norm on I is at most sqrt(h) (mean of f_i^2)^{1/2}.
    Logistic: the gradient at beta is, in each coordinate, a mean of
    n independent centred variables of range 1/sqrt(s*) (Hoeffding's lemma: variance 1/(4 s*)),
    and the mean curvature between b and beta is that of `noisy_logistic_upper`.

    **Departures.** The squared loss has no finite G without clipping, and Corollary 5.8's noise
    spends more than it says; `noise` here is whatever was added. In this class K grows like
    sqrt(d), which the corollaries hide by taking K constant.

    **Source.** WG19: Corollary 5.6 (squared), Corollary 5.8 (logistic).

    eta, T and the noise are numbers or functions of the point.
    """
    squared = loss == "squared"

    def descent_at(point: Point) -> Thresholded:
        return (_least_squares if squared else log_odds)(point, problem.L, s, radius)

    def choose(point: Point) -> Choice:
        return {
            "step_size": rule_at(step_size, point),
            "steps": rule_at(steps, point),
            "noise": rule_at(noise, point),
        }

    def terms_at(point: Point, chosen: Choice, *, closed: bool = False) -> StepTerms:
        size = (s, point["s"], point["d"])
        level = rule_at(noise, point) if closed else chosen["noise"]
        terms = gaussian_terms(*size, chosen["step_size"], level, closed=closed)
        first = chosen["steps"] == 1
        clipped = _clipped_residuals(point, s, radius, G, first) if squared else 0.0
        return StepTerms(clipped, *terms)

    def unclipped(point: Point) -> bool:
        return squared or bool(math.sqrt(point["d"] / point["s"]) <= G)

    kept = Assumption("G >= sqrt(d/s*) (gradients are not clipped)", unclipped)
    return thresholded_upper(
        problem,
        privacy,
        s=s,
        radius=radius,
        descent_at=descent_at,
        choose=choose,
        terms_at=terms_at,
        closed_terms_at=lambda point, chosen: terms_at(point, chosen, closed=True),
        name=f"noisy hard thresholding, {loss} loss",
        source="WG19: Corollary 5.6" if squared else "WG19: Corollary 5.8",
        kept=() if squared else (kept,),
        estimator="NoisyHardThresholding",
        keywords=lambda point, found: {
            "loss": loss,
            "s": s,
            "clip": G,
            "radius": radius,
            "step_size": found["step_size"],
            "steps": int(found["steps"]),
        },
    )


def excess_rms(u: Number, sigma: Number) -> Number:
    """sqrt(E((|xi| - u)^+)^2) for xi ~ N(0, sigma^2) and any real u."""
    v = u / sigma
    lib = library(v)

    def outside() -> Number:
        density = lib.exp(-v * v / 2) / lib.sqrt(2 * lib.pi)
        tail = (1 + v * v) * lib.ndtr(-v) - v * density
        return lib.sqrt(2 * (tail if lib.is_symbolic else lib.largest(tail, 0 * tail)))

    def everywhere() -> Number:
        return lib.sqrt(1 - 2 * v * lib.sqrt(2 / lib.pi) + v * v)

    return sigma * lib.choose(v < 0, everywhere, outside)


# --- Claims --------------------------------------------------------------------------------------


def claimed_theorem_4_4() -> UpperBound:
    r"""CWZ19: Theorem 4.4: sigma^2 (s log d/n + (s log d)^2 log(1/delta) log^3 n/(n eps)^2)."""

    def rate(p: Point) -> Terms:
        log = library(p["n"]).log
        size = p["s"] * log(p["d"])
        cost = -(size**2) * log(p["delta"]) * log(p["n"]) ** 3
        variance = p["sigma"] ** 2
        return Terms(variance * size / p["n"], variance * cost / (p["n"] * p["epsilon"]) ** 2)

    def enough(p: Point) -> bool:
        noise = p["sigma"] * math.log(p["n"]) * math.sqrt(math.log(1 / p["delta"]))
        return bool(p["n"] * p["epsilon"] >= p["s"] ** 1.5 * math.log(p["d"]) * noise)

    return claimed_bound(
        UpperBound,
        "gradient step, select, noise: claimed rate of Theorem 4.4",
        "CWZ19: Theorem 4.4",
        ("n", "d", "s", "sigma", "epsilon", "delta"),
        rate,
        assumptions=(
            Assumption("n eps >= sigma s^(3/2) log(d) log(n) sqrt(log(1/delta))", enough),
        ),
        loss=LOSS,
    )


def claimed_corollary_5_6() -> UpperBound:
    r"""WG19: Corollary 5.6 with |x|_2 <= K = 1:
    sigma^2 s log d/n + (a^2 + sigma^2) s^2 log d log(1/delta)/(n eps)^2."""

    def rate(p: Point) -> Terms:
        log = library(p["n"]).log
        cost = -(p["s"] ** 2) * log(p["d"]) * log(p["delta"]) / (p["n"] * p["epsilon"]) ** 2
        statistical = p["sigma"] ** 2 * p["s"] * log(p["d"]) / p["n"]
        return Terms(statistical, (p["radius"] ** 2 + p["sigma"] ** 2) * cost)

    return claimed_bound(
        UpperBound,
        "noisy hard thresholding, squared loss: claimed rate of Corollary 5.6",
        "WG19: Corollary 5.6",
        ("n", "d", "s", "sigma", "radius", "epsilon", "delta"),
        rate,
        loss=TO_THE_SPARSE_POINT,
    )


def claimed_corollary_5_8() -> UpperBound:
    r"""WG19: Corollary 5.8 with |x|_2 <= K = 1: s log d/n + s log d log(1/delta)/(n eps)^2."""

    def rate(p: Point) -> Terms:
        log = library(p["n"]).log
        size = p["s"] * log(p["d"])
        return Terms(size / p["n"], -size * log(p["delta"]) / (p["n"] * p["epsilon"]) ** 2)

    return claimed_bound(
        UpperBound,
        "noisy hard thresholding, logistic loss: claimed rate of Corollary 5.8",
        "WG19: Corollary 5.8",
        ("n", "d", "s", "epsilon", "delta"),
        rate,
        loss=TO_THE_SPARSE_POINT,
    )


def stated_bounds(problem: SparseRegressionProblem, privacy: Privacy) -> list[UpperBound]:
    """CWZ19: Theorem 4.4, WG19: Corollary 5.6 (also with its constants) and Table 1, WX21:
    Theorem 8."""
    claimed = [claimed_theorem_4_4(), claimed_corollary_5_6(), claimed_theorem_8(), *table_1()]
    if isinstance(privacy, Pure):
        return claimed
    model = type(privacy)
    G = math.sqrt(problem.d / problem.s) * (4 * problem.radius + 4 * problem.sigma)
    proven = noisy_thresholding_upper(
        problem,
        s=problem.s,
        radius=problem.radius,
        G=G,
        step_size=float(problem.s),
        steps=THEOREM_STEPS,
        noise=lambda at: repeated_noise(Allowance(model, at), 2 * G / at["n"], THEOREM_STEPS),
        privacy=privacy,
    )
    return [proven, *claimed]
