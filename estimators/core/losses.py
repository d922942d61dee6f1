r"""Losses of generalised linear models, as functions of the prediction p = <x, theta> and of y.

A record's gradient in theta is slope(p, y) x, so an algorithm that knows the slope knows the
gradient, and its l2 norm is |slope| |x|. Any object with the three members of `Loss` will do.

Clipping record by record is private only if a record's slope is a function of that record. Of the
losses here that is a fact; of any other it is made one: `chosen_loss` looks at it on a grid that no
data choose, which finds honest mistakes, and `RecordByRecord` never shows it two records at once.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

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


@runtime_checkable
class BoundedLoss(Loss, Protocol):
    """A loss whose slope is bounded where predictions are: gradients then need no clip."""

    def largest_slope(self, reach: float) -> float:
        """Bound on |slope| over all y and all predictions of size at most `reach`."""

    def flatness(self, reach: float) -> float:
        """About the second derivative, on average over records, where predictions are off by about
        `reach` or are of that size: a plan counts on it, and no guarantee does."""


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

    def largest_slope(self, reach: float) -> float:
        """1/(1 + e^{-reach})."""
        return float(special.expit(reach))

    def flatness(self, reach: float) -> float:
        """c (1 - c) at the chance c = 1/(1 + e^{-reach}), which both labels have."""
        return float(special.expit(reach) * special.expit(-reach))


@dataclass(frozen=True)
class ProbitLoss:
    """-y log Phi(p) - (1 - y) log Phi(-p): minus the log-likelihood when 1 has the chance Phi(p).

    With h(p) = phi(p)/Phi(p) the slope is (1 - y) h(-p) - y h(p), and h falls from about -p to 0;
    the second derivative for y = 1 is h(p) (h(p) + p), which is one minus the variance of a normal
    variable above -p, hence between 0 and 1.
    """

    smoothness: float = 1.0

    def slope(self, prediction: Array, y: Array) -> Array:
        """(1 - y) h(-p) - y h(p)."""
        return np.asarray((1 - y) * _hazard(-prediction) - y * _hazard(prediction))

    def value(self, prediction: Array, y: Array) -> Array:
        """By the logarithm of Phi, without underflow."""
        return np.asarray(
            -y * special.log_ndtr(prediction) - (1 - y) * special.log_ndtr(-prediction)
        )

    def largest_slope(self, reach: float) -> float:
        """h(-reach)."""
        return float(_hazard(np.float64(-reach)))

    def flatness(self, reach: float) -> float:
        """The information h(reach) h(-reach): the average over labels of that law."""
        return float(_hazard(np.float64(reach)) * _hazard(np.float64(-reach)))


@dataclass(frozen=True)
class SmoothHingeLoss:
    """The hinge (1 - q)^+ on q = p for y = 1, q = -p for y = 0, rounded off below q = 1.

    Its slope in q falls from 0 at q = 1 to -1 at q = 1 - width, width >= 1, and stays there.
    """

    width: float = 1.0

    def __post_init__(self) -> None:
        if not 1 <= self.width < np.inf:
            raise ValueError(f"width must be at least 1, got {self.width!r}")

    @property
    def smoothness(self) -> float:
        """1/width."""
        return 1 / self.width

    def slope(self, prediction: Array, y: Array) -> Array:
        """That of the hinge, towards the label."""
        return np.asarray((1 - y) * self._steepness(-prediction) - y * self._steepness(prediction))

    def value(self, prediction: Array, y: Array) -> Array:
        """The integral of the slope; 0 for q >= 1."""
        return np.asarray((1 - y) * self._height(-prediction) + y * self._height(prediction))

    def largest_slope(self, reach: float) -> float:
        """That of q = -reach."""
        return min((1 + reach) / self.width, 1.0)

    def flatness(self, reach: float) -> float:
        """1/width times the part of [-reach, reach] where the loss is not straight."""
        bent = min(1.0, reach) + min(self.width - 1, reach)
        return bent / (2 * reach * self.width)

    def _steepness(self, q: Array) -> Array:
        return np.clip((1 - q) / self.width, 0.0, 1.0)

    def _height(self, q: Array) -> Array:
        steep = self._steepness(q)
        return np.asarray(steep * (np.maximum(1 - q, 0.0) - self.width * steep / 2))


@dataclass(frozen=True)
class HuberLoss:
    """(p - y)^2/2 up to |p - y| = width, and straight beyond: the residual, clipped, is the slope.

    The width is a public number in units of y, best at about the deviation of the noise.
    """

    width: float = 1.0
    smoothness: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        check_positive(width=self.width)

    def slope(self, prediction: Array, y: Array) -> Array:
        """p - y, clipped."""
        return np.clip(prediction - y, -self.width, self.width)

    def value(self, prediction: Array, y: Array) -> Array:
        """Quadratic, then straight."""
        size = np.abs(prediction - y)
        inner = np.minimum(size, self.width)
        return np.asarray(inner * (size - inner / 2))

    def largest_slope(self, reach: float) -> float:
        """The width, whatever the predictions."""
        return float(self.width)

    def flatness(self, reach: float) -> float:
        """width/(1.5 width + reach): what a shift by `reach` moves the slope by, over the shift.

        For noise of the deviation `width`: P(|noise| <= width) is 2/3 for a small shift, and a
        large one moves it by the width.
        """
        return float(self.width / (1.5 * self.width + reach))


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


def chosen_bounded_loss(loss: Any, named: Mapping[str, BoundedLoss]) -> BoundedLoss:
    """As `chosen_loss`, of losses with a bounded slope."""
    if isinstance(loss, str):
        if loss not in named:
            names = ", ".join(map(repr, named))
            raise ValueError(f"loss must be {names} or an object like BoundedLoss, got {loss!r}")
        return named[loss]
    if isinstance(loss, type) or not isinstance(loss, BoundedLoss):
        members = "slope, value, smoothness, largest_slope and flatness"
        raise TypeError(f"loss must have {members}, got {loss!r}")
    chosen_loss(loss)
    return loss


def accepted_responses(loss: Loss, y: Array) -> Array:
    """The responses as the loss takes them: for losses of two classes they are clipped to [0, 1].

    An error for one y outside would tell that there is such a record.
    """
    labels = isinstance(loss, (LogisticLoss, ProbitLoss, SmoothHingeLoss))
    return np.clip(y, 0.0, 1.0) if labels else y


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
    return type(loss) in (SquaredLoss, LogisticLoss, ProbitLoss, SmoothHingeLoss, HuberLoss)


def _hazard(q: Any) -> Any:
    """phi(q)/Phi(q), by the scaled error function: neither overflows."""
    return math.sqrt(2 / math.pi) / special.erfcx(-q / math.sqrt(2))


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
