"""The problem: the mean of records in a cube."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minimax.problems.mean.problem import MeanProblem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BoundedMeanProblem(MeanProblem):
    """Records in [-sigma, sigma]^d (so radius = sigma)."""
