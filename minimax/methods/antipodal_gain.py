r"""Antipodal pairs: what a symmetric score reaches under zCDP and Gaussian DP.

Fix everything but one record. Then w -> q_w, the law of the release given the record's score w, is
itself a private channel. Let w have a symmetric law, m = E_w q_w, and for the pair of w and -w

    p_w = (q_w + q_{-w})/2,   u = (1/2) log(q_w/q_{-w}),   r = log(p_w/m),

so that q_{+-w} = p_w e^{+-u}/cosh u = m e^r (1 +- tanh u). E is over w and z ~ p_w.

**The two gains.** V depends on the release only, f(z) = E[w|z] = E_w[w e^r tanh u].
*Average*: E_P <V, w> = E_m <V, f> <= sqrt(E|V|^2) sqrt(F), F = E_m|f|^2. If w has unit covariance,
Bessel's inequality at each z gives F <= E_m E_w (e^r tanh u)^2 = E[e^r tanh^2 u]. If w is
sub-Gaussian(1), |f(z)|^2 <= 2 KL(law of w given z|law of w), so F <= 2 I(w; z).
*Pointwise*: Delta_w = int (q_w - q_{-w})^2/m = 4 E_{p_w}[e^r tanh^2 u] for each w by itself.

**What rho-zCDP says of (u, r)**, for each w (E over z ~ p_w alone), as u -> -u when w -> -w:

1. KL(q_w|q_{-w}) <= rho: E u tanh u <= rho/2.
2. The pair's Renyi exponents: E cosh(sigma u)/cosh u <= e^{rho (sigma^2 - 1)/4} for sigma > 1,
   where sigma = 2 alpha - 1.
3. E e^{-r} = int m = 1, and against m, which is a mixture of all q_v, because a^alpha b^{1 - alpha}
   is convex in b and in a: E[e^{s r} cosh((1 + s) u)/cosh^{1 + s} u] <= e^{rho s (s + 1)} and
   E[e^{-(1 + s) r} cosh(s u) cosh^s u] <= e^{rho s (s + 1)} for s > 0.

mu-GDP implies zCDP with rho = mu^2/2.
"""

from __future__ import annotations

from minimax.core.bound import Point
from minimax.core.privacy import Gaussian, Privacy, ZeroConcentrated
from minimax.core.symbolic import Number, library


def average_pair_gain(model: type[Privacy], point: Point) -> Number:
    """G with E_P <V, w> <= G sqrt(E|V|^2), w symmetric, sub-Gaussian(1) and of unit covariance."""
    rho = _concentration(model, point)
    use = library(rho)
    return use.sqrt(use.least(2 * rho, small_budget(rho)))


def pointwise_pair_gain(model: type[Privacy], point: Point) -> Number:
    """G with sqrt(Delta_w) <= 2 G for every w, Delta_w = int (q_w - q_{-w})^2/m."""
    rho = _concentration(model, point)
    use = library(rho)
    return use.sqrt(use.least(use.expm1(2 * rho), use.exp(2 * rho) / 2, small_budget(rho)))


def _concentration(model: type[Privacy], point: Point) -> Number:
    """The rho of the definition."""
    if model is ZeroConcentrated:
        return point["rho"]
    if model is Gaussian:
        return point["mu"] ** 2 / 2
    raise TypeError(f"privacy: no gain of antipodal pairs for {model.__name__}")


def small_budget(rho: Number) -> Number:
    r"""E[e^r tanh^2 u] <= rho/2 + rho sqrt((2/3)(e^{6 rho} - 1)(e^{3/2 + sqrt(3 rho/2)} - 1)).

    **Proof.** tanh^2 u <= u tanh u, so the left side is at most rho/2 + E[(e^r - 1) tanh^2 u], and
    by Cauchy-Schwarz the last term is at most sqrt(E (e^r - 1)^2 E u^4). As cosh 3u >= cosh^3 u,
    s = 2 gives E e^{2r} <= e^{6 rho}; as E e^{-r} = 1, Jensen gives E e^r >= 1: so
    E (e^r - 1)^2 <= e^{6 rho} - 1. As cosh((k + 1) u) >= cosh(k u) cosh u, sigma = k + 1 gives
    E k^4 u^4/24 <= E cosh(k u) - 1 <= e^{rho k (k + 2)/4} - 1; take k = sqrt(6/rho).

    **Constants.** (rho/2)(1 + 7.46 sqrt(rho) + ...): the leading term is exact.
    """
    use = library(rho)
    fourth = 2 * use.expm1(use.sqrt(3 * rho / 2) + 1.5) / 3
    return rho / 2 + rho * use.sqrt(use.expm1(6 * rho) * fourth)
