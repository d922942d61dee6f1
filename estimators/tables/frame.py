"""Rows on one scale: columns brought together by the ranges that were found for them.

**Clamps are bounds.** A frame takes an encoded number z as (z - middle)/half, clamped to +-clamp.
Clipping to the public bounds and clamping after that is one clip, to narrower bounds. So records
are read under those (`narrowed`), numbers come out of their encoding clamped, and `Rows` brings
them to the frame's units in the one product that is computed anyway.

**Levels are corners.** The indicators of k levels are those of all but the first, so that a first
level that is rare would be a direction in which rows hardly vary: k - 1 coefficients that move
together, lost where noise needs a ridge. With an intercept a frame takes levels as the corners of a
regular simplex in k - 1 dimensions (`corners`), none of which is nearer to another than any other
is, seen from their mean, which is about that of the records.

**Privacy.** Which bounds are narrower depends on what was released. No sensitivity rests on the
clamp: rows are shortened, and residuals clipped, where they are added up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import linalg

from estimators.core.base import Array
from estimators.tables.schema import Categorical, Schema
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
    """The frame's rows, made of those of a narrowed schema: [1, turn (offset + stretch z)]."""

    offset: Array
    stretch: Array
    intercept: bool
    turn: Array | None = None
    """None where nothing is turned."""

    @property
    def width(self) -> int:
        """The entries of a row."""
        return len(self.offset) + int(self.intercept)

    def image(self, matrix: Array) -> Image:
        """matrix' x for every row x."""
        slopes = matrix[int(self.intercept) :]
        slopes = slopes if self.turn is None else self.turn.T @ slopes
        shift = self.offset @ slopes + (matrix[0] if self.intercept else 0.0)
        return Image((slopes * self.stretch[:, None]).T, shift[:, None])


class ColumnFrame(NamedTuple):
    """Where the encoded columns are: z is taken as (z - middle)/half, within +-clamp, and levels
    are turned to corners."""

    middle: Array
    half: Array
    clamp: float
    intercept: bool
    turn: Array | None = None

    @classmethod
    def of(
        cls,
        schema: Schema,
        middle: Array,
        half: Array,
        clamp: float,
        shares: Array | None = None,
        *,
        intercept: bool,
    ) -> ColumnFrame:
        """That of numbers with these middles and half-widths, and of levels with these shares, all
        but the first of each column. Without shares, levels stay as they are encoded."""
        middles, halves = np.zeros(schema.d), np.ones(schema.d)
        middles[~schema.binary], halves[~schema.binary] = middle, half
        if shares is None:
            return cls(middles, halves, clamp, intercept)
        middles[schema.binary] = shares
        blocks = [
            corners(len(column.levels)) if isinstance(column, Categorical) else np.eye(1)
            for column in schema.columns
        ]
        return cls(middles, halves, clamp, intercept, linalg.block_diag(*blocks))

    def slopes(self, coef: Array) -> Array:
        """Coefficients of (z - middle)/half, from those of the frame's columns."""
        return coef if self.turn is None else np.asarray(self.turn.T @ coef)

    @property
    def ends(self) -> Array:
        """Between what encoded numbers are clamped: two rows."""
        reach = self.clamp * self.half
        return np.clip(np.stack([self.middle - reach, self.middle + reach]), -1.0, 1.0)

    def unclamped(self, Z: Array) -> Array:
        """[1, x] for every row, numbers as they are."""
        X = (Z - self.middle) / self.half
        X = X if self.turn is None else X @ self.turn.T
        return np.column_stack([np.ones(len(X)), X]) if self.intercept else np.asarray(X)

    def clamped(self, Z: Array) -> Array:
        """[1, x] for every row."""
        return self.unclamped(np.clip(Z, *self.ends))

    def narrowed(self, schema: Schema) -> tuple[Schema, Rows]:
        """The schema whose bounds are the clamps, and the rows of what it encodes."""
        inner = schema.narrowed(*self.ends)
        place = (inner.middles - schema.middles) / schema.halves
        offset, stretch = place - self.middle, inner.halves / schema.halves
        return inner, Rows(offset / self.half, stretch / self.half, self.intercept, self.turn)


def corners(levels: int) -> Array:
    """B such that Bz, z being the indicators of all levels but the first, are the corners of a
    regular simplex, sqrt 2 from one another as the indicators of all levels are."""
    contrasts = linalg.helmert(levels)
    return np.asarray(contrasts[:, 1:] - contrasts[:, :1])


def longest_row(schema: Schema, frame: ColumnFrame) -> float:
    """No framed row is longer: of the indicators of one column at most one is 1, and a mean of
    corners is at most sqrt 2 from any of them."""
    numeric = len(schema.numeric)
    levels = (len(schema.columns) - numeric) * (1 if frame.turn is None else 2)
    return math.sqrt(int(frame.intercept) + frame.clamp**2 * numeric + levels)
