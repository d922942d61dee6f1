"""A public starting point: used, refused where no step could have released it, and free."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import estimators
from estimators import (
    LabelHardThresholding,
    LocalHardThresholding,
    NoisyGradientRegression,
    NoisyHardThresholding,
    NoisyHardThresholdingClassifier,
    PrivateFrankWolfe,
    PrivateHardThresholding,
)
from estimators.core.base import PrivateEstimator as Private
from estimators.core.checks import checked_start
from minimax.core.privacy import Approximate, Pure, ZeroConcentrated
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.logistic.problem import LogisticProblem
from minimax.problems.regression.problem import RegressionProblem
from minimax.problems.sparse_regression.problem import SparseRegressionProblem

N, D = 400, 6
QUIET = ZeroConcentrated(1e6)
AWAY = np.array([0.0, 0.0, 0.0, 0.5, -0.25, 0.0])
LOCAL, LABEL = Pure(5.0, "local"), Pure(20.0, "label")
"""Per estimator: a run of one short step, which stays near its start."""
SHORT: dict[str, Any] = {
    "NoisyGradientRegression": NoisyGradientRegression(QUIET, R=1.0, step_size=1e-3, steps=1),
    "PrivateHardThresholding": PrivateHardThresholding(
        QUIET, s=2, entry_bound=1.0, R=1.0, step_size=1e-3, steps=1
    ),
    "NoisyHardThresholding": NoisyHardThresholding(QUIET, s=2, step_size=1e-3, steps=1, radius=1.0),
    "NoisyHardThresholdingClassifier": NoisyHardThresholdingClassifier(
        QUIET, s=2, step_size=1e-3, steps=1, radius=1.0, classes=(0, 1)
    ),
    "LocalHardThresholding": LocalHardThresholding(LOCAL, s=2, step_size=1e-4, steps=1),
    "LabelHardThresholding": LabelHardThresholding(LABEL, s=2, step_size=1e-4, steps=1),
}


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.choice([-0.4, 0.4], (N, D))
    return X, (X[:, 0] > 0).astype(float)


def test_every_descent_has_a_start() -> None:
    """Every exported private estimator with a number of steps."""
    kinds = (getattr(estimators, name) for name in estimators.__all__)
    private = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Private)]
    stepwise = {kind.__name__ for kind in private if "steps" in kind().get_params()}
    assert stepwise == {*SHORT, "PrivateFrankWolfe", "FrankWolfeMean"}
    assert all(getattr(estimators, name)().get_params()["start"] is None for name in stepwise)


@pytest.mark.parametrize("name", SHORT)
def test_a_short_run_stays_near_its_start(name: str) -> None:
    X, y = data()
    from_zero = SHORT[name].set_params(start=None, random_state=0).fit(X, y)
    ledger, coef = from_zero.ledger_, from_zero.coef_
    moved = SHORT[name].set_params(start=AWAY, random_state=0).fit(X, y)
    assert np.abs(moved.coef_ - AWAY).max() < 0.05
    assert np.abs(coef).max() < 0.05
    assert moved.ledger_ == ledger  # the start is public and costs nothing
    zero = SHORT[name].set_params(start=np.zeros(D), random_state=0).fit(X, y)
    np.testing.assert_array_equal(zero.coef_, coef)
    np.testing.assert_array_equal(AWAY, [0, 0, 0, 0.5, -0.25, 0])  # and is not written to


def test_frank_wolfe_leaves_a_third_of_its_start() -> None:
    """After one step with m = 2/3 b is a third of the start and two thirds of a vertex."""
    X, y = data()
    model = PrivateFrankWolfe(Pure(1e6), steps=1, start=AWAY, random_state=0).fit(X, y)
    left = model.coef_ - AWAY / 3
    assert np.count_nonzero(np.abs(left) > 1e-12) == 1
    assert np.abs(left).max() == pytest.approx(2 / 3)
    # The gradient is that at the start: there the fit is perfect on the third feature's sign.
    exact = X.T @ (X @ AWAY - y)
    assert np.argmax(np.abs(left)) == np.argmax(np.abs(exact))


BAD_STARTS: list[tuple[Any, str]] = [
    (np.zeros(D - 1), r"start must have shape \(6,\)"),
    (np.zeros((D, 1)), "start must have shape"),
    (np.full(D, np.nan), "start must be finite"),
    (np.array(["a"] * D), "start must hold real numbers"),
    (np.full(D, 1j), "start must hold real numbers"),
    (np.eye(D)[0] * 1.5, "start must have l[12] norm at most 1"),
]


@pytest.mark.parametrize(("start", "message"), BAD_STARTS)
@pytest.mark.parametrize("name", [*SHORT, "PrivateFrankWolfe"])
def test_a_start_that_no_step_could_release_is_refused(name: str, start: Any, message: str) -> None:
    X, y = data()
    noise = np.random.default_rng(0)
    before = noise.bit_generator.state
    model = PrivateFrankWolfe() if name == "PrivateFrankWolfe" else SHORT[name]
    with pytest.raises((TypeError, ValueError), match=message):
        model.set_params(start=start, random_state=noise).fit(X, y)
    assert noise.bit_generator.state == before


@pytest.mark.parametrize("name", [name for name in SHORT if name != "NoisyGradientRegression"])
def test_a_start_with_too_many_coefficients_is_refused(name: str) -> None:
    X, y = data()
    with pytest.raises(ValueError, match="start must have at most s = 2 non-zero entries, got 3"):
        SHORT[name].set_params(start=np.array([0.1, 0.1, 0.1, 0, 0, 0]), random_state=0).fit(X, y)
    dense = SHORT["NoisyGradientRegression"].set_params(start=np.full(D, 0.1), random_state=0)
    assert np.abs(dense.fit(X, y).coef_ - 0.1).max() < 0.05  # which keeps all coefficients


def test_cross_validation_asks_for_the_sparsest_start() -> None:
    X, y = data()
    model = PrivateHardThresholding(
        Approximate(1e3, 1e-6), s="cv", s_grid=(1, 2), R=1.0, entry_bound=1.0, random_state=0
    )
    with pytest.raises(ValueError, match="at most s = 1"):
        model.set_params(start=AWAY).fit(X, y)
    assert model.set_params(start=AWAY * (AWAY > 0)).fit(X, y).coef_.shape == (D,)


def test_a_start_changes_no_plan() -> None:
    """Neither steps nor noise: it is public, and taken to be as near to the truth as 0."""
    X, y = np.random.default_rng(1).choice([-0.5, 0.5], (4000, 4)), np.zeros(4000)
    plain = NoisyGradientRegression(ZeroConcentrated(0.5), R=1.0, L=3.0, random_state=0).fit(X, y)
    steps, ledger, far = plain.n_iter_, plain.ledger_, plain.coef_
    moved = plain.set_params(start=np.eye(4)[0]).fit(X, y)
    assert (moved.n_iter_, moved.ledger_) == (steps, ledger)
    assert not np.array_equal(moved.coef_, far)


def test_risk_bounds_are_for_a_descent_from_zero() -> None:
    problem = SparseRegressionProblem(n=1000, d=D, s=2, sigma=1.0)
    cases: list[tuple[Any, Any]] = [
        (SHORT["NoisyGradientRegression"], RegressionProblem(n=1000, d=D, sigma=1.0)),
        (SHORT["PrivateHardThresholding"], problem),
        (SHORT["NoisyHardThresholding"], problem),
        (
            SHORT["NoisyHardThresholdingClassifier"].set_params(s=D),
            LogisticProblem(n=1000, d=D),
        ),
        (SHORT["LabelHardThresholding"], LabelRegressionProblem(n=1000, p=D, s=2, C=1.0)),
    ]
    for model, at in cases:
        with pytest.raises(ValueError, match="risk_bound covers start=None"):
            model.set_params(start=AWAY).risk_bound(at)


def test_norms_are_taken_without_overflow() -> None:
    checked_start([3e200, 4e200], 2, radius=5e200)
    with pytest.raises(ValueError, match=r"l2 norm at most 4.9e\+200, got 5e\+200"):
        checked_start([3e200, 4e200], 2, radius=4.9e200)
    assert checked_start([1, 0], 2, radius=1.0, s=1).dtype == float
    with pytest.raises(ValueError, match="l1 norm at most 1"):
        checked_start([0.6, 0.6], 2, radius=1.0, norm=1)
    checked_start([0.6, 0.6], 2, radius=1.0)
