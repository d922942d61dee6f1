"""Quantiles and bounds that are found privately: sensitivity, searches, where they go wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from estimators.core.purse import Purse
from estimators.tables import found_bounds, ranges
from estimators.tables.records import NumberResponse, Records, source_of
from estimators.tables.schema import Numeric, schema_of
from minimax import Approximate, Gaussian, Pure

Array = np.ndarray
LOUD = Gaussian(1e6)
NUMERIC = np.array([True, True, False, True])
"""The last entry is about the responses."""


def records_of(
    X: Array, y: Array, bounds: Any = (-1, 1), response_bounds: Any = (-1, 1)
) -> Records:
    source, first = source_of(X, y)
    schema = schema_of(first, bounds, None)
    return Records(source, schema, NumberResponse(Numeric("y", *response_bounds)))


def purse(privacy: Any = LOUD, seed: int = 0, n: int = 1) -> Purse:
    return Purse(privacy, np.random.default_rng(seed), n)


def _with_the_rest(far: Array, y: Array) -> Array:
    return np.column_stack([far, len(y) - far])


KERNELS: dict[str, Callable[[Array, Array], Array]] = {
    "cells": lambda Z, y: ranges.cell_counts(Z, y, NUMERIC, np.array([-1.0, 0.0, 0.5]), 0.01, 64),
    "sizes": lambda Z, y: ranges.size_counts(Z, y, NUMERIC, np.array([0.0, 0.3, -1.0])),
    "tails": lambda Z, y: ranges.tail_counts(y, 0.2),
    "far": lambda Z, y: _with_the_rest(
        ranges.far_counts(Z, y, NUMERIC, np.array([0.0, 0.3, -1.0]), np.full(3, 0.5)), y
    ),
    "far tails": lambda Z, y: _with_the_rest(ranges.far_tails(y, 0.2, np.array([0.1, 0.7])), y),
    "octaves": lambda Z, y: found_bounds.octave_counts(
        Z[:, :2] * 1e90, y * 1e-90, np.array([True, False, True])
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_record_moves_every_count_below_a_cell_by_at_most_one(name: str) -> None:
    rng = np.random.default_rng(0)
    kernel = KERNELS[name]
    Z, y = rng.uniform(-1, 1, (20, 3)), rng.uniform(-1, 1, 20)
    extremes = [-1.0, 1.0, 0.0, 1e-300, -1e-300, math.nextafter(1.0, 0.0)]
    for _ in range(300):
        Z[0], y[0] = rng.choice(extremes, 3), rng.choice(extremes)
        here = np.cumsum(kernel(Z, y), axis=1)
        Z[0], y[0] = rng.choice(extremes, 3), rng.choice(extremes)
        there = np.cumsum(kernel(Z, y), axis=1)
        assert np.abs(here - there).max() <= 1
        assert (here[:, -1] == len(y)).all()  # each record is in one cell of each column


def test_a_count_of_pairs_would_be_moved_by_more() -> None:
    rng = np.random.default_rng(0)
    kernel = KERNELS["cells"]
    Z, y = rng.uniform(-1, 1, (20, 3)), rng.uniform(-1, 1, 20)
    twice = np.vstack([Z, Z[:1]]), np.append(y, y[0])
    here = np.cumsum(kernel(*twice), axis=1)
    Z[0], y[0] = 1.0, -1.0
    there = np.cumsum(kernel(np.vstack([Z, Z[:1]]), np.append(y, y[0])), axis=1)
    assert np.abs(here - there).max() == 2


def test_a_search_without_noise_finds_the_cell() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 9, (5, 64)).astype(float)
    targets = np.array([0.5, 29.5, 99.5, 199.5, counts[4].sum() - 0.5])
    found = ranges.searched(counts, targets, purse(), 0.5, "test")
    below = np.concatenate([np.zeros((5, 1)), np.cumsum(counts, axis=1)], axis=1)
    for row, cell, target in zip(below, found, targets, strict=True):
        assert row[cell] < target <= row[cell + 1]


@pytest.mark.parametrize("privacy", [Gaussian(0.5), Pure(0.7)])
def test_noise_of_counts_has_the_deviation_that_plans_use(privacy: Any) -> None:
    spender, share, k = purse(privacy, 3), 0.25, 7
    drawn = np.array([spender.cube_release(np.zeros(k), 1.0, share, "") for _ in range(4000)])
    told = ranges.count_noise(spender, k, share)
    assert drawn.std() == pytest.approx(told, rel=0.02)
    assert drawn.std() != pytest.approx(told * 1.1, rel=0.02)


def test_a_search_is_one_line_of_the_ledger_and_costs_its_share() -> None:
    spender = purse(Gaussian(1.0))
    ranges.searched(np.ones((3, 256)), 100.0, spender, 0.36, "test")
    (entry,) = spender.ledger
    (guarantee,) = entry.guarantees
    assert entry.count == 8
    assert isinstance(guarantee, Gaussian)
    assert 8 * guarantee.mu**2 == pytest.approx(0.36)


def test_ranges_are_medians_and_normal_reaches() -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(0.3, 0.01, 50_000), rng.normal(-0.5, 0.1, 50_000)])
    y = np.abs(rng.normal(0, 0.05, 50_000)) - 0.9
    found = ranges.found_ranges(records_of(X, y), purse(), 0.2, 0.05, centred=True)
    assert found.middle == pytest.approx([0.3, -0.5, -0.9 + 0.05 * 0.6745], abs=2e-3)
    assert found.half[:2] == pytest.approx([0.0196, 0.196], rel=0.2)  # a quarter of an octave
    assert -1 <= found.lowest < y.min()
    assert np.quantile(y, 0.995) < found.highest < -0.6


def test_bounds_a_thousand_times_too_wide_change_little() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(0, 1, (20_000, 3)), rng.normal(0, 1, 20_000)
    for width in (10, 10_000, 10**8):
        records = records_of(X, y, (-width, width), (-width, width))
        found = ranges.found_ranges(
            records, purse(Approximate(1, 1e-6), 4), 0.1, 0.02, centred=True
        )
        # Noise in counts, and then the end of a cell, up to a quarter above.
        assert found.half * width == pytest.approx(np.full(4, 1.96 * 1.125), rel=0.35)
        assert np.abs(found.middle * width).max() < 0.4


def test_columns_that_hardly_vary_keep_their_public_range() -> None:
    rng = np.random.default_rng(4)
    X = np.column_stack([np.full(5000, 0.7), np.where(rng.random(5000) < 0.005, 0.9, 0.0)])
    found = ranges.found_ranges(
        records_of(X, rng.uniform(-1, 1, 5000)), purse(), 0.2, 0.05, centred=True
    )
    assert found.middle[:2] == pytest.approx([0.7, 0.0], abs=1e-6)
    assert found.half[:2] == pytest.approx([1.7, 1.0], abs=1e-6)  # up to the farther end


def test_a_spike_of_responses_has_the_scale_of_the_others() -> None:
    rng = np.random.default_rng(5)
    y = np.where(rng.random(20_000) < 0.01, rng.uniform(0, 0.2, 20_000), 0.0)
    X = rng.uniform(-1, 1, (20_000, 1))
    found = ranges.found_ranges(records_of(X, y), purse(), 0.2, 0.05, centred=True)
    assert 0.05 < found.highest < 0.4
    assert found.lowest == -1.0


def rare_column(seed: int) -> Records:
    """0 but for a part that is about the part that a size may miss."""
    rng = np.random.default_rng(seed)
    X = (rng.random((20_000, 1)) < 0.021).astype(float)
    return records_of(X, rng.normal(0, 0.1, 20_000), (0, 1))


def test_a_size_between_a_spike_and_the_others_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def halves() -> list[float]:
        found = (
            ranges.found_ranges(rare_column(s), purse(Gaussian(0.2), s), 0.3, 0.05, centred=True)
            for s in range(12)
        )
        return [float(ranges_.half[0]) for ranges_ in found]

    assert min(halves()) > 0.6
    monkeypatch.setattr(ranges, "FEW_APART", -math.inf)
    monkeypatch.setattr(ranges, "MANY_FAR", math.inf)
    assert min(halves()) < 0.01  # a sliver


@pytest.mark.parametrize(("spread", "free"), [(1.2, True), (0.05, False)])
def test_predictions_of_a_long_tail_are_not_clamped(spread: float, free: bool) -> None:
    rng = np.random.default_rng(6)
    y = rng.lognormal(0, spread, 50_000) / 200
    X = rng.uniform(-1, 1, (50_000, 1))
    found = ranges.found_ranges(records_of(X, y), purse(Gaussian(0.5)), 0.2, 0.05, centred=True)
    assert (found.highest == 1.0) == free


def highest_of(y: Array) -> float:
    X = np.random.default_rng(0).uniform(-1, 1, (len(y), 1))
    found = ranges.found_ranges(records_of(X, y), purse(Gaussian(0.3)), 0.2, 0.05, centred=True)
    return found.highest


def test_predictions_end_where_responses_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scale with a largest value, and the same without one."""
    free = np.random.default_rng(7).normal(0, 0.05, 20_000)
    coded = np.minimum(free, 0.08)
    assert 0.08 <= highest_of(coded) < 0.08 * 1.08
    assert highest_of(free) > 0.08 * 1.3
    monkeypatch.setattr(ranges, "ENDED", -math.inf)
    assert highest_of(coded) > 0.08 * 1.2


def test_the_finest_median_is_below_the_least_size() -> None:
    """So a value that all have is not taken for a size; and not by much, as no size is lost."""
    width = 2 / ranges.CENTRE_CELLS**ranges.CENTRE_GRIDS
    assert ranges.SIZES.end(np.array([ranges.UNSEEN]))[0] == width
    assert ranges.CENTRE_GRIDS * math.log2(ranges.CENTRE_CELLS) == ranges.CENTRE_QUERIES


@pytest.mark.parametrize(
    ("index", "beyond"), [(1.0, math.exp(-4.0) * 13), (2.0, math.exp(-16.0) * 17)], ids=str
)
def test_what_lies_beyond_of_a_mean_square(index: float, beyond: float) -> None:
    """Closed forms, with a = 1: e^-t (1 + t + t^2/2) and e^{-t^2} (1 + t^2), at t = 4."""
    missed = 0.02
    size = np.array([math.log(1 / missed) ** (1 / index)])
    typical = np.array([math.log(3) ** (1 / index)])
    lengths = ranges._tail_lengths(size, typical, missed)
    assert lengths.power == pytest.approx([index])
    assert lengths.moment_beyond(np.array([4.0])) == pytest.approx([beyond])


@pytest.mark.parametrize("grid", [ranges.SIZES, ranges.OctaveGrid(256, 16, 12)], ids=str)
def test_sizes_are_in_the_cell_that_ends_above_them(grid: ranges.OctaveGrid) -> None:
    ends = grid.end(np.arange(grid.cells))
    assert ends[-1] == 2.0**grid.largest
    assert np.all(np.diff(ends) <= ends[:-1] / grid.per_octave)  # a part of an octave at most
    sizes = np.exp(np.random.default_rng(0).uniform(math.log(ends[0]), math.log(ends[-2]), 5000))
    cell = grid.cell(sizes)
    assert np.all(sizes < ends[cell])
    assert np.all(sizes >= ends[cell - 1])
    beyond = np.array([0.0, 5e-324, ends[0] / 2, 2.0**grid.largest, 1e300, math.inf])
    assert grid.cell(beyond).tolist() == [0, 0, 0] + 3 * [grid.cells - 1]


@pytest.mark.parametrize("centred", [True, False])
def test_ranges_cost_their_share(centred: bool) -> None:
    spender = purse(Gaussian(1.0))
    ranges.found_ranges(rare_column(0), spender, 0.3, 0.05, centred=centred)
    spent = [entry.count * entry.guarantees[0].mu ** 2 for entry in spender.ledger]
    assert sum(spent) == pytest.approx(0.35)


# --- Bounds that nobody gave ----------------------------------------------------------------------


def test_octaves_hold_their_numbers() -> None:
    numbers = np.array([0.0, 1e-30, 1.0, 1.5, 2.0, -1.0, -1.5, -3.0, 1e100, -1e100, 0.3, -1e-13])
    counts = found_bounds.octave_counts(
        np.repeat(numbers[:, None], len(numbers), axis=1) * np.eye(len(numbers)),
        None,
        np.ones(len(numbers), dtype=bool),
    )
    counts[:, found_bounds.LOG_CELLS // 2] -= len(numbers) - 1  # the zeros off the diagonal
    low, high = found_bounds.octave_ends(counts.argmax(axis=1))
    assert ((low <= numbers) & (numbers <= high)).all()
    assert ((high - low)[2:] <= 2 * np.maximum(np.abs(numbers[2:]), 1e-12)).all()


def private_records(X: Array, y: Array, bounds: Any = "private") -> Records:
    source, first = source_of(X, y)
    range_ = Numeric("y", -found_bounds.LARGEST, found_bounds.LARGEST)
    return Records(source, schema_of(first, bounds, None), NumberResponse(range_))


@pytest.mark.parametrize("privacy", [Approximate(1, 1e-6), Pure(4.0)])
def test_found_bounds_hold_the_data_and_are_not_far_off(privacy: Any) -> None:
    rng = np.random.default_rng(6)
    X = np.column_stack(
        [
            rng.normal(2000, 10, 20_000),
            rng.exponential(1e6, 20_000),
            -rng.uniform(1e-4, 2e-4, 20_000),
        ]
    )
    y = rng.normal(0, 3, 20_000)
    spender = purse(privacy, 7)
    bounded = found_bounds.bounded_records(private_records(X, y), np.ones(4, bool), spender, 0.1)
    low, high = bounded.schema.ends
    assert ((low < X) & (high > X)).mean(axis=0).min() > 0.99
    assert (high - low < 40 * np.quantile(np.abs(X), 0.99, axis=0)).all()
    assert isinstance(bounded.response, NumberResponse)
    assert bounded.response.range.low < -9 < 9 < bounded.response.range.high < 200
    assert [entry.count for entry in spender.ledger] == [10, 10]


def test_no_finite_record_makes_found_bounds_fail() -> None:
    for value in (0.0, 1e100, -1e100, 1e308, 5e-324):
        X, y = np.full((50, 1), value), np.full(50, value)
        bounded = found_bounds.bounded_records(
            private_records(X, y), np.ones(2, bool), purse(), 0.1
        )
        low, high = bounded.schema.ends
        assert (low < high).all()
        assert np.abs(bounded.schema.ends).max() <= found_bounds.LARGEST


def test_only_what_has_no_bounds_is_searched() -> None:
    rng = np.random.default_rng(8)
    X, y = rng.normal(0, 1, (2000, 2)), rng.normal(0, 1, 2000)
    records = private_records(X, y, [(-7, 7), (-8, 8)])
    unbounded = np.array([False, False, True])
    bounded = found_bounds.bounded_records(records, unbounded, purse(), 0.1)
    assert bounded.schema.ends.tolist() == [[-7, -8], [7, 8]]
