"""Noisy gradient regression: conventions, hand values, what is reported as privacy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse, stats
from sklearn.base import clone

import estimators.regression as module
from estimators.core.accounting import compose
from estimators.regression import (
    NoisyGradientRegression,
    best_schedule,
    clipped_gradient,
    expected_spectrum,
    projected,
)
from minimax.core.calibration import gradient_sensitivity
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.problems.regression.problem import RegressionProblem

pytestmark = pytest.mark.oldest

Array = NDArray[np.float64]
BUDGET = Approximate(1.0, 1e-6)
EXACT = Gaussian(1e9)
BETA = np.array([0.6, -0.3, 0.0, 0.2])


def sample(n: int, beta: Array = BETA, sigma: float = 0.5, seed: int = 0) -> tuple[Array, Array]:
    """Signs of norm 1, for which L = 1."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, len(beta))) / math.sqrt(len(beta))
    return X, X @ beta + sigma * rng.standard_normal(n)


GOOD = sample(200)


def test_constructor_only_stores() -> None:
    estimator = NoisyGradientRegression(privacy="wrong", steps=-3)  # type: ignore[arg-type]
    assert clone(estimator).get_params()["steps"] == -3
    with pytest.raises(ValueError, match="steps must"):
        estimator.fit(*GOOD)


# --- hand values: with next to no noise the releases are the clipped gradient steps themselves

ROWS = np.array([[3.0, 4.0], [0.6, 0.0], [0.0, 0.5]])
RESPONSES = np.array([10.0, -1.0, 0.2])


def by_hand(**changed: Any) -> Array:
    options = {"R": 2.0, "radius": 5.0, "step_size": 1.0, "steps": 1, **changed}
    return NoisyGradientRegression(EXACT, random_state=0, **options).fit(ROWS, RESPONSES).coef_


def test_a_step_is_the_clipped_gradient() -> None:
    """The first row becomes (.6, .8) and its response 2."""
    first = np.array([0.6, 1.7]) / 3
    assert by_hand() == pytest.approx(first, abs=1e-7)
    residuals = np.array([0.6 * first[0] + 0.8 * first[1] - 2, 0.6 * first[0] + 1, 0.5 * first[1]])
    residuals[2] -= 0.2
    gradient = residuals @ np.array([[0.6, 0.8], [0.6, 0.0], [0.0, 0.5]]) / 3
    assert by_hand(steps=2) == pytest.approx(first - gradient, abs=1e-7)
    assert by_hand(step_size=0.5) == pytest.approx(first / 2, abs=1e-7)


def test_iterates_are_projected() -> None:
    unit = np.array([0.6, 1.7]) / math.hypot(0.6, 1.7)
    assert by_hand(radius=0.3) == pytest.approx(0.3 * unit, abs=1e-7)
    assert np.linalg.norm(by_hand(radius=0.3, steps=9)) <= 0.3 * (1 + 1e-12)
    huge = projected(np.array([3e250, -4e250]), 1e-20)
    assert huge == pytest.approx([0.6e-20, -0.8e-20], rel=1e-12, abs=0)
    inside = np.array([0.1, 0.2])
    assert projected(inside, 1.0) is inside


def test_the_sensitivity_by_hand() -> None:
    """Responses alone: 2 R c; rows alone: A c; at R = A the best angle is 30 degrees."""
    assert gradient_sensitivity(10, 3.0, 2.0, 1e-12) == pytest.approx(2 * 3 * 2 / 10)
    assert gradient_sensitivity(10, 1e-12, 2.0, 3.0) == pytest.approx(6 * 2 / 10)
    assert gradient_sensitivity(1, 6.0, 2.0, 3.0) == pytest.approx(1.5 * math.sqrt(3) * 6 * 2)
    assert gradient_sensitivity(1, 6.0, 2.0, 3.0) < 0.65 * 2 * (6 + 6) * 2


def test_theoretical_truncation_knows_the_signal() -> None:
    fitted = NoisyGradientRegression(
        BUDGET, radius=3.0, row_bound=2.0, sigma=0.5, random_state=0
    ).fit(*GOOD)
    wanted = 6 + 4 * 0.5 * math.sqrt(math.log(200))
    assert wanted == fitted.R_


def test_private_truncation_finds_the_scale_of_y() -> None:
    X, y = sample(20_000)
    fitted = NoisyGradientRegression(BUDGET, R="quantile", random_state=0).fit(X, 100 * y)
    wanted = float(np.quantile(np.abs(100 * y), 0.975))
    assert wanted / 1.2 < fitted.R_ < wanted * 1.2
    assert [entry.mechanism for entry in fitted.ledger_] == ["above threshold", "gaussian"]
    assert fitted.ledger_[-1].sensitivity == gradient_sensitivity(20_000, fitted.R_, 1.0, 1.0)


# --- the two ways to compute a gradient


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix], ids=["dense", "CSR"])
def test_gram_matrix_and_products_agree(store: Any) -> None:
    rng = np.random.default_rng(1)
    X, y, coef = rng.standard_normal((300, 7)), rng.standard_normal(300), rng.standard_normal(7)
    once, each = (clipped_gradient(store(X), y, 1.0, 2.0, gram=gram) for gram in (True, False))
    assert once(coef) == pytest.approx(each(coef), rel=1e-12, abs=1e-14)
    other = clipped_gradient(store(X), y, 1.01, 2.0, gram=True)
    assert other(coef) != pytest.approx(each(coef), rel=1e-6, abs=1e-14)


def test_the_fit_is_the_same_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def fitted() -> Array:
        return NoisyGradientRegression(BUDGET, steps=8, random_state=3).fit(*GOOD).coef_

    calls: list[bool] = []
    plain = module.clipped_gradient

    def watched(*args: Any, gram: bool) -> Any:
        calls.append(gram)
        return plain(*args, gram=gram)

    monkeypatch.setattr(module, "clipped_gradient", watched)
    with_gram = fitted()
    monkeypatch.setattr(module, "GRAM_FEATURES", 0)
    assert fitted() == pytest.approx(with_gram, rel=1e-10, abs=1e-14)
    assert calls == [True, False]


def test_sparse_rows_give_the_same_release() -> None:
    X, y = GOOD
    fits = [NoisyGradientRegression(BUDGET, random_state=0) for _ in range(2)]
    dense, csr = (m.fit(rows, y).coef_ for m, rows in zip(fits, (X, sparse.csr_array(X)), strict=1))
    assert csr == pytest.approx(dense, rel=1e-12)
    assert fits[1].predict(sparse.csr_array(X)) == pytest.approx(X @ dense, rel=1e-12)


# --- step and number of steps


def proxy(eta: float, T: int, spectrum: tuple[float, float], d: int, noise: float) -> float:
    q = max(abs(1 - eta * value) for value in spectrum) ** 2
    return q**T + d * T * (eta * noise) ** 2 * sum(q**k for k in range(T))


@pytest.mark.parametrize("noise", [1e-6, 1e-3, 0.05, 1.0])
@pytest.mark.parametrize("L", [1.0, 2.0])
def test_the_schedule_minimises_its_formula(L: float, noise: float) -> None:
    spectrum = expected_spectrum(2000, 10, L, 1.0)
    eta, T = best_schedule(spectrum, 1.0, 10, lambda t: noise * math.sqrt(t))
    found = proxy(eta, T, spectrum, 10, noise)
    longest = 2 / sum(spectrum)
    others = [
        proxy(f * longest, t, spectrum, 10, noise)
        for f in np.geomspace(0.01, 1.4, 60)
        for t in range(1, 80)
    ]
    assert found <= 1.01 * min(others)
    # The control: the paper's step and number of steps, for more noise than it is made for.
    if noise >= 1e-3:
        paper = proxy(5 / L, math.ceil(8 * L**2 * math.log(2000)), spectrum, 10, noise)
        assert paper > 1.5 * found


def test_what_is_given_is_kept() -> None:
    fitted = NoisyGradientRegression(BUDGET, steps=7, step_size=1.5, random_state=0).fit(*GOOD)
    assert (fitted.n_iter_, fitted.step_size_) == (7, 1.5)
    flat = NoisyGradientRegression(Gaussian(1e4), random_state=0).fit(*sample(5000))
    steep = NoisyGradientRegression(Gaussian(1e4), L=4.0, random_state=0).fit(*sample(5000))
    assert steep.n_iter_ > 2 * flat.n_iter_ > 0


def test_units_do_not_matter() -> None:
    """Rows in units of 1/8: the same release in the coefficients' new units."""
    X, y = GOOD
    plain = NoisyGradientRegression(BUDGET, L=1.5, random_state=0).fit(X, y)
    scaled = NoisyGradientRegression(BUDGET, L=1.5, row_bound=8.0, radius=0.125, random_state=0)
    assert scaled.fit(8 * X, y).coef_ == pytest.approx(plain.coef_ / 8, rel=1e-9)
    assert scaled.n_iter_ == plain.n_iter_


# --- recovery


def distance_to_least_squares(privacy: SpendablePrivacy, **options: Any) -> float:
    X, y = sample(5000)
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    fits = (
        NoisyGradientRegression(privacy, sigma=0.5, random_state=seed, **options).fit(X, y)
        for seed in range(5)
    )
    return float(np.mean([np.linalg.norm(fitted.coef_ - exact) for fitted in fits]))


def test_more_budget_comes_closer_to_least_squares() -> None:
    far, near, nearest = (distance_to_least_squares(Gaussian(mu)) for mu in (0.1, 10.0, 1e7))
    assert nearest < 1e-5 < 1e-3 < near < 0.1 < far
    assert far <= 1.0


def test_fewer_steps_than_the_papers_do_better() -> None:
    paper = {"steps": math.ceil(8 * math.log(5000)), "step_size": 2.0}
    assert distance_to_least_squares(BUDGET) < distance_to_least_squares(BUDGET, **paper) / 2
    literal = distance_to_least_squares(BUDGET, composition="basic", **paper)
    assert distance_to_least_squares(BUDGET, **paper) < literal


# --- the noise


def has_scale(values: Array, scale: float) -> bool:
    """A two-sided chi-square test of N(0, scale^2) at level 2e-7."""
    statistic = float(np.sum((values / scale) ** 2))
    law = stats.chi2(len(values))
    return min(float(law.cdf(statistic)), float(law.sf(statistic))) > 1e-7


def test_the_noise_drawn_is_the_noise_reported() -> None:
    X, y = np.zeros((1000, 2000)), np.zeros(1000)
    fitted = NoisyGradientRegression(
        Gaussian(10.0), R=1.0, step_size=0.7, steps=1, random_state=0
    ).fit(X, y)
    assert fitted.noise_scale_ == gradient_sensitivity(1000, 1.0, 1.0, 1.0) / 10
    assert np.linalg.norm(fitted.coef_) < 0.5  # not projected
    assert has_scale(fitted.coef_, 0.7 * fitted.noise_scale_)
    assert not has_scale(fitted.coef_ / 2, 0.7 * fitted.noise_scale_)
    assert not has_scale(fitted.coef_, fitted.noise_scale_)


def test_each_step_has_fresh_noise() -> None:
    X, y = np.zeros((1000, 2000)), np.zeros(1000)
    fitted = NoisyGradientRegression(
        Gaussian(10.0), R=1.0, step_size=0.7, steps=4, random_state=0
    ).fit(X, y)
    assert has_scale(fitted.coef_, 2 * 0.7 * fitted.noise_scale_)
    assert not has_scale(fitted.coef_, 4 * 0.7 * fitted.noise_scale_)


@pytest.mark.parametrize("steps", [1, 7, "theory"])
@pytest.mark.parametrize(
    "privacy", [BUDGET, Approximate(5.0, 1e-3), ZeroConcentrated(0.1), Gaussian(0.7)], ids=str
)
def test_the_ledger_reproduces_the_budget(privacy: SpendablePrivacy, steps: Any) -> None:
    fitted = NoisyGradientRegression(privacy, steps=steps, random_state=0).fit(*GOOD)
    delta = getattr(privacy, "delta", None)
    assert compose(fitted.ledger_, type(privacy), delta) == fitted.privacy_
    assert fitted.privacy_.parameters == pytest.approx(privacy.parameters, rel=1e-8)
    (entry,) = fitted.ledger_
    assert (entry.count, entry.scale) == (fitted.n_iter_, fitted.noise_scale_)
    assert compose(fitted.ledger_ * 2, type(privacy), delta) != fitted.privacy_


@pytest.mark.parametrize("steps", [1, 20])
def test_basic_composition_is_the_papers_noise_and_spends_less(steps: int) -> None:
    fitted = NoisyGradientRegression(
        BUDGET, R=3.0, row_bound=2.0, radius=0.5, composition="basic", steps=steps, random_state=0
    ).fit(*GOOD)
    B = 4 * (3.0 + 0.5 * 2.0) * 2.0
    printed = math.sqrt(2 * B**2 * math.log(2 * steps / 1e-6) / (200**2 * (1.0 / steps) ** 2))
    assert fitted.noise_scale_ == pytest.approx(printed, rel=1e-12)
    assert isinstance(fitted.privacy_, Approximate)
    assert fitted.privacy_.delta == BUDGET.delta
    assert fitted.privacy_.epsilon < 0.5 * BUDGET.epsilon
    # B/2 bounds the movement; by Gaussian DP, mu = sqrt(T) B/(2 n) / noise.
    mu = math.sqrt(steps) * B / 2 / 200 / printed
    assert Gaussian(mu).to_approximate(1e-6).epsilon == pytest.approx(fitted.privacy_.epsilon)
    exact = NoisyGradientRegression(
        BUDGET, R=3.0, row_bound=2.0, radius=0.5, steps=steps, random_state=0
    ).fit(*GOOD)
    assert exact.noise_scale_ < fitted.noise_scale_ / 2


def test_seeds_reproduce() -> None:
    first, again, other = (
        NoisyGradientRegression(BUDGET, R="quantile", random_state=seed).fit(*GOOD).coef_
        for seed in (5, 5, 6)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


# --- the risk bound


def test_the_risk_bound_gets_what_the_fit_uses() -> None:
    problem = RegressionProblem(n=200, d=4, sigma=0.5, radius=2.0)
    estimator = NoisyGradientRegression(BUDGET, radius=2.0, sigma=0.5, L=1.5, random_state=0)
    bound = estimator.risk_bound(problem)
    fitted = estimator.fit(*GOOD)
    assert bound.keywords() == {
        "row_bound": 1.0,
        "R": fitted.R_,
        "radius": 2.0,
        "step_size": fitted.step_size_,
        "steps": fitted.n_iter_,
    }
    assert bound.parts().optimum["noise"] == pytest.approx(fitted.noise_scale_, rel=1e-14)
    with pytest.raises(ValueError, match="risk_bound covers"):
        NoisyGradientRegression(BUDGET, R="quantile").risk_bound(problem)
    with pytest.raises(TypeError, match="privacy must"):
        NoisyGradientRegression(Pure(1.0)).risk_bound(problem)


def test_the_measured_risk_is_below_the_bound() -> None:
    """In a cell where the noise is most of the risk, and the bound within a few per cent of it: it
    is not seen to break. With a fifth of the noise it would be."""
    problem = RegressionProblem(n=20_000, d=4, sigma=0.5, radius=1.0)
    budget = ZeroConcentrated(0.005)
    bound = NoisyGradientRegression(budget, sigma=0.5).risk_bound(problem).value()
    risks = []
    for seed in range(40):
        fitted = NoisyGradientRegression(budget, sigma=0.5, random_state=seed)
        error = fitted.fit(*sample(problem.n, seed=seed)).coef_ - BETA
        risks.append(float(error @ error) / problem.d)
    surely = np.mean(risks) - 5 * np.std(risks) / math.sqrt(40)
    assert surely < bound < 0.25
    fifth = NoisyGradientRegression(ZeroConcentrated(0.125), sigma=0.5).risk_bound(problem)
    assert fifth.value() < surely
