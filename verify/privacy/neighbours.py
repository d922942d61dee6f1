"""Neighbouring data sets on which a mechanism that is not private would show it.

What neighbours are is part of a claim. `replaced_records` are two data sets that differ in one
record, `replaced_labels` in one label, `query_answers` two vectors of answers to counting queries,
each of which one record may move, `histograms` counts of which one record moves two, or one if it
is added, and `two_values` what one user reports on. Mechanisms are asked about a few of each that
are as far apart, as lonely or as tied as the domain allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verify.privacy.outcomes import CannotAudit, Data

Array = NDArray[Any]
HUGE = (1e6, 1e300)
"""Records that only a clip holds, where any finite record is allowed."""
DEFAULT_RECORDS = 5
MOST_VALUES, MOST_OTHERS = 5, 20
"""Values that are paired with each other, and with one of these, where an entry is one of many."""
MOST_BINS = 8
"""Bins that have a turn to be moved."""
FEW_RECORDS = 6
"""Records that all have their turn."""


class Neighbours(NamedTuple):
    """Two neighbouring data sets, and what they are."""

    about: str
    first: Data
    second: Data

    @property
    def opposed(self) -> float:
        """Twice the share of numbers that rise, or that of those that fall, whichever is less."""
        sides = self.first, self.second
        if not all(isinstance(side, np.ndarray) and side.dtype.kind in "iuf" for side in sides):
            return 0.0
        if self.first.ndim != 1 or self.first.shape != self.second.shape or not len(self.first):
            return 0.0
        rise, fall = (float(np.mean(a < b)) for a, b in (sides, sides[::-1]))
        return 2 * min(rise, fall)


def given_pairs(pairs: Iterable[Any]) -> list[Neighbours]:
    """Pairs of one's own, named by their place; raises for what is none."""
    found = []
    for k, pair in enumerate(pairs):
        if isinstance(pair, Neighbours):
            found.append(pair)
        elif isinstance(pair, (tuple, list)) and len(pair) == 2:
            found.append(Neighbours(f"pair {k}", *pair))
        else:
            raise CannotAudit(f"neighbours[{k}] must be a pair (X, X'), got {pair!r}")
    if not found:
        raise CannotAudit("neighbours: no pair is given, nothing would be audited")
    return found


# --- Records --------------------------------------------------------------------------------------


class Domain(NamedTuple):
    """What a record may be: corners of a box, and a point inside."""

    low: Array
    high: Array
    middle: Array
    unbounded: bool


def domain_of(rows: Array, bounds: Any) -> Domain:
    """The box that bounds give, one (low, high) for all columns or for each; any record without."""
    d = rows.shape[1]
    if bounds is None:
        reach = np.maximum(np.abs(rows).max(axis=0, initial=0.0), 1.0)
        return Domain(-reach, reach, np.zeros(d), True)
    box = np.asarray(bounds, dtype=float)
    if box.shape not in {(2,), (d, 2)}:
        raise CannotAudit(
            f"bounds must be (low, high), or one such pair for each of {d} columns; got {bounds!r}"
        )
    low, high = (np.broadcast_to(part, d).copy() for part in (box[..., 0], box[..., 1]))
    if not (np.all(np.isfinite(box)) and np.all(low < high)):
        raise CannotAudit(f"bounds must be finite, each low below its high; got {bounds!r}")
    return Domain(low, high, (low + high) / 2, False)


def replaced_records(
    data: ArrayLike | tuple[Any, ...] | None = None,
    bounds: Any = None,
    responses: Any = None,
    values: Sequence[Any] | None = None,
) -> list[Neighbours]:
    """Data sets like `data` that differ in one record.

    Parameters
    ----------
    data : an example: n numbers, n rows, or (X, y); five numbers if not given
    bounds : (low, high) of a number, or of each column; None: any finite record is allowed
    responses : (low, high) of y, or the list of classes; None: any finite number
    values : all that an entry may be, instead of bounds
    """
    if isinstance(data, tuple):
        return _with_responses(data, bounds, responses)
    example = np.zeros(DEFAULT_RECORDS) if data is None else np.asarray(data)
    if values is None and example.dtype.kind not in "f":
        values = np.unique(example).tolist()
    if values is not None:
        return _named_values(example, values)
    rows = example.reshape(len(example), -1).astype(float)
    pairs = [*_row_pairs(rows, domain_of(rows, bounds))]
    shape = example.shape[1:]
    return [
        Neighbours(about, *(part.reshape(-1, *shape) for part in (first, second)))
        for about, first, second in pairs
    ]


def _row_pairs(rows: Array, domain: Domain) -> Iterator[tuple[str, Array, Array]]:
    """Pairs that differ in one row, of which every place has its turn as far as there are pairs: a
    mechanism may weigh its records by where they stand."""
    n, d = rows.shape
    low, high, middle, unbounded = domain
    ends = np.where(np.arange(n)[:, None] % 2, high, low)
    spread = low + (high - low) * np.linspace(0, 1, n)[:, None]
    given, second, third, fourth = _places(n, 4)
    yield "as given, one at either end", _put(rows, 0, low), _put(rows, 0, high)
    if n > 1:
        yield "as given, another at either end", _put(rows, given, low), _put(rows, given, high)
    yield "all at the low end, one at the high end", *_one_off(low, high, n, second)
    yield "all at the high end, one at the low end", *_one_off(high, low, n, third)
    yield "all in the middle, one at the high end", *_one_off(middle, high, n, fourth)
    yield "all low, the last at the high end", *_one_off(low, high, n, -1)
    yield "half at either end, one changes sides", ends, _put(ends, 0, high)
    yield "spread evenly, the lowest becomes the highest", spread, _put(spread, 0, high)
    if n > 1:
        yield "a single record, at either end", low[None], high[None]
        double = np.where(np.arange(n)[:, None] < 2, high, low)
        yield "a duplicate at the high end, or none", double, _put(double, 0, low)
    if d > 1:
        corner = np.where(np.arange(d) == 0, high, low)
        yield "one corner and the opposite one", *_one_off(corner, low + high - corner, n)
        turned = middle + (high - middle) * np.eye(d)[np.arange(n) % d]
        other = middle + (high - middle) * np.eye(d)[-1]
        yield "orthogonal rows", turned, _put(turned, 0, other)
    if unbounded:
        for size, at in zip(HUGE, (0, given), strict=True):
            yield f"all 0, one {size:g}", *_one_off(middle, np.full(d, size), n, at)
        here, there = (_one_off(middle, np.full(d, sign * HUGE[0]), n)[1] for sign in (-1, 1))
        yield "one huge record changes sign", here, there


def _places(n: int, count: int) -> list[int]:
    """Where records stand that have their turn: the middle one, then those on its two sides."""
    aside = [(k + 1) // 2 * (1 if k % 2 == 0 else -1) for k in range(min(n, count))]
    places = [(n - 1) // 2 + (away if n % 2 else -away) for away in aside]
    return [places[k % len(places)] for k in range(count)]


def _one_off(row: Array, other: Array, n: int, at: int = 0) -> tuple[Array, Array]:
    """n equal rows, and the same with another one."""
    base = np.tile(row, (n, 1)).astype(float)
    return base, _put(base, at, other)


def _put(rows: Array, at: Any, row: Any) -> Array:
    changed = rows.copy()
    changed[at] = row
    return changed


def _named_values(example: Array, values: Sequence[Any]) -> list[Neighbours]:
    """Records of which each entry is one of a few values."""
    few = _some(values)
    example = example.astype(np.result_type(example, np.asarray(list(values))))  # 0.5 is not 0
    n = len(example)
    changes = [*combinations(few, 2), *_unlike(values, few)]
    if len(few) == 2 and n <= FEW_RECORDS:
        changes *= n
    same = list(permutations(few, 2))
    turns = _places(n, len(changes) + len(same))
    found = [
        Neighbours(
            f"as given, record {at} {a!r} or {b!r}", _put(example, at, a), _put(example, at, b)
        )
        for at, (a, b) in zip(turns, changes, strict=False)
    ]
    for at, (here, there) in zip(turns[len(changes) :], same, strict=True):
        base = np.full_like(example, here)
        found.append(Neighbours(f"all {here!r}, one {there!r}", base, _put(base, at, there)))
    first = np.asarray(few, dtype=example.dtype)[np.arange(len(example)) % len(few)]
    mixed = np.broadcast_to(first.reshape(-1, *[1] * (example.ndim - 1)), example.shape).copy()
    found.append(Neighbours("all values in turn", mixed, _put(mixed, 0, few[-1])))
    return found


def _some(values: Sequence[Any]) -> list[Any]:
    known = list(values)
    if len(known) < 2:
        raise CannotAudit(f"values must hold two at least, got {values!r}: give all that may occur")
    return [known[k] for k in _places_of_some(known)]


def _places_of_some(known: Sequence[Any]) -> list[int]:
    """From one end to the other."""
    return np.linspace(0, len(known) - 1, min(len(known), MOST_VALUES)).astype(int).tolist()


def _unlike(values: Sequence[Any], few: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Pairs of the other values so that each has its turn, as far as there is room: one of many may
    be told where others are not."""
    known = list(values)
    others = [known[k] for k in range(len(known)) if k not in _places_of_some(known)]
    return [(value, few[k % len(few)]) for k, value in enumerate(others[:MOST_OTHERS])]


def _with_responses(data: tuple[Any, ...], bounds: Any, responses: Any) -> list[Neighbours]:
    """(X, y): the rows of `replaced_records`, with the farthest responses."""
    X, y = np.asarray(data[0], dtype=float), np.asarray(data[1])
    low, high = _ends(y, responses)
    found = []
    for k, (about, first, second) in enumerate(_row_pairs(X, domain_of(X, bounds))):
        n = len(first)
        base = np.full(n, low if k % 2 else high, dtype=y.dtype)
        if k == 0:
            base = y.copy()
        changed = np.flatnonzero(np.any(first != second, axis=1))[:1]
        here, there = _put(base, changed, low), _put(base, changed, high)
        ends = (there, here) if k % 4 > 1 else (here, there)
        found.append(Neighbours(f"{about}; y too", (first, ends[0]), (second, ends[1])))
        found.append(Neighbours(f"{about}; y stays", (first, base), (second, base.copy())))
    return [*found, *replaced_labels((X, y), responses)]


def replaced_labels(data: tuple[Any, ...], responses: Any = None) -> list[Neighbours]:
    """Data sets (X, y) that differ in one label; X is public."""
    X, y = np.asarray(data[0], dtype=float), np.asarray(data[1])
    low, high = _ends(y, responses)
    found = []
    for about, base, places in (
        ("labels as given", y, _tried_labels(X.reshape(len(y), -1))),
        ("all labels low", np.full_like(y, low), [0, len(y) - 1]),
        ("all labels high", np.full_like(y, high), [0, len(y) - 1]),
    ):
        for at in places:
            here, there = (X, _put(base, at, low)), (X, _put(base, at, high))
            found.append(Neighbours(f"{about}, that of record {at} at either end", here, there))
    return found


def _tried_labels(X: Array) -> list[int]:
    """The first, the last, the one of the longest row, which may move most; of a few, all."""
    n = len(X)
    if n <= FEW_RECORDS:
        return list(range(n))
    with np.errstate(over="ignore"):
        longest = {int(np.argmax(np.sum(np.abs(X) ** q, axis=1))) for q in (1, 2)}
    return sorted({0, n - 1, *longest})


def _ends(y: Array, responses: Any) -> tuple[Any, Any]:
    if responses is not None:
        known = list(responses)
        return known[0], known[-1]
    if y.dtype.kind != "f":
        classes = np.unique(y)
        return classes[0], classes[-1]
    return -HUGE[0], HUGE[0]


# --- Answers, counts, reports ---------------------------------------------------------------------


def query_answers(length: int = 5, base: float = 1.0, step: float = 1.0) -> list[Neighbours]:
    """Answers to counting queries, each of which a record may move by `step`, up or down.

    The patterns are those of Ding, Wang, Wang, Zhang, Kifer (2018), "Detecting violations of
    differential privacy", and some in which the answers are far apart.
    """
    half = np.arange(length) < length // 2
    first, ones = np.arange(length) == 0, np.ones(length)
    level = np.full(length, float(base))
    far = level + 4 * step * (np.arange(length) == length - 1)
    stairs = level + step * np.arange(length)
    moves = {
        "one above": step * first,
        "one below": -step * first,
        "one above, the rest below": step * np.where(first, 1.0, -1.0),
        "one below, the rest above": step * np.where(first, -1.0, 1.0),
        "half above, half below": step * np.where(half, 1.0, -1.0),
        "all above": step * ones,
        "all below": -step * ones,
        "the last above, the rest below": step * np.where(first[::-1], 1.0, -1.0),
    }
    found = [Neighbours(f"equal answers, {name}", level, level + m) for name, m in moves.items()]
    crossed = level + np.where(half, 0.0, -step)
    found.append(Neighbours("two halves change places", crossed, crossed[::-1].copy()))
    for name in ("one above, the rest below", "half above, half below", "all above"):
        found.append(Neighbours(f"one answer far above, {name}", far, far + moves[name]))
    for name in ("one below, the rest above", "all above"):
        found.append(Neighbours(f"answers like stairs, {name}", stairs, stairs + moves[name]))
    return found


def histograms(bins: int = 4, height: int = 2, *, added: bool = False) -> list[Neighbours]:
    """Counts of records in bins: one record moves to another bin, or is `added`."""
    bumped = np.eye(bins)[0]
    move = bumped if added else bumped - np.eye(bins)[-1]
    bases = {
        "empty but for one record": np.eye(bins)[-1],
        "equal counts": np.full(bins, float(height)),
        "all in the last bin": float(height * bins) * np.eye(bins)[-1],
        "counts like stairs": 1.0 + height * np.arange(bins),
    }
    found = [Neighbours(f"{name}, one more in the first", b, b + move) for name, b in bases.items()]
    equal = bases["equal counts"]
    moved = np.linspace(1, bins - 1, MOST_BINS).astype(int) if bins > 1 else np.empty(0, int)
    for j in np.unique(moved).tolist():
        bumped = np.eye(bins)[j] - (0 if added else np.eye(bins)[j - 1])
        found.append(Neighbours(f"equal counts, one more in bin {j}", equal, equal + bumped))
    return found


def two_values(example: Any, bounds: Any = None, values: Sequence[Any] | None = None) -> list[Any]:
    """Two records of one user of a local protocol: any two are neighbours."""
    if values is None and np.asarray(example).dtype.kind != "f":
        raise CannotAudit("values must be given: all that a user may report on")
    if values is not None:
        few = _some(values)
        pairs = [*combinations(few, 2), *_unlike(values, few)]
        return [Neighbours(f"{a!r} or {b!r}", a, b) for a, b in pairs]
    row = np.atleast_1d(np.asarray(example, dtype=float))
    low, high, middle, unbounded = domain_of(row[None], bounds)
    first = np.where(np.arange(len(row)) == 0, high, middle)
    ends = [("either end", low, high), ("the middle or the high end", middle, high)]
    ends += [("one axis, both ways", first, 2 * middle - first)] if len(row) > 1 else []
    ends += [
        (f"0 or {size:g}", middle, np.full_like(middle, size)) for size in HUGE[: unbounded * 2]
    ]
    scalar = np.ndim(example) == 0
    return [Neighbours(n, *((float(v[0]) if scalar else v) for v in pair)) for n, *pair in ends]
