r"""An upper bound for sparse regression in phases that clip residuals and choose coordinates.

The residuals shrink to about sigma and the clips with them, so that noise, of the choice and of the
values, is paid for sigma and not for the largest response. Every phase reads all records: what the
error owes to them is bounded for all sparse errors at once (L = 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from minimax.core.best import with_remark
from minimax.core.bound import Assumption, Optimum, Point, Terms, UpperBound
from minimax.core.calibration import Allowance, noise_variance, part_of_budget, selection_epsilon
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from minimax.core.symbolic import (
    FLOATS,
    LETTERS,
    PRECISE,
    Expression,
    Number,
    library,
    lift,
)
from minimax.methods.matched_selection import (
    FINEST,
    MATCHED,
    Average,
    gumbel_rms,
    gumbel_sure,
    residual_deviation,
)
from minimax.methods.noisy_descent import ROUNDING
from minimax.methods.recursion import subgaussian_top
from minimax.methods.residual_clip import shift_error, slopes_within
from minimax.methods.selection_plan import SelectionPhase
from minimax.papers import THIS_WORK
from minimax.problems.sparse_regression.problem import SparseRegressionProblem

Array = NDArray[np.float64]
NUMBERS = ("n", "d", "s", "sigma", "radius")
MOST_PHASES = 6
EVENTS = 6
"""Of chance e^{-x} in each phase: `course` lists them."""


class Phase(NamedTuple):
    """One pass over the records."""

    clip: Number
    slope: Number
    """What the clip is taken to leave of a shift: the average is divided by it."""
    selection: Number
    """Part of mu^2 (or rho), or of epsilon if the budget is pure, for the choice."""
    values: Number
    """That for the values."""
    settled: Number = 0.0
    """A released coefficient that is larger is not 0, but for rare events."""


class Course(NamedTuple):
    """The phases, and what they are proved to reach."""

    phases: tuple[Phase, ...]
    risk: Number
    """A bound on the risk."""
    biases: tuple[Number, ...]
    """K of each phase."""


class _Error(NamedTuple):
    """b - beta: bounds on |.| in root mean square, and surely."""

    rms: Number
    sure: Number


class _Drift(NamedTuple):
    """What z owes to the chance of the records."""

    rms: Number
    """A bound on its length on S and T, in root mean square."""
    sure: Number
    """One on each coordinate, but for rare events."""


class _Noise(NamedTuple):
    """What a phase adds to z = b + (s/slope) average."""

    gumbel: Number
    """Scale of the noise on every |z_j|."""
    variance: Number
    """Of a released coordinate."""
    length: Number
    """A bound on the length of the noise of s coordinates, but for e^{-x}."""
    largest: Number
    """One on each of them, but for e^{-x}."""


def sparse_residual_clipped_upper(problem: SparseRegressionProblem, privacy: Privacy) -> UpperBound:
    r"""Risk of SparseResidualClippedRegression, isotropic, with the phases that this bound plans.

    **Class.** That of `minimax.problems.sparse_regression.problem` with L = 1: E x x' = I/s and
    |x_j| <= 1/sqrt(s), hence x_j^2 = 1/s; columns are uncorrelated, and no more.

    **Statement.** `course`: for every number of phases, clips, slopes, shares of the budget, x > 0.

    **Privacy.** A phase's average moves by at most 2 c/(sqrt(s) n) in each coordinate, and by
    2 c/n on s of them, if a record is replaced.

    **Source.** this toolkit; shrinking clips are due to Varshney, Thakurta and Jain (2022), private
    hard thresholding is CWZ19: Algorithm 4.2.
    """
    model, budget = type(privacy), privacy.parameters

    def optimise(at: Point) -> Optimum:
        return _settings(at, model)

    def formula(at: Point, found: Optimum) -> Terms:
        risk = course(at, model, found).risk
        statistical = library(risk).least(at["sigma"] ** 2 * at["s"] / at["n"], risk)
        return Terms(statistical, risk - statistical)

    def expression() -> Expression:
        found = {**optimise({**problem.point, **budget}), "strength": _strength(LETTERS, model)}
        return formula(LETTERS, found).total

    return with_remark(
        UpperBound(
            name="clipped residuals and a private choice, in phases",
            source=f"{THIS_WORK}: sparse_residual_clipped_upper",
            parameters=(*NUMBERS, *budget),
            formula=formula,
            optimise=optimise,
            expression=expression,
            closed_formula=lambda at, found: formula(at, found).total,
            assumptions=(
                Assumption("L = 1", lambda p: problem.L == 1),
                Assumption("s <= d", lambda p: p["s"] <= p["d"]),
            ),
            loss=problem.loss,
            defaults={**problem.point, **budget},
            estimator="SparseResidualClippedRegression",
            settings=lambda at, found: {
                "s": int(at["s"]),
                "entry_bound": at["s"] ** -0.5,
                "radius": at["radius"],
                "sigma": at["sigma"],
                "second_moment": "isotropic",
                "plan": "proven",
            },
            zero_release_risk=problem.zero_release_risk,
            resolve=True,
            rounding=ROUNDING,
        )
    )


def course(at: Point, model: type[Privacy], found: Optimum) -> Course:
    r"""The phases and their risk.

    **Statement.** Phase k has the clip c, the slope l, Gumbel noise of scale B and values' noise
    of variance v on z = b + (s/l) average. With m_0 = r_0 = a and but for EVENTS e^{-x} a phase,
    |b_k - beta| is at most m_k in root mean square and r_k surely:

        m_k^2 = (MATCHED [h(m_{k-1}) + K m_{k-1}] + B G)^2 + s v,
        r_k = MATCHED [sqrt(2s) w(r_{k-1}) + K r_{k-1}] + sqrt(Z^2 + B^2 G_x^2),
        h(m) = tau sqrt(s + top) + sqrt(2s) (D/l) (m + 2a FINEST),
        w(r) = tau sqrt(2 (x + log 2d)) + (D/l) (r + 2a FINEST),

    and both at most 2a. Here tau^2 = s min(sigma, c)^2/(l^2 n), top = `subgaussian_top` (s of N =
    max(d - s, s)), G = `gumbel_rms`, G_x = `gumbel_sure` among N others, K = `shift_error` at the
    reach sqrt 2 r_{k-1}, D = `residual_deviation`, Z a bound on the length of the values' noise. In
    the first phase the reach is a, and h and w are `rms` and `sure` of an `Average` of the mean
    square s min(sigma^2 + a^2/s, c^2)/l^2 and the largest value sqrt(s) c/l. Then

        risk <= m_K^2/s + K EVENTS e^{-x} (2a)^2/s.

    **Proof.** Let e = b - beta, u = <x, e>. The error of z is eps = eps_0 + bias + strayed:
    eps_0 = (s/l) average of psi(xi) x; bias_j = e_j + (s/l) E[(psi(xi - u) - psi(xi)) x_j]
    = s E[x_j (u - M(u)/l)], M(u) = E psi(xi + u), as s E[x_j u] = e_j; and strayed_j is the rest,
    a deviation of `residual_deviation`, over l. *eps_0.* psi(xi) is symmetric, of slope at most 1
    in a normal variable and bounded by c: given the rows a coordinate is sub-Gaussian with
    variance tau^2; S (s fixed places with all beta_j that are not 0) and s others count, in root
    mean square, and all d of them are below w but for e^{-x}. *bias.* The sqrt(s) x_j are
    orthonormal, so by Bessel's inequality |bias|^2 <= s E(u - M(u)/l)^2 <= s K^2 E u^2 =
    K^2 |e|^2: e has at most 2s entries, whence |u| <= |e|_1/sqrt s <= sqrt 2 |e|, and in the first
    phase s. *strayed.* At most D/l max(|e|, 2a FINEST) for each j, but for e^{-x}, and S and T
    hold 2s coordinates. *The first phase.* e = -beta depends on no record: eps_0 + strayed is
    (s/l) [average of psi(y) x - its mean], values of at most (s/l) c/sqrt(s) with the mean square
    (s/l^2) E psi(y)^2, and E y^2 = sigma^2 + |beta|^2/s. *The choice.*
    `minimax.methods.matched_selection`, by Minkowski's inequality; T is chosen before the values'
    noise is drawn. Coordinates that are kept from the phase before have released values above
    `settled` = w(r) + K r + (largest noise), which no coordinate outside S reaches, as there
    beta_j = 0 and |eps_j| is at most the first two. Shares that are not needed make later noise
    smaller, and fewer rounds make B smaller. *The end.* b is projected on the ball of radius a,
    which shortens distances to beta on T; off the events |e| <= 2a. E<x, e>^2 = |e|^2/s.

    **Constants.** Events: eps_0, strayed, two for G_x, Z, and the largest noise.
    """
    n, a = at["n"], at["radius"]
    lib, last = library(n, a), int(found["phases"])
    x = lift(found["x"], n)
    error, phases, biases = _Error(a, a), [], []
    for k in range(1, last + 1):
        clip, slope = (lift(found[f"{name}_{k}"], n) for name in ("clip", "slope"))
        shares = (lift(found[f"{name}_{k}"], n) for name in ("selection", "values"))
        phase = Phase(clip, slope, *shares)
        bias = lift(found[f"bias_{k}"], n)
        if not lib.is_symbolic:  # any larger K will do, and floats had some ulps more
            bias = lib.largest(bias, _bias(at, error, phase, k))
        noise = _noise(at, model, found, x, phase)
        error, settled = _after_phase(at, found, error, phase, noise, bias, k)
        phases.append(phase._replace(settled=settled))
        biases.append(bias)
    return Course(tuple(phases), _risk(at, error, last, x), tuple(biases))


def _risk(at: Point, error: _Error, phases: int, x: Number) -> Number:
    lib, cap = library(at["n"], x), (2 * at["radius"]) ** 2 / at["s"]
    return lib.least(error.rms * error.rms / at["s"] + EVENTS * phases * lib.exp(-x) * cap, cap)


def _reach(at: Point, error: _Error, k: int) -> Number:
    """A bound on |<x, e>|."""
    return at["radius"] if k == 1 else library(at["n"]).sqrt(2 + 0 * at["n"]) * error.sure


def _bias(at: Point, error: _Error, phase: Phase, k: int) -> Number:
    return shift_error(_reach(at, error, k), phase.clip, at["sigma"], phase.slope)


def _after_phase(
    at: Point, found: Optimum, error: _Error, phase: Phase, noise: _Noise, bias: Number, k: int
) -> tuple[_Error, Number]:
    """The error after a phase, and above what a released coefficient is settled."""
    n, d, s, a = (at[name] for name in ("n", "d", "s", "radius"))
    lib, x, others = library(n, d, s, a), lift(found["x"], n), _others(at)
    drift = _first_drift(at, phase, x) if k == 1 else _later_drift(at, found, error, phase, x)
    rms = MATCHED * (drift.rms + bias * error.rms) + noise.gumbel * gumbel_rms(s, others)
    rms = lib.sqrt(rms * rms + s * noise.variance)
    sure = MATCHED * (lib.sqrt(2 * s) * drift.sure + bias * error.sure)
    sure += lib.sqrt(noise.length**2 + (noise.gumbel * gumbel_sure(s, others, x)) ** 2)
    settled = drift.sure + bias * error.sure + noise.largest
    return _Error(lib.least(rms, 2 * a), lib.least(sure, 2 * a)), settled


def _others(at: Point) -> Number:
    """N, from which the false coordinates come."""
    return library(at["d"], at["s"]).largest(at["d"] - at["s"], at["s"])


def _first_drift(at: Point, phase: Phase, x: Number) -> _Drift:
    n, d, s, sigma, a = (at[name] for name in NUMBERS)
    lib = library(n, d, s, sigma, a)
    square = s * lib.least(sigma**2 + a**2 / s, phase.clip**2) / phase.slope**2
    average = Average(n, square, lib.sqrt(s) * phase.clip / phase.slope)
    return _Drift(average.rms(s, _others(at)), average.sure(d, x))


def _later_drift(at: Point, found: Optimum, error: _Error, phase: Phase, x: Number) -> _Drift:
    n, d, s, sigma, a = (at[name] for name in NUMBERS)
    lib = library(n, d, s, sigma, a)
    sets = found["log_sets"] if lib.is_symbolic else _log_sets(d, s)
    deviation = residual_deviation(n, d, s, x, sets) / phase.slope
    tau = lib.sqrt(s / n) * lib.least(sigma, phase.clip) / phase.slope
    top, finest = subgaussian_top(s, _others(at)), 2 * a * FINEST
    return _Drift(
        tau * lib.sqrt(s + top) + lib.sqrt(2 * s) * deviation * (error.rms + finest),
        tau * lib.sqrt(2 * (x + lib.log(2 * d))) + deviation * (error.sure + finest),
    )


def _noise(at: Point, model: type[Privacy], found: Optimum, x: Number, phase: Phase) -> _Noise:
    n, s = at["n"], at["s"]
    lib, pure, strength = library(n, s), model is Pure, lift(found["strength"], n)
    unit = s / phase.slope
    entry = phase.clip / lib.sqrt(s)
    epsilon = _round_epsilon(model, part_of_budget(pure, strength, phase.selection), s)
    part = part_of_budget(pure, strength, phase.values)
    variance = unit**2 * noise_variance(part, n, s, entry)
    gumbel = 4 * unit * entry / (n * epsilon)
    if not pure:
        deviation = lib.sqrt(variance)
        length = deviation * (lib.sqrt(s) + lib.sqrt(2 * x))
        return _Noise(gumbel, variance, length, deviation * lib.sqrt(2 * (x + lib.log(s))))
    # uniform on a cube whose size is Gamma(s): Boucheron, Lugosi and Massart (2013), section 2.4
    largest = 2 * unit * entry / (n * part.epsilon) * (s + lib.sqrt(2 * x * s) + x)
    return _Noise(gumbel, variance, lib.sqrt(s) * largest, largest)


def _round_epsilon(model: type[Privacy], part: Allowance, s: Number) -> Number:
    """`selection_epsilon`; under GDP, where numbers are no floats, in its closed form."""
    lib = library(part.letters()[0], s)
    spent = ZeroConcentrated if model is Approximate else model
    if spent is not Gaussian or lib is FLOATS:
        return selection_epsilon(spent, part, s)
    v = part.mu() / lib.sqrt(8 * s)
    return 2 * lib.log((1 + lib.erf(v)) / lib.erfc(v))


def _log_sets(d: Number, s: Number) -> Number:
    """log C(d, s)."""
    if isinstance(d, PRECISE):
        gamma = library(d).loggamma
        return gamma(d + 1) - gamma(s + 1) - gamma(d - s + 1)
    return max(-float(special.betaln(d - s + 1, s + 1)) - math.log(d + 1), 0.0)


# --- Search ---------------------------------------------------------------------------------------

WORTHWHILE = 0.97
"""One more phase, which is one more pass over the data, must lower the risk to this part."""
SMALLEST_RATIO = 0.3
"""Of clips to sigma."""
RARITY = 3.0, 60.0
"""Between what x is looked for."""
START = 0.8, 0.3, -1.6, 2.7
"""Clips beyond the reach, in sigma; log of the growth of shares; logit of the values' part; log of
x."""
STEPS = 0.5, 0.3, 0.5, 0.2
"""How far from there it is looked at first."""


def best_course(at: Point, privacy: Privacy) -> Course:
    """The phases of least proven risk at a point of numbers: what an estimator runs."""
    full, model = {**at, **privacy.parameters}, type(privacy)
    return course(full, model, _settings(full, model))


def proven_phases(at: Point, privacy: Privacy, unit: float) -> tuple[SelectionPhase, ...]:
    """Those of `best_course` for rows of length `unit` on s coordinates."""
    found = best_course({**at, "radius": at["radius"] * unit}, privacy)
    risk = float(found.risk)
    return tuple(SelectionPhase(*p[:4], risk, 0.0, p.settled / unit) for p in found.phases)


def _strength(at: Point, model: type[Privacy]) -> Number:
    """epsilon, or mu; an (epsilon, delta) budget is turned into zCDP first."""
    if model is Pure:
        return at["epsilon"]
    budget = Allowance(model, at)
    if model is not Approximate:
        return budget.mu()
    rho = budget.rho()
    return library(rho).sqrt(2 * rho)


def _settings(at: Point, model: type[Privacy]) -> dict[str, float]:
    numbers = tuple(float(at[k]) for k in NUMBERS)
    return _search(numbers, model is Pure, model is Gaussian, float(_strength(at, model)))


@lru_cache(maxsize=4096)
def _search(
    numbers: tuple[float, ...], pure: bool, gaussian: bool, strength: float
) -> dict[str, float]:
    """The phases of least proven risk, as many as pay."""
    model: type[Privacy] = Pure if pure else Gaussian if gaussian else ZeroConcentrated
    at = dict(zip(NUMBERS, numbers, strict=True))
    knobs = np.array(START)
    best: dict[str, float] = {}
    least = math.inf
    for count in range(1, MOST_PHASES + 1):

        def objective(knobs: Array, count: int = count) -> float:
            return math.log(_planned(at, model, strength, count, knobs)[1])

        knobs = _lowest(objective, knobs).tolist()
        planned, risk = _planned(at, model, strength, count, knobs)
        gained = risk < WORTHWHILE * least
        if not gained and count > 2:
            break
        if gained or not best:
            best, least = planned, risk
        if count > 1 and least >= at["radius"] ** 2 / at["s"]:
            break  # that is what releasing 0 has
    return best


def _lowest(objective: Callable[[Array], float], at: Array) -> Array:
    """Nelder and Mead's search, begun twice."""
    for size in (1.0, 0.3):
        simplex = np.vstack([at, at + size * np.diag(STEPS)])
        options = {"xatol": 1e-2, "fatol": 1e-6, "maxfev": 120, "initial_simplex": simplex}
        at = optimize.minimize(objective, at, method="Nelder-Mead", options=options).x
    return at


def _planned(
    at: Point, model: type[Privacy], strength: float, count: int, knobs: Array
) -> tuple[dict[str, float], float]:
    """So many phases whose clips are a multiple of sigma beyond the reach, with slopes in the
    middle of what they can be, and their risk."""
    beyond, growth, logit, rarity = (float(knob) for knob in knobs)
    growth, logit = min(max(growth, -3.0), 3.0), min(max(logit, -5.0), 5.0)
    x = min(max(math.exp(min(rarity, 10.0)), RARITY[0]), RARITY[1])
    weights = [math.exp(growth * k) for k in range(count)]
    values = 1 / (1 + math.exp(-logit))
    found = {"strength": strength, "phases": float(count), "x": x}
    found["log_sets"] = _log_sets(at["d"], at["s"])
    error, sigma = _Error(at["radius"], at["radius"]), at["sigma"]
    for k, weight in enumerate(weights, 1):
        share = weight / sum(weights)
        reach = _reach(at, error, k)
        clip = max(reach + beyond * sigma, SMALLEST_RATIO * sigma)
        low, high = slopes_within(reach, clip, sigma)
        phase = Phase(clip, (low + high) / 2, share * (1 - values), share * values)
        bias = _bias(at, error, phase, k)
        found |= {f"{name}_{k}": getattr(phase, name) for name in phase._fields[:4]}
        found[f"bias_{k}"] = bias
        noise = _noise(at, model, found, x, phase)
        error, _ = _after_phase(at, found, error, phase, noise, bias, k)
    return found, float(_risk(at, error, count, x))
