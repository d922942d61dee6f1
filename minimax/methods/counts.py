r"""Binomial and Poisson distribution functions, for floats at any size and for mpmath numbers.

Floats lose their footing in scipy's `stats` at large n; what is used here is held against the exact
sums and integrals below in the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import special

from minimax.core.balls import Ball
from minimax.core.symbolic import Number
from minimax.methods.enclosed_counts import BinomialLaw, PoissonLaw, enclosed

Array = NDArray[np.float64]
NEGLIGIBLE = 230.0
"""A tail below e^-230 = 1e-100 counts as none."""
ROUGH = 100.0
"""Mean number of successes and of failures from which on a search takes a normal approximation."""
LARGE = 1e4
"""Parameters from which on floats are integrated."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
NODES, WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2
PANELS: Array = np.array([0.0, 0.5, 1.5, 3.0, 5.0, 8.0, 12.0, 18.0])
"""In standard deviations from where a tail begins: beyond the last, nothing is left of it."""
LONGEST_SUM = 4000
"""Terms up to which an exact distribution function is summed; beyond, it is integrated."""


def binomial_cdf(k: Number, n: float, p: Number, *, quick: bool = False) -> Number:
    r"""P(K <= k), K ~ Binomial(n, p), for whole 0 <= k <= n.

    **Statement.** P(K <= k) = P(B > p), B ~ Beta(k + 1, n - k). For floats, if
    D = k log(k/(n p)) - k + n p exceeds `NEGLIGIBLE`, the value is 0 for k < n p and 1 for k > n p,
    to within e^-D; else its relative error is below 1e-10, or with `quick`, for searches, 1e-3
    (more where the value is below 1e-6).

    **Proof.** B is the (k+1)-st smallest of n uniforms, and K counts those below p. Chernoff: the
    tail beyond k on its side of n p is at most exp(-n KL(k/n, p)), and n KL(k/n, p) is D plus the
    same expression for the n - k failures, which is not negative.

    **Constants.** scipy's functions stop short of convergence for large parameters: betaincc is off
    by 2e-6 at n = 3 10^8, gammaincc by a third of the tail at a = 9 10^7 (scipy 1.17). There the
    density of B is integrated (`_beta_tail`).
    """
    if isinstance(p, Ball):
        return enclosed(BinomialLaw(int(n), p), k)
    if isinstance(p, mpmath.mpf):
        return _exact_binomial_cdf(int(k), int(n), p)
    k, p = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(p, dtype=float))
    value = np.where(k < n * p, 0.0, 1.0)
    near = (special.kl_div(k, n * p) <= NEGLIGIBLE) & (k < n) & (p < 1)
    rough = near & (np.minimum(p, 1 - p) * n > ROUGH) if quick else np.zeros_like(near)
    value[rough] = _peizer_pratt(k[rough], n, p[rough])
    near &= ~rough
    value[near] = special.betaincc(k[near] + 1, n - k[near], p[near])
    large = near & (np.minimum(k, n - k) > LARGE)
    if large.any() and not quick:
        value[large] = _beta_tail(k[large] + 1, n - k[large], p[large])
    return value


def poisson_cdf(k: Number, mean: Number, *, quick: bool = False) -> Number:
    """P(K <= k), K ~ Poisson(mean): the chance that a Gamma(k + 1) exceeds the mean."""
    if isinstance(mean, Ball):
        return enclosed(PoissonLaw(mean), k)
    if isinstance(mean, mpmath.mpf):
        return _exact_poisson_cdf(int(k), mean)
    k, mean = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(mean, dtype=float))
    value = np.where(k < mean, 0.0, 1.0)
    near = special.kl_div(k, mean) <= NEGLIGIBLE
    value[near] = special.gammaincc(k[near] + 1, mean[near])
    large = near & (k > LARGE)
    if large.any() and not quick:
        value[large] = _gamma_tail(k[large] + 1, mean[large])
    return value


def _peizer_pratt(k: Array, n: float, p: Array) -> Array:
    """The normal approximation of Peizer and Pratt (1968), from n min(p, 1 - p) > `ROUGH` on."""
    q = 1 - p
    up, down = (np.maximum(k, 0) + 0.5) / (n * p), np.maximum(n - k - 0.5, 0.25) / (n * q)
    away = k + 2 / 3 - (n + 1 / 3) * p
    spread = (1 + q * _bend(up) + p * _bend(down)) / ((n + 1 / 6) * p * q)
    return np.asarray(special.ndtr(away * np.sqrt(spread)))


def _bend(x: Array) -> Array:
    """(1 - x^2 + 2 x log x)/(1 - x)^2; (1 - x)/3 to first order at 1."""
    u = 1 - x
    far = np.abs(u) > 1e-4
    safe = np.where(far, u, 1.0)
    return np.where(far, (1 - x**2 + 2 * x * np.log(x)) / safe**2, u / 3)


# --- Large parameters -----------------------------------------------------------------------------


def _excess_exp(y: Array) -> Array:
    """e^y - 1 - y without cancellation."""
    series = special.hyp1f1(1, 3, np.clip(y, -0.5, 0.5))  # 1F1(1; 3; y) = 2 (e^y - 1 - y)/y^2
    return np.where(np.abs(y) < 0.5, y**2 / 2 * series, np.expm1(y) - y)


def _excess_log(u: Array) -> Array:
    """u - log(1 + u) without cancellation."""
    v = np.clip(u, -0.3, 0.3)
    series = np.zeros_like(v)
    for k in range(34, 1, -1):
        series = 1 / k - v * series
    return np.where(np.abs(u) < 0.3, v**2 * series, u - np.log1p(u))


def _stirling(a: Array) -> Array:
    """log Gamma(a) less (a - 1/2) log a - a + log(2 pi)/2, for large a."""
    return (1 - (1 - 2 / (7 * a**2)) / (30 * a**2)) / (12 * a)


def _gamma_tail(a: Array, x: Array) -> Array:
    r"""P(G > x), G ~ Gamma(a), a large.

    With G = a e^y the density of y is sqrt(a/(2 pi)) e^{-stirling(a)} exp(-a (e^y - 1 - y)).
    """
    at = np.log1p((x - a) / a)
    scale = np.sqrt(a / (2 * math.pi)) * np.exp(-_stirling(a))
    above = np.ones(len(a), dtype=bool)
    return _mass(at, above, 1 / np.sqrt(a), lambda y: -a[:, None] * _excess_exp(y), scale)


def _beta_tail(a: Array, b: Array, x: Array) -> Array:
    r"""P(B > x), B ~ Beta(a, b), a and b large.

    On the scale y = logit B - log(a/b) the log density is, up to its peak value,
    a y - (a + b) log(1 + q (e^y - 1)) = -a (e^y - 1 - y) + (a + b) (u - log(1 + u)), q = a/(a + b),
    u = q (e^y - 1). For a > b the same holds of -y, with a and b exchanged.
    """
    total = a + b
    gap = _product_less(x, total, a)
    at = np.log1p(gap / a) - np.log1p(-gap / b)
    width = np.sqrt(total / (a * b))
    scale = np.exp(_stirling(total) - _stirling(a) - _stirling(b)) / width / math.sqrt(2 * math.pi)
    mirrored = a > b
    small = np.where(mirrored, b, a)[:, None]

    def log_density(y: Array) -> Array:
        u = small / total[:, None] * np.expm1(y)
        return -small * _excess_exp(y) + total[:, None] * _excess_log(u)

    return _mass(np.where(mirrored, -at, at), ~mirrored, width, log_density, scale)


def _product_less(x: Array, y: Array, z: Array) -> Array:
    """x y - z with the rounding error of the product added back (Dekker, 1971)."""

    def halves(v: Array) -> tuple[Array, Array]:
        top = v * 134217729.0
        high = top - (top - v)
        return high, v - high

    product = x * y
    (x1, x2), (y1, y2) = halves(x), halves(y)
    error = ((x1 * y1 - product) + x1 * y2 + x2 * y1) + x2 * y2
    return (product - z) + error


def _mass(
    at: Array,
    above: NDArray[np.bool_],
    width: Array,
    log_density: Callable[[Array], Array],
    scale: Array,
) -> Array:
    """The mass above (or else below) `at` of scale exp(log_density), nearly normal about 0.

    What is integrated is the tail on the side of `at` away from 0.
    """
    side = np.where(at > 0, 1.0, -1.0)
    start = np.abs(at) / width
    lengths = np.diff(PANELS)[:, None]
    shorter = 1 / (1 + start / 4)  # far out a tail falls faster than a normal density at its peak
    steps = (PANELS[:-1, None] + lengths * NODES).ravel() * shorter[:, None]
    values = np.exp(log_density((side * width)[:, None] * (start[:, None] + steps)))
    tail = scale * width * shorter * (values @ (lengths * WEIGHTS).ravel())
    return np.where((side > 0) == above, tail, 1 - tail)


# --- Exact ----------------------------------------------------------------------------------------


def _exact_binomial_cdf(k: int, n: int, p: mpmath.mpf) -> mpmath.mpf:
    if k >= n or p == 0:
        return mpmath.mpf(1)
    if p == 1:
        return mpmath.mpf(0)
    log_pmf = (
        mpmath.loggamma(n + 1)
        - mpmath.loggamma(k + 1)
        - mpmath.loggamma(n - k + 1)
        + k * mpmath.log(p)
        + (n - k) * mpmath.log1p(-p)
    )
    odds = p / (1 - p)

    def down(i: int) -> mpmath.mpf:
        return (k - i) / ((n - k + i + 1) * odds)

    def up(i: int) -> mpmath.mpf:
        return (n - k - i) * odds / (k + i + 1)

    def log_density(x: mpmath.mpf) -> mpmath.mpf:
        """Of B at logit x, so that both ends are far away."""
        log_x, log_rest = -mpmath.log1p(mpmath.exp(-x)), -mpmath.log1p(mpmath.exp(x))
        return (k + 1) * log_x + (n - k) * log_rest

    scale = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k)
    peak = mpmath.log(mpmath.mpf(k + 1) / (n - k))
    width = mpmath.sqrt(mpmath.mpf(n + 1) / ((k + 1) * (n - k)))
    return _distribution(
        log_pmf,
        down,
        up,
        k < n * p,
        lambda x: log_density(x) + scale,
        mpmath.log(odds),
        peak,
        width,
    )


def _exact_poisson_cdf(k: int, mean: mpmath.mpf) -> mpmath.mpf:
    log_pmf = k * mpmath.log(mean) - mean - mpmath.loggamma(k + 1)
    scale = mpmath.loggamma(k + 1)
    return _distribution(
        log_pmf,
        lambda i: (k - i) / mean,
        lambda i: mean / (k + i + 1),
        k < mean,
        lambda x: (k + 1) * x - mpmath.exp(x) - scale,
        mpmath.log(mean),
        mpmath.log(mpmath.mpf(k + 1)),
        1 / mpmath.sqrt(mpmath.mpf(k + 1)),
    )


def _distribution(
    log_pmf: mpmath.mpf,
    down: Callable[[int], mpmath.mpf],
    up: Callable[[int], mpmath.mpf],
    lower: bool,
    log_density: Callable[[mpmath.mpf], mpmath.mpf],
    at: mpmath.mpf,
    peak: mpmath.mpf,
    width: mpmath.mpf,
) -> mpmath.mpf:
    """P(K <= k): the sum of the shorter tail, or where that is long the integral of a density.

    `down` and `up` are ratios of successive chances from k on; `log_density` is that of the dual
    continuous law on a scale on which it is nearly normal about `peak`, and P(K <= k) its mass
    above `at`.
    """
    tail = _summed(down if lower else up)
    if tail is not None:
        chance = mpmath.exp(log_pmf)
        return chance * tail if lower else 1 - chance * (tail - 1)
    side = 1 if at > peak else -1
    start = side * (at - peak) / width
    shorter = 1 / (1 + start / 4)
    spacing = [start + shorter * step for step in range(0, 32, 2)]
    first = log_density(at)  # the integral's tolerance is absolute
    mass = (width * mpmath.exp(first)) * mpmath.quad(
        lambda t: mpmath.exp(log_density(peak + side * width * t) - first),
        spacing,
        method="gauss-legendre",
    )
    return mass if side == 1 else 1 - mass


def _summed(ratio: Callable[[int], mpmath.mpf]) -> mpmath.mpf | None:
    """1 + r_0 + r_0 r_1 + ..., or None where `LONGEST_SUM` terms are not enough."""
    total = term = mpmath.mpf(1)
    small = mpmath.mpf(10) ** -(mpmath.mp.dps + 2)
    for i in range(LONGEST_SUM):
        r = ratio(i)
        term *= r
        total += term
        if term <= small * total * (1 - r if r < 1 else small):
            return total
    return None
