r"""The test of one chance against a multiple of another, from pairs: a wager.

**Statement.** Let (X_i, Y_i), i <= m, be independent pairs of numbers in [0, 1] with one law,
whatever the dependence of X_i and Y_i, and E X <= e^eps E Y + delta. Then `exceeds` with a stated
epsilon <= eps is true with probability at most `level`; and with probability at least 1 - level
every number that `least_ratio` gives is at most the least such eps. For a claim of (eps, delta) X
and Y may be any function of the two releases with values in [0, 1]: bits that say whether an event
is there, or a ramp, the average of such bits over many thresholds.

**Proof.** W = X - e^eps Y - delta has E W <= 0, and W >= -(e^eps + delta). A gambler who stakes the
share s of his wealth on W, 0 <= s < 1/(e^eps + delta), has the wealth prod (1 + s W_i) after m
pairs, whose expectation is at most 1; so has the average over several shares, fixed beforehand.
By Markov's inequality it is 1/level or more with probability at most `level`. Each factor falls in
eps, so that a wealth reached at a larger eps is reached at every smaller one: one wager serves all.

**Statement, of several rounds** (`Capital`). In every round events are chosen by what was seen in
earlier rounds, and each is then looked at on fresh pairs, as often as one likes. If the claim
holds, the chance that `Capital.least_ratio` is ever above eps is at most `level`.

**Proof.** A wealth of 1 is put aside in K equal parcels, one for each of the first K rounds. In a
round the next parcel, if there is one, is joined to what the rounds before have left, and all of it
is divided equally among the round's events, which are fixed by then; each share is wagered as
above, and at the end of the round the shares are put together again. What is wagered and put aside
is together a nonnegative supermartingale from 1: it is ever 1/level or more with probability at
most `level` (Ville). The share of one event is at most the whole. A round that loses costs only
what was in it, so that none of the K has less than a K-th; what a round wins serves all later ones.
Further rounds, as many as one likes, play with what is left: they cost the first K nothing.

**Constants.** If both sides of a pair are given the same noise, X and Y agree nearly always, and
the wealth grows with the few pairs in which they do not: for sparse vectors at epsilon = 0.1 the
same verdict takes a fourteenth of the releases that independent sides take. A wager needs about
1.3 times the pairs of an exact test with no other unknown, which here there is. A ramp gains where
common noise moves the statistic by little: X and Y are then nearly the same number, while of bits a
few are entirely different. Twenty reports at the price of ten, epsilon = 0.1, take a seventh.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LARGEST = 0.95
SHARES = LARGEST * 2.0 ** -np.arange(8)
"""Of the largest stake."""
STEPS = 40


Levels = NDArray[np.float64]
"""How many pairs have X = a/K and Y = b/K, in row a and column b of a table of K + 1 rows."""


class Agreement(NamedTuple):
    """How many pairs have the event on both sides, on one of them, and on none."""

    both: int
    first: int
    second: int
    neither: int

    @property
    def levels(self) -> Levels:
        """The same as a table: in row a and column b, X = a and Y = b."""
        return np.array([[self.neither, self.second], [self.first, self.both]], dtype=float)


Found = Agreement | Levels


def log_wealth(found: Found, epsilon: float, delta: float, stated: float) -> float:
    """Of a gambler with 1 to begin with, whose stakes are for the stated epsilon."""
    stakes = SHARES / (math.exp(stated) + delta)
    stakes = stakes[stakes * (math.exp(epsilon) + delta) < 1]
    if not len(stakes):
        return -math.inf
    levels = found.levels if isinstance(found, Agreement) else found
    grid = np.linspace(0, 1, len(levels))
    seen = levels > 0
    gains = np.subtract.outer(grid, math.exp(epsilon) * grid)[seen] - delta
    wealth = np.log1p(np.outer(stakes, gains)) @ levels[seen]
    return _log_sum(wealth) - math.log(len(SHARES))


def lead(found: Found, epsilon: float, delta: float) -> float:
    """By how many deviations the mean of X exceeds e^epsilon that of Y, and delta; 0 of none."""
    levels = found.levels if isinstance(found, Agreement) else found
    grid, pairs = np.linspace(0, 1, len(levels)), max(float(levels.sum()), 1.0)
    gains = np.subtract.outer(grid, math.exp(epsilon) * grid) - delta
    mean = float((gains * levels).sum()) / pairs
    variance = float(((gains - mean) ** 2 * levels).sum()) / pairs
    return mean * math.sqrt(pairs / variance) if variance > 0 else 0.0


def exceeds(found: Found, epsilon: float, delta: float, level: float, stated: float) -> bool:
    """Whether P(X) > e^epsilon P(Y) + delta at this level; stakes are for the stated epsilon."""
    return log_wealth(found, epsilon, delta, stated) >= -math.log(level)


def least_ratio(found: Found, delta: float, level: float, start: float) -> float:
    """The largest epsilon, from `start` on, that is still exceeded; 0 if `start` is not."""
    return _largest(lambda epsilon: exceeds(found, epsilon, delta, level, start), start)


@dataclass
class Capital:
    """What wagers on P(X) <= e^epsilon P(Y) + delta have brought in, round by round."""

    stated: float
    delta: float
    rounds: int
    """K, known beforehand: those that bring a parcel."""
    played: list[Sequence[Found]] = field(default_factory=list)
    """Of each round that is over, the events among which the wealth was divided."""

    @property
    def over(self) -> bool:
        """Whether all parcels were played."""
        return len(self.played) >= self.rounds

    def close(self, events: Sequence[Found]) -> None:
        """End a round."""
        self.played.append(tuple(events))

    def least_ratio(self, found: Found, events: int, level: float) -> float:
        """The largest epsilon that one of so many events of this round refutes; 0 if none."""

        def over(epsilon: float) -> bool:
            wealth = log_wealth(found, epsilon, self.delta, self.stated)
            return self._log_stake(epsilon) + wealth - math.log(events) >= -math.log(level)

        return _largest(over, self.stated)

    def _log_stake(self, epsilon: float) -> float:
        """What there is to wager in this round."""
        parcel = -math.log(self.rounds)
        stake = parcel
        for k, events in enumerate(self.played, start=1):
            wealth = [log_wealth(each, epsilon, self.delta, self.stated) for each in events]
            won = _log_sum(np.array(wealth)) - math.log(len(events)) if events else 0.0
            stake = float(np.logaddexp(stake + won, parcel)) if k < self.rounds else stake + won
        return stake


def _log_sum(logs: NDArray[np.float64]) -> float:
    """log of a sum of exponentials: in a few lines, since an audit asks thousands of times."""
    most = float(logs.max())
    return most + math.log(float(np.exp(logs - most).sum())) if math.isfinite(most) else most


def _largest(over: Callable[[float], bool], start: float) -> float:
    """The largest number, from `start` on, for which it is still so; 0 if not for `start`."""
    if not over(start):
        return 0.0
    low, high = start, start + 1
    while over(high):
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if over(middle) else (low, middle)
    return low
