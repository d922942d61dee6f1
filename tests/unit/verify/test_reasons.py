"""Verdicts say what happened: a broken bound, an exponent not matched, or too little seen."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from attacks.intervals import student_quantile
from verify.rates.claim import Ceiling
from verify.rates.grid import PROFILES
from verify.rates.judge import (
    Reason,
    Slope,
    Verdict,
    coverage_reason,
    fit_slope,
    level_reason,
    slope_reason,
    slope_shares,
)
from verify.rates.measure import Measurement
from verify.rates.rows import LevelControl, Row, Run, SlopeControl, SlopeRow
from verify.rates.tightness import INFLATION, NOT_TIGHT

POINT = {"n": 100.0}


def measured(low: float, high: float) -> Measurement:
    return Measurement((low + high) / 2, low, high, 100, 0)


@pytest.mark.parametrize(
    ("low", "high", "reason"),
    [
        (1.0, 1.9, Reason.BOUNDED),
        (0.5, 0.9, Reason.LOWER_BROKEN),
        (2.1, 2.2, Reason.UPPER_BROKEN),
        (0.5, 1.5, Reason.BELOW_UNSURE),
        (1.9, 2.5, Reason.ABOVE_UNSURE),
    ],
)
def test_reasons_of_levels(low: float, high: float, reason: Reason) -> None:
    assert level_reason(measured(low, high), 1.0, 2.0) is reason


@pytest.mark.parametrize(
    ("low", "high", "reason"),
    [
        (0.88, 0.92, Reason.COVERED),
        (0.8, 0.86, Reason.TOO_LITTLE),
        (0.94, 0.99, Reason.TOO_MUCH),
        (0.8, 0.95, Reason.COVERAGE_UNSURE),
    ],
)
def test_reasons_of_coverage(low: float, high: float, reason: Reason) -> None:
    assert coverage_reason(measured(low, high), 0.9, 0.03) is reason


def test_every_reason_has_the_verdict_of_its_words() -> None:
    verdicts = {reason: reason.verdict for reason in Reason}
    assert list(verdicts.values()).count(Verdict.CONSISTENT) == 3
    assert [r for r in Reason if r.verdict is Verdict.VIOLATED] == [
        Reason.LOWER_BROKEN,
        Reason.UPPER_BROKEN,
        Reason.NO_EXPONENT,
        Reason.TOO_LITTLE,
        Reason.TOO_MUCH,
    ]


# --- The control of an exponent -------------------------------------------------------------------


def fitted(exponent: float, half: float) -> SlopeRow:
    slope = Slope(exponent, exponent - half, exponent + half, 0.0)
    return SlopeRow("c", "privacy", "n", slope, -1.0, "L", ())


def test_an_exponent_one_off_by_chance_is_a_violation_and_no_failed_control() -> None:
    for exponent in (-2.0, 0.0, -2.3, 0.3):
        row = fitted(exponent, 0.1)
        assert row.reason is Reason.NO_EXPONENT
        assert SlopeControl(row).broke


def test_a_matched_exponent_has_a_control_that_breaks() -> None:
    row = fitted(-1.05, 0.1)
    assert row.reason is Reason.EXPONENT
    assert SlopeControl(row).broke
    assert SlopeControl(row).reason == "an exponent one off would be rejected, as it must be"


@pytest.mark.parametrize("exponent", [-1.0, -3.0, -0.4])
def test_a_control_that_cannot_tell_fails(exponent: float) -> None:
    control = SlopeControl(fitted(exponent, 0.75))
    assert not control.broke
    assert control.reason == control.as_json()["reason"]
    assert control.reason == "interval too wide to reject an exponent one off"


@pytest.mark.parametrize(("half", "broke"), [(0.05, True), (0.69, True), (0.71, False)])
def test_no_control_fails_by_where_the_exponent_happens_to_lie(half: float, broke: bool) -> None:
    rows = [fitted(hundredth / 100, half) for hundredth in range(-400, 401)]
    assert {SlopeControl(row).broke for row in rows} == {broke}


@pytest.mark.parametrize("below", [0.05, 0.3])
def test_a_control_looks_at_either_end(below: float) -> None:
    for low, high in ((below, 0.75), (0.75, below)):
        slope = Slope(-1.0, -1.0 - low, -1.0 + high, 0.0)
        assert not SlopeControl(SlopeRow("c", "privacy", "n", slope, -1.0, "L", ())).broke


def test_where_an_exponent_is_matched_the_data_reject_the_shifted_ones() -> None:
    """And where they do not, the check says that it does not know."""
    unsure = 0
    for tenth in range(-40, 41):
        for half in (0.05, 0.2, 0.4, 0.6):
            row = fitted(tenth / 10, half)
            shifted = [slope_reason(row.slope, x) is Reason.NO_EXPONENT for x in (0.0, -2.0)]
            assert all(shifted) or row.reason is not Reason.EXPONENT
            unsure += row.reason is Reason.EXPONENT_UNSURE and not all(shifted)
    assert unsure


# --- Controls of levels, and how tight a bound is -------------------------------------------------


def test_reasons_of_controls() -> None:
    def control(low: float, high: float, side: str) -> str:
        return LevelControl("c", "k", POINT, measured(low, high), side, 1.0).reason  # type: ignore[arg-type]

    assert control(0.5, 0.9, "lower") == "lower bound broken, as it must be"
    assert control(0.5, 1.1, "lower") == "interval too wide to see the lower bound broken"
    assert control(1.5, 1.9, "lower") == "lower bound kept, which it must not be"
    assert control(1.5, 1.9, "upper") == "upper bound broken, as it must be"
    assert control(0.9, 1.9, "upper") == "interval too wide to see the upper bound broken"
    assert control(0.5, 0.9, "upper") == "upper bound kept, which it must not be"


def row(claim: str, high: float, lower: float = 1.0) -> Row:
    upper = Ceiling(100.0, "U")
    found = measured(high / 2, high)
    return Row(claim, "mean", "privacy", POINT, "E", "pure", found, lower, "L", upper)


def test_a_bound_that_could_be_inflated_unseen_is_told() -> None:
    cells = [row("tight", 90.0), row("tight", 3.0), row("loose", 90.0), row("loose", 50.0)]
    run = Run(PROFILES["quick"], 0, 1e-8, cells, [], [], [])
    tight, loose = run.tightness
    assert (tight.noticed_from, tight.seen) == (3.0, True)
    assert (loose.noticed_from, loose.reason) == (50.0, NOT_TIGHT)
    assert run.summary.not_tight_enough == ["loose"]
    assert run.exit_code == 0  # it is told, and no failure
    assert run.as_json()["tightness"][1]["inflated"] == INFLATION
    assert [cell["noticed_from"] for cell in run.as_json()["cells"]] == [90.0, 3.0, 90.0, 50.0]


def test_the_factor_is_where_a_cell_begins_to_notice() -> None:
    cell = row("c", 3.0, lower=0.5)
    assert cell.noticed_from == 6.0
    for factor, broken in ((5.99, False), (6.01, True)):
        inflated = replace(cell, lower=0.5 * factor)
        assert (inflated.reason is Reason.LOWER_BROKEN) is broken
    assert row("c", 3.0, lower=0.0).noticed_from is None


def test_how_far_an_exponent_may_be_off() -> None:
    assert slope_reason(Slope(0.0, 0.28, 0.29, 0.0), 0.0) is Reason.EXPONENT
    assert slope_reason(Slope(0.0, 0.31, 0.32, 0.0), 0.0) is Reason.NO_EXPONENT


def test_an_exponent_does_not_depend_on_which_cells_are_known_best() -> None:
    """Of a risk that is no power: once weights by precision left out the cell that was known least,
    which then got no more trials either."""

    def fitted(*halves: float) -> tuple[float, list[float]]:
        risks = (24.6, 4.2, 1.3)
        cells = [
            Measurement(risk, risk * (1 - half), risk * (1 + half), 200, 0)
            for risk, half in zip(risks, halves, strict=True)
        ]
        x = [0.007, 0.014, 0.028]
        return fit_slope(x, cells, 1e-6).fitted, slope_shares(x, cells, 1e-6).tolist()

    alike, shares = fitted(0.05, 0.05, 0.05)
    assert alike == pytest.approx(-2.12, abs=0.01)
    assert shares == pytest.approx([0.5, 0, 0.5])
    rough, shares = fitted(0.3, 0.01, 0.02)
    assert rough == pytest.approx(alike)
    assert shares[0] > 0.99


@pytest.mark.parametrize("ends", [(0.6, 1.4), (0.1, 1.9)])
def test_an_exponent_holds_what_the_interval_of_an_end_holds(ends: tuple[float, float]) -> None:
    """Also its lower end, whose logarithm is farther away than that of the upper one."""
    x = [0.5, 1.0, 2.0]
    rough = Measurement(1.0, *ends, 200, 0)
    exact = Measurement(1.0, 1.0, 1.0, 200, 0)
    found = fit_slope(x, [rough, exact, exact], 1e-6)
    for end in ends:
        assert found.ci_low < -math.log(end) / math.log(4) < found.ci_high
    assert found.ci_high < -math.log(ends[0] / 2) / math.log(4)


def test_correlations_that_do_not_fit_together_make_no_interval_vanish() -> None:
    """Estimated from other trials each, they may state a variance below 0."""
    x = [0.5, 1.0, 2.0]
    cells = [Measurement(1.0, 0.9, 1.1, 200, 0) for _ in x]
    alone = fit_slope(x, cells, 1e-6)
    impossible = np.array([[1.0, -0.9, 2.0], [-0.9, 1.0, 0.9], [2.0, 0.9, 1.0]])
    found = fit_slope(x, cells, 1e-6, 1, impossible)
    tenth = math.sqrt(0.1) * (alone.ci_high - alone.ci_low)
    assert found.ci_high - found.ci_low == pytest.approx(tenth)
    same = fit_slope(x, cells, 1e-6, 1, np.ones((3, 3)))  # of which little would be left either
    assert same.ci_high - same.ci_low == pytest.approx(tenth, rel=0.05)


def test_risks_that_are_off_together_lead_to_an_end_that_is_held() -> None:
    """Both at the lower ends of intervals of other lengths, or both at the upper ones."""
    x, alpha = [1.0, 10.0], 0.01
    cells = [Measurement(1.0, 1 - half, 1 + half, 200, 0) for half in (0.3, 0.6)]
    found = fit_slope(x, cells, alpha, 1, np.ones((2, 2)))
    for sign in (-1, 1):
        ends = [math.log1p(sign * half) for half in (0.3, 0.6)]
        exponent = (ends[1] - ends[0]) / math.log(10)
        assert found.ci_low < exponent < found.ci_high


def test_an_exponent_has_the_freedom_of_the_fewest_trials_that_count() -> None:
    """And the ends of the cells' intervals at its own level: of the middle one nothing counts."""
    x, alpha, states = [0.5, 1.0, 2.0], 1e-4, 1000
    few, many = (Measurement(1.0, 0.9, 1.1, n, 0) for n in (40, 400))

    def width(*cells: Measurement) -> float:
        found = fit_slope(x, list(cells), alpha, states)
        return found.ci_high - found.ci_low

    far = 0.1 * student_quantile(40, alpha / states) / student_quantile(40, alpha)
    expected = -math.sqrt(2) * math.log1p(-far) / math.log(2)
    assert width(few, few, few) == pytest.approx(expected)
    assert width(many, few, many) == pytest.approx(width(many, many, many))
    assert width(few, many, few) == pytest.approx(expected)
    assert width(many, many, many) < width(many, many, few) * 0.97


def test_a_risk_whose_interval_reaches_0_has_no_exponent() -> None:
    x, usual = [0.5, 1.0, 2.0], Measurement(1.0, 0.9, 1.1, 200, 0)
    for low, risk in ((0.0, 0.5), (0.0, 0.0)):
        cells = [Measurement(risk, low, 1.0, 200, 0), usual, usual]
        assert slope_reason(fit_slope(x, cells, 1e-6), 0.0) is Reason.EXPONENT_UNSURE
        assert slope_shares(x, cells, 1e-6)[0] > 0.99
    middle = [usual, Measurement(1.0, 0.0, 2.0, 200, 0), usual]
    assert slope_reason(fit_slope(x, middle, 1e-6), 0.0) is Reason.EXPONENT
