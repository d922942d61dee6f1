"""X'X and X'y of clipped records, released together or apart: what AdaSSP solves with.

The bounds to which records are clipped and the dimension are public, and so are sensitivity, noise
and the weight of the parts, which are computed from them alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from estimators.core.accounting import LedgerEntry
from estimators.core.base import Array
from estimators.core.design import Design
from estimators.core.mechanisms import gaussian
from estimators.core.symmetric import flat, unflat


class Statistics(NamedTuple):
    """The second moments of clipped records: sums, not averages."""

    gram: Array
    correlation: Array


class StatisticsNoise(NamedTuple):
    """Sensitivity under replacement, or scale of the noise, of each of AdaSSP's releases."""

    eigenvalue: float
    gram: float
    correlation: float


def clipped_statistics(X: Any, y: Array, row_bound: float, R: float) -> Statistics:
    """X'X and X'y with rows shortened to l2 norm `row_bound` and y clipped to [-R, R]."""
    design = Design(X)
    weights = design.shortening(row_bound)
    return Statistics(*design.moments(weights, np.clip(y, -R, R)))


def least_eigenvalue(gram: Array) -> Array:
    """The smallest eigenvalue of a symmetric matrix, as an array without axes."""
    return np.array(np.linalg.eigvalsh(gram)[0], dtype=float)


def statistics_sensitivity(row_bound: float, R: float) -> StatisticsNoise:
    r"""How far replacing one record (x, y) by (z, w) can move the smallest eigenvalue of X'X, X'X
    in Frobenius norm, and X'y, where |x|, |z| <= B and |y|, |w| <= R. All three are attained.

    xx' and zz' are positive semi-definite with norm at most B^2, so |xx' - zz'|_op <= B^2, and by
    Weyl no eigenvalue moves further: B^2. |xx' - zz'|_F^2 = |x|^4 + |z|^4 - 2 <x,z>^2 <= 2 B^4.
    |x y - z w| <= 2 B R. (If a record is only added or removed: B^2, B^2 and B R.)
    """
    square = row_bound**2
    return StatisticsNoise(square, math.sqrt(2) * square, 2 * row_bound * R)


def joint_sensitivity(weight: float, row_bound: float, R: float) -> float:
    r"""How far replacing one record can move (X'X, c X'y), the first in Frobenius norm.

    **Statement.** Over rows of l2 norm at most B and responses in [-R, R], with c = `weight` and
    k = c R/B, the l2 sensitivity is sqrt 2 B^2 (1 + k^2/2) for k^2 <= 2 and 2 B^2 k beyond; exact
    for d >= 2.

    **Proof.** For (x, y) and (z, w) the square of the move is |x|^4 + |z|^4 - 2 <x,z>^2 +
    c^2 (y^2 |x|^2 + w^2 |z|^2 - 2 y w <x,z>). It is convex in y and in w, so these are +-R, of
    opposite sign if <x,z> > 0 and of the same if not: with p = |<x,z>|,
    |x|^4 + |z|^4 - 2 p^2 + (c R)^2 (|x|^2 + |z|^2 + 2 p). At a given p this grows with both
    lengths, and longer vectors still allow p; so both are B, and with u = p/B^2 in [0, 1] it is
    2 B^4 [1 - u^2 + k^2 (1 + u)], largest at u = min(1, k^2/2).

    **Constants.** c = 0 is the matrix alone, sqrt 2 B^2; for large c it is that of the vector,
    2 B R c. Bounding the two apart would add their squares: at k = 1, 6 B^4 instead of 4.5 B^4.
    """
    square = (weight * R / row_bound) ** 2
    if square <= 2:
        return math.sqrt(2) * row_bound**2 * (1 + square / 2)
    return 2 * row_bound**2 * math.sqrt(square)


def joint_weight(d: int, row_bound: float, R: float) -> float:
    r"""c for the least error of least squares from a joint release, over |beta| <= R/B.

    **Statement.** With noise tau on (X'X, c X'y) the error is in proportion to
    tau^2 [d/c^2 + |beta|^2 (d + 1)/2] (`AdaptiveSufficientStatistics`, Risk), and tau to
    1 + k^2/2, k = c R/B. At |beta| = R/B, where no row within the bound has a prediction beyond R,
    that is (1 + q/2)^2 [d/q + (d + 1)/2] up to a factor, q = k^2, least at the positive root of
    (d + 1) q^2/2 + d q/2 = d: from .78 for d = 1 up to 1, where tau is 3/2 of that for X'X alone.

    **Proof.** The logarithmic derivative vanishes where (d/q^2)/(d/q + (d + 1)/2) = 1/(1 + q/2).
    """
    root = 4 * d / (d + math.sqrt(d * d + 8 * (d + 1) * d))
    return math.sqrt(root) * row_bound / R


def operator_bound(d: int, failure: float) -> float:
    r"""What the largest eigenvalue of Z exceeds with a chance of at most `failure`: Z symmetric and
    standard normal in Frobenius norm (variance 1 on the diagonal, 1/2 beside it).

    **Statement.** sqrt(2 d) + sqrt(2 log(1/failure)).

    **Proof.** u'Zu - v'Zv has variance |uu' - vv'|_F^2 = 2 (1 - <u,v>^2) <= 2 |u - v|^2 for unit
    vectors, no more than that of sqrt 2 <g, u - v>, g standard normal. By Sudakov and Fernique the
    largest eigenvalue has mean at most sqrt 2 E|g| <= sqrt(2 d); it moves by at most |Z - Z'|_F, so
    by Gaussian concentration it exceeds its mean by t with a chance of at most e^(-t^2/2).
    """
    return math.sqrt(2 * d) + math.sqrt(-2 * math.log(failure))


class NoisyStatistics(NamedTuple):
    """What AdaSSP solves with: released, or computed from what is."""

    gram: Array
    correlation: Array
    least: float
    """A lower bound on the smallest eigenvalue of X'X, with high probability."""
    wanted: float
    """What the smallest eigenvalue should be: a bound on that of the noise."""
    scales: tuple[float, ...]
    ledger: list[LedgerEntry]


def joint_release(
    data: Statistics,
    row_bound: float,
    R: float,
    mu: float,
    failure: float,
    rng: np.random.Generator,
) -> NoisyStatistics:
    """X'X and X'y by one Gaussian release that is mu-GDP; the eigenvalue is read off the first."""
    d = len(data.correlation)
    weight = joint_weight(d, row_bound, R)
    moved = joint_sensitivity(weight, row_bound, R)
    stacked = np.concatenate([flat(data.gram), weight * data.correlation])
    about = "X'X and weighted X'y, together"
    noisy, entry = gaussian(stacked, l2_sensitivity=moved, scale=moved / mu, rng=rng, about=about)
    gram, correlation = unflat(noisy[:-d], d), noisy[-d:] / weight
    margin = operator_bound(d, failure) * entry.scale
    least = max(0.0, float(least_eigenvalue(gram)) - margin)
    scales = entry.scale, entry.scale / weight
    return NoisyStatistics(gram, correlation, least, margin, scales, [entry])


def separate_releases(
    data: Statistics,
    moves: StatisticsNoise,
    scales: StatisticsNoise,
    margin: float,
    failure: float,
    rng: np.random.Generator,
) -> NoisyStatistics:
    """The smallest eigenvalue, X'X and X'y, each with noise of its own, as Wang (2018) does."""
    d = len(data.correlation)
    least, gram, correlation = (
        gaussian(value, l2_sensitivity=moved, scale=scale, rng=rng, about=about)
        for value, moved, scale, about in zip(
            (least_eigenvalue(data.gram), flat(data.gram), data.correlation),
            moves,
            scales,
            ("smallest eigenvalue of X'X", "X'X", "X'y"),
            strict=True,
        )
    )
    return NoisyStatistics(
        unflat(gram.value, d),
        correlation.value,
        max(0.0, float(least.value) - margin * scales.eigenvalue),
        scales.gram * math.sqrt(d * math.log(2 * d**2 / failure)),
        tuple(scales),
        [least.entry, gram.entry, correlation.entry],
    )
