r"""Risk of Gumbel selection: clip, average, select s coordinates, add noise, shrink.

Notation: z_k the average of coordinate k clipped to [-R, R], b the scale of the Gumbel noise on
|z_k|, tau^2 the variance of the noise w_k on a released value, T the public threshold by which
released values are shrunk towards 0, S* a set of s* coordinates that holds all non-zero means.

*Clipping.* h(u) bounds E(x - R)^+ for a sub-Gaussian(sigma) x, u = (R - mean)/sigma: as
y^+ <= e^{ty - 1}/t, sigma e^{-t^2/2}/t with t = (u + sqrt(u^2 + 4))/2 does; the variance alone
gives sigma (sqrt(1 + u^2) - u)/2. Both fall with slope at most 1, so that m - h(m) grows with m.

*Exponential moments.* For a > 0, e^{a clip(x)} <= e^{ax} + a [(-R - x)^+ - (x - R)^+] (convexity;
|x| > R only). Over n records and with a = 1/(nB), a null coordinate (mean 0) has
E e^{+-z/B} <= e^{v/2 +- D}, v = sigma^2/(n B^2), |D| <= h(0)/B; so E cosh(z/B) <= C_1 and
E cosh(2z/B) <= C_2, C_i = e^{i^2 v/2} cosh(i h(0)/B), and as |sinh| has at most the root of
E sinh^2 = (E cosh(2z/B) - 1)/2,

    E e^{|z|/B} <= min{2 C_1, C_1 + sqrt((C_2 - 1)/2)}.

A coordinate of mean m <= R has E e^{-a z} <= e^{-a(m - h(m)) + a^2 sigma^2/(2n)} for all a > 0.

*Missing a coordinate.* Top-s with Gumbel noise is sequential sampling with weights e^{|z_k|/b}
(Durfee and Rogers, 2019). j in S* is missed only if some null is before it, which given the data
has chance W/(W + e^{|z_j|/b}), W the nulls' weight. That is 1/(1 + e^x) <= c(t) e^{-tx},
c(t) = t^t (1-t)^{1-t}, 0 < t < 1. With t = q b/B, B >= b and 0 < q < 1, W^t <= W_B^q (l_p norms
fall with p), and by Hölder's inequality, for coordinates that depend on each other in any way,

    P(j is missed) <= c(t) exp(-q g + q^2 v/(2(1 - q))),  g = (m - h(m))/B - log E W_B.

*A signal's loss.* Shrinking by T is 1-Lipschitz and moves by at most T, so given the data a
selected signal has at most tau^2 + (T + |z - m|)^2. If p is the chance of missing it, its loss is
at most p m^2 + (1 - p)(tau^2 + T^2) + 2 T e sqrt(1 - p) + e^2, e^2 = sigma^2/n + h(m)^2, as
clipping does not raise the variance. In y = sqrt(1 - p) that is a parabola.

*The nulls' loss.* With T = T_1 + T_2, |z + w| exceeds T by at most what |z| exceeds T_1 by and
|w| exceeds T_2 by. P(|z| > h(0) + r) <= 2 e^{-n r^2/(2 sigma^2)}, so that over all N nulls the
squares of the former add up to at most 4 N e^{-n r^2/(2 sigma^2)} min{V, (V/r)^2}, V = sigma^2/n,
r = T_1 - h(0) > 0; and over the s largest to at most
s (h(0) + sqrt(2 V (log(2N/s) + 1)))^2: sum of the s largest Y <= s c + sum (Y - c)^+. The noise is
independent of the selection. Minkowski.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy import optimize

from minimax.core.bound import Assumption, Optimum, Point, Rule, Terms, UpperBound, rule_at
from minimax.core.calibration import Allowance, Scales, sparse_scales
from minimax.core.privacy import Approximate, Privacy, Pure, at_point
from minimax.core.symbolic import LETTERS, Expression, Number, approximately, library, lift
from minimax.papers import THIS_WORK
from minimax.problems.sparse_mean.problem import SparseMeanProblem

NAMES = ("n", "d", "s", "sigma", "radius")
RESTARTS = 3
LEAST, MOST = 1e-9, 1 - 1e-9
"""Where the exponents of Hölder's inequality lie."""


def overshoot(u: Number, sigma: Number) -> Number:
    """A bound on E(x - R)^+ of a sub-Gaussian(sigma) x with (R - E x)/sigma = u >= 0."""
    lib = library(u, sigma)
    t = (u + lib.sqrt(u * u + 4)) / 2
    return sigma * lib.least(lib.exp(-t * t / 2) / t, 0.5 / (lib.sqrt(1 + u * u) + u))


def log_null_weight(at: Point, R: Number, B: Number, folded: bool) -> Number:
    """log E W_B; `folded` by the second of the two bounds, which is sharper for small v."""
    n, sigma = at["n"], at["sigma"]
    lib = library(n, sigma, B)
    v, shift = sigma**2 / (n * B**2), overshoot(R / sigma, sigma) / B
    if folded:
        once = lib.exp(v / 2) * lib.cosh(shift)
        excess = lib.expm1(2 * v) * lib.cosh(2 * shift) + 2 * lib.sinh(shift) ** 2
        each = lib.log(once + lib.sqrt(excess / 2))
    else:
        each = lib.log(2) + v / 2 + shift
    return lib.log(_nulls(at)) + each


def _nulls(at: Point) -> Number:
    return library(at["d"]).largest(at["d"] - at["s"], lift(1.0, at["d"]))


def log_miss(gap: Number, v: Number, q: float, ratio: Number) -> Number:
    """The logarithm of the bound on the chance of missing, with gap = g and ratio = b/B."""
    t = q * ratio
    lib = library(gap, v, t)
    entropy = t * lib.log(t) + (1 - t) * lib.log1p(-t)
    return entropy - q * gap + q * q * v / (2 * (1 - lift(q, gap)))


def best_exponent(gap: float, v: float, ratio: float) -> float:
    """q near its best."""
    return min(_exponents(gap, v), key=lambda q: log_miss(gap, v, q, ratio))


def _exponents(gap: float, v: float) -> tuple[float, ...]:
    """Where q may be best: the optimum for v = 0, and for c = 1."""
    logistic = 1 / (1 + math.exp(-min(max(gap, -20.0), 20.0)))
    other = 1 - 1 / math.sqrt(1 + 2 * max(gap, 0.0) / v)
    return min(max(logistic, LEAST), MOST), min(max(other, LEAST), MOST), 0.5


def signal_loss(
    at: Point, found: Optimum, log_weight: Number, B: Number, low: Number, high: Number
) -> Number:
    """The largest loss of a signal of mean between `low` and `high`."""
    n, sigma = at["n"], at["sigma"]
    lib = library(n, sigma, low, high)
    R, T, ratio = (lift(found[name], n) for name in ("R", "threshold", "ratio"))
    v = sigma**2 / (n * B**2)
    gap = (low - overshoot((R - low) / sigma, sigma)) / B - log_weight
    q = best_exponent(approximately(gap), approximately(v), found["ratio"])
    missed = lib.exp(lib.least(log_miss(gap, v, q, ratio), 0 * v))
    e = lib.sqrt(sigma**2 / n + overshoot((R - high) / sigma, sigma) ** 2)
    kept, slope = lift(found["variance"], n) + T**2, 2 * T * e

    def loss(y: Number) -> Number:
        return high**2 * (1 - y * y) + kept * y * y + slope * y + e * e

    least = lib.sqrt(1 - missed)
    curvature = high**2 - kept

    def top() -> Number:  # the parabola opens downwards
        return loss(lib.least(lib.largest(slope / (2 * curvature), least), lift(1.0, n)))

    return lib.choose(curvature > 0, top, lambda: lib.largest(loss(least), loss(lift(1.0, n))))


def cells(peak: float, radius: float) -> list[float]:
    """Means up to the radius, close to each other about `peak`, where the loss is largest."""
    steps = [0.003 * (1.25**k - 1) / 0.25 for k in range(1, 20)]
    below = [peak * math.exp(-h - 0.003) for h in reversed(steps) if h < 4]
    ends = [0.0, *below, peak * math.exp(-0.003), peak * math.exp(0.003)]
    while ends[-1] < radius:
        ends.append(peak * (ends[-1] / peak) ** 1.25)
    return [*(end for end in ends if end < radius), radius]


def null_loss(at: Point, s: int, found: Optimum, pure: bool) -> Number:
    """What nulls that are selected add to the risk."""
    n, sigma = at["n"], at["sigma"]
    lib = library(n, sigma)
    R, first, scale = (lift(found[name], n) for name in ("R", "first", "value"))
    T = lift(found["threshold"], n) - first
    nulls, V, shift = _nulls(at), sigma**2 / n, overshoot(R / sigma, sigma)
    r = first - shift
    most = 2 * V * (lib.log(lib.largest(2 * nulls / s, lift(1.0, n))) + 1)
    data = s * (shift + lib.sqrt(most)) ** 2
    if found["shrunk"]:
        tail = lib.exp(-r * r / (2 * V))
        data = lib.least(data, 4 * nulls * tail * lib.least(V, (V / r) ** 2))
    u = T / scale
    if pure:
        noise = 2 * scale**2 * lib.exp(-u)
    else:
        density = lib.exp(-u * u / 2) / lib.sqrt(2 * lib.pi)
        noise = 2 * scale**2 * lib.largest((1 + u * u) * lib.ndtr(-u) - u * density, 0 * u)
    return (lib.sqrt(data) + lib.sqrt(s * noise)) ** 2


def selection_terms(at: Point, s: int, found: Optimum, pure: bool) -> Terms:
    """The risk, as the head of this module proves it."""
    n = at["n"]
    B = lift(found["selection"], n) / lift(found["ratio"], n)
    weight = log_null_weight(at, lift(found["R"], n), B, bool(found["folded"]))
    ends = cells(found["peak"], approximately(at["radius"]))
    means = [*(lift(end, n) for end in ends[:-1]), at["radius"]]
    losses = [signal_loss(at, found, weight, B, low, high) for low, high in pairwise(means)]
    worst = library(n).largest(*losses, 0 * n)
    statistical = at["s"] * at["sigma"] ** 2 / n
    return Terms(statistical, at["s"] * worst - statistical + null_loss(at, s, found, pure))


def selected_mean_upper(
    problem: SparseMeanProblem,
    privacy: Privacy,
    *,
    s: int,
    R: Rule | None = None,
    selection_share: float = 0.5,
    threshold: float = 0.0,
) -> UpperBound:
    r"""Risk of `SparseMean` with Gumbel selection over all sub-Gaussian(sigma) laws of the class.

    **Statement.** With p(m), h, e, T = T_1 + T_2 of this module's proof, for s >= s*, R >= radius,

        risk <= s* sup_{m <= radius} max_{y^2 >= 1 - p(m)} {m^2 (1 - y^2) + (tau^2 + T^2) y^2
                + 2 T e(m) y + e(m)^2} + (sqrt(data) + sqrt(s noise))^2,

    `data` and `noise` what nulls and the noise on them exceed T_1 and T_2 by, squared. To leading
    order it is s* (M^2 + 16 B^2), M = B log E W_B: what the largest of the nulls hides.

    **Assumptions.** s >= s*, R >= radius. Coordinates may depend on each other.

    **Proof.** At the head of this module. The supremum is taken over cells of means: m^2 and e at
    their upper ends, p at their lower ends. B, T_1 and the exponents are free.

    **Constants.** R=None: R, share and threshold are those of the least proven risk, which is what
    the estimator runs by itself. At n = 2000, d = 1000, s = 10, sigma = radius = 1, rho = .02 it is
    59.6 times the lower bound, where CWZ19: Theorem 3.4 with `sparse_mean_upper`'s constants has
    2077 times.

    **Source.** this toolkit, for CWZ19: Algorithm 3.3.
    """
    model, budget = type(privacy), privacy.parameters
    pure = model is Pure

    def optimise(at: Point) -> Optimum:
        level = None if R is None else float(rule_at(R, at))
        numbers = tuple(float(at[name]) for name in NAMES)
        here = at_point(model, at)
        return _search(numbers, s, here, level, selection_share, threshold)

    def expression() -> Expression:
        found = optimise({**problem.point, **budget})
        scales = sparse_scales(
            LETTERS["n"], s, found["R"], Allowance(model, LETTERS), selection_share=found["share"]
        )
        return _leading(LETTERS, s, found, scales)

    def formula(at: Point, found: Optimum) -> Terms:
        return selection_terms(at, s, found, pure)

    return UpperBound(
        name="clip, average, select by Gumbel noise, shrink",
        source=f"{THIS_WORK}: selected_mean_upper",
        parameters=(*problem.point, *budget),
        formula=formula,
        optimise=optimise,
        expression=expression,
        closed_formula=lambda at, found: formula(at, found).total,
        assumptions=(
            Assumption("s* <= s", lambda at: at["s"] <= s),
            Assumption("s <= d", lambda at: s <= at["d"]),
            Assumption("R >= radius", lambda at: R is None or at["radius"] <= rule_at(R, at)),
        ),
        defaults={**problem.point, **budget},
        estimator="SparseMean",
        settings=lambda at, found: _settings(at, found, s, planned=R is None),
        zero_release_risk=problem.zero_release_risk,
        resolve=True,
    )


def _settings(at: Point, found: Optimum, s: int, *, planned: bool) -> dict[str, float]:
    if planned:
        return {"s": s, "sigma": at["sigma"], "radius": at["radius"]}
    share, T = found["share"], found["threshold"]
    return {"s": s, "R": found["R"], "selection_share": share, "threshold": T}


def _leading(at: Point, s: int, found: Optimum, scales: Scales) -> Expression:
    """s* (M^2 + 16 B^2 + tau^2 + (T + e)^2) + 2 s (data + tau^2), by q = 1/2 for all means."""
    n, d, sigma, radius = (at[name] for name in ("n", "d", "sigma", "radius"))
    lib = library(n)
    B, V, T = scales.selection / found["ratio"], sigma**2 / n, found["threshold"]
    h, h_0 = (overshoot((found["R"] - mean) / sigma, sigma) for mean in (radius, 0))
    M = B * lib.log(2 * d) + V / B + h + h_0
    signals = M**2 + 16 * B**2 + scales.value_variance + (T + lib.sqrt(V) + h) ** 2
    nulls = (h_0 + lib.sqrt(2 * V * (lib.log(2 * d) + 1))) ** 2 + scales.value_variance
    return at["s"] * signals + 2 * s * nulls


# --- Search ---------------------------------------------------------------------------------------


def planned_release(at: Point, s: int, privacy: Privacy) -> Optimum:
    """R, share and threshold of the least proven risk: what the estimator runs."""
    numbers = tuple(float(at[name]) for name in NAMES)
    return _search(numbers, s, privacy, None, 0.5, 0.0)


@lru_cache(maxsize=4096)
def _search(
    numbers: tuple[float, ...],
    s: int,
    privacy: Privacy,
    level: float | None,
    share: float,
    threshold: float,
) -> dict[str, float]:
    """Good settings: all of them, or, where R is given, those of the proof alone."""
    at = dict(zip(NAMES, numbers, strict=True))
    budget = privacy if isinstance(privacy, Pure) else _concentrated(privacy)

    def settings(free: Sequence[float]) -> dict[str, float]:
        wide, odds, second, first, ratio = (math.exp(min(max(x, -30.0), 30.0)) for x in free)
        if level is None:
            R = float(f"{at['radius'] + at['sigma'] * wide:.4g}")
            R = R if at["radius"] <= R else at["radius"] + at["sigma"] * wide
            part = float(f"{min(max(odds / (1 + odds), 0.01), 0.99):.3g}")
        else:
            R, part = level, share
        scales = sparse_scales(at["n"], s, R, budget, selection_share=part)
        least = overshoot(R / at["sigma"], at["sigma"])
        T_1 = least + first * at["sigma"] / math.sqrt(at["n"])
        T = float(f"{T_1 + second * scales.value:.4g}") if level is None else threshold
        return {
            "R": R,
            "share": part,
            "threshold": T,
            "first": min(T_1, T),
            "shrunk": float(least < min(T_1, T)),
            "selection": scales.selection,
            "value": scales.value,
            "variance": scales.value_variance,
            "ratio": min(ratio, 1.0),
        }

    def completed(free: Sequence[float]) -> dict[str, float]:
        return _with_peak(at, settings(free))

    def objective(free: Sequence[float]) -> float:
        found = completed(free)
        nulls = null_loss(at, s, found, isinstance(privacy, Pure))
        return math.log(at["s"] * found["loss"] + nulls)

    start = [math.log(1.5), 1.5, -1.0, math.log(3.0), 0.0]
    start[-1] = _first_ratio(at, settings(start)["selection"])
    used = np.eye(5)[0 if level is None else 3 if threshold else 4 :]
    for _ in range(RESTARTS):  # a simplex that has collapsed starts afresh
        found = optimize.minimize(
            lambda moves, origin: objective(origin + moves @ used),
            np.zeros(len(used)),
            args=(np.array(start),),
            method="Nelder-Mead",
            options={
                "xatol": 0.01,
                "fatol": 1e-4,
                "maxfev": 40 * len(used),
                "initial_simplex": 0.4 * np.eye(len(used) + 1, len(used), -1),
            },
        )
        start = min(start, list(start + found.x @ used), key=objective)
    return completed(start)


def _concentrated(privacy: Privacy) -> Privacy:
    return privacy.to_zcdp() if isinstance(privacy, Approximate) else privacy


def _first_ratio(at: Point, b: float) -> float:
    """log of b/B for the B at which the data alone would hide a signal least."""
    B = at["sigma"] / math.sqrt(2 * at["n"] * math.log(2 * _nulls(at)))
    return min(math.log(b / B), 0.0)


def _float_signal_loss(
    at: Point, found: Optimum, log_weight: float, B: float
) -> Callable[[float], float]:
    """`signal_loss` of one mean, in floats alone: the search asks for it a thousand times."""
    n, sigma = at["n"], at["sigma"]
    R, T, ratio = found["R"], found["threshold"], found["ratio"]
    v, variance = sigma**2 / (n * B**2), sigma**2 / n
    kept = found["variance"] + T**2

    def missing(q: float, gap: float) -> float:
        t = q * ratio
        entropy = t * math.log(t) + (1 - t) * math.log1p(-t)
        return entropy - q * gap + q * q * v / (2 * (1 - q))

    def loss(mean: float) -> float:
        beyond = overshoot((R - mean) / sigma, sigma)
        gap = (mean - beyond) / B - log_weight
        log_missed = min(missing(q, gap) for q in _exponents(gap, v))
        least = math.sqrt(1 - math.exp(min(log_missed, 0.0)))
        e = math.sqrt(variance + beyond**2)
        slope, curvature = 2 * T * e, mean**2 - kept

        def at_share(y: float) -> float:
            return mean**2 * (1 - y * y) + kept * y * y + slope * y + e * e

        if curvature > 0:
            return at_share(min(max(slope / (2 * curvature), least), 1.0))
        return max(at_share(least), at_share(1.0))

    return loss


def _with_peak(at: Point, found: dict[str, float]) -> dict[str, float]:
    """With the mean of the largest loss, and what bound on the nulls' weight is the sharper."""
    B = found["selection"] / found["ratio"]
    v = at["sigma"] ** 2 / (at["n"] * B**2)
    shift = overshoot(found["R"] / at["sigma"], at["sigma"]) / B
    found["folded"] = float(v < 1 and shift < 1)
    weight = log_null_weight(at, found["R"], B, bool(found["folded"]))

    at_mean = _float_signal_loss(at, found, weight, B)

    def loss(log_mean: float) -> float:
        return -at_mean(math.exp(log_mean))

    top = math.log(at["radius"])
    high = min(math.log(4 * B * (1 + weight)), top)
    peak = optimize.minimize_scalar(
        loss, bounds=(high - 4, high), method="bounded", options={"xatol": 1e-3}
    )
    best = min((float(peak.x), high), key=loss)
    # at the radius all is found, and wide cells lose nothing there
    found["peak"], found["loss"] = math.exp(best), -min(loss(best), loss(top))
    return found
