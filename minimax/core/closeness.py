"""How close privacy keeps two output laws: the divergences in which its definitions are phrased."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special


def kl_pure(epsilon: ArrayLike) -> NDArray[np.float64]:
    """Largest KL(P || Q) of an epsilon-indistinguishable pair: epsilon * tanh(epsilon / 2).

    Proof: the likelihood ratio r = dP/dQ lies in [e^-eps, e^eps] with E_Q r = 1, and r log r is
    convex, so E_Q r log r is at most the chord's value at mean 1, reached by randomised response.
    """
    eps = np.asarray(epsilon, dtype=float)
    return np.asarray(eps * np.tanh(eps / 2))


def gaussian_hockey_stick(mu: float, epsilon: float) -> float:
    """sup_S P(S) - e^epsilon Q(S) for P = N(mu, 1), Q = N(0, 1).

    Equals Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) (Balle and Wang, 2018). Written through
    the scaled complementary error function so that values down to 1e-300 keep their digits.
    """
    if mu == 0:
        return 0.0
    if math.isinf(mu):
        return 1.0
    upper = mu / 2 - epsilon / mu
    lower = -mu / 2 - epsilon / mu
    if upper > -1:
        with np.errstate(over="ignore"):
            scaled = np.exp(epsilon + special.log_ndtr(lower))
        return float(max(special.ndtr(upper) - scaled, 0.0))
    # Phi(x) = exp(-x^2/2) erfcx(-x/sqrt 2)/2, and both terms share exp(-upper^2/2).
    difference = special.erfcx(-upper / math.sqrt(2)) - special.erfcx(-lower / math.sqrt(2))
    return float(max(0.5 * math.exp(-(upper**2) / 2) * difference, 0.0))


def group_delta(epsilon: ArrayLike, delta: float, size: ArrayLike) -> NDArray[np.float64]:
    """delta for groups of `size` records: delta (e^{size eps} - 1) / (e^eps - 1), at most 1.

    Proof: iterate P_{i+1}(S) <= e^eps P_i(S) + delta along a path of neighbouring data sets.
    (CWZ19: Lemma 8.1 prints the denominator e - 1, which is too large for eps < 1.)
    """
    eps = np.asarray(epsilon, dtype=float)
    k = np.asarray(size, dtype=float)
    if delta == 0:
        return np.zeros(np.broadcast_shapes(eps.shape, k.shape))
    grown = delta * np.expm1(np.minimum(k * eps, 700.0)) / np.expm1(np.minimum(eps, 700.0))
    return np.where(k * eps > 700.0, 1.0, np.minimum(grown, 1.0))
