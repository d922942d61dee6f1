"""The frame of a table's columns, found privately: ranges of numbers, shares of levels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from estimators.core.base import Array
from estimators.core.purse import Purse
from estimators.tables.frame import ColumnFrame
from estimators.tables.ranges import Ranges, found_ranges
from estimators.tables.records import Records
from estimators.tables.schema import Categorical, Schema

LEVEL_PART = 0.1
"""What the shares of levels cost of finding a frame."""


def level_sums(Z: Array, y: Array, binary: NDArray[np.bool_]) -> Array:
    """How many records have each level but the first of its column."""
    return np.asarray(Z[:, binary].sum(axis=0))


def released_shares(records: Records, purse: Purse, share: float) -> Array:
    """The shares of all levels but the first of each column.

    **Privacy.** Replacing a record moves two indicators of a column by 1 at most: the counts of m
    columns by at most sqrt(2 m) in l2, whatever the data.
    """
    counts = level_counts(records.schema)
    sums = records.total(level_sums, records.schema.binary)
    noisy = purse.release(sums, math.sqrt(2 * len(counts)), share, "shares of levels")
    found = np.clip(noisy / records.n, 0.0, 1.0)
    ends = np.cumsum([k - 1 for k in counts])[:-1]
    return np.concatenate([part / max(1.0, part.sum()) for part in np.split(found, ends)])


def level_counts(schema: Schema) -> list[int]:
    """How many levels each categorical column has."""
    return [len(c.levels) for c in schema.columns if isinstance(c, Categorical)]


def found_frame(
    records: Records,
    purse: Purse,
    share: float,
    tail_share: float = 0.0,
    *,
    clamp: float,
    intercept: bool,
) -> tuple[ColumnFrame, Ranges]:
    """Ranges of numbers for a share of the budget, of which levels take a part where there are any;
    the reach of the responses, if they are numbers, for another one."""
    schema = records.schema
    levels = intercept and bool(schema.binary.any())
    for_levels = LEVEL_PART * share if levels else 0.0
    found = found_ranges(records, purse, share - for_levels, tail_share, centred=intercept)
    numbers = len(schema.numeric)
    middle, half = found.middle[:numbers], found.half[:numbers]
    shares = released_shares(records, purse, for_levels) if levels else None
    return ColumnFrame.of(schema, middle, half, clamp, shares, intercept=intercept), found
