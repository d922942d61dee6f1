r"""What shortening vectors to a ball cuts off, and what is left of a Gaussian one."""

from __future__ import annotations

import math
from typing import NamedTuple

import mpmath
from scipy import special

from minimax.core.balls import Ball, log_gamma, upper_gamma
from minimax.core.symbolic import FLOATS, Number, library


def _excess_rate(x: Number) -> Number:
    """At most x - log(1 + x), for x > 0: below 1/100 by its series, where it would cancel."""
    lib = library(x)
    return lib.choose(x < 0.01, lambda: x**2 / 2 - x**3 / 3, lambda: x - lib.log1p(x))


def norm_excess(scale: Number, d: Number, w: Number) -> Number:
    r"""sqrt(E ((|y| - R)^+)^2) at most, R = scale sqrt(d) (1 + w), w > 0.

    **Statement.** If E e^{l |y|^2} <= (1 - 2 l scale^2)^{-d/2} for 0 <= l < 1/(2 scale^2), then
    with x = 2 w + w^2 it is at most (2 R/(e d x)) exp(-(d/4) (x - log(1 + x))).

    **Proof.** (|y| - R)^+ <= (|y|^2 - R^2)^+/(2 R), and t^+ <= (2/(e l)) e^{l t/2} for every l > 0,
    so its square is at most (1/(e l R))^2 e^{l(|y|^2 - R^2)}. At 2 l scale^2 = x/(1 + x), where
    l R^2 = d x/2, the mean of the exponential is e^{-(d/2)(x - log(1 + x))}.

    **Who has such a norm.** A sub-Gaussian(s) vector z (E e^{<a, z>} <= e^{s^2 |a|^2/2}), with
    scale s: average the definition over a = sqrt(2 l) g, g ~ N(0, I). And z + b, |b|^2 <= d a^2,
    with scale^2 = s^2 + a^2: the same average has the further factor
    e^{l |b|^2/(1 - 2 l s^2)} <= (1 - 2 l a^2/(1 - 2 l s^2))^{-d/2}, as t <= -log(1 - t).
    """
    lib = library(scale, d, w)
    x = w * (2 + w)
    R = scale * lib.sqrt(d) * (1 + w)
    return 2 * R / (math.e * d * x) * lib.exp(-d / 4 * _excess_rate(x))


def gamma_excess(scale: Number, d: Number, w: Number) -> Number:
    r"""sqrt(E ((G - r)^+)^2) at most, for G ~ scale Gamma(d), r = scale d (1 + w), w > 0.

    **Statement.** (2 scale (1 + w)/(e w)) exp(-(d/2) (w - log(1 + w))). **Proof.** As in
    `norm_excess`, from t^+ <= (2/(e l)) e^{l t/2} at l scale = w/(1 + w).
    """
    lib = library(scale, d, w)
    return 2 * scale * (1 + w) / (math.e * w) * lib.exp(-d / 2 * _excess_rate(w))


class Shortened(NamedTuple):
    """y ~ N(0, scale^2 I_d), shortened to length at most R."""

    slope: Number
    """The mean of its divergence over d: E<short(y), y> = slope E|y|^2."""
    square: Number
    """E min(|y|, R)^2."""


def shortened_gaussian(scale: Number, d: Number, R: Number) -> Shortened:
    r"""The two moments of a shortened Gaussian vector.

    **Statement.** With z = R^2/(2 scale^2), P and Q the regularised incomplete gamma functions,

        slope = P(d/2, z) + (1 - 1/d) (R/scale) Q((d-1)/2, z)/(sqrt(2) g),
        g = Gamma(d/2)/Gamma((d-1)/2), the second term 0 for d = 1,
        square = scale^2 d P(d/2 + 1, z) + R^2 Q(d/2, z).

    **Proof.** The divergence of short(y) is d inside the ball and (d - 1) R/|y| outside; Stein's
    identity. |y|^2/scale^2 is chi-squared with d degrees, and E[1/|y|; |y| > R] shifts them by one.
    """
    lib = library(scale, d, R)
    z = (R / scale) ** 2 / 2
    outside = 0 * z
    if lib.is_symbolic or d > 1:
        ratio = R / (scale * lib.sqrt(2) * _half_step((d - 1) / 2))
        outside = (1 - 1 / d) * ratio * _upper_gamma((d - 1) / 2, z)
    slope = _lower_gamma(d / 2, z) + outside
    square = scale**2 * d * _lower_gamma(d / 2 + 1, z) + R**2 * _upper_gamma(d / 2, z)
    return Shortened(slope, square)


def _lower_gamma(a: Number, z: Number) -> Number:
    """P(a, z)."""
    lib = library(a, z)
    if lib is FLOATS:
        return float(special.gammainc(a, z))
    if lib.is_symbolic:
        import sympy

        return sympy.lowergamma(a, z) / sympy.gamma(a)
    if isinstance(z, Ball):
        return 1 - upper_gamma(a, z)
    return _exact_gamma(a, z) if z < a else 1 - _exact_gamma(a, z)


def _upper_gamma(a: Number, z: Number) -> Number:
    """Q(a, z)."""
    lib = library(a, z)
    if lib is FLOATS:
        return float(special.gammaincc(a, z))
    if lib.is_symbolic:
        import sympy

        return sympy.uppergamma(a, z) / sympy.gamma(a)
    if isinstance(z, Ball):
        return upper_gamma(a, z)
    return 1 - _exact_gamma(a, z) if z < a else _exact_gamma(a, z)


def _exact_gamma(a: Number, z: Number) -> Number:
    """The smaller, about, of P(a, z) and Q(a, z): P for z < a, else Q.

    mpmath's series give up for a of some thousands; there P's own series and Legendre's continued
    fraction for Q, from the back, need no more than some sqrt(a) terms.
    """
    if a < 1000:
        ends = (0, z) if z < a else (z, mpmath.inf)
        return mpmath.gammainc(a, *ends, regularized=True)
    front = mpmath.exp(a * mpmath.log(z) - z - mpmath.loggamma(a))
    if z < a:
        term = total = 1 / a
        k = 0
        while term > mpmath.eps * total:
            k += 1
            term *= z / (a + k)
            total += term
        return front * total
    tail = mpmath.mpf(0)
    for k in range(int(1.5 * mpmath.mp.dps * mpmath.sqrt(a)), 0, -1):
        tail = k * (k - a) / (z + 2 * k + 1 - a - tail)
    return front / (z + 1 - a - tail)


HALF_STEP = (1, -1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144, 869 / 4194304)
"""Gamma(x + 1/2)/(sqrt(x) Gamma(x)) in powers of 1/x."""


def _half_step(x: Number) -> Number:
    """Gamma(x + 1/2)/Gamma(x)."""
    lib = library(x)
    if lib is FLOATS:
        if x < 100:
            return math.gamma(x + 0.5) / math.gamma(x)
        return math.sqrt(x) * sum(c / x**k for k, c in enumerate(HALF_STEP))
    if lib.is_symbolic:
        import sympy

        return sympy.gamma(x + sympy.Rational(1, 2)) / sympy.gamma(x)
    if isinstance(x, Ball):
        return lib.exp(log_gamma(x + 0.5) - log_gamma(x))
    return mpmath.gammaprod([x + mpmath.mpf(1) / 2], [x])
