r"""Upper bounds for sparse regression under local privacy: one report of one bit from each user.

The classes are those of `minimax.local_regression` (whole records private, s = 1) and
`minimax.label_regression` (labels private, f linear), here with rows uniform on {-1, 1}^p in both.
All constants are explicit; the risk is the expectation over data and reports, for every law of the
class. Neither protocol needs interaction.

**The report.** A number v in [-B, B] is sent as one bit: +-M, M = B/tanh(e/2), with mean v (Duchi,
Jordan and Wainwright). The chances of a bit lie between those of randomised response, so the bits
of any two numbers are a post-processing of it, and e is what `randomised_response_epsilon` gives
for the budget. A bit is sub-Gaussian with proxy M^2 (Hoeffding's lemma).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy import integrate, special

from minimax import bound as symbols
from minimax.bound import HIDDEN_CONSTANT, Assumption, Bound, Parts, Point, printed
from minimax.descent import DATA_FREE, subgaussian_top, vacuous
from minimax.divergences import tv_contraction
from minimax.label_regression import FITS
from minimax.local_regression import SQUARED, SUM, Loss
from minimax.papers import THIS_WORK
from minimax.privacy import Approximate, Definition, Pure, randomised_response_epsilon

Array = NDArray[np.float64]
RANDOM_ROWS = "for rows independent and uniform on {-1, 1}^p"
NOTHING = 1.0
"""Releasing 0 has squared error |theta|^2 <= 1, and for s = 1 error of the sum |theta_j| <= 1."""


@dataclass(frozen=True)
class LocalRegressionProblem:
    """P_{1,p,C} of WX21: x uniform on {-1, 1}^p, y = theta_j x_j + noise, |theta_j| <= 1.

    The noise is at most C and of mean zero given x; j is unknown.
    """

    n: int
    p: int
    C: float = 2.0

    @property
    def point(self) -> dict[str, float]:
        return {"n": self.n, "p": self.p, "C": self.C}


@dataclass(frozen=True)
class LabelRegressionProblem:
    """x uniform on {-1, 1}^p and public, y = <x, theta> + noise; s entries, |theta|_2 <= 1.

    The noise is at most C and of mean zero given x.
    """

    n: int
    p: int
    s: int
    C: float = 2.0

    @property
    def point(self) -> dict[str, float]:
        return {"n": self.n, "p": self.p, "s": self.s, "C": self.C}


def threshold_factor(p: Any, s: Any) -> Any:
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
    symbolic = isinstance(p, sp.Basic) or isinstance(s, sp.Basic)
    if symbolic:
        top = sp.Piecewise((0, p <= s), (subgaussian_top(sp.Min(s, p - s), p - s), True))
        return (sp.sqrt(s) + sp.sqrt(top)) ** 2 + top
    top = subgaussian_top(min(s, p - s), p - s)
    return (math.sqrt(s) + math.sqrt(top)) ** 2 + top


def sum_factor(p: Any) -> Any:
    r"""E|sum_j (H_1(u) - theta)_j| <= factor * sqrt(v), as in `threshold_factor` with s = 1.

    **Statement.** 1 + 2 sqrt(2 log(2 (p - 1))); 1 for p = 1.

    **Proof.** With the right place kept the error is |e_j|; else it is at most |theta_j| + |e_k| <=
    |e_j| + 2 |e_k|. E|e_j| <= sqrt(v), and E max_k |e_k| <= sqrt(2 v log(2 (p - 1))).
    """
    if isinstance(p, sp.Basic):
        other = sp.Piecewise((0, p <= 1), (2 * sp.sqrt(2 * sp.log(2 * (p - 1))), True))
        return 1 + other
    return 1 + (2 * math.sqrt(2 * math.log(2 * (p - 1))) if p > 1 else 0.0)


def one_shot_upper(
    problem: LocalRegressionProblem, privacy: Definition, loss: Loss = "squared"
) -> Bound:
    r"""Risk of OneShotThreshold: a bit on one coordinate from each user, then the largest kept.

    **Protocol.** User i reports y x_j, j = i mod p, clipped to [-B, B], B = 1 + C, as one bit. u_j
    is the mean of the reports on j. The estimate is u_j, clipped to [-1, 1], where |u_j| is
    largest, and 0 elsewhere.

    **Statement.** With v = (B/tanh(e/2))^2/floor(n/p), e of `randomised_response_epsilon`:
    E|estimate - theta|^2 <= v `threshold_factor`(p, 1), and
    E|sum_j (estimate - theta)_j| <= sqrt(v) `sum_factor`(p); never more than 4 and 2, as both are
    in the unit ball.

    **Assumptions.** n >= p: every coordinate is reported.

    **Proof.** |y| <= |theta_j| + C <= B, so nothing is clipped; E y x_j = theta_j as the noise has
    mean zero given x and E x x' = I. A report on j has mean theta_j and lies in [-M, M], so by
    Hoeffding's lemma u_j - theta_j has the proxy M^2/floor(n/p). Clipping to [-1, 1] projects.

    **Constants.** Closed form: floor(n/p) >= (n - p + 1)/p. About 4 B^2 p log(p)/(n tanh(e/2)^2)
    for large p: the rate of WX21: Theorem 1. At n = 10^7, p = 20, C = 2, eps = .5 it is .0077, 33
    times the lower bound. Under zCDP coth(e/2)^2 <= 1 + 2/rho: one bit is never worse than Gaussian
    noise. Under mu-GDP with small mu it is, with 2 pi/mu^2 for 4/mu^2.

    **Source.** the one-bit report is that of Duchi, Jordan and Wainwright (2018).
    """
    t = float(tv_contraction(randomised_response_epsilon(privacy)))
    summed = loss == "sum"

    def compute(at: Point) -> Parts:
        M = (1 + at["C"]) / t
        v = M * M / (int(at["n"]) // int(at["p"]))
        risk = math.sqrt(v) * sum_factor(at["p"]) if summed else v * threshold_factor(at["p"], 1)
        total = min(risk, 2.0 if summed else 4.0)
        return Parts(None, total, total)

    n, p, C = symbols.n, symbols.p, symbols.C
    v = (1 + C) ** 2 * sp.Float(1 / t) ** 2 * p / (n - p + 1)
    enough = problem.n >= problem.p
    return Bound(
        name="one-shot thresholding" + (", sum of errors" if summed else ""),
        source=f"{THIS_WORK}: local_upper.one_shot_upper",
        side="upper",
        kind="certified",
        names=("n", "p", "C"),
        compute=compute,
        expr=sp.sqrt(v) * sum_factor(p) if summed else v * threshold_factor(p, sp.Integer(1)),
        assumptions=(
            Assumption("n >= p (every coordinate is reported)", lambda at: at["n"] >= at["p"]),
        ),
        loss=SUM if summed else SQUARED,
        remark=vacuous(compute(problem.point).total, NOTHING) if enough else "",
        defaults=problem.point,
    )


def one_shot_label_upper(problem: LabelRegressionProblem, privacy: Definition) -> Bound:
    r"""Risk of one step of LabelHardThresholding, from 0 and of length 1, on one-bit labels.

    **Protocol.** User i reports y clipped to [-B, B], B = sqrt(s) + C, as one bit z_i.
    u = (1/n) sum_i z_i x_i. The estimate is H_s(u), projected on the unit ball.

    **Statement.** With v = (B/tanh(e/2))^2/n, e of `randomised_response_epsilon`:
    E|estimate - theta|^2 <= v `threshold_factor`(p, s), and never more than 4.

    **Assumptions.** The rows are independent and uniform on {-1, 1}^p. The lower bounds hold for
    every design, hence for this one too.

    **Proof.** |y| <= |theta|_1 + C <= B. z_i x_ij is +-M with mean E y x_j = theta_j, independent
    over i: by Hoeffding's lemma u_j - theta_j has the proxy M^2/n.

    **Constants.** About 4 (sqrt(s) + C)^2 s log(p/s)/(n tanh(e/2)^2) for large p/s: the rate of
    WX21: Theorem 7 but for the s in B^2, where the other coordinates' share of y counts as noise.

    **Source.** WX21: Algorithm 2 with one step from 0 and one-bit reports.
    """
    t = float(tv_contraction(randomised_response_epsilon(privacy)))

    def compute(at: Point) -> Parts:
        M = (math.sqrt(at["s"]) + at["C"]) / t
        total = min(M * M / at["n"] * threshold_factor(at["p"], at["s"]), 4.0)
        return Parts(None, total, total)

    n, p, s, C = symbols.n, symbols.p, symbols.s, symbols.C
    v = (sp.sqrt(s) + C) ** 2 * sp.Float(1 / t) ** 2 / n
    fits = problem.s <= problem.p
    return Bound(
        name="one-shot correlation with private labels",
        source=f"{THIS_WORK}: local_upper.one_shot_label_upper",
        side="upper",
        kind="certified",
        names=("n", "p", "s", "C"),
        compute=compute,
        expr=v * threshold_factor(p, s),
        assumptions=(FITS, Assumption(RANDOM_ROWS, lambda at: True)),
        loss=SQUARED,
        remark=vacuous(compute(problem.point).total, NOTHING) if fits else "",
        defaults=problem.point,
    )


def best_upper(
    problem: LocalRegressionProblem, privacy: Definition, loss: Loss = "squared"
) -> tuple[float, str]:
    """(risk, estimator): OneShotThreshold, or releasing 0."""
    bound = one_shot_upper(problem, privacy, loss)
    if bound.broken() or not bound.value() < NOTHING:
        return NOTHING, DATA_FREE
    return bound.value(), "OneShotThreshold: non-interactive, one bit on one coordinate per user"


def best_label_upper(problem: LabelRegressionProblem, privacy: Definition) -> tuple[float, str]:
    """(risk, estimator): one step on one-bit labels, for the linear model, or releasing 0."""
    risk = one_shot_label_upper(problem, privacy).value()
    if not risk < NOTHING:
        return NOTHING, DATA_FREE
    return risk, (
        "LabelHardThresholding(mechanism='binary', steps=1, step_size=1): one step on one-bit "
        f"labels; {RANDOM_ROWS}"
    )


# --- What the paper prints ------------------------------------------------------------------------


RANGE = Assumption("epsilon <= 1", lambda at: at["epsilon"] <= 1)
NO_MEAN = (
    "the printed class lacks E[noise | x] = 0, without which theta = 0 and theta = min(1, C) e_1 "
    "can have the same data"
)


def claimed_record_bounds(privacy: Definition, *, interaction: bool) -> list[Bound]:
    """WX21: Theorems 5 and 9 (f(x) = x) as claimed: sequentially interactive, pure, s = 1."""
    if not isinstance(privacy, Pure):
        return []
    n, p, C, eps = symbols.n, symbols.p, symbols.C, symbols.epsilon
    rate = p * sp.log(p) * sp.log(n) / (n * eps**2)
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
        _claimed(
            "5",
            ("n", "p", "C", "epsilon"),
            C**2 * rate,
            regime,
            "its gap to Theorem 2 is log(p) log(n), not the sqrt(log p) stated; the printed "
            "randomiser needs gradients of size at most r, which are not clipped",
        ),
        _claimed("9", ("n", "p", "epsilon"), rate, regime, f"printed without C; {NO_MEAN}"),
    ]


def claimed_label_bounds(privacy: Definition, *, link: bool) -> list[Bound]:
    """WX21: Theorem 6, or with `link` Theorem 11, as claimed: (epsilon, delta)-private labels."""
    if not isinstance(privacy, Approximate):
        return []
    n, p, s, C, b = symbols.n, symbols.p, symbols.s, symbols.C, symbols.b
    eps, delta = symbols.epsilon, symbols.delta
    rate = C**2 * sp.log(1 / delta) ** 2 * s * sp.log(p) / (n * eps**2)
    names = ("n", "p", "s", "C", "epsilon", "delta")
    remark = (
        "log(1/delta)^2 as printed, log(1/delta) follows from the proof; the noise is for labels "
        f"within [-2C, 2C], but |y| <= sqrt(s) + C; {NO_MEAN}"
    )
    if link:
        more = "needs a/b > sqrt(5)/3; the proof ends with 1/(n epsilon) for 1/(sqrt(n) epsilon)"
        return [_claimed("11", (*names, "b"), b**2 * rate, (RANGE,), f"{more}; {remark}")]
    return [_claimed("6", names, rate, (RANGE,), remark)]


def _claimed(
    theorem: str,
    names: tuple[str, ...],
    rate: sp.Expr,
    assumptions: tuple[Assumption, ...],
    remark: str,
) -> Bound:
    """At most 4: the paper's estimates are projected on the unit ball."""
    return printed(
        f"claimed rate of Theorem {theorem}",
        f"WX21: Theorem {theorem}",
        names,
        None,
        sp.Min(4, rate),
        side="upper",
        assumptions=assumptions,
        loss=SQUARED,
        remark=f"{HIDDEN_CONSTANT}; {remark}",
    )


# --- An exact upper bound under the same prior ----------------------------------------------------


def randomised_response_risk(n: int, p: int, epsilon: float, B: float, delta: float) -> float:
    r"""Exact Bayes risk of randomised response under the prior of WX21: Theorems 1 and 2.

    **Protocol.** User i reports w_j, j = i mod p, with its sign kept with probability
    e^eps/(1 + e^eps): eps-LDP and non-interactive. The estimate is the posterior mean.

    **Statement.** Under M_0 reports are fair coins, and v = +-e_j tilts those of coordinate j by
    +-tau, tau = delta tanh(eps/2)/B. With l_j^+ and l_j^- the likelihood ratios, T = l^+ + l^-,
    D = l^+ - l^-, the posterior mean of v_j is D_j/sum_k T_k, so

        risk = delta^2 (1 - (1/2p) sum_j E_0 D_j^2/sum_k T_k),

    and 1/x = int e^{-tx} dt turns the mean of the ratio into one integral of products over
    independent coordinates, which is computed by the trapezoidal rule in log t.
    """
    tau = delta / B * float(tv_contraction(epsilon))
    if not (0 < tau < 1 and n >= p >= 1):
        raise ValueError(f"need n >= p >= 1 and delta < B, got {n=}, {p=}, {delta=}, {B=}")
    few, more = divmod(n, p)
    kinds = [(few, p - more), *([(few + 1, more)] if more else [])]
    tables = [_tilted_coins(count, tau) for count, _ in kinds]
    low = -max(float(log_T.max()) for _, log_T, _ in tables) - 45
    high = -min(float(log_T.min()) for _, log_T, _ in tables) + 7
    # The integrand mixes shifts of e^{u - e^u}, for which step h errs by about e^{-pi^2/h}.
    log_t = np.linspace(low, high, math.ceil(6 * (high - low)))
    log_phi, log_pull = [], []
    for log_chance, log_T, log_D2 in tables:
        decay = log_chance[None, :] - np.exp(np.minimum(log_t[:, None] + log_T[None, :], 700.0))
        log_phi.append(special.logsumexp(decay, axis=1))
        log_pull.append(special.logsumexp(decay + log_D2[None, :], axis=1))
    everyone = sum(size * phi for (_, size), phi in zip(kinds, log_phi, strict=True))
    total = sum(
        size * np.exp(log_t + pull + everyone - phi)
        for (_, size), phi, pull in zip(kinds, log_phi, log_pull, strict=True)
    )
    known = float(integrate.trapezoid(total, log_t)) / (2 * p)
    return delta**2 * max(1 - known, 0.0)  # the integral is good to some 1e-10


def _tilted_coins(count: int, tau: float) -> tuple[Array, Array, Array]:
    """log P_0, log T and log D^2 over the number of heads among `count` reports."""
    heads = np.arange(count + 1, dtype=float)
    # Beyond 14 standard deviations of every law involved the chances add up to nothing.
    kept = np.abs(heads - count / 2) <= count * tau / 2 + 7 * math.sqrt(count) + 1
    heads = heads[kept]
    log_chance = (
        -count * math.log(2) - np.log(count + 1) - special.betaln(heads + 1, count - heads + 1)
    )
    plus = heads * math.log1p(tau) + (count - heads) * math.log1p(-tau)
    minus = heads * math.log1p(-tau) + (count - heads) * math.log1p(tau)
    larger, gap = np.maximum(plus, minus), np.abs(plus - minus)
    log_D = np.where(gap > 0, larger + np.log(-np.expm1(-np.maximum(gap, 1e-300))), -1e300)
    return log_chance, np.logaddexp(plus, minus), 2 * np.maximum(log_D, -1e299)
