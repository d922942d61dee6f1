"""Options that are checked before any noise is drawn: each error names the parameter."""

from __future__ import annotations

import math
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minimax.core.calibration import budget_of
from minimax.core.privacy import SpendablePrivacy


def safe_range(factors: int) -> tuple[float, float]:
    """Where numbers must lie so that a product of so many stays between 1e-300 and 1e300."""
    return float(f"1e-{300 // factors}"), float(f"1e{300 // factors}")


SAFE_RANGE = safe_range(10)
"""For bounds on rows, responses and coefficients: products of all of them are formed."""


def check_positive(**named: float) -> None:
    """Raise naming the first argument that is not a positive finite number."""
    for name, value in named.items():
        if type(value) is float and 0 < value < math.inf:
            continue  # the usual case, in every release
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"{name} must be a number, got {value!r}")
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be positive and finite, got {value!r}")


def check_between(low: float, high: float, **named: float) -> None:
    """Raise naming the first argument that is not a number strictly between two others."""
    check_positive(**named)
    for name, value in named.items():
        if not low < value < high:
            raise ValueError(f"{name} must lie in ({low:g}, {high:g}), got {value!r}")


def check_penalty(high: float, **named: float) -> None:
    """Raise naming the first argument that is neither 0 nor a number between 0 and `high`."""
    for name, value in named.items():
        if isinstance(value, bool) or not (isinstance(value, Real) and value == 0):
            check_between(0, high, **{name: value})


def check_plannable(privacy: SpendablePrivacy) -> None:
    """Raise where a budget is so small or so large that phases cannot be planned in floats."""
    budget = budget_of(privacy)
    name, strength = ("epsilon", budget.epsilon) if budget.is_pure else ("mu", budget.mu())
    low, high = SAFE_RANGE
    if not low < float(strength) < high:
        raise ValueError(
            f"privacy must have {name} in ({low:g}, {high:g}), where phases can be planned,"
            f" got {privacy}: {name} = {float(strength):.3g}"
        )


def number_or_auto(name: str, value: float | Literal["auto"]) -> float | None:
    """The number that an option is, checked, or None if it is "auto"."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f"{name} must be 'auto' or a number, got {value!r}")
        return None
    check_between(*SAFE_RANGE, **{name: value})
    return float(value)


def check_whole(least: int = 1, **named: int) -> None:
    """Raise naming the first argument that is not a whole number of at least `least`."""
    for name, value in named.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{name} must be an integer, got {value!r}")
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")


def check_sparsity(k: int, d: int, name: str = "s", dimension: str = "d") -> None:
    """Raise unless k is a whole number of coordinates between 1 and d, by the names of both."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {k!r}")
    if not 1 <= k <= d:
        raise ValueError(f"{name} must lie between 1 and {dimension} = {d}, got {k}")


def checked_start(
    start: ArrayLike | None,
    d: int,
    *,
    radius: float | None = None,
    s: int | None = None,
    norm: Literal[1, 2] = 2,
) -> NDArray[np.float64]:
    """A descent's first iterate: 0 for None, else checked to be one that its steps could release.

    It has d finite entries, of which at most s are not 0, and its l`norm` norm is at most `radius`:
    sensitivities are calibrated to iterates of this kind.
    """
    if start is None:
        return np.zeros(d)
    try:
        found = np.asarray(start)
    except ValueError as error:  # rows of several lengths
        raise ValueError(f"start must have shape ({d},), one entry per feature") from error
    if found.dtype.kind not in "fiu":
        raise TypeError(f"start must hold real numbers, got dtype {found.dtype}")
    if found.shape != (d,):
        raise ValueError(f"start must have shape ({d},), one entry per feature, got {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError("start must be finite")
    if s is not None and np.count_nonzero(found) > s:
        raise ValueError(
            f"start must have at most s = {s} non-zero entries, got {np.count_nonzero(found)}"
        )
    if radius is not None and not _norm(found, norm) <= float(radius) * (1 + 1e-12):
        raise ValueError(
            f"start must have l{norm} norm at most {float(radius):g}, got {_norm(found, norm):g}"
        )
    return found.astype(float)


def check_no_start(start: ArrayLike | None) -> None:
    """Raise where a bound on the risk is for a descent from 0."""
    if start is not None:
        raise ValueError("risk_bound covers start=None, a descent from 0")


def _norm(vector: NDArray[np.float64], order: Literal[1, 2]) -> float:
    largest = float(np.abs(vector).max(initial=0.0)) or 1.0  # in this unit squares are floats
    return largest * float(np.linalg.norm(np.asarray(vector, dtype=float) / largest, order))


def check_problem(problem: object, *kinds: type) -> None:
    """A bound is about one class: a problem of another one is refused."""
    if not isinstance(problem, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"problem must be a {names}, got {type(problem).__name__}")
