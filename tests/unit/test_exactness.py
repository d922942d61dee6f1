"""Exact Bayes risk against the local bounds: what passes, and that too large a bound is seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minimax.bound import Bound
from minimax.core.bound import Parts, Point
from minimax.problems.local_regression.lower import wx21_theorem_1
from verify import exactness
from verify.exactness import Tightness


def scaled(factor: float) -> Bound:
    bound = wx21_theorem_1()

    def compute(point: Point) -> Parts:
        parts = bound.compute(point)
        return replace(parts, total=factor * parts.total)

    return replace(bound, compute=compute)


def test_randomised_response_is_within_the_stated_multiples() -> None:
    rows = exactness.rows()
    assert len(rows) == 2 * len(exactness.POINTS)
    assert {row["verdict"] for row in rows} == {"CONSISTENT"}
    first = [row["ratio"] for row in rows if row["claim"].endswith("Theorem 1")]
    assert 1.3 < min(first) < max(first) < 1.7


def test_every_control_breaks() -> None:
    assert all(control["broke"] for control in exactness.controls())


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_a_wrong_constant_is_seen(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = (Tightness("Theorem 1", lambda: scaled(factor), 2.0),)
    monkeypatch.setattr(exactness, "CHECKED", wrong)
    assert {row["verdict"] for row in exactness.rows()} == {"VIOLATED"}
