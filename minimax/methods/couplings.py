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
        return self._over_walk(_sign_difference, c)

    def _over_walk(self, value: Callable[[Number], Number], c: Number) -> Number:
        """E value(c |W|): a sum over the values of |W| and their chances."""
        if isinstance(c, PRECISE):
            step = c / library(c).sqrt(self.s)
            ways = ((k, 2 * math.comb(self.s, k)) for k in range((self.s + 1) // 2))
            pairs = sum(weight * value(step * (self.s - 2 * k)) for k, weight in ways)
            middle = math.comb(self.s, self.s // 2) * value(0 * c) if self.s % 2 == 0 else 0
            return (pairs + middle) / lift(2.0, c) ** self.s
        ups = np.arange(self.s + 1)
        W = np.abs(2 * ups - self.s) / math.sqrt(self.s)
        return value(np.asarray(c)[..., None] * W) @ _walk_chances(self.s)

    def height(self, alpha: ArrayLike) -> Array:
        """A g with alpha(g) about alpha, or the largest the class allows.

        alpha(g) is concave and 0 at 0, so from a g that is small enough g alpha/alpha(g) is
        again; it converges in a few rounds. The first g is, by Jensen's inequality.
        """
        alpha = np.asarray(alpha, dtype=float)
        sigma, radius = float(self.sigma), float(self.radius)
        g = math.sqrt(8) * sigma * special.erfinv(np.minimum(alpha, 1 - 1e-12))
        for _ in range(8):
            g = g * np.maximum(alpha / np.maximum(self.difference(g), 1e-300), 1.0)
        return np.minimum(g, radius / math.sqrt(self.s))

    def saturation(self) -> float:
        """The alpha at which g reaches radius/sqrt(s)."""
        top = np.array(float(self.radius) / math.sqrt(self.s))
        return min(max(float(self.difference(top)), 1e-250), 1.0)

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
            size = lib.least(lib.sqrt(2 / lib.pi) + 1 / lib.sqrt(self.s), 1)
            mean, variance = c**2 / 2 + c * size / lib.sqrt(2 * lib.pi), c**2 + c**4 / 2
        else:
            mean = self._over_walk(_mean_excess, c)
            square = self._over_walk(_square_excess, c)
            variance = lib.largest(square * (1 + 1e3 * lib.ulp) - mean**2, 0)
        deviation = lib.sqrt(self.n * variance)
        return Coupling(self.difference(g), g**2, self.n * mean, deviation)


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
