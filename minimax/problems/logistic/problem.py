"""The problem: logistic regression."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from minimax.core.bound import Instance, LowerBound, Point, UpperBound
from minimax.core.loss import IN_THE_DESIGN, Loss
from minimax.core.problem import Array, Problem
from minimax.methods.priors import LogisticInstance

if TYPE_CHECKING:
    from minimax.core.best import Best
    from minimax.core.privacy import Privacy


@dataclass(frozen=True)
class LogisticProblem(Problem):
    """|x|_2 <= 1, E x x' = I/d, P(y = 1 | x) = 1/(1 + exp(-<x, beta>)), |beta|_2 <= radius.

    Drawn with rows uniform on {-1, 1}^d/sqrt(d).
    """

    name: ClassVar[str] = "logistic"
    about: ClassVar[str] = (
        "P(y = 1) = 1/(1 + exp(-<x, beta>)), |x| <= 1, E x x' = I/d, |beta| <= radius"
    )
    loss: ClassVar[Loss] = IN_THE_DESIGN

    d: int
    radius: float = 1.0

    def instance(self, theta: Array) -> Instance:
        """Signs of size 1/sqrt(d) for rows."""
        return LogisticInstance(theta, 1 / math.sqrt(self.d))

    def farthest(self) -> Array:
        """One coefficient of size radius."""
        return np.where(np.arange(self.d) < 1, self.radius, 0.0)

    def zero_release_risk(self, point: Point | None = None) -> float:
        """radius^2/d."""
        at = self.point if point is None else point
        return float(1 / at["d"] * at["radius"] ** 2)

    def lower(self, privacy: type[Privacy]) -> list[LowerBound]:
        """Those of `minimax.problems.logistic.lower`."""
        from minimax.problems.logistic.lower import lower_bounds

        return lower_bounds(privacy)

    def upper(self, privacy: Privacy) -> list[UpperBound]:
        """WG19: Corollary 5.8 and WX21: Theorem 8, which are for sparse problems: s = d here."""
        from minimax.problems.erm.upper import claimed_theorem_8
        from minimax.problems.sparse_regression.upper import claimed_corollary_5_8

        dense = {"s": float(self.d)}
        claimed = (claimed_corollary_5_8(), claimed_theorem_8())
        return self.stated([replace(bound, defaults=dense) for bound in claimed], privacy)

    def best_upper(self, privacy: Privacy) -> Best:
        """Noisy gradient descent, or releasing 0."""
        from minimax.problems.logistic.upper import best_upper

        return best_upper(self, privacy)
