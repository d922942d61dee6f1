"""The sum of a first phase, formed before its clip is known."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from estimators.core.base import Array
from estimators.core.design import Design
from minimax.methods.phase_plan import EARLY_RATIO, WIDE_RATIO

FEW = 0.05
"""Part of the rows that may be read again: a row that is picked takes several times as long."""
DIGITS = 100.0
"""A sum with a clip so many times wider has as many digits fewer than it could."""


class FirstSum(NamedTuple):
    """sum_i w_i psi_c(y_i) x_i for a c that is told later, from a read of X for something else.

    From coefficients 0 the residuals of the first phase are the responses. Its clip is planned with
    the second moment, for which all rows are read; so they are summed on that occasion, with
    responses clipped at `widest`, a public number that is likely larger. What those beyond c have
    too much is taken off when c is known, which reads them alone. But for rounding the result is
    that of `Design.clipped_correlation`, whatever the records.
    """

    widest: float
    total: Array

    @classmethod
    def clips(cls, sigma: float, reach: float, d: int) -> tuple[float, float]:
        """The clip that is likely, and one that is hardly surpassed, if |<x, beta>| <= reach."""
        return EARLY_RATIO * math.hypot(sigma, reach / math.sqrt(d)), WIDE_RATIO * (sigma + reach)

    def at(self, clip: float, y: Array, weights: Array, design: Design) -> Array | None:
        """The sum with this clip, or None if it has to be formed anew."""
        if not clip <= self.widest <= DIGITS * clip:
            return None
        beyond = np.flatnonzero(np.abs(y) > clip)
        late = y[beyond]
        surplus = np.clip(late, -self.widest, self.widest) - np.clip(late, -clip, clip)
        return self.total - design.correlate_some(beyond, weights[beyond] * surplus)
