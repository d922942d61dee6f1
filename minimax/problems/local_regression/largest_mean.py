r"""The risk of keeping the largest of p means of signs, from exact binomial laws.

One of p means u_1, ..., u_p of independent signs +-M has the mean theta, 0 <= theta <= 1, the
others have mean 0; each is over m or m + 1 signs. The estimate is u_k at the k with the largest
|u_k|, and 0 elsewhere. With v = M^2/m let X be the mean that has theta, T the largest |u_k| of the
others, both in units of sqrt v, and h = theta/sqrt v. Say that X loses if T >= |X|.

**Squared error.** It is (X - h)^2, or h^2 + T^2 if X loses: (X - h)^2 plus
(T^2 - X^2 + 2 h X) 1(T >= |X|). Given X, with H(x) >= P(T >= x), the mean of the last term is at
most Q(|X|) + 2 h X^+ H(X), Q(x) = int_x^inf 2 s H(s) ds, and E(X - h)^2 <= 1.

**Error of the sum.** It is |X - h|, or |T' - h| if X loses, T' the mean that is kept. The law of
the others is symmetric, so T' = +-T with the same chance, and the mean over the sign is max(T, h):
|X - h| plus [(T - max(X, h))^+ + min(X, h)] 1(T >= |X|), at most 1 + E[Q_1(max(X, h)) +
min(X^+, h) H(X^+)], Q_1(x) = int_x^inf H(s) ds.

**Numbers.** Levels 0 = x_0 < x_1 < ... are put where X may lie. H is at most its value at the
level below, as are Q and Q_1, and beyond the last level Hoeffding's bound 2 (p - 1) e^{-x^2/2} is
integrated. A step function a of X, or of |X|, has the mean sum_i (a_i - a_{i-1}) P(X >= x_i), and
these chances grow with h (so do those of |X|, whose likelihood ratio is increasing): over a cell
h_0 <= h <= h_1 each term is taken at the end where it is larger. For h >= h_K, the last end,
X <= h/2 has chance at most e^{-h^2/8}, and X H(X) <= h (p - 1) e^{-h^2/8} otherwise, so that
2 h E X^+ H(X) <= h^2 (2p - 1) e^{-h^2/8} falls with h.

A mean over m + 1 signs is at least t = (2k - m)/m, 0 < k <= m, if k + 1 of them are positive (k/m
<= 1), which is less likely than k of m: H is that of m signs each.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]
LEVELS = 120
"""Levels of |X|."""
CELLS = 56
"""Cells of h."""
SEEN = 3.0
"""A size at which X is positive but for a chance of e^-4.5."""
ROUNDING = 1e-6
"""Relative error of the incomplete beta functions, with room to spare."""
MARGIN = 12.0
"""How far Hoeffding's exponents at the last level and the last cell exceed log 2p."""


def worst_risk(p: int, m: int, uneven: bool, power: int, largest: float) -> float:
    r"""sup over h <= `largest` of E|error|^power in units of v^{power/2}, from above.

    `power` 2 is for the squared error, 1 for the error of the sum. `uneven`: some means are over
    m + 1 signs.
    """
    if p == 1:
        return 1.0
    return _worst_risk(p, m, uneven, power, min(largest, _last_size(p)))


def _last_size(p: int) -> float:
    return math.sqrt(8 * (math.log(2 * p) + MARGIN))


@lru_cache(maxsize=1024)
def _worst_risk(p: int, m: int, uneven: bool, power: int, largest: float) -> float:
    heads, levels = _levels(p, m)
    reached = np.append(1.0, _others(p, m, heads))
    beyond = 0.0 if heads[-1] == m else 2 * (p - 1) * math.exp(-(levels[-1] ** 2) / 2)
    sizes = np.linspace(0.0, _last_size(p), CELLS + 1)
    sizes = np.append(sizes[sizes < largest], largest)
    added = _squared_steps if power == 2 else _summed_steps
    risk = 0.0
    for extra in (0, 1) if uneven else (0,):
        law = Tails(heads + extra, m + extra, math.sqrt(m))
        risk = max(risk, added(sizes, levels, reached, beyond, law))
    far = 0.0
    if largest == _last_size(p):  # sizes above it, up to infinity
        far = (largest if power == 2 else 0.5) * largest * (2 * p - 1) * math.exp(-(largest**2) / 8)
    return (1 + risk + far) * (1 + ROUNDING)


class Tails(NamedTuple):
    """The law of X: at a level (the first is 0) at least k of so many signs are positive."""

    k: Array
    signs: int
    root: float
    """sqrt m: X is this times the mean of the signs."""

    def above(self, sizes: Array) -> Array:
        """P(X >= x) for each size and level; 1 at the first."""
        tilted = (1 + sizes[:, None] / self.root) / 2
        chances = special.betainc(self.k, self.signs - self.k + 1, tilted)
        return np.pad(chances, ((0, 0), (1, 0)), constant_values=1.0)

    def below(self) -> Array:
        """The largest X below each level but the first."""
        return np.maximum((2 * (self.k - 1) / self.signs - 1) * self.root, 0.0)


def _levels(p: int, m: int) -> tuple[Array, Array]:
    """Numbers of positive signs, and 0 with the levels that they are."""
    top = math.sqrt(2 * (math.log(2 * p) + MARGIN))
    wanted = (m + np.linspace(0.0, top, LEVELS) * math.sqrt(m)) / 2
    heads = np.unique(np.minimum(np.ceil(wanted), m))
    return heads, np.append(0.0, (2 * heads - m) / math.sqrt(m))


def _others(p: int, m: int, heads: Array) -> Array:
    """H at the levels: the chance that one of p - 1 fair means is as large."""
    one = np.minimum(2 * special.betainc(heads, m - heads + 1, 0.5), 1 - 1e-16)
    return np.asarray(-np.expm1((p - 1) * np.log1p(-one)))


def _squared_steps(sizes: Array, levels: Array, reached: Array, beyond: float, law: Tails) -> float:
    """The largest E[Q(|X|) + 2 h X^+ H(X)] over the cells of h."""
    rest = _tail_sums(reached[:-1] * np.diff(levels**2), 2 * beyond)
    up = law.above(sizes)
    either = up[:-1].copy()
    few = sizes[:-1] < SEEN  # for others P(X <= -x) is left out, which makes more of the loss
    either[few] = np.minimum(either[few] + law.above(-sizes[:-1][few]), 1.0)
    lost = rest[0] + either[:, 1:] @ np.diff(rest)
    largest = _products(law.below(), levels[-1], reached, beyond)
    steps = np.diff(largest, prepend=0.0)
    signal = up[1:] @ np.maximum(steps, 0) + up[:-1] @ np.minimum(steps, 0)
    return float(np.max(lost + 2 * sizes[1:] * signal))


def _summed_steps(sizes: Array, levels: Array, reached: Array, beyond: float, law: Tails) -> float:
    """The largest E[Q_1(max(X, h)) + min(X^+, h) H(X^+)] over the cells of h."""
    up = law.above(sizes)
    rest = _tail_sums(reached[:-1] * np.diff(levels), beyond / levels[-1])
    first = np.searchsorted(levels, sizes[:-1], side="right") - 1
    place = np.maximum(np.arange(len(levels)), first[:, None])
    above = rest[first] + np.sum(up[:-1, 1:] * np.diff(rest[place], axis=1), axis=1)
    largest = np.minimum(
        _products(law.below(), levels[-1], reached, beyond), sizes[1:, None] * reached
    )
    steps = np.diff(largest, axis=1, prepend=0.0)
    signal = np.sum(up[1:] * np.maximum(steps, 0) + up[:-1] * np.minimum(steps, 0), axis=1)
    return float(np.max(above + signal))


def _tail_sums(pieces: Array, beyond: float) -> Array:
    """An integral from every level on, from its pieces between levels and from the last level."""
    return np.append(np.cumsum(pieces[::-1])[::-1], 0.0) + beyond


def _products(ends: Array, last: float, reached: Array, beyond: float) -> Array:
    """The largest x H(x) between each level and the next; x e^{-x^2/2} falls from 1 on."""
    return np.append(ends * reached[:-1], last * max(reached[-1], beyond))
