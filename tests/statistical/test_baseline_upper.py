"""Upper bounds for the algorithms of others, against the estimators themselves.

Those of Karwa and Vadhan's mean and of CoinPress are equalities but for what clipping may do: no
mean is surely below them, and with half the noise every one is surely above. AdaSSP has none.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from estimators.baselines.mean import CoinPressMean, KarwaVadhanMean
from estimators.baselines.regression import AdaptiveSufficientStatistics
from minimax.core.bound import OutsideRegime
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.problems.mean.baselines import gaussian_length, length_excess, subgaussian_excess
from minimax.problems.mean.problem import MeanProblem
from tests.simulation import above, below

Estimator = KarwaVadhanMean | CoinPressMean
RUNS = 300


def losses(estimator: Estimator, problem: MeanProblem, seed: int) -> list[float]:
    """At the corner of the cube of means."""
    rng, mean = np.random.default_rng(seed), problem.farthest()
    estimator.set_params(random_state=rng)
    out = []
    for _ in range(RUNS):
        X = rng.normal(mean, problem.sigma, (problem.n, problem.d))
        out.append(float(np.sum((estimator.fit(X).mean_ - mean) ** 2)))
    return out


def doubled(privacy: SpendablePrivacy) -> SpendablePrivacy:
    """A budget with half the noise."""
    if isinstance(privacy, Approximate):
        return Approximate(2 * privacy.epsilon, privacy.delta)
    if isinstance(privacy, Pure):
        return Pure(2 * privacy.epsilon)
    if isinstance(privacy, Gaussian):
        return Gaussian(2 * privacy.mu)
    return ZeroConcentrated(4 * privacy.rho)


@pytest.mark.parametrize("privacy", [Pure(1.0), Approximate(0.5, 1e-6), ZeroConcentrated(0.05)])
@pytest.mark.parametrize("d", [4, 30])
def test_histograms_are_below_their_bound(privacy: SpendablePrivacy, d: int) -> None:
    problem = MeanProblem(500, d, sigma=1.0, radius=1.3)

    def estimator(privacy: SpendablePrivacy) -> KarwaVadhanMean:
        return KarwaVadhanMean(privacy, sigma=1.0, radius=1.3)

    measured = losses(estimator(privacy), problem, seed=1)
    assert not above(measured, estimator(privacy).risk_bound(problem).value())
    assert above(measured, estimator(doubled(privacy)).risk_bound(problem).value())


def test_a_narrow_window_costs_what_its_bound_allows() -> None:
    """Clipping is what is left of the risk; as if there were none, it breaks the bound."""
    problem = MeanProblem(20_000, 2, sigma=1.0, radius=0.3)
    estimator = KarwaVadhanMean(ZeroConcentrated(1e6), sigma=1.0, radius=0.3, factor=0.01)
    measured = losses(estimator, problem, seed=2)
    parts = estimator.risk_bound(problem).parts()
    assert below(measured, parts.total)
    assert above(measured, 2 * (parts.statistical or 0.0))


def test_windows_that_miss_the_mean_are_refused() -> None:
    far = KarwaVadhanMean(ZeroConcentrated(1.0), sigma=1.0, radius=50.0)
    with pytest.raises(OutsideRegime, match="window holds the mean"):
        far.risk_bound(MeanProblem(1000, 2, radius=50.0)).value()
    with pytest.raises(ValueError, match="covers radius given"):
        KarwaVadhanMean(Approximate(1.0, 1e-6), sigma=1.0).risk_bound(MeanProblem(1000, 2))


@pytest.mark.parametrize("privacy", [Gaussian(0.3), Approximate(0.5, 1e-6), ZeroConcentrated(0.05)])
@pytest.mark.parametrize(("iterations", "beta"), [(1, 0.01), (3, 0.01), (4, 0.99)])
def test_shrinking_balls_are_below_their_bound(
    privacy: SpendablePrivacy, iterations: int, beta: float
) -> None:
    problem = MeanProblem(400, 40, sigma=0.5, radius=2.0)

    def estimator(privacy: SpendablePrivacy) -> CoinPressMean:
        return CoinPressMean(privacy, sigma=0.5, radius=2.0, iterations=iterations, beta=beta)

    measured = losses(estimator(privacy), problem, seed=3)
    assert not above(measured, estimator(privacy).risk_bound(problem).value())
    assert above(measured, estimator(doubled(privacy)).risk_bound(problem).value())


def test_the_bound_has_the_noise_that_is_drawn() -> None:
    problem = MeanProblem(300, 5, sigma=1.0, radius=1.0)
    X = np.random.default_rng(0).normal(0.3, 1.0, (problem.n, problem.d))
    for estimator in (
        CoinPressMean(Gaussian(0.4), sigma=1.0, ball_radius=3.0, random_state=0),
        KarwaVadhanMean(ZeroConcentrated(0.1), sigma=1.0, radius=1.0, random_state=0),
    ):
        noise = problem.d * estimator.fit(X).noise_scale_ ** 2
        parts = estimator.risk_bound(problem).parts()
        assert noise <= (parts.privacy or 0.0) <= 1.02 * noise


def test_first_balls_and_scales_outside_the_class_are_refused() -> None:
    problem = MeanProblem(300, 5, sigma=1.0, radius=1.0)
    with pytest.raises(OutsideRegime, match="first ball"):
        CoinPressMean(Gaussian(1.0), sigma=1.0, ball_radius=2.0).risk_bound(problem).value()
    with pytest.raises(OutsideRegime, match="scale given"):
        CoinPressMean(Gaussian(1.0), sigma=0.9, radius=1.0).risk_bound(problem).value()


@pytest.mark.parametrize("d", [1, 7, 200])
@pytest.mark.parametrize("x", [0.1, 3.0, 20.0])
def test_excess_of_a_gaussian_length(d: int, x: float) -> None:
    """Against the integral of the chi density, of which the bound is not idle."""
    T = gaussian_length(float(d), x)

    def density(r: mpmath.mpf) -> mpmath.mpf:
        log = (d - 1) * mpmath.log(r) - r**2 / 2 - (mpmath.mpf(d) / 2 - 1) * mpmath.log(2)
        return mpmath.exp(log - mpmath.loggamma(mpmath.mpf(d) / 2)) * (r - T) ** 2

    exact = math.sqrt(mpmath.quad(density, [T, T + 1, T + 4, T + 16]))
    assert exact <= length_excess(float(d), x) <= 15 * exact


@pytest.mark.parametrize("v", [0.0, 0.5, 2.0, 6.0])
def test_excess_of_a_sub_gaussian(v: float) -> None:
    """Against the integral of the tail 2 e^{-t^2/2} (1 at most), no more than twice as large."""
    tail = mpmath.quad(lambda t: 4 * (t - v) * mpmath.exp(-(t**2) / 2), [v, v + 3, v + 30])
    exact = 1.5 * math.sqrt(tail)
    assert exact * (1 - 1e-12) <= subgaussian_excess(1.5 * v, 1.5) <= 1.5 * exact


def test_noisy_statistics_have_no_second_moment() -> None:
    """|coef_| exceeds t with a chance of order 1/t; a Gaussian of the same median never does."""
    rng, data = np.random.default_rng(0), (np.ones((5, 1)), np.zeros(5))
    sizes = []
    for _ in range(400):
        model = AdaptiveSufficientStatistics(ZeroConcentrated(1e-4), release="three")
        fitted = model.set_params(random_state=rng).fit(*data)
        sizes.append(abs(float(fitted.coef_[0])))
    light = np.median(sizes) / stats.norm.ppf(0.75) * np.abs(rng.standard_normal(100_000))
    assert np.mean(np.array(sizes) > 8) > 1 / 400
    assert not np.any(light > 8)
