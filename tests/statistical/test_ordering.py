"""Orderings: data as described, comparisons that can fall either way, honest budgets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimators.controls.regression import IterativeHardThresholding
from verify.rates.special.ordering import measure as measuring
from verify.rates.special.ordering.experiments import (
    DP_IGHT,
    FRANK_WOLFE,
    IGHT,
    LINEAR,
    LOGISTIC,
    PAPER_IGHT,
    PAPER_WOLFE,
    Experiment,
    Responses,
    cwz19_low,
    cwz19_sparse,
    experiments,
    sparse_design,
    sparse_linear,
    sparse_logistic,
    unit_linear,
    wg19,
)
from verify.rates.special.ordering.measure import Fit, intervals, measure, spent, trial
from verify.rates.special.ordering.plot import plot
from verify.rates.special.ordering.rows import Ordering, Pair, Tally, against_zero, compare

SIZE = (1000, 1000, 10)


def small(of: Responses = LINEAR, size: tuple[int, int, int] = (200, 60, 3)) -> Experiment:
    """WG19's experiment at one budget, few records and two options a method."""
    experiment = wg19(of, size)
    methods = tuple(
        replace(m, fixed=m.fixed | {"s": 3}) if m.name == IGHT else replace(m, grid=m.grid[:2])
        for m in experiment.methods
    )
    return replace(experiment, points=experiment.points[2:], methods=methods)


# --- Data ----------------------------------------------------------------------------------------


def test_rows_are_shortened_where_the_bound_binds_and_only_there() -> None:
    rng = np.random.default_rng(0)
    X, theta = sparse_design(SIZE, rng)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 20.0)  # 2 s*, far below sqrt(4 d/3) = 36
    assert 1.0 < np.abs(X).max() < 1.2
    assert np.count_nonzero(theta) == 10
    assert np.abs(theta).max() < 1
    loose, _ = sparse_design((1000, 100, 10), rng)  # rows of norm 11.5 against a bound of 20
    assert np.linalg.norm(loose, axis=1).max() < 20
    assert np.abs(loose).max() > 1.99
    assert abs(loose.var() - 4 / 3) < 0.03


def test_linear_responses_have_the_stated_noise() -> None:
    X, y, theta = sparse_linear(SIZE, np.random.default_rng(1))
    noise = y - X @ theta
    # The variance of 1000 normal draws is within .1 (1 +- .27) but for 1e-9.
    assert 0.073 < noise.var() < 0.127
    assert y.var() > 0.3


def test_logistic_labels_have_the_sign_of_the_model() -> None:
    X, y, theta = sparse_logistic((20_000, 50, 5), np.random.default_rng(2))
    assert set(np.unique(y)) == {0.0, 1.0}
    # E y <x, theta> > 0 for the model; for the sign printed in WG19 §6.1 it would be negative.
    drift = (y - 0.5) * (X @ theta)
    assert drift.mean() > 6 * drift.std() / np.sqrt(len(y))


def test_unit_design_is_cwz19s() -> None:
    X, y, beta = unit_linear((4000, 20, 20), np.random.default_rng(3))
    assert np.linalg.norm(X, axis=1).max() <= 1
    assert np.linalg.norm(beta) == pytest.approx(1)
    assert abs(X.var() * 20 - 1 / 3) < 0.02
    assert 0.8 < (y - X @ beta).var() < 1.2
    *_, sparse = unit_linear((10, 40, 3), np.random.default_rng(3))
    assert np.flatnonzero(sparse).tolist() == [0, 1, 2]


def test_settings_are_the_papers() -> None:
    linear, logistic, low, high = experiments()
    for experiment in (linear, logistic):
        assert [p.epsilon for p in experiment.points] == [2, 6, 10]
        assert {(*p.size, p.delta) for p in experiment.points} == {(1000, 1000, 10, 0.01)}
        assert (DP_IGHT, FRANK_WOLFE) in experiment.reported
    assert [p.n for p in low.points] == [5_000, 20_000, 100_000]
    assert all(p.d == 2 * p.n for p in high.points)
    assert all(p.delta == 10 / p.n**1.1 for p in (*low.points, *high.points))
    for experiment in experiments():
        names = [m.name for m in experiment.methods]
        assert len(set(names)) == len(names)
        assert {n for pair in (*experiment.reported, *experiment.also) for n in pair} <= set(names)


def test_cwz19s_sparse_signal_cannot_be_seen() -> None:
    """The control is far worse than releasing 0 there; with fewer features it is not."""
    errors = []
    for d in (2000, 40):
        X, y, beta = unit_linear((1000, d, 20), np.random.default_rng(4))
        X = X * np.sqrt(d) if d == 40 else X
        errors.append(np.linalg.norm(IterativeHardThresholding(20).fit(X, y).coef_ - beta))
    assert errors[0] > 5
    assert errors[1] < 1


# --- Comparing -----------------------------------------------------------------------------------


def test_comparison_says_ahead_behind_or_neither() -> None:
    rng = np.random.default_rng(0)
    common = rng.normal(1, 0.5, 20)
    low, high = common + rng.normal(0, 0.02, 20), common + 0.2 + rng.normal(0, 0.02, 20)
    assert compare(low, high, 1e-6).verdict == "ahead"
    assert compare(high, low, 1e-6).verdict == "behind"
    assert compare(low, common, 1e-6).verdict == "not separated"
    # Pairing is what separates them: against other draws of the common part nothing is seen.
    assert compare(low, rng.permutation(high), 1e-6).verdict == "not separated"


def test_interval_of_a_gap_is_students() -> None:
    found = compare(np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0]), 0.05)
    half = 4.302652729911275 / np.sqrt(3)  # t with two degrees of freedom; the gaps have sd 1
    assert found.gap == pytest.approx(1)
    assert found.ci_low == pytest.approx(1 - half)
    assert found.ci_high == pytest.approx(1 + half)
    assert found.verdict == "not separated"


def test_error_is_set_against_releasing_zero() -> None:
    assert against_zero(0.5, 0.99) == "better"
    assert against_zero(1.01, 1.5) == "worse"
    assert against_zero(0.9, 1.1) == "not separated"


def test_tally_counts_and_asks_for_every_point() -> None:
    pair = Pair("x", "a", "b", reported=True, source="y")
    assert Tally.of(pair, ["ahead", "ahead"]).ahead_at_all
    mixed = Tally.of(pair, ["ahead", "not separated", "behind"])
    assert (mixed.ahead, mixed.behind, mixed.not_separated) == (1, 1, 1)
    assert not mixed.ahead_at_all


# --- Running -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found() -> Ordering:
    return measure(6, 5, 1, 1e-3, [small(LINEAR), small(LOGISTIC)])


def test_a_run_is_complete_and_plain(found: Ordering) -> None:
    chosen = [small(LINEAR), small(LOGISTIC)]
    assert len(found.rows) + len(found.comparisons) == intervals(chosen)
    assert len(found.claims) == sum(len(e.reported) + len(e.also) for e in chosen)
    assert json.loads(json.dumps(found.as_json())) == found.as_json()
    for row in found.rows:
        assert row.measured.ci_low <= row.error <= row.measured.ci_high
        assert row.measured.trials == 6
    means = {(row.experiment, row.method): row.error for row in found.rows}
    for comparison in found.comparisons:
        pair = comparison.pair
        gap = means[pair.experiment, pair.second] - means[pair.experiment, pair.first]
        assert comparison.found.gap == pytest.approx(gap)


def test_a_run_depends_on_its_seed_alone(found: Ordering) -> None:
    again = measure(6, 5, 1, 1e-3, [small(LINEAR)])
    first = [row for row in found.rows if row.experiment == "WG19 linear"]
    assert again.rows == first  # and not on what else is run
    other = measure(6, 6, 1, 1e-3, [small(LINEAR)])
    assert [r.error for r in other.rows] != [r.error for r in first]


def test_processes_do_not_change_the_result() -> None:
    experiment = small(LINEAR)
    few = replace(experiment, methods=experiment.methods[:2], reported=((IGHT, DP_IGHT),), also=())
    one, two = (measure(4, 5, jobs, 1e-3, [few]).rows for jobs in (1, 2))
    np.testing.assert_allclose([r.error for r in two], [r.error for r in one], rtol=1e-9)


def fixed_data(size: tuple[int, int, int], _: np.random.Generator) -> Any:
    """The same data in every trial."""
    return sparse_linear(size, np.random.default_rng(0))


def test_noise_is_fresh_in_every_trial_budget_and_option() -> None:
    experiment = replace(wg19(LINEAR, (200, 60, 3)), draw=fixed_data)
    control, private = experiment.methods[:2]
    twice = [Fit(p, private, private.grid[0]) for p in experiment.points[:2]]
    exact = [Fit(experiment.points[0], control, {})]
    runs = [trial(experiment, [*twice, *exact], 0, name) for name in ("a", "b")]
    errors = [outcome.error for run in runs for outcome in run]
    assert errors[2] == errors[5]  # the data are the same, so this is
    assert len(set(errors)) == 5
    again = trial(experiment, twice[1:], 0, "a")
    assert again[0].error == errors[1]  # whatever else is run


def test_the_better_option_is_chosen() -> None:
    experiment = small(LINEAR)
    sizes = ({"s": 1}, {"s": 3})
    method = replace(experiment.methods[0], fixed={}, grid=sizes)
    alone = replace(experiment, methods=(method,), reported=(), also=())
    (row,) = measure(6, 0, 1, 0.01, [alone]).rows
    assert row.options == {"s": 3}
    assert row.options_tried == 2


def test_the_harness_sees_that_the_non_private_control_is_ahead() -> None:
    """IGHT is far ahead of every private method at WG19's setting (i), epsilon = 2."""
    experiment = wg19(LINEAR)
    methods = tuple(
        replace(m, grid=m.grid[:1]) for m in experiment.methods if "paper" not in m.name
    )
    pairs = tuple((IGHT, m.name) for m in methods if m.private)
    one = replace(
        experiment, points=experiment.points[:1], methods=methods, reported=pairs, also=()
    )
    ordered = measure(6, 3, 1, 1e-3, [one])
    assert [c.found.verdict for c in ordered.comparisons] == ["ahead"] * len(pairs)
    assert min(c.found.gap for c in ordered.comparisons) > 0.3
    turned = measure(6, 3, 1, 1e-3, [replace(one, reported=tuple((b, a) for a, b in pairs))])
    assert [c.found.verdict for c in turned.comparisons] == ["behind"] * len(pairs)


# --- Privacy -------------------------------------------------------------------------------------


def cheap() -> list[Experiment]:
    """Every method of every experiment, at its own budgets, on little data."""
    return [
        wg19(LINEAR, (200, 60, 3)),
        wg19(LOGISTIC, (200, 60, 3)),
        cwz19_low((1_000,), 5),
        cwz19_sparse(100, 200, 20),
    ]


@pytest.mark.parametrize("experiment", cheap(), ids=lambda e: e.name)
def test_every_private_method_stays_within_its_budget(experiment: Experiment) -> None:
    fits = [
        Fit(p, m, o)
        for p in experiment.points
        for m in experiment.methods
        for o in (m.grid[0], m.grid[-1])
        if "s" not in m.fixed or m.private
    ]
    for fit, outcome in zip(fits, trial(experiment, fits, 0, "budget"), strict=True):
        if not fit.method.private:
            assert outcome.spent is None
        elif fit.method.name in (PAPER_IGHT, PAPER_WOLFE):
            assert outcome.spent is not None
            assert outcome.spent > 1.2 * fit.point.epsilon  # as the errata say
        else:
            assert outcome.spent is not None
            assert outcome.spent <= fit.point.epsilon * (1 + 1e-9)


def test_spent_reads_what_was_released() -> None:
    rng = np.random.default_rng(0)
    X, y, _ = sparse_linear((100, 20, 2), rng)
    assert spent(IterativeHardThresholding(2).fit(X, y), 0.01) is None


# --- Plot ----------------------------------------------------------------------------------------


def test_plot_is_written_whole(found: Ordering, tmp_path: Path) -> None:
    path = tmp_path / "ordering.png"
    plot(found, path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.iterdir()] == ["ordering.png"]
    broken = [replace(found.rows[0], variable="colour")]
    with pytest.raises(AttributeError):
        plot(Ordering(broken, [], []), tmp_path / "broken.png")
    assert [p.name for p in tmp_path.iterdir()] == ["ordering.png"]


def test_no_trial_is_drawn_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options are tuned in trials of their own: those of the test would flatter them."""
    names: list[str] = []

    def noted(experiment: Any, fits: Any, seed: int, name: str) -> Any:
        names.append(name)
        return trial(experiment, fits, seed, name)

    monkeypatch.setattr(measuring, "trial", noted)
    measure(20, 5, 1, 1e-3, [small()])
    assert len(names) > 20
    assert len(set(names)) == len(names)
