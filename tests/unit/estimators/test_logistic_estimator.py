"""The planned logistic regression: what it spends, refuses and releases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse, special

from estimators import PlannedLogisticRegression, compose
from estimators.core.base import PlanWarning
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.problems.logistic.problem import LogisticProblem

BUDGETS: list[SpendablePrivacy] = [
    Pure(2.0),
    Approximate(2.0, 1e-9),
    ZeroConcentrated(0.5),
    Gaussian(1.0),
]
COEF = np.array([0.6, 0.0, -0.6])


def data(n: int = 20_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, 3)) / np.sqrt(3)
    return X, rng.random(n) < special.expit(X @ COEF)


UNIT = {"radius": 1.0, "row_bound": 1.0}


def made(privacy: SpendablePrivacy | None = None, **options: Any) -> PlannedLogisticRegression:
    return PlannedLogisticRegression(privacy, **{**UNIT, "random_state": 0, **options})


def fitted(privacy: SpendablePrivacy, **options: Any) -> PlannedLogisticRegression:
    return made(privacy, **options).fit(*data())


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_the_budget_is_spent_and_the_coefficients_are_found(privacy: SpendablePrivacy) -> None:
    model = fitted(privacy)
    assert len(model.ledger_) == model.n_iter_ > 1
    spent, asked = model.privacy_.parameters, privacy.parameters
    if isinstance(privacy, Approximate):  # of pure noise, which delta makes a little smaller
        assert 0.9 * privacy.epsilon < spent["epsilon"] <= privacy.epsilon
        assert compose(model.ledger_, Pure).epsilon == pytest.approx(privacy.epsilon)
    else:
        assert spent == pytest.approx(asked)
    assert np.abs(model.coef_ - COEF).max() < 0.15


def test_many_features_get_gaussian_noise() -> None:
    X, y = data(2000)
    wide = np.tile(X, 20) / np.sqrt(20)
    model = made(Approximate(2.0, 1e-6)).fit(wide, y)
    assert {entry.mechanism for entry in model.ledger_} == {"gaussian"}
    assert model.privacy_.parameters == pytest.approx({"epsilon": 2.0, "delta": 1e-6})


def test_the_unit_of_the_rows_does_not_matter() -> None:
    X, y = data()
    plain = made(ZeroConcentrated(0.5)).fit(X, y)
    scaled = made(ZeroConcentrated(0.5), radius=1 / 7, row_bound=7.0).fit(7 * X, y)
    assert scaled.coef_ * 7 == pytest.approx(plain.coef_)
    thin = made(ZeroConcentrated(0.5)).fit(sparse.csr_matrix(X), y)
    assert thin.coef_ == pytest.approx(plain.coef_)


def test_long_rows_are_shortened() -> None:
    X, y = data()
    model = made(ZeroConcentrated(0.5))
    short, long = model.fit(X, y).coef_, model.fit(1e9 * X, y).coef_
    assert long == pytest.approx(short)
    assert np.linalg.norm(made(ZeroConcentrated(1e-9), radius=0.3).fit(X, y).coef_) <= 0.3 * (
        1 + 1e-12
    )


def test_a_public_start_is_where_the_descent_begins() -> None:
    """With a budget for nothing it stays there, shortened to the radius."""
    X, y = data(200)
    model = made(ZeroConcentrated(1e-20), start=[3.0, 0.0, 4.0])
    assert model.fit(X, y).coef_ == pytest.approx([0.6, 0.0, 0.8], abs=1e-6)
    near = fitted(ZeroConcentrated(5.0), start=COEF)
    assert near.coef_ == pytest.approx(COEF, abs=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": -1.0}, "radius"),
        ({"radius": None}, "radius must be given: a bound on the l2 norm of the coefficients"),
        ({"row_bound": None}, "row_bound must be given: a bound on the l2 norm of the rows"),
        ({"row_bound": 0.0}, "row_bound"),
        ({"reach": float("nan")}, "reach"),
        ({"start": [1.0, 2.0]}, r"start must have shape \(3,\)"),
        ({"start": [np.inf, 0.0, 0.0]}, "start must be finite"),
        ({"start": [[1.0], [2.0, 3.0]]}, r"start must have shape \(3,\)"),
        ({"classes": (1, 1)}, "classes must be two different labels"),
    ],
)
def test_bad_options_are_refused_before_any_noise(options: Any, message: str) -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(ValueError, match=message):
        made(**{"random_state": rng, **options}).fit(*data(100))
    assert rng.bit_generator.state == before


def test_a_start_of_words_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="start must hold real numbers"):
        made(start="near").fit(*data(100))


def test_other_budgets_are_refused() -> None:
    with pytest.raises(TypeError, match="privacy must be one of"):
        made("much").fit(*data(100))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="scope"):
        made(Pure(1.0, "local")).fit(*data(100))


def test_risk_bound_says_what_it_covers() -> None:
    problem = LogisticProblem(10**6, 4)
    bound = made(Gaussian(0.1), radius=2.0, reach=1.0).risk_bound(problem)
    assert bound.keywords() == {"radius": 2.0, "row_bound": 1.0, "reach": 1.0}
    assert bound.estimator == "PlannedLogisticRegression"
    for options in ({"row_bound": 2.0}, {"start": [0.0] * 4}):
        with pytest.raises(ValueError, match="risk_bound covers"):
            made(Gaussian(0.1), **options).risk_bound(problem)  # type: ignore[arg-type]


def test_loose_bounds_do_not_stop_the_descent_and_hopeless_ones_are_told() -> None:
    """The plan counts on the curvature that is likely, not on that of the largest possible."""
    X, y = data()
    loose = made(Approximate(1.0, 1e-6), radius=20.0, row_bound=2.0).fit(X, y)
    assert np.abs(loose.coef_ - COEF).max() < 0.5 * np.abs(COEF).max()
    with pytest.warns(PlanWarning, match="n = 20 is too small for 3 features, radius, row_bound"):
        made(Approximate(1.0, 1e-6)).fit(*data(20))
