"""The gradient along a Frank-Wolfe run, from the data as they are or from X'X.

A step moves b towards one vertex: b <- (1 - m) b + w e_j. For the squared loss X'Xb then becomes
(1 - m) X'Xb + w X'x_j, with x_j the j-th column, so a step needs one column of X'X and no pass over
the data. Both ways compute the same function of the data, X'(slopes at Xb), up to rounding, so its
sensitivity is the same.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from estimators.core.base import Array
from estimators.core.design import MOST_GRAM_BYTES
from estimators.core.losses import Loss, SquaredLoss

GRAM_STEPS = 1 / 20
"""From this many steps per feature on X'X is formed at once. It takes about d/40 passes over the
data, each of two products, and a step would take one product."""


class Scores(Protocol):
    """X'(slopes at Xb) for a b that moves towards one vertex at a time."""

    def gradient(self) -> Array:
        """At the present b, not divided by n."""

    def step(self, j: int, kept: float, weight: float) -> None:
        """b <- kept b + weight e_j."""


class PredictionScores:
    """Any loss: the predictions are kept, and a gradient is one product with X'."""

    def __init__(self, X: Any, y: Array, loss: Loss, start: Array) -> None:
        self.X, self.y, self.loss = X.tocsc() if sparse.issparse(X) else X, y, loss
        self.prediction = predictions(X, start)

    def gradient(self) -> Array:
        """One pass over the data."""
        return np.asarray(self.X.T @ self.loss.slope(self.prediction, self.y))

    def step(self, j: int, kept: float, weight: float) -> None:
        """The predictions, with one column of X."""
        self.prediction *= kept
        add_column(self.prediction, self.X, j, weight)


class GramScores:
    """The squared loss: X'Xb is kept, and a step is one column of X'X.

    Of dense X all of X'X is formed at once where there are `GRAM_STEPS`, and else each column when
    it is first needed. Of sparse X a column is computed whenever it is needed, from the rows that
    have the feature.
    """

    def __init__(self, X: Any, y: Array, steps: int, start: Array) -> None:
        self.X, d = X, X.shape[1]
        self.columns = X.tocsc() if sparse.issparse(X) else X
        self.known: dict[int, Array] = {}
        self.gram: Array | None = None
        if not sparse.issparse(X) and steps > GRAM_STEPS * d and 8 * d * d <= MOST_GRAM_BYTES:
            self.gram = np.asarray(X.T @ X)
        self.correlation = np.asarray(X.T @ y)
        self.product = np.asarray(X.T @ predictions(X, start)) if start.any() else np.zeros(d)

    def gradient(self) -> Array:
        """Two vectors and no data."""
        return self.product - self.correlation

    def step(self, j: int, kept: float, weight: float) -> None:
        """X'Xb, with one column of X'X."""
        self.product *= kept
        self.product += weight * self._column(j)

    def _column(self, j: int) -> Array:
        """X'x_j."""
        if self.gram is not None:
            return np.asarray(self.gram[j])  # symmetric, and a row is contiguous
        if sparse.issparse(self.X):
            held = slice(self.columns.indptr[j], self.columns.indptr[j + 1])
            rows, entries = self.columns.indices[held], self.columns.data[held]
            return np.asarray(self.X[rows].T @ entries)
        if j not in self.known:
            self.known[j] = np.asarray(self.X.T @ self.X[:, j])
        return self.known[j]


def vertex_scores(X: Any, y: Array, loss: Loss, steps: int, start: Array) -> Scores:
    """The cheaper of the two for this loss and number of steps, at b = `start`."""
    if isinstance(loss, SquaredLoss):
        return GramScores(X, y, steps, start)
    return PredictionScores(X, y, loss, start)


def predictions(X: Any, b: Array) -> Array:
    """X b, without a pass where b is 0."""
    return np.asarray(X @ b) if b.any() else np.zeros(X.shape[0])


def add_column(total: Array, X: Any, j: int, weight: float) -> None:
    """total += weight X[:, j] in place, for dense or CSC X."""
    if sparse.issparse(X):
        held = slice(X.indptr[j], X.indptr[j + 1])
        total[X.indices[held]] += weight * X.data[held]
    else:
        total += weight * X[:, j]
