"""Losses with a bounded slope, and the planned descent on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special

from estimators import (
    HuberLoss,
    LogisticLoss,
    PlannedLogisticRegression,
    PlannedRobustRegression,
    ProbitLoss,
    SmoothHingeLoss,
    SquaredLoss,
)
from estimators.core.losses import BoundedLoss
from minimax.core.privacy import Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.problems.logistic.problem import LogisticProblem

LOSSES: dict[str, BoundedLoss] = {
    "logistic": LogisticLoss(),
    "probit": ProbitLoss(),
    "hinge": SmoothHingeLoss(),
    "wide hinge": SmoothHingeLoss(2.5),
    "huber": HuberLoss(0.7),
}
PREDICTIONS = np.linspace(-6, 6, 2401)
BUDGETS: list[SpendablePrivacy] = [Pure(1.0), ZeroConcentrated(0.1), Gaussian(0.4)]
COEF = np.array([1.0, 0.5, 0.0, -1.0])
UNIT = {"radius": 2.0, "row_bound": 1.0}
Array = np.ndarray


def responses(name: str) -> list[float]:
    return [-1.3, 0.0, 2.2] if name == "huber" else [0.0, 1.0]


# --- What a loss says of itself -------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
def test_slopes_are_those_of_values_and_curvatures_are_bounded(name: str) -> None:
    loss, h = LOSSES[name], 1e-5
    for label in responses(name):
        y = np.full_like(PREDICTIONS, label)
        numeric = (loss.value(PREDICTIONS + h, y) - loss.value(PREDICTIONS - h, y)) / (2 * h)
        assert loss.slope(PREDICTIONS, y) == pytest.approx(numeric, abs=1e-5)
        curvature = np.diff(loss.slope(PREDICTIONS, y)) / np.diff(PREDICTIONS)
        assert curvature.min() >= -1e-9
        assert curvature.max() <= loss.smoothness * (1 + 1e-9)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reach", [0.0, 0.3, 1.0, 5.0])
def test_no_slope_is_larger_than_a_loss_says_and_one_is_as_large(name: str, reach: float) -> None:
    loss, largest = LOSSES[name], 0.0
    within = PREDICTIONS[np.abs(PREDICTIONS) <= reach + 1e-12]
    for label in [*responses(name), *([-1e9] if name == "huber" else [])]:
        largest = max(largest, float(np.abs(loss.slope(within, np.full_like(within, label))).max()))
    assert largest == pytest.approx(loss.largest_slope(reach), rel=1e-9)
    assert 0 < loss.flatness(max(reach, 0.1)) <= loss.smoothness


def test_far_predictions_neither_overflow_nor_lose_the_slope() -> None:
    far = np.array([-1e200, -1e3, 1e3, 1e200])
    with np.errstate(all="raise"):
        for loss in (ProbitLoss(), SmoothHingeLoss(), HuberLoss()):
            for label in (0.0, 1.0):
                assert np.isfinite(loss.slope(far, np.full(4, label))).all()
    assert ProbitLoss().largest_slope(1e3) == pytest.approx(1e3, rel=1e-5)


def test_the_flatness_of_huber_is_what_a_shift_sees() -> None:
    """E psi(noise + shift)/shift, for normal noise of the width's deviation."""
    noise = np.random.default_rng(0).standard_normal(400_000)
    for shift in (0.05, 0.5, 3.0, 20.0):
        seen = float(np.mean(np.clip(noise + shift, -1, 1) - np.clip(noise, -1, 1))) / shift
        assert HuberLoss(1.0).flatness(shift) == pytest.approx(seen, rel=0.35)


@pytest.mark.parametrize("width", [0.0, -1.0, np.inf, np.nan])
def test_widths_are_checked(width: float) -> None:
    for kind in (HuberLoss, SmoothHingeLoss):
        with pytest.raises(ValueError, match="width"):
            kind(width)


# --- The descent ----------------------------------------------------------------------------------


def labelled(n: int, chance: Any, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.choice([-0.5, 0.5], (n, 4))
    return X, rng.random(n) < chance(X @ COEF)


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_the_probit_loss_finds_the_coefficients_of_its_law(privacy: SpendablePrivacy) -> None:
    X, y = labelled(50_000, special.ndtr, 0)
    model = PlannedLogisticRegression(privacy, **UNIT, loss="probit", random_state=0).fit(X, y)
    assert np.linalg.norm(model.coef_ - COEF) < 0.1
    assert model.predict_proba(X[:50])[:, 1] == pytest.approx(special.ndtr(X[:50] @ model.coef_))
    assert model.privacy_.parameters == pytest.approx(privacy.parameters)
    # a control: the logistic loss has another slope at 0, and its coefficients are 1.6 as large
    other = PlannedLogisticRegression(privacy, **UNIT, random_state=0).fit(X, y)
    assert np.linalg.norm(other.coef_ - COEF) > 0.3


def least_loss(loss: BoundedLoss, X: Array, y: Array) -> Array:
    """The minimiser over all records, which is not private."""
    found = optimize.minimize(
        lambda b: float(np.mean(loss.value(X @ b, y))),
        np.zeros(X.shape[1]),
        jac=lambda b: X.T @ loss.slope(X @ b, y) / len(y),
    )
    return np.asarray(found.x)


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_the_hinge_finds_its_own_minimiser(privacy: SpendablePrivacy) -> None:
    X, y = labelled(50_000, special.expit, 1)
    model = PlannedLogisticRegression(privacy, **UNIT, loss="hinge", random_state=0).fit(X, y)
    aim = least_loss(SmoothHingeLoss(), X, y.astype(float))
    assert np.linalg.norm(model.coef_ - aim) < 0.1 < np.linalg.norm(aim - COEF)
    chances = model.predict_proba(X)
    assert chances.sum(axis=1) == pytest.approx(1)
    assert np.array_equal(chances[:, 1] > 0.5, model.predict(X))


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_huber_stands_far_responses(privacy: SpendablePrivacy) -> None:
    rng = np.random.default_rng(2)
    X = rng.choice([-0.5, 0.5], (50_000, 4))
    y = X @ COEF + 0.2 * rng.standard_t(1.5, 50_000)
    y[:500] = 1e300
    model = PlannedRobustRegression(privacy, **UNIT, loss=HuberLoss(0.2), random_state=0).fit(X, y)
    assert np.linalg.norm(model.coef_ - COEF) < 0.05
    assert model.predict(X[:3]) == pytest.approx(X[:3] @ model.coef_)
    # a control: a loss that is nearly quadratic follows them
    wide = PlannedRobustRegression(privacy, **UNIT, loss=HuberLoss(1e4), random_state=0).fit(X, y)
    assert np.linalg.norm(wide.coef_ - COEF) > 0.5


def test_a_named_loss_is_the_object_and_own_losses_are_assumed_to_forget() -> None:
    X, y = labelled(2000, special.expit, 3)
    options = {**UNIT, "random_state": 0, "classes": (False, True)}
    named = PlannedLogisticRegression(ZeroConcentrated(1.0), **options).fit(X, y)
    given = PlannedLogisticRegression(ZeroConcentrated(1.0), **options, loss=LogisticLoss())
    assert np.array_equal(named.coef_, given.fit(X, y).coef_)
    assert len(given.privacy_.assumes) == len(named.privacy_.assumes) + 1


def test_losses_without_a_bound_are_refused() -> None:
    X, y = labelled(50, special.expit, 4)
    with pytest.raises(TypeError, match="largest_slope and flatness"):
        PlannedRobustRegression(**UNIT, loss=SquaredLoss()).fit(X, y.astype(float))
    with pytest.raises(ValueError, match="loss must be 'huber' or an object like BoundedLoss"):
        PlannedRobustRegression(**UNIT, loss="squared").fit(X, y.astype(float))
    with pytest.raises(ValueError, match="'logistic', 'probit', 'hinge'"):
        PlannedLogisticRegression(**UNIT, loss="huber").fit(X, y)
    with pytest.raises(TypeError, match="largest_slope and flatness"):
        PlannedLogisticRegression(**UNIT, loss=ProbitLoss).fit(X, y)
    for wrong in (np.inf, np.nan, 0.0, -1.0):
        with pytest.raises(ValueError, match=r"loss \(first slope\)"):
            PlannedRobustRegression(**UNIT, loss=Claiming(wrong)).fit(X, y.astype(float))


@dataclass(frozen=True)
class Claiming(HuberLoss):
    """A loss with a false bound on its slope."""

    def largest_slope(self, reach: float) -> float:
        return float(self.width)

    def slope(self, prediction: Array, y: Array) -> Array:
        return np.asarray(prediction - y)

    def __post_init__(self) -> None:
        pass


def test_only_the_logistic_loss_has_a_proven_risk() -> None:
    problem = LogisticProblem(10**6, 4)
    model = PlannedLogisticRegression(Gaussian(0.1), **UNIT)
    assert model.risk_bound(problem).value() > 0
    with pytest.raises(ValueError, match="risk_bound covers loss='logistic'"):
        model.set_params(loss="probit").risk_bound(problem)
    assert not hasattr(PlannedRobustRegression, "risk_bound")
