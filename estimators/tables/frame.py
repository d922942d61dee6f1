"""Rows on one scale: columns brought together by the ranges that were found for them.

**Clamps are bounds.** A frame takes an encoded number z as (z - middle)/half, clamped to +-clamp.
Clipping to the public bounds and clamping after that is one clip, to narrower bounds. So records
are read under those (`narrowed`), numbers come out of their encoding clamped, and `Rows` brings
them to the frame's units in the one product that is computed anyway.

**Privacy.** Which bounds are narrower depends on what was released. No sensitivity rests on the
clamp: rows are shortened, and residuals clipped, where they are added up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from estimators.core.base import Array
from estimators.tables.schema import Schema
from estimators.tables.scratch import scratch


class Image(NamedTuple):
    """matrix z + shift for every encoded row z, as columns: operations along them are several times
    faster than along short rows."""

    matrix: Array
    shift: Array

    def __call__(self, Z: Array) -> Array:
        """To be written to, and gone with the next image."""
        out = scratch("image", (len(self.matrix), len(Z)))
        np.matmul(self.matrix, Z.T, out=out)
        out += self.shift
        return out


class Rows(NamedTuple):
    """The frame's rows, made of those of a narrowed schema: [1, offset + stretch z]."""

    offset: Array
    stretch: Array
    intercept: bool

    @property
    def width(self) -> int:
        """The entries of a row."""
        return len(self.offset) + int(self.intercept)

    def image(self, matrix: Array) -> Image:
        """matrix' x for every row x."""
        slopes = matrix[int(self.intercept) :]
        shift = self.offset @ slopes + (matrix[0] if self.intercept else 0.0)
        return Image((slopes * self.stretch[:, None]).T, shift[:, None])


class ColumnFrame(NamedTuple):
    """Where the encoded columns are: z is taken as (z - middle)/half, within +-clamp."""

    middle: Array
    half: Array
    clamp: float
    intercept: bool

    @property
    def ends(self) -> Array:
        """Between what encoded numbers are clamped: two rows."""
        reach = self.clamp * self.half
        return np.clip(np.stack([self.middle - reach, self.middle + reach]), -1.0, 1.0)

    def unclamped(self, Z: Array) -> Array:
        """[1, x] for every row, numbers as they are."""
        X = (Z - self.middle) / self.half
        return np.column_stack([np.ones(len(X)), X]) if self.intercept else np.asarray(X)

    def clamped(self, Z: Array) -> Array:
        """[1, x] for every row."""
        return self.unclamped(np.clip(Z, *self.ends))

    def narrowed(self, schema: Schema) -> tuple[Schema, Rows]:
        """The schema whose bounds are the clamps, and the rows of what it encodes."""
        inner = schema.narrowed(*self.ends)
        place = (inner.middles - schema.middles) / schema.halves
        offset, stretch = place - self.middle, inner.halves / schema.halves
        return inner, Rows(offset / self.half, stretch / self.half, self.intercept)


def longest_row(schema: Schema, frame: ColumnFrame) -> float:
    """No framed row is longer: of the indicators of one column at most one is 1."""
    numeric = len(schema.numeric)
    levels = len(schema.columns) - numeric
    return math.sqrt(int(frame.intercept) + frame.clamp**2 * numeric + levels)
