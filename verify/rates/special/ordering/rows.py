"""What the orderings find: the error of each method, and which of two is ahead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from attacks.intervals import student_half_width
from verify.files import JSON
from verify.rates.judge import AgainstZero
from verify.rates.measure import Measurement
from verify.rates.special.ordering.experiments import Array, Setting

Standing = Literal["ahead", "behind", "not separated"]


@dataclass(frozen=True)
class MethodRow:
    """The error of a method at a point, at the options chosen for it."""

    experiment: str
    source: str
    variable: str
    method: str
    private: bool
    point: Setting
    measured: Measurement
    options: Mapping[str, object]
    options_tried: int
    epsilon_spent: float | None
    """The largest of all trials; None if not private."""

    @property
    def error(self) -> float:
        """The mean relative error."""
        return self.measured.risk

    @property
    def x(self) -> float:
        """Where the row stands in a plot: the value of the variable."""
        return float(getattr(self.point, self.variable))

    @property
    def against_zero(self) -> AgainstZero:
        """Whether the error is below or above 1, that of releasing 0."""
        return against_zero(self.measured.ci_low, self.measured.ci_high)

    def as_json(self) -> JSON:
        """The row as the JSON file has it."""
        return {
            "experiment": self.experiment,
            "source": self.source,
            "variable": self.variable,
            "method": self.method,
            "private": self.private,
            "point": asdict(self.point),
            "error": self.error,
            "ci_low": self.measured.ci_low,
            "ci_high": self.measured.ci_high,
            "against_zero": self.against_zero,
            "trials": self.measured.trials,
            "seed": self.measured.seed,
            "options": dict(self.options),
            "options_tried": self.options_tried,
            "epsilon_spent": self.epsilon_spent,
        }


def against_zero(low: float, high: float) -> AgainstZero:
    """Whether an error in this interval is below or above 1, that of releasing 0."""
    return "better" if high < 1 else "worse" if low > 1 else "not separated"


@dataclass(frozen=True)
class Pair:
    """Two methods of an experiment, the first of which is said or asked to be ahead."""

    experiment: str
    first: str
    second: str
    reported: bool
    """Whether the paper says so."""
    source: str


@dataclass(frozen=True)
class Gap:
    """Mean of second - first over trials on the same data, with its Student interval."""

    gap: float
    ci_low: float
    ci_high: float
    trials: int

    @property
    def verdict(self) -> Standing:
        """Where the first is by it."""
        if self.ci_low > 0:
            return "ahead"
        return "behind" if self.ci_high < 0 else "not separated"


def compare(first: Array, second: Array, alpha: float) -> Gap:
    """The gap between two methods, with its interval of level 1 - alpha."""
    gaps = np.asarray(second) - np.asarray(first)
    mean, half = float(np.mean(gaps)), student_half_width(gaps, alpha)
    return Gap(mean, mean - half, mean + half, len(gaps))


@dataclass(frozen=True)
class Comparison:
    """A pair at a point."""

    pair: Pair
    point: Setting
    found: Gap
    seed: int

    def as_json(self) -> JSON:
        """The row as the JSON file has it."""
        return {
            **asdict(self.pair),
            "point": asdict(self.point),
            **asdict(self.found),
            "verdict": self.found.verdict,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Tally:
    """At how many points the first of a pair is ahead, behind, neither."""

    pair: Pair
    ahead: int
    behind: int
    not_separated: int

    @classmethod
    def of(cls, pair: Pair, standings: list[Standing]) -> Tally:
        """The counts of some verdicts."""
        names: tuple[Standing, ...] = ("ahead", "behind", "not separated")
        return cls(pair, *(standings.count(name) for name in names))

    @property
    def points(self) -> int:
        """How many points there are."""
        return self.ahead + self.behind + self.not_separated

    @property
    def ahead_at_all(self) -> bool:
        """Whether the ordering is reproduced: ahead at every point."""
        return self.ahead == self.points

    def as_json(self) -> JSON:
        """The row as the JSON file has it."""
        return {
            **asdict(self.pair),
            "points": self.points,
            "ahead": self.ahead,
            "behind": self.behind,
            "not_separated": self.not_separated,
            "ahead_at_all": self.ahead_at_all,
        }


@dataclass(frozen=True)
class Ordering:
    """Everything that was measured."""

    rows: list[MethodRow]
    """One per experiment, point and method."""
    comparisons: list[Comparison]
    """One per experiment, point and pair."""
    claims: list[Tally]
    """One per experiment and pair."""

    def as_json(self) -> JSON:
        """The orderings as the JSON file has them."""
        return {
            "rows": [row.as_json() for row in self.rows],
            "comparisons": [row.as_json() for row in self.comparisons],
            "claims": [row.as_json() for row in self.claims],
        }
