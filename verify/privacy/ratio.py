r"""The exact test of one chance against a multiple of another.

**Statement.** Let k ~ Bin(m, p) and j ~ Bin(m, q) be independent and p <= e^eps q + delta. Then
`chance` is at most a with probability at most a, for every a in (0, 1).

**Proof.** Given s = k + j, k has Fisher's noncentral hypergeometric law with the odds ratio
theta = p (1 - q)/(q (1 - p)), in which its upper tail grows. With p <= e^eps q + delta,
theta <= (e^eps + delta/q)(1 - q)/(1 - e^eps q - delta), the first factor falling in q and the
second growing. Let [q_0, q_1] be the exact interval of q at level b = `SHARE` a: where it holds,
theta is at most the first factor at q_0 times the second at q_1 (no bound, if the second is not
positive). So the tail at that theta, plus b, is a valid p-value (Berger and Boos, 1994), here in
the form that the tail itself has to be below (1 - `SHARE`) a.

**Constants.** Two separate bounds for p and q need twice the releases for the same ratio: their
errors add up, here their squares do.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from attacks.intervals import clopper_pearson

SHARE = 0.05
"""Of the level, for the interval of q."""
REACH = 40
"""Deviations from the mode that are summed; what lies beyond is below e^-300 of it."""
STEPS = 40


def exceeds(k: int, j: int, m: int, epsilon: float, delta: float, level: float) -> bool:
    """Whether p > e^eps q + delta at this level, from k and j of m each."""
    low, high = clopper_pearson(j, m, SHARE * level)
    rest = 1 - math.exp(epsilon) * high - delta
    if k <= j or rest <= 0 or (delta > 0 and low == 0):
        return False
    first = math.exp(epsilon) + (delta / low if delta else 0.0)
    return upper_tail(k, k + j, m, first * (1 - high) / rest) <= (1 - SHARE) * level


def upper_tail(k: int, s: int, m: int, odds: float) -> float:
    """P(X >= k), X noncentral hypergeometric: weights C(m, x) C(m, s - x) odds^x."""
    a, b = odds - 1, -(odds * (m + s) + m - s)
    mode = s / 2 if a == 0 else (-b - math.sqrt(max(b * b - 4 * a * odds * m * s, 0.0))) / (2 * a)
    room = REACH * (math.sqrt(s) + 1)
    least, most = max(0, s - m), min(m, s)
    first, last = math.floor(min(mode, k) - room), math.ceil(mode + room)
    x = np.arange(max(least, first), min(most, last) + 1)
    if k > most or len(x) == 0 or k > x[-1]:
        return 0.0 if k > most else math.exp(-300.0)
    logs = x * math.log(odds) - sum(
        special.gammaln(part + 1.0) for part in (x, m - x, s - x, m - s + x)
    )
    weights = np.exp(logs - logs.max())
    return float(weights[x >= k].sum() / weights.sum())


def least_ratio(k: int, j: int, m: int, delta: float, level: float, start: float) -> float:
    """The largest epsilon, from `start` on, that is still exceeded; 0 if `start` is not."""
    if not exceeds(k, j, m, start, delta, level):
        return 0.0
    low, high = start, start + 1
    while exceeds(k, j, m, high, delta, level):
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeds(k, j, m, middle, delta, level) else (low, middle)
    return low
