"""Exact Bayes risk against the local bounds: what passes, and that too large a bound is seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minimax.core.bound import LowerBound, Optimum, Point, Terms
from minimax.problems.local_regression.lower import wx21_theorem_1
from verify.rates.judge import Verdict
from verify.rates.special import randomised_response_exact as exact
from verify.rates.special.randomised_response_exact import Tightness


def scaled(factor: float) -> LowerBound:
    bound = wx21_theorem_1()

    def formula(point: Point, found: Optimum) -> Terms:
        return Terms(None, factor * bound.formula(point, found).total)

    return replace(bound, formula=formula)


def test_randomised_response_is_within_the_stated_multiples() -> None:
    rows = exact.rows()
    assert len(rows) == 2 * len(exact.POINTS)
    assert {row.verdict for row in rows} == {Verdict.CONSISTENT}
    first = [row.ratio for row in rows if row.claim.endswith("Theorem 1")]
    assert 1.3 < min(first) < max(first) < 1.7


def test_every_control_breaks() -> None:
    assert all(control.broke for control in exact.controls())


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_a_wrong_constant_is_seen(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = (Tightness("Theorem 1", lambda: scaled(factor), 2.0),)
    monkeypatch.setattr(exact, "CHECKED", wrong)
    assert {row.verdict for row in exact.rows()} == {Verdict.VIOLATED}
