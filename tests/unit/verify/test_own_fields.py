"""A claim of one's own with a field that cannot be meant is refused in a sentence, exit code 2.

The control is the claim itself: with good fields nothing is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from minimax.core.bound import Optimum, Point, Terms
from minimax.core.privacy import ZeroConcentrated
from minimax.core.problem import Problem
from tests.commands import usage_error
from tests.statistical.test_own_claims import BASE, SWEEPS, claim
from verify.rates import BadClaim, Claim, Sweep, check, main
from verify.rates.claims import all_claims
from verify.rates.grid import PROFILES, build
from verify.rates.own import checked_claims, rehearse

(SWEEP,) = SWEEPS
NOT_A_WEIGHT = "not a positive number"


class Nameless(Problem):
    """Its name was forgotten."""


def swept(**changed: Any) -> Claim:
    """The claim with its sweep changed."""
    return claim(sweeps=(replace(SWEEP, **changed),))


def at(**changed: Any) -> Claim:
    """The claim with its base changed; what is None is left out."""
    return swept(base={k: v for k, v in {**BASE, **changed}.items() if v is not None})


def bounded(formula: Callable[[Point, Optimum], Terms]) -> Claim:
    """The claim with another lower bound."""
    own = claim()
    return replace(own, lower=replace(own.lower, formula=formula))


def test_only_the_packages_priors_decide_unasked() -> None:
    """Whose bounds are known to be as good as their proofs."""
    assert not claim().prior_decides
    assert all(each.prior_decides for each in all_claims())


def test_good_fields_are_not_refused() -> None:
    """Neither of one's own claim nor of the packages'."""
    assert [each.name for each in checked_claims(claim())] == ["my/coin"]
    assert len(checked_claims(all_claims())) == len(all_claims())
    rehearse([claim()], build([claim()], PROFILES["quick"]))


BAD: dict[str, tuple[Claim, str]] = {
    "n rounds to 0": (
        at(n=1),
        "a sweep in n around n = 1 comes to n = 0",
    ),
    "n is 0": (at(n=0), "sweeps[0]: base has n = 0, not a whole number of at least 1"),
    "n is broken": (at(n=7.5), "sweeps[0]: base has n = 7.5, not a whole number"),
    "n is nan": (at(n=math.nan), "sweeps[0]: base has n = nan, not a finite number"),
    "n is beyond floats": (at(n=10**400), "0, not a finite number of at least 0"),
    "epsilon is beyond floats": (at(epsilon=10**400), "0, not a finite number of at least 0"),
    "n is missing": (at(n=None), "sweeps[0]: base has no n"),
    "n is a text": (at(n="40"), "sweeps[0]: base has n = '40', not a finite number"),
    "base is none": (swept(base=40), "sweeps[0]: base is an int, not numbers by name"),
    "epsilon is negative": (at(epsilon=-1.0), "base has epsilon = -1.0, not a finite number"),
    "epsilon is 0": (at(epsilon=0.0), "ValueError: epsilon must be positive and finite"),
    "epsilon is missing": (at(epsilon=None), "base has no epsilon, which Pure needs"),
    "unknown number": (at(zeta=1.0), "TypeError: coins: unknown parameter 'zeta'"),
    "far is wrong": (
        swept(asymptotic_point={"n": math.inf}),
        "sweeps[0]: asymptotic_point has n = inf",
    ),
    "far is missing": (
        swept(asymptotic_point={}),
        "asymptotic_point, at which the exponent in n is read off, has no n and no epsilon",
    ),
    "no comma": (
        replace(claim(), sweeps=SWEEP),  # type: ignore[arg-type]
        "sweeps is one Sweep, not a tuple of them: write (Sweep(...),), with a comma",
    ),
    "no sweeps": (replace(claim(), sweeps=None), "sweeps is a NoneType"),  # type: ignore[arg-type]
    "no sweep": (claim(sweeps=(BASE,)), "sweeps[0] is a dict, not a Sweep"),  # type: ignore[arg-type]
    "regime": (
        swept(regime="Privacy"),
        "sweeps[0]: regime is 'Privacy', neither 'privacy' nor 'statistics'",
    ),
    "variables": (swept(variables="n"), "variables is 'n', not a tuple of names"),
    "weight is 0": (swept(weight=0), f"weight is 0, {NOT_A_WEIGHT}"),
    "weight is negative": (swept(weight=-1), f"weight is -1, {NOT_A_WEIGHT}"),
    "weight is nan": (swept(weight=math.nan), f"weight is nan, {NOT_A_WEIGHT}"),
    "weight is True": (swept(weight=True), f"weight is True, {NOT_A_WEIGHT}"),
    "base_weight": (swept(base_weight=0), f"base_weight is 0, {NOT_A_WEIGHT}"),
    "control_weight": (swept(control_weight=-1), f"control_weight is -1, {NOT_A_WEIGHT}"),
    "weight is tiny": (swept(weight=1e-4), "a weight of 0.0001 leaves 0 of 160 trials at n="),
    "control_weight is tiny": (
        replace(swept(control_weight=1e-4), upper=lambda p: 1.0),
        "a weight of 0.0001 leaves 0 of 80 trials at n=",
    ),
    "fits is 0": (swept(fits=0), "fits is 0, not a whole number of at least 1"),
    "fits is broken": (swept(fits=1.5), "fits is 1.5, not a whole number of at least 1"),
    "lower is negative": (bounded(lambda p, _: Terms(None, -1.0)), "the lower bound is -1 at n=20"),
    "lower is a number": (
        bounded(lambda p, _: 1.0),  # type: ignore[arg-type,return-value]
        "the lower bound fails at n=20 epsilon=0.05: TypeError: coins: the formula gives a float,",
    ),
    "upper is negative": (
        replace(claim(), upper=lambda p: -1.0),
        "the upper bound fails at n=20 epsilon=0.05: ValueError: its value is -1, which is no risk",
    ),
    "lower": (replace(claim(), lower=lambda p: 1.0), "lower is a function, not a LowerBound"),  # type: ignore[arg-type]
    "upper": (replace(claim(), upper=1.0), "upper is a float, neither a function of a point"),  # type: ignore[arg-type]
    "estimator_at": (
        replace(claim(), estimator_at=None),  # type: ignore[arg-type]
        "estimator_at is a NoneType, not a function of a point",
    ),
    "problem without a name": (replace(claim(), problem=Nameless), "Nameless has no name"),
    "problem": (replace(claim(), problem="coin"), "problem is no subclass of minimax.Problem"),  # type: ignore[arg-type]
    "model": (replace(claim(), model=int), "model is <class 'int'>, none of Pure, "),  # type: ignore[arg-type]
    "model of other numbers": (
        replace(claim(), model=ZeroConcentrated),
        "sweeps[0]: base has no rho, which ZeroConcentrated needs",
    ),
    "name": (replace(claim(), name=None), "claim None: name is None, not a text"),  # type: ignore[arg-type]
    "name is empty": (replace(claim(), name=""), "claim '': name is empty"),
    "estimator": (replace(claim(), estimator=None), "estimator is None, not a text"),  # type: ignore[arg-type]
    "prior_decides": (replace(claim(), prior_decides=1), "prior_decides is 1, neither True nor"),  # type: ignore[arg-type]
    "noise_factor": (replace(claim(), noise_factor=1.0), "noise_factor is 1.0, not a number above"),
    "noise_factor is nan": (replace(claim(), noise_factor=math.nan), "noise_factor is nan"),
}


@pytest.mark.parametrize(("bad", "message"), BAD.values(), ids=BAD)
def test_a_bad_field_is_told_in_a_sentence(
    bad: Claim,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """From code and on the command line, before anything is measured."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadClaim) as refused:
        check(bad)
    assert message in str(refused.value)
    assert str(refused.value).startswith(f"claim {bad.name!r}: ")
    assert message in usage_error(partial(main, claims=[bad]), ["--jobs", "1"], capsys)


def test_a_sweep_is_checked_alone() -> None:
    """The second of two is named as such."""
    with pytest.raises(BadClaim, match=r"sweeps\[1\]: regime is 'noise'"):
        checked_claims([claim(sweeps=(SWEEP, Sweep("noise", BASE)))])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--claims", ""], "--claims: '' must be of the form MODULE:NAME"),
        (["--backend", "dask", "--scheduler", ""], "--scheduler: the ADDRESS is empty"),
        (["--scheduler", ""], "--backend dask and --scheduler ADDRESS go together"),
    ],
)
def test_an_empty_option_is_not_taken_for_none(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in usage_error(main, arguments, capsys)


def test_numbers_of_numpy_are_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    own = swept(base={"n": np.int64(40), "epsilon": np.float32(0.0625)}, variables=(), weight=1)
    assert main(["--jobs", "1", "--json", "found.json"], [own]) in (0, 1)
    assert (tmp_path / "found.json").exists()
