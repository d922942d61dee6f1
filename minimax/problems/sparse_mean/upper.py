"""Upper bounds for a sparse mean: clip, average, select, noise (CWZ19 §3.4)."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy import special

from minimax import bound as symbols
from minimax.bound import Bound
from minimax.core.bound import Assumption, Parts, Point
from minimax.core.calibration import Scales, sparse_scales
from minimax.core.privacy import Pure
from minimax.problems.mean.upper import best_truncation, clip_bias
from minimax.problems.sparse_mean.problem import SparseMeanProblem

Array = NDArray[np.float64]


# --- Upper bound ---------------------------------------------------------------------------------


def laplace_maximum_rms(d: int) -> float:
    """sqrt(E max_j w_j^2) of d unit Laplace variables: the maximum of d exponentials.

    E max^2 = H_d^2 + sum 1/k^2, since the maximum is a sum of independent Exp(k), k = 1..d.
    """
    k = np.arange(1, min(d, 10**6) + 1)
    harmonic = float(np.sum(1 / k)) + math.log(max(d / 10**6, 1.0))
    return math.sqrt(harmonic**2 + float(np.sum(1 / k**2)))


def gumbel_range_rms(d: int) -> float:
    """Half of a bound on sqrt(E (max - min)^2) of d unit Gumbel variables.

    The maximum is log d plus a Gumbel. Minus the minimum exceeds t with chance at most
    d exp(-e^t), so its excess over log log(3d) has second moment at most
    int 2 t d exp(-e^t log 3d) dt <= 1.
    """
    euler = 0.5772156649015329
    highest = math.sqrt((math.log(d) + euler) ** 2 + math.pi**2 / 6)
    lowest = math.log(math.log(3 * d)) + 1.0
    return (highest + max(lowest, 1.0)) / 2


def clip_distance(R: float, sigma: float, radius: float, d: int) -> float:
    """sqrt(E max_j y_j^2), y_j the average over records of what clipping cuts off |x_ij|.

    E max_j y_j^2 <= d E((|x| - R)^+)^2 <= 4 d sigma^2 int_u^inf (t - u) e^{-t^2/2} dt with
    u = (R - radius)/sigma, from the tail 2 e^{-t^2/2} of |x - mu|/sigma, for any sub-Gaussian x.
    """
    u = (R - radius) / sigma
    left = math.exp(-(u**2) / 2) - u * math.sqrt(2 * math.pi) * float(special.ndtr(-u))
    return 2 * sigma * math.sqrt(d * max(left, 0.0))


def sparse_mean_upper(
    problem: SparseMeanProblem,
    *,
    s: int,
    R: float,
    method: str,
    scales: Scales,
    law: Literal["Gaussian", "sub-Gaussian"] = "Gaussian",
) -> Bound:
    r"""Explicit risk bound for clip, average, select s coordinates privately, add noise.

    **Statement.** For s >= s* (the true sparsity),

        E|muhat - mu|^2 <= s e^2 + s tau^2 + 4 s* (e + w)^2,

    e^2 = E|Xbar_R - mu|_inf^2 <= (b + sigma sqrt((2 log 2d + 2)/n))^2, b the `clip_bias` for
    Gaussian data and `clip_distance` for the sub-Gaussian class, tau^2 the variance of the
    noise on a released value, w the root mean square of the largest selection noise.

    **Proof.** On the chosen set S the error is (Xbar - mu)_S plus independent noise. Off it, match
    each j in S* \ S with a distinct k in S \ S* chosen in round i (there are enough, as
    |S| >= |S*|): the round preferred k, so |Xbar_j| <= |Xbar_k| + w_ik - w_ij, hence
    |mu_j| <= 2 |Xbar - mu|_inf + 2 |w_i|_inf; square, sum over at most s* rounds, Minkowski.
    Averages of clipped Gaussians are sub-Gaussian(sigma/sqrt n) about their mean (clipping is
    1-Lipschitz), and E max_j of d squared sub-Gaussians is at most (sigma^2/n)(2 log 2d + 2) by
    integrating the tail.

    **Constants.** Smaller than those of CWZ19: (A.4) (2, 12, 32, 2), which also needs its (A.1)
    corrected. **Source.** CWZ19: Theorem 3.4.
    """
    if law == "Gaussian":
        bias = clip_bias(R, problem.sigma, problem.radius)
    else:
        bias = clip_distance(R, problem.sigma, problem.radius, problem.d)
    extreme = laplace_maximum_rms if method == "peeling" else gumbel_range_rms
    selection_rms = scales.selection * extreme(problem.d)
    value_variance = scales.value_variance

    def compute(p: Point) -> Parts:
        spread = p["sigma"] * math.sqrt((2 * math.log(2 * p["d"]) + 2) / p["n"])
        e = bias + spread
        total = s * e**2 + s * value_variance + 4 * p["s"] * (e + selection_rms) ** 2
        statistical_part = (s + 4 * p["s"]) * spread**2
        return Parts(statistical_part, total - statistical_part, total)

    n, d, sigma = symbols.n, symbols.d, symbols.sigma
    e = sp.Float(bias) + sigma * sp.sqrt((2 * sp.log(2 * d) + 2) / n)
    w, tau2 = sp.Float(selection_rms), sp.Float(value_variance)
    return Bound(
        name="clip, average, select, noise",
        source="CWZ19: Theorem 3.4",
        side="upper",
        kind="certified",
        names=("n", "d", "s", "sigma"),
        compute=compute,
        expr=s * e**2 + s * tau2 + 4 * symbols.s * (e + w) ** 2,
        assumptions=(Assumption("s* <= s", lambda p: p["s"] <= s),),
        defaults=problem.point,
    )


def best_upper(problem: SparseMeanProblem, privacy: Any) -> tuple[float, float]:
    """(risk, R): the least risk proven for SparseMean over its R, for the sub-Gaussian class."""
    budget = privacy if isinstance(privacy, Pure) else privacy.to_zcdp()

    def risk(R: float) -> float:
        scales = sparse_scales(problem.n, problem.s, R, budget)
        bound = sparse_mean_upper(
            problem, s=problem.s, R=R, method="gumbel", scales=scales, law="sub-Gaussian"
        )
        return bound.value()

    return best_truncation(risk, problem)
