r"""Lower and upper bounds for estimating a sparse mean (CWZ19 §3.3, §3.4).

The class: sub-Gaussian(sigma) laws on R^d whose mean has at most s non-zero coordinates, each at
most `radius` in size. Three certified lower bounds; the maximum of them is what is known here.
The (s log d)^2 privacy term of CWZ19: Theorem 3.3 is refuted (`refuted_theorem_3_3`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy import special

from minimax import bound as symbols
from minimax.bound import Assumption, Bound, Parts, Point, printed
from minimax.mean import (
    best_truncation,
    clip_bias,
    tracing_gaussian,
)
from minimax.packing import (
    BlockPacking,
    closed_form_size,
    information_bound,
    packing_bound,
    packing_expression,
)
from minimax.papers import THIS_WORK
from minimax.priors import BlockPrior, CosinePrior, GaussianBlockPrior
from minimax.privacy import Approximate, Model, Pure, at_point, parameter_names

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SparseMeanProblem:
    """Gaussian records N(mu, sigma^2 I_d), at most s non-zero mu_j, each |mu_j| <= radius."""

    n: int
    d: int
    s: int
    sigma: float = 1.0
    radius: float = 1.0

    @property
    def point(self) -> dict[str, float]:
        return {
            "n": self.n,
            "d": self.d,
            "s": self.s,
            "sigma": self.sigma,
            "radius": self.radius,
        }

    def loss(self, estimate: Array, target: Array) -> float:
        return float(np.sum((estimate - target) ** 2))


NAMES = ("n", "d", "s", "sigma", "radius")
SPARSE = Assumption("d >= 2 s (blocks of at least two coordinates)", lambda p: p["d"] >= 2 * p["s"])


def _block_size(p: Point) -> int:
    return int(p["d"] // p["s"])


def statistical(*, name: str = "Fano: Gaussian data, blocks") -> Bound:
    r"""**Statement.** R >= sup_b s sigma^2 (b - h_m(b))^2/(2 n b), m = floor(d/s); about
    s sigma^2 log(2m)/(2n).

    **Proof.** `minimax.packing.information_bound`: Fano's argument with the loss in place of an
    error event. **Constants.** Closed form s sigma^2 log(d/s)/(4n), as b_m >= log(2m)/2 and
    2 floor(x) >= x. **Source.** the statistical term of CWZ19: Theorem 3.3.
    """

    def compute(p: Point) -> Parts:
        value, tau = information_bound(p["n"], _block_size(p), int(p["s"]), p["sigma"], p["radius"])
        return Parts(value, None, value, {"tau": tau})

    n, d, s, sigma = symbols.n, symbols.d, symbols.s, symbols.sigma
    return Bound(
        name=name,
        source="CWZ19: Theorem 3.3 (first term)",
        side="lower",
        kind="certified",
        names=NAMES,
        compute=compute,
        expr=s * sigma**2 * sp.log(d / s) / (4 * n),
        assumptions=(
            SPARSE,
            Assumption(
                "sigma^2 log(2 d/s) <= n radius^2",
                lambda p: (
                    p["sigma"] ** 2 * math.log(2 * p["d"] / p["s"]) <= p["n"] * p["radius"] ** 2
                ),
            ),
        ),
        prior_at=lambda p, parts: GaussianBlockPrior(
            int(p["d"]), int(p["s"]), parts.free["tau"], p["sigma"]
        ),
        slack=6.0,
        slack_regime=SPARSE,
    )


def known_support(model: Model, *, shifted: bool = False) -> Bound:
    r"""`tracing_gaussian` on s coordinates whose places are known: the rest must be zero.

    **Statement.** `minimax.mean.tracing_gaussian` with d replaced by s. **Proof.** Knowing the
    support can only help. **Source.** CWZ19: Theorem 3.3, without the log d.
    """
    dense = tracing_gaussian(model, shifted=shifted)

    def on_support(p: Point) -> dict[str, float]:
        return {**{k: v for k, v in p.items() if k != "s"}, "d": p["s"]}

    return Bound(
        name="tracing: known support" + (", shifted score" if shifted else ""),
        source=f"{THIS_WORK}: tracing_gaussian (for CWZ19: Theorem 3.3)",
        side="lower",
        kind="certified",
        names=(*NAMES, *parameter_names(model)),
        compute=lambda p: dense.compute(on_support(p)),
        expr=dense.expr.subs(symbols.d, symbols.s),
        assumptions=(
            *dense.assumptions,
            Assumption("s <= d", lambda p: p["s"] <= p["d"]),
        ),
        prior_at=lambda p, parts: CosinePrior(
            int(p["d"]), p["radius"], p["sigma"], support=int(p["s"])
        ),
        slack=dense.slack,
        slack_regime=Assumption(
            "that of tracing_gaussian with d = s",
            lambda p: dense.slack_regime is not None and dense.slack_regime.holds(on_support(p)),
        ),
    )


def packing(model: Model, data: str = "sub-Gaussian") -> Bound:
    r"""Packing by s blocks of m = floor(d/s) coordinates: `minimax.packing.packing_bound`.

    Grows like s min{log(d/s), log(eps/delta)}: the log d is certified for pure and tiny-delta
    privacy. **Constants.** Closed form with log(d/s) in place of log(2m).
    """

    def compute(p: Point) -> Parts:
        size, s = _block_size(p), int(p["s"])
        blocks = BlockPacking(int(p["n"]), size, s, p["sigma"], p["radius"], data)
        found = packing_bound(blocks, at_point(model, p))
        free = {"alpha": found.alpha, "height": found.height}
        return Parts(None, found.value, found.value, free)

    return Bound(
        name=f"packing: {data} data, blocks",
        source=f"{THIS_WORK}: packing_bound (for CWZ19: Theorem 3.3)",
        side="lower",
        kind="certified",
        names=(*NAMES, *parameter_names(model)),
        compute=compute,
        expr=packing_expression(model, sp.log(symbols.d / symbols.s), symbols.s, data),
        assumptions=(SPARSE, Assumption("n >= 4", lambda p: p["n"] >= 4)),
        prior_at=lambda p, parts: BlockPrior(
            int(p["d"]), int(p["s"]), parts.free["alpha"], parts.free["height"]
        ),
        slack=300.0,
        slack_regime=Assumption(
            "s log(d/s) >= 12, radius <= 10 sigma and 1 <= N_0 <= n/10",
            lambda p: (
                p["s"] * math.log(p["d"] / p["s"]) >= 12
                and p["radius"] <= 10 * p["sigma"]
                and 1
                <= closed_form_size(_block_size(p), int(p["s"]), at_point(model, p))
                <= p["n"] / 10
            ),
        ),
    )


def refuted_theorem_3_3() -> Bound:
    r"""CWZ19: Theorem 3.3 as printed: sigma^2 (s log d/n + (s log d)^2/(n eps)^2).

    **Refuted.** For s = 1 the estimator `StableSparseMean` has worst-case risk of order
    sigma^2 [log d/n + log n log^2(1/delta)/(n eps)^2]. With eps = n^{-1/2}, delta = n^{-2} and
    log d = log^2 n all hypotheses of the theorem hold, it claims log^4 n/n, and the estimator has
    log^3 n/n. The proof breaks at Lemma 3.2(2): see `refuted_lemma_3_2`.
    """
    n, d, s, sigma, eps = symbols.n, symbols.d, symbols.s, symbols.sigma, symbols.epsilon
    return printed(
        "tracing: claimed rate of Theorem 3.3",
        "CWZ19: Theorem 3.3",
        ("n", "d", "s", "sigma", "epsilon"),
        sigma**2 * s * sp.log(d) / n,
        sigma**2 * (s * sp.log(d) / (n * eps)) ** 2,
        kind="refuted",
        assumptions=(Assumption("epsilon < 1", lambda p: p["epsilon"] < 1),),
        remark="refuted: StableSparseMean has smaller worst-case risk for large log d",
    )


def refuted_lemma_3_2() -> Bound:
    r"""CWZ19: Lemma 3.2(2) as printed: some prior makes sum_i E A_i at least sigma^2 s log d.

    **Refuted.** The proof applies Stein's lemma to E[M_j | nu] 1(j in S(nu)), S the top-s set of
    nu, and drops the jump where nu_j enters S. Under the prior of that proof the hard-thresholded
    sample mean has sum_i E A_i about sigma^2 s for every d (`attacks.lemma_3_2_counterexample`);
    and whatever the prior, any coordinate-wise 1-Lipschitz function of the sample mean, such as a
    clipped mean, has sum_i E A_i <= sigma^2 s, by Stein's lemma in the data.
    """
    return printed(
        "tracing: claimed completeness of Lemma 3.2(2)",
        "CWZ19: Lemma 3.2",
        ("d", "s", "sigma"),
        None,
        symbols.sigma**2 * symbols.s * sp.log(symbols.d),
        kind="refuted",
        loss="sum over records of the expected attack score (3.2)",
        remark="refuted: Stein's lemma applied to a discontinuous function",
    )


def lower_bounds(model: Model) -> list[Bound]:
    """Every lower bound for the class `sparse-mean` under one privacy definition."""
    return [
        statistical(),
        known_support(model),
        *([known_support(model, shifted=True)] if model in (Pure, Approximate) else []),
        packing(model),
        *([refuted_theorem_3_3()] if model in (Pure, Approximate) else []),
    ]


# --- Upper bound ---------------------------------------------------------------------------------


def laplace_maximum_rms(d: int) -> float:
    """sqrt(E max_j w_j^2) of d unit Laplace variables: the maximum of d exponentials.

    E max^2 = H_d^2 + sum 1/k^2, since the maximum is a sum of independent Exp(k), k = 1..d.
    """
    k = np.arange(1, min(d, 10**6) + 1)
    harmonic = float(np.sum(1 / k)) + math.log(max(d / 10**6, 1.0))
    return math.sqrt(harmonic**2 + float(np.sum(1 / k**2)))


def gumbel_range_rms(d: int) -> float:
    """Half of a bound on sqrt(E (max - min)^2) of d unit Gumbel variables.

    The maximum is log d plus a Gumbel. Minus the minimum exceeds t with chance at most
    d exp(-e^t), so its excess over log log(3d) has second moment at most
    int 2 t d exp(-e^t log 3d) dt <= 1.
    """
    euler = 0.5772156649015329
    highest = math.sqrt((math.log(d) + euler) ** 2 + math.pi**2 / 6)
    lowest = math.log(math.log(3 * d)) + 1.0
    return (highest + max(lowest, 1.0)) / 2


def clip_distance(R: float, sigma: float, radius: float, d: int) -> float:
    """sqrt(E max_j y_j^2), y_j the average over records of what clipping cuts off |x_ij|.

    E max_j y_j^2 <= d E((|x| - R)^+)^2 <= 4 d sigma^2 int_u^inf (t - u) e^{-t^2/2} dt with
    u = (R - radius)/sigma, from the tail 2 e^{-t^2/2} of |x - mu|/sigma, for any sub-Gaussian x.
    """
    u = (R - radius) / sigma
    left = math.exp(-(u**2) / 2) - u * math.sqrt(2 * math.pi) * float(special.ndtr(-u))
    return 2 * sigma * math.sqrt(d * max(left, 0.0))


def paper_peeling_scale(sensitivity: float, s: int, epsilon: float, delta: float) -> float:
    """The scale printed in CWZ19: Algorithm 3.2, lambda 2 sqrt(3 s log(1/delta))/epsilon."""
    return sensitivity * 2 * math.sqrt(3 * s * math.log(1 / delta)) / epsilon


class Scales(NamedTuple):
    """The noise of a sparse release: functions of n, s, R and the budget, never of the data."""

    round_epsilon: float
    """epsilon of one selection round (there are s)."""
    selection: float
    """Scale of the Gumbel (method="gumbel") or Laplace ("peeling") noise on every |mean_j|."""
    value: float
    """Scale of the Gaussian or Laplace noise on every released value."""
    value_variance: float
    """Variance of that noise."""


def sparse_scales(
    n: int,
    s: int,
    R: float,
    budget: Any,
    *,
    method: str = "gumbel",
    calibration: str = "zcdp",
    selection_share: float = 0.5,
) -> Scales:
    """The noise scales with which s coordinates of a mean of n records in [-R, R] are released.

    Every |mean_j| has sensitivity 2R/n. A pure budget is divided by plain addition; any other is
    turned into rho-zCDP and divided there.

    * ``gumbel``: s rounds of epsilon_0 cost s epsilon_0, or s epsilon_0^2/8 in zCDP, which is set
      to `selection_share` of the budget; the values, of l2 sensitivity 2R sqrt(s)/n and l1
      sensitivity 2Rs/n, get the rest.
    * ``peeling``: one Laplace scale for everything; with e = (2R/n)/scale, the s rounds are 2e-DP
      and the s values e-DP each: 3se in all, or s(4e^2 + e^2)/2 in zCDP.
    """
    sensitivity = 2 * R / n
    if method == "peeling":
        if calibration == "paper":
            if not isinstance(budget, Approximate):
                raise TypeError(f"calibration='paper' is for (epsilon, delta), not {budget}")
            scale = paper_peeling_scale(sensitivity, s, budget.epsilon, budget.delta)
        elif isinstance(budget, Pure):
            scale = sensitivity * 3 * s / budget.epsilon
        else:
            scale = sensitivity * math.sqrt(2.5 * s / budget.to_zcdp().rho)
        return Scales(2 * sensitivity / scale, scale, scale, 2 * scale**2)
    if isinstance(budget, Pure):
        epsilon = budget.epsilon * selection_share / s
        value = sensitivity * s / (budget.epsilon * (1 - selection_share))
        return Scales(epsilon, 2 * sensitivity / epsilon, value, 2 * value**2)
    rho = budget.to_zcdp().rho
    epsilon = math.sqrt(8 * rho * selection_share / s)
    value = sensitivity * math.sqrt(s / (2 * rho * (1 - selection_share)))
    return Scales(epsilon, 2 * sensitivity / epsilon, value, value**2)


def sparse_mean_upper(
    problem: SparseMeanProblem,
    *,
    s: int,
    R: float,
    method: str,
    scales: Scales,
    law: Literal["Gaussian", "sub-Gaussian"] = "Gaussian",
) -> Bound:
    r"""Explicit risk bound for clip, average, select s coordinates privately, add noise.

    **Statement.** For s >= s* (the true sparsity),

        E|muhat - mu|^2 <= s e^2 + s tau^2 + 4 s* (e + w)^2,

    e^2 = E|Xbar_R - mu|_inf^2 <= (b + sigma sqrt((2 log 2d + 2)/n))^2, b the `clip_bias` for
    Gaussian data and `clip_distance` for the sub-Gaussian class, tau^2 the variance of the
    noise on a released value, w the root mean square of the largest selection noise.

    **Proof.** On the chosen set S the error is (Xbar - mu)_S plus independent noise. Off it, match
    each j in S* \ S with a distinct k in S \ S* chosen in round i (there are enough, as
    |S| >= |S*|): the round preferred k, so |Xbar_j| <= |Xbar_k| + w_ik - w_ij, hence
    |mu_j| <= 2 |Xbar - mu|_inf + 2 |w_i|_inf; square, sum over at most s* rounds, Minkowski.
    Averages of clipped Gaussians are sub-Gaussian(sigma/sqrt n) about their mean (clipping is
    1-Lipschitz), and E max_j of d squared sub-Gaussians is at most (sigma^2/n)(2 log 2d + 2) by
    integrating the tail.

    **Constants.** Smaller than those of CWZ19: (A.4) (2, 12, 32, 2), which also needs its (A.1)
    corrected. **Source.** CWZ19: Theorem 3.4.
    """
    if law == "Gaussian":
        bias = clip_bias(R, problem.sigma, problem.radius)
    else:
        bias = clip_distance(R, problem.sigma, problem.radius, problem.d)
    extreme = laplace_maximum_rms if method == "peeling" else gumbel_range_rms
    selection_rms = scales.selection * extreme(problem.d)
    value_variance = scales.value_variance

    def compute(p: Point) -> Parts:
        spread = p["sigma"] * math.sqrt((2 * math.log(2 * p["d"]) + 2) / p["n"])
        e = bias + spread
        total = s * e**2 + s * value_variance + 4 * p["s"] * (e + selection_rms) ** 2
        statistical_part = (s + 4 * p["s"]) * spread**2
        return Parts(statistical_part, total - statistical_part, total)

    n, d, sigma = symbols.n, symbols.d, symbols.sigma
    e = sp.Float(bias) + sigma * sp.sqrt((2 * sp.log(2 * d) + 2) / n)
    w, tau2 = sp.Float(selection_rms), sp.Float(value_variance)
    return Bound(
        name="clip, average, select, noise",
        source="CWZ19: Theorem 3.4",
        side="upper",
        kind="certified",
        names=("n", "d", "s", "sigma"),
        compute=compute,
        expr=s * e**2 + s * tau2 + 4 * symbols.s * (e + w) ** 2,
        assumptions=(Assumption("s* <= s", lambda p: p["s"] <= s),),
        defaults=problem.point,
    )


def best_upper(problem: SparseMeanProblem, privacy: Any) -> tuple[float, float]:
    """(risk, R): the least risk proven for SparseMean over its R, for the sub-Gaussian class."""
    budget = privacy if isinstance(privacy, Pure) else privacy.to_zcdp()

    def risk(R: float) -> float:
        scales = sparse_scales(problem.n, problem.s, R, budget)
        bound = sparse_mean_upper(
            problem, s=problem.s, R=R, method="gumbel", scales=scales, law="sub-Gaussian"
        )
        return bound.value()

    return best_truncation(risk, problem)
