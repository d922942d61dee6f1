"""How close privacy keeps two output laws: the divergences in which its definitions are phrased."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64] | float


def kl_pure(epsilon: ArrayLike) -> NDArray[np.float64]:
    """Largest KL(P || Q) of an epsilon-indistinguishable pair: epsilon * tanh(epsilon / 2).

    Proof: the likelihood ratio r = dP/dQ lies in [e^-eps, e^eps] with E_Q r = 1, and r log r is
    convex, so E_Q r log r is at most the chord's value at mean 1, reached by randomised response.
    """
    eps = np.asarray(epsilon, dtype=float)
    return np.asarray(eps * np.tanh(eps / 2))


def gaussian_hockey_stick(mu: float, epsilon: float) -> float:
    """sup_S P(S) - e^epsilon Q(S) for P = N(mu, 1), Q = N(0, 1): `log_gaussian_hockey_stick`."""
    return math.exp(log_gaussian_hockey_stick(mu, epsilon))


def log_gaussian_hockey_stick(mu: float, epsilon: float) -> float:
    r"""log H(epsilon), H = sup_S P(S) - e^epsilon Q(S) for P = N(mu, 1), Q = N(0, 1).

    **Statement.** With a = epsilon/mu - mu/2 and Mills' ratio R(x) = Phi(-x)/phi(x),
    H = Phi(-a) - e^eps Phi(-a - mu) (Balle and Wang, 2018) = phi(a) (R(a) - R(a + mu)), and
    H(-t) = 1 - e^-t + e^-t H(t).

    **Proof.** e^eps phi(a + mu) = phi(a). Negative levels: (p - e^-t q)_+ = p - e^-t q +
    e^-t (q - e^t p)_+, and exchanging P and Q is a reflection.

    **Constants.** The first form, whose second term is at most a fifth of the first, is used for
    a < -1, the second elsewhere. For small mu its difference is the integral of
    1 - x R(x) = -R'(x), by Gauss; beyond a = 10^4 it is at most 1/a - 1/(a + mu), which is what
    is returned (larger by less than 10^-7 of itself). So every digit but the last three is right,
    counting a shift of epsilon by 10^-15 of itself as no error.
    """
    if epsilon < 0:
        return math.log(
            math.exp(log_gaussian_hockey_stick(mu, -epsilon) + epsilon) - math.expm1(epsilon)
        )
    if mu == 0 or math.isinf(mu):
        return 0.0 if mu else -math.inf
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if a < -1:
        return math.log(_difference_inside(a, b))
    difference = mu / a / b if a > 1e4 else float(_mills_difference(np.float64(a), mu))
    return min(math.log(difference) - (a * a + LOG_TWO_PI) / 2, 0.0) if difference else -math.inf


def log_gaussian_hockey_sticks(mu: float, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
    """`log_gaussian_hockey_stick` at many levels, mu being positive and finite."""
    level = np.abs(epsilon)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        a, b = level / mu - mu / 2, level / mu + mu / 2
        above, inside = np.empty_like(a), a < -1
        above[inside] = np.log(_difference_inside(a[inside], b[inside]))
        a, b = a[~inside], b[~inside]
        difference = np.where(a > 1e4, mu / a / b, _mills_difference(a, mu))
        above[~inside] = np.minimum(np.log(difference) - (a * a + LOG_TWO_PI) / 2, 0.0)
        below = np.log(np.exp(above - level) - np.expm1(-level))
    return np.where(epsilon < 0, below, above)


def log_gaussian_overlap(mu: float, epsilon: float) -> float:
    """log(1 - H(epsilon)) = log(Phi(a) + e^epsilon Phi(-a - mu)), which does not cancel."""
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    return float(np.logaddexp(special.log_ndtr(a), epsilon + special.log_ndtr(-b)))


def _difference_inside(a: Floats, b: Floats) -> NDArray[np.float64]:
    """Phi(-a) - phi(a) R(b)."""
    return np.asarray(special.ndtr(-a) - np.exp(-(a * a + LOG_TWO_PI) / 2) * _mills(b))


def _mills_difference(a: Floats, mu: float) -> NDArray[np.float64]:
    """R(a) - R(a + mu)."""
    if mu > GAUSS_BELOW:
        return np.asarray(_mills(a) - _mills(a + mu))
    between = np.asarray(a)[..., None] + mu * GAUSS_NODES
    return np.asarray(mu * ((1 - between * _mills(between)) @ GAUSS_WEIGHTS))


def _mills(x: Floats) -> NDArray[np.float64]:
    """Phi(-x)/phi(x)."""
    return np.asarray(math.sqrt(math.pi / 2) * special.erfcx(x / math.sqrt(2)))


LOG_TWO_PI = math.log(2 * math.pi)
GAUSS_BELOW = 0.5
"""Up to this mu eight nodes leave a relative error below 10^-16."""
GAUSS_NODES, GAUSS_WEIGHTS = ((np.polynomial.legendre.leggauss(8)[i] + 1 - i) / 2 for i in (0, 1))


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
