"""Trials of a claim of one's own that go wrong end the run with a sentence and exit code 2.

The controls are the same claims with trials that go right.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from minimax.core.bound import Point
from tests.commands import usage_error
from tests.statistical.test_own_claims import Coins, NoisyCoin, claim
from verify.rates import BadClaim, Claim, check, command, main
from verify.rates.backends import FORKS
from verify.rates.grid import Profile
from verify.rates.judge import Verdict
from verify.rates.plots import write_plots
from verify.rates.report import print_report
from verify.rates.sequential import TaskFailed
from verify.seeds import cell_seed, stream

FEW = Profile("few", (0,), 40, 10, 2)
LATE = " failed: "
Told = Callable[[np.ndarray], float]


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Results are kept in the working folder."""
    monkeypatch.chdir(tmp_path)


def with_loss(loss: Told) -> Claim:
    """The claim with another loss."""

    class Lossy(Coins):
        def draw(self, rng: np.random.Generator) -> Lossy:
            return self

        def loss(self, estimate: np.ndarray) -> float:
            return loss(estimate)

    own = claim()
    return replace(own, lower=replace(own.lower, prior_at=lambda p, parts: Lossy()))


def with_estimator(kind: type[NoisyCoin]) -> Claim:
    """The claim with another estimator."""
    return replace(claim(), estimator_at=lambda p: kind(p["epsilon"]))


def later(bad: float) -> Told:
    """A loss that is wrong when the rehearsal and the hundred losses of releasing 0 are over."""
    times = iter(range(10**6))
    return lambda estimate: Coins().loss(estimate) if next(times) < 110 else bad


class Leaves(NoisyCoin):
    """Its fit calls exit()."""

    def fit(self, X: np.ndarray) -> Leaves:
        sys.exit(0)


class LeavesAtSome(NoisyCoin):
    """Its fit calls exit() for some data; the rehearsal's are others."""

    def fit(self, X: np.ndarray) -> NoisyCoin:
        if X.sum() < 14:
            sys.exit(0)
        return super().fit(X)


class Wide(NoisyCoin):
    """Releases the mean three times over, of which a loss says something all the same."""

    def fit(self, X: np.ndarray) -> Wide:
        super().fit(X)
        self.mean_ = np.tile(self.mean_, 3)
        return self


class Tall(NoisyCoin):
    """Releases one number in another shape, which is no other size."""

    def fit(self, X: np.ndarray) -> Tall:
        super().fit(X)
        self.mean_ = self.mean_.reshape(1, 1)
        return self


def test_trials_that_go_right_are_measured() -> None:
    for own in (claim(), with_loss(Coins().loss), with_estimator(NoisyCoin), with_estimator(Tall)):
        assert len(check(own, profile=FEW).cells) == 1


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.5])
def test_a_loss_that_is_none_is_refused_and_names_its_task(bad: float) -> None:
    with pytest.raises(TaskFailed) as failed:
        check(with_loss(later(bad)), profile=FEW)
    told = str(failed.value)
    assert told.startswith("my/coin|n=40,epsilon=0.05: a trial failed: ValueError: the loss of tr")
    assert told.endswith(f"is {bad:g}, which is no loss")


def test_a_loss_that_is_none_ends_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    own = with_loss(later(float("nan")))
    message = usage_error(partial(main, claims=[own]), ["--jobs", "1"], capsys)
    assert "is nan, which is no loss; what was measured is kept in" in message


def test_exit_in_the_rehearsal_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    message = usage_error(partial(main, claims=[with_estimator(Leaves)]), ["--jobs", "1"], capsys)
    assert "the fit of estimator_at fails at n=40 epsilon=0.05: SystemExit: 0" in message


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_exit_in_a_trial_is_told(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    own = with_estimator(LeavesAtSome)
    message = usage_error(partial(main, claims=[own]), ["--jobs", jobs], capsys)
    assert f"{LATE}SystemExit: 0" in message


def test_an_estimator_that_is_only_made_at_some_points_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The rehearsal makes it at the base alone; what names kept results makes it everywhere."""

    def made(p: Point) -> NoisyCoin:
        if p["n"] != 40:
            raise ValueError("not here")
        return NoisyCoin(p["epsilon"])

    own = replace(claim(), estimator_at=made)
    message = usage_error(partial(main, claims=[own]), ["--jobs", "1"], capsys)
    assert "n=20,epsilon=0.05: its estimator failed: ValueError: not here" in message


def test_a_release_of_another_size_is_refused() -> None:
    with pytest.raises(BadClaim, match="it releases 3 numbers, and the target has 1"):
        check(with_estimator(Wide), profile=FEW)


def test_a_loss_that_fails_at_0_is_told() -> None:
    """Releasing 0 is measured too, at first by the rehearsals and then in a hundred draws."""

    def fails(estimate: np.ndarray) -> float:
        return 1 / 0 if estimate[0] == 0 else 1.0

    with pytest.raises(BadClaim, match=r"'my/coin': the loss of .* fails at n=40"):
        check(with_loss(fails), profile=FEW)
    zeros = iter(4 * [1.0])  # twice for the estimator, twice for its twin
    with pytest.raises(BadClaim, match=r"the loss of releasing 0 fails at n=40 .* StopIteration"):
        check(with_loss(lambda e: next(zeros) if e[0] == 0 else 1.0), profile=FEW)


class Complex(NoisyCoin):
    """Releases a number with an imaginary part, which a loss would leave out."""

    def fit(self, X: np.ndarray) -> Complex:
        super().fit(X)
        self.mean_ = self.mean_ + 1j
        return self


class Centres(NoisyCoin):
    """Centres the records where they are: another fit is given others."""

    def fit(self, X: np.ndarray) -> NoisyCoin:
        X -= 0.5
        super().fit(X)
        self.mean_ = self.mean_ + 0.5
        return self


class Dies(NoisyCoin):
    """Ends its process for some data; the rehearsal's are others."""

    def fit(self, X: np.ndarray) -> NoisyCoin:
        if X.sum() < 14 and multiprocessing.parent_process() is not None:
            os._exit(3)
        return super().fit(X)


def test_a_complex_release_is_refused() -> None:
    with pytest.raises(BadClaim, match="TypeError: it releases complex numbers"):
        check(with_estimator(Complex), profile=FEW)


def test_records_that_are_changed_are_refused_where_they_are_fitted_again() -> None:
    once = with_estimator(Centres)
    assert len(check(once, profile=FEW).cells) == 1
    twice = replace(once, sweeps=tuple(replace(sweep, fits=2) for sweep in once.sweeps))
    with pytest.raises(BadClaim, match="it changes the records, which other fits are given too"):
        check(twice, profile=FEW)
    kept = replace(twice, estimator_at=claim().estimator_at)
    assert len(check(kept, profile=FEW).cells) == 1


class Patient(NoisyCoin):
    """Reads the records, some of which are missing, and leaves them as they are."""

    def fit(self, X: np.ndarray) -> NoisyCoin:
        return super().fit(np.nan_to_num(X))


def test_records_that_are_missing_are_not_taken_for_changed() -> None:
    class Some(Coins):
        def draw(self, rng: np.random.Generator) -> Some:
            return self

        def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
            return np.where(rng.random((n, 1)) < 0.1, np.nan, super().sample(n, rng))

    own = with_estimator(Patient)
    own = replace(own, lower=replace(own.lower, prior_at=lambda p, parts: Some()))
    own = replace(own, non_private=own.estimator_at)
    sweeps = tuple(replace(sweep, fits=2) for sweep in own.sweeps)
    assert len(check(replace(own, sweeps=sweeps), profile=FEW).cells) == 1


class Silent(NoisyCoin):
    """Its fit returns nothing."""

    def fit(self, X: np.ndarray) -> None:  # type: ignore[override]
        super().fit(X)


def test_a_fit_that_returns_nothing_is_refused_before_anything_is_measured() -> None:
    with pytest.raises(BadClaim, match="the fit of estimator_at fails"):
        check(with_estimator(Silent), profile=FEW)


@pytest.mark.skipif(not FORKS, reason="workers are known by their parent here")
def test_a_process_that_ends_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    message = usage_error(
        partial(main, claims=[with_estimator(Dies)]), ["--jobs", "2", "--summary"], capsys
    )
    assert "a process ended in the middle of its work without a word" in message
    assert "what was measured is kept in .tracebound/" in message


def test_the_trial_that_failed_is_numbered() -> None:
    """The same one whatever was tried before it."""
    with pytest.raises(TaskFailed) as failed:
        check(with_estimator(LeavesAtSome), profile=FEW)
    label, _, rest = str(failed.value).partition(": trial ")
    number, _, why = rest.partition(" failed: ")
    assert why == "SystemExit: 0"
    own, point = claim(), {"n": 40, "epsilon": 0.05}
    assert label == "my/coin|n=40,epsilon=0.05"
    rng = stream(cell_seed(0, own.name), int(number))
    assert Coins().sample(40, rng).sum() < 14
    assert own.lower.value(**point) > 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"profile": "nope"}, "profile must be 'quick', 'standard', 'full' or a Profile, got 'n"),
        ({"jobs": 0}, "jobs must be a positive whole number, or -1 for all cores; got 0"),
        ({"jobs": "a"}, "jobs must be a positive whole number, or -1 for all cores; got 'a'"),
        ({"seed": -1}, "seed must be a whole number that is not negative, got -1"),
        ({"plots": "there"}, "plots: cannot make there: File exists"),
    ],
)
def test_arguments_that_cannot_be_meant(options: dict[str, Any], told: str) -> None:
    Path("there").touch()
    with pytest.raises(ValueError, match=f"^{re.escape(told)}"):
        check(claim(), **options)


def test_a_check_after_an_interrupted_command_is_not_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(command, "run", interrupted)
        assert main([], claims=[claim()]) == command.INTERRUPTED
    assert len(check(claim(), profile=FEW).cells) == 1


def test_seeds_that_are_not_heeded_are_told() -> None:
    class Restless(NoisyCoin):
        def fit(self, X: np.ndarray) -> NoisyCoin:
            self.random_state = None
            return super().fit(X)

    class Seeded(NoisyCoin):
        """Its seed is an attribute, and no parameter."""

        def __init__(self, epsilon: float = 1.0) -> None:
            super().__init__(epsilon)

        def get_params(self, deep: bool = True) -> dict[str, object]:
            return {"epsilon": self.epsilon}

    assert check(with_estimator(Seeded), profile=FEW).unseeded == []
    assert check(with_estimator(Restless), profile=FEW).unseeded == ["my/coin"]
    assert check(claim(), profile=FEW).unseeded == []


def test_losses_of_nothing_are_measured_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    """No exponent is fitted to risks of 0, and the broken bound is what is said."""
    found = check(with_loss(lambda e: 0.0), profile=replace(FEW, steps=(-1, 0, 1)))
    assert {row.verdict for row in found.cells} == {Verdict.VIOLATED}
    assert {row.verdict for row in found.slopes} == {Verdict.INCONCLUSIVE}
    print_report(found, Console())
    assert "broken lower bound" in capsys.readouterr().out
    assert write_plots(Path("out"), found)
