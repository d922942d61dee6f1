"""Where the numbers of a table lie, found privately.

**Searches.** A quantile of each column is found by a binary search on counts: one pass makes, for
every column, an exact histogram on a public grid, which is never released; each query, how many
values lie below the middle of what is left, is released with noise for all columns at once. This
has the law of one pass for each query.

**Privacy.** A record is in one cell of each histogram, and which one depends on that record and on
what was released before. So replacing a record moves a count by at most 1, and the counts of k
columns by at most sqrt(k) in l2, whatever the data.

**How a search goes wrong.** Where the bounds are much too wide, half of all queries are at places
beyond all values: the true count is 0 or n there, and one wrong answer is never made good. So
searches look for medians, n/2 away from that, and for sizes about them, on a grid of powers, with a
level that stays `SAFE_DEVIATIONS` of the counts' noise below 1. Where most values are equal, a size
may be found anywhere between them and the others, as all counts are the same there. So one more
count is released: how many values lie far beyond what was found. If these are many, the public
range is kept.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from estimators.core.base import Array
from estimators.core.design import LARGEST
from estimators.core.purse import Purse
from estimators.tables.records import NumberResponse, Records
from estimators.tables.schema import Schema

CENTRE_CELLS, CENTRE_GRIDS = 256, 3
"""Cells of each of the grids, each within a cell of the one before, that find a median."""
SIZE_CELLS, PER_OCTAVE = 128, 5
"""Cells of the grid of powers that finds a size: a fifth of an octave each, from 2 down to the
width of the finest cells of medians."""
CENTRE_QUERIES, SIZE_QUERIES = 24, 7
SIZE_WEIGHT, FAR_WEIGHT = 2, 16
"""What a count of a size, and one of far values, costs, over one of a median: medians are n/2 away
from a wrong answer beyond all values, and need less."""
TAIL_FAR_PART = 0.4
"""The part of the responses' reach that the count of far values costs."""
FAR, TAIL_FAR = 3.0, 1.25
"""Values farther than so many half-widths, and responses farther than so many reaches, are far
..."""
MANY_FAR = 0.4
"""... and many, if they are more than this part of those that may lie beyond ..."""
SURELY_FAR = 2.0
"""... and, of responses, than so many deviations of noise."""
SAFE_DEVIATIONS = 3.3
"""A wrong answer beyond all values is this many deviations away: 1 in 2,000."""
LEAST_MISSED, MOST_MISSED = 0.02, 0.4
"""Part of the values that may lie beyond the size that is looked for."""
LEAST_TAIL, MOST_TAIL = 0.0005, 0.2
"""Part of the responses that may lie beyond each end of their reach."""
NORMAL_REACH = 1.96
"""A range is that of so many deviations where values are normal."""
FARTHEST_PREDICTION = 2.5
"""Predictions stay within so many deviations of the median, on either side, where responses are
normal."""
COARSE_TAIL = 0.1
"""A larger tail than this shows that there are few records for the budget."""
UNSEEN = 4
"""A size in the lowest cells is not a size: nearly all values are equal, or the bounds are too wide
for the grid. Such a column keeps its public range."""


class Ranges(NamedTuple):
    """Where the numeric columns and then the responses lie, encoded."""

    middle: Array
    half: Array
    lowest: float
    """The least response that is predicted, encoded."""
    highest: float
    spike: bool
    """Whether most responses are so near to each other that they tell no scale."""


# --- Kernels --------------------------------------------------------------------------------------


def numbers_of(Z: Array, y: Array | None, numeric: NDArray[np.bool_]) -> Array:
    """The columns that are searched: numbers, and the responses last."""
    return Z[:, numeric] if y is None else np.column_stack([Z[:, numeric], y])


def cell_counts(
    Z: Array, y: Array | None, numeric: NDArray[np.bool_], low: Array, width: float, cells: int
) -> Array:
    """For each number, how many values are in each of so many cells from `low` on; the first and
    the last hold what lies beyond."""
    places = np.floor((numbers_of(Z, y, numeric) - low) / width)
    return counted(np.clip(places, 0, cells - 1), cells)


def size_counts(Z: Array, y: Array | None, numeric: NDArray[np.bool_], centre: Array) -> Array:
    """For each number, how many values are how far from a centre."""
    sizes = np.abs(numbers_of(Z, y, numeric) - centre)
    return counted(octave_cell(sizes, SIZE_CELLS, PER_OCTAVE), SIZE_CELLS)


def far_counts(
    Z: Array, y: Array | None, numeric: NDArray[np.bool_], centre: Array, size: Array
) -> Array:
    """For each number, how many values are farther from a centre than a size."""
    return np.asarray((np.abs(numbers_of(Z, y, numeric) - centre) > size).sum(axis=0, dtype=float))


def tail_counts(Z: Array, y: Array, centre: float) -> Array:
    """How many responses are how far above a centre, and below it."""
    apart = np.maximum(np.column_stack([y - centre, centre - y]), 0.0)
    return counted(octave_cell(apart, SIZE_CELLS, PER_OCTAVE), SIZE_CELLS)


def far_tails(Z: Array, y: Array, centre: float, ends: Array) -> Array:
    """How many responses are farther above a centre than the first end, and below it than the
    second."""
    apart = np.column_stack([y - centre, centre - y])
    return np.asarray((apart > ends).sum(axis=0, dtype=float))


def spread_counts(
    Z: Array, y: Array, numeric: NDArray[np.bool_], centre: Array
) -> tuple[Array, Array]:
    """`size_counts` and `tail_counts`, in one pass."""
    return size_counts(Z, y, numeric, centre), tail_counts(Z, y, float(centre[-1]))


def octave_cell(sizes: Array, cells: int, per_octave: int, largest: int = 1) -> Array:
    """The cell of each size on a grid of powers whose last cell ends at 2^largest."""
    with np.errstate(divide="ignore"):
        places = np.ceil((np.log2(sizes) - largest) * per_octave) + (cells - 1)
    return np.clip(places, 0, cells - 1)


def octave_end(cell: NDArray[np.intp], cells: int, per_octave: int, largest: int = 1) -> Array:
    """Where a cell of that grid ends."""
    return np.asarray(2.0 ** ((cell - (cells - 1)) / per_octave + largest))


def counted(places: Array, cells: int) -> Array:
    """A histogram of each column of places, each between 0 and cells - 1."""
    k = places.shape[1]
    flat = (places.astype(np.intp) + cells * np.arange(k)).ravel()
    return np.bincount(flat, minlength=k * cells).reshape(k, cells).astype(float)


# --- Searches -------------------------------------------------------------------------------------


def count_noise(purse: Purse, k: int, share: float) -> float:
    """The deviation of the noise on each of k counts that are released together."""
    if not purse.pure:
        return purse.deviation(math.sqrt(k), k, share)
    return math.sqrt((k + 1) * (k + 2) / 3) / float(purse.part(share).epsilon)


def searched(
    counts: Array, targets: Array | float, purse: Purse, share: float, about: str
) -> NDArray[np.intp]:
    """For each row of cells, the one in which the sum from the first on reaches the target.

    The number of cells is a power of 2, whose logarithm is the number of queries; each gets the
    same part of the share.
    """
    k, cells = counts.shape
    queries = cells.bit_length() - 1
    below = np.concatenate([np.zeros((k, 1)), np.cumsum(counts, axis=1)], axis=1)
    found, step = np.zeros(k, dtype=np.intp), cells
    for _ in range(queries):
        step //= 2
        middle = found + step
        noisy = purse.cube_release(below[np.arange(k), middle], 1.0, share / queries, about)
        found = np.where(noisy < targets, middle, found)
    purse.ledger[-queries:] = [replace(purse.ledger[-1], count=queries)]
    return found


def found_ranges(
    records: Records, purse: Purse, share: float, tail_share: float, *, centred: bool
) -> Ranges:
    """Medians and sizes of the numeric columns and of the responses, and the responses' reach.

    A half-width is `NORMAL_REACH` deviations where values are normal. Without an intercept the
    origin is the centre. Indicators are not searched: all of their range is in use. So it is where
    no size is seen, or many values lie far beyond it; of such responses the reach tells the scale.
    """
    numeric = ~records.schema.binary
    k, n, each = int(numeric.sum()) + 1, records.n, share * size_part(centred)
    centre = _medians(records, purse, each / SIZE_WEIGHT) if centred else np.zeros(k)
    missed = SAFE_DEVIATIONS * count_noise(purse, k, each) / n
    missed = float(np.clip(missed, LEAST_MISSED, MOST_MISSED))
    counts, tails = records.total(spread_counts, numeric, centre)
    cell = searched(counts, (1 - missed) * n, purse, SIZE_QUERIES * each, "sizes of columns")
    widened = NORMAL_REACH / float(special.ndtri(1 - missed / 2))
    half = octave_end(cell, SIZE_CELLS, PER_OCTAVE) * widened
    far = records.total(far_counts, numeric, centre, FAR * half)
    spent = FAR_WEIGHT / SIZE_WEIGHT * each
    noisy = purse.cube_release(far, 1.0, spent, "values far beyond those sizes")
    seen = (cell > UNSEEN) & (noisy < MANY_FAR * missed * n)
    middle = float(centre[-1])
    lowest, highest = _reach(records, tails, purse, tail_share, middle)
    public = 1 + np.abs(centre)  # about the median: a value that most have stays at 0
    half = np.where(seen, half, public)
    if not seen[-1]:
        half[-1] = max(highest - middle, middle - lowest)
    return Ranges(centre, half, lowest, highest, not bool(seen[-1]))


def size_part(centred: bool) -> float:
    """The part of the cost of `found_ranges` that one count of sizes has, but for the responses'
    reach."""
    medians = CENTRE_QUERIES if centred else 0
    return SIZE_WEIGHT / (medians + SIZE_QUERIES * SIZE_WEIGHT + FAR_WEIGHT)


def tail_part() -> float:
    """The same for one count of the responses' reach."""
    return (1 - TAIL_FAR_PART) / SIZE_QUERIES


def _medians(records: Records, purse: Purse, each: float) -> Array:
    """In several passes: each divides the cell that the one before found."""
    numeric, about = ~records.schema.binary, "medians of columns"
    low, width = np.full(int(numeric.sum()) + 1, -1.0), 2.0
    for _ in range(CENTRE_GRIDS):
        width /= CENTRE_CELLS
        counts = records.total(cell_counts, numeric, low, width, CENTRE_CELLS)
        spent = CENTRE_QUERIES // CENTRE_GRIDS * each
        low = low + searched(counts, records.n / 2, purse, spent, about) * width
    return np.asarray(low + width / 2)


def _reach(
    records: Records, counts: Array, purse: Purse, share: float, centre: float
) -> tuple[float, float]:
    """The ends between which responses are predicted: few lie beyond, on either side alone, so
    that a skew response has a short side. Where nothing is seen on a side, or more lie far beyond
    than if e^{-|t|}/2 were the density, a longer tail than that, it is the public end.

    Where counts are coarse, the reach is taken as it is found: there, noise on all of the public
    range would drown the fit.
    """
    n, each = records.n, share * tail_part()
    tail = SAFE_DEVIATIONS * count_noise(purse, 2, each) / n
    tail = float(np.clip(tail, LEAST_TAIL, MOST_TAIL))
    about = "reach of the responses"
    cell = searched(counts, (1 - tail) * n, purse, SIZE_QUERIES * each, about)
    ends = octave_end(cell, SIZE_CELLS, PER_OCTAVE)
    far, spent = records.total(far_tails, centre, TAIL_FAR * ends), TAIL_FAR_PART * share
    noisy = purse.cube_release(far, 1.0, spent, "responses far beyond that reach")
    many = n * tail * (2 * tail) ** (TAIL_FAR - 1)
    few = noisy < max(many, SURELY_FAR * count_noise(purse, 2, spent))
    seen = (cell > UNSEEN) & (few | (tail > COARSE_TAIL))
    factor = max(TAIL_FAR, FARTHEST_PREDICTION / float(special.ndtri(1 - tail)))
    most = np.array([1 - centre, 1 + centre])
    above, below = np.minimum(np.where(seen, ends * factor, most), most)
    return float(centre - below), float(centre + above)


# --- Bounds that nobody gave ----------------------------------------------------------------------

PRIVATE_BOUNDS_PART = 0.1
"""What finding bounds costs of the budget."""
LOG_CELLS = 1024
"""Cells of the grid on which bounds are looked for: one for each octave and sign."""
LOG_QUERIES = 10
SMALLEST_OCTAVE = -40
"""Smaller numbers than 2 to this power count as 0."""
LEAST_BEYOND, MOST_BEYOND = 0.005, 0.25
"""Part of the values that may lie beyond each end that is found."""


def octave_counts(numbers: Array, y: Array | None, where: NDArray[np.bool_]) -> Array:
    """For each number that has no bounds, how many values are in each octave, signs apart."""
    columns = numbers if y is None else np.column_stack([numbers, y])
    sizes = np.abs(columns[:, where])
    octave = np.zeros(sizes.shape)
    seen = sizes >= 2.0**SMALLEST_OCTAVE
    octave[seen] = np.floor(np.log2(sizes[seen])) - SMALLEST_OCTAVE + 1
    places = LOG_CELLS // 2 + np.sign(columns[:, where]) * octave
    return counted(np.clip(places, 0, LOG_CELLS - 1), LOG_CELLS)


def octave_ends(cell: NDArray[np.intp]) -> tuple[Array, Array]:
    """The lower and the upper end of cells of that grid."""
    place = cell - LOG_CELLS // 2
    outer = 2.0 ** (np.abs(place) + SMALLEST_OCTAVE)
    inner = np.where(place == 0, -outer, outer / 2)
    ends = np.sort(np.stack([inner, outer]) * np.where(place < 0, -1.0, 1.0), axis=0)
    return ends[0], ends[1]


def bounded_records(
    records: Records, unbounded: NDArray[np.bool_], purse: Purse, share: float
) -> Records:
    """The same records, with bounds found for the numbers that have none.

    `unbounded` tells which of the numeric columns, and then the response, have none. The ends of
    the octaves in which the outer values lie are found by two searches, and moved apart by as much
    as they are apart: few values are clipped.
    """
    n, k = records.n, int(unbounded.sum())
    counts = records.raw_total(octave_counts, unbounded)
    each = share / (2 * LOG_QUERIES)
    noise = count_noise(purse, k, each)
    tail = float(np.clip(SAFE_DEVIATIONS * noise / n, LEAST_BEYOND, MOST_BEYOND))
    outer = [
        searched(counts, level * n, purse, share / 2, f"{end} ends of columns")
        for level, end in ((tail, "lower"), (1 - tail, "upper"))
    ]
    low, high = octave_ends(np.minimum(*outer))[0], octave_ends(np.maximum(*outer))[1]
    pairs = np.stack([low - (high - low), high + (high - low)], axis=1)
    return _rebounded(records, unbounded, np.clip(pairs, -LARGEST, LARGEST))


def _rebounded(records: Records, unbounded: NDArray[np.bool_], pairs: Array) -> Records:
    schema, response = records.schema, records.response
    ends = schema.ends.T.copy()
    columns = unbounded[: len(ends)]
    ends[columns] = pairs[: int(columns.sum())]
    if len(unbounded) > len(ends) and unbounded[-1]:
        assert isinstance(response, NumberResponse)
        low, high = map(float, pairs[-1])
        response = replace(response, range=replace(response.range, low=low, high=high))
    return records.rebounded(_bounded(schema, ends), response)


def _bounded(schema: Schema, ends: Array) -> Schema:
    return schema.bounded([(float(low), float(high)) for low, high in ends])
