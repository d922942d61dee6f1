r"""Lower bounds for linear regression (CWZ19 §4.1).

The class: rows x with |x|_2 <= 1 and E x x' = Sigma, whose eigenvalues lie in [1/(L d), L/d];
y = <x, beta> + N(0, sigma^2), |beta|_2 <= radius. Loss |estimate - beta|^2_Sigma. The lower bounds
are proved with uniform signs x in {-1/sqrt d, 1/sqrt d}^d, for which L = 1.
"""

from __future__ import annotations

from dataclasses import dataclass


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
