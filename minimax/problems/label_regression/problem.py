"""The problem: sparse regression from locally private labels (WX21 §VI)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from minimax.core.bound import Instance, LowerBound, Point, UpperBound
from minimax.core.loss import TO_THE_COEFFICIENTS, Loss
from minimax.core.privacy import Scope, check_privacy
from minimax.core.problem import Array, Problem
from minimax.methods.priors import UniformNoiseInstance

if TYPE_CHECKING:
    from minimax.core.best import Best
    from minimax.core.privacy import Privacy


@dataclass(frozen=True)
class LabelRegressionProblem(Problem):
    """x uniform on {-1, 1}^p and public, y = <x, theta> + noise; s entries, |theta|_2 <= 1.

    The noise is at most C and of mean zero given x. With `b` the labels are f(<x, theta>) + noise
    for a link of slope at most b. Drawn with uniform noise, and f(t) = b t.
    """

    name: ClassVar[str] = "label-regression"
    about: ClassVar[str] = (
        "x in {-1, 1}^p public, y = <x, theta> + noise, |noise| <= C, at most s non-zero theta_j, "
        "|theta| <= 1; labels locally private"
    )
    loss: ClassVar[Loss] = TO_THE_COEFFICIENTS
    scope: ClassVar[Scope] = "label"

    p: int
    s: int
    C: float = 2.0
    b: float | None = None

    @property
    def description(self) -> str:
        """Linear, or through a link."""
        linear, link = "<x, theta> + noise", "f(<x, theta>) + noise, f' <= b"
        return self.about if self.b is None else self.about.replace(linear, link)

    def instance(self, theta: Array) -> Instance:
        """Noise uniform on [-C, C]."""
        slope = 1.0 if self.b is None else self.b
        return UniformNoiseInstance(theta, self.C, slope, self.loss)

    def farthest(self) -> Array:
        """s equal coefficients, of norm 1."""
        return np.where(np.arange(self.p) < self.s, 1 / math.sqrt(self.s), 0.0)

    def zero_release_risk(self, point: Point | None = None) -> float:
        """|theta|^2 <= 1."""
        return 1.0

    def lower(self, privacy: type[Privacy]) -> list[LowerBound]:
        """Those of `minimax.problems.label_regression.lower`."""
        from minimax.problems.label_regression.lower import lower_bounds

        return lower_bounds(privacy, link=self.b is not None)

    def upper(self, privacy: Privacy) -> list[UpperBound]:
        """One step on one-bit labels, where there is no link, and what WX21 claims."""
        check_privacy(privacy)
        from minimax.problems.label_regression.upper import (
            claimed_label_bounds,
            one_shot_label_upper,
        )

        claimed = claimed_label_bounds(privacy, link=self.b is not None)
        return [one_shot_label_upper(self, privacy), *claimed] if self.b is None else claimed

    def best_upper(self, privacy: Privacy) -> Best:
        """LabelHardThresholding, or releasing 0."""
        check_privacy(privacy)
        from minimax.problems.label_regression.upper import best_upper

        return best_upper(self, privacy)
