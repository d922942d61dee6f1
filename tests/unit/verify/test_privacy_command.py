"""``python -m verify.privacy``: what it lists, runs, writes, and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from minimax.core.privacy import Pure
from tests.commands import usage_error
from verify.privacy.cases import Case
from verify.privacy.command import audited, main
from verify.privacy.controls import CONTROLS
from verify.privacy.report import Row, Run

OWN = """
import numpy as np
from minimax import Pure
from verify.privacy import Case

def loud(x, rng):
    return float(np.clip(x, 0, 1).mean() + rng.laplace(scale=0.1 / len(x)))

def fails(x, rng):
    raise RuntimeError("no")

CASES = [Case("said to be broken", loud, Pure(1.0), keeps=False)]
EMPTY, WRONG = [], [3]
"""
FEW = ["--releases", "3000", "--jobs", "1"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_mechanisms.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def test_a_mechanism_of_ones_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    claim = ["--epsilon", "1", "--bounds", "0", "1", "--json", "found.json"]
    assert main(["own_mechanisms:loud", *claim, *FEW]) == 1
    shown = capsys.readouterr().out
    assert "REFUTED" in shown
    assert "1 of 1 of your own refuted" in shown
    assert all(len(line.rstrip()) <= 80 for line in shown.splitlines())
    (row,) = json.loads((folder / "found.json").read_text())["rows"]
    assert row["lower"] > row["claimed"] == 1
    assert [path.name for path in (folder / "out").iterdir()] == ["privacy_loud.png"]
    assert main(["own_mechanisms:CASES", *FEW]) == 0  # it is what it is said to be
    assert main(["own_mechanisms:fails", "--rho", "1", *FEW]) == 1
    assert "NOT AUDITED" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["own_mechanisms:loud"], "needs a claim"),
        (["own_mechanisms:loud", "--delta", "0.1"], "--delta needs --epsilon"),
        (["own_mechanisms:none"], "has no 'none'"),
        (["own_mechanisms:EMPTY"], "is empty"),
        (["own_mechanisms:WRONG"], "not a Case"),
        (["--epsilon", "1"], "go with MODULE:NAME"),
        (["--seconds", "0"], "--seconds must be positive"),
        (["--jobs", "0"], "--jobs must be positive"),
        (["--confidence", "1"], "--confidence must lie"),
        (["--seed", "-1"], "--seed must not"),
        (["--json", "."], "--json: is a folder"),
    ],
)
def test_bad_usage(
    arguments: list[str], told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in usage_error(main, arguments, capsys)


def test_twins_are_audited_again_and_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--twins", "2", "--only", "noisy max [01]", *FEW]) == 0
    assert "0 of 2 sound ones refuted" in capsys.readouterr().out
    assert not list((folder / "out").iterdir())  # only what is wrong is drawn


def test_controls_are_enough_and_named_once() -> None:
    names = [case.name for case in CONTROLS]
    assert len(set(names)) == len(names)
    assert sum(case.keeps is False for case in CONTROLS) >= 20
    assert sum(case.keeps is True for case in CONTROLS) >= 10
    assert all(case.about for case in CONTROLS)


def constant(x: np.ndarray, rng: np.random.Generator) -> float:
    return 0.0


def test_a_verdict_that_must_be_another_is_a_failure() -> None:
    rows = [
        audited(Case("constant", constant, Pure(1.0), keeps), 0, {"releases": 3_000})
        for keeps in (True, None, False)
    ]
    assert [row.well for row in rows] == [True, True, False]
    assert Run(tuple(rows[:2]), 0, 0.999).exit_code == 0
    assert Run(tuple(rows), 0, 0.999).exit_code == 1
    assert not Row(rows[0].case, None, "no").well
