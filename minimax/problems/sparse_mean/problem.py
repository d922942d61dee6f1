"""The problem: a sparse mean of sub-Gaussian records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SparseMeanProblem:
    """Gaussian records N(mu, sigma^2 I_d), at most s non-zero mu_j, each |mu_j| <= radius."""

    n: int
    d: int
    s: int
    sigma: float = 1.0
    radius: float = 1.0

    @property
    def point(self) -> dict[str, float]:
        return {
            "n": self.n,
            "d": self.d,
            "s": self.s,
            "sigma": self.sigma,
            "radius": self.radius,
        }

    def loss(self, estimate: Array, target: Array) -> float:
        return float(np.sum((estimate - target) ** 2))
