r"""Upper tails of a binomial law, for floats and mpmath numbers; they err upwards only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

import mpmath
import numpy as np

from minimax.core.balls import Ball
from minimax.core.symbolic import PRECISE, Number, library, lift
from minimax.methods.enclosed_counts import BinomialLaw

SMALLEST_LOG = -600.0
"""Chances below e^this are carried as logarithms."""
LONGEST_SUM = 8000
"""Terms up to which a tail is summed; beyond, Chernoff's bound is used."""


def binomial_tails(counts: Sequence[float], n: Number, p: Number) -> list[Number]:
    r"""At least P(K > k) for each k of `counts` (growing, from 0), K ~ Binomial(n, p).

    **Statement.** Up to `LONGEST_SUM` terms: the sum of the probabilities up to the last count and
    the geometric bound pmf(k) r/(1 - r), r = pmf(k+1)/pmf(k), on what is beyond it; k = 0 gets 1 if
    the second count is beyond 1. For longer sums: exp(-D), D = x log(x/np) - x + np at x = k + 1 >
    np, and 1 below.

    **Proof.** The quotients pmf(k+1)/pmf(k) = (n - k) p/((k + 1)(1 - p)) fall with k. Chernoff: the
    tail is at most exp(-n KL(x/n, p)), and n KL is D and the same expression for the failures,
    which is not negative.
    """
    if p >= 1:
        return [lift(float(k < n), n) for k in counts]
    if counts[-1] - counts[1] > LONGEST_SUM:
        return [_chernoff(k + 1, n * p) for k in counts]
    first = 0.0 if counts[1] == 1 else counts[1]
    chances = _probabilities(first, counts[-1], n, p)
    quotient = (n - counts[-1]) / (counts[-1] + 1) * (p / (1 - p))
    beyond = chances[-1] * quotient / (1 - quotient) if quotient < 1 else lift(1.0, n)
    above = [beyond + total for total in _backward_sums(chances)]  # [i] is P(K >= first + i)
    tails = [above[int(k - first) + 1] for k in counts[1:-1]] + [beyond]
    return [above[1] if first == 0 else lift(1.0, n), *tails]


def _chernoff(x: float, mean: Number) -> Number:
    use = library(mean)
    if x <= mean:
        return lift(1.0, mean)
    e = (x - mean) / mean
    return use.exp(-mean * ((1 + e) * use.log1p(e) - e))


def _probabilities(first: float, last: float, n: Number, p: Number) -> Sequence[Number]:
    """P(K = k) for k = first, ..., last, each from the one before."""
    odds = p / (1 - p)
    if not isinstance(n, PRECISE):
        below = np.arange(first, last)
        quotients = (n - below) / (below + 1) * odds
        if _log_probability(first, n, p) < SMALLEST_LOG:  # the product would be 0 times infinity
            with np.errstate(divide="ignore"):  # log 0 beyond k = n
                logs = np.cumsum(np.append(_log_probability(first, n, p), np.log(quotients)))
            return [float(chance) for chance in np.exp(logs)]
        start = _probability(first, n, p)
        return [float(chance) for chance in start * np.cumprod(np.append(1.0, quotients))]
    chances = [_probability(first, n, p)]
    for k in range(int(first), int(last)):
        chances.append(chances[-1] * (n - k) * odds / (k + 1))
    return chances


def _backward_sums(chances: Sequence[Number]) -> list[Number]:
    return list(accumulate(reversed(chances)))[::-1]


def _probability(k: float, n: Number, p: Number) -> Number:
    """P(K = k)."""
    if k > 0 and isinstance(n, Ball):
        return BinomialLaw(int(n), p).chance(int(k))
    use = library(n)
    if k == 0:
        return use.exp(n * use.log1p(-p))
    with mpmath.workdps(mpmath.mp.dps + 25):
        value = mpmath.exp(_log_chance(k, n, p))
    return +value if use.ulp == 0 else float(value)


def _log_probability(k: float, n: float, p: float) -> float:
    """log P(K = k)."""
    if k == 0:
        return n * math.log1p(-p)
    with mpmath.workdps(mpmath.mp.dps + 25):
        return float(_log_chance(k, n, p))


def _log_chance(k: float, n: Number, p: Number) -> mpmath.mpf:
    """log P(K = k), with digits to spare: the logarithms of factorials cancel."""
    n, p = mpmath.mpf(n), mpmath.mpf(p)
    ways = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)
    return ways + k * mpmath.log(p) + (n - k) * mpmath.log1p(-p)
