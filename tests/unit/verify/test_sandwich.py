"""The sandwich: which lower bounds count in a cell, what is measured, and the figure."""

from __future__ import annotations

import numpy as np
import pytest

from minimax.core.privacy import Pure, ZeroConcentrated
from minimax.methods.priors import SignInstance
from minimax.problems.mean.problem import MeanProblem
from tests.studies import alone
from verify.rates.claim import Ceiling
from verify.rates.grid import PROFILES
from verify.rates.measure import Measurement
from verify.rates.special import sandwich
from verify.rates.special.sandwich_cells import (
    BOUNDED,
    CELLS,
    GAUSSIAN,
    SPARSE,
    Cell,
    certified_rows,
    measured_rows,
)

SMALL = (
    Cell(GAUSSIAN, ZeroConcentrated(0.05), 1000, 100, 0.1),
    Cell(BOUNDED, ZeroConcentrated(0.05), 1000, 100, 0.1),
    Cell(SPARSE, ZeroConcentrated(5e-5), 50_000, 10, 1e-7, sigma=0.05, s=4),
)


def test_rows_are_for_the_class_and_the_loss_of_the_cell() -> None:
    cell = Cell(GAUSSIAN, Pure(0.2), 20_000, 200, 0.01)
    gaussian = certified_rows(cell)
    assert not gaussian["packing: sub-Gaussian data"].usual  # its records are not Gaussian
    assert gaussian["tracing: Gaussian data"].usual
    best = MeanProblem.at(cell.point).best_lower(cell.privacy)
    assert measured_rows(cell)[0].value == best.risk
    names = [row.bound.name for row in measured_rows(cell)]
    assert names == [best.name, "tracing: Gaussian data, shifted score"]
    assert best.name == "packing: sub-Gaussian data"
    bounded = certified_rows(Cell(BOUNDED, Pure(0.2), 20_000, 200, 0.01))
    assert "packing: bounded data" in bounded
    assert "tracing: in-sample mean" not in bounded  # another loss


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_privacy_dominates_and_releasing_zero_is_worse(cell: Cell) -> None:
    problem = cell.kind.problem(cell.point)
    statistics = cell.sigma**2 * (cell.s or cell.d) / cell.n
    if cell.kind is SPARSE:  # nothing is proved there for the estimator that is measured
        lower = max(row.value for row in certified_rows(cell).values())
        assert 4 * statistics < lower < problem.zero_release_risk() / 5
        return
    proved = cell.kind.estimator_at(cell.privacy, cell.point).risk_bound(problem)
    assert 5 * statistics < proved.value() < problem.zero_release_risk() / 5
    assert max(row.value for row in certified_rows(cell).values()) < proved.value()


def test_the_class_has_a_row_with_the_larger_risk() -> None:
    """The upper bound is for Gaussian records: under the packing's prior it says nothing."""
    cell = Cell(GAUSSIAN, Pure(0.2), 20_000, 200, 0.01, before_in_class=0.16)
    packing, tracing = measured_rows(cell)
    ceiling = Ceiling(7.0, "a theorem")
    for larger in (packing, tracing):
        risks = [9.0 if row is larger else 8.0 for row in (packing, tracing)]
        found = [Measurement(risk, risk, risk, 2, 0) for risk in risks]
        named, whole = sandwich.found_rows(cell, [packing, tracing], ceiling, found)
        assert named.measured.risk == (9.0 if larger is tracing else 8.0)
        assert named.lower == tracing.value
        assert named.upper is ceiling
        assert whole.claim == "sandwich/sub-Gaussian mean, pure, n = 20,000, d = 200"
        assert whole.measured.risk == 9.0
        assert whole.lower == packing.value > named.lower
        assert whole.lower_source.endswith(f"; risk under the prior of {larger.bound.name}")
        assert whole.upper is None
        assert (named.before, whole.before) == (0.01, 0.16)
        assert sandwich.sandwich_figure([named, whole]) is not None
    assert len(sandwich.found_rows(SMALL[0], measured_rows(SMALL[0]), None, found[:1])) == 1


def test_counts_have_the_law_of_the_records_mean() -> None:
    instance = SignInstance(np.array([-0.5, 0.0, 0.9]), 2.0)
    rng = np.random.default_rng(0)
    drawn = np.array([sandwich._average(instance, 50, rng) for _ in range(4000)])
    records = np.array([instance.sample(50, rng).mean(axis=0) for _ in range(4000)])
    for found in (drawn, records):
        assert found.mean(axis=0) == pytest.approx(instance.target, abs=0.03)
        spread = (4 - instance.target**2) / 50
        assert found.var(axis=0) == pytest.approx(spread, rel=0.12)


def test_rows_controls_and_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandwich, "CELLS", SMALL)
    found = alone(sandwich.SandwichStudy(PROFILES["quick"]), 0, 1e-3)
    names = ["Gaussian mean", "bounded mean", "sparse regression"]
    assert [row.problem for row in found.cells] == names
    assert [row.upper is None for row in found.cells] == [False, False, True]
    for row in found.cells:
        assert row.lower < row.measured.risk
        assert row.before <= row.lower
        assert row.as_json()["lower_before"] == row.before
    assert len(found.controls) == 5
    assert all(control.broke for control in found.controls)
    assert sandwich.sandwich_figure(found.cells) is not None
    assert sandwich.sandwich_figure([]) is None
