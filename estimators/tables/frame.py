"""Rows on one scale: where the columns of a table lie, and how long its rows are.

Ranges and lengths are private quantiles, searched as in `estimators.tables.ranges`: counts of
sensitivity 1 on a public grid, and one pass for each grid.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from estimators.core.base import Array
from estimators.core.purse import Purse
from estimators.tables.ranges import count_noise, counted, searched
from estimators.tables.records import Records

CELLS = 128
"""Cells of each of two grids, the second within a cell of the first, that find an end."""
QUERIES = 7
"""The logarithm of that: counts for each grid and end."""
SEARCHES = 6
"""Two ends on two grids each, the outermost values, and one count at the ends that costs as much
as a search and has less noise."""
RANGE_SHARES = 0.1, 0.4
RANGE_ERROR = 0.06
"""Counts may be off by this part of n, in deviations of their noise, before ranges cost more."""
END_TAILS = 0.025, 0.25
"""The part of the values beyond each end is between these."""
NOISE_IN_TAIL = 3.3
"""A tail holds so many deviations of the noise on its count: where bounds are much too wide, most
queries are at places beyond all values, and 1 in 2,000 of them is answered wrongly."""
NORMAL_TAIL = 1.96
"""The half-width is what a normal column has its outer 5 % beyond."""
CLAMP = 1.25
"""Values are taken up to so many half-widths from the middle."""
SLIVER = 4 / CELLS**2
"""Two cells of the finer grid: values nearer than that to each other are one value."""
HIDDEN, SPIKED = 0.8, 2.0
"""Tails. Where less than the first is away from one value, that value hides the scale of all
others; where less than the second is, noise may have stopped a search in the gap between them."""
OUTER_TAIL = 0.4
"""Tails beyond what are taken for the outermost values of such a column ..."""
FAR = 2.0
"""... which are its scale if they are more than so many half-widths away."""


class ColumnFrame(NamedTuple):
    """Where the encoded columns are: z is taken as (z - middle)/half, within +-CLAMP."""

    middle: Array
    half: Array
    intercept: bool

    @property
    def width(self) -> int:
        """The columns of a framed row."""
        return len(self.middle) + int(self.intercept)


def framed(Z: Array, frame: ColumnFrame) -> Array:
    """Rows of columns on one scale, after a 1 if there is an intercept."""
    rows = np.ones((len(Z), frame.width))
    columns = rows[:, int(frame.intercept) :]
    np.subtract(Z, frame.middle, out=columns)
    columns /= frame.half
    np.clip(columns, -CLAMP, CLAMP, out=columns)
    return rows


def longest_row(records: Records, intercept: bool) -> float:
    """No framed row is longer: of the indicators of one column at most one is 1."""
    numeric = len(records.schema.numeric)
    levels = len(records.schema.columns) - numeric
    return math.sqrt(int(intercept) + CLAMP**2 * numeric + levels)


# --- Ranges of columns ----------------------------------------------------------------------------


def cells_from(Z: Array, y: Array, where: NDArray[np.intp], low: Array, width: float) -> Array:
    """How many values of some columns, each named as often as there is a grid for it, are in each
    cell from `low` on; the first and the last hold what lies beyond."""
    places = np.floor((Z[:, where] - low) / width)
    return counted(np.clip(places, 0, CELLS - 1), CELLS)


def range_share(purse: Purse, columns: int) -> float:
    """The part of the budget that the ranges of so many columns get."""
    if columns == 0:
        return 0.0
    ratio = count_noise(purse, columns, 1 / (SEARCHES * QUERIES)) / (RANGE_ERROR * purse.n)
    return float(np.clip(share_for(purse, ratio), *RANGE_SHARES))


def share_for(purse: Purse, ratio: float) -> float:
    """The share with which noise is as large as wanted, if with the whole budget it is `ratio`
    times that; at most 1."""
    return min(1.0, ratio) ** (1 if purse.pure else 2)


def released_frame(records: Records, purse: Purse, share: float, intercept: bool) -> ColumnFrame:
    """The middle and half-width of each numeric column, from private quantiles.

    Tails are as small as noise allows; the half-width is that of a normal column's middle 95 %.
    Indicators stay as they are. Without an intercept middles are 0.
    """
    where = np.flatnonzero(~records.schema.binary)
    middle, half = np.zeros(records.d), np.ones(records.d)
    if len(where):
        noise = count_noise(purse, len(where), share / (SEARCHES * QUERIES))
        tail = float(np.clip(NOISE_IN_TAIL * noise / purse.n, *END_TAILS))
        ends = np.sort(_released_ends(records, purse, where, tail, share), axis=0)
        middle[where] = ends.mean(axis=0)
        outer = _released_outer(records, purse, where, middle[where], tail, share)
        rest = 1 - _released_mode(records, purse, where, ends, share)
        half[where] = _half_widths(ends, outer, rest / tail)
        half[where] *= NORMAL_TAIL / float(special.ndtri(1 - tail))
    if not intercept:
        half[where], middle = np.abs(middle[where]) + half[where], np.zeros(records.d)
    return ColumnFrame(middle, half, intercept)


def _half_widths(ends: Array, outer: Array, rest: Array) -> Array:
    """Half of what is between the ends, if that is the scale of the column.

    It is not where all but about a tail are at one value; `rest` is how many tails are elsewhere.
    The count is then the same all over the gap between that value and the others, and noise decides
    where in it the search stops: the outermost values tell the scale. Where they are too few for
    that, nothing is known of it but the public range. Too small a scale would clamp the others to a
    sliver of their range, with coefficients as many times too large.
    """
    half, middle = np.maximum(np.diff(ends, axis=0)[0] / 2, SLIVER), ends.mean(axis=0)
    stopped = (rest < SPIKED) & (outer > FAR * half)
    return np.where(rest < HIDDEN, 1 + np.abs(middle), np.where(stopped, outer, half))


def _released_ends(
    records: Records, purse: Purse, where: NDArray[np.intp], tail: float, share: float
) -> Array:
    """About the quantiles `tail` and 1 - tail of columns: two rows."""
    targets = purse.n * np.array([tail, 1 - tail])
    width, about, each = 2.0 / CELLS, "ranges of columns", share / SEARCHES
    counts = records.total(cells_from, where, np.full(len(where), -1.0), width)
    coarse = [searched(counts, target, purse, each, about) for target in targets]
    low = np.stack(coarse) * width - 1
    counts = records.total(cells_from, np.tile(where, 2), low.ravel(), width / CELLS)
    halves = zip(np.split(counts, 2), targets, strict=True)
    fine = [searched(part, target, purse, each, about) for part, target in halves]
    return np.asarray(low + (np.stack(fine) + 0.5) * width / CELLS)


def distance_counts(Z: Array, y: Array, where: NDArray[np.intp], middle: Array) -> Array:
    """How many values of each of some columns are how far from its middle: cells of a geometric
    grid from SLIVER to 2, the first of which holds all that are nearer."""
    return geometric_counts(np.abs(Z[:, where] - middle), SLIVER, 2.0)


def _released_outer(
    records: Records,
    purse: Purse,
    where: NDArray[np.intp],
    middle: Array,
    tail: float,
    share: float,
) -> Array:
    """About the distance from the middle that `OUTER_TAIL` tails are beyond."""
    counts = records.total(distance_counts, where, middle)
    target = purse.n * (1 - OUTER_TAIL * tail)
    cell = searched(counts, target, purse, share / SEARCHES, "outermost values")
    return geometric_end(cell, SLIVER, 2.0)


def end_counts(Z: Array, y: Array, where: NDArray[np.intp], ends: Array) -> Array:
    """How many values of some columns are at the lower end, and how many at the upper: two rows."""
    return np.stack([(np.abs(Z[:, where] - end) <= SLIVER).sum(axis=0) for end in ends]) * 1.0


def _released_mode(
    records: Records, purse: Purse, where: NDArray[np.intp], ends: Array, share: float
) -> Array:
    """About the part of the values that are at an end: at that which has more of them."""
    counts = records.total(end_counts, where, ends)
    noisy = purse.cube_release(counts.ravel(), 1.0, share / SEARCHES, "values at ends")
    return np.asarray(noisy.reshape(counts.shape).max(axis=0) / purse.n)


def geometric_counts(sizes: Array, low: float, high: float) -> Array:
    """How many of each column are in each cell of a geometric grid from low to high, at whose ends
    all smaller and all larger ones are."""
    places = np.floor(np.log(np.maximum(sizes, low) / low) * (CELLS / math.log(high / low)))
    return counted(np.clip(places, 0, CELLS - 1), CELLS)


def geometric_end(cell: NDArray[np.intp], low: float, high: float) -> Array:
    """The upper ends of cells of that grid."""
    return np.asarray(low * (high / low) ** ((cell + 1) / CELLS))


# --- Lengths of rows ------------------------------------------------------------------------------


def length_counts(
    Z: Array, y: Array, frame: ColumnFrame, whitening: Array | None, low: float, high: float
) -> Array:
    """How many framed rows, whitened or not, are in each cell of a geometric grid from low to
    high, at whose ends all shorter and all longer ones are."""
    rows = framed(Z, frame)
    if whitening is not None:
        rows = rows @ whitening
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return geometric_counts(lengths[:, None], low, high)


def released_length(
    records: Records,
    purse: Purse,
    frame: ColumnFrame,
    whitening: Array | None,
    ends: tuple[float, float],
    quantile: float,
    share: float,
) -> float:
    """A private quantile of the lengths of rows, between two public ends."""
    low, high = ends
    counts = records.total(length_counts, frame, whitening, low, high)
    cell = searched(counts, quantile * purse.n, purse, share, "lengths of rows")
    return float(geometric_end(cell, low, high)[0])
