r"""Upper bounds for logistic regression by a planned descent: few phases, each worth its budget.

A logistic gradient is bounded whatever the record, so nothing is clipped, and replacing a record
moves their average less than the largest gradient says: `minimax.core.logistic_gradient`. What is
left to choose is how the budget is divided over the gradients and how far each moves the estimate.
Both are found by minimising the recursion that is also what is proved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minimax.core.best import with_remark
from minimax.core.bound import Assumption, Optimum, Point, Terms, UpperBound
from minimax.core.calibration import Allowance, ball_noise_variance, part_of_budget
from minimax.core.logistic_gradient import logistic_half_width
from minimax.core.privacy import Approximate, Privacy, Pure
from minimax.core.symbolic import LETTERS, Expression, Number, library, lift
from minimax.methods.noisy_descent import ROUNDING, logistic_flatness, logistic_outset
from minimax.methods.recursion import (
    FAILURES,
    Interval,
    chernoff_interval,
    contraction,
    functions,
    hypot,
    rounded,
)
from minimax.papers import THIS_WORK
from minimax.problems.logistic.problem import LogisticProblem

Array = NDArray[np.float64]


class Phase(NamedTuple):
    """One noisy gradient and the step along it."""

    share: float
    """Its part of mu^2 (or rho), or of epsilon if the noise is that of a pure budget."""
    step_size: float
    half_width: float
    """Replacing a record moves the averaged gradient by at most 2 half_width/n, and by less where
    the iterate is shorter than it may be."""


class Plan(NamedTuple):
    """What a fit will do: a function of public numbers."""

    pure: bool
    """Whether the noise is that of a pure budget."""
    strength: float
    """epsilon if it is, else mu."""
    phases: tuple[Phase, ...]
    distance: float
    """What the recursion expects the root mean square error to be."""

    def budget(self, phase: Phase) -> Allowance:
        """What a phase spends."""
        return part_of_budget(self.pure, self.strength, phase.share)


class Slopes(NamedTuple):
    """What is known of a loss whose slope in <x, b> is bounded, where rows have length one."""

    first: float
    """Half of how far apart two records' gradients can be at the start."""
    later: float
    """The same anywhere in the ball."""
    error: float
    """About the root mean square of a record's gradient at beta."""
    flattest: float
    """The average curvature that a plan counts on."""
    steepest: float
    """A bound on the curvature."""


class Setting(NamedTuple):
    """The public numbers that a plan is made of, in units in which rows have length one."""

    n: float
    d: float
    radius: float
    """Bound on |beta| and on the iterates."""
    reach: float
    """About how large |<x, beta>| is: the curvature there is what the plan counts on."""
    start: float = 0.0
    """Norm of the first iterate."""
    loss: Slopes | None = None
    """None: those of the logistic loss."""

    @property
    def slopes(self) -> Slopes:
        """Those of the loss."""
        if self.loss is not None:
            return self.loss
        first, later = (logistic_half_width(b) for b in (self.start, self.radius))
        return Slopes(first, later, 0.5, logistic_flatness(min(self.reach, LARGEST_REACH)), 0.25)


# --- The recursion --------------------------------------------------------------------------------


def moved(
    k: int, distance: Number, rate: Number, step: Number, error: Number, noise: Number
) -> Number:
    """The root mean square distance after phase k (from 0): `planned_logistic_upper`.

    `error` is the root mean square of the gradient at beta, `noise` that of the noise.
    """
    if k == 0:
        return hypot(rate * distance, step * hypot(error, noise))
    return hypot(rate * distance + step * error, step * noise)


def noise_length(
    budget: Allowance, n: Number, d: Number, half_width: Number, largest: Number = math.inf
) -> Number:
    """The root mean square length of the noise on an averaged gradient."""
    variance = ball_noise_variance(budget, n, d, half_width)
    lib = functions(variance, n, d)
    return lib.least(lib.sqrt(d * variance), largest)


def planned_logistic_upper(
    problem: LogisticProblem,
    privacy: Privacy,
    *,
    radius: float | None = None,
    reach: float | None = None,
) -> UpperBound:
    r"""Risk of a planned descent on the logistic loss.

    **Statement.** b_0 = 0, b_{k+1} = Proj(b_k - eta_k (g(b_k) + w_k)), g the averaged gradient, w_k
    noise with E w_k = 0 and E|w_k|^2 <= tau_k^2 whatever the data and the past, Proj
    on the ball of `radius` c0 >= a, a that of the class. But for a chance `failure` of the rows the
    eigenvalues of (1/n) sum x_i x_i' lie in [l, h] (`chernoff_interval`); let q_k be the largest
    |1 - eta_k t| over [f l, h/4], f = e^c0/(1 + e^c0)^2, but q_0 that over [g/d, 1/(4d)],
    g = tanh(a/2)/(2a), and r = 1/(2 sqrt n). Then R <= (m_T^2 + 1{T > 1} failure (a + c0)^2)/d,
    where

        m_1^2 = q_0^2 a^2 + eta_0^2 (r^2 + tau_0^2),
        m_{k+1}^2 = (q_k m_k + eta_k r)^2 + eta_k^2 tau_k^2.

    **Proof.** m_1 is that of `minimax.problems.logistic.upper.noisy_logistic_upper`, by the chord
    of the logistic function from 0. Then, given the rows: g(b) - g(beta) = M (b - beta), M =
    (1/n) sum v_i x_i x_i' with v_i a mean of p (1 - p) between <x_i, beta> and <x_i, b>; both are
    at most c0 in size, so f <= v_i <= 1/4. g(beta) is an average of independent centred vectors
    (p_i - y_i) x_i, so that E|g(beta)|^2 <= r^2. The rest is `Recursion` (descent) of
    `minimax.methods.recursion`. In a rare case |b_T - beta| <= a + c0.

    **Privacy.** A record moves g(b_k) by at most 2 w/n, w = `logistic_half_width`(|b_k|): 1/n at
    b_0, and at most 2 w(c0)/n later. The phases have shares of mu^2 (Gaussian noise), or of epsilon
    (noise of density e^{-c|z|}); an (epsilon, delta) budget is spent in the way that promises less.

    **Constants.** Where beta is small, f = 1/4 and w = 1/2, and for T = 1 the privacy term is
    8 d^2/(rho n^2) under zCDP, which is the lower bound. The plan counts on the curvature at
    `reach`, by default `typical_reach`, the root mean square of <x, beta> in the class if
    |beta| = c0; the proof on that at c0.

    **Source.** this toolkit; the loss and the class are those of WG19: Corollary 5.8.
    """
    c0 = problem.radius if radius is None else radius
    model, budget = type(privacy), privacy.parameters
    defaults = {**problem.point, **budget}

    def optimise(at: Point) -> Optimum:
        found = _as_optimum(best_plan(_setting(at, c0, reach), Allowance(model, at)))
        return {**found, "failure": _best_failure(at, c0, found)}

    def formula(at: Point, found: Optimum) -> Terms:
        rates = _rates(at, c0, found)
        total, quiet = (_risk(at, c0, found, rates, noisy=noisy) for noisy in (True, False))
        quiet = library(total).least(quiet, total)
        return Terms(quiet, total - quiet)

    def expression() -> Expression:
        found = optimise(defaults)
        strength = LETTERS["epsilon"] if found["pure"] else Allowance(model, LETTERS).mu()
        rates = _rates(defaults, c0, found)
        return _risk(LETTERS, c0, {**found, "strength": strength}, rates)

    bound = UpperBound(
        name="planned descent, logistic loss",
        source=f"{THIS_WORK}: planned_logistic_upper (for WG19: Corollary 5.8)",
        parameters=tuple(defaults),
        formula=formula,
        optimise=optimise,
        expression=expression,
        closed_formula=lambda at, found: formula(at, found).total,
        assumptions=(
            Assumption("L = 1", lambda p: problem.L == 1),
            Assumption("coefficients within the projection's radius", lambda p: p["radius"] <= c0),
        ),
        loss=problem.loss,
        defaults=defaults,
        estimator="PlannedLogisticRegression",
        settings=lambda at, found: {
            "radius": c0,
            "row_bound": 1.0,
            **({} if reach is None else {"reach": reach}),
        },
        zero_release_risk=problem.zero_release_risk,
        resolve=True,
        rounding=ROUNDING,
    )
    return with_remark(bound)


def _risk(
    at: Point, c0: float, found: Optimum, rates: Iterable[Number], *, noisy: bool = True
) -> Number:
    """The statement at given contractions q_k."""
    n, d = at["n"], at["d"]
    lib = library(n, d)
    cap = at["radius"] + lift(c0, n)
    distance, error = at["radius"], 1 / (2 * lib.sqrt(n))
    for k, (phase, rate) in enumerate(zip(_phases(found, n), rates, strict=True)):
        spent = part_of_budget(bool(found["pure"]), lift(found["strength"], n), phase.share)
        width = logistic_half_width(lift(c0 if k else 0.0, n))
        noise = noise_length(spent, n, d, width) if noisy else 0 * n
        distance = lib.least(moved(k, distance, rate, phase.step_size, error, noise), cap)
    fails = lift(found["failure"], n) if found["phases"] > 1 else 0 * n
    risk = distance**2 + fails * cap**2
    return lib.least(risk, cap**2) / d


def _rates(at: Point, c0: float, found: Optimum, failure: Number | None = None) -> list[Number]:
    """The contraction of each phase, but for a chance `failure` (an array, or the one found)."""
    n, d = at["n"], at["d"]
    chance = lift(found["failure"], n) if failure is None else failure
    low, high = chernoff_interval(n, d, 1.0, Interval(1 / d, 1 / d), chance)
    outset = logistic_outset(n, d, 1.0, at["radius"]).curvature
    first = Interval(outset.low + 0 * low, outset.high + 0 * high)  # an array if they are
    later = Interval(logistic_flatness(lift(c0, n)) * low, high / 4)
    phases = enumerate(_phases(found, n))
    return [contraction(phase.step_size, later if k else first) for k, phase in phases]


def _best_failure(at: Point, c0: float, found: Optimum) -> float:
    """The chance in FAILURES of the least proven risk."""
    rates = np.array(_rates(at, c0, found, FAILURES)).T
    risks = [
        _risk(at, c0, {**found, "failure": float(failure)}, row.tolist())
        for failure, row in zip(FAILURES, rates, strict=True)
    ]
    return float(FAILURES[int(np.argmin(risks))])


def _as_optimum(plan: Plan) -> dict[str, float]:
    named = {"pure": float(plan.pure), "strength": plan.strength, "phases": len(plan.phases)}
    for k, phase in enumerate(plan.phases):
        named |= {f"share_{k}": phase.share, f"step_{k}": phase.step_size}
    return named


class _Lifted(NamedTuple):
    share: Number
    step_size: Number


def _phases(found: Optimum, like: Number) -> list[_Lifted]:
    return [
        _Lifted(lift(found[f"share_{k}"], like), lift(found[f"step_{k}"], like))
        for k in range(int(found["phases"]))
    ]


# --- The plan -------------------------------------------------------------------------------------

RATIOS: Array = np.geomspace(0.02, 1.0, 28)
"""Of the share of a phase to that of the next."""
MOST_PHASES = 24
WORTHWHILE = 0.99
"""One more phase, which is one more pass over the data, must lower the distance to this part."""
PATIENCE = 3
"""After so many phases more without a gain the search ends."""
LARGEST_REACH = 30.0
"""The curvature beyond, of 1e-13, is no guide to a step."""
LONGEST_NOISE = 1e100
"""Its square is a float."""


def best_plan(setting: Setting, privacy: Allowance) -> Plan:
    """The plan of least expected distance; of both kinds of noise for (epsilon, delta)."""
    numbers = {name: float(value) for name, value in privacy.numbers.items()}
    budget = Allowance(privacy.model, numbers)
    ways = []
    if privacy.model in (Pure, Approximate):
        ways.append(_search(setting, True, float(budget.epsilon)))
    if privacy.model is not Pure:
        ways.append(_search(setting, False, float(budget.mu())))
    return min(ways, key=lambda plan: plan.distance)


def _setting(at: Point, c0: float, reach: float | None) -> Setting:
    n, d = float(at["n"]), float(at["d"])
    return Setting(n, d, c0, typical_reach(c0, d) if reach is None else reach)


LIKELY_REACH = 2.5
"""Where |<x, beta>| is larger, most labels are certain to 92 %: a plan does not count on that."""


def typical_reach(radius: float, d: float) -> float:
    """The root mean square of <x, beta> for |beta| = radius and E x x' = I/d, up to
    LIKELY_REACH."""
    return min(radius / math.sqrt(d), LIKELY_REACH)


def expected_curvature(setting: Setting) -> Interval:
    """Where the curvature is expected: between the flattest and the steepest, over d, with the
    spread of a sample of n records, (1 -+ sqrt(d/n))^2, from 1/4 on."""
    r, slopes = math.sqrt(setting.d / setting.n), setting.slopes
    low, high = slopes.flattest * max(1 - r, 0.5) ** 2, slopes.steepest * (1 + r) ** 2
    return Interval(low / setting.d, high / setting.d)


@lru_cache(maxsize=4096)
def _search(setting: Setting, pure: bool, strength: float) -> Plan:
    """As many phases as pay, with shares in the best of RATIOS."""
    best, since = None, 0
    for count in range(1, MOST_PHASES + 1):
        plan = _with_phases(setting, pure, strength, count)
        since += 1
        if best is None or plan.distance < WORTHWHILE * best.distance:
            best, since = plan, 0
        if since == PATIENCE:
            break
    assert best is not None
    return best


def _with_phases(setting: Setting, pure: bool, strength: float, count: int) -> Plan:
    """The best ratio of shares for so many phases, each with the step that is best next.

    That is best for the last, too: the recursion grows with the distance.
    """
    ratios = RATIOS if count > 1 else RATIOS[-1:]
    powers = ratios ** np.arange(count - 1, -1, -1)[:, None]
    shares = powers / powers.sum(axis=0)
    slopes, curvature = setting.slopes, expected_curvature(setting)
    error = slopes.error / math.sqrt(setting.n)
    distance = np.full(len(ratios), setting.radius + setting.start)
    widths = [slopes.first, *[slopes.later] * count]
    steps = []
    for k in range(count):
        spent = part_of_budget(pure, strength, shares[k])
        noise = noise_length(spent, setting.n, setting.d, widths[k], LONGEST_NOISE)
        step = _best_step(k, distance, curvature, error, noise)
        distance = moved(k, distance, contraction(step, curvature), step, error, noise)
        steps.append(step)
    column = int(np.argmin(distance))
    phases = [
        Phase(float(share[column]), rounded(float(step[column])), width)
        for share, step, width in zip(shares, steps, widths[:count], strict=True)
    ]
    return Plan(pure, strength, tuple(phases), float(distance[column]))


def _best_step(k: int, distance: Array, curvature: Interval, error: float, noise: Array) -> Array:
    """The eta at which `moved` is least.

    Up to 2/(l + h) the contraction is 1 - eta l, beyond it grows; below, the square is a quadratic
    function of eta.
    """
    pull = curvature.low * distance - (error if k else 0.0)
    spread = noise**2 if k else noise**2 + error**2
    step = distance * np.maximum(pull, 0.0) / (pull**2 + spread)
    return np.asarray(np.minimum(step, 2 / (curvature.low + curvature.high)))
