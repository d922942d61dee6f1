"""Fits to compare and data to fit: the tools of the hygiene tests, beside those of the auditor."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier

from estimators.core.base import PlanWarning, ReleasedWarning
from tests.contract.estimator_examples import Data

HUGE = 1e300


def fitted(
    estimator: BaseEstimator, data: Data, seed: int | None = 0, told: list[str] | None = None
) -> Any:
    """A copy fitted to the data; a warning is an error, but for one that records are too few.

    What is said of that is added to `told`. What follows from a release is one, and may be said.
    """
    copy: Any = clone(estimator)
    if seed is not None and "random_state" in copy.get_params():
        copy.set_params(random_state=seed)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("error")
        warnings.simplefilter("always", PlanWarning)
        warnings.simplefilter("ignore", ReleasedWarning)
        copy.fit(*data)
    if told is not None:
        told += [str(warning.message) for warning in said]
    return copy


@dataclass(frozen=True)
class Look:
    """What anybody can see of a fit."""

    fit: Any
    """None if there was an error."""
    ending: str
    """Well, or with which error or warning."""
    of_few_records: tuple[str, ...]


def look(estimator: BaseEstimator, data: Data) -> Look:
    """Fit, and say what was seen."""
    told: list[str] = []
    try:
        return Look(fitted(estimator, data, told=told), "well", tuple(told))
    except Exception as problem:
        return Look(None, repr(problem), tuple(told))


def extreme_neighbours(estimator: BaseEstimator, data: Data) -> list[Data]:
    """Neighbours of the data that are as far away as records can be."""
    d = data[0].shape[1]
    rows = [v * np.ones(d) for v in (0.0, HUGE, -HUGE, 5e-324, float(np.finfo(float).max))]
    rows += [np.where(np.arange(d) == 0, v, -v) for v in (1.0, 1e100, HUGE)]
    responses = [0, 1] if is_classifier(estimator) else [HUGE, 0.0, -HUGE, 5e-324, 1.0]
    found = []
    for i, row in enumerate(rows):
        X, *rest = (part.copy() for part in data)
        X[0] = row
        for y in rest:
            y[0] = responses[i % len(responses)]
        found.append((X, *rest))
    return [_with_public_rows(estimator, data, other) for other in found]


def far_away(estimator: BaseEstimator, data: Data) -> list[Data]:
    """Data of the same shape and the same two labels, in which every record is another one."""
    X, *rest = data
    flipped = [1 - y if is_classifier(estimator) else -y for y in rest]
    equal = [np.zeros_like(X), *flipped]
    wide = [1000 * X, *(y if is_classifier(estimator) else 1000 * y for y in rest)]
    turned = [1.5 * np.ascontiguousarray(X[:, ::-1]), *flipped]
    return [_with_public_rows(estimator, data, tuple(other)) for other in (equal, wide, turned)]


def _with_public_rows(estimator: BaseEstimator, data: Data, other: Data) -> Data:
    """Where only labels are private, other data have the same rows."""
    return (data[0], *other[1:]) if getattr(estimator, "scope", "") == "label" else other
