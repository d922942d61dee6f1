"""A mean over independent trials with its interval, and the checks of what the trials need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attacks.intervals import bounded_half_width, student_half_width
from minimax.core.privacy import Privacy

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean over independent trials with its confidence interval."""

    value: float
    low: float
    high: float

    @classmethod
    def over(cls, values: Sequence[float] | Array, confidence: float) -> Estimate:
        """Student's interval; the whole line if there is only one trial."""
        x = np.asarray(values, dtype=float)
        if len(x) < 2:
            return cls(float(x[0]), -math.inf, math.inf)
        half = student_half_width(x, 1 - confidence)
        centre = float(np.mean(x))
        return cls(centre, centre - half, centre + half)

    @classmethod
    def of_rates(cls, values: Sequence[float] | Array, confidence: float) -> Estimate:
        """The interval of numbers in [0, 1], valid for every law of theirs."""
        x = np.asarray(values, dtype=float)
        centre = float(np.mean(x))
        half = bounded_half_width(x, 1 - confidence) if len(x) > 1 else 1.0
        return cls(centre, max(centre - half, 0.0), min(centre + half, 1.0))

    def map(self, increasing: Callable[[float], float]) -> Estimate:
        """The interval of an increasing function of the mean."""
        return Estimate(increasing(self.value), increasing(self.low), increasing(self.high))

    def contains(self, x: float) -> bool:
        """Whether x lies in the interval."""
        return self.low <= x <= self.high

    def to_dict(self) -> dict[str, float | None]:
        """For JSON; an infinite end is None."""
        ends = {"value": self.value, "low": self.low, "high": self.high}
        return {key: (x if math.isfinite(x) else None) for key, x in ends.items()}

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def plain(result: DataclassInstance) -> dict[str, object]:
    """The fields of a dataclass for JSON: estimates as their numbers, privacy as text."""
    shown: dict[str, object] = {}
    for field in fields(result):
        value = getattr(result, field.name)
        shown[field.name] = value.to_dict() if isinstance(value, Estimate) else value
        if isinstance(value, Privacy):
            shown[field.name] = str(value)
    return shown


def check_count(name: str, value: object, least: int = 1) -> None:
    """Raise unless `value` is an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")


def check_confidence(confidence: float) -> None:
    """Raise unless `confidence` lies strictly between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie in (0, 1), got {confidence!r}")


def root(x: float) -> float:
    """sqrt(x), of a mean whose interval may reach below zero."""
    return math.sqrt(max(x, 0.0))
