"""Upper bounds for a sparse mean: clip, average, select, noise (CWZ19 §3.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from minimax.core.best import VACUOUS, Best
from minimax.core.bound import Assumption, Optimum, Point, Rule, Terms, UpperBound, rule_at
from minimax.core.calibration import Allowance, Scales, laplace_maximum_rms, sparse_scales
from minimax.core.claimed import HIDDEN_CONSTANT, claimed_bound
from minimax.core.privacy import Approximate, Privacy
from minimax.core.symbolic import LETTERS, Number, library
from minimax.problems.mean.problem import MeanProblem
from minimax.problems.mean.upper import Law, best_noisy_mean, clip_bias
from minimax.problems.sparse_mean.problem import SparseMeanProblem
from minimax.problems.sparse_mean.selection import selected_mean_upper


def clip_distance(R: Number, sigma: Number, radius: Number, d: Number) -> Number:
    """sqrt(E max_j y_j^2), y_j the average over records of what clipping cuts off |x_ij|.

    E max_j y_j^2 <= d E((|x| - R)^+)^2 <= 4 d sigma^2 int_u^inf (t - u) e^{-t^2/2} dt with
    u = (R - radius)/sigma, from the tail 2 e^{-t^2/2} of |x - mu|/sigma, for any sub-Gaussian x.
    """
    lib = library(R, sigma, radius, d)
    u = (R - radius) / sigma
    left = lib.exp(-u * u / 2) - u * lib.sqrt(2 * lib.pi) * lib.ndtr(-u)
    return 2 * sigma * lib.sqrt(d * (left if lib.is_symbolic else lib.largest(left, 0 * left)))


def sparse_mean_upper(
    problem: SparseMeanProblem,
    *,
    s: Rule,
    R: Rule,
    scales: Scales | Callable[[Point], Scales],
    privacy: Privacy | None = None,
    law: Law = "Gaussian",
) -> UpperBound:
    r"""Explicit risk bound for clip, average, select s coordinates by peeling, add noise.

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

    s, R and the scales are given, or functions of the point, which then holds `privacy`'s numbers.
    """
    budget = {} if privacy is None else privacy.parameters

    def optimise(point: Point) -> Optimum:
        noise = rule_at(scales, point)
        return {
            "R": rule_at(R, point),
            "selection": noise.selection,
            "value_variance": noise.value_variance,
        }

    def formula(point: Point, found: Optimum) -> Terms:
        n, d, sigma = point["n"], point["d"], point["sigma"]
        lib, kept = library(n, d), rule_at(s, point)
        if law == "Gaussian":
            bias = clip_bias(found["R"], sigma, point["radius"])
        else:
            bias = clip_distance(found["R"], sigma, point["radius"], d)
        spread = sigma * lib.sqrt((2 * lib.log(2 * d) + 2) / n)
        # (bias + spread)^2 and (bias + spread + selection)^2 less spread^2 each
        missed = bias + found["selection"] * laplace_maximum_rms(d)
        added = kept * (bias * (bias + 2 * spread) + found["value_variance"])
        added = added + 4 * point["s"] * missed * (missed + 2 * spread)
        return Terms((kept + 4 * point["s"]) * spread**2, added)

    return UpperBound(
        name="clip, average, peel, noise",
        source="CWZ19: Theorem 3.4",
        parameters=(*problem.point, *budget),
        formula=formula,
        optimise=optimise,
        expression=lambda: formula(LETTERS, optimise(LETTERS)).total,
        assumptions=(
            Assumption("s* <= s", lambda point: point["s"] <= rule_at(s, point)),
            Assumption("s <= d", lambda point: rule_at(s, point) <= point["d"]),
        ),
        defaults={**problem.point, **budget},
        estimator="SparseMean",
        settings=lambda point, found: {
            "s": rule_at(s, point),
            "R": found["R"],
            "method": "peeling",
        },
        zero_release_risk=problem.zero_release_risk,
        resolve=isinstance(privacy, Approximate),
    )


def peeled_upper(problem: SparseMeanProblem, privacy: Privacy) -> UpperBound:
    """`sparse_mean_upper` for the sub-Gaussian class at settings that are formulas of the point:
    s = s* and R = a + sigma sqrt(2 log(n d))."""
    model = type(privacy)

    def level(at: Point) -> Number:
        lib = library(at["n"])
        return at["radius"] + at["sigma"] * lib.sqrt(2 * lib.log(at["n"] * at["d"]))

    def scales(at: Point) -> Scales:
        return sparse_scales(at["n"], at["s"], level(at), Allowance(model, at), method="peeling")

    bound = sparse_mean_upper(
        problem,
        s=lambda at: at["s"],
        R=level,
        scales=scales,
        privacy=privacy,
        law="sub-Gaussian",
    )
    return replace(bound, name=f"{bound.name}, R a formula", resolve=False)


def claimed_theorem_3_4() -> UpperBound:
    r"""CWZ19: Theorem 3.4 as claimed:
    sigma^2 (s log d/n + (s log d)^2 log(1/delta) log n/(n eps)^2), with high probability."""

    def rate(p: Point) -> Terms:
        log, variance = library(p["n"]).log, p["sigma"] ** 2
        size = p["s"] * log(p["d"])
        cost = -((size / (p["n"] * p["epsilon"])) ** 2) * log(p["delta"]) * log(p["n"])
        return Terms(variance * size / p["n"], variance * cost)

    return claimed_bound(
        UpperBound,
        "clip, average, peel, noise: claimed rate of Theorem 3.4",
        "CWZ19: Theorem 3.4",
        ("n", "d", "s", "sigma", "epsilon", "delta"),
        rate,
        remark=(
            f"{HIDDEN_CONSTANT}; stated with a probability, true in expectation too; some entries"
            " are clipped for sure where log d is far above log n, which does little harm"
        ),
    )


def best_upper(problem: SparseMeanProblem, privacy: Privacy) -> Best:
    """The least risk proven for SparseMean, for NoisyMean, which needs no sparsity and may win if s
    is near d, or for releasing 0, of risk at most s radius^2; all for the sub-Gaussian class."""
    dense = MeanProblem(problem.n, problem.d, problem.sigma, problem.radius)
    bounds = (selected_mean_upper(problem, privacy, s=problem.s), best_noisy_mean(dense, privacy))
    best = min(map(Best.of, bounds), key=lambda found: found.risk)
    return best.or_zero(problem.zero_release_risk(), VACUOUS)
