"""The problem: sparse linear regression."""

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


@dataclass(frozen=True)
class SparseRegressionProblem(Problem):
    """|x_j| <= 1/sqrt(s), y = <x, beta> + N(0, sigma^2), at most s non-zero beta_j.

    |beta|_2 <= radius, eigenvalues of E x x' on few coordinates in [1/(L s), L/s]; drawn with rows
    uniform on {-1, 1}^d/sqrt(s).
    """

    name: ClassVar[str] = "sparse-regression"
    about: ClassVar[str] = (
        "as regression, with at most s non-zero beta_j, |x_j| <= 1/sqrt(s) and E x x' = I/s"
    )
    options: ClassVar[tuple[str, ...]] = ("L",)
    loss: ClassVar[Loss] = IN_THE_DESIGN

    d: int
    s: int
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
        return with_spread(self.about, "s", self.L)

    def instance(self, theta: Array) -> Instance:
        """Signs of size 1/sqrt(s) for rows."""
        return LinearInstance(theta, self.sigma, 1 / math.sqrt(self.s))

    def farthest(self) -> Array:
        """s equal coefficients, of norm radius."""
        return np.where(np.arange(self.d) < self.s, self.radius / math.sqrt(self.s), 0.0)

    def zero_release_risk(self, point: Point | None = None) -> Number:
        """(L/s) radius^2."""
        at = self.point if point is None else point
        return self.L / at["s"] * at["radius"] ** 2

    def lower(self, privacy: type[Privacy]) -> list[LowerBound]:
        """Those of `minimax.problems.sparse_regression.lower`."""
        from minimax.problems.sparse_regression.lower import lower_bounds

        return lower_bounds(privacy)

    def upper(self, privacy: Privacy) -> list[UpperBound]:
        """CWZ19: Theorem 4.4, WG19: Corollary 5.6 (also with its constants) and Table 1, WX21:
        Theorem 8."""
        check_privacy(privacy)
        from minimax.problems.sparse_regression.upper import stated_bounds

        return self.stated(stated_bounds(self, privacy), privacy)

    def best_upper(self, privacy: Privacy) -> Best:
        """SparseResidualClippedRegression, PrivateHardThresholding, or releasing 0."""
        check_privacy(privacy)
        from minimax.problems.sparse_regression.upper import best_upper

        return best_upper(self, privacy)
