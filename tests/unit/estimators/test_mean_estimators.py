"""The mean estimators: conventions, hand values, bad input, what is reported as privacy."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone

from estimators.baselines.histogram import (
    LAST_BIN,
    bin_counts,
    noisy_argmax,
    stability_threshold,
    stable_argmax,
)
from estimators.baselines.mean import CoinPressMean, KarwaVadhanMean
from estimators.core.accounting import LedgerEntry, compose
from estimators.core.truncation import theoretical_truncation
from estimators.mean import NoisyMean, Tails
from minimax.core.privacy import Approximate, Gaussian, Pure, Renyi, ZeroConcentrated
from minimax.problems.mean.problem import MeanProblem

pytestmark = pytest.mark.oldest

Estimator = NoisyMean | KarwaVadhanMean | CoinPressMean
BUDGET = Approximate(1.0, 1e-6)
ESTIMATORS = [NoisyMean, KarwaVadhanMean, CoinPressMean]
GOOD = np.random.default_rng(0).normal(0.3, 1.0, (200, 3))


def ids(kinds: list[type]) -> list[str]:
    return [kind.__name__ for kind in kinds]


PUBLIC = {"sigma": 1.0, "radius": 1.0}


def made(kind: type[Estimator], **options: Any) -> Estimator:
    """The estimator with the public numbers it asks for (Karwa and Vadhan's needs no radius)."""
    known = {"sigma": 1.0} if kind is KarwaVadhanMean else PUBLIC
    return kind(**{"privacy": BUDGET, **known, **options})


each = pytest.mark.parametrize("kind", ESTIMATORS, ids=ids(ESTIMATORS))


@each
def test_constructor_only_stores(kind: type[Estimator]) -> None:
    """A wrong budget is stored, not refused, and comes back from a clone untouched."""
    estimator = made(kind, privacy="wrong")
    assert clone(estimator).get_params()["privacy"] == "wrong"
    with pytest.raises(TypeError, match="privacy must be one of"):
        estimator.fit(GOOD)


# --- hand values: with next to no noise the releases are the clipped statistics themselves


def test_noisy_mean_is_the_clipped_mean() -> None:
    X = np.array([[0.5, 10.0], [1.5, -1.0], [-7.0, 0.25]])
    fitted = NoisyMean(Gaussian(1e9), R=2.0, random_state=0).fit(X)
    assert fitted.mean_ == pytest.approx([0.0, 1.25 / 3], abs=1e-7)
    pure = NoisyMean(Pure(1e9), R=2.0, random_state=0).fit(X)
    assert pure.mean_ == pytest.approx([0.0, 1.25 / 3], abs=1e-7)
    ball = NoisyMean(Gaussian(1e9), R=5.0, clip="ball", random_state=0).fit(
        [[30.0, 40.0], [1.0, 2.0]]
    )
    assert ball.mean_ == pytest.approx([2.0, 3.0], abs=1e-7)


@pytest.mark.parametrize("privacy", [Pure(1e6), ZeroConcentrated(1e12)], ids=str)
def test_karwa_vadhan_clips_around_the_fullest_bin(privacy: Pure | ZeroConcentrated) -> None:
    X = np.array([[10.1], [9.9], [10.2], [1e300]])
    fitted = KarwaVadhanMean(privacy, sigma=1.0, radius=20.0, factor=1.0, random_state=0).fit(X)
    half = 1.5 + math.sqrt(math.log(4))
    assert fitted.centres_ == pytest.approx([10.0])
    assert fitted.half_width_ == pytest.approx(half)
    assert fitted.mean_ == pytest.approx([10 + (0.1 - 0.1 + 0.2 + half) / 4], abs=1e-4)


def test_coinpress_shrinks_to_the_mean() -> None:
    X = np.random.default_rng(1).normal(40.0, 1.0, (5000, 4))
    fitted = CoinPressMean(Gaussian(1e6), radius=100.0, random_state=0, sigma=1.0).fit(X)
    assert fitted.mean_ == pytest.approx(X.mean(axis=0), abs=1e-3)
    assert np.all(np.diff(fitted.ball_radii_) <= 0)
    once = CoinPressMean(
        Gaussian(1e6), ball_radius=10.0, iterations=1, random_state=0, sigma=1.0
    ).fit(X)
    # The control: a first ball that misses the mean (at distance 80) is clipped away from it.
    assert np.linalg.norm(once.mean_) < 20


def test_coinpress_forgets_its_first_ball() -> None:
    """Three steps from a radius of a thousand come close to what a known ball would give."""
    X = np.random.default_rng(2).normal(500.0, 1.0, (20_000, 5))
    wide = CoinPressMean(ZeroConcentrated(0.5), radius=1000.0, random_state=0, sigma=1.0).fit(X)
    single = CoinPressMean(
        ZeroConcentrated(0.5), radius=1000.0, iterations=1, random_state=0, sigma=1.0
    ).fit(X)
    assert wide.noise_scale_ < single.noise_scale_ / 50


def test_a_ball_that_would_grow_is_kept() -> None:
    fitted = CoinPressMean(ZeroConcentrated(1e-4), radius=1.0, random_state=0, sigma=1.0).fit(
        GOOD[:5]
    )
    assert np.all(fitted.ball_radii_ == math.sqrt(3))


def test_unbounded_mean_is_found_only_by_the_histogram() -> None:
    X = np.random.default_rng(3).normal(1e6, 1.0, (20_000, 5))
    found = KarwaVadhanMean(BUDGET, random_state=0, sigma=1.0).fit(X)
    assert np.all(found.found_)
    assert np.abs(found.mean_ - 1e6).max() < 0.1
    assert (
        np.abs(
            NoisyMean(BUDGET, random_state=0, R="theory", sigma=1.0, radius=1.0).fit(X).mean_ - 1e6
        ).max()
        > 9e5
    )


def test_too_few_records_fall_back_to_zero() -> None:
    fitted = KarwaVadhanMean(BUDGET, random_state=0, sigma=1.0).fit(GOOD[:20] + 1e6)
    assert not fitted.found_.any()
    assert np.all(fitted.centres_ == 0)


@each
def test_seeds_reproduce(kind: type[Estimator]) -> None:
    first, again, other = (made(kind, random_state=seed).fit(GOOD).mean_ for seed in (5, 5, 6))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


# --- input


@each
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float32, np.float16, object])
def test_other_dtypes_give_the_same_release(kind: type[Estimator], dtype: Any) -> None:
    X = np.random.default_rng(4).integers(0, 5, (50, 3))
    expected = made(kind, random_state=0).fit(X.astype(float)).mean_
    assert np.allclose(made(kind, random_state=0).fit(X.astype(dtype)).mean_, expected, rtol=1e-12)


def test_bounds_are_not_rounded_to_the_data_type() -> None:
    """float16(0.7) = 0.7002 would let a record move the mean by more than 2 R/n."""
    X = np.full((1, 1), 5.0, dtype=np.float16)
    assert NoisyMean(Gaussian(1e12), R=0.7, random_state=0).fit(X).mean_[0] == pytest.approx(
        0.7, 1e-9
    )
    assert float(np.clip(X, -0.7, 0.7)[0, 0]) > 0.7001


BAD_DATA: dict[str, tuple[Any, str]] = {
    "NaN": (np.where(GOOD > 1, np.nan, GOOD), "NaN"),
    "infinite": (np.where(GOOD > 1, np.inf, GOOD), "infinity"),
    "one axis": (GOOD[:, 0], "2D array"),
    "three axes": (GOOD[None], "dim 3"),
    "no records": (GOOD[:0], "0 sample"),
    "no columns": (GOOD[:, :0], "0 feature"),
    "complex": (GOOD + 1j, "[Cc]omplex"),
    "words": (np.array([["a", "b"]], dtype=object), "could not convert"),
    "nothing": (None, "2D array|NoneType"),
}


@each
@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_is_refused_before_noise_is_drawn(kind: type[Estimator], case: str) -> None:
    X, message = BAD_DATA[case]
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises((ValueError, TypeError), match=message):
        made(kind, random_state=rng).fit(X)
    assert rng.bit_generator.state == before
    made(kind, random_state=rng).fit(GOOD)
    assert rng.bit_generator.state != before


BAD_PARAMETERS: list[tuple[type[Estimator], dict[str, Any], str]] = [
    (NoisyMean, {"R": 0.0}, "R must"),
    (NoisyMean, {"R": -1}, "R must"),
    (NoisyMean, {"R": math.nan}, "R must"),
    (NoisyMean, {"R": 1e200}, "R must"),
    (NoisyMean, {"R": True}, "R must"),
    (NoisyMean, {"R": "large"}, "R must"),
    (NoisyMean, {"R": [1.0, 2.0]}, "R must"),
    (NoisyMean, {"clip": "cube"}, "clip must"),
    (NoisyMean, {"clip": "ball"}, "R: 'auto' plans"),
    (NoisyMean, {"calibration": "paper"}, "R: 'auto' plans"),
    (NoisyMean, {"tails": "heavy"}, "tails must"),
    (NoisyMean, {"sigma": None}, "sigma must be given for R='auto'"),
    (NoisyMean, {"radius": None, "R": "theory"}, "radius must be given for R='theory'"),
    (KarwaVadhanMean, {"sigma": None}, "sigma must be given"),
    (CoinPressMean, {"radius": None}, "radius must be given"),
    (NoisyMean, {"calibration": "none"}, "calibration must"),
    (
        NoisyMean,
        {"R": 1.0, "calibration": "paper", "privacy": ZeroConcentrated(1.0)},
        "calibration=",
    ),
    (
        NoisyMean,
        {"calibration": "paper", "privacy": ZeroConcentrated(1.0), "R": "quantile"},
        "calibration=",
    ),
    (
        NoisyMean,
        {"R": 1.0, "calibration": "classical", "privacy": Approximate(2, 1e-6)},
        "calibration=",
    ),
    (NoisyMean, {"R": "quantile", "privacy": Gaussian(1.0)}, "R='quantile' needs"),
    (NoisyMean, {"sigma": -1.0}, "sigma must"),
    (NoisyMean, {"radius": 0}, "radius must"),
    (NoisyMean, {"quantile": 1.0}, "quantile must"),
    (NoisyMean, {"range_share": "half"}, "range_share must"),
    (NoisyMean, {"privacy": 1.0}, "privacy must"),
    (NoisyMean, {"privacy": Renyi(2.0, 1.0)}, "privacy must"),
    (NoisyMean, {"privacy": Pure(1.0, "local")}, "privacy.scope must"),
    (KarwaVadhanMean, {"privacy": Gaussian(1.0)}, "privacy must"),
    (KarwaVadhanMean, {"privacy": Pure(1.0)}, "radius must be given"),
    (KarwaVadhanMean, {"privacy": ZeroConcentrated(1.0)}, "radius must be given"),
    (KarwaVadhanMean, {"radius": 1e20}, "radius must"),
    (KarwaVadhanMean, {"radius": -2.0}, "radius must"),
    (KarwaVadhanMean, {"sigma": 0.0}, "sigma must"),
    (KarwaVadhanMean, {"factor": math.inf}, "factor must"),
    (KarwaVadhanMean, {"range_share": 1.0}, "range_share must"),
    (CoinPressMean, {"privacy": Pure(1.0)}, "privacy must"),
    (CoinPressMean, {"sigma": None}, "sigma must"),
    (CoinPressMean, {"radius": -1.0}, "radius must"),
    (CoinPressMean, {"ball_radius": 0.0}, "ball_radius must"),
    (CoinPressMean, {"iterations": 0}, "iterations must"),
    (CoinPressMean, {"iterations": 2.5}, "iterations must"),
    (CoinPressMean, {"iterations": True}, "iterations must"),
    (CoinPressMean, {"last_share": 0.0}, "last_share must"),
    (CoinPressMean, {"beta": 1.5}, "beta must"),
]


@pytest.mark.parametrize(("kind", "changed", "message"), BAD_PARAMETERS)
def test_bad_parameters_are_named(
    kind: type[Estimator], changed: dict[str, Any], message: str
) -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises((ValueError, TypeError), match=message):
        made(kind, **{"random_state": rng, **changed}).fit(GOOD)
    assert rng.bit_generator.state == before


# --- privacy reported


@pytest.mark.parametrize(
    ("epsilon", "delta", "ratio"), [(0.5, 1e-8, 28), (0.5, 1e-5, 1.68), (0.9, 1e-8, 62)]
)
def test_the_papers_noise_gives_a_larger_delta(epsilon: float, delta: float, ratio: float) -> None:
    asked = Approximate(epsilon, delta)
    paper = NoisyMean(asked, R=3.0, calibration="paper", random_state=0).fit(GOOD).privacy_
    assert isinstance(paper, Approximate)
    assert paper.epsilon == epsilon
    assert paper.delta / delta == pytest.approx(ratio, rel=0.02)
    exact = NoisyMean(asked, R=3.0, random_state=0).fit(GOOD).privacy_
    assert isinstance(exact, Approximate)
    assert exact.delta == delta
    assert exact.epsilon == pytest.approx(epsilon, rel=1e-9)


@each
def test_the_ledger_reproduces_the_guarantee(kind: type[Estimator]) -> None:
    fitted = made(kind, random_state=0).fit(GOOD)
    assert compose(fitted.ledger_, Approximate, BUDGET.delta) == fitted.privacy_
    assert compose(fitted.ledger_ * 2, Approximate, BUDGET.delta * 2) != fitted.privacy_


def test_the_risk_bound_is_for_sub_gaussian_records_unless_told_otherwise() -> None:
    """x = B with chance alpha, else 0, sub-Gaussian(1) by Kearns and Saul: Gaussians lose less."""
    alpha, R = 1e-4, 4.0
    B = math.sqrt(2 * math.log((1 - alpha) / alpha) / (1 - 2 * alpha))
    bias = alpha * (B - R)
    problem = MeanProblem(10**15, 1, 1.0, 1e-3)

    def proven(tails: Tails) -> float:
        return NoisyMean(Gaussian(1e9), R=R, tails=tails).risk_bound(problem).value()

    assert B > R
    assert alpha * B < problem.radius
    assert proven("Gaussian") < bias**2 <= proven("coordinates") == proven("vectors")


def test_the_risk_bound_uses_the_noise_that_is_drawn() -> None:
    problem = MeanProblem(n=200, d=3)
    estimator = NoisyMean(BUDGET, random_state=0, R="theory", sigma=1.0, radius=1.0)
    noise = estimator.fit(GOOD).noise_scale_ ** 2 * 3
    level = theoretical_truncation(200, 1.0, 1.0)
    assert estimator.R_ == level == 1 + 4 * math.sqrt(math.log(200))
    value = estimator.risk_bound(problem).value()
    assert 3 / 200 + noise <= value <= (3 / 200 + noise) * 1.001
    with pytest.raises(ValueError, match="risk_bound covers"):
        NoisyMean(BUDGET, clip="ball", R="theory", sigma=1.0, radius=1.0).risk_bound(problem)


# --- the histograms


def laplace_tail(threshold: float, scale: float) -> float:
    return float(stats.laplace.sf(threshold - 1, scale=scale))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-3, 0.2])
def test_a_lone_record_passes_with_probability_delta(epsilon: float, delta: float) -> None:
    threshold = stability_threshold(Approximate(epsilon, delta))
    assert laplace_tail(threshold, 2 / epsilon) == pytest.approx(delta, rel=1e-9)
    # The control: the threshold for adding or removing a record, whose noise is half as wide.
    assert laplace_tail(1 + math.log(1 / (2 * delta)) / epsilon, 2 / epsilon) > 1.2 * delta


def draws(pick: Any, count: int = 4000) -> NDArray[np.int64]:
    found = Counter(pick() for _ in range(count))
    return np.array([found[k] for k in range(-3, 4)])


def agree(first: NDArray[np.int64], second: NDArray[np.int64]) -> bool:
    seen = (first + second) > 0
    return bool(stats.chi2_contingency(np.array([first[seen], second[seen]])).pvalue > 1e-4)


def test_empty_bins_are_drawn_as_if_enumerated() -> None:
    """Bins -3..3 with counts 0 0 3 4 0 1 0: the lazy draw against noise on all seven."""
    counts = np.array([0, 0, 3, 4, 0, 1, 0])
    nonempty = np.flatnonzero(counts)
    histogram = (nonempty - 3, counts[nonempty])
    rng = np.random.default_rng(0)
    lazy = draws(lambda: noisy_argmax(histogram, 3, 1.0, rng))
    plain = draws(lambda: int(np.argmax(counts + rng.laplace(scale=2.0, size=7))) - 3)
    narrow = draws(lambda: int(np.argmax(counts + rng.laplace(scale=1.0, size=7))) - 3)
    assert lazy.sum() == 4000
    assert agree(lazy, plain)
    assert not agree(lazy, narrow)


def test_a_full_histogram_has_no_empty_bin() -> None:
    histogram = (np.array([-1, 0, 1]), np.array([1, 9, 1]))
    assert noisy_argmax(histogram, 1, 1e6, np.random.default_rng(0)) == 0


def test_a_lone_record_is_not_revealed() -> None:
    """Over many seeds the only record of a bin passes about as often as delta says."""
    privacy = Approximate(1.0, 0.05)
    rng = np.random.default_rng(0)
    lone = (np.array([7]), np.array([1]))
    passed = sum(stable_argmax(lone, privacy, rng) is not None for _ in range(4000))
    assert stats.binomtest(passed, 4000, 0.05).pvalue > 1e-4
    assert stats.binomtest(passed, 4000, 0.1).pvalue < 1e-4


def test_bins_hold_every_finite_number() -> None:
    column = np.array([0.0, 5e-324, -5e-324, 0.49, 0.51, 1e300, -1e300, 1.7e308])
    bins, counts = bin_counts(column, 1.0, LAST_BIN)
    assert bins.tolist() == [-LAST_BIN, 0, 1, LAST_BIN]
    assert counts.tolist() == [1, 4, 1, 2]
    assert bin_counts(column, 1e-100, LAST_BIN)[1].sum() == len(column)
    assert bin_counts(column, 3e140, 12345)[0].tolist() == [-12345, 0, 12345]


def test_ledger_entries_are_complete() -> None:
    fitted = KarwaVadhanMean(BUDGET, random_state=0, sigma=1.0).fit(GOOD)
    histogram, mean = fitted.ledger_
    assert isinstance(histogram, LedgerEntry)
    assert (histogram.sensitivity, histogram.norm, histogram.count) == (2.0, "l1", 3)
    assert mean.sensitivity == pytest.approx(2 * fitted.half_width_ * math.sqrt(3) / 200)
    coin = CoinPressMean(BUDGET, random_state=0, sigma=1.0, radius=1.0).fit(GOOD)
    assert len(coin.ledger_) == 3


# Bounds of each column


AGES = np.random.default_rng(5).normal([40.0, 0.3], [13.0, 0.1], (4000, 2))
RANGES = [(17.0, 90.0), (0.0, 1.0)]


def test_bounds_give_noise_in_proportion_to_each_range() -> None:
    fit = NoisyMean(ZeroConcentrated(0.5), bounds=RANGES, random_state=0).fit(AGES)
    (entry,) = fit.ledger_
    assert entry.sensitivity == pytest.approx(2 * math.sqrt(2) / 4000)
    assert fit.noise_scale_ == pytest.approx([36.5 * entry.scale, 0.5 * entry.scale])
    clipped = np.clip(AGES, [17, 0], [90, 1]).mean(axis=0)
    assert np.all(np.abs(fit.mean_ - clipped) < 6 * fit.noise_scale_)
    assert np.any(np.abs(fit.mean_ - AGES[:1000].mean(axis=0)) > fit.noise_scale_)


def test_a_record_moves_a_bounded_mean_by_its_sensitivity_at_most() -> None:
    def average(X: np.ndarray) -> np.ndarray:
        fit = NoisyMean(Gaussian(1e9), bounds=RANGES, random_state=0).fit(X)
        return (fit.mean_ - [53.5, 0.5]) / [36.5, 0.5]

    X = AGES[:5].copy()
    X[0] = 1e300
    low = X.copy()
    low[0] = -1e300
    moved = float(np.linalg.norm(average(X) - average(low)))
    assert moved == pytest.approx(2 * math.sqrt(2) / 5, rel=1e-6)


def test_bounded_means_have_intervals_within_their_own_range() -> None:
    fit = NoisyMean(ZeroConcentrated(0.5), bounds=RANGES, random_state=0).fit(AGES)
    low, high = fit.confidence_interval(0.99)
    truth = np.clip(AGES, [17, 0], [90, 1]).mean(axis=0)
    assert np.all((low < truth) & (truth < high))
    width = high - low
    assert 30 < width[0] / width[1] < 150  # in proportion to the ranges, 73 to 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bounds": [(0, 1)]}, "one .low, high. for each of the 2 columns"),
        ({"bounds": [(0, 1), (3, 2)]}, "column 1 must have low < high"),
        ({"bounds": {0: (0, 1)}}, "column 1 has none"),
        ({"bounds": "private"}, "PrivateMean"),
        ({"bounds": RANGES, "sigma": 1.0}, "in place of R"),
        ({"bounds": RANGES, "R": 3.0}, "in place of R"),
    ],
)
def test_wrong_bounds_are_refused(options: dict[str, Any], words: str) -> None:
    estimator = NoisyMean(**options)
    with pytest.raises(ValueError, match=words):
        estimator.fit(AGES)
    assert not hasattr(estimator, "mean_")


@pytest.mark.parametrize("last", [0, 1, 3, 8, 9, 20, 40])
def test_records_are_in_their_bins(last: int) -> None:
    """However the counts are made: by the ends of few bins, in an array of all, or one by one."""
    column = np.random.default_rng(0).normal(0.3, last + 1, 60)
    numbers = np.clip(np.rint(column / 1.5), -last, last).astype(int)
    found = bin_counts(column, 1.5, last)
    assert [each.tolist() for each in found] == [
        each.tolist() for each in np.unique(numbers, return_counts=True)
    ]
