r"""Lower and upper bounds for estimating a mean vector (CWZ19 §3.1, §3.2).

Two classes. `mean`: sub-Gaussian(sigma) laws on R^d with |mean_j| <= radius. `bounded-mean`: laws
on [-sigma, sigma]^d, whose bounds are proved in `minimax.bounded_mean` with sign data. Diluted sign
data lie in both classes, so that bound serves both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy import optimize, stats

from minimax import bound as symbols
from minimax.bound import Assumption, Bound, Parts, Point, Prior, at_least
from minimax.bounded_mean import (
    dilution,
    in_sample,
    statistical_signs,
    tracing_signs,
    tracing_signs_additive,
)
from minimax.packing import closed_form_size, packing_bound, packing_expression
from minimax.papers import THIS_WORK
from minimax.priors import BlockPrior, CosinePrior
from minimax.privacy import Approximate, Model, Pure, at_point, parameter_names
from minimax.tracing import GAUSSIAN, SUBGAUSSIAN, Residual, gain, gain_expression
from minimax.van_trees import cosine_information, van_trees

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MeanProblem:
    """Gaussian records N(mu, sigma^2 I_d), |mu_j| <= radius."""

    n: int
    d: int
    sigma: float = 1.0
    radius: float = 1.0

    @property
    def point(self) -> dict[str, float]:
        return {"n": self.n, "d": self.d, "sigma": self.sigma, "radius": self.radius}

    def loss(self, estimate: Array, target: Array) -> float:
        return float(np.sum((estimate - target) ** 2))


@dataclass(frozen=True)
class BoundedMeanProblem(MeanProblem):
    """Records in [-sigma, sigma]^d (so radius = sigma)."""


WIDE_PRIOR = Assumption(
    "n * radius >= pi * sigma (the prior is not sharper than the data)",
    lambda p: p["n"] * p["radius"] >= math.pi * p["sigma"],
)


# --- Gaussian data -------------------------------------------------------------------------------


def statistical_gaussian() -> Bound:
    r"""**Statement.** R >= d^2/(nd/sigma^2 + d pi^2/a^2) for N(mu, sigma^2 I), |mu_j| <= a.

    **Proof.** `van_trees` with the cosine-squared prior. **Source.** the statistical term of
    CWZ19: Theorem 3.1, with its constant.
    """

    def compute(p: Point) -> Parts:
        value = _gaussian_statistics(p["n"], p["d"], p["sigma"], p["radius"])
        return Parts(value, None, value)

    return Bound(
        name="van Trees: Gaussian data",
        source="CWZ19: Theorem 3.1 (first term)",
        side="lower",
        kind="certified",
        names=("n", "d", "sigma", "radius"),
        compute=compute,
        expr=_gaussian_statistics(symbols.n, symbols.d, symbols.sigma, symbols.radius),
        prior_at=_cosine_prior,
        slack=1.0,
    )


def _gaussian_statistics(n: Any, d: Any, sigma: Any, radius: Any) -> Any:
    return van_trees(d, n * d / sigma**2, cosine_information(d, radius))


def _cosine_prior(p: Point, parts: Parts) -> Prior:
    return CosinePrior(int(p["d"]), p["radius"], p["sigma"])


def tracing_gaussian(model: Model, *, shifted: bool = False) -> Bound:
    r"""Tracing with the leave-one-out residual, Gaussian data.

    **Statement.** For N(mu, sigma^2 I_d), |mu_j| <= a, J = d pi^2/a^2, kappa = d/(nd/sigma^2 + J),

        R >= kappa d + eta^2,

    eta the root of  sigma^2 (d - kappa J - sqrt(J) eta)
    = n sigma G sqrt(eta^2 + 2 kappa sqrt(J) eta/n + kappa^2 d/sigma^2) + sqrt(delta n) D(eta),
    D(eta) = sqrt(sigma^2 (sqrt n + sqrt d + t)^2 eta^2 + tail_t) + kappa sqrt(n d (d+2)), t > 0.
    Roughly sigma^2 d/n + sigma^2 d^2/(n G)^2: statistics plus privacy.

    **Assumptions.** n a >= pi sigma.

    **Proof.** M may be projected on [-a, a]^d. The joint score U = sum_i (x_i - mu)/sigma^2 +
    grad log pi has E<M - mu, U> = d and E|U|^2 = nd/sigma^2 + J, so N = M - mu - kappa U is
    orthogonal to U and R = kappa d + E|N|^2. The attack A_i = <V_i, x_i - mu> with
    V_i = N + kappa (x_i - mu)/sigma^2 has V_i free of x_i except through M, and
    sum_i E A_i = sigma^2 (d - kappa J) - sigma^2 E<N, grad log pi>. Privacy bounds each E A_i by
    sigma G sqrt(E|V_i|^2) (`gains`), and for delta > 0 by sqrt(delta E A_i^2) more; sum with
    Jensen. For the latter E sum <N, x_i - mu>^2 <= E|N|^2 lambda_max, where
    lambda_max <= sigma^2 (sqrt n + sqrt d + t)^2 but for a chance e^{-t^2/2} (Davidson and Szarek)
    whose contribution, by Cauchy-Schwarz, is tail_t = 3 q [4 a^2 d sqrt F_2 +
    kappa^2 n sqrt F_4/sigma^4 + kappa^2 J sqrt F_2], q = e^{-t^2/4}, F_k the k-th moment of
    sum |x_i - mu|^2.

    *Side information.* The same holds if the attacker also has y ~ N(mu, sigma^2/theta), which M
    ignores, for any theta >= 0: kappa = d/((n + theta) d/sigma^2 + J), and as
    E<N, theta (y - mu)> = -kappa theta d the last term under the root becomes
    kappa^2 d (1 + 2 theta/n)/sigma^2, with a fourth piece kappa^2 theta d sqrt F_2/sigma^2 in the
    tail. theta > 0 helps where n is so small that the prior limits the residual;
    theta -> infinity is the direct attack <M - mu, x_i - mu>, and
    sqrt R >= sigma d/(n G + sigma sqrt J). The best theta is taken.

    **Constants.** `shifted=False` takes G from the moment bound as it stands,
    sqrt(2/pi) sinh(eps) + e^{-eps} sqrt(delta/2); `shifted=True` takes the sharper G of `gains`,
    smaller by 5 % at eps = 1/2 and by half at eps = 2. The closed form linearises the square root
    and takes t^2 = 4 log((nd)^3 (1 + a/sigma)^2); it is within the stated factor in its regime.

    **Source.** CWZ19: Theorem 3.1 (privacy term), by a proof that keeps its constants.
    """

    def compute(p: Point) -> Parts:
        G = gain(at_point(model, p), GAUSSIAN, shifted=shifted)
        statistical, traced = _best_side_information(p, G)
        return Parts(statistical, traced, statistical + traced)

    label = "tracing: Gaussian data" + (", shifted score" if shifted else "")
    return Bound(
        name=label,
        source=f"{THIS_WORK}: tracing_gaussian (for CWZ19: Theorem 3.1)",
        side="lower",
        kind="certified",
        names=("n", "d", "sigma", "radius", *parameter_names(model)),
        compute=compute,
        expr=_gaussian_expression(model, symbols.d, shifted),
        assumptions=(WIDE_PRIOR,),
        prior_at=_cosine_prior,
        slack=3.0 if model is not Approximate else 4.0,
        slack_regime=Assumption(
            "d >= 16 G^2 and delta n d <= 1/100",
            lambda p: (
                math.sqrt(p["d"]) >= 4 * gain(at_point(model, p), GAUSSIAN, shifted=shifted)
                and p.get("delta", 0.0) * p["n"] * p["d"] <= 0.01
            ),
        ),
    )


def _best_side_information(p: Point, G: float) -> tuple[float, float]:
    """(statistical, privacy) at the best theta, which is 0 unless n is small for the prior."""
    n = p["n"]
    others = (p["d"], p["sigma"], p["radius"], G, p.get("delta", 0.0))
    best = gaussian_residual(n, *others)
    width = math.pi * p["sigma"] / p["radius"]
    turning = math.sqrt(width**3 * math.sqrt(p["d"]) / G)
    if turning <= n / 8:
        return best
    found = optimize.minimize_scalar(
        lambda log_theta: -sum(gaussian_residual(n, *others, math.exp(log_theta))),
        bounds=(math.log(n) - 7, math.log(max(turning, n)) + 9),
        method="bounded",
    )
    return max(best, gaussian_residual(n, *others, math.exp(found.x)), key=sum)


def _gaussian_equation(
    n: Any, d: Any, sigma: Any, radius: Any, G: Any, theta: Any = 0
) -> tuple[Any, Residual]:
    """(kappa, the residual inequality) for numbers or symbols."""
    root = sp.sqrt if isinstance(n, sp.Basic) else math.sqrt
    J = cosine_information(d, radius)
    kappa = d / ((n + theta) * d / sigma**2 + J)
    residual = Residual(
        signal=sigma**2 * (d - kappa * J),
        drag=sigma**2 * root(J),
        weight=n * sigma * G,
        cross=2 * kappa * root(J) / n,
        own=kappa * root(d * (1 + 2 * theta / n)) / sigma,
    )
    return kappa, residual


def _leak_terms(
    n: Any, d: Any, sigma: Any, radius: Any, t: Any, theta: Any = 0
) -> tuple[Any, Any, Any]:
    """(slope in eta, tail_t, constant) of D(eta), for numbers or symbols."""
    symbolic = isinstance(n, sp.Basic)
    root, exp = (sp.sqrt, sp.exp) if symbolic else (math.sqrt, math.exp)
    J = cosine_information(d, radius)
    kappa = d / ((n + theta) * d / sigma**2 + J)
    N = n * d
    F2 = sigma**4 * N * (N + 2)
    F4 = F2 * sigma**4 * (N + 4) * (N + 6)
    pieces = (
        4 * radius**2 * d * root(F2)
        + kappa**2 / sigma**4 * n * root(F4)
        + kappa**2 * J * root(F2)
        + kappa**2 * theta * d / sigma**2 * root(F2)
    )
    terms = 3 if theta == 0 else 4  # |a + b + c|^2 <= 3 (...), |a + b + c + e|^2 <= 4 (...)
    tail = terms * exp(-(t**2) / 4) * pieces
    return sigma * (root(n) + root(d) + t), tail, kappa * root(n * d * (d + 2))


def _closed_form_t(n: Any, d: Any, sigma: Any, radius: Any) -> Any:
    """The t at which the closed form is taken: q = e^{-t^2/4} = (nd)^{-3} (1 + a/sigma)^{-2}."""
    root, log = (sp.sqrt, sp.log) if isinstance(n, sp.Basic) else (math.sqrt, math.log)
    return 2 * root(3 * log(n * d) + 2 * log(1 + radius / sigma))


def gaussian_residual(
    n: float, d: float, sigma: float, radius: float, G: float, delta: float, theta: float = 0.0
) -> tuple[float, float]:
    """(kappa d, eta^2) of `tracing_gaussian` at theta, optimised over t."""
    kappa, residual = _gaussian_equation(n, d, sigma, radius, G, theta)
    if delta == 0:
        return kappa * d, residual.floor() ** 2

    def eta(t: float) -> float:
        slope, tail, constant = _leak_terms(n, d, sigma, radius, t, theta)
        root = math.sqrt(delta * n)
        return residual.floor(lambda e: root * (math.sqrt((slope * e) ** 2 + tail) + constant))

    start = _closed_form_t(n, d, sigma, radius)
    found = optimize.minimize_scalar(
        lambda t: -eta(t), bounds=(1.0, 2 * start + 4), method="bounded", options={"xatol": 1e-3}
    )
    return kappa * d, max(eta(start), -float(found.fun)) ** 2


def _gaussian_expression(model: Model, d: Any, shifted: bool) -> sp.Expr:
    n, sigma, radius = symbols.n, symbols.sigma, symbols.radius
    G = gain_expression(model, GAUSSIAN, shifted=shifted)
    kappa, residual = _gaussian_equation(n, d, sigma, radius, G)
    constant: Any = 0
    slope: Any = 0
    if model is Approximate:
        per_eta, tail, fixed = _leak_terms(n, d, sigma, radius, _closed_form_t(n, d, sigma, radius))
        root = sp.sqrt(symbols.delta * n)
        constant, slope = root * (sp.sqrt(tail) + fixed), root * per_eta
    return kappa * d + residual.linear_floor(constant, slope) ** 2


# --- Packing and claims --------------------------------------------------------------------------


def dense_packing(model: Model, data: str = "sub-Gaussian") -> Bound:
    r"""Packing of {-1, 1}^d. See `minimax.packing.packing_bound` (blocks of size one, s = d)."""

    def compute(p: Point) -> Parts:
        d = int(p["d"])
        radius = p.get("radius", p["sigma"])
        found = packing_bound(int(p["n"]), 1, d, at_point(model, p), p["sigma"], radius, data)
        free = {"alpha": found.alpha, "height": found.height}
        return Parts(None, found.value, found.value, free)

    own = ("n", "d", "sigma") if data == "bounded" else ("n", "d", "sigma", "radius")
    return Bound(
        name=f"packing: {data} data",
        source=f"{THIS_WORK}: packing_bound",
        side="lower",
        kind="certified",
        names=(*own, *parameter_names(model)),
        compute=compute,
        expr=packing_expression(model, sp.log(2), symbols.d, data),
        assumptions=(at_least("n", 4),),
        prior_at=lambda p, parts: BlockPrior(
            int(p["d"]), int(p["d"]), parts.free["alpha"], parts.free["height"]
        ),
        slack=300.0,
        slack_regime=Assumption(
            "d >= 18, radius <= 10 sigma and 1 <= N_0 <= n/10",
            lambda p: (
                p["d"] >= 18
                and p.get("radius", p["sigma"]) <= 10 * p["sigma"]
                and 1 <= closed_form_size(1, int(p["d"]), at_point(model, p)) <= p["n"] / 10
            ),
        ),
    )


def claimed_theorem_3_1() -> Bound:
    r"""CWZ19: Theorem 3.1 as claimed: sigma^2 (d/n + d^2 log(1/delta)/(n eps)^2)."""
    n, d, sigma, eps, delta = (
        symbols.n,
        symbols.d,
        symbols.sigma,
        symbols.epsilon,
        symbols.delta,
    )
    statistical, privacy = sigma**2 * d / n, sigma**2 * d**2 * sp.log(1 / delta) / (n * eps) ** 2

    def compute(p: Point) -> Parts:
        first = p["sigma"] ** 2 * p["d"] / p["n"]
        cost = p["sigma"] ** 2 * p["d"] ** 2 * math.log(1 / p["delta"])
        second = cost / (p["n"] * p["epsilon"]) ** 2
        return Parts(first, second, first + second)

    return Bound(
        name="tracing: claimed rate of Theorem 3.1",
        source="CWZ19: Theorem 3.1",
        side="lower",
        kind="claimed",
        names=("n", "d", "sigma", "epsilon", "delta"),
        compute=compute,
        expr=statistical + privacy,
        assumptions=(
            Assumption("epsilon < 1", lambda p: p["epsilon"] < 1),
            Assumption(
                "e^(-n eps)/n < delta < 1/n",
                lambda p: math.exp(-p["n"] * p["epsilon"]) / p["n"] < p["delta"] < 1 / p["n"],
            ),
            Assumption(
                "n >= sqrt(d log(1/delta))/epsilon",
                lambda p: p["n"] * p["epsilon"] >= math.sqrt(p["d"] * math.log(1 / p["delta"])),
            ),
        ),
        remark="constant hidden in the paper, shown as 1",
    )


def lower_bounds(model: Model) -> list[Bound]:
    """Every lower bound for the class `mean` under one privacy definition."""
    bounds = [
        statistical_gaussian(),
        tracing_gaussian(model),
        *([tracing_gaussian(model, shifted=True)] if model in (Pure, Approximate) else []),
        *([dilution(model)] if model in (Pure, Approximate) else []),
        dense_packing(model),
    ]
    return bounds + ([claimed_theorem_3_1()] if model is Approximate else [])


def bounded_lower_bounds(model: Model) -> list[Bound]:
    """Every lower bound for the class `bounded-mean` under one privacy definition."""
    return [
        statistical_signs(),
        tracing_signs(model),
        tracing_signs_additive(model),
        *([dilution(model)] if model in (Pure, Approximate) else []),
        dense_packing(model, "bounded"),
        in_sample(model),
    ]


# --- Upper bound ---------------------------------------------------------------------------------


def clip_bias(R: float, sigma: float, radius: float) -> float:
    """Largest |E clip(x, -R, R) - mu| of x ~ N(mu, sigma^2) with |mu| <= radius.

    E(x - R)^+ - E(-R - x)^+ is odd and increasing in mu, so it is largest at mu = radius.
    """

    def overshoot(u: float) -> float:
        return float(stats.norm.pdf(u) - u * stats.norm.sf(u))

    return sigma * (overshoot((R - radius) / sigma) - overshoot((R + radius) / sigma))


def subgaussian_clip_bias(R: float, sigma: float, radius: float) -> float:
    """A bound on |E clip(x, -R, R) - mu| over all sub-Gaussian(sigma) x with |mu| <= radius <= R.

    E(x - R)^+ and E(-R - x)^+ have opposite signs in it and each is at most sigma times the
    `SUBGAUSSIAN` excess at (R - radius)/sigma.
    """
    return sigma * float(SUBGAUSSIAN.excess(np.float64((R - radius) / sigma)))


def noisy_mean_upper(
    problem: MeanProblem | BoundedMeanProblem,
    *,
    R: float,
    noise_variance: float,
    law: Literal["Gaussian", "sub-Gaussian"] = "Gaussian",
) -> Bound:
    r"""**Statement.** E|muhat - mu|^2 <= sigma^2 d/n + d bias^2 + d tau^2 for clip-average-noise.

    **Proof.** Clipping is 1-Lipschitz, so it does not raise a coordinate's variance; the bias is
    `clip_bias` for Gaussian data, `subgaussian_clip_bias` for the whole class (`law`), and 0 for
    data in [-sigma, sigma] with R >= sigma; the noise is independent with variance tau^2 a
    coordinate. **Source.** CWZ19: Theorem 3.2.
    """
    bounded = isinstance(problem, BoundedMeanProblem)
    bias_of = clip_bias if law == "Gaussian" else subgaussian_clip_bias
    bias = 0.0 if bounded else bias_of(R, problem.sigma, problem.radius)

    def compute(p: Point) -> Parts:
        statistical = p["sigma"] ** 2 * p["d"] / p["n"]
        privacy = p["d"] * (bias**2 + noise_variance)
        return Parts(statistical, privacy, statistical + privacy)

    fits = Assumption("R >= sigma", lambda p: p["sigma"] <= R)
    return Bound(
        name="clip, average, noise",
        source="CWZ19: Theorem 3.2",
        side="upper",
        kind="certified",
        names=("n", "d", "sigma"),
        compute=compute,
        expr=symbols.sigma**2 * symbols.d / symbols.n
        + symbols.d * (sp.Float(bias) ** 2 + sp.Float(noise_variance)),
        assumptions=(fits,) if bounded else (),
        defaults=problem.point,
    )


def noise_variance(privacy: Any, n: float, d: float, R: float) -> float:
    """Variance a coordinate gets when the mean of records clipped to [-R, R]^d is released.

    Gaussian noise for l2 sensitivity 2 R sqrt(d)/n, or Laplace noise for l1 sensitivity 2 R d/n
    under a pure budget.
    """
    if isinstance(privacy, Pure):
        return 2 * (2 * R * d / (n * privacy.epsilon)) ** 2
    return (2 * R * math.sqrt(d) / (n * privacy.to_gaussian().mu)) ** 2


def best_upper(
    problem: MeanProblem | BoundedMeanProblem,
    privacy: Any,
    law: Literal["Gaussian", "sub-Gaussian"] = "sub-Gaussian",
) -> tuple[float, float]:
    """(risk, R): the least risk `noisy_mean_upper` proves for NoisyMean over its truncation R."""

    def risk(R: float) -> float:
        variance = noise_variance(privacy, problem.n, problem.d, R)
        return noisy_mean_upper(problem, R=R, noise_variance=variance, law=law).value()

    if isinstance(problem, BoundedMeanProblem):
        return risk(problem.sigma), problem.sigma
    return best_truncation(risk, problem)


def best_truncation(risk: Callable[[float], float], problem: Any) -> tuple[float, float]:
    """(risk, R) at the R, within reach of a sub-Gaussian sample, where a proven risk is least."""
    spread = problem.sigma * math.sqrt(2 * math.log(problem.n + 2))
    found = optimize.minimize_scalar(
        lambda R: math.log(risk(R)),
        bounds=(problem.radius, problem.radius + 4 * spread),
        method="bounded",
    )
    return risk(float(found.x)), float(found.x)
