"""Private hard thresholding: contract, values, privacy spent, sparse designs."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from estimators.core.accounting import compose, delta_at
from estimators.core.design import clipped_entries
from estimators.sparse_regression import PrivateHardThresholding
from minimax.core.bound import OutsideRegime
from minimax.core.privacy import Approximate, Pure, ZeroConcentrated
from minimax.problems.sparse_regression.problem import SparseRegressionProblem

ALPHA = 1e-6
BUDGETS = [Pure(1.0), Approximate(1.0, 1e-6), ZeroConcentrated(0.1)]
LARGE = [Pure(100.0), Approximate(20.0, 1e-6), ZeroConcentrated(20.0)]
ENDLESS = ZeroConcentrated(1e20)
APPROXIMATE = Approximate(1.0, 1e-6)
D, SUPPORT, BETA = 40, [3, 20, 31, 39], np.array([0.5, -0.5, 0.5, -0.5])
Pair = tuple[np.ndarray, np.ndarray]


def sample(n: int, sigma: float = 0.1, seed: int = 0) -> Pair:
    """Signs of size 1/2 and beta of norm 1 on SUPPORT."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-0.5, 0.5], (n, D))
    return X, X[:, SUPPORT] @ BETA + sigma * rng.standard_normal(n)


@pytest.fixture(scope="module")
def easy() -> Pair:
    return sample(8000)


def spent_is(fitted: PrivateHardThresholding, budget: Any) -> None:
    """privacy_ is the budget; an (epsilon, delta) one may be accounted more tightly than spent."""
    spent, asked = fitted.privacy_.parameters, budget.parameters
    assert type(fitted.privacy_) is type(budget)
    if isinstance(budget, Approximate):
        assert spent["delta"] == asked["delta"]
        assert 0.1 * asked["epsilon"] < spent["epsilon"] <= asked["epsilon"] * (1 + 1e-9)
        rho = compose(fitted.ledger_, ZeroConcentrated).to_zcdp().rho
        assert rho == pytest.approx(budget.to_zcdp().rho, rel=1e-9)
    else:
        assert list(spent.values()) == pytest.approx(list(asked.values()), rel=1e-12)
        assert compose(fitted.ledger_, type(budget)) == fitted.privacy_


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateHardThresholding(APPROXIMATE, method="peeling", calibration="paper"),
        PrivateHardThresholding(ZeroConcentrated(0.1), R="quantile", steps=2),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator: Any) -> None:
    check_estimator(estimator)


# Hand values: with next to no noise the iterates are those of the clipped data


@pytest.mark.parametrize("method", ["gumbel", "peeling"])
@pytest.mark.parametrize(
    ("s", "steps", "radius", "expected"),
    [
        (2, 1, 10.0, [0.75, 0.5]),
        (2, 2, 10.0, [1.15625, 0.9375]),
        (1, 1, 10.0, [0.75, 0.0]),
        (1, 2, 10.0, [1.03125, 0.0]),
        # the ball of radius 1/2: the second step starts from 1/2, goes to 7/8 and comes back
        (1, 2, 0.5, [0.5, 0.0]),
        (2, 1, 0.5, [0.375 / math.hypot(0.75, 0.5), 0.25 / math.hypot(0.75, 0.5)]),
    ],
)
def test_steps_are_those_worked_by_hand(
    method: Any, s: int, steps: int, radius: float, expected: list[float]
) -> None:
    X, y = np.array([[1.0, 0.0], [0.5, -2.0]]), np.array([3.0, -1.0])
    fitted = PrivateHardThresholding(
        ENDLESS,
        s=s,
        entry_bound=1.0,
        R=2.0,
        radius=radius,
        step_size=1.0,
        steps=steps,
        method=method,
        random_state=0,
    ).fit(X, y)
    assert fitted.coef_ == pytest.approx(expected, abs=1e-6)
    assert fitted.n_iter_ == steps
    assert X.tolist() == [[1.0, 0.0], [0.5, -2.0]]
    assert y.tolist() == [3.0, -1.0]


def test_entries_are_copied_only_when_clipped() -> None:
    X = np.array([[0.5, -0.25], [0.0, 0.5]])
    assert clipped_entries(X, 0.5) is X
    assert clipped_entries(X, 0.3).tolist() == [[0.3, -0.25], [0.0, 0.3]]
    S = sparse.csr_array(X)
    assert clipped_entries(S, 0.5) is S
    clipped = clipped_entries(S, 0.3)
    assert type(clipped) is type(S)
    assert clipped.toarray().tolist() == [[0.3, -0.25], [0.0, 0.3]]
    assert S.toarray().tolist() == X.tolist()
    assert clipped_entries(sparse.csr_array((2, 2)), 0.5).nnz == 0


# Privacy and noise


@pytest.mark.parametrize("budget", LARGE, ids=str)
@pytest.mark.parametrize("method", ["gumbel", "peeling"])
def test_obvious_support_is_recovered_within_the_budget(
    easy: Pair, budget: Any, method: Any
) -> None:
    fitted = PrivateHardThresholding(
        budget, s=4, sigma=0.1, method=method, steps=2, random_state=0
    ).fit(*easy)
    assert fitted.support_.tolist() == SUPPORT
    assert np.flatnonzero(fitted.coef_).tolist() == SUPPORT
    # Noise on 4 values, and X'(y - X beta)/n, each of 4 off by 6 x 2 x 0.1/sqrt(n), but for ALPHA
    margin = fitted.noise_scale_ * math.log(4 / ALPHA) + 2 * 6 * 0.2 / math.sqrt(8000)
    assert margin < 0.25
    np.testing.assert_allclose(fitted.coef_[SUPPORT], BETA, atol=margin)
    spent_is(fitted, budget)
    assert np.allclose(fitted.predict(easy[0]), easy[0] @ fitted.coef_)
    starved = PrivateHardThresholding(Pure(1e-2), s=4, method=method, random_state=0).fit(*easy)
    assert starved.support_.tolist() != SUPPORT


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("method", ["gumbel", "peeling"])
@pytest.mark.parametrize("R", [2.0, "quantile"])
@pytest.mark.parametrize("steps", [1, 7])
def test_the_ledger_composes_to_the_budget(budget: Any, method: Any, R: Any, steps: int) -> None:
    X, y = sample(100)
    fitted = PrivateHardThresholding(
        budget, s=3, R=R, method=method, steps=steps, random_state=0
    ).fit(X, y)
    counts = [entry.count for entry in fitted.ledger_]
    values = 3 * steps if method == "peeling" else steps
    assert counts == [*([1] if R == "quantile" else []), 3 * steps, values]
    if isinstance(budget, Approximate) and R == "quantile":
        assert 0.1 < fitted.privacy_.parameters["epsilon"] <= 1 + 1e-9
    else:
        spent_is(fitted, budget)


def test_scales_are_the_closed_forms() -> None:
    X, y = sample(50)
    s, b, R, radius, eta, T = 4, 0.3, 2.0, 1.5, 3.0, 5
    move = 2 * eta * (R + 2 * b * radius) * b / 50

    def fitted(budget: Any, **options: Any) -> PrivateHardThresholding:
        return PrivateHardThresholding(
            budget, s=s, entry_bound=b, R=R, radius=radius, step_size=eta, steps=T, **options
        ).fit(X, y)

    gumbel = fitted(ZeroConcentrated(0.2), selection_share=0.25)
    assert gumbel.ledger_[0].sensitivity == pytest.approx(move)
    assert gumbel.selection_scale_ == pytest.approx(2 * move / math.sqrt(8 * 0.05 / (s * T)))
    assert gumbel.noise_scale_ == pytest.approx(move * math.sqrt(s * T / (2 * 0.15)))
    pure = fitted(Pure(0.8), selection_share=0.25)
    assert pure.selection_scale_ == pytest.approx(2 * move / (0.2 / (s * T)))
    assert pure.noise_scale_ == pytest.approx(s * T * move / 0.6)
    peeled = fitted(ZeroConcentrated(0.2), method="peeling")
    assert s * T * 2.5 * (move / peeled.noise_scale_) ** 2 == pytest.approx(0.2)
    printed = fitted(Approximate(0.5, 4e-4), method="peeling", calibration="paper")
    log_term = math.log(T / 4e-4)
    assert printed.noise_scale_ == pytest.approx(
        2 * move * 2 * math.sqrt(3 * s * log_term) / (0.5 / T)
    )
    assert printed.ledger_[0].sensitivity == pytest.approx(move)


def test_printed_calibration_reports_what_it_spends() -> None:
    X, y = sample(50)

    def fitted(epsilon: float, delta: float, steps: int) -> PrivateHardThresholding:
        return PrivateHardThresholding(
            Approximate(epsilon, delta),
            s=20,
            steps=steps,
            method="peeling",
            calibration="paper",
            random_state=0,
        ).fit(X, y)

    for steps in (1, 10):
        usual = fitted(0.5, 4e-4, steps)
        assert usual.privacy_.parameters["delta"] == 4e-4
        rho = 5 / 96 * 0.25 / (steps * math.log(steps / 4e-4))
        found = compose(usual.ledger_, ZeroConcentrated).to_zcdp().rho
        assert found == pytest.approx(rho)
        # Basic composition and twice the sensitivity: less than half of epsilon is spent.
        assert usual.privacy_.parameters["epsilon"] < 0.25
    beyond = fitted(100.0, 0.3, 1)
    assert beyond.privacy_.parameters["epsilon"] == 100.0
    assert beyond.privacy_.parameters["delta"] > 0.3
    assert beyond.privacy_.parameters["delta"] == delta_at(beyond.ledger_, 100.0)


@pytest.mark.parametrize(
    ("options", "law"),
    [
        ({"privacy": ZeroConcentrated(0.5)}, stats.norm),
        ({"privacy": Pure(1.0)}, stats.laplace),
        ({"privacy": ZeroConcentrated(0.5), "method": "peeling"}, stats.laplace),
    ],
    ids=["gaussian", "laplace", "peeling"],
)
def test_released_values_have_the_stated_noise(options: dict[str, Any], law: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(0, 3, (20, 3)), rng.normal(0, 3, 20)
    half = np.clip(X, -0.7, 0.7).T @ np.clip(y, -2.0, 2.0) / 20
    given: dict[str, Any] = {"entry_bound": 0.7, "R": 2.0, "radius": 1e6, "step_size": 1.0}
    fits = [
        PrivateHardThresholding(s=3, steps=1, random_state=i, **given, **options).fit(X, y)
        for i in range(400)
    ]
    noise = np.concatenate([(f.coef_ - half) / f.noise_scale_ for f in fits])
    assert stats.kstest(noise, law.cdf).pvalue > ALPHA
    assert stats.kstest(noise, law(scale=1.7).cdf).pvalue < ALPHA


# Choices made by theory


def test_theory_choices() -> None:
    X, y = sample(2000)
    budget = ZeroConcentrated(0.1)
    theory = PrivateHardThresholding(budget, s=4, sigma=2.0, radius=3.0, random_state=0).fit(X, y)
    assert theory.entry_bound_ == 0.5
    assert theory.step_size_ == pytest.approx(4.0)
    assert math.isclose(theory.R_, 3 + 8 * math.sqrt(math.log(2000)))
    given = PrivateHardThresholding(
        budget, s=4, entry_bound=0.2, R=2.5, L=2.0, sigma=2.0, random_state=0
    ).fit(X, y)
    assert (given.entry_bound_, given.R_) == (0.2, 2.5)
    assert given.step_size_ == pytest.approx(2 / (0.04 * 2.5))
    found = PrivateHardThresholding(budget, R="quantile", random_state=0).fit(X, 10 * y)
    assert 5 < found.R_ < 15  # |10 <x, beta>| is 10 with chance 1/8
    tuned = PrivateHardThresholding(budget, s="cv", s_grid=[16, 4, 9], random_state=0).fit(X, y)
    assert tuned.entry_bound_ == 0.5  # wide enough for the smallest s, and then <x, beta> for 16
    assert math.isclose(tuned.R_, 2 + 4 * math.sqrt(math.log(2000)))


def test_steps_balance_what_is_left_and_the_noise(easy: Pair) -> None:
    def steps(budget: Any, **options: Any) -> int:
        named = {"s": 4, "sigma": 0.1, "random_state": 0, **options}
        return PrivateHardThresholding(budget, **named).fit(*easy).n_iter_

    assert steps(ZeroConcentrated(1e-6)) == 1
    assert steps(ZeroConcentrated(0.5)) == 2
    assert 2 <= steps(ZeroConcentrated(50.0)) < steps(ENDLESS) < 20
    assert steps(ZeroConcentrated(0.5), L=3.0) > 10  # each step leaves .8 of the error
    assert steps(ENDLESS, L=3.0, step_size=100.0) == 100  # would diverge: q is capped below 1
    assert steps(ZeroConcentrated(0.5), steps=np.int64(6)) == 6


@pytest.mark.parametrize("rho", [0.5, 50.0])
def test_theoretical_steps_are_near_the_best(rho: float) -> None:
    n, d, s = 4000, 100, 4
    rng = np.random.default_rng(0)
    X, beta = rng.choice([-0.5, 0.5], (n, d)), np.repeat([0.5, 0.0], [s, d - s])
    y = X @ beta + 0.1 * rng.standard_normal(n)

    def error(steps: Any) -> float:
        fits = [
            PrivateHardThresholding(
                ZeroConcentrated(rho), s=s, sigma=0.1, steps=steps, random_state=seed
            ).fit(X, y)
            for seed in range(20)
        ]
        return float(np.mean([np.sum((f.coef_ - beta) ** 2) for f in fits]))

    errors = [error(steps) for steps in (1, 2, 3, 4, 8, 16)]
    assert error("theory") <= 1.5 * min(errors)
    assert errors[-1] > 1.5 * min(errors) or errors[0] > 1.5 * min(errors)


def test_risk_bound_is_that_of_the_run() -> None:
    problem = SparseRegressionProblem(n=200_000, d=200, s=2, sigma=0.5)
    budget = ZeroConcentrated(1.0)
    estimator = PrivateHardThresholding(budget, s=4, entry_bound=1 / math.sqrt(2), sigma=0.5)
    bound = estimator.risk_bound(problem)
    R = math.sqrt(2) + 2 * math.sqrt(math.log(200_000))
    given = clone(estimator).set_params(R=R, step_size=2.0)
    assert given.risk_bound(problem).value() == pytest.approx(bound.value(), rel=1e-12)
    assert 0 < bound.value() < 0.5  # 0.5: what releasing 0 costs
    noisier = clone(estimator).set_params(privacy=ZeroConcentrated(1e-3))
    assert noisier.risk_bound(problem).value() > bound.value()
    with pytest.raises(OutsideRegime):
        clone(estimator).set_params(entry_bound=None).risk_bound(problem).value()
    with pytest.raises(ValueError, match="R given"):
        clone(estimator).set_params(R="quantile").risk_bound(problem)
    with pytest.raises(ValueError, match="a given s"):
        clone(estimator).set_params(s="cv", s_grid=[2, 4]).risk_bound(problem)


def test_the_number_of_steps_is_public() -> None:
    X, y = sample(300)
    for options in ({"R": "quantile"}, {"R": "quantile", "s": "cv", "s_grid": [1, 2, 4]}):
        found = {
            PrivateHardThresholding(
                ZeroConcentrated(5.0), entry_bound=0.5, random_state=0, **options
            )
            .fit(X, scale * y)
            .n_iter_
            for scale in (1e-3, 1.0, 1e3)
        }
        assert len(found) == 1


@pytest.mark.parametrize("method", ["gumbel", "peeling"])
def test_limits_of_sizes(method: Any) -> None:
    X, y = sample(30)
    full = PrivateHardThresholding(ZeroConcentrated(1.0), s=D, method=method, random_state=0)
    assert full.fit(X, y).support_.tolist() == list(range(D))
    one = PrivateHardThresholding(Pure(1.0), method=method, steps=3, random_state=0)
    assert len(one.fit(X[:1], y[:1]).support_) == 1
    single = one.fit(X[:, :1], y)
    assert single.support_.tolist() == [0]
    assert abs(single.coef_[0]) <= 1.0 + 1e-12


def test_extreme_scales_stay_finite() -> None:
    X, y = sample(30)
    for size in (1.1e-20, 9e19):
        named: dict[str, Any] = {"entry_bound": size, "radius": size, "R": size, "sigma": size}
        for step_size in ("theory", size):
            for s in (2, "cv"):
                fitted = PrivateHardThresholding(
                    Pure(1e-3), s=s, s_grid=[1, 3], step_size=step_size, random_state=0, **named
                ).fit(1e300 * X, 1e300 * y)
                assert np.isfinite(fitted.coef_).all()


def test_the_seed_decides(easy: Pair) -> None:
    X, y = easy[0][:500], easy[1][:500]

    def coef(seed: Any, **options: Any) -> np.ndarray:
        estimator = PrivateHardThresholding(
            ZeroConcentrated(1.0), s=4, random_state=seed, **options
        )
        return estimator.fit(X, y).coef_

    assert np.array_equal(coef(1), coef(1))
    assert not np.array_equal(coef(1), coef(2))
    cv: dict[str, Any] = {"s": "cv", "s_grid": [2, 4]}
    both = [PrivateHardThresholding(random_state=3, **cv).fit(X, y).coef_ for _ in range(2)]
    assert np.array_equal(*both)


# Sparse designs


@pytest.mark.parametrize("s", [3, "cv"])
def test_sparse_rows_give_what_dense_rows_give(s: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(0, 3, (200, 30)) * (rng.random((200, 30)) < 0.1)
    y = X[:, :3].sum(axis=1)
    estimator = PrivateHardThresholding(
        ZeroConcentrated(5.0), s=s, s_grid=[2, 4], entry_bound=1.0, steps=3, random_state=0
    )
    dense = estimator.fit(X, y).coef_
    for form in (sparse.csr_matrix, sparse.csr_array):
        rows = form(X)
        fitted = clone(estimator).fit(rows, y)
        np.testing.assert_allclose(fitted.coef_, dense, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(fitted.predict(rows), X @ dense, rtol=1e-9, atol=1e-12)
        assert np.array_equal(rows.toarray(), X)


@pytest.mark.parametrize("s", [10, "cv"])
def test_a_large_sparse_design_is_not_made_dense(s: Any) -> None:
    n, d, per_row = 20_000, 50_000, 50
    rng = np.random.default_rng(0)
    entries = rng.choice([-1.5, 1.5], n * per_row)
    places = rng.integers(0, d, n * per_row)
    X = sparse.csr_matrix((entries, places, np.arange(0, n * per_row + 1, per_row)), shape=(n, d))
    X.sum_duplicates()
    y = np.asarray(X[:, :10].sum(axis=1)).ravel()
    tracemalloc.start()
    fitted = PrivateHardThresholding(
        ZeroConcentrated(1e8),
        s=s,
        s_grid=[5, 10],
        entry_bound=1.0,
        R=3.0,
        radius=6.0,
        step_size=900.0,
        steps=3,
        random_state=0,
    ).fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert fitted.support_.tolist() == list(range(10))
    assert peak < 2e8  # dense: 8e9
