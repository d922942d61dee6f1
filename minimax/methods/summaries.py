"""What estimators read of records, drawn directly where its law is known.

A trial of n records costs n d numbers; the sums or the counts through which an estimator reads them
cost d, or 2^d. Their laws are those that the records' own have, exactly but for `FORGONE`.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minimax.methods.normals import standard_normals
from minimax.methods.priors import (
    DilutedInstance,
    GaussianInstance,
    LinearInstance,
    LogisticInstance,
    SignInstance,
    TwoLabelInstance,
)

Array = NDArray[np.float64]
FORGONE = 1e-20
"""The chance with which a normal number may be clipped that is taken not to be."""
IN_CACHE = 1 << 15
"""Normal numbers that are added up together."""


Summed = SignInstance | DilutedInstance | GaussianInstance


class Counts(NamedTuple):
    """Distinct rows with a label each, and how many records are so."""

    rows: Array
    labels: Array
    counts: Array


def column_sums(instance: Summed, n: int, level: float, rng: np.random.Generator) -> Array:
    """The sum of n records whose entries are clipped to [-level, level].

    Signs are counted by column, the points of a diluted law by how often each is drawn, and normal
    numbers that are not clipped add up to one: those of a column whose mean is so far inside that a
    number is clipped with chance `FORGONE` at most, as it is z sigma from its mean or more with
    chance at most e^{-z^2/2}. The numbers of other columns are drawn one by one.
    """
    mean, sigma = instance.target, getattr(instance, "sigma", 0.0)
    if isinstance(instance, SignInstance):
        ups = rng.binomial(n, (1 + mean / sigma) / 2)
        return np.asarray(min(sigma, level) * (2.0 * ups - n))
    if isinstance(instance, DilutedInstance):
        points = np.clip(instance.points, -level, level)
        others = rng.binomial(n, instance.alpha)
        return np.asarray(rng.multinomial(others, np.full(len(points), 1 / len(points))) @ points)
    total = n * mean + sigma * math.sqrt(n) * rng.standard_normal(len(mean))
    reach = sigma * math.sqrt(2 * math.log(n * len(mean) / FORGONE))
    near = np.flatnonzero(np.abs(mean) + reach > level)
    each = max(1, IN_CACHE // n)
    for first in range(0, len(near), each):
        columns = near[first : first + each]
        numbers = standard_normals((len(columns), n), rng)
        numbers *= sigma
        numbers += mean[columns, None]
        total[columns] = np.clip(numbers, -level, level, out=numbers).sum(axis=1)
    return np.asarray(total)


@lru_cache(maxsize=16)
def sign_rows(d: int, scale: float) -> Array:
    """All rows of signs, times `scale`."""
    return scale * np.array(list(itertools.product((-1.0, 1.0), repeat=d)))


def sign_bytes(n: int, d: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """n rows of d random signs, eight columns to a number from 0 to 255: as `SIGNS` has them, a row
    of the result for every eight."""
    blocks = -(-d // 8)
    drawn = np.frombuffer(rng.bytes(blocks * n), dtype=np.uint8)
    return drawn.reshape(blocks, n).astype(np.intp)


class SortedRecords(NamedTuple):
    """Distinct rows, how many records have each, and the labels of all in this order."""

    rows: Array
    counts: NDArray[np.int64]
    labels: Array


def sorted_records(instance: LinearInstance, n: int, rng: np.random.Generator) -> SortedRecords:
    """n records of a linear model in the order of their rows.

    Rows are uniform and labels independent given them: counts are multinomial, and each record has
    noise of its own. What does not depend on the order of records has the law that it has for them.
    """
    rows = sign_rows(len(instance.target), instance.scale)
    counts = rng.multinomial(n, np.full(len(rows), 1 / len(rows)))
    labels = np.repeat(rows @ instance.target, counts)
    return SortedRecords(rows, counts, labels + instance.sigma * standard_normals(n, rng))


def mean_labels(instance: LinearInstance, n: int, rng: np.random.Generator) -> Counts:
    """The rows that occur among n records of a linear model, each with its records' mean label.

    The mean of m labels of a row x is N(<x, target>, sigma^2/m), and independent of what squared
    loss has besides it, sum_i (y_i - mean)^2, in which there is no coefficient.
    """
    rows = sign_rows(len(instance.target), instance.scale)
    occurs = rng.multinomial(n, np.full(len(rows), 1 / len(rows)))
    rows, counts = rows[occurs > 0], occurs[occurs > 0].astype(float)
    noise = instance.sigma / np.sqrt(counts) * rng.standard_normal(len(rows))
    return Counts(rows, rows @ instance.target + noise, counts)


def record_counts(
    instance: LogisticInstance | TwoLabelInstance, n: int, rng: np.random.Generator
) -> Counts:
    """How often each row of signs occurs with each of two labels among n records."""
    rows = sign_rows(len(instance.target), instance.scale)
    occurs = rng.multinomial(n, np.full(len(rows), 1 / len(rows)))
    high = rng.binomial(occurs, instance.chance(rows))
    labels = np.repeat(instance.labels, len(rows))
    counts = np.concatenate([occurs - high, high]).astype(float)
    return Counts(np.concatenate([rows, rows]), labels, counts)
