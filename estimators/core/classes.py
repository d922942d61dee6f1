"""The two classes of a classifier: given, or read off the labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from estimators.core.base import as_floats


def given_classes(classes: Sequence[Any], y: Any) -> tuple[Any, Any]:
    """`classes`, checked, and the labels, each compared with them on its own."""
    found = np.asarray(classes)
    if found.shape != (2,) or found[0] == found[1]:
        raise ValueError(f"classes must be two different labels, got {classes!r}")
    if found.tolist() != list(classes):
        raise ValueError(f"classes must be two labels of one type, got {classes!r}")
    # A list becomes an array of its objects: one string in it must not turn numbers to text.
    labels = column_or_1d(y if hasattr(y, "dtype") else np.array(y, dtype=object), warn=True)
    if np.any(labels != labels):
        raise ValueError("Input y contains NaN")
    return found, labels


def found_classes(y: Any) -> tuple[Any, Any]:
    """The labels that occur, an error unless there are two, and those of the records."""
    labels = column_or_1d(as_floats("y", y), warn=True)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    found = np.unique(labels)
    if len(found) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target y is "
            f"{type_of_target(labels)}, with {len(found)} classes."
        )
    if len(found) < 2:
        raise ValueError(f"y must hold two classes, got one class: {found.tolist()}")
    return found, labels
