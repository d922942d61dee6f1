"""What was measured of a method, and intervals of ratios and exponents.

Ratios of means have intervals by the delta method, on paired trials where the curves share their
draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attacks.intervals import student_half_width, student_quantile

Array = NDArray[np.float64]
ALPHA = 0.01
"""The error probability of a verdict, and of each interval in a plot."""


@dataclass(frozen=True)
class Curve:
    """What was measured of a method: the losses of every trial at every place."""

    name: str
    variant: str
    x: tuple[float, ...]
    losses: tuple[Array, ...]
    draws: str = ""
    """Curves with the same shared their draws, trial by trial."""
    epsilon_asked: tuple[float | None, ...] = ()
    epsilon_spent: tuple[float | None, ...] = ()
    """The largest of all trials, at the delta asked for."""
    delta: tuple[float | None, ...] = ()
    options: tuple[Mapping[str, Any], ...] = ()
    edges: tuple[tuple[str, ...], ...] = ()
    """The options that lie on the edge of their grid."""
    notes: tuple[Mapping[str, Array], ...] = ()

    @property
    def means(self) -> Array:
        """The mean loss at each place."""
        return np.array([values.mean() for values in self.losses])

    def half_widths(self, alpha: float = ALPHA) -> Array:
        """Half of the Student interval at each place."""
        return np.array([student_half_width(values, alpha) for values in self.losses])

    def scaled(self, factors: Sequence[float] | Array) -> Curve:
        """The same with its losses multiplied, place by place."""
        losses = tuple(k * values for k, values in zip(factors, self.losses, strict=True))
        return replace(self, losses=losses)


Curves = Mapping[str, Curve]


class Range(NamedTuple):
    """An estimate between its ends."""

    low: float
    value: float
    high: float


def log_ratio(first: Curve, second: Curve, place: int, alpha: float) -> Range:
    """The logarithm of the ratio of two means, by the delta method."""
    a, b = first.losses[place], second.losses[place]
    value = math.log(a.mean() / b.mean())
    n = min(len(a), len(b))
    if first.draws == second.draws and len(a) == len(b):
        half = student_half_width(a / a.mean() - b / b.mean(), alpha)
    else:
        error = math.hypot(*(np.std(v, ddof=1) / v.mean() / math.sqrt(len(v)) for v in (a, b)))
        half = student_quantile(n, alpha) * error
    return Range(value - half, value, value + half)


def exponent(curve: Curve, places: Sequence[int], alpha: float) -> Range:
    """The slope of log mean loss against log x, by least squares; trials at different places are
    independent."""
    x = np.log([curve.x[place] for place in places])
    weights = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    losses = [curve.losses[place] for place in places]
    value = float(weights @ np.log([v.mean() for v in losses]))
    errors = [np.std(v, ddof=1) / v.mean() / math.sqrt(len(v)) for v in losses]
    half = student_quantile(min(map(len, losses)), alpha) * float(np.linalg.norm(weights * errors))
    return Range(value - half, value, value + half)
