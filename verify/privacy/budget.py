r"""What two chances of one event prove about a budget.

**Statement.** Let a mechanism keep a claim, let P and Q be the laws of its release on two
neighbours, S an event, and p <= P(S), q >= Q(S) with p > q. Then the claim's number (epsilon, rho
or mu) is at least `least_budget(claim, p, q)`, the claim's other numbers being what they are.

**Proof.** Whether S occurs is a function of the release, so that the two Bernoulli laws b(P(S)) and
b(Q(S)) keep the claim too, in either order. Every divergence used here is convex in each of the two
chances and 0 where they agree, so for p > q it grows with p and falls with q: the pair (p, q) loses
no more than (P(S), Q(S)) does. For b(p) against b(q) the claims say

    pure, (epsilon, delta)   p <= e^eps q + delta   and   1 - q <= e^eps (1 - p) + delta,
    GDP                      Phi^-1(p) - Phi^-1(q) <= mu,
    Renyi                    D_alpha <= epsilon in both orders,
    (kappa, rho)-zCDP        D_alpha <= kappa + alpha rho in both orders, for every alpha > 1,

of which each is solved for its number. Orders are taken from a grid: each of them is a bound.

**Constants.** For pure, (epsilon, delta) and Gaussian claims the best event reaches the number; for
zCDP and Renyi claims two outcomes lose something. Of Gaussian noise with a small rho the best event
shows 2/pi of it, and more in the tails.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Pure,
    Renyi,
    ZeroConcentrated,
    check_privacy,
)
from verify.privacy.wager import Agreement, least_ratio

Array = NDArray[np.float64]
LETTERS: dict[type[Privacy], str] = {
    Pure: "epsilon",
    Approximate: "epsilon",
    ZeroConcentrated: "rho",
    OffsetConcentrated: "rho",
    Gaussian: "mu",
    Renyi: "epsilon",
}
"""The number of each definition that is bounded from below."""
ORDERS = 1 + np.geomspace(1e-3, 300, 240)
"""Orders of Renyi divergences that are tried for zCDP: those between would show at most a
thousandth more."""
ROUNDING = 1e-9
"""By how much, relatively, a bound must exceed the claim: far more than it can be off by."""


def check_claim(claim: object) -> None:
    """Raise unless it is a definition with its numbers that can be audited."""
    try:
        check_privacy(claim)
    except TypeError as error:
        raise TypeError(str(error).replace("privacy must", "claim must", 1)) from None


def letter(claim: Privacy) -> str:
    """The name of the number that an audit bounds."""
    return LETTERS[type(claim)]


def stated(claim: Privacy) -> float:
    """The claim's own value of that number."""
    return float(claim.parameters[letter(claim)])


def with_budget(claim: Privacy, number: float) -> Privacy:
    """The same claim with another number."""
    changed: dict[str, Any] = {letter(claim): number}
    return replace(claim, **changed)


def least_budget(claim: Privacy, p: Array | float, q: Array | float) -> Array:
    """The least number of the claim under which the chances p and q are possible; 0 if p <= q."""
    p, q = (np.asarray(each, dtype=float) for each in (p, q))
    apart = p > q
    with np.errstate(divide="ignore", invalid="ignore"):
        found = _least(claim, np.where(apart, p, 0.5), np.where(apart, q, 0.5))
    return np.asarray(np.where(apart, np.maximum(found, 0.0), 0.0))


def _least(claim: Privacy, p: Array, q: Array) -> Array:
    match claim:
        case Pure():
            return _log_ratio(p, q, 0.0)
        case Approximate():
            return _log_ratio(p, q, claim.delta)
        case Gaussian():
            return np.asarray(special.ndtri(p) - special.ndtri(q))
        case Renyi():
            return _both_orders(np.array([claim.alpha]), p, q)[0]
        case ZeroConcentrated():
            return _concentrated(0.0, p, q)
        case OffsetConcentrated():
            return _concentrated(claim.kappa, p, q)
    raise TypeError(f"claim: {claim!r} cannot be audited")


def _log_ratio(p: Array, q: Array, delta: float) -> Array:
    direct = np.log(np.maximum(p - delta, 0.0) / q)
    complement = np.log(np.maximum(1 - q - delta, 0.0) / (1 - p))
    return np.asarray(np.maximum(direct, complement))


def _concentrated(kappa: float, p: Array, q: Array) -> Array:
    orders = ORDERS.reshape(-1, *([1] * p.ndim))
    return np.asarray(((_both_orders(ORDERS, p, q) - kappa) / orders).max(axis=0))


def _both_orders(orders: Array, p: Array, q: Array) -> Array:
    """The larger of D_alpha(b(p)|b(q)) and D_alpha(b(q)|b(p)), for each order."""
    a = orders.reshape(-1, *([1] * p.ndim))
    return np.maximum(_renyi(a, p, q), _renyi(a, q, p))


def _renyi(a: Array, p: Array, q: Array) -> Array:
    """D_a(b(p)|b(q)), in logarithms."""
    inside = a * np.log(p) + (1 - a) * np.log(q)
    outside = a * np.log1p(-p) + (1 - a) * np.log1p(-q)
    return np.asarray(np.logaddexp(inside, outside) / (a - 1))


def delta_of(claim: Pure | Approximate) -> float:
    """The claim's delta."""
    return claim.delta if isinstance(claim, Approximate) else 0.0


class Counts(NamedTuple):
    """How many of `drawn` pairs of releases fell in an event: on each side, and on both."""

    likelier: int
    rarer: int
    drawn: int
    both: int

    @staticmethod
    def independent(likelier: int, rarer: int, drawn: int) -> Counts:
        """As if the two releases of a pair had nothing in common."""
        return Counts(likelier, rarer, drawn, round(likelier * rarer / drawn))

    @property
    def agreement(self) -> Agreement:
        """The pairs, told apart by where the event is."""
        first, second = self.likelier - self.both, self.rarer - self.both
        return Agreement(self.both, first, second, self.drawn - self.both - first - second)

    def chances(self, level: float) -> tuple[float, float]:
        """p <= P(S) and q >= Q(S), each wrong with chance at most level/2 (Clopper, Pearson)."""
        k, j, m, _ = self
        low = float(stats.beta.ppf(level / 2, k, m - k + 1)) if k else 0.0
        high = float(stats.beta.isf(level / 2, j + 1, m - j)) if j < m else 1.0
        return low, high

    def budget(self, claim: Privacy, level: float) -> float:
        """A lower bound on the claim's number, wrong with chance at most `level`.

        For pure and (epsilon, delta) claims the level is shared with the wager on pairs
        (`verify.privacy.wager`), from the claim's number on.
        """
        if not isinstance(claim, (Pure, Approximate)):
            return self.budget_by_chances(claim, level)
        found = least_ratio(self.agreement, delta_of(claim), level / 2, claim.epsilon)
        return max(self.budget_by_chances(claim, level / 2), found)

    def budget_by_chances(self, claim: Privacy, level: float) -> float:
        """The lower bound that the two intervals give, wrong with chance at most `level`."""
        return float(least_budget(claim, *self.chances(level)))

    def plus(self, other: Counts) -> Counts:
        """Those of two batches together."""
        return Counts(*(mine + more for mine, more in zip(self, other, strict=True)))


def refutes(claim: Privacy, budget: float) -> bool:
    """Whether a lower bound on the number is more than the claim says."""
    return budget > stated(claim) * (1 + ROUNDING)


def noticed_from(claim: Privacy, drawn: int, level: float, likelier: float = 0.5) -> float:
    """The least budget that one event would have refuted with a chance of 9 in 10.

    The event has the chance `likelier` on one side, and on the other the least that the budget
    allows; `drawn` releases a side, the test at `level`.
    """
    k = int(stats.binom.ppf(0.05, drawn, likelier))

    def noticed(number: float) -> bool:
        rarer = _rarest(with_budget(claim, number), likelier)
        j = int(stats.binom.ppf(0.95, drawn, rarer))
        return refutes(claim, Counts.independent(k, j, drawn).budget(claim, level))

    low, high = stated(claim), stated(claim)
    while not noticed(high):
        high *= 2
        if high > 1e6 * low:
            return math.inf
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if noticed(middle) else (middle, high)
    return high


def _rarest(claim: Privacy, p: float) -> float:
    """The least chance that an event of chance p may have on the other side."""
    low, high = 0.0, p
    for _ in range(60):
        middle = (low + high) / 2
        within = least_budget(claim, p, middle) <= stated(claim)
        low, high = (low, middle) if within else (middle, high)
    return high
