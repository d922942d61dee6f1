"""The problem: linear regression with rows in the unit ball."""

from __future__ import annotations

from dataclasses import dataclass

LOSS = "|estimate - beta|^2_Sigma"


@dataclass(frozen=True)
class RegressionProblem:
    """|x|_2 <= 1, eigenvalues of E x x' in [1/(L d), L/d], y = <x, beta> + N(0, sigma^2)."""

    n: int
    d: int
    sigma: float = 1.0
    radius: float = 1.0
    L: float = 1.0

    @property
    def point(self) -> dict[str, float]:
        return {"n": self.n, "d": self.d, "sigma": self.sigma, "radius": self.radius}
