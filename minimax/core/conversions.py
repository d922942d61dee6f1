"""From one privacy definition to another, in numbers: never below the truth in what is stated.

An epsilon is rounded upwards, a budget downwards.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from minimax.core.closeness import log_gaussian_hockey_stick, log_gaussian_overlap

OUTWARD = 1 + 1e-12
"""A stated epsilon is rounded upwards by this factor: more than rounding errors can have taken."""


def rounded_up(exact: Fraction) -> float:
    """The least float that is not below."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


@lru_cache(maxsize=4096)
def half_square(value: float) -> float:
    """value^2/2, rounded upwards: the rho of mu-GDP, and of epsilon-DP."""
    return rounded_up(Fraction(value) ** 2 / 2)


def order_saving(g: ArrayLike) -> NDArray[np.float64]:
    r"""log(1 + g)/g + log(1 + 1/g), what the Renyi order 1 + g saves of epsilon.

    **Statement.** If the Renyi divergence of order 1 + g > 1 is at most D, the pair is
    (eps, delta)-DP with eps = (D + log(1/delta)/g - order_saving(g))^+.

    **Proof.** delta = exp((alpha-1)(D - eps)) (1 - 1/alpha)^alpha/(alpha - 1) at alpha = 1 + g
    (Canonne, Kamath and Steinke, 2020), solved for eps.
    """
    g = np.asarray(g, dtype=float)
    return np.asarray(np.log1p(g) / g + np.log1p(1 / g))


def _order_epsilon(g: float, L: float) -> float:
    r"""c(g) = L/g - order_saving(g): rho-zCDP is (eps, delta)-DP with eps = (rho (1 + g) + c(g))^+.

    L = log(1/delta), g > 0. The best g is the one root of rho g^2 + log(1 + g) = L, as
    c'(g) = -(L - log(1 + g))/g^2.
    """
    return L / g - float(order_saving(g))


@lru_cache(maxsize=4096)
def zcdp_epsilon(rho: float, delta: float) -> float:
    """The best epsilon of `_order_epsilon`."""
    L, log_rho = -math.log(delta), math.log(rho)

    def excess(x: float) -> float:
        return math.exp(log_rho + 2 * x) + float(np.logaddexp(0.0, x)) - L

    low = min((math.log(L / 3) - log_rho) / 2, math.log(math.expm1(L / 3)))
    high = min((math.log(L) - log_rho) / 2, L)
    g = math.exp(float(optimize.brentq(excess, low, high)))
    # Every g gives a true epsilon, so that the rounding of terms is all that can be wrong.
    rounding = 2e-15 * (rho * (1 + g) + L / g + float(order_saving(g)))
    return max((rho * (1 + g) + _order_epsilon(g, L)) * OUTWARD + rounding, 1e-12)


@lru_cache(maxsize=4096)
def zcdp_budget(epsilon: float, delta: float) -> float:
    """rho with zcdp_epsilon(rho, delta) = epsilon, rounded downwards so that it is not above.

    At the best g, rho = (L - log(1 + g))/g^2, so that epsilon = rho (1 + 2g) - log(1 + 1/g). This
    falls with g, as rho does and as epsilon rises with rho, from infinity to below 0.
    """
    L, epsilon = -math.log(delta), epsilon * (1 - 2e-12)

    def excess(x: float) -> float:
        g = math.exp(x)
        return (L - math.log1p(g)) / g * (1 / g + 2) - math.log1p(1 / g) - epsilon

    high = math.log(math.expm1(min(L, 700.0)))
    low = high - 1.0
    while excess(low) < 0:
        low -= 1.0
    g = math.exp(float(optimize.brentq(excess, low, high)))
    rounding = 5e-15 * (epsilon + L / g + float(order_saving(g)))
    return (epsilon - _order_epsilon(g, L) - rounding) / (1 + g)


def gaussian_excess(mu: float, epsilon: float, delta: float) -> float:
    """The sign of H(epsilon) - delta, H of mu-GDP, and never too small; its size is in logs.

    Near 1 by the complements, which keep their digits where H and delta do not. What is added is
    more than the error of `log_gaussian_hockey_stick`.
    """
    log_delta, log_rest = math.log(delta), math.log1p(-delta)
    if delta <= 0.5:
        return log_gaussian_hockey_stick(mu, epsilon) - log_delta - 4e-15 * (log_delta - 1)
    return log_rest - 4e-15 * (log_rest - 1) - log_gaussian_overlap(mu, epsilon)


@lru_cache(maxsize=4096)
def gdp_budget(epsilon: float, delta: float) -> float:
    """mu with hockey-stick delta at epsilon (Balle and Wang, 2018), rounded downwards.

    The search starts at the mu whose bound in `Gaussian.to_approximate` is this epsilon.
    """
    epsilon *= 1 - 2e-12
    root = math.sqrt(-2 * math.log(delta))
    low = math.log(2 * epsilon / (math.hypot(root, math.sqrt(2 * epsilon)) + root)) - 1e-9
    high = low + 1.0
    while gaussian_excess(math.exp(high), epsilon, delta) < 0:
        high += 1.0
    found = optimize.brentq(
        lambda x: gaussian_excess(math.exp(x), epsilon, delta), low, high, xtol=1e-14
    )
    return math.exp(float(found)) * (1 - 5e-14)
