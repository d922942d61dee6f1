"""The problem: logistic regression."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from minimax.core.bound import Instance, LowerBound, Point, UpperBound
from minimax.core.loss import IN_THE_DESIGN, Loss
from minimax.core.privacy import check_privacy
from minimax.core.problem import FORM, Array, Problem, check_spread, with_spread
from minimax.core.symbolic import Number
from minimax.methods.priors import LogisticInstance

if TYPE_CHECKING:
    from minimax.core.best import Best
    from minimax.core.privacy import Privacy


@dataclass(frozen=True)
class LogisticProblem(Problem):
    """|x|_2 <= 1, eigenvalues of E x x' in [1/(L d), L/d], |beta|_2 <= radius,
    P(y = 1 | x) = 1/(1 + exp(-<x, beta>)).

    Drawn with rows uniform on {-1, 1}^d/sqrt(d).
    """

    name: ClassVar[str] = "logistic"
    about: ClassVar[str] = (
        "P(y = 1) = 1/(1 + exp(-<x, beta>)), |x| <= 1, E x x' = I/d, |beta| <= radius"
    )
    options: ClassVar[tuple[str, ...]] = ("L",)
    loss: ClassVar[Loss] = IN_THE_DESIGN

    d: int
    radius: float = 1.0
    L: float = field(default=1.0, metadata=FORM)

    def __post_init__(self) -> None:
        """The class must not be empty."""
        super().__post_init__()
        check_spread(self.L)

    @property
    def description(self) -> str:
        """With the spread of a design that is not isotropic."""
        return with_spread(self.about, "d", self.L)

    def instance(self, theta: Array) -> Instance:
        """Signs of size 1/sqrt(d) for rows."""
        return LogisticInstance(theta, 1 / math.sqrt(self.d))

    def farthest(self) -> Array:
        """One coefficient of size radius."""
        return np.where(np.arange(self.d) < 1, self.radius, 0.0)

    def zero_release_risk(self, point: Point | None = None) -> Number:
        """(L/d) radius^2."""
        at = self.point if point is None else point
        return self.L / at["d"] * at["radius"] ** 2

    def lower(self, privacy: type[Privacy]) -> list[LowerBound]:
        """Those of `minimax.problems.logistic.lower`."""
        from minimax.problems.logistic.lower import lower_bounds

        return lower_bounds(privacy)

    def upper(self, privacy: Privacy) -> list[UpperBound]:
        """WG19: Corollary 5.8 and WX21: Theorem 8, which are for sparse problems: s = d here."""
        check_privacy(privacy)
        from minimax.problems.erm.upper import claimed_theorem_8
        from minimax.problems.sparse_regression.upper import claimed_corollary_5_8

        dense = {"s": float(self.d)}
        claimed = (claimed_corollary_5_8(), claimed_theorem_8())
        return self.stated([replace(bound, defaults=dense) for bound in claimed], privacy)

    def best_upper(self, privacy: Privacy) -> Best:
        """Noisy gradient descent, or releasing 0."""
        check_privacy(privacy)
        from minimax.problems.logistic.upper import best_upper

        return best_upper(self, privacy)
