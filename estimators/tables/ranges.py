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
may be found anywhere between them and the others, as all counts are the same there. So two more
counts are released: how many values lie far beyond what was found, and how many are apart from the
centre by a small part of it. If the former are many, or the latter few, the public range is kept.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from estimators.core.base import Array
from estimators.core.purse import Purse
from estimators.tables.records import NumberResponse, Records
from estimators.tables.scratch import scratch

FRACTION_BITS = 52
"""Of a float."""


class OctaveGrid(NamedTuple):
    """Cells for sizes, the last of which ends at 2^largest: octaves, divided into equal parts.

    The bits of a float that is not negative, read as an integer, grow with it, and the first of
    them tell the octave and the part of it.
    """

    cells: int
    """A power of 2, as is ..."""
    per_octave: int
    largest: int

    @property
    def queries(self) -> int:
        """How many it takes to find a cell."""
        return self.cells.bit_length() - 1

    @property
    def _shift(self) -> int:
        """How many bits of a float are finer than the grid."""
        return FRACTION_BITS + 1 - self.per_octave.bit_length()

    @property
    def _first(self) -> int:
        """What the other bits are in the first cell."""
        return (int(np.float64(2.0**self.largest).view(np.int64)) >> self._shift) - self.cells

    def cell(self, sizes: Array) -> NDArray[np.int64]:
        """Of each size; the first and the last hold what lies beyond. Gone with the next call."""
        found: NDArray[np.int64] = scratch("cells", sizes.shape, np.int64)
        np.right_shift(sizes.view(np.int64), self._shift, out=found)
        found -= self._first
        return np.clip(found, 0, self.cells - 1, out=found)

    def end(self, cell: NDArray[np.intp]) -> Array:
        """Where a cell ends."""
        bits = np.asarray(cell, dtype=np.int64) + (self._first + 1) << self._shift
        return np.asarray(bits.view(np.float64))


WHOLE = 2.0**FRACTION_BITS
WHOLE_BITS = int(np.float64(WHOLE).view(np.int64))
"""From here on floats are whole numbers, which the bits count: faster than a cast."""
SIZES = OctaveGrid(128, 4, 1)
"""From 2 down to less than the width of the finest cells of medians."""
TAILS = OctaveGrid(512, 16, 1)
"""The same, finer: where responses end, predictions do."""
CENTRE_CELLS, CENTRE_GRIDS = 1024, 3
"""Cells of each of the grids, each within a cell of the one before, that find a median."""
CENTRE_QUERIES = 30
SIZE_WEIGHT, FAR_WEIGHT = 2, 16
"""What a count of a size, and one of values apart, costs, over one of a median: medians are n/2
away from a wrong answer beyond all values, and need less."""
TAIL_FAR_PART = 0.4
"""The part of the responses' reach that the count of far values costs."""
FAR, MANY_FAR = 3.0, 0.5
"""A size is one unless more values are farther than so many half-widths than this part of those
that it may miss: else it was found between most values and the others ..."""
NEAR, FEW_APART = 1 / 16, 0.8
"""... and if more than this part of them are farther than a small part of it, at least the width of
the finest cells of medians: else most values are at one place."""
TAIL_FAR = 1.5
"""Responses farther than so many reaches are far, and many, if they are more than an exponential
tail has there, and than the deviation of noise. To take a short tail for a long one costs little,
the other way a lot."""
ENDED = 0.4
"""Responses end where a reach was found if fewer are beyond it than this part of those that it may
miss: as scales and codes with a largest value do."""
SAFE_DEVIATIONS = 3.3
"""A wrong answer beyond all values is this many deviations away: 1 in 2,000."""
LEAST_MISSED, MOST_MISSED = 0.02, 0.4
"""Part of the values that may lie beyond the size that is looked for."""
LEAST_TAIL, MOST_TAIL = 0.0005, 0.2
"""Part of the responses that may lie beyond each end of their reach."""
TYPICAL = 2 / 3
"""The part of the values that are nearer than a typical size."""
POWERS = 0.2, 4.0
"""Between these the power of a tail is taken."""
NORMAL_REACH = 1.96
"""A range is that of so many deviations where values are normal."""
FARTHEST_PREDICTION, LEAST_WIDENING = 2.5, 1.25
"""Predictions stay within so many deviations of the median, on either side, where responses are
normal, and at least within so many reaches."""
COARSE_TAIL = 0.1
"""A larger tail than this shows that there are few records for the budget."""
UNSEEN = 7
"""A size in the lowest cells, up to that which ends at the width of the finest cells of medians, is
not a size: nearly all values are equal, or the bounds are too wide for the grid. Such a column
keeps its public range."""


class TailLengths(NamedTuple):
    """How long the tails of columns are, by two quantiles of their sizes: e^{-(t/a)^power} is taken
    for the part of the values farther than t. Of a normal column the power is about 1.4, of an
    exponential one 1."""

    size: Array
    """What a part `missed` of the values is beyond."""
    power: Array
    missed: float

    def moment_beyond(self, reach: Array) -> Array:
        """The part of the mean square that comes from values farther than `reach`."""
        scaled = np.log(1 / self.missed) * (reach / self.size) ** self.power
        return np.asarray(special.gammaincc(1 + 2 / self.power, scaled))


class Ranges(NamedTuple):
    """Where the numeric columns and then the responses, if they are numbers, lie, encoded."""

    middle: Array
    half: Array
    blurred: NDArray[np.bool_]
    """Which of them hardly vary, beside what their bounds allow: nothing is seen of them."""
    kept: NDArray[np.bool_]
    """Which of them have all of their public range, as no size was found for them."""
    lowest: float
    """The least response that is predicted, encoded."""
    highest: float
    spike: bool
    """Whether most responses are so near to each other that they tell no scale."""
    lengths: TailLengths


class Tails(NamedTuple):
    """How far responses reach above their median and below it, and what part lies beyond."""

    ends: Array
    seen: NDArray[np.bool_]
    beyond: float


# --- Kernels --------------------------------------------------------------------------------------


def apart_from(Z: Array, y: Array, numeric: NDArray[np.bool_], centre: Array) -> Array:
    """What is searched, less a centre: a row for each column of numbers, and for the responses if
    the last entry of `numeric` says so. To be written to, and gone with the next call."""
    chosen, responses = numeric[:-1], int(numeric[-1])
    count = int(chosen.sum())
    found: Array = scratch("apart", (count + responses, len(Z)))
    numbers = Z.T if chosen.all() else Z.T[chosen]
    np.subtract(numbers, centre[:count, None], out=found[:count])
    if responses:
        np.subtract(y, centre[-1], out=found[-1])
    return found


def cell_counts(
    Z: Array, y: Array, numeric: NDArray[np.bool_], low: Array, width: float, cells: int
) -> Array:
    """For each number, how many values are in each of so many cells from `low` on; the first and
    the last hold what lies beyond."""
    places = apart_from(Z, y, numeric, low)
    places *= 1 / width
    np.clip(places, 0.5, cells - 0.5, out=places)
    places += WHOLE - 0.5
    cell = places.view(np.int64)
    cell -= WHOLE_BITS
    return counted(cell, cells)


def size_counts(Z: Array, y: Array, numeric: NDArray[np.bool_], centre: Array) -> Array:
    """For each number, how many values are how far from a centre."""
    return _sized(apart_from(Z, y, numeric, centre), SIZES)


def tail_counts(y: Array, centre: float) -> Array:
    """How many responses are how far above a centre, and below it."""
    return _sized(np.maximum(_sides(y, centre), 0.0), TAILS)


def spread_counts(
    Z: Array, y: Array, numeric: NDArray[np.bool_], centre: Array
) -> tuple[Array, ...]:
    """`size_counts` and, if responses are numbers, `tail_counts`."""
    sizes = size_counts(Z, y, numeric, centre)
    return (sizes, tail_counts(y, float(centre[-1]))) if numeric[-1] else (sizes,)


def far_counts(Z: Array, y: Array, numeric: NDArray[np.bool_], centre: Array, size: Array) -> Array:
    """For each number, how many values are farther from a centre than a size; of several rows of
    sizes, one after the other."""
    apart = apart_from(Z, y, numeric, centre)
    np.abs(apart, out=apart)
    return np.concatenate([_beyond(apart, row) for row in np.atleast_2d(size)])


def far_tails(y: Array, centre: float, ends: Array) -> Array:
    """How many responses are farther above a centre than the first end, and below it than the
    second; of several rows of ends, one after the other."""
    sides = _sides(y, centre)
    return np.concatenate([_beyond(sides, row) for row in np.atleast_2d(ends)])


def beyond_counts(
    Z: Array,
    y: Array,
    numeric: NDArray[np.bool_],
    centre: Array,
    size: Array,
    ends: Array | None = None,
) -> tuple[Array, ...]:
    """`far_counts` and, if there are ends, `far_tails`."""
    far = far_counts(Z, y, numeric, centre, size)
    return (far,) if ends is None else (far, far_tails(y, float(centre[-1]), ends))


def counted(cell: NDArray[np.int64], cells: int) -> Array:
    """A histogram of each row of cells, which are between 0 and cells - 1, and are written to."""
    k = len(cell)
    cell += cells * np.arange(k)[:, None]
    return np.bincount(cell.reshape(-1), minlength=k * cells).reshape(k, cells).astype(float)


def _sized(apart: Array, grid: OctaveGrid) -> Array:
    sizes = np.abs(apart, out=apart)
    return counted(grid.cell(sizes), grid.cells)


def _sides(y: Array, centre: float) -> Array:
    """How far responses are above a centre, and below it."""
    return np.stack([y - centre, centre - y])


def _beyond(apart: Array, size: Array) -> Array:
    return np.count_nonzero(apart > size[:, None], axis=1).astype(float)


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


def searched_numbers(records: Records) -> NDArray[np.bool_]:
    """Which encoded columns, and whether responses, are numbers whose ranges are searched."""
    return np.append(~records.schema.binary, isinstance(records.response, NumberResponse))


def found_ranges(
    records: Records, purse: Purse, share: float, tail_share: float = 0.0, *, centred: bool
) -> Ranges:
    """Medians and sizes of the numeric columns and, where they are numbers, of the responses, and
    the responses' reach.

    A half-width is `NORMAL_REACH` deviations where values are normal. Without an intercept the
    origin is the centre. Indicators are not searched: all of their range is in use. So it is where
    no size is seen, or most values are at one place; of such responses the reach tells the scale.
    """
    numeric = searched_numbers(records)
    k, n, each = int(numeric.sum()), records.n, share * size_part(centred, bool(numeric[-1]))
    nothing = np.zeros(0)
    if k == 0:
        lengths = TailLengths(nothing, nothing, 1.0)
        return Ranges(nothing, nothing, nothing > 0, nothing > 0, -1.0, 1.0, False, lengths)
    centre = _medians(records, numeric, purse, each / SIZE_WEIGHT) if centred else np.zeros(k)
    missed = SAFE_DEVIATIONS * count_noise(purse, k, each) / n
    missed = float(np.clip(missed, LEAST_MISSED, MOST_MISSED))
    counts, *tail_counts_ = records.totals(spread_counts, numeric, centre)
    cell = searched(counts, (1 - missed) * n, purse, SIZES.queries * each, "sizes of columns")
    lengths = TailLengths(nothing, nothing, missed)
    if numeric[-1]:  # for intervals, which only regression has
        spent = SIZES.queries / SIZE_WEIGHT * each
        typical = searched(counts, TYPICAL * n, purse, spent, "typical sizes of columns")
        lengths = _tail_lengths(SIZES.end(cell), SIZES.end(typical), missed)
    widened = NORMAL_REACH / float(special.ndtri(1 - missed / 2))
    half = SIZES.end(cell) * widened
    tails = [_tails(counts, purse, tail_share, n) for counts in tail_counts_]
    near = np.maximum(NEAR * SIZES.end(cell), SIZES.end(np.array(UNSEEN)))
    sizes = (
        np.stack([FAR * half, near]),
        *(np.outer([1.0, TAIL_FAR], found.ends) for found in tails),
    )
    far, *far_tails_ = records.totals(beyond_counts, numeric, centre, *sizes)
    spent = FAR_WEIGHT / SIZE_WEIGHT * each
    far, apart = np.split(purse.cube_release(far, 1.0, spent, "values far off, and apart"), 2)
    blurred = cell <= UNSEEN
    seen = ~blurred & (far < MANY_FAR * missed * n) & (apart > FEW_APART * missed * n)
    half = np.where(seen, half, 1 + np.abs(centre))  # about the median, which stays at 0
    if not tails:
        return Ranges(centre, half, blurred, ~seen, -1.0, 1.0, False, lengths)
    middle = float(centre[-1])
    lowest, highest = _reach(tails[0], far_tails_[0], purse, tail_share, n, middle)
    if not seen[-1]:
        half[-1] = max(highest - middle, middle - lowest)
    return Ranges(centre, half, blurred, ~seen, lowest, highest, not bool(seen[-1]), lengths)


def _tail_lengths(size: Array, typical: Array, missed: float) -> TailLengths:
    """The power of the tail that has these two quantiles."""
    apart = math.log(math.log(missed) / math.log(1 - TYPICAL)) if missed < 1 - TYPICAL else 0.0
    ratio = np.maximum(np.log(size / typical), math.log1p(1 / SIZES.per_octave))
    return TailLengths(size, np.clip(apart / ratio, *POWERS), missed)


def size_part(centred: bool, tails: bool) -> float:
    """The part of the cost of `found_ranges` that one count of sizes has, but for the responses'
    reach; `tails`: whether typical sizes are found as well."""
    medians = CENTRE_QUERIES if centred else 0
    return SIZE_WEIGHT / (medians + SIZES.queries * (SIZE_WEIGHT + tails) + FAR_WEIGHT)


def tail_part() -> float:
    """The same for one count of the responses' reach."""
    return (1 - TAIL_FAR_PART) / TAILS.queries


def _medians(records: Records, numeric: NDArray[np.bool_], purse: Purse, each: float) -> Array:
    """In several passes: each divides the cell that the one before found."""
    low, width = np.full(int(numeric.sum()), -1.0), 2.0
    for _ in range(CENTRE_GRIDS):
        width /= CENTRE_CELLS
        counts = records.total(cell_counts, numeric, low, width, CENTRE_CELLS)
        spent = CENTRE_QUERIES // CENTRE_GRIDS * each
        low = low + searched(counts, records.n / 2, purse, spent, "medians of columns") * width
    return np.asarray(low + width / 2)


def _tails(counts: Array, purse: Purse, share: float, n: int) -> Tails:
    """The ends that few responses lie beyond, on either side alone, so that a skew response has a
    short side."""
    each = share * tail_part()
    tail = SAFE_DEVIATIONS * count_noise(purse, 2, each) / n
    tail = float(np.clip(tail, LEAST_TAIL, MOST_TAIL))
    about = "reach of the responses"
    cell = searched(counts, (1 - tail) * n, purse, TAILS.queries * each, about)
    ends = TAILS.end(cell)
    return Tails(ends, ends > SIZES.end(np.array(UNSEEN)), tail)


def _reach(
    tails: Tails, far: Array, purse: Purse, share: float, n: int, centre: float
) -> tuple[float, float]:
    """The ends between which responses are predicted. Where hardly any lie beyond what was found,
    it is that. Where nothing is seen on a side, or more lie far beyond than if e^{-|t|}/2 were the
    density, it is the public end.

    Where counts are coarse, the reach is taken as it is found: there, noise on all of the public
    range would drown the fit.
    """
    tail, spent = tails.beyond, TAIL_FAR_PART * share
    told = purse.cube_release(far, 1.0, spent, "responses beyond that reach, and far beyond")
    beyond, far = np.split(told, 2)
    many = n * tail * (2 * tail) ** (TAIL_FAR - 1)
    few = far < max(many, count_noise(purse, len(told), spent))
    seen = tails.seen & (few | (tail > COARSE_TAIL))
    usual = max(LEAST_WIDENING, FARTHEST_PREDICTION / float(special.ndtri(1 - tail)))
    factor = np.where(beyond < ENDED * n * tail, 1.0, usual)
    most = np.array([1 - centre, 1 + centre])
    above, below = np.minimum(np.where(seen, tails.ends * factor, most), most)
    return float(centre - below), float(centre + above)
