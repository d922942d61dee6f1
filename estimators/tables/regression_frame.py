"""The rows of a regression on a table: numbers brought to one scale by released ranges."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from estimators.core.base import Array


class Frame(NamedTuple):
    """How encoded rows become the rows of the regression."""

    middle: Array
    half: Array
    clamp: float
    response_middle: float
    response_half: float
    intercept: bool
    lowest: float
    """The least response that is predicted, encoded."""
    highest: float

    @property
    def longest(self) -> float:
        """A row with its response is never longer."""
        return math.sqrt(int(self.intercept) + self.clamp**2 * (len(self.half) + 1))

    def image(self, Z: Array, matrix: Array) -> Array:
        """matrix' z for every row, as columns: z = [1, x] with clamped x.

        Columns, as operations along them are several times faster than along short rows.
        """
        low, high = self.middle - self.clamp * self.half, self.middle + self.clamp * self.half
        X = np.clip(Z.T, low[:, None], high[:, None], out=np.empty((Z.shape[1], len(Z))))
        slopes = matrix[int(self.intercept) :] / self.half[:, None]
        shift = matrix[0] if self.intercept else np.zeros(matrix.shape[1])
        out = slopes.T @ X
        out += (shift - self.middle @ slopes)[:, None]
        return np.asarray(out)

    def unclamped(self, Z: Array) -> Array:
        """z for every row, numbers as they are."""
        X = (Z - self.middle) / self.half
        return np.column_stack([np.ones(len(X)), X]) if self.intercept else np.asarray(X)

    def fitted(self, Z: Array, coef: Array) -> Array:
        """<z, coef> for every row."""
        return np.asarray(self.image(Z, coef[:, None])[0])

    def responses(self, y: Array) -> Array:
        """Clamped as well."""
        t = (y - self.response_middle) / self.response_half
        return np.asarray(np.clip(t, -self.clamp, self.clamp))
