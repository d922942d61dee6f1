"""The set-ups of CWZ19's panels: what is drawn, what is fitted, and that every reading can be
judged in every profile."""

from __future__ import annotations

import math

import numpy as np
import pytest

from estimators import compose
from minimax.core.privacy import ZeroConcentrated
from verify.figures.catalogue import all_panels
from verify.figures.curves import Curve
from verify.figures.panel import PROFILES, Panel
from verify.figures.panels import (
    cwz19_housing,
    cwz19_means,
    cwz19_mice,
    cwz19_regression,
    cwz19_setups,
    cwz19_sparse_means,
    cwz19_sparse_regression,
)
from verify.figures.readings import Verdict

PANELS = {name: panel for name, panel in all_panels().items() if name.startswith("CWZ19:")}
FIGURES = {
    "1": ("a", "b", "c", "d", "d'"),
    "2": ("a", "b", "b'"),
    "3": ("a", "b", "c", "d", "d'"),
    "4": ("a", "b"),
}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_every_panel_is_there() -> None:
    wanted = {f"CWZ19:Figure {k}({letter})" for k, found in FIGURES.items() for letter in found}
    assert set(PANELS) == wanted


# --- draws ----------------------------------------------------------------------------------------


def is_normal_about(sample: cwz19_setups.Means) -> bool:
    """Whether averages and variances are those of N(truth, I), within 6 standard errors."""
    n = len(sample.records)
    shift = np.abs(sample.records.mean(axis=0) - sample.truth).max()
    spread = abs((sample.records - sample.truth).var() - 1)
    return bool(shift < 6 / math.sqrt(n) and spread < 6 * math.sqrt(2 / sample.records.size))


@pytest.mark.parametrize(
    "point", [cwz19_setups.dense_point(4000), cwz19_setups.sparse_point(lambda n: 60.0)(4000)]
)
def test_means_are_drawn_as_printed(point: dict[str, float]) -> None:
    sample = cwz19_setups.means(point, rng())
    seen = int(point.get("s", point["d"]))
    assert sample.records.shape == (4000, point["d"])
    assert np.abs(sample.truth).max() < 10
    assert np.count_nonzero(sample.truth) == np.count_nonzero(sample.truth[:seen]) == seen
    assert is_normal_about(sample)
    assert not is_normal_about(sample._replace(records=1.1 * sample.records))
    assert not is_normal_about(sample._replace(truth=sample.truth + 0.2))


def test_the_means_fill_the_cube() -> None:
    draws = [cwz19_setups.means(cwz19_setups.dense_point(2), rng(k)).truth for k in range(200)]
    values = np.concatenate(draws)
    assert abs(values.mean()) < 6 * 10 / math.sqrt(3 * values.size)
    assert abs(values.var() / (100 / 3) - 1) < 6 * math.sqrt(0.8 / values.size)


def residual_spread(sample: cwz19_setups.Regression) -> float:
    return float((sample.y - sample.X @ sample.truth).var())


@pytest.mark.parametrize(
    ("point", "entry"),
    [
        (cwz19_setups.dense_point(5000), 1 / math.sqrt(20)),
        (cwz19_setups.sparse_point(lambda n: 80.0)(5000), 1 / math.sqrt(80)),
        (cwz19_setups.seen_point(5000), 1 / math.sqrt(20)),
    ],
)
def test_regressions_are_drawn_as_said(point: dict[str, float], entry: float) -> None:
    sample = cwz19_setups.regression(point, rng())
    seen = int(point.get("s", point["d"]))
    assert 0.999 * entry < np.abs(sample.X).max() < entry
    assert np.mean(sample.X**2) == pytest.approx(entry**2 / 3, rel=0.02)
    assert np.linalg.norm(sample.truth) == pytest.approx(1)
    assert not sample.truth[seen:].any()
    assert sample.truth[:seen].all()
    band = 6 * math.sqrt(2 / len(sample.y))
    assert abs(residual_spread(sample) - 1) < band
    assert abs(residual_spread(sample._replace(truth=-5 * sample.truth)) - 1) > band


def test_error_and_what_lies_outside() -> None:
    sample = cwz19_setups.Means(np.zeros((1, 4)), np.array([3.0, 0.0, 0.0, 0.0]))
    assert cwz19_setups.distance(np.array([0.0, 4.0, 0.0, 0.0]), sample) == 5
    found = cwz19_setups.supports(np.array([1.0, 2.0, 0.0, -2.0]), sample)
    assert found == {"non-zero": 3, "outside": 2, "length outside": 8 / 9}
    assert not any(cwz19_setups.supports(np.zeros(4), sample).values())


@pytest.mark.parametrize("name", PANELS)
def test_the_budget_is_the_printed_one(name: str) -> None:
    panel = PANELS[name]
    for x in panel.standard.xs:
        point = panel.point(x)
        assert point["epsilon"] == 0.5
        assert point["delta"] == pytest.approx(10 / x**1.1)
    assert panel.point(1e4)["delta"] * 1e4 == pytest.approx(3.98, abs=0.01)


# --- real data ------------------------------------------------------------------------------------


def small_mice() -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    counts = rng(1).integers(0, 3, (60, 30)).astype(np.int8)
    counts[:, 7] = 0
    colours = ["albino", "chocolate", "light.brown", "black", "dark.brown", "sand"] * 10
    return {"X": counts}, {"CoatColour": colours}


def test_pairs_of_animals_differ_by_the_groups_means(monkeypatch: pytest.MonkeyPatch) -> None:
    mice, traits = small_mice()
    brown = np.array(traits["CoatColour"]) == "chocolate"
    brown |= np.char.endswith(traits["CoatColour"], ".brown")
    monkeypatch.setattr(cwz19_mice, "SNPS", 29)
    sample = cwz19_mice.differences({"m": 30}, rng(), mice, traits)
    truth = mice["X"][brown].mean(axis=0) - mice["X"][~brown].mean(axis=0)
    assert sorted(sample.truth) == pytest.approx(sorted(np.delete(truth, 7)))  # the rarest is out
    assert sample.records.mean(axis=0) == pytest.approx(sample.truth)  # all 30 of each group
    fewer = cwz19_mice.differences({"m": 5}, rng(), mice, traits)
    assert fewer.records.shape == (5, 29)
    assert np.abs(fewer.records).max() == 2
    assert not np.allclose(fewer.records.mean(axis=0), fewer.truth)


def test_houses_are_standardised_and_compared_with_all() -> None:
    table = rng(2).standard_normal((50, 9)) * np.arange(1, 10) + 3
    table[:, 8] = 2 * table[:, 7] - table[:, 3]
    sample = cwz19_housing.housing({"m": 50}, rng(), table)
    assert sample.X.mean(axis=0) == pytest.approx(np.zeros(5), abs=1e-12)
    assert sample.X.std(axis=0) == pytest.approx(np.ones(5))
    scale = table.std(axis=0)
    expected = [2 * scale[7] / scale[8], 0, 0, 0, -scale[3] / scale[8]]
    assert sample.truth == pytest.approx(expected, abs=1e-9)
    assert cwz19_housing.housing({"m": 9}, rng(), table).X.shape == (9, 5)


# --- methods --------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["paper", "analytic"])
def test_what_the_truncations_of_a_mean_cost(noise: cwz19_means.Noise) -> None:
    point = cwz19_setups.dense_point(5000)
    sample = cwz19_setups.means(point, rng())
    given = {
        R: cwz19_means.truncated(sample, point, rng(), R=R, noise=noise).epsilon
        for R in ("theory", "none", "percentiles", "magnitudes")
    }
    assert given["none"] == math.inf
    assert given["theory"] == pytest.approx(0.4325 if noise == "paper" else 0.5, abs=1e-3)
    assert max(given["percentiles"], given["magnitudes"]) <= 0.5


def test_percentiles_of_every_coordinate_stay_within_the_budget() -> None:
    point = cwz19_setups.dense_point(5000)
    release = cwz19_means.each_truncated(cwz19_setups.means(point, rng()), point, rng())
    assert 0.49 < release.epsilon <= 0.5
    free = cwz19_means.each_truncated_freely(cwz19_setups.means(point, rng()), point, rng())
    assert free.epsilon == math.inf


def test_percentiles_of_a_coordinate_are_found_on_both_sides_of_its_mean() -> None:
    centres = np.array([-9.0, 0.0, 9.0])
    records = rng(3).standard_normal((20_000, 3)) + centres
    ample, tight = (ZeroConcentrated(rho) for rho in (10.0, 1e-9))
    bounds, ledger = cwz19_means.charged_bounds(records, 20.0, ample, rng())
    assert compose(ledger, ZeroConcentrated).rho == pytest.approx(10.0)
    wanted = centres[:, None] + [-1.96, 1.96]
    assert np.abs(np.array(bounds) - wanted).max() < 0.2
    lost, _ = cwz19_means.charged_bounds(records, 20.0, tight, rng())
    assert np.abs(np.array(lost) - wanted).max() > 1
    assert all(low < high for low, high in lost)


def test_percentiles_of_a_coordinate_leave_no_bias_and_pooled_ones_do() -> None:
    point = cwz19_setups.dense_point(1_000_000)
    records = rng(4).standard_normal((100_000, 20))
    records[:, 0] += 9.5
    sample = cwz19_setups.Means(records, np.append(9.5, np.zeros(19)))
    own = cwz19_means.each_truncated_freely(sample, point, rng()).estimate[0]
    assert abs(own - 9.5) < 0.05
    pooled = cwz19_means.truncated(sample, point, rng(), R="magnitudes", noise="analytic")
    assert pooled.estimate[0] < 9


def test_sparse_means_between_percentiles_of_their_coordinates() -> None:
    point = cwz19_setups.sparse_point(lambda n: 60.0)(20_000)
    sample = cwz19_setups.means(point, rng(5))
    own = cwz19_sparse_means.each_truncated_freely(sample, point, rng())
    assert own.epsilon == math.inf
    assert own.notes["non-zero"] == cwz19_setups.SPARSITY
    pooled = cwz19_sparse_means.truncated(sample, point, rng(), R="driven", noise="paper")
    errors = [cwz19_setups.distance(each.estimate, sample) for each in (own, pooled)]
    assert 5 * errors[0] < errors[1]


def test_schedules_are_those_of_the_theorems() -> None:
    point = cwz19_setups.dense_point(5000)
    printed = cwz19_regression.schedule(point, "printed")
    assert printed == {"step_size": 20 / 6, "steps": 614, "composition": "basic"}
    assert "composition" not in cwz19_regression.schedule(point, "private")
    seen = cwz19_sparse_regression.schedule(cwz19_setups.seen_point(2000), "printed")
    assert (seen["step_size"], seen["steps"]) == (pytest.approx(20 / 18), 98)
    wide = cwz19_sparse_regression.schedule(cwz19_setups.sparse_point(lambda n: n)(2000), "private")
    assert (wide["step_size"], wide["steps"]) == (pytest.approx(20 / 1800), 20)


def test_a_chosen_sparsity_is_on_its_grid_and_is_noted() -> None:
    point = cwz19_setups.sparse_point(lambda n: n)(100)
    sample = cwz19_setups.means(point, rng())
    release = cwz19_sparse_means.truncated(
        sample, point, rng(), R="wide", noise="gumbel", chosen=True
    )
    assert release.notes["s"] in cwz19_setups.SPARSITIES
    assert release.notes["outside"] <= release.notes["non-zero"] <= release.notes["s"]
    assert release.epsilon <= 0.5


# --- readings -------------------------------------------------------------------------------------


def pretended(panel: Panel, xs: tuple[float, ...]) -> dict[str, Curve]:
    """Curves of a panel without a fit: losses close to 1."""

    def some() -> tuple[np.ndarray, ...]:
        return tuple(rng(k).uniform(0.99, 1.01, 8) for k in range(len(xs)))

    notes = tuple(
        dict.fromkeys(("s", "non-zero", "outside", "length outside", "ridge"), np.ones(8))
        for _ in xs
    )
    return {m.name: Curve(m.name, m.variant, xs, some(), notes=notes) for m in panel.methods}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", PANELS)
def test_every_reading_can_be_judged_in_every_profile(name: str, profile: str) -> None:
    panel = PANELS[name]
    curves = pretended(panel, panel.plan(profile).xs)
    assert len(curves) == len(panel.methods)
    for sentence in panel.sentences:
        for reading in sentence.readings:
            assert isinstance(reading.test.judge(curves).verdict, Verdict)
            assert reading.test.judge(reading.test.shown(curves)).verdict is Verdict.REPRODUCED
            assert reading.test.judge(reading.test.denied(curves)).verdict is Verdict.REVERSED


@pytest.mark.parametrize("name", PANELS)
def test_tuned_methods_have_equally_large_grids(name: str) -> None:
    panel = PANELS[name]
    tuned = {len(m.grid.options) for m in panel.methods} - {1}
    assert len(tuned) <= 1
    assert bool(tuned) == bool(panel.quick.tuning)
