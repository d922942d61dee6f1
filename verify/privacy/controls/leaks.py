"""What escapes beside the noise: errors, warnings, shapes, attributes."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minimax.core.privacy import Approximate, Pure
from verify.privacy.cases import Catalogue
from verify.privacy.controls.means import NUMBERS, laplace_mean

Array = NDArray[np.float64]
LEAKS = Catalogue()
UNIT = {"data": NUMBERS}


@LEAKS.broken(Pure(1.0), **UNIT)
def an_error_that_depends_on_a_record(x: Array, rng: np.random.Generator) -> float:
    """It refuses records outside the range, and so tells that there is one."""
    if np.abs(x).max() > 1:
        raise ValueError("a record is out of range")
    return laplace_mean(x, rng)


@LEAKS.broken(Pure(1.0), **UNIT)
def a_warning_that_depends_on_a_record(x: Array, rng: np.random.Generator) -> float:
    """A warning is a release."""
    if np.abs(x).max() > 1:
        warnings.warn("some records were clipped", stacklevel=2)
    return laplace_mean(x, rng)


@LEAKS.broken(Pure(1.0), **UNIT)
def a_number_that_is_none(x: Array, rng: np.random.Generator) -> float:
    """Equal records have no spread, and dividing by it gives NaN."""
    with np.errstate(all="ignore"):
        return float(laplace_mean(x, rng) * np.float64(np.std(x)) / np.float64(np.std(x)))


@LEAKS.broken(Pure(1.0), **UNIT)
def a_shape_that_depends_on_a_record(x: Array, rng: np.random.Generator) -> list[float]:
    """As many numbers as there are records in range."""
    return (rng.laplace(size=int(np.sum(np.abs(x) <= 1)))).tolist()


@LEAKS.broken(Pure(1.0), **UNIT)
def a_count_beside_the_release(x: Array, rng: np.random.Generator) -> dict[str, float]:
    """How many records were clipped, without noise."""
    return {"mean": laplace_mean(x, rng), "clipped": int(np.sum(np.abs(x) > 1))}


@LEAKS.broken(Pure(1.0), **UNIT)
def the_text_of_an_error(x: Array, rng: np.random.Generator) -> float:
    """It fails now and then, on any data, and says on which."""
    if rng.random() < 0.05:
        raise RuntimeError(f"no convergence, largest entry {x.max():.1f}")
    return laplace_mean(x, rng)


@LEAKS.broken(Pure(1.0), **UNIT)
class EstimatorThatKeepsTheLargest:
    """An attribute that is set without noise."""

    def fit(self, X: Array, y: Any = None) -> EstimatorThatKeepsTheLargest:
        """Release the mean with noise, and keep the largest entry."""
        self.mean_ = laplace_mean(X, np.random.default_rng())
        self.largest_ = float(np.max(X))
        return self


@LEAKS.private(Pure(1.0), **UNIT)
class EstimatorThatKeepsNothing:
    """The mean with noise, and the number of records, which is public."""

    def fit(self, X: Array, y: Any = None) -> EstimatorThatKeepsNothing:
        """Release the mean with noise."""
        self.mean_, self.n_ = laplace_mean(X, np.random.default_rng()), len(X)
        return self


def proposed(x: Array, rng: np.random.Generator, threshold: float) -> float | None:
    """The sign of the sum of signs, if a noisy distance to a tie says that no neighbour changes it.

    Replacing a record moves the sum by 2 and half of it by 1; where the half is above 1, every
    neighbour's sum has the same sign.
    """
    total = float(np.sign(x).sum())
    return float(np.sign(total)) if abs(total) / 2 + rng.laplace() > threshold else None


@LEAKS.private(Approximate(1.0, 0.01), **UNIT)
def proposed_with_a_test(x: Array, rng: np.random.Generator) -> float | None:
    """The threshold 1 + log(1/(2 delta))/epsilon of propose-test-release."""
    return proposed(x, rng, 1 + math.log(1 / 0.02))


@LEAKS.broken(Approximate(1.0, 0.01), **UNIT)
def proposed_with_a_weak_test(x: Array, rng: np.random.Generator) -> float | None:
    """The threshold 1: a proposal that a neighbour would change passes half of the time."""
    return proposed(x, rng, 1.0)
