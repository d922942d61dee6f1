"""The priors of the proofs, as samplers.

A prior draws an `Instance`: the quantity to be estimated and the law of the data given it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GaussianInstance:
    """Records N(target, sigma^2 I)."""

    target: Array
    sigma: float

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        X = rng.standard_normal((n, len(self.target)))
        X *= self.sigma
        X += self.target
        return X


@dataclass(frozen=True)
class SignInstance:
    """Records in {-sigma, sigma}^d with independent coordinates and mean `target`."""

    target: Array
    sigma: float

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        chance = (1 + self.target / self.sigma) / 2
        return np.where(rng.random((n, len(self.target))) < chance, self.sigma, -self.sigma)


@dataclass(frozen=True)
class DilutedInstance:
    """A record is 0 with probability 1 - alpha, else a uniform draw from the rows of `points`."""

    points: Array
    alpha: float

    @property
    def target(self) -> Array:
        return self.alpha * self.points.mean(axis=0)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        rows = self.points[rng.integers(len(self.points), size=n)]
        return np.asarray(rows * (rng.random(n) < self.alpha)[:, None])


@dataclass(frozen=True)
class CosinePrior:
    """Mean coordinates independent with density cos^2(pi t / 2a)/a on [-a, a]; Gaussian data."""

    d: int
    radius: float
    sigma: float
    support: int | None = None
    """If given, only the first `support` coordinates are drawn and the others are zero."""

    def draw(self, rng: np.random.Generator) -> GaussianInstance:
        mean = np.zeros(self.d)
        size = self.d if self.support is None else self.support
        mean[:size] = self.radius * _cosine_squared(size, rng)
        return GaussianInstance(mean, self.sigma)


def _cosine_squared(size: int, rng: np.random.Generator) -> Array:
    """Draws on [-1, 1] with density cos^2(pi t / 2), by rejection from the uniform law."""
    drawn = np.empty(0)
    while len(drawn) < size:
        t = rng.uniform(-1, 1, 2 * size + 16)
        kept = t[rng.random(len(t)) < np.cos(np.pi * t / 2) ** 2]
        drawn = np.concatenate([drawn, kept])
    return drawn[:size]


def _sign_means(size: int, u: float, rng: np.random.Generator) -> Array:
    """p with density proportional to (1 - p^2)^{u/2 - 1}: (1 + p)/2 is Beta(u/2, u/2)."""
    return 2 * rng.beta(u / 2, u / 2, size=size) - 1


@dataclass(frozen=True)
class SignPrior:
    """Data in {-sigma, sigma}^d whose coordinate means are sigma (2 Beta(u/2, u/2) - 1)."""

    d: int
    sigma: float
    u: float

    def draw(self, rng: np.random.Generator) -> SignInstance:
        return SignInstance(self.sigma * _sign_means(self.d, self.u, rng), self.sigma)


@dataclass(frozen=True)
class DilutedPrior:
    """m sign vectors drawn from a `SignPrior` law; records are mostly zero, else one of them."""

    d: int
    sigma: float
    u: float
    points: int
    alpha: float

    def draw(self, rng: np.random.Generator) -> DilutedInstance:
        signs = SignPrior(self.d, self.sigma, self.u).draw(rng).sample(self.points, rng)
        return DilutedInstance(signs, self.alpha)


@dataclass(frozen=True)
class BlockPrior:
    """One signed coordinate in each of s blocks; a record is `height` times it, or 0.

    Blocks have size m = floor(d/s). A record is the spike vector with probability alpha.
    """

    d: int
    s: int
    alpha: float
    height: float

    def draw(self, rng: np.random.Generator) -> DilutedInstance:
        spike = self.height * _block_signs(self.d, self.s, rng)
        return DilutedInstance(spike[None, :], self.alpha)


@dataclass(frozen=True)
class GaussianBlockPrior:
    """One coordinate +-tau in each of s blocks as the mean of Gaussian data."""

    d: int
    s: int
    tau: float
    sigma: float

    def draw(self, rng: np.random.Generator) -> GaussianInstance:
        return GaussianInstance(self.tau * _block_signs(self.d, self.s, rng), self.sigma)


def _block_signs(d: int, s: int, rng: np.random.Generator) -> Array:
    size = d // s
    v = np.zeros(d)
    v[np.arange(s) * size + rng.integers(size, size=s)] = rng.choice([-1.0, 1.0], size=s)
    return v
