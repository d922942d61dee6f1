"""Laws of regressions' errors: against simulation, closed forms, and what they may read."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from estimators import (
    AdaptiveSufficientStatistics,
    NoisyGradientRegression,
    NoisyMean,
    PlannedLogisticRegression,
    ResidualClippedRegression,
)
from estimators.core.error_laws import (
    Descent,
    LastPhase,
    iterate_error,
    last_phase_error,
    solved_error,
)
from estimators.core.intervals import ErrorLaw, NormalNoise, chi_square_rule, noise_law
from estimators.core.second_moment import SecondMoment
from estimators.core.unsure_moment import ErrorsOnAxes, Step
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated

ALPHA = 1e-6
NOISE = 0.3
KNOWN = {"sigma": NOISE, "row_bound": 1.0}
ISOTROPIC: dict[str, Any] = {**KNOWN, "second_moment": "isotropic"}
LOUD = ZeroConcentrated(1e3)
ESTIMATORS: dict[str, Any] = {
    "NoisyMean": NoisyMean(Pure(1.0), sigma=1.0, radius=1.0),
    "NoisyGradientRegression": NoisyGradientRegression(
        ZeroConcentrated(1.0), radius=5.0, L=1.0, **KNOWN
    ),
    "ResidualClippedRegression": ResidualClippedRegression(
        Approximate(1.0, 1e-6), radius=1.0, second_moment="private", **KNOWN
    ),
    "AdaptiveSufficientStatistics": AdaptiveSufficientStatistics(Gaussian(1.0), R=2.0, **KNOWN),
}
"""At budgets that leave each of them an interval."""


def data(n: int = 400, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, d)) / math.sqrt(d)
    return X, X @ np.full(d, 0.3) + NOISE * rng.standard_normal(n)


def fitted(name: str) -> Any:
    made = ESTIMATORS[name]
    return made.__class__(**{**made.get_params(deep=False), "random_state": 0}).fit(*data())


# What they read


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_interval_reads_the_law_and_the_release_alone(name: str) -> None:
    fit = fitted(name)
    bare = object.__new__(type(fit))
    bare.error_law_ = fit.error_law_
    setattr(bare, fit.estimated, getattr(fit, fit.estimated))
    np.testing.assert_array_equal(bare.confidence_interval(0.9), fit.confidence_interval(0.9))
    np.testing.assert_array_equal(bare.stderr_, fit.stderr_)
    assert fit.estimated in fit.releases
    delattr(bare, fit.estimated)
    with pytest.raises(AttributeError, match=fit.estimated):
        bare.confidence_interval(0.9)


def same(one: ErrorLaw, other: ErrorLaw) -> bool:
    at = np.full(3, 0.2)
    ends = zip(one.interval(at, 0.9), other.interval(at, 0.9), strict=True)
    return all(np.allclose(a, b, rtol=1e-12) for a, b in ends)


def test_the_law_of_gradient_steps_is_made_of_releases() -> None:
    fit = fitted("NoisyGradientRegression")
    public = 400, fit.n_iter_, fit.step_size_, fit.noise_scale_, 1.0, 5.0, NOISE, np.zeros(3)
    law = iterate_error(fit.coef_, Descent(*public))
    assert isinstance(law, ErrorLaw)
    assert same(law, fit.error_law_)


def test_the_law_of_clipped_residuals_is_made_of_releases() -> None:
    """S, its noise, the plan and the ledger tell everything."""
    fit = fitted("ResidualClippedRegression")
    _, of_moment, *of_phases = fit.ledger_
    tau = of_moment.scale
    moment = SecondMoment.of(fit.second_moment_, math.sqrt(6) * tau, tau)
    releases = zip(fit.plan_.phases, of_phases, strict=True)
    errors = ErrorsOnAxes(
        moment, 400, reach=1.0, stretch=max(fit.plan_.row_length**2 / moment.trace, 1.0)
    )
    for phase, entry in releases:
        step = Step(phase.clip, phase.slope, entry.scale)
        gain = errors.step(step, errors.residual_deviation(NOISE))
    mapped = errors.mapped(gain) * (fit.noise_scale_ / step.slope)
    assert np.allclose(mapped @ mapped.T, fit.noise_covariance_, rtol=1e-12)
    noise = noise_law(fit.ledger_[-1], 3)
    assert same(errors.error_law(noise, fit.noise_covariance_), fit.error_law_)
    assert fit.plan_.risk >= errors.risk


# Simulations


def inflation(estimator: Any, trials: int, target: float, n: int = 1000) -> tuple[float, float]:
    """Mean squared error over that of the law, with the noise in it and without: one coordinate."""
    found = np.empty((2, trials))
    for t in range(trials):
        fit = estimator.set_params(random_state=t).fit(*data(n, 3, seed=t))
        law, estimate = fit.error_law_, getattr(fit, fit.estimated)
        error = law.centre(estimate)[0] - target
        bare = replace(law, noise=NormalNoise(0.0))
        found[:, t] = [(error / each.stderr(estimate)[0]) ** 2 for each in (law, bare)]
    return float(found[0].mean()), float(found[1].mean())


@pytest.mark.parametrize(
    "estimator",
    [
        NoisyGradientRegression(
            ZeroConcentrated(0.2),
            radius=2.0,
            L=1.0,
            steps=2,
            start=np.array([0.8, -0.2, 0.1]),
            **KNOWN,
        ),
        AdaptiveSufficientStatistics(ZeroConcentrated(0.05), R=2.0, **KNOWN),
        AdaptiveSufficientStatistics(ZeroConcentrated(0.2), R=2.0, release="three", **KNOWN),
    ],
    ids=["a start of one's own", "joint", "three"],
)
def test_squared_errors_are_those_of_the_law(estimator: Any) -> None:
    trials = 600
    found, bare = inflation(estimator, trials, 0.3)
    ends = stats.chi2.isf([1 - ALPHA, ALPHA], trials) / trials
    assert ends[0] < found < ends[1]
    assert not ends[0] < bare < ends[1]


def one_step(phase: LastPhase, d: int, draws: int, rng: Any) -> np.ndarray:
    """A coordinate of b' - beta without noise, over fresh normal rows, residuals and b."""
    out = np.empty(draws)
    for t in range(draws):
        X = rng.standard_normal((phase.n, d))
        miss = rng.standard_normal(d) * math.sqrt(phase.before / d)
        residuals = phase.sigma * rng.standard_normal(phase.n) - X @ miss
        step = np.clip(residuals, -phase.clip, phase.clip) @ X / phase.n / phase.slope
        out[t] = (miss + step)[0]
    return out


def test_what_a_clipped_step_leaves_of_the_error_before_it() -> None:
    d, draws = 4, 3000
    slope = math.erf(1 / math.sqrt(2))
    phase = LastPhase(n=2000, clip=1.0, slope=slope, sigma=1.0, before=0.4)

    def variance(at: LastPhase) -> float:
        law = last_phase_error(at, np.eye(d), NormalNoise(1.0), np.eye(d))
        return float(law.sampling.variance(np.zeros(d))[0])

    found = one_step(phase, d, draws, np.random.default_rng(0)).var()
    low, high = draws * found / stats.chi2.isf([ALPHA, 1 - ALPHA], draws)
    assert low < variance(phase) < high
    assert not low < variance(phase._replace(before=0.0)) < high


def test_a_clipped_step_from_the_truth_has_the_variance_of_a_location_estimate() -> None:
    slope = math.erf(0.5 / math.sqrt(2))
    phase = LastPhase(n=100, clip=0.5, slope=slope, sigma=1.0, before=0.0)
    law = last_phase_error(phase, 2 * np.eye(3), NormalNoise(2.0), 9 * np.eye(3))
    square = integrate.quad(lambda x: np.clip(x, -0.5, 0.5) ** 2 * stats.norm.pdf(x), -9, 9)[0]
    assert law.sampling.variance(np.zeros(3)) == pytest.approx(2 * square / slope**2 / 100)
    assert law.stderr(np.zeros(3)) == pytest.approx(np.sqrt(2 * square / slope**2 / 100 + 9))
    far = last_phase_error(phase._replace(before=1e30), np.eye(3), NormalNoise(1.0), np.eye(3))
    assert far.sampling.variance(np.zeros(3)) == pytest.approx(1e30 / 3, rel=1e-9)


@pytest.mark.parametrize("d", [1, 2, 9, 300])
def test_the_rule_of_chi_square(d: int) -> None:
    values, weights = chi_square_rule(d)
    assert weights.sum() == pytest.approx(1)
    assert values @ weights == pytest.approx(1, rel=1e-6)
    assert (values - 1) ** 2 @ weights == pytest.approx(2 / d, rel=1e-4)


def test_noise_of_statistics_against_draws() -> None:
    """M (xi - Z b), with Z and xi drawn; its second part left out is too little."""
    rng, d, draws = np.random.default_rng(3), 3, 20_000
    gram = np.array([[40.0, 5.0, 0.0], [5.0, 30.0, -4.0], [0.0, -4.0, 50.0]])
    coef = np.array([1.0, -2.0, 0.5])
    raw = 1.5 * rng.standard_normal((draws, d, d))
    Z = (raw + raw.transpose(0, 2, 1)) / 2
    errors = (0.7 * rng.standard_normal((draws, d)) - Z @ coef) @ np.linalg.inv(gram)
    law = solved_error(coef, gram, 1.5, 0.7, 1e-9)
    ends = stats.chi2.isf([1 - ALPHA, ALPHA], draws) / draws
    ratio = (errors**2).mean(axis=0) / law.stderr(coef) ** 2
    assert np.all((ends[0] < ratio) & (ratio < ends[1]))
    bare = (errors**2).mean(axis=0) / solved_error(coef, gram, 0.0, 0.7, 1e-9).stderr(coef) ** 2
    assert np.all(bare > ends[1])


# Where there is none


LABELS = data()[1] > 0


@pytest.mark.parametrize(
    ("estimator", "y", "reason"),
    [
        (AdaptiveSufficientStatistics(ZeroConcentrated(1e-4)), data()[1], "noise on X'X"),
        (
            NoisyGradientRegression(LOUD, radius=0.1, L=1.0),
            data()[1],
            "coef_ was moved to the border",
        ),
        (NoisyGradientRegression(LOUD, radius=5.0), data()[1], "the rows' second moment"),
        (NoisyGradientRegression(schedule="theorem"), data()[1], "schedule='theorem'"),
        (
            PlannedLogisticRegression(radius=1.0, row_bound=1.0),
            LABELS,
            "steps leave a part of the start",
        ),
    ],
)
def test_the_error_says_why(estimator: Any, y: np.ndarray, reason: str) -> None:
    fit = estimator.set_params(random_state=0).fit(data()[0], y)
    with pytest.raises(ValueError, match=f"no confidence interval: {reason}"):
        fit.confidence_interval(0.9)
    with pytest.raises(ValueError, match=f"no standard error: {reason}"):
        _ = fit.stderr_


def test_without_sigma_the_bound_on_responses_stands_for_it() -> None:
    X, y = data()
    options = {"privacy": LOUD, "R": 2.0, "random_state": 0}
    known, wide = (
        AdaptiveSufficientStatistics(**options, **extra).fit(X, y).stderr_
        for extra in ({"sigma": NOISE}, {})
    )
    np.testing.assert_allclose(wide / known, 2.0 / NOISE, rtol=0.01)
    with pytest.raises(ValueError, match="sigma"):
        AdaptiveSufficientStatistics(sigma=-1.0).fit(X, y)


def test_intervals_of_clipped_residuals_are_about_what_was_not_projected() -> None:
    fit = ResidualClippedRegression(
        ZeroConcentrated(1e-4), radius=0.6, random_state=0, **ISOTROPIC
    ).fit(*data())
    assert np.linalg.norm(fit.unprojected_coef_) > 0.6
    assert np.linalg.norm(fit.coef_) == pytest.approx(0.6)
    low, high = fit.confidence_interval(0.9)
    assert (low + high) / 2 == pytest.approx(fit.unprojected_coef_)


UNPLANNED: list[SpendablePrivacy] = [
    Pure(1e-200), Pure(1e200), ZeroConcentrated(1e-200), Gaussian(1e-160), Gaussian(1e200)
]  # fmt: skip


@pytest.mark.parametrize("privacy", UNPLANNED, ids=str)
@pytest.mark.parametrize("tails", ["vectors", "Gaussian", "coordinates"])
def test_phases_are_not_planned_for_budgets_beyond_floats(privacy: Any, tails: Any) -> None:
    mean = NoisyMean(privacy, sigma=1.0, radius=1.0, tails=tails, random_state=0)
    regression = ResidualClippedRegression(privacy, radius=1.0, **ISOTROPIC, random_state=0)
    for estimator, records in ((mean, data()[:1]), (regression, data())):
        with pytest.raises(ValueError, match=r"privacy must have (epsilon|mu) in"):
            estimator.fit(*records)
        assert not hasattr(estimator, "ledger_")


@pytest.mark.parametrize("privacy", [Pure(1e-29), ZeroConcentrated(1e-58), Gaussian(1e29)], ids=str)
def test_phases_are_planned_up_to_there(privacy: Any) -> None:
    mean = NoisyMean(privacy, sigma=1.0, radius=1.0, random_state=0).fit(data()[0])
    regression = ResidualClippedRegression(privacy, radius=1.0, **ISOTROPIC, random_state=0)
    for fit in (mean, regression.fit(*data())):
        low, high = fit.confidence_interval(0.99)
        assert np.all(np.isfinite(high - low))
        assert np.all(low < high)
