"""What is public about the columns of a table, and the encoding that follows from it.

**Encoding.** A numeric column with the public bounds [low, high] becomes
(clip(x, low, high) - middle)/half, in [-1, 1]; without an intercept, where the origin has a
meaning, clip(x, low, high)/max(|low|, |high|). A column with public categories becomes an indicator
of each level but the first; a value that is none of the levels counts as the first. A frame's
column of truth values is an indicator as well, of what is true.

**Privacy.** What a record is encoded to depends on that record and on public numbers only, and lies
in [-1, 1]^d whatever the record was, rounding included: see `Schema._scaling`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.core.design import LARGEST
from estimators.tables.bounds import (
    Bounds,
    Categories,
    Name,
    Pair,
    check_private,
    checked_bounds,
    checked_levels,
    checked_pair,
)
from estimators.tables.chunks import (
    ADVICE,
    NUMERIC,
    Array,
    any_missing,
    as_python,
    check_table,
    column_numbers,
    column_of,
    is_missing,
    is_text,
    kind_of,
    matrix_of,
    names_of,
    places_in,
    width_of,
)
from estimators.tables.scaling import Scaling

BOUNDS_WANTED = (
    "bounds must be given: the range in which a column's values can lie, known without looking at"
    " the records, such as bounds={'age': (17, 90)}, one (low, high) for each column, or one for"
    " all; bounds='private' finds them, and pays for it"
)
LEVELS_WANTED = ": give the levels of a column that holds none as `categories`, or leave it out"


@dataclass(frozen=True)
class Numeric:
    """A column of numbers between two public ones."""

    name: Name
    low: float
    high: float

    def middle(self, centred: bool) -> float:
        """What is taken off: the middle, or nothing where there is no intercept."""
        return self.low / 2 + self.high / 2 if centred else 0.0

    def half(self, centred: bool) -> float:
        """What the rest is divided by: the largest that it can be, rounding included, so that no
        quotient is beyond 1."""
        middle = self.middle(centred)
        return max(self.high - middle, middle - self.low)


@dataclass(frozen=True)
class Categorical:
    """A column of levels from a public list. The first stands for all that are not listed."""

    name: Name
    levels: tuple[Any, ...]

    @cached_property
    def place(self) -> dict[Any, int]:
        """Where each level stands in the list."""
        return {level: i for i, level in enumerate(self.levels)}

    def codes(self, values: Any) -> NDArray[np.intp]:
        """The place of each value in the list, -1 for one that is not there."""
        coded = getattr(getattr(values, "cat", None), "codes", None)
        if coded is not None:  # pandas has looked at the values already; its -1 is a missing one
            found = self._codes([*as_python(values.cat.categories), None])
            return found[np.asarray(coded)]
        return self._codes(as_python(values))

    def _codes(self, listed: list[Any]) -> NDArray[np.intp]:
        found = np.array(places_in(self.place, listed), dtype=np.intp)
        if None in self.place:  # the level of what is missing, in whatever way it is
            unknown = np.flatnonzero(found < 0)
            missing = [i for i in unknown if is_missing(listed[i])]
            found[missing] = self.place[None]
        return found

    def check(self, values: Any) -> None:
        """Raise if levels and column are of two kinds, or if a value is missing and there is no
        level for that."""
        text = [isinstance(level, str) for level in self.levels if level is not None]
        kind = getattr(getattr(values, "dtype", None), "kind", "")
        if (all(text) and kind in tuple(NUMERIC)) or (not any(text) and kind in ("U", "T")):
            raise TypeError(
                f"categories of column {self.name!r} are {'text' if all(text) else 'numbers'}, and"
                f" the column holds {'numbers' if all(text) else 'text'}: none of its values would"
                " be found"
            )
        if None not in self.place and any_missing(values):
            raise ValueError(
                f"Input X, column {self.name!r}, contains NaN: {ADVICE}, or list None among its"
                " categories"
            )


@dataclass(frozen=True)
class Truth(Categorical):
    """A column of truth values: an indicator, all of whose range is in use, so that none is
    searched for. It keeps its name."""

    levels: tuple[Any, ...] = (False, True)

    def codes(self, values: Any) -> NDArray[np.intp]:
        """0 or 1, -1 for another number; or an error unless there are finite numbers."""
        numbers = column_numbers(f"X, column {self.name!r},", values, LEVELS_WANTED)
        return np.where(numbers == 1, 1, np.where(numbers == 0, 0, -1))

    def check(self, values: Any) -> None:
        """Raise for text, which is neither true nor false, and for what is missing."""
        self.codes(values)


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order, as public knowledge has them."""

    columns: tuple[Numeric | Categorical, ...]
    named: bool = False
    """Whether the table has names for its columns; else they are called by their places."""
    centred: bool = True
    """Whether an intercept takes up the middle of each range."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the encoded columns: "age", or "cut=Ideal" for the indicator of a level."""
        return tuple(name for column in self.columns for name in _encoded_names(column))

    @property
    def d(self) -> int:
        """The number of encoded columns."""
        return len(self.names)

    @cached_property
    def numeric(self) -> tuple[int, ...]:
        """The places of the numeric columns in the table."""
        return tuple(j for j, column in enumerate(self.columns) if isinstance(column, Numeric))

    @cached_property
    def binary(self) -> NDArray[np.bool_]:
        """Which encoded columns are indicators of levels: all of their range is in use."""
        kinds = [
            [False] if isinstance(column, Numeric) else [True] * (len(column.levels) - 1)
            for column in self.columns
        ]
        return _fixed(np.array([kind for group in kinds for kind in group], dtype=bool))

    @cached_property
    def middles(self) -> Array:
        """What each encoded column has had taken off."""
        middles = np.zeros(self.d)
        middles[~self.binary] = [c.middle(self.centred) for c in self._numeric_columns]
        return _fixed(middles)

    @cached_property
    def halves(self) -> Array:
        """What each encoded column has been divided by."""
        halves = np.ones(self.d)
        halves[~self.binary] = [c.half(self.centred) for c in self._numeric_columns]
        return _fixed(halves)

    @property
    def _numeric_columns(self) -> list[Numeric]:
        return [column for column in self.columns if isinstance(column, Numeric)]

    @property
    def ends(self) -> Array:
        """Lows and highs of the numeric columns: two rows."""
        pairs = [(column.low, column.high) for column in self._numeric_columns]
        return np.array(pairs, dtype=float).reshape(-1, 2).T

    @property
    def _all_numeric(self) -> bool:
        return len(self.numeric) == len(self.columns)

    @cached_property
    def _scaling(self) -> Scaling:
        """(x - middle)/half, clipped to what the bounds are brought to.

        **Statement.** Every result is in [-1, 1], and NaN stays NaN. It is that of
        clip(x, low, high) up to rounding, that of the middle included.

        **Proof.** The clip comes last, and its ends are within [-1, 1]. Scaling is monotone, so
        that it may be exchanged with the clip. `half` is the larger distance of the ends from the
        middle that is used; so the shorter one is brought to less than 1 by the rounding of the
        middle at most.
        """
        where = ~self.binary
        middles, inverses = self.middles[where], 1 / self.halves[where]
        if self.centred:
            return Scaling(middles, inverses)
        return Scaling(middles, inverses, *np.clip((self.ends - middles) * inverses, -1.0, 1.0))

    def bounded(self, pairs: Sequence[Pair]) -> Schema:
        """The same columns with other bounds for the numeric ones."""
        columns = list(self.columns)
        for j, column, pair in zip(self.numeric, self._numeric_columns, pairs, strict=True):
            low, high = checked_pair("bounds", f"column {column.name!r}", tuple(pair))
            columns[j] = replace(column, low=low, high=high)
        return replace(self, columns=tuple(columns))

    def narrowed(self, lows: Array, highs: Array) -> Schema:
        """The same columns, numbers between other ends, which are encoded: one for each encoded
        column. Those of indicators do nothing. No ends raise: they may come from the records."""
        columns = list(self.columns)
        places = np.flatnonzero(~self.binary)
        for j, column, at in zip(self.numeric, self._numeric_columns, places, strict=True):
            columns[j] = narrower(column, self.centred, float(lows[at]), float(highs[at]))
        return replace(self, columns=tuple(columns))

    def encode(self, chunk: Any, out: Array | None = None) -> Array:
        """The rows of a chunk, in [-1, 1]^d; in the first rows of `out` where it is given."""
        numbers = self._floats(chunk)
        out = np.empty((len(numbers), self.d)) if out is None else out[: len(numbers)]
        if self._all_numeric:
            return self._scaling.apply(numbers, out)
        out[:] = 0
        out[:, ~self.binary] = self._scaling.apply(numbers, np.empty(numbers.shape))
        first = 0
        for j, column in enumerate(self.columns):
            if isinstance(column, Categorical):
                codes = column.codes(column_of(chunk, j))
                rows = np.flatnonzero(codes > 0)
                out[rows, first + codes[rows] - 1] = 1.0
                first += len(column.levels) - 1
            else:
                first += 1
        return out

    def numbers(self, chunk: Any) -> Array:
        """The numeric columns of a chunk as they are, each within +-LARGEST."""
        return np.clip(self._floats(chunk), -LARGEST, LARGEST)

    def settled(self, chunk: Any) -> Any:
        """The chunk, its entries checked: as an array of float64 where all columns are numbers,
        so that they are read and checked once."""
        if self._all_numeric:
            return self._checked_floats(chunk)
        self.check_entries(chunk)
        return chunk

    def _floats(self, chunk: Any) -> Array:
        """The numeric columns as float64: clipping narrower numbers would round the bounds."""
        plain = type(chunk) is np.ndarray and chunk.dtype == np.float64
        return chunk if plain and self._all_numeric else self._checked_floats(chunk)

    def _checked_floats(self, chunk: Any) -> Array:
        """The same, all finite, or an error that names the column."""
        found = matrix_of(chunk) if self._all_numeric else None
        if found is not None:
            return found
        found = np.empty((len(chunk), len(self.numeric)))
        for k, j in enumerate(self.numeric):
            what = f"X, column {self.columns[j].name!r},"
            found[:, k] = column_numbers(what, column_of(chunk, j), LEVELS_WANTED)
        return found

    def outside(self, chunk: Any) -> Array:
        """For each column of the table, how many values of the chunk are not what it allows."""
        low, high = self.ends
        numbers = self.numbers(chunk)
        counts = np.zeros(len(self.columns))
        counts[list(self.numeric)] = ((numbers < low) | (numbers > high)).sum(axis=0)
        for j, column in enumerate(self.columns):
            if isinstance(column, Categorical):
                counts[j] = np.count_nonzero(column.codes(column_of(chunk, j)) < 0)
        return counts

    def check_columns(self, chunk: Any) -> None:
        """Raise unless the chunk has the table's columns."""
        check_table(chunk)
        width = width_of(chunk)
        if width != len(self.columns):
            raise ValueError(
                f"X: a chunk has {width} columns where the first has {len(self.columns)}"
            )
        if self.named and (names := names_of(chunk)) is not None:
            for here, column in zip(names, self.columns, strict=True):
                if here != column.name:
                    raise ValueError(
                        f"X: a chunk has column {here!r} where the first has {column.name!r}"
                    )

    def check_entries(self, chunk: Any) -> None:
        """Raise, naming the column, unless there are finite numbers where numbers belong, and no
        level is missing."""
        self._checked_floats(chunk)
        for j, column in enumerate(self.columns):
            if isinstance(column, Categorical):
                column.check(column_of(chunk, j))


def narrower(column: Numeric, centred: bool, low: float, high: float) -> Numeric:
    """The column, clipped to its own ends and then to these, which are encoded: its new ends are
    the old ones clipped. The upper one is at least a float above the lower."""
    middle, half = column.middle(centred), column.half(centred)
    ends = np.clip([column.low, column.high], middle + half * low, middle + half * high)
    below, above = float(ends[0]), max(float(ends[1]), math.nextafter(ends[0], math.inf))
    return replace(column, low=below, high=above)


def schema_of(
    chunk: Any,
    bounds: Bounds,
    categories: Categories = None,
    *,
    centred: bool = True,
) -> Schema:
    """The schema of a table that begins with this chunk.

    Columns of truth values need no bounds, and any that are given for them do nothing. With
    ``bounds="private"`` a column has those of all floats that are taken, and `Schema.bounded` puts
    in what was found.
    """
    if bounds is None:
        raise ValueError(BOUNDS_WANTED)
    check_table(chunk)
    names = names_of(chunk)
    named = names is not None
    columns: list[Name] = list(range(width_of(chunk))) if names is None else names
    _check_different(columns)
    levels = checked_levels(categories, columns)
    truths = {
        name for j, name in enumerate(columns) if named and kind_of(column_of(chunk, j)) == "b"
    }
    text = [name for j, name in enumerate(columns) if name not in levels and is_text(chunk, j)]
    if text:
        raise ValueError(
            f"X: column {text[0]!r} holds text: give its levels, known without looking at the"
            f" records, as categories={{{text[0]!r}: [...]}}, or leave it out"
        )
    free = [name for name in columns if name not in levels]
    pairs = checked_bounds(bounds, columns, free, truths)

    def described(name: Name) -> Numeric | Categorical:
        if name in levels:
            return Categorical(name, levels[name])
        return Truth(name) if name in truths else Numeric(name, *pairs[name])

    return Schema(tuple(map(described, columns)), named, centred)


def _check_different(names: list[Name]) -> None:
    """Raise if a name stands for two columns: bounds for it would not say which."""
    seen: set[Name] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"X: there are two columns {name!r}: give them different names")
        seen.add(name)


def response_range(name: str, pair: Any) -> Numeric:
    """The public range of a response, checked."""
    if pair is None:
        raise ValueError(
            f"{name} must be given: the (low, high) in which responses can lie, known without"
            f" looking at the records; {name}='private' finds it, and pays for it"
        )
    if isinstance(pair, str):
        check_private(name, pair)
        return Numeric("y", -LARGEST, LARGEST)
    return Numeric("y", *checked_pair(name, "responses", pair))


def _encoded_names(column: Numeric | Categorical) -> list[str]:
    if isinstance(column, (Numeric, Truth)):
        return [str(column.name)]
    return [f"{column.name}={level}" for level in column.levels[1:]]


def _fixed(array: NDArray[Any]) -> NDArray[Any]:
    """The same, not to be written to: it is found once and handed out often."""
    array.flags.writeable = False
    return array
