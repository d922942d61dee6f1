"""Averages of the reports of many users, about one coordinate each or about all."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from estimators.core.base import Array
from estimators.core.mechanisms import Release
from estimators.core.summaries import Repeated
from estimators.randomisers.base import VectorRandomiser, blocks, mean_of_reports
from estimators.randomisers.signs import HypercubeRandomiser


def coordinate_means(
    X: Any,
    weights: Array,
    users: range,
    candidates: Array,
    scale: float,
    randomiser: VectorRandomiser,
    rng: np.random.Generator,
) -> Release[Array]:
    """Reports of weight_i x_ij by some users, the i-th about the i-th of the candidates in turn.

    They are averaged over each candidate's users (0 if there are none).
    """
    if isinstance(X, Repeated):
        assert users == range(X.n), "repeated records are all asked at once"
        return _repeated_means(X, weights, candidates, scale, randomiser, rng)
    rows, q = np.arange(users.start, users.stop), len(candidates)
    asked = np.arange(len(rows)) % q
    features = np.asarray(X[rows, candidates[asked]], dtype=float).reshape(len(rows))
    products = weights[rows] * np.clip(features, -scale, scale)
    reports, entry = randomiser.randomise(products[:, None], rng)
    sums = np.bincount(asked, weights=reports[:, 0], minlength=q)
    return Release(sums / np.maximum(np.bincount(asked, minlength=q), 1), entry)


def _repeated_means(
    X: Repeated,
    weights: Array,
    candidates: Array,
    scale: float,
    randomiser: VectorRandomiser,
    rng: np.random.Generator,
) -> Release[Array]:
    """The same for records that are told apart by their rows alone, in random order.

    Who is asked about a candidate is then a draw without replacement, and those of them who have
    the same row report bits of the same chance.
    """
    assert isinstance(randomiser, HypercubeRandomiser)
    left, q = X.counts.astype(np.int64), len(candidates)
    means = np.zeros(q)
    for j, candidate in enumerate(candidates):
        asked = len(range(j, X.n, q))
        drawn = left if j == q - 1 else rng.multivariate_hypergeometric(left, asked)
        left = left - drawn
        chance = randomiser.upper_chance(weights * np.clip(X.X[:, candidate], -scale, scale))
        ups = int(rng.binomial(drawn, chance).sum())
        means[j] = randomiser.size * (2 * ups - asked) / max(asked, 1)
    return Release(means, randomiser.entry(X.n))


def vector_mean(
    X: Any, weights: Array, scale: float, randomiser: VectorRandomiser, rng: np.random.Generator
) -> Release[Array]:
    """Reports of weight_i x_i, averaged.

    A weight of 0 counts as the least positive number: its report is of x_i's direction with a fair
    coin, and not of a direction that all such users have in common.
    """
    n, p = X.shape
    weights = np.where(weights == 0, np.finfo(float).tiny, weights)
    rows = blocks(range(n), p)
    vectors = (clipped_rows(X[part], scale) * weights[part, None] for part in rows)
    return mean_of_reports(vectors, randomiser, rng)


def clipped_rows(rows: Any, scale: float) -> Array:
    """Rows, dense or CSR, as a new dense array with entries in [-scale, scale]."""
    dense = rows.toarray() if sparse.issparse(rows) else rows
    return np.clip(dense, -scale, scale)
