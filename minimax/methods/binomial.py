r"""The binomial distribution function, for sample sizes at which scipy's loses its footing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

NEGLIGIBLE = 230.0
"""A tail below e^-230 = 1e-100 counts as none."""


def binomial_cdf(k: ArrayLike, n: float, p: ArrayLike) -> NDArray[np.float64]:
    r"""P(K <= k), K ~ Binomial(n, p), for whole 0 <= k <= n.

    **Statement.** P(K <= k) = P(B > p), B ~ Beta(k + 1, n - k). If D = k log(k/(n p)) - k + n p
    exceeds `NEGLIGIBLE`, the value is 0 for k < n p and 1 for k > n p, to within e^-D.

    **Proof.** B is the (k+1)-st smallest of n uniforms, and K counts those below p. Chernoff: the
    tail beyond k on its side of n p is at most exp(-n KL(k/n, p)), and n KL(k/n, p) is D plus the
    same expression for the n - k failures, which is not negative.

    **Constants.** `scipy.stats.binom.cdf` is not used: at n = 2 10^9 it is wrong in the eighth
    digit, and nan at k = 38 where n p > 709 (scipy 1.17).
    """
    k, p = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(p, dtype=float))
    value = np.where(k < n * p, 0.0, 1.0)
    near = (special.kl_div(k, n * p) <= NEGLIGIBLE) & (k < n)
    value[near] = special.betaincc(k[near] + 1, n - k[near], p[near])
    return value
