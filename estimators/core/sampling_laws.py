"""Variances of sampling errors, known or functions of what is estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Sampling(Protocol):
    """The variance of the sampling error on each coordinate."""

    def variance(self, target: Array) -> Array:
        """At such values of what is estimated."""

    def largest(self) -> Array:
        """The most that it can be."""

    def coordinate(self, j: int) -> Sampling:
        """Of one coordinate."""


@dataclass(frozen=True)
class KnownVariance:
    """A variance that does not depend on what is estimated."""

    values: Array

    def variance(self, target: Array) -> Array:
        """The same everywhere."""
        return np.broadcast_to(self.values, np.shape(target))

    def largest(self) -> Array:
        """The same."""
        return self.values

    def coordinate(self, j: int) -> KnownVariance:
        """Its own, or that of all."""
        return self if self.values.ndim == 0 else KnownVariance(np.asarray(self.values[j]))


@dataclass(frozen=True)
class MixedVariance:
    """One of several variances, with these chances: a row for each, a column for each coordinate.

    An interval then has the half-width within which the mixture holds the level.
    """

    values: Array
    weights: Array

    def variance(self, target: Array) -> Array:
        """That of the mixture, the same everywhere."""
        return np.broadcast_to(self.weights @ self.values, np.shape(target))

    def largest(self) -> Array:
        """Of the variances."""
        return np.asarray(self.values.max(axis=0))

    def coordinate(self, j: int) -> MixedVariance:
        """Its own column."""
        return MixedVariance(self.values[:, j], self.weights)


@dataclass(frozen=True)
class BoundedRecords:
    """The mean of n records in [low, high]: at most (high - mean)(mean - low)/n (Bhatia and Davis,
    2000), which records at the two ends attain.

    E (high - x)(x - low) >= 0. The interval is then Wilson's: it holds the means that the estimate
    does not reject, each with its own variance.
    """

    low: Array | float
    high: Array | float
    n: int

    def variance(self, target: Array) -> Array:
        """(high - target)(target - low)/n; a target outside has 0."""
        inside = np.clip(target, self.low, self.high)
        return np.asarray((self.high - inside) * (inside - self.low) / self.n)

    def largest(self) -> Array:
        """The variance in the middle."""
        return np.asarray((np.asarray(self.high) / 2 - np.asarray(self.low) / 2) ** 2 / self.n)

    def coordinate(self, j: int) -> BoundedRecords:
        """Its own range, or that of all."""
        low, high = (end if np.ndim(end) == 0 else end[j] for end in (self.low, self.high))  # type: ignore[index]
        return BoundedRecords(low, high, self.n)
