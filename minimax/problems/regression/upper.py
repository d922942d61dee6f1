r"""Upper bounds for linear regression: noisy gradient descent (CWZ19 §4.2), and the least of all.

The class is that of `minimax.problems.regression.lower`. All constants are explicit and all bounds
are on the risk in expectation, over data and noise, of every law in the class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from minimax.core.best import VACUOUS, Best
from minimax.core.bound import Assumption, Optimum, Point, Rule, Setting, Terms, UpperBound, rule_at
from minimax.core.calibration import (
    VALUES_ONLY,
    Allowance,
    budget_of,
    gradient_bound,
    gradient_sensitivity,
    repeated_noise,
    sparse_scales,
)
from minimax.core.claimed import claimed_bound
from minimax.core.privacy import Privacy, Pure
from minimax.core.symbolic import Number, library
from minimax.methods.noisy_descent import (
    Descent,
    Outset,
    Schedule,
    descent_upper,
    one_step,
    truncation_levels,
)
from minimax.methods.recursion import Interval, chernoff_interval
from minimax.problems.mean.upper import clip_bias
from minimax.problems.regression.problem import LOSS, RegressionProblem
from minimax.problems.regression.residual_clipped import residual_clipped_upper


def _descent_at(point: Point, L: float, radius: Number) -> Descent:
    n, d = point["n"], point["d"]
    population = Interval(1 / (L * d), L / d)
    response = population.high * point["radius"] ** 2 + point["sigma"] ** 2
    return Descent(
        d=d,
        unit=L / d,
        start=point["radius"],
        cap=point["radius"] + radius,
        variance=point["sigma"] ** 2 / n,
        curvature=lambda failure: chernoff_interval(n, d, 1.0, population, failure),
        outset=Outset(population, response / n),
    )


def noisy_gradient_upper(
    problem: RegressionProblem,
    *,
    row_bound: float,
    radius: Rule,
    R: Rule,
    step_size: Rule,
    steps: Rule,
    noise: Rule,
    privacy: Privacy | None = None,
) -> UpperBound:
    r"""Risk of NoisyGradientRegression, for every design and coefficient of the class.

    **Statement.** For b <- Proj(b - eta [(1/n) sum (<x_i, b> - clip_R(y_i)) x_i + w]),
    w ~ N(0, tau^2 I_d), T times from b = 0, and any p in (0, 1):

        E|b_T - beta|^2_Sigma <= (L/d) [m_T^2 + 1{T > 1} p (c0 + a)^2],
        m_1^2 = (q_1 a + eta sqrt(L/d) B)^2 + eta^2 (sigma^2 + a^2 L/d)/n + eta^2 d tau^2,
        m_{t+1}^2 = (q m_t + eta sqrt(sigma^2/n + h B^2))^2 + eta^2 d tau^2,

    where [l, h] is `chernoff_interval` at p, q = max |1 - eta lambda| over it, q_1 that over
    [1/(L d), L/d], B the `clip_bias`. The best p is taken, and (L/d) (c0 + a)^2 is never exceeded.

    **Assumptions.** Rows and coefficients of the class are not clipped: row_bound >= 1,
    c0 = radius >= a.

    **Proof.** The first step is `Descent.first`: at b = 0 the gradient is -X' clip_R(y)/n, of mean
    -Sigma beta - E x bias(x), |bias| <= B, |E x bias(x)|^2 <= (L/d) B^2, and a record's has the
    second moment E|x|^2 clip_R(y)^2 <= E y^2 <= a^2 L/d + sigma^2. Afterwards let H = X'X/n and
    r = X' clip_R(y)/n - H beta. On the event that the spectrum of H is
    in [l, h], which depends on X alone, `Recursion` applies with M = H. Given X the terms of r
    have variances at most |x_i|^2 sigma^2/n^2 (clipping is 1-Lipschitz) and biases at most B, so
    E(|r|^2 | X) <= sigma^2/n + |X' bias/n|^2 <= sigma^2/n + h B^2. Off the event the loss is at
    most (L/d) (c0 + a)^2.

    **Constants.** At L = 1, eta = d and large n, about sigma^2 d/n + d^2 tau^2: no worse than
    least squares plus the noise of the last step. Closed form: that of `Recursion`.

    **Source.** CWZ19: Theorem 4.2, with R large enough for <x, beta> and an expectation in place
    of a chance 1 - c_1 e^{-c_2 d} - ...

    c0, R, eta, T and tau are numbers or functions of the point, which then holds `privacy`'s
    numbers.
    """
    return descent_upper(
        lambda point: _descent_at(point, problem.L, rule_at(radius, point)),
        Schedule(step_size, steps, noise),
        name="noisy gradient descent",
        source="CWZ19: Theorem 4.2",
        problem=problem,
        privacy=privacy,
        radius=radius,
        clips=("row_bound", row_bound),
        estimator="NoisyGradientRegression",
        keywords=lambda found: {"row_bound": row_bound, "R": found["R"]},
        R=R,
        bias_at=_bias_at,
    )


def _bias_at(R: Number, point: Point) -> Number:
    return clip_bias(R, point["sigma"], point["radius"])


def best_upper(problem: RegressionProblem, privacy: Privacy) -> Best:
    """The least proven risk: phases of clipped residuals for L = 1, or a noisy descent.

    Never more than releasing 0, (L/d) radius^2.
    """
    candidates = [Best.of(best_descent(problem, privacy))]
    if problem.L == 1:
        candidates.append(Best.of(residual_clipped_upper(problem, privacy)))
    best = min(candidates, key=lambda best: best.risk)
    return best.or_zero(problem.zero_release_risk(), VACUOUS)


def best_descent(problem: RegressionProblem, privacy: Privacy) -> UpperBound:
    """The least proven risk of a noisy descent over the truncation R, the step and their number.

    The estimator is NoisyGradientRegression. Under a pure budget it is PrivateHardThresholding with
    s = d and almost all of the budget for the values: nothing is thresholded, and its Laplace noise
    is the w of `noisy_gradient_upper`.
    """
    a, d, model = problem.radius, problem.d, type(privacy)
    descent = _descent_at(problem.point, problem.L, a)
    levels = truncation_levels(a, problem.sigma)
    bias = [clip_bias(R, problem.sigma, a) for R in levels]

    def noises(steps: int) -> list[float]:
        return [descent_noise(budget_of(privacy), problem.n, d, a, R, steps) for R in levels]

    step_size, steps, place = descent.best(noises, bias)
    R = levels[place]
    bound = noisy_gradient_upper(
        problem,
        row_bound=1.0,
        radius=a,
        R=R,
        step_size=step_size,
        steps=steps,
        noise=lambda at: descent_noise(Allowance(model, at), at["n"], d, a, R, steps),
        privacy=privacy,
    )
    return _thresholding_nothing(bound) if isinstance(privacy, Pure) else bound


def one_step_upper(problem: RegressionProblem, privacy: Privacy) -> UpperBound:
    """`noisy_gradient_upper` for one step, at settings that are formulas of the point.

    R = a + sigma sqrt(2 log n), which few responses exceed, and the step of `Descent.first_step`;
    L = 1. Under a pure budget the estimator is that of `best_descent`.
    """
    model = type(privacy)

    def level(at: Point) -> Number:
        lib = library(at["n"])
        return at["radius"] + at["sigma"] * lib.sqrt(2 * lib.log(at["n"]))

    def noise(at: Point) -> Number:
        return descent_noise(Allowance(model, at), at["n"], at["d"], at["radius"], level(at), 1)

    def step_size(at: Point) -> Number:
        return _descent_at(at, 1.0, at["radius"]).first_step(noise(at))

    bound = noisy_gradient_upper(
        problem,
        row_bound=1.0,
        radius=lambda at: at["radius"],
        R=level,
        step_size=step_size,
        steps=1,
        noise=noise,
        privacy=privacy,
    )
    bound = _thresholding_nothing(bound) if isinstance(privacy, Pure) else bound
    return one_step(bound, step_size)


def _thresholding_nothing(bound: UpperBound) -> UpperBound:
    """A descent under a pure budget, by PrivateHardThresholding."""

    def settings(point: Point, found: Optimum) -> Mapping[str, Setting]:
        return {
            "s": int(point["d"]),
            "selection_share": VALUES_ONLY,
            "entry_bound": 1.0,
            "R": found["R"],
            "radius": float(point["radius"]),
            "step_size": found["step_size"],
            "steps": int(found["steps"]),
        }

    return replace(bound, estimator="PrivateHardThresholding", settings=settings)


def descent_noise(
    budget: Allowance, n: Number, d: Number, radius: Number, R: Number, steps: int
) -> Number:
    """The noise on a coordinate of each of so many averaged gradients: |x| <= 1, |y| <= R and
    |b| <= radius."""
    if not budget.is_pure:
        return repeated_noise(budget, gradient_sensitivity(n, R, 1.0, radius), steps)
    size = gradient_bound(d, 1.0, radius, R)
    scales = sparse_scales(n, d, size, budget.share(steps), selection_share=VALUES_ONLY)
    return library(n, scales.value).sqrt(2) * scales.value


def claimed_theorem_4_2() -> UpperBound:
    r"""CWZ19: Theorem 4.2 as claimed: sigma^2 (d/n + d^2 log(1/delta) log^3 n/(n eps)^2)."""

    def rate(p: Point) -> Terms:
        log = library(p["n"]).log
        cost = -(p["d"] ** 2) * log(p["delta"]) * log(p["n"]) ** 3
        variance = p["sigma"] ** 2
        return Terms(variance * p["d"] / p["n"], variance * cost / (p["n"] * p["epsilon"]) ** 2)

    def enough(p: Point) -> bool:
        noise = p["sigma"] * math.log(p["n"]) * math.sqrt(math.log(1 / p["delta"]))
        return bool(p["n"] * p["epsilon"] >= p["d"] ** 1.5 * noise)

    return claimed_bound(
        UpperBound,
        "noisy gradient descent: claimed rate of Theorem 4.2",
        "CWZ19: Theorem 4.2",
        ("n", "d", "sigma", "epsilon", "delta"),
        rate,
        assumptions=(Assumption("n eps >= sigma d^(3/2) log(n) sqrt(log(1/delta))", enough),),
        loss=LOSS,
    )
