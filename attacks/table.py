r"""Tracing the records of a table of one's own.

The table is the population: records are drawn from its rows, with replacement, so that outsiders
are drawn from the law of the members and every statement is exact, whatever the numbers in the
table are. What is estimated is the population's own:

* "mean": the means of the columns; the score of a record is g = x - mean;
* "regression": least-squares coefficients b of y on the columns; g = (y - <x, b>) x;
* "logistic": the maximum likelihood coefficients of y in {0, 1}; g = (y - p(<x, b>)) x.

Each time the average of g over the table is 0: by definition, or because that is the equation
which b solves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from minimax.core.bound import Instance, Labelled, Sample
from minimax.methods.tracing import VARIANCE, Tail

Array = NDArray[np.float64]
Kind = Literal["mean", "regression", "logistic"]
NEWTON_STEPS, ENOUGH = 100, 1e-10
"""Steps for the logistic equation, which must hold to `ENOUGH` of its terms."""


@dataclass(frozen=True, eq=False)
class TablePopulation:
    """A table as a population, a prior that draws nothing and the instance that it draws."""

    kind: Kind
    X: Array
    y: Array | None = None
    name: str = "table"

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or len(self.X) < 2:
            raise ValueError(f"X must have rows and columns, got shape {self.X.shape}")
        if not np.isfinite(self.X).all():
            raise ValueError("X must hold finite numbers")
        if (self.y is None) != (self.kind == "mean"):
            raise ValueError("y must be given for regression and logistic, and for nothing else")
        if self.y is not None:
            if not np.isfinite(self.y).all():
                raise ValueError("y must hold finite numbers")
            if self.kind == "logistic" and not np.isin(self.y, (0.0, 1.0)).all():
                raise ValueError("y must be 0 or 1 for logistic")
        if not np.all(self.variances > 0):
            flat = int(np.flatnonzero(self.variances <= 0)[0])
            raise ValueError(f"X: column {flat} tells no records apart")

    def __repr__(self) -> str:
        return f"{self.name}: {self.kind} of {self.X.shape[0]} rows, {self.d} columns"

    @property
    def d(self) -> int:
        """Columns."""
        return int(self.X.shape[1])

    def draw(self, rng: np.random.Generator) -> TablePopulation:
        """The population is always the same."""
        return self

    def sample(self, n: int, rng: np.random.Generator) -> Sample:
        """n records, with replacement."""
        rows = rng.integers(len(self.X), size=n)
        return self.X[rows] if self.y is None else Labelled(self.X[rows], self.y[rows])

    @cached_property
    def target(self) -> Array:
        """What the population's own mean, or coefficients, are."""
        if self.kind == "mean":
            return np.asarray(self.X.mean(axis=0))
        assert self.y is not None
        if self.kind == "regression":
            return np.asarray(np.linalg.lstsq(self.X, self.y, rcond=None)[0])
        return _maximum_likelihood(self.X, self.y)

    def score_vectors(self, records: Sample) -> Array:
        """g of each record."""
        if self.kind == "mean":
            return np.asarray(records - self.target)
        assert isinstance(records, Labelled)
        fitted = records.X @ self.target
        if self.kind == "logistic":
            fitted = special.expit(fitted)
        return np.asarray((records.y - fitted)[:, None] * records.X)

    @cached_property
    def covariance(self) -> Array:
        """E gg' over the table."""
        whole = self.X if self.y is None else Labelled(self.X, self.y)
        scores = self.score_vectors(whole)
        return np.asarray(scores.T @ scores / len(scores))

    @property
    def variances(self) -> Array:
        """Those of the coordinates of g."""
        return np.diag(self.covariance)

    def loss(self, estimate: Array) -> float:
        """sum_j (M_j - target_j)^2/Var g_j: errors in units of what one record says."""
        return float(np.sum((estimate - self.target) ** 2 / self.variances))


@dataclass(frozen=True, eq=False)
class TableAttack:
    r"""A = <W (M - target), g>, g the score of a record and W = diag(1/Var g_j).

    The weights, which the population gives, make columns of all units count alike.

    **Soundness.** V = W (M - target) is independent of an outsider, whose g has mean zero: E_Q A =
    0 and E_Q A^2 = E V'CV, C = E gg' over the table, exactly.

    **Completeness.** None: there is no prior. (The average of the sample's g, as a release, has the
    sum d for means.)

    **Source.** CWZ19: §2.3, on a table.
    """

    prior: TablePopulation
    name: ClassVar[str] = "attack on a table <W(M-target), g>"
    source: ClassVar[str] = "CWZ19: §2.3, on a table"
    sigma: ClassVar[float] = 1.0
    tail: ClassVar[Tail] = VARIANCE

    def scores(self, records: Any, release: Array, instance: Instance, sample: Any) -> Array:
        return np.asarray(self.prior.score_vectors(records) @ self._direction(release))

    def spread(self, release: Array, instance: Instance, n: int) -> float:
        v = self._direction(release)
        return float(v @ self.prior.covariance @ v)

    def completeness(self, release: Array, instance: Instance, n: int) -> None:
        return None

    def _direction(self, release: Array) -> Array:
        return np.asarray((release - self.prior.target) / self.prior.variances)


def _maximum_likelihood(X: Array, y: Array) -> Array:
    """Newton's method with halved steps; raises where the equation has no finite solution."""
    b = np.zeros(X.shape[1])

    def value(at: Array) -> float:
        return float(np.sum(np.logaddexp(0.0, X @ at) - y * (X @ at)))

    for _ in range(NEWTON_STEPS):
        p = special.expit(X @ b)
        gradient = X.T @ (y - p)
        if np.abs(gradient).max() <= ENOUGH * np.abs(X).sum(axis=0).max():
            if np.all((2 * y - 1) * (X @ b) > 0):
                break
            return b
        step = np.linalg.lstsq((X * (p * (1 - p))[:, None]).T @ X, gradient, rcond=None)[0]
        size = 1.0
        while value(b + size * step) > value(b) and size > 1e-12:
            size /= 2
        b = b + size * step
    raise ValueError("y: the classes of the table are separated, no coefficients are the likeliest")
