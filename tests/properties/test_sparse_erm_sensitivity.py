"""Sensitivity of the averaged clipped gradient, with adversarial neighbours of any size.

The property is paired with a witness that reaches the constant and with a control, the same check
without the clip, that must fail.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from estimators import sparse_erm
from estimators.core.losses import LogisticLoss, SquaredLoss
from estimators.core.mechanisms import Release, gaussian
from estimators.sparse_erm import NoisyHardThresholding, NoisyHardThresholdingClassifier
from minimax.core.privacy import ZeroConcentrated
from tests.effort import part
from tests.strategies import Data, neighbours

ROUNDING = 1 + 1e-12
BUDGET = ZeroConcentrated(0.5)
values = st.one_of(
    st.floats(-3, 3),
    st.floats(-3e6, 3e6),
    st.floats(-1e300, 1e300),
    st.sampled_from([0.0, 1.0, -1e-160, 1e-300]),
)
responses = st.one_of(st.floats(-2, 2), st.floats(-2e6, 2e6), st.floats(-1e300, 1e300))
pairs = neighbours(values, responses=responses, records=(1, 7), columns=(1, 5))
clips = st.sampled_from([1e-3, 1.0, 70.0])
reproducible = settings(deadline=None, derandomize=True, max_examples=part(50, of=150))


class Steep(SquaredLoss):
    """A user's loss gone wrong: slopes that overflow, some that are not numbers."""

    def slope(self, prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(y > 1, np.nan, np.sinh(prediction - y) * 1e300)


def gradients(estimator: Any, X: Any, y: Any, path: np.ndarray) -> tuple[np.ndarray, float]:
    """The statistic of each step when the releases before it are held fixed at `path`, and the
    sensitivity that the ledger claims for it."""
    seen: list[np.ndarray] = []

    def recording(value: np.ndarray, **rest: Any) -> Release[np.ndarray]:
        seen.append(value.copy())
        return Release(path[len(seen) - 1], gaussian(value, **rest).entry)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_erm, "gaussian", recording)
        fitted = estimator.fit(X, y)
    (entry,) = fitted.ledger_
    assert entry.count == len(seen)
    return np.array(seen), entry.sensitivity


def moves(estimator: Any, pair: tuple[Data, Data], scale: float = 1.0) -> tuple[float, float]:
    """How far the steps' statistics moved at most, and how far the ledger says they can."""
    (X, y), (other_X, other_y) = pair
    path = scale * np.random.default_rng(0).standard_normal((3, X.shape[1]))
    ours, allowed = gradients(estimator, X, y, path)
    theirs, _ = gradients(estimator, other_X, other_y, path)
    assert np.isfinite(ours).all()
    return float(np.linalg.norm(ours - theirs, axis=1).max()), allowed


@pytest.mark.parametrize("loss", [SquaredLoss(), Steep()], ids=["squared", "broken"])
@reproducible
@given(pairs, clips, st.sampled_from([1.0, 1e6, 1e200]))
def test_gradients_move_no_more_than_the_ledger_says(
    loss: Any, pair: Any, clip: float, scale: float
) -> None:
    d = pair[0][0].shape[1]
    estimator = NoisyHardThresholding(
        BUDGET, s=min(2, d), loss=loss, clip=clip, steps=3, random_state=0
    )
    move, allowed = moves(estimator, pair, scale)
    assert move <= allowed * ROUNDING
    assert allowed == pytest.approx(2 * clip / len(pair[0][1]))


@reproducible
@given(pairs, clips)
def test_the_same_for_the_classifier_and_sparse_rows(pair: Any, clip: float) -> None:
    (X, y), (other_X, other_y) = pair
    estimator = NoisyHardThresholdingClassifier(
        BUDGET, clip=clip, steps=3, classes=(False, True), random_state=0
    )
    labelled = ((sparse.csr_matrix(X), y > 0), (sparse.csr_matrix(other_X), other_y > 0))
    move, allowed = moves(estimator, labelled)
    assert move <= allowed * ROUNDING


@pytest.mark.parametrize("size", [1.0, 1e6, 1e300])
@pytest.mark.parametrize("width", [1.0, 1e6, 1e300])
def test_the_sensitivity_is_reached(size: float, width: float) -> None:
    X, y = np.full((3, 2), width), np.array([1.0, 2.0, 10 * size])
    other = np.array([1.0, 2.0, -10 * size])
    estimator = NoisyHardThresholding(BUDGET, clip=1.0, steps=1, random_state=0)
    move, allowed = moves(estimator, ((X, y), (X, other)))
    assert move == pytest.approx(allowed, rel=1e-12)
    opposite = X * [[1], [1], [-1]]
    move, allowed = moves(estimator, ((X, y), (opposite, y)))
    assert move == pytest.approx(allowed, rel=1e-12)


@pytest.mark.parametrize("loss", [SquaredLoss(), LogisticLoss()], ids=str)
def test_without_the_clip_gradients_move_more(loss: Any) -> None:
    X, y = np.ones((3, 2)), np.zeros(3)
    other = X * [[1], [1], [9]]
    estimator = NoisyHardThresholding(
        BUDGET, loss=loss, clip=0.5, steps=3, step_size=1.0, random_state=0
    )
    move, allowed = moves(estimator, ((X, y), (other, y)))
    assert move <= allowed * ROUNDING
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_erm, "slope_caps", lambda design, clip: np.full(design.n, np.inf))
        move, allowed = moves(estimator, ((X, y), (other, y)))
    assert move > 1.1 * allowed
