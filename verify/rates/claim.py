"""What a claim is, and where it is checked.

A claim pairs a lower bound, a private estimator and an upper bound. A sweep moves one parameter
around a base point of a claim and lies in one regime. Its `deep` point is far inside the regime
(sizes nobody could simulate); the bound's exponent is read off there, as the slope of its closed
form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sklearn.base import BaseEstimator

from minimax.bound import Bound, Point
from minimax.privacy import Model, Scope

Factory = Callable[[Point], BaseEstimator]
Regime = Literal["privacy", "statistics"]


@dataclass(frozen=True)
class Claim:
    """At every point: lower(point) <= Bayes risk of the estimator under lower's prior <= upper."""

    name: str
    problem: str
    model: Model
    lower: Bound
    estimator: str
    make: Factory
    twin: Factory
    """The non-private twin: the control that must break the lower bound where privacy dominates."""
    upper: Callable[[Point], Bound] | None = None
    noise_factor: float = 20.0
    """How much more noise must push the risk above the upper bound: 2 where the bound is an
    equality up to the statistical term, more where its proof loses constants."""
    scope: Scope = "central"
    """Who is trusted with the data."""


@dataclass(frozen=True)
class Sweep:
    """One parameter moved around a base point of a claim, inside one regime."""

    claim: str
    regime: Regime
    base: Mapping[str, float]
    deep: Mapping[str, float] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    """Parameters whose slope is fitted; with none, only the base point is checked."""
    weight: float = 1
    """How many times the profile's trials: more where bounds are tight or losses heavy-tailed."""


def proven(make: Factory, problem: Callable[[Point], Any]) -> Callable[[Point], Bound]:
    """The upper bound that an estimator's own theorem gives."""
    return lambda p: make(p).risk_bound(problem(p))
