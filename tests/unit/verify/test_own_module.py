"""Claims from a module of one's own: found by name, checked without touching the package, and
refused in a sentence where something is missing."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tests.commands import usage_error
from verify.rates import BadClaim, Claim, Sweep, check, main
from verify.rates.grid import Profile, build
from verify.rates.judge import Verdict
from verify.rates.sequential import Piece, piece_values
from verify.rates.tasks import tasks_of

ROOT = Path(__file__).parents[3]
BASE_ONLY = Profile("base", (0,), 10, 10, 2)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A working folder with the example in it, searched after all else; forgotten afterwards."""
    shutil.copy(ROOT / "examples" / "own_theorem.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if not name.startswith(("verify", "minimax", "estimators", "attacks")):
            path = getattr(sys.modules[name], "__file__", None)
            if path and Path(path).is_relative_to(tmp_path):
                del sys.modules[name]


@pytest.fixture
def claim(folder: Path) -> Claim:
    from minimax.core.loading import load_object

    found = load_object("own_theorem:CLAIM")
    assert isinstance(found, Claim)
    return found


def test_the_example_is_short() -> None:
    text = (ROOT / "examples" / "own_theorem.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60


def test_a_new_theorem_has_its_verdict_and_plot(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the command line, in two processes, which find the module too."""
    options = ["--jobs", "2", "--json", "new/found.json", "--plots", "figures"]
    assert main(["--claims", "own_theorem:CLAIM", *options]) == 0
    found = json.loads((folder / "new" / "found.json").read_text())
    assert [cell["verdict"] for cell in found["cells"]] == ["CONSISTENT"] * 5
    assert [slope["verdict"] for slope in found["slopes"]] == ["CONSISTENT"] * 2
    assert [control["broke"] for control in found["controls"]] == [True] * 4
    assert (folder / "figures" / "signs-coupling-pure.png").stat().st_size > 10_000
    assert "5 cells, 2 slopes" in capsys.readouterr().out


def test_check_returns_the_run(claim: Claim) -> None:
    found = check(claim, profile=replace(BASE_ONLY, trials=100), seed=3)
    assert [row.verdict for row in found.cells] == [Verdict.CONSISTENT]
    wrong = replace(claim, lower=replace(claim.lower, formula=_times(claim, 100)))
    (row,) = check([wrong], profile=replace(BASE_ONLY, trials=100)).cells
    assert row.verdict is Verdict.VIOLATED


def _times(claim: Claim, factor: float) -> Any:
    def formula(p: Any, found: Any) -> Any:
        terms = claim.lower.formula(p, found)
        return terms._replace(privacy=factor * terms.privacy)

    return formula


def test_a_task_has_one_thread(claim: Claim) -> None:
    """Whatever there were before, which there are again afterwards."""
    seen: set[int] = set()

    def watching(p: Any) -> Any:
        seen.update(pool["num_threads"] for pool in threadpool_info())
        return claim.non_private(p)

    with threadpool_limits(limits=2):
        if {pool["num_threads"] for pool in threadpool_info()} != {2}:
            pytest.fail("the libraries do not take two threads: nothing would be shown")
        task = tasks_of(build([claim], BASE_ONLY).cells, BASE_ONLY)[0]
        piece_values(Piece(replace(task, make=watching), 0, 2), seed=0)
        assert seen == {1}
        assert {pool["num_threads"] for pool in threadpool_info()} == {2}


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "text", "message"),
    [
        ("own_theorem", "", "'own_theorem' must be of the form MODULE:NAME"),
        ("not_there:CLAIM", "", "there is no module 'not_there', neither installed nor in"),
        ("own.not_there:CLAIM", "", "there is no module 'own.not_there'"),
        ("own_theorem:CLAIN", "", "own_theorem.py) has no 'CLAIN'"),
        ("verify:CLAIM", "", "has no 'CLAIM'"),
        ("own:A", "A = 'text'", "own:A is a str, neither a Claim nor a list of them"),
        ("own:A", "A = [3]", "own:A[0] is an int, not a Claim"),
        ("own.py:A", "A = []", "there is no module 'own.py', neither installed nor in"),
        ("own.py:A", "A = []", ": give own:NAME"),
        ("lib/own.py:A", "", ": give lib.own:NAME"),
        ("/lib/own.py:A", "", ": give own:NAME"),
        ("own:A", "exit()", "'own' cannot be imported: SystemExit"),
        ("own:A", "def A(): exit(3)", "own:A() failed: SystemExit: 3"),
        ("own:A", "import nowhere", "'own' cannot be imported: No module named 'nowhere'"),
        ("own:A", "1/0", "'own' cannot be imported: ZeroDivisionError"),
        ("own:A", "def A(): 1/0", "own:A() failed: ZeroDivisionError"),
        ("own:A", "A = []", "no claim is given"),
    ],
)
def test_what_is_no_claim_is_refused(
    named: str, text: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "own.py").write_text(text)
    assert message in usage_error(main, ["--claims", named], capsys)
    assert not (folder / ".tracebound").exists()


class NoFit:
    """An estimator without `fit`."""

    def get_params(self) -> dict[str, object]:
        return {}

    def set_params(self) -> None:
        pass


class Draws:
    """A prior whose draw and records are given."""

    def __init__(self, **given: object) -> None:
        vars(self).update(given)


def signs(count: int) -> Any:
    """A prior of so many records, whatever n is."""
    target = np.zeros(1)
    instance = Draws(target=target, sample=lambda n, rng: np.ones((count, 1)), loss=lambda e: 1.0)
    return Draws(draw=lambda rng: instance)


def broken_prior(made: object) -> dict[str, Any]:
    return {"prior_at": lambda p, _: made}


def lower_with(claim: Claim, **changed: Any) -> Claim:
    return replace(claim, lower=replace(claim.lower, **changed))


def bad_claims(claim: Claim) -> dict[str, Claim]:
    """Claims of which something is missing, by the words that say so."""
    nan = _times(claim, float("nan"))
    far = {"n": 1.0, "epsilon": 1e-4}
    outside = Sweep("privacy", claim.sweeps[0].base, far, ("n",))
    return {
        "estimator_at fails at n=100 epsilon=0.04: TypeError: estimator_at gives a NoFit, which"
        " has no fit": replace(claim, estimator_at=lambda p: NoFit()),
        "gives a float, which has no fit and no get_params": replace(
            claim, non_private=lambda p: 1.0
        ),
        "the lower bound fails at n=50 epsilon=0.04: NotFinite: coupled signs: the value at n=50,"
        " epsilon=0.04 is nan, not a number": lower_with(claim, formula=nan),
        "the upper bound fails at n=50 epsilon=0.04: ValueError: its value is nan": replace(
            claim, upper=lambda p: float("nan")
        ),
        "the prior of 'coupled signs' fails at n=100 epsilon=0.04: TypeError: it is a float, which"
        " has no draw": lower_with(claim, **broken_prior(1.0)),
        "TypeError: it draws an int, which has no target and no sample and no loss": lower_with(
            claim, **broken_prior(Draws(draw=lambda rng: 1))
        ),
        "it samples 7 records where n = 100": lower_with(claim, **broken_prior(signs(7))),
        "the exponent in n is outside its regime at n=1 epsilon=0.0001, it needs"
        " n tanh(epsilon/2) >= 2/3": replace(claim, sweeps=(outside,)),
        "every point of its sweeps is outside the regime of its lower bound, which needs"
        " n tanh(epsilon/2) >= 2/3": replace(
            claim, sweeps=(Sweep("privacy", {"n": 1, "epsilon": 0.04}),)
        ),
        "a sweep in d has no d": replace(
            claim, sweeps=(Sweep("privacy", claim.sweeps[0].base, {}, ("d",)),)
        ),
    }


def test_what_cannot_be_used_is_told_in_a_sentence(claim: Claim) -> None:
    for message, bad in bad_claims(claim).items():
        with pytest.raises(BadClaim) as refused:
            check(bad)
        assert message in str(refused.value)
        assert repr(claim.name) in str(refused.value)


def test_a_trial_that_fails_is_named(claim: Claim, capsys: pytest.CaptureFixture[str]) -> None:
    """After the rehearsal: what other trials gave is kept."""
    calls = []

    def fails_later(p: Any) -> Any:
        calls.append(p)
        if len(calls) > 20:
            raise ValueError("too late")
        return claim.non_private(p)

    late = replace(claim, non_private=fails_later)
    message = usage_error(lambda given: main(given, claims=[late]), ["--jobs", "1"], capsys)
    assert "control|signs/coupling/pure|n=100,epsilon=0.04: trial 15 failed: Val" in message
    assert "what was measured is kept in .tracebound/" in message
    assert len(list(Path(".tracebound").glob("*.json"))) > 1
