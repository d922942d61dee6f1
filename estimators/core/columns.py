"""Some columns of a design, in products where no row counts with more than a length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from estimators.core.design import Array, Design, shortening


@dataclass
class Columns:
    """Those at some places, read when they are first asked for."""

    design: Design
    places: NDArray[np.intp]
    length: float
    """The most that the l2 norm of a row's part counts with."""

    @cached_property
    def block(self) -> Array:
        """The entries, those of a column close together."""
        return self.design.columns(self.places)

    @cached_property
    def shorten(self) -> Array | None:
        """For each row the factor that makes it short enough; None if all of them are."""
        norms = self.design.norms_of(self)
        return None if norms.max(initial=0.0) <= self.length else shortening(norms, self.length)

    @property
    def is_read(self) -> bool:
        return "block" in self.__dict__

    def correlate(self, weights: Array) -> Array:
        """sum_i weights_i x_i over shortened rows."""
        return np.asarray(self.block.T @ self._shortened(weights))

    def gram(self) -> Array:
        """sum_i w_i x_i x_i', w_i being what shortens a row."""
        weights = self._shortened(np.ones(self.design.n))
        return np.asarray((self.block * weights[:, None]).T @ self.block)

    def _shortened(self, weights: Array) -> Array:
        return weights if self.shorten is None else self.shorten * weights
