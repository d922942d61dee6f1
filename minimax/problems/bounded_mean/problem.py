"""The problem: the mean of records in a cube."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from minimax.core.bound import Instance, LowerBound, Point, UpperBound
from minimax.core.privacy import check_privacy
from minimax.core.problem import AS_SIGMA, FORM, Array
from minimax.core.symbolic import Number
from minimax.methods.priors import SignInstance
from minimax.problems.mean.problem import MeanProblem

if TYPE_CHECKING:
    from minimax.core.privacy import Privacy


@dataclass(frozen=True)
class BoundedMeanProblem(MeanProblem):
    """Records in [-sigma, sigma]^d, so that no radius is free; drawn as independent signs.

    Its upper bounds are those of the mean, without bias from clipping.
    """

    name: ClassVar[str] = "bounded-mean"
    about: ClassVar[str] = "records in [-sigma, sigma]^d"
    options: ClassVar[tuple[str, ...]] = ("radius",)

    radius: float = field(default=AS_SIGMA, metadata=FORM)

    def __post_init__(self) -> None:
        """The radius is sigma."""
        super().__post_init__()
        if self.radius != self.sigma:
            raise ValueError(f"radius is sigma for {self.name}: leave it out")

    @property
    def point(self) -> dict[str, float]:
        """With the radius, which bounds for means ask for."""
        return {**super().point, "radius": self.sigma}

    def instance(self, theta: Array) -> Instance:
        """Records in {-sigma, sigma}^d."""
        return SignInstance(theta, self.sigma)

    def zero_release_risk(self, point: Point | None = None) -> Number:
        """d sigma^2."""
        at = self.point if point is None else point
        return at["d"] * at["sigma"] ** 2

    def lower(self, privacy: type[Privacy]) -> list[LowerBound]:
        """Those of `minimax.problems.bounded_mean.lower`."""
        from minimax.problems.bounded_mean.lower import bounded_lower_bounds

        return bounded_lower_bounds(privacy)

    def upper(self, privacy: Privacy) -> list[UpperBound]:
        """For records of the class that are sub-Gaussian vectors, and what CWZ19: Theorem 3.2
        claims of bounded data."""
        check_privacy(privacy)
        from minimax.problems.mean.upper import claimed_theorem_3_2, vector_upper

        claimed = self.stated([claimed_theorem_3_2(bounded=True)], privacy)
        return [vector_upper(self, privacy), *claimed]
