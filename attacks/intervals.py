"""Intervals for the mean of independent trials: Student's, and the exact one of a proportion."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats


def student_quantile(n: int, alpha: float) -> float:
    """How many standard errors the mean of n normal values is off with probability alpha."""
    return float(stats.t.isf(alpha / 2, n - 1))


def student_half_width(values: NDArray[np.float64], alpha: float) -> float:
    """Half the length of the two-sided interval of level 1 - alpha around the mean."""
    n = len(values)
    return student_quantile(n, alpha) * float(np.std(values, ddof=1)) / math.sqrt(n)


def clopper_pearson(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """The two-sided exact interval of level 1 - alpha for a chance."""
    failures = trials - successes
    low = float(stats.beta.ppf(alpha / 2, successes, failures + 1)) if successes else 0.0
    high = float(stats.beta.isf(alpha / 2, successes + 1, failures)) if failures else 1.0
    return low, high
