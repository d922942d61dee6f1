r"""Upper bounds for sparse regression by hard thresholding (CWZ19 §4.4, WG19 §5, WX21 §VII-A).

The class is that of `minimax.problems.sparse_regression.lower`, with s* for its sparsity and s >=
s* for that of the estimator. All constants are explicit. What the bounds share is in
`minimax.problems.sparse_regression.thresholded`; results for fixed data and any loss are in
`minimax.problems.erm.upper`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from minimax.core.best import VACUOUS, Best
from minimax.core.bound import (
    Assumption,
    Point,
    Rule,
    Setting,
    Terms,
    UpperBound,
    claimed_bound,
    rule_at,
)
from minimax.core.calibration import (
    VALUES_ONLY,
    Allowance,
    Scales,
    budget_of,
    gradient_bound,
    repeated_noise,
    sparse_scales,
    step_scales,
)
from minimax.core.privacy import Privacy, Pure
from minimax.core.symbolic import Letters, Number, library
from minimax.methods.noisy_descent import logistic_flatness, truncation_levels
from minimax.methods.recursion import (
    Array,
    gaussian_terms,
    least_risk,
    rounded,
    selection_error,
    step_grid,
)
from minimax.problems.erm.upper import claimed_theorem_8
from minimax.problems.mean.upper import clip_bias
from minimax.problems.regression.problem import LOSS
from minimax.problems.sparse_logistic.problem import SparseLogisticProblem
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

# --- CWZ19: Theorem 4.4 --------------------------------------------------------------------------


def private_thresholding_upper(
    problem: SparseRegressionProblem,
    *,
    s: int,
    entry_bound: float,
    radius: float,
    R: Rule,
    step_size: Rule,
    steps: Rule,
    method: str,
    scales: Scales | Callable[[Point], Scales],
    privacy: Privacy | None = None,
    options: Mapping[str, Setting] | None = None,
) -> UpperBound:
    r"""Risk of PrivateHardThresholding, for every design and coefficient of the class.

    **Statement.** T steps from b = 0 of: gradient step of size eta on least squares with y clipped
    to R, s coordinates chosen privately, their values released with noise of variance v each,
    projection on the ball of radius c0. For any p in (0, 1)

        E|b_T - beta|^2_Sigma <= (L/s*) [m_T^2 + p (c0 + a)^2],   m_0 = a,
        m_{t+1}^2 = nu (q m_t + eta (g + sqrt(h) B) + w)^2 + s v,

    where [l, h] is `restricted_interval` for 2s + s* coordinates at p, q = max |1 - eta lambda|
    over it, nu = `thresholding_factor`, w = `selection_error`, B = `clip_bias`,
    g^2 = (sigma^2/(s* n)) [s* + `subgaussian_top`(2s, d - s*)]. The best p is taken, and
    (L/s*) (c0 + a)^2 is never exceeded. It shrinks if sqrt(nu) q < 1; for s = s* sqrt(nu) = 1.618.

    **Assumptions.** s >= s*; L = 1 (then all sets have eigenvalues 1/s*) or s = s*; data and
    coefficients of the class are not clipped: entry_bound >= 1/sqrt(s*), c0 >= a.

    **Proof.** `Recursion` (privately thresholded descent) with M = H = X'X/n, on the event of
    `restricted_interval`, which depends on X alone. r = X' clip_R(y)/n - H beta: given X its
    coordinates are (1/sqrt(s* n))-Lipschitz in the Gaussian noise/sigma up to a factor sigma, hence
    sub-Gaussian about their means; the support of beta does not depend on the data, the other 2s
    places may. The means are X' bias/n with |bias_i| <= B, so |.|_I <= sqrt(h) B. b_T - beta has
    s + s* entries, so its Sigma-norm squared is at most L/s* times its square.

    **Source.** CWZ19: Theorem 4.4. Its proof follows the empirical risk (Lemma 8.3, constants
    unstated); the recursion in the error itself is shorter and keeps them.

    R, eta, T and the scales are given, or functions of the point, which then holds `privacy`'s
    numbers and, for the scales, steps and step_size. `options` are further keyword arguments.
    """

    def scales_at(point: Point, chosen: Choice) -> dict[str, Number]:
        noise = rule_at(scales, Letters({**point, **chosen}))
        return {"selection": noise.selection, "value_variance": noise.value_variance}

    def choose(point: Point) -> Choice:
        chosen = {"step_size": rule_at(step_size, point), "steps": rule_at(steps, point)}
        return {"R": rule_at(R, point), **chosen, **scales_at(point, chosen)}

    def closed_terms(point: Point, found: Choice) -> StepTerms:
        taken = {k: found[k] for k in ("step_size", "steps")}
        closed = {"R": rule_at(R, point), **scales_at(point, taken)}
        return _private_terms(point, s, method, closed)

    return thresholded_upper(
        problem,
        privacy,
        s=s,
        radius=radius,
        descent_at=lambda point: _least_squares(point, problem.L, s, radius),
        choose=choose,
        terms_at=lambda point, chosen: _private_terms(point, s, method, chosen),
        closed_terms_at=closed_terms,
        name="gradient step, select, noise",
        source="CWZ19: Theorem 4.4",
        kept=(
            Assumption(
                "entry_bound >= 1/sqrt(s*) (entries are not clipped)",
                lambda p: entry_bound >= (1 - 1e-12) / math.sqrt(p["s"]),
            ),
        ),
        estimator="PrivateHardThresholding",
        keywords=lambda found: {
            "s": s,
            "entry_bound": entry_bound,
            "R": found["R"],
            "radius": radius,
            "step_size": found["step_size"],
            "steps": int(found["steps"]),
            **(options or {}),
        },
    )


def _least_squares(point: Point, L: float, s: int, radius: float) -> Thresholded:
    return Thresholded(point, L, s, radius, point["sigma"] ** 2 / point["s"])


def _private_terms(point: Point, s: int, method: str, chosen: Choice) -> StepTerms:
    spent = s * chosen["value_variance"]
    return StepTerms(
        clipped=clip_bias(chosen["R"], point["sigma"], point["radius"]),
        selection=selection_error(s, point["s"], point["d"], method, chosen["selection"]),
        noise=library(point["n"], spent).sqrt(spent),
    )


def best_upper(problem: SparseRegressionProblem, privacy: Privacy) -> Best:
    """The least proven risk: `best_descent` or, for L = 1, phases of clipped residuals.

    Never more than releasing 0, (L/s*) radius^2.
    """
    candidates = [best_descent(problem, privacy)]
    if problem.L == 1:
        candidates.append(Best.of(sparse_residual_clipped_upper(problem, privacy)))
    best = min(candidates, key=lambda best: best.risk)
    return best.or_zero(problem.zero_release_risk(), VACUOUS)


def best_descent(problem: SparseRegressionProblem, privacy: Privacy) -> Best:
    """The least risk proven for PrivateHardThresholding, Gumbel selection.

    Over R, step_size, steps, and for L = 1 a few s from s* to d.
    """
    d, s_star = problem.d, problem.s
    tried = {s_star}
    if problem.L == 1:
        tried |= {d, *(min(math.ceil(s_star * f), d) for f in (1.5, 2, 3, 5))}
    found = [Best.of(_best_bound(problem, privacy, s)) for s in sorted(tried)]
    return min(found, key=lambda best: best.risk)


def _best_bound(problem: SparseRegressionProblem, privacy: Privacy, s: int) -> UpperBound:
    """The bound at the R, step_size and steps of the least risk proven for a given s."""
    a, b, model = problem.radius, 1 / math.sqrt(problem.s), type(privacy)
    share = 0.5 if s < problem.d else VALUES_ONLY
    levels = truncation_levels(a, problem.sigma)
    clipped = np.array([clip_bias(R, problem.sigma, a) for R in levels])
    descent = _least_squares(problem.point, problem.L, s, a)
    grid = step_grid(descent.curvature)
    # Noise is proportional to the step and to the largest gradient: found for one and scaled.
    unit = grid.step_size * np.array([gradient_bound(s, b, a, R) for R in levels])

    def risk(steps: int) -> Array:
        budget = budget_of(privacy).share(steps)
        scales = sparse_scales(problem.n, s, 1.0, budget, selection_share=share)
        chosen = selection_error(s, problem.s, problem.d, "gumbel", scales.selection)
        after = math.sqrt(s * scales.value_variance)
        terms = StepTerms(clipped, chosen * unit, after * unit)
        return np.asarray(descent.risk(*grid, steps, terms))

    steps, row, column = least_risk(risk)
    step_size, R = rounded(grid.step_size[row, 0], 5), levels[column]

    def scales_at(at: Point) -> Scales:
        budget = Allowance(model, at).share(steps)
        return step_scales(at["n"], s, b, a, R, step_size, budget, selection_share=share)

    return private_thresholding_upper(
        problem,
        s=s,
        entry_bound=b,
        radius=a,
        R=R,
        step_size=step_size,
        steps=steps,
        method="gumbel",
        scales=scales_at,
        privacy=privacy,
        options={"selection_share": share},
    )


# --- WG19: Corollaries 5.6 and 5.8 ---------------------------------------------------------------


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
        keywords=lambda found: {
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
