"""What the proofs with sign vectors share: their prior, their gain, and a search on a log scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize

from minimax.core.bound import Assumption, Optimum, Parts, Point, Prior
from minimax.core.privacy import Approximate, Privacy
from minimax.core.symbolic import LETTERS, Expression, Number, library, lift
from minimax.methods.concentration import largest_row_eigenvalue
from minimax.methods.priors import SignPrior
from minimax.methods.tracing import SUBGAUSSIAN, Gain, choices, chosen_gain, closed_gain

SMALL_EPSILON = Assumption(
    "epsilon <= 1 (beyond, the closed form's gain is far from the best shift's)",
    lambda p: p.get("epsilon", 0.0) <= 1,
)


def best_on_log_scale(objective: Callable[[float], float], start: float) -> float:
    """The best point near the maximum on a log grid around `start`, never worse than `start`."""
    grid = np.append(start * np.geomspace(1e-3, 1e3, 61), start)
    values = [objective(float(u)) for u in grid]
    centre = float(grid[int(np.argmax(values))])
    found = optimize.minimize_scalar(
        lambda log_u: -objective(math.exp(log_u)),
        bounds=(math.log(centre) - 0.3, math.log(centre) + 0.3),
        method="bounded",
    )
    polished = math.exp(float(found.x))
    return polished if objective(polished) >= max(values) else centre


def sign_prior(p: Point, parts: Parts) -> Prior:
    """The prior (1 - p^2)^{u/2 - 1} of every coordinate, at the best u."""
    return SignPrior(int(p["d"]), p["sigma"], parts.optimum["u"])


# --- The gain of sign vectors together -----------------------------------------------------------


class SignGain(NamedTuple):
    r"""What the scores of `points` sign vectors may reach together.

    **Statement.** y_1, ..., y_n are sign vectors less their mean p, independent given p, and
    A_i = <N + c y_i, y_i>, |N|^2 <= 4d. If a single score has `minimax.methods.tracing.Gain`
    (own, leak), then with eta^2 = E|N|^2

        sum_i E A_i <= sum_i gain sqrt(E|N + c y_i|^2) + slope eta + tail + n c spill,

    either with gain = own + 2 sqrt(d) leak and no more, or for any t > 0 with gain = own, L of
    `largest_row_eigenvalue` and

        slope = leak sqrt(n L), tail = 4 n d leak e^{-t/2}, spill = sqrt(4/3) d leak.

    **Proof.** The leaks add up to leak sum_i sqrt(E A_i^2) <= leak sqrt(n sum_i E A_i^2). First,
    |y_i|^2 <= 4d. Second, sum_i <N, y_i>^2 <= L |N|^2 but for a chance e^{-t}, whatever p, where it
    is at most (4d)(4nd); and E|y|^4 <= d^2 max_j E y_j^4, E y_j^4 = E (1 - p^2)(1 + 3 p^2) <= 4/3.
    """

    gain: Number
    slope: Number = 0.0
    tail: Number = 0.0
    spill: Number = 0.0


def sign_gain_of(gain: Gain, points: Number, d: Number, t: float) -> SignGain:
    """`SignGain`: the first form at t = 0, the second at any other t."""
    if t == 0:
        return SignGain(gain.total(2 * library(d).sqrt(d)))
    return spectral_gain(gain, points, d, lift(t, points))


def spectral_gain(gain: Gain, points: Number, d: Number, t: Number) -> SignGain:
    """`SignGain` in its second form."""
    use = library(points, d, t)
    return SignGain(
        gain.own,
        gain.leak * use.sqrt(points * largest_row_eigenvalue(points, d, t)),
        4 * points * d * gain.leak * use.exp(-t / 2),
        use.sqrt(4 * (d * points / points) ** 2 / 3) * gain.leak,
    )


def closed_form_t(points: Number) -> Number:
    """e^{-t/2} = 1/(100 n)."""
    return 2 * library(points).log(100 * points)


def sign_gain(model: type[Privacy], p: Point, found: Optimum) -> SignGain:
    """The gain of n sign vectors, one a record, at the choice that was found."""
    gain = chosen_gain(model, p, SUBGAUSSIAN, found)
    return sign_gain_of(gain, p["n"], p["d"], found["t"])


def sign_choices(model: type[Privacy], p: Point) -> list[dict[str, float]]:
    """Shifts, shares and t worth trying, the closed form's among them."""
    n, d = p["n"], p["d"]
    members = {0.0: 2 * math.sqrt(d)}
    if model is Approximate:
        t = closed_form_t(n)
        members[t] = math.sqrt(largest_row_eigenvalue(n, d, t) / n)
    return [
        {**choice, "t": t}
        for t, member in members.items()
        for choice in choices(model, p, SUBGAUSSIAN, member=member)
    ]


def best_sign_gain(model: type[Privacy], p: Point) -> float:
    """The least gain of a single record, with what its leak adds."""
    gains = (sign_gain(model, p, found) for found in sign_choices(model, p))
    return min(float(gain.gain + gain.slope / p["n"]) for gain in gains)


def closed_sign_gains(model: type[Privacy]) -> list[SignGain]:
    """Closed forms that are at least `sign_gain`, in each of its forms."""
    n, d, gain = LETTERS["n"], LETTERS["d"], closed_gain(model, SUBGAUSSIAN)
    if model is not Approximate:
        return [SignGain(gain.own)]
    return [sign_gain_of(gain, n, d, 0), spectral_gain(gain, n, d, closed_form_t(n))]


def largest(expressions: list[Expression]) -> Expression:
    """The largest of some closed forms."""
    first, *others = expressions
    return library(first).largest(first, *others) if others else first


ROUNDINGS = 1e5
"""More than the roundings that enter a Gamma: products of 8000 quotients, a sum of 1200 terms."""


def fingerprint_root(u: Number, m: Number, d: Number, traced: SignGain) -> Number:
    r"""(kappa d - Gamma sqrt(kappa d) - tail - spill)^+/(m Gamma + kappa sqrt((u+1) d) + slope).

    kappa = u/(u+1), Gamma the gain. The difference is lowered by some units in the last place, so
    that it does not err upwards where it is next to nothing.
    """
    use = library(u, m, d, traced.gain)
    kappa = u / (u + 1)
    reach = use.sqrt(kappa * d)
    spilt = (traced.tail + traced.spill) / reach
    margin = use.largest(reach * (1 - ROUNDINGS * use.ulp) - traced.gain - spilt, 0 * reach)
    return reach * margin / (m * traced.gain + kappa * use.sqrt((u + 1) * d) + traced.slope)
