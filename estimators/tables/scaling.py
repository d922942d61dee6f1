"""Columns of a table taken off their middles, multiplied and clipped: fast where rows are short."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimators.tables.chunks import Array

FOLDED = 512
"""Rows that are taken as one, with what belongs to the columns as often: an operation with one row
of numbers for each of many short rows is several times slower than with one for each of few long
ones."""


class Scaling:
    """clip((x - middle) inverse, low, high), column by column.

    The clip comes last: no result is beyond `low` and `high`, whatever was rounded or too large for
    a float before. NaN stays NaN.
    """

    def __init__(
        self,
        middle: Array,
        inverse: Array,
        low: Array | float = -1.0,
        high: Array | float = 1.0,
    ) -> None:
        self._made_of = middle, inverse, low, high
        self._long = [
            part if isinstance(part, float) else np.tile(part, FOLDED) for part in self._made_of
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return Scaling, self._made_of  # long rows are made again rather than sent

    def apply(self, numbers: Array, out: Array) -> Array:
        """In the rows of `out`."""
        if not numbers.flags.c_contiguous:
            out[:] = numbers
            numbers = out
        whole, width = len(numbers) // FOLDED * FOLDED, numbers.shape[1]
        self._scale(numbers[:whole], out[:whole], FOLDED * width)
        self._scale(numbers[whole:], out[whole:], (len(numbers) - whole) * width)
        return out

    def _scale(self, numbers: Array, out: Array, width: int) -> None:
        """With rows of this length."""
        if numbers.size == 0:
            return
        here = out.reshape(-1, width)
        middle, inverse, low, high = (
            part if isinstance(part, float) else part[:width] for part in self._long
        )
        with np.errstate(over="ignore"):
            np.subtract(numbers.reshape(-1, width), middle, out=here)
            np.multiply(here, inverse, out=here)
            np.clip(here, low, high, out=here)
