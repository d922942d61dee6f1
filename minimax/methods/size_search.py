"""The search for the size of a prior: one free parameter, one maximum."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def best_size(values: Callable[[Array], Array], start: float, top: float) -> float:
    """The delta <= top with the largest value, by grids that shrink around the best.

    `start` is the closed form's delta; it is on the grid, so the maximum is never below it.
    """
    tried = np.minimum(start * np.append(np.geomspace(0.25, 16, 400), 1.0), top)
    best, delta = -math.inf, start
    for width in (0.02, 0.001, 5e-5, 0.0):
        found = values(tried)
        i = int(np.argmax(found))
        if found[i] > best:
            best, delta = float(found[i]), float(tried[i])
        tried = np.minimum(delta * np.linspace(1 - width, 1 + width, 81), top)
    return delta
