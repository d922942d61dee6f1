"""Chunks of a table, arrays or frames of any library: their columns, read and checked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from estimators.core.base import as_floats
from estimators.core.design import surely_within

Array = NDArray[np.float64]
Name = Hashable
NUMERIC = "fiub"
"""Kinds of dtypes that are numbers."""
NO_NUMBERS = "Mmc"
"""Kinds that numpy would turn into numbers, and that are none: times and complex numbers."""
ADVICE = "leave such records out, or fill them in"


def check_table(rows: Any) -> None:
    """Raise unless it is a dense array or a frame, with rows and columns."""
    if sparse.issparse(rows):
        raise TypeError("X is sparse: give dense chunks, such as X[i:j].toarray()")
    if np.ma.isMaskedArray(rows):
        raise TypeError("X is a masked array: fill or drop the masked entries first")
    if hasattr(rows, "column_names"):  # whose `columns` are no names
        raise TypeError("X is a table of pyarrow: give X.to_pandas()")
    shape: tuple[int, ...] = tuple(getattr(rows, "shape", ()))
    if len(shape) != 2:
        raise ValueError(f"X must have rows and columns, got {len(shape)} dimensions")
    if shape[1] == 0:
        raise ValueError("X has 0 columns: a minimum of 1 is required")


def names_of(chunk: Any) -> list[Name] | None:
    """The names of a frame's columns; None for an array."""
    columns = getattr(chunk, "columns", None)
    return None if columns is None else list(columns)


def width_of(chunk: Any) -> int:
    """The number of columns."""
    return int(chunk.shape[1])


def rows_of(chunk: Any, part: slice) -> Any:
    """Some of the rows of an array, a frame or a list."""
    if part.start == 0 and part.stop >= len(chunk):
        return chunk
    return chunk.iloc[part] if hasattr(chunk, "iloc") else chunk[part]


def column_of(chunk: Any, j: int) -> Any:
    """A column of a frame or an array, by its place."""
    names = names_of(chunk)
    if names is None:
        return chunk[:, j]
    return chunk.iloc[:, j] if hasattr(chunk, "iloc") else chunk[names[j]]


def kind_of(values: Any) -> str:
    """The kind of a dtype, as numpy calls it, of whatever library the values are."""
    kind = getattr(getattr(values, "dtype", None), "kind", None)
    return str(np.asarray(values[:0]).dtype.kind if kind is None else kind)


def as_matrix(chunk: Any) -> Any:
    """A chunk of numbers as an array."""
    return chunk.to_numpy() if hasattr(chunk, "to_numpy") else np.asarray(chunk)


# --- Numbers --------------------------------------------------------------------------------------


def matrix_of(chunk: Any) -> Array | None:
    """The chunk as one array of finite float64; None where it is none, and columns will tell."""
    found = as_matrix(chunk)
    if found.dtype.kind not in NUMERIC or found.dtype.itemsize > 8:
        return None
    numbers = np.asarray(found, dtype=float)
    return numbers if _all_finite(numbers) else None


def column_numbers(what: str, values: Any, hint: str = "") -> Array:
    """A column as float64, or an error that names it unless all are finite real numbers."""
    try:
        numbers = None if kind_of(values) in NO_NUMBERS else _floats(what, values)
    except (TypeError, OverflowError):
        numbers = None
    if numbers is None:
        raise TypeError(
            f"{what} must hold real numbers, got dtype {getattr(values, 'dtype', 'object')}{hint}"
        )
    check_finite(what, numbers)
    return numbers


def check_finite(what: str, numbers: Array) -> None:
    """Raise if a number is NaN or infinite."""
    if not _all_finite(numbers):
        wrong = "NaN" if np.isnan(numbers).any() else "infinity"
        raise ValueError(f"Input {what} contains {wrong}: {ADVICE}")


def _floats(what: str, values: Any) -> Array | None:
    """As float64, or None for text."""
    if hasattr(values, "isna"):  # what is missing in a frame of pandas may be no float at all
        try:
            values = values.to_numpy(dtype=float, na_value=np.nan)
        except ValueError:
            return None
    found = np.asarray(as_matrix(values))
    if found.dtype.kind == "f" and found.dtype.itemsize > 8:  # finite ones stay finite
        found = as_floats(what, found)
    return found.astype(float, copy=False) if all_numbers(found) else None


def _all_finite(numbers: Array) -> bool:
    """The sum of squares mostly tells."""
    return surely_within(numbers) or bool(np.isfinite(numbers).all())


def all_numbers(values: NDArray[Any]) -> bool:
    """Whether a float can be made of each."""
    if values.dtype.kind in NUMERIC:
        return True
    try:
        values.astype(float)
    except (TypeError, ValueError, OverflowError):
        return False
    return values.dtype.kind not in NO_NUMBERS


# --- Text and levels ------------------------------------------------------------------------------


def is_text(chunk: Any, j: int) -> bool:
    """Whether a column cannot be read as numbers; dates are refused as such later."""
    column = column_of(chunk, j)
    if kind_of(column) in NUMERIC + NO_NUMBERS:
        return False
    try:
        return _floats("X", column) is None
    except (TypeError, OverflowError):
        return True


def is_string(values: Any) -> bool:
    """Whether it is text by its dtype."""
    return kind_of(values) in "US" or getattr(getattr(values, "dtype", None), "type", None) is str


def as_python(values: Any) -> list[Any]:
    """The values one by one, as Python's own: 1.0, True and numpy's 1 are one level."""
    return list(values.tolist() if hasattr(values, "tolist") else values)


def is_missing(value: Any) -> bool:
    """None, NaN, or a library's own word for a value that is not there."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA is neither equal to itself nor not
        return True
    except ValueError:  # an array, say: no level, but not missing
        return False


def any_missing(values: Any) -> bool:
    """Whether a value of a column is not there."""
    if hasattr(values, "isna"):
        return bool(values.isna().any())
    if hasattr(values, "null_count"):
        return bool(values.null_count())
    kind = kind_of(values)
    if kind == "f":
        return bool(np.isnan(values).any())
    return kind == "O" and any(map(is_missing, as_python(values)))


def places_in(place: dict[Any, int], values: Iterable[Any]) -> list[int]:
    """Where each value stands, -1 for one that is not there.

    Value by value: what becomes of one does not depend on any other.
    """
    return [_place(place, value) for value in values]


def _place(place: dict[Any, int], value: Any) -> int:
    try:
        return place.get(value, -1)
    except TypeError:  # an object without a hash is none of the levels
        return -1
