"""Losses and noisy hard thresholding: contract, hand values, noise, privacy spent."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.utils.estimator_checks import check_estimator

from estimators.core.accounting import compose, delta_at
from estimators.core.losses import LogisticLoss, Loss, SquaredLoss, chosen_loss
from estimators.sparse_erm import (
    NoisyHardThresholding,
    NoisyHardThresholdingClassifier,
    hard_threshold,
)
from minimax.core.calibration import repeated_noise
from minimax.core.privacy import Approximate, Gaussian, ZeroConcentrated
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from tests.contract.estimator_examples import Huber

ALPHA = 1e-6
BUDGETS = [Approximate(1.0, 1e-6), ZeroConcentrated(0.3), Gaussian(0.7)]
QUIET = Gaussian(1e9)
"""A budget so large that the noise cannot be seen."""


LOSSES = [SquaredLoss(), LogisticLoss(), Huber()]


def regression(
    n: int = 5000, d: int = 50, seed: int = 0, noise: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal rows, coefficients 2 and -1 at 7 and 30."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, 2 * X[:, 7] - X[:, 30] + noise * rng.standard_normal(n)


def labels(X: np.ndarray, seed: int = 1) -> np.ndarray:
    """0/1 labels whose log-odds are 2 x_7 - x_30."""
    odds = 2 * X[:, 7] - X[:, 30]
    return (np.random.default_rng(seed).random(len(X)) < 1 / (1 + np.exp(-odds))).astype(int)


@pytest.mark.parametrize(
    "estimator",
    [
        *[NoisyHardThresholding(budget) for budget in BUDGETS],
        NoisyHardThresholding(loss=Huber(), l2=0.1, radius=2.0),
        NoisyHardThresholding(calibration="paper"),
        *[NoisyHardThresholdingClassifier(budget) for budget in BUDGETS],
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator: Any) -> None:
    check_estimator(estimator)


# Losses


def test_losses_by_hand() -> None:
    p, y = np.array([0.0, 2.0, 1000.0, -1000.0]), np.array([1.0, 0.0, 1.0, 1.0])
    assert SquaredLoss().slope(p, y).tolist() == [-1, 2, 999, -1001]
    assert SquaredLoss().value(p, y).tolist() == [0.5, 2, 999**2 / 2, 1001**2 / 2]
    expected = [-0.5, 1 / (1 + math.exp(-2)), 0, -1]
    assert LogisticLoss().slope(p, y) == pytest.approx(expected, abs=1e-15)
    expected = [math.log(2), math.log1p(math.exp(2)), 0, 1000]
    assert LogisticLoss().value(p, y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_slope_is_the_derivative_and_smoothness_bounds_the_second(loss: Loss) -> None:
    p = np.linspace(-4, 4, 81) + 0.013
    for y in (0.0, 1.0):
        y_all, h = np.full_like(p, y), 1e-5
        numeric = (loss.value(p + h, y_all) - loss.value(p - h, y_all)) / (2 * h)
        assert loss.slope(p, y_all) == pytest.approx(numeric, abs=1e-8)
        assert loss.slope(p, y_all) != pytest.approx(1.01 * numeric, abs=1e-8)
        bend = np.diff(loss.slope(p, y_all)) / np.diff(p)
        assert bend.max() <= loss.smoothness * (1 + 1e-9)
        assert bend.max() > 0.95 * loss.smoothness  # and no smaller number would do


def test_losses_are_chosen_by_name_or_given() -> None:
    assert chosen_loss("squared") == SquaredLoss()
    assert chosen_loss("logistic") == LogisticLoss()
    mine = Huber()
    assert chosen_loss(mine) is mine


# One step by hand


def test_hard_threshold_keeps_the_largest() -> None:
    v = np.array([1.0, -3.0, 0.5, 2.0])
    assert hard_threshold(v, 2).tolist() == [0, -3, 0, 2]
    assert hard_threshold(v, 4).tolist() == v.tolist()
    assert v[0] == 1.0


def test_steps_by_hand() -> None:
    X, y = np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([10.0, 0.5])
    # gradients at 0: -10 (3, 4), of norm 50, shortened to norm 2; and -0.5 (0, 1)
    first = (2 * np.array([0.6, 0.8]) + [0, 0.5]) / 2
    options: dict[str, Any] = {"clip": 2.0, "step_size": 0.5, "random_state": 0}
    one = NoisyHardThresholding(QUIET, s=2, steps=1, **options).fit(X, y)
    assert one.coef_ == pytest.approx(0.5 * first, abs=1e-7)
    thin = NoisyHardThresholding(QUIET, s=1, steps=1, **options).fit(X, y)
    assert thin.coef_ == pytest.approx([0, 0.5 * first[1]], abs=1e-7)
    assert thin.support_.tolist() == [1]
    near = NoisyHardThresholding(QUIET, s=2, steps=1, radius=0.1, **options).fit(X, y)
    assert near.coef_ == pytest.approx(0.1 * first / np.linalg.norm(first), abs=1e-7)
    # second step: the first record's residual is still far above the clip
    start = 0.5 * first
    residual = start[1] - 0.5
    second = (-2 * np.array([0.6, 0.8]) + residual * np.array([0, 1])) / 2
    two = NoisyHardThresholding(QUIET, s=2, steps=2, l2=0.3, **options).fit(X, y)
    assert two.coef_ == pytest.approx(start - 0.5 * (second + 0.3 * start), abs=1e-7)


def test_the_penalty_is_never_clipped() -> None:
    X, y = np.zeros((4, 1)), np.zeros(4)
    options: dict[str, Any] = {"s": 1, "clip": 1.0, "step_size": 0.5, "l2": 1.0}
    loud = Gaussian(1e-6)  # one step ends far from 0; the next must halve it
    one = NoisyHardThresholding(loud, steps=1, random_state=0, **options).fit(X, y)
    two = NoisyHardThresholding(loud, steps=2, random_state=0, **options).fit(X, y)
    noise = np.random.default_rng(0).standard_normal(2)
    assert one.coef_ == pytest.approx(-0.5 * one.noise_scale_ * noise[:1])
    expected = -0.5 * two.noise_scale_ * (0.5 * noise[0] + noise[1])
    assert two.coef_ == pytest.approx([expected])


def test_the_automatic_step_does_not_look_at_the_data() -> None:
    X, y = regression(50)
    fitted = [
        NoisyHardThresholding(loss=loss, l2=0.5, feature_scale=3.0).fit(scale * X, y > 0)
        for loss in ("squared", "logistic")
        for scale in (1, 1000)
    ]
    assert [f.step_size_ for f in fitted] == [1 / 9.5] * 2 + [1 / (9 / 4 + 0.5)] * 2


# Noise and privacy


def test_the_noise_has_the_stated_law() -> None:
    X, y = np.zeros((10, 40)), np.ones(10)
    fits = [
        NoisyHardThresholding(ZeroConcentrated(0.5), s=40, steps=1, clip=3.0, random_state=i).fit(
            X, y
        )
        for i in range(100)
    ]
    noise = np.concatenate([f.coef_ for f in fits])  # the step is 1
    tau = 2 * 3.0 / 10  # mu = 1
    assert fits[0].noise_scale_ == pytest.approx(tau)
    assert stats.kstest(noise, stats.norm(scale=tau).cdf).pvalue > ALPHA
    assert stats.kstest(noise, stats.norm(scale=1.3 * tau).cdf).pvalue < ALPHA
    fifty = NoisyHardThresholding(ZeroConcentrated(0.5), steps=50, clip=3.0).fit(X, y)
    assert fifty.noise_scale_ == pytest.approx(tau * math.sqrt(50))


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("kind", [NoisyHardThresholding, NoisyHardThresholdingClassifier])
def test_the_ledger_reproduces_the_budget(budget: Any, kind: Any) -> None:
    X, y = regression(60)
    fitted = kind(budget, s=3, steps=7, clip=2.0).fit(X, y > 0)
    (entry,) = fitted.ledger_
    assert (entry.count, entry.norm, entry.sensitivity) == (7, "l2", 2 * 2.0 / 60)
    assert type(fitted.privacy_) is type(budget)
    for name, value in budget.parameters.items():
        assert fitted.privacy_.parameters[name] == pytest.approx(value, rel=1e-9)
    delta = budget.parameters.get("delta")
    assert compose(fitted.ledger_, type(budget), delta) == fitted.privacy_
    by_hand = ZeroConcentrated(7 * (entry.sensitivity / entry.scale) ** 2 / 2)
    assert compose(fitted.ledger_, ZeroConcentrated).parameters["rho"] == pytest.approx(by_hand.rho)


def test_printed_noise_for_zcdp_spends_twice_the_budget() -> None:
    X, y = regression(60)
    budget = ZeroConcentrated(0.3)
    paper = NoisyHardThresholding(budget, steps=7, clip=2.0, calibration="paper").fit(X, y)
    assert paper.noise_scale_**2 == pytest.approx(7 * 2.0**2 / (60**2 * 0.3))
    assert paper.privacy_.parameters["rho"] == pytest.approx(0.6, rel=1e-12)
    right_for = repeated_noise(budget, math.sqrt(2) * 2.0 / 60, 7)  # a sensitivity sqrt(2) G/n
    assert paper.noise_scale_ == pytest.approx(right_for, rel=1e-12)
    ours = NoisyHardThresholding(budget, steps=7, clip=2.0).fit(X, y)
    assert ours.privacy_.parameters["rho"] == pytest.approx(0.3, rel=1e-12)


def test_printed_noise_for_epsilon_delta_spends_epsilon_three() -> None:
    X, y = regression(60)
    budget = Approximate(1.0, 1e-5)
    paper = NoisyHardThresholdingClassifier(budget, steps=7, clip=2.0, calibration="paper")
    paper.fit(X, y > 0)
    log_term = math.log(1e5)
    assert paper.noise_scale_**2 == pytest.approx(7 * 2.0**2 * log_term / 60**2)
    rho = compose(paper.ledger_, ZeroConcentrated).parameters["rho"]
    assert rho == pytest.approx(2 / log_term)
    assert rho == pytest.approx(0.174, abs=5e-4)
    assert rho + 2 * math.sqrt(rho * log_term) == pytest.approx(3.0, abs=0.005)  # Lemma 3.4
    exact = compose(paper.ledger_, Approximate, 1e-5)
    assert exact.parameters["epsilon"] == pytest.approx(2.397, abs=5e-4)
    assert paper.privacy_.parameters["epsilon"] == 1.0
    assert paper.privacy_.parameters["delta"] == delta_at(paper.ledger_, 1.0)
    assert paper.privacy_.parameters["delta"] == pytest.approx(0.01735, abs=5e-6)


# Sparse designs


@pytest.mark.parametrize("loss", ["squared", "logistic", Huber()], ids=str)
def test_sparse_and_dense_designs_give_the_same(loss: Any) -> None:
    rng = np.random.default_rng(0)
    rows = sparse.random(300, 40, 0.1, random_state=rng, data_rvs=rng.standard_normal)
    y = (rng.random(300) < 0.5).astype(float)
    options: dict[str, Any] = {"s": 5, "loss": loss, "clip": 0.5, "random_state": 0}
    dense = NoisyHardThresholding(**options).fit(rows.toarray(), y)
    for form in ("csr", "csc", "coo"):
        fitted = NoisyHardThresholding(**options).fit(rows.asformat(form), y)
        assert fitted.coef_ == pytest.approx(dense.coef_, abs=1e-10)
        assert fitted.predict(rows.tocsr()) == pytest.approx(dense.predict(rows.toarray()))
    other = NoisyHardThresholding(**{**options, "random_state": 1}).fit(rows.tocsr(), y)
    assert other.coef_ != pytest.approx(dense.coef_, abs=1e-10)


def test_large_sparse_designs_are_never_made_dense() -> None:
    rng, (n, d), per_row = np.random.default_rng(0), (20_000, 100_000), 20  # dense: 16 GB
    indices = rng.integers(0, d, (n, per_row))
    indices[:, 0] = np.arange(n) % 10  # features 0..9 are frequent
    X = sparse.csr_matrix(
        (np.ones(n * per_row), indices.ravel(), np.arange(n + 1) * per_row), shape=(n, d)
    )
    y = (np.arange(n) % 10 < 5).astype(int)
    tracemalloc.start()
    classifier = NoisyHardThresholdingClassifier(
        Gaussian(10.0), s=10, clip=5.0, step_size=20.0, steps=5, random_state=0
    ).fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e8
    assert classifier.support_.tolist() == list(range(10))
    assert classifier.score(X, y) > 0.95


# What the estimators find


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("loss", ["squared", Huber()], ids=str)
def test_an_obvious_support_is_found(budget: Any, loss: Any) -> None:
    X, y = regression(20_000)
    fitted = NoisyHardThresholding(budget, s=2, loss=loss, clip=10.0, random_state=0).fit(X, y)
    assert fitted.support_.tolist() == [7, 30]
    # the last step's noise on two coordinates, what is left of the start, and sampling error
    assert fitted.coef_[[7, 30]] == pytest.approx([2, -1], abs=8 * fitted.noise_scale_ + 0.1)
    starved = NoisyHardThresholding(Gaussian(1e-4), s=2, loss=loss, clip=10.0, random_state=0).fit(
        X, y
    )
    assert starved.support_.tolist() != [7, 30]


def test_huge_records_do_no_harm() -> None:
    X, y = regression(20_000)
    X[:5], y[:5] = 1e300, -1e300
    X[5:9], y[5:9] = 1e-300, 1e300
    fitted = NoisyHardThresholding(QUIET, s=2, clip=10.0, random_state=0).fit(X, y)
    assert fitted.support_.tolist() == [7, 30]
    assert fitted.coef_[[7, 30]] == pytest.approx([2, -1], abs=0.1)
    wild = NoisyHardThresholding(
        ZeroConcentrated(1e-250), s=2, clip=1e49, step_size=1e49, radius=1.0, random_state=0
    ).fit(X, y)
    assert np.linalg.norm(wild.coef_) == pytest.approx(1.0)


def test_the_classifier_gives_probabilities() -> None:
    X, _ = regression(20_000)
    y = labels(X)
    fitted = NoisyHardThresholdingClassifier(
        ZeroConcentrated(1.0), s=2, clip=8.0, steps=15, random_state=0
    ).fit(X, np.array(["no", "yes"])[y])
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.coef_[[7, 30]] == pytest.approx([2, -1], abs=0.25)
    proba = fitted.predict_proba(X)
    assert proba.sum(axis=1) == pytest.approx(1.0)
    assert (fitted.predict(X) == "yes").tolist() == (proba[:, 1] > 0.5).tolist()
    assert ((fitted.decision_function(X) > 0) == (proba[:, 1] > 0.5)).all()
    for low in (0.1, 0.4, 0.7):  # among records given about p, a share of about p has label 1
        given = (proba[:, 1] > low) & (proba[:, 1] < low + 0.2)
        margin = 5 / (2 * math.sqrt(given.sum())) + 0.03
        assert y[given].mean() == pytest.approx(proba[given, 1].mean(), abs=margin)
    far = fitted.predict_proba(np.vstack([1e3 * X[:2], -1e3 * X[:2]]))
    assert np.isfinite(far).all()


def test_data_as_printed_in_the_experiments_return_the_opposite() -> None:
    X, _ = regression(20_000)
    flipped = 1 - labels(X)  # P(y = 1) = 1/(1 + exp <x, theta>), WG19 §6.1
    fitted = NoisyHardThresholdingClassifier(QUIET, s=2, clip=8.0, steps=15).fit(X, flipped)
    assert fitted.coef_[[7, 30]] == pytest.approx([-2, 1], abs=0.25)


def test_given_classes_hide_which_labels_occur() -> None:
    X, _ = regression(40)
    options: dict[str, Any] = {"classes": ("b", "a"), "random_state": 0}
    fitted = NoisyHardThresholdingClassifier(**options).fit(X, ["a"] * 40)
    assert fitted.classes_.tolist() == ["b", "a"]
    swapped = NoisyHardThresholdingClassifier(classes=("a", "b"), random_state=0)
    assert not np.array_equal(swapped.fit(X, ["a"] * 40).coef_, fitted.coef_)


# Risk


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_risk_stays_below_its_bound(loss: Any) -> None:
    n, d = 50_000, 20
    problem = SparseRegressionProblem(n, d, 1, sigma=0.5)
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n, d))
    beta = np.zeros(d)
    beta[4] = 0.6
    odds = 1 / (1 + np.exp(-X @ beta))
    y = X @ beta + 0.5 * rng.standard_normal(n) if loss == "squared" else rng.random(n) < odds

    def estimator(mu: float, seed: int = 0) -> NoisyHardThresholding:
        step, clip = (1.0, 5.0) if loss == "squared" else (4.0, 1.0)
        options: dict[str, Any] = {"clip": clip * math.sqrt(d), "step_size": step, "radius": 1.0}
        return NoisyHardThresholding(Gaussian(mu), loss=loss, random_state=seed, **options)

    def risk(mu: float) -> float:
        return float(
            np.mean([np.sum((estimator(mu, i).fit(X, y).coef_ - beta) ** 2) for i in range(5)])
        )

    allowed = estimator(1.0).risk_bound(problem).value(**problem.point)
    assert 0 < risk(1.0) < allowed < 0.1
    assert risk(0.001) > allowed  # a budget a thousand times smaller would have shown


@pytest.mark.parametrize(
    "options", [{}, {"radius": 1.0, "l2": 0.1}, {"radius": 1.0, "loss": Huber()}], ids=str
)
def test_no_bound_is_claimed_beyond_what_is_proved(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="risk_bound covers"):
        NoisyHardThresholding(**options).risk_bound(SparseRegressionProblem(1000, 20, 1))
