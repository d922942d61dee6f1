"""The problem: sparse linear regression."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SparseRegressionProblem:
    """|x_j| <= 1/sqrt(s), y = <x, beta> + N(0, sigma^2), at most s non-zero beta_j."""

    n: int
    d: int
    s: int
    sigma: float = 1.0
    radius: float = 1.0
    L: float = 1.0

    @property
    def point(self) -> dict[str, float]:
        return {
            "n": self.n,
            "d": self.d,
            "s": self.s,
            "sigma": self.sigma,
            "radius": self.radius,
        }
