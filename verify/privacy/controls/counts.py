"""Histograms, prefix sums, geometric noise and repeated answers, right and wrong."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from minimax.core.privacy import Approximate, Pure
from verify.privacy.cases import Catalogue
from verify.privacy.neighbours import histograms, query_answers

Array = NDArray[np.float64]
COUNTS = Catalogue()
ADDED = {"neighbours": histograms(5, added=True)}
MOVED = {"neighbours": histograms(5)}
FEW = {"neighbours": query_answers(1)}


@COUNTS.private(Pure(0.5), **ADDED)
def noisy_histogram(counts: Array, rng: np.random.Generator) -> Array:
    """Laplace(1/epsilon) on each count, one record more or less."""
    return np.asarray(counts + rng.laplace(scale=2.0, size=len(counts)))


@COUNTS.broken(Pure(0.5), **ADDED)
def noisy_histogram_with_scale_epsilon(counts: Array, rng: np.random.Generator) -> Array:
    """Laplace(epsilon) for Laplace(1/epsilon)."""
    return np.asarray(counts + rng.laplace(scale=0.5, size=len(counts)))


@COUNTS.broken(Pure(0.5), **MOVED)
def noisy_histogram_of_moved_records(counts: Array, rng: np.random.Generator) -> Array:
    """Laplace(1/epsilon), and to replace a record moves two counts."""
    return noisy_histogram(counts, rng)


@COUNTS.broken(Pure(0.5), **ADDED)
def histogram_without_empty_bins(counts: Array, rng: np.random.Generator) -> dict[int, float]:
    """A bin with a single record appears, and without it does not."""
    return {int(j): float(counts[j] + rng.laplace(scale=2.0)) for j in np.flatnonzero(counts > 0)}


@COUNTS.private(Approximate(1.0, 1e-3), **ADDED)
def stable_histogram(counts: Array, rng: np.random.Generator) -> dict[int, float]:
    """Bins that have a record, if their noisy count is above 1 + log(1/(2 delta))/epsilon."""
    noisy = counts + rng.laplace(size=len(counts))
    above = (counts > 0) & (noisy > 1 + math.log(1 / (2 * 1e-3)))
    return {int(j): float(noisy[j]) for j in np.flatnonzero(above)}


@COUNTS.broken(Approximate(1.0, 1e-3), **ADDED)
def stable_histogram_with_a_low_threshold(
    counts: Array, rng: np.random.Generator
) -> dict[int, float]:
    """Above 2: a bin with one record is told with chance e^-1/2."""
    noisy = counts + rng.laplace(size=len(counts))
    return {int(j): float(noisy[j]) for j in np.flatnonzero((counts > 0) & (noisy > 2))}


@COUNTS.private(Pure(1.0), **ADDED)
def prefix_sums(counts: Array, rng: np.random.Generator) -> Array:
    """Sums of noisy counts: post-processing."""
    return np.asarray(np.cumsum(counts + rng.laplace(size=len(counts))))


@COUNTS.broken(Pure(1.0), **ADDED)
def prefix_sums_with_noise_for_one(counts: Array, rng: np.random.Generator) -> Array:
    """A record moves all sums behind it, and each has the noise of one."""
    return np.asarray(np.cumsum(counts) + rng.laplace(size=len(counts)))


def geometric(scale: float, rng: np.random.Generator) -> int:
    """Two-sided geometric noise: chances in proportion to e^(-|k|/scale)."""
    chance = -math.expm1(-1 / scale)
    return int(rng.geometric(chance) - rng.geometric(chance))


@COUNTS.private(Pure(1.0), **FEW)
def truncated_geometric(answers: Array, rng: np.random.Generator) -> int:
    """Geometric noise on a count, truncated to 0, ..., 5."""
    return int(np.clip(answers[0] + geometric(1.0, rng), 0, 5))


@COUNTS.broken(Pure(1.0), **FEW)
def geometric_noise_that_is_never_0(answers: Array, rng: np.random.Generator) -> int:
    """A sign and a size of at least 1: the count itself is never told, its neighbour's is."""
    return int(answers[0] + rng.choice([-1, 1]) * rng.geometric(-math.expm1(-1.0)))


@COUNTS.broken(Pure(0.5), neighbours=query_answers(1, base=0.5, step=0.5))
def geometric_noise_on_a_finer_grid(answers: Array, rng: np.random.Generator) -> float:
    """Whole-numbered noise on halves: the fractional part tells."""
    return float(answers[0] + geometric(2.0, rng))


@COUNTS.private(Pure(1.0), **FEW)
def one_answer_twenty_times(answers: Array, rng: np.random.Generator) -> Array:
    """A twentieth of the budget each."""
    return np.asarray(answers[0] + rng.laplace(scale=20.0, size=20))


@COUNTS.broken(Pure(1.0), **FEW)
def one_answer_twenty_times_at_the_price_of_five(answers: Array, rng: np.random.Generator) -> Array:
    """A fifth of the budget each, twenty times."""
    return np.asarray(answers[0] + rng.laplace(scale=5.0, size=20))


@COUNTS.broken(Pure(1.0), data=np.arange(5.0), bounds=(0, 10))
def median_without_noise(x: Array, rng: np.random.Generator) -> float:
    """A record of the data, as it is."""
    return float(np.median(x))
