"""PrivateRegression on what is hard for it: spikes, long tails, bounds far off, few records."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from estimators import PrivateRegression
from estimators.core.base import PlanWarning, ReleasedWarning
from estimators.tables import constant, ranges, regression_error, regression_steps
from minimax import Approximate, Gaussian

Array = np.ndarray
USUAL = Approximate(1, 1e-6)


def explained(y: Array, fitted: Array) -> float:
    return float(1 - np.mean((y - fitted) ** 2) / np.var(y))


# --- Columns that mostly have one value -----------------------------------------------------------


def slope_of_a_rare_flag(seed: int) -> tuple[float, bool]:
    rng = np.random.default_rng(seed)
    n = 20_000
    table = pd.DataFrame({"x": rng.normal(0, 1, n), "flag": (rng.random(n) < 0.025) * 1.0})
    y = 10 + table["x"] + 5 * table["flag"] + rng.normal(0, 1, n)
    bounds = {"x": (-10, 10), "flag": (0, 1)}
    model = PrivateRegression(USUAL, bounds, (-100, 100), random_state=seed).fit(table, y)
    low, high = model.confidence_interval(0.95)
    return float(model.coef_[1]), bool(low[1] <= 5 <= high[1])


def test_a_rare_flag_has_its_slope(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [slope_of_a_rare_flag(seed) for seed in range(16)]
    assert max(abs(slope - 5) for slope, _ in found) < 1.5
    assert sum(held for _, held in found) >= 13  # fewer in 1 of 100 cases, at this level
    monkeypatch.setattr(ranges, "FEW_APART", -math.inf)
    monkeypatch.setattr(ranges, "MANY_FAR", math.inf)
    assert max(abs(slope_of_a_rare_flag(seed)[0]) for seed in range(8)) > 100


def rarer_flag(seed: int) -> float:
    rng = np.random.default_rng(seed)
    x, flag = rng.normal(0, 1, 20_000), (rng.random(20_000) < 0.016) * 1.0
    y = 10 + x + 5 * flag + rng.normal(0, 1, 20_000)
    model = PrivateRegression(
        USUAL, [(-10, 10)], (-100, 100), categories={1: [0, 1]}, random_state=seed
    )
    return float(model.fit(np.column_stack([x, flag]), y).coef_[1])


def test_steps_along_a_rare_indicator_do_not_go_too_far(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = [abs(rarer_flag(seed) - 5) for seed in range(10)]
    monkeypatch.setattr(regression_steps, "SURELY", math.inf)  # M alone
    worse = [abs(rarer_flag(seed) - 5) for seed in range(10)]
    assert np.median(errors) < 1
    assert np.mean(errors) < 0.6 * np.mean(worse)


# --- Responses with long tails or spikes ----------------------------------------------------------


def test_predictions_follow_a_long_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x = rng.lognormal(0, 1.2, 50_000)
    y = 10 + 5 * x + rng.normal(0, 1, 50_000)

    def score() -> float:
        model = PrivateRegression(USUAL, (0, 500), (0, 5000), random_state=0).fit(x[:, None], y)
        return explained(y, model.predict(x[:, None]))

    assert score() > 0.95
    monkeypatch.setattr(ranges, "TAIL_FAR", math.inf)  # never free: clamped at a quantile
    assert score() < 0.9


def claims_slope(seed: int) -> float:
    """Over that of least squares, where 5 % of the responses are not 0."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, 20_000)
    hit = rng.random(20_000) < 0.05 * np.clip(1 + x, 0, 3)
    y = np.where(hit, rng.lognormal(8, 0.5, 20_000), 0)
    model = PrivateRegression(USUAL, (-10, 10), (0, 1e5), random_state=seed).fit(x[:, None], y)
    return float(model.coef_[0] / np.polyfit(x, y, 1)[0])


def test_a_spike_of_responses_does_not_tell_the_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    assert np.mean([claims_slope(seed) for seed in range(6)]) > 0.8
    monkeypatch.setattr(regression_steps, "SPIKE", math.inf)
    assert np.mean([claims_slope(seed) for seed in range(6)]) < 0.8


def clip_for_rare_claims(seed: int) -> float:
    """Where 2 % of the responses are not 0 and there is little to explain."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0, 1, (8000, 5))
    hit = rng.random(8000) < 0.02 * np.exp(0.5 * X[:, 0])
    y = np.where(hit, rng.lognormal(8, 1, 8000), 0)
    model = PrivateRegression(USUAL, (-6, 6), (0, 2e5), random_state=seed)
    records, purse = model._checked(X, y)
    run = regression_steps.Run(records, purse, model._plan(records, purse, 1.0), 1.0)
    run.solve(True)
    return run.clip


def test_each_step_tells_more_of_the_scale_of_rare_responses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = np.median([clip_for_rare_claims(seed) for seed in range(5)])
    monkeypatch.setattr(regression_steps.Run, "_sharpen", lambda *told: None)
    assert found < 0.5 * np.median([clip_for_rare_claims(seed) for seed in range(5)])


def spiky(seed: int) -> float:
    """R^2 where most responses are 0 and records are barely enough for the columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0, 1, (2500, 50))
    y = np.where(rng.random(2500) < 0.1, 100 * (1 + X[:, 0]), 0)
    model = PrivateRegression(USUAL, (-6, 6), (-1000, 1000), random_state=seed).fit(X, y)
    return explained(y, model.predict(X))


def test_noise_of_the_first_fit_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    assert min(spiky(seed) for seed in range(3)) > -0.5
    monkeypatch.setattr(regression_steps.Run, "_guard", lambda *told: None)
    assert max(spiky(seed) for seed in range(3)) < -1


def test_long_tails_of_columns_widen_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Least squares on the values as they are, where the response is not linear in them."""

    def draw(seed: int, n: int) -> tuple[Array, Array]:
        rng = np.random.default_rng(seed)
        X = np.minimum(rng.lognormal(0, 1.5, (n, 3)), 200)
        return X, 10 + 5 * np.log(X).sum(axis=1) + rng.normal(0, 3, n)

    X, y = draw(0, 200_000)
    slopes = np.linalg.lstsq(np.column_stack([np.ones(len(y)), X]), y, rcond=None)[0][1:]

    def coverage() -> float:
        held = []
        for seed in range(1, 7):
            model = PrivateRegression(USUAL, (0, 200), (-100, 200), random_state=seed)
            low, high = model.fit(*draw(seed, 5000)).confidence_interval(0.9)
            held.append(np.mean((low <= slopes) & (slopes <= high)))
        return float(np.mean(held))

    assert coverage() > 0.7
    monkeypatch.setattr(regression_error, "CLAMPED", 0.0)
    assert coverage() < 0.3


def skewed_coverage() -> float:
    """Of fitted values, where one residual in four is from a long tail on one side."""
    rng = np.random.default_rng(0)
    X, late = rng.normal(0, 1, (50_000, 8)), rng.random(50_000) < 0.25
    y = X[:, 0] + rng.normal(0, 1, 50_000) + np.where(late, rng.exponential(12, 50_000), 0)
    rows = np.column_stack([np.ones(50_000), X])
    near = 0.5 * X[:200]
    fitted = np.column_stack([np.ones(200), near]) @ np.linalg.lstsq(rows, y, rcond=None)[0]
    held = []
    for seed in range(6):
        some = rng.integers(50_000, size=2500)
        model = PrivateRegression(USUAL, (-6, 6), (-100, 300), random_state=seed)
        low, high = model.fit(X[some], y[some]).fitted_interval(near, 0.9)
        held.append(np.mean((low <= fitted) & (fitted <= high)))
    return float(np.mean(held))


def test_intervals_count_what_clips_take_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert skewed_coverage() > 0.85
    monkeypatch.setattr(regression_error, "tail_loss", lambda *counts: 0.0)
    assert skewed_coverage() < 0.8


def test_what_a_tail_loses() -> None:
    """In closed form, t^-3 and t^-2: 1/2 and 1 of those beyond 1; and where none is seen."""
    far = regression_error.FAR_OUT
    assert regression_error.tail_loss(800.0, 100.0, 1.0) == pytest.approx(far * 800 / 2)
    assert regression_error.tail_loss(800.0, 200.0, 1.0) == pytest.approx(far * 800)
    assert regression_error.tail_loss(-5.0, 9.0, 10.0) == pytest.approx(10 / 2)
    slow = regression_error.tail_loss(800.0, 800.0, 1.0)
    assert slow == regression_error.tail_loss(800.0, 1e9, 1.0) == pytest.approx(far * 800 * 4)


def test_there_are_no_intervals_where_few_responses_decide() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(0, 1, (2000, 5))
    y = np.where(rng.random(2000) < 0.02, rng.lognormal(8, 1, 2000), 0)
    model = PrivateRegression(USUAL, (-6, 6), (0, 2e5), random_state=0).fit(X, y)
    assert model.coef_.any()
    with pytest.raises(ValueError, match="most responses are nearly equal"):
        model.confidence_interval(0.9)
    with pytest.raises(ValueError, match="most responses are nearly equal"):
        model.fitted_interval(X)
    assert f"{model.coef_[0]:.4g}" in str(model)


# --- Bounds that are far off ----------------------------------------------------------------------


@pytest.mark.parametrize(("factor", "least"), [(1e4, 0.95), (1e7, 0.95)])
def test_bounds_may_be_ten_million_times_too_wide(factor: float, least: float) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(40, 10, 20_000)
    y = 0.5 * x + rng.normal(0, 1, 20_000)
    ends = (0, 100 * factor)
    model = PrivateRegression(USUAL, ends, ends, random_state=0).fit(x[:, None], y)
    assert explained(y, model.predict(x[:, None])) > least
    low, high = model.confidence_interval(0.99)
    assert low[0] < 0.5 < high[0]


def test_bounds_that_hide_a_column_are_told_of() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(40, 10, (5000, 2))
    model = PrivateRegression(USUAL, [(0, 1e13), (0, 100)], (-100, 200), random_state=0)
    with pytest.warns(ReleasedWarning, match="^0: nearly all values are equal, or their bounds"):
        model.fit(X, X.sum(axis=1))
    assert model.unseen_columns_ == [0]
    low, high = model.confidence_interval(0.9)
    assert (low[0], high[0]) == (-math.inf, math.inf)
    assert np.isfinite([low[1], high[1]]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(bounds=(0, 1e7)).fit(X, X.sum(axis=1))
    assert model.unseen_columns_ == []


def test_fitted_intervals_do_not_cancel_at_large_offsets() -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 100, 20_000)
    y = 3 + 0.5 * x + rng.normal(0, 1, 20_000)
    grid = np.linspace(0, 100, 50)[:, None]
    intervals = []
    for offset in (0.0, 2.0**33):
        model = PrivateRegression(USUAL, (offset, offset + 128), (-100, 200), random_state=0).fit(
            x[:, None] + offset, y
        )
        intervals.append(np.array(model.fitted_interval(grid + offset, 0.9)))
    assert intervals[1] == pytest.approx(intervals[0], rel=1e-3)
    rows = np.column_stack([np.ones(50), grid + offset])
    table = np.sqrt(np.abs(np.einsum("ij,jk,ik->i", rows, model.covariance_, rows)))
    told = (intervals[1][1] - intervals[1][0]) / 2 / 1.6448536269514722
    assert not np.allclose(table, told, rtol=0.1)  # what the table's units would say


# --- Few records ----------------------------------------------------------------------------------


@pytest.mark.parametrize("privacy", [USUAL, Gaussian(0.1)], ids=str)
def test_without_an_intercept_too_few_records_give_zeros(privacy: Any) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(0, 1, (100, 5))
    model = PrivateRegression(privacy, (-10, 10), (-50, 50), fit_intercept=False, random_state=0)
    with pytest.warns(PlanWarning, match="n = 100 is too small for 5 .* budget: coef_ is 0"):
        model.fit(X, X.sum(axis=1))
    assert not model.predict(X).any()
    assert not model.coef_.any()
    assert "nothing was released" in str(model)
    with pytest.raises(ValueError, match="too few records"):
        model.fitted_interval(X)


def mean_of_a_spike(seed: int) -> float:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(2000) < 0.9, 0.0, rng.uniform(50, 150, 2000))
    with pytest.warns(PlanWarning, match="mean of the responses is released"):
        model = PrivateRegression(USUAL, (-5, 5), (0, 1000), random_state=seed).fit(
            rng.normal(0, 1, (2000, 100)), y
        )
    return model.intercept_


def test_the_mean_is_not_that_of_the_spike(monkeypatch: pytest.MonkeyPatch) -> None:
    assert np.mean([mean_of_a_spike(seed) for seed in range(20)]) == pytest.approx(10, abs=2.5)
    monkeypatch.setattr(constant, "MANY_CLIPPED", math.inf)
    assert np.mean([mean_of_a_spike(seed) for seed in range(20)]) < 2
