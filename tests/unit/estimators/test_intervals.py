"""Confidence intervals: laws of noise, SciPy's intervals, what is refused, and what they cost."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import integrate, special, stats
from sklearn.exceptions import NotFittedError

from estimators import NoisyGradientRegression, NoisyMean, ResidualClippedRegression, SparseMean
from estimators.core.intervals import (
    BallNoise,
    BoundedRecords,
    CubeNoise,
    ErrorLaw,
    KnownVariance,
    NoiseLaw,
    NormalNoise,
    noise_law,
)
from estimators.core.mechanisms import gaussian, k_norm, laplace
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.problems.mean.centred import best_course

ALPHA = 1e-6
KNOWN = {"sigma": 1.0, "radius": 1.0}
RESPONSES = {"sigma": 0.3, "row_bound": 1.0, "radius": 1.0}
ESTIMATORS: dict[str, Any] = {
    "NoisyMean": NoisyMean(**KNOWN, random_state=0),
    "NoisyGradientRegression": NoisyGradientRegression(**RESPONSES, L=1.0, random_state=0),
    "ResidualClippedRegression": ResidualClippedRegression(**RESPONSES, random_state=0),
}


def known(variance: float, noise: NoiseLaw, bias: float = 0.0) -> ErrorLaw:
    return ErrorLaw(KnownVariance(np.array(variance)), noise, bias=bias)


def data(n: int = 300, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, d)) / math.sqrt(d)
    return X, X @ np.full(d, 0.3) + 0.3 * rng.standard_normal(n)


# Laws


@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_gaussian_noise_gives_the_normal_interval(level: float) -> None:
    centre = np.array([-1.0, 0.0, 5.0])
    found = known(0.03, NormalNoise(math.sqrt(0.06))).interval(centre, level)
    low, high = stats.norm.interval(level, loc=centre, scale=0.3)
    np.testing.assert_allclose(found.low, low, rtol=1e-12)
    np.testing.assert_allclose(found.high, high, rtol=1e-12)


def density(law: NoiseLaw, z: float) -> float:
    """Laplace's, or the chance that a Gamma(d + 1) half-width reaches z, over twice its length."""
    if isinstance(law, CubeNoise):
        return special.gammaincc(law.d, abs(z) / law.scale) / (2 * law.d * law.scale)
    return stats.laplace.pdf(z, scale=0.7)


@pytest.mark.parametrize("law", [BallNoise((0.7,), 1), CubeNoise(0.7, 2), CubeNoise(0.1, 30)])
@pytest.mark.parametrize("spread", [1e-6, 0.3, 1.4, 1.6, 40.0, 1e4])
@pytest.mark.parametrize("q", [0.2, 1.0, 5.0])
def test_pure_noise_against_the_convolution(law: NoiseLaw, spread: float, q: float) -> None:
    s = math.sqrt(spread)

    def held(z: float) -> float:
        chance = stats.norm.cdf((q - z) / s) - stats.norm.cdf((-q - z) / s)
        return density(law, z) * float(chance)

    ends = sorted({0.0, *(min(max(q + k * s, 0.0), 25.0) for k in (-8, -2, 0, 2, 8)), 25.0})
    exact = 2 * sum(integrate.quad(held, a, b)[0] for a, b in itertools.pairwise(ends))
    found = law.within(np.array([q]), np.array([spread]))[0]
    assert found == pytest.approx(exact, abs=1e-7)
    assert law.within(np.array([-q]), np.array([spread]))[0] == pytest.approx(-found, abs=1e-12)


@pytest.mark.parametrize("d", [2, 7, 400])
def test_variances_are_those_of_the_laws(d: int) -> None:
    """E Z^2 = int 2 q P(|Z| > q) dq, by the trapezoidal rule."""
    for law in (BallNoise((0.5, 1.5), d), CubeNoise(0.5, d)):
        q = np.linspace(0, 15 * math.sqrt(law.variance), 4001)
        tail = 1 - law.within(q, np.zeros_like(q))
        assert integrate.trapezoid(2 * q * tail, q) == pytest.approx(law.variance, rel=1e-4)


DRAWS = 20_000


def drawn(norm: Any, d: int, seed: int) -> tuple[np.ndarray, NoiseLaw]:
    """A coordinate of the mechanism's own noise, and the law that the ledger tells."""
    rng, zero = np.random.default_rng(seed), np.zeros(d)
    made = [k_norm(zero, norm=norm, sensitivity=0.4, epsilon=2, rng=rng) for _ in range(DRAWS)]
    return np.array([one.value[0] for one in made]), noise_law(made[0].entry, d)


@pytest.mark.parametrize(("norm", "d"), [("l2", 2), ("l2", 9), ("linf", 2), ("linf", 9)])
def test_intervals_of_pure_noise_hold_simulated_errors(norm: Any, d: int) -> None:
    noise, law = drawn(norm, d, 1)
    errors = noise + 0.1 * np.random.default_rng(2).standard_normal(DRAWS)
    for level in (0.5, 0.9, 0.99):
        right, bare = (
            int(
                np.count_nonzero(np.abs(errors) <= known(0.01, one).interval(np.zeros(1), level)[1])
            )
            for one in (law, NormalNoise(0.0))
        )
        assert stats.binomtest(right, DRAWS, level).pvalue > ALPHA
        assert stats.binomtest(bare, DRAWS, level).pvalue < ALPHA


def test_a_normal_interval_of_equal_variance_is_not_that_of_pure_noise() -> None:
    noise, law = drawn("l2", 1, 3)
    high = known(1e-9, NormalNoise(law.deviation)).interval(np.zeros(1), 0.99).high
    held = int(np.count_nonzero(np.abs(noise) <= high))
    assert stats.binomtest(held, DRAWS, 0.99).pvalue < ALPHA


def test_two_phases_of_pure_noise_add_up() -> None:
    first, law = drawn("l2", 4, 4)
    second, _ = drawn("l2", 4, 5)
    assert isinstance(law, BallNoise)
    both = BallNoise((law.scales[0], 0.5 * law.scales[0]), 4)
    for level in (0.8, 0.99):
        high = known(0.0, both).interval(np.zeros(1), level).high
        held = int(np.count_nonzero(np.abs(first + 0.5 * second) <= high))
        assert stats.binomtest(held, DRAWS, level).pvalue > ALPHA


def test_the_ledger_tells_the_law() -> None:
    rng, zero = np.random.default_rng(0), np.zeros(3)
    normal = gaussian(zero, l2_sensitivity=1, scale=2, rng=rng).entry
    assert noise_law(normal, 3) == NormalNoise(2.0)
    single = laplace(np.zeros(1), l1_sensitivity=1, epsilon=2, rng=rng).entry
    assert noise_law(single, 1) == BallNoise((0.5,), 1)


@pytest.mark.parametrize("successes", [0, 3, 50, 88])
@pytest.mark.parametrize("level", [0.8, 0.99])
def test_bounded_records_without_noise_have_wilsons_interval(successes: int, level: float) -> None:
    wilson = stats.binomtest(successes, 100).proportion_ci(level, "wilson")
    law = ErrorLaw(BoundedRecords(-2.0, 2.0, 100), NormalNoise(0.0))
    found = law.interval(np.array([4 * successes / 100 - 2]), level)
    assert found.low[0] == pytest.approx(4 * wilson.low - 2, abs=1e-8)
    assert found.high[0] == pytest.approx(4 * wilson.high - 2, abs=1e-8)


@pytest.mark.parametrize(
    "noise", [NormalNoise(math.sqrt(0.02)), BallNoise((0.05,), 3), CubeNoise(0.03, 3)]
)
def test_a_bias_up_to_its_bound_is_covered_and_a_larger_one_is_not(noise: NoiseLaw) -> None:
    reach = known(0.01, noise, bias=0.2).interval(np.zeros(1), 0.9).high
    spread = np.array([0.01])

    def chance(b: float) -> float:
        return float((noise.within(reach - b, spread) + noise.within(reach + b, spread))[0] / 2)

    assert chance(0.2) == pytest.approx(0.9, abs=1e-9)
    assert chance(0.1) > 0.9 > chance(0.25)
    exact = stats.norm.cdf((reach - 0.2) / math.sqrt(0.03)) - stats.norm.cdf(
        (-reach - 0.2) / math.sqrt(0.03)
    )
    if isinstance(noise, NormalNoise):
        assert exact[0] == pytest.approx(0.9, abs=1e-9)


def test_coordinates_have_their_own_variances() -> None:
    law = ErrorLaw(KnownVariance(np.array([0.1, 0.4])), BallNoise((0.2,), 2), np.array([1.0, 3.0]))
    both, centre = law.interval(np.array([1.0, 2.0]), 0.9), np.array([1.0, 2.0])
    for j in (0, 1):
        alone = law.coordinate(j).interval(centre[j : j + 1], 0.9)
        assert (alone.low[0], alone.high[0]) == (both.low[j], both.high[j])
        wide = known(law.sampling.variance(centre)[j], BallNoise((0.2 * [1, 3][j],), 2))
        assert wide.interval(centre, 0.9).high[j] == pytest.approx(both.high[j], rel=1e-9)
    assert law.stderr(centre) == pytest.approx([math.sqrt(0.1 + 0.12), math.sqrt(0.4 + 1.08)])


def test_the_sampling_error_of_a_rescaled_last_phase() -> None:
    """Clipped half way, it is larger than that of the mean: records, centre and noise drawn."""
    n, draws = 2000, 12_000
    at = {"n": float(n), "d": 1.0, "sigma": 1.0, "radius": 1.0}
    planned = best_course(at, ZeroConcentrated(0.001), "Gaussian")
    last = planned.phases[-1]
    assert last.slope < 0.7
    shift = 1 / sum(1 / phase.variance for phase in planned.phases[:-1])
    rng = np.random.default_rng(0)
    found = np.empty(draws)
    for t in range(draws):
        x = rng.standard_normal(n)
        centre = x.mean() + math.sqrt(shift) * rng.standard_normal()
        moved = np.clip(x - centre, -last.R, last.R).mean() / last.slope
        moved += math.sqrt(last.variance) * rng.standard_normal()
        found[t] = centre + last.weight * moved
    low, high = draws * found.var() / stats.chi2.isf([ALPHA, 1 - ALPHA], draws)
    assert low < planned.sampling + planned.noise < high
    assert not low < at["sigma"] ** 2 / n + planned.noise < high


# Estimators


@pytest.mark.parametrize("name", ESTIMATORS)
def test_there_is_no_interval_before_a_fit(name: str) -> None:
    with pytest.raises(NotFittedError):
        ESTIMATORS[name].confidence_interval()
    with pytest.raises(NotFittedError):
        _ = ESTIMATORS[name].stderr_
    assert not hasattr(ESTIMATORS[name], "stderr_")


@pytest.mark.parametrize("level", [0, 1, -0.5, 1.5, math.nan, math.inf, "0.9", None, True])
def test_a_bad_level_is_named(level: Any) -> None:
    fit = NoisyMean(R=1.0, random_state=0).fit(data()[0])
    with pytest.raises((TypeError, ValueError), match="level"):
        fit.confidence_interval(level)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_intervals_have_a_place_for_each_coordinate_and_cost_nothing(name: str) -> None:
    fit = ESTIMATORS[name].__class__(**ESTIMATORS[name].get_params(deep=False)).fit(*data())
    spent = fit.privacy_, tuple(fit.ledger_)
    narrow, wide = fit.confidence_interval(0.5), fit.confidence_interval()
    assert wide.low.shape == wide.high.shape == fit.stderr_.shape == (3,)
    assert np.all(wide.low < narrow.low)
    assert np.all(narrow.high < wide.high)
    assert (fit.privacy_, tuple(fit.ledger_)) == spent
    centre = getattr(fit, fit.estimated) / fit.error_law_.shrinkage
    assert (wide.low + wide.high) / 2 == pytest.approx(centre)


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (NoisyMean(Pure(1e3), R="quantile"), "R='quantile'"),
        (NoisyMean(R="theory", clip="ball", **KNOWN), "clip='ball'"),
        (NoisyGradientRegression(Approximate(1e3, 1e-6), R="quantile"), "R='quantile'"),
        (NoisyGradientRegression(L=2.0), "the rows' second moment"),
        (NoisyGradientRegression(), "the rows' second moment"),
        (SparseMean(**KNOWN), "coordinates were chosen"),
        (NoisyGradientRegression(L=1.0, step_size=1e9), "step_size"),
    ],
)
def test_where_the_law_is_not_public_the_error_says_why(estimator: Any, reason: str) -> None:
    fit = estimator.set_params(random_state=0).fit(*data())
    with pytest.raises(ValueError, match=f"no confidence interval: {reason}"):
        fit.confidence_interval(0.9)
    with pytest.raises(ValueError, match=f"no standard error: {reason}"):
        _ = fit.stderr_


@pytest.mark.parametrize("privacy", [ZeroConcentrated(0.02), Gaussian(0.2), Pure(0.5)])
@pytest.mark.parametrize("options", [KNOWN, {**KNOWN, "tails": "coordinates"}, {"R": 1.0}])
def test_noise_scale_and_law_agree(privacy: Any, options: Any) -> None:
    fit = NoisyMean(privacy, **options, random_state=0).fit(data()[0])
    assert fit.error_law_.noise.deviation == pytest.approx(fit.noise_scale_, rel=1e-9)


def test_noise_whose_square_is_beyond_floats_is_no_error() -> None:
    for privacy in (Pure(1e-200), Gaussian(1e-160)):
        fit = NoisyMean(privacy, R=1.0, random_state=0).fit(data()[0])
        assert fit.stderr_ == pytest.approx(fit.noise_scale_)
        low, high = fit.confidence_interval(0.9)
        assert np.all(low < high)
        assert np.all(np.isfinite(high - low))


def squared_errors(estimator: Any, trials: int) -> tuple[np.ndarray, np.ndarray]:
    """Errors over standard errors, squared, with the noise in them and without."""
    out = np.empty((2, trials, 3))
    for t in range(trials):
        fit = estimator.set_params(random_state=t).fit(*data(1000, 3, seed=t))
        law = fit.error_law_
        error = (fit.coef_ / law.shrinkage - 0.3) ** 2
        bare = replace(law, noise=NormalNoise(0.0))
        out[:, t] = error / law.stderr(fit.coef_) ** 2, error / bare.stderr(fit.coef_) ** 2
    return out[0].ravel(), out[1].ravel()


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_the_law_of_the_last_iterate(steps: int) -> None:
    options = {**RESPONSES, "L": 1.0, "steps": steps}
    found, bare = squared_errors(
        NoisyGradientRegression(ZeroConcentrated(0.1), **options, random_state=0), 300
    )
    ends = stats.chi2.isf([1 - ALPHA, ALPHA], found.size) / found.size
    assert ends[0] < found.mean() < ends[1]
    assert not ends[0] < bare.mean() < ends[1]
