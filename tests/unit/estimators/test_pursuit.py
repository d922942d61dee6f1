"""Subspace pursuit minimises over no support twice in a row."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from estimators.controls.regression import IterativeHardThresholding, Risk
from estimators.core.base import Array


@pytest.fixture
def supports(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The supports that are minimised over, in turn."""
    asked: list[tuple[int, ...]] = []
    minimised = Risk.minimised

    def counted(self: Risk, coef: Array, support: Array) -> Array:
        asked.append(tuple(support))
        return minimised(self, coef, support)

    monkeypatch.setattr(Risk, "minimised", counted)
    return asked


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_with_all_coordinates_one_minimisation_is_enough(
    loss: str, supports: list[tuple[int, ...]]
) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = (rng.random(400) < 1 / (1 + np.exp(-X @ [1.0, -0.5, 0.2]))).astype(float)
    found = IterativeHardThresholding(s=3, loss=loss).fit(X, y)
    predicted = X @ found.coef_
    slope = predicted - y if loss == "squared" else 1 / (1 + np.exp(-predicted)) - y
    assert np.abs(X.T @ slope / 400).max() < 1e-10
    assert np.abs(X.T @ (0.5 - y) / 400).max() > 1e-2  # that at 0
    assert supports == [(0, 1, 2)]


def test_a_support_that_repeats_ends_the_search(supports: list[tuple[int, ...]]) -> None:
    """With d = 2s all are joined from the second step on. The best of all pairs is found."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 4))
    y = X @ [0.0, 2.0, 0.0, -1.0] + 0.1 * rng.standard_normal(200)
    found = IterativeHardThresholding(s=2).fit(X, y)

    def left(pair: tuple[int, ...]) -> float:
        A = X[:, pair]
        return float(np.sum((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2))

    assert tuple(found.support_) == min(combinations(range(4), 2), key=left) == (1, 3)
    everywhere = [support for support in supports if len(support) == 4]
    assert len(everywhere) == 1
