"""Counts of one coordinate's records by bin, and the fullest bin, found privately."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from estimators.core.accounting import LedgerEntry
from estimators.core.base import Array
from estimators.core.mechanisms import Release
from estimators.core.witness import shown
from minimax.core.privacy import Approximate, Pure

LAST_BIN = 2**50
"""Bins are numbered -LAST_BIN..LAST_BIN: up to here rounding cannot change the number of a bin."""
FEW_BINS = 8
"""On either side: the records below each end are counted sooner than each one's bin is found."""

Rng = np.random.Generator
Histogram = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The nonempty bins in increasing order, and how many records each holds."""


def bin_counts(column: Array, sigma: float, last: int) -> Histogram:
    """Records per bin of width sigma centred at k sigma, |k| <= last; the end bins are unbounded.

    A record's bin depends on that record alone, so replacing it moves one unit at most. (One on a
    border is in either bin: which one depends on `last`.)
    """
    width = np.float64(sigma)
    if last <= FEW_BINS:
        ends = [(k + 0.5) * width for k in range(-last, last)]
        below = [int(np.count_nonzero(column < end)) for end in ends]
        return _occupied(np.diff([0, *below, len(column)]), last)
    numbers = np.rint(np.clip(column, -last * width, last * width) / width)
    if last > len(column):
        bins, counts = np.unique(numbers.astype(np.int64), return_counts=True)
        return bins, counts
    return _occupied(np.bincount(numbers.astype(np.int64) + last), last)


def _occupied(counts: NDArray[np.int64], last: int) -> Histogram:
    occupied = np.flatnonzero(counts)
    return occupied - last, counts[occupied]


def fullest_bin(
    histogram: Histogram, last: int, search: Pure | Approximate, rng: Rng
) -> Release[int | None]:
    """The bin of largest noisy count, of all or above a threshold; a record moves two by 1."""
    if isinstance(search, Approximate):
        name, winner = "stability histogram", stable_argmax(histogram, search, rng)
    else:
        name, winner = "histogram", noisy_argmax(histogram, last, search.epsilon, rng)
    entry = LedgerEntry(name, 2.0, "l1", 2 / search.epsilon, (search,), 1, "one coordinate")
    return shown(dict(zip(*histogram, strict=True)), Release(winner, entry))


def stability_threshold(privacy: Approximate) -> float:
    """T with P(1 + Laplace(2/epsilon) > T) = min(delta, 1/2): see `KarwaVadhanMean`."""
    return 1 + 2 / privacy.epsilon * math.log(1 / min(2 * privacy.delta, 1.0))


def stable_argmax(histogram: Histogram, privacy: Approximate, rng: Rng) -> int | None:
    """The bin of largest noisy count, or None if that does not pass the threshold."""
    bins, counts = histogram
    noisy = counts + rng.laplace(scale=2 / privacy.epsilon, size=len(counts))
    winner = int(np.argmax(noisy))
    return int(bins[winner]) if noisy[winner] > stability_threshold(privacy) else None


def noisy_argmax(histogram: Histogram, last: int, epsilon: float, rng: Rng) -> int:
    """The bin of largest count + Laplace(2/epsilon) over all bins -last..last: epsilon-DP.

    The empty bins are not enumerated: the largest of m Laplace variables is drawn by inversion
    (it is at most t with probability F(t)^m), and each of them is equally likely to be the one.
    """
    bins, counts = histogram
    scale = 2 / epsilon
    noisy = counts + rng.laplace(scale=scale, size=len(counts))
    winner = int(np.argmax(noisy))
    empty = 2 * last + 1 - len(bins)
    if empty == 0:
        return int(bins[winner])
    log_level = -max(rng.standard_exponential(), 1e-300) / empty  # log F(largest)
    upper = log_level > -math.log(2)
    largest = -math.log(-2 * math.expm1(log_level)) if upper else math.log(2) + log_level
    if noisy[winner] > scale * largest:
        return int(bins[winner])
    rank = int(rng.integers(empty))
    before = bins + last - np.arange(len(bins))  # empty bins to the left of each nonempty one
    return rank + int(np.searchsorted(before, rank, side="right")) - last
