"""Records that are given by what is read of them: for simulations, in place of arrays of records.

Estimators that read records through sums alone take them in place of X. What comes after, clipping
included, is the code that arrays of records pass through.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from estimators.core.columns import Columns
from estimators.core.design import Design, clipped_entries
from minimax.methods.priors import SIGNS

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sums:
    """n records by the sums of their columns, and a bound on their entries: no clip that is wider
    changes a record."""

    n: int
    total: Array
    largest: float

    @property
    def shape(self) -> tuple[int, int]:
        """As the records' array would have it."""
        return self.n, len(self.total)

    def __len__(self) -> int:
        return self.n

    def clipped(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The sum of the records, clipped; raises if the clip might change one."""
        if np.max(low) > -self.largest or np.min(high) < self.largest:
            raise ValueError(
                f"sums of records with entries of up to {self.largest:g} do not tell what a clip to"
                f" [{np.max(low):g}, {np.min(high):g}] would leave"
            )
        return self.total


class Repeated(Design):
    """Rows that occur many times: each stands for so many records, whose labels are the same too.

    Predictions, weights and labels are those of the distinct rows; sums are over all records.
    """

    def __init__(self, rows: Array, counts: Array) -> None:
        super().__init__(rows)
        self.counts = counts
        self.n = int(counts.sum())

    @property
    def shape(self) -> tuple[int, int]:
        """As the records' array would have it."""
        return self.n, self.d

    def correlate(self, weights: Array) -> Array:
        """sum_i weights_i x_i."""
        return super().correlate(self.counts * weights)

    def squared_length(self, prediction: Array) -> float:
        """|X coef|^2, from what `predict` gives for coef."""
        return float(np.sum(self.counts * prediction**2))


class Drawn(Design):
    """Records that are known to be numbers within bounds: there is nothing to check."""

    @property
    def shape(self) -> tuple[int, int]:
        """As the records' array would have it."""
        return self.n, self.d

    @abstractmethod
    def clipped(self, bound: float) -> Design:
        """The records with entries clipped to [-bound, bound]."""

    def clipped_correlation(
        self, y: Array, coef: Array, shorten: Array, weights: Array, clip: float
    ) -> Array:
        """sum_i weights_i clip(y_i - shorten_i <x_i, coef>) x_i."""
        residuals = y - shorten * self.predict(coef)
        return self.correlate(weights * np.clip(residuals, -clip, clip, out=residuals))


class Signs(Drawn):
    """Rows of signs times a size: all are as long, and so are all parts of them.

    Eight columns are kept in a number, and a product looks up what it adds: that takes an eighth
    of the time and of the room.
    """

    def __init__(self, packed: NDArray[np.intp], d: int, size: float) -> None:
        """`packed` has a row for every eight columns: see `sign_bytes`."""
        self.packed, self.size = packed, size
        self.n, self.d = packed.shape[1], d
        self.norms = np.broadcast_to(size * math.sqrt(d), self.n)

    @cached_property
    def X(self) -> Array:
        """The rows as an array, for what is not asked often."""
        return self.columns(np.arange(self.d))

    def __len__(self) -> int:
        return self.n

    def __matmul__(self, coef: Array) -> Array:
        return self.predict(coef)

    @property
    def largest(self) -> float:
        """The largest magnitude of an entry."""
        return self.size

    def norms_of(self, columns: Columns) -> Array:
        """The l2 norms of the rows of some columns."""
        return np.broadcast_to(self.size * math.sqrt(len(columns.places)), self.n)

    def clipped(self, bound: float) -> Design:
        """The records with entries clipped to [-bound, bound]."""
        return self if self.size <= bound else Signs(self.packed, self.d, bound)

    def predict(self, coef: Array) -> Array:
        """<x_i, coef> for every row."""
        each = np.zeros((len(self.packed), 8))
        each.ravel()[: self.d] = coef
        out: Array | None = None
        for block in np.flatnonzero(each.any(axis=1)):
            added = (SIGNS @ (self.size * each[block])).take(self.packed[block])
            out = added if out is None else np.add(out, added, out=out)
        return np.zeros(self.n) if out is None else out

    def correlate(self, weights: Array) -> Array:
        """sum_i weights_i x_i."""
        sums = np.array([np.bincount(block, weights, len(SIGNS)) for block in self.packed])
        return np.asarray(self.size * (sums @ SIGNS).ravel()[: self.d])

    def columns(self, places: NDArray[np.intp]) -> Array:
        """Some columns, the entries of each close together."""
        out = np.empty((len(places), self.n))
        for row, place in zip(out, places, strict=True):
            block, column = divmod(int(place), 8)
            (self.size * SIGNS[:, column]).take(self.packed[block], out=row, mode="clip")
        return out.T


class Sorted(Drawn):
    """Records in the order of their rows, each of which occurs many times, with any labels.

    Predictions, weights and labels are those of all records; products cost n, and not n d.
    """

    def __init__(self, rows: Array, counts: NDArray[np.int64]) -> None:
        there = counts > 0
        super().__init__(rows[there])
        self.counts = counts[there]
        self.n = int(self.counts.sum())
        self._first = np.cumsum(self.counts) - self.counts
        self.norms = np.repeat(self.norms, self.counts)

    def _summed(self, weights: Array) -> Array:
        """Over the records of each row."""
        return np.add.reduceat(weights, self._first)

    def predict(self, coef: Array) -> Array:
        """<x_i, coef> for every record."""
        return np.repeat(self.X @ coef, self.counts)

    def columns(self, places: NDArray[np.intp]) -> Array:
        """Some columns, the entries of each close together."""
        return np.repeat(self.X.T[places], self.counts, axis=1).T

    def clipped(self, bound: float) -> Design:
        """The records with entries clipped to [-bound, bound]."""
        return Sorted(clipped_entries(self.X, bound), self.counts)

    def correlate(self, weights: Array) -> Array:
        """sum_i weights_i x_i."""
        return np.asarray(self.X.T @ self._summed(weights))

    def moments(self, weights: Array, factors: Array | None = None) -> tuple[Array, Array]:
        """A'A and, with factors, A'factors for rows weights_i x_i of A."""
        gram = np.asarray((self.X.T * self._summed(weights**2)) @ self.X)
        return gram, np.zeros(self.d) if factors is None else self.correlate(weights * factors)


def as_design(X: Design | Array) -> Design:
    """X, if it is a design already, or that of its rows."""
    return X if isinstance(X, Design) else Design(X)


def clipped_design(X: Drawn | Array, bound: float) -> Design:
    """The design of rows with entries clipped to [-bound, bound]."""
    return X.clipped(bound) if isinstance(X, Drawn) else Design(clipped_entries(X, bound))
