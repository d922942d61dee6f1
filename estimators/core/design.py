"""A design matrix, dense or sparse, whose rows can be shortened without copying it.

Clipping a record's row, or its gradient, to an l2 ball multiplies the row by a number in (0, 1].
So all that clipping needs is the row norms and one weight per record inside the two products of a
gradient step; the matrix itself is never copied, made dense or changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]
CACHED = 1 << 19
"""Bytes of rows that are used twice while they are in cache."""
LARGEST = 1e100
"""Entries beyond this are taken as this, so that squares and products stay finite. A function of
the record alone, like every other clip."""


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


def _within(held: Any) -> bool:
    """Whether no entry is beyond LARGEST: by one pass over the data where that settles it."""
    if held.dtype == np.float64 and held.flags.forc:
        flat = held.ravel(order="K")
        with np.errstate(over="ignore"):
            if np.dot(flat, flat) <= LARGEST**2 / 2:  # so is the largest square, rounding included
                return True
    return held.size == 0 or bool(max(float(held.max()), -float(held.min())) <= LARGEST)


class Design:
    """X with its row norms and the products that gradient methods need."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n, self.d = X.shape
        with np.errstate(over="ignore"):
            self.norms = self._norms()
        if not self.norms.max(initial=0.0) <= LARGEST / 2:  # an entry is at most its row's norm
            self.X = clamped(X)
            self.norms = self._norms()

    def _norms(self) -> Array:
        if sparse.issparse(self.X):
            return np.sqrt(np.asarray(self.X.multiply(self.X).sum(axis=1), dtype=float)).ravel()
        return np.sqrt(np.einsum("ij,ij->i", self.X, self.X))

    def shortening(self, bound: float) -> Array:
        """For each row the factor that brings its l2 norm down to `bound`, or 1."""
        return bound / np.maximum(self.norms, bound)

    def predict(self, coef: Array) -> Array:
        """<x_i, coef> for every row; for a sparse `coef` only its support is touched."""
        support = np.flatnonzero(coef)
        if not sparse.issparse(self.X) and 8 * len(support) < self.d:
            return np.asarray(self.X[:, support] @ coef[support])
        return np.asarray(self.X @ coef)

    def correlate(self, weights: Array) -> Array:
        """sum_i weights_i x_i."""
        return np.asarray(self.X.T @ weights)

    def clipped_correlation(
        self, y: Array, coef: Array, shorten: Array, weights: Array, clip: float
    ) -> Array:
        """sum_i weights_i clip(y_i - shorten_i <x_i, coef>) x_i: X is read once.

        A chunk of rows stays in cache between its two products.
        """
        out = np.zeros(self.d)
        for rows in self.chunks(CACHED):
            part = self.X[rows]
            residuals = y[rows] - shorten[rows] * (part @ coef)
            out += part.T @ (weights[rows] * np.clip(residuals, -clip, clip))
        return out

    def gram(self, weights: Array) -> Array:
        """sum_i weights_i^2 x_i x_i', without a copy of X."""
        out = np.zeros((self.d, self.d))
        for rows in self.chunks():
            part = self.X[rows]
            part = part.toarray() if sparse.issparse(part) else part
            weight = weights[rows, None]
            if weight.min() != 1 or weight.max() != 1:
                part = part * weight
            out += part.T @ part
        return out

    def chunks(self, bytes_per_chunk: int = 1 << 22) -> Iterator[slice]:
        """Slices of rows whose dense form has about `bytes_per_chunk` bytes."""
        rows = max(1, bytes_per_chunk // (8 * max(1, self.d)))
        return (slice(i, min(i + rows, self.n)) for i in range(0, self.n, rows))
