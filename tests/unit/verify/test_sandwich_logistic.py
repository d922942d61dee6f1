"""The sandwich of logistic regression: its cells, its controls, and the figure that they are in."""

from __future__ import annotations

import pytest

from minimax.core.privacy import Gaussian, Pure, ZeroConcentrated
from tests.studies import alone
from verify.rates.grid import PROFILES
from verify.rates.special import sandwich_logistic
from verify.rates.special.sandwich import sandwich_figure
from verify.rates.special.sandwich_cells import SandwichRow
from verify.rates.special.sandwich_logistic import CELLS, Cell, louder

SMALL = (Cell(ZeroConcentrated(1.5e-4), 40_000, 6, 1e-4, weight=2),)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_privacy_dominates_and_releasing_zero_is_worse(cell: Cell) -> None:
    lower = cell.problem.best_lower(cell.privacy).risk
    upper = cell.estimator(cell.privacy).risk_bound(cell.problem).value()
    assert 3 * 4 * cell.d / cell.n < lower < upper < cell.problem.zero_release_risk() / 5
    assert cell.before < lower


def test_rows_and_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandwich_logistic, "CELLS", SMALL)
    found = alone(sandwich_logistic.LogisticStudy(PROFILES["quick"]), 0, 1e-3)
    (row,) = found.cells
    assert isinstance(row, SandwichRow)
    assert row.upper is not None
    assert row.lower < row.measured.risk < row.upper.value
    assert "antipodal pairs" in row.lower_source
    assert [control.broke for control in found.controls] == [True, True]
    assert sandwich_figure(found.cells) is not None


def test_eight_times_the_noise() -> None:
    assert louder(Pure(1.0)) == Pure(0.125)
    assert louder(ZeroConcentrated(0.5)) == Gaussian(0.125)
