"""The problem: one coefficient of many, from locally private records (WX21 §V)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


Loss = Literal["squared", "sum"]
"""The squared l2 distance, or the error of the sum of the coefficients."""


SQUARED = "squared l2 distance to theta"


SUM = "|sum_j (estimate_j - theta_j)|"


ZERO_RELEASE_RISK = 1.0
"""Releasing 0 has squared error |theta|^2 <= 1, and for s = 1 error of the sum |theta_j| <= 1."""


@dataclass(frozen=True)
class LocalRegressionProblem:
    """P_{1,p,C} of WX21: x uniform on {-1, 1}^p, y = theta_j x_j + noise, |theta_j| <= 1.

    The noise is at most C and of mean zero given x; j is unknown.
    """

    n: int
    p: int
    C: float = 2.0

    @property
    def point(self) -> dict[str, float]:
        return {"n": self.n, "p": self.p, "C": self.C}
