r"""An upper bound for linear regression in phases that clip the residuals (L = 1).

The responses have the size of <x, beta>, the residuals that of sigma: once beta is known roughly,
a clip of about sigma cuts little off, and the Gaussian mechanism on clipped residuals costs
2 (c/slope)^2 d^2/(rho n^2), where c/slope tends to sigma sqrt(pi/2) as c -> 0, which is what the
lower bounds ask. Phases before the last have clips that, but for rare events, cut nothing off: b
is then exactly least squares' gradient step plus noise that is independent of the records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import optimize

from minimax.core.best import with_remark
from minimax.core.bound import Assumption, Optimum, Point, Terms, UpperBound
from minimax.core.calibration import Allowance, ball_noise_variance, part_of_budget
from minimax.core.privacy import Privacy, Pure
from minimax.core.symbolic import FLOATS, LETTERS, Expression, Number, library, lift
from minimax.methods.recursion import Interval, contraction, isotropic_deviation
from minimax.methods.residual_clip import (
    clipped_normal,
    excess_square,
    normal_bias,
    slope_window,
    symmetric_bias,
    thinned_window,
)
from minimax.papers import THIS_WORK
from minimax.problems.regression.problem import RegressionProblem

NUMBERS = ("n", "d", "sigma", "radius")
MOST_PHASES, MOST_CLIPPING = 6, 2


class Phase(NamedTuple):
    """One noisy average of clipped residuals times rows, by which b is moved."""

    clip: Number
    share: Number
    """Its part of mu^2 (or rho), or of epsilon if the budget is pure."""
    slope: Number
    """What the clip leaves of a small shift: the release is divided by it."""


class Course(NamedTuple):
    """The phases, and what they are proved to reach."""

    phases: tuple[Phase, ...]
    noise: Number
    """What the noise of the last phase adds to the risk: its variance on a coordinate of b."""
    leading: Number
    """noise + inefficiency d/n of the last clip: the risk to leading order, not a bound."""
    risk: Number
    """A bound on the risk."""


class _Noise(NamedTuple):
    """Noise in b that does not depend on the records: its direction is uniform."""

    variance: Number
    """E|zeta|^2/d."""
    sure: Number
    """A bound on |zeta|."""
    row: Number
    """A bound on |<x_i, zeta>| for all i."""
    sixth: Number
    """E<x, zeta>^6 for |x| = 1."""


class _Error(NamedTuple):
    """b - beta = zeta + good + cut."""

    zeta: _Noise
    sure: Number | None
    """A bound on |good|, if there is one."""
    rms: Number
    """A bound on the root of E|good|^2."""
    cut: Number
    """A bound on the root of E|cut|^2: what clipping has done."""


def residual_clipped_upper(problem: RegressionProblem, privacy: Privacy) -> UpperBound:
    r"""Risk of ResidualClippedRegression with an isotropic second moment, planned by this bound.

    **Class.** That of `minimax.problems.regression.problem` with L = 1: E x x' = I/d and |x| <= 1,
    hence |x| = 1.

    **Statement.** `course`: for every number of phases, shares of the budget, last clip and x > 0.
    To leading order sigma^2 d/n + 2 (c/slope)^2 d^2/(rho n^2) under zCDP.

    **Privacy.** A phase's average moves by at most 2 c_k/n in l2 if a record is replaced.

    **Source.** this toolkit; the shrinking clips are those of Varshney, Thakurta and Jain (2022),
    with clips and shares found by minimising what is proved.
    """
    pure = isinstance(privacy, Pure)
    model, budget = type(privacy), privacy.parameters

    def optimise(at: Point) -> Optimum:
        return _settings(at, model)

    def formula(at: Point, found: Optimum) -> Terms:
        risk = course(at, pure, found).risk
        statistical = library(risk).least(at["sigma"] ** 2 * at["d"] / at["n"], risk)
        return Terms(statistical, risk - statistical)

    def expression() -> Expression:
        strength = LETTERS["epsilon"] if pure else Allowance(model, LETTERS).mu()
        found = {**optimise({**problem.point, **budget}), "strength": strength}
        return formula(LETTERS, found).total

    return with_remark(
        UpperBound(
            name="clipped residuals, in phases",
            source=f"{THIS_WORK}: residual_clipped_upper",
            parameters=(*NUMBERS, *budget),
            formula=formula,
            optimise=optimise,
            expression=expression,
            closed_formula=lambda at, found: formula(at, found).total,
            assumptions=(Assumption("L = 1", lambda p: problem.L == 1),),
            loss=problem.loss,
            defaults={**problem.point, **budget},
            estimator="ResidualClippedRegression",
            settings=lambda at, found: {
                "row_bound": 1.0,
                "radius": at["radius"],
                "sigma": at["sigma"],
                "second_moment": "isotropic",
            },
            zero_release_risk=problem.zero_release_risk,
            resolve=True,
        )
    )


def course(at: Point, pure: bool, found: Optimum) -> Course:
    r"""The phases and their risk.

    **Statement.** Let x > 0, delta the `isotropic_deviation` of d H from I at the chance e^{-x},
    H = (1/n) sum x_i x_i', h = 1 + delta. Phase k has noise of variance v_k a coordinate,
    zeta_k = (d/slope_k) w_k, t_k = (d/slope_k)^2 v_k. Before the last phase slopes are 1 and clips
    c_1 = a + sigma y and c_k = R_{k-1} + y s_k, s_k^2 = sigma^2 + t_{k-1}, for any y > 0. Then
    b_k = beta + zeta_k + good + cut, where in root mean square, surely, and in root mean square

        m_1 = sqrt(a^2 d/n + sigma^2 d^2/n),  R_1 = delta a + D,  k_1 = sqrt(d h) sigma e(y),
        m_k = sqrt(d^2 s_k^2/n) + delta m_{k-1},
        R_k = delta (Z_{k-1} + R_{k-1}) + D,
        k_k = (h + delta) k_{k-1} + sqrt(d h) s_k e(y),

    e(y)^2 of `excess_square`, D = sigma d (1 + sqrt(2 x h/d))/sqrt(n),
    Z = sqrt(t) (sqrt d + sqrt(2x)). The last phases, as many as are to be, clip at c_k = z_k s_k
    with the slope and square of N(0, s_k^2) instead, and

        m_k = sqrt(d B + d^2 square/(slope^2 n)) + q m_{k-1},  k_k = max(1, h/slope - 1) k_{k-1},

    B of `normal_bias`; q is that maximum or, in the first of them and if smaller, the contraction
    of `thinned_window` at the reach R_{k-1} + sqrt(2 (x + log n) t_{k-1}). Then

        risk <= t_K + (m_K + k_K)^2/d + p (2a)^2/d,   p the number of events times e^{-x}.

    Pure budgets: |zeta| is a Gamma(d) length and Z = `_gamma_length`; clips are
    R + sigma y + Z min(1, sqrt(2 (x + log n)/d)), and s_k in k_k is sigma; the last phases have the
    slope of sigma and `symmetric_bias`, and a square of at most min(c^2, sigma^2 + t).

    **Proof.** *Without clips* b_k - beta = (I - d H) (b_{k-1} - beta) + d xibar + zeta_k,
    xibar = (1/n) sum xi_i x_i: good is what this makes of zeta and good. As |x| = 1,
    E|(I - dH) v|^2 = |v|^2 (d - 1)/n for v independent of the records, E|xibar|^2 = sigma^2/n, the
    two are uncorrelated, and |I - dH| <= delta: m_k. Given the rows xibar ~ N(0, sigma^2 H/n),
    tr H = 1: D; |zeta| <= Z: R_k. *With clips* what is cut off the residuals, o_i, moves b by
    d |sum o_i x_i|/n <= sqrt(d h) sqrt(sum o_i^2/n), and
    |o_i| <= (|xi_i - <x_i, zeta>| - (c - R))^+ + |<x_i, cut>|, of which the first has a residual
    N(0, s_k^2) given x_i, and the second a mean square of at most (h/d) |cut|^2: k_k. *The last
    clips.* Let g(e) be the average of psi_c(xi_i - <x_i, e>) x_i. Then zeta + (d/slope) g(zeta)
    has, given zeta, the mean d E[f(u) x], u = <x, zeta>, because zeta = d E[u x]; its square is at
    most d E[f(u)^2 | zeta] (Bessel), where u ~ N(0, t) as |x| = 1. Its variance is at most
    d^2 E psi_c^2/(slope^2 n). And v + (d/slope) [g(e + v) - g(e)] = (I - (d/slope) M) v with M
    between 0 and H; for v = good and e = zeta it is in `thinned_window`, as the |<x_i, zeta>| are
    at most sqrt(2 (x + log n) t) for all i but for e^{-x}. *The end.* b_K is projected on the ball
    of radius a, which shortens distances; off the events the loss is at most (2a)^2/d. The noise
    w_K is independent of all before it.

    **Constants.** p counts e^{-x} each for H, xibar, the window and its rows, and for Z in
    every phase but the last; for pure budgets there 2 e^{-x} more for the rows, as
    P(|<x, direction>| > v) <= 2 e^{-d v^2/2}.
    """
    n, d, sigma, a = (at[k] for k in NUMBERS)
    lib, last = library(n, d, sigma, a), int(found["phases"])
    gram = _Gram(at, found)
    c = a + sigma * gram.y
    phases = [Phase(c, _share(found, 1, n), lift(1.0, n))]
    error = _Error(
        _noise(at, pure, found, gram, phases[0]),
        gram.delta * a + gram.statistics,
        lib.sqrt(a**2 * d / n + sigma**2 * d**2 / n),
        gram.beyond * sigma,
    )
    for k in range(2, last + 1):
        if k > last - int(found["clipping"]):
            phase, rms, cut = _clipping_phase(at, pure, found, gram, error, k)
            phases.append(phase)
            error = _Error(_noise(at, pure, found, gram, phase), None, rms, cut)
        else:
            phase, spread = _wide_phase(at, pure, found, gram, error, k)
            phases.append(phase)
            zeta = _noise(at, pure, found, gram, phase)
            error = _after_wide_phase(at, gram, error, zeta, spread)
    events = 4 + (3 if pure else 1) * (last - 1)
    t, statistics = error.zeta.variance, clipped_normal(phases[-1].clip, sigma).inefficiency
    rare = events * lib.exp(-gram.x) * (2 * a) ** 2 / d
    left = error.rms + error.cut
    risk = lib.least(t + left * left / d + rare, (2 * a) ** 2 / d)
    return Course(tuple(phases), t, t + statistics * d / n, risk)


class _Gram:
    """What is known of H, and of the records' noise, but for e^{-x} each."""

    def __init__(self, at: Point, found: Optimum) -> None:
        n, d, sigma = at["n"], at["d"], at["sigma"]
        lib = library(n, d)
        self.x, self.y = lift(found["x"], n), lift(found["y"], n)
        self.farthest = lib.sqrt(2 * (self.x + lib.log(n)))
        if lib.is_symbolic:
            self.delta = found["delta"]
        else:
            deviation = _known_deviation if lib is FLOATS else isotropic_deviation
            self.delta = deviation(n, d, lib.exp(-self.x))
        self.high = 1 + self.delta
        spread = 1 + lib.sqrt(2 * self.x * self.high / d)
        self.statistics = sigma * d * spread / lib.sqrt(n)
        self.beyond = lib.sqrt(d * self.high * excess_square(self.y))


@lru_cache(maxsize=256)
def _known_deviation(n: float, d: float, failure: float) -> float:
    """`isotropic_deviation` in floats: a search asks for the same one again and again."""
    return float(isotropic_deviation(n, d, failure))


def _share(found: Optimum, k: int, like: Number) -> Number:
    """The share of phase k: given, and what the others leave for the last."""
    last = int(found["phases"])
    if k < last:
        return lift(found[f"share_{k}"], like)
    return 1 - sum((lift(found[f"share_{j}"], like) for j in range(1, last)), lift(0.0, like))


def _noise(at: Point, pure: bool, found: Optimum, gram: _Gram, phase: Phase) -> _Noise:
    """zeta of a phase."""
    n, d, x = at["n"], at["d"], gram.x
    lib = library(n, d)
    part = part_of_budget(pure, lift(found["strength"], n), phase.share)
    t = (d / phase.slope) ** 2 * ball_noise_variance(part, n, d, phase.clip)
    if not pure:
        sure = lib.sqrt(t) * (lib.sqrt(d) + lib.sqrt(2 * x))
        return _Noise(t, sure, lib.sqrt(t) * gram.farthest, 15 * t * t * t)
    scale = lib.sqrt(t / (d + 1))
    sure = _gamma_length(scale, d, x)
    row = sure * lib.least(lift(1.0, n), gram.farthest / lib.sqrt(d))
    cube = scale * scale * scale  # a power of a float would raise where it overflows
    sixth = 15 * (d + 1) * (d + 3) * (d + 5) * cube * cube
    return _Noise(t, sure, row, sixth)


def _gamma_length(scale: Number, d: Number, x: Number) -> Number:
    """scale (d + sqrt(2 x d) + x), which scale Gamma(d) exceeds with a chance of at most e^{-x}
    (Boucheron, Lugosi and Massart, 2013, section 2.4)."""
    return scale * (d + library(d, x).sqrt(2 * x * d) + x)


def _wide_phase(
    at: Point, pure: bool, found: Optimum, gram: _Gram, error: _Error, k: int
) -> tuple[Phase, Number]:
    """A phase that cuts little off, and the deviation of the residuals that it is made for."""
    n, sigma, zeta = at["n"], at["sigma"], error.zeta
    if pure:
        clip, spread = error.sure + sigma * gram.y + zeta.row, sigma
    else:
        spread = library(n, sigma).sqrt(sigma**2 + zeta.variance)
        clip = error.sure + gram.y * spread
    return Phase(clip, _share(found, k, n), lift(1.0, n)), spread


def _after_wide_phase(
    at: Point, gram: _Gram, error: _Error, zeta: _Noise, spread: Number
) -> _Error:
    n, d, sigma = at["n"], at["d"], at["sigma"]
    independent = library(n, d).sqrt(d**2 * (error.zeta.variance + sigma**2) / n)
    return _Error(
        zeta,
        gram.delta * (error.zeta.sure + error.sure) + gram.statistics,
        independent + gram.delta * error.rms,
        (gram.high + gram.delta) * error.cut + gram.beyond * spread,
    )


def _clipping_phase(
    at: Point, pure: bool, found: Optimum, gram: _Gram, error: _Error, k: int
) -> tuple[Phase, Number, Number]:
    """A phase that clips, and what it leaves besides its noise."""
    n, d, sigma = at["n"], at["d"], at["sigma"]
    lib, t = library(n, d), error.zeta.variance
    s = sigma if pure else lib.sqrt(sigma**2 + t)
    c = lift(found[f"z_{k}"], n) * s
    residual = clipped_normal(c, s)
    slope = residual.slope
    if pure:
        square = lib.least(c**2, sigma**2 + t)
        bias = symmetric_bias(error.zeta.sixth, sigma, slope)
    else:
        square, bias = residual.square, normal_bias(t, s, residual)
    fresh = lib.sqrt(d * bias + d**2 * square / (slope**2 * n))
    kept = lib.largest(lift(1.0, n), gram.high / slope - 1)
    q = kept
    if error.sure is not None and not lib.is_symbolic:
        q = lib.least(kept, _contraction(at, gram, error, error.sure, c, slope))
    return Phase(c, _share(found, k, n), slope), fresh + q * error.rms, kept * error.cut


def _contraction(
    at: Point, gram: _Gram, error: _Error, sure: Number, c: Number, slope: Number
) -> Number:
    n, d = at["n"], at["d"]
    slopes = slope_window(c, at["sigma"], sure + error.zeta.row)
    failure = library(n).exp(-gram.x)
    window = thinned_window(n, d, d / d, Interval(1 / d, 1 / d), slopes, failure)
    return contraction(d / slope, window)


# --- Search ---------------------------------------------------------------------------------------

WORTHWHILE = 0.99
"""One more phase, which is one more pass over the data, must lower the risk to this part."""
FIRST_SHARE = 0.1
CAUTION = 0.1
"""Weight of what is proved beyond the leading term, against the leading term: the sum over phases
of Minkowski's inequality is far above what happens, and must stay bounded."""
SMALLEST_RATIO, LARGEST_RATIO = 0.3, 8.0
"""Of clips to deviations: below, nothing is gained and the slope would rest on sigma alone."""


def best_course(at: Point, privacy: Privacy) -> Course:
    """The phases of least proven risk at a point of numbers: what an estimator runs."""
    pure = isinstance(privacy, Pure)
    full = {**at, **privacy.parameters}
    return course(full, pure, _settings(full, type(privacy)))


def _settings(at: Point, model: type[Privacy]) -> dict[str, float]:
    strength = at["epsilon"] if model is Pure else Allowance(model, at).mu()
    return _search(tuple(float(at[k]) for k in NUMBERS), model is Pure, float(strength))


@lru_cache(maxsize=4096)
def _search(numbers: tuple[float, ...], pure: bool, strength: float) -> dict[str, float]:
    """Good shares and clips, with as many phases as pay."""
    at = dict(zip(NUMBERS, numbers, strict=True))
    best = _improved(at, pure, {"strength": strength, "phases": 1.0, "clipping": 0.0}, {})
    fewer = [best] * (MOST_CLIPPING + 1)
    for phases in range(2, MOST_PHASES + 1):
        most = min(MOST_CLIPPING, phases - 1)
        fixed = [
            {"strength": strength, "phases": float(phases), "clipping": float(clipping)}
            for clipping in range(most + 1)
        ]
        starts = [fewer[min(k, len(fewer) - 1)] for k in range(most + 1)]
        fewer = [_improved(at, pure, *pair) for pair in zip(fixed, starts, strict=True)]
        more = min(fewer, key=lambda settings: _aim(at, pure, settings))
        gained = _aim(at, pure, more) < WORTHWHILE * _aim(at, pure, best)
        if not gained and phases > 2:
            break
        best = more if gained else best
    return best


def _aim(at: Point, pure: bool, found: Optimum) -> float:
    """What is minimised: the leading term of the risk, and a part of what is proved beyond it."""
    planned = course(at, pure, found)
    leading = min(float(planned.leading), 1e200)
    return leading + CAUTION * max(float(planned.risk) - leading, 0.0)


def _rarity(at: Point, pure: bool, strength: float, phases: float) -> float:
    """x at which rare events count for about a twentieth of what no clip can go below."""
    n, d, sigma, a = (at[k] for k in NUMBERS)
    noise = (2 * d / (n * strength)) ** 2 * (d if pure else 1)
    floor = math.log(sigma**2 * (d / n + noise)) + math.log(0.05)
    return max(math.log(4 * a**2 / d) + math.log(4 + 3 * phases) - floor, 3.0)


def _improved(
    at: Point, pure: bool, fixed: dict[str, float], fewer: dict[str, float]
) -> dict[str, float]:
    """The settings of least proven risk next to those with a phase less."""
    last = int(fixed["phases"])
    fixed = {**fixed, "x": _rarity(at, pure, fixed["strength"], fixed["phases"])}
    fixed["delta"] = _known_deviation(at["n"], at["d"], math.exp(-fixed["x"]))
    ratios = ["y", *(f"z_{k}" for k in range(last - int(fixed["clipping"]) + 1, last + 1))]
    names = [f"share_{k}" for k in range(1, last)] + ratios

    def settings(logs: Sequence[float]) -> dict[str, float]:
        free = {k: math.exp(min(max(v, -20), 20)) for k, v in zip(names, logs, strict=True)}
        odds = 1 + sum(free[f"share_{k}"] for k in range(1, last))
        shares = {k: v / odds for k, v in free.items() if k.startswith("share")}
        clips = {k: min(max(free[k], SMALLEST_RATIO), LARGEST_RATIO) for k in ratios}
        return {**fixed, **shares, **clips}

    def objective(logs: Sequence[float]) -> float:
        return math.log(_aim(at, pure, settings(logs)))

    kept = 1 - sum(fewer.get(f"share_{k}", 0.0) for k in range(1, last - 1))
    before = [fewer[f"share_{k}"] / kept for k in range(1, last - 1)]
    shares = [*before, 2 * FIRST_SHARE] if fewer else []
    guess = {"y": 4.0, f"z_{last}": 1.0, f"z_{last - 1}": 3.0, **fewer}
    start = np.log([*shares, *(guess[k] for k in ratios)])
    found = optimize.minimize(
        objective,
        start,
        method="Nelder-Mead",
        options={
            "xatol": 0.02,
            "fatol": 1e-4,
            "maxfev": 100 * len(names),
            "initial_simplex": np.vstack([start, start - 0.7 * np.eye(len(names))]),
        },
    )
    return settings(min((start.tolist(), found.x.tolist()), key=objective))
