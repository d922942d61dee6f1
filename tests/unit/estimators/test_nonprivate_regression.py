"""Non-private regression controls: contract, hand values, recovery, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.utils.estimator_checks import check_estimator

from estimators.controls import regression as nonprivate_regression
from estimators.controls.regression import IterativeHardThresholding, LeastSquares, Risk
from estimators.core.losses import LogisticLoss, SquaredLoss, chosen_loss
from tests.contract.estimator_examples import Huber

pytestmark = pytest.mark.oldest

METHODS = ["pursuit", "gradient"]


def sparse_problem(
    n: int, d: int, s: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standard normal rows, s coefficients between 1/2 and 3/2 of either sign, noise 0.3."""
    rng = np.random.default_rng(seed)
    X, beta = rng.standard_normal((n, d)), np.zeros(d)
    beta[rng.choice(d, s, replace=False)] = rng.choice([-1, 1], s) * rng.uniform(0.5, 1.5, s)
    return X, X @ beta + 0.3 * rng.standard_normal(n), beta


@pytest.mark.parametrize(
    "estimator",
    [
        IterativeHardThresholding(method="gradient"),
        IterativeHardThresholding(loss=Huber()),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator: Any) -> None:
    check_estimator(estimator)


@pytest.mark.parametrize("estimator", [LeastSquares(), IterativeHardThresholding()], ids=str)
def test_they_claim_no_privacy(estimator: Any) -> None:
    fitted = estimator.fit([[1.0], [2.0]], [2.0, 4.0])
    assert fitted.coef_ == pytest.approx([2.0])
    assert fitted.privacy_ is None
    assert fitted.ledger_ == ()


# Least squares


@pytest.mark.parametrize(("n", "d"), [(30, 4), (4, 30), (10, 10)])
def test_least_squares_is_the_shortest_solution(n: int, d: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, d)) * np.logspace(-8, 8, d), rng.standard_normal(n)
    expected = np.linalg.pinv(X / np.logspace(-8, 8, d)) @ y / np.logspace(-8, 8, d)
    if n >= d:  # rescaling columns changes which solution is shortest
        assert LeastSquares().fit(X, y).coef_ == pytest.approx(expected, rel=1e-9)
    X = rng.standard_normal((n, d))
    assert LeastSquares().fit(X, y).coef_ == pytest.approx(np.linalg.pinv(X) @ y, rel=1e-9)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-6, 1e-3])
def test_nearly_dependent_columns(angle: float) -> None:
    rng = np.random.default_rng(0)
    X, z = rng.standard_normal((50, 3)), rng.standard_normal(50)
    X = np.column_stack([X, X[:, 0] + angle * z])
    beta = np.array([1.0, 2.0, 3.0, 1.0])  # the shortest of those that fit, if angle = 0
    fitted = LeastSquares().fit(X, X @ beta)
    assert fitted.predict(X) == pytest.approx(X @ beta, abs=1e-11)
    assert fitted.coef_ == pytest.approx(beta, abs=1e-11 / angle if angle else 1e-9)
    empty = np.column_stack([X[:, :3], np.zeros(50)])
    assert LeastSquares().fit(empty, empty @ beta).coef_ == pytest.approx([1, 2, 3, 0])


def test_cholesky_is_used_only_where_it_is_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    original = np.linalg.lstsq
    monkeypatch.setattr(
        nonprivate_regression.np.linalg,
        "lstsq",
        lambda *rest, **named: calls.append(1) or original(*rest, **named),
    )
    X, y, _ = sparse_problem(50, 5, 2)
    LeastSquares().fit(X, y)
    assert calls == []
    LeastSquares().fit(np.column_stack([X, X[:, 0] + 1e-6 * X[:, 1]]), y)
    assert calls == [1]


# Iterative hard thresholding


@pytest.mark.parametrize("method", METHODS)
def test_the_support_is_recovered(method: Any) -> None:
    for seed in range(3):
        X, y, beta = sparse_problem(300, 600, 12, seed)
        fitted = IterativeHardThresholding(12, method=method).fit(X, y)
        assert fitted.support_.tolist() == np.flatnonzero(beta).tolist()
        best = np.linalg.lstsq(X[:, fitted.support_], y, rcond=None)[0]
        assert fitted.coef_[fitted.support_] == pytest.approx(best, rel=1e-8)
        hopeless = IterativeHardThresholding(12, method=method).fit(X, y[::-1])
        assert hopeless.support_.tolist() != np.flatnonzero(beta).tolist()


def test_refitting_is_optional() -> None:
    X, y, _ = sparse_problem(300, 600, 12)
    options: dict[str, Any] = {"method": "gradient", "steps": 3}
    rough = IterativeHardThresholding(12, refit=False, **options).fit(X, y)
    fine = IterativeHardThresholding(12, refit=True, **options).fit(X, y)
    assert fine.support_.tolist() == rough.support_.tolist()
    risk = Risk(X, y, SquaredLoss())
    assert risk.value(fine.coef_) < risk.value(rough.coef_) * (1 - 1e-6)
    assert rough.n_iter_ == 3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("l2", [1e-3, 0.1, 0.7])
def test_a_ridge_is_the_closed_form_on_the_support(method: Any, l2: float) -> None:
    """(A'A/n + l2 I)^{-1} A'y/n; without the ridge it is not that."""
    X, y, beta = sparse_problem(300, 600, 12)
    A = X[:, beta != 0]
    exact = np.linalg.solve(A.T @ A / 300 + l2 * np.eye(12), A.T @ y / 300)
    ridge, plain = (
        IterativeHardThresholding(12, method=method, l2=penalty).fit(X, y) for penalty in (l2, 0.0)
    )
    assert ridge.support_.tolist() == plain.support_.tolist() == np.flatnonzero(beta).tolist()
    assert ridge.coef_[beta != 0] == pytest.approx(exact, rel=1e-8)
    assert plain.coef_[beta != 0] != pytest.approx(exact, rel=l2 / 10)


@pytest.mark.parametrize("method", METHODS)
def test_a_logistic_ridge_has_no_gradient_left_on_the_support(method: Any) -> None:
    """Labels that a plane parts have no finite optimum without a ridge."""
    X, _, beta = sparse_problem(300, 600, 4)
    labels = (X @ beta > 0).astype(float)
    fitted = IterativeHardThresholding(4, "logistic", method=method, l2=1e-2).fit(X, labels)
    inside, loss = fitted.support_, LogisticLoss()
    assert inside.tolist() == np.flatnonzero(beta).tolist()

    def gradient(l2: float) -> np.ndarray:
        return Risk(X, labels, loss, l2=l2).gradient(fitted.coef_)[inside]

    assert np.abs(gradient(1e-2)).max() < 1e-8 < 1e-3 < np.abs(gradient(0.0)).max()


@pytest.mark.parametrize("l2", [0.0, 2.0])
@pytest.mark.parametrize("loss", ["squared", "logistic", Huber()], ids=str)
def test_every_gradient_step_lowers_the_risk(loss: Any, l2: float) -> None:
    X, y, beta = sparse_problem(40, 200, 8)
    common = np.random.default_rng(1).standard_normal((40, 1))  # makes the columns correlated
    X, y = X + common, y + common[:, 0] * beta.sum()
    y = (y > 0).astype(float) if loss == "logistic" else y
    risk = Risk(X, y, chosen_loss(loss), l2=l2)

    def rises() -> np.ndarray:
        options: dict[str, Any] = {"method": "gradient", "refit": False, "l2": l2}
        fits = [IterativeHardThresholding(8, loss, steps=k, **options) for k in range(1, 9)]
        return np.diff([risk.value(estimator.fit(X, y).coef_) for estimator in fits])

    assert np.all(rises() < 0)
    original = Risk.step_along
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Risk, "step_along", lambda self, v: 10 * original(self, v))
        assert np.any(rises() > 0)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_step_is_taken_on_a_support_that_stays(seed: int) -> None:
    """Orthonormal columns: the first step is exact, the second sees it. Otherwise steepest descent
    shrinks the error by (k - 1)/(k + 1) or better, k the condition number on the support."""
    fitted = IterativeHardThresholding(4, method="gradient", refit=False)
    X, y, beta = sparse_problem(400, 40, 4, seed)
    orthonormal = np.linalg.qr(X)[0]
    assert fitted.fit(orthonormal, orthonormal @ beta).n_iter_ == 2
    fitted.fit(X, y)
    assert fitted.support_.tolist() == np.flatnonzero(beta).tolist()
    k = np.linalg.cond(X[:, fitted.support_]) ** 2
    enough = math.log(fitted.tol) / math.log((k - 1) / (k + 1))
    assert 2 < fitted.n_iter_ <= enough + 3 < 25


@pytest.mark.parametrize("method", METHODS)
def test_logistic_loss_is_minimised_on_the_support(method: Any) -> None:
    X, score, beta = sparse_problem(2000, 100, 4)
    y = (np.random.default_rng(1).random(2000) < 1 / (1 + np.exp(-score))).astype(float)
    fitted = IterativeHardThresholding(4, "logistic", method=method).fit(X, y)
    assert fitted.support_.tolist() == np.flatnonzero(beta).tolist()
    part, loss = X[:, fitted.support_], LogisticLoss()
    best = optimize.minimize(
        lambda b: loss.value(part @ b, y).mean(),
        np.zeros(4),
        jac=lambda b: part.T @ loss.slope(part @ b, y) / 2000,
        tol=1e-12,
    )
    assert fitted.coef_[fitted.support_] == pytest.approx(best.x, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_users_loss_resists_outliers(method: Any) -> None:
    X, y, beta = sparse_problem(600, 100, 4)
    y[:20] = 1e4
    robust = IterativeHardThresholding(4, Huber(), method=method).fit(X, y)
    assert robust.support_.tolist() == np.flatnonzero(beta).tolist()
    assert robust.coef_ == pytest.approx(beta, abs=0.2)
    squared = IterativeHardThresholding(4, method=method).fit(X, y)
    assert np.abs(squared.coef_ - beta).max() > 5


@pytest.mark.parametrize("method", METHODS)
def test_sparse_and_dense_designs_give_the_same(method: Any) -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(400, 60, 0.2, random_state=rng, data_rvs=rng.standard_normal, format="csr")
    y = X @ np.r_[np.ones(5), np.zeros(55)] + 0.1 * rng.standard_normal(400)
    dense = IterativeHardThresholding(5, method=method).fit(X.toarray(), y)
    assert dense.support_.tolist() == [0, 1, 2, 3, 4]
    assert IterativeHardThresholding(5, method=method).fit(X, y).coef_ == pytest.approx(
        dense.coef_, abs=1e-10
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("X", "y", "s"),
    [
        (np.ones((5, 3)), np.ones(5), 3),  # dependent columns
        (np.ones((5, 3)), np.zeros(5), 2),  # nothing to fit
        (np.zeros((5, 3)), np.ones(5), 2),  # nothing to fit with
        (np.eye(3), np.ones(3), 3),  # all coordinates
        (np.ones((1, 4)), np.ones(1), 3),  # fewer records than coordinates
        (np.full((5, 3), 1e300), np.ones(5), 1),  # clamped
    ],
    ids=["dependent", "zero y", "zero X", "all", "one record", "huge"],
)
def test_degenerate_data(method: Any, X: np.ndarray, y: np.ndarray, s: int) -> None:
    fitted = IterativeHardThresholding(s, method=method).fit(X, y)
    assert np.isfinite(fitted.coef_).all()
    assert len(fitted.support_) <= s
    if X.any() and X.max() == 1:
        assert fitted.predict(X) == pytest.approx(y, abs=1e-6)


def test_pursuit_costs_few_passes_over_the_data() -> None:
    X, y, beta = sparse_problem(1500, 1500, 15)
    passes: list[int] = []
    original = Risk.gradient

    def counting(self: Risk, coef: np.ndarray) -> np.ndarray:
        passes.append(1)
        return original(self, coef)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Risk, "gradient", counting)
        fitted = IterativeHardThresholding(15).fit(X, y)
    assert fitted.support_.tolist() == np.flatnonzero(beta).tolist()
    assert len(passes) <= 4


# Bad input


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"s": 4}, ValueError, "s must lie between 1 and d = 3"),
        ({"s": 1.5}, TypeError, "s must be an integer"),
        ({"loss": "hinge"}, ValueError, "loss must be"),
        ({"loss": 3.0}, TypeError, "loss must have"),
        ({"method": "lasso"}, ValueError, "method must be"),
        ({"steps": 0}, ValueError, "steps"),
        ({"tol": 0.0}, ValueError, "tol"),
        ({"tol": math.nan}, ValueError, "tol"),
        ({"l2": -1.0}, ValueError, "l2"),
        ({"l2": math.inf}, ValueError, "l2"),
        ({"l2": True}, TypeError, "l2"),
        ({"refit": "yes"}, TypeError, "refit"),
    ],
    ids=str,
)
def test_bad_options_are_refused(
    options: dict[str, Any], error: type[Exception], match: str
) -> None:
    estimator = IterativeHardThresholding(**options)
    with pytest.raises(error, match=match):
        estimator.fit(np.ones((6, 3)), np.ones(6))
    assert not hasattr(estimator, "coef_")


@pytest.mark.parametrize("kind", [LeastSquares, IterativeHardThresholding])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.full((6, 3), np.nan), np.ones(6)),
        (np.ones((6, 3)), np.full(6, np.inf)),
        (np.ones((6, 3)), np.ones(5)),
        (np.ones(6), np.ones(6)),
        (np.ones((6, 3)), None),
    ],
    ids=["nan", "inf y", "lengths", "1d", "no y"],
)
def test_bad_data_are_refused(kind: Any, X: Any, y: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - scikit-learn words these
        kind().fit(X, y)
