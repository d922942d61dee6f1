r"""The risk of noisy projected gradient descent from 0, whatever the loss: as a bound and at best.

A problem says what the risk depends on at a point (`Descent`); the settings of the estimator are
numbers, or rules that find them at every point. From both `descent_upper` makes the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from minimax.core.best import with_remark
from minimax.core.bound import (
    Assumption,
    Optimum,
    Point,
    Rule,
    Setting,
    Terms,
    UpperBound,
    rule_at,
)
from minimax.core.privacy import Privacy
from minimax.core.problem import Problem
from minimax.core.symbolic import LETTERS, Expression, Letters, Number, library
from minimax.methods.recursion import (
    FAILURES,
    Array,
    Interval,
    Recursion,
    contraction,
    functions,
    hypot,
    least_risk,
    rounded,
    step_grid,
)

ROUNDING = 1e-8
"""Outward: 1 - step_size eigenvalue cancels where the step is the inverse of the eigenvalue."""


class Schedule(NamedTuple):
    """Step size, number of steps and noise of a descent: numbers, or found at every point.

    The noise may depend on the other two, which are in its point.
    """

    step_size: Rule
    steps: Rule
    noise: Rule

    def at(self, point: Point) -> dict[str, Number]:
        """The settings at a point."""
        found = {"step_size": rule_at(self.step_size, point), "steps": rule_at(self.steps, point)}
        return {**found, "noise": self.noise_at(point, found)}

    def noise_at(self, point: Point, found: Mapping[str, Number]) -> Number:
        """The noise at a point, of any kind of number, for given step and number of steps."""
        return rule_at(self.noise, Letters({**point, **found}))


class Outset(NamedTuple):
    """What the first step from 0 depends on: no record has moved the start."""

    curvature: Interval
    """The expected gradient at 0 is -M beta, M symmetric with its eigenvalues in here."""
    variance: Number
    """E|gradient at 0|^2 about its mean."""


@dataclass(frozen=True)
class Descent:
    """What the risk of noisy projected descent from 0 depends on, at a point."""

    d: Number
    unit: Number
    """Loss <= unit |b - beta|^2."""
    start: Number
    """A bound on |beta|."""
    cap: Number
    """A bound on |b - beta|."""
    variance: Number
    """E|gradient at beta|^2, without clipping."""
    curvature: Callable[[Number], Interval]
    """Where the curvature lies, but for a given chance."""
    outset: Outset

    def first(self, step_size: Number, noise: Number, bias: Number) -> Number:
        r"""m_1, the root mean square error after one step, whatever the eigenvalues of the sample.

        **Statement.** m_1^2 = (q a + eta sqrt(h) bias)^2 + eta^2 variance + eta^2 d noise^2, a the
        start, [l, h] and variance those of the outset, q = max |1 - eta lambda| over [l, h].

        **Proof.** Before the projection b_1 - beta is the sum of (eta M - I) beta, of eta times
        what clipping adds to the mean gradient, of eta times the gradient less its mean, and of
        noise. The first two are fixed, the others uncorrelated with each other and of mean 0.
        """
        root = library(self.d).sqrt
        fixed = contraction(step_size, self.outset.curvature) * self.start
        fixed = fixed + step_size * bias * root(self.outset.curvature.high)
        spread = hypot(root(self.outset.variance), root(self.d) * noise)
        error = hypot(fixed, step_size * spread)
        return functions(error, self.cap).least(error, self.cap)

    def first_step(self, noise: Number) -> Number:
        """The step at which `first` is least if nothing is clipped, up to 2/(l + h).

        Up to there q = 1 - eta l, and m_1^2 is a quadratic function of eta.
        """
        low, high = self.outset.curvature
        pull = low * self.start**2
        best = pull / (low * pull + self.outset.variance + self.d * noise**2)
        return library(self.d).least(best, 2 / (low + high))

    def risk(
        self, failure: Number, step_size: Number, steps: int, noise: Number, bias: Number
    ) -> Number:
        """The proven risk at given chances of failure: numbers, or arrays of them.

        One step needs no eigenvalues of the sample, so that nothing can fail.
        """
        first = self.first(step_size, noise, bias)
        if steps == 1:
            return self.unit * first**2 + 0 * failure
        interval = self.curvature(failure)
        rate = contraction(step_size, interval)
        lib = functions(rate, noise, bias)
        drift = step_size * lib.sqrt(self.variance + interval.high * bias**2)
        after = step_size * library(self.d).sqrt(self.d) * noise
        m = Recursion(rate, drift, after).run(first, steps - 1, self.cap)
        total = self.unit * (m**2 + failure * self.cap**2)
        return lib.least(total, self.unit * self.cap**2)

    def at_best_failure(
        self, step_size: float, steps: int, noise: float, bias: float
    ) -> dict[str, float]:
        """The chance in FAILURES of least risk, with contraction and curvature there."""
        risks = self.risk(FAILURES, step_size, steps, noise, bias)
        failure = float(FAILURES[int(np.argmin(risks))])
        interval = self.curvature(failure)
        rate = float(contraction(step_size, interval))
        return {"failure": failure, "contraction": rate, "high": float(interval.high)}

    def best(
        self, noise: Callable[[int], Sequence[float]], bias: Sequence[float]
    ) -> tuple[float, int, int]:
        """(step_size, steps, place in the sequences) of the least risk; `noise` of the steps."""
        grid = step_grid(self.curvature, self.outset.curvature)

        def risk(steps: int) -> Array:
            return np.asarray(self.risk(*grid, steps, np.array(noise(steps)), np.array(bias)))

        steps, row, column = least_risk(risk)
        return rounded(grid.step_size[row, 0], 5), steps, column

    def closed_form(self, found: Optimum, noise: Number, bias: Number, variance: Number) -> Number:
        """`Recursion.closed_form` at given settings, chance of failure and contraction."""
        cap, eta = self.cap**2, found["step_size"]
        first = self.first(eta, noise, bias)
        if found["steps"] == 1:
            return self.unit * first**2
        if found["contraction"] >= 1:
            return self.unit * cap
        lib = library(self.d, noise, variance)
        recursion = Recursion(
            found["contraction"],
            eta * lib.sqrt(variance + found["high"] * bias**2),
            eta * noise * lib.sqrt(self.d),
        )
        closed = recursion.closed_form(first, int(found["steps"]) - 1)
        return self.unit * lib.least(closed + found["failure"] * cap, cap)


def descent_upper(
    descent_at: Callable[[Point], Descent],
    schedule: Schedule,
    *,
    name: str,
    source: str,
    problem: Problem,
    privacy: Privacy | None,
    radius: Rule,
    clips: tuple[str, float],
    estimator: str,
    keywords: Callable[[Optimum], Mapping[str, Setting]],
    R: Rule | None = None,
    bias_at: Callable[[Number, Point], Number] = lambda R, point: 0.0,
) -> UpperBound:
    """The risk of a noisy descent as an upper bound; `bias_at` is that of clipping at R.

    `radius` is that of the projection, `clips` what gradients or rows are clipped to, by name.
    """
    defaults = {**problem.point, **({} if privacy is None else privacy.parameters)}

    def optimise(point: Point) -> Optimum:
        found = schedule.at(point)
        level = {} if R is None else {"R": rule_at(R, point)}
        bias = bias_at(level.get("R"), point)
        return {**level, **found, **descent_at(point).at_best_failure(**found, bias=bias)}

    def formula(point: Point, found: Optimum) -> Terms:
        descent, bias = descent_at(point), bias_at(found.get("R"), point)
        given = (found["failure"], found["step_size"], int(found["steps"]))
        total = descent.risk(*given, found["noise"], bias)
        quiet = library(total).least(descent.risk(*given, 0.0, 0.0), total)
        return Terms(quiet, total - quiet)

    def closed(point: Point, found: Optimum) -> Number:
        descent = descent_at(point)
        noise = schedule.noise_at(point, {k: found[k] for k in ("step_size", "steps")})
        bias = bias_at(None if R is None else rule_at(R, point), point)
        return descent.closed_form(found, noise, bias, descent.variance)

    def settings(point: Point, found: Optimum) -> Mapping[str, Setting]:
        taken = {"step_size": found["step_size"], "steps": int(found["steps"])}
        return {**keywords(found), "radius": rule_at(radius, point), **taken}

    bound = UpperBound(
        name=name,
        source=source,
        parameters=tuple(defaults),
        formula=formula,
        optimise=optimise,
        expression=lambda: closed(LETTERS, optimise(defaults)),
        closed_formula=closed,
        assumptions=_class_fits(radius, *clips),
        loss=problem.loss,
        defaults=defaults,
        estimator=estimator,
        settings=settings,
        zero_release_risk=problem.zero_release_risk,
        resolve=True,
        rounding=ROUNDING,
    )
    return with_remark(bound)


def one_step(
    bound: UpperBound, step_size: Callable[[Point], Number], **found: Number
) -> UpperBound:
    """A bound of one step whose settings are formulas: so is its closed form, then, in every
    parameter. `found` is what else the closed form names."""
    closed = bound.closed_formula
    assert closed is not None

    def expression() -> Expression:
        settings = {"step_size": step_size(LETTERS), "steps": 1, **found}
        written: Expression = closed(LETTERS, settings)
        return written

    return replace(
        bound,
        name=f"{bound.name}, one step",
        expression=expression,
        closed_formula=None,
        resolve=False,
        remark="",
    )


def _class_fits(radius: Rule, name: str, clip: float) -> tuple[Assumption, ...]:
    """Nothing of the class is projected or clipped."""
    return (
        Assumption(
            "coefficients within the projection's radius",
            lambda p: bool(p["radius"] <= rule_at(radius, p)),
        ),
        Assumption(f"{name} >= 1 (nothing of the class is clipped)", lambda p: clip >= 1),
    )


def truncation_levels(radius: float, sigma: float) -> list[float]:
    """The levels R among which a proven risk is minimised."""
    return [rounded(radius + sigma * z) for z in np.linspace(0, 10, 41)]


def logistic_secant(reach: Number) -> Number:
    """The least (p - 1/2)/u of a logistic chance p whose log odds u are at most `reach` in size.

    It is tanh(reach/2)/(2 reach): the slope of the chord from 0 falls, as p is concave above 0.
    """
    return library(reach).tanh(reach / 2) / (2 * reach)


def logistic_outset(n: Number, d: Number, L: float, radius: Number) -> Outset:
    """That of the logistic loss if |beta| <= radius, |x| <= 1, I/(L d) <= E x x' <= L I/d."""
    return Outset(Interval(logistic_secant(radius) / (L * d), L / (4 * d)), 1 / (4 * n))


def logistic_flatness(reach: Number) -> Number:
    """The least p (1 - p) of a logistic chance p whose log odds are at most `reach` in size."""
    rest = library(reach).exp(-reach)
    return rest / (1 + rest) ** 2
