"""The rows of a regression on a table, and its responses, on one scale."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from estimators.core.base import Array
from estimators.tables.frame import ColumnFrame, Image, Rows
from estimators.tables.records import NumberResponse, Records
from estimators.tables.schema import narrower


class Scene(NamedTuple):
    """Rows and responses in the frame's units, made of those of narrowed records."""

    rows: Rows
    response_offset: float
    response_stretch: float

    def image(self, matrix: Array, coef: Array) -> Image:
        """(matrix' x, response_offset - <x, coef>) for every row: with the stretched response, the
        last is the residual."""
        image = self.rows.image(np.column_stack([matrix, -coef]))
        image.shift[-1] += self.response_offset
        return image


class Frame(NamedTuple):
    """How encoded rows and responses become those of the regression."""

    columns: ColumnFrame
    response_middle: float
    response_half: float
    lowest: float
    """The least response that is predicted, encoded."""
    highest: float

    @property
    def intercept(self) -> bool:
        """Whether rows begin with a 1."""
        return self.columns.intercept

    def fitted(self, Z: Array, coef: Array) -> Array:
        """<x, coef> for every row, clamped."""
        return np.asarray(self.columns.clamped(Z) @ coef)

    def narrowed(self, records: Records) -> tuple[Records, Scene]:
        """The records, numbers clamped as they are read, and what the frame makes of them."""
        schema, rows = self.columns.narrowed(records.schema)
        response = records.response
        assert isinstance(response, NumberResponse)
        reach, middle = self.columns.clamp * self.response_half, self.response_middle
        low, high = min(middle - reach, self.lowest), max(middle + reach, self.highest)
        ends = np.clip([low, high], -1.0, 1.0)  # what can be predicted is a response
        inner = replace(response, range=narrower(response.range, response.centred, *ends))
        place = (inner.middle - response.middle) / response.half - self.response_middle
        stretch = inner.half / (response.half * self.response_half)
        return records.rebounded(schema, inner), Scene(rows, place / self.response_half, stretch)
