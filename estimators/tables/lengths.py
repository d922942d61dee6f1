"""Lengths of rows and sizes of residuals: quantiles of them, and rows that are shortened.

Rows stand as columns: operations along them are several times faster than along short rows.
"""

from __future__ import annotations

import numpy as np

from estimators.core.base import Array
from estimators.core.purse import Purse
from estimators.tables.ranges import (
    SAFE_DEVIATIONS,
    OctaveGrid,
    count_noise,
    counted,
    searched,
)

LENGTHS = OctaveGrid(256, 16, 12)
LEAST_LEVEL = 0.5
"""No lower quantile is looked for, however large the noise of counts."""


def squared_lengths(columns: Array) -> Array:
    """Of rows, as columns."""
    return np.asarray(np.einsum("ij,ij->j", columns, columns))


def shortened(columns: Array, length: float) -> Array:
    """Rows, as columns, brought down to the length where they are longer."""
    squares = squared_lengths(columns)
    longer = np.flatnonzero(squares > length**2)
    columns[:, longer] *= length / np.sqrt(squares[longer])
    return columns


def length_counts(columns: Array) -> Array:
    """How many rows, as columns, are how long."""
    return sized(np.sqrt(squared_lengths(columns)), LENGTHS)


def sized(sizes: Array, grid: OctaveGrid) -> Array:
    """How many sizes are in each cell of a grid: one row."""
    return counted(grid.cell(sizes)[None, :], grid.cells)


def released_quantile(
    counts: Array,
    level: float,
    purse: Purse,
    share: float,
    grid: OctaveGrid = LENGTHS,
    about: str = "lengths of rows",
) -> float:
    """A private quantile of sizes on a grid; of a lower level where noise is too large for it."""
    n = float(counts.sum())
    noise = count_noise(purse, 1, share / grid.queries) / n
    level = min(level, max(LEAST_LEVEL, 1 - SAFE_DEVIATIONS * noise))
    return float(grid.end(searched(counts, level * n, purse, share, about))[0])
