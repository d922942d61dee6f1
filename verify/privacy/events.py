"""Events: a statistic cut at a threshold, chosen by what it promises to show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import special

from minimax.core.privacy import Approximate, Privacy, Pure
from verify.privacy.budget import Counts, delta_of, least_budget
from verify.privacy.statistics import Statistic
from verify.privacy.tables import Array, Pair
from verify.privacy.wager import LARGEST, Levels

Side = Literal[">=", "<="]
CANDIDATES = 200
"""Thresholds that are tried."""
UNSEEN = 20
"""Pairs that might as well have disagreed, in the spread of an excess: of many events that are
tried some rare one always looks good."""
RUNGS = 16
"""Of a ramp: from 0 to 1 in so many steps."""
RAMPED, RAMP_ROWS, WIDTHS = 6, 20_000, (0.3, 1.0, 3.0)
"""Events whose statistics are tried with a ramp, on so many pairs, and widths in deviations."""


@dataclass(frozen=True, eq=False)
class Event:
    """{statistic side threshold}, thought likelier on X, or on its neighbour if `swapped`."""

    statistic: Statistic
    threshold: float
    side: Side
    swapped: bool
    promise: float
    """The lower bound on the budget that it is hoped to give, about: to choose by."""
    width: float = 0.0
    """From the threshold on the wager rises with the statistic, and is whole after so much."""
    apart: float = 0.0
    """How many deviations the two sides are apart in this statistic, wherever it is cut."""

    @property
    def about(self) -> str:
        """In words."""
        where = "the neighbour" if self.swapped else "X"
        ramp = f", the more so up to {self.width:.3g} beyond" if self.width else ""
        return f"{self.statistic.about} {self.side} {self.threshold:.6g}{ramp}, likelier on {where}"

    def counts(self, pair: Pair) -> Counts:
        """How many releases of these pairs fall in the event."""
        return self._counts(pair, np.array([self.threshold]))[0]

    def levels(self, pair: Pair) -> Levels:
        """The table of the wager: bits if there is no ramp."""
        if not self.width:
            return self.counts(pair).agreement.levels
        sides = [self._ramp(self.statistic(table)) for table in pair]
        first, second = (np.rint(RUNGS * each).astype(int) for each in sides)
        likelier, rarer = (second, first) if self.swapped else (first, second)
        cells = np.bincount(likelier * (RUNGS + 1) + rarer, minlength=(RUNGS + 1) ** 2)
        return cells.reshape(RUNGS + 1, RUNGS + 1).astype(float)

    def _ramp(self, values: Array) -> Array:
        return _ramp(values, self.threshold, self.width, self.side)

    def counts_along(self, pair: Pair, points: int) -> tuple[Counts, ...]:
        """The same for thresholds that run through the values, the rarest event first."""
        values = np.concatenate([self.statistic(table) for table in pair])
        shares = special.expit(np.linspace(-7, 7, points))
        return tuple(self._counts(pair, np.quantile(values, shares, method="lower")))

    def _counts(self, pair: Pair, thresholds: Array) -> list[Counts]:
        drawn = len(pair.first)
        values = [self.statistic(table) for table in pair]
        shares = _tails(values[0], values[1], thresholds, self.side)
        first, second, both = (np.rint(drawn * share).astype(int).tolist() for share in shares)
        likelier, rarer = (second, first) if self.swapped else (first, second)
        return sorted(
            {Counts(k, j, drawn, b) for k, j, b in zip(likelier, rarer, both, strict=True)}
        )


def _ramp(values: Array, threshold: float, width: float, side: Side) -> Array:
    """0 outside of the event, rising to 1."""
    with np.errstate(invalid="ignore", over="ignore"):  # a release may lack the number: -inf
        beyond = (values - threshold) if side == ">=" else (threshold - values)
        return np.asarray(np.clip(np.nan_to_num(beyond) / width, 0.0, 1.0))


def promising_events(
    statistics: Sequence[Statistic], pair: Pair, claim: Privacy, drawn: int, level: float
) -> list[Event]:
    """The best event of each statistic on these releases, the most promising first.

    Of events with the very same promise, which are one event in other words, the first is kept.
    """
    found = [_best_event(each, pair, claim, drawn, level) for each in statistics]
    told = {event.promise: event for event in reversed(found)}
    best = sorted(told.values(), key=lambda event: -event.promise)
    if isinstance(claim, (Pure, Approximate)):
        best += [ramp for event in best[:RAMPED] for ramp in _ramps(event, pair, claim, drawn)]
    return sorted(best, key=lambda event: -event.promise)


def _ramps(event: Event, pair: Pair, claim: Pure | Approximate, drawn: int) -> list[Event]:
    """The best ramp of its statistic, on the same side; none where the statistic has few values."""
    first, second = (event.statistic(table)[:RAMP_ROWS] for table in pair)
    pooled = np.concatenate([first, second])
    pooled = pooled[np.isfinite(pooled)]
    spread = float(np.std(pooled)) if len(pooled) else 0.0
    if not (spread > 0 and math.isfinite(spread)) or len(np.unique(pooled)) < CANDIDATES:
        return []
    shares = special.expit(np.linspace(-1, 6, 18) * (1 if event.side == ">=" else -1))
    likelier, rarer = (second, first) if event.swapped else (first, second)
    tried = []
    for threshold in np.quantile(pooled, shares).tolist():
        for width in (share * spread for share in WIDTHS):
            x, y = (_ramp(values, threshold, width, event.side) for values in (likelier, rarer))
            promise = _ramp_promise(x, y, claim, drawn)
            tried.append(replace(event, threshold=threshold, width=width, promise=promise))
    return [max(tried, key=lambda each: each.promise)]


def _ramp_promise(x: Array, y: Array, claim: Pure | Approximate, drawn: int) -> float:
    """As `_promise`: what the largest stake that is allowed, or the best below it, would win."""
    ratio, n = math.exp(claim.epsilon), len(x)
    won = x - ratio * y - delta_of(claim)
    mean, variance = float(won.mean()), float(won.var()) + UNSEEN / (2 * RUNGS) ** 2 / n
    stake = min(mean / variance, LARGEST / (ratio + delta_of(claim)))
    growth = stake * mean - stake**2 * variance / 2 if mean > 0 else -(mean**2) / (2 * variance)
    return (math.copysign(math.sqrt(2 * abs(growth) * n), growth) - 1) * math.sqrt(drawn / n)


def _best_event(
    statistic: Statistic, pair: Pair, claim: Privacy, drawn: int, level: float
) -> Event:
    first, second = (statistic(table) for table in pair)
    thresholds = _thresholds(first, second)
    best = Event(statistic, float(thresholds[0]), ">=", False, -math.inf)
    sides: tuple[Side, ...] = (">=", "<=")
    apart = 0.0
    for side in sides:
        p, q, both = _tails(first, second, thresholds, side)
        apart = max(apart, float(_apart(p, q, len(first)).max()))
        for swapped in (False, True):
            chances = (q, p) if swapped else (p, q)
            hoped = _promise(*chances, both, len(first), claim, drawn, level)
            at = int(np.argmax(hoped))
            if hoped[at] > best.promise:
                best = Event(statistic, float(thresholds[at]), side, swapped, float(hoped[at]))
    return replace(best, apart=apart)


def _apart(p: Array, q: Array, n: int) -> Array:
    """How many deviations two chances are apart, of n releases each."""
    return np.asarray(np.abs(p - q) / np.sqrt((p * (1 - p) + q * (1 - q) + 1 / n) / n))


def _thresholds(first: Array, second: Array) -> Array:
    """Values at which to cut, dense in both tails, where the ratio of the laws is largest."""
    pooled = np.unique(np.concatenate([first, second]))
    if len(pooled) <= CANDIDATES:
        return pooled
    share = special.expit(np.linspace(-9, 9, CANDIDATES))
    return np.unique(pooled[(share * (len(pooled) - 1)).astype(int)])


def _tails(first: Array, second: Array, thresholds: Array, side: Side) -> tuple[Array, ...]:
    """The share of pairs in each event: on the first side, on the second, on both."""
    worse = np.minimum(first, second) if side == ">=" else np.maximum(first, second)
    return tuple(_tail(np.sort(values), thresholds, side) for values in (first, second, worse))


def _tail(ordered: Array, thresholds: Array, side: Side) -> Array:
    """The share of values in each event."""
    if side == ">=":
        return np.asarray(1 - np.searchsorted(ordered, thresholds, side="left") / len(ordered))
    return np.asarray(np.searchsorted(ordered, thresholds, side="right") / len(ordered))


def _promise(
    p: Array, q: Array, both: Array, n: int, claim: Privacy, drawn: int, level: float
) -> Array:
    """What a test may be hoped to show if chances are what n pairs say, less one deviation.

    Of a ratio, how many deviations the claim will be exceeded by; of other claims the bound itself.
    Where that is 0, as at first for a small budget, what is left of it decides without the test,
    and then how many deviations p and q are apart.
    """
    if isinstance(claim, (Pure, Approximate)):
        return np.asarray((_excess(p, q, both, n, claim) - 1) * math.sqrt(drawn / n))
    z = -float(special.ndtri(level / 2))
    low, high = _wilson(p, n, 1.0)[0], _wilson(q, n, 1.0)[1]
    tested = least_budget(claim, _wilson(low, drawn, z)[0], _wilson(high, drawn, z)[1])
    apart = np.sign(p - q) * _apart(p, q, n)
    return np.asarray(tested + 1e-3 * least_budget(claim, low, high) + 1e-6 * apart)


def _excess(p: Array, q: Array, both: Array, n: int, claim: Pure | Approximate) -> Array:
    """By how many deviations n pairs exceed the claim."""
    ratio = math.exp(claim.epsilon)
    excess = p - ratio * q
    spread = np.sqrt(p + ratio**2 * q - 2 * ratio * both - excess**2 + UNSEEN / n)
    return np.asarray((excess - delta_of(claim)) / spread * math.sqrt(n))


def deviations(counts: Counts, claim: Privacy) -> float:
    """By how many deviations an event exceeds a claim about ratios; 0 for other claims."""
    if not (counts.drawn and isinstance(claim, (Pure, Approximate))):
        return 0.0
    n = counts.drawn
    p, q, both = (np.array(each / n) for each in (counts.likelier, counts.rarer, counts.both))
    return float(_excess(p, q, both, n, claim))


def _wilson(share: Array, n: int, z: float) -> tuple[Array, Array]:
    """Wilson's interval: quick and about right, which is enough to choose by."""
    centre, room = share + z**2 / (2 * n), z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low, high = ((centre + sign * room) / (1 + z**2 / n) for sign in (-1, 1))
    return np.maximum(low, 0.0), np.minimum(high, 1.0)
