"""Reports about one coordinate each, averaged."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimators.core.base import Array
from estimators.core.mechanisms import Release
from estimators.randomisers.base import VectorRandomiser


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
    rows, q = np.arange(users.start, users.stop), len(candidates)
    asked = np.arange(len(rows)) % q
    features = np.asarray(X[rows, candidates[asked]], dtype=float).reshape(len(rows))
    products = weights[rows] * np.clip(features, -scale, scale)
    reports, entry = randomiser.randomise(products[:, None], rng)
    sums = np.bincount(asked, weights=reports[:, 0], minlength=q)
    return Release(sums / np.maximum(np.bincount(asked, minlength=q), 1), entry)
