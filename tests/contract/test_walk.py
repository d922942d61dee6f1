"""Controls of the walk: bounds that are wrong on purpose must be caught."""

from __future__ import annotations

import warnings

from minimax.core.bound import LowerBound, Point, Terms, UpperBound
from minimax.core.symbolic import LETTERS, Number, library
from tests.contract.walk import ALL_POINTS, POINTS, corners_first, points, walk


def _lower(rate, **changes) -> LowerBound:
    settings = {
        "name": "control",
        "source": "none",
        "parameters": ("n", "epsilon"),
        "formula": lambda point, found: Terms(None, rate(point)),
        "expression": lambda: _stable(LETTERS) / 2,
    }
    return LowerBound(**{**settings, **changes})


def _stable(p: Point) -> Number:
    return library(p["epsilon"]).expm1(-p["epsilon"]) ** 2 / p["n"]


def _cancelling(p: Point, share: float = 1.0) -> Number:
    return (1 - library(p["epsilon"]).exp(-share * p["epsilon"])) ** 2 / p["n"]


def test_a_sound_bound_passes() -> None:
    seen = walk(_lower(_stable))
    assert not seen.faults
    assert seen.evaluated == seen.compared == POINTS
    assert -1e-8 < seen.excess < 0


def test_cancellation_is_caught() -> None:
    wrong = _lower(_cancelling)
    seen = walk(wrong, points(wrong, ALL_POINTS))
    assert any("beyond the exact" in fault for fault in seen.faults)
    assert seen.excess > 1e-9


def test_a_part_of_the_points_sees_cancellation_that_is_not_rare() -> None:
    wrong = _lower(lambda p: _cancelling(p, 1e-4), expression=lambda: _stable(LETTERS) / 1e9)
    assert any("beyond the exact" in fault for fault in walk(wrong).faults)


def test_a_value_thrown_away_is_caught() -> None:
    seen = walk(_lower(_stable, rounding=1e-2))
    assert not seen.faults  # a stated rounding is not a fault, but it is seen
    assert seen.vagueness > 9e-3
    float_half = _lower(lambda p: _stable(p) * (0.5 if isinstance(p["n"], float) else 1))
    assert any("far inside" in fault for fault in walk(float_half).faults)


def test_a_closed_form_on_the_wrong_side_is_caught() -> None:
    seen = walk(_lower(_stable, expression=lambda: _stable(LETTERS) * 2))
    assert len(seen.faults) >= 0.96 * POINTS


def test_exceptions_and_warnings_are_caught() -> None:
    def warn(p: Point) -> Number:
        warnings.warn("on purpose", RuntimeWarning, stacklevel=1)
        return _stable(p)

    assert all("RuntimeWarning" in fault for fault in walk(_lower(warn)).faults)
    assert len(walk(_lower(warn)).faults) == POINTS
    assert len(walk(_lower(lambda p: 1 / 0)).faults) == POINTS


def test_an_upper_bound_may_not_fall_below() -> None:
    upper = UpperBound(
        name="control",
        source="none",
        parameters=("n", "epsilon"),
        formula=lambda point, found: Terms(None, _cancelling(point)),
        expression=lambda: _stable(LETTERS) * 2,
    )
    assert any("beyond the exact" in fault for fault in walk(upper).faults)


def test_the_points_reach_the_edges() -> None:
    places = points(_lower(_stable), ALL_POINTS)
    assert len(places) == 300
    assert {place["n"] for place in places} >= {1, 2, 3, 4, 1e15}
    assert {place["epsilon"] for place in places} >= {1e-8, 700}


def test_a_part_of_the_points_has_the_corners() -> None:
    whole, some = points(_lower(_stable), ALL_POINTS), points(_lower(_stable), 4)
    assert {place["n"] for place in some} >= {1, 1e15}
    assert {place["epsilon"] for place in some} >= {1e-8, 700}
    assert some == whole[:4]
    assert sorted(map(id, corners_first(whole))) == sorted(map(id, whole))
