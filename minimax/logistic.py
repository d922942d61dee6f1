r"""Lower bounds for logistic regression: the score attack (Cai, Wang and Zhang, 2023).

The class: rows x with |x|_2 <= 1 and E x x' = I/d; y in {0, 1} with
P(y = 1 | x) = 1/(1 + exp(-<x, beta>)), |beta|_2 <= radius. Loss |estimate - beta|^2/d. Proved with
uniform signs x in {-1/sqrt d, 1/sqrt d}^d.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LogisticProblem:
    """|x|_2 <= 1, E x x' = I/d, P(y = 1 | x) = 1/(1 + exp(-<x, beta>)), |beta|_2 <= radius."""

    n: int
    d: int
    radius: float = 1.0

    @property
    def point(self) -> dict[str, float]:
        return {"n": self.n, "d": self.d, "radius": self.radius}
