"""Steps with a second moment that was released with noise: gains, errors and intervals."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from estimators import ResidualClippedRegression, SparseResidualClippedRegression
from estimators.core.base import PlanWarning, ReleasedWarning
from estimators.core.intervals import KnownVariance, MixedVariance, NormalNoise
from estimators.core.second_moment import SecondMoment, moment_floor
from estimators.core.unsure_moment import OFFSETS, WEIGHTS, ErrorsOnAxes, Step
from minimax.core.privacy import Pure, ZeroConcentrated
from tests.unit.estimators.test_intervals import known

Array = NDArray[np.float64]
SIGMA, REACH = 0.3, 2.0
OPTIONS = {"row_bound": 1.0, "radius": REACH}


def rows(n: int, rng: np.random.Generator, share: float) -> Array:
    """Uniform columns but the first, which is 0 for all rows but this share."""
    X = rng.uniform(-1, 1, (n, 3))
    X[:, 0] = rng.random(n) < share
    return X / math.sqrt(3)


def records(n: int, seed: int, share: float) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(3)
    coef = 0.7 * direction / np.linalg.norm(direction)
    X = rows(n, rng, share)
    return X, X @ coef + SIGMA * rng.standard_normal(n), coef


# --- Gains ---------------------------------------------------------------------------------------


def followed(values: list[float], noise: float) -> ErrorsOnAxes:
    moment = SecondMoment.of(np.diag(values), moment_floor(len(values), noise), noise)
    return ErrorsOnAxes(moment, 1000, REACH, 1.0)


def test_an_axis_that_is_not_seen_is_not_moved() -> None:
    errors = followed([-0.01, 0.3], 0.01)
    gain = errors.step(Step(1.0, 0.8, 0.01), errors.residual_deviation(SIGMA))
    assert gain[0] == 0
    assert 0.9 < gain[1] <= 1
    assert errors.left[:, 0].min() == REACH**2  # as wide as what was known before


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
def test_no_other_gain_leaves_less(noise: float) -> None:
    def left(errors: ErrorsOnAxes, gain: Array, step: Step) -> Array:
        pull, blur = errors.seen, (errors.noise / errors.raised) ** 2
        added = blur * (before.sum() - before) / 2 + (step.noise / errors.raised) ** 2
        return ((1 - gain * pull) ** 2 + gain**2 * blur) * before + gain**2 * added

    errors, step = followed([0.02, 0.1, 0.4], noise), Step(1e6, 1.0, 0.01)
    before = errors.usual
    gain = errors.step(step, SIGMA)
    assert np.allclose(errors.usual, left(errors, gain, step), rtol=1e-9)
    for other in np.linspace(0, 1, 101):
        assert np.all(left(errors, np.full(3, other), step) >= errors.usual * (1 - 1e-9))


def test_a_known_moment_is_newton() -> None:
    """Without noise anywhere a step leaves nothing but the sampling error of least squares."""
    errors = followed([0.1, 0.4], 0.0)
    gain = errors.step(Step(1e6, 1.0, 0.0), SIGMA)
    assert np.allclose(gain, 1)
    assert np.allclose(errors.left, 0)
    assert np.allclose(errors.sampling**2, SIGMA**2 / (1000 * errors.raised), rtol=1e-6)


def test_what_is_left_is_followed_for_every_eigenvalue_that_is_possible() -> None:
    """Without clips and noise a step takes the part gain s/a off the error, s being the true
    second moment and a the released one; what other axes may leak comes on top."""
    errors = followed([0.1], 0.02)
    s, a = errors.possible[:, 0], errors.raised[0]
    error, leak = np.full(len(s), REACH), np.zeros(len(s))
    for _ in range(2):
        total = errors.total
        gain = errors.step(Step(1e6, 1.0, 0.0), SIGMA)[0]
        kept = 1 - gain * s / a
        error, leak = kept * error, kept**2 * leak + (gain * 0.02 / a) ** 2 * total / 2
        assert np.allclose(errors.left[:, 0], error**2 + leak, rtol=1e-9)
    assert errors.left[0, 0] > 10 * errors.left[len(s) // 2, 0]  # far from what was released


# --- Mixed variances -----------------------------------------------------------------------------


def test_a_mixture_of_equal_variances_is_a_known_one() -> None:
    law = known(0.4, NormalNoise(0.3))
    mixed = replace(law, sampling=MixedVariance(np.full((len(OFFSETS), 1), 0.4), WEIGHTS))
    at = np.zeros(1)
    for level in (0.5, 0.9, 0.999):
        assert np.allclose(mixed.interval(at, level), law.interval(at, level), rtol=1e-9)
    assert np.allclose(mixed.stderr(at), law.stderr(at))


def test_a_mixture_holds_its_level() -> None:
    law = replace(
        known(1.0, NormalNoise(0.5)),
        sampling=MixedVariance(np.array([[0.1], [4.0]]), np.array([0.9, 0.1])),
    )
    high = law.interval(np.zeros(1), 0.99).high[0]
    chances = [2 * stats.norm.sf(high / math.sqrt(v + 0.25)) for v in (0.1, 4.0)]
    assert 0.9 * chances[0] + 0.1 * chances[1] == pytest.approx(0.01, rel=1e-6)
    simple = replace(law, sampling=KnownVariance(np.array([0.9 * 0.1 + 0.1 * 4.0])))
    assert simple.interval(np.zeros(1), 0.99).high[0] < high


# --- Intervals of a rare column ------------------------------------------------------------------


def misses(share: float, fits: int) -> tuple[int, int, float]:
    """How many 99 % intervals of the rare column miss, with the law and with sampling error alone;
    and the mean squared error there."""
    missed = [0, 0]
    loss = 0.0
    for seed in range(fits):
        X, y, coef = records(1000, seed, share)
        fit = ResidualClippedRegression(Pure(1.0), sigma=SIGMA, random_state=seed, **OPTIONS)
        law = fit.fit(X, y).error_law_
        plain = replace(law, sampling=KnownVariance(np.full(3, SIGMA**2 / (1000 * share / 3))))
        for k, each in enumerate((law, plain)):
            low, high = each.interval(fit.unprojected_coef_, 0.99)
            missed[k] += not low[0] <= coef[0] <= high[0]
        loss += (fit.coef_[0] - coef[0]) ** 2 / fits
    return missed[0], missed[1], loss


def test_intervals_of_a_rare_column_hold_what_they_promise() -> None:
    """Its second moment is lost in noise: what is not known of it is part of the interval."""
    fits = 60
    kept, plain, loss = misses(0.01, fits)
    assert stats.binom.sf(kept - 1, fits, 0.01) > 1e-6
    assert stats.binom.sf(plain - 1, fits, 0.01) < 1e-6
    assert loss < 0.7**2  # no worse than releasing 0 for the largest it can be


# --- A scale that cannot be found ----------------------------------------------------------------


def test_too_few_rows_to_find_sigma_are_told() -> None:
    X, y, coef = records(300, 0, 0.5)
    model = ResidualClippedRegression(ZeroConcentrated(0.05), random_state=0, **OPTIONS)
    with pytest.warns(ReleasedWarning, match="too few rows count to find sigma"):
        model.fit(X, y)
    assert model.sigma_ == REACH  # row_bound radius
    assert model.plan_.scale_share == 0
    assert model.privacy_.parameters == {"rho": pytest.approx(0.05)}
    assert np.linalg.norm(model.coef_ - coef) < REACH
    with pytest.raises(ValueError, match="no confidence interval: too few rows"):
        model.confidence_interval()


def test_enough_rows_are_not() -> None:
    X, y, _ = records(3000, 0, 0.5)
    model = ResidualClippedRegression(ZeroConcentrated(0.1), random_state=0, **OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    assert 0.5 * SIGMA < model.sigma_ < 2 * SIGMA
    assert model.plan_.scale_share > 0


def test_the_sparse_one_says_so_before_anything_is_released() -> None:
    X, y, _ = records(200, 0, 0.5)
    model = SparseResidualClippedRegression(
        ZeroConcentrated(0.1), s=2, entry_bound=1.0, radius=REACH, random_state=0
    )
    with pytest.warns(PlanWarning, match="too few rows count to find sigma"):
        model.fit(X, y)
    assert model.plan_.scale_share == 0
    assert np.linalg.norm(model.coef_) < 3 * REACH
