"""Sums of clipped normal columns, and columns of records: their laws, column by column."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from minimax.methods.priors import GaussianInstance
from minimax.methods.summaries import column_sums

SURE = 1e-6
"""A p-value below it rejects."""


@pytest.mark.parametrize("n", [200, 10_000])
def test_every_clipped_column_has_a_mean_and_a_variance_of_its_own(n: int) -> None:
    """Four columns near the clip, in one block of rows or in two, and one that is clipped 3 sigma
    away; the mean of a clipped normal number is an integral."""
    sigma, level = 0.5, 2.0
    target = np.array([1.9, -2.2, 0.5, 1.7, -1.8])
    instance, rng, draws = GaussianInstance(target, sigma), np.random.default_rng(3), 400
    grid = np.linspace(-9, 9, 200_001)
    clipped = np.clip(target[:, None] + sigma * grid, -level, level)
    weights = stats.norm.pdf(grid) * (grid[1] - grid[0])
    means = clipped @ weights
    variances = clipped**2 @ weights - means**2
    found = np.array([column_sums(instance, n, level, rng) for _ in range(draws)])
    z = (found.mean(axis=0) - n * means) / np.sqrt(n * variances / draws)
    assert (np.abs(z) < 5).all()
    ratio = found.var(axis=0, ddof=1) / (n * variances)
    assert (np.abs(ratio - 1) < 5 * np.sqrt(2 / draws)).all()
    far = (target[2] - np.delete(means, 2)) / np.sqrt(np.delete(variances, 2) / draws / n)
    assert (np.abs(far) > 5).all()  # what a column of another mean would show


def test_columns_are_those_of_records_whatever_sigma_is() -> None:
    for sigma in (0.5, 1.0, 3.0):
        instance, rng = GaussianInstance(np.array([1.0, -2.0]), sigma), np.random.default_rng(4)
        columns = instance.sample_columns(20_000, rng)
        assert columns.shape == (20_000, 2)
        for k, mean in enumerate(instance.target):
            assert stats.kstest(columns[:, k], "norm", (mean, sigma)).pvalue > SURE
            assert stats.kstest(columns[:, k], "norm", (mean, 1.1 * sigma)).pvalue < SURE


@pytest.mark.parametrize("level", [2.5, 4.0, 6.0])
def test_no_sum_of_one_record_exceeds_the_clip(level: float) -> None:
    """However many sigma away it is, as long as a number may reach it."""
    instance, rng = GaussianInstance(np.zeros(4000), 1.0), np.random.default_rng(5)
    found = np.array([column_sums(instance, 1, level, rng) for _ in range(50)])
    assert np.abs(found).max() <= level
    unclipped = np.array([column_sums(instance, 1, np.inf, rng) for _ in range(50)])
    assert (np.abs(unclipped).max() > level) == (level < 5)


def test_columns_far_from_the_clip_are_drawn_in_one() -> None:
    """A number is clipped with a chance that may be forgone."""

    class Counted(np.random.Generator):
        drawn = 0

        def standard_normal(self, size: object = None, *more: object, **options: object) -> object:
            Counted.drawn += int(np.prod(size))  # type: ignore[arg-type]
            return super().standard_normal(size, *more, **options)  # type: ignore[call-overload]

    column_sums(GaussianInstance(np.zeros(7), 1.0), 1000, 12.0, Counted(np.random.PCG64(0)))
    assert Counted.drawn == 7
