"""Sums and counts in place of records: the same law, and the same fit."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from estimators.baselines.mean import KarwaVadhanMean
from estimators.controls.mean import HardThresholdedMean, SampleMean
from estimators.controls.regression import IterativeHardThresholding
from estimators.core.design import Design
from estimators.core.summaries import Repeated, Signs, Sorted, Sums
from estimators.label_regression import LabelHardThresholding, _slope
from estimators.local_regression import OneShotThreshold
from estimators.logistic import PlannedLogisticRegression
from estimators.mean import NoisyMean
from estimators.randomisers.averages import coordinate_means
from estimators.randomisers.label_sums import mean_reports
from estimators.randomisers.labels import BinaryLabels, GaussianLabels, LaplaceLabels
from estimators.randomisers.signs import HypercubeRandomiser
from estimators.regression import NoisyGradientRegression
from estimators.residual_clipped import ResidualClippedRegression
from estimators.sparse_erm import NoisyHardThresholding, NoisyHardThresholdingClassifier
from estimators.sparse_mean import SparseMean
from estimators.sparse_regression import PrivateHardThresholding
from estimators.sparse_residual_clipped import SparseResidualClippedRegression
from estimators.stable_sparse_mean import StableSparseMean
from estimators.thresholding import thresholded_descent
from minimax.core.privacy import Approximate, Pure, ZeroConcentrated
from minimax.methods.priors import (
    DilutedInstance,
    GaussianInstance,
    LinearInstance,
    LogisticInstance,
    SignInstance,
    TwoLabelInstance,
)
from minimax.methods.summaries import (
    column_sums,
    mean_labels,
    record_counts,
    sorted_records,
)
from tests.signs import packed
from verify.rates.draws import given

DRAWS = 3000
SURE = 1e-6
"""A p-value below it rejects."""


def rejects(found: Counter[Any], law: dict[Any, float]) -> bool:
    """Whether outcomes are not those of a law: Pearson's test, exact outcomes listed in full."""
    assert sum(law.values()) == pytest.approx(1)
    if set(found) - set(law):
        return True
    expected = DRAWS * np.array(list(law.values()))
    statistic = float(np.sum((np.array([found[k] for k in law]) - expected) ** 2 / expected))
    return bool(stats.chi2.sf(statistic, len(law) - 1) < SURE)


def multinomial_law(n: int, chances: np.ndarray) -> dict[tuple[int, ...], float]:
    """The chance of every vector of counts."""
    vectors = [v for v in np.ndindex(*[n + 1] * len(chances)) if sum(v) == n]
    return {v: float(stats.multinomial.pmf(v, n, chances)) for v in vectors}


@pytest.mark.parametrize(
    "instance",
    [
        LogisticInstance(np.array([1.5]), scale=0.8),
        TwoLabelInstance(np.array([0.4]), height=2.0),
        TwoLabelInstance(np.array([0.3]), height=9.0, link=lambda t: 8 * t + np.cos(t)),
    ],
)
def test_counts_have_the_law_of_the_records(instance: Any) -> None:
    rng, n = np.random.default_rng(0), 2
    rows = np.array([[-1.0], [1.0]]) * instance.scale
    high = instance.chance(rows) / 2
    law = multinomial_law(n, np.concatenate([0.5 - high, high]))

    def counted() -> tuple[int, ...]:
        drawn = record_counts(instance, n, rng)
        assert drawn.rows.tolist() == [*rows.tolist()] * 2
        assert drawn.labels.tolist() == np.repeat(instance.labels, 2).tolist()
        return tuple(int(count) for count in drawn.counts)

    def recorded() -> tuple[int, ...]:
        X, y = instance.sample(n, rng)
        place = 2 * (y == instance.labels[1]) + (X[:, 0] > 0)
        return tuple(np.bincount(place.astype(int), minlength=4).tolist())

    assert not rejects(Counter(counted() for _ in range(DRAWS)), law)
    assert not rejects(Counter(recorded() for _ in range(DRAWS)), law)
    tilted = multinomial_law(n, np.array([0.2, 0.3, 0.3, 0.2]))
    assert rejects(Counter(counted() for _ in range(DRAWS)), tilted)


def test_sums_have_the_law_of_the_records() -> None:
    rng, n = np.random.default_rng(1), 3
    signs = SignInstance(np.array([0.5]), sigma=2.0)
    diluted = DilutedInstance(np.array([[1.0], [3.0]]), alpha=0.4)
    binomial = {2.0 * (2 * k - n): float(stats.binom.pmf(k, n, 0.625)) for k in range(n + 1)}
    three: Counter[float] = Counter()
    for drawn, chance in multinomial_law(n, np.array([0.6, 0.2, 0.2])).items():
        three[drawn[1] + 3.0 * drawn[2]] += chance
    for instance, law in ((signs, binomial), (diluted, dict(three))):
        summed = Counter(float(column_sums(instance, n, 9.0, rng)[0]) for _ in range(DRAWS))
        recorded = Counter(float(instance.sample(n, rng).sum()) for _ in range(DRAWS))
        assert not rejects(summed, law)
        assert not rejects(recorded, law)
    other = SignInstance(np.array([0.8]), sigma=2.0)
    assert rejects(
        Counter(float(column_sums(other, n, 9.0, rng)[0]) for _ in range(DRAWS)), binomial
    )


def test_sums_are_those_of_clipped_records() -> None:
    """Signs and points exactly; normal columns far inside the clip, and near it."""
    rng, n = np.random.default_rng(2), 5
    signs = column_sums(SignInstance(np.array([0.5]), sigma=2.0), n, 0.5, rng)
    assert (2 * signs + n) % 2 == 0
    diluted = DilutedInstance(np.array([[4.0, -1.0]]), alpha=1.0)
    assert column_sums(diluted, n, 3.0, rng).tolist() == [15.0, -5.0]
    instance, level = GaussianInstance(np.array([0.3, -20.0]), sigma=1.5), 21.0
    summed = np.array([column_sums(instance, n, level, rng) for _ in range(DRAWS)])
    records = instance.sample(n * DRAWS, rng).reshape(DRAWS, n, 2)
    for clip, kept in ((level, True), (np.inf, False)):
        clipped = np.clip(records, -clip, clip).sum(axis=1)
        for k, near in enumerate((False, True)):
            found = stats.ks_2samp(summed[:, k], clipped[:, k]).pvalue
            assert found > SURE if kept or not near else found < SURE
    assert abs(np.corrcoef(summed.T)[0, 1]) < 0.1


@pytest.mark.parametrize(
    "estimator",
    [
        NoisyMean(ZeroConcentrated(0.5), R=4.0, random_state=5),
        NoisyMean(Pure(1.0), R="theory", sigma=1.0, radius=1.0, random_state=5),
        SparseMean(ZeroConcentrated(0.5), s=2, R=4.0, random_state=5),
        StableSparseMean(Approximate(1.0, 1e-6), s=1, R=4.0, random_state=5),
        SampleMean(),
        HardThresholdedMean(threshold=0.0, s=2),
    ],
)
def test_a_mean_of_sums_is_that_of_their_records(estimator: Any) -> None:
    X = np.array([2.0, 0, 1, 0]) + np.random.default_rng(3).uniform(-1, 1, (200, 4))
    whole = estimator.fit(X).mean_.copy()
    summed = estimator.fit(Sums(len(X), X.sum(axis=0), 3.0))
    assert summed.mean_ == pytest.approx(whole, rel=1e-12)
    assert summed.n_features_in_ == 4
    if isinstance(estimator, NoisyMean):  # sums do not tell what a narrower clip leaves
        with pytest.raises(ValueError, match="do not tell"):
            estimator.fit(Sums(len(X), X.sum(axis=0), 30.0))


def expanded(design: Repeated, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All records."""
    times = design.counts.astype(int)
    return np.repeat(design.X, times, axis=0), np.repeat(y, times)


@pytest.mark.parametrize(
    "estimator",
    [
        PlannedLogisticRegression(ZeroConcentrated(0.1), radius=2.0, row_bound=1.0, random_state=5),
        NoisyHardThresholdingClassifier(ZeroConcentrated(0.1), s=2, clip=0.5, random_state=5),
        IterativeHardThresholding(s=3, loss="logistic"),
        IterativeHardThresholding(s=2),
    ],
)
def test_a_fit_to_repeated_records_is_that_to_all_of_them(estimator: Any) -> None:
    instance = LogisticInstance(np.array([1.0, -0.5, 0.2]), scale=1 / np.sqrt(3))
    rows, labels, counts = record_counts(instance, 4000, np.random.default_rng(4))
    design = Repeated(rows, counts)
    whole = estimator.fit(*expanded(design, labels)).coef_.copy()
    assert estimator.fit(design, labels).coef_ == pytest.approx(whole, rel=1e-9)
    doubled = Repeated(rows, counts * (1 + labels))
    assert estimator.fit(doubled, labels).coef_ != pytest.approx(whole, rel=1e-3)


def test_sorted_records_have_the_law_of_the_records() -> None:
    """Counts of rows; labels given them, which the control has of another model."""
    rng, n = np.random.default_rng(9), 3
    instance = LinearInstance(np.array([0.7]), sigma=0.5, scale=2.0)
    law = multinomial_law(n, np.array([0.5, 0.5]))
    drawn = [sorted_records(instance, n, rng) for _ in range(DRAWS)]
    recorded = [instance.sample(n, rng) for _ in range(DRAWS)]
    assert drawn[0].rows.tolist() == [[-2.0], [2.0]]
    assert not rejects(Counter(tuple(each.counts.tolist()) for each in drawn), law)
    ups = (int(np.count_nonzero(X > 0)) for X, _ in recorded)
    assert not rejects(Counter((n - up, up) for up in ups), law)
    assert rejects(
        Counter(tuple(each.counts.tolist()) for each in drawn),
        multinomial_law(n, np.array([0.6, 0.4])),
    )
    place = np.concatenate([np.repeat([0, 1], each.counts) for each in drawn])
    labels = np.concatenate([each.labels for each in drawn])
    X, y = (np.concatenate(part) for part in zip(*recorded, strict=True))
    for row, sign in enumerate((-2.0, 2.0)):
        assert stats.ks_2samp(labels[place == row], y[X[:, 0] == sign]).pvalue > SURE
        assert stats.ks_2samp(labels[place == row], y[X[:, 0] == -sign]).pvalue < SURE
    residuals = (labels - np.array([-1.4, 1.4])[place]).reshape(DRAWS, n)
    assert np.abs(np.corrcoef(residuals.T) - np.eye(n)).max() < 0.1  # noise is each record's own


ROWS = np.array([[-0.6, 0.6], [0.5, 0.5], [3.0, -4.0], [0.0, 1.0]])
SORTED = Sorted(ROWS, np.array([3, 0, 2, 4]))
"""Rows of several lengths, and one that does not occur."""


def test_products_of_sorted_records_are_those_of_all_of_them() -> None:
    rng = np.random.default_rng(10)
    whole = Design(np.repeat(ROWS, [3, 0, 2, 4], axis=0))
    coef, y, weights = rng.standard_normal(2), rng.standard_normal(9), rng.uniform(0.1, 1, 9)
    assert SORTED.shape == whole.X.shape
    assert SORTED.n == whole.n
    assert SORTED.norms == pytest.approx(whole.norms)
    assert SORTED.shortening(2.0) == pytest.approx(whole.shortening(2.0))
    for one, other in (
        (SORTED.predict(coef), whole.predict(coef)),
        (SORTED.correlate(weights), whole.correlate(weights)),
        (SORTED.gram(weights), whole.gram(weights)),
    ):
        assert one == pytest.approx(other, rel=1e-12)
    clipped = [
        design.clipped_correlation(y, coef, whole.shortening(2.0), weights, 0.4)
        for design in (SORTED, whole)
    ]
    assert clipped[0] == pytest.approx(clipped[1], rel=1e-12)
    assert SORTED.correlate(weights[::-1]) != pytest.approx(whole.correlate(weights), rel=1e-3)


@pytest.mark.parametrize(
    "estimator",
    [
        ResidualClippedRegression(
            ZeroConcentrated(0.1), row_bound=1.0, radius=1.0, sigma=0.3, random_state=5
        ),
        ResidualClippedRegression(
            Pure(20.0), row_bound=1.0, radius=1.0, second_moment="isotropic", random_state=5
        ),
        NoisyGradientRegression(ZeroConcentrated(0.1), random_state=5),
        NoisyGradientRegression(ZeroConcentrated(0.1), steps=9, random_state=5),
        PrivateHardThresholding(ZeroConcentrated(0.1), s=2, random_state=5),
        NoisyHardThresholding(ZeroConcentrated(0.1), s=2, clip=0.7, steps=3, random_state=5),
        SparseResidualClippedRegression(
            ZeroConcentrated(0.1), s=2, entry_bound=0.7, radius=1.0, sigma=0.3, random_state=5
        ),
    ],
)
def test_a_fit_to_sorted_records_is_that_to_all_of_them(estimator: Any) -> None:
    """With rows that are clipped as well."""
    instance = LinearInstance(np.array([0.5, -0.4, 0.2]), sigma=0.3, scale=0.8)
    rows, counts, y = sorted_records(instance, 3000, np.random.default_rng(11))
    X = np.repeat(rows, counts, axis=0)
    whole = estimator.fit(X, y).coef_.copy()
    fitted = estimator.fit(Sorted(rows, counts), y)
    assert fitted.coef_ == pytest.approx(whole, rel=1e-9)
    assert fitted.n_features_in_ == 3
    assert estimator.fit(Sorted(-rows, counts), y).coef_ != pytest.approx(whole, rel=1e-3)
    signs = estimator.fit(packed(X), y)
    assert signs.coef_ == pytest.approx(whole, rel=1e-9)
    assert signs.n_features_in_ == 3
    assert estimator.fit(packed(X / 2), y).coef_ != pytest.approx(whole, rel=1e-3)


def test_a_descent_on_mean_reports_is_that_on_all_of_them() -> None:
    rng = np.random.default_rng(5)
    model = LabelHardThresholding(Pure(1.0, scope="label"), s=1, C=2.0)
    rows, labels, counts = record_counts(TwoLabelInstance(np.array([0.9, 0, 0]), 3.0), 900, rng)
    design = Repeated(rows, counts)
    X, y = expanded(design, labels)
    reports = y + rng.laplace(size=len(y))
    groups = np.repeat(np.arange(len(labels)), counts.astype(int))
    means = np.bincount(groups, reports, len(labels)) / np.maximum(counts, 1)

    def descended(design: Any, reports: np.ndarray) -> np.ndarray:
        slope = _slope(model._link, reports, squared=False)
        return thresholded_descent(design, slope, s=1, radius=1.0, steps=50)[0]

    assert descended(design, means) == pytest.approx(descended(Design(X), reports), rel=1e-9)
    assert descended(design, means + 1) != pytest.approx(descended(Design(X), reports), rel=1e-3)


@pytest.mark.parametrize(
    "randomiser", [LaplaceLabels(3.0, 1.0), GaussianLabels(3.0, 2.0), BinaryLabels(3.0, 1.0)]
)
def test_mean_reports_have_the_law_of_means_of_reports(randomiser: Any) -> None:
    rng, y = np.random.default_rng(6), np.full(DRAWS, 1.2)
    found, entry = mean_reports(randomiser, y, np.full(DRAWS, 3.0), rng)
    single, one = randomiser.randomise(np.full((DRAWS, 3), 1.2), rng)
    assert entry == one  # so many users, and the same guarantee
    means = single.mean(axis=1)
    if isinstance(randomiser, BinaryLabels):
        chance = 0.5 + 0.2 * np.tanh(0.5)
        size = randomiser.size
        law = {k: float(stats.binom.pmf(k, 3, chance)) for k in range(4)}
        for values in (found, means):
            ups = Counter(np.rint((values / size + 1) * 1.5).astype(int).tolist())
            assert not rejects(ups, law)
        assert randomiser.chance(-3.0) == special.expit(-1.0)
        likely = np.exp(randomiser.log_likelihood(np.ones(3), np.array([-3.0, 1.2, 3.0])))
        assert randomiser.chance([-3.0, 1.2, 3.0]) == pytest.approx(likely, rel=1e-14)
        return
    assert stats.ks_2samp(found, means).pvalue > SURE
    assert stats.ks_2samp(found, single[:, 0]).pvalue < SURE


@pytest.mark.parametrize("radius", [1.0, 3.0])
def test_counted_bits_have_the_law_of_reports(radius: float) -> None:
    """Three users asked about two coordinates in turn: every pair of means, with its chance, summed
    over the orders of the records; from counts, and from the records in random order."""
    rng = np.random.default_rng(8)
    randomiser = HypercubeRandomiser(1, 1.0, radius, "best")
    rows, labels, counts = np.array([[1.0, -1], [1, 1]]), np.array([1.0, -0.5]), [2, 1]
    chances = randomiser.upper_chance(labels[:, None] * rows)
    law: Counter[tuple[int, int]] = Counter()
    for order in ((0, 0, 1), (0, 1, 0), (1, 0, 0)):  # users 0 and 2 about the first, 1 the second
        first = stats.binom.pmf([0, 1], 1, chances[order[0], 0])
        third = stats.binom.pmf([0, 1], 1, chances[order[2], 0])
        second = stats.binom.pmf([0, 1], 1, chances[order[1], 1])
        for a, b, c in np.ndindex(2, 2, 2):
            law[int(a + b), int(c)] += first[a] * third[b] * second[c] / 3

    def ups(means: np.ndarray) -> tuple[int, int]:
        first, second = np.rint((means / randomiser.size + 1) / 2 * [2, 1]).astype(int).tolist()
        return first, second

    def asked(X: Any, weights: np.ndarray) -> tuple[int, int]:
        mean = coordinate_means(X, weights, range(3), np.arange(2), 1.0, randomiser, rng)
        assert mean.entry == randomiser.entry(3)
        return ups(mean.value)

    def recorded() -> tuple[int, int]:
        order = rng.permutation(np.repeat([0, 1], counts))
        return asked(rows[order], labels[order])

    design = Repeated(rows, np.array(counts, dtype=float))
    assert not rejects(Counter(asked(design, labels) for _ in range(DRAWS)), dict(law))
    assert not rejects(Counter(recorded() for _ in range(DRAWS)), dict(law))
    assert rejects(Counter(asked(design, -labels) for _ in range(DRAWS)), dict(law))


def test_records_are_drawn_where_more_of_them_is_read() -> None:
    rng = np.random.default_rng(7)
    signs = SignInstance(np.array([0.5, 0.0]), sigma=1.0)
    normal = GaussianInstance(np.zeros(2), sigma=1.0)
    budget = ZeroConcentrated(0.5)

    def is_summed(estimator: Any, instance: Any) -> bool:
        return isinstance(given(estimator, instance, 100, rng)[0], Sums)

    assert is_summed(NoisyMean(budget, R=1.0), signs)
    assert is_summed(SampleMean(), normal)
    assert is_summed(NoisyMean(budget, R=0.9), normal)
    assert not is_summed(NoisyMean(budget, R=1.5, clip="ball"), signs)
    assert not is_summed(NoisyMean(budget, R="quantile"), signs)
    assert not is_summed(NoisyMean(budget, sigma=1.0, radius=1.0), signs)

    class Own(SampleMean):
        """May do anything with its records."""

    assert not is_summed(Own(), signs)
    labels = TwoLabelInstance(np.zeros(2), height=2.0)
    for budget_, counted in (
        (Pure(1.0, scope="local"), True),
        (ZeroConcentrated(0.5, "local"), False),
    ):
        drawn = given(OneShotThreshold(budget_), labels, 100, rng)[0]
        assert isinstance(drawn, Repeated) == counted
    wide = LogisticInstance(np.zeros(12), scale=1.0)
    few = LogisticInstance(np.zeros(2), scale=1.0)
    pursuit = IterativeHardThresholding(s=1, loss="logistic")
    assert isinstance(given(pursuit, few, 100, rng)[0], Repeated)
    assert not isinstance(given(pursuit, wide, 100, rng)[0], Repeated)
    model = ResidualClippedRegression(budget, row_bound=1.0, radius=1.0, sigma=1.0)

    class Other(ResidualClippedRegression):
        """May do anything with its records."""

    folds = PrivateHardThresholding(budget, s="cv")
    assert not isinstance(given(folds, LinearInstance(np.zeros(4), 1.0, 1.0), 100, rng)[0], Sorted)
    for d, sorted_ in ((4, True), (5, False)):
        linear = LinearInstance(np.zeros(d), sigma=1.0, scale=1.0)
        drawn = given(model, linear, 100, rng)[0]
        assert isinstance(drawn, Sorted) == sorted_
        assert isinstance(drawn, Signs) != sorted_
        assert isinstance(given(Other(budget), linear, 100, rng)[0], np.ndarray)


def test_columns_are_drawn_together_where_they_are_read_one_by_one() -> None:
    normal = GaussianInstance(np.array([0.5, -1.0]), sigma=2.0)
    model = KarwaVadhanMean(Approximate(1.0, 1e-6), sigma=2.0, radius=1.0, random_state=3)
    (X,) = given(model, normal, 4000, np.random.default_rng(0))
    assert X.flags.f_contiguous
    assert X.shape == (4000, 2)
    for j in (0, 1):
        assert stats.kstest(X[:, j], "norm", (normal.target[j], 2.0)).pvalue > SURE
    assert stats.kstest(X[:, 0], "norm", (0.0, 2.0)).pvalue < SURE
    whole = model.fit(np.ascontiguousarray(X)).mean_
    assert np.array_equal(model.fit(X).mean_, whole)


def test_squared_loss_reads_the_mean_labels_of_rows() -> None:
    """The same pursuit from records and from the means of their labels; another without counts."""
    rng = np.random.default_rng(5)
    instance = LinearInstance(np.array([0.5, 0.0, -0.1, 0.0]), 0.7, 0.5)
    records = sorted_records(instance, 200, rng)
    there = records.counts > 0
    first = (np.cumsum(records.counts) - records.counts)[there]
    rows, counts = records.rows[there], records.counts[there].astype(float)
    means = np.add.reduceat(records.labels, first) / counts
    model = IterativeHardThresholding(s=2)
    whole = model.fit(np.repeat(records.rows, records.counts, axis=0), records.labels).coef_
    assert model.fit(Repeated(rows, counts), means).coef_ == pytest.approx(whole, abs=1e-12)
    assert np.abs(model.fit(rows, means).coef_ - whole).max() > 1e-3


def test_mean_labels_have_the_law_of_means() -> None:
    rng = np.random.default_rng(6)
    instance = LinearInstance(np.array([0.5, -0.1]), 0.7, 0.5)
    drawn = [mean_labels(instance, 40, rng) for _ in range(DRAWS)]
    assert all(counts.sum() == 40 and counts.min() >= 1 for _, _, counts in drawn)
    noise = np.concatenate([(y - rows @ instance.target) * c**0.5 for rows, y, c in drawn])
    assert stats.kstest(noise / instance.sigma, "norm").pvalue > SURE
    assert stats.kstest(noise / (1.2 * instance.sigma), "norm").pvalue < SURE


def test_a_pursuit_is_given_mean_labels() -> None:
    rng, instance = np.random.default_rng(7), LinearInstance(np.array([0.5, -0.1]), 0.7, 0.5)
    X, labels = given(IterativeHardThresholding(s=1), instance, 400, rng)
    assert isinstance(X, Repeated)
    assert len(labels) == 4
    X, labels = given(IterativeHardThresholding(s=1, loss="logistic"), instance, 400, rng)
    assert len(labels) == 400
