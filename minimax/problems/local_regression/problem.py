"""The problem: one coefficient of many, from locally private records (WX21 §V)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from minimax.core.bound import Instance, LowerBound, Point, UpperBound
from minimax.core.loss import SUM_OF_ERRORS, TO_THE_COEFFICIENTS, Loss
from minimax.core.privacy import Scope, check_privacy
from minimax.core.problem import FORM, Array, Problem
from minimax.methods.priors import UniformNoiseInstance

if TYPE_CHECKING:
    from minimax.core.best import Best
    from minimax.core.privacy import Privacy

SQUARED = TO_THE_COEFFICIENTS
SUM = SUM_OF_ERRORS
LOSSES = {"squared": SQUARED, "sum": SUM}
"""By their names on the command line."""


@dataclass(frozen=True)
class LocalRegressionProblem(Problem):
    """P_{1,p,C} of WX21: x uniform on {-1, 1}^p, y = theta_j x_j + noise, |theta_j| <= 1.

    The noise is at most C and of mean zero given x; j is unknown. With `interactive` a report may
    depend on earlier ones. Drawn with uniform noise.
    """

    name: ClassVar[str] = "local-regression"
    about: ClassVar[str] = (
        "x uniform on {-1, 1}^p, y = theta_j x_j + noise, |theta_j| <= 1, |noise| <= C; "
        "records locally private"
    )
    scope: ClassVar[Scope] = "local"
    options: ClassVar[tuple[str, ...]] = ("interactive", "loss")

    p: int
    C: float = 2.0
    interactive: bool = field(default=False, metadata=FORM)
    loss: Loss = field(default=SQUARED, metadata=FORM)

    @property
    def description(self) -> str:
        """With or without interaction."""
        return f"{self.about}, {'' if self.interactive else 'non-'}interactive"

    def instance(self, theta: Array) -> Instance:
        """Noise uniform on [-C, C]."""
        return UniformNoiseInstance(theta, self.C, measured=self.loss)

    def farthest(self) -> Array:
        """One coefficient 1."""
        return np.where(np.arange(self.p) < 1, 1.0, 0.0)

    def zero_release_risk(self, point: Point | None = None) -> float:
        """|theta|^2 <= 1, and the error of the sum is |theta_j| <= 1."""
        return 1.0

    def lower(self, privacy: type[Privacy]) -> list[LowerBound]:
        """Those of `minimax.problems.local_regression.lower` in this loss."""
        from minimax.problems.local_regression.lower import lower_bounds

        bounds = lower_bounds(privacy, interaction=self.interactive)
        return [bound for bound in bounds if bound.loss is self.loss]

    def upper(self, privacy: Privacy) -> list[UpperBound]:
        """One-shot thresholding, halving with interaction, and what WX21 claims, in this loss."""
        check_privacy(privacy)
        from minimax.problems.local_regression.halving import halving_upper
        from minimax.problems.local_regression.upper import (
            claimed_record_bounds,
            non_interactive_bounds,
        )

        bounds = non_interactive_bounds(self, privacy)
        bounds += [halving_upper(self, privacy)] if self.interactive else []
        bounds += claimed_record_bounds(privacy, interaction=self.interactive)
        return [bound for bound in bounds if bound.loss is self.loss]

    def best_upper(self, privacy: Privacy) -> Best:
        """OneShotThreshold, with interaction also SequentialHalving, or releasing 0."""
        check_privacy(privacy)
        from minimax.problems.local_regression.halving import best_interactive_upper
        from minimax.problems.local_regression.upper import best_upper

        return (best_interactive_upper if self.interactive else best_upper)(self, privacy)
