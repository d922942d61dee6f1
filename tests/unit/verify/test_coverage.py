"""Coverage in verify.rates: verdicts, what a trial is, the figure."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from attacks.intervals import clopper_pearson
from estimators.core.intervals import (
    BallNoise,
    ErrorLaw,
    KnownVariance,
    MixedVariance,
    NoLaw,
    NormalNoise,
)
from estimators.mean import NoisyMean
from minimax.core.privacy import Pure, ZeroConcentrated
from tests.studies import alone
from verify.rates.grid import PROFILES
from verify.rates.judge import Verdict, coverage_reason
from verify.rates.measure import Measurement
from verify.rates.rows import Run
from verify.rates.sequential import LOOKS
from verify.rates.special import coverage
from verify.rates.special.coverage import (
    CELLS,
    KNOWN,
    TOLD,
    Cell,
    CoverageRow,
    Trials,
    fitted_trials,
    joined,
)
from verify.seeds import streams

SMALL = (
    Cell("mean", coverage.gaussian_records, NoisyMean, KNOWN, ZeroConcentrated(0.02), 300, 2),
    Cell("signs", coverage.signs, NoisyMean, {"R": 1.0}, Pure(0.2), 300, 2),
    Cell(
        "gradient",
        coverage.responses,
        coverage.GRADIENT,
        TOLD,
        ZeroConcentrated(0.5),
        300,
        2,
    ),
)


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (10, 10), (7, 10), (950, 1000)])
def test_the_interval_of_a_share_is_scipys(successes: int, trials: int) -> None:
    exact = stats.binomtest(successes, trials).proportion_ci(0.999, "exact")
    assert clopper_pearson(successes, trials, 0.001) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.88, 0.92, Verdict.CONSISTENT),
        (0.85, 0.88, Verdict.CONSISTENT),
        (0.80, 0.89, Verdict.INCONCLUSIVE),
        (0.91, 0.97, Verdict.INCONCLUSIVE),
        (0.80, 0.86, Verdict.VIOLATED),
        (0.94, 0.95, Verdict.VIOLATED),
    ],
)
def test_verdicts(low: float, high: float, verdict: Verdict) -> None:
    found = Measurement((low + high) / 2, low, high, 100, 0)
    assert coverage_reason(found, 0.9, 0.03).verdict is verdict


@pytest.mark.parametrize("cell", SMALL, ids=lambda cell: cell.name)
def test_one_law_for_all_is_that_of_every_fit(cell: Cell) -> None:
    """What is counted is what `confidence_interval` says of each fit."""
    found = fitted_trials(cell, 0, 20, 5)
    held = 0
    for rng in streams(5, 0, 20):
        drawn = cell.draw(cell.n, cell.d, rng)
        fit = cell.estimator(cell.privacy, random_state=rng, **cell.options).fit(*drawn.data)
        j = int(rng.integers(cell.d))
        low, high = fit.confidence_interval(0.5)
        held += bool(low[j] <= drawn.target[j] <= high[j])
    assert np.count_nonzero(found.held(0.5, noise=True)) == held
    assert 0 < held < 20
    assert np.count_nonzero(found.held(0.5, noise=False)) <= held


def test_rows_controls_and_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "CELLS", SMALL)
    monkeypatch.setattr(coverage, "TRIALS", {"quick": 400})
    found = alone(coverage.CoverageStudy(PROFILES["quick"]), 0, 1e-3)
    assert [row.level for row in found.coverage] == [0.9, 0.99] * 3
    assert all(row.verdict is not Verdict.VIOLATED for row in found.coverage)
    assert {row.as_json()["trials"] for row in found.coverage} <= {
        math.ceil(400 * look) for look in LOOKS
    }
    assert len(found.controls) == 6
    assert all(control.broke for control in found.controls)
    controls = [c for c in found.controls if isinstance(c, coverage.LevelControl)]
    assert coverage.coverage_figure(found.coverage, controls) is not None
    assert coverage.coverage_figure([], []) is None


def test_a_level_that_stays_open_fails_a_run() -> None:
    """Whatever the other level of the cell shows."""

    def row(level: float, tolerance: float, low: float, high: float) -> CoverageRow:
        found = Measurement((low + high) / 2, low, high, 100, 0)
        return CoverageRow("coverage/x", {"n": 1.0}, "E", "pure", level, tolerance, found)

    def ended(ninety_nine: CoverageRow) -> Run:
        both = [row(0.9, 0.03, 0.89, 0.91), ninety_nine]
        return Run(PROFILES["quick"], 0, 1e-8, [], [], [], [], coverage=both)

    held, open_ = ended(row(0.99, 0.01, 0.98, 0.995)), ended(row(0.99, 0.01, 0.965, 0.985))
    assert (held.exit_code, held.unseen) == (0, [])
    assert (open_.exit_code, open_.unseen) == (1, ["coverage/x at 99%"])
    assert open_.summary.inconclusive == 1


def test_cells_have_names_of_their_own() -> None:
    assert len({cell.claim for cell in CELLS}) == len(CELLS)
    assert coverage.SPECIAL.intervals == 4 * len(CELLS)


@pytest.mark.parametrize("mixed", [False, True])
def test_intervals_of_joined_laws_are_those_of_each(mixed: bool) -> None:
    """With noise and without; the control: a law whose noise was doubled has another interval."""
    rng, weights = np.random.default_rng(3), np.array([0.2, 0.5, 0.3])
    laws = []
    for values, factor, scale in zip(
        rng.uniform(0.1, 2, (6, 3)), rng.uniform(0.5, 2, 6), rng.uniform(0.1, 3, 6), strict=True
    ):
        sampling = MixedVariance(values, weights) if mixed else KnownVariance(np.array(values[0]))
        laws.append(ErrorLaw(sampling, NormalNoise(scale), np.array(factor), shrinkage=0.8))
    estimates = rng.standard_normal(6)
    for noise in (True, False):
        used = [law if noise else replace(law, noise=NormalNoise(0.0)) for law in laws]
        whole = joined(laws) if noise else replace(joined(laws), noise=NormalNoise(0.0))
        found = np.array(whole.interval(estimates, 0.9))
        each = [law.interval(estimates[k : k + 1], 0.9) for k, law in enumerate(used)]
        assert found == pytest.approx(np.array(each).reshape(6, 2).T, rel=1e-9)
    louder = [replace(law, noise=NormalNoise(2 * law.noise.deviation)) for law in laws]
    wider = np.array(joined(louder).interval(estimates, 0.9))
    assert np.all(wider[1] > 1.001 * np.array(joined(laws).interval(estimates, 0.9))[1])


def test_laws_that_differ_in_kind_are_not_joined() -> None:
    known = ErrorLaw(KnownVariance(np.array(1.0)), NormalNoise(1.0))
    other = ErrorLaw(MixedVariance(np.ones(2), np.full(2, 0.5)), NormalNoise(1.0))
    for laws in ([known, other], [known, replace(known, bias=0.1)]):
        with pytest.raises(TypeError, match="cannot be joined"):
            joined(laws)


def test_a_fit_without_an_interval_holds_nothing() -> None:
    known = ErrorLaw(KnownVariance(np.array(1.0)), NormalNoise(1.0))
    found = Trials(np.zeros(3), np.zeros(3), [known, NoLaw("for a test"), known])
    assert found.held(0.9, noise=True).tolist() == [True, False, True]
    single = replace(known, noise=BallNoise((1.0,), 2), bias=0.1)  # of any kind
    assert Trials(np.zeros(1), np.zeros(1), [single]).held(0.9, noise=True).all()
    assert not Trials(np.zeros(2), np.zeros(2), [NoLaw("for a test")]).held(0.9, noise=True).any()


def test_what_is_clear_is_within_the_tolerance_and_not_twice() -> None:
    def is_clear(low: float, high: float) -> bool:
        found = Measurement((low + high) / 2, low, high, 100, 0)
        return CoverageRow("coverage/x", {"n": 1.0}, "E", "pure", 0.9, 0.03, found).is_clear

    assert is_clear(0.88, 0.92)
    assert not is_clear(0.86, 0.92)
    assert not is_clear(0.88, 0.94)
