"""A problem of one's own in the calculator: `--from my_module:PROBLEM`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from minimax.__main__ import main
from tests.commands import usage_error

OWN = """
import math
from dataclasses import dataclass, replace
from minimax import LowerBound, Problem, Pure, Terms
from minimax.problems.bounded_mean import BoundedMeanProblem

NAN = float("nan")
THEOREM = LowerBound(
    name="of my own", source="tracebound: mine", parameters=("n", "k"),
    formula=lambda p, _: Terms(None, p["k"] / p["n"]),
)

@dataclass(frozen=True)
class Mine(BoundedMeanProblem):
    name = "mine"
    about = "signs, with a number of my own"
    k: float = 2.0

    def lower(self, privacy):
        return [*super().lower(privacy), THEOREM]

class Wrong(Mine):
    def lower(self, privacy):
        return 1 / "x"

class NoNumber(Mine):
    def lower(self, privacy):
        return [*super().lower(privacy), replace(THEOREM, formula=lambda p, _: Terms(None, NAN))]

class NumbersAlone(Mine):
    def lower(self, privacy):
        return [replace(THEOREM, formula=lambda p, _: Terms(None, math.tanh(p["k"]) / p["n"]))]

class Looked(Mine):
    def lower(self, privacy):
        return [replace(THEOREM, formula=lambda p, _: Terms(None, {100.0: 0.02}[p["n"]]))]

class Missing(Mine):
    def lower(self, privacy):
        return [replace(THEOREM, formula=lambda p, _: open("no such file"))]

class Half(Problem):
    name = "half"
"""


@pytest.fixture(autouse=True)
def _own_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    (tmp_path / "own_problem.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("own_problem", None)


NUMBERS = ["--n", "100", "--d", "1", "--epsilon", ".1"]


def test_it_is_shown_with_its_own_bound_and_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--from", "own_problem:Mine", *NUMBERS, "--k", "3", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["of my own"]["total"] == pytest.approx(0.03)
    assert "tracing: sign data" in rows
    assert main(["--from", "own_problem:Mine", *NUMBERS]) == 0
    assert "mine: signs, with a number of my own" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "nowhere:Mine"], "--from: there is no module 'nowhere'"),
        (["--from", "own_problem:Other"], "--from: module 'own_problem'"),
        (["--from", "own_problem:THEOREM"], "not a subclass of minimax.Problem"),
        (["--from", "own_problem:Half"], "does not say what its best_upper, farthest, instance"),
        (["--from", "own_problem:Wrong"], "own_problem:Wrong fails: TypeError"),
        (["--from", "own_problem:NoNumber"], "own_problem:NoNumber is wrong: of my own: the value"),
        (["--from", "own_problem:NoNumber"], "at n=100, k=2 is nan, not a number"),
        (["--from", "own_problem.py:Mine"], "--from: there is no module 'own_problem.py'"),
        (["mean", "--from", "own_problem:Mine"], "one of the two"),
        ([], "one of the two"),
        (["mean", "--zeta", "3"], "unrecognized arguments: --zeta"),
    ],
)
def test_bad_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in usage_error(main, [*arguments, *NUMBERS], capsys)


def test_a_formula_that_takes_numbers_alone_has_no_closed_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = {}
    for name in ("NumbersAlone", "Looked", "Mine"):
        assert main(["--from", f"own_problem:{name}", *NUMBERS, "--json"]) == 0
        found[name] = json.loads(capsys.readouterr().out)[-1]
    for name in ("NumbersAlone", "Looked"):
        assert found[name]["closed_form"] is found[name]["latex"] is None
        assert found[name]["total"] > 0
    assert (found["Mine"]["closed_form"], found["Mine"]["latex"]) == ("k/n", "\\frac{k}{n}")


def test_a_file_that_is_not_there_is_told_as_what_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One of the problem's own, and the figure's."""
    message = usage_error(main, ["--from", "own_problem:Missing", *NUMBERS], capsys)
    assert "--from: own_problem:Missing fails: FileNotFoundError" in message


def test_a_figure_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("minimax.__main__.write_bounds_figure", full)
    plot = ["bounded-mean", *NUMBERS, "--plot", "found.png"]
    message = usage_error(main, plot, capsys)
    assert "--plot: cannot write to found.png: No space left on device" in message
