r"""Upper bounds for linear and logistic regression by noisy gradient descent (CWZ19 §4.2).

The classes are those of `minimax.problems.regression.lower` and `minimax.problems.logistic.lower`.
All constants are explicit and all bounds are on the risk in expectation, over data and noise, of
every law in the class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from minimax import bound as symbols
from minimax.bound import Bound
from minimax.core.bound import Assumption, Parts, Point
from minimax.core.calibration import gradient_sensitivity, repeated_noise, sparse_scales
from minimax.core.privacy import Pure
from minimax.methods.recursion import (
    DATA_FREE,
    FAILURES,
    Array,
    Interval,
    Proven,
    Recursion,
    best_failure,
    chernoff_interval,
    claimed_upper,
    contraction,
    least_risk,
    rounded,
    trials,
    vacuous,
)
from minimax.problems.logistic.problem import LogisticProblem
from minimax.problems.mean.upper import clip_bias
from minimax.problems.regression.problem import LOSS, RegressionProblem
from minimax.problems.sparse_regression.upper import VALUES_ONLY, gradient_bound


class _Descent(NamedTuple):
    """What the risk of noisy projected descent from 0 depends on, whatever the loss."""

    d: int
    unit: float
    """Loss <= unit |b - beta|^2."""
    start: float
    cap: float
    """Bounds on |beta| and on |b - beta|."""
    variance: float
    """E|gradient at beta|^2, without clipping."""
    curvature: Callable[[Any], Interval]
    """Where the curvature lies, but for a given chance."""

    @property
    def data_free(self) -> float:
        return self.unit * self.start**2

    def risk(
        self, failure: Array, step_size: Any, steps: int, noise: Any, bias: Any
    ) -> tuple[Array, Array]:
        """(risk, contraction) at given chances of failure."""
        interval = self.curvature(failure)
        rate = contraction(step_size, interval)
        cut = interval.high * np.square(bias)
        after = step_size * math.sqrt(self.d) * np.asarray(noise)
        # The first step: the gradient's error is uncorrelated with the start, but for its bias.
        fixed = rate * self.start + step_size * np.sqrt(cut)
        first = np.hypot(fixed, np.hypot(step_size * math.sqrt(self.variance), after))
        recursion = Recursion(rate, step_size * np.sqrt(self.variance + cut), after)
        m = recursion.run(first, steps - 1, self.cap)
        total = self.unit * (m**2 + failure * self.cap**2)
        return np.minimum(total, self.unit * self.cap**2), rate

    def proven(self, step_size: float, steps: int, noise: float, bias: float) -> Proven:
        total, rate = self.risk(FAILURES, step_size, steps, noise, bias)
        statistical, _ = self.risk(FAILURES, step_size, steps, 0.0, 0.0)
        return best_failure(total, statistical, rate, self.curvature(FAILURES).high)

    def best(
        self, noise: Callable[[int], Sequence[float]], bias: Sequence[float]
    ) -> tuple[float, int, int]:
        """(step_size, steps, place in the sequences) of the least risk; `noise` of the steps."""
        tried = trials(self.curvature)

        def risk(steps: int) -> Array:
            return self.risk(*tried, steps, np.array(noise(steps)), np.array(bias))[0]

        steps, row, column = least_risk(risk)
        return rounded(tried.step_size[row, 0], 5), steps, column


def _closed_form(
    proven: Proven,
    step_size: float,
    steps: int,
    noise: float,
    *,
    unit: Any,
    variance: Any,
    bias: float,
    radius: float,
) -> sp.Expr:
    """`Recursion.closed_form` at the chance of failure that `proven` found."""
    cap = (sp.Float(radius) + symbols.radius) ** 2
    if proven.rate >= 1:
        return unit * cap
    eta, b2 = sp.Float(step_size), sp.Float(proven.high * bias**2)
    recursion = Recursion(
        sp.Float(proven.rate),
        eta * sp.sqrt(variance + b2),
        eta * sp.Float(noise) * sp.sqrt(symbols.d),
    )
    closed = recursion.closed_form(symbols.radius, steps)
    return unit * sp.Min(closed + sp.Float(proven.failure) * cap, cap, evaluate=False)


# --- Linear regression ---------------------------------------------------------------------------


def _linear(problem: RegressionProblem, radius: float) -> _Descent:
    population = Interval(1 / (problem.L * problem.d), problem.L / problem.d)
    return _Descent(
        d=problem.d,
        unit=problem.L / problem.d,
        start=problem.radius,
        cap=problem.radius + radius,
        variance=problem.sigma**2 / problem.n,
        curvature=lambda p: chernoff_interval(problem.n, problem.d, 1.0, population, p),
    )


def noisy_gradient_upper(
    problem: RegressionProblem,
    *,
    row_bound: float,
    radius: float,
    R: float,
    step_size: float,
    steps: int,
    noise: float,
) -> Bound:
    r"""Risk of NoisyGradientRegression, for every design and coefficient of the class.

    **Statement.** For b <- Proj(b - eta [(1/n) sum (<x_i, b> - clip_R(y_i)) x_i + w]),
    w ~ N(0, tau^2 I_d), T times from b = 0, and any p in (0, 1):

        E|b_T - beta|^2_Sigma <= (L/d) [m_T^2 + p (c0 + a)^2],
        m_1^2 = (q a + eta sqrt(h) B)^2 + eta^2 sigma^2/n + eta^2 d tau^2,
        m_{t+1}^2 = (q m_t + eta sqrt(sigma^2/n + h B^2))^2 + eta^2 d tau^2,

    where [l, h] is `chernoff_interval` at p, q = max |1 - eta lambda| over it, B the `clip_bias`.
    The best p is taken, and (L/d) (c0 + a)^2 is never exceeded.

    **Assumptions.** Rows and coefficients of the class are not clipped: row_bound >= 1,
    c0 = radius >= a.

    **Proof.** Let H = X'X/n and r = X' clip_R(y)/n - H beta. On the event that the spectrum of H is
    in [l, h], which depends on X alone, `Recursion` applies with M = H. Given X the terms of r
    have variances at most |x_i|^2 sigma^2/n^2 (clipping is 1-Lipschitz) and biases at most B, so
    E(|r|^2 | X) <= sigma^2/n + |X' bias/n|^2 <= sigma^2/n + h B^2. In the first step b = 0 is
    fixed, so r less its mean is uncorrelated with the rest. Off the event the loss is at most
    (L/d) (c0 + a)^2.

    **Constants.** At L = 1, eta = d and large n, about sigma^2 d/n + d^2 tau^2: no worse than
    least squares plus the noise of the last step. Closed form: that of `Recursion`.

    **Source.** CWZ19: Theorem 4.2, with R large enough for <x, beta> and an expectation in place
    of a chance 1 - c_1 e^{-c_2 d} - ...
    """
    bias = clip_bias(R, problem.sigma, problem.radius)
    descent = _linear(problem, radius)
    proven = descent.proven(step_size, steps, noise, bias)
    n, d, sigma = symbols.n, symbols.d, symbols.sigma
    return Bound(
        name="noisy gradient descent",
        source="CWZ19: Theorem 4.2",
        side="upper",
        kind="certified",
        names=("n", "d", "sigma", "radius"),
        compute=_compute(proven),
        expr=_closed_form(
            proven,
            step_size,
            steps,
            noise,
            unit=sp.Float(problem.L) / d,
            variance=sigma**2 / n,
            bias=bias,
            radius=radius,
        ),
        assumptions=_fits(problem.radius, radius, "row_bound", row_bound),
        loss=LOSS,
        remark=vacuous(proven.total, descent.data_free),
        defaults=problem.point,
    )


def _compute(proven: Proven) -> Callable[[Point], Parts]:
    parts = Parts(
        proven.statistical,
        proven.total - proven.statistical,
        proven.total,
        {"failure": proven.failure, "contraction": proven.rate},
    )
    return lambda p: parts


def _fits(true: float, radius: float, name: str, clip: float) -> tuple[Assumption, ...]:
    return (
        Assumption("coefficients within the projection's radius", lambda p: true <= radius),
        Assumption(f"{name} >= 1 (nothing of the class is clipped)", lambda p: clip >= 1),
    )


def best_upper(problem: RegressionProblem, privacy: Any) -> tuple[float, str]:
    """(risk, estimator): the least proven risk over the truncation R, the step and their number.

    The estimator is NoisyGradientRegression. Under a pure budget it is PrivateHardThresholding with
    s = d and almost all of the budget for the values: nothing is thresholded, and its Laplace noise
    is the w of `noisy_gradient_upper`. Never more than releasing 0, (L/d) radius^2.
    """
    a, n, d = problem.radius, problem.n, problem.d
    descent = _linear(problem, a)
    levels = [rounded(a + problem.sigma * z) for z in np.linspace(0, 10, 41)]
    bias = [clip_bias(R, problem.sigma, a) for R in levels]
    if isinstance(privacy, Pure):
        entries = [gradient_bound(d, 1.0, a, R) for R in levels]

        def noise(steps: int) -> list[float]:
            share = Pure(privacy.epsilon / steps)
            unit = sparse_scales(n, d, 1.0, share, selection_share=VALUES_ONLY)
            return [math.sqrt(unit.value_variance) * size for size in entries]

        text = f"PrivateHardThresholding with s = {d}, selection_share = {VALUES_ONLY}, entry_bound"
    else:
        sizes = [gradient_sensitivity(n, R, 1.0, a) for R in levels]

        def noise(steps: int) -> list[float]:
            return [repeated_noise(privacy, size, steps) for size in sizes]

        text = "NoisyGradientRegression with row_bound"
    step, steps, place = descent.best(noise, bias)
    risk = descent.proven(step, steps, noise(steps)[place], bias[place]).total
    if risk >= descent.data_free:
        return descent.data_free, DATA_FREE
    return risk, (
        f"{text} = 1, R = {levels[place]:.8g}, radius = {a:.8g}, "
        f"step_size = {step:.8g}, steps = {steps}"
    )


def claimed_theorem_4_2() -> Bound:
    r"""CWZ19: Theorem 4.2 as claimed: sigma^2 (d/n + d^2 log(1/delta) log^3 n/(n eps)^2)."""

    def rate(p: Mapping[str, Any], log: Callable[[Any], Any]) -> tuple[Any, Any]:
        cost = p["d"] ** 2 * log(1 / p["delta"]) * log(p["n"]) ** 3
        variance = p["sigma"] ** 2
        return variance * p["d"] / p["n"], variance * cost / (p["n"] * p["epsilon"]) ** 2

    def enough(p: Point) -> bool:
        noise = p["sigma"] * math.log(p["n"]) * math.sqrt(math.log(1 / p["delta"]))
        return p["n"] * p["epsilon"] >= p["d"] ** 1.5 * noise

    return claimed_upper(
        "noisy gradient descent: claimed rate of Theorem 4.2",
        "CWZ19: Theorem 4.2",
        ("n", "d", "sigma", "epsilon", "delta"),
        rate,
        (Assumption("n eps >= sigma d^(3/2) log(n) sqrt(log(1/delta))", enough),),
        loss=LOSS,
    )


# --- Logistic regression -------------------------------------------------------------------------


def _logistic(problem: LogisticProblem, radius: float) -> _Descent:
    reach = max(problem.radius, radius)
    least = math.exp(-reach) / (1 + math.exp(-reach)) ** 2
    population = Interval(1 / problem.d, 1 / problem.d)

    def curvature(failure: Any) -> Interval:
        low, high = chernoff_interval(problem.n, problem.d, 1.0, population, failure)
        return Interval(least * low, high / 4)

    return _Descent(
        d=problem.d,
        unit=1 / problem.d,
        start=problem.radius,
        cap=problem.radius + radius,
        variance=1 / (4 * problem.n),
        curvature=curvature,
    )


def noisy_logistic_upper(
    problem: LogisticProblem,
    *,
    radius: float,
    G: float,
    step_size: float,
    steps: int,
    noise: float,
) -> Bound:
    r"""Risk of noisy projected gradient descent on the logistic loss.

    **Statement.** As `noisy_gradient_upper` with L = 1, B = 0, 1/(4n) in place of sigma^2/n, and
    [g l, h/4] in place of [l, h], g = e^c0/(1 + e^c0)^2.

    **Assumptions.** c0 = radius >= a; gradients of the class are not clipped: G >= 1.

    **Proof.** The gradient at b less that at beta is M (b - beta), M = (1/n) sum v_i x_i x_i' with
    v_i the mean of p (1 - p) between <x_i, beta> and <x_i, b>. Both are at most c0 in size, so
    g <= v_i <= 1/4 and g H <= M <= H/4. The gradient at beta is a mean of independent centred
    terms with second moments at most |x|^2/4.

    **Source.** WG19: Corollary 5.8 with s = d, projected on the ball.
    """
    descent = _logistic(problem, radius)
    proven = descent.proven(step_size, steps, noise, 0.0)
    return Bound(
        name="noisy gradient descent, logistic loss",
        source="WG19: Corollary 5.8 (s = d)",
        side="upper",
        kind="certified",
        names=("n", "d", "radius"),
        compute=_compute(proven),
        expr=_closed_form(
            proven,
            step_size,
            steps,
            noise,
            unit=1 / symbols.d,
            variance=1 / (4 * symbols.n),
            bias=0.0,
            radius=radius,
        ),
        assumptions=_fits(problem.radius, radius, "G", G),
        loss="squared distance/d",
        remark=vacuous(proven.total, descent.data_free),
        defaults=problem.point,
    )


def logistic_upper(problem: LogisticProblem, privacy: Any) -> tuple[float, str]:
    """(risk, estimator): the least risk proven for noisy descent on the logistic loss.

    NoisyHardThresholding with s = d, clip = 1 and the class's radius; or releasing 0, also under a
    pure budget.
    """
    descent = _logistic(problem, problem.radius)
    nothing = descent.data_free, DATA_FREE
    if isinstance(privacy, Pure):
        return descent.data_free, "releasing 0: no estimator with a pure budget is proven here"

    def noise(steps: int) -> list[float]:
        return [repeated_noise(privacy, 2 / problem.n, steps)]

    step, steps, _ = descent.best(noise, [0.0])
    risk = descent.proven(step, steps, noise(steps)[0], 0.0).total
    if risk >= nothing[0]:
        return nothing
    return risk, (
        f"NoisyHardThresholding with loss = 'logistic', s = {problem.d}, clip = 1, "
        f"radius = {problem.radius:.8g}, step_size = {step:.8g}, steps = {steps}"
    )
