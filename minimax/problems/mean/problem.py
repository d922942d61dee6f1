"""The problem: the mean of sub-Gaussian records."""

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
class MeanProblem(Problem):
    """sub-Gaussian(sigma) records in R^d, |mu_j| <= radius; drawn as N(mu, sigma^2 I_d)."""

    name: ClassVar[str] = "mean"
    about: ClassVar[str] = "sub-Gaussian(sigma) records in R^d, |mean_j| <= radius"
    loss: ClassVar[Loss] = TO_THE_MEAN

    d: int
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
        """A corner of the cube of means."""
        return np.full(self.d, self.radius)

    def zero_release_risk(self, point: Point | None = None) -> Number:
        """d radius^2."""
        at = self.point if point is None else point
        return at["d"] * at["radius"] ** 2

    def lower(self, privacy: type[Privacy]) -> list[LowerBound]:
        """Those of `minimax.problems.mean.lower`."""
        from minimax.problems.mean.lower import lower_bounds

        return lower_bounds(privacy)

    def upper(self, privacy: Privacy) -> list[UpperBound]:
        """For the narrower classes of sub-Gaussian vectors and of Gaussian records; and what
        CWZ19: Theorem 3.2 claims."""
        check_privacy(privacy)
        from minimax.problems.mean.upper import claimed_theorem_3_2, upper_bounds

        return [*upper_bounds(self, privacy), *self.stated([claimed_theorem_3_2()], privacy)]

    def best_upper(self, privacy: Privacy) -> Best:
        """NoisyMean, or releasing 0."""
        check_privacy(privacy)
        from minimax.problems.mean.upper import best_upper

        return best_upper(self, privacy)
