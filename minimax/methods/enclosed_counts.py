r"""Binomial and Poisson distribution functions in balls, for many counts at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from scipy import special

from minimax.core.balls import BALLS, Ball, between, bits, flint, precision, surely
from minimax.core.symbolic import Number

LONGEST_SUM = 2000
"""Chances that are summed, for each count that is asked for, before an incomplete beta or gamma
function is the cheaper way."""
LARGE = 1e6
"""Means from which on a tail is not summed."""


class CountLaw(Protocol):
    """A law of counts whose successive chances have a simple quotient."""

    @property
    def mean(self) -> Ball:
        """Its mean."""

    def chance(self, k: int) -> Ball:
        """P(K = k)."""

    def below(self, k: int) -> Ball:
        """P(K <= k), by a special function: its error is relative to 1."""

    def quotient(self) -> Callable[[int], Any]:
        """k to P(K = k + 1)/P(K = k), in Arb's own numbers."""

    def surely_all(self, k: int) -> bool:
        """Whether no count is above k."""


class BinomialLaw:
    """Binomial(n, p)."""

    def __init__(self, n: int, p: Ball) -> None:
        self.n, self.p, self.mean = n, p, n * p

    def surely_all(self, k: int) -> bool:
        return k >= self.n or bool(self.p == 0)

    def chance(self, k: int) -> Ball:
        n, p, gamma = self.n, self.p, BALLS.loggamma
        none = (n - k) * BALLS.log1p(-p)
        if k == 0:
            return BALLS.exp(none)
        ways = gamma(n + 1) - gamma(k + 1) - gamma(n - k + 1)
        return BALLS.exp(ways + k * BALLS.log(p) + none)

    def below(self, k: int) -> Ball:
        """1 - P(B <= p) with B ~ Beta(k + 1, n - k)."""
        return 1 - Ball(self.p.arb.beta_lower(flint().arb(k + 1), flint().arb(self.n - k), 1))

    def quotient(self) -> Callable[[int], Any]:
        n, odds = self.n, (self.p / (1 - self.p)).arb
        return lambda k: odds * (n - k) / (k + 1)


class PoissonLaw:
    """Poisson(mean)."""

    def __init__(self, mean: Ball) -> None:
        self.mean = mean

    def surely_all(self, k: int) -> bool:
        return bool(self.mean == 0)

    def chance(self, k: int) -> Ball:
        if k == 0:
            return BALLS.exp(-self.mean)
        return BALLS.exp(k * BALLS.log(self.mean) - self.mean - BALLS.loggamma(k + 1))

    def below(self, k: int) -> Ball:
        """The chance that a Gamma(k + 1) exceeds the mean."""
        return Ball(self.mean.arb.gamma_upper(flint().arb(k + 1), 1))

    def quotient(self) -> Callable[[int], Any]:
        mean = self.mean.arb
        return lambda k: mean / (k + 1)


def enclosed(law: CountLaw, k: Number) -> Number:
    """P(K <= k) for a count, or the list of them for an array of counts that grow."""
    if isinstance(k, np.ndarray):
        return distribution(law, [int(count) for count in k])
    return distribution(law, [int(k)])[0]


def distribution(law: CountLaw, counts: Sequence[int]) -> list[Ball]:
    r"""P(K <= k) for each k of `counts`, which grow.

    **Statement.** Where D(k) = k log(k/mean) - k + mean is large the value is only known to be in
    [0, e^-D] or [1 - e^-D, 1]. Between, one value by a special function and the others by adding
    up chances, each from the one before; or each by the special function where that would be long.

    **Proof.** Chernoff, as in `minimax.methods.counts.binomial_cdf`: D(k) bounds the exponent of
    the tail beyond k, on its side of the mean, for the binomial law too. The distribution function
    grows, so that a tail's bound holds beyond it.
    """
    if isinstance(law, BinomialLaw) and surely(law.p == 1):
        return [Ball(float(k >= law.n)) for k in counts]
    mean = law.mean.middle
    far = [float(special.kl_div(k, mean)) > bits() for k in counts]
    first = next((i for i, k in enumerate(counts) if not (far[i] and k < mean)), len(counts))
    last = next((i for i, k in enumerate(counts) if far[i] and k >= mean), len(counts))
    last = max(first, last)
    found = []
    if first:
        found += [between(0, _tail_bound(law, counts[first - 1]))] * first
    found += _summed(law, counts[first:last])
    if last < len(counts):
        rest = between(1 - _tail_bound(law, counts[last]), 1)
        found += [Ball(1) if law.surely_all(k) else rest for k in counts[last:]]
    return found


def _tail_bound(law: CountLaw, k: int) -> Ball:
    """e^-D(k)."""
    if k == 0:
        return BALLS.exp(-law.mean)
    return BALLS.exp(-(k * BALLS.log(k / law.mean) - k + law.mean))


def _summed(law: CountLaw, counts: Sequence[int]) -> list[Ball]:
    if not counts:
        return []
    if law.surely_all(counts[0]):
        return [Ball(1)] * len(counts)
    if counts[-1] - counts[0] > LONGEST_SUM * (len(counts) - 1):
        return [Ball(1) if law.surely_all(k) else _below(law, k) for k in counts]
    chance, quotient = law.chance(counts[0]).arb, law.quotient()
    total = chance if counts[0] == 0 else _below(law, counts[0]).arb
    found, k = [Ball(total)], counts[0]
    for target in counts[1:]:
        while k < target:
            chance = chance * quotient(k)
            total, k = total + chance, k + 1
        found.append(Ball(total))
    return found


def _below(law: CountLaw, k: int) -> Ball:
    """P(K <= k): the sum of the tail on its side of the mean, or a special function."""
    mean = law.mean.middle
    if mean > LARGE:
        room = 32 + int(1.5 * special.kl_div(k, mean))
        with precision(bits() + room):
            return law.below(k)
    quotient = law.quotient()
    if k < mean:
        return law.chance(k) * _series(lambda i: 1 / quotient(k - 1 - i), k)
    return 1 - law.chance(k) * (_series(lambda i: quotient(k + i), 10**18) - 1)


def _series(ratio: Callable[[int], Any], most: int) -> Ball:
    """1 + r_0 + r_0 r_1 + ... with `most` ratios, which fall: cut off where the rest is small.

    After a term t with the ratio r < 1 the rest is at most t r/(1 - r).
    """
    total = term = flint().arb(1)
    small = flint().arb(2) ** -bits()
    for i in range(most):
        r = ratio(i)
        term = term * r
        total = total + term
        if i % 16 == 0 and r < 1:
            rest = term * r / (1 - r)
            if rest < small * total:
                return between(total, total + rest)
    return Ball(total)
