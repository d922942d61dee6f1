"""How an estimate is held against its target.

Two losses are the same if they are the same object: bounds in different losses are not compared,
and no text decides that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Loss:
    """A loss: in words, and as a function of estimate and target where these two decide it."""

    text: str
    measure: Callable[[Array, Array], float] | None = None

    def __call__(self, estimate: Array, target: Array) -> float:
        """The loss of an estimate."""
        if self.measure is None:
            raise TypeError(f"{self.text}: needs more than an estimate and its target")
        return self.measure(estimate, target)

    def __str__(self) -> str:
        return self.text


def squared_distance(estimate: Array, target: Array) -> float:
    """|estimate - target|_2^2."""
    return float(np.sum((estimate - target) ** 2))


def _error_of_the_sum(estimate: Array, target: Array) -> float:
    return float(abs(np.sum(estimate - target)))


TO_THE_MEAN = Loss("squared l2 distance to the population mean", squared_distance)
TO_THE_COEFFICIENTS = Loss("squared l2 distance to theta", squared_distance)
SUM_OF_ERRORS = Loss("|sum_j (estimate_j - theta_j)|", _error_of_the_sum)
IN_THE_DESIGN = Loss("|estimate - beta|^2_Sigma")
"""Sigma = E x x' is the law's: an `Instance` measures it."""
