"""What a panel of a figure is: data, methods, curves, and the sentences that are read off it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from minimax.core.privacy import Approximate
from verify.figures.readings import Sentence
from verify.rates.special.ordering.measure import spent

Array = NDArray[np.float64]
Point = Mapping[str, float]
Options = Mapping[str, Any]
Variant = Literal["printed", "private", "best", "peer", "not private"]
"""printed: schedule, truncation and noise to the letter, with the epsilon that it really has.
private: the same schedule with exactly the budget asked for. best: what a reader should use. peer:
another private method of the panel. not private: a reference."""
Profile = Literal["brief", "quick", "standard", "full"]
PROFILES: tuple[Profile, ...] = ("brief", "quick", "standard", "full")


class Fit(NamedTuple):
    """What a method releases, and what it costs."""

    estimate: Array
    epsilon: float | None = None
    """Really spent, at the delta of the point; infinite if nothing is guaranteed, None if the
    method does not claim privacy."""
    notes: Mapping[str, float] = {}
    """Other numbers of the fit that a sentence is about."""


@dataclass(frozen=True)
class Grid:
    """Options of a method to choose from: every combination of its axes."""

    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @cached_property
    def options(self) -> list[dict[str, Any]]:
        """All combinations; one without options if there are no axes."""
        values = itertools.product(*self.axes.values())
        return [dict(zip(self.axes, each, strict=True)) for each in values]

    def edges(self, chosen: Options) -> tuple[str, ...]:
        """The axes on whose first or last value the choice lies, though there are others."""
        return tuple(
            name
            for name, values in self.axes.items()
            if len(values) > 1 and chosen[name] in (values[0], values[-1])
        )


@dataclass(frozen=True)
class Method:
    """A curve: who is fitted to the panel's data, and how.

    `fit(sample, point, rng, **options)` makes one release. Options are chosen from the grid on
    draws of their own, at each point, by the panel's error: without charge, for all methods alike.
    """

    name: str
    variant: Variant
    fit: Callable[..., Fit]
    grid: Grid = Grid()
    at: Point = field(default_factory=dict)
    """What differs from the panel's point, where curves stand for several d, s or epsilon.
    Methods with the same are fitted to the same draws."""
    runs: int = 1
    """Where a paper plots the lowest error of so many runs, which share a data set."""
    every: int = 1
    """Of how many trials it takes part in one."""


class Plan(NamedTuple):
    """How much a profile measures: where, and how often."""

    xs: tuple[float, ...]
    trials: int
    tuning: int = 0
    """Trials on which options are chosen."""


@dataclass(frozen=True)
class Panel:
    """One panel of a figure, or a table."""

    id: str
    """Such as CWZ19:Figure 1(a)."""
    title: str
    x: str
    """The name of the variable on the horizontal axis, which a point has."""
    metric: str
    point: Callable[[float], Point]
    """All numbers at a place of the horizontal axis; methods may change some by their `at`."""
    draw: Callable[..., Any]
    """`draw(point, rng, *tables)`: one sample, from the tables that `data` names."""
    error: Callable[[Array, Any], float]
    """`error(estimate, sample)`."""
    methods: tuple[Method, ...]
    sentences: tuple[Sentence, ...]
    quick: Plan
    standard: Plan
    brief: Plan
    """For tests and the ledger: seconds."""
    printed: Mapping[str, str] = field(default_factory=dict)
    """What the paper says of the set-up."""
    ours: Mapping[str, str] = field(default_factory=dict)
    """What it does not say, and we have chosen."""
    caption: str = ""
    data: tuple[str, ...] = ()
    """The keys of the real data sets that are needed; `draw` takes them in this order."""
    typical: bool = False
    """Whether geometric means are drawn, for errors whose means say little."""
    logarithmic: bool = True

    def plan(self, profile: Profile) -> Plan:
        """The plan of a profile; the full one has four times the paper's trials."""
        if profile == "full":
            return self.standard._replace(trials=4 * self.standard.trials)
        plans: dict[str, Plan] = {
            "brief": self.brief,
            "quick": self.quick,
            "standard": self.standard,
        }
        return plans[profile]

    @property
    def figure(self) -> str:
        """The figure or table that it belongs to."""
        return self.id.partition("(")[0]

    @property
    def groups(self) -> list[tuple[Method, ...]]:
        """The methods that are fitted to the same draws."""
        found: dict[str, list[Method]] = {}
        for method in self.methods:
            found.setdefault(repr(sorted(method.at.items())), []).append(method)
        return [tuple(group) for group in found.values()]


def budget(point: Point) -> Approximate:
    """The (epsilon, delta) that is asked for at a point."""
    return Approximate(point["epsilon"], point["delta"])


def seed_of(rng: np.random.Generator) -> int:
    """A seed for an estimator, from a trial's generator."""
    return int(rng.integers(2**31))


def released(
    estimator: BaseEstimator, point: Point, notes: Mapping[str, float] | None = None
) -> Fit:
    """The release of a fitted estimator, with the epsilon that it really has at the point's
    delta."""
    estimate = estimator.mean_ if hasattr(estimator, "mean_") else estimator.coef_
    return Fit(np.asarray(estimate, dtype=float), spent(estimator, point["delta"]), notes or {})


def zero(size: Callable[[Point], int], at: Point | None = None) -> Method:
    """The method that releases 0, whose error every private method should beat."""

    def fit(sample: Any, point: Point, rng: np.random.Generator) -> Fit:
        return Fit(np.zeros(size(point)), 0.0)

    return Method(ZERO, "not private", fit, at=at or {})


ZERO = "release 0"
"""The name of the curve of releasing 0: a dotted line."""
