r"""Upper bounds for sparse regression under local privacy: one report of one bit from each user.

The classes are those of `minimax.problems.local_regression.lower` (whole records private, s = 1)
and `minimax.problems.label_regression.lower` (labels private, f linear), here with rows uniform on
{-1, 1}^p in both. All constants are explicit; the risk is the expectation over data and reports,
for every law of the class. No protocol here needs interaction.

**The report.** A number v in [-B, B] is sent as one bit: +-M, M = B/tanh(e/2), with mean v (Duchi,
Jordan and Wainwright). The chances of a bit lie between those of randomised response, so the bits
of any two numbers are a post-processing of it, and e is what `randomised_response_epsilon` gives
for the budget. A bit is sub-Gaussian with proxy M^2 (Hoeffding's lemma).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from minimax.core.balls import Ball
from minimax.core.best import VACUOUS, Best, with_remark
from minimax.core.bound import Assumption, Optimum, Point, Terms, UpperBound, at_least
from minimax.core.calibration import Allowance, report_epsilon, report_signal
from minimax.core.claimed import HIDDEN_CONSTANT, claimed_bound
from minimax.core.loss import Loss
from minimax.core.privacy import Approximate, Privacy, Pure, ZeroConcentrated
from minimax.core.soft_cap import mean_along, proxy_along, steepness
from minimax.core.symbolic import LETTERS, Number, library
from minimax.methods.recursion import subgaussian_top
from minimax.papers import THIS_WORK
from minimax.problems.local_regression.largest_mean import worst_risk
from minimax.problems.local_regression.problem import (
    SQUARED,
    SUM,
    LocalRegressionProblem,
)

LARGEST = {SQUARED: 4.0, SUM: 2.0}
"""No estimate in the unit ball has more loss."""
POWER = {SQUARED: 2, SUM: 1}
"""Of an error, in the loss."""


def threshold_factor(p: Number, s: Number) -> Number:
    r"""E|H_s(u) - theta|^2 <= factor * v: the price of keeping the s largest of p noisy entries.

    **Statement.** u = theta + e, theta with at most s <= p entries, each e_j of mean zero and
    sub-Gaussian with proxy v, any dependence. H_s keeps the s largest |u_j|; a projection on a
    convex set that holds theta may follow. Then

        E|H_s(u) - theta|^2 <= v [(sqrt(s) + sqrt(T))^2 + T],

    T = `subgaussian_top`(min(s, p - s), p - s) <= 2 s (log(2 (p - s)/s) + 1) for p >= 2s.

    **Proof.** Let S hold the support of theta and K the kept places, |S| = |K| = s, and match S\K
    with K\S one to one. For j in S\K and its match k, |u_j| <= |u_k| = |e_k|, so
    |theta_j| <= |e_j| + |e_k|. With a_j = e_j on S, b_j = e_k on S\K and else 0, the loss is at
    most

        sum_S (|a_j| + |b_j|)^2 + |b|^2 <= (|a| + |b|)^2 + |b|^2.

    E|a|^2 <= s v, and |b|^2 is at most the sum of the min(s, p - s) largest e_k^2 off S, so
    E|b|^2 <= v T. Then Minkowski's inequality. A projection brings no point farther from theta.

    **Constants.** At p = 20, s = 1 the factor is 25.6 (5 max_j e_j^2 would give 46.9). For large p
    it is about 2T: a theta_j that is just below the largest of the other errors is lost, and
    something of that size is kept for it.
    """
    lib = library(p, s)
    top = lib.choose(p <= s, lambda: 0 * p, lambda: subgaussian_top(lib.least(s, p - s), p - s))
    return thresholded_loss(s, top)


def thresholded_loss(own: Number, top: Number) -> Number:
    """(sqrt(own) + sqrt(top))^2 + top of `threshold_factor`: `own` bounds E|e_S|^2, `top` that of
    the largest errors off S."""
    lib = library(own, top)
    return (lib.sqrt(own) + lib.sqrt(top)) ** 2 + top


def sum_factor(p: Number) -> Number:
    r"""E|sum_j (H_1(u) - theta)_j| <= factor * sqrt(v), as in `threshold_factor` with s = 1.

    **Statement.** 1 + 2 sqrt(2 log(2 (p - 1))); 1 for p = 1.

    **Proof.** With the right place kept the error is |e_j|; else it is at most |theta_j| + |e_k| <=
    |e_j| + 2 |e_k|. E|e_j| <= sqrt(v), and E max_k |e_k| <= sqrt(2 v log(2 (p - 1))).
    """
    lib = library(p)
    return 1 + lib.choose(p <= 1, lambda: 0 * p, lambda: 2 * lib.sqrt(2 * lib.log(2 * (p - 1))))


def factor_of_proxy(loss: Loss, p: Number) -> Number:
    """The risk over v or sqrt v, for errors of mean zero that have the proxy v."""
    return sum_factor(p) if loss is SUM else threshold_factor(p, 1)


def report_at(privacy: Privacy) -> Callable[[Point], Optimum]:
    """What the one-bit report is calibrated to at a point: e of `randomised_response_epsilon`."""
    model = type(privacy)
    return lambda point: {"report_epsilon": report_epsilon(Allowance(model, point))}


def reach(bound: Number, found: Optimum) -> Number:
    """M = B/tanh(e/2): what a bit stands for."""
    lib = library(bound)
    return bound / lib.tanh((0 * bound + found["report_epsilon"]) / 2)


def one_shot_upper(problem: LocalRegressionProblem, privacy: Privacy) -> UpperBound:
    r"""Risk of OneShotThreshold: a bit on one coordinate from each user, then the largest kept.

    **Protocol.** User i reports y x_j, j = i mod p, clipped to [-B, B], B = 1 + C, as one bit. u_j
    is the mean of the reports on j. The estimate is u_j, clipped to [-1, 1], where |u_j| is
    largest, and 0 elsewhere.

    **Statement.** With v = M^2/floor(n/p), M = B/tanh(e/2), e of `randomised_response_epsilon`:
    E|estimate - theta|^2 <= v min{`worst_risk`, `threshold_factor`(p, 1)}, and
    E|sum_j (estimate - theta)_j| <= sqrt(v) min{`worst_risk`, `sum_factor`(p)}; never more than 4
    and 2, as both are in the unit ball.

    **Assumptions.** n >= p: every coordinate is reported.

    **Proof.** |y| <= |theta_j| + C <= B, so nothing is clipped; E y x_j = theta_j as the noise has
    mean zero given x and E x x' = I. Whatever the noise, a report on j is a sign of mean theta_j/M,
    times M: u is what `minimax.problems.local_regression.largest_mean` is about. Reports lie in
    [-M, M], so by Hoeffding's lemma u_j - theta_j has the proxy v. Clipping to [-1, 1] projects.

    **Constants.** Closed form: the two factors, and floor(n/p) >= (n - p + 1)/p; about
    4 B^2 p log(p)/(n tanh(e/2)^2) for large p, the rate of WX21: Theorem 1. `worst_risk` is 2.0,
    6.7, 17 and 39 at p = 2, 20, 1000 and 10^6 (the exact worst risks are 1.8, 5.8 and 15 for the
    first three), the factor 5.0, 25.6, 43.7 and 74.2: at n = 10^6, p = 20, C = 2, eps = .5 the
    value is .020, 9.2 times the lower bound. Under zCDP coth(e/2)^2 <= 1 + 2/rho: one bit is never
    worse than Gaussian noise. Under mu-GDP with small mu it is, with 2 pi/mu^2 for 4/mu^2.

    **Source.** the one-bit report is that of Duchi, Jordan and Wainwright (2018).
    """
    loss, defaults = problem.loss, {**problem.point, **privacy.parameters}
    power = POWER[loss]

    def formula(point: Point, found: Optimum) -> Terms:
        M, p = reach(1 + point["C"], found), int(point["p"])
        each, more = divmod(int(point["n"]), p)
        lib, units = library(M), factor_of_proxy(loss, point["p"])
        if not isinstance(M, Ball):  # floats of exact laws: no ball holds them
            largest = math.sqrt(each) / float(M)  # |theta| <= 1, in standard deviations
            units = lib.least(worst_risk(p, each, more > 0, power, largest), units)
        risk = (M / lib.sqrt(each)) ** power * units
        return Terms(None, lib.least(risk, LARGEST[loss]))

    def expression() -> Number:
        n, p = LETTERS["n"], LETTERS["p"]
        M = (1 + LETTERS["C"]) / report_signal(Allowance(type(privacy), LETTERS))
        return (M * library(n).sqrt(p / (n - p + 1))) ** power * factor_of_proxy(loss, p)

    bound = UpperBound(
        name="one-shot thresholding" + (", sum of errors" if loss is SUM else ""),
        source=f"{THIS_WORK}: local_upper.one_shot_upper",
        parameters=tuple(defaults),
        formula=formula,
        optimise=report_at(privacy),
        expression=expression,
        assumptions=(
            Assumption("n >= p (every coordinate is reported)", lambda at: at["n"] >= at["p"]),
        ),
        loss=loss,
        defaults=defaults,
        estimator="OneShotThreshold",
        settings=lambda point, found: {"C": point["C"], "report": "coordinate"},
        zero_release_risk=problem.zero_release_risk,
    )
    return with_remark(bound)


def soft_cap_upper(problem: LocalRegressionProblem, privacy: Privacy) -> UpperBound:
    r"""Risk of OneShotThreshold with soft caps: all of y x from each user, under rho-zCDP.

    **Protocol.** User i reports y x, y clipped to [-B, B], B = 1 + C, as a vector of norm at most
    B sqrt p, through the soft cap (`minimax.core.soft_cap`). u is the mean of the reports, and the
    estimate is that of `one_shot_upper`.

    **Statement.** With v = (B/mu)^2 (p + V - 1)/n, k mu = rho and V of `proxy_along`:
    E|estimate - theta|^2 <= v `threshold_factor`(p, 1), and
    E|sum_j (estimate - theta)_j| <= sqrt(v) `sum_factor`(p); never more than 4 and 2.

    **Proof.** |y| <= B, so nothing is clipped and E u = E y x = theta. y x is put on the sphere of
    radius B sqrt p at a corner of a cube (with a fair coin if y = 0), so by `coordinate_proxy` a
    coordinate of a report has the proxy (B sqrt(p)/mu)^2 (1 + (V - 1)/p); reports are independent.
    The factors hold for any dependence between the coordinates. A second moment alone,
    (B/mu)^2 (p - 1 + E x^2)/n, would not do: the largest of p errors is not bounded by it.

    **Constants.** Closed form: mu^2 >= rho/2 and k^2 <= 2 rho. A report's second moment is less
    than that of one bit on one coordinate, in the same units, by 1.20 at rho = .1, 1.83 at 1 and
    3.2 at 3 for many features; but the laws of bits are known exactly, and from them
    `one_shot_upper` proves a factor of 6.7 at p = 20 where 25.6 is proved here. So this is the
    smaller one for large rho alone: above 5.1 at p = 20, above 2.1 at p = 1000.
    """
    if not isinstance(privacy, ZeroConcentrated):
        raise TypeError(f"privacy must be ZeroConcentrated, got {privacy!r}")
    loss, defaults = problem.loss, {**problem.point, **privacy.parameters}
    power = POWER[loss]

    def formula(point: Point, found: Optimum) -> Terms:
        B, p, n = 1 + point["C"], point["p"], point["n"]
        k = 0 * B + found["k"]
        lib = library(B, p, n)
        root = B / mean_along(k) * lib.sqrt((p - 1 + proxy_along(k)) / n)
        return Terms(None, lib.least(root**power * factor_of_proxy(loss, p), LARGEST[loss]))

    def expression() -> Number:
        n, p, rho = LETTERS["n"], LETTERS["p"], LETTERS["rho"]
        sqrt = library(n).sqrt
        root = (1 + LETTERS["C"]) * sqrt(2 * (p - 1 + proxy_along(sqrt(2 * rho))) / (rho * n))
        return root**power * factor_of_proxy(loss, p)

    bound = UpperBound(
        name="one-shot thresholding of soft caps" + (", sum of errors" if loss is SUM else ""),
        source=f"{THIS_WORK}: local_upper.soft_cap_upper",
        parameters=tuple(defaults),
        formula=formula,
        optimise=lambda point: {"k": steepness(float(point["rho"]))},
        expression=expression,
        loss=loss,
        defaults=defaults,
        estimator="OneShotThreshold",
        settings=lambda point, found: {"C": point["C"], "report": "softcap"},
        zero_release_risk=problem.zero_release_risk,
        resolve=True,
    )
    return with_remark(bound)


def non_interactive_bounds(problem: LocalRegressionProblem, privacy: Privacy) -> list[UpperBound]:
    """What is proved of one report from each user."""
    bounds = [one_shot_upper(problem, privacy)]
    return bounds + (
        [soft_cap_upper(problem, privacy)] if type(privacy) is ZeroConcentrated else []
    )


def best_of_local(problem: LocalRegressionProblem, bound: UpperBound, note: str) -> Best:
    """What a bound proves, or releasing 0. The class has the estimator's settings."""
    if bound.broken() or bound.is_vacuous():
        return Best(problem.zero_release_risk(), note=VACUOUS)
    return Best(bound.value(), bound.estimator, note=note, bound=bound)


def best_upper(problem: LocalRegressionProblem, privacy: Privacy) -> Best:
    """OneShotThreshold, or releasing 0."""
    notes = ("one bit on one coordinate per user", "a soft cap of all coordinates per user")
    found = [
        best_of_local(problem, bound, f"non-interactive, {note}")
        for bound, note in zip(non_interactive_bounds(problem, privacy), notes, strict=False)
    ]
    return min(found, key=lambda best: best.risk)


NO_MEAN = (
    "the printed class lacks E[noise | x] = 0, without which theta = 0 and theta = min(1, C) e_1 "
    "can have the same data"
)


def claimed_wx19_theorem_1(*, interaction: bool = False) -> UpperBound:
    """The upper half of WX19: Theorem 1, which WX21 does not repeat: min{1, p log p/(n eps^2)} for
    non-interactive (epsilon, delta) reports."""

    def rate(at: Point) -> Terms:
        lib = library(at["p"])
        size = at["p"] * lib.log(at["p"]) / (at["n"] * at["epsilon"] ** 2)
        return Terms(None, lib.least(1, size))

    return claimed_bound(
        UpperBound,
        "claimed rate of Theorem 1's upper half",
        "WX19: Theorem 1",
        ("n", "p", "C", "epsilon", "delta"),
        rate,
        assumptions=(
            Assumption("C <= 2 (the paper's class has C = 2)", lambda at: at["C"] <= 2),
            Assumption("epsilon <= 1/2", lambda at: at["epsilon"] <= 0.5),
            Assumption("non-interactive reports", lambda at: not interaction),
            at_least("p", 2),
        ),
        loss=SQUARED,
        remark=(
            f"{HIDDEN_CONSTANT}; {NO_MEAN}; with it a pure budget is enough (OneShotThreshold), but"
            " no probability of 1 - exp(-c p) is possible as delta falls"
        ),
    )


def claimed_record_bounds(privacy: Privacy, *, interaction: bool) -> list[UpperBound]:
    """What is claimed for s = 1: WX21: Theorems 5 and 9 (f(x) = x), sequentially interactive and
    pure; WX19: Theorem 1, non-interactive and (epsilon, delta)."""
    if isinstance(privacy, Approximate):
        return [claimed_wx19_theorem_1(interaction=interaction)]
    if not isinstance(privacy, Pure):
        return []

    def rate(at: Point) -> Number:
        log = library(at["n"]).log
        return at["p"] * log(at["p"]) * log(at["n"]) / (at["n"] * at["epsilon"] ** 2)

    regime = (
        Assumption("sequentially interactive reports", lambda at: interaction),
        Assumption(
            "n/log n >= p log(p)/epsilon^2",
            lambda at: (
                at["n"] * at["epsilon"] * at["epsilon"]
                >= at["p"] * math.log(at["p"]) * math.log(at["n"])
            ),
        ),
    )
    return [
        claimed_in_the_ball(
            "5",
            ("n", "p", "C", "epsilon"),
            lambda at: at["C"] ** 2 * rate(at),
            regime,
            "its gap to Theorem 2 is log(p) log(n), not the sqrt(log p) stated; the printed "
            "randomiser needs gradients of size at most r, which are not clipped",
        ),
        claimed_in_the_ball(
            "9", ("n", "p", "epsilon"), rate, regime, f"printed without C; {NO_MEAN}"
        ),
    ]


def claimed_in_the_ball(
    theorem: str,
    parameters: tuple[str, ...],
    rate: Callable[[Point], Number],
    assumptions: tuple[Assumption, ...],
    remark: str,
) -> UpperBound:
    """At most 4: the paper's estimates are projected on the unit ball."""

    def capped(at: Point) -> Terms:
        found = rate(at)
        return Terms(None, library(found).least(4, found))

    return claimed_bound(
        UpperBound,
        f"claimed rate of Theorem {theorem}",
        f"WX21: Theorem {theorem}",
        parameters,
        capped,
        assumptions=assumptions,
        loss=SQUARED,
        remark=f"{HIDDEN_CONSTANT}; {remark}",
    )
