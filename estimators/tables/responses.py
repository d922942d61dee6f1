"""Responses, numbers or labels, as public knowledge has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import column_or_1d

from estimators.core.design import LARGEST
from estimators.tables.chunks import (
    ADVICE,
    NUMERIC,
    Array,
    any_missing,
    as_python,
    check_finite,
    column_numbers,
    column_of,
    is_string,
    kind_of,
    names_of,
    places_in,
    width_of,
)
from estimators.tables.schema import Numeric


class Response(Protocol):
    """What is public about the responses."""

    def check(self, y: Any, rows: int) -> Any:
        """The responses of a chunk, one-dimensional, or an error."""

    def encode(self, y: Any) -> Array:
        """As kernels take them."""

    def raw(self, y: Any) -> Array:
        """As numbers, as they came."""

    def outside(self, y: Any) -> float:
        """How many are not what is allowed."""


@dataclass(frozen=True)
class NumberResponse:
    """Responses between two public numbers, brought to [-1, 1]."""

    range: Numeric
    centred: bool = True

    @property
    def middle(self) -> float:
        """What is taken off."""
        return self.range.middle(self.centred)

    @property
    def half(self) -> float:
        """What the rest is divided by."""
        return self.range.half(self.centred)

    def check(self, y: Any, rows: int) -> Any:
        """Finite real numbers, as many as rows."""
        found = _column(y, rows)
        if type(found) is np.ndarray and found.dtype.kind in NUMERIC and found.dtype.itemsize <= 8:
            check_finite("y", found)  # and stay as narrow as they are until they are used
            return found
        return column_numbers("y", found)

    def encode(self, y: Any) -> Array:
        """In [-1, 1]: rounding is monotone, so that what is left is at most `half` in size."""
        numbers = np.clip(np.asarray(y, dtype=float), self.range.low, self.range.high)
        numbers -= self.middle
        numbers /= self.half
        return numbers

    def raw(self, y: Any) -> Array:
        """Within +-LARGEST."""
        return np.clip(np.asarray(y, dtype=float), -LARGEST, LARGEST)

    def outside(self, y: Any) -> float:
        """Beyond the range."""
        numbers = np.asarray(y, dtype=float)
        return float(np.count_nonzero((numbers < self.range.low) | (numbers > self.range.high)))


@dataclass(frozen=True)
class LabelResponse:
    """Labels from a public list, as their places in it; -1 for one that is not listed."""

    classes: tuple[Any, ...]

    def check(self, y: Any, rows: int) -> Any:
        """One label for each row, none missing, and of a kind that classes are of."""
        # A list becomes an array of its objects: one string in it must not turn numbers to text.
        found = _column(np.array(y, dtype=object) if isinstance(y, (list, tuple)) else y, rows)
        if any_missing(found):
            raise ValueError(f"Input y contains NaN: {ADVICE}")
        self._check_kind(found)
        return np.asarray(found)

    def _check_kind(self, y: Any) -> None:
        """Raise where all labels are numbers and all classes text, or the other way round."""
        words = [isinstance(label, str) for label in self.classes]
        text = is_string(y)
        if (kind_of(y) in NUMERIC and all(words)) or (text and not any(words)):
            raise TypeError(
                f"y holds {'text' if text else 'numbers'}, and none of the classes is that:"
                f" {list(self.classes)}"
            )

    def encode(self, y: Any) -> Array:
        """The place of each label."""
        if y.dtype.kind not in NUMERIC:
            places = {label: i for i, label in enumerate(self.classes)}
            return np.array(places_in(places, as_python(y)), dtype=float)
        codes = np.full(len(y), -1.0)
        for i, label in enumerate(self.classes):
            if not isinstance(label, (str, bytes)):
                codes[np.asarray(y == label, dtype=bool)] = i
        return codes

    def raw(self, y: Any) -> Array:
        """The same: there is nothing else to read off a label."""
        return self.encode(y)

    def outside(self, y: Any) -> float:
        """Labels that are not listed."""
        return float(np.count_nonzero(self.encode(y) < 0))


def _column(y: Any, rows: int) -> Any:
    """One response for each row: an array of one dimension, or a column of a frame's library."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    if np.ma.isMaskedArray(y):
        raise TypeError("y is a masked array: fill or drop the masked entries first")
    if getattr(getattr(y, "dtype", None), "kind", "") == "c":  # scikit-learn would print it
        raise ValueError("Complex data not supported: y must hold real numbers")
    if names_of(y) is not None and width_of(y) == 1:
        y = column_of(y, 0)
    of_a_frame = hasattr(y, "isna") or hasattr(y, "null_count")
    found = y if of_a_frame else np.asarray(column_or_1d(y, warn=True))
    if len(found) != rows:
        raise ValueError(
            f"y has {len(found)} responses for {rows} rows: inconsistent numbers of samples"
        )
    return found
