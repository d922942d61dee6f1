"""Upper bounds for the mean: clip, average, noise (CWZ19 §3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, Protocol

import numpy as np
from scipy import optimize, special

from minimax.core.best import VACUOUS, Best
from minimax.core.bound import Assumption, Optimum, Point, Rule, Setting, Terms, UpperBound, rule_at
from minimax.core.calibration import Allowance, noise_variance
from minimax.core.claimed import HIDDEN_CONSTANT, claimed_bound
from minimax.core.privacy import Approximate, Privacy
from minimax.core.symbolic import FLOATS, LETTERS, Number, library
from minimax.problems.bounded_mean.problem import BoundedMeanProblem
from minimax.problems.mean.centred import centred_mean_upper
from minimax.problems.mean.problem import MeanProblem

Law = Literal["Gaussian", "sub-Gaussian"]
NODES, WEIGHTS = ((np.polynomial.legendre.leggauss(10)[i] + (1 - i)) / 2 for i in (0, 1))
"""Gauss and Legendre's, on [0, 1]."""

# --- What clipping costs --------------------------------------------------------------------------


def clip_bias(R: Number, sigma: Number, radius: Number) -> Number:
    """Largest |E clip(x, -R, R) - mu| of x ~ N(mu, sigma^2) with |mu| <= radius.

    E(x - R)^+ - E(-R - x)^+ is odd and increasing in mu, so it is largest at mu = radius. There it
    is sigma int Phi(-t) dt from (R - radius)/sigma to (R + radius)/sigma: the difference of two
    values of phi(u) - u Phi(-u), which would cancel in floats for a small radius.
    """
    lib = library(R, sigma, radius)

    def overshoot(u: Number) -> Number:
        return lib.exp(-u * u / 2) / lib.sqrt(2 * lib.pi) - u * lib.ndtr(-u)

    width = 2 * radius / sigma
    if lib is FLOATS and width < 0.5:  # ten nodes are exact to the last digit here
        at = (R - radius) / sigma + width * NODES
        return float(2 * radius * np.dot(WEIGHTS, special.ndtr(-at)))
    bias = sigma * (overshoot((R - radius) / sigma) - overshoot((R + radius) / sigma))
    return bias if lib.is_symbolic else lib.largest(bias, 0 * bias)


def subgaussian_clip_bias(R: Number, sigma: Number, radius: Number) -> Number:
    r"""A bound on |E clip(x, -R, R) - mu| over all sub-Gaussian(sigma) x with |mu| <= radius.

    **Statement.** With u = (R - radius)/sigma, sigma times the smaller of (sqrt(1 + u^2) - u)/2
    and, for u >= 0, int_u^inf e^{-t^2/2} dt = sqrt(2 pi) Phi(-u).

    **Proof.** E(x - R)^+ and E(-R - x)^+ have opposite signs in the bias, so the larger bounds it.
    The first bound holds for a variance of at most sigma^2, the second integrates the tail
    e^{-t^2/2} of one side.
    """
    lib = library(R, sigma, radius)
    u = (R - radius) / sigma
    root = lib.sqrt(1 + u * u)
    return sigma * lib.choose(
        u >= 0,
        lambda: lib.least(0.5 / (root + u), lib.sqrt(2 * lib.pi) * lib.ndtr(-u)),
        lambda: (root - u) / 2,
    )


# --- Upper bound ----------------------------------------------------------------------------------


def noisy_mean_upper(
    problem: MeanProblem,
    *,
    R: Rule,
    noise_variance: Rule,
    privacy: Privacy | None = None,
    law: Law = "Gaussian",
) -> UpperBound:
    r"""**Statement.** E|muhat - mu|^2 <= sigma^2 d/n + d bias^2 + d tau^2 for clip-average-noise.

    **Proof.** Clipping is 1-Lipschitz, so it does not raise a coordinate's variance; the bias is
    `clip_bias` for Gaussian data, `subgaussian_clip_bias` for the whole class (`law`), and 0 for
    data in [-sigma, sigma] with R >= sigma; the noise is independent with variance tau^2 a
    coordinate. **Source.** CWZ19: Theorem 3.2.

    R and tau^2 are numbers or functions of the point, which then holds `privacy`'s numbers too.
    """
    bounded = isinstance(problem, BoundedMeanProblem)
    bias_of = clip_bias if law == "Gaussian" else subgaussian_clip_bias
    budget = {} if privacy is None else privacy.parameters

    def optimise(point: Point) -> Optimum:
        return {"R": rule_at(R, point), "noise_variance": rule_at(noise_variance, point)}

    def formula(point: Point, found: Optimum) -> Terms:
        bias = 0.0 if bounded else bias_of(found["R"], point["sigma"], point["radius"])
        statistical = point["sigma"] ** 2 * point["d"] / point["n"]
        return Terms(statistical, point["d"] * (bias * bias + found["noise_variance"]))

    fits = Assumption("R >= sigma", lambda point: point["sigma"] <= rule_at(R, point))
    return UpperBound(
        name="clip, average, noise",
        source="CWZ19: Theorem 3.2",
        parameters=(*problem.point, *budget),
        formula=formula,
        optimise=optimise,
        expression=lambda: formula(LETTERS, optimise(LETTERS)).total,
        assumptions=(fits,) if bounded else (),
        defaults={**problem.point, **budget},
        estimator="NoisyMean",
        settings=lambda point, found: {"R": found["R"]},
        zero_release_risk=problem.zero_release_risk,
        resolve=isinstance(privacy, Approximate),
    )


def best_noisy_mean(
    problem: MeanProblem, privacy: Privacy, law: Law = "sub-Gaussian"
) -> UpperBound:
    """`noisy_mean_upper` at the R of least proven risk; the noise is calibrated at every point.

    For the sub-Gaussian class that is what NoisyMean plans from sigma and radius alone.
    """
    model = type(privacy)

    def at(R: float) -> UpperBound:
        return noisy_mean_upper(
            problem,
            R=R,
            noise_variance=lambda at: noise_variance(Allowance(model, at), at["n"], at["d"], R),
            privacy=privacy,
            law=law,
        )

    if isinstance(problem, BoundedMeanProblem):
        return at(problem.sigma)
    best = at(best_truncation(lambda R: at(R).value(), problem))
    return replace(best, settings=_class_settings) if law == "sub-Gaussian" else best


def clipped_upper(problem: MeanProblem, privacy: Privacy) -> UpperBound:
    """`noisy_mean_upper` for the sub-Gaussian class at an R that is a formula of the point:
    a + sigma sqrt(2 log n), and sigma for bounded records."""
    model, bounded = type(privacy), isinstance(problem, BoundedMeanProblem)

    def level(at: Point) -> Number:
        if bounded:
            return at["sigma"]
        lib = library(at["n"])
        return at["radius"] + at["sigma"] * lib.sqrt(2 * lib.log(at["n"]))

    bound = noisy_mean_upper(
        problem,
        R=level,
        noise_variance=lambda at: noise_variance(Allowance(model, at), at["n"], at["d"], level(at)),
        privacy=privacy,
        law="sub-Gaussian",
    )
    return replace(bound, name=f"{bound.name}, R a formula", resolve=False)


def _class_settings(point: Point, found: Optimum) -> Mapping[str, Setting]:
    return {"sigma": point["sigma"], "radius": point["radius"], "tails": "coordinates"}


def upper_bounds(problem: MeanProblem, privacy: Privacy) -> list[UpperBound]:
    """What NoisyMean is proved to reach in the narrower classes, which its `tails` names."""
    gaussian = centred_mean_upper(problem.point, privacy, "Gaussian")
    return [vector_upper(problem, privacy), gaussian]


def vector_upper(problem: MeanProblem, privacy: Privacy) -> UpperBound:
    """That of the class of sub-Gaussian vectors."""
    return centred_mean_upper(problem.point, privacy, "vectors")


def claimed_theorem_3_2(*, bounded: bool = False) -> UpperBound:
    r"""CWZ19: Theorem 3.2 as claimed: sigma^2 (d/n + d^2 log(1/delta) log n/(n eps)^2); for data in
    [-T, T] (`bounded`) without log n, T in place of sigma in the privacy term.

    The theorem prints sigma there too, which is wrong: at T = 100 sigma the risk is 14,000 times
    that rate. Here T = sigma.
    """

    def rate(p: Point) -> Terms:
        log, variance = library(p["n"]).log, p["sigma"] ** 2
        cost = -((p["d"] / (p["n"] * p["epsilon"])) ** 2) * log(p["delta"])
        return Terms(variance * p["d"] / p["n"], variance * cost * (1 if bounded else log(p["n"])))

    private = "its noise 4 R^2 d log(1/delta)/(n eps)^2 is too little for small delta"
    scaled = "; the privacy term scales with the bound on |x_j|, not with sigma as printed"
    return claimed_bound(
        UpperBound,
        "clip, average, noise: claimed rate of Theorem 3.2",
        "CWZ19: Theorem 3.2",
        ("n", "d", "sigma", "epsilon", "delta"),
        rate,
        remark=f"{HIDDEN_CONSTANT}; {private}{scaled if bounded else ''}",
    )


def best_upper(problem: MeanProblem, privacy: Privacy) -> Best:
    """The least risk proven for NoisyMean, or releasing 0, of risk at most d radius^2."""
    best = Best.of(best_noisy_mean(problem, privacy))
    return best.or_zero(problem.zero_release_risk(), VACUOUS)


class _Truncated(Protocol):
    @property
    def n(self) -> int: ...
    @property
    def sigma(self) -> float: ...
    @property
    def radius(self) -> float: ...


def best_truncation(risk: Callable[[float], float], problem: _Truncated) -> float:
    """The R, within reach of a sub-Gaussian sample, where a proven risk is least.

    It has as many digits as are printed.
    """
    spread = problem.sigma * math.sqrt(2 * math.log(problem.n + 2))
    found = optimize.minimize_scalar(
        lambda R: math.log(risk(R)),
        bounds=(problem.radius, problem.radius + 4 * spread),
        method="bounded",
    )
    R = float(found.x)
    digits = 4 + max(math.ceil(math.log10(R / spread)) - 1, 0)
    return float(f"{R:.{min(digits, 17)}g}")
