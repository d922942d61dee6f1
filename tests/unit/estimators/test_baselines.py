"""The papers' baselines: contract, bad input, hand values, privacy spent, accuracy."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import integrate, sparse, stats
from sklearn.utils.estimator_checks import check_estimator

from estimators.baselines import frank_wolfe
from estimators.baselines import sparse_regression as sparse_baselines
from estimators.baselines.objective_perturbation import quieter
from estimators.baselines.regression import (
    AdaptiveSufficientStatistics,
    JohnsonLindenstraussRegression,
    gaussian_sketch,
    joint_gram,
    sketch_level,
    sketch_log_delta,
    sketch_rows,
)
from estimators.baselines.sparse_regression import PrivateFrankWolfe, TwoStageRegression
from estimators.core.accounting import compose, delta_at
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

APPROXIMATE = Approximate(1.0, 1e-6)
CONCENTRATED = ZeroConcentrated(0.1)
ALL = [AdaptiveSufficientStatistics, JohnsonLindenstraussRegression]
ALL += [PrivateFrankWolfe, TwoStageRegression]
X_SMALL = np.random.default_rng(5).uniform(-1, 1, (60, 3))
Y_SMALL = np.clip(X_SMALL @ [0.5, 0, -0.5], -1, 1)
LABELS = (Y_SMALL > 0).astype(float)


@pytest.mark.parametrize(
    "estimator",
    [
        AdaptiveSufficientStatistics(APPROXIMATE, release="three", calibration="paper"),
        AdaptiveSufficientStatistics(Gaussian(1.0)),
        PrivateFrankWolfe(steps=10),
        PrivateFrankWolfe(Pure(1.0), selection="laplace", steps=10),
        TwoStageRegression(CONCENTRATED),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator: Any) -> None:
    check_estimator(estimator)


# --- bad input: named, and before any noise

BAD: list[tuple[Any, dict[str, Any], str]] = [
    *[(kind, {"privacy": 1.0}, "privacy must") for kind in ALL],
    *[(kind, {"privacy": Approximate(1.0, 1e-6, "local")}, "scope must") for kind in ALL],
    *[(kind, {"random_state": "x"}, "random_state") for kind in ALL],
    *[(kind, {"row_bound": 0.0}, "row_bound must") for kind in (ALL[0], ALL[1], ALL[3])],
    *[(kind, {"row_bound": 1e40}, "row_bound must") for kind in (ALL[0], ALL[1], ALL[3])],
    *[(kind, {"R": math.nan}, "R must") for kind in (ALL[0], ALL[2], ALL[3])],
    *[(kind, {"loss": "hinge"}, "loss must") for kind in ALL[2:]],
    *[(kind, {"loss": None}, "loss must") for kind in ALL[2:]],
    *[(kind, {"privacy": Gaussian(1.0)}, "privacy must") for kind in ALL[1:]],
    (ALL[0], {"privacy": Pure(1.0)}, "privacy must"),
    (ALL[0], {"failure": 1.0}, "failure must"),
    (ALL[0], {"calibration": "exact"}, "calibration must"),
    (ALL[0], {"calibration": "paper"}, "needs release='three'"),
    (ALL[0], {"calibration": "paper", "release": "three", "privacy": CONCENTRATED}, "calibration="),
    (ALL[0], {"release": "two"}, "release must"),
    (ALL[1], {"privacy": CONCENTRATED}, "privacy must"),
    (ALL[1], {"projections": 3}, "projections must"),
    (ALL[1], {"projections": "many"}, "projections must"),
    (ALL[1], {"projections": 7.0}, "projections must"),
    (ALL[1], {"test_share": 0.0}, "test_share must"),
    (ALL[2], {"l1_radius": -1.0}, "l1_radius must"),
    (ALL[2], {"entry_bound": "1"}, "entry_bound must"),
    (ALL[2], {"steps": 0}, "steps must"),
    (ALL[2], {"steps": "all"}, "steps must"),
    (ALL[2], {"selection": "best"}, "selection must"),
    (ALL[2], {"calibration": "exact"}, "calibration must"),
    (ALL[2], {"calibration": "paper"}, "needs selection='laplace'"),
    (ALL[3], {"s": 4}, "between 1 and d = 3"),
    (ALL[3], {"s": True}, "s must"),
    (ALL[3], {"radius": 0}, "radius must"),
    (ALL[3], {"blocks": 61}, "blocks must"),
    (ALL[3], {"blocks": "few"}, "blocks must"),
    (ALL[3], {"penalty": 1.0}, "penalty must"),
    (ALL[3], {"selection_share": 0.0}, "selection_share must"),
]


@pytest.mark.parametrize(("kind", "changed", "message"), BAD)
def test_bad_parameters_are_named(kind: Any, changed: dict[str, Any], message: str) -> None:
    noise = np.random.default_rng(0)
    before = noise.bit_generator.state
    estimator = kind(**{"privacy": APPROXIMATE, "random_state": noise, **changed})
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(X_SMALL, Y_SMALL)
    assert noise.bit_generator.state == before
    assert not hasattr(estimator, "coef_")


@pytest.mark.parametrize("kind", ALL)
def test_bad_data_are_refused(kind: Any) -> None:
    for X, y in [
        (np.full((3, 2), np.nan), np.zeros(3)),
        (np.ones((3, 2)), np.array([0, np.inf, 0])),
        (np.ones((3, 2)), np.zeros(4)),
        (np.ones((3, 2), dtype=complex), np.zeros(3)),
    ]:
        with pytest.raises(ValueError):  # noqa: PT011 - scikit-learn words these
            kind(APPROXIMATE).fit(X, y)


# --- privacy reported


@pytest.mark.parametrize(
    "estimator",
    [
        *[ALL[0](b) for b in (APPROXIMATE, CONCENTRATED, Gaussian(0.7))],
        ALL[1](APPROXIMATE),
        ALL[1](Approximate(0.3, 1e-9), projections=5, test_share=0.6),
        *[ALL[2](b, steps=20) for b in (Pure(1.0), APPROXIMATE, CONCENTRATED)],
        *[ALL[2](b, selection="laplace", steps=9) for b in (Pure(1.0), APPROXIMATE, CONCENTRATED)],
        *[ALL[3](b, s=2) for b in (Pure(1.0), APPROXIMATE, CONCENTRATED, Approximate(1.0, 0.01))],
        ALL[2](APPROXIMATE, loss="logistic", steps=1),
        ALL[3](APPROXIMATE, loss="logistic"),
    ],
    ids=str,
)
def test_the_ledger_reproduces_the_budget(estimator: Any) -> None:
    y = LABELS if getattr(estimator, "loss", "") == "logistic" else Y_SMALL
    fitted = estimator.set_params(random_state=0).fit(X_SMALL, y)
    asked = estimator.privacy
    delta = asked.delta if isinstance(asked, Approximate) else None
    assert compose(fitted.ledger_, type(asked), delta) == fitted.privacy_
    spent = fitted.privacy_.parameters
    for name, value in asked.parameters.items():
        assert 0.4 * value < spent[name] <= value * (1 + 1e-9)


def test_many_features_are_chosen_by_concentrated_composition() -> None:
    """With many rounds both stages of a large s use delta, and the ledger still agrees."""
    X = np.random.default_rng(6).uniform(-1, 1, (80, 60))
    fitted = TwoStageRegression(Approximate(1.0, 1e-3), s=50, random_state=0).fit(X, X[:, 0])
    assert fitted.ledger_[0].guarantees[0].epsilon > 0.5 / 50
    assert isinstance(fitted.ledger_[1].guarantees[0], Approximate)
    assert fitted.privacy_.epsilon <= 1 + 1e-9
    assert isinstance(quieter(5, 1.0, 1e-3), Pure)


def test_paper_calibrations_report_what_they_give() -> None:
    budget = Approximate(0.5, 1e-6)
    fitted = AdaptiveSufficientStatistics(
        budget, 2.0, 3.0, release="three", calibration="paper", random_state=0
    )
    unit = math.sqrt(math.log(6e6)) * 3 / 0.5
    assert fitted.fit(X_SMALL, Y_SMALL).noise_scales_ == pytest.approx(
        (4 * unit, 4 * unit, 6 * unit)
    )
    # mu^2 = (1 + 2 + 4)/unit^2 under replacement; adding or removing would be 3/unit^2.
    real = Gaussian(math.sqrt(7) / unit).to_approximate(1e-6).epsilon
    assert fitted.privacy_.epsilon == pytest.approx(real)
    assert real < 0.5
    printed = PrivateFrankWolfe(
        budget, steps=30, selection="laplace", calibration="paper", random_state=0
    ).fit(X_SMALL, Y_SMALL)
    # Printed scale: L1 K sqrt(8 T log(1/delta))/(n eps) with L1 K = 2.
    scale = 2 * math.sqrt(8 * 30 * math.log(1e6)) / (60 * 0.5)
    assert printed.selection_scale_ == pytest.approx(scale)
    assert printed.privacy_.epsilon == 0.5
    assert printed.privacy_.delta == pytest.approx(delta_at(printed.ledger_, 0.5))
    assert printed.privacy_.delta > 100 * budget.delta


# --- Johnson-Lindenstrauss


@pytest.fixture(scope="module")
def regression() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    source = np.random.default_rng(1)
    n, d = 100_000, 20
    X = source.uniform(-1, 1, (n, d))
    beta = np.full(d, d**-0.5)
    return X, X @ beta + math.sqrt(0.1) * source.standard_normal(n), beta


BENCH = Approximate(0.5, 3.2e-5)


def sketch_delta(level: float, rows: int, epsilon: float) -> float:
    """Exact delta of two real data sets in two dimensions: x in one, an orthogonal z in the other,
    |x| = |z| = B, both with w I appended, w^2 = level B^2.

    The loss is (T_1 - T_2)/(2 g (g+1)), T_j the sum of squares of the sketch's column j, which has
    variance g + 1 where the record is and g where it is not.
    """
    g, law = level, stats.chi2(rows)

    def tail(first: float, second: float) -> float:
        def above(v: float) -> float:
            return float(law.sf((2 * g * (g + 1) * epsilon + second * v) / first) * law.pdf(v))

        return float(integrate.quad(above, 0, rows + 60 * math.sqrt(2 * rows), limit=400)[0])

    return tail(g + 1, g) - math.exp(epsilon) * tail(g, g + 1)


@pytest.mark.parametrize("rows", [1, 4, 60])
@pytest.mark.parametrize("privacy", [Approximate(0.5, 1e-4), Approximate(2.0, 1e-2)], ids=str)
def test_the_sketch_is_private_and_no_more_than_needed(rows: int, privacy: Approximate) -> None:
    level = sketch_level(rows, privacy)
    assert sketch_log_delta(level, rows, privacy.epsilon) <= math.log(privacy.delta)
    exact = sketch_delta(level, rows, privacy.epsilon)
    assert privacy.delta / 30 < exact <= privacy.delta
    # Control: half of w^2 is not enough, neither by the bound nor in truth.
    assert sketch_log_delta(level / 2, rows, privacy.epsilon) > math.log(privacy.delta)
    assert sketch_delta(level / 2, rows, privacy.epsilon) > privacy.delta


@pytest.mark.parametrize(("shrink", "private"), [(1.0, True), (0.3, False)])
def test_sampled_sketches_show_the_privacy_claimed(shrink: float, private: bool) -> None:
    """Hockey-stick divergence from the sketches themselves; failure probability 1e-6."""
    rows, trials, privacy = 3, 40_000, Approximate(0.5, 0.03)
    level = shrink * sketch_level(rows, privacy)
    here, there = (
        joint_gram(x, y, 1.0)
        for x, y in ((np.ones((1, 1)), np.zeros(1)), (np.zeros((1, 1)), np.ones(1)))
    )
    ridge = level * np.eye(2)
    S = gaussian_sketch(here + ridge, rows * trials, np.random.default_rng(3))
    inverses = np.linalg.inv(there + ridge) - np.linalg.inv(here + ridge)
    loss = np.einsum("ij,jk,ik->i", S, inverses, S).reshape(trials, rows).sum(axis=1) / 2
    gain = np.maximum(-np.expm1(privacy.epsilon - loss), 0)
    margin = math.sqrt(math.log(1e6) / (2 * trials))  # Hoeffding
    assert gain.mean() == pytest.approx(sketch_delta(level, rows, privacy.epsilon), abs=margin)
    assert (gain.mean() - margin > privacy.delta) != private


def test_sketch_has_the_law_of_a_projection() -> None:
    A = np.random.default_rng(6).standard_normal((50, 3))
    S = gaussian_sketch(A.T @ A, 40_000, np.random.default_rng(0))
    np.testing.assert_allclose(S.T @ S / 40_000, A.T @ A, atol=6 * 50 / 200)
    assert np.abs(S.T @ S / 40_000 - 2 * A.T @ A).max() > 6 * 50 / 200


def test_joint_gram_clips_whole_records() -> None:
    X, y = np.array([[3.0, 0.0], [0.0, 0.1]]), np.array([4.0, 0.2])
    A = np.array([[0.6, 0.0, 0.8], [0.0, 0.1, 0.2]])
    np.testing.assert_allclose(joint_gram(X, y, 1.0), A.T @ A)
    np.testing.assert_allclose(joint_gram(sparse.csr_matrix(X), y, 1.0), A.T @ A)


def test_projection_is_unaltered_only_with_enough_data(regression: Any) -> None:
    X, y, beta = regression
    model = JohnsonLindenstraussRegression(BENCH, 3.4, 400, random_state=0).fit(X, y)
    assert not model.altered_
    assert model.ridge_ == 0
    # sigma^2 n tr((X'X)^{-1})/(r - d - 1) = 6/379, a sum of 20 squares; clipping adds little.
    assert 0.2 * 6 / 379 < np.sum((model.coef_ - beta) ** 2) < 3 * 6 / 379
    few = JohnsonLindenstraussRegression(BENCH, 3.4, 400, random_state=0).fit(X[:5000], y[:5000])
    assert few.altered_
    assert few.ridge_ == pytest.approx(few.ledger_[1].scale ** 2)
    assert np.linalg.norm(few.coef_) < 0.7


def test_rows_of_the_sketch_depend_on_public_numbers() -> None:
    rows = sketch_rows(100_000, 21, BENCH)
    assert sketch_level(rows, BENCH) <= 100_000 / (16 * 21) < sketch_level(rows + 1, BENCH)
    assert sketch_rows(50, 3, BENCH) == 6


# --- Frank-Wolfe


SPARSE_BETA = np.zeros(40)
SPARSE_BETA[[3, 17]] = [0.7, -0.5]


@pytest.fixture(scope="module")
def sparse_regression() -> tuple[np.ndarray, np.ndarray]:
    source = np.random.default_rng(2)
    X = source.choice([-1.0, 0.0, 1.0], (2000, 40))
    return X, X @ SPARSE_BETA + 0.1 * source.standard_normal(2000)


def test_frank_wolfe_converges_without_noise(sparse_regression: Any) -> None:
    X, y = sparse_regression
    for selection in ("exponential", "laplace"):
        model = PrivateFrankWolfe(
            Pure(1e9), l1_radius=1.2, R=3.0, steps=300, selection=selection, random_state=0
        ).fit(X, y)
        assert np.abs(model.coef_).sum() <= 1.2 * (1 + 1e-12)
        assert np.abs(model.coef_ - SPARSE_BETA).max() < 0.02
    noisy = PrivateFrankWolfe(Pure(1e-3), l1_radius=1.2, R=3.0, steps=300, random_state=0)
    assert np.abs(noisy.fit(X, y).coef_ - SPARSE_BETA).max() > 0.1


def test_first_frank_wolfe_steps_by_hand() -> None:
    X, y = np.array([[1.0, 0.0], [0.0, -2.0]]), np.array([0.5, 1.0])
    model = PrivateFrankWolfe(
        Pure(1e9), l1_radius=3.0, entry_bound=1.0, R=0.9, steps=2, random_state=0
    ).fit(X, y)
    # Clipped: X = diag(1, -1), y = (.5, .9). First vertex -3 e_2 with weight 2/3: b = (0, -2),
    # predictions (0, 2); then slopes (-.5, 1.1): vertex +3 e_2, weight 1/2.
    assert model.coef_.tolist() == pytest.approx([0.0, 0.5])
    assert model.ledger_[0].count == 2
    assert model.ledger_[0].sensitivity == pytest.approx(2 * 3 * (0.9 + 3) / 2)


def test_logistic_frank_wolfe_ranks_the_classes(sparse_regression: Any) -> None:
    X, y = sparse_regression
    model = PrivateFrankWolfe(APPROXIMATE, "logistic", l1_radius=5.0, random_state=0)
    labels = (y > 0).astype(float)
    model.fit(X, labels)
    assert np.mean((model.predict(X) > 0) == labels) > 0.85
    assert model.ledger_[0].sensitivity == pytest.approx(2 * 5.0 / 2000)


def test_rounds_share_the_budget() -> None:
    share = frank_wolfe.round_epsilon
    assert share(Pure(2.0), 4, "exponential") == 0.5
    assert share(ZeroConcentrated(0.5), 4, "exponential") == pytest.approx(1.0)
    assert share(ZeroConcentrated(0.5), 4, "laplace") == pytest.approx(0.5)
    assert share(APPROXIMATE, 1, "laplace") == 1.0
    assert share(APPROXIMATE, 900, "laplace") > 1 / 900


@pytest.mark.parametrize(
    "estimator",
    [
        AdaptiveSufficientStatistics(APPROXIMATE, 3.0, 2.0, random_state=0),
        JohnsonLindenstraussRegression(APPROXIMATE, 3.0, 50, random_state=0),
        PrivateFrankWolfe(Pure(100.0), entry_bound=0.8, R=2.0, steps=20, random_state=0),
        TwoStageRegression(Pure(100.0), s=2, row_bound=0.8, R=2.0, random_state=0),
    ],
    ids=lambda e: type(e).__name__,
)
def test_sparse_matrices_give_the_same_release(estimator: Any, sparse_regression: Any) -> None:
    X, y = sparse_regression
    dense = estimator.fit(X, y).coef_
    np.testing.assert_allclose(estimator.fit(sparse.csr_matrix(X), y).coef_, dense, atol=1e-8)
    np.testing.assert_allclose(estimator.predict(sparse.csr_matrix(X)), X @ dense, atol=1e-6)


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateFrankWolfe(APPROXIMATE, l1_radius=5.0, steps=10, random_state=0),
        TwoStageRegression(APPROXIMATE, s=3, blocks=20, random_state=0),
    ],
    ids=lambda e: type(e).__name__,
)
def test_large_sparse_matrices_are_not_made_dense(estimator: Any) -> None:
    source = np.random.default_rng(0)
    n, d, per_row = 20_000, 50_000, 50
    columns = source.integers(0, d, n * per_row)
    X = sparse.csr_matrix(
        (np.ones(n * per_row), columns, np.arange(0, n * per_row + 1, per_row)), shape=(n, d)
    )
    y = source.choice([-1.0, 1.0], n)
    tracemalloc.start()
    estimator.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.02 * 8 * n * d


# --- two stages


@pytest.mark.parametrize("budget", [Pure(1e4), ZeroConcentrated(1e4)], ids=str)
def test_two_stages_find_the_support(sparse_regression: Any, budget: Any) -> None:
    X, y = sparse_regression
    model = TwoStageRegression(budget, s=2, row_bound=2.0, R=3.0, random_state=0).fit(X, y)
    assert model.support_.tolist() == [3, 17]
    assert np.abs(model.coef_ - SPARSE_BETA).max() < 0.02
    labels = (y > 0).astype(float)
    votes = TwoStageRegression(budget, 2, "logistic", row_bound=2.0, random_state=0)
    assert votes.fit(X, labels).support_.tolist() == [3, 17]
    starved = TwoStageRegression(Pure(1e-3), s=2, row_bound=2.0, R=3.0, random_state=0).fit(X, y)
    assert starved.support_.tolist() != [3, 17]


def test_lasso_of_a_block_votes_for_what_it_finds(sparse_regression: Any) -> None:
    X, y = sparse_regression
    assert sorted(sparse_baselines.lasso_support(X, y, 2, 0.25)) == [3, 17]
    assert sparse_baselines.lasso_support(X, y, 1, 0.25).tolist() == [3]
    assert sparse_baselines.lasso_support(X, 0 * y, 2, 0.25).tolist() == []
    assert sorted(sparse_baselines.lasso_support(X, 1e-9 * y, 2, 0.25)) == [3, 17]
