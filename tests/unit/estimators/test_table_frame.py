"""Frames: clamps that are narrower bounds, and the rows that come of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from estimators import PrivateRegression
from estimators.tables import frame as frames
from estimators.tables.found_frame import found_frame, level_sums
from estimators.tables.frame import ColumnFrame, corners, longest_row
from estimators.tables.records import NumberResponse
from estimators.tables.regression_frame import Frame
from estimators.tables.regression_kernels import View
from estimators.tables.schema import Numeric, narrower
from minimax import Approximate, Gaussian

USUAL = Approximate(1, 1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_narrower_bounds_do_what_the_clamp_does(intercept: bool) -> None:
    """On any record, also without an intercept and where bounds are far from 0."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "a": rng.normal(5, 20, 400),
            "b": rng.choice([1e10, 1e10 + 1, 1e10 + 7], 400),
            "level": rng.choice(["x", "y", "z"], 400),
        }
    )
    bounds, levels = {"a": (2, 30), "b": (1e10 - 100, 1e10 + 9)}, {"level": ["x", "y", "z"]}
    y = rng.normal(0, 3, 400)
    model = PrivateRegression(
        USUAL, bounds, (-4, 9), categories=levels, fit_intercept=intercept, random_state=0
    )
    records, _ = model._checked(table, y)
    middle = np.array([0.3, 0.9]) * intercept
    shares = np.array([0.2, 0.5]) if intercept else None
    half = np.array([0.2, 0.05])
    columns = ColumnFrame.of(records.schema, middle, half, 1.5, shares, intercept=intercept)
    at = 0.1 * intercept
    frame = Frame(columns, at, 0.3, -0.2, 0.7)
    inner, scene = frame.narrowed(records)
    assert isinstance(records.response, NumberResponse)
    assert isinstance(inner.response, NumberResponse)
    rows = columns.clamped(records.schema.encode(table))
    view = View(scene.image(np.eye(rows.shape[1]), np.zeros(rows.shape[1])), scene.response_stretch)
    found = view(inner.schema.encode(table), inner.response.encode(y))
    np.testing.assert_allclose(found[:-1].T, rows, atol=1e-5)  # bounds at 1e10 are rounded
    kept = np.clip(records.response.encode(y), at - 0.45, 0.7)  # a clamp, and what is predicted
    assert found[-1] == pytest.approx((kept - at) / 0.3)
    assert np.linalg.norm(rows, axis=1).max() <= longest_row(inner.schema, columns) * (1 + 1e-12)


def test_bounds_that_close_on_one_float_stay_apart() -> None:
    """Ends come from releases: whatever they are, nothing raises and rows are finite."""
    narrow = narrower(Numeric("a", 1e15, 1e15 + 4), True, 0.3, 0.3 + 1e-9)
    assert narrow.low < narrow.high
    assert narrow.half(True) > 0
    away = narrower(Numeric("a", 10.0, 20.0), False, -0.1, 0.1)  # all of the range is beyond
    assert 2 <= away.low < away.high <= 2 * (1 + 1e-12)


# --- Levels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [2, 3, 7])
def test_levels_are_as_far_from_one_another_as_any(levels: int) -> None:
    z = np.vstack([np.zeros(levels - 1), np.eye(levels - 1)])
    at = z @ corners(levels).T
    apart = np.linalg.norm(at[:, None] - at, axis=2)
    np.testing.assert_allclose(apart, np.sqrt(2) * (1 - np.eye(levels)), atol=1e-12)
    encoded = np.linalg.norm(z[:, None] - z, axis=2)  # the first is nearer to all others
    assert levels == 2 or encoded[0, 1] < encoded[1, 2]


def test_no_record_moves_counts_of_levels_by_more_than_is_stated() -> None:
    """Two columns of levels: sqrt(4), which is reached."""
    binary = np.array([False, True, True, True])
    rows = [[9.0, a, b, c] for a, b in ((0, 0), (1, 0), (0, 1)) for c in (0, 1)]
    sums = np.array([level_sums(np.array([row]), np.zeros(1), binary) for row in rows])
    apart = np.linalg.norm(sums[:, None] - sums, axis=2).max()
    assert apart == pytest.approx(np.sqrt(3))  # of two levels one indicator changes
    assert apart <= np.sqrt(2 * 2)


def rare_first_level(seed: int) -> float:
    """How far the coefficients of 19 levels are off, the first being as rare as the others."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 20, 8000)
    y = np.where(level > 0, 5.0, 0.0) + rng.normal(0, 1, 8000)
    table = pd.DataFrame({"level": level, "x": rng.normal(0, 1, 8000)})
    model = PrivateRegression(
        USUAL, {"x": (-9, 9)}, (-20, 30), categories={"level": list(range(20))}, random_state=seed
    )
    return float(np.abs(model.fit(table, y).coef_[:-1] - 5).mean())


def test_a_rare_first_level_does_not_shrink_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    found = np.mean([rare_first_level(seed) for seed in range(6)])
    monkeypatch.setattr(frames, "corners", lambda levels: np.eye(levels - 1))
    assert found < 0.6 * np.mean([rare_first_level(seed) for seed in range(6)])


def test_finding_a_frame_costs_its_shares() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(0, 1, 500), "level": rng.choice(["x", "y", "z"], 500)})
    for intercept in (True, False):
        model = PrivateRegression(
            Gaussian(1.0),
            {"a": (-5, 5)},
            (-5, 5),
            categories={"level": ["x", "y", "z"]},
            fit_intercept=intercept,
        )
        records, purse = model._checked(table, rng.normal(0, 1, 500))
        frame, _ = found_frame(records, purse, 0.3, 0.1, clamp=2.0, intercept=intercept)
        spent = [entry.count * entry.guarantees[0].mu ** 2 for entry in purse.ledger]
        assert sum(spent) == pytest.approx(0.4)
        assert (frame.turn is None) != intercept
