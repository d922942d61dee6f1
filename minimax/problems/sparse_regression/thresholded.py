r"""The risk of thresholded descent for sparse regression, whatever the loss and the noise.

The class is that of `minimax.problems.sparse_regression.lower`, with s* for its sparsity and s >=
s* for that of the estimator. The errors of the iterates are followed by
`minimax.methods.recursion.Recursion`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

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
from minimax.core.symbolic import LETTERS, PRECISE, Number, library
from minimax.methods.noisy_descent import ROUNDING
from minimax.methods.recursion import (
    FAILURES,
    Interval,
    Recursion,
    chernoff_interval,
    coherence_interval,
    contraction,
    functions,
    least_after,
    subgaussian_top,
    thresholding_factor,
)
from minimax.problems.sparse_logistic.problem import SparseLogisticProblem
from minimax.problems.sparse_regression.problem import SparseRegressionProblem


def restricted_interval(point: Point, L: float, size: Number, failure: Number) -> Interval:
    """Where the eigenvalues of X'X/n on every set of `size` coordinates lie, but for a chance.

    `chernoff_interval` with |x_I|^2 <= size/s* and the union over all sets; for L = 1, where
    x_j^2 = 1/s* and the columns are uncorrelated, `coherence_interval` if it is narrower.
    """
    n, d, s_star = point["n"], point["d"], point["s"]
    population = Interval(1 / (L * s_star), L / s_star)
    sets = _log_sets(d, size)
    found = chernoff_interval(n, size, size / s_star, population, failure, sets)
    if L > 1:
        return found
    other = coherence_interval(n, d, size, 1 / s_star, failure)
    narrower = other.high - other.low < found.high - found.low
    if isinstance(narrower, np.ndarray):
        return Interval(
            np.where(narrower, other.low, found.low), np.where(narrower, other.high, found.high)
        )
    return other if narrower else found


def _log_sets(d: Number, size: Number) -> Number:
    """log of the number of sets, C(d, size) = 1/((d + 1) B(d - size + 1, size + 1))."""
    if isinstance(d, PRECISE):
        gamma = library(d).loggamma
        return gamma(d + 1) - gamma(size + 1) - gamma(d - size + 1)
    return max(-float(special.betaln(d - size + 1, size + 1)) - float(np.log(d + 1)), 0.0)


class StepTerms(NamedTuple):
    """What noise and clipping add in a step, as in `Thresholded.risk`."""

    clipped: Number
    selection: Number
    noise: Number
    missed: Number = 0.0
    """Of a private choice: `missed_rms` times the scale of its noise."""
    level: Number = 0.0
    """Of a private choice: what responses are clipped to."""

    def quiet(self) -> StepTerms:
        """Without noise, and as if nothing were clipped."""
        return StepTerms(0.0, 0.0, 0.0, level=self.level)


@dataclass(frozen=True)
class Thresholded:
    """What the risk of a thresholded descent from 0 depends on, at a point."""

    point: Point
    L: float
    s: Number
    radius: Number
    gradient_variance: Number
    """Sub-Gaussian variance of a coordinate of the gradient at beta, times n."""
    flattest: Number = 1.0
    steepest: Number = 1.0
    """The curvature of a record's loss along x is between these."""

    @property
    def size(self) -> Number:
        return min(2 * self.s + self.point["s"], self.point["d"])

    @property
    def nu(self) -> Number:
        return thresholding_factor(self.s, self.point["s"], self.point["d"])

    @property
    def unit(self) -> Number:
        return self.L / self.point["s"]

    @property
    def cap(self) -> Number:
        return self.point["radius"] + self.radius

    def curvature(self, failure: Number) -> Interval:
        low, high = restricted_interval(self.point, self.L, self.size, failure)
        return Interval(self.flattest * low, self.steepest * high)

    def gradient_rms(self, free: Number) -> Number:
        """rms(r_I) over the worst I: s* places do not depend on the data, `free` others do."""
        n, d, fixed = self.point["n"], self.point["d"], self.point["s"]
        top = fixed + subgaussian_top(free, d - fixed)
        return library(n, d, fixed).sqrt(self.gradient_variance / n * top)

    def first(self, step_size: Number, terms: StepTerms, nu: Number) -> Number | None:
        """The error after one step whatever the sample's eigenvalues, if that is known."""
        return None

    def proved(
        self, shrinking: Number, gradient: Number, terms: StepTerms, nu: Number
    ) -> tuple[Recursion, ...]:
        """The recursions of a step: |I - eta M| <= shrinking, `gradient` is eta rms(r_I)."""
        root = functions(nu).sqrt(nu)
        return (Recursion(root * shrinking, root * (gradient + terms.selection), terms.noise),)

    def risk(self, failure: Number, step_size: Number, steps: int, terms: StepTerms) -> Number:
        """The proven risk of `Recursion` at given chances of failure, numbers or arrays."""
        first = self.first(step_size, terms, self.nu)
        if steps == 1 and first is not None:
            return self.unit * first**2 + 0 * failure
        interval = self.curvature(failure)
        shrinking = contraction(step_size, interval)
        lib = functions(shrinking, *terms)
        cut = lib.sqrt(interval.high / self.steepest) * terms.clipped
        gradient = step_size * (self.gradient_rms(self.size - self.point["s"]) + cut)
        proved = self.proved(shrinking, gradient, terms, self.nu)
        m = least_after(proved, self.point["radius"], 1, self.cap)
        m = least_after(proved, m if first is None else lib.least(m, first), steps - 1, self.cap)
        total = self.unit * (m**2 + failure * self.cap**2)
        return lib.least(total, self.unit * self.cap**2)

    def at_best_failure(self, step_size: float, steps: int, terms: StepTerms) -> dict[str, float]:
        """The chance in FAILURES of least risk, and the numbers of the closed form there."""
        risks = self.risk(FAILURES, step_size, steps, terms)
        failure = float(FAILURES[int(np.argmin(risks))])
        interval = self.curvature(failure)
        return {
            "failure": failure,
            "contraction": float(contraction(step_size, interval)),
            "high": float(interval.high / self.steepest),
            "nu": float(self.nu),
            "free": float(self.size - self.point["s"]),
        }

    def closed_form(self, found: Optimum, step_size: float, steps: int, terms: StepTerms) -> Number:
        """`Recursion.closed_form` at the numbers that were found."""
        cap, first = self.cap**2, self.first(step_size, terms, found["nu"])
        if steps == 1 and first is not None:
            return self.unit * first**2
        cut = found["high"] ** 0.5 * terms.clipped
        gradient = step_size * (self.gradient_rms(found["free"]) + cut)
        proved = self.proved(found["contraction"], gradient, terms, found["nu"])
        shrinking = [recursion for recursion in proved if recursion.rate < 1]
        if not shrinking:
            return self.unit * cap
        lib = library(self.point["n"], *terms)
        closed = [recursion.closed_form(self.point["radius"], steps) for recursion in shrinking]
        return self.unit * lib.least(*(x + found["failure"] * cap for x in closed), cap)


Choice = Mapping[str, Number]
"""What an estimator takes at a point: step_size, steps, and what its noise and clipping need."""


def thresholded_upper(
    problem: SparseRegressionProblem | SparseLogisticProblem,
    privacy: Privacy | None,
    *,
    s: Rule,
    radius: Rule,
    descent_at: Callable[[Point], Thresholded],
    choose: Callable[[Point], Choice],
    terms_at: Callable[[Point, Choice], StepTerms],
    closed_terms_at: Callable[[Point, Choice], StepTerms],
    name: str,
    source: str,
    kept: tuple[Assumption, ...],
    estimator: str,
    keywords: Callable[[Point, Optimum], Mapping[str, Setting]],
) -> UpperBound:
    """The bound with the assumptions that every thresholded descent here needs.

    `choose` finds the settings at a point of floats, `terms_at` says what they add in a step, and
    `closed_terms_at` bounds that for any kind of number.
    """
    defaults = {**problem.point, **({} if privacy is None else privacy.parameters)}

    def optimise(point: Point) -> Optimum:
        chosen = choose(point)
        terms, descent = terms_at(point, chosen), descent_at(point)
        given = (chosen["step_size"], int(chosen["steps"]), terms)
        return {**chosen, **descent.at_best_failure(*given)}

    def formula(point: Point, found: Optimum) -> Terms:
        descent, steps = descent_at(point), int(found["steps"])
        given = (found["failure"], found["step_size"], steps)
        terms = terms_at(point, found)
        total = descent.risk(*given, terms)
        quiet = library(total).least(descent.risk(*given, terms.quiet()), total)
        return Terms(quiet, total - quiet)

    def closed(point: Point, found: Optimum) -> Number:
        terms = closed_terms_at(point, found)
        return descent_at(point).closed_form(found, found["step_size"], int(found["steps"]), terms)

    def settings(point: Point, found: Optimum) -> Mapping[str, Setting]:
        return keywords(point, {**found, "steps": int(found["steps"])})

    L = problem.L
    bound = UpperBound(
        name=name,
        source=source,
        parameters=tuple(defaults),
        formula=formula,
        optimise=optimise,
        expression=lambda: closed(LETTERS, optimise(defaults)),
        closed_formula=closed,
        assumptions=(
            Assumption("s* <= s <= d", lambda p: p["s"] <= rule_at(s, p) <= p["d"]),
            Assumption(
                "L = 1 or s = s* (eigenvalues are given on 3 s* coordinates)",
                lambda p: L == 1 or rule_at(s, p) == p["s"],
            ),
            Assumption(
                "coefficients within the projection's radius",
                lambda p: p["radius"] <= rule_at(radius, p),
            ),
            *kept,
        ),
        loss=problem.loss,
        defaults=defaults,
        estimator=estimator,
        settings=settings,
        zero_release_risk=problem.zero_release_risk,
        resolve=True,
        rounding=ROUNDING,
    )
    return with_remark(bound)
