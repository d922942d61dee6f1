"""Intervals of CoinPress and of Karwa and Vadhan's mean: coverage, and where there are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from estimators import CoinPressMean, KarwaVadhanMean
from estimators.baselines.histogram import bin_counts, noisy_argmax
from estimators.baselines.mean import RARE
from estimators.core.intervals import BallNoise, NoLaw, NormalNoise
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.problems.mean.baselines import far_bin_chance
from tests.effort import part

ALPHA = 1e-5
FITS = part(300, of=1500)
KNOWN = {"sigma": 1.0, "radius": 1.0}
CELLS: dict[str, tuple[Any, int, int]] = {
    "CoinPress, zCDP": (CoinPressMean(ZeroConcentrated(0.1), **KNOWN), 300, 3),
    "CoinPress, GDP": (CoinPressMean(Gaussian(0.3), **KNOWN, iterations=2), 500, 2),
    "Karwa and Vadhan, pure": (KarwaVadhanMean(Pure(1.0), **KNOWN), 1000, 2),
    "Karwa and Vadhan, wide": (
        KarwaVadhanMean(ZeroConcentrated(0.01), sigma=1.0, radius=20.0),
        4000,
        1,
    ),
    "Karwa and Vadhan, free": (KarwaVadhanMean(Approximate(1.0, 1e-6), sigma=1.0), 2000, 1),
}


def held(estimator: Any, n: int, d: int, level: float) -> tuple[int, int]:
    """How many intervals hold the mean on one coordinate, with the noise in their law, without."""
    whole, bare = 0, 0
    for seed in range(FITS):
        rng = np.random.default_rng(seed)
        mean = rng.uniform(-1, 1, d)
        fit = estimator.set_params(random_state=rng).fit(mean + rng.standard_normal((n, d)))
        j = int(rng.integers(d))
        law = fit.error_law_.coordinate(j)
        for counted in (law, replace(law, noise=NormalNoise(0.0))):
            low, high = counted.interval(fit.mean_[j], level)
            inside = bool(low <= mean[j] <= high)
            whole, bare = (whole + inside, bare) if counted is law else (whole, bare + inside)
    return whole, bare


@pytest.mark.parametrize("name", CELLS)
def test_intervals_hold_the_mean_as_often_as_they_say(name: str) -> None:
    estimator, n, d = CELLS[name]
    whole, bare = held(estimator, n, d, 0.9)
    assert stats.binomtest(whole, FITS, 0.9).pvalue > ALPHA
    # a control: without the privacy noise they are too narrow
    assert stats.binomtest(bare, FITS, 0.9, alternative="less").pvalue < ALPHA


def records(n: int, d: int = 2, mean: float = 0.0) -> np.ndarray:
    return mean + np.random.default_rng(1).standard_normal((n, d))


def test_standard_errors_are_sampling_and_noise() -> None:
    fit = CoinPressMean(ZeroConcentrated(0.1), **KNOWN, random_state=0).fit(records(300))
    assert fit.stderr_ == pytest.approx(np.hypot(300**-0.5, fit.noise_scale_))
    assert 0 < fit.error_law_.bias < 0.1 * fit.noise_scale_
    pure = KarwaVadhanMean(Pure(1.0), **KNOWN, random_state=0).fit(records(1000))
    assert pure.error_law_.noise == BallNoise((pure.noise_scale_,), 1)  # Laplace, twice its square
    assert pure.stderr_ == pytest.approx(np.hypot(1000**-0.5, np.sqrt(2) * pure.noise_scale_))


@pytest.mark.parametrize("n", [20, 300])
def test_few_records_have_no_interval_unless_the_window_holds_every_mean(n: int) -> None:
    far = KarwaVadhanMean(ZeroConcentrated(0.01), sigma=1.0, radius=20.0, random_state=0)
    with pytest.raises(ValueError, match="the histogram's bin may be far from the mean"):
        far.fit(records(n)).confidence_interval()
    near = far.set_params(radius=1.0).fit(records(n))
    assert np.all(np.isfinite(near.confidence_interval().high))


def test_a_bin_that_is_not_found_has_none() -> None:
    """Records that are spread over all bins: the law's chance is that of normal ones."""
    model = KarwaVadhanMean(Approximate(1.0, 1e-6), sigma=1.0, random_state=0)
    spread = np.linspace(-1e6, 1e6, 2000)[:, None]
    fit = model.fit(spread)
    assert not fit.found_.any()
    assert fit.error_law_ == NoLaw("no bin passed the threshold on some coordinate")


def test_noise_whose_square_is_beyond_floats_is_no_error() -> None:
    for estimator in (
        CoinPressMean(Gaussian(1e-160), **KNOWN, random_state=0),
        KarwaVadhanMean(Pure(1e-200), **KNOWN, random_state=0),
    ):
        low, high = estimator.fit(records(50)).confidence_interval(0.9)
        assert np.all(low < high)


def far_winners(n: int, scale: float, last: int) -> float:
    """How often the winner is far, for a mean at the worst place, next to the edge of a bin."""
    rng, trials, mean = np.random.default_rng(0), 3000, 0.5 + 1e-9
    winners = [
        noisy_argmax(bin_counts(mean + rng.standard_normal(n), 1.0, last), last, 2 / scale, rng)
        for _ in range(trials)
    ]
    return float(np.mean(np.abs(np.array(winners) - mean) > 1.5))


@pytest.mark.parametrize(("n", "scale"), [(100, 0.1), (100, 3.0), (250, 10.0), (500, 20.0)])
def test_the_winner_is_far_no_more_often_than_is_said(n: int, scale: float) -> None:
    chance = far_bin_chance(n, scale, 21)
    assert far_winners(n, scale, 10) <= chance < 0.9
    assert far_winners(n // 20, scale, 10) > chance  # a control: with fewer records it is
    assert far_bin_chance(4 * n, scale, 21) < RARE  # and intervals are not always refused
