"""Sensitivity of private hard thresholding, with adversarial neighbours and outliers of any size.

Each property is paired with a witness that reaches the constant and with controls, the same check
without a clip or a projection, that must fail.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from estimators import sparse_descent, sparse_regression
from estimators.core import summaries, tuning
from estimators.core.accounting import LedgerEntry
from estimators.core.mechanisms import Release, exponential_mechanism
from estimators.sparse_regression import PrivateHardThresholding
from minimax.core.privacy import ZeroConcentrated
from tests.effort import part
from tests.strategies import Data, neighbours

ROUNDING = 1 + 1e-12
BUDGET = ZeroConcentrated(0.5)
values = st.one_of(
    st.floats(-3, 3),
    st.floats(-1e300, 1e300),
    st.sampled_from([0.0, 1.0, -1.0, 1e6, -1e6, 1e300, -1e300]),
)
bounds = st.sampled_from([0.25, 1.0, 7.0])
reproducible = settings(deadline=None, derandomize=True, max_examples=part(20, of=60))
LISTS = np.array([4.0, -3.0, 0.5])
"""Released values: of norm 5, so that the projection matters."""


def half_steps(data: Data, s: int, **options: Any) -> tuple[np.ndarray, PrivateHardThresholding]:
    """What every release sees, when all releases are held fixed: one row each."""
    seen: list[np.ndarray] = []
    original = sparse_descent.sparse_release

    def recording(half: np.ndarray, k: int, *rest: Any, **named: Any) -> Any:
        seen.append(half.copy())
        _, _, entries = original(half, k, *rest, **named)
        return np.arange(k), LISTS[:k], entries

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_descent, "sparse_release", recording)
        named = {"steps": 3, "random_state": 0, **options}
        fitted = PrivateHardThresholding(BUDGET, s=s, **named).fit(*data)
    return np.array(seen), fitted


def moves(pair: tuple[Data, Data], s: int, **options: Any) -> tuple[np.ndarray, LedgerEntry]:
    """How far each half-step moved in its worst coordinate, and what the ledger says."""
    before, fitted = half_steps(pair[0], s, **options)
    after, _ = half_steps(pair[1], s, **options)
    return np.abs(before - after).max(axis=1), fitted.ledger_[0]


@reproducible
@given(neighbours(values), bounds, bounds, bounds, st.booleans())
def test_half_steps_move_no_more_than_the_ledger_says(
    pair: tuple[Data, Data], entry_bound: float, R: float, radius: float, as_sparse: bool
) -> None:
    d = pair[0][0].shape[1]
    for s in {1, min(d, 2), min(d, 3)}:
        form = sparse.csr_matrix if as_sparse else np.asarray
        both: Any = [(form(X), y) for X, y in pair]
        move, entry = moves(
            both, s, entry_bound=entry_bound, R=R, radius=radius, step_size=0.8, selection_share=0.3
        )
        allowed = 1.6 * (R + math.sqrt(s) * entry_bound * radius) * entry_bound / len(pair[0][1])
        assert entry.sensitivity == pytest.approx(allowed)
        assert len(move) == 3
        # beta is added to a small step: differences carry its rounding
        assert (move <= entry.sensitivity * ROUNDING + 1e-15 * radius).all()


def worst_pair(size: float = 1.0) -> tuple[Data, Data]:
    """s = 2, d = 3: the residual is as large as it can be for both records, and the entry off the
    support has either sign."""
    X, other = np.zeros((4, 3)), np.zeros((4, 3))
    X[0], other[0] = [size, -size, size], [size, -size, -size]
    y = np.array([-size, 0, 0, 0])
    return (X, y), (other, y)


OPTIONS: dict[str, Any] = {"entry_bound": 0.5, "R": 2.0, "step_size": 1.0}


@pytest.mark.parametrize("size", [2.0, 1e6, 1e300])
@pytest.mark.parametrize("method", ["gumbel", "peeling"])
def test_the_sensitivity_is_nearly_reached(size: float, method: Any) -> None:
    """Released values (4, -3)/5 have l1 norm 1.4 where sqrt(s) = 1.414 is allowed."""
    move, entry = moves(worst_pair(size), 2, radius=1.0, method=method, **OPTIONS)
    reached = (2 + 0.5 * 1.4) / (2 + 0.5 * math.sqrt(2))
    assert move[1:] == pytest.approx(reached * entry.sensitivity)
    assert reached > 0.99
    assert move[0] == pytest.approx(2 * 2.0 * 0.5 / 4)  # from 0 the first step sees y alone


def identity(values: Any, *bounds: Any) -> Any:
    return values


@pytest.mark.parametrize("removed", ["clipped_entries", "projected"])
def test_without_a_clip_or_the_projection_they_move_more(removed: str) -> None:
    pair = worst_pair(2.0)
    move, entry = moves(pair, 2, radius=1.0, **OPTIONS)
    assert (move <= entry.sensitivity * ROUNDING).all()
    with pytest.MonkeyPatch.context() as patch:
        for module in (sparse_regression, sparse_descent, summaries):
            patch.setattr(module, removed, identity, raising=False)
        move, entry = moves(pair, 2, radius=1.0, **OPTIONS)
    assert (move[1:] > entry.sensitivity * ROUNDING).all()


def test_without_the_clip_of_y_they_move_more() -> None:
    (X, y), (other, _) = worst_pair(2.0)
    far = ((X, 100 * y), (other, 100 * y))
    move, entry = moves(far, 2, radius=1.0, **OPTIONS)
    assert (move <= entry.sensitivity * ROUNDING).all()
    move, _ = moves(far, 2, radius=1.0, **{**OPTIONS, "R": 300.0})  # as if not clipped
    assert (move > entry.sensitivity * ROUNDING).all()


# Cross-validation


@reproducible
@given(neighbours(values, records=(3, 8)), bounds, st.integers(2, 3))
def test_a_record_moves_all_folds_but_its_own(
    pair: tuple[Data, Data], R: float, n_folds: int
) -> None:
    """K-1 descents are charged: one fold does not see the record at all."""
    d = pair[0][0].shape[1]
    if d == 1:
        return
    options: dict[str, Any] = {"s_grid": [1, 2], "n_folds": n_folds, "entry_bound": 0.5, "R": R}
    before, fitted = half_steps(pair[0], "cv", **options)  # type: ignore[arg-type]
    after, _ = half_steps(pair[1], "cv", **options)  # type: ignore[arg-type]
    move = np.abs(before - after).max(axis=1)[: 3 * n_folds].reshape(n_folds, 3)
    n, entry = len(pair[0][1]), fitted.ledger_[0]
    smallest = n - math.ceil(n / n_folds)
    # eta = 2/(b^2 (L + 1/L)) = 4
    assert entry.sensitivity == pytest.approx(8 * (R + math.sqrt(2) / 2) / 2 / smallest)
    assert entry.count == (n_folds - 1) * 3 * 2
    assert (move <= entry.sensitivity * ROUNDING + 1e-14).all()
    assert (move == 0).all(axis=1).sum() >= 1


def test_folds_reach_their_sensitivity() -> None:
    options: dict[str, Any] = {"s_grid": [1, 2], "n_folds": 2, "entry_bound": 0.5, "R": 2.0}
    both = [half_steps(data, "cv", **options) for data in worst_pair(9.0)]  # type: ignore[arg-type]
    move = np.abs(both[0][0] - both[1][0]).max(axis=1)[:6]
    assert move[:3].max() == 0  # record 0 is held out of fold 0
    assert move[3:].max() > 0.99 * both[0][1].ledger_[0].sensitivity


def choice_scores(data: Data, R: float, T: float) -> tuple[np.ndarray, float]:
    """The scores that the choice of s sees when lists and T are held fixed."""
    seen: list[tuple[np.ndarray, float]] = []

    def same_level(*rest: Any, **named: Any) -> Release[float]:
        entry = exponential_mechanism(
            np.zeros(2), sensitivity=1.0, epsilon=1.0, rng=np.random.default_rng(0)
        ).entry
        return Release(T, entry)

    def recording(scores: np.ndarray, **named: Any) -> Release[int]:
        seen.append((scores.copy(), named["sensitivity"]))
        return exponential_mechanism(scores, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "above_threshold_quantile", same_level)
        patch.setattr(tuning, "exponential_mechanism", recording)
        half_steps(data, "cv", s_grid=[1, 2, 3], n_folds=2, entry_bound=0.5, R=R)  # type: ignore[arg-type]
    return seen[0]


@reproducible
@given(
    hnp.arrays(float, (5, 4), elements=values),
    hnp.arrays(float, 4, elements=values),
    st.integers(0, 4),
    bounds,
)
def test_cross_validation_scores_move_by_at_most_2T(
    data: np.ndarray, record: np.ndarray, i: int, R: float
) -> None:
    other = data.copy()
    other[i] = record
    for T in (0.1, 3.0):
        scores, allowed = choice_scores((data[:, :3], data[:, 3]), R, T)
        moved, _ = choice_scores((other[:, :3], other[:, 3]), R, T)
        assert allowed == 2 * T
        assert np.abs(scores - moved).max() <= allowed * ROUNDING + 1e-14


def test_cross_validation_scores_reach_2T_and_need_it() -> None:
    X, y, other = np.zeros((5, 3)), np.zeros(5), np.zeros(5)
    X[0], y[0], other[0] = [0, -9, 0], 9, -9
    scores, allowed = choice_scores((X, y), 7.0, 1.5)
    moved, _ = choice_scores((X, other), 7.0, 1.5)
    assert np.abs(scores - moved).max() == pytest.approx(allowed)
    wide, _ = choice_scores((X, y), 7.0, 1e9)
    wide_moved, _ = choice_scores((X, other), 7.0, 1e9)
    assert np.abs(wide - wide_moved).max() > allowed * ROUNDING
