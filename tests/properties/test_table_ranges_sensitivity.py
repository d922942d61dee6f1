"""A search for ranges, followed by one on a neighbour that is made to release the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimators.core.purse import Purse
from estimators.core.witness import seen_by
from estimators.tables import ranges
from estimators.tables.records import NumberResponse, Records, source_of
from estimators.tables.schema import Numeric, schema_of
from minimax import Gaussian, Pure
from verify.privacy.whitebox import Call, Recorder, Replayer
from verify.strategies import Data, neighbours

ENTRIES = st.one_of(
    st.sampled_from([-3.0, -1.0, 0.0, 1e-300, 0.2, 1.0, 3.0]), st.floats(-2, 2, width=32)
)
BUDGETS = st.sampled_from([Gaussian(50.0), Gaussian(0.5), Pure(30.0), Pure(0.5)])
APART = "values far off, and apart"


def ranges_of(data: Data, privacy: Gaussian | Pure, witness: Recorder, *, centred: bool) -> object:
    source, first = source_of(*data)
    response = NumberResponse(Numeric("y", -1, 1), centred)
    records = Records(source, schema_of(first, (-1, 1), None, centred=centred), response)
    purse = Purse(privacy, np.random.default_rng(0), records.n)
    with seen_by(witness):
        return ranges.found_ranges(records, purse, 0.6, 0.4, centred=centred)


def followed(
    pair: tuple[Data, Data], privacy: Gaussian | Pure, *, centred: bool = True
) -> list[tuple[Call, Call]]:
    """The calls on both; another kind of call, or another number of them, raises."""
    recorder = Recorder()
    here = ranges_of(pair[0], privacy, recorder, centred=centred)
    replayer = Replayer(path=recorder.calls)
    there = ranges_of(pair[1], privacy, replayer, centred=centred)
    assert repr(here) == repr(there)  # all that is found comes after the releases
    return list(zip(recorder.calls, replayer.calls, strict=True))


def worst(calls: list[tuple[Call, Call]], about: str = "") -> float:
    """The largest movement, over what the ledger states."""
    return max(
        here.moved(there, entry) / entry.sensitivity
        for here, there in calls
        for entry in here.entries
        if about in entry.about
    )


@given(pair=neighbours(ENTRIES), privacy=BUDGETS, centred=st.booleans())
def test_no_neighbour_moves_a_count_by_more_than_is_stated(
    pair: tuple[Data, Data], privacy: Gaussian | Pure, centred: bool
) -> None:
    assert worst(followed(pair, privacy, centred=centred)) <= 1 + 1e-12


def crossing() -> tuple[Data, Data]:
    """A record of which every number is at the centre, or far beyond every size."""
    X, y = np.random.default_rng(0).uniform(-1e-3, 1e-3, (400, 3)), np.zeros(400)
    y[:] = X[:, 0]
    X[0], y[0] = 0.0, 0.0
    other_X, other_y = X.copy(), y.copy()
    other_X[0], other_y[0] = 1.0, -1.0
    return (X, y), (other_X, other_y)


@pytest.mark.parametrize("privacy", [Gaussian(50.0), Pure(50.0)], ids=str)
def test_counts_at_two_sizes_are_paid_for_twice(privacy: Gaussian | Pure) -> None:
    """One record moves the counts at both sizes, in every column: the bound is reached."""
    calls = followed(crossing(), privacy)
    assert worst(calls, APART) == pytest.approx(1.0)
    (entry,) = (e for call, _ in calls for e in call.entries if APART in e.about)
    numbers = 4
    assert entry.sensitivity == pytest.approx(
        1.0 if isinstance(privacy, Pure) else math.sqrt(2 * numbers)
    )


def test_noise_for_one_size_would_be_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Purse.cube_release

    def for_one_size(
        purse: Purse, value: np.ndarray, step: float, share: float, about: str
    ) -> np.ndarray:
        if about != APART:
            return whole(purse, value, step, share, about)
        return purse.release(value, step * math.sqrt(value.size / 2), share, about)

    monkeypatch.setattr(Purse, "cube_release", for_one_size)
    assert worst(followed(crossing(), Gaussian(50.0))) > 1.4
