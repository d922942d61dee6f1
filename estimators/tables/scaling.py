"""Columns of a table taken off their middles, multiplied and clipped: fast where rows are short."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from estimators.tables.chunks import Array

TILE = 1 << 15
"""Entries that are scaled at a time: they stay in cache. What belongs to the columns is repeated to
as many: an operation with one row of numbers for each of many short rows is several times slower
than one with as many numbers."""


def scaled(
    numbers: Array,
    middle: Array,
    inverse: Array,
    low: Array | float = -1.0,
    high: Array | float = 1.0,
    *,
    out: Array | None = None,
) -> Array:
    """clip((x - middle) inverse, low, high), column by column, in the rows of `out` if given.

    The clip comes last: no result is beyond `low` and `high`, whatever was rounded or too large for
    a float before. NaN stays NaN.
    """
    out = np.empty(numbers.shape) if out is None else out
    if not numbers.flags.c_contiguous:
        out[:] = numbers
        numbers = out
    entries, results = numbers.reshape(-1), out.reshape(-1)
    columns = [_repeated(part) for part in (middle, inverse, low, high)]
    size = max(1, TILE // max(1, numbers.shape[1])) * max(1, numbers.shape[1])
    with np.errstate(over="ignore"):
        for first in range(0, entries.size, size):
            here = results[first : first + size]
            taken, times, lowest, highest = (
                part if isinstance(part, float) else part[: here.size] for part in columns
            )
            np.subtract(entries[first : first + size], taken, out=here)
            np.multiply(here, times, out=here)
            np.clip(here, lowest, highest, out=here)
    return out


def _repeated(column: Array | float) -> Array | float:
    """A row of numbers, as often as it goes into a tile."""
    return column if isinstance(column, float) else _tile(np.asarray(column, float).tobytes())


@lru_cache(maxsize=32)
def _tile(row: bytes) -> Array:
    once = np.frombuffer(row)
    return np.tile(once, max(1, TILE // max(1, once.size)))
