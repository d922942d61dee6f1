r"""Lower bounds for the mean of bounded data, proved with sign vectors (CWZ19 §2.3, §3.1).

Data in {-sigma, sigma}^d with independent coordinates, its diluted version (most records zero), and
the in-sample version. All are fingerprinting proofs with the prior p_j ~ (1 - p^2)^{u/2 - 1}.
"""

from __future__ import annotations

import math
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minimax.core.bound import Assumption, LowerBound, Optimum, Parts, Point, Prior, Terms
from minimax.core.loss import Loss, squared_distance
from minimax.core.privacy import Approximate, Privacy, Pure, parameter_names
from minimax.core.symbolic import LETTERS, PRECISE, Expression, Number, approximately, library, lift
from minimax.methods.binomial_tails import binomial_tails
from minimax.methods.concentration import largest_row_eigenvalue
from minimax.methods.counts import binomial_cdf
from minimax.methods.priors import DilutedPrior
from minimax.methods.tracing import SUBGAUSSIAN, Gain, best_choices, gain_at
from minimax.papers import THIS_WORK
from minimax.problems.bounded_mean.signs import (
    SMALL_EPSILON,
    SignGain,
    best_on_log_scale,
    best_sign_gain,
    closed_form_t,
    closed_sign_gains,
    fingerprint_root,
    largest,
    sign_choices,
    sign_gain,
    sign_gain_of,
    sign_prior,
    spectral_gain,
)

TO_THE_SAMPLE_MEAN = Loss("squared l2 distance to the sample mean", squared_distance)

Array = NDArray[np.float64]
MOST_COUNTS = 1200
"""Group sizes at which the gain is evaluated, at most."""


# --- Diluted sign data ---------------------------------------------------------------------------


def dilution(model: type[Privacy]) -> LowerBound:
    r"""Tracing with groups of records: the log(1/delta) of CWZ19: Theorem 3.1, certified.

    **Statement.** For m points, mean group size l = n alpha/m, alpha <= min(1, a/sigma), u > 0,
    kappa = u/(u+1), and Gamma, slope, tail and spill of `SignGain` for the m points together:

        sqrt R >= alpha sigma (kappa d - Gamma sqrt(kappa d) - tail - spill)
            /(m Gamma + kappa sqrt((u+1) d) + slope).

    Its single score has own = Gamma and leak = Delta: Gamma^2 = E own_K^2 1(K <= k) +
    kappa d P(K > k) and Delta^2 = E leak_K^2 1(K <= k), for any k, K ~ Binomial(n, l/n) and
    (own_k, leak_k) the gain of a group of k records; (0, 0) for k = 0.

    **Proof.** z_1..z_m are sign vectors with the prior of `tracing_signs`; a record is 0 with
    probability 1 - alpha, else sigma z_J with J uniform. The mean is alpha sigma zbar. With
    mhat = M/(alpha sigma), sum_g E<mhat, z_g - p> = kappa d + u E<p, mhat - zbar> (fingerprinting,
    and E<p, zbar - p> = 0). The attack V_g = (mhat - zbar) + (z_g - p)/m does not contain z_g but
    for mhat, and given who carries which point, z_g -> M is the channel of a group of K_g records.
    So E[A_g | K_g] is at most own_K sqrt(E[|V_g|^2 | K_g]) + leak_K sqrt(E[A_g^2 | K_g]), and in
    any case sqrt(E|z_g - p|^2 E[|V_g|^2 | K_g]), E|z_g - p|^2 = kappa d: this for K_g > k. Sum over
    g with Cauchy-Schwarz, sqrt(E|V_g|^2) <= sqrt(E|mhat - zbar|^2) + sqrt(kappa d)/m, and
    `SignGain` with N = mhat - zbar, c = 1/m. (M may be projected on the cube, so |N|^2 <= 4d.)

    **Constants.** Gamma and Delta are bounded by sums over some counts: `_mean_gain`. A group's
    gain grows like sqrt(2 k eps), which is what carries log(1/delta). The closed form takes
    l = min{max(1, log(eps/(100 d delta)))/(e^eps - 1), d/(10 eps)} (pure: the latter), all the m
    that fit, at least n alpha/l - 1, u = (2 m Gamma/sqrt d)^{2/3}, k = n and the first form of
    `SignGain`, with Gamma <= min{eps sqrt(l(l+1))/2, sqrt(2 l eps)} + sqrt(delta/eps) and
    Delta^2 <= 5 delta (e^{l (e^eps - 1)} - 1)/(e^eps - 1). That is `closed_gain` for a group:
    own_k <= sqrt(2 kappa(k eps)) + sqrt(delta_k (1 + 2 kappa)) e^{-k eps}, 2 kappa(x) <=
    min(x^2/4, 2x), delta_k <= delta e^{k eps}/eps and 1 + x^2/4 <= e^x, and the moment generating
    function of K.

    **Source.** CWZ19: Lemma 3.1 and Theorem 3.1.
    """

    return LowerBound(
        name="tracing: diluted signs, groups",
        source=f"{THIS_WORK}: dilution (for CWZ19: Theorem 3.1)",
        parameters=("n", "d", "sigma", "radius", *parameter_names(model)),
        optimise=lambda p: _dilution_search(model, p),
        formula=lambda p, found: _diluted(model, p, found),
        expression=lambda: _dilution_expression(model),
        assumptions=_dilution_regime(model),
        prior_at=_diluted_prior,
        slack=10.0,
        slack_regime=Assumption(
            "d >= 100, epsilon <= 1, d delta <= epsilon/1000 and room for four groups",
            lambda p: _dilution_closed_form_is_good(model, p),
        ),
    )


def _diluted_prior(p: Point, parts: Parts) -> Prior:
    u, m, alpha = (parts.optimum[name] for name in ("u", "m", "alpha"))
    return DilutedPrior(int(p["d"]), p["sigma"], u, int(m), alpha)


def _diluted(model: type[Privacy], p: Point, found: Optimum) -> Terms:
    n, d, use = p["n"], p["d"], library(p["n"])
    m, u = lift(found["m"], n), lift(found["u"], n)
    alpha = use.least(lift(found["alpha"], n), lift(1.0, n), p["radius"] / p["sigma"])
    cap = use.sqrt(d * u / (u + 1))
    member = _member(found["m"], approximately(d), found["t"])
    traced = sign_gain_of(_mean_gain(model, p, alpha / m, cap, member), m, d, found["t"])
    return Terms(None, (p["sigma"] * alpha * fingerprint_root(u, m, d, traced)) ** 2)


def _member(m: float, d: float, t: float) -> float:
    """About sqrt(E_P A^2) in units of sqrt(E|V|^2), in the form of `SignGain` that t stands for."""
    return math.sqrt(largest_row_eigenvalue(m, d, t) / m) if t else 2 * math.sqrt(d)


def _mean_gain(model: type[Privacy], p: Point, chance: Number, cap: Number, member: float) -> Gain:
    r"""Bounds on Gamma and Delta, K ~ Binomial(n, chance).

    **Statement.** Let 0 = k_0 < k_1 < ... < k_J be counts, f_j and h_j the squares of own and leak
    of the gain of k_j records for j <= i, and f_j = cap^2, h_j = 0 beyond; let F_j, H_j be the
    largest of them up to j, F_0 = H_0 = 0. Then

        Gamma^2 <= sum_j (F_j - F_{j-1}) P(K > k_{j-1}) + (cap^2 - F_J) P(K > k_J),
        Delta^2 <= sum_j (H_j - H_{j-1}) P(K > k_{j-1}).

    **Proof.** A group of k <= k_j records is as private as one of k_j, so that its gain is at most
    (f_j, h_j); sum by parts. No term is negative: nothing cancels.

    **Constants.** The counts are those around the mean of K, all of them while they are at most
    `MOST_COUNTS`. Each takes a good choice of its own, found in floats, and i is the last at which
    own + leak member stays below the cap.
    """
    n, d, use = p["n"], p["d"], library(p["n"])
    counts = _counts(approximately(n), approximately(n * chance))
    tails = binomial_tails([0.0, *counts.tolist()], n, chance)
    own, leak = 0 * d, 0 * d
    top, spilt, open_to_gain = 0 * d, 0 * d, True
    for gain, tail in zip(_gains(model, p, member, counts), tails, strict=False):
        open_to_gain = open_to_gain and bool(gain.total(member) < cap)
        reached = use.largest(use.least(gain.own, cap) ** 2 if open_to_gain else cap**2, top)
        lost = use.largest(gain.leak**2, spilt) if open_to_gain else spilt
        own, top = own + (reached - top) * tail, reached
        leak, spilt = leak + (lost - spilt) * tail, lost
    return Gain(use.sqrt(own + (cap**2 - top) * tails[-1]), use.sqrt(leak))


def _gains(model: type[Privacy], p: Point, member: float, counts: Array) -> list[Gain]:
    """The gain of each count, at good choices for groups whose scores have this size."""
    shifts, shares = best_choices(model, p, SUBGAUSSIAN, member=member, sizes=counts)
    n = p["n"]
    if isinstance(n, PRECISE):
        return [
            gain_at(model, p, SUBGAUSSIAN, t, theta, size=lift(k, n))
            for k, t, theta in zip(counts.tolist(), shifts.tolist(), shares.tolist(), strict=True)
        ]
    own, leak = gain_at(model, p, SUBGAUSSIAN, shifts, shares, size=counts)
    return list(map(Gain, own.tolist(), np.broadcast_to(leak, own.shape).tolist()))


def _counts(n: float, mean: float) -> Array:
    """Group sizes from 12 deviations below the mean to 12 above and 30 more, within [1, n]."""
    spread = 12 * math.sqrt(mean)
    low = max(math.floor(mean - spread), 1.0)
    high = max(min(math.ceil(mean + spread + 30), n), low)
    return np.unique(np.round(np.linspace(low, high, int(min(high - low + 1, MOST_COUNTS)))))


def _dilution_closed_form_is_good(model: type[Privacy], p: Point) -> bool:
    d, epsilon, delta = p["d"], p["epsilon"], p.get("delta", 0.0)
    room = p["n"] * min(1.0, p["radius"] / p["sigma"])
    small = d >= 100 and epsilon <= 1 and 1000 * d * delta <= epsilon
    return small and room >= 4 * _closed_size(model, d, epsilon, delta)


def _closed_size(model: type[Privacy], d: Number, epsilon: Number, delta: Number) -> Number:
    """l of the closed form, for numbers or symbols."""
    use = library(epsilon)
    most = d / (10 * epsilon)
    if model is Pure:
        return most
    grown = use.largest(use.log(epsilon / (100 * d * delta)), 1)
    return use.least(grown / use.expm1(epsilon), most)


def _closed_gamma(
    model: type[Privacy], size: Number, d: Number, epsilon: Number, delta: Number
) -> Number:
    """Gamma_0 + 2 sqrt(d) Delta_0 of the closed form."""
    use = library(epsilon)
    own = use.sqrt(use.least(epsilon**2 * size * (size + 1) / 4, 2 * size * epsilon))
    if model is Pure:
        return own
    growth = use.expm1(epsilon)
    leak = use.sqrt(20 * d * delta * use.expm1(size * growth) / growth)
    return own + use.sqrt(delta / epsilon) + leak


def _dilution_regime(model: type[Privacy]) -> tuple[Assumption, ...]:
    if model is not Approximate:
        return ()
    return (Assumption("d * delta < 1/2", lambda p: p["d"] * p["delta"] < 0.5),)


def _dilution_expression(model: type[Privacy]) -> Expression:
    import sympy

    n, d, sigma, radius = (LETTERS[name] for name in ("n", "d", "sigma", "radius"))
    budget = LETTERS["epsilon"], LETTERS["delta"]
    size = _closed_size(model, d, *budget)
    points = n * sympy.Min(1, radius / sigma, evaluate=False) / size - 1
    traced = SignGain(_closed_gamma(model, size, d, *budget))
    u = _closed_u(points, d, traced, sympy.Rational(2, 3))
    root = sigma * size * points / n * fingerprint_root(u, points, d, traced)
    return sympy.Piecewise((root**2, points >= 1), (0, True))


def _closed_u(m: Number, d: Number, traced: SignGain, power: Number = 2 / 3) -> Number:
    return (2 * (m * traced.gain + traced.slope) / library(d).sqrt(d)) ** power


def _dilution_search(model: type[Privacy], p: Point) -> Optimum:
    n, sigma = p["n"], p["sigma"]
    alpha_top = min(1.0, p["radius"] / sigma)
    smallest = min(0.02, n * alpha_top / 5000)
    closed = max(_closed_size(model, p["d"], p["epsilon"], p.get("delta")), smallest)
    top = max(closed, 1.0)
    sizes = np.append(np.geomspace(smallest, 4 * top, 64), closed)
    # Sizes at which m points use the whole of alpha: between them rounding m down would waste it.
    whole = n * alpha_top / np.unique(np.round(np.geomspace(1, 5000, 64)))
    sizes = np.append(sizes, whole[whole <= 4 * top])
    best = _dilution_scan(model, p, alpha_top, sizes)
    for width in (0.15, 0.02):
        near = best.size * np.linspace(1 - width, 1 + width, 17)
        best = max(best, _dilution_scan(model, p, alpha_top, near))
    finalists = [best]
    if closed <= n * alpha_top:
        finalists.append(_dilution_scan(model, p, alpha_top, np.array([closed])))
    witnesses = [
        {"u": f.u, "m": f.m, "alpha": min(f.size * f.m / n, alpha_top), "t": f.t} for f in finalists
    ]
    return max(witnesses, key=lambda found: float(_diluted(model, p, found).total))


class _Found(NamedTuple):
    root: float
    size: float
    m: float
    u: float
    t: float


def _dilution_scan(model: type[Privacy], p: Point, alpha_top: float, sizes: Array) -> _Found:
    """The best over the group sizes given, all m, a grid of u and the forms of `SignGain`."""
    n, d = p["n"], p["d"]
    sizes = sizes[(sizes > 0) & (sizes <= n * alpha_top)]
    top = math.ceil(sizes.max() + 12 * math.sqrt(sizes.max()) + 30)
    # Between two of these counts the larger one's gain is used: it covers the smaller ones.
    counts: Array = np.unique(np.round(np.exp(np.linspace(0, math.log(top), MOST_COUNTS))))
    ends, chances = np.append(0, counts)[:, None], sizes[None, :] / n
    below = binomial_cdf(ends, n, chances, quick=True)
    m_top = np.maximum(np.floor(n * alpha_top / sizes * (1 + 1e-12)), 1)[:, None]
    found = []
    for spectral in (False, True) if model is Approximate else (False,):
        gamma, delta = _quick_gains(model, p, sizes, counts, below, spectral=spectral)
        m = np.floor(np.exp(np.linspace(0, 1, 30) * np.log(m_top)) * (1 + 1e-12))[:, :, None]
        gain = Gain(gamma[:, :, None], delta[:, :, None])
        t = closed_form_t(m)
        traced = spectral_gain(gain, m, d, t) if spectral else SignGain(gain.own)
        u = _closed_u(m, d, traced) * np.geomspace(0.05, 5.0, 24)
        wanted = sizes[:, None, None] * m / n
        root = np.minimum(wanted, alpha_top) * fingerprint_root(u, m, d, traced)
        root = np.where(wanted <= alpha_top * (1 + 1e-9), root, 0.0)
        i, j, k = np.unravel_index(int(np.argmax(root)), root.shape)
        level = float(t[i, j, 0]) if spectral else 0.0
        found.append(_Found(root[i, j, k], sizes[i], m[i, j, 0], u[i, j, k], level))
    return max(found)


def _quick_gains(
    model: type[Privacy], p: Point, sizes: Array, counts: Array, below: Array, *, spectral: bool
) -> tuple[Array, Array]:
    """About Gamma and Delta for each group size, as columns; Delta is 0 in the first form."""
    d, cap = p["d"], math.sqrt(p["d"])
    m = 1 + cap / math.sqrt(2 * p["epsilon"] * float(np.median(sizes)) + 1)
    member = _member(m, d, closed_form_t(m) if spectral else 0.0)
    shifts, shares = best_choices(model, p, SUBGAUSSIAN, member=member, sizes=counts)
    gain = gain_at(model, p, SUBGAUSSIAN, shifts, shares, size=counts)
    within = np.logical_and.accumulate(gain.total(member) < cap)
    own = np.where(within, gain.own if spectral else gain.total(member), cap)
    leak = np.where(within, gain.leak, 0.0) * spectral
    mass = np.diff(below, axis=0)
    square = own**2 @ mass + cap**2 * (1 - below[-1])
    # No less than the part of groups that are not empty, which 1 - below loses for tiny sizes.
    gamma = np.sqrt(np.maximum(square, own[0] ** 2 * -np.expm1(-sizes)))
    delta = np.sqrt(np.maximum(leak**2 @ mass, leak[0] ** 2 * -np.expm1(-sizes)))
    return gamma[:, None], delta[:, None]


# --- In-sample version ---------------------------------------------------------------------------


def in_sample(model: type[Privacy]) -> LowerBound:
    r"""How far a private release must stay from the *sample* mean of n sign vectors.

    **Statement.** For every u > 0, with kappa = u/(u+1), E|M - xbar|^2 is at least sigma^2 times
    the square of `fingerprint_root` with the gain of a single record and m = n: without delta,
    sigma^2 [(kappa d - G sqrt(kappa d))/(n G + kappa sqrt((u+1) d))]^2.

    **Proof.** `dilution` with alpha = 1 and every point used once. **Constants.** The closed form
    takes u = 2. **Source.** CWZ19: Lemma 2.1 and (2.3), there with unnamed constants and for
    n < c sqrt(d/log(1/delta)).
    """

    def optimise(p: Point) -> Optimum:
        n, d = p["n"], p["d"]

        def witness(choice: Optimum) -> tuple[float, Optimum]:
            traced = sign_gain(model, p, choice)
            u = best_on_log_scale(lambda u: fingerprint_root(u, n, d, traced), 2.0)
            return fingerprint_root(u, n, d, traced), {**choice, "u": u}

        return max(map(witness, sign_choices(model, p)), key=itemgetter(0))[1]

    def formula(p: Point, found: Optimum) -> Terms:
        traced = sign_gain(model, p, found)
        root = fingerprint_root(lift(found["u"], p["n"]), p["n"], p["d"], traced)
        return Terms(None, (p["sigma"] * root) ** 2)

    def expression() -> Expression:
        import sympy

        n, d, two = LETTERS["n"], LETTERS["d"], sympy.Integer(2)
        roots = [fingerprint_root(two, n, d, traced) for traced in closed_sign_gains(model)]
        return (LETTERS["sigma"] * largest(roots)) ** 2

    return LowerBound(
        name="tracing: in-sample mean",
        source=f"{THIS_WORK}: in_sample (for CWZ19: (2.3))",
        parameters=("n", "d", "sigma", *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
        prior_at=sign_prior,
        slack=4.0,
        slack_regime=Assumption(
            "d >= 16 G^2 and epsilon <= 1",
            lambda p: math.sqrt(p["d"]) >= 4 * best_sign_gain(model, p) and SMALL_EPSILON.holds(p),
        ),
        loss=TO_THE_SAMPLE_MEAN,
    )
