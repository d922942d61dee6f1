"""Trials until a verdict: when a task ends, and that its error budget is kept."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from attacks.intervals import student_half_width
from verify.rates.backends import Processes
from verify.rates.judge import Verdict, ZeroRelease, fit_slope, slope_shares
from verify.rates.measure import Measurement, correlations, interval
from verify.rates.results import Results
from verify.rates.rows import LevelControl, Row
from verify.rates.sequential import (
    FEWEST,
    LOOKS,
    OVERHEAD,
    PIECE,
    Check,
    Seen,
    Simulation,
    TaskFailed,
    number,
    pieces,
)
from verify.seeds import cell_seed, streams

FULL = 400


@dataclass(frozen=True)
class Draws:
    """Exponential losses about a mean."""

    label: str
    mean: float = 1.0
    trials: int = FULL
    size: float = 1.0

    def key(self, written: bool) -> dict[str, object]:
        return {"task": self.label}

    def values(self, seed: int, first: int, last: int) -> np.ndarray:
        own = cell_seed(seed, self.label)
        return np.array([self.mean * rng.exponential() for rng in streams(own, first, last)])


def row(measured: Measurement, lower: float) -> Row:
    return Row("c", "p", "privacy", {}, "e", "b", measured, lower, "s", None)


@dataclass(frozen=True)
class OneLevel:
    """A lower bound for each task."""

    tasks: tuple[Draws, ...]
    lower: float

    def checks(self, seen: Seen) -> list[Check]:
        return [Check(row(seen.risk(t.label), self.lower), (t.label,)) for t in self.tasks]


def ran(study: OneLevel, seed: int = 0, alpha: float = 1e-4) -> tuple[list[Row], dict[str, int]]:
    simulation = Simulation(seed, alpha, Results(None), Processes(1))
    (checks,) = simulation.run([study])
    return [check.found for check in checks], {k: len(v) for k, v in simulation.values.items()}  # type: ignore[misc]


def test_what_is_plain_ends_early_and_what_is_not_gets_more() -> None:
    plain, tight, broken = Draws("plain", 9.0), Draws("tight", 0.98), Draws("broken", 0.5)
    found, trials = ran(OneLevel((plain, tight, broken), lower=1.0))
    verdicts = [each.verdict for each in found]
    assert verdicts[0] is Verdict.CONSISTENT
    assert trials["plain"] == FULL * LOOKS[0]
    assert trials["tight"] >= FULL
    assert verdicts[2] is Verdict.VIOLATED
    assert trials["broken"] == FULL  # believed after the full number, and not before


@dataclass(frozen=True)
class NearlyEqual(Draws):
    """Losses that scatter by a tenth."""

    def values(self, seed: int, first: int, last: int) -> np.ndarray:
        own = cell_seed(seed, self.label)
        return np.array([self.mean * rng.gamma(100) / 100 for rng in streams(own, first, last)])


def test_a_bound_that_is_false_within_the_margin_is_seen_as_without_looks() -> None:
    """Early intervals reach over a bound that is 4 % too large, and its margin would grant that; at
    the full number they do not. Control: one that is 4 % too small ends early or late, and well."""
    for lower, expected in ((1.04, Verdict.VIOLATED), (0.96, Verdict.CONSISTENT)):
        tasks = tuple(NearlyEqual(f"{lower} {k}", trials=1600) for k in range(20))
        found, trials = ran(OneLevel(tasks, lower))
        assert {row.verdict for row in found} == {expected}
        assert lower < 1 or set(trials.values()) == {1600}


def test_inconclusive_only_after_the_largest_number() -> None:
    found, trials = ran(OneLevel((Draws("edge", 0.95),), lower=1.0), alpha=1e-9)
    if found[0].verdict is Verdict.INCONCLUSIVE:
        assert trials["edge"] == LOOKS[-1] * FULL
    assert trials["edge"] >= FULL


def test_the_first_trials_are_the_same_whenever_they_are_run() -> None:
    task = Draws("a")
    whole = task.values(3, 0, 50)
    assert whole.tolist() == [*task.values(3, 0, 20), *task.values(3, 20, 50)]
    assert len(set(whole)) == 50
    assert whole.tolist() != task.values(4, 0, 50).tolist()


def test_the_numbers_of_trials_are_fixed_in_advance() -> None:
    numbers = [number(Draws("a"), look) for look in LOOKS]
    assert numbers == sorted(numbers)
    assert numbers[-1] == LOOKS[-1] * FULL
    assert FULL in numbers
    assert numbers[0] == max(FEWEST, math.ceil(FULL * LOOKS[0]))
    few = [number(Draws("a", trials=3), look) for look in LOOKS]
    assert (few[0], few[-1]) == (3, 24)


def test_pieces_are_all_trials_once_and_grow_with_the_work() -> None:
    """Eight times the work makes four times the pieces, which are twice as long."""
    alone, large = (Draws("a", size=size - OVERHEAD) for size in (PIECE, 8 * PIECE))
    cut = pieces(alone, 10, 74)
    assert [p.first for p in cut[1:]] == [p.last for p in cut[:-1]]
    assert (cut[0].first, cut[-1].last) == (10, 74)
    assert [p.last - p.first for p in cut] == 16 * [4]
    assert len(pieces(alone, 0, 512)) == 64
    assert pieces(large, 5, 5) == []
    assert len(pieces(Draws("a"), 0, 20)) == 1
    assert len(pieces(large, 0, 3)) == 3


def test_looking_often_costs_no_more_than_the_budget() -> None:
    """Normal trials looked at after every number: with alpha/K at each the chance that any of the
    intervals misses is below alpha; control: with alpha at each it is above."""
    alpha, repeats = 0.2, 600
    rng = np.random.default_rng(1)
    numbers = [number(Draws("a"), look) for look in LOOKS]
    missed = {1: 0, len(LOOKS): 0}
    for _ in range(repeats):
        values = 1 + rng.standard_normal(numbers[-1])
        for divided in missed:
            ends = [_interval(values[:n], alpha / divided) for n in numbers]
            missed[divided] += not all(low <= 1 <= high for low, high in ends)
    deviation = math.sqrt(repeats * alpha * (1 - alpha))
    assert missed[len(LOOKS)] < repeats * alpha - 3 * deviation
    assert missed[1] > repeats * alpha + 3 * deviation


def _interval(values: np.ndarray, alpha: float) -> tuple[float, float]:
    half = student_half_width(values, alpha)
    return values.mean() - half, values.mean() + half


def test_what_is_open() -> None:
    def seen(low: float, high: float) -> Measurement:
        return Measurement((low + high) / 2, low, high, 10, 0)

    inside, across, below = (row(seen(*ends), 1.0) for ends in ((2, 3), (0.5, 2), (0.1, 0.5)))
    assert [Check(each, ()).is_open(full=False) for each in (inside, across, below)] == [
        False,
        True,
        True,
    ]
    assert [Check(each, ()).is_open(full=True) for each in (inside, across, below)] == [
        False,
        True,
        False,
    ]
    worse = replace(inside, zero=ZeroRelease(2.2, seen(0, 0)))
    better = replace(inside, zero=ZeroRelease(2.8, seen(0, 0)))
    surely = replace(inside, zero=ZeroRelease(1.8, seen(0, 0)))
    assert [Check(each, ()).is_open(full=True) for each in (worse, better, surely)] == [
        True,
        False,
        False,
    ]
    control = LevelControl("c", "twin", {}, seen(0.5, 0.9), "lower", 1.0)
    assert not Check(control, ()).is_open(full=False)
    assert Check(replace(control, bound=0.7), ()).is_open(full=True)


def test_the_ends_carry_an_exponent() -> None:
    even = [Measurement(r, 0.9 * r, 1.1 * r, 100, 0) for r in (4.0, 2.0, 1.0)]
    shares = slope_shares([0.5, 1.0, 2.0], even, 1e-3)
    assert shares.sum() == pytest.approx(1)
    assert shares == pytest.approx([0.5, 0.0, 0.5], abs=1e-12)
    once, many = (fit_slope([0.5, 1.0, 2.0], even, 1e-3, states) for states in (1, 1000))
    assert once.fitted == many.fitted
    assert many.ci_high > once.ci_high


def test_an_exponent_of_common_draws_keeps_its_level() -> None:
    """Losses about x^-1 whose trials share a factor, at numbers of trials that differ: the interval
    is narrower than that of independent ones, and misses no more often than it says. Control: where
    a factor raises one end as it lowers the other, leaving that out misses more often."""
    alpha, repeats, x = 0.1, 300, [0.5, 1.0, 2.0]
    rng = np.random.default_rng(2)
    for signs, missed_if_left_out in (((1, 1, 1), False), ((1, 0, -1), True)):
        missed, missed_without, widths = 0, 0, []
        for _ in range(repeats):
            common = rng.standard_normal(200)
            values = [
                np.exp(0.4 * sign * common[:n] + 0.1 * rng.standard_normal(n)) / at
                for n, sign, at in zip((200, 120, 200), signs, x, strict=True)
            ]
            measured = [interval(each, alpha, 0) for each in values]
            slope = fit_slope(x, measured, alpha, correlations=correlations(values))
            without = fit_slope(x, measured, alpha)
            assert slope.fitted == without.fitted
            missed += not slope.ci_low <= -1 <= slope.ci_high
            missed_without += not without.ci_low <= -1 <= without.ci_high
            widths.append((slope.ci_high - slope.ci_low) / (without.ci_high - without.ci_low))
        deviation = math.sqrt(repeats * alpha * (1 - alpha))
        assert missed < repeats * alpha + 3 * deviation
        assert (missed_without > repeats * alpha + 3 * deviation) == missed_if_left_out
        assert (max(widths) < 0.6) != missed_if_left_out


def test_shares_have_the_level_of_one_look() -> None:
    held = np.column_stack([np.arange(50) % 2 == 0, np.ones(50)])
    seen = Seen({"task": held}, 0, 0.01)
    ends = stats.beta.ppf([0.005, 0.995], [25, 26], [26, 25])
    found = seen.share("task", 0)
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(ends))
    assert seen.share("task", 1).risk == 1


def test_correlations_of_means() -> None:
    a, b = np.random.default_rng(3).standard_normal((2, 100))
    found = correlations([a, a[:25], b, np.ones(50)])
    assert found[0, 1] == pytest.approx(0.5)  # sqrt(25/100)
    assert abs(found[0, 2]) < 0.4
    assert found[3].tolist() == [0, 0, 0, 1]  # what does not vary
    assert (found == found.T).all()


def test_a_trial_that_fails_names_its_task() -> None:
    class Broken(Draws):
        def values(self, seed: int, first: int, last: int) -> np.ndarray:
            raise ZeroDivisionError("nothing to divide by")

    with pytest.raises(TaskFailed, match="mine: a trial failed: ZeroDivisionError: nothing"):
        ran(OneLevel((Broken("mine"),), lower=1.0))
