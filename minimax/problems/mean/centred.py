r"""Upper bounds for the mean of sub-Gaussian vectors: centre privately, then clip to a ball.

Gaussian vectors live on a sphere of radius sigma sqrt(d) about their mean, so a ball of about that
radius, once its centre is known, cuts nothing off, and the Gaussian mechanism on that ball costs
2 sigma^2 d^2/(rho n^2), which is what the lower bounds ask. Each phase releases the noisy mean of
the records shortened to a ball about the last centre; the phases' estimates are averaged with the
weights of their noise, so that no phase's budget is lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from scipy import optimize

from minimax.core.bound import Assumption, Optimum, Point, Terms, UpperBound
from minimax.core.calibration import Allowance, ball_noise_variance, part_of_budget
from minimax.core.privacy import Privacy, Pure, check_privacy
from minimax.core.symbolic import LETTERS, Expression, Number, library, lift
from minimax.methods.ball_clip import gamma_excess, norm_excess, shortened_gaussian
from minimax.papers import THIS_WORK

Tails = Literal["vectors", "Gaussian"]
LAWS = {"vectors": "sub-Gaussian vectors", "Gaussian": "Gaussian records"}
MOST_PHASES = {True: 2, False: 6}
"""By whether the budget is pure: there the noise of two phases together has no simple law."""


class Phase(NamedTuple):
    """One noisy mean of the records, shortened to a ball about the last centre."""

    R: Number
    """Radius of the ball."""
    share: Number
    """Its part of mu^2 (or rho), or of epsilon if the budget is pure."""
    slope: Number
    """What shortening leaves of a small shift of the records: the release is divided by it."""
    weight: Number
    """Weight of this phase's estimate in the new centre; the last centre has the rest."""
    variance: Number
    """Variance of the noise on a coordinate of this phase's estimate."""


class Course(NamedTuple):
    """The phases, and what they are proved to reach."""

    phases: tuple[Phase, ...]
    noise: Number
    """Variance of the noise on a coordinate of the last centre."""
    root_risk: Number
    """A bound on the root of the risk."""
    sampling: Number
    """Variance of the sampling error on a coordinate of the last centre, to leading order in n."""
    cut: Number
    """A bound on what was cut off: root mean square of a coordinate, over all of them."""


def centred_mean_upper(point: Point, privacy: Privacy, tails: Tails = "vectors") -> UpperBound:
    r"""Centre privately, clip to a ball, average: the risk, with all constants.

    **Class.** Sub-Gaussian(sigma) *vectors*, E e^{<a, x - mu>} <= e^{sigma^2 |a|^2/2} for all a,
    with |mu_j| <= radius; or N(mu, sigma^2 I) (`tails`), for which both proofs count.

    **Statement.** With shares of the budget and radii R_k as free parameters, `tails_course` and
    `gaussian_course` bound the root of E|estimate - mu|^2. To leading order the risk is
    sigma^2 d/n + 2 sigma^2 d^2/(rho n^2) under zCDP, and sigma^2 d/n + 4 sigma^2 d^3/(eps n)^2 for
    a pure budget.

    **Privacy.** A phase's mean moves by at most 2 R_k/n in l2 if a record is replaced.

    **Source.** this toolkit; the phases are those of CoinPress (Biswas et al., 2020), with balls
    and shares found by minimising what is proved.
    """
    check_privacy(privacy)
    pure = isinstance(privacy, Pure)
    model, budget = type(privacy), privacy.parameters

    def optimise(at: Point) -> Optimum:
        return _settings(at, model, tails)

    def formula(at: Point, found: Optimum) -> Terms:
        statistical = at["sigma"] ** 2 * at["d"] / at["n"]
        risk = course(at, pure, found).root_risk ** 2
        return Terms(statistical, risk - statistical)

    def expression() -> Expression:
        strength = LETTERS["epsilon"] if pure else Allowance(model, LETTERS).mu()
        found = {**optimise({**point, **budget}), "strength": strength}
        return formula(LETTERS, found).total

    return UpperBound(
        name=f"centre, clip to a ball, noise ({LAWS[tails]})",
        source=f"{THIS_WORK}: centred_mean_upper",
        parameters=(*NUMBERS, *budget),
        formula=formula,
        optimise=optimise,
        expression=expression,
        closed_formula=lambda at, found: formula(at, found).total,
        assumptions=(Assumption(LAWS[tails], lambda at: True),),
        defaults={**point, **budget},
        estimator="NoisyMean",
        settings=lambda at, found: {"sigma": at["sigma"], "radius": at["radius"], "tails": tails},
        zero_release_risk=lambda at: float(at["d"] * at["radius"] ** 2),
        resolve=True,
    )


NUMBERS = ("n", "d", "sigma", "radius")


def course(at: Point, pure: bool, found: Optimum) -> Course:
    """The phases at these settings, by the proof that they were found for."""
    return (gaussian_course if found["gaussian"] else tails_course)(at, pure, found)


def tails_course(at: Point, pure: bool, found: Optimum) -> Course:
    r"""The phases without any rescaling, for sub-Gaussian vectors.

    **Statement.** With h(s, w) = `norm_excess` (R = s sqrt(d)(1 + w)), noise variances v_k,
    precision P_k = 1/v_1 + ... + 1/v_k and any w > 0, the last centre has

        sqrt(risk) <= sqrt(sigma^2 d/n + d/P_K) + T_K,
        T_1 = h(sqrt(sigma^2 + radius^2), w_1),
        T_k = T_{k-1} + (1 - P_{k-1}/P_k) [h(s_k, w_k) + h(sigma/sqrt n, w)],
        s_k^2 = sigma^2 + 1/P_{k-1}, R_k = s_k sqrt(d) (1 + w_k) + sigma sqrt(d/n) (1 + w).

    For one phase it is sqrt(sigma^2 d/n + T_1^2 + d/P_1).

    **Proof.** Centre k is c = xbar + zeta - e: the mean of the data, noise zeta that is independent
    of it, and what was cut off, of root mean square T. What the next phase cuts off record i is
    (|x_i - c| - R)^+ <= (|x_i - mu - zeta| - R + r)^+ + (|xbar - mu| - r)^+ + |e|, whatever
    depends on what. x_i - mu - zeta is sub-Gaussian(s_k), xbar - mu sub-Gaussian(sigma/sqrt n), and
    the first phase's x_i is that plus mu: `norm_excess` and Minkowski. If the noise has a length
    without sub-Gaussian tails (pure budgets), zeta counts as a fixed shift of |zeta|^2 <= r_0^2,
    s_k^2 = sigma^2 + r_0^2/d, and what |zeta| exceeds r_0 by is cut off too (`gamma_excess`). With
    one phase, shortening does not raise the variance, and only its bias, at most T_1, is added.
    """
    n, d, sigma = at["n"], at["d"], at["sigma"]
    lib = library(n, d)
    phases, precision, lost = _centred(at, pure, found, int(found["phases"]))
    noise, law = 1 / precision, (sigma**2 / n, lost / lib.sqrt(d))
    if len(phases) == 1:
        return Course(phases, noise, lib.sqrt(sigma**2 * d / n + lost**2 + d * noise), *law)
    return Course(phases, noise, lib.sqrt(sigma**2 * d / n + d * noise) + lost, *law)


def _centred(
    at: Point, pure: bool, found: Optimum, last: int
) -> tuple[tuple[Phase, ...], Number, Number]:
    """The first phases by `tails_course`, their precision P and what they cut off, T."""
    n, d, sigma = at["n"], at["d"], at["sigma"]
    lib = library(n, d)
    phases, lost = [_first_phase(at, pure, found)], _first_loss(at, found)
    precision = 1 / phases[0].variance
    for k in range(2, last + 1):
        w, average_w = lift(found[f"w_{k}"], n), lift(found["average_w"], n)
        shift, beyond = _noise_shift(at, pure, found, phases, precision)
        spread = lib.sqrt(sigma**2 + shift)
        R = spread * lib.sqrt(d) * (1 + w) + sigma * lib.sqrt(d / n) * (1 + average_w)
        phase = _next_phase(at, pure, found, k, R, lift(1.0, n), precision)
        far = norm_excess(sigma / lib.sqrt(n), d, average_w)
        lost = lost + phase.weight * (norm_excess(spread, d, w) + far + beyond)
        precision = precision + 1 / phase.variance
        phases.append(phase)
    return tuple(phases), precision, lost


def gaussian_course(at: Point, pure: bool, found: Optimum) -> Course:
    r"""The last release divided by its slope, for N(mu, sigma^2 I) and Gaussian noise.

    **Statement.** Phases 1 to K - 1 as in `tails_course`: P = P_{K-1}, T = T_{K-1}, t = 1/P. Phase
    K shortens to any R; with (slope a, square q) of `shortened_gaussian` at s^2 = sigma^2 + t its
    estimate is c + (release)/a, of noise variance v = (noise)/a^2 and weight
    w = (1/v)/(P + 1/v), and the last centre has

        sqrt(risk) <= sqrt(d/(P + 1/v) + u^2) + sigma sqrt(d/n) (1 - w + w B) + w F + M T,
        u^2 = w^2 [(q/a^2 - d t)/n + (t/s^2)^3 (q/a^2 - s^2 d)],   M = max(1, 1/a - 1),

    B = `_response` <= M, F = (4 e^{-z^2/2})^{1/4} sigma (d (d + 2))^{1/4} n^{-1/2} M, z = `RARE`.

    **Proof.** The centre is c = mu + zeta + (xbar - mu) - e with zeta ~ N(0, t I) independent of
    the data and e of root mean square T. *Were it mu + zeta*: y = x_i - c ~ N(0, s^2 I), and
    E[short(y) | zeta] is a projection of short(y). It multiplies the size of the Hermite
    polynomials of degree m by (t/s^2)^{m/2}. Degree 1 gives -a zeta (Stein's identity), which
    division by a turns into exactly what the centre missed; short is odd, so degrees 0 and 2 are
    absent, and the others have squares of at most (t/s^2)^3 (q - a^2 s^2 d) together: a bias
    orthogonal to zeta. Given zeta the records are independent, so their average has variance
    (q - E|E[short(y) | zeta]|^2)/n <= (q - a^2 d t)/n. *The rest of the centre*: the new estimate
    is a function of c whose slope, I - (1/(n a)) sum_i (a matrix between 0 and I), is at most M in
    norm, whatever c depends on: that is the term M T. From mu + zeta to xbar + zeta its norm is at
    most B but on an event of chance 4 e^{-z^2/2}, where E|xbar - mu|^4 = (sigma^2/n)^2 d (d + 2)
    and the inequality of Cauchy and Schwarz give F.

    *The sampling error to leading order* is (1 - w)(xbar - mu) + (w/a) [mean of short(y) less
    its mean given zeta]: their covariance is a sigma^2/n (Stein), so a coordinate has variance
    [sigma^2 + w^2 (q/(a^2 d) - s^2)]/n. The bias orthogonal to zeta is counted with it.

    **Constants.** For R -> 0 this is the mean of directions: R/a tends to s sqrt(pi/2) for d = 1
    and to s sqrt(d) (1 + O(1/d)) in general, and this phase needs no tail at all.
    """
    n, d, sigma = at["n"], at["d"], at["sigma"]
    lib, last = library(n, d), int(found["phases"])
    phases, precision, lost = _centred(at, pure, found, last - 1)
    shift = 1 / precision
    spread = lib.sqrt(sigma**2 + shift)
    R = spread * lib.sqrt(d) * (1 + lift(found[f"w_{last}"], n))
    slope, square = shortened_gaussian(spread, d, R)
    phase = _next_phase(at, pure, found, last, R, slope, precision)
    scaled, w, one = square / slope**2, phase.weight, lift(1.0, n)
    bias = (shift / spread**2) ** 3 * lib.largest(scaled - spread**2 * d, 0 * d)
    spared = w**2 * (lib.largest(scaled - d * shift, 0 * d) / n + bias)
    most = lib.largest(one, 1 / slope - 1)
    moved = lib.least(_response(at, shift, R, slope), most)
    rare = (4 * lib.exp(-((one * RARE) ** 2) / 2)) ** (one / 4) * most
    typical = sigma * lib.sqrt(d / n) * (1 - w + w * moved)
    fourth = sigma / lib.sqrt(n) * lib.sqrt(lib.sqrt(d * (d + 2)))
    noise = 1 / (precision + 1 / phase.variance)
    root = lib.sqrt(d * noise + spared) + typical + w * rare * fourth + most * lost
    excess = lib.largest(scaled / d - spread**2, 0 * d)
    sampling = sigma**2 / n + w**2 * (excess / n + bias / d)
    return Course((*phases, phase), noise, root, sampling, (1 - w) * lost / lib.sqrt(d))


RARE = 8.0
"""Deviations beyond this many standard ones are left to a term of their own."""


def _response(at: Point, shift: Number, R: Number, slope: Number) -> Number:
    r"""How much of a move of the centre by xbar - mu is left after a phase, but for rare events.

    **Statement.** With r = sigma (sqrt d + z)/sqrt n, z = `RARE` and l the larger length
    s (sqrt d + sqrt(2 log n + z^2)) + r, s^2 = sigma^2 + shift: the larger of 1/a - 1 and
    (b + (1 - R/l)^+ - 1)/a + 1, where
    b = [sigma (1 + (sqrt d + z)/sqrt n) + sqrt(shift) (sqrt d + z) + r]^2/R^2.

    **Proof.** The slope of the estimate in the centre is I - (1/(n a)) sum_i K_i, K_i = I inside
    the ball and (R/|y_i|)(I - y_i y_i'/|y_i|^2) outside. So I - K_i lies between 0 and
    y_i y_i'/R^2 + (1 - R/|y_i|)^+ I. The sum of the y_i y_i' has norm at most
    (|X - mu| + sqrt(n) |mu - c|)^2 with |X - mu| <= sigma (sqrt n + sqrt d + z) (Davidson and
    Szarek) and |c - mu| <= |zeta| + |xbar - mu|, and |y_i| <= l for all i, each but for a chance of
    e^{-z^2/2}: |N(0, I_d)| exceeds sqrt d + z with no more.
    """
    n, d, sigma = at["n"], at["d"], at["sigma"]
    lib = library(n, d)
    one = lift(1.0, n)
    length = lib.sqrt(d) + RARE
    r = sigma * length / lib.sqrt(n)
    farthest = lib.sqrt(sigma**2 + shift) * (lib.sqrt(d) + lib.sqrt(2 * lib.log(n) + RARE**2)) + r
    spectral = ((sigma + r + lib.sqrt(shift) * length + r) / R) ** 2
    cut = lib.largest(1 - R / farthest, 0 * one)
    return lib.largest(1 / slope - 1, (spectral + cut - 1) / slope + 1)


def _first_phase(at: Point, pure: bool, found: Optimum) -> Phase:
    R = _first_scale(at) * library(at["d"]).sqrt(at["d"]) * (1 + lift(found["w_1"], at["n"]))
    share = _share(found, 1, at["n"])
    variance = _noise(at, pure, found, share, R)
    one = lift(1.0, at["n"])
    return Phase(R, share, one, one, variance)


def _first_scale(at: Point) -> Number:
    return library(at["sigma"]).sqrt(at["sigma"] ** 2 + at["radius"] ** 2)


def _first_loss(at: Point, found: Optimum) -> Number:
    return norm_excess(_first_scale(at), at["d"], lift(found["w_1"], at["n"]))


def _next_phase(
    at: Point, pure: bool, found: Optimum, k: int, R: Number, slope: Number, precision: Number
) -> Phase:
    share = _share(found, k, at["n"])
    variance = _noise(at, pure, found, share, R) / slope**2
    return Phase(R, share, slope, 1 / (1 + precision * variance), variance)


def _noise(at: Point, pure: bool, found: Optimum, share: Number, R: Number) -> Number:
    part = part_of_budget(pure, lift(found["strength"], at["n"]), share)
    return ball_noise_variance(part, at["n"], at["d"], R)


def _share(found: Optimum, k: int, like: Number) -> Number:
    """The share of phase k: given, and what the others leave for the last."""
    last = int(found["phases"])
    if k < last:
        return lift(found[f"share_{k}"], like)
    return 1 - sum((lift(found[f"share_{j}"], like) for j in range(1, last)), lift(0.0, like))


def _noise_shift(
    at: Point, pure: bool, found: Optimum, phases: Sequence[Phase], precision: Number
) -> tuple[Number, Number]:
    """(what the centre's noise adds to a coordinate's variance, what of it is beyond that)."""
    if not pure:
        return 1 / precision, 0 * precision
    n, d, w = at["n"], at["d"], lift(found["noise_w"], at["n"])
    scale = 2 * phases[0].R / (n * lift(found["strength"], n) * phases[0].share)
    return (scale * d * (1 + w)) ** 2 / d, gamma_excess(scale, d, w)


# --- Search ---------------------------------------------------------------------------------------

WORTHWHILE = 0.995
"""One more phase, which is one more pass over the data, must lower the risk's root to this part."""
FIRST_SHARE = 0.1
COARSE, FINE = 5e-3, 5e-4
"""Relative errors at which the searches stop: for a number of phases, and for the one taken."""


def best_course(at: Point, privacy: Privacy, tails: Tails) -> Course:
    """The phases of least proven risk at a point of numbers: what an estimator runs."""
    return _planned(tuple(at.items()), privacy, tails)


@lru_cache(maxsize=256)
def _planned(numbers: tuple[tuple[str, Number], ...], privacy: Privacy, tails: Tails) -> Course:
    """`best_course`: fits to tables of one size ask for the same one again and again."""
    at = {**dict(numbers), **privacy.parameters}
    return course(at, isinstance(privacy, Pure), _settings(at, type(privacy), tails))


def _settings(at: Point, model: type[Privacy], tails: Tails) -> dict[str, float]:
    strength = at["epsilon"] if model is Pure else Allowance(model, at).mu()
    return _search(tuple(float(at[k]) for k in NUMBERS), model is Pure, float(strength), tails)


@lru_cache(maxsize=4096)
def _search(
    numbers: tuple[float, ...], pure: bool, strength: float, tails: Tails
) -> dict[str, float]:
    """Good shares and radii, by either proof that applies, with as many phases as pay."""
    at = dict(zip(NUMBERS, numbers, strict=True))
    proofs = (0.0, 1.0) if tails == "Gaussian" and not pure else (0.0,)
    found = [_with_phases(at, pure, {"gaussian": proof, "strength": strength}) for proof in proofs]
    best = min(found, key=lambda settings: _root(at, pure, settings))
    return _improved(at, pure, best, FINE)


def _with_phases(at: Point, pure: bool, fixed: dict[str, float]) -> dict[str, float]:
    """Good settings of one proof: phases are added in front while that pays."""
    first = 1 + int(fixed["gaussian"])
    best = _improved(at, pure, _first_guess(at, pure, {**fixed, "phases": float(first)}))
    for _ in range(first, MOST_PHASES[pure]):
        more = _improved(at, pure, _one_more_phase(best))
        if not _root(at, pure, more) < WORTHWHILE * _root(at, pure, best):
            break
        best = more
    return best


def _root(at: Point, pure: bool, found: Optimum) -> float:
    return float(course(at, pure, found).root_risk)


def _improved(
    at: Point, pure: bool, first: dict[str, float], tolerance: float = COARSE
) -> dict[str, float]:
    """The settings of least proven risk next to these, up to about this relative error."""
    names, last = _free_names(pure, first), int(first["phases"])
    # Shares enter as odds against the last phase's, the rescaled ball as a ratio: all positive.
    kept = 1 - sum(first[f"share_{k}"] for k in range(1, last))
    offset = {f"w_{last}": first["gaussian"]}

    def settings(logs: Sequence[float]) -> dict[str, float]:
        free = {name: math.exp(min(max(x, -30), 30)) for name, x in zip(names, logs, strict=True)}
        odds = 1 + sum(free[f"share_{k}"] for k in range(1, last))
        shares = {f"share_{k}": free[f"share_{k}"] / odds for k in range(1, last)}
        rescaled = {name: free[name] - by for name, by in offset.items()}
        return {**first, **free, **rescaled, **shares}

    def objective(logs: Sequence[float]) -> float:
        return math.log(_root(at, pure, settings(logs)))

    start = [
        math.log(
            first[name] / kept if name.startswith("share") else first[name] + offset.get(name, 0)
        )
        for name in names
    ]
    found = optimize.minimize(
        objective,
        start,
        method="Nelder-Mead",
        options={
            "xatol": 100 * tolerance,
            "fatol": tolerance,
            "maxfev": 60 * len(names),
            "initial_simplex": np.vstack([start, start - 0.2 * np.eye(len(names))]),
        },
    )
    return settings(min(start, found.x.tolist(), key=objective))


def _first_guess(at: Point, pure: bool, fixed: dict[str, float]) -> dict[str, float]:
    """A tail of chance about 1/n for each ball, and a small share for the first."""
    level = 4 * math.log(at["n"] + 2) / at["d"]
    width = math.sqrt(1 + math.sqrt(2 * level) + level) - 1
    last = int(fixed["phases"])
    guess = dict.fromkeys((*_free_names(pure, fixed), "average_w", "noise_w"), width)
    guess |= {f"share_{k}": FIRST_SHARE for k in range(1, last)}
    if fixed["gaussian"]:
        guess[f"w_{last}"] = 0.0
    return {**fixed, **guess}


def _one_more_phase(fewer: dict[str, float]) -> dict[str, float]:
    """These settings after one more phase of the same first ball, which takes a small share."""
    last = int(fewer["phases"])
    kept = 1 - sum(fewer[f"share_{k}"] for k in range(1, last))
    shares = {f"share_{k + 1}": fewer[f"share_{k}"] for k in range(1, last)}
    shares["share_1"] = min(shares.get("share_2", FIRST_SHARE * kept) / 2, FIRST_SHARE)
    spared = 1 - shares["share_1"]
    shares |= {name: share * spared for name, share in shares.items() if name != "share_1"}
    balls = {f"w_{k + 1}": fewer[f"w_{k}"] for k in range(1, last + 1)}
    return {**fewer, **shares, **balls, "phases": last + 1.0}


def _free_names(pure: bool, fixed: Optimum) -> list[str]:
    last = int(fixed["phases"])
    names = [f"share_{k}" for k in range(1, last)] + [f"w_{k}" for k in range(1, last + 1)]
    if last > 1 + fixed["gaussian"]:
        names += ["average_w"] + (["noise_w"] if pure else [])
    return names
