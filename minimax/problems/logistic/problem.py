"""The problem: logistic regression."""

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
