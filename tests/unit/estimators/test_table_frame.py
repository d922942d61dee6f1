"""Frames: clamps that are narrower bounds, and the rows that come of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from estimators import PrivateRegression
from estimators.tables.frame import ColumnFrame, longest_row
from estimators.tables.records import NumberResponse
from estimators.tables.regression_frame import Frame
from estimators.tables.regression_steps import View
from estimators.tables.schema import Numeric, narrower
from minimax import Approximate

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
    middle = np.array([0.3, 0.9, 0.0, 0.0]) * intercept
    columns = ColumnFrame(middle, np.array([0.2, 0.05, 1.0, 1.0]), 1.5, intercept)
    frame = Frame(columns, 0.1 * intercept, 0.3, -1.0, 1.0)
    inner, scene = frame.narrowed(records)
    assert isinstance(records.response, NumberResponse)
    assert isinstance(inner.response, NumberResponse)
    rows = columns.clamped(records.schema.encode(table))
    view = View(scene.image(np.eye(rows.shape[1]), np.zeros(rows.shape[1])), scene.response_stretch)
    found = view(inner.schema.encode(table), inner.response.encode(y))
    np.testing.assert_allclose(found[:-1].T, rows, atol=1e-5)  # bounds at 1e10 are rounded
    expected = np.clip((records.response.encode(y) - 0.1 * intercept) / 0.3, -1.5, 1.5)
    assert found[-1] == pytest.approx(expected)
    assert np.linalg.norm(rows, axis=1).max() <= longest_row(inner.schema, columns) * (1 + 1e-12)


def test_bounds_that_close_on_one_float_stay_apart() -> None:
    """Ends come from releases: whatever they are, nothing raises and rows are finite."""
    narrow = narrower(Numeric("a", 1e15, 1e15 + 4), True, 0.3, 0.3 + 1e-9)
    assert narrow.low < narrow.high
    assert narrow.half(True) > 0
    away = narrower(Numeric("a", 10.0, 20.0), False, -0.1, 0.1)  # all of the range is beyond
    assert 2 <= away.low < away.high <= 2 * (1 + 1e-12)
