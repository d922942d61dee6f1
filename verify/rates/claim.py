"""What a claim is, and where it is checked.

A claim pairs a lower bound, a private estimator and an upper bound, and owns the sweeps in which it
is checked. A sweep moves one parameter around a base point and lies in one regime. Its
`asymptotic_point` is far inside the regime (sizes nobody could simulate); the bound's exponent is
read off there, as the slope of its closed form.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from minimax.core.bound import LowerBound, Point, UpperBound
from minimax.core.privacy import Privacy
from minimax.core.problem import Problem

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Factory = Callable[[Point], "BaseEstimator"]
Regime = Literal["privacy", "statistics"]


@dataclass(frozen=True)
class Sweep:
    """One parameter moved around a base point of a claim, inside one regime."""

    regime: Regime
    base: Mapping[str, float]
    asymptotic_point: Mapping[str, float] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    """Parameters whose slope is fitted; with none, only the base point is checked."""
    weight: float = 1
    """How many times the profile's trials: more where bounds are tight or losses heavy-tailed."""
    base_weight: float | None = None
    """That of the base alone, in the middle of every sweep, where it has no leverage on the slope:
    what its level needs. None: the same."""
    control_weight: float | None = None
    """That of the control with more noise. None: see `loud_weight`."""
    fits: int = 1
    """How often the estimator is fitted to the records of a trial, whose loss is the mean: more
    than once where drawing records costs more than a fit, and noise is most of the error. Of two
    the second has the noise of the first turned round where that is known to be symmetric, and so
    not in claims of one's own (`known_noise.NoiseSeen`)."""

    def weight_at(self, point: Point) -> float:
        """The weight of a cell of the sweep."""
        if self.base_weight is not None and dict(point) == dict(self.base):
            return self.base_weight
        return self.weight

    @property
    def loud_weight(self) -> float:
        """The weight of the control with more noise: losses that vary much do so there too."""
        if self.control_weight is not None:
            return self.control_weight
        return max(self.weight / 4, min(self.weight, 1))


class BadClaim(ValueError):
    """What keeps a claim from being checked, in a sentence."""


@dataclass(frozen=True)
class Ceiling:
    """An upper bound at a point."""

    value: float
    source: str
    remark: str | None = None
    vacuous: bool = False
    """Whether releasing 0, without data, is known to do as well. No amount of noise would then show
    that the bound can be broken."""


@dataclass(frozen=True)
class Claim:
    """At every point: lower(point) <= Bayes risk of the estimator under lower's prior <= upper."""

    name: str
    problem: type[Problem]
    model: type[Privacy]
    lower: LowerBound
    estimator: str
    estimator_at: Factory
    non_private: Factory
    """The non-private twin: the control that must break the lower bound where privacy dominates."""
    sweeps: tuple[Sweep, ...] = ()
    """Where the claim is checked; a claim without a sweep is refused."""
    upper: Callable[[Point], UpperBound | float] | None = None
    """The upper bound at a point, as a theorem or as a number."""
    unproved: str = ""
    """Why there is none, where there is none."""
    noise_factor: float = 20.0
    """How much more noise must push the risk above the upper bound: 2 where the bound is an
    equality up to the statistical term, more where its proof loses constants."""
    projects: bool = False
    """Whether the estimator projects its release on the class: noise then cannot make it much worse
    than releasing 0."""
    prior_decides: bool = False
    """Whether an estimator that does worse than releasing 0 under the lower bound's prior fails,
    where the class itself does not say so. Only a bound as good as its proof can make it tells
    whether that prior is one to be judged by (`judge.judge_against_zero`); else it is told."""

    @property
    def control_point(self) -> Mapping[str, float] | None:
        """Where the controls are run: the base of the last sweep in which privacy dominates."""
        bases = [sweep.base for sweep in self.sweeps if sweep.regime == "privacy"]
        return bases[-1] if bases else None

    def ceiling(self, point: Point) -> Ceiling | None:
        """The upper bound at a point, if the claim has one."""
        if self.upper is None:
            return None
        bound = self.upper(point)
        theorem = bound if isinstance(bound, UpperBound) else None
        value = theorem.value() if theorem else float(bound)  # type: ignore[arg-type]
        source, remark = (theorem.source, theorem.remark) if theorem else (self.name, None)
        vacuous = self.projects and value >= self.problem.at(point).zero_release_risk()
        return Ceiling(value, source, remark, vacuous)

    def zero_release_risk(self, point: Point) -> float | None:
        """The largest risk of releasing 0 at a point; None if the problem is a name alone."""
        if inspect.isabstract(self.problem):
            return None
        return self.problem.at(point).zero_release_risk()


def proven(
    estimator_at: Factory, problem_at: Callable[[Point], Problem]
) -> Callable[[Point], UpperBound]:
    """The upper bound that an estimator's own theorem gives."""
    return lambda p: estimator_at(p).risk_bound(problem_at(p))
