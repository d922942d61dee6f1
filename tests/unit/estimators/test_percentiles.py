"""R="percentiles": a window with two private ends, for the estimators of CWZ19."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone

from estimators import (
    NoisyGradientRegression,
    NoisyMean,
    PrivateHardThresholding,
    SparseMean,
    StableSparseMean,
)
from estimators.core import truncation
from estimators.core.accounting import LedgerEntry, compose
from estimators.core.mechanisms import counts_below
from estimators.core.truncation import Window, above_zero, below_zero, private_window
from estimators.core.witness import seen_by
from minimax.core.calibration import gradient_bound, gradient_sensitivity
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from tests.effort import part

LOUD = Approximate(1e3, 1e-6)
BUDGETS: list[SpendablePrivacy] = [Approximate(1.0, 1e-6), Pure(1.0), ZeroConcentrated(0.1)]
MEANS: list[Any] = [NoisyMean(), SparseMean(s=2), SparseMean(s="cv", s_grid=(1, 2), n_folds=2)]
DESCENTS: list[Any] = [
    NoisyGradientRegression(steps=2),
    NoisyGradientRegression(steps=8),
    PrivateHardThresholding(s=2, steps=2),
]
SPREAD = 1e-9
"""Between the numbers before noise of two runs, relative to the largest: their rounding."""


def skewed(n: int = 20_000, d: int = 3) -> np.ndarray:
    """Entries -1 + Exponential(1): the 2.5 and 97.5 per cent points are -.975 and 2.69."""
    return np.random.default_rng(0).exponential(size=(n, d)) - 1


def responses() -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(1).choice([-0.5, 0.5], (20_000, 3))
    return X, skewed(d=1)[:, 0]


def fitted(model: Any, data: tuple[np.ndarray, ...], **options: Any) -> Any:
    return clone(model).set_params(R="percentiles", random_state=0, **options).fit(*data)


# --- the search


@pytest.mark.parametrize("seed", range(5))
def test_the_ends_are_the_percentiles(seed: int) -> None:
    X = skewed()
    (low, high), entries = private_window(X, 1.0, 0.975, np.random.default_rng(seed))
    wanted = np.quantile(X, [0.025, 0.975])
    assert wanted[0] * 1.15 < low < wanted[0] / 1.05
    assert wanted[1] / 1.05 < high < wanted[1] * 1.15
    assert not wanted[1] / 1.05 < -low < wanted[1] * 1.15  # one symmetric level would not do
    assert [entry.guarantee(Pure) for entry in entries] == [Pure(1.0)] * 2


@pytest.mark.parametrize("sign", [-1, 1])
def test_an_end_beyond_zero_is_zero_and_nothing_is_cut_off(sign: int) -> None:
    X = sign * (skewed() + 101)
    window, _ = private_window(X, 1.0, 0.975, np.random.default_rng(0))
    near, far = sorted(window, key=abs)
    assert abs(near) <= 2e-6
    assert abs(far) > 100
    assert np.sign(far) == sign
    assert window.half == pytest.approx(window.largest / 2, rel=1e-6)


@settings(deadline=None, derandomize=True, max_examples=part(30, of=100))
@given(
    hnp.arrays(float, (4, 2), elements=st.floats(-1e308, 1e308)),
    st.sampled_from([1e-6, 1.0, 1e6]),
    st.integers(0, 9),
)
def test_low_is_below_high_whatever_the_data_and_the_noise(
    X: np.ndarray, epsilon: float, seed: int
) -> None:
    window, _ = private_window(X, epsilon, 0.975, np.random.default_rng(seed))
    assert window.low < 0 < window.high
    assert math.isfinite(window.half)


def test_sides_are_counted_apart() -> None:
    X = np.array([[3.0, -7.0], [0.5, -0.5], [-3.0, 100.0]])
    options: dict[str, Any] = {"start": 1.0, "growth": 2.0}
    counts = {size: counts_below(X, size=size, **options)[:3] for size in (above_zero, below_zero)}
    np.testing.assert_array_equal(counts[above_zero], [2.0, 2.0, 2.5])  # below 1, 2, 4
    np.testing.assert_array_equal(counts[below_zero], [2.0, 2.0, 2.5])
    np.testing.assert_array_equal(counts_below(X, **options)[:3], [1.0, 1.0, 2.0])


# --- the ledger


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("model", [*MEANS, *DESCENTS], ids=str)
def test_both_searches_are_paid_for(model: Any, budget: SpendablePrivacy) -> None:
    if isinstance(model, NoisyGradientRegression) and isinstance(budget, Pure):
        return  # which it does not take
    data = (skewed(200),) if model in MEANS else responses()
    fit = fitted(model, data, privacy=budget, range_share=0.3)
    searches = [entry for entry in fit.ledger_ if entry.mechanism == "above threshold"][:2]
    assert [entry.about for entry in searches] == [
        "truncation from above, quantile 0.975",
        "truncation from below, quantile 0.975",
    ]
    delta = budget.delta if isinstance(budget, Approximate) else None
    spent = compose(fit.ledger_, type(budget), delta).parameters
    for name, number in budget.parameters.items():
        assert spent[name] <= number * (1 + 1e-9)
    # Their part is that of one search: by addition, or in zCDP.
    if isinstance(budget, ZeroConcentrated):
        assert compose(searches, ZeroConcentrated).to_zcdp().rho <= 0.3 * budget.rho * (1 + 1e-9)
    else:
        epsilon = budget.parameters["epsilon"]
        assert compose(searches, Pure).parameters["epsilon"] <= 0.3 * epsilon * (1 + 1e-9)


# --- the clip


def test_a_mean_is_that_of_the_window_with_noise_for_its_width() -> None:
    X = skewed()
    fit = fitted(NoisyMean(), (X,), privacy=LOUD)
    low, high = fit.R_
    np.testing.assert_allclose(fit.mean_, np.clip(X, low, high).mean(axis=0), atol=1e-3)
    assert fit.ledger_[-1].sensitivity == pytest.approx((high - low) / 20_000 * math.sqrt(3))
    symmetric = clone(fit).set_params(R=high).fit(X)
    assert fit.ledger_[-1].sensitivity < 0.8 * symmetric.ledger_[-1].sensitivity


def test_a_sparse_mean_is_that_of_the_window() -> None:
    X = skewed() + np.array([0.0, 0.5, -0.5])
    fit = fitted(SparseMean(s=3), (X,), privacy=LOUD)
    low, high = fit.R_
    np.testing.assert_allclose(fit.mean_, np.clip(X, low, high).mean(axis=0), atol=1e-3)
    assert fit.ledger_[2].sensitivity == pytest.approx((high - low) / 20_000)


def test_responses_are_clipped_to_the_window() -> None:
    X, y = responses()
    options: dict[str, Any] = {"privacy": LOUD, "radius": 9.0, "step_size": 4.0}
    fit = fitted(NoisyGradientRegression(steps=1), (X, y), **options)
    low, high = fit.R_
    np.testing.assert_allclose(fit.coef_, 4 * X.T @ np.clip(y, low, high) / len(y), atol=1e-3)
    assert fit.ledger_[-1].sensitivity == gradient_sensitivity(len(y), max(-low, high), 1.0, 9.0)
    options = {**options, "s": 3, "entry_bound": 0.5, "steps": 1}
    sparse = fitted(PrivateHardThresholding(), (X, y), **options)
    low, high = sparse.R_
    np.testing.assert_allclose(sparse.coef_, 4 * X.T @ np.clip(y, low, high) / len(y), atol=1e-2)
    bound = gradient_bound(3, 0.5, 9.0, max(-low, high))
    assert sparse.ledger_[2].sensitivity == pytest.approx(2 * 4.0 * bound / len(y))


def moved(model: Any, window: Window, *pair: tuple[np.ndarray, ...]) -> tuple[float, float]:
    """How far the first value after the window is from that of a neighbour, and how far the ledger
    lets it be."""
    before: list[np.ndarray] = []

    def witness(value: Any, result: Any) -> Any:
        before.append(np.array(value, dtype=float))
        return result

    with pytest.MonkeyPatch.context() as patch, seen_by(witness):
        patch.setattr(truncation, "private_window", lambda *rest: (window, rest_entries()))
        fits = [fitted(model, data, privacy=LOUD) for data in pair]
    here, there = before[0], before[len(before) // 2]
    entry = fits[0].ledger_[2]
    order = 2 if entry.norm == "l2" else np.inf
    return float(np.linalg.norm(here - there, order)), entry.sensitivity


def rest_entries() -> tuple[LedgerEntry, LedgerEntry]:
    entry = LedgerEntry("above threshold", 1.0, "count", 4.0, (Pure(1.0),))
    return entry, entry


numbers = st.one_of(st.floats(-3, 3), st.floats(-1e300, 1e300))
ends = st.sampled_from([Window(-1e-6, 5.0), Window(-2.0, 0.5), Window(-1.0, 1.0)])


@pytest.mark.parametrize("model", [NoisyMean(), SparseMean(s=1)], ids=str)
@settings(deadline=None, derandomize=True, max_examples=part(20, of=60))
@given(hnp.arrays(float, (4, 2), elements=numbers), hnp.arrays(float, 2, elements=numbers), ends)
def test_a_record_moves_a_mean_by_the_width_at_most(
    model: Any, X: np.ndarray, record: np.ndarray, window: Window
) -> None:
    move, allowed = moved(model, window, (X,), (np.vstack([record, X[1:]]),))
    assert move <= allowed * (1 + SPREAD)


@pytest.mark.parametrize("model", [NoisyMean(), SparseMean(s=1)], ids=str)
def test_the_width_is_reached_and_the_clip_is_needed(model: Any) -> None:
    X = np.full((4, 2), 9.0)
    pair = (X,), (np.vstack([[-9.0, -9.0], X[1:]]),)
    move, allowed = moved(model, Window(-1e-6, 5.0), *pair)
    assert move == pytest.approx(allowed, rel=1e-6)
    module = __import__(type(model).__module__, fromlist=["clipped_sum"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "clipped_sum", lambda X, low, high: np.maximum(X, low).sum(axis=0))
        move, allowed = moved(model, Window(-1e-6, 5.0), *pair)
    assert move > 1.5 * allowed


# --- refusals


@pytest.mark.parametrize(
    ("model", "data", "message"),
    [
        (NoisyMean(clip="ball"), (skewed(20),), "R='percentiles' needs clip='coordinate'"),
        (NoisyMean(Gaussian(1.0)), (skewed(20),), "R='percentiles' needs a Pure"),
        (StableSparseMean(), (skewed(20),), "R must be a number or one of 'theory', 'quantile'"),
        (NoisyGradientRegression(composition="basic"), responses(), "steps must be given"),
        (NoisyGradientRegression(schedule="theorem"), responses(), "sets R"),
        (SparseMean(quantile=1.0), (skewed(20),), "quantile must"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(model: Any, data: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        fitted(model, data)


def test_no_interval_is_given() -> None:
    for fit in (
        fitted(NoisyMean(), (skewed(50),)),
        fitted(NoisyGradientRegression(L=1.0), responses()),
    ):
        with pytest.raises(ValueError, match="R='percentiles' moves"):
            fit.confidence_interval()
