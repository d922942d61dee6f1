"""The command that runs the proof ledger: what it prints, writes and refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.commands import usage_error
from tests.unit.verify.test_ledger import LEDGER, entry, failing, passing
from verify.proofs import command, figures, main
from verify.proofs.document import anchors, section
from verify.proofs.entry import (
    Case,
    Finding,
    Result,
    Status,
    result,
    status_of,
)

# --- the command -------------------------------------------------------------------------------


def test_the_command_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "proofs.json"
    arguments = ["--only", "CWZ19:Lemma 8.1", "--json", str(path), "--jobs", "1"]
    assert main(arguments) == 0
    written = json.loads(path.read_text())
    assert written["summary"] == written["findings"] == {"holds corrected": 1}
    (only,) = written["entries"]
    assert only["finding"] == only["id"]
    assert set(only) >= {"id", "paper", "kind", "status", "severity", "summary", "evidence"}
    assert only["mutant_fails"] is True
    assert "e^{\\epsilon m}" in only["statement"]
    assert only["method"] == LEDGER["CWZ19:Lemma 8.1"].method
    assert only["wrong"]
    assert only["corrected"] == only["evidence"]["corrected"]["form"]
    assert only["uses"] == ["CWZ19:Definition 1"]
    assert only["code"][0]["file"] == "minimax/core/closeness.py"
    assert only["evidence"]["printed"]["module"] == "verify.statements.cwz19.group_privacy"
    assert only["seconds"] >= 0
    assert not only["evidence"]["printed"]["holds"]
    assert only["evidence"]["corrected"]["holds"]
    assert "1 entry: 1 holds corrected" in capsys.readouterr().out


def test_a_changed_status_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = entry(printed=passing(), mutant=failing(ratio=2.0), expected=Status.REFUTED)
    monkeypatch.setattr(command, "entries", lambda: {changed.id: changed})
    assert main(["--jobs", "1"]) == 1
    assert "recorded as refuted" in capsys.readouterr().out


def test_show_prints_the_whole_entry(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "CWZ19:Lemma 8.1"]) == 0
    out = capsys.readouterr().out
    assert "2.65" in out
    assert "Stated with:\nCWZ19:Definition 1" in out
    assert "group_delta" in out


def test_show_prints_conditions_constants_and_proof(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "CWZ19:Theorem 3.2"]) == 0
    out = capsys.readouterr().out
    assert "Proof (minimax.problems.mean.upper.noisy_mean_upper):" in out
    assert main(["show", "WX21:Theorem 7"]) == 0
    out = capsys.readouterr().out
    assert "p >= s (holds at n = 10000, p = 20, s = 5, C = " in out
    assert "Constants (minimax.problems.label_regression.lower" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "CWZ19:Lemma 81"], "nearest: .*'CWZ19:Lemma 8.1'"),
        (["--json", "x.json", "show", "CWZ19:Lemma 8.1"], "--json goes with a run, not with show"),
        (["--json", "x.json", "--write", "x.json"], "--json and --write must not be the same"),
        (["--write", "x.md", "--fast"], "--write writes the whole ledger"),
        (["--fast", "--only", "CWZ19:Theorem 3.3"], "--fast leaves out everything"),
        (["--json", "/dev/null"], "--json: is not a regular file"),
        (["--only", "nothing*"], "matches no entry; nearest: "),
        (["--json", "/proc/no/such/x.json"], "--json: cannot make /proc/no/such"),
        (["--jobs", "0"], "--jobs must be positive"),
        (["--seed", "-1"], "--seed must not be negative"),
    ],
)
def test_bad_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert re.search(message, usage_error(main, arguments, capsys))


def test_an_entry_is_found_whatever_its_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "cwz19: lemma  8.1"]) == 0
    assert "CWZ19:Lemma 8.1" in capsys.readouterr().out


def test_a_check_that_raises_is_invalid(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The other entries are run all the same, and what is not finite is null in the JSON file."""

    def broken(rng: Any) -> Result:
        raise ArithmeticError("no such number")

    first = entry(printed=Case("raises", check=broken).form(), mutant=failing())
    second = entry(id="CWZ19:Test 2", printed=passing(value=np.inf), mutant=failing())
    both = {found.id: found for found in (first, second)}
    monkeypatch.setattr(command, "entries", lambda: both)
    path = tmp_path / "x.json"
    assert main(["--jobs", "1", "--json", str(path)]) == 1
    assert "no such number" in capsys.readouterr().out

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    written = json.loads(path.read_text(), parse_constant=refuse)
    assert written["summary"] == {"holds": 1, "invalid check": 1}
    assert written["entries"][1]["evidence"]["printed"]["value"] is None


def test_a_link_is_written_through(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    assert main(["--only", "CWZ19:Lemma 8.1", "--jobs", "1", "--json", str(link)]) == 0
    assert link.is_symlink()
    assert "Lemma 8.1" in target.read_text()


def test_markdown_leaves_formulas_alone() -> None:
    statement = r"On $\{1\}$ we have $a_*\,b_*$ for s* and t*."
    told = entry(statement=statement, printed=passing(), mutant=failing())
    text = section(told, Finding(told.id, Status.HOLDS))
    assert r"On $`\{1\}`$ we have $`a_*\,b_*`$ for s\* and t\*." in text


def test_headings_that_look_alike_have_anchors_of_their_own() -> None:
    names = ["CWZ19:(D1)", "CWZ19:(D1')", "CWZ19:(D2)"]
    alike = [entry(id=name, printed=passing(), mutant=failing()) for name in names]
    assert list(anchors(alike).values()) == ["cwz19d1", "cwz19d1-1", "cwz19d2"]


def test_the_headline_figure_shows_what_is_claimed() -> None:
    axes = Figure().subplots(1, 3)
    figures._algorithm_3_1(axes[0], 0)
    at_half = next(line for line in axes[0].lines if "0.5" in str(line.get_label()))
    ratio = np.interp(np.log(1e-8), np.log(at_half.get_xdata()), at_half.get_ydata())
    assert ratio == pytest.approx(28.1, rel=0.02)
    figures._label_noise(axes[1], 0)
    small = next(line for line in axes[1].lines if "0.05" in str(line.get_label()))
    assert small.get_ydata()[7] == pytest.approx(51.8, rel=0.01)
    figures._ascent(axes[2], 0)
    climbing, descending = (line.get_ydata()[-1] for line in axes[2].lines)
    assert climbing > 1
    assert descending < 0.02


def test_results_are_plain_data() -> None:
    found = result(np.bool_(True), ratio=np.float64(2.0))
    assert found == Result(True, {"ratio": 2.0})
    assert type(found.evidence["ratio"]) is float
    assert status_of(entry(printed=passing(), mutant=failing()), {}) is Status.INVALID
