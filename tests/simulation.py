"""What simulated algorithms are made of, and measured risks against bounds."""

from __future__ import annotations

import math

import numpy as np

Array = np.ndarray
ERRORS = 5.0
"""Standard errors between a mean and a bound before it counts as on one side."""


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """The mean and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values)))


def below(values: list[float], bound: float) -> bool:
    """Whether the mean is below the bound, surely."""
    mean, error = mean_and_error(values)
    return mean + ERRORS * error <= bound


def above(values: list[float], bound: float) -> bool:
    """Whether the mean is above the bound, surely."""
    mean, error = mean_and_error(values)
    return mean - ERRORS * error > bound


def ball(b: Array, radius: float) -> Array:
    """Each row projected."""
    norms = np.linalg.norm(b, axis=-1, keepdims=True)
    return b * np.minimum(1.0, radius / np.maximum(norms, 1e-300))


def keep(z: Array, places: Array) -> Array:
    """Each row with 0 outside its places."""
    out = np.zeros_like(z)
    np.put_along_axis(out, places, np.take_along_axis(z, places, -1), -1)
    return out


def hard(z: Array, s: int) -> Array:
    """Each row hard-thresholded."""
    return keep(z, np.argpartition(-np.abs(z), s - 1, axis=-1)[..., :s])
