"""The problem: linear regression with rows in the unit ball."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from minimax.core.bound import Instance, LowerBound, Point, UpperBound
from minimax.core.loss import IN_THE_DESIGN, Loss
from minimax.core.privacy import check_privacy
from minimax.core.problem import FORM, Array, Problem, check_spread, with_spread
from minimax.core.symbolic import Number
from minimax.methods.priors import LinearInstance

if TYPE_CHECKING:
    from minimax.core.best import Best
    from minimax.core.privacy import Privacy

LOSS = IN_THE_DESIGN


@dataclass(frozen=True)
class RegressionProblem(Problem):
    """|x|_2 <= 1, eigenvalues of E x x' in [1/(L d), L/d], y = <x, beta> + N(0, sigma^2).

    |beta|_2 <= radius; drawn with rows uniform on {-1, 1}^d/sqrt(d).
    """

    name: ClassVar[str] = "regression"
    about: ClassVar[str] = "y = <x, beta> + N(0, sigma^2), |x| <= 1, E x x' = I/d, |beta| <= radius"
    options: ClassVar[tuple[str, ...]] = ("L",)
    loss: ClassVar[Loss] = LOSS

    d: int
    sigma: float = 1.0
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
        return LinearInstance(theta, self.sigma, 1 / math.sqrt(self.d))

    def farthest(self) -> Array:
        """One coefficient of size radius."""
        return np.where(np.arange(self.d) < 1, self.radius, 0.0)

    def zero_release_risk(self, point: Point | None = None) -> Number:
        """(L/d) radius^2."""
        at = self.point if point is None else point
        return self.L / at["d"] * at["radius"] ** 2

    def lower(self, privacy: type[Privacy]) -> list[LowerBound]:
        """Those of `minimax.problems.regression.lower`."""
        from minimax.problems.regression.lower import lower_bounds

        return lower_bounds(privacy)

    def upper(self, privacy: Privacy) -> list[UpperBound]:
        """CWZ19: Theorem 4.2."""
        check_privacy(privacy)
        from minimax.problems.regression.upper import claimed_theorem_4_2

        return self.stated([claimed_theorem_4_2()], privacy)

    def best_upper(self, privacy: Privacy) -> Best:
        """Clipped residuals in phases, noisy gradient descent, or releasing 0."""
        check_privacy(privacy)
        from minimax.problems.regression.upper import best_upper

        return best_upper(self, privacy)
