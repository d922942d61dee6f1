r"""Resampling only the sign of a record: what a symmetric score reaches, by its own second moment.

Let the score of a record be y = S w, S a fair sign given w, and w -> q_w the law of the release
with everything else fixed. V depends on the release and the other records. For the pair of w and
-w put p = (q_w + q_{-w})/2 and u = (1/2) log(q_w/q_{-w}), so that q_{+-w} = p (1 +- tanh u) and

    E_P<V, y> = (1/2) E int <V, w>(q_w - q_{-w}) = E[tanh(u) <V, w>],   E_P<V, y>^2 = E<V, w>^2,

E over w and z ~ p. So, for every positive function h of w, by Cauchy-Schwarz

    E_P<V, y> <= sqrt(T^2 E h) sqrt(E_P <V, y>^2/h),   T^2 = sup_w E_p tanh^2 u.

No change of measure and no small budget is needed; the price is the second moment of the score
under P, which is that of a leak in `minimax.methods.score_model`, with T^2 E h in place of delta.
"""

from __future__ import annotations

import math
from functools import lru_cache

from scipy import optimize

from minimax.core.bound import Point
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from minimax.core.symbolic import Number, approximately, is_symbolic, library, lift


def sign_contraction(model: type[Privacy], point: Point) -> Number:
    r"""T^2 with E_p tanh^2 u <= T^2 for every pair q, q' of neighbouring laws.

    **Statement.** Pure: tanh^2(eps/2). (eps, delta): (1 - delta) tanh^2(eps/2) + delta. zCDP:
    tanh^2(v), v tanh v = rho/2. GDP: `gaussian_contraction`, at most mu^2/4.

    **Proof.** E_p tanh^2 u = (1/2) int (q - q')^2/(q + q').
    *Pure.* |u| <= eps/2. *(eps, delta).* With t = tanh(eps/2), (1 + t)/(1 - t) = e^eps, so
    |q - q'| <= t (q + q') + (1 - t) b, b = (q - e^eps q')^+ + (q' - e^eps q)^+; as b <= 2p and
    int b <= 2 delta, |tanh u| <= t + (1 - t) beta with 0 <= beta = b/(2p) <= 1 and E_p beta <=
    delta, and E_p (t + (1 - t) beta)^2 <= t^2 + (1 - t^2) delta.
    *zCDP.* E_p u tanh u = (KL(q|q') + KL(q'|q))/4 <= rho/2. As a function of y = u tanh u,
    tanh^2 u has the derivative 2/(cosh^2 u + u coth u), which falls as |u| grows: it is concave,
    and Jensen gives the value at y = rho/2. *GDP.* An f-divergence of a mu-GDP pair is at most
    that of N(0, 1) and N(mu, 1), as they are a randomised image of these (Blackwell).

    **Constants.** All are attained: by randomised response, by it with the sign revealed with
    chance delta, by randomised response again, which at eps = 2v is rho-zCDP with
    rho = 2 v tanh v (the Renyi divergence of order (s + 1)/2 has the derivative
    v tanh(s v) <= s v tanh v in it), and by the Gaussian mechanism. For symbols, min(rho/2, 1)
    and min(mu^2/4, 1).
    """
    if model in (Pure, Approximate):
        use = library(point["epsilon"])
        square = use.tanh(point["epsilon"] / 2) ** 2
        return square if model is Pure else square + (1 - square) * point["delta"]
    if model is ZeroConcentrated:
        return concentrated_contraction(point["rho"])
    if model is Gaussian:
        return gaussian_contraction(point["mu"])
    raise TypeError(f"privacy: no contraction of signs for {model.__name__}")


def concentrated_contraction(rho: Number) -> Number:
    """tanh^2(v), v tanh v = rho/2, from above: the tangent of the concave function at any v."""
    use = library(rho)
    half = rho / 2
    if use.is_symbolic:
        return use.least(half, 1)
    v = lift(_balance(approximately(half)), rho)
    tangent = 2 / (use.cosh(v) * use.cosh(v) + v / use.tanh(v))
    return use.least(use.tanh(v) ** 2 + (half - v * use.tanh(v)) * tangent, half, 1 + 0 * half)


@lru_cache(maxsize=4096)
def _balance(half: float) -> float:
    """v with v tanh v next to `half`."""
    # v tanh v lies between v^2/(1 + v) and min(v, v^2).
    top = 2 * (math.sqrt(half) + half)  # with room for rounding
    return float(optimize.brentq(lambda v: v * math.tanh(v) - half, 0.0, top, xtol=1e-300))


NODES = 104
"""Of the trapezoidal rule for mu <= 2, on either side of 0."""
REACH = 13.0
"""The last node."""
WIDE_BUDGET = 8.0
"""Beyond this mu the value is next to 1, as is that of rho = mu^2/2, which is used."""


def gaussian_contraction(mu: Number) -> Number:
    r"""E tanh^2(mu (Z + mu/2)/2), Z ~ N(0, 1), from above; the zCDP value if mu > 8.

    **Proof of the numbers.** The trapezoidal rule with step h errs by at most
    2 e^{a^2/2}/(e^{2 pi a/h} - 1) for phi times a function that is analytic and at most one in size
    for |Im z| <= a. |tanh| <= 1 where the imaginary part of its argument is at most pi/4: a =
    pi/(2 mu), or 6 if that is less. What lies beyond 13 has mass below 10^-35.

    **Source.** Trefethen and Weideman (2014), Theorem 5.1, for the error.
    """
    if is_symbolic(mu):
        return library(mu).least(mu**2 / 4, 1)
    return _known_contraction(mu) if isinstance(mu, float) else _gaussian_contraction(mu)


@lru_cache(maxsize=4096)
def _known_contraction(mu: float) -> float:
    """Searches ask for the same mu again and again."""
    return float(_gaussian_contraction(mu))


def _gaussian_contraction(mu: Number) -> Number:
    use = library(mu)
    by_concentration = concentrated_contraction(mu**2 / 2)
    if mu > WIDE_BUDGET:
        return by_concentration
    count = NODES * math.ceil(approximately(mu) / 2)  # finer as the strip narrows
    h = lift(REACH, mu) / count
    nodes = [k * h for k in range(-count, count + 1)]
    total = sum(use.exp(-(z**2) / 2) * use.tanh(mu * (z + mu / 2) / 2) ** 2 for z in nodes)
    a = use.least(use.pi / (2 * mu), 6 + 0 * mu)
    error = 2 * use.exp(a**2 / 2) / use.expm1(2 * use.pi * a / h) + lift(1e-35, mu)
    value = h * total / use.sqrt(2 * use.pi) + error
    return use.least(value, by_concentration)
