"""Hard thresholding on private labels: the step that has a proven bound, and steps at the edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from estimators import (
    LabelHardThresholding,
    LabelLasso,
    Link,
    LocalHardThresholding,
    OneShotThreshold,
)
from estimators.core.design import Design
from estimators.thresholding import thresholded_descent
from minimax.core.privacy import Approximate, Pure, ZeroConcentrated
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.label_regression.upper import one_shot_label_upper

PURE = Pure(1.0, scope="label")
APPROXIMATE = Approximate(1.0, 1e-3, scope="label")


def records() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (600, 40))
    return X, 0.8 * X[:, 3] - 0.5 * X[:, 17] + rng.uniform(-0.1, 0.1, 600)


ONE_STEP = {"s": 2, "C": 0.5, "mechanism": "binary", "steps": 1, "step_size": 1.0}


@pytest.mark.parametrize("budget", [PURE, APPROXIMATE])
def test_one_step_is_the_protocol_of_the_proven_bound(budget: Any) -> None:
    X, y = records()
    fitted = LabelHardThresholding(budget, random_state=3, **ONE_STEP).fit(X, y)
    reports = fitted.randomiser_.randomise(y, np.random.default_rng(3)).value
    found = X.T @ reports / len(y)
    kept = np.where(np.abs(found) >= np.sort(np.abs(found))[-2], found, 0.0)
    expected = kept / max(1.0, float(np.linalg.norm(kept)))
    assert fitted.coef_ == pytest.approx(expected, rel=1e-12)
    problem = LabelRegressionProblem(10**7, 400, 2, 0.5)
    bound = fitted.risk_bound(problem)
    assert bound.value() == one_shot_label_upper(problem, budget).value() < 0.1
    tanh = (math.sqrt(2) + 0.5) / fitted.randomiser_.size
    assert tanh == pytest.approx(math.tanh(fitted.randomiser_.epsilon / 2))


@pytest.mark.parametrize(
    "options",
    [
        {"steps": 2},
        {"step_size": 0.9},
        {"mechanism": "laplace"},
        {"s": 3},
        {"radius": 2.0},
        {"bound": 1.0},
        {"C": 0.6},
        {"link": Link(np.array, np.ones_like, 1.0, 1.0)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_other_options_have_no_proven_bound(options: Any) -> None:
    model = LabelHardThresholding(PURE, **{**ONE_STEP, **options})
    with pytest.raises(ValueError, match="risk_bound needs"):
        model.risk_bound(LabelRegressionProblem(10**7, 400, 2, 0.5))


def test_a_budget_that_no_bit_can_spend_has_no_proven_bound() -> None:
    model = LabelHardThresholding(ZeroConcentrated(0.1, scope="label"), **ONE_STEP)
    with pytest.raises(ValueError, match="spends an epsilon"):
        model.risk_bound(LabelRegressionProblem(10**7, 400, 2, 0.5))


def _hollow(t: Any) -> Any:
    """The identity, but for the places of which the check sees none."""
    return np.where((np.abs(t) > 0.01) & (len(t) < 1000), np.nan, t)


def _hollow_slope(t: Any) -> Any:
    return np.where(np.isnan(_hollow(t)), np.nan, 1.0)


@pytest.mark.parametrize("step_size", ["auto", 0.5])
@pytest.mark.parametrize("loss", ["matching", "squared"])
def test_a_link_that_fails_beyond_the_checked_grid_ends_the_fit(step_size: Any, loss: Any) -> None:
    X, y = records()
    for f, derivative, name in (
        (_hollow, np.ones_like, "f"),
        (np.array, _hollow_slope, "derivative"),
    ):
        if name == "derivative" and loss == "matching":
            continue
        link = Link(f, derivative, 1.0, 1.0)
        model = LabelHardThresholding(PURE, link=link, loss=loss, step_size=step_size)
        with pytest.raises(ValueError, match=f"link: {name} is not finite at"):
            model.set_params(random_state=0).fit(X[:500], y[:500])
        assert not hasattr(model, "coef_")


def test_a_slope_that_is_not_finite_ends_the_descent() -> None:
    X, _ = records()
    for step in (None, 0.5):
        with pytest.raises(ValueError, match="gradient is not finite in step 1"):
            thresholded_descent(
                Design(X), lambda t: t * math.nan, s=1, radius=1.0, steps=9, step_size=step
            )


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-160, 1e-150, 1e-100, 1e100, 1e200])
def test_rows_of_any_size(scale: float) -> None:
    """The best step is the reciprocal of a square of the rows, which may overflow."""
    X, y = records()
    fitted = LabelHardThresholding(PURE, s=2, C=0.1, random_state=0).fit(scale * X, y)
    assert np.isfinite(fitted.coef_).all()
    if 1e-170 < scale < 1:  # too small for the radius: the best on the ball
        assert np.linalg.norm(fitted.coef_) == pytest.approx(1)


@pytest.mark.parametrize(
    "kind", [LabelHardThresholding, LabelLasso, LocalHardThresholding, OneShotThreshold]
)
def test_errors_speak_of_the_documented_dimension(kind: Any) -> None:
    with pytest.raises(ValueError, match="s must lie between 1 and p = 40, got 41"):
        kind(s=41).fit(*records())
