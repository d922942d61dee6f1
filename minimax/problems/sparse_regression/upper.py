r"""Upper bounds for sparse regression by hard thresholding (CWZ19 §4.4, WG19 §5, WX21 §VII-A).

The class is that of `minimax.problems.sparse_regression.lower`, with s* for its sparsity and s >=
s* for that of the estimator. All constants are explicit. The errors of the iterates are followed by
`minimax.methods.recursion.Recursion`; results for fixed data and any loss are in
`minimax.problems.erm.upper`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import sympy as sp
from scipy import special, stats

from minimax import bound as symbols
from minimax.bound import Bound
from minimax.core.bound import Assumption, Parts, Point
from minimax.core.calibration import Scales, sparse_scales
from minimax.core.privacy import Pure, ZeroConcentrated
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
    coherence_interval,
    contraction,
    gaussian_terms,
    least_risk,
    rounded,
    selection_error,
    subgaussian_top,
    thresholding_factor,
    trials,
    vacuous,
)
from minimax.problems.mean.upper import clip_bias
from minimax.problems.regression.problem import LOSS
from minimax.problems.sparse_regression.problem import SparseRegressionProblem

NAMES = ("n", "d", "s", "sigma", "radius")
VALUES_ONLY = 0.01
"""The share of a budget that goes to selecting all coordinates, which needs none of it."""


def restricted_interval(problem: SparseRegressionProblem, size: int, failure: Any) -> Interval:
    """Where the eigenvalues of X'X/n on every set of `size` coordinates lie, but for a chance.

    `chernoff_interval` with |x_I|^2 <= size/s* and the union over all sets; for L = 1, where
    x_j^2 = 1/s* and the columns are uncorrelated, `coherence_interval` if it is narrower.
    """
    n, d, s_star, L = problem.n, problem.d, problem.s, problem.L
    # log of the number of sets, C(d, size) = 1/((d + 1) B(d - size + 1, size + 1))
    log_sets = -float(special.betaln(d - size + 1, size + 1)) - math.log(d + 1)
    population = Interval(1 / (L * s_star), L / s_star)
    found = chernoff_interval(n, size, size / s_star, population, failure, max(log_sets, 0.0))
    if L > 1:
        return found
    other = coherence_interval(n, d, size, 1 / s_star, failure)
    narrower = other.high - other.low < found.high - found.low
    return Interval(
        np.where(narrower, other.low, found.low), np.where(narrower, other.high, found.high)
    )


class _Thresholded(NamedTuple):
    """What the risk of a thresholded descent from 0 depends on, whatever the loss and the noise."""

    problem: SparseRegressionProblem
    s: int
    radius: float
    gradient_variance: float
    """Sub-Gaussian variance of a coordinate of the gradient at beta, times n."""
    flattest: float = 1.0
    steepest: float = 1.0
    """The curvature of a record's loss along x is between these."""

    @property
    def size(self) -> int:
        return min(2 * self.s + self.problem.s, self.problem.d)

    @property
    def nu(self) -> float:
        return thresholding_factor(self.s, self.problem.s, self.problem.d)

    @property
    def unit(self) -> float:
        return self.problem.L / self.problem.s

    @property
    def cap(self) -> float:
        return self.problem.radius + self.radius

    @property
    def data_free(self) -> float:
        return self.unit * self.problem.radius**2

    def curvature(self, failure: Any) -> Interval:
        low, high = restricted_interval(self.problem, self.size, failure)
        return Interval(self.flattest * low, self.steepest * high)

    def gradient_rms(self) -> float:
        """rms(r_I) over the worst I of `size`, s* of whose places do not depend on the data."""
        fixed, d = self.problem.s, self.problem.d
        top = fixed + subgaussian_top(self.size - fixed, d - fixed)
        return math.sqrt(self.gradient_variance / self.problem.n * top)

    def risk(
        self,
        failure: Array,
        step_size: Any,
        steps: int,
        *,
        clipped: Any = 0.0,
        selection: Any = 0.0,
        noise: Any = 0.0,
    ) -> tuple[Array, Array]:
        """(risk, rate) of `Recursion` at given chances of failure.

        drift = sqrt(nu) (eta (rms(r_I) + sqrt(h) clipped) + selection).
        """
        interval, root = self.curvature(failure), math.sqrt(self.nu)
        rate = root * contraction(step_size, interval)
        gradient = self.gradient_rms() + np.sqrt(interval.high / self.steepest) * clipped
        drift = root * (step_size * gradient + selection)
        m = Recursion(rate, drift, np.asarray(noise)).run(self.problem.radius, steps, self.cap)
        total = self.unit * (m**2 + failure * self.cap**2)
        return np.minimum(total, self.unit * self.cap**2), rate

    def proven(self, step_size: float, steps: int, **terms: float) -> Proven:
        """`risk` at the best chance of failure."""
        total, rate = self.risk(FAILURES, step_size, steps, **terms)
        statistical, _ = self.risk(FAILURES, step_size, steps)
        high = self.curvature(FAILURES).high / self.steepest
        return best_failure(total, statistical, rate, high)

    def closed_form(
        self, proven: Proven, step_size: float, steps: int, *, variance: Any, **terms: float
    ) -> sp.Expr:
        """`Recursion.closed_form` at the chance of failure that `proven` found."""
        n, d, s_star = symbols.n, symbols.d, symbols.s
        unit = sp.Float(self.problem.L) / s_star
        cap = (sp.Float(self.radius) + symbols.radius) ** 2
        if proven.rate >= 1:
            return unit * cap
        top = s_star + subgaussian_top(sp.Integer(self.size - self.problem.s), d - s_star)
        cut = sp.Float(math.sqrt(proven.high) * terms["clipped"])
        gradient = sp.Float(step_size) * (sp.sqrt(variance * top / n) + cut)
        drift = sp.Float(math.sqrt(self.nu)) * (gradient + sp.Float(terms["selection"]))
        recursion = Recursion(sp.Float(proven.rate), drift, sp.Float(terms["noise"]))
        closed = recursion.closed_form(symbols.radius, steps)
        return unit * sp.Min(closed + sp.Float(proven.failure) * cap, cap, evaluate=False)

    def bound(
        self,
        proven: Proven,
        expr: sp.Expr,
        name: str,
        source: str,
        kept: tuple[Assumption, ...],
    ) -> Bound:
        """The bound with the assumptions that every thresholded descent here needs."""
        s, radius, L = self.s, self.radius, self.problem.L
        parts = Parts(
            proven.statistical,
            proven.total - proven.statistical,
            proven.total,
            {"failure": proven.failure, "rate": proven.rate},
        )
        return Bound(
            name=name,
            source=source,
            side="upper",
            kind="certified",
            names=NAMES,
            compute=lambda p: parts,
            expr=expr,
            assumptions=(
                Assumption("s* <= s <= d", lambda p: p["s"] <= s <= p["d"]),
                Assumption(
                    "L = 1 or s = s* (eigenvalues are given on 3 s* coordinates)",
                    lambda p: L == 1 or s == p["s"],
                ),
                Assumption(
                    "coefficients within the projection's radius", lambda p: p["radius"] <= radius
                ),
                *kept,
            ),
            loss=LOSS,
            remark=vacuous(proven.total, self.data_free),
            defaults=self.problem.point,
        )


# --- CWZ19: Theorem 4.4 --------------------------------------------------------------------------


def gradient_bound(s: int, entry_bound: float, radius: float, R: float) -> float:
    """Largest |(<x, b> - y) x_j| for |x_j| <= entry_bound, |y| <= R and b with at most s entries
    and l2 norm at most `radius`: there |<x, b>| <= sqrt(s) entry_bound radius."""
    return (R + math.sqrt(s) * entry_bound * radius) * entry_bound


def private_thresholding_upper(
    problem: SparseRegressionProblem,
    *,
    s: int,
    entry_bound: float,
    radius: float,
    R: float,
    step_size: float,
    steps: int,
    method: str,
    scales: Scales,
) -> Bound:
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
    """
    descent = _private(problem, s, radius)
    terms = _private_terms(problem, s, R, method, scales)
    proven = descent.proven(step_size, steps, **terms)
    least = 1 / math.sqrt(problem.s)
    variance = symbols.sigma**2 / symbols.s
    return descent.bound(
        proven,
        descent.closed_form(proven, step_size, steps, variance=variance, **terms),
        "gradient step, select, noise",
        "CWZ19: Theorem 4.4",
        (
            Assumption(
                "entry_bound >= 1/sqrt(s*) (entries are not clipped)",
                lambda p: entry_bound >= least * (1 - 1e-12),
            ),
        ),
    )


def _private(problem: SparseRegressionProblem, s: int, radius: float) -> _Thresholded:
    return _Thresholded(problem, s, radius, problem.sigma**2 / problem.s)


def _private_terms(
    problem: SparseRegressionProblem, s: int, R: float, method: str, scales: Scales
) -> dict[str, float]:
    return {
        "clipped": clip_bias(R, problem.sigma, problem.radius),
        "selection": selection_error(s, problem.s, problem.d, method, scales.selection),
        "noise": math.sqrt(s * scales.value_variance),
    }


def best_upper(problem: SparseRegressionProblem, privacy: Any) -> tuple[float, str]:
    """(risk, estimator): the least risk proven for PrivateHardThresholding, Gumbel selection.

    Over R, step_size, steps, and for L = 1 a few s from s* to d; never more than releasing 0,
    (L/s*) radius^2.
    """
    a, s_star = problem.radius, problem.s
    best = _private(problem, s_star, a).data_free, DATA_FREE
    levels = [rounded(a + problem.sigma * z) for z in np.linspace(0, 10, 41)]
    clipped = np.array([clip_bias(R, problem.sigma, a) for R in levels])
    tried = {s_star}
    if problem.L == 1:
        tried |= {problem.d, *(min(math.ceil(s_star * f), problem.d) for f in (1.5, 2, 3, 5))}
    for s in sorted(tried):
        step_size, steps, R = _best_parameters(problem, privacy, s, levels, clipped)
        scales = step_scales(
            problem.n,
            s,
            1 / math.sqrt(s_star),
            a,
            R,
            step_size,
            _share(privacy, steps),
            selection_share=_selection_share(problem, s),
        )
        terms = _private_terms(problem, s, R, "gumbel", scales)
        risk = _private(problem, s, a).proven(step_size, steps, **terms).total
        if risk < best[0]:
            best = (
                risk,
                (
                    f"PrivateHardThresholding with s = {s}, entry_bound = 1/sqrt({problem.s}), "
                    f"R = {R:.8g}, radius = {a:.8g}, "
                    f"step_size = {step_size:.8g}, steps = {steps}, "
                    f"selection_share = {_selection_share(problem, s)}"
                ),
            )
    return best


def _best_parameters(
    problem: SparseRegressionProblem, privacy: Any, s: int, levels: list[float], clipped: Array
) -> tuple[float, int, float]:
    """(step_size, steps, R) of the least risk proven for a given s."""
    a, b = problem.radius, 1 / math.sqrt(problem.s)
    descent = _private(problem, s, a)
    tried = trials(descent.curvature)
    # Noise is proportional to the step and to the largest gradient: found for one and scaled.
    unit = tried.step_size * np.array([gradient_bound(s, b, a, R) for R in levels])

    def risk(steps: int) -> Array:
        scales = sparse_scales(
            problem.n,
            s,
            1.0,
            _share(privacy, steps),
            selection_share=_selection_share(problem, s),
        )
        chosen = selection_error(s, problem.s, problem.d, "gumbel", scales.selection)
        after = math.sqrt(s * scales.value_variance)
        terms = {"clipped": clipped, "selection": chosen * unit, "noise": after * unit}
        return descent.risk(*tried, steps, **terms)[0]

    steps, row, column = least_risk(risk)
    return rounded(tried.step_size[row, 0], 5), steps, levels[column]


def _selection_share(problem: SparseRegressionProblem, s: int) -> float:
    return 0.5 if s < problem.d else VALUES_ONLY


def _share(privacy: Any, steps: int) -> Pure | ZeroConcentrated:
    if isinstance(privacy, Pure):
        return Pure(privacy.epsilon / steps)
    return ZeroConcentrated(privacy.to_zcdp().rho / steps)


def step_scales(
    n: int,
    s: int,
    entry_bound: float,
    radius: float,
    R: float,
    step_size: float,
    budget: Any,
    **options: Any,
) -> Scales:
    """The noise of one step: a sparse release of n records of size step_size `gradient_bound`."""
    largest = step_size * gradient_bound(s, entry_bound, radius, R)
    return sparse_scales(n, s, largest, budget, **options)


# --- WG19: Corollaries 5.6 and 5.8 ---------------------------------------------------------------


def noisy_thresholding_upper(
    problem: SparseRegressionProblem,
    *,
    s: int,
    radius: float,
    G: float,
    step_size: float,
    steps: int,
    noise: float,
    loss: Literal["squared", "logistic"] = "squared",
) -> Bound:
    r"""Risk of NoisyHardThresholding, each record's gradient clipped to l2 norm G.

    **Statement.** As `private_thresholding_upper` with, in each step, the terms of `Recursion`
    (thresholded descent) for N(0, noise^2 I_d) on the averaged gradient. With K = sqrt(d/s*),
    the largest |x|_2:

    * squared loss: sqrt(h) C in place of sqrt(h) B, C^2 = E((|xi| - u)^+)^2, xi ~ N(0, sigma^2),
      u = G/K - min(K, sqrt((s + s*)/s*)) (c0 + a);
    * logistic loss, y = 1 with chance 1/(1 + exp(-<x, beta>)): 1/4 in place of sigma^2, nothing
      clipped (G >= K), and [f l, h/4] in place of [l, h], f = e^M/(1 + e^M)^2,
      M = min(K, sqrt(s/s*)) c0.

    **Proof.** Squared: clipping changes the residual <x_i, b> - y_i only beyond G/|x_i| >= G/K, by
    at most f_i = (|xi_i| - u)^+, since |<x_i, b - beta>| <= |x_i restricted|_2 |b - beta|_2. So the
    gradient is off by X'f'/n with |f'_i| <= f_i for every b, whose norm on I is at most
    sqrt(h) (mean of f_i^2)^{1/2}. Logistic: the gradient at beta is, in each coordinate, a mean of
    n independent centred variables of range 1/sqrt(s*) (Hoeffding's lemma: variance 1/(4 s*)),
    and the mean curvature between b and beta is that of `noisy_logistic_upper`.

    **Departures.** The squared loss has no finite G without clipping, and Corollary 5.8's noise
    spends more than it says; `noise` here is whatever was added. In this class K grows like
    sqrt(d), which the corollaries hide by taking K constant.

    **Source.** WG19: Corollary 5.6 (squared), Corollary 5.8 (logistic).
    """
    s_star, d = problem.s, problem.d
    K = math.sqrt(d / s_star)
    kept: tuple[Assumption, ...] = ()
    clipped, variance = 0.0, symbols.sigma**2 / symbols.s
    if loss == "squared":
        source = "WG19: Corollary 5.6"
        reach = min(K, math.sqrt((s + s_star) / s_star)) * (radius + problem.radius)
        clipped = excess_rms(G / K - reach, problem.sigma)
        descent = _private(problem, s, radius)
    else:
        source, variance = "WG19: Corollary 5.8", 1 / (4 * symbols.s)
        reach = min(K, math.sqrt(s / s_star)) * radius
        flattest = math.exp(-reach) / (1 + math.exp(-reach)) ** 2
        descent = _Thresholded(problem, s, radius, 1 / (4 * s_star), flattest, 0.25)
        kept = (Assumption("G >= sqrt(d/s*) (gradients are not clipped)", lambda p: G >= K),)
    selection, after = gaussian_terms(s, s_star, d, step_size, noise)
    terms = {"clipped": clipped, "selection": selection, "noise": after}
    proven = descent.proven(step_size, steps, **terms)
    expr = descent.closed_form(proven, step_size, steps, variance=variance, **terms)
    return descent.bound(proven, expr, f"noisy hard thresholding, {loss} loss", source, kept)


def excess_rms(u: float, sigma: float) -> float:
    """sqrt(E((|xi| - u)^+)^2) for xi ~ N(0, sigma^2) and any real u."""
    v = u / sigma
    if v < 0:
        return sigma * math.sqrt(1 - 2 * v * math.sqrt(2 / math.pi) + v**2)
    tail = (1 + v**2) * float(stats.norm.sf(v)) - v * float(stats.norm.pdf(v))
    return sigma * math.sqrt(2 * max(tail, 0.0))


# --- Claims --------------------------------------------------------------------------------------


def claimed_theorem_4_4() -> Bound:
    r"""CWZ19: Theorem 4.4: sigma^2 (s log d/n + (s log d)^2 log(1/delta) log^3 n/(n eps)^2)."""

    def rate(p: Mapping[str, Any], log: Callable[[Any], Any]) -> tuple[Any, Any]:
        size = p["s"] * log(p["d"])
        cost = size**2 * log(1 / p["delta"]) * log(p["n"]) ** 3
        variance = p["sigma"] ** 2
        return variance * size / p["n"], variance * cost / (p["n"] * p["epsilon"]) ** 2

    def enough(p: Point) -> bool:
        noise = p["sigma"] * math.log(p["n"]) * math.sqrt(math.log(1 / p["delta"]))
        return p["n"] * p["epsilon"] >= p["s"] ** 1.5 * math.log(p["d"]) * noise

    return claimed_upper(
        "gradient step, select, noise: claimed rate of Theorem 4.4",
        "CWZ19: Theorem 4.4",
        ("n", "d", "s", "sigma", "epsilon", "delta"),
        rate,
        (Assumption("n eps >= sigma s^(3/2) log(d) log(n) sqrt(log(1/delta))", enough),),
        loss=LOSS,
    )


def claimed_corollary_5_6() -> Bound:
    r"""WG19: Corollary 5.6 with |x|_2 <= K = 1:
    sigma^2 s log d/n + (a^2 + sigma^2) s^2 log d log(1/delta)/(n eps)^2."""

    def rate(p: Mapping[str, Any], log: Callable[[Any], Any]) -> tuple[Any, Any]:
        cost = p["s"] ** 2 * log(p["d"]) * log(1 / p["delta"]) / (p["n"] * p["epsilon"]) ** 2
        statistical = p["sigma"] ** 2 * p["s"] * log(p["d"]) / p["n"]
        return statistical, (p["radius"] ** 2 + p["sigma"] ** 2) * cost

    return claimed_upper(
        "noisy hard thresholding, squared loss: claimed rate of Corollary 5.6",
        "WG19: Corollary 5.6",
        (*NAMES, "epsilon", "delta"),
        rate,
        loss="squared l2 distance to theta*",
    )


def claimed_corollary_5_8() -> Bound:
    r"""WG19: Corollary 5.8 with |x|_2 <= K = 1: s log d/n + s log d log(1/delta)/(n eps)^2."""

    def rate(p: Mapping[str, Any], log: Callable[[Any], Any]) -> tuple[Any, Any]:
        size = p["s"] * log(p["d"])
        return size / p["n"], size * log(1 / p["delta"]) / (p["n"] * p["epsilon"]) ** 2

    return claimed_upper(
        "noisy hard thresholding, logistic loss: claimed rate of Corollary 5.8",
        "WG19: Corollary 5.8",
        ("n", "d", "s", "epsilon", "delta"),
        rate,
        loss="squared l2 distance to theta*",
    )
