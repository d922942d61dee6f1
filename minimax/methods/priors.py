"""The priors of the proofs, as samplers.

A prior draws an `Instance`: the quantity to be estimated and the law of the data given it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from minimax.core.bound import Labelled
from minimax.core.loss import (
    SUM_OF_ERRORS,
    TO_THE_COEFFICIENTS,
    TO_THE_MEAN,
    Loss,
    squared_distance,
)
from minimax.methods.normals import standard_normals
from minimax.methods.van_trees import ball_exponent

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GaussianInstance:
    """Records N(target, sigma^2 I)."""

    target: Array
    sigma: float

    def sample(self, n: int, rng: np.random.Generator, out: Array | None = None) -> Array:
        """n records; in the place of what `out` holds, if it is given."""
        X = standard_normals((n, len(self.target)), rng, out)
        if self.sigma != 1:
            X *= self.sigma
        X += self.target
        return X

    def sample_columns(self, n: int, rng: np.random.Generator) -> Array:
        """n records, the entries of each coordinate close together."""
        columns = standard_normals((len(self.target), n), rng)
        if self.sigma != 1:
            columns *= self.sigma
        columns += self.target[:, None]
        return columns.T

    def loss(self, estimate: Array) -> float:
        return TO_THE_MEAN(estimate, self.target)


@dataclass(frozen=True)
class SignInstance:
    """Records in {-sigma, sigma}^d with independent coordinates and mean `target`."""

    target: Array
    sigma: float

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        X = biased_bits(n, (1 + self.target / self.sigma) / 2, rng).astype(float)
        X *= 2 * self.sigma
        X -= self.sigma
        return X

    def loss(self, estimate: Array) -> float:
        return TO_THE_MEAN(estimate, self.target)


@dataclass(frozen=True)
class DilutedInstance:
    """A record is 0 with probability 1 - alpha, else a uniform draw from the rows of `points`."""

    points: Array
    alpha: float

    @property
    def target(self) -> Array:
        return self.alpha * self.points.mean(axis=0)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        which = rng.integers(len(self.points), size=n)
        drawn = rng.random(n) < self.alpha
        X = np.zeros((n, self.points.shape[1]))
        X[drawn] = self.points[which[drawn]]
        return X

    def loss(self, estimate: Array) -> float:
        return TO_THE_MEAN(estimate, self.target)


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


# --- Regression -----------------------------------------------------------------------------------


SIGNS = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) - 1
"""The eight signs of every byte."""


def random_signs(n: int, d: int, scale: float, rng: np.random.Generator) -> Array:
    """Independent uniform signs times `scale`: eight from each random byte."""
    drawn = np.frombuffer(rng.bytes(-(-n * d // 8)), dtype=np.uint8)
    signs = (scale * SIGNS).take(drawn, axis=0).ravel()
    return np.asarray(signs[: n * d].reshape(n, d))


def biased_bits(n: int, chance: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
    """n rows of independent bits, of which the j-th is set with chance[j], exactly.

    A byte below floor(256 chance) sets it, one above does not; the byte between, which comes once
    in 256 draws, leaves the rest of the chance to a number of its own.
    """
    whole = np.floor(256 * chance)
    drawn = np.frombuffer(rng.bytes(n * len(chance)), dtype=np.uint8).reshape(n, len(chance))
    last = np.minimum(whole, 255).astype(np.uint8)
    bits = drawn < last
    between = np.flatnonzero(drawn == last)
    rest = (256 * chance - last)[between % len(chance)]
    bits.ravel()[between] = rng.random(len(between)) < rest
    return np.asarray(bits)


class Rows(Protocol):
    """Rows that labels are drawn for: an array, or what knows its products."""

    def __len__(self) -> int: ...

    def __matmul__(self, coef: Array, /) -> Array: ...


class SignRows(ABC):
    """Records with x uniform on {-scale, scale}^d, and labels given x."""

    target: Array
    scale: float

    def sample(self, n: int, rng: np.random.Generator) -> Labelled:
        X = random_signs(n, len(self.target), self.scale, rng)
        return Labelled(X, self.answers(X, rng))

    @abstractmethod
    def answers(self, X: Rows, rng: np.random.Generator) -> Array:
        """A label for each of the rows."""


@dataclass(frozen=True)
class LinearInstance(SignRows):
    """x uniform on {-scale, scale}^d and y = <x, target> + N(0, sigma^2).

    The loss is |estimate - target|^2_Sigma with Sigma = E x x' = scale^2 I.
    """

    target: Array
    sigma: float
    scale: float

    def answers(self, X: Rows, rng: np.random.Generator) -> Array:
        noise = standard_normals(len(X), rng)
        noise *= self.sigma
        noise += X @ self.target
        return noise

    def loss(self, estimate: Array) -> float:
        return self.scale**2 * squared_distance(estimate, self.target)


@dataclass(frozen=True)
class LogisticInstance(SignRows):
    """x uniform on {-scale, scale}^d and y = 1 with probability 1/(1 + exp(-<x, target>)), else 0.

    The loss is |estimate - target|^2_Sigma with Sigma = E x x' = scale^2 I.
    """

    target: Array
    scale: float

    labels: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def answers(self, X: Rows, rng: np.random.Generator) -> Array:
        return np.asarray(rng.random(len(X)) < self.chance(X), dtype=float)

    def chance(self, X: Rows) -> Array:
        """That of the second label, for each row."""
        return np.asarray(special.expit(X @ self.target))

    def loss(self, estimate: Array) -> float:
        return self.scale**2 * squared_distance(estimate, self.target)


def _ball_vector(d: int, radius: float, rng: np.random.Generator) -> Array:
    """A draw with density proportional to (1 - |v|^2/radius^2)^k, k = `ball_exponent`(d).

    The direction is uniform and |v|^2/radius^2 is Beta(d/2, k + 1).
    """
    direction = rng.standard_normal(d)
    length = math.sqrt(rng.beta(d / 2, ball_exponent(d) + 1))
    return np.asarray(radius * length * direction / np.linalg.norm(direction))


@dataclass(frozen=True)
class RegressionPrior:
    """Coefficients from the ball prior; linear model with uniform signs of size 1/sqrt(d).

    With `support` only the first `support` coefficients are drawn, the others are zero, and the
    signs have size 1/sqrt(support).
    """

    d: int
    radius: float
    sigma: float
    support: int | None = None

    def draw(self, rng: np.random.Generator) -> LinearInstance:
        target = _ball_on_support(self.d, self.radius, self.support, rng)
        return LinearInstance(target, self.sigma, 1 / math.sqrt(self.support or self.d))


@dataclass(frozen=True)
class LogisticPrior:
    """Coefficients from the ball prior; logistic model with uniform signs of size 1/sqrt(d).

    `support` as for `RegressionPrior`.
    """

    d: int
    radius: float
    support: int | None = None

    def draw(self, rng: np.random.Generator) -> LogisticInstance:
        target = _ball_on_support(self.d, self.radius, self.support, rng)
        return LogisticInstance(target, 1 / math.sqrt(self.support or self.d))


def _ball_on_support(d: int, radius: float, support: int | None, rng: np.random.Generator) -> Array:
    """The first `support` coefficients (all for None) from the ball prior, the others zero."""
    size = d if support is None else support
    target = np.zeros(d)
    target[:size] = _ball_vector(size, radius, rng)
    return target


@dataclass(frozen=True)
class RegressionBlockPrior:
    """One coefficient +-height in each of s blocks; linear model, signs of size 1/sqrt(s)."""

    d: int
    s: int
    height: float
    sigma: float

    def draw(self, rng: np.random.Generator) -> LinearInstance:
        target = self.height * _block_signs(self.d, self.s, rng)
        return LinearInstance(target, self.sigma, 1 / math.sqrt(self.s))


@dataclass(frozen=True)
class LogisticBlockPrior:
    """One coefficient +-height in each of s blocks; logistic model, signs of size 1/sqrt(s)."""

    d: int
    s: int
    height: float

    def draw(self, rng: np.random.Generator) -> LogisticInstance:
        target = self.height * _block_signs(self.d, self.s, rng)
        return LogisticInstance(target, 1 / math.sqrt(self.s))


# --- Local privacy --------------------------------------------------------------------------------


def _identity(x: Array) -> Array:
    return x


@dataclass(frozen=True)
class UniformNoiseInstance(SignRows):
    """x uniform on {-1, 1}^p; y = slope <x, target> + noise uniform on [-C, C]."""

    target: Array
    C: float
    slope: float = 1.0
    measured: Loss = TO_THE_COEFFICIENTS

    scale = 1.0

    def answers(self, X: Rows, rng: np.random.Generator) -> Array:
        return self.slope * (X @ self.target) + rng.uniform(-self.C, self.C, len(X))

    def loss(self, estimate: Array) -> float:
        return self.measured(estimate, self.target)


@dataclass(frozen=True)
class TwoLabelInstance(SignRows):
    """x uniform on {-1, 1}^p; y = f(0) +- height with mean f(<x, target>), f the link.

    The noise y - f(<x, target>) has mean zero and size at most height + |f(<x, target>) - f(0)|.
    """

    target: Array
    height: float
    link: Callable[[Array], Array] = _identity
    summed: bool = False
    """If true the loss is |sum_j (estimate_j - target_j)|, else the squared l2 distance."""

    scale = 1.0

    def answers(self, X: Rows, rng: np.random.Generator) -> Array:
        low, high = self.labels
        return np.where(rng.random(len(X)) < self.chance(X), high, low)

    @property
    def labels(self) -> tuple[float, float]:
        return self._centre - self.height, self._centre + self.height

    @property
    def _centre(self) -> float:
        return float(self.link(np.zeros(1))[0])

    def chance(self, X: Rows) -> Array:
        """That of the second label, for each row."""
        return (1 + (self.link(X @ self.target) - self._centre) / self.height) / 2

    def loss(self, estimate: Array) -> float:
        return (SUM_OF_ERRORS if self.summed else TO_THE_COEFFICIENTS)(estimate, self.target)


@dataclass(frozen=True)
class TwoLabelPrior:
    """s entries +-size/sqrt(s), one in each block of floor(p/s) coordinates; two labels.

    With probability `null` the target is zero.
    """

    p: int
    size: float
    height: float
    s: int = 1
    link: Callable[[Array], Array] = _identity
    summed: bool = False
    null: float = 0.0

    def draw(self, rng: np.random.Generator) -> TwoLabelInstance:
        target = self.size / math.sqrt(self.s) * _block_signs(self.p, self.s, rng)
        if self.null:
            target = target * (rng.random() >= self.null)
        return TwoLabelInstance(target, self.height, self.link, self.summed)
