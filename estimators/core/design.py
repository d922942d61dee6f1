"""A design matrix, dense or sparse, whose rows can be shortened without copying it.

Clipping a record's row, or its gradient, to an l2 ball multiplies the row by a number in (0, 1].
So all that clipping needs is the row norms and one weight per record inside the two products of a
gradient step; the matrix itself is never copied, made dense or changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from estimators.core.rows import row_products

if TYPE_CHECKING:
    from estimators.core.columns import Columns

Array = NDArray[np.float64]
CACHED = 1 << 20
"""Bytes of rows that are used twice while they are in cache."""
LARGEST = 1e100
"""Entries beyond this are taken as this, so that squares and products stay finite. A function of
the record alone, like every other clip."""


MOST_GRAM_BYTES = 1 << 33
"""No Gram matrix larger than this is formed: what is done with one takes a few times as much."""


def check_gram_fits(d: int) -> None:
    """Raise, before anything is computed, if X'X for so many features is too large to be formed."""
    needed = 8 * d * d
    if needed > MOST_GRAM_BYTES:
        raise ValueError(
            f"X has {d} features: X'X alone would need 8 d^2 bytes, {needed / 2**30:.3g} GiB, and"
            f" at most {MOST_GRAM_BYTES / 2**30:g} GiB are taken for it. Methods of gradient steps,"
            " such as NoisyGradientRegression, need no X'X"
        )


def clamped(values: Any) -> Any:
    """The same values, dense or CSR, with entries brought into [-LARGEST, LARGEST]."""
    held = values.data if sparse.issparse(values) else values
    return values if _within(held) else clipped_entries(values, LARGEST)


def clipped_entries(X: Any, bound: float) -> Any:
    """X, dense or CSR, with entries clipped to [-bound, bound].

    X itself where no entry is outside; otherwise one copy, of the stored entries only for CSR.
    """
    held = X.data if sparse.issparse(X) else X
    if held.size == 0 or max(float(held.max()), -float(held.min())) <= bound:
        return X
    clipped = np.clip(held, -bound, bound)
    return type(X)((clipped, X.indices, X.indptr), shape=X.shape) if sparse.issparse(X) else clipped


def by_columns(X: Any) -> Any:
    """X in the layout of coordinate descent: dense with columns contiguous, or CSC with indices of
    32 bits where they fit, which is all that scikit-learn takes."""
    if not sparse.issparse(X):
        return np.asfortranarray(X)
    columns = X.tocsc()
    fits = max(columns.nnz, *columns.shape) <= np.iinfo(np.int32).max
    if fits and columns.indices.dtype != np.int32:
        narrow = columns.indices.astype(np.int32), columns.indptr.astype(np.int32)
        columns = sparse.csc_matrix((columns.data, *narrow), shape=columns.shape)
    return columns


def _within(held: Any) -> bool:
    """Whether no entry is beyond LARGEST: by one pass over the data where that settles it."""
    if surely_within(held):
        return True
    return held.size == 0 or bool(max(float(held.max()), -float(held.min())) <= LARGEST)


def surely_within(held: Any) -> bool:
    """Whether the sum of squares alone shows that all entries are finite and at most LARGEST."""
    if held.dtype != np.float64 or not held.flags.forc:
        return False
    flat = held.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):  # then so is the largest, rounding included
        return bool(np.dot(flat, flat) <= LARGEST**2 / 2)


def shortening(norms: Array, bound: float) -> Array:
    """For rows of these norms the factors that bring them down to `bound`, or 1."""
    if norms.max(initial=0.0) <= bound:
        return np.broadcast_to(1.0, norms.shape)  # one number, however often it is read
    out = np.maximum(norms, bound)
    return np.divide(bound, out, out=out)


class Design:
    """X with its row norms and the products that gradient methods need."""

    def __init__(self, X: Any, *, within: float = np.inf) -> None:
        """`within`: what the norms of the rows are known not to exceed."""
        self.X = X
        self.n, self.d = X.shape
        if within <= LARGEST / 2:
            return
        with np.errstate(over="ignore"):
            norms = self.norms
        if not norms.max(initial=0.0) <= LARGEST / 2:  # an entry is at most its row's norm
            self.X = clamped(X)
            del self.norms

    @classmethod
    def checked(cls, X: Any, settled: Callable[[Any], Any]) -> Design:
        """The design of entries that are not checked yet: X is read once.

        `settled` checks entries and clamps them; it is called only where a norm is not finite or
        huge.
        """
        if isinstance(X, Design):
            return X
        if not sparse.issparse(X):
            design = cls(X, within=0.0)
            if design.norms.max(initial=0.0) <= LARGEST / 2:
                return design
        return cls(settled(X))

    @classmethod
    def bounded(cls, X: Any, bound: float, settled: Callable[[Any], Any]) -> Design:
        """The design of entries clipped to [-bound, bound]. Those of a dense X are not checked yet:
        it is read once if none is outside, else `settled` checks them."""
        if sparse.issparse(X):
            X = clipped_entries(X, bound)
        elif not _entries_within(X, bound):
            X = clipped_entries(settled(X), bound)
        return cls(X, within=bound * math.sqrt(X.shape[1]))

    @cached_property
    def norms(self) -> Array:
        """The l2 norms of the rows: found when they are asked for."""
        if sparse.issparse(self.X):
            return np.sqrt(self._squared() @ np.ones(self.d))
        return np.sqrt(row_products(self.X, self.X))

    @property
    def largest(self) -> float:
        """The largest magnitude of an entry."""
        return max(float(self.X.max()), -float(self.X.min()))

    def _squared(self) -> Any:
        """CSR with the squares of the entries, which shares the places of X."""
        X = self.X
        return type(X)((X.data**2, X.indices, X.indptr), shape=X.shape)

    def column_sizes(self) -> tuple[Array, Array]:
        """The l2 norm of each column, and its entry of largest magnitude."""
        X = self.X
        if not sparse.issparse(X):
            return np.sqrt(np.einsum("ij,ij->j", X, X)), np.maximum(X.max(axis=0), -X.min(axis=0))
        largest = np.zeros(self.d)
        np.maximum.at(largest, X.indices, np.abs(X.data))
        return np.sqrt(self._squared().T @ np.ones(self.n)), largest

    def shortening(self, bound: float) -> Array:
        """For each row the factor that brings its l2 norm down to `bound`, or 1."""
        return shortening(self.norms, bound)

    def mean_square(self, bound: float) -> float:
        """Of the lengths of the rows, shortened to `bound`."""
        lengths = np.minimum(self.norms, bound)
        return float(np.dot(lengths, lengths)) / self.n

    def energies(self, bound: float) -> Array:
        """Squared lengths of the rows over bound^2, at most 1."""
        return (np.minimum(self.norms, bound) / bound) ** 2

    def predict(self, coef: Array) -> Array:
        """<x_i, coef> for every row; for a sparse `coef` only its support is touched."""
        support = np.flatnonzero(coef)
        if not sparse.issparse(self.X) and 8 * len(support) < self.d:
            return np.asarray(self.X[:, support] @ coef[support])
        return np.asarray(self.X @ coef)

    def correlate(self, weights: Array) -> Array:
        """sum_i weights_i x_i."""
        return np.asarray(self.X.T @ weights)

    def columns(self, places: NDArray[np.intp]) -> Array:
        """Some columns, the entries of each close together."""
        X = self.X
        return np.asarray(X[:, places].toarray() if sparse.issparse(X) else X.T[places].T, float)

    def norms_of(self, columns: Columns) -> Array:
        """The l2 norms of the rows of some columns."""
        return np.sqrt(row_products(columns.block, columns.block))

    def squared_length(self, prediction: Array) -> float:
        """|X coef|^2, from what `predict` gives for coef."""
        return float(prediction @ prediction)

    def clipped_correlation(
        self, y: Array, coef: Array, shorten: Array, weights: Array, clip: float
    ) -> Array:
        """sum_i weights_i clip(y_i - shorten_i <x_i, coef>) x_i: X is read once.

        A chunk of rows stays in cache between its two products.
        """
        out, moved = np.zeros(self.d), coef.any()
        for rows in self.chunks(CACHED):
            part = self.X[rows]
            residuals = y[rows] - shorten[rows] * (part @ coef) if moved else y[rows].copy()
            np.minimum(residuals, clip, out=residuals)  # twice as fast as np.clip on few rows
            np.maximum(residuals, -clip, out=residuals)
            residuals *= weights[rows]
            out += part.T @ residuals
        return out

    def gram(self, weights: Array) -> Array:
        """sum_i weights_i^2 x_i x_i', without a copy of X."""
        return self.moments(weights)[0]

    def moments(self, weights: Array, factors: Array | None = None) -> tuple[Array, Array]:
        """A'A and, with factors, A'factors for rows weights_i x_i of A: X is read once.

        A chunk stays in cache between its weighting and its products; it has as many rows as
        columns at least, so that adding up takes less than multiplying.
        """
        each = max(self._rows_of(CACHED), self.d)
        spare = np.empty((min(self.n, each), self.d))
        gram, correlation = np.zeros((self.d, self.d)), np.zeros(self.d)
        for rows in _chunks(self.n, each):
            part = self.X[rows]
            part = part.toarray() if sparse.issparse(part) else part
            part = _weighted(part, weights[rows], spare)
            gram += part.T @ part
            if factors is not None:
                correlation += part.T @ factors[rows]
        return gram, correlation

    def chunks(self, bytes_per_chunk: int = 1 << 22) -> Iterator[slice]:
        """Slices of rows whose dense form has about `bytes_per_chunk` bytes."""
        return _chunks(self.n, self._rows_of(bytes_per_chunk))

    def _rows_of(self, size: int) -> int:
        """How many rows have so many bytes when they are dense: one at least."""
        return max(1, size // (8 * max(1, self.d)))


def _entries_within(X: Array, bound: float) -> bool:
    """Whether all entries lie in [-bound, bound]: a chunk stays in cache. No, if one is not a
    number."""
    for rows in _chunks(len(X), max(1, CACHED // (8 * max(1, X.shape[1])))):
        part = X[rows]
        if not (part.max(initial=0.0) <= bound and part.min(initial=0.0) >= -bound):
            return False
    return True


def _chunks(n: int, rows: int) -> Iterator[slice]:
    return (slice(i, min(i + rows, n)) for i in range(0, n, rows))


def _weighted(part: Array, weights: Array, spare: Array) -> Array:
    """Rows weights_i x_i: `part` itself if no weight is another than 1, else put into `spare`."""
    if weights.min() == 1 and weights.max() == 1:
        return part
    return np.multiply(part, weights[:, None], out=spare[: len(part)])
