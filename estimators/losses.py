r"""Losses of generalised linear models, as functions of the prediction p = <x, theta> and of y.

A record's gradient in theta is slope(p, y) x, so an algorithm that knows the slope knows the
gradient, and its l2 norm is |slope| |x|. Any object with the three members of `Loss` will do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from estimators.mechanisms import check_positive

Array = NDArray[np.float64]


@runtime_checkable
class Loss(Protocol):
    """What an estimator asks of a loss. Each output i may depend on entry i of its inputs only:
    the privacy of an estimator that clips record by record rests on that, and on nothing else."""

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


def chosen_loss(loss: Any, y: Array) -> Loss:
    """The loss that a parameter `loss` names or is, checked, also against the responses y."""
    if isinstance(loss, str):
        if loss not in NAMED:
            names = ", ".join(map(repr, NAMED))
            raise ValueError(f"loss must be {names} or an object like Loss, got {loss!r}")
        loss = NAMED[loss]
    if isinstance(loss, type) or not isinstance(loss, Loss):
        raise TypeError(f"loss must have slope, value and smoothness, got {loss!r}")
    check_positive(**{"loss.smoothness": loss.smoothness})
    if isinstance(loss, LogisticLoss) and not (y.min() >= 0 and y.max() <= 1):
        raise ValueError("y must lie between 0 and 1 for the logistic loss")
    return loss


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
