"""The numbers of a privacy object as parameters: what a grid search sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler

from estimators import Budget, LabelLasso, NoisyGradientRegression, NoisyMean
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

pytestmark = pytest.mark.oldest

X = np.random.default_rng(0).uniform(-1, 1, (300, 3))
Y = X @ [0.5, 0.0, -0.5]


@pytest.mark.parametrize(
    ("privacy", "shown"),
    [
        (None, {"privacy__epsilon": 1.0, "privacy__delta": 1e-6}),
        (Approximate(0.5, 1e-7), {"privacy__epsilon": 0.5, "privacy__delta": 1e-7}),
        (Pure(2.0), {"privacy__epsilon": 2.0}),
        (ZeroConcentrated(0.1), {"privacy__rho": 0.1}),
        (Gaussian(0.3), {"privacy__mu": 0.3}),
        (Budget(Pure(1.0)).share(0.5), {}),
        ("nonsense", {}),
    ],
)
def test_the_numbers_are_shown(privacy: Any, shown: dict[str, float]) -> None:
    model = NoisyMean(privacy, R=1.0)
    deep, shallow = model.get_params(), model.get_params(deep=False)
    assert {k: v for k, v in deep.items() if k.startswith("privacy__")} == shown
    assert set(deep) - set(shallow) == set(shown)
    assert shallow["privacy"] is privacy


def test_the_default_of_another_scope_is_shown() -> None:
    assert LabelLasso().get_params()["privacy__epsilon"] == 1.0
    assert LabelLasso().set_params(privacy__epsilon=2).privacy == Pure(2.0, "label")


def test_a_number_is_set_in_a_new_object() -> None:
    old = Approximate(0.5, 1e-7)
    model, other = NoisyMean(old, R=1.0), NoisyMean(old, R=1.0)
    assert model.set_params(privacy__epsilon=2) is model
    assert model.privacy == Approximate(2.0, 1e-7)
    assert other.privacy is old
    assert old == Approximate(0.5, 1e-7)
    model.set_params(privacy__epsilon=3, privacy__delta=1e-5, R=2.0)
    assert (model.privacy, model.R) == (Approximate(3.0, 1e-5), 2.0)
    model.set_params(privacy__rho=0.2, privacy=ZeroConcentrated(0.1))
    assert model.privacy == ZeroConcentrated(0.2)
    assert NoisyMean(R=1.0).set_params(privacy__epsilon=2).privacy == Approximate(2.0, 1e-6)
    assert clone(model).privacy == model.privacy
    assert model.set_params() is model


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        (NoisyMean(), {"privacy__rho": 1}, r"Invalid parameter 'rho' for estimator Approximate"),
        (NoisyMean(Pure(1.0)), {"privacy__scope": "local"}, r"Valid parameters are: \['epsilon'\]"),
        (NoisyMean("odd"), {"privacy__epsilon": 1}, r"Invalid parameter 'epsilon'"),  # type: ignore[arg-type]
        (NoisyMean(), {"privcy__epsilon": 1}, r"Invalid parameter 'privcy' for estimator NoisyMe"),
        (NoisyMean(), {"privacy__epsilon": -1}, "epsilon must be positive"),
        (
            NoisyMean(Budget(Pure(1.0)).share(0.5)),
            {"privacy__epsilon": 1},
            r"no numbers of its own, so no privacy__epsilon: give another share",
        ),
    ],
)
def test_what_there_is_not_cannot_be_set(model: Any, change: Any, message: str) -> None:
    before = model.get_params()
    with pytest.raises(ValueError, match=message):
        model.set_params(R=3.0, **change)
    unset = model.get_params()
    assert unset["privacy"] is before["privacy"]


def test_a_search_over_epsilon_in_a_pipeline() -> None:
    regressor = NoisyGradientRegression(sigma=0.1, random_state=0)
    model = Pipeline([("scale", MaxAbsScaler()), ("regressor", regressor)])
    assert model.get_params()["regressor__privacy__epsilon"] == 1.0
    grid = {"regressor__privacy__epsilon": [0.01, 100.0], "regressor__privacy__delta": [1e-5]}
    search = GridSearchCV(model, grid, cv=KFold(3), error_score="raise").fit(X, Y)
    assert search.best_params_["regressor__privacy__epsilon"] == 100.0
    chosen = search.best_estimator_["regressor"]
    assert chosen.privacy == Approximate(100.0, 1e-5)
    assert chosen.privacy_.parameters == pytest.approx(chosen.privacy.parameters)
    assert regressor.privacy is None


def test_the_numbers_do_not_disturb_what_notebooks_show() -> None:
    assert "NoisyMean" in NoisyMean(R=1.0)._repr_html_()
    assert repr(NoisyMean(Pure(1.0))) == "NoisyMean(privacy=Pure(epsilon=1.0, scope='central'))"
