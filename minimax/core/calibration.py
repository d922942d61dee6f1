r"""Noise from a budget: what an estimator draws and a bound charges is computed here, once.

Whoever audits an estimator reads this file and no bound.

T releases of l2 sensitivity Delta with noise tau each are together one Gaussian mechanism of
sensitivity sqrt(T) Delta: GDP with mu = sqrt(T) Delta/tau, zCDP with rho = T Delta^2/(2 tau^2),
adaptively chosen or not. So tau = sqrt(T) Delta/mu, with mu from the budget: sqrt(2 rho) for zCDP,
the exact Gaussian curve for (epsilon, delta).
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Pure,
    ZeroConcentrated,
)


def noise_variance(privacy: Any, n: float, d: float, R: float) -> float:
    """Variance a coordinate gets when the mean of records clipped to [-R, R]^d is released.

    Gaussian noise for l2 sensitivity 2 R sqrt(d)/n, or Laplace noise for l1 sensitivity 2 R d/n
    under a pure budget.
    """
    if isinstance(privacy, Pure):
        return 2 * (2 * R * d / (n * privacy.epsilon)) ** 2
    return (2 * R * math.sqrt(d) / (n * privacy.to_gaussian().mu)) ** 2


def paper_peeling_scale(sensitivity: float, s: int, epsilon: float, delta: float) -> float:
    """The scale printed in CWZ19: Algorithm 3.2, lambda 2 sqrt(3 s log(1/delta))/epsilon."""
    return sensitivity * 2 * math.sqrt(3 * s * math.log(1 / delta)) / epsilon


class Scales(NamedTuple):
    """The noise of a sparse release: functions of n, s, R and the budget, never of the data."""

    round_epsilon: float
    """epsilon of one selection round (there are s)."""
    selection: float
    """Scale of the Gumbel (method="gumbel") or Laplace ("peeling") noise on every |mean_j|."""
    value: float
    """Scale of the Gaussian or Laplace noise on every released value."""
    value_variance: float
    """Variance of that noise."""


def sparse_scales(
    n: int,
    s: int,
    R: float,
    budget: Any,
    *,
    method: str = "gumbel",
    calibration: str = "zcdp",
    selection_share: float = 0.5,
) -> Scales:
    """The noise scales with which s coordinates of a mean of n records in [-R, R] are released.

    Every |mean_j| has sensitivity 2R/n. A pure budget is divided by plain addition; any other is
    turned into rho-zCDP and divided there.

    * ``gumbel``: s rounds of epsilon_0 cost s epsilon_0, or s epsilon_0^2/8 in zCDP, which is set
      to `selection_share` of the budget; the values, of l2 sensitivity 2R sqrt(s)/n and l1
      sensitivity 2Rs/n, get the rest.
    * ``peeling``: one Laplace scale for everything; with e = (2R/n)/scale, the s rounds are 2e-DP
      and the s values e-DP each: 3se in all, or s(4e^2 + e^2)/2 in zCDP.
    """
    sensitivity = 2 * R / n
    if method == "peeling":
        if calibration == "paper":
            if not isinstance(budget, Approximate):
                raise TypeError(f"calibration='paper' is for (epsilon, delta), not {budget}")
            scale = paper_peeling_scale(sensitivity, s, budget.epsilon, budget.delta)
        elif isinstance(budget, Pure):
            scale = sensitivity * 3 * s / budget.epsilon
        else:
            scale = sensitivity * math.sqrt(2.5 * s / budget.to_zcdp().rho)
        return Scales(2 * sensitivity / scale, scale, scale, 2 * scale**2)
    if isinstance(budget, Pure):
        epsilon = budget.epsilon * selection_share / s
        value = sensitivity * s / (budget.epsilon * (1 - selection_share))
        return Scales(epsilon, 2 * sensitivity / epsilon, value, 2 * value**2)
    rho = budget.to_zcdp().rho
    epsilon = math.sqrt(8 * rho * selection_share / s)
    value = sensitivity * math.sqrt(s / (2 * rho * (1 - selection_share)))
    return Scales(epsilon, 2 * sensitivity / epsilon, value, value**2)


Composition = Literal["zcdp", "basic"]


def repeated_noise(
    privacy: Approximate | ZeroConcentrated | Gaussian,
    sensitivity: float,
    releases: int,
    composition: Composition = "zcdp",
) -> float:
    """Standard deviation of the noise on each of `releases` Gaussian releases.

    ``zcdp``: all of them as one Gaussian mechanism (above). ``basic``: each release gets
    (epsilon/T, delta/T) by the classical formula Delta sqrt(2 log(2T/delta))/(epsilon/T), as CWZ19:
    Algorithm 4.1 does; it wastes about a factor sqrt(T).
    """
    if composition == "zcdp":
        return sensitivity * math.sqrt(releases) / privacy.to_gaussian().mu
    if composition != "basic":
        raise ValueError(f"composition must be 'zcdp' or 'basic', got {composition!r}")
    if not isinstance(privacy, Approximate):
        raise ValueError(f"composition='basic' is for (epsilon, delta), not {privacy}")
    log_term = math.log(2 * releases / privacy.delta)
    return sensitivity * math.sqrt(2 * log_term) * releases / privacy.epsilon


def gradient_sensitivity(n: int, R: float, row_bound: float, radius: float) -> float:
    r"""How far replacing a record can move (1/n) sum_i (<x_i, b> - y_i) x_i; exact for d >= 2.

    **Statement.** Over |x|_2 <= c, |y| <= R and |b|_2 <= c0, with A = c0 c, the l2 sensitivity is
    (2c/n) max_s sqrt(1 - s^2) (A s + R), attained at s = 2A/(R + sqrt(R^2 + 8 A^2)).

    **Proof.** Along a unit vector v a record adds <v,x><x,b> - y <v,x>. In the plane of v and b
    let x and x' have angles t, u in [0, pi/2] to the line of v; shorter rows and other planes give
    no more. The best responses give c R (cos t + cos u), and the best b of length c0 gives
    c A sqrt((cos^2 t - cos^2 u)^2 + (sin 2t + sin 2u)^2/4) = c A sin(t + u). With m = (t + u)/2,
    cos t + cos u <= 2 cos m, so the sum is at most 2c cos m (A sin m + R): s = sin m.

    CWZ19: Lemma 4.2 has 4 (R + A) c/n; adding two largest gradients gives 2 (R + A) c/n, which is
    never reached, because for a given b the largest gradients all have one direction.
    """
    reach = radius * row_bound
    s = 2 * reach / (R + math.sqrt(R * R + 8 * reach * reach))
    return 2 * row_bound * math.sqrt(1 - s * s) * (reach * s + R) / n
