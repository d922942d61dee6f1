"""A problem of estimation: its numbers, its class of laws, its loss, and what is proved about it.

A problem is a frozen dataclass. Its numeric fields are its *point*, by the letters that bounds use;
the other fields are its *form* (a loss, whether reports may depend on one another), which decides
what bounds there are. A package of `minimax.problems` takes part in the calculator and in the
contract tests by exporting its problem.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from numbers import Real
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from minimax.core.bound import (
    COUNTS,
    Instance,
    LowerBound,
    OutsideRegime,
    Point,
    Sample,
    UpperBound,
)
from minimax.core.loss import Loss
from minimax.core.privacy import check_privacy
from minimax.core.symbolic import Number

if TYPE_CHECKING:
    from minimax.core.best import Best
    from minimax.core.privacy import Privacy, Scope

Array = NDArray[np.float64]
AS_SIGMA = cast(float, None)
"""The default of a radius that is sigma unless it is given: `__post_init__` puts sigma there."""
FORM = {"form": True}
"""The metadata of a field that is no number of the point."""


@cache
def _parameters(problem: type[Problem]) -> tuple[tuple[str, bool], ...]:
    """The numbers of a problem by name, and whether one must be given."""
    numbers = [f for f in fields(problem) if not f.metadata.get("form")]
    return tuple((f.name, f.default is MISSING) for f in numbers)


def _checked(name: str, value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    number = float(value)
    if name not in COUNTS:
        if not 0 < number < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {value!r}")
        return number
    if not (1 <= number < math.inf and number.is_integer()):
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)  # type: ignore[call-overload]


def check_spread(L: object) -> None:
    """Raise unless L, by which eigenvalues of d E x x' may differ from 1, is at least 1: its class
    is empty otherwise."""
    if not _checked("L", L) >= 1:
        raise ValueError(f"L must be at least 1, got {L!r}")


def with_spread(about: str, letter: str, L: float) -> str:
    """The words for a class whose designs have E x x' = I/letter, if L is 1; or else eigenvalues of
    E x x' within a factor L of that."""
    if L == 1:
        return about
    isotropic = f"E x x' = I/{letter}"
    return about.replace(
        isotropic, f"eigenvalues of E x x' in [1/({L:g} {letter}), {L:g}/{letter}]"
    )


class Floor(NamedTuple):
    """The largest certified lower bound at a problem, and its name."""

    risk: float
    name: str


@dataclass(frozen=True)
class Problem(ABC):
    """n records of an unknown law of a class, and a quantity to estimate from them.

    A subclass has its numbers as fields, n first, and says what `instance`, `zero_release_risk`,
    `farthest`, `lower`, `upper` and `best_upper` are.
    """

    name: ClassVar[str]
    """On the command line."""
    about: ClassVar[str]
    """The class, in a line."""
    scope: ClassVar[Scope] = "central"
    """Whom the privacy definition trusts."""
    options: ClassVar[tuple[str, ...]] = ()
    """The fields that choose a form of the problem on the command line."""

    n: int

    def __post_init__(self) -> None:
        """Counts are whole and at least 1, s at most d or p, other numbers positive and finite."""
        for name in self.parameters():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _checked(name, value))
        numbers = self.point
        for whole in {"d", "p"} & set(numbers):
            if numbers.get("s", 1) > numbers[whole]:
                raise ValueError(
                    f"s must be at most {whole} = {numbers[whole]}, got {numbers['s']}"
                )

    # --- Its numbers ------------------------------------------------------------------------------

    @classmethod
    def parameters(cls) -> dict[str, bool]:
        """The numbers by name, and whether one must be given."""
        return dict(_parameters(cls))

    @classmethod
    def at(cls, point: Mapping[str, float], **form: object) -> Self:
        """The problem with these numbers (others may stand by), in one of its forms."""
        given = {k: int(v) if k in COUNTS else v for k, v in point.items() if k in cls.parameters()}
        return cls(**given, **form)  # type: ignore[arg-type]

    @property
    def point(self) -> dict[str, float]:
        """The numbers by name: what a bound needs besides a budget."""
        numbers = {name: getattr(self, name) for name in self.parameters()}
        return {name: value for name, value in numbers.items() if value is not None}

    @property
    def description(self) -> str:
        """The class in this form, in a line."""
        return self.about

    # --- Its class of laws ------------------------------------------------------------------------

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The loss in which its bounds are compared."""

    @abstractmethod
    def instance(self, theta: Array) -> Instance:
        """A law of the class with this quantity to estimate: records, and losses of estimates."""

    def draw(self, theta: Array, rng: np.random.Generator) -> Sample:
        """A data set: n records of `instance`."""
        return self.instance(theta).sample(self.n, rng)

    @abstractmethod
    def farthest(self) -> Array:
        """A quantity of the class that is as far from 0 as any."""

    @abstractmethod
    def zero_release_risk(self, point: Point | None = None) -> Number:
        """The largest risk of releasing 0 whatever the data; at another point if one is given, of
        any kind of number."""

    # --- What is proved ---------------------------------------------------------------------------

    @abstractmethod
    def lower(self, privacy: type[Privacy]) -> list[LowerBound]:
        """Every lower bound under a privacy definition: certified, claimed or refuted."""

    @abstractmethod
    def upper(self, privacy: Privacy) -> list[UpperBound]:
        """Upper bounds as their sources state them: with constants where proved, and claimed."""

    @abstractmethod
    def best_upper(self, privacy: Privacy) -> Best:
        """The least proven risk, over estimators and their settings and releasing 0."""

    def stated(self, bounds: list[UpperBound], privacy: Privacy) -> list[UpperBound]:
        """Those of the bounds that are about this kind of budget."""
        check_privacy(privacy)
        known = {*self.point, *privacy.parameters}
        return [bound for bound in bounds if {*bound.parameters} <= {*known, *bound.defaults}]

    def comparable_lower(self, privacy: type[Privacy]) -> list[LowerBound]:
        """The certified lower bounds in the problem's own loss."""
        bounds = self.lower(privacy)
        return [each for each in bounds if each.kind == "certified" and each.loss is self.loss]

    def best_lower(self, privacy: Privacy) -> Floor:
        """The largest certified lower bound on the risk in the problem's own loss."""
        check_privacy(privacy)
        best = Floor(0.0, "none")
        for bound in self.comparable_lower(type(privacy)):
            try:
                value = bound.value(**self.point, **privacy.parameters)
            except OutsideRegime:
                continue
            best = max(best, Floor(value, bound.name), key=lambda floor: floor.risk)
        return best
