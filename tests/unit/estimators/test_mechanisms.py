"""Each mechanism's law against its closed form; the ledger's arithmetic against exact formulas.

Statistical checks share one rule: p > ALPHA for the stated law, and p < ALPHA for a control law
that differs by what a wrong calibration would change. Seeds are fixed.
"""

from __future__ import annotations

import itertools
import math
import tracemalloc
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from estimators.core.accounting import LedgerEntry, NotAccountable, compose, delta_at
from estimators.core.mechanisms import (
    above_threshold_quantile,
    counts_below,
    exponential_mechanism,
    gaussian,
    gaussian_scale,
    gumbel_top_k,
    laplace,
    peeling,
    propose_test_release,
    real_delta,
    report_noisy_max,
)
from minimax.core.calibration import paper_peeling_scale
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

pytestmark = pytest.mark.oldest

ALPHA = 1e-6
DRAWS = 20_000


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def fits(counts: np.ndarray, probabilities: np.ndarray) -> bool:
    return bool(stats.chisquare(counts, counts.sum() * probabilities).pvalue > ALPHA)


def bernoulli_fits(successes: int, probability: float) -> bool:
    return bool(stats.binomtest(successes, DRAWS, probability).pvalue > ALPHA)


# Additive noise


def test_laplace_has_its_law() -> None:
    noisy, entry = laplace(np.full(DRAWS, 3.0), l1_sensitivity=0.5, epsilon=0.25, rng=rng())
    assert stats.kstest(noisy - 3.0, stats.laplace(scale=2.0).cdf).pvalue > ALPHA
    assert stats.kstest(noisy - 3.0, stats.laplace(scale=2.5).cdf).pvalue < ALPHA
    assert (entry.scale, entry.guarantees) == (2.0, (Pure(0.25),))


def test_gaussian_has_its_law() -> None:
    noisy, entry = gaussian(np.full(DRAWS, 3.0), l2_sensitivity=0.5, scale=2.0, rng=rng())
    assert stats.kstest(noisy - 3.0, stats.norm(scale=2.0).cdf).pvalue > ALPHA
    assert stats.kstest(noisy - 3.0, stats.norm(scale=2.5).cdf).pvalue < ALPHA
    assert entry.guarantees == (Gaussian(0.25),)


def oracle_delta(ratio: float, epsilon: float) -> float:
    """Phi(m/2 - e/m) - e^e Phi(-m/2 - e/m) with 60 digits."""
    with mpmath.workdps(60):
        m, e = mpmath.mpf(ratio), mpmath.mpf(epsilon)
        return float(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 20.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-8, 1e-15])
def test_analytic_scale_meets_delta_exactly(epsilon: float, delta: float) -> None:
    scale = gaussian_scale(Approximate(epsilon, delta), 2.0)
    assert oracle_delta(2.0 / scale, epsilon) == pytest.approx(delta, rel=1e-8)
    assert real_delta(scale, 2.0, epsilon) == pytest.approx(delta, rel=1e-8)
    assert oracle_delta(2.0 / (0.999 * scale), epsilon) > delta * (1 + 1e-4)


@pytest.mark.parametrize(("delta", "ratio"), [(1e-5, 1.68), (1e-8, 28.0)])
def test_printed_gaussian_variance_overspends(delta: float, ratio: float) -> None:
    scale = gaussian_scale(Approximate(0.5, delta), 1.0, "paper")
    assert real_delta(scale, 1.0, 0.5) / delta == pytest.approx(ratio, rel=0.01)
    classical = gaussian_scale(Approximate(0.5, delta), 1.0, "classical")
    assert real_delta(classical, 1.0, 0.5) < delta


# Selection


def test_exponential_mechanism_has_its_law() -> None:
    scores, source = np.array([1.0, 0.0, -2.0]), rng()
    wins = [
        exponential_mechanism(scores, sensitivity=0.5, epsilon=0.8, rng=source).value
        for _ in range(DRAWS)
    ]
    counts = np.bincount(wins, minlength=3)
    weights = np.exp(0.8 * scores / (2 * 0.5))
    assert fits(counts, weights / weights.sum())
    doubled = np.exp(0.8 * scores / 0.5)
    assert not fits(counts, doubled / doubled.sum())


def noisy_max_probability(gap: float, scale: float) -> float:
    """P(gap + Laplace - Laplace' > 0) = 1 - e^{-t}(1 + t/2)/2, t = gap/scale >= 0."""
    t = gap / scale
    return 1 - math.exp(-t) * (1 + t / 2) / 2


def test_noisy_max_has_its_law() -> None:
    scores, source = np.array([0.0, 1.5]), rng()
    wins = sum(
        report_noisy_max(scores, sensitivity=1.0, epsilon=1.0, rng=source).value
        for _ in range(DRAWS)
    )
    assert bernoulli_fits(wins, noisy_max_probability(1.5, 2.0))
    assert not bernoulli_fits(wins, noisy_max_probability(1.5, 1.0))


def plackett_luce(weights: np.ndarray, k: int) -> dict[tuple[int, ...], float]:
    """Law of k draws without replacement, each proportional to its weight."""
    law = {}
    for order in itertools.permutations(range(len(weights)), k):
        left, probability = weights.sum(), 1.0
        for index in order:
            probability *= weights[index] / left
            left -= weights[index]
        law[order] = float(probability)
    return law


def test_gumbel_top_k_is_peeling_by_the_exponential_mechanism() -> None:
    scores, source, epsilon = np.array([1.0, 0.4, 0.0]), rng(), 2.0
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(DRAWS):
        found = gumbel_top_k(scores, 2, sensitivity=1.0, epsilon=epsilon, rng=source)
        order = tuple(int(i) for i in found.value)
        seen[order] = seen.get(order, 0) + 1
    law = plackett_luce(np.exp(epsilon * scores / 2), 2)
    assert sum(law.values()) == pytest.approx(1.0)
    counts = np.array([seen.get(order, 0) for order in law])
    assert fits(counts, np.array(list(law.values())))
    wrong = plackett_luce(np.exp(epsilon * scores), 2)
    assert not fits(counts, np.array(list(wrong.values())))
    assert found.entry.count == 2
    assert found.entry.guarantees == (Pure(2.0), ZeroConcentrated(0.5))


def test_peeling_has_its_law() -> None:
    v, source = np.array([-1.5, 0.0]), rng()
    released = [peeling(v, 1, sensitivity=1.0, scale=2.0, rng=source)[0] for _ in range(DRAWS)]
    first = np.array([peeled.support[0] == 0 for peeled in released])
    assert bernoulli_fits(int(first.sum()), noisy_max_probability(1.5, 2.0))
    assert not bernoulli_fits(int(first.sum()), noisy_max_probability(1.5, 1.0))
    noise = np.array([peeled.values[0] - v[peeled.support[0]] for peeled in released])
    assert stats.kstest(noise, stats.laplace(scale=2.0).cdf).pvalue > ALPHA
    assert stats.kstest(noise, stats.laplace(scale=2.5).cdf).pvalue < ALPHA


def test_peeling_takes_every_coordinate_once_and_keeps_its_input() -> None:
    v = np.array([3.0, -2.0, 1.0, 0.5])
    (support, values), entries = peeling(v, 4, sensitivity=1.0, scale=1e-9, rng=rng())
    assert support.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(values, v, atol=1e-7)
    assert v.tolist() == [3.0, -2.0, 1.0, 0.5]
    assert [entry.count for entry in entries] == [4, 4]


def peak_bytes(run: object) -> int:
    tracemalloc.start()
    run()  # type: ignore[operator]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_peeling_makes_no_s_by_d_array() -> None:
    s, d = 40, 20_000
    v, limit = rng().normal(size=d), 5 * 8 * d
    assert peak_bytes(lambda: peeling(v, s, sensitivity=1.0, scale=1.0, rng=rng())) < limit
    assert peak_bytes(lambda: rng().laplace(size=(s, d))) > limit


# AboveThreshold and propose-test-release


def quantile_is_accurate(epsilon: float, error: float, seed: int) -> bool:
    X = rng(seed).standard_normal((10_000, 2))
    level = above_threshold_quantile(
        X, 0.9, start=1e-3, growth=1.1, epsilon=epsilon, rng=rng(seed + 1)
    ).value
    below, before = (np.mean(np.abs(X) < at) for at in (level, level / 1.1))
    return bool(below >= 0.9 - error and before <= 0.9 + error)


def test_above_threshold_quantile_is_accurate() -> None:
    # With probability 1 - ALPHA per run the threshold's noise and those of the first 100 queries
    # (levels up to 10) are within 4 log(101/ALPHA)/epsilon each; 8 log(.)/(n epsilon) in all.
    error = 8 * math.log(101 / ALPHA) / 10_000
    assert all(quantile_is_accurate(1.0, error, seed) for seed in range(20))
    assert not all(quantile_is_accurate(0.01, error, seed) for seed in range(20))


def test_counts_move_by_one_record() -> None:
    def moved(X: np.ndarray, other: np.ndarray) -> float:
        levels = {"start": 1e-3, "growth": 1.1}
        return float(np.abs(counts_below(X, **levels) - counts_below(other, **levels)).max())

    X = rng().normal(size=(9, 4))
    other = X.copy()
    other[3] = 1e300
    assert moved(X, other) == pytest.approx(1.0)  # reached, and never more
    other[4] = 1e300
    assert moved(X, other) > 1.5


def test_counts_are_those_of_a_sort() -> None:
    X = np.concatenate([rng().normal(size=(1000, 3)), [[0.0, 1.79e308, -1e-320]]])
    found = counts_below(X, start=1e-6, growth=1.1)
    levels = 1e-6 * 1.1 ** np.arange(400)
    assert found[:400] == pytest.approx([(np.abs(X) < at).sum() / 3 for at in levels])
    assert found[-1] == pytest.approx(1001 - 1 / 3)  # 1.79e308 is past the last level
    assert found[0] == pytest.approx(2 / 3)


def passes(distance: float, epsilon: float, delta: float) -> int:
    source = rng()
    return sum(
        propose_test_release(distance, epsilon=epsilon, delta=delta, rng=source).value
        for _ in range(DRAWS)
    )


def test_propose_test_release_passes_with_probability_delta_at_distance_one() -> None:
    assert bernoulli_fits(passes(1.0, 0.5, 0.05), 0.05)
    assert not bernoulli_fits(passes(2.0, 0.5, 0.05), 0.05)  # e^{1/2} times as often
    assert bernoulli_fits(passes(2.0, 0.5, 0.05), 0.05 * math.exp(0.5))
    threshold = 1 + math.log(1 / 0.1) / 0.5
    assert bernoulli_fits(passes(threshold, 0.5, 0.05), 0.5)


# Accounting


def entry(*guarantees: object, count: int = 1, mechanism: str = "any") -> LedgerEntry:
    return LedgerEntry(mechanism, 1.0, "l1", 1.0, guarantees, count)  # type: ignore[arg-type]


def randomised_response_delta(step: float, k: int, epsilon: float) -> float:
    """Exact hockey-stick divergence of k binary randomised responses, each step-DP."""
    j = np.arange(k + 1)
    truth = 1 / (1 + math.exp(-step))
    p, q = stats.binom.pmf(j, k, truth), stats.binom.pmf(j, k, 1 - truth)
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize(("step", "k"), [(0.5, 1), (0.5, 4), (0.1, 30), (1.5, 3)])
@pytest.mark.parametrize("mechanism", ["exponential", "noisy max"])
def test_composition_of_pure_calls_is_the_binomial_one(step: float, k: int, mechanism: str) -> None:
    epsilon = 0.3 * step * k
    found = delta_at((entry(Pure(step), count=k, mechanism=mechanism),), epsilon)
    # Losses are rounded up to a grid of 1e-4, so the truth lies between two exact values.
    assert found >= randomised_response_delta(step, k, epsilon) * (1 - 1e-9)
    assert found <= randomised_response_delta(step, k, epsilon - 1e-4 * k) * (1 + 1e-9)


@pytest.mark.parametrize("call", [laplace, gaussian, propose_test_release])
def test_entries_are_in_double_precision_whoever_asked_first(call: Any) -> None:
    """They are kept for later calls by their numbers, and 25 = np.float32(25)."""
    names = {
        laplace: ("l1_sensitivity", "epsilon"),
        gaussian: ("l2_sensitivity", "scale"),
        propose_test_release: ("epsilon", "delta"),
    }[call]
    numbers = (25.0, 0.25) if call is propose_test_release else (1.0, 25.0)
    entries = [
        call(
            1.0, rng=np.random.default_rng(0), about=f"{call.__name__}, single first", **given
        ).entry
        for kind in (np.float32, float)
        for given in [dict(zip(names, map(kind, numbers), strict=True))]
    ]
    assert entries[0] == entries[1]
    assert all(type(entry.scale) is float for entry in entries)
    exact = numbers[0] / numbers[1] if call is laplace else 1 / numbers[0]
    assert entries[1].scale == (numbers[1] if call is gaussian else exact)
    assert float(np.float32(exact)) != exact or call is gaussian  # single precision would show


def test_the_count_of_a_pure_call_is_charged() -> None:
    exact = randomised_response_delta(0.5, 4, 0.6)
    assert delta_at((entry(Pure(0.5)),), 0.6) < exact  # what charging once would report
    split = (entry(Pure(0.5), count=3), entry(Pure(0.5)))
    assert delta_at(split, 0.6) >= exact * (1 - 1e-9)


def test_one_laplace_release_is_accounted_exactly() -> None:
    _, one = laplace(np.zeros(1), l1_sensitivity=3.0, epsilon=0.8, rng=rng())
    for epsilon in (0.1, 0.5):
        exact = 1 - math.exp((epsilon - 0.8) / 2)
        assert exact <= delta_at((one,), epsilon) <= exact + 1e-4
        assert randomised_response_delta(0.8, 1, epsilon) > exact + 1e-3  # a cruder account


def test_totals_are_the_closed_forms() -> None:
    pure, gauss = entry(Pure(0.2), ZeroConcentrated(0.005), count=3), entry(Gaussian(0.3), count=2)
    assert compose((pure, pure), Pure) == Pure(6 * 0.2)
    rho = compose((pure, gauss), ZeroConcentrated)
    assert isinstance(rho, ZeroConcentrated)
    assert rho.rho == pytest.approx(3 * 0.005 + 2 * 0.045)
    mu = compose((gauss,), Gaussian)
    assert isinstance(mu, Gaussian)
    assert mu.mu == pytest.approx(0.3 * math.sqrt(2))
    approximate = compose((gauss,), Approximate, 1e-5)
    assert isinstance(approximate, Approximate)
    assert oracle_delta(0.3 * math.sqrt(2), approximate.epsilon) == pytest.approx(1e-5, rel=1e-6)


def test_a_leak_is_added_and_cannot_be_composed_away() -> None:
    test = entry(Approximate(0.5, 1e-6), mechanism="propose-test-release")
    value = entry(Pure(0.5), mechanism="laplace")
    assert compose((test, value), Approximate, 1e-6) == Approximate(1.0, 1e-6)
    with pytest.raises(NotAccountable, match="delta"):
        compose((test, test), Approximate, 1.5e-6)
    for kind in (Pure, ZeroConcentrated, Gaussian):
        with pytest.raises(NotAccountable):
            compose((test, value), kind)
    with pytest.raises(NotAccountable, match="empty"):
        compose((), Pure)
    with pytest.raises(ValueError, match="delta is needed"):
        compose((value,), Approximate)


def paper_peeling(epsilon: float, delta: float, s: int) -> tuple[LedgerEntry, ...]:
    scale = paper_peeling_scale(1.0, s, epsilon, delta)
    return peeling(np.zeros(s), s, sensitivity=1.0, scale=scale, rng=rng())[1]


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 4e-4), (1.0, 0.3), (1.0, 1e-5), (4.0, 1e-5)])
@pytest.mark.parametrize("s", [1, 20, 100])
def test_printed_peeling_scale_is_private(epsilon: float, delta: float, s: int) -> None:
    # rho = (5/24) epsilon^2/log(1/delta) whatever s: enough for epsilon <= 0.418 log(1/delta),
    # and here also at (1, .3), outside that range.
    ledger = paper_peeling(epsilon, delta, s)
    rho = compose(ledger, ZeroConcentrated)
    assert isinstance(rho, ZeroConcentrated)
    assert rho.rho == pytest.approx(5 / 24 * epsilon**2 / math.log(1 / delta))
    assert delta_at(ledger, epsilon) <= delta


def test_printed_peeling_scale_has_a_range() -> None:
    assert delta_at(paper_peeling(10.0, 0.3, 20), 10.0) > 0.3
    at_the_paper_s_point = compose(paper_peeling(0.5, 4e-4, 20), Approximate, 4e-4)
    assert isinstance(at_the_paper_s_point, Approximate)
    assert 0.25 < at_the_paper_s_point.epsilon < 0.317


# Bad input


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: laplace(np.zeros(1), l1_sensitivity=0, epsilon=1, rng=rng()), ValueError, "l1"),
        (lambda: gaussian(np.zeros(1), l2_sensitivity=1, scale=-1, rng=rng()), ValueError, "scale"),
        (lambda: gaussian_scale(Approximate(2, 0.1), 1.0, "classical"), ValueError, "epsilon < 1"),
        (lambda: gaussian_scale(ZeroConcentrated(1), 1.0, "paper"), ValueError, "epsilon, delta"),
        (lambda: gaussian_scale(Gaussian(1), 1.0, "exact"), ValueError, "calibration"),  # type: ignore[arg-type]
        (
            lambda: gumbel_top_k(np.zeros(3), 4, sensitivity=1, epsilon=1, rng=rng()),
            ValueError,
            "between 1 and d = 3",
        ),
        (
            lambda: gumbel_top_k(np.zeros(3), 2.0, sensitivity=1, epsilon=1, rng=rng()),  # type: ignore[arg-type]
            TypeError,
            "integer",
        ),
        (
            lambda: peeling(np.zeros(3), 0, sensitivity=1, scale=1, rng=rng()),
            ValueError,
            "between 1",
        ),
        (
            lambda: exponential_mechanism(np.zeros(3), sensitivity=1, epsilon=math.nan, rng=rng()),
            ValueError,
            "epsilon",
        ),
        (
            lambda: propose_test_release(1.0, epsilon=1.0, delta=0.5, rng=rng()),
            ValueError,
            "below 1/2",
        ),
        (
            lambda: above_threshold_quantile(
                np.zeros((2, 1)),
                1.0,
                start=1,
                growth=2,
                epsilon=1,
                rng=rng(),
            ),
            ValueError,
            "quantile",
        ),
        (
            lambda: above_threshold_quantile(
                np.zeros((2, 1)),
                0.5,
                start=1,
                growth=1,
                epsilon=1,
                rng=rng(),
            ),
            ValueError,
            "growth",
        ),
    ],
)
def test_bad_input_is_refused(call: object, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()  # type: ignore[operator]
