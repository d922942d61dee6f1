"""Frank-Wolfe from X'X: the same gradients, the same releases, and fewer products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from estimators.baselines import sparse_regression, vertex_scores
from estimators.baselines.sparse_regression import PrivateFrankWolfe
from estimators.baselines.vertex_scores import GRAM_STEPS, GramScores, PredictionScores
from estimators.core.losses import LogisticLoss, SquaredLoss
from minimax.core.privacy import Approximate, Pure

N, D = 300, 30
LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": sparse.csr_array}


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (N, D)) * (rng.random((N, D)) < 0.5)
    return X, np.clip(X @ rng.standard_normal(D) / 3 + 0.1 * rng.standard_normal(N), -1, 1)


@pytest.mark.parametrize("steps", [1, 40])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_are_those_of_the_predictions(layout: str, steps: int) -> None:
    X, y = data()
    held = LAYOUTS[layout](X)
    b = np.zeros(D) if steps == 1 else np.linspace(-1, 1, D)
    fast, plain = GramScores(held, y, steps, b), PredictionScores(held, y, SquaredLoss(), b)
    formed = layout != "CSR" and steps > GRAM_STEPS * D
    assert (fast.gram is not None) == formed
    rng = np.random.default_rng(1)
    for t in range(1, 60):
        np.testing.assert_allclose(fast.gradient(), X.T @ (X @ b - y), atol=1e-11)
        np.testing.assert_allclose(fast.gradient(), plain.gradient(), atol=1e-11)
        j, m = int(rng.integers(D)), 2 / (t + 2)
        b = (1 - m) * b
        b[j] += m
        fast.step(j, 1 - m, m)
        plain.step(j, 1 - m, m)
    assert np.abs(b).max() > 0


@pytest.mark.parametrize("privacy", [Approximate(1.0, 1e-6), Pure(50.0)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_releases_are_those_of_a_pass_in_every_step(
    layout: str, privacy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = data()
    model = PrivateFrankWolfe(privacy, entry_bound=0.8, steps=50, random_state=3)
    ours = model.fit(LAYOUTS[layout](X), y)
    coef, ledger = ours.coef_, ours.ledger_
    by_passes = lambda X, y, loss, steps, b: PredictionScores(X, y, loss, b)  # noqa: E731
    monkeypatch.setattr(sparse_regression, "vertex_scores", by_passes)
    again = model.fit(LAYOUTS[layout](X), y)
    np.testing.assert_array_equal(coef, again.coef_)
    assert ledger == again.ledger_
    other = PrivateFrankWolfe(privacy, entry_bound=0.4, steps=50, random_state=3).fit(X, y)
    assert not np.array_equal(coef, other.coef_)  # the clip is seen, so the data are


def test_the_squared_loss_alone_is_done_without_passes() -> None:
    X, y = data()
    assert isinstance(vertex_scores.vertex_scores(X, y, SquaredLoss(), 9, np.zeros(D)), GramScores)
    assert isinstance(
        vertex_scores.vertex_scores(X, y, LogisticLoss(), 9, np.zeros(D)), PredictionScores
    )


class Counted(np.ndarray):
    """An array that counts its products."""

    products = 0

    def __matmul__(self, other: Any) -> Any:
        Counted.products += 1
        return np.asarray(self) @ np.asarray(other)


@pytest.mark.parametrize(("steps", "most"), [(1000, 2), (1, 2)])
def test_a_step_makes_no_product_with_the_data(steps: int, most: int) -> None:
    X, y = data()
    Counted.products = 0
    scores = GramScores(X.view(Counted), y, steps, np.zeros(D))
    for t in range(1, steps + 1):
        scores.step(0, 1 - 2 / (t + 2), 2 / (t + 2))
        scores.gradient()
    assert Counted.products == most
    plain = PredictionScores(X.view(Counted), y, SquaredLoss(), np.zeros(D))
    Counted.products = 0
    for _ in range(steps):
        plain.gradient()
    assert Counted.products == steps
