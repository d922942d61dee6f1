r"""Signed blocks: how well a guess without data can do.

The packing: s blocks of m coordinates, one random signed unit entry v in each. For a guess u that
does not depend on v, in every block

    log E exp(b (2<u, v> - |u|^2)) <= h_m(b) = max_{0<=c<=1} -b c^2 + log((m - 1 + cosh 2bc)/m).

(At fixed |u| the mean of cosh(2 b u_j) is convex in the u_j^2, so one coordinate takes it all; past
c = 1 the expression decreases.) Hence P(|u - v|^2 < r s) <= exp(-s sup_b [(1 - r) b - h_m(b)]).
"""

from __future__ import annotations

import math
from functools import lru_cache

import mpmath
import numpy as np
from numpy.typing import ArrayLike, NDArray

from minimax.core.balls import BALLS, Ball, Undecided, root_near, surely
from minimax.core.bound import Optimum
from minimax.core.symbolic import Number, library

Array = NDArray[np.float64]
RADII = np.concatenate([[0.5], np.linspace(0.02, 0.96, 48)])
"""Relative squared radii r tried for the success event; 1/2 is the closed form's."""


def _block_objective(b: Array, c: Array, m: int) -> Array:
    return -b * c**2 + _log_weight(2 * b * c, m) - math.log(m)


def _log_weight(x: Array, m: int) -> Array:
    """log(m - 1 + cosh x) without overflow."""
    rest = math.log(m - 1) if m > 1 else -math.inf  # math.log takes integers of any size
    return np.asarray(np.logaddexp(rest, np.logaddexp(x, -x) - math.log(2)))


def _best_c(b: Array, m: int) -> Array:
    """The c > 0 at which h_m(b) may be reached (`_enclosed_exponent`): the last with g(2bc) = c.

    From c = 1 it is approached from above: by Newton's method where g is flatter than the diagonal,
    by c -> g(2bc) where it is steeper. Where there is none, c runs to 0.
    """
    c = np.ones_like(b)
    for _ in range(200):
        log_weight = _log_weight(2 * b * c, m)  # of m - 1 + cosh x
        up, down = (np.exp(sign * 2 * b * c - log_weight) / 2 for sign in (1, -1))
        excess = c - (up - down)
        flatness = 1 - 2 * b * ((1 - up - down) * (up + down) + np.exp(-2 * log_weight))
        step = np.where(flatness > 0, excess / np.where(flatness > 0, flatness, 1.0), excess)
        c = np.clip(c - step, 0.0, 1.0)
        if np.all(np.abs(step) <= 1e-15 * c):
            break
    return np.asarray(c)


def block_exponent(b: ArrayLike, m: int) -> Array:
    """h_m(b) of an array of b: at a maximum, so the error is that of one evaluation.

    A grid of c would not do: just above b_m the expression is positive near its maximum alone.
    """
    b = np.atleast_1d(np.asarray(b, dtype=float))
    return np.maximum(_block_objective(b, _best_c(b, m), m), 0.0)


@lru_cache(maxsize=4096)
def _float_exponent(b: float, m: int) -> float:
    """h_m(b) of one float: b is one of a grid, so that many points ask for the same."""
    return float(block_exponent(b, m)[0])


def exponent(b: Number, m: int) -> Number:
    """h_m(b) of one b, from above: exact for mpmath numbers and balls, some ulps up for a float.

    One evaluation errs by at most 8 ulps of 1 + b: its terms are at most b c^2 <= b, 2b and log m,
    and log m > 2b + 2 makes h_m vanish (then b < log(2m)/2, `free_exponent`).
    """
    if 2 * b <= math.log(2 * m):
        return b * 0
    if isinstance(b, Ball):
        return _enclosed_exponent(b, m)
    if not isinstance(b, mpmath.mpf):
        at = _float_exponent(float(b), m)
        return at + 8 * library(b).ulp * (1 + b) if at > 0 else 8 * library(b).ulp * (1 + b)
    # Newton's method for c (m - 1 + cosh 2bc) = sinh 2bc, from the float's maximum.
    c = mpmath.mpf(float(_best_c(np.array([float(b)]), m)[0]))
    for _ in range(8):
        x = 2 * b * c
        weight = m - 1 + mpmath.cosh(x)
        gap = mpmath.sinh(x) / weight - c
        slope = 2 * b * ((m - 1) * mpmath.cosh(x) + 1) / weight**2 - 1
        if slope == 0 or gap == 0:
            break
        c -= gap / slope
    c = min(max(c, mpmath.mpf(0)), mpmath.mpf(1))
    value = -b * c**2 + mpmath.log((m - 1 + mpmath.cosh(2 * b * c)) / m)
    return max(value, mpmath.mpf(0))


def _enclosed_exponent(b: Ball, m: int) -> Ball:
    r"""h_m(b) as a ball.

    **Statement.** h_m(b) is 0 or the value at the one place c > 0 where the slope of the expression
    in c, 2b (g(2bc) - c) with g(x) = sinh x/(m - 1 + cosh x), falls through 0. It grows with b. For
    m <= 3 it is 0 if and only if 2b <= m.

    **Proof.** g'' has the sign of (m - 1)^2 - 2 - (m - 1) cosh x: g is convex, then concave, so
    g(x) - x/(2b), which is 0 at 0, falls through 0 at most once in x > 0, and a maximum is there or
    at c = 0. h_m is convex in b, not negative and 0 at b = 0. For m <= 3, g is concave and
    g'(0) = 1/m.
    """
    if m <= 3 and surely(2 * b <= m):
        return Ball(0)
    start = float(_best_c(np.array([b.middle]), m)[0])
    if start < 1e-12:  # none: the value is 0 if it is at a larger b that has one
        larger = Ball(free_exponent(m) * (1 - 1e-9))
        if surely(b <= larger) and surely(_enclosed_exponent(larger, m) == 0):
            return Ball(0)
        raise Undecided(f"h_{m}({b}) is next to where it leaves 0")

    def excess(c: Ball) -> Ball:
        return c - BALLS.sinh(2 * b * c) / (m - 1 + BALLS.cosh(2 * b * c))

    def slope(c: Ball) -> Ball:
        even = BALLS.cosh(2 * b * c)
        return 1 - 2 * b * ((m - 1) * even + 1) / (m - 1 + even) ** 2

    c = root_near(excess, slope, start)
    value = BALLS.log((m - 1 + BALLS.cosh(2 * b * c)) / m) - b * c**2
    return Ball(0) if surely(value <= 0) else BALLS.largest(value, 0)


def free_exponent(m: int) -> float:
    r"""b_m = sup{b : h_m(b) = 0}; log(2m)/2 <= b_m <= log(2m).

    **Lower end.** With l = log 2m and b = l/2 one needs log(1 + (cosh x - 1)/m) <= x^2/(2l) on
    [0, l]. (cosh x - 1)/x^2 increases, so (cosh x - 1)/m <= x^2 (cosh l - 1)/(m l^2)
    <= x^2 (1 - 1/2m)^2/l^2, and (1 - 1/2m)^2 <= l/2 for every m >= 1.
    **Upper end.** At c = 1, e^{2b}/(2m) <= cosh(2b)/m <= e^b.
    """
    if m <= 3:
        return m / 2  # `_enclosed_exponent`
    low, high = math.log(2 * m) / 2, math.log(2 * m)
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if block_exponent(middle, m)[0] <= 1e-14 else (low, middle)
    return low


@lru_cache(maxsize=256)
def exponents(m: int) -> tuple[Array, Array]:
    """A grid of b with h_m(b), which holds the closed form's b = log(2m)/2."""
    b = np.concatenate(
        [[math.log(2 * m) / 2, free_exponent(m)], np.linspace(0.02, 1.5 * math.log(2 * m) + 3, 240)]
    )
    return b, block_exponent(b, m)


def log_guess_probability(m: int, s: int, radii: Array = RADII) -> Array:
    """-log of the bound on P(|u - v|^2 < r s) for a guess u without data, for each r."""
    b, h = exponents(m)
    return np.maximum(s * np.max((1 - radii[:, None]) * b - h, axis=1), 0.0)


def best_exponent(m: int, r: float) -> float:
    """The b of the grid at which a guess of radius r is shown to be least likely."""
    b, h = exponents(m)
    return float(b[int(np.argmax((1 - r) * b - h))])


def log_guess(m: int, s: int, r: Number, b: Number) -> Number:
    """s [(1 - r) b - h_m(b)], from below: minus the log of a chance to guess within r, any b."""
    ulps = 8 * library(b).ulp * s * (1 + b)
    return library(b).largest(s * ((1 - r) * b - exponent(b, m)) - ulps, 0)


def information_search(
    n: Number, m: int, s: int, sigma: Number, radius: Number
) -> dict[str, float]:
    """b and tau at which `information_formula` is largest, over the grid of b."""
    b, h = exponents(m)
    tau_squared = np.minimum(sigma**2 * np.maximum(b - h, 0.0) / n, radius**2)
    values = s * tau_squared * (1 - (h + n * tau_squared / (2 * sigma**2)) / b)
    i = int(np.argmax(values))
    return {"tau": math.sqrt(tau_squared[i]), "b": float(b[i])}


def information_formula(n: Number, m: int, s: int, sigma: Number, optimum: Optimum) -> Number:
    r"""The statistical bound for a mean tau v of Gaussian data.

    **Statement.** R >= s tau^2 [1 - (h_m(b) + n tau^2/(2 sigma^2))/b] for every b > 0 and every tau
    that the class allows.

    **Proof.** Donsker-Varadhan with the loss itself: with u = M/tau,
    b E(2<u, v> - |u|^2) <= I(v; X) + s h_m(b), and I(v; X) <= s n tau^2/(2 sigma^2). At
    tau^2 = sigma^2 (b - h)/n the value is s sigma^2 (b - h)^2/(2 n b); at b = b_m,
    s b_m sigma^2/(2n).
    """
    tau, b = n * 0 + optimum["tau"], n * 0 + optimum["b"]
    information = n * (tau / sigma) ** 2 / 2
    kept = 1 - (exponent(b, m) + information) / b
    return s * tau**2 * library(n).largest(kept, 0)
