r"""Lower bounds for sparse linear regression (CWZ19 §4.3).

The class: rows x with |x_j| <= 1/sqrt(s) and E x x' = Sigma, whose eigenvalues on any 3s
coordinates lie in [1/(L s), L/s]; y = <x, beta> + N(0, sigma^2), at most s non-zero beta_j,
|beta|_2 <= radius. Loss |estimate - beta|^2_Sigma. The lower bounds are proved with uniform signs
x in {-1/sqrt s, 1/sqrt s}^d, for which L = 1 and the loss is |estimate - beta|^2/s.
"""

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
