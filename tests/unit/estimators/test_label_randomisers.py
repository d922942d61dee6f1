"""Label noise, and approximate made pure: exact laws and constants, controls that fail."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from scipy import integrate, stats

from estimators.randomisers.base import Array
from estimators.randomisers.labels import (
    SYMMETRIC_ACCEPTANCE,
    BinaryLabels,
    GaussianLabels,
    LaplaceLabels,
    PureFromApproximate,
    label_bound,
    paper_label_scale,
    purified_epsilon,
    purifying_clip,
)
from minimax.core.privacy import Approximate, Pure

pytestmark = pytest.mark.oldest

ALPHA = 1e-6


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_label_noise_has_its_law_and_guarantee() -> None:
    y = np.repeat([-9.0, 0.5, 9.0], 4_000)
    inside = np.clip(y, -2, 2)
    for randomiser, law in (
        (LaplaceLabels(2.0, 0.5), stats.laplace(scale=8.0)),
        (GaussianLabels(2.0, 3.0), stats.norm(scale=3.0)),
    ):
        reports = randomiser.randomise(y, rng()).value
        assert stats.kstest(reports - inside, law.cdf).pvalue > ALPHA
        assert stats.kstest((reports - inside) / 1.2, law.cdf).pvalue < ALPHA
        assert stats.kstest(reports - y, law.cdf).pvalue < ALPHA
        assert randomiser.error() == pytest.approx(law.var())
        density = np.exp(randomiser.log_likelihood(reports[:50], 40.0))
        np.testing.assert_allclose(density, law.pdf(reports[:50] - 2.0))


def test_label_noise_as_printed_gives_epsilon_52_instead_of_1() -> None:
    bound = label_bound(8, 0.05)
    printed = GaussianLabels(bound, paper_label_scale(0.05, 1.0, 1e-3))
    assert printed.guarantee.to_approximate(1e-3).epsilon == pytest.approx(52, abs=1)
    ours = GaussianLabels.calibrated(bound, Approximate(1.0, 1e-3))
    assert ours.guarantee.to_approximate(1e-3).epsilon == pytest.approx(1.0)
    assert ours.guarantee.scope == "label"
    narrow = GaussianLabels(2 * 0.05, printed.scale)  # the range that the noise supposes
    assert narrow.guarantee.to_approximate(1e-3).epsilon < 1


@pytest.mark.parametrize("epsilon", [1e-9, 0.3, 2.0, 40.0, 2000.0])
def test_binary_labels_are_unbiased_with_their_error(epsilon: float) -> None:
    randomiser = BinaryLabels(2.0, epsilon)
    reports = np.array([-randomiser.size, randomiser.size])
    for y in (-2.0, -0.7, 0.0, 1.9, 2.0, 1e300):
        law = np.exp(randomiser.log_likelihood(reports, y))
        inside = min(y, 2.0)
        assert law.sum() == pytest.approx(1)
        assert law @ reports == pytest.approx(inside, abs=1e-15 * randomiser.size + 1e-14)
        variance = law @ (reports - inside) ** 2
        assert variance == pytest.approx(randomiser.size**2 - inside**2, rel=1e-12, abs=1e-12)
        assert variance <= randomiser.error() * (1 + 1e-12)
    assert randomiser.error() == pytest.approx((2.0 / math.tanh(epsilon / 2)) ** 2)
    ends = [randomiser.log_likelihood(reports, y) for y in (2.0, -2.0)]
    assert np.abs(ends[0] - ends[1]) == pytest.approx(epsilon)


def test_binary_reports_have_their_law() -> None:
    randomiser = BinaryLabels(2.0, 0.5)
    for y, inside in ((-9.0, -2.0), (0.5, 0.5), (9.0, 2.0)):
        reports, entry = randomiser.randomise(np.full(40_000, y), rng())
        assert set(np.abs(reports)) == {randomiser.size}
        plus = int((reports > 0).sum())
        chance = (1 + inside / 2 * math.tanh(0.25)) / 2
        assert stats.binomtest(plus, 40_000, chance).pvalue > ALPHA
        assert stats.binomtest(plus, 40_000, chance + 0.02).pvalue < ALPHA
    assert entry.guarantees == (Pure(0.5, scope="label"),)
    assert (entry.sensitivity, entry.scale) == (4.0, randomiser.size)


# Approximate made pure


def brute_force_index_law(a: Array) -> Array:
    law = np.zeros(len(a))
    for bits in itertools.product((False, True), repeat=len(a)):
        accepted = np.array(bits)
        chance = float(np.prod(np.where(accepted, a, 1 - a)))
        law += chance * (accepted / accepted.sum() if accepted.any() else 1 / len(a))
    return law


def test_index_law_is_that_of_all_patterns() -> None:
    mechanism = PureFromApproximate(GaussianLabels(1.0, 1.5), 0.6, 7)
    public = mechanism.base.reference((7,), rng())
    for y in (-3.0, 0.0, 0.7):
        law = mechanism.index_law(public, y)
        np.testing.assert_allclose(law, brute_force_index_law(mechanism.acceptance(public, y)))
        assert law.sum() == pytest.approx(1)


@pytest.mark.parametrize("samples", [1, 2, 3, 10, 60])
def test_purified_epsilon_is_attained_and_below_four_clips(samples: int) -> None:
    clip = 0.5
    low, high = math.exp(-clip) / 2, math.exp(clip) / 2
    exact = purified_epsilon(clip, samples)
    assert exact <= 4 * clip + 1e-12
    if samples <= 10:
        first = brute_force_index_law(np.array([high] + [low] * (samples - 1)))
        second = brute_force_index_law(np.array([low] + [high] * (samples - 1)))
        assert math.log(first[0] / second[0]) == pytest.approx(exact, abs=1e-12)
    if samples == 60:
        assert exact > 3.999 * clip  # the constant 4 cannot be lowered


def test_the_constant_of_genprot_is_eight_where_ten_was_stated() -> None:
    for epsilon in (1e-3, 0.1, 0.25):
        worst = max(purified_epsilon(2 * epsilon, samples) for samples in range(1, 200))
        assert 7.99 * epsilon < worst <= (8 + 1e-9) * epsilon


def test_purifying_clip_inverts() -> None:
    for samples in (2, 8, 40):
        clip = purifying_clip(0.7, samples)
        assert purified_epsilon(clip, samples) == pytest.approx(0.7)
    assert purifying_clip(50.0, 8) == math.log(2)


def test_genprot_reports_have_their_exact_law() -> None:
    base = GaussianLabels(1.0, 2.0)
    mechanism = PureFromApproximate(base, 0.5, 4)
    y = 1.0
    cuts = [-40.0, 2.0 * (0.25 - 1.0), 2.0 * (0.25 + 1.0), 40.0]

    def below(limit: float) -> float:
        points = [max(min(cut, limit), -40.0) for cut in cuts]

        def density(report: float) -> float:
            ratio = mechanism.report_density(np.array([report]), y)[0]
            return float(ratio * stats.norm(scale=2.0).pdf(report))

        pieces = itertools.pairwise(points)
        return sum(integrate.quad(density, a, b)[0] for a, b in pieces if b > a)

    assert below(40.0) == pytest.approx(1, abs=1e-7)
    reports, entry = mechanism.randomise(np.full(30_000, y), rng(9))
    for limit in (-1.0, 0.5, 2.0):
        count = int((reports <= limit).sum())
        assert stats.binomtest(count, len(reports), below(limit)).pvalue > ALPHA
    half = int((reports <= 0.5).sum())
    assert stats.binomtest(half, len(reports), stats.norm(0, 2.0).cdf(0.5)).pvalue < ALPHA
    assert entry.guarantees == (Pure(purified_epsilon(0.5, 4), scope="label"),)


@pytest.mark.parametrize("clip", [0.01, 0.2, math.log(2)])
@pytest.mark.parametrize("y", [0.0, -0.3, 1.0])
def test_half_of_the_reports_are_accepted_whatever_is_clipped(y: float, clip: float) -> None:
    scale = 0.7
    mechanism = PureFromApproximate(GaussianLabels(1.0, scale), clip, 4)
    # The log ratio (y t - y^2/2)/scale^2 is +-clip at the middle ones of these points.
    ends = [y / 2 - scale**2 * clip / y, y / 2 + scale**2 * clip / y] if y else []
    cuts = sorted([-9.0, 9.0, *(end for end in ends if abs(end) < 9)])

    def mean(label: float) -> float:
        def density(t: float) -> float:
            return float(mechanism.acceptance(np.array(t), label) * stats.norm.pdf(t, 0, scale))

        return sum(integrate.quad(density, a, b)[0] for a, b in itertools.pairwise(cuts))

    assert mean(y) == pytest.approx(SYMMETRIC_ACCEPTANCE, abs=1e-9)


def test_reports_of_a_law_that_is_not_symmetric_are_accepted_by_another_rule() -> None:
    class Skewed:
        """Exponential reports of rate 1 (reference) or 3: log ratio log 3 - 2t."""

        scope = "label"

        def log_ratio(self, reports: np.ndarray, y: np.ndarray) -> np.ndarray:
            return math.log(3) - 2 * reports

    mechanism = PureFromApproximate(Skewed(), 0.5, 4)  # type: ignore[arg-type]
    reports = np.random.default_rng(3).exponential(size=100_000)
    accepted = mechanism.acceptance(reports, 1.0)
    assert abs(accepted.mean() - SYMMETRIC_ACCEPTANCE) > 5 * accepted.std() / math.sqrt(1e5)


def test_genprot_has_the_law_of_its_base_when_nothing_is_clipped() -> None:
    mechanism = PureFromApproximate(GaussianLabels(1.0, 12.0), 0.6, 30)
    reports = mechanism.randomise(np.ones(20_000), rng(10)).value
    assert stats.kstest(reports, stats.norm(1.0, 12.0).cdf).pvalue > ALPHA
    assert stats.kstest(reports, stats.norm(0.0, 12.0).cdf).pvalue < ALPHA


def test_genprot_never_holds_the_public_reports_of_all_users() -> None:
    """Forty for each of 100 000 users are 32 MB; all that is kept is one number for each."""
    purified, y = PureFromApproximate(GaussianLabels(1.0, 5.0), 0.3, 40), np.zeros(100_000)
    tracemalloc.start()
    try:
        reports, entry = purified.randomise(y, rng())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * y.nbytes / 4
    assert len(reports) == len(np.unique(reports)) == len(y)  # no block is drawn twice
    assert entry.about == "one report from each of 100000 users"
