r"""Losses of generalised linear models, as functions of the prediction p = <x, theta> and of y.

A record's gradient in theta is slope(p, y) x, so an algorithm that knows the slope knows the
gradient, and its l2 norm is |slope| |x|. Any object with the three members of `Loss` will do.

Clipping record by record is private only if a record's slope is a function of that record. Of the
losses here that is a fact; of any other it is made one: `chosen_loss` looks at it on a grid that no
data choose, which finds honest mistakes, and `RecordByRecord` never shows it two records at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from estimators.core.checks import check_positive

Array = NDArray[np.float64]


@runtime_checkable
class Loss(Protocol):
    """What an estimator asks of a loss. Each output i may depend on entry i of its inputs only,
    and not on earlier calls: the privacy of an estimator that clips record by record rests on
    that, and on nothing else."""

    @property
    def smoothness(self) -> float:
        """Bound on the magnitude of the second derivative of the loss in the prediction."""

    def slope(self, prediction: Array, y: Array) -> Array:
        """Derivative of the loss in the prediction, one number per record."""

    def value(self, prediction: Array, y: Array) -> Array:
        """The loss itself, one number per record."""


@dataclass(frozen=True)
class SquaredLoss:
    """(p - y)^2/2."""

    smoothness: float = 1.0

    def slope(self, prediction: Array, y: Array) -> Array:
        """p - y."""
        return np.asarray(prediction - y)

    def value(self, prediction: Array, y: Array) -> Array:
        """(p - y)^2/2."""
        return np.asarray((prediction - y) ** 2 / 2)


@dataclass(frozen=True)
class LogisticLoss:
    """log(1 + e^p) - y p for y in {0, 1}: minus the log-likelihood when p is the log-odds of 1."""

    smoothness: float = 0.25

    def slope(self, prediction: Array, y: Array) -> Array:
        """1/(1 + e^{-p}) - y."""
        return np.asarray(special.expit(prediction) - y)

    def value(self, prediction: Array, y: Array) -> Array:
        """log(1 + e^p) - y p, without overflow."""
        return np.asarray(np.logaddexp(0.0, prediction) - y * prediction)


NAMED: dict[str, Loss] = {"squared": SquaredLoss(), "logistic": LogisticLoss()}
"""The losses that can be given by name."""
PUBLIC_PREDICTIONS = np.linspace(-4, 4, 41)
PUBLIC_RESPONSES = np.arange(41.0) % 2
"""Records at which a loss is looked at before it sees any data."""


def chosen_loss(loss: Any) -> Loss:
    """The loss that a parameter `loss` names or is, checked without a look at the data."""
    if isinstance(loss, str):
        if loss not in NAMED:
            names = ", ".join(map(repr, NAMED))
            raise ValueError(f"loss must be {names} or an object like Loss, got {loss!r}")
        return NAMED[loss]
    if isinstance(loss, type) or not isinstance(loss, Loss):
        raise TypeError(f"loss must have slope, value and smoothness, got {loss!r}")
    check_positive(**{"loss.smoothness": loss.smoothness})
    if not _built_in(loss):
        _check_records(loss)
    return loss


def accepted_responses(loss: Loss, y: Array) -> Array:
    """The responses as the loss takes them: those of the logistic loss are clipped to [0, 1].

    An error for one y outside would tell that there is such a record.
    """
    return np.clip(y, 0.0, 1.0) if isinstance(loss, LogisticLoss) else y


def record_by_record(loss: Loss) -> Loss:
    """The loss itself where its slopes are known not to mix records, else `RecordByRecord`."""
    return loss if _built_in(loss) else RecordByRecord(loss)


@dataclass(frozen=True)
class RecordByRecord:
    """A loss that is asked about one record at a time.

    It cannot mix records, whatever it does with an array, unless it remembers earlier calls: that
    it does not is what `privacy_.assumes` says. Where it fails, on a record alone, it has
    no value: an error would be decided by that record.
    """

    loss: Loss

    @property
    def smoothness(self) -> float:
        """That of the loss."""
        return self.loss.smoothness

    def slope(self, prediction: Array, y: Array) -> Array:
        """The slope of each record, NaN where the loss fails."""
        return self._each(self.loss.slope, prediction, y)

    def value(self, prediction: Array, y: Array) -> Array:
        """The loss of each record, NaN where it fails."""
        return self._each(self.loss.value, prediction, y)

    def _each(
        self, function: Callable[[Array, Array], Array], prediction: Array, y: Array
    ) -> Array:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            numbers = [
                _number(function, prediction[i : i + 1], y[i : i + 1]) for i in range(len(y))
            ]
        return np.array(numbers, dtype=float)


def slopes(loss: Loss, prediction: Array, y: Array) -> Array:
    """loss.slope, checked to give one number per record; one that is not a number counts as 0.

    A record's slope may overflow (huge rows meet huge coefficients) without any fault of the
    others, so it must not stop the fit: the outcome would then depend on that record alone.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        slope = np.asarray(loss.slope(prediction, y), dtype=float)
    if slope.shape != y.shape:
        raise ValueError(f"loss.slope must give one number per record, got shape {slope.shape}")
    return np.where(np.isnan(slope), 0.0, slope)


def _built_in(loss: Loss) -> bool:
    """By the exact type: a subclass may do anything."""
    return type(loss) in (SquaredLoss, LogisticLoss)


def _number(function: Callable[[Array, Array], Array], prediction: Array, y: Array) -> float:
    try:
        return float(np.asarray(function(prediction, y), dtype=float).reshape(()))
    except Exception:  # of any kind: a loss is the user's own code
        return float("nan")


def _check_records(loss: Loss) -> None:
    """Raise unless a part of the public records, in reverse, has the slopes it has in the whole."""
    part = slice(30, 13, -1)
    with np.errstate(all="ignore"):
        whole = slopes(loss, PUBLIC_PREDICTIONS, PUBLIC_RESPONSES)
        alone = slopes(loss, PUBLIC_PREDICTIONS[part], PUBLIC_RESPONSES[part])
    gap = np.abs(alone - whole[part])
    if gap.max() > 1e-9 * np.abs(whole).max():
        place = PUBLIC_PREDICTIONS[part][np.argmax(gap)]
        raise ValueError(
            f"loss.slope must work record by record: at prediction {place:g} its value depends on"
            " the other records"
        )
