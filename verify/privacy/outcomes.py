"""What a call of a mechanism gives out, all of it, as numbers and a form.

An outcome is whatever a reader of the release could see: numbers, words, shapes, and also that
there was an exception, a warning, or a number that is none. The numbers make a row of features;
everything else makes the `form`, a text.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from itertools import islice
from numbers import Complex, Integral, Real
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from attacks.release import fresh_estimator, positional_arguments

Array = NDArray[np.float64]
Mechanism = Callable[..., Any]
Data = Any
"""One data set as the mechanism takes it: an array, or a tuple of arrays (X, y)."""
NOT_DATA = ("ledger_", "privacy_", "n_features_in_", "feature_names_in_")
"""Attributes of a fit that tell what was spent or what is public."""


MOST_NUMBERS = 400
"""Numbers of a release that are looked at."""
MOST_LETTERS = 40
"""Of a text that are numbers too, so that each place of it can be looked at alone."""


class Outcome(NamedTuple):
    """One release: its numbers in order, and what else can be seen of it."""

    numbers: tuple[float | None, ...]
    """None in the place of what is no finite number."""
    form: str


class CannotAudit(ValueError):
    """A mechanism of which nothing can be said, in a sentence."""


@dataclass(frozen=True)
class Subject:
    """A mechanism in the form in which it is audited: a function of data and a generator."""

    name: str
    call: Mechanism
    takes_generator: bool = True

    def draw(
        self, first: Data, second: Data, count: int, rng: np.random.Generator
    ) -> tuple[list[Outcome], list[Outcome]]:
        """So many outcomes on each of two data sets; every call gets data of its own, which it may
        change.

        The two calls of a pair are given the same generator in the same state, the next pair one in
        a state drawn anew: pairs are independent, and a pair differs by what the data do to it.
        """
        given = np.random.Generator(np.random.PCG64(rng.integers(1 << 63)))
        state, places = given.bit_generator.state, rng.bytes(16 * count)
        sides: tuple[list[Outcome], list[Outcome]] = ([], [])
        with warnings.catch_warnings(record=True) as said, np.errstate(all="warn"):
            warnings.simplefilter("always")
            for k in range(0, 16 * count, 16):
                state["state"]["state"] = int.from_bytes(places[k : k + 16])
                for side, data in zip(sides, (first, second), strict=True):
                    given.bit_generator.state = state
                    seen = self._outcome(data, given)
                    if said:
                        seen = Outcome(seen.numbers, f"{seen.form} warns {_texts(said)}")
                        said.clear()
                    side.append(seen)
        return sides

    def _outcome(self, data: Data, rng: np.random.Generator) -> Outcome:
        try:
            return outcome_of(self.call(copied(data), rng))
        except Exception as error:  # whatever it raises is seen by who calls it
            return Outcome((), f"raises {type(error).__name__}: {error}")


def _texts(said: list[warnings.WarningMessage]) -> str:
    return "; ".join(sorted({f"{each.category.__name__}: {each.message}" for each in said}))


def copied(data: Data) -> Data:
    """The same data, which may be changed."""
    if isinstance(data, tuple):
        return tuple(copied(part) for part in data)
    return data.copy() if isinstance(data, (np.ndarray, list, dict)) else data


def subject(mechanism: Any, name: str | None = None) -> Subject:
    """A callable or a scikit-learn-like estimator, ready to be audited; raises for neither."""
    if hasattr(mechanism, "fit") and not isinstance(mechanism, type):
        own = type(mechanism).__name__
        return Subject(name or own, _fitting(mechanism))
    if not callable(mechanism) or isinstance(mechanism, type):
        raise TypeError(
            "mechanism must be a function of data and a generator, or an estimator with fit;"
            f" got {mechanism!r}"
        )
    own = getattr(mechanism, "__name__", type(mechanism).__name__)
    if positional_arguments(mechanism) == 1:
        return Subject(name or own, lambda data, rng: mechanism(data), takes_generator=False)
    return Subject(name or own, mechanism)


def _fitting(estimator: Any) -> Mechanism:
    """A function that fits a fresh copy and gives out all attributes that the fit sets."""

    def fit(data: Data, rng: np.random.Generator) -> dict[str, Any]:
        fitted = fresh_copy(estimator, rng)
        fitted.fit(*(data if isinstance(data, tuple) else (data,)))
        return released_attributes(fitted)

    return fit


def fresh_copy(estimator: Any, rng: np.random.Generator | None) -> Any:
    """A copy with nothing of another fit in it, its noise from the generator."""
    if not hasattr(estimator, "get_params"):
        return fresh_estimator(estimator, rng or np.random.default_rng())
    made = clone(estimator)
    if "random_state" in made.get_params(deep=False) and not is_hardened(made):
        made.set_params(random_state=rng)
    return made


def is_hardened(estimator: Any) -> bool:
    """Whether its noise cannot be drawn again."""
    return getattr(estimator, "noise", "ordinary") == "hardened"


def released_attributes(fitted: Any) -> dict[str, Any]:
    """What a fit gives out: what its class names in `releases`, or all names with a last _."""
    stated = getattr(type(fitted), "releases", None)
    names = stated if stated is not None else [n for n in vars(fitted) if _is_result(n)]
    return {n: getattr(fitted, n) for n in names if n not in NOT_DATA and hasattr(fitted, n)}


def _is_result(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


# --- From a release to numbers and a form ---------------------------------------------------------


def outcome_of(release: Any) -> Outcome:
    """The numbers of a release, in order, and the rest of it as a text."""
    if type(release) is float and math.isfinite(release):  # the common cases, fast
        return Outcome((release,), "#")
    if type(release) in (list, tuple) and PLAIN.issuperset(map(type, release)):
        try:
            found = tuple(map(float, release))
            if math.isfinite(sum(found)) and found == tuple(release):
                return Outcome(found, _flat_form(len(found)))
        except OverflowError:
            pass  # a whole number beyond floats
    if type(release) is np.ndarray and release.ndim == 1 and release.dtype == float:
        found = tuple(release.tolist())
        if math.isfinite(sum(found)):
            return Outcome(found, _array_form(len(found)))
    numbers: list[float | None] = []
    form = _read(release, numbers)
    return Outcome(tuple(numbers), form)


PLAIN = frozenset((bool, int, float))
UNREAD = re.compile("\x00(.*?)\x00")
"""Between two marks that no text has when it is written out, the kind of what is not read."""
FUNCTIONS = (type, FunctionType, BuiltinFunctionType, MethodType, partial)
"""Of which only calls would tell something."""
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""In the name of an object, where it is in memory: no part of what it tells."""


@cache
def _flat_form(length: int) -> str:
    return f"[{', '.join('#' * length)}]"


@cache
def _array_form(length: int) -> str:
    return f"array({length},)"


def _read(value: Any, numbers: list[float | None]) -> str:
    """Append the numbers of a value; returns its form, in which # stands for a number.

    What is no finite number stands in the form, and has its place among the numbers.
    """
    kind = type(value)  # the common ones first: this is most of what an audit does
    if kind in PLAIN:
        return _number(value, numbers)
    if value is None:
        numbers.append(None)
        return "None"
    if kind is list or kind is tuple:
        return "[" + ", ".join([_read(inner, numbers) for inner in value]) + "]"
    if isinstance(value, (np.timedelta64, np.clongdouble)):  # which numpy takes for plain numbers
        return _object(value, numbers)
    if isinstance(value, (Integral, np.bool_)):
        return _number(int(value), numbers)
    if isinstance(value, (Real, Decimal)):
        return _number(value, numbers)
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub" and _fit_floats(value):
        return _array(value.astype(float), numbers)
    if isinstance(value, Mapping):
        return _named(list(value.items()), numbers)
    if hasattr(value, "to_numpy") and hasattr(value, "items"):  # of pandas: a table or a column
        return _named(list(value.items()), numbers)
    if hasattr(value, "tolist"):  # whatever is like an array
        return _read(value.tolist(), numbers)
    if isinstance(value, Iterator):
        return "iterator " + _read(list(islice(value, MOST_NUMBERS)), numbers)
    if isinstance(value, (set, frozenset)):
        return "set " + _read(sorted(value, key=repr), numbers)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_read(inner, numbers) for inner in value) + "]"
    if isinstance(value, (str, bytes, bytearray)):
        letters = value[:MOST_LETTERS]
        numbers.extend(map(float, map(ord, letters) if isinstance(letters, str) else letters))
        return repr(value)
    return _object(value, numbers)


def _object(value: Any, numbers: list[float | None]) -> str:
    """What is none of the plain kinds: by its attributes, or what it holds."""
    kind = type(value).__name__
    if isinstance(value, Enum):
        return f"{kind} {value.name} {_read(value.value, numbers)}"
    if isinstance(value, np.timedelta64):
        ticks = "" if np.isnat(value) else _read(int(value.astype(np.int64)), numbers)
        return f"{value.dtype} {ticks}"
    if isinstance(value, Complex):
        return f"{kind} {_read([value.real, value.imag], numbers)}"
    if isinstance(value, (date, time, timedelta)) and value == value:  # not so if it is no time
        return f"{kind} {_read(_nanoseconds(value), numbers)}{_zone(value, numbers)}"
    if not (isinstance(value, FUNCTIONS) or id(value) in _inside):
        _inside.append(id(value))
        try:
            if own := _attributes(value):
                return f"{kind} {_read(own, numbers)}"
            if isinstance(value, Iterable):
                return f"{kind} {_read(list(islice(value, MOST_NUMBERS)), numbers)}"
        finally:
            _inside.pop()
    numbers.append(None)
    return ADDRESS.sub("", f"\x00{kind}\x00 {value!r}")


_inside: list[int] = []
"""The objects that are being read: one that holds itself is not read again."""


UNITS = {
    "days": 86_400 * 10**9,
    "hour": 3_600 * 10**9,
    "minute": 60 * 10**9,
    "second": 10**9,
    "seconds": 10**9,
    "microsecond": 1_000,
    "microseconds": 1_000,
    "nanosecond": 1,
    "nanoseconds": 1,
}
"""Parts of a moment or of a span of time, in nanoseconds."""


def _nanoseconds(moment: date | time | timedelta) -> int:
    """Those of a span, of a day, or since the first day of the calendar."""
    days = moment.toordinal() - 1 if isinstance(moment, date) else 0
    parts = (unit * int(getattr(moment, name, 0)) for name, unit in UNITS.items())
    return days * UNITS["days"] + sum(parts)


def _zone(moment: date | time | timedelta, numbers: list[float | None]) -> str:
    """How far the clock of its place is ahead, if that is said."""
    offset = moment.utcoffset() if isinstance(moment, (datetime, time)) else None
    return "" if offset is None else f" at {_read(_nanoseconds(offset), numbers)}"


def _attributes(value: Any) -> dict[str, Any]:
    """Those of the object itself, in its dictionary or in slots."""
    slots = [
        f"_{c.__name__.lstrip('_')}{name}" if name.startswith("__") else name
        for c in type(value).__mro__
        for name in _listed(getattr(c, "__slots__", ()))
    ]
    own = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**own, **getattr(value, "__dict__", {})}


def _listed(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _named(items: Sequence[tuple[Any, Any]], numbers: list[float | None]) -> str:
    """Values by their names, in the order of these; the order in which they came is seen too."""
    came = [str(name) for name, _ in items]
    order = sorted(range(len(items)), key=came.__getitem__)
    form = ", ".join([f"{came[k]}: {_read(items[k][1], numbers)}" for k in order])
    told = "" if came == sorted(came) else f" in the order {', '.join(came)}"
    return f"{{{form}}}{told}"


def _number(value: Any, numbers: list[float | None]) -> str:
    """The nearest float, and what that leaves: of an integer to the last bit."""
    nearest = _as_float(value)
    if nearest is None:  # in letters that have no limit
        numbers.append(None)
        return hex(value) if isinstance(value, int) else str(value)
    if not math.isfinite(nearest):
        numbers.append(None)
        return repr(nearest)
    numbers.append(nearest)
    if nearest == value:
        return "#"
    rest = value - type(value)(nearest)
    return f"# + {_number(rest if isinstance(rest, int) else float(rest), numbers)}"


def _as_float(value: Any) -> float | None:
    """The nearest; None for what is beyond all of them, or none."""
    try:
        found = float(value)
    except (OverflowError, ValueError):
        return None
    return found if math.isfinite(found) or value in (found, -found) or value != value else None


WHOLE = 2**53
"""Up to here floats hold every integer."""


def _fit_floats(values: NDArray[Any]) -> bool:
    """Whether floats hold all of them."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind in "iu" and size > 4:
        return not values.size or bool(values.min() >= -WHOLE and values.max() <= WHOLE)
    if kind == "f" and size > 8:
        with np.errstate(over="ignore"):
            return bool(np.array_equal(values.astype(float), values, equal_nan=True))
    return True


def _array(values: Array, numbers: list[float | None]) -> str:
    flat = values.ravel()
    finite = np.isfinite(flat)
    if finite.all():
        numbers.extend(flat.tolist())
        return f"array{values.shape}"
    numbers.extend(v if math.isfinite(v) else None for v in flat.tolist())
    return f"array{values.shape} not finite: {flat[~finite].tolist()} at {np.flatnonzero(~finite)}"
