r"""Residual tracing for any parametric model: where the gain of `minimax.methods.tracing` is spent.

The proofs end in an inequality that the estimator's residual eta must satisfy: `Residual`. Its left
side falls and its right side grows with eta, so *any* eta at which the left side is still the
larger one is a lower bound. Such an eta is a free parameter of the proof, a witness: the search
finds one next to the root, and the formula checks it in its own kind of number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from scipy import optimize

from minimax.core.bound import Optimum
from minimax.core.symbolic import Expression, Number, library, lift

ROOM = 1e-12
"""The gap, relative to the signal, that the search leaves below the root. Floats get the gap to
some units in the sixteenth digit of the signal, so what they verify is true in more digits too."""


@dataclass(frozen=True)
class Residual:
    r"""The inequality that ends a residual tracing proof, solved for the residual's size.

    With eta = sqrt(E|N|^2) of the estimator's residual N, the proofs arrive at

        signal - drag eta <= weight sqrt(eta^2 + cross eta + own^2)
            + sqrt((leak_slope eta)^2 + leak_tail) + leak_own,

    left side decreasing and right side increasing in eta >= 0, so eta is at least the root. The
    last two terms stand for `Leak` and are 0 without delta.
    """

    signal: Number
    drag: Number
    weight: Number
    cross: Number
    own: Number
    leak_slope: Number = 0
    leak_tail: Number = 0
    leak_own: Number = 0

    def gap(self, eta: Number) -> Number:
        """Left side less right side: where it is not negative, the residual is at least eta."""
        # A power of 1/2 and not `library`, which would double the time of the searches.
        spread = (eta * (eta + self.cross) + self.own**2) ** 0.5
        traced = self.signal - self.drag * eta - self.weight * spread
        if self.leak_slope == 0:
            return traced
        return traced - ((self.leak_slope * eta) ** 2 + self.leak_tail) ** 0.5 - self.leak_own

    def floor(self) -> float:
        """An eta next to the root, with `ROOM` to spare; 0 where there is none."""
        room = ROOM * self.signal
        if not self.gap(0.0) > room:
            return 0.0
        high = self.signal / self.weight
        eta = float(optimize.brentq(self.gap, 0.0, high, xtol=1e-300, rtol=1e-13))
        step = ROOM
        while self.gap(eta) < room:
            eta *= max(1 - step, 0.0)
            step *= 4
        return eta

    def proved(self, eta: float) -> Number:
        """eta, if the inequality shows that the residual is at least that; else 0."""
        if eta == 0:  # whatever the other numbers, which may be infinite
            return lift(0.0, self.signal)
        exact = lift(eta, self.signal)
        return exact if self.gap(exact) >= 0 else 0 * exact

    def linear_floor(self) -> Expression:
        """A closed form below the root, for numbers or symbols; needs cross <= 2 own.

        From sqrt(eta^2 + cross eta + own^2) <= eta + own and the like for the leak.
        """
        use = library(self.signal)
        excess = self.signal - self.weight * self.own - use.sqrt(self.leak_tail) - self.leak_own
        return use.largest(excess / (self.drag + self.weight + self.leak_slope), 0)


class Leak(Protocol):
    """What delta adds to a residual tracing proof.

    It is sqrt n times the gain's leak times sqrt(slope^2 eta^2 + tail) + own, from sum_i E_P A_i^2,
    A_i = <N, s_i> + kappa |s_i|^2: slope^2 bounds the largest eigenvalue of sum_i s_i s_i' but on
    an event of small probability, tail is that event's contribution, and own =
    kappa sqrt(n E|s|^4). The event is set by t > 0.
    """

    def terms(self, kappa: Number, side: Number, t: Number) -> tuple[Number, Number, Number]:
        """(slope, tail, own), for numbers or symbols; closed-form relaxations for symbols."""

    def closed_form_t(self) -> Number:
        """The t at which the closed form is taken."""


@dataclass(frozen=True)
class ScoreModel:
    r"""Residual tracing for any parametric model, in terms of the scores of its records.

    **Set-up.** theta in R^d with a prior of information J that vanishes at the boundary of its
    support; records with scores s_i = grad log p(record_i | theta), E|s_i|^2 <= `information` (an
    equality if `exact`), and E_Q <V, s_i>^2 <= spread^2 E|V|^2 for V independent of record i.

    **Statement.** With side information of total information `side` (a Gaussian observation of
    theta which the attacker has and M ignores) and kappa = d/(n information + side + J),
    every M has E|M - theta|^2 >= kappa d + eta^2, where

        d - kappa J - sqrt(J) eta <= n G spread sqrt(eta^2 + 2 kappa sqrt(J) eta/n + own^2) + leak,
        own^2 = kappa^2 (information + 2 side/n), with 2 information in it if not exact.

    **Proof.** U = sum s_i + u + grad log pi, u the side information's score, has
    E<M - theta, U> = d and E|U|^2 = n i + side + J, i = E|s|^2. N = M - theta - kappa U then has
    E<N, U> = d - kappa E|U|^2 = kappa n (information - i) >= 0, so E|M - theta|^2 =
    2 kappa d - kappa^2 E|U|^2 + E|N|^2 >= kappa d + eta^2. The attack A_i = <V_i, s_i> with
    V_i = N + kappa s_i has V_i free of record i except through M. As E<N, u> = -kappa side,

        sum_i E A_i = E<N, U - u - grad log pi> + kappa n i = d - kappa J - E<N, grad log pi>,
        (1/n) sum_i E|V_i|^2 = eta^2 + (2 kappa/n) E<N, sum s_i> + kappa^2 i
            <= eta^2 + 2 kappa sqrt(J) eta/n + kappa^2 (2 information - i + 2 side/n).

    Privacy bounds each E A_i by G spread sqrt(E|V_i|^2) (`minimax.methods.tracing.gain_at`) and,
    for delta > 0, by leak sqrt(E A_i^2) more (`leak_square` is leak^2); sum over i with Jensen.
    side -> infinity is the direct attack <M - theta, s_i>, and sqrt R >= d/(n G spread + sqrt J).

    **Constants.** d - kappa J is computed as kappa (n information + side): nothing cancels.

    **Source.** The residual form is this work's; the direct attack is the score attack of Cai,
    Wang and Zhang (2023), which CWZ19 (3.2), (4.2) are instances of.
    """

    n: Number
    d: Number
    information: Number
    spread: Number
    prior: Number
    exact: bool = True
    leak_square: Number = 0
    leak: Leak | None = None

    def residual(self, G: Number, side: Number = 0, t: Number = 0) -> tuple[Number, Residual]:
        """(kappa, the residual inequality), for numbers or symbols."""
        use = library(self.n)
        data = self.n * self.information + side
        kappa = self.d / (data + self.prior)
        drag = use.sqrt(self.prior)
        own = self.information * (1 if self.exact else 2) + 2 * side / self.n
        slope, tail, leaked = self._leaked(kappa, side, t)
        return kappa, Residual(
            signal=kappa * data,
            drag=drag,
            weight=self.n * G * self.spread,
            cross=2 * kappa * drag / self.n,
            own=kappa * use.sqrt(own),
            leak_slope=slope,
            leak_tail=tail,
            leak_own=leaked,
        )

    def _leaked(self, kappa: Number, side: Number, t: Number) -> tuple[Number, Number, Number]:
        """The terms of `leak`, times the gain's leak and sqrt n."""
        if self.leak is None:
            return 0, 0, 0
        slope, tail, own = self.leak.terms(kappa, side, t)
        square = self.leak_square * self.n
        root = library(square).sqrt(square)
        return root * slope, square * tail, root * own

    def proved(self, G: Number, found: Optimum) -> tuple[Number, Number]:
        """(kappa d, eta^2) at any side information, t and eta, the last if it passes."""
        side, t = lift(found["side"], self.n), lift(found.get("t", 0.0), self.n)
        kappa, residual = self.residual(G, side, t)
        return kappa * self.d, residual.proved(found["eta"]) ** 2

    def search(self, G: float, *, aided: bool = True) -> dict[str, float]:
        """Good side information (none, unless n is small for the prior), t and eta."""
        plain = self._leak_search(G, 0.0)
        width = self.prior / self.information
        scaled = G * self.spread * math.sqrt(self.d / self.information)
        turning = math.sqrt(width**1.5 * math.sqrt(self.d) / scaled)
        if not aided or turning <= self.n / 8:
            return plain

        def with_side(log_side: float) -> dict[str, float]:
            return self._leak_search(G, self.information * math.exp(log_side))

        def risk(witness: dict[str, float]) -> float:
            return float(sum(self.proved(G, witness)))

        found = optimize.minimize_scalar(
            lambda log_side: -risk(with_side(log_side)),
            bounds=(math.log(self.n) - 7, math.log(max(turning, self.n)) + 9),
            method="bounded",
        )
        return max(plain, with_side(found.x), key=risk)

    def _leak_search(self, G: float, side: float) -> dict[str, float]:
        """The witness at the best t for this side information."""

        def eta(t: float) -> float:
            return self.residual(G, side, t)[1].floor()

        if self.leak is None:
            return {"side": side, "eta": eta(0.0)}
        start = self.leak.closed_form_t()
        found = optimize.minimize_scalar(
            lambda t: -eta(t),
            bounds=(start / 20, 2 * start + 4),
            method="bounded",
            options={"xatol": 1e-3},
        )
        best, t = max((eta(start), start), (-float(found.fun), float(found.x)))
        return {"side": side, "eta": best, "t": t}

    def member(self) -> float:
        """About sqrt(E_P A^2) in units of spread sqrt(E|V|^2): to weigh a gain's leak with."""
        if self.leak is None:
            return 0.0
        slope, _, _ = self.leak.terms(0.0, 0.0, self.leak.closed_form_t())
        return float(slope / (math.sqrt(self.n) * self.spread))

    def closed_form(self, G: Expression) -> Expression:
        """A closed form below kappa d + eta^2; needs J <= n^2 information."""
        kappa, residual = self.residual(G, t=0 if self.leak is None else self.leak.closed_form_t())
        return kappa * self.d + residual.linear_floor() ** 2


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
