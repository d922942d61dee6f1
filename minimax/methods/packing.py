r"""Private packing bounds: what privacy adds to a guess without data (`minimax.methods.blocks`).

A packing (`minimax.methods.couplings`) couples each of its laws, record by record, with one law
that does not depend on v: N records differ, and success after changing N records has a chance that
privacy limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
from numpy.typing import NDArray

from minimax.core.balls import BALLS, Ball
from minimax.core.bound import Optimum
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Privacy,
    Pure,
    ZeroConcentrated,
)
from minimax.core.symbolic import LETTERS, PRECISE, Expression, Number, exact_float, library
from minimax.methods.blocks import RADII, best_exponent, log_guess, log_guess_probability
from minimax.methods.counts import binomial_cdf, poisson_cdf
from minimax.methods.couplings import Coupling, Data, Packing, kearns_saul

Array = NDArray[np.float64]
GUARD = 1e-12
"""By how much the two terms of a difference are drawn apart, to stay on the safe side in floats."""


def failure(privacy: Privacy, size: Number, room: Number) -> Number:
    r"""1 - T_k(q), from below, q = e^-room: T_k(q) is the largest chance that privacy lets an event
    of chance q have after changing k = `size` records.

    **Statement.** (eps, delta): with delta_k = delta (e^{k eps} - 1)/(e^eps - 1),
    max{1 - e^{k eps} q - delta_k, e^{-k eps} (1 - q - delta_k), 0}; delta = 0 for pure budgets.
    zCDP: 1 - exp(-(sqrt(log 1/q) - k sqrt rho)_+^2). GDP: Phi(-k mu - Phi^-1(q)).

    **Proof.** Group privacy, and `Privacy.tradeoff_log` of the group. No term is one minus a number
    near one. The margins, some ulps of what is subtracted, cover the rounding of differences.
    """
    lib = library(room, size)
    ulp, k = lib.ulp, size
    if isinstance(privacy, ZeroConcentrated):
        left = lib.sqrt(room) * (1 - 8 * ulp) - k * lib.sqrt(privacy.rho)
        return -lib.expm1(-(lib.largest(left, 0 * left) ** 2))
    if isinstance(privacy, Gaussian):
        quantile = lib.ndtri_exp(-lib.largest(room, room * 0 + 1e-300))
        return lib.ndtr(-(k * privacy.mu + quantile) - 64 * ulp * (abs(quantile) + k * privacy.mu))
    if not isinstance(privacy, (Pure, Approximate)):
        raise TypeError(f"privacy: no packing bound for {privacy}")
    spent = k * privacy.epsilon
    grown = _group_delta(privacy, k)
    drift = 4 * ulp * (room + spent)
    direct = -lib.expm1(lib.least(spent - room + drift, 0 * room)) - grown
    complement = lib.exp(-spent) * (-lib.expm1(-room) * (1 - 2 * ulp) - grown)
    return lib.largest(direct, complement, 0 * room)


def _group_delta(privacy: Pure | Approximate, k: Number) -> Number:
    """delta (e^{k eps} - 1)/(e^eps - 1) from above, for k >= 0, or some number above 1."""
    if isinstance(privacy, Pure):
        return 0 * k
    lib, eps, log_delta = library(k), privacy.epsilon, library(0 * k + 1).log(privacy.delta)
    geometric = lib.expm1(-k * eps) / lib.expm1(0 * k - eps)
    log_grown = lib.least(log_delta + (k - 1) * eps, 1 + 0 * k)
    margin = 8 * lib.ulp * (8 - log_delta + lib.least(k * eps, 1000 + 0 * k))
    return geometric * lib.exp(log_grown) * (1 + margin)


# --- The bound ------------------------------------------------------------------------------------


def packing_formula(packing: Packing, privacy: Privacy, optimum: Optimum) -> Number:
    r"""The private packing bound at any choice of its free parameters (`packing_search`).

    **Statement.** For every private M, some law of the packing and every r in (0, 1),
    risk >= r separation(alpha) F, where F = 1 - E_N T_N(q_r), N ~ Binomial(n, alpha), if the common
    law is a point, and in general F is the larger of

        1 - E T_K(q_r) - w(lambda) dev(Lambda)/2,       K ~ Poisson(lambda), lambda >= E Lambda,
        max_k P(N <= k) (1 - T_k(q_r/P(N <= k))).

    q_r is the probability with which a guess without data comes within the radius, T_k(q) the
    largest probability that privacy lets such an event have after changing k records, Lambda =
    sum_i (log p_0/p_v)^+ over n records of the common law p_0 and w(lambda) the largest
    probability of a Poisson(lambda) law.

    **Proof.** Couple the data with n records of the common law, whose release is independent of v:
    N of them differ. Let p be the conditional probability of success of a release from the common
    data, E p <= q. Given the coupling, success has probability at most T_N(p), which is concave
    in p and grows with N. If the common data are fixed, N is independent of p. If not:

    * In the maximal coupling a record of the common data is changed with chance
      (1 - p_v/p_0)^+ = 1 - e^{-(log p_0/p_v)^+}, given those data independently of the others. A
      Bernoulli of that chance is stochastically below a Poisson of mean (log p_0/p_v)^+ (both are
      0 with the same chance), so given the data N is below Poisson(Lambda). With f(x) =
      E T_Poisson(x)(p), f'(x) = sum_k P(Poisson(x) = k) (T_{k+1} - T_k) <= w(x), as T grows from
      at least 0 to at most 1; w decreases, so f(Lambda) <= f(lambda) + w(lambda) (Lambda -
      lambda)^+. Take means: Jensen for the first term, E (Lambda - E Lambda)^+ =
      E|Lambda - E Lambda|/2 <= dev/2 for the second. What is left of the dependence is the small
      spread of Lambda: for regression w dev is of order sqrt(lambda/n).
    * P(success, N <= k) <= E 1(N <= k) T_k(p) <= P(N <= k) T_k(E[p 1(N <= k)]/P(N <= k)).

    Then Markov's inequality for the loss.

    (For a random common law 1 - E_N T_N(q) is false: with one sign, n = 4 records y x of mean g or
    0, and randomised response on the sign of their sum, success has probability .971 at g = 1,
    epsilon = 5, where it gives .926.)

    **Numbers.** 1 - E T_N = sum_k P(N <= k) (f_k - f_{k+1}) with f_k = 1 - T_k of `failure`, which
    falls with k: a sum of terms >= 0, whose relative error is that of the distribution function.
    """
    alpha, height, r, b = (0 * packing.n + optimum[name] for name in ("alpha", "height", "r", "b"))
    coupled = packing.coupling(alpha, height)
    room = log_guess(packing.m, packing.s, r, b)
    lib, sizes = library(room), _group_sizes(packing, privacy, optimum["reach"], 400)
    if coupled.mean is None or coupled.deviation is None:
        fails = _mixed_failure(
            privacy, sizes, room, lambda k: binomial_cdf(k, packing.n, coupled.alpha)
        )
    else:
        mixed = _mixed_failure(privacy, sizes, room, lambda k: poisson_cdf(k, coupled.mean))
        guard = GUARD if lib.ulp else 0
        mixed = mixed * (1 - guard) - coupled.deviation / 2 * poisson_mode(coupled.mean) * (
            1 + guard
        )
        fails = lib.largest(
            mixed, _truncated_failure(packing, privacy, coupled, room, optimum["k"])
        )
    return r * coupled.separation * lib.largest(fails, 0)


def _mixed_failure(
    privacy: Privacy, sizes: Array, room: Number, cdf: Callable[[Number], Number]
) -> Number:
    """sum_k P(N <= k) (f_k - f_{k+1}) over the sizes; f is 0 beyond the last."""
    if isinstance(room, Ball):
        return _enclosed_mixture(privacy, sizes, room, cdf)
    if isinstance(room, mpmath.mpf):
        exact = [failure(privacy, mpmath.mpf(int(k)), room) for k in sizes]
        steps = [a - b for a, b in zip(exact, [*exact[1:], mpmath.mpf(0)], strict=True)]
        least = max(exact) * mpmath.mpf(10) ** -45
        return sum(cdf(k) * step for k, step in zip(sizes, steps, strict=True) if step > least)
    fails = failure(privacy, sizes, np.full(len(sizes), room))
    fails = np.minimum.accumulate(fails)  # it falls, but for rounding
    return float(cdf(sizes) @ -np.diff(fails, append=0.0))


def _enclosed_mixture(
    privacy: Privacy, sizes: Array, room: Ball, cdf: Callable[[Number], Number]
) -> Ball:
    """`_mixed_failure` in balls."""
    fails = [failure(privacy, Ball(k), room) for k in sizes.tolist()]
    steps = [BALLS.largest(a - b, 0) for a, b in zip(fails, [*fails[1:], Ball(0)], strict=True)]
    return sum((below * step for below, step in zip(cdf(sizes), steps, strict=True)), Ball(0))


def _truncated_failure(
    packing: Packing, privacy: Privacy, coupled: Coupling, room: Number, k: float
) -> Number:
    """P(N <= k) (1 - T_k(q/P(N <= k))), for any k."""
    lib = library(room)
    reached = binomial_cdf(k, packing.n, coupled.alpha)
    reached = reached if isinstance(reached, PRECISE) else float(reached)
    if reached <= 1e-290:
        return 0 * room
    left = room + lib.log(reached) - GUARD * (lib.ulp > 0)
    return reached * failure(privacy, 0 * room + k, left) if left > 0 else 0 * room


def poisson_mode(mean: Number) -> Number:
    """At least the largest probability of a Poisson law, by Stirling's k! >= (k/e)^k sqrt(2 pi k).

    It decreases with the mean and at the mean k it is k^k e^-k/k!.
    """
    lib = library(mean)
    return 1 / lib.sqrt(lib.largest(2 * lib.pi * lib.floor(mean), 0 * mean + 1))


# --- Search ---------------------------------------------------------------------------------------


def packing_search(packing: Packing, privacy: Privacy) -> dict[str, float]:
    """Free parameters at which `packing_formula` is about largest.

    alpha or height of the packing, r, b, the k of the truncated form, and the room up to which
    group sizes are told apart.
    """
    largest = float(log_guess_probability(packing.m, packing.s).max())
    closed = closed_form_size(packing.m, packing.s, privacy)
    n = float(packing.n)
    alphas = np.append(_mixing_weights(n, privacy, largest, closed), packing.saturation())
    best = _best(packing, privacy, alphas, RADII)
    for width in (0.16, 0.02, 0.0025):
        near = np.minimum(best[1]["alpha"] * np.linspace(1 - width, 1 + width, 33), 1.0)
        radii = np.clip(best[1]["r"] + width / 8 * np.linspace(-1, 1, 21), 1e-3, 1 - 1e-3)
        best = max(best, _best(packing, privacy, near, radii), key=lambda found: found[0])
    return best[1]


def _best(
    packing: Packing, privacy: Privacy, alphas: Array, radii: Array
) -> tuple[float, dict[str, float]]:
    """The largest value over the given alphas and success radii, in floats, and its place."""
    rooms = log_guess_probability(packing.m, packing.s, radii)
    n, heights = float(packing.n), packing.height(alphas)
    coupled = packing.coupling(alphas, heights)
    reach = float(rooms.max())
    sizes = _group_sizes(packing, privacy, reach, 400)
    drops = -np.diff(
        failure(privacy, sizes[:, None], np.broadcast_to(rooms, (len(sizes), len(rooms)))),
        axis=0,
        append=0.0,
    )
    k = np.zeros((len(alphas), len(radii)))
    if coupled.mean is None or coupled.deviation is None:
        fails = binomial_cdf(sizes, n, alphas[:, None], quick=True) @ drops
    else:
        excess = coupled.deviation / 2 * poisson_mode(coupled.mean)
        fails = poisson_cdf(sizes, coupled.mean[:, None], quick=True) @ drops - excess[:, None]
        truncated, k = _best_truncation(packing, privacy, alphas, rooms)
        fails = np.maximum(fails, truncated)
    values = radii * np.asarray(coupled.separation)[:, None] * fails
    i, j = np.unravel_index(int(np.argmax(values)), values.shape)
    r = float(radii[j])
    place = {"alpha": float(alphas[i]), "height": float(heights[i]), "r": r, "k": float(k[i, j])}
    return float(values[i, j]), {**place, "b": best_exponent(packing.m, r), "reach": reach}


def _best_truncation(
    packing: Packing, privacy: Privacy, alphas: Array, rooms: Array
) -> tuple[Array, Array]:
    """max_k P(N <= k) (1 - T_k(q/P(N <= k))) and its k, for each alpha and room."""
    n = float(packing.n)
    sizes = _group_sizes(packing, privacy, float(rooms.max()), 120)
    closed = math.floor(closed_form_size(packing.m, packing.s, privacy))
    sizes = np.unique(np.append(sizes, min(closed, n)))
    below = np.maximum(binomial_cdf(sizes[:, None], n, alphas[None, :], quick=True), 1e-300)
    most, where = np.zeros((len(alphas), len(rooms))), np.zeros((len(alphas), len(rooms)))
    for k, reached in zip(sizes, below, strict=True):
        left = np.maximum(rooms + np.log(reached)[:, None], 0.0)
        fails = reached[:, None] * failure(privacy, k, left)
        where = np.where(fails > most, k, where)
        most = np.maximum(most, fails)
    return most, where


def _trivial_size(privacy: Privacy, room: float) -> float:
    """A group size beyond which privacy says (next to) nothing about the success event."""
    if isinstance(privacy, ZeroConcentrated):
        return math.sqrt(room / privacy.rho)
    if isinstance(privacy, Gaussian):
        return (math.sqrt(2 * room) + 6) / privacy.mu
    if isinstance(privacy, Approximate):
        return min(room, _log_room(privacy.epsilon, privacy.delta)) / privacy.epsilon
    assert isinstance(privacy, Pure)
    return room / privacy.epsilon


def _log_room(epsilon: float, delta: float) -> float:
    """log(1 + (e^epsilon - 1)/delta): k epsilon at which the group's delta reaches 1."""
    log_growth = epsilon + math.log(-math.expm1(-epsilon))
    return float(np.logaddexp(0.0, log_growth - math.log(delta)))


def _group_sizes(packing: Packing, privacy: Privacy, room: float, most: int) -> Array:
    """Group sizes at which success is evaluated; between them the larger one's bound is used."""
    top = min(math.ceil(_trivial_size(privacy, room)) + 1, exact_float(packing.n))
    if top <= most:
        return np.arange(0, top + 1, dtype=float)
    return np.unique(np.round(np.linspace(0, top, most + 1)))


def _mixing_weights(n: float, privacy: Privacy, room: float, closed: float) -> Array:
    top = _trivial_size(privacy, room)
    centres = np.geomspace(max(top / 200, 1e-3), max(4 * top, 1.0), 80) / n
    alphas = np.append(centres, min(closed, n) / (2 * n))
    return np.unique(np.minimum(alphas[alphas > 0], 1.0))


def closed_form_size(m: int, s: int, privacy: Privacy) -> float:
    """N_0 of the closed form: the group size after which success has chance at most 1/2."""
    L = s * math.log(2 * m) / 4
    quarter = math.log(4)
    if quarter >= L:
        return 0.0
    if isinstance(privacy, (ZeroConcentrated, Gaussian)):
        return (math.sqrt(L) - math.sqrt(quarter)) / math.sqrt(privacy.to_zcdp().rho)
    room = L - quarter
    if isinstance(privacy, Approximate):
        room = min(room, _log_room(privacy.epsilon, 4 * privacy.delta))
    assert isinstance(privacy, (Pure, Approximate))
    return room / privacy.epsilon


# --- Closed forms ---------------------------------------------------------------------------------


def packing_expression(
    model: type[Privacy], log_size: Expression, s: Expression, data: Data
) -> Expression:
    r"""The closed form s N_0^2 B^2/(32 n^2) of a `BlockPacking`, with alpha = N_0/(2n).

    Take r = 1/2 and b = log(2m)/2 (h_m vanishes there), so that a guess succeeds with chance at
    most e^{-L}, L = s log(2m)/4 (`log_size` is a lower bound on log 2m). N_0 is chosen so that
    success after changing N_0 records has chance at most 1/2; Markov gives P(N <= N_0) >= 1/2.
    """
    lib = library(s)
    n, sigma, radius = LETTERS["n"], LETTERS["sigma"], LETTERS["radius"]
    size = _closed_size_expression(model, log_size, s)
    if data == "bounded":
        return s * size**2 * sigma**2 / (32 * n**2)
    # With alpha < 1/2 the proxy is at most 1/4 but the exact one carries a logarithm more.
    alpha = lib.largest(size, n * Fraction(1, 10**30)) / (2 * n)
    squared_height = lib.least(sigma**2 / kearns_saul(alpha), radius**2 / alpha**2)
    return s * size**2 * squared_height / (32 * n**2)


def sign_design_expression(
    model: type[Privacy], log_size: Expression, s: Expression, steepness: Expression
) -> Expression:
    r"""That of a `RegressionPacking` or a `LogisticPacking`: g^2/8 (g^2/16 for (eps, delta)),
    r = 1/2, alpha = N_0/(2n).

    g^2 >= `steepness` alpha^2, and P = P(N <= N_0) >= 1/2 by Markov. N_0 makes T_{N_0}(q) at
    most 1/4 without the delta, which is at most 1/4 too. P (1 - T(q/P)) grows with P, so it is
    at least (1 - T(2q))/2: for a pure budget T(2q) <= 1/2, with delta 3/4; for zCDP and GDP
    T(2q) = exp(-(sqrt(L - log 2) - sqrt L + sqrt(log 4))^2), which falls with L from 1/2 at
    L = log 4, where N_0 = 0.
    """
    lib = library(s)
    alpha = _closed_size_expression(model, log_size, s) / (2 * LETTERS["n"])
    return lib.least(steepness * alpha**2, LETTERS["radius"] ** 2 / s) / (
        16 if model is Approximate else 8
    )


def _closed_size_expression(
    model: type[Privacy], log_size: Expression, s: Expression
) -> Expression:
    """N_0 of `closed_form_size` as an expression, at most .99 n."""
    lib = library(s)
    L, quarter = s * log_size / 4, lib.log(4)
    if model in (ZeroConcentrated, Gaussian):
        rho = LETTERS["rho"] if model is ZeroConcentrated else LETTERS["mu"] ** 2 / 2
        size = (lib.sqrt(L) - lib.sqrt(quarter)) / lib.sqrt(rho)
    else:
        room = L - quarter
        if model is Approximate:
            growth = (lib.exp(LETTERS["epsilon"]) - 1) / (4 * LETTERS["delta"])
            room = lib.least(room, lib.log(1 + growth))
        size = room / LETTERS["epsilon"]
    return lib.least(lib.largest(size, 0), LETTERS["n"] * Fraction(99, 100))
