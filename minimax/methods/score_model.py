r"""Tracing for any parametric model: where a gain is spent, as information that privacy leaves.

Privacy bounds how far the scores of the records can agree with the estimator's error. What comes
out is the van Trees inequality with a smaller information in place of the data's own: `ScoreModel`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from scipy import optimize

from minimax.core.balls import surely
from minimax.core.bound import Optimum
from minimax.core.symbolic import Expression, Number, library, lift

ROUNDS = 5
"""Of improving the free constants of a proof with a leak; every one is a proof."""
VAST = 1e100
"""A gain above which nothing is left of privacy's share, and products would overflow."""


class SecondMoments(NamedTuple):
    r"""What bounds sum_i E<V_i, s_i>^2/h_i, for V_i = N + (D/I) s_i as in `ScoreModel`.

    The sum is at most slope^2 nu^2 + tail + 2 (D/I) sqrt(n wobble) nu + (D/I)^2 n fourth.
    """

    slope: Number
    """slope^2 bounds the largest eigenvalue of sum_i s_i s_i'/h_i but on an event of small
    chance."""
    tail: Number
    """That event's share of E N' (sum_i s_i s_i'/h_i) N."""
    fourth: Number
    """E|s|^4/h."""
    wobble: Number
    r"""E|sum_i T_i|^2/n, T = s (|s|^2/h - g), for a constant g, which must be 0 if the information
    is only bounded. It is E|T|^2 if T has mean zero given theta. (The cross term is
    2 (D/I) E<N, sum_i s_i |s_i|^2/h_i>, and E<N, sum_i s_i> = 0.)"""


class Leak(Protocol):
    """The second moments of a model's scores. The rare event is set by t > 0."""

    def moments(self, t: Number) -> SecondMoments:
        """For numbers or symbols; closed-form relaxations for symbols."""

    def closed_form_t(self) -> Number:
        """The t at which the closed form is taken."""


@dataclass(frozen=True)
class ScoreModel:
    r"""Tracing for any parametric model, in terms of the scores of its records.

    **Set-up.** theta with a prior whose score ("grad log pi") has E|.|^2 = J (`prior`) and vanishes
    at the boundary; records with scores s_i, E[s_i | theta] = 0 and E|s_i|^2 <= `information` (an
    equality if `exact`), such that U = sum_i s_i + grad log pi has E<M - theta, U> = `signal` for
    every M: d for the scores proper. Privacy: for V_i free of record i but for the release,

        E<V_i, s_i> <= G spread sqrt(E|V_i|^2) + sqrt(leak_square E<V_i, s_i>^2/h_i),

    h_i a positive function of record i, the last term there only if `leak` is given.

    **Statement.** With I = n information and w = n G spread,

        E|M - theta|^2 >= signal^2/(J + 1/Q),   Q = 1/I + (1/w^2 - 1/(n I))^+ without a leak:

    as if the data had the information 1/Q, the parallel sum of their own I and privacy's w^2. With
    a leak Q = 1/I + ((1 - L)/K)^+, and tail/slope^2 is lost, where for any positive y and theta,
    s^2 = n leak_square, alpha = w (w + s y), beta = s (w + s y)/y, c = sqrt(n wobble)/I and
    e = 1 (2 if not exact)

        K = alpha + beta (slope^2 + c theta),
        L = alpha e/(n I) + beta (n fourth/I^2 + c/theta).

    **Proof.** Let x = E<M - theta, grad log pi>, so E<M - theta, sum s_i> = signal - x = D. Put
    N = M - theta - (D/I) sum s_i - (x/J) grad log pi, nu^2 = E|N|^2. As sum s_i and grad log pi are
    uncorrelated, N is orthogonal to both and E|M - theta|^2 = D^2/I + x^2/J + nu^2. Attack with
    V_i = N + (D/I) s_i, which is free of record i except through M (D, x and I are constants):

        sum_i E<V_i, s_i> = D,   (1/n) sum_i E|V_i|^2 = nu^2 + D^2/(n I).

    Privacy, Jensen and Cauchy-Schwarz give |D| <= w sqrt X + s sqrt Y, X the mean of E|V_i|^2 and Y
    the bound of `SecondMoments`; so D^2 <= alpha X + beta Y, as w^2/alpha + s^2/beta = 1. With
    2 D nu <= theta nu^2 + D^2/theta this is nu^2 >= (D^2 (1 - L) - beta tail)/K. Hence the risk is
    at least Q D^2 + (signal - D)^2/J less tail/slope^2, whatever D; the least of that over D is
    signal^2/(J + 1/Q).

    Where J or, without a leak, the information is only bounded: the statement holds with the true
    one, and it falls as either grows. With a leak let I be the bound, i = E|s|^2: then
    E<N, sum s_i> = D (1 - i/information) >= 0, the scores still sum to D, X <= nu^2 + 2 D^2/(n I),
    and the risk is D^2 (2 - i/information)/I + x^2/J + nu^2 >= D^2/I + x^2/J + nu^2.

    **Constants.** Statistics and privacy add up, and the prior enters once, as in van Trees. Best
    are y = sqrt(Y/X) and theta = D/nu, which `ROUNDS` of using the last q = (1 - L)/K in them
    approach; the closed form takes y = slope and theta = slope sqrt(beta). The privacy term is
    computed as signal^2/(I + J) times x/(1 + (1 + x) J/I), x = I q: nothing cancels.

    **Source.** this work. The direct attack <M - theta, s_i> is the score attack of Cai, Wang and
    Zhang (2023), which CWZ19 (3.2), (4.2) are instances of; it ends in signal/(w + sqrt J).
    """

    n: Number
    signal: Number
    information: Number
    spread: Number
    prior: Number
    exact: bool = True
    leak_square: Number = 0
    leak: Leak | None = None

    def proved(self, G: Number, found: Optimum) -> tuple[Number, Number]:
        """(statistics, privacy) at any t."""
        return self._terms(G, lift(found.get("t", 0.0), self.n))

    def search(self, G: float) -> dict[str, float]:
        """A good t, where there is a leak."""
        if self.leak is None:
            return {}
        start = float(self.leak.closed_form_t())
        found = optimize.minimize_scalar(
            lambda t: -float(self._terms(G, t)[1]),
            bounds=(start / 20, 2 * start + 4),
            method="bounded",
            options={"xatol": 1e-3},
        )
        return {"t": max((start, float(found.x)), key=lambda t: float(self._terms(G, t)[1]))}

    def member(self) -> float:
        """About sqrt(E_P A^2) in units of spread sqrt(E|V|^2): to weigh a gain's leak with."""
        if self.leak is None:
            return 0.0
        slope = self.leak.moments(self.leak.closed_form_t()).slope
        return float(slope / (math.sqrt(self.n) * self.spread))

    def closed_form(self, G: Expression) -> Expression:
        """The bound as an expression."""
        return sum(self._terms(G, 0 if self.leak is None else self.leak.closed_form_t()))

    def _terms(self, G: Number, t: Number) -> tuple[Number, Number]:
        use = library(self.n)
        data = self.n * self.information
        statistics = self.signal**2 / (data + self.prior)
        excess, lost = self._excess(G, t)
        privacy = statistics * excess / (1 + (1 + excess) * (self.prior / data))
        return statistics, use.largest(privacy - lost, 0 * privacy)

    def _excess(self, G: Number, t: Number) -> tuple[Number, Number]:
        """I (1 - L)/K, at least 0, and what is lost to the tail."""
        use = library(self.n)
        data, weight = self.n * self.information, self.n * G * self.spread
        if self.leak is None:
            return use.largest(data * (1 / weight) ** 2 - 1 / self.n, 0 * data), 0
        if not use.is_symbolic and weight > VAST:
            return 0 * data, 0 * data
        q, lost = self._leaking(weight, self.leak.moments(t))
        return data * q, lost

    def _leaking(self, weight: Number, moments: SecondMoments) -> tuple[Number, Number]:
        """(1 - L)/K, at least 0, and what is lost to the tail: beta tail/K, and a share of the
        cross term's where that is bounded by Cauchy-Schwarz."""
        use = library(self.n)
        data, slope = self.n * self.information, moments.slope
        leaked = use.sqrt(self.n * self.leak_square)
        own = (1 if self.exact else 2) / (self.n * data)
        fourth = self.n * moments.fourth / data**2
        cross = use.sqrt(self.n * moments.wobble) / data
        y, theta = slope, use.sqrt(leaked * (weight + leaked * slope) * slope)
        q, lost = 0 * data, 0 * data
        for _ in range(ROUNDS):
            both = weight + leaked * y
            alpha, beta = weight * both, leaked * both / y
            steep, level = slope**2 + cross * theta, fourth + cross / theta
            K = alpha + beta * steep
            reached = (1 - alpha * own - beta * level) / K
            if use.is_symbolic:
                return use.largest(reached, 0), moments.tail / slope**2
            if surely(reached > q):  # which round is taken is free: each is a proof
                q, lost = reached, moments.tail / slope**2 * (beta * steep / K)
                theta = 1 / use.sqrt(q)
            y = use.sqrt((level + q * steep) / (own + q))
        return q, lost


Traced = tuple[ScoreModel, Number]
"""A model, and the G of the gain that its leak belongs to."""


def best_witness(
    tried: Iterable[Mapping[str, float]], at: Callable[[Optimum], Traced]
) -> dict[str, float]:
    """Of the choices of a gain, each with the witness it leads to, the one that proves most."""

    def risk(witness: Optimum) -> float:
        model, G = at(witness)
        return float(sum(model.proved(G, witness)))

    found = []
    for choice in tried:
        model, G = at(choice)
        found.append({**choice, **model.search(G)})
    return max(found, key=risk)
