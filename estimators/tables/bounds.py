"""Bounds and categories as they are given: public facts about columns, checked."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence, Set
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from estimators.core.design import LARGEST
from estimators.tables.chunks import as_python, is_missing

Name = Hashable
Pair = tuple[float, float]
Bounds = (
    Mapping[Name, Pair] | Sequence[Pair] | Pair | NDArray[np.float64] | Literal["private"] | None
)
Categories = Mapping[Name, Sequence[Any]] | None
NARROWEST = 1e-200
"""Bounds this close together cannot be divided by."""


def checked_bounds(
    bounds: Bounds, columns: list[Name], free: list[Name], truths: set[Name]
) -> dict[Name, Pair]:
    """(low, high) of each numeric column, or an error that names the column."""
    if isinstance(bounds, str):
        check_private("bounds", bounds)
        return {name: (0.0, 1.0) if name in truths else (-LARGEST, LARGEST) for name in free}
    given: Mapping[Name, Any]
    if isinstance(bounds, Mapping):
        unknown = [name for name in bounds if name not in columns]
        if unknown:
            raise ValueError(f"bounds: there is no column {unknown[0]!r}; columns are {columns}")
        given = dict.fromkeys(truths, (0.0, 1.0)) | dict(bounds)
    else:
        given = _in_order(bounds, columns, free)
    missing = [name for name in free if name not in given]
    if missing:
        raise ValueError(
            f"bounds: column {missing[0]!r} has none: give the (low, high) in which its values can"
            " lie"
        )
    return {name: checked_pair("bounds", f"column {name!r}", given[name]) for name in free}


def _in_order(bounds: Any, columns: list[Name], free: list[Name]) -> dict[Name, Any]:
    """One pair for all columns, or one for each: of all columns, or of the numeric ones."""
    try:
        pairs = list(bounds)
    except TypeError:
        raise TypeError(f"bounds must be pairs (low, high), got {bounds!r}") from None
    if isinstance(bounds, Set):
        raise TypeError(f"bounds must be pairs (low, high) in order, got a set: {bounds!r}")
    if len(pairs) == 2 and all(np.ndim(end) == 0 for end in pairs):
        return dict.fromkeys(free, (pairs[0], pairs[1]))
    for names in (columns, free):
        if len(pairs) == len(names):
            return dict(zip(names, pairs, strict=True))
    raise ValueError(
        f"bounds must have one (low, high) for each of the {len(columns)} columns, got {len(pairs)}"
    )


def checked_pair(name: str, whose: str, pair: Any) -> Pair:
    """Two finite numbers in order."""
    ends = list(pair) if isinstance(pair, (tuple, list, np.ndarray)) else []
    if len(ends) != 2 or not all(isinstance(end, (Real, np.number)) for end in ends):
        raise ValueError(f"{name} of {whose} must be a pair (low, high), got {pair!r}")
    low, high = map(_as_float, ends)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"{name} of {whose} must be finite, got ({low:g}, {high:g})")
    if not low < high:
        raise ValueError(
            f"{name} of {whose} must have low < high, got ({low:g}, {high:g}): leave a constant"
            " column out"
        )
    if max(-low, high) > LARGEST:
        raise ValueError(f"{name} of {whose} must be at most {LARGEST:g}, got ({low:g}, {high:g})")
    if not high / 2 - low / 2 > NARROWEST:
        raise ValueError(f"{name} of {whose} are too close together, got ({low!r}, {high!r})")
    return low, high


def _as_float(end: Any) -> float:
    """The float, infinite for an integer beyond all floats, NaN for what is not real."""
    if isinstance(end, np.complexfloating):
        return math.nan
    try:
        return float(end)
    except OverflowError:
        return math.inf if end > 0 else -math.inf


def check_private(name: str, word: str) -> None:
    """Raise unless it is the one word that stands for bounds."""
    if word != "private":
        raise ValueError(f"{name} must be numbers or 'private', got {word!r}")


def checked_levels(categories: Categories, columns: list[Name]) -> dict[Name, tuple[Any, ...]]:
    """The levels of each categorical column, checked."""
    if categories is None:
        return {}
    if not isinstance(categories, Mapping):
        raise TypeError(f"categories must be {{name: levels}}, got {categories!r}")
    for name in categories:
        if name not in columns:
            raise ValueError(f"categories: there is no column {name!r}; columns are {columns}")
    return {name: _listed(name, levels) for name, levels in categories.items()}


def _listed(name: Name, levels: Any) -> tuple[Any, ...]:
    """Two levels or more, all different; one of them may stand for values that are missing."""
    if isinstance(levels, (str, bytes, Set)) or not hasattr(levels, "__len__"):
        raise TypeError(f"categories of column {name!r} must be a list, got {levels!r}")
    listed = tuple(None if is_missing(level) else level for level in as_python(levels))
    try:
        different = len(set(listed))
    except TypeError:
        raise TypeError(f"categories of column {name!r} must be hashable, got {levels!r}") from None
    if len(listed) < 2 or different < len(listed):
        raise ValueError(
            f"categories of column {name!r} must be two levels or more, all different, got"
            f" {levels!r}"
        )
    return listed
