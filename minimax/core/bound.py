"""A theorem as a value: statement, constants, assumptions, proof's prior and source together.

A bound is a *formula* that holds at every point of its regime and for every choice of the free
parameters of its proof, and a *search* that makes a good choice. The search works in floats and
need not be exact; the formula, at what the search found, is what is proved. It is written for any
kind of number (`minimax.core.symbolic`), so that the float that is reported can be held against
the same formula in 50 digits (`Bound.exact`). Reported floats are rounded outward: a certified
lower bound errs only downwards, an upper bound only upwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeVar

import mpmath
import numpy as np
from numpy.typing import NDArray

from minimax.core.balls import Ball, Undecided, precision
from minimax.core.html import bound_html
from minimax.core.loss import TO_THE_MEAN, Loss
from minimax.core.symbolic import Expression, Number, compiled, latex_of, symbol
from minimax.papers import statement_in

Point = Mapping[str, Number]
Optimum = Mapping[str, float]
"""The free parameters of a proof, by name."""
Kind = Literal["certified", "claimed", "refuted"]
Side = Literal["lower", "upper"]
Setting = float | int | str
"""A keyword argument of an estimator."""
COUNTS = {"n", "d", "s", "p"}
SHARED = COUNTS | {"sigma", "radius", "C", "b", "epsilon", "delta", "rho", "mu", "alpha", "kappa"}
"""The numbers of all problems and budgets: a point may hold more of them than a bound needs."""
ROUNDING = 1e-9
"""By how much reported floats are rounded outward, relative to their size."""
PRECISIONS = (200, 400, 800, 1600)
"""Bits that are tried in turn for a ball."""
REMEMBERED = 1024
"""How many points of a bound are remembered at once."""
Kept = TypeVar("Kept")
SHARP = 1e-12
"""The largest relative radius of a ball that is handed out."""


class OutsideRegime(ValueError):
    """The bound was asked for at a point where it is not proved."""

    def __init__(self, message: str, needs: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.needs = needs
        """The conditions that fail, in words."""


class NotFinite(ValueError, ArithmeticError):
    """A value left the range of floats on the way: nothing is known."""


@dataclass(frozen=True)
class Assumption:
    """A condition of a theorem, in words and as code."""

    text: str
    holds: Callable[[Point], bool]


class Terms(NamedTuple):
    """What a formula gives: its terms, where the proof splits it (None where it does not)."""

    statistical: Number | None
    privacy: Number | None

    @property
    def total(self) -> Number:
        """Their sum."""
        return sum(term for term in self if term is not None)


@dataclass(frozen=True)
class Parts:
    """A bound's value, split where the proof splits it into statistics and privacy."""

    statistical: float | None
    privacy: float | None
    total: float
    optimum: Optimum = field(default_factory=dict)
    """The free parameters of the proof at which the value was reached."""


class Labelled(NamedTuple):
    """A sample of a regression problem: the arguments of `fit`, in order."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]


Sample = NDArray[np.float64] | Labelled


def fit_arguments(sample: Sample) -> tuple[NDArray[np.float64], ...]:
    """What `fit` is called with: X, or X and y."""
    return tuple(sample) if isinstance(sample, Labelled) else (sample,)


class Instance(Protocol):
    """One draw from a prior: the quantity to estimate, the law of the data given it, the loss."""

    @property
    def target(self) -> NDArray[np.float64]:
        """The quantity to estimate."""

    def sample(self, n: int, rng: np.random.Generator) -> Sample:
        """n records: an array, or `Labelled` for a regression problem."""

    def loss(self, estimate: NDArray[np.float64]) -> float:
        """The loss of an estimate of the target."""


class Prior(Protocol):
    """The prior under which a lower bound was proved."""

    def draw(self, rng: np.random.Generator) -> Instance:
        """One instance."""


def nothing_free(point: Point) -> Optimum:
    """The search of a formula without free parameters."""
    return {}


@dataclass(frozen=True, kw_only=True, repr=False)
class Bound:
    """A bound on a risk: what lower and upper bounds share.

    `kind` is ``certified`` (explicit constant, proved here), ``claimed`` (the paper's rate with the
    hidden constant set to one) or ``refuted`` (with the reason in `remark`).
    """

    side: ClassVar[Side]
    outward: ClassVar[int]
    """The direction in which a certified number may err."""

    name: str
    source: str
    kind: Kind = "certified"
    parameters: tuple[str, ...]
    formula: Callable[[Point, Optimum], Terms]
    """The bound at a point and a choice of the free parameters: true for every choice."""
    expression: Callable[[], Expression] | None = None
    """The closed form, made when it is asked for; None: the formula itself, which then has no free
    parameters."""
    optimise: Callable[[Point], Optimum] = nothing_free
    """A good choice of the free parameters."""
    assumptions: tuple[Assumption, ...] = ()
    loss: Loss = TO_THE_MEAN
    remark: str = ""
    defaults: Mapping[str, float] = field(default_factory=dict)
    """Parameters that need not be given: the problem or budget a bound was made for."""
    rounding: float = ROUNDING

    @cached_property
    def expr(self) -> Expression:
        """The closed form as a sympy expression in `minimax.core.symbolic.symbol`."""
        if self.expression is not None:
            return self.expression()
        return self.formula({name: symbol(name) for name in self.parameters}, {}).total

    def point(self, given: Point) -> dict[str, float]:
        """The named numbers this bound needs: there, finite, positive, and counts at least 1.

        What else a problem or budget has stands by; a name that no problem has is refused.
        """
        self._refuse_unknown(set(given) - SHARED)
        merged = {**self.defaults, **given}
        missing = [name for name in self.parameters if name not in merged]
        if missing:
            raise TypeError(f"{self.name}: missing {', '.join(missing)}")
        point = {name: float(merged[name]) for name in self.parameters}
        for name, value in point.items():
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} must be positive and finite, got {value!r}")
            if name in COUNTS and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")
        return point

    def _refuse_unknown(self, names: Collection[str]) -> None:
        """Raise if a name is none of this bound's parameters, saying which there are."""
        unknown = sorted(set(names) - set(self.parameters))
        if unknown:
            raise TypeError(
                f"{self.name}: unknown parameter {', '.join(map(repr, unknown))}; it has"
                f" {', '.join(self.parameters)}"
            )

    def broken(self, **given: float) -> list[str]:
        """The assumptions that fail at a point, in words."""
        point = self.point(given)
        return [a.text for a in self.assumptions if not a.holds(point)]

    def allowed(self, **given: float) -> dict[str, float]:
        """The point, if the bound is proved there; raises `OutsideRegime` otherwise."""
        failed = self.broken(**given)
        if failed:
            raise OutsideRegime(f"{self.name}: needs {'; '.join(failed)}", tuple(failed))
        return self.point(given)

    def parts(self, **given: float) -> Parts:
        """The value with its split; raises `OutsideRegime` where nothing is proved.

        A value that is not finite is refused too: numbers failed, and nothing is known.
        """
        point = self.allowed(**given)
        key = tuple(point.values())
        found = self._known.get(key)
        if found is None:
            found = _kept(self._known, key, self._parts_at(point))
        return replace(found, optimum=dict(found.optimum))

    @cached_property
    def _known(self) -> dict[tuple[float, ...], Parts]:
        """Parts that were found: value and prior of a point ask for the same search."""
        return {}

    def _optimum(self, point: Point) -> Optimum:
        """What `optimise` finds: value, closed form, ball and settings ask for one search."""
        key = tuple(point.values())
        found = self._searched.get(key)
        if found is None:
            found = _kept(self._searched, key, self.optimise(point))
        return dict(found)

    @cached_property
    def _searched(self) -> dict[tuple[float, ...], Optimum]:
        """Choices of the free parameters that were found."""
        return {}

    def _parts_at(self, point: Point) -> Parts:
        optimum = self._optimum(point)
        terms = self.formula(point, optimum)
        if not isinstance(terms, Terms):
            given = type(terms).__name__
            raise TypeError(f"{self.name}: the formula gives a {given}, not Terms")
        if not math.isfinite(terms.total):
            where = ", ".join(f"{name}={value:g}" for name, value in point.items())
            raise NotFinite(f"{self.name}: the value at {where} is {terms.total}, not a number")
        statistical, privacy, total = map(self._outward, (*terms, terms.total))
        return Parts(statistical, privacy, total or 0.0, optimum)

    def _outward(self, value: Number | None) -> float | None:
        """The value as a float, rounded to the side on which it may err."""
        if value is None:
            return None
        if self.kind != "certified":
            return float(value)
        return float(value) * (1 + self.outward * self.rounding)

    def value(self, **given: float) -> float:
        """The bound, at the best free parameters of its proof that were found."""
        return self.parts(**given).total

    def exact(self, digits: int = 50, **given: float) -> mpmath.mpf:
        """The formula in so many digits, at the free parameters at which `value` was reached."""
        point = self.allowed(**given)
        optimum = self._optimum(point)
        with mpmath.workdps(digits):
            precise = {name: mpmath.mpf(value) for name, value in point.items()}
            return mpmath.mpf(self.formula(precise, optimum).total)

    def ball(self, **given: float) -> Ball:
        """The formula in balls, at the free parameters at which `value` was reached: a proof."""
        point = self.allowed(**given)
        return self.ball_at(point, self._optimum(point))

    def ball_at(self, point: Point, optimum: Optimum) -> Ball:
        """The formula in balls at any choice of the free parameters.

        The precision grows until every decision on the way is sure and the ball is small.
        """
        for bits in PRECISIONS:
            with precision(bits):
                exact = {name: Ball(value) for name, value in point.items()}
                try:
                    found = Ball(self.formula(exact, optimum).total)
                except Undecided:
                    continue
                if found.is_finite and found.relative_radius < SHARP:
                    return found
        raise Undecided(f"{self.name}: no sharp ball with {PRECISIONS[-1]} bits")

    def closed_form(self, **given: float) -> float:
        """`expr` evaluated at the point: valid, and on the outer side of `value`."""
        point = self.allowed(**given)
        with mpmath.workdps(30):
            arguments = (mpmath.mpf(point[name]) for name in self.parameters)
            found = self._outward(mpmath.re(self._function()(*arguments)))
        assert found is not None
        return found

    def slope(self, name: str, **given: float) -> float:
        """x d log(expr)/dx: the local exponent of the bound in one of its parameters."""
        self._refuse_unknown([name])
        if self.closed_form(**given) <= 0:
            raise OutsideRegime(f"{self.name}: the closed form is zero here, it has no slope")
        point = self.point(given)
        function = self._function()

        def log_expr(log_x: Number) -> Number:
            moved = {**point, name: mpmath.exp(log_x)}
            return mpmath.log(mpmath.re(function(*(mpmath.mpf(moved[k]) for k in self.parameters))))

        # Differentiated at 40 digits: sympy's derivative of nested Min and Max does not evaluate.
        with mpmath.workdps(40):
            return float(mpmath.diff(log_expr, mpmath.log(point[name])))

    def __repr__(self) -> str:
        """What a person wants to know of it."""
        letters = ", ".join(self.parameters)
        return f"<{self.kind} {self.side} bound {self.name!r} in {letters}; {self.source}>"

    def _repr_html_(self) -> str:
        return bound_html(self)

    @property
    def entry(self) -> str:
        """The id of the ledger's entry that it states, proves or sharpens; or nothing."""
        return statement_in(self.source)

    def latex(self) -> str:
        """The closed form as LaTeX."""
        return latex_of(self.expr)

    def _function(self) -> Callable[..., Number]:
        return compiled(self.expr, tuple(map(symbol, self.parameters)))


@dataclass(frozen=True, kw_only=True, repr=False)
class LowerBound(Bound):
    """No estimator has smaller risk, averaged over the prior of the proof."""

    side = "lower"
    outward = -1

    prior_at: Callable[[Point, Parts], Prior] | None = None
    slack: float | None = None
    """Stated factor: value <= slack * expr wherever `slack_regime` holds."""
    slack_regime: Assumption | None = None

    def prior(self, **given: float) -> Prior:
        """The prior of the proof at this point, with its free parameters at their optimum."""
        if self.prior_at is None:
            raise OutsideRegime(f"{self.name}: a {self.kind} bound has no prior to sample")
        return self.prior_at(self.point(given), self.parts(**given))


@dataclass(frozen=True, kw_only=True, repr=False)
class UpperBound(Bound):
    """A named estimator has at most this risk, for every law of the class.

    It is a function of the point like a lower bound: noise and settings are found anew at every
    point. `defaults` hold the problem and the budget it was made for, so that ``value()`` is that
    estimator's own, and ``value(n=...)`` what it would be there.
    """

    side = "upper"
    outward = 1

    estimator: str = ""
    """The name in `estimators` of what has this risk."""
    settings: Callable[[Point, Optimum], Mapping[str, Setting]] = lambda point, found: {}
    """The keyword arguments at which it has it."""
    zero_release_risk: Callable[[Point], float] | None = None
    """The largest risk of releasing 0 whatever the data."""
    closed_formula: Callable[[Point, Optimum], Number] | None = None
    """The closed form at given settings, where they stand in it as numbers: found anew at every
    point, while `expression` has those of the defaults."""
    resolve: bool = False
    """Whether `slope` solves for the value again at nearby points, not trusting the closed form."""

    def is_vacuous(self, **given: float) -> bool:
        """Whether releasing 0, without data, is proved to do as well."""
        if self.zero_release_risk is None:
            return False
        return self.value(**given) >= self.zero_release_risk(self.point(given))

    def keywords(self, **given: float) -> Mapping[str, Setting]:
        """The estimator's keyword arguments at a point."""
        point = self.allowed(**given)
        return self.settings(point, self._optimum(point))

    def closed_form(self, **given: float) -> float:
        """The closed form at the point: at least `value`."""
        if self.closed_formula is None:
            return super().closed_form(**given)
        point = self.allowed(**given)
        with mpmath.workdps(30):
            precise = {name: mpmath.mpf(value) for name, value in point.items()}
            found = self._outward(self.closed_formula(precise, self._optimum(point)))
        assert found is not None
        return found

    def slope(self, name: str, **given: float) -> float:
        """The local exponent in one parameter, with noise and settings solved for again.

        The value jumps where an estimator takes one step more: between e^{-.01} and e^{.01} times
        the parameter, such a jump counts.
        """
        if not self.resolve:
            return super().slope(name, **given)
        self._refuse_unknown([name])
        point, step = self.point(given), math.exp(0.01)
        least = 1.0 if name in COUNTS else 0.0
        ends = (max(point[name] / step, least), point[name] * step)
        down, up = (math.log(self.value(**{**point, name: end})) for end in ends)
        return (up - down) / math.log(ends[1] / ends[0])


def _kept(known: dict[tuple[float, ...], Kept], key: tuple[float, ...], found: Kept) -> Kept:
    """What was found, remembered; of too many, all are forgotten."""
    if len(known) >= REMEMBERED:
        known.clear()
    known[key] = found
    return found


Rule = Number | Callable[[Point], Number]
"""A setting of an estimator: fixed, or found at every point."""


def rule_at(rule: Rule, point: Point) -> Number:
    """The setting at a point."""
    return rule(point) if callable(rule) else rule


def at_least(name: str, value: float, text: str | None = None) -> Assumption:
    """The assumption `name >= value`."""
    return Assumption(text or f"{name} >= {value:g}", lambda point: bool(point[name] >= value))
