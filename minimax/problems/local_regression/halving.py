r"""Sparse regression from locally private records with interaction: the risk has no log p.

WX21 leaves a gap between its Theorem 1 (non-interactive, p log(p)/(n eps^2)) and Theorem 2
(sequentially interactive, p/(n eps^2)), and conjectures in Remark 1 that Theorem 2 is not tight. It
is: `halving_upper` is the proof. The class and the one-bit report are those of
`minimax.problems.local_regression.upper`.

The proof of `halving_upper`, in its notation; j is the true coordinate
-----------------------------------------------------------------------
*Reports.* Let 0 <= theta_j = theta. If theta <= t, |y| <= C + t, so nothing is clipped, and
E y x_k = theta_k: whatever the noise, a report on k is a sign of mean tau_k = theta_k/M_t, times
M_t, and all are independent. Rounds have different users, so each sees fresh fair signs for all
candidates but j.

*Selection.* Round r loses j only if p_{r+1} >= p_r/4 others have |S_k| >= |S_j|, that is
S_k >= S_j or -S_k >= S_j. With tau = min(theta, t)/M_t, S_j -+ S_k has mean at least tau m_r and
2 m_r terms in [-1, 1]: by Hoeffding's lemma P(|S_k| >= |S_j|) <= 2 e^{-tau^2 m_r/4}, and by
Markov's inequality

    P(lost in round r) <= 8 e^{-tau^2 m_r/4}.

For theta > t the mean is at least that because clip(y) x_j = clip(theta + noise x_j) >=
clip(t + noise x_j) = t + noise x_j, so g(x) = E[clip(y) x_j|x] >= t, and E clip(y) (x_j -+ x_k) =
E g(x) (1 -+ x_j x_k) >= t. (The noise may depend on x_k, so the others need not be fair then.)

With x = tau^2 m, m_r = 2^r m: P(fail) <= f(x) = 8 sum_r e^{-2^r x/4}. x f(x) falls for x >= 4,
and f(9) < .94. So x P(fail) <= 9 for all x, and sqrt(x) P(fail) <= 3. The p others cost one
factor 4 per round, and m_r doubles: this is where log p goes.

*Value.* Given who is left, the estimate has mean theta_k and variance at most M^2/l, clipping
brings it nearer to theta_k in [-1, 1], and if k is not j the loss has theta_j^2 more (|theta_j|
for the sum). So the risk is at most theta^2 P(fail) + M^2/l. For theta <= t, theta = M_t tau; for
larger theta the first term is at most f(t^2 m/M_t^2), which `selection_reach` keeps below M_t^2/m.

*Users.* p_r - 1 <= (p - 1)/4^r and there are rounds with 2^R <= 2 sqrt(p - 1), so
K <= 2p + 2 sqrt p - 3, sqrt K <= sqrt 2 (sqrt p + 1/2), K + sqrt K <= k = 2p + 3.5 sqrt p,
1/m <= k/(n - k) and 1/l <= (1 + sqrt K)/n <= 3.2 sqrt(p)/n; 9 k + 3.2 sqrt p <= 18 p +
35 sqrt p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from minimax.core.balls import Ball
from minimax.core.best import Best, with_remark
from minimax.core.bound import Assumption, Optimum, Point, Terms, UpperBound
from minimax.core.calibration import Allowance, report_signal
from minimax.core.privacy import Privacy
from minimax.core.symbolic import LETTERS, Number, approximately, library
from minimax.papers import THIS_WORK
from minimax.problems.local_regression.problem import (
    SUM,
    LocalRegressionProblem,
)
from minimax.problems.local_regression.upper import (
    LARGEST,
    best_of_local,
    best_upper,
    reach,
    report_at,
)

Array = NDArray[np.float64]
KEEP = 4
"""One candidate of so many is kept in a round."""
REACH = 9.0
"""x P(the coordinate is lost) <= REACH for every x = tau^2 m; see `halving_upper`."""
SIZES: Array = np.geomspace(0.5, 45.0, 70)
"""tau^2 m between the cells over which the worst size is sought."""
LEVELS: Array = np.arange(1, 56) / 10
"""Levels of |sum| in standard deviations, between which the coordinate's own sum may lie."""
NEGLIGIBLE = 1e-9
"""A chance that need not be known better than by its exponential bound."""
ROUNDING = 1e-6
"""Relative error of the incomplete beta functions, with room to spare."""


@dataclass(frozen=True)
class Rounds:
    """Who is asked what: public, and known before any report."""

    candidates: tuple[int, ...]
    """How many coordinates are asked about in each round, the last of which has one."""
    users: tuple[int, ...]
    """How many users are asked about each of them."""


def rounds(n: int, p: int) -> Rounds:
    r"""The rounds for n users and p coordinates; every user is asked once.

    p_0 = p and p_{r+1} = ceil(p_r/4), until one is left. With K = sum_r 2^r p_r over the rounds
    before, m = floor(n/(K + sqrt K)) and round r asks 2^r m users about each of its p_r candidates:
    about half as many users in every round. All others estimate: n - K m >= n/(1 + sqrt K).
    """
    candidates = [p]
    while candidates[-1] > 1:
        candidates.append(-(-candidates[-1] // KEEP))
    K = sum(size << r for r, size in enumerate(candidates[:-1]))
    m = int(n / (K + math.sqrt(K))) if K else 0
    asked = [m << r for r in range(len(candidates) - 1)]
    return Rounds(tuple(candidates), (*asked, n - K * m))


def union_bound(x: Array) -> Array:
    """8 e^{-x/4}: a bound on the chance that a coordinate with tau^2 users = x is lost."""
    return np.asarray(np.minimum(1.0, 2 * KEEP * np.exp(-np.asarray(x) / 4)))


def lost(tau: Array, users: int, candidates: int, kept: int) -> Array:
    r"""P(the coordinate is lost in a round), from above, for signs of mean tau.

    **Statement.** S is a sum of `users` signs of mean tau, and each of `candidates` - 1 others a
    sum of fair ones. The coordinate is lost only if `kept` of the others have |S_k| >= |S|. Given
    |S| their number is binomial, and it falls with |S|: |S| between two levels is taken for the
    lower one. Falls in tau, as the law of |S| has a likelihood ratio increasing in |S|.
    """
    heads = np.unique(np.ceil((users + LEVELS * math.sqrt(users)) / 2))
    heads = heads[heads <= users]

    def above(mean: Array) -> Array:
        """P(|S| >= 2 heads - users), two tails."""
        up, down = (
            special.betainc(heads, users - heads + 1, (1 + s * mean[:, None]) / 2) for s in (1, -1)
        )
        return np.asarray(np.minimum(up + down, 1.0))

    others = above(np.zeros(1))[0]
    beaten = np.append(1.0, special.betainc(kept, candidates - kept, others))
    own = np.pad(above(tau), ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0)))
    return np.asarray(-np.diff(own, axis=1) @ beaten)


def failure(tau: Array, plan: Rounds) -> Array:
    """P(another coordinate is left at the end), from above, for signs of mean tau >= 0."""
    survives = np.ones(len(tau))
    for r, users in enumerate(plan.users[:-1]):
        chance = union_bound(tau**2 * users)
        unsure = chance > NEGLIGIBLE
        if unsure.any():
            exact = lost(tau[unsure], users, plan.candidates[r], plan.candidates[r + 1])
            chance[unsure] = np.minimum(chance[unsure], exact)
        survives *= 1 - chance
    return np.asarray(1 - survives)


@lru_cache(maxsize=1024)
def worst_loss(plan: Rounds, M: float, power: int, largest: float = 1.0) -> float:
    """sup over |theta| <= largest of |theta|^power P(fail), tau = theta/M, from above.

    P(fail) falls in theta, so in a cell it is at most its value at the lower end; beyond the last
    cell theta^power times the union bound falls.
    """
    if len(plan.users) == 1:
        return 0.0
    tau = np.sqrt(SIZES / plan.users[0])
    tau = tau[tau * M < largest]
    if not len(tau):
        return largest**power
    fails = failure(tau, plan)
    if len(tau) == len(SIZES):
        asked = np.asarray(plan.users[:-1], dtype=float)
        fails[-1] = min(1.0, float(union_bound(tau[-1] ** 2 * asked).sum()))
        ends = np.append(tau[1:], tau[-1]) * M
    else:
        ends = np.append(tau[1:] * M, largest)
    return float(max((tau[0] * M) ** power, np.max(ends**power * fails)) * (1 + ROUNDING))


def union_failure(x: float, plan: Rounds) -> float:
    """f(x), over the rounds that there are, at most 1."""
    growth = np.asarray(plan.users[:-1], dtype=float) / plan.users[0]
    return min(1.0, float(union_bound(x * growth).sum()))


@lru_cache(maxsize=1024)
def selection_reach(plan: Rounds, C: float, e: float) -> float:
    r"""t in (0, 1]: while candidates are selected, y is clipped to [-(C + t), C + t].

    The least t with f(t^2 m/M_t^2) <= min{M_t^2/m, 1/100}, M_t = (C + t)/tanh(e/2): a larger
    coefficient is found for sure, and counts as t. 1, and nothing is clipped, if there is none.
    """
    m, signal = plan.users[0], math.tanh(e / 2)
    if len(plan.users) == 1 or m == 0 or signal == 0:
        return 1.0

    def is_enough(t: float) -> bool:
        each = signal / (C + t) * math.sqrt(m)  # sqrt(m)/M_t
        return union_failure((t * each) ** 2, plan) * max(each**2, 100.0) <= 1

    if not is_enough(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def halving_upper(problem: LocalRegressionProblem, privacy: Privacy) -> UpperBound:
    r"""Risk of SequentialHalving: a bit on one candidate from each user, a quarter kept a round.

    **Protocol.** `rounds` says who is asked. A user asked about coordinate k reports y x_k, clipped
    to [-B, B], as the bit +-M_t, M_t = B/tanh(e/2), B = C + t, t of `selection_reach`, e of
    `randomised_response_epsilon`. A round keeps the candidates of largest |sum of reports|. In the
    last round B = 1 + C, its bits are +-M, and their mean, clipped to [-1, 1], is the estimate at
    the one that is left, and 0 elsewhere.

    **Statement.** With m users a candidate in the first round and l in the last,

        E|estimate - theta|^2 <= 9 M_t^2/m + M^2/l <= M^2 (18 p + 35 sqrt p)/(n - 2p - 3.5 sqrt p),
        E|sum_j (estimate - theta)_j| <= 3 M_t/sqrt m + M/sqrt l,

    and never more than 4 and 2. The value in floats has sup_tau tau^2 P(fail) in place of 9/m
    (tau P(fail) for 3/sqrt m), computed from exact binomial laws (`worst_loss`), or f at t if that
    is larger.

    **Assumptions.** n > 2p + 3.5 sqrt p, so that m >= 1.

    **Proof.** At the head of this module.

    **Constants.** In units of M^2 p/n: without the clip, t = 1, the value is 2.4 to 3.1 for p >= 2
    where n is large, the exact worst risk 2.2 to 2.9 (normal limit), the closed form tends to 18;
    for large n and p it is 2.5 M_t^2 p/n. Keeping one of two with m_r growing by 1.4 costs 1.2 to
    1.3 times as much; keeping one of six saves 4 % for large p. `one_shot_upper` is 6.7 at p = 20
    and 17 at p = 1000. At C = 2, eps = .5, n = 10^6 p the value is 13 (p = 2), 11 (20) and 7.8
    (1000) times the lower bound of `local_regression.wx21_theorem_2`, and 7.6 for p = 10^6 and
    10^8; at n = 10^6, p = 20 it is 13 times, and under zCDP with rho = .125 21 times.

    **Source.** against WX21: Remark 1. Sequential halving is due to Karnin, Koren and Somekh
    (2013), with as many users in every round, which costs the logarithm; here they fall.
    """
    loss, defaults = problem.loss, {**problem.point, **privacy.parameters}
    summed = loss is SUM
    power = 1 if summed else 2

    def formula(point: Point, found: Optimum) -> Terms:
        M, plan = reach(1 + point["C"], found), rounds(int(point["n"]), int(point["p"]))
        lib = library(M)
        last = (M / lib.sqrt(plan.users[-1])) ** power
        missed = _missed(point, found, plan, power) if len(plan.users) > 1 else 0 * last
        return Terms(None, lib.least(missed + last, LARGEST[loss]))

    enough = Assumption(
        "n > 2p + 3.5 sqrt(p) (there are users for every round)",
        lambda at: at["n"] > 2 * at["p"] + 3.5 * math.sqrt(at["p"]),
    )
    bound = UpperBound(
        name="sequential halving" + (", sum of errors" if summed else ""),
        source=f"{THIS_WORK}: halving.halving_upper (against WX21: Remark 1)",
        parameters=tuple(defaults),
        formula=formula,
        optimise=report_at(privacy),
        expression=lambda: _halving_expression(type(privacy), summed),
        assumptions=(Assumption("sequentially interactive reports", lambda at: True), enough),
        loss=loss,
        defaults=defaults,
        estimator="SequentialHalving",
        settings=lambda point, found: {"C": point["C"]},
        zero_release_risk=problem.zero_release_risk,
        resolve=True,
    )
    return with_remark(bound)


def _missed(point: Point, found: Optimum, plan: Rounds, power: int) -> Number:
    """What is lost where the largest coordinate does not reach the last round."""
    t = selection_reach(plan, approximately(point["C"]), float(found["report_epsilon"]))
    M_t = reach(point["C"] + t, found)
    lib = library(M_t)
    missed = (M_t * lib.sqrt(REACH / plan.users[0])) ** power
    # The sharper term rests on floats of incomplete beta functions: no ball holds it.
    if not isinstance(M_t, Ball):
        missed = lib.least(worst_loss(plan, float(M_t), power, t), missed)
    if t < 1:
        beyond = union_failure(plan.users[0] * (t / approximately(M_t)) ** 2, plan)
        missed = lib.largest(missed, beyond * (1 + ROUNDING))
    return missed


def _halving_expression(model: type[Privacy], summed: bool) -> Number:
    n, p = LETTERS["n"], LETTERS["p"]
    sqrt = library(n).sqrt
    M = (1 + LETTERS["C"]) / report_signal(Allowance(model, LETTERS))
    k = 2 * p + 7 * sqrt(p) / 2
    if summed:
        return M * (3 * sqrt(k) + sqrt(16 * sqrt(p) / 5)) / sqrt(n - k)
    return M**2 * (18 * p + 35 * sqrt(p)) / (n - k)


def best_interactive_upper(problem: LocalRegressionProblem, privacy: Privacy) -> Best:
    """SequentialHalving, or what needs no interaction."""
    without = best_upper(problem, privacy)
    bound = halving_upper(problem, privacy)
    best = best_of_local(problem, bound, "interactive, one bit on one coordinate per user")
    return best if best.risk < without.risk else without
