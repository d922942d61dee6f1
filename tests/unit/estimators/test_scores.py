"""Private scores: what they release, how far a record moves it, and what they draw."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from estimators import Budget, NoisyGradientRegression, PrivateScore, compose
from estimators.core.budget import Overdrawn
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated

pytestmark = pytest.mark.oldest

WHOLE = Approximate(1.0, 1e-6)
BOUNDS = (-2.0, 3.0)
LOUD = [Pure(1e7), ZeroConcentrated(1e14), Gaussian(1e7)]
"""So large that scores are those without noise."""


class Given(BaseEstimator):
    """Predicts the first column."""

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(X)[:, 0]


def data(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(*BOUNDS, (n, 1))
    return X, np.clip(X[:, 0] + rng.normal(0, 0.5, n), *BOUNDS)


def scorer(metric: Any, whole: SpendablePrivacy = WHOLE, share: float = 0.5, **options: Any) -> Any:
    bounds = None if metric == "accuracy" else BOUNDS
    return PrivateScore(Budget(whole).share(share), metric, bounds, **options)


@pytest.mark.parametrize("whole", LOUD)
def test_without_noise_the_scores_are_scikit_learns(whole: SpendablePrivacy) -> None:
    X, y = data()
    plain = -mean_squared_error(y, X[:, 0])
    assert scorer("neg_mean_squared_error", whole)(Given(), X, y) == pytest.approx(plain, rel=1e-4)
    assert scorer("r2", whole)(Given(), X, y) == pytest.approx(r2_score(y, X[:, 0]), rel=1e-4)
    labels = np.where(y > 0.5, "high", "low")
    guessed = np.where(X[:, :1] > 0.5, "high", "low")
    share = np.mean(labels == guessed[:, 0])
    assert scorer("accuracy", whole)(Given(), guessed, labels) == pytest.approx(share, rel=1e-4)


RECORD = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("metric", ["accuracy", "neg_mean_squared_error", "r2"])
@given(RECORD, RECORD, RECORD, RECORD)
def test_a_record_moves_what_is_released_by_the_sensitivity_at_most(
    metric: Any, x: float, y: float, other_x: float, other_y: float
) -> None:
    score = scorer(metric)
    rest = np.array([0.3, -1.0])
    here, moved = score._means(np.r_[rest, x], np.r_[rest, y])
    there, _ = score._means(np.r_[rest, other_x], np.r_[rest, other_y])
    assert np.linalg.norm(here - there) * 3 <= moved * (1 + 1e-12)


@pytest.mark.parametrize("metric", ["accuracy", "neg_mean_squared_error", "r2"])
def test_the_sensitivity_is_attained(metric: Any) -> None:
    low, high = BOUNDS
    score = scorer(metric)
    here, moved = score._means(np.array([low, 0.0]), np.array([high, 0.0]))
    there, _ = score._means(np.array([low, 0.0]), np.array([low, 0.0]))
    assert np.linalg.norm(here - there) * 2 == pytest.approx(moved)
    assert not np.linalg.norm(here - there) * 2 <= 0.99 * moved


@pytest.mark.parametrize("metric", ["accuracy", "neg_mean_squared_error", "r2"])
@pytest.mark.parametrize("whole", [WHOLE, Pure(1.0), ZeroConcentrated(0.1), Gaussian(0.2)])
def test_a_score_is_drawn_and_its_ledger_entered(metric: Any, whole: Any) -> None:
    budget = Budget(whole)
    bounds = None if metric == "accuracy" else BOUNDS
    score = PrivateScore(budget.share(0.5), metric, bounds)
    values = [score(Given(), *data()) for _ in range(2)]
    assert values[0] != values[1]
    assert [(draw.by, draw.released) for draw in budget.history] == [("PrivateScore", metric)] * 2
    sensitivity = {"accuracy": 1.0, "neg_mean_squared_error": 4.0, "r2": 20**0.5}[metric] / 200
    assert all(draw.ledger[0].sensitivity == sensitivity for draw in budget.history)
    delta = whole.delta if isinstance(whole, Approximate) else None
    together = compose(budget.ledger, type(whole), delta).parameters
    assert together == pytest.approx(whole.parameters, rel=1e-9)
    with pytest.raises(Overdrawn, match="PrivateScore asks for 50 %"):
        score(Given(), *data())


def test_the_noise_is_that_of_the_ledger() -> None:
    budget = Budget(Gaussian(1.0))
    score = PrivateScore(budget.share(0.001), random_state=0)
    X, _ = data(50)
    found = np.array([score(Given(), X, X[:, 0]) for _ in range(1000)])
    scale = budget.history[0].ledger[0].scale
    assert scale == pytest.approx(1 / 50 / 0.001**0.5, rel=1e-9)
    assert abs(found.mean() - 1.0) < 4 * scale / 1000**0.5
    assert 0.9 < found.std() / scale < 1.1


def regression(share: Any) -> NoisyGradientRegression:
    return NoisyGradientRegression(share, sigma=0.1)


def test_fits_and_scores_of_a_search_are_counted() -> None:
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (3000, 3))
    y = X @ [0.5, 0.0, -0.5]
    budget = Budget(WHOLE)
    score = PrivateScore(budget.share(0.05), "r2", (-1.0, 1.0))
    search = GridSearchCV(
        regression(budget.share(0.1)),
        {"steps": [1, 6]},
        cv=KFold(3),
        scoring=score,
        error_score="raise",
    )
    search.fit(X, y)
    by = [draw.by for draw in budget.history]
    assert by.count("PrivateScore") == 6
    assert by.count("NoisyGradientRegression") == 7
    assert budget.left is None
    assert search.best_params_["steps"] in (1, 6)
    spent = compose(budget.ledger, Approximate, 1e-6).parameters
    assert spent == pytest.approx(WHOLE.parameters, rel=1e-9)


def test_a_plain_score_is_not_counted() -> None:
    """The control: such a search reads held-out records for which nothing is drawn."""
    budget = Budget(WHOLE)
    X, y = data()
    cross_val_score(regression(budget.share(0.1)), X, y, cv=KFold(3))
    assert [draw.by for draw in budget.history] == ["NoisyGradientRegression"] * 3


@pytest.mark.parametrize("seed", [0, np.random.default_rng(0), np.random.RandomState(0)])
def test_scores_of_one_seed_have_other_noise(seed: Any) -> None:
    X, y = data()
    score = scorer("accuracy", random_state=seed)
    assert score(Given(), X, y) != score(Given(), X, y)


def test_no_finite_record_decides_an_error_or_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    X, y = data(10)
    for value in (1e308, -1e308, 5e-324, 0.0):
        for metric in ("neg_mean_squared_error", "r2"):
            X[0], y[0] = value, -value
            assert np.isfinite(scorer(metric)(Given(), X, y))
    X[0] = np.nan  # what a model may make of such a record
    assert np.isfinite(scorer("r2")(Given(), X, y))
    for same in (np.full(10, BOUNDS[0]), np.full(10, 1e300)):
        assert np.isfinite(scorer("r2")(Given(), X, same))
    assert len(recwarn) == 0


def test_bad_data_are_refused_and_nothing_is_drawn() -> None:
    X, y = data(10)
    for metric in ("accuracy", "r2"):
        score = scorer(metric)
        for rows, labels in ((X, y[:-1]), (X[:0], y[:0]), (X, y[:, None])):
            with pytest.raises(ValueError, match="one number or label for each record"):
                score(Given(), rows, labels)
        assert score.share.budget.history == ()
        assert score.share.budget.left == WHOLE
    with pytest.raises(ValueError, match="y contains NaN"):
        scorer("r2")(Given(), X, np.r_[np.nan, y[1:]])


def test_bad_options_are_refused_by_name() -> None:
    share = Budget(WHOLE).share(0.5)
    with pytest.raises(TypeError, match="share must be a share of a Budget"):
        PrivateScore(WHOLE)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="central"):
        PrivateScore(Budget(Pure(1.0, "label")).share(0.5))
    with pytest.raises(ValueError, match="metric must be one of"):
        PrivateScore(share, "roc_auc")  # type: ignore[arg-type]
    for bounds in (None, 3.0, (1.0,), (1.0, 2.0, 3.0), (2.0, 1.0), (0.0, np.inf), ("a", "b")):
        with pytest.raises(ValueError, match="response_bounds"):
            PrivateScore(share, "r2", bounds)  # type: ignore[arg-type]
    assert "accuracy" in repr(PrivateScore(share))


def test_an_unpickled_score_is_closed() -> None:
    score = pickle.loads(pickle.dumps(scorer("accuracy")))
    with pytest.raises(RuntimeError, match="n_jobs=1"):
        score(Given(), *data())
