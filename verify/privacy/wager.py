r"""The test of one chance against a multiple of another, from pairs: a wager.

**Statement.** Let (X_i, Y_i), i <= m, be independent pairs of bits with one law, whatever the
dependence of X_i and Y_i, and P(X = 1) <= e^eps P(Y = 1) + delta. Then `exceeds` with a stated
epsilon <= eps is true with probability at most `level`; and with probability at least 1 - level
every number that `least_ratio` gives is at most the least such eps.

**Proof.** W = X - e^eps Y - delta has E W <= 0, and W >= -(e^eps + delta). A gambler who stakes the
share s of his wealth on W, 0 <= s < 1/(e^eps + delta), has the wealth prod (1 + s W_i) after m
pairs, whose expectation is at most 1; so has the average over several shares, fixed beforehand.
By Markov's inequality it is 1/level or more with probability at most `level`. Each factor falls in
eps, so that a wealth reached at a larger eps is reached at every smaller one: one wager serves all.

**Constants.** If both sides of a pair are given the same noise, X and Y agree nearly always, and
the wealth grows with the few pairs in which they do not: for sparse vectors at epsilon = 0.1 the
same verdict takes a fourteenth of the releases that independent sides take. A wager needs about
1.3 times the pairs of an exact test with no other unknown, which here there is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

SHARES = 0.95 * 2.0 ** -np.arange(8)
"""Of the largest stake."""
STEPS = 40


class Agreement(NamedTuple):
    """How many pairs have the event on both sides, on one of them, and on none."""

    both: int
    first: int
    second: int
    neither: int


def exceeds(found: Agreement, epsilon: float, delta: float, level: float, stated: float) -> bool:
    """Whether P(X) > e^epsilon P(Y) + delta at this level; stakes are for the stated epsilon."""
    stakes = SHARES / (math.exp(stated) + delta)
    stakes = stakes[stakes * (math.exp(epsilon) + delta) < 1]
    if not len(stakes):
        return False
    gains = np.array([1 - math.exp(epsilon), 1.0, -math.exp(epsilon), 0.0]) - delta
    wealth = np.log1p(np.outer(stakes, gains)) @ np.array(found, dtype=float)
    return bool(special.logsumexp(wealth) - math.log(len(SHARES)) >= -math.log(level))


def least_ratio(found: Agreement, delta: float, level: float, start: float) -> float:
    """The largest epsilon, from `start` on, that is still exceeded; 0 if `start` is not."""
    if not exceeds(found, start, delta, level, start):
        return 0.0
    low, high = start, start + 1
    while exceeds(found, high, delta, level, start):
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        over = exceeds(found, middle, delta, level, start)
        low, high = (middle, high) if over else (low, middle)
    return low
