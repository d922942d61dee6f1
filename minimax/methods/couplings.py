r"""Packings: families of laws indexed by sign blocks, coupled record by record with one law."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from minimax.core.symbolic import PRECISE, Number, library, lift

Array = NDArray[np.float64]
Data = Literal["bounded", "sub-Gaussian"]
EXACT_WALK = 500
"""Largest number of signs whose sum is summed over; beyond, bounds take its place."""


def kearns_saul(alpha: Number) -> Number:
    """Sub-Gaussian variance proxy of a Bernoulli(alpha): (1 - 2 alpha)/(2 log((1 - alpha)/alpha)).

    (Kearns and Saul, 1998; the optimal one.) With y = 1 - 2 alpha it is y/(4 artanh y): at y = 0
    its limit is 1/4, and at alpha = 1 it is 0.
    """
    lib = library(alpha)
    if lib.is_symbolic:
        return (1 - 2 * alpha) / (2 * lib.log((1 - alpha) / alpha))
    if not isinstance(alpha, np.ndarray):
        if alpha >= 1:
            return alpha * 0
        y = 1 - 2 * alpha
        if abs(y) < 1e-4 and lib.ulp:
            return (1 - y**2 / 3) / 4  # artanh y >= y + y^3/3; its error is 4 y^4/45 < 1e-16
        return y / (2 * (lib.log1p(-alpha) - lib.log(alpha))) if y != 0 else alpha * 0 + 0.25
    middle = np.abs(alpha - 0.5) < 5e-5
    safe = np.where(middle | (alpha >= 1), 0.25, alpha)
    proxy = (1 - 2 * safe) / (2 * (np.log1p(-safe) - np.log(safe)))
    near = (1 - (1 - 2 * alpha) ** 2 / 3) / 4
    return np.where(alpha >= 1, 0.0, np.where(middle, near, proxy))


class Coupling(NamedTuple):
    """What a packing is, at one choice of its size."""

    alpha: Number
    """The chance that a record differs from that of the common law."""
    separation: Number
    """The loss of an estimate at relative squared distance 1 from v."""
    mean: Number | None = None
    deviation: Number | None = None
    """Of Lambda in `packing_formula` (or bounds); None if the common law is a point."""


class Packing(Protocol):
    """A family of laws indexed by the sign blocks v, each coupled record by record with one law.

    Given v, a record differs from that of the common law with probability alpha, independently of
    the other records. *Which* records differ may depend on the common data; if the common law is a
    single point it cannot.
    """

    @property
    def n(self) -> Number:
        """Number of records."""

    @property
    def m(self) -> int:
        """Coordinates in a block."""

    @property
    def s(self) -> int:
        """Number of blocks."""

    def height(self, alpha: Array) -> Array:
        """The size of a non-zero entry that goes with each alpha: for the search."""

    def saturation(self) -> float:
        """The largest alpha worth having (it may be 1)."""

    def coupling(self, alpha: Number, height: Number) -> Coupling:
        """The packing at this alpha (or at this height, where that is what is free)."""


@dataclass(frozen=True)
class BlockPacking:
    """Means alpha B v: a record is B v with probability alpha and 0 otherwise.

    B = sigma for bounded data; for sub-Gaussian data B = sigma/sqrt(v_alpha) with the Kearns-Saul
    proxy v_alpha, lowered to radius/alpha where the class asks |mean_j| <= radius. Free is alpha.
    """

    n: Number
    m: int
    s: int
    sigma: Number
    radius: Number
    data: Data

    def height(self, alpha: Number) -> Number:
        """B: the size of a non-zero record's entries that keeps the law in the class."""
        lib = library(alpha)
        if self.data == "bounded":
            return lib.least(0 * alpha + self.sigma, self.radius / alpha)
        proxy = kearns_saul(alpha)
        # Where alpha is 1 the proxy is 0 and the radius decides.
        free = self.sigma / lib.sqrt(lib.largest(proxy, 0 * alpha + 1e-280))
        return lib.least(free, self.radius / alpha)

    def saturation(self) -> float:
        """The smallest alpha at which the mean's entries alpha B reach the radius (or 1)."""

        def excess(log_alpha: float) -> float:
            alpha = math.exp(log_alpha)
            free = float(self.sigma)
            if self.data != "bounded":
                free /= math.sqrt(float(kearns_saul(alpha)))
            return alpha * free - float(self.radius)

        if excess(math.log(1 - 1e-9)) <= 0:
            return 1.0
        if excess(-600.0) >= 0:
            return math.exp(-600.0)
        return math.exp(float(optimize.brentq(excess, -600.0, math.log(1 - 1e-9))))

    def coupling(self, alpha: Number, height: Number) -> Coupling:
        """The common law is the point 0."""
        return Coupling(alpha, self.s * (alpha * self.height(alpha)) ** 2)


@dataclass(frozen=True)
class RegressionPacking:
    r"""Regression coefficients g v with x uniform on {-1/sqrt s, 1/sqrt s}^d, loss |.|^2/s.

    N(<x, beta>, sigma^2) and N(0, sigma^2) agree but for a chance 2 Phi(|<x, beta>|/(2 sigma)) - 1
    (maximal coupling), and <x, beta> = g W with W the mean of s signs times sqrt(s). So a record
    differs from one of beta = 0 with probability alpha(g) = E 2 Phi(g |W|/(2 sigma)) - 1
    (`difference`). At relative squared distance r from v the loss is r g^2. The class asks
    g sqrt(s) <= radius. Free is g.
    """

    n: Number
    m: int
    s: int
    sigma: Number
    radius: Number

    def difference(self, g: Number) -> Number:
        r"""alpha(g): exact for s <= 500, beyond that a bound with the normal law in place of W.

        For Z ~ N(0, 1), E 2 Phi(c |Z|) - 1 = (2/pi) arctan c; the Wasserstein distance of W and Z
        is at most 1/sqrt(s) (Goldstein, 2010), and the function has slope at most 2 c/sqrt(2 pi).
        By Jensen's inequality alpha(g) <= 2 Phi(c) - 1 for every s.
        """
        c = g / (2 * self.sigma)
        lib = library(c)
        if self.s > EXACT_WALK:
            normal = 2 / lib.pi * lib.atan(c) + 2 * c / lib.sqrt(2 * lib.pi * self.s)
            return lib.least(normal, _sign_difference(c))
        return _over_walk(self.s, _sign_difference, c)

    def height(self, alpha: ArrayLike) -> Array:
        """A g with alpha(g) about alpha, or the largest the class allows."""
        alpha = np.asarray(alpha, dtype=float)
        first = math.sqrt(8) * float(self.sigma) * special.erfinv(np.minimum(alpha, 1 - 1e-12))
        return _enlarged(self, alpha, first)

    def saturation(self) -> float:
        """The alpha at which g reaches radius/sqrt(s)."""
        return _saturation(self)

    def coupling(self, alpha: Number, height: Number) -> Coupling:
        r"""Mean and deviation of Lambda are exact for s <= 500, beyond that bounds.

        A record of beta = 0 has log-likelihood ratio l = c^2/2 - c xi, c = g |W|/sigma,
        xi ~ N(0, 1), so that given W

            E l^+ = c phi(c/2) + (c^2/2) Phi(c/2),
            E (l^+)^2 = (c^2 + c^4/4) Phi(c/2) + (c^3/2) phi(c/2).

        For large s: E l^+ <= E c^2/2 + c xi^+, E|W| <= sqrt(2/pi) + 1/sqrt(s) as in `difference`,
        and l^+ varies less than l, whose variance is E c^2 + Var(c^2)/4.
        """
        lib = library(height)
        g = lib.least(height, self.radius / lib.sqrt(self.s))
        # Past 1e50 every record differs; there is nothing to gain there but overflow.
        c = lib.least(g / self.sigma, 1e50)
        if self.s > EXACT_WALK:
            size = _mean_walk(self.s, c)
            mean, variance = c**2 / 2 + c * size / lib.sqrt(2 * lib.pi), c**2 + c**4 / 2
        else:
            mean = _over_walk(self.s, _mean_excess, c)
            square = _over_walk(self.s, _square_excess, c)
            variance = lib.largest(square * (1 + 1e3 * lib.ulp) - mean**2, 0)
        deviation = lib.sqrt(self.n * variance)
        return Coupling(self.difference(g), g**2, self.n * mean, deviation)


@dataclass(frozen=True)
class LogisticPacking:
    r"""Logistic coefficients g v with x uniform on {-1/sqrt s, 1/sqrt s}^d, loss |.|^2/s.

    A label of chance 1/(1 + e^-u), u = <x, beta>, and a fair one agree but for a chance
    tanh(|u|/2)/2, and u = g W as in `RegressionPacking`: alpha(g) = E tanh(g |W|/2)/2 <= g/4. The
    class asks g sqrt(s) <= radius. Free is g.
    """

    n: Number
    m: int
    s: int
    radius: Number

    def difference(self, g: Number) -> Number:
        """alpha(g): exact for s <= 500, beyond that by Jensen's inequality and `_mean_walk`."""
        if self.s > EXACT_WALK:
            return _label_difference(g * _mean_walk(self.s, g))
        return _over_walk(self.s, _label_difference, g)

    def height(self, alpha: ArrayLike) -> Array:
        """A g with alpha(g) about alpha, or the largest the class allows."""
        alpha = np.asarray(alpha, dtype=float)
        return _enlarged(self, alpha, 2 * np.arctanh(np.minimum(2 * alpha, 1 - 1e-12)))

    def saturation(self) -> float:
        """The alpha at which g reaches radius/sqrt(s)."""
        return _saturation(self)

    def coupling(self, alpha: Number, height: Number) -> Coupling:
        r"""Mean and deviation of Lambda are exact for s <= 500, beyond that bounds.

        A fair label is the less likely one under beta with chance 1/2, whatever x; then
        l^+ = log((1 + e^{|u|})/2), and otherwise l^+ = 0. For large s: l^+ <= |u|/2 + u^2/8, whose
        mean and mean square follow from E W^2 = 1, E|W|^3 <= sqrt 3 and E W^4 <= 3.
        """
        lib = library(height)
        # Past 1e50 every second record differs; there is nothing to gain there but overflow.
        g = lib.least(height, self.radius / lib.sqrt(self.s), 1e50)
        if self.s > EXACT_WALK:
            mean = g * _mean_walk(self.s, g) / 4 + g**2 / 16
            variance = (g**2 / 4 + lib.sqrt(3) * g**3 / 8 + 3 * g**4 / 64) / 2
        else:
            mean = _over_walk(self.s, _label_excess, g) / 2
            square = _over_walk(self.s, lambda u: _label_excess(u) ** 2, g) / 2
            variance = lib.largest(square * (1 + 1e3 * lib.ulp) - mean**2, 0)
        deviation = lib.sqrt(self.n * variance)
        return Coupling(self.difference(g), g**2, self.n * mean, deviation)


class _SignDesign(Protocol):
    """A packing of coefficients g v, rows of signs; alpha(g) is concave and 0 at 0."""

    @property
    def s(self) -> int: ...
    @property
    def radius(self) -> Number: ...
    def difference(self, g: Number) -> Number:
        """alpha(g)."""


def _enlarged(packing: _SignDesign, alpha: Array, g: Array) -> Array:
    """From g with alpha(g) <= alpha, found by Jensen's inequality, to nearly alpha, as far as the
    class allows: alpha(g) is concave and 0 at 0, so g alpha/alpha(g) is again small enough."""
    for _ in range(8):
        g = g * np.maximum(alpha / np.maximum(packing.difference(g), 1e-300), 1.0)
    return np.asarray(np.minimum(g, float(packing.radius) / math.sqrt(packing.s)))


def _saturation(packing: _SignDesign) -> float:
    """alpha(g) at the largest g of the class."""
    top = np.array(float(packing.radius) / math.sqrt(packing.s))
    return min(max(float(packing.difference(top)), 1e-250), 1.0)


def _over_walk(s: int, value: Callable[[Number], Number], c: Number) -> Number:
    """E value(c |W|), W the sum of s signs over sqrt(s): a sum over its values and chances."""
    if isinstance(c, PRECISE):
        step = c / library(c).sqrt(s)
        ways = ((k, 2 * math.comb(s, k)) for k in range((s + 1) // 2))
        pairs = sum(weight * value(step * (s - 2 * k)) for k, weight in ways)
        middle = math.comb(s, s // 2) * value(0 * c) if s % 2 == 0 else 0
        return (pairs + middle) / lift(2.0, c) ** s
    W = np.abs(2 * np.arange(s + 1) - s) / math.sqrt(s)
    return value(np.asarray(c)[..., None] * W) @ _walk_chances(s)


def _mean_walk(s: int, like: Number) -> Number:
    """At least E|W|: that of a Gaussian and their Wasserstein distance, or 1."""
    lib = library(like)
    return lib.least(lib.sqrt(2 / lib.pi) + 1 / lib.sqrt(s), 1)


@lru_cache(maxsize=64)
def _walk_chances(s: int) -> Array:
    """P(k of s fair signs are up) for k = 0, ..., s, each rounded once."""
    return np.array([math.comb(s, k) / 2**s for k in range(s + 1)])


def _sign_difference(c: Number) -> Number:
    """2 Phi(c) - 1."""
    lib = library(c)
    return lib.erf(c / lib.sqrt(2))


def _half_density(c: Number) -> Number:
    """phi(c/2)."""
    lib = library(c)
    return lib.exp(-(c**2) / 8) / lib.sqrt(2 * lib.pi)


def _mean_excess(c: Number) -> Number:
    """E l^+, l = c^2/2 - c xi."""
    return c * _half_density(c) + c**2 / 2 * library(c).ndtr(c / 2)


def _square_excess(c: Number) -> Number:
    """E (l^+)^2."""
    return (c**2 + c**4 / 4) * library(c).ndtr(c / 2) + c**3 / 2 * _half_density(c)


def _label_difference(u: Number) -> Number:
    """tanh(u/2)/2, u >= 0."""
    return library(u).tanh(u / 2) / 2


def _label_excess(u: Number) -> Number:
    """log((1 + e^u)/2), u >= 0, without overflow."""
    lib = library(u)
    return u + lib.log1p(lib.expm1(-u) / 2)
