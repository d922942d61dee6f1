"""What others do for private linear regression on a table with public ranges.

Each peer is a function of a `Task` and a budget and returns coefficients, the intercept first, in
encoded units: numbers and responses in [-1, 1], indicators 0 or 1. A row with its intercept has l2
norm at most `row_bound`, a fact of the encoding, so nothing is clipped that the ranges allow. All
are private when a record is replaced; those that spend a Gaussian budget spend all of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from peers import DataSet, Tuning, averaged_descent
from small_models import small_models
from table_data import TableData, encoded, scaled, with_intercept
from table_schemas import TableSchema

from estimators.baselines.regression import AdaptiveSufficientStatistics
from estimators.baselines.statistics import statistics_sensitivity
from estimators.core.mechanisms import gaussian
from estimators.core.symmetric import flat, unflat
from minimax.core.privacy import Approximate


class Task(NamedTuple):
    """Encoded training rows, an intercept first, what is public about them, and a seed."""

    schema: TableSchema
    Z: np.ndarray
    y: np.ndarray
    seed: int

    @classmethod
    def of(cls, data: TableData, seed: int) -> Task:
        """That of a table; classes are 0 and 1, other responses in [-1, 1]."""
        y = data.response
        if data.schema.task == "regression":
            y = scaled(y, data.schema.response.bounds)
        return cls(data.schema, with_intercept(encoded(data)), y, seed)

    def rng(self, purpose: int) -> np.random.Generator:
        """The noise of a peer."""
        return np.random.default_rng((self.seed, purpose))


Fit = Callable[[Task, Approximate], np.ndarray]


def least_squares(task: Task, privacy: Approximate) -> np.ndarray:
    """Without privacy."""
    return np.asarray(np.linalg.lstsq(task.Z, task.y, rcond=None)[0])


def mean_prediction(task: Task, privacy: Approximate) -> np.ndarray:
    """The training mean for everyone, without privacy: R^2 is 0 up to the split."""
    coef = np.zeros(task.Z.shape[1])
    coef[0] = task.y.mean()
    return coef


def sufficient_statistics(task: Task, privacy: Approximate) -> np.ndarray:
    """Least squares from A'A, A = [1, x, y], with one Gaussian release.

    Its noise has deviation s in Frobenius norm. The ridge s sqrt(p) is added to the eigenvalues of
    the noisy Gram matrix after they are cut at 0.
    """
    p, mu = task.Z.shape[1], privacy.to_gaussian().mu
    A = np.column_stack([task.Z, task.y])
    moved = statistics_sensitivity(math.hypot(task.schema.row_bound, 1.0), 1.0).gram
    stacked = flat(A.T @ A)
    noisy, entry = gaussian(stacked, l2_sensitivity=moved, scale=moved / mu, rng=task.rng(1))
    G = unflat(noisy, p + 1)
    values, vectors = np.linalg.eigh(G[:p, :p])
    values = np.maximum(values, 0.0) + entry.scale * math.sqrt(p)
    return np.asarray(vectors @ (vectors.T @ G[:p, p] / values))


def adaptive_statistics(task: Task, privacy: Approximate) -> np.ndarray:
    """AdaSSP, this repository's, in one joint release and with the exact bounds of the encoding."""
    bound = task.schema.row_bound
    model = AdaptiveSufficientStatistics(privacy, row_bound=bound, R=1.0, random_state=task.seed)
    return model.fit(task.Z, task.y).coef_


STEPS, CLIPS, RATES = (160, 640, 2560), (0.1, 0.3, 1.0), (1.0, 2.0, 4.0)
"""What descent may choose from; rates are in units of 1/row_bound^2."""
TUNING_ROWS, TUNING_SETS = 2_000, 3


def descent(task: Task, privacy: Approximate) -> np.ndarray:
    """Averaged clipped DP-GD, its settings the best of a grid on made-up tables of this size."""
    tuning = descent_tuning(task.schema, len(task.y), privacy)
    data = DataSet(task.Z, task.y, np.zeros(task.Z.shape[1]), task.seed)
    return averaged_descent(data, tuning, privacy.to_gaussian().mu)


@cache
def descent_tuning(schema: TableSchema, n: int, privacy: Approximate) -> Tuning:
    """The setting of least squared prediction error on `made_up` tables: no data are used.

    They have fewer rows than n and as much noise: what privacy costs depends on n mu alone.
    """
    mu, unit = privacy.to_gaussian().mu * n / TUNING_ROWS, schema.row_bound**2
    grid = [Tuning(k, c, r / unit) for k, c, r in itertools.product(STEPS, CLIPS, RATES)]
    errors = dict.fromkeys(grid, 0.0)
    for seed in range(TUNING_SETS):
        data = made_up(schema, TUNING_ROWS, seed)
        gram = data.X.T @ data.X / len(data.y)
        for tuning in grid:
            off = averaged_descent(data, tuning, mu) - data.beta
            errors[tuning] += float(off @ gram @ off)
    return min(grid, key=errors.__getitem__)


def made_up(schema: TableSchema, n: int, seed: int) -> DataSet:
    """A table of the same shape from nothing but its schema.

    Numbers fill a fifth of their range, about a random place in it, and are correlated by 1/2;
    levels are equally likely; the response fills a fifth of its range, and half of its variance is
    explained.
    """
    rng = np.random.default_rng((seed, 11))
    common, blocks = rng.standard_normal(n), [np.ones((n, 1))]
    for column in schema.features:
        if column.is_number:
            mixed = (common + rng.standard_normal(n)) / math.sqrt(2)
            blocks.append(np.clip(rng.uniform(-0.8, 0.8) + 0.2 * mixed, -1, 1)[:, None])
        else:
            blocks.append(np.eye(column.width + 1)[rng.integers(column.width + 1, size=n)][:, 1:])
    Z = np.hstack(blocks)
    beta = rng.standard_normal(Z.shape[1])
    deviation = 0.2 / math.sqrt(2)
    beta[1:] *= deviation / np.std(Z[:, 1:] @ beta[1:])
    beta[0] = rng.uniform(-0.5, 0.5) - Z[:, 1:].mean(axis=0) @ beta[1:]
    y = np.clip(Z @ beta + deviation * rng.standard_normal(n), -1, 1)
    return DataSet(Z, y, beta, seed)


def median_of_small_models(task: Task, privacy: Approximate) -> np.ndarray:
    """Tukey median of least squares on batches; the middle of the range if its test fails.

    Numbers are in [0, 1] here, as its authors leave amounts as they are: from the middle of a wide
    range nearly all are far off on the same side, and the fits' intercepts would mean nothing.
    """
    numbers = np.concatenate([[False], task.schema.number_columns])
    found = small_models(np.where(numbers, (task.Z + 1) / 2, task.Z), task.y, privacy, task.seed)
    coef = np.where(numbers, found / 2, found)
    coef[0] += coef[numbers].sum()
    return coef


PRIVATE: dict[str, Fit] = {
    "sufficient statistics": sufficient_statistics,
    "AdaSSP": adaptive_statistics,
    "averaged clipped DP-GD": descent,
    "median of small models": median_of_small_models,
}
NOT_PRIVATE: dict[str, Fit] = {
    "least squares": least_squares,
    "mean": mean_prediction,
}
