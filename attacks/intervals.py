"""Intervals for the mean of independent trials: Student's, that of numbers in [0, 1], and the exact
one of a proportion."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats


@lru_cache(maxsize=4096)
def student_quantile(n: float, alpha: float) -> float:
    """How many standard errors the mean of n normal values is off with probability alpha."""
    return float(stats.t.isf(alpha / 2, n - 1))


def student_half_width(values: NDArray[np.float64], alpha: float) -> float:
    """Half the length of the two-sided interval of level 1 - alpha around the mean."""
    n = len(values)
    return student_quantile(n, alpha) * float(np.std(values, ddof=1)) / math.sqrt(n)


def bounded_half_width(values: NDArray[np.float64], alpha: float) -> float:
    """Half the length of the two-sided interval of level 1 - alpha around the mean of independent
    numbers in [0, 1] of one law, whatever it is.

    Maurer and Pontil (2009), "Empirical Bernstein bounds and sample variance penalization",
    Theorem 4, on either side at alpha/2.
    """
    n, weight = len(values), math.log(4 / alpha)
    variance = float(np.var(values, ddof=1))
    return math.sqrt(2 * variance * weight / n) + 7 * weight / (3 * (n - 1))


def clopper_pearson(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """The two-sided exact interval of level 1 - alpha for a chance."""
    failures = trials - successes
    low = float(stats.beta.ppf(alpha / 2, successes, failures + 1)) if successes else 0.0
    high = float(stats.beta.isf(alpha / 2, successes + 1, failures)) if failures else 1.0
    return low, high
