"""What a release is read as, and the pairs on which it is asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from minimax.core.privacy import Pure, ZeroConcentrated
from verify.privacy import CannotAudit, audit, histograms, query_answers, replaced_records
from verify.privacy.neighbours import Neighbours, replaced_labels
from verify.privacy.outcomes import Outcome, outcome_of
from verify.privacy.stages import MOST_KEPT, Asked
from verify.privacy.tables import Layout, Pair

Array = np.ndarray
AHEAD = timezone(timedelta(hours=1))


class Slotted:
    """An object without a dictionary of its own, one of whose names is its own."""

    __slots__ = ("__hidden", "kept")

    def __init__(self) -> None:
        self.kept, self.__hidden = 1.0, 2.0


class Turned(Enum):
    LEFT = 1
    RIGHT = 2


class Held:
    """An object that holds itself."""

    def __init__(self) -> None:
        self.kept, self.myself = 1.0, self


@pytest.mark.parametrize(
    ("release", "numbers", "form"),
    [
        ({"b": 1.0, "a": 2}, (2.0, 1.0), "{a: #, b: #} in the order b, a"),
        ({"a": 2, "b": 1.0}, (2.0, 1.0), "{a: #, b: #}"),
        (pd.Series([1.0, 2.0], index=["y", "x"]), (2.0, 1.0), "{x: #, y: #} in the order y, x"),
        (pd.DataFrame({"t": [0.5, 1.0]}), (0.5, 1.0), "{t: {0: #, 1: #}}"),
        (pd.DataFrame(), (), "{}"),
        (pd.Index([3, 1]), (3.0, 1.0), "[#, #]"),
        (np.array(["a"]), (97.0,), "['a']"),
        (map(float, [1, 2]), (1.0, 2.0), "iterator [#, #]"),
        (Fraction(1, 4), (0.25,), "#"),
        (Decimal("1.5"), (1.5,), "#"),
        (1 + 2j, (1.0, 2.0), "complex [#, #]"),
        (b"ab", (97.0, 98.0), "b'ab'"),
        (deque([1, 2]), (1.0, 2.0), "deque [#, #]"),
        (np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), (1.0, 2.0), "[[#, #]]"),
        (timedelta(minutes=1), (60e9,), "timedelta #"),
        (datetime(1, 1, 2, 0, 0, 1), (86401e9,), "datetime #"),
        (datetime(1, 1, 2, tzinfo=AHEAD), (86400e9, 3600e9), "datetime # at #"),
        (date(1, 1, 2), (86400e9,), "date #"),
        (time(0, 0, 1, 5), (1e9 + 5e3,), "time #"),
        (2**53 + 1, (2.0**53, 1.0), "# + #"),
        pytest.param(10**5000, (None,), hex(10**5000), id="in letters, of which there is no limit"),
        (np.float64("inf"), (None,), "inf"),
        (Decimal("NaN"), (None,), "nan"),
        (Decimal("1e999"), (None,), "1E+999"),
        (np.timedelta64(3, "s"), (3.0,), "timedelta64[s] #"),
        (np.clongdouble(1 + 2j), (1.0, 2.0), "clongdouble [#, #]"),
        ([2**53 + 1, 1], (2.0**53, 1.0, 1.0), "[# + #, #]"),
        (np.array([2**53 + 1]), (2.0**53, 1.0), "[# + #]"),
        (np.uint64(2**64 - 1), (2.0**64, -1.0), "# + #"),
        (np.array([2**64 - 1, 2**53], dtype=np.uint64), (2.0**64, -1.0, 2.0**53), "[# + #, #]"),
        (np.array([2**53]), (2.0**53,), "array(1,)"),
        (np.float32(0.5), (0.5,), "#"),
        (Slotted(), (2.0, 1.0), "Slotted {_Slotted__hidden: #, kept: #}"),
        (Turned.RIGHT, (2.0,), "Turned RIGHT #"),
        (pd.Timestamp("0001-01-02 00:00:01.5"), (86401.5e9,), "Timestamp #"),
    ],
)
def test_containers_are_read_in_full(release: Any, numbers: tuple[float], form: str) -> None:
    assert outcome_of(release) == Outcome(numbers, form)


def test_objects_that_hold_themselves_and_moments_of_nanoseconds() -> None:
    held = outcome_of(Held())
    assert held == outcome_of(Held())
    assert held.numbers == (1.0, None)
    moment = outcome_of(pd.to_datetime("2020-01-01 01:02:03.123456789"))
    assert sum(map(int, moment.numbers)) == 63_713_437_323_123_456_789
    assert outcome_of("unread unread mails").form == "'unread unread mails'"
    assert {1.0, 2.0} <= set(outcome_of(np.poly1d([1, 2])).numbers)  # it may be called, too


def in_nanoseconds(told: float) -> pd.Timestamp:
    return pd.Timestamp("2020-01-01") + pd.Timedelta(round(told), "ns")


def in_another_zone(told: float) -> datetime:
    return datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=round(told))))


def beyond_floats(told: float) -> int:
    return 2**60 + round(told)


@pytest.mark.parametrize("shown", [in_nanoseconds, in_another_zone, beyond_floats])
def test_what_is_told_in_the_last_digits_is_seen(shown: Callable[[float], Any]) -> None:
    """The exact sum refutes; the control has noise that covers it."""
    asked = {"values": [0.0, 1.0], "data": np.zeros(3), "releases": 4_000}
    assert audit(lambda x, rng: shown(x.sum()), Pure(1.0), **asked).refuted

    def covered(x: Array, rng: np.random.Generator) -> Any:
        return shown(np.clip(x.sum() + rng.laplace(), -5, 5))

    assert not audit(covered, Pure(1.0), **asked).refuted


def test_where_an_object_is_in_memory_is_not_seen() -> None:
    assert outcome_of(object()) == outcome_of(object())


def test_what_is_not_read_is_said() -> None:
    def hidden(x: Array, rng: np.random.Generator) -> Any:
        noisy = x.sum() + rng.laplace(scale=0.2)
        return lambda: noisy

    found = audit(hidden, Pure(1.0), values=[0, 1], releases=1_000)
    assert any("cannot be looked into (function)" in notice for notice in found.notices)
    told = audit(lambda x, rng: hidden(x, rng)(), Pure(1.0), values=[0, 1], releases=1_000)
    assert not any("cannot be looked into" in notice for notice in told.notices)


def by_size(counts: Array, rng: np.random.Generator) -> dict[str, float]:
    """The exact order is told by the names."""
    return {f"bin {j}": counts[j] + rng.laplace(scale=2.0) for j in np.argsort(-counts)}


def by_name(counts: Array, rng: np.random.Generator) -> dict[str, float]:
    return {f"bin {j}": count + rng.laplace(scale=2.0) for j, count in enumerate(counts)}


def lazily(answers: Array, rng: np.random.Generator, scale: float) -> Iterator[float]:
    yield from (answer + rng.laplace(scale=scale) for answer in answers)


def test_the_order_of_names_tells_what_it_tells() -> None:
    asked = {"neighbours": histograms(3), "releases": 20_000}
    assert audit(by_size, Pure(1.0), **asked).refuted
    assert not audit(by_name, Pure(1.0), **asked).refuted


def test_what_is_drawn_only_when_it_is_read() -> None:
    asked = {"neighbours": query_answers(2), "releases": 20_000}
    assert audit(lambda x, rng: lazily(x, rng, 1.0), Pure(1.0), **asked).refuted
    assert not audit(lambda x, rng: lazily(x, rng, 2.0), Pure(1.0), **asked).refuted


def test_the_label_of_the_longest_row_is_replaced_too() -> None:
    """A sum of rows by their labels, with noise for the first and the last row."""
    X = np.array([[0.1, 0.1], [0.9, 0.9], [0.2, 0.0]])

    def summed(data: tuple[Array, Array], rng: np.random.Generator, longest: float) -> Array:
        rows, labels = data
        return np.clip(labels, 0, 1) @ rows + rng.laplace(scale=longest, size=2)

    assert any("record 1" in pair.about for pair in replaced_labels((X, np.zeros(3)), (0, 1)))
    asked = {"data": (X, np.zeros(3)), "responses": (0.0, 1.0), "releases": 20_000}
    claim = Pure(1.0, scope="label")
    assert audit(lambda data, rng: summed(data, rng, 0.2), claim, **asked).refuted
    assert not audit(lambda data, rng: summed(data, rng, 1.8), claim, **asked).refuted


WEIGHTS = np.array([0.1, 0.1, 1.0, 0.1, 0.1])


@pytest.mark.parametrize(
    "asked",
    [
        {"data": np.array([0.2, 0.9, 0.5, 0.7, 0.1])},
        {"data": np.array([0.2, 0.9, 0.5, 0.7, 0.1]), "bounds": (0, 1)},
        {"data": [0, 1, 1, 0, 1], "values": [0, 1]},
    ],
)
def test_a_record_in_the_middle_has_its_turn(asked: dict[str, Any]) -> None:
    def weighted(x: Any, rng: np.random.Generator, scale: float) -> float:
        records = np.clip(np.asarray(x, dtype=float), 0, 1)
        return float(WEIGHTS[: len(records)] @ records + rng.laplace(scale=scale))

    few = {**asked, "releases": 30_000}
    assert audit(lambda x, rng: weighted(x, rng, 0.2), Pure(1.0), **few).refuted
    assert not audit(lambda x, rng: weighted(x, rng, 1.0), Pure(1.0), **few).refuted


@pytest.mark.parametrize("added", [True, False])
@pytest.mark.parametrize("weak", range(4))
def test_every_bin_has_its_turn(weak: int, added: bool) -> None:
    def noisy(counts: Array, rng: np.random.Generator, factor: float) -> Array:
        scale = np.where(np.arange(4) == weak, factor, 1.0) * (1 if added else 2)
        return counts + scale * rng.laplace(size=4)

    asked = {"neighbours": histograms(4, added=added), "releases": 30_000}
    assert audit(lambda x, rng: noisy(x, rng, 0.2), Pure(1.0), **asked).refuted
    assert not audit(lambda x, rng: noisy(x, rng, 1.0), Pure(1.0), **asked).refuted


def test_of_many_values_each_has_its_turn() -> None:
    def told(value: int, rng: np.random.Generator) -> int:
        return 13 if value == 13 else int(rng.integers(13))

    found = audit(told, Pure(1.0, scope="local"), values=range(20), releases=20_000)
    assert found.refuted
    assert "13" in found.search.best.pair


def test_values_may_be_arrays() -> None:
    corners = [np.array([0, 1]), np.array([1, 0])]
    claim = Pure(1.0, scope="local")
    told = audit(lambda x, rng: x, claim, values=corners, releases=1_000)
    assert told.refuted


def test_every_place_has_its_turn_where_entries_are_one_of_three() -> None:
    pairs = replaced_records([0, 1, 2, 1, 0], values=[0, 1, 2])
    places = {int(np.flatnonzero(pair.first != pair.second)[0]) for pair in pairs}
    assert places == set(range(5))


def test_a_preference_for_opposed_answers_does_not_outvote_what_was_seen() -> None:
    """Of a sum nothing shows on answers that are opposed; and zCDP promises no deviations."""

    def summed(x: Array, rng: np.random.Generator, sigma: float) -> float:
        return float(x.sum() + sigma * rng.normal())

    asked = {"neighbours": query_answers(6), "releases": 12_000}
    assert audit(lambda x, rng: summed(x, rng, 4.2), ZeroConcentrated(0.3), **asked).refuted
    assert not audit(lambda x, rng: summed(x, rng, 8.0), ZeroConcentrated(0.3), **asked).refuted


def test_a_warning_is_told_in_words() -> None:
    def shortened(x: Array, rng: np.random.Generator) -> float:
        return float(np.sum(x / np.maximum(1, np.sqrt(x**2))) + rng.laplace(scale=2.0))

    found = audit(shortened, Pure(1.0), data=np.zeros(3), releases=20_000)
    assert found.refuted
    assert "overflow" in found.search.best.event


def test_pairs_whose_answers_are_opposed() -> None:
    found = {pair.about: pair.opposed for pair in query_answers(10)}
    assert found["equal answers, half above, half below"] == 1
    assert found["equal answers, one above, the rest below"] == pytest.approx(0.2)
    assert found["equal answers, all above"] == found["equal answers, one above"] == 0
    for other in (([1], [2]), (np.zeros(2), np.zeros(3)), (np.array(["a"]), np.array(["b"]))):
        assert Neighbours("", *other).opposed == 0
    small = np.array([1, 2], dtype=np.uint8)
    assert Neighbours("", small, small[::-1]).opposed == 1
    assert Neighbours("", small, np.array(["a", "b"])).opposed == 0


def test_of_many_releases_only_counts_are_remembered() -> None:
    asked = Asked(query_answers(1)[0], np.random.default_rng(0))
    part = Layout(1).pair(([Outcome((0.0,), "#")] * 5000,) * 2)
    for _ in range(3):
        for _ in range(30):
            asked.take(Pair(*part))
        asked.next_stage()
    assert asked.drawn == 90 * 5000
    assert sum(len(pair.first) for pair in asked.seen) == MOST_KEPT


def test_a_mechanism_that_hardly_ever_gives_out_anything_returns_something() -> None:
    def seldom(x: Array, rng: np.random.Generator) -> float | None:
        return float(x[0]) if rng.random() < 0.002 else None

    asked = {"values": [0.0, 1.0], "data": np.zeros(3), "releases": 3_000}
    assert audit(seldom, Pure(1.0), **asked).search.releases > 0
    calls = 0

    def never(x: Array, rng: np.random.Generator) -> None:
        nonlocal calls
        calls += 1

    with pytest.raises(CannotAudit, match="returns nothing"):
        audit(never, Pure(1.0), **asked)
    assert 1_000 < calls <= 3_000
