"""Upper bounds for the mean: clip, average, noise (CWZ19 §3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy import optimize, stats

from minimax import bound as symbols
from minimax.bound import Bound
from minimax.core.bound import Assumption, Parts, Point
from minimax.core.calibration import noise_variance
from minimax.methods.tracing import SUBGAUSSIAN
from minimax.problems.bounded_mean.problem import BoundedMeanProblem
from minimax.problems.mean.problem import MeanProblem

Array = NDArray[np.float64]


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
