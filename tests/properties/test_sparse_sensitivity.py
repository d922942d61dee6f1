"""Sensitivity of the sparse means, with adversarial neighbours and outliers of any size.

Each property is paired with a witness that reaches the constant and with a control, the same check
without the clip, that must fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from estimators import sparse_mean
from estimators.core import tuning
from estimators.core.mechanisms import Release, exponential_mechanism, gumbel_top_k
from estimators.core.truncation import Window
from estimators.sparse_mean import SparseMean, choose_sparsity
from estimators.stable_sparse_mean import largest_first, stability_distances
from minimax.core.privacy import ZeroConcentrated
from tests.effort import part
from tests.strategies import neighbouring_rows

ROUNDING = 1 + 1e-12
BUDGET = ZeroConcentrated(0.5)
values = st.one_of(st.floats(-3, 3), st.floats(-1e300, 1e300), st.sampled_from([0.0, 1.0, -1.0]))
levels = st.sampled_from([0.25, 1.0, 7.0])

reproducible = settings(deadline=None, derandomize=True, max_examples=part(50, of=150))


def released_statistics(X: np.ndarray, R: float, s: int) -> tuple[np.ndarray, SparseMean]:
    """What selection sees, and the fitted estimator with its ledger."""
    seen: list[np.ndarray] = []

    def recording(scores: np.ndarray, k: int, **rest: Any) -> Release[Any]:
        seen.append(scores.copy())
        return gumbel_top_k(scores, k, **rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_mean, "gumbel_top_k", recording)
        fitted = SparseMean(BUDGET, s=s, R=R, random_state=0).fit(X)
    return seen[0], fitted


def score_move(X: np.ndarray, other: np.ndarray, R: float) -> tuple[float, float]:
    """How far the scores moved, and how far the ledger says they can."""
    scores, fitted = released_statistics(X, R, 1)
    moved, _ = released_statistics(other, R, 1)
    return float(np.abs(scores - moved).max()), fitted.ledger_[0].sensitivity


@reproducible
@given(neighbouring_rows(values, columns=(1, 5)), levels)
def test_scores_move_no_more_than_the_ledger_says(
    pair: tuple[np.ndarray, np.ndarray], R: float
) -> None:
    move, allowed = score_move(*pair, R)
    assert move <= allowed * ROUNDING


def test_the_score_sensitivity_is_reached() -> None:
    X = np.array([[0.0], [2.0], [2.0]])
    move, allowed = score_move(X, np.array([[2.0], [2.0], [2.0]]), 1.0)
    assert move == pytest.approx(allowed / 2)  # from 0 to R: half
    up, down = np.array([[9.0], [9.0], [9.0]]), np.array([[-9.0], [9.0], [9.0]])
    move, allowed = score_move(up, down, 1.0)
    assert move == pytest.approx(allowed)  # from R to -R: all of 2R/n


def test_without_the_clip_scores_move_more() -> None:
    def unclipped(X: np.ndarray, low: Any, high: Any) -> np.ndarray:
        return np.asarray(X.sum(axis=0))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_mean, "clipped_sum", unclipped)
        move, allowed = score_move(np.zeros((3, 2)), np.array([[0, 0], [0, 0], [0, 9.0]]), 1.0)
    assert move > allowed * ROUNDING


@reproducible
@given(neighbouring_rows(values, columns=(1, 5)), levels)
def test_values_move_no_more_than_the_ledger_says(
    pair: tuple[np.ndarray, np.ndarray], R: float
) -> None:
    X, other = pair
    n, d = X.shape
    fitted = SparseMean(BUDGET, s=d, R=R, random_state=0).fit(X)
    move = np.clip(X, -R, R).mean(axis=0) - np.clip(other, -R, R).mean(axis=0)
    assert fitted.ledger_[1].norm == "l2"
    assert np.linalg.norm(move) <= fitted.ledger_[1].sensitivity * ROUNDING
    assert fitted.ledger_[1].sensitivity == pytest.approx(2 * R * math.sqrt(d) / n)


# Cross-validation: given the lists, the scores of the choice move by at most 2T


def choice_scores(X: np.ndarray, R: float, T: float) -> tuple[np.ndarray, float]:
    """The scores that the choice of s sees when lists and T are held fixed."""
    seen: list[tuple[np.ndarray, float]] = []
    original = sparse_mean.sparse_release

    def same_list(average: np.ndarray, s: int, *rest: Any, **named: Any) -> Any:
        _, _, entries = original(average, s, *rest, **named)
        return np.arange(s), np.array([2.0, -1.0, 0.5])[:s], entries

    def same_level(*rest: Any, **named: Any) -> Release[float]:
        entry = exponential_mechanism(
            np.zeros(2), sensitivity=1.0, epsilon=1.0, rng=np.random.default_rng(0)
        ).entry
        return Release(T, entry)

    def recording(scores: np.ndarray, **named: Any) -> Release[int]:
        seen.append((scores.copy(), named["sensitivity"]))
        return exponential_mechanism(scores, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_mean, "sparse_release", same_list)
        patch.setattr(tuning, "above_threshold_quantile", same_level)
        patch.setattr(tuning, "exponential_mechanism", recording)
        choose_sparsity(
            X,
            (1, 2, 3),
            window=Window(-R, R),
            budget=BUDGET,
            final_variance=np.zeros(3),
            n_folds=2,
            selection_share=0.5,
            rng=np.random.default_rng(0),
        )
    return seen[0]


@reproducible
@given(
    hnp.arrays(float, (5, 3), elements=values),
    hnp.arrays(float, 3, elements=values),
    st.integers(0, 4),
    levels,
)
def test_cross_validation_scores_move_by_at_most_2T(
    X: np.ndarray, record: np.ndarray, i: int, R: float
) -> None:
    other = X.copy()
    other[i] = record
    for T in (0.1, 3.0):
        (scores, allowed), (moved, _) = choice_scores(X, R, T), choice_scores(other, R, T)
        assert allowed == 2 * T
        # The public part of the scores is large, so differences carry its rounding.
        rounding = 1e-13 * float(np.abs(scores).max())
        assert np.abs(scores - moved).max() <= allowed * ROUNDING + rounding


def test_cross_validation_scores_reach_2T_and_need_it() -> None:
    X, other = np.zeros((5, 3)), np.zeros((5, 3))
    X[0], other[0] = [0, -9, 9], [0, 9, -9]
    (scores, allowed), (moved, _) = choice_scores(X, 1.0, 1.5), choice_scores(other, 1.0, 1.5)
    assert 0.9 * allowed < np.abs(scores - moved).max() <= allowed * ROUNDING
    wide, _ = choice_scores(X, 1.0, 1e9)
    wide_moved, _ = choice_scores(other, 1.0, 1e9)
    assert np.abs(wide - wide_moved).max() > allowed * ROUNDING


# Distance to instability


def magnitudes(X: np.ndarray, R: float) -> np.ndarray:
    return np.asarray(np.abs(np.clip(X, -R, R).mean(axis=0)))


def distances(a: np.ndarray, n: int, R: float) -> np.ndarray:
    return stability_distances(a[largest_first(a, len(a))], n, R)


@reproducible
@given(neighbouring_rows(values, columns=(1, 5)), levels)
def test_distance_is_lipschitz(pair: tuple[np.ndarray, np.ndarray], R: float) -> None:
    X, other = pair
    n = len(X)
    before, after = distances(magnitudes(X, R), n, R), distances(magnitudes(other, R), n, R)
    assert np.all(np.abs(before - after) <= ROUNDING)


def test_distance_moves_by_one_and_without_the_clip_by_more() -> None:
    R, n = 1.0, 8
    X = np.column_stack([np.full(n, R), np.full(n, 2 / 7)])
    X[0] = [1.0, -1.0]
    other = X.copy()
    other[0] = [-1.0, 1.0]  # the means go from (8, 1)/8 to (6, 3)/8
    change = distances(magnitudes(X, R), n, R) - distances(magnitudes(other, R), n, R)
    assert float(change[0]) == pytest.approx(1.0)
    other[0] = [100.0, -1.0]
    raw = [np.abs(data.mean(axis=0)) for data in (X, other)]
    assert np.abs(distances(raw[0], n, R) - distances(raw[1], n, R)).max() > ROUNDING


@st.composite
def separated(draw: Any) -> tuple[np.ndarray, int, int, np.ndarray]:
    """Data with k coordinates near R = 1 and the rest near 0, and a record to swap in."""
    n, d = draw(st.integers(7, 12)), draw(st.integers(2, 5))
    k = draw(st.integers(1, d - 1))
    large = draw(hnp.arrays(float, (n, k), elements=st.floats(0.8, 1.0)))
    signs = draw(hnp.arrays(int, k, elements=st.sampled_from([-1, 1])))
    small = draw(hnp.arrays(float, (n, d - k), elements=st.floats(-0.1, 0.1)))
    record = draw(hnp.arrays(float, d, elements=values))
    return np.hstack([large * signs, small]), k, draw(st.integers(0, n - 1)), record


def same_set(X: np.ndarray, other: np.ndarray, k: int, mean: Callable[..., np.ndarray]) -> bool:
    return set(largest_first(mean(X, 1.0), k)) == set(largest_first(mean(other, 1.0), k))


@reproducible
@given(separated())
def test_a_distance_above_one_fixes_the_set(
    case: tuple[np.ndarray, int, int, np.ndarray],
) -> None:
    X, k, i, record = case
    assert distances(magnitudes(X, 1.0), len(X), 1.0)[k - 1] > 1
    worst = np.where(np.arange(X.shape[1]) < k, -np.sign(X[i]), 1.0)
    for swapped in (record, worst, -worst):
        other = X.copy()
        other[i] = swapped
        assert same_set(X, other, k, magnitudes)


def test_one_is_the_sharp_distance_and_the_clip_is_needed() -> None:
    n = 8

    def pair(g: float) -> tuple[np.ndarray, np.ndarray]:
        X = np.zeros((n, 2))
        X[0] = [1.0, -1.0]
        # Column sums S + 4g and S with S = 1: a gap of 4g/n.
        X[1:, 0] = (1 + 4 * g - 1) / (n - 1)
        X[1:, 1] = 2 / (n - 1)
        other = X.copy()
        other[0] = [-1.0, 1.0]
        return X, other

    for g, kept in ((0.975, False), (1.025, True)):
        X, other = pair(g)
        assert distances(magnitudes(X, 1.0), n, 1.0)[0] == pytest.approx(g)
        assert same_set(X, other, 1, magnitudes) is kept

    def raw(X: np.ndarray, R: float) -> np.ndarray:
        return np.asarray(np.abs(X.mean(axis=0)))

    X, other = pair(1.025)
    other[0, 1] = 50.0
    assert not same_set(X, other, 1, raw)
    assert same_set(X, other, 1, magnitudes)
