"""AdaSSP: one release or three, what each is calibrated to, its error and its ridge."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from scipy import optimize, sparse

from estimators.baselines.regression import (
    AdaptiveSufficientStatistics,
    JohnsonLindenstraussRegression,
)
from estimators.baselines.statistics import joint_sensitivity, joint_weight, operator_bound
from estimators.core.accounting import compose
from estimators.core.design import MOST_GRAM_BYTES, check_gram_fits
from estimators.core.symmetric import flat, unflat
from minimax.core.privacy import Approximate, Gaussian, SpendablePrivacy, ZeroConcentrated
from tests.effort import part

BENCH = Approximate(0.5, 3.2e-5)
Data = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def regression() -> Data:
    source = np.random.default_rng(1)
    n, d = 100_000, 20
    X = source.uniform(-1, 1, (n, d))
    beta = np.full(d, d**-0.5)
    return X, X @ beta + math.sqrt(0.1) * source.standard_normal(n), beta


def test_flats_keep_the_norm() -> None:
    A = np.random.default_rng(6).standard_normal((4, 4))
    A = A + A.T
    assert np.linalg.norm(flat(A)) == pytest.approx(np.linalg.norm(A))
    np.testing.assert_allclose(unflat(flat(A), 4), A)


# --- the joint release


def worst_move(weight: float, bound: float, R: float, d: int = 2) -> float:
    """The largest move of (xx', c x y) that a search over two records finds."""

    def in_ball(v: list[float]) -> tuple[float, ...]:
        scale = bound / max(1.0, math.hypot(*v))
        return tuple(scale * entry for entry in v)

    def move(v: np.ndarray) -> float:
        numbers = v.tolist()  # of Python: arrays of two entries take ten times as long
        x, z = in_ball(numbers[:d]), in_ball(numbers[d : 2 * d])
        y, w = (R * min(max(entry, -1.0), 1.0) for entry in numbers[2 * d :])
        matrix = [x[i] * x[j] - z[i] * z[j] for i in range(d) for j in range(d)]
        vector = [weight * (x[i] * y - z[i] * w) for i in range(d)]
        return -math.hypot(*matrix, *vector)

    rng = np.random.default_rng(0)
    starts = rng.uniform(-1.5, 1.5, (part(12, of=30), 2 * d + 2))
    options = {"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-12}
    return -min(
        optimize.minimize(move, v, method="Nelder-Mead", options=options).fun for v in starts
    )


@pytest.mark.parametrize("k", [1e-3, 0.3, 1.0, 1.3, 1.5, 4.0])
def test_joint_sensitivity_is_what_a_search_finds(k: float) -> None:
    bound, R = 1.5, 0.7
    weight = k * bound / R
    assert worst_move(weight, bound, R) == pytest.approx(joint_sensitivity(weight, bound, R), 1e-6)


def test_joint_sensitivity_is_less_than_the_parts_put_together() -> None:
    apart = math.hypot(math.sqrt(2) * 4.0, 0.5 * 2 * 2.0 * 3.0)
    assert joint_sensitivity(0.5, 2.0, 3.0) < 0.96 * apart
    assert joint_sensitivity(1e-9, 2.0, 3.0) == pytest.approx(math.sqrt(2) * 4.0)
    assert joint_sensitivity(1e9, 2.0, 3.0) == pytest.approx(1e9 * 2 * 2.0 * 3.0)


@pytest.mark.parametrize("d", [1, 2, 20, 1000])
def test_the_weight_is_the_best_one(d: int) -> None:
    bound, R = 2.0, 3.0

    def error(log_weight: float) -> float:
        weight = math.exp(log_weight)
        tau = joint_sensitivity(weight, bound, R)
        return tau**2 * (d / weight**2 + (R / bound) ** 2 * (d + 1) / 2)

    best = optimize.minimize_scalar(error, bracket=(-1.0, 0.0), tol=1e-12)
    assert joint_weight(d, bound, R) == pytest.approx(math.exp(best.x), rel=1e-5)


@pytest.mark.parametrize("d", [1, 5, 40])
def test_the_noise_has_no_larger_eigenvalue_than_the_bound(d: int) -> None:
    """Exceeded with a chance of at most 0.05 in 2000 draws; the mean alone is exceeded often."""
    rng = np.random.default_rng(d)
    noise = rng.standard_normal((2000, d * (d + 1) // 2))
    largest = np.array([np.linalg.eigvalsh(unflat(z, d))[-1] for z in noise])
    assert np.mean(largest > operator_bound(d, 0.05)) <= 0.05
    assert np.mean(largest) <= math.sqrt(2 * d)
    assert np.mean(largest > 0.8 * math.sqrt(2 * d)) > 0.05  # the bound is not loose


@pytest.mark.parametrize("release", ["joint", "three"])
@pytest.mark.parametrize("privacy", [BENCH, ZeroConcentrated(0.2), Gaussian(0.7)])
def test_the_ledger_reproduces_the_budget(release: str, privacy: SpendablePrivacy) -> None:
    X = np.random.default_rng(2).uniform(-1, 1, (50, 3))
    model = AdaptiveSufficientStatistics(privacy, 2.0, 1.0, release=release, random_state=0)  # type: ignore[arg-type]
    model.fit(X, X[:, 0])
    assert len(model.ledger_) == (1 if release == "joint" else 3)
    delta = privacy.delta if isinstance(privacy, Approximate) else None
    spent = compose(model.ledger_, type(privacy), delta)
    assert model.privacy_ == spent
    assert list(spent.parameters.values()) == pytest.approx(list(privacy.parameters.values()))


# --- error


@pytest.mark.parametrize("release", ["joint", "three"])
def test_the_error_is_that_of_theory(regression: Data, release: str) -> None:
    X, y, _ = regression
    n, d = X.shape
    ols = np.linalg.lstsq(X, y, rcond=None)[0]
    errors = []
    for seed in range(8):
        model = AdaptiveSufficientStatistics(
            BENCH,
            math.sqrt(d),
            4.0,
            release=release,
            random_state=seed,  # type: ignore[arg-type]
        ).fit(X, y)
        errors.append(float(np.sum((model.coef_ - ols) ** 2)))
        assert model.ridge_ == 0
    *_, tau, s = model.noise_scales_
    if release == "three":
        mu = BENCH.to_gaussian().mu / math.sqrt(3)
        assert (tau, s) == pytest.approx((math.sqrt(2) * d / mu, 8 * math.sqrt(d) / mu))
    theory = (d * s**2 + tau**2 * (d + 1) / 2) / (n / 3) ** 2
    # A mean of 160 squared normals has relative standard deviation sqrt(2/160).
    assert np.mean(errors) == pytest.approx(theory, rel=5 * math.sqrt(2 / 160))


@pytest.mark.parametrize("d", [1, 5, 1000])
def test_one_release_has_the_smaller_error(d: int) -> None:
    """What theory says of both: 15/(27/4) = 20/9 for many features, where |beta| = R/B."""
    X = np.eye(d)[:1]
    theory = []
    for release in ("joint", "three"):
        *_, tau, s = (
            AdaptiveSufficientStatistics(BENCH, 2.0, 3.0, release=release, random_state=0)  # type: ignore[arg-type]
            .fit(X, np.zeros(1))
            .noise_scales_
        )
        theory.append(d * s**2 + (3.0 / 2.0) ** 2 * tau**2 * (d + 1) / 2)
    gain = theory[1] / theory[0]
    assert gain > 2
    assert gain == pytest.approx(20 / 9, rel=0.2 / d)


def test_adaptive_statistics_reach_the_bench(regression: Data) -> None:
    X, y, beta = regression
    model = AdaptiveSufficientStatistics(BENCH, 3.2, 2.0, random_state=0).fit(X, y)
    assert np.sum((model.coef_ - beta) ** 2) < 3e-3
    starved = AdaptiveSufficientStatistics(Approximate(5e-3, 1e-6), 3.2, 2.0, random_state=0)
    assert np.sum((starved.fit(X, y).coef_ - beta) ** 2) > 3e-3


# --- the eigenvalue and the ridge


@pytest.mark.parametrize("release", ["joint", "three"])
def test_the_ridge_appears_when_an_eigenvalue_is_small(release: str) -> None:
    X = np.column_stack([np.random.default_rng(6).uniform(-1, 1, 5000), np.zeros(5000)])
    for columns, ridged in (([0], False), ([0, 1], True)):
        model = AdaptiveSufficientStatistics(
            ZeroConcentrated(0.1),
            release=release,
            random_state=0,  # type: ignore[arg-type]
        ).fit(X[:, columns], X[:, 0])
        assert (model.ridge_ > 0) == ridged
        assert np.abs(model.coef_).max() < 2


def eigenvalues(release: str) -> tuple[np.ndarray, float]:
    """Released smallest eigenvalues of one data set, and its own."""
    data = np.random.default_rng(4).choice([-1.0, 1.0], (4000, 3)) / math.sqrt(3)
    fits = [
        AdaptiveSufficientStatistics(Gaussian(1.0), release=release, random_state=i).fit(  # type: ignore[arg-type]
            data, data[:, 0]
        )
        for i in range(400)
    ]
    return np.array([fit.least_eigenvalue_ for fit in fits]), float(
        np.linalg.eigvalsh(data.T @ data)[0]
    )


def test_an_eigenvalue_of_its_own_varies_as_the_ledger_says() -> None:
    values, _ = eigenvalues("three")
    assert values.min() > 0  # it is not cut at 0
    assert values.std() == pytest.approx(math.sqrt(3), rel=0.2)


@pytest.mark.parametrize("release", ["joint", "three"])
def test_the_eigenvalue_is_a_lower_bound_with_the_chance_promised(release: str) -> None:
    values, truth = eigenvalues(release)
    assert np.mean(values <= truth) >= 0.95
    assert np.mean(values <= 0.98 * truth) < 0.95  # near the truth all the same


# --- memory


@pytest.mark.parametrize(
    "model",
    [AdaptiveSufficientStatistics(random_state=0), JohnsonLindenstraussRegression(random_state=0)],
)
def test_too_many_features_are_refused_in_words_before_anything_is_computed(
    model: AdaptiveSufficientStatistics,
) -> None:
    X = sparse.csr_array((np.ones(3), ([0, 1, 2], [0, 5, 99_999])), shape=(3, 100_000))
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"8 d\^2 bytes, 74.5 GiB"):
        model.fit(X, np.zeros(3))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e7
    assert not hasattr(model, "coef_")


def test_what_fits_is_not_refused() -> None:
    most = math.isqrt(MOST_GRAM_BYTES // 8)
    check_gram_fits(most)
    with pytest.raises(ValueError, match=f"X has {most + 1} features"):
        check_gram_fits(most + 1)
