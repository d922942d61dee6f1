"""Bounds that nobody gave, found by the searches of `estimators.tables.ranges`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from estimators.core.base import Array
from estimators.core.design import LARGEST
from estimators.core.purse import Purse
from estimators.tables.ranges import SAFE_DEVIATIONS, count_noise, counted, searched
from estimators.tables.records import NumberResponse, Records
from estimators.tables.schema import Schema

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
    columns = (numbers if y is None else np.column_stack([numbers, y])).T[where]
    sizes = np.abs(columns)
    octave = np.zeros(sizes.shape)
    seen = sizes >= 2.0**SMALLEST_OCTAVE
    octave[seen] = np.floor(np.log2(sizes[seen])) - SMALLEST_OCTAVE + 1
    places = LOG_CELLS // 2 + np.sign(columns) * octave
    return counted(np.clip(places, 0, LOG_CELLS - 1).astype(np.int64), LOG_CELLS)


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
