"""The problem: a sparse mean of sub-Gaussian records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from minimax.core.bound import Instance, LowerBound, Point, UpperBound
from minimax.core.loss import TO_THE_MEAN, Loss
from minimax.core.privacy import check_privacy
from minimax.core.problem import AS_SIGMA, Array, Problem
from minimax.core.symbolic import Number
from minimax.methods.priors import GaussianInstance

if TYPE_CHECKING:
    from minimax.core.best import Best
    from minimax.core.privacy import Privacy


@dataclass(frozen=True)
class SparseMeanProblem(Problem):
    """As `MeanProblem`, with at most s non-zero mu_j."""

    name: ClassVar[str] = "sparse-mean"
    about: ClassVar[str] = (
        "sub-Gaussian(sigma) records in R^d, at most s non-zero mean_j, |mean_j| <= radius"
    )
    loss: ClassVar[Loss] = TO_THE_MEAN

    d: int
    s: int
    sigma: float = 1.0
    radius: float = AS_SIGMA

    def __post_init__(self) -> None:
        """A radius that is not given is sigma."""
        if self.radius is AS_SIGMA:
            object.__setattr__(self, "radius", self.sigma)
        super().__post_init__()

    def instance(self, theta: Array) -> Instance:
        """N(theta, sigma^2 I)."""
        return GaussianInstance(theta, self.sigma)

    def farthest(self) -> Array:
        """s means of size radius."""
        return np.where(np.arange(self.d) < self.s, self.radius, 0.0)

    def zero_release_risk(self, point: Point | None = None) -> Number:
        """s radius^2."""
        at = self.point if point is None else point
        return at["s"] * at["radius"] ** 2

    def lower(self, privacy: type[Privacy]) -> list[LowerBound]:
        """Those of `minimax.problems.sparse_mean.lower`."""
        from minimax.problems.sparse_mean.lower import lower_bounds

        return lower_bounds(privacy)

    def upper(self, privacy: Privacy) -> list[UpperBound]:
        """What CWZ19: Theorem 3.4 claims; with its constants it is `sparse_mean_upper`."""
        check_privacy(privacy)
        from minimax.problems.sparse_mean.upper import claimed_theorem_3_4

        return self.stated([claimed_theorem_3_4()], privacy)

    def best_upper(self, privacy: Privacy) -> Best:
        """SparseMean, NoisyMean, or releasing 0."""
        check_privacy(privacy)
        from minimax.problems.sparse_mean.upper import best_upper

        return best_upper(self, privacy)
