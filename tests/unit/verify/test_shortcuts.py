"""What stands for records in trials is treated as they are, or nothing is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimators.core import base
from estimators.core.design import Design
from estimators.randomisers.labels import BinaryLabels
from verify.rates import main
from verify.rates.claims import all_claims
from verify.rates.grid import PROFILES, Cell, build
from verify.rates.shortcuts import UnlikeFits, check_shortcuts

GRID = build(all_claims(), PROFILES["quick"])


def cells_of(problem: str) -> list[Cell]:
    return [cell for cell in GRID.cells if cell.claim.name.startswith(problem)]


def test_all_of_the_grid_is_treated_alike() -> None:
    compared = check_shortcuts(GRID.cells, seed=3)
    assert len(compared) >= 15
    assert {("NoisyMean", "Sums"), ("OneShotThreshold", "Repeated")} <= compared
    assert {form for _, form in compared} == {"Sums", "Repeated", "Sorted", "Signs"}


def test_users_whose_part_depends_on_their_place() -> None:
    """Coordinates are asked about in turn, of records in the order of their rows and of counts."""
    point = {"n": 20_000.0, "p": 4.0, "C": 80.0, "epsilon": 10.0}
    claim = next(c for c in all_claims() if c.name == "local-regression/Theorem 1/pure")
    cell = replace(cells_of(claim.name)[0], claim=claim, point=point)
    for seed in range(3):
        assert ("OneShotThreshold", "Repeated") in check_shortcuts([cell], seed)


def halved(clipped: Callable[..., Any]) -> Callable[..., Any]:
    """Arrays alone are clipped to half the level."""

    def wrong(X: Any, low: Any, high: Any) -> Any:
        return (
            clipped(X, low, high)
            if not isinstance(X, np.ndarray)
            else clipped(X, low / 2, high / 2)
        )

    return wrong


def test_a_clip_of_arrays_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("estimators.mean.clipped_sum", halved(base.clipped_sum))
    with pytest.raises(UnlikeFits, match="NoisyMean gives another release for records than"):
        check_shortcuts(cells_of("bounded-mean/"), seed=0)


def test_rows_that_are_not_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    unmeasured = cached_property(lambda self: np.zeros(self.n))
    unmeasured.__set_name__(Design, "norms")
    monkeypatch.setattr(Design, "norms", unmeasured)
    with pytest.raises(UnlikeFits, match="Regression gives another release"):
        check_shortcuts(cells_of("regression/"), seed=0)


def test_labels_that_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    right = BinaryLabels.randomise

    def lost(self: Any, y: Any, rng: Any) -> Any:
        reports, entry = right(self, y, rng)
        return 0 * reports, entry

    monkeypatch.setattr(BinaryLabels, "randomise", lost)
    with pytest.raises(UnlikeFits, match="LabelHardThresholding"):
        check_shortcuts(cells_of("label-regression/"), seed=0)


def test_the_command_measures_nothing_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("estimators.mean.clipped_sum", halved(base.clipped_sum))
    assert main(["--only", "bounded-mean/tracing/zCDP", "--jobs", "1"]) == 1
    assert "records than for their sums" in capsys.readouterr().err
