"""Options chosen by cross-validation, freely and charged to a budget, by either loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import RegressorMixin, clone
from sklearn.metrics import d2_log_loss_score
from sklearn.model_selection import GridSearchCV, KFold

from estimators import (
    Budget,
    IterativeHardThresholding,
    LogisticLoss,
    NoisyHardThresholding,
    NoisyHardThresholdingClassifier,
    Overdrawn,
    PrivateFrankWolfe,
    PrivateScore,
    TwoStageRegression,
)
from estimators.core.base import LinearPredictor
from minimax.core.privacy import Approximate

BUDGET = Approximate(2.0, 1e-6)
N, D, FOLDS = 2000, 8, 5
THETA = np.array([3.0, -3.0, 3.0, 0, 0, 0, 0, 0])
"""Three of a size: with one of them fewer labels are predicted, which of two need not be so."""
LOSSES = ["squared", "logistic"]
Options = dict[str, list[Any]]
METHODS: dict[str, tuple[Any, Options]] = {
    "NoisyHardThresholding": (
        NoisyHardThresholding(clip=1.0, steps=30, step_size=4.0, radius=8.0),
        {"s": [1, 3]},
    ),
    "PrivateFrankWolfe": (
        PrivateFrankWolfe(entry_bound=0.4, R=4.0, l1_radius=12.0),
        {"steps": [1, 30]},
    ),
    "TwoStageRegression": (
        TwoStageRegression(row_bound=0.6, R=4.0, radius=8.0, blocks=30),
        {"s": [1, 3]},
    ),
    "IterativeHardThresholding": (IterativeHardThresholding(), {"s": [1, 3]}),
}
"""Each with a grid whose last option is the right one."""


def data(loss: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.choice([-0.35, 0.35], (N, D))
    signal = X @ THETA
    if loss == "squared":
        return X, signal + 0.3 * rng.standard_normal(N)
    return X, (rng.random(N) < 1 / (1 + np.exp(-2 * signal))).astype(float)


def made(name: str, loss: str, **options: Any) -> Any:
    model = clone(METHODS[name][0]).set_params(loss=loss)
    known = {key: value for key, value in options.items() if key in model.get_params()}
    return model.set_params(**known)


# --- the score


@pytest.mark.parametrize("weights", [None, np.arange(1.0, N + 1)], ids=["plain", "weighted"])
def test_the_score_of_log_odds_is_the_explained_log_loss(weights: Any) -> None:
    X, y = data("logistic")
    model = IterativeHardThresholding(3, "logistic").fit(X, y)
    chance = 1 / (1 + np.exp(-model.predict(X)))
    exact = d2_log_loss_score(y, np.column_stack([1 - chance, chance]), sample_weight=weights)
    assert model.score(X, y, weights) == pytest.approx(exact)
    same = IterativeHardThresholding(3, LogisticLoss()).fit(X, y)  # type: ignore[arg-type]
    assert same.score(X, y, weights) == pytest.approx(exact)
    assert RegressorMixin.score(model, X, y, weights) < 0 < exact


def test_the_score_of_a_linear_fit_is_still_R_squared() -> None:
    X, y = data("squared")
    model = IterativeHardThresholding(3).fit(X, y)
    assert model.score(X, y) == RegressorMixin.score(model, X, y)


def test_labels_that_are_all_the_same_explain_nothing() -> None:
    X, y = data("logistic")
    model = IterativeHardThresholding(3, "logistic").fit(X, y)
    assert model.score(X, np.ones(N)) == 0.0


# --- a free choice


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", METHODS)
def test_a_search_finds_the_right_option(name: str, loss: str) -> None:
    grid = METHODS[name][1]
    model = made(name, loss, privacy=BUDGET, random_state=0)
    search = GridSearchCV(model, grid, cv=KFold(FOLDS), error_score="raise").fit(*data(loss))
    ((option, values),) = grid.items()
    assert search.best_params_ == {option: values[-1]}


def test_by_R_squared_log_odds_lead_astray(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: it punishes log-odds for not being 0 or 1, the better the more."""
    monkeypatch.setattr(LinearPredictor, "score", RegressorMixin.score)
    model = made("IterativeHardThresholding", "logistic")
    search = GridSearchCV(model, {"s": [1, 3]}, cv=KFold(FOLDS)).fit(*data("logistic"))
    assert search.best_params_ == {"s": 1}


# --- a charged choice


def charged(name: str, loss: str) -> tuple[GridSearchCV, Budget]:
    """Half of a budget for fits and scores of 2 options on 2 folds, half for the last fit."""
    budget = Budget(Approximate(8.0, 1e-6))
    metric: Any = "r2" if loss == "squared" else "accuracy"
    score = PrivateScore(budget.share(0.02), metric, (-4.0, 4.0), random_state=0)
    model = made(name, loss, privacy=budget.share(0.105), random_state=0)
    search = GridSearchCV(
        model, METHODS[name][1], scoring=score, cv=KFold(2), refit=False, error_score="raise"
    )
    return search.fit(*data(loss)), budget


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", [name for name in METHODS if name != "IterativeHardThresholding"])
def test_a_charged_choice_stays_within_its_budget(name: str, loss: str) -> None:
    search, budget = charged(name, loss)
    ((option, values),) = METHODS[name][1].items()
    assert search.best_params_ == {option: values[-1]}
    assert [draw.by for draw in budget.history] == [name, "PrivateScore"] * 4
    last = made(name, loss, privacy=budget.share(0.5), random_state=0, **search.best_params_)
    last.fit(*data(loss))
    assert last.score(*data(loss, seed=1)) > 0.2
    assert budget.left is None
    assert budget.spent is not None
    assert budget.spent.parameters["epsilon"] <= 8.0
    with pytest.raises(Overdrawn):
        last.fit(*data(loss))


def test_an_accuracy_of_log_odds_is_that_of_the_classifier() -> None:
    X, y = data("logistic")
    options: dict[str, Any] = {"clip": 1.0, "steps": 30, "step_size": 4.0, "radius": 8.0}
    labels = NoisyHardThresholdingClassifier(
        BUDGET, s=3, classes=(0, 1), random_state=0, **options
    ).fit(X, y.astype(int))
    odds = NoisyHardThresholding(BUDGET, s=3, loss="logistic", random_state=0, **options).fit(X, y)
    loud = Budget(Approximate(1e6, 1e-6))
    score = PrivateScore(loud.share(0.5))
    assert score(labels, X, y.astype(int)) == pytest.approx(labels.score(X, y), abs=1e-3)
    assert score(odds, X, y) == pytest.approx(labels.score(X, y), abs=1e-3)
