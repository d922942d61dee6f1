"""``python -m verify.attacks``: what it lists, plays, writes, and refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from estimators import NoisyMean, SampleMean
from minimax import ZeroConcentrated
from tests.commands import usage_error
from verify.attacks.command import main, played
from verify.attacks.controls import controls
from verify.attacks.matches import Match, kind_of, toolkit_estimators
from verify.attacks.plots import LEAST, MOST, _share
from verify.attacks.settings import ATTACKS, setting
from verify.attacks.tails import count_tails

OWN = """
import numpy as np
from estimators import NoisyMean, SampleMean
from minimax import ZeroConcentrated

private = NoisyMean(ZeroConcentrated(0.1), R=1.0)

def exact(X, rng):
    return X.mean(axis=0)

def fails(X, rng):
    raise RuntimeError("no")

class Elsewhere:
    def fit(self, X, y=None):
        self.centre = X.mean(axis=0)
        return self

elsewhere = Elsewhere()
WRONG = 3
"""
FEW = ["--trials", "60", "--jobs", "1", "--n", "100"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_estimators.py").write_text(OWN)
    rows = np.random.default_rng(0).normal(size=(200, 3))
    lines = [",".join(f"{x:.6g}" for x in row) for row in rows]
    (tmp_path / "table.csv").write_text("\n".join(["age,income,rent", *lines]))
    np.save(tmp_path / "table.npy", rows)
    (tmp_path / "words.csv").write_text("a,b\n1,x\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def test_an_estimator_of_ones_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--attack", "centred-signs", "--json", "found.json", *FEW]
    assert main(["own_estimators:private", *asked]) == 0
    assert main(["own_estimators:exact", "--rho", "0.0005", *asked]) == 1
    shown = capsys.readouterr().out
    assert "PIERCED" in shown
    assert all(len(line.rstrip()) <= 80 for line in shown.splitlines())
    (row,) = json.loads((folder / "found.json").read_text())["rows"]
    assert row["member_sum"]["low"] > row["ceiling"]["high"]
    assert [path.name for path in (folder / "out").iterdir()] == ["attack_centred-signs.png"]
    assert main(["own_estimators:fails", "--rho", "1", *asked]) == 1
    assert "NOT PLAYED" in capsys.readouterr().out
    assert main(["own_estimators:elsewhere", "--attribute", "centre", *asked]) == 0


def test_a_table_of_ones_own(folder: Path) -> None:
    for table in ("table.csv", "table.npy"):
        found = ["--data", table, "--json", "found.json", *FEW]
        assert main(["own_estimators:exact", "--rho", "0.0005", *found]) == 1
    (row,) = json.loads((folder / "found.json").read_text())["rows"]
    assert row["verdict"] == "PIERCED"
    assert main(["--data", "table.csv", "--only", "*NoisyMean*", *FEW]) == 0
    only = ["--only", "*NoisyGradientRegression, zCDP*"]
    assert main(["--data", "table.csv", "--target", "rent", *only, *FEW]) == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["own_estimators:none"], "has no 'none'"),
        (["own_estimators:WRONG"], "neither an estimator nor a function"),
        (["own_estimators:Elsewhere"], "is a class"),
        (["own_estimators:exact", "--delta", "0.1"], "--delta needs --epsilon"),
        (["--epsilon", "1"], "go with MODULE:NAME"),
        (["--attack", "love"], "--attack must be one of"),
        (["--target", "rent"], "go with --data"),
        (["--data", "none.csv"], "cannot be read"),
        (["--data", "words.csv"], "cannot be read"),
        (["--data", "table.csv", "--target", "x"], "has no column 'x'"),
        (["--data", "table.csv", "--d", "3"], "do not go with --data"),
        (["--trials", "1"], "--trials must be at least"),
        (["--seed", "-1"], "--seed must not"),
        (["--jobs", "0"], "--jobs must be positive"),
        (["--confidence", "1"], "--confidence must lie"),
        (["--json", "."], "--json: is a folder"),
    ],
)
def test_bad_usage(
    arguments: list[str], told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in usage_error(main, arguments, capsys)


def test_every_estimator_has_an_attack() -> None:
    meant = {(each.kind, each.scope) for each in map(setting, ATTACKS)}
    assert {(kind_of(e), e.scope) for e in toolkit_estimators().values()} <= meant


def test_controls_name_what_must_fail() -> None:
    fails = [match.fails for match in controls()]
    assert set(fails) == {None, "ceiling", "outsiders", "identity"}
    assert len({match.label for match in controls()}) == len(fails)


def test_a_match_that_keeps_its_claim_and_one_that_does_not() -> None:
    game = setting("gaussian", 60)
    claim = ZeroConcentrated(0.02)
    kept = played(Match(game, "kept", NoisyMean(claim, R=3.0), claim), 40, 0, 1 - 1e-6)
    broken = played(Match(game, "broken", SampleMean(), claim), 40, 0, 1 - 1e-6)
    assert kept.well
    assert not broken.well
    assert broken.verdict == "PIERCED"
    caught = replace(broken, match=replace(broken.match, fails="ceiling"))
    assert caught.well
    assert not replace(kept, match=replace(kept.match, fails="ceiling")).well


def test_the_tails_of_lemma_2_1() -> None:
    found = count_tails("mean", SampleMean(), trials=60, seed=0, level=1e-4, catches=True)
    assert found.well
    assert found.near == found.trials == found.control
    assert found.outsiders == found.members == 0
    assert not replace(found, members=40).well
    assert not replace(found, control=0).well


def test_a_share_of_nothing_is_drawn_at_an_edge_unless_it_is_nothing() -> None:
    assert [_share(part, 0.0) for part in (-1.0, 0.0, 1.0)] == [LEAST, 0.0, MOST]
    assert [_share(part, 2.0) for part in (-9.0, 1.0, 99.0)] == [LEAST, 0.5, MOST]
