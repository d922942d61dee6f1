"""The command `tracebound`: its parts, its version, and folders with modules of the same names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tracebound
import verify.__main__ as verify_list
from tracebound.__main__ import COMMANDS, main, packages_first

ROOT = Path(__file__).parents[2]
PACKAGES = str(Path(tracebound.__file__).parents[1])
OWN_NAMES = ("verify.py", "minimax.py", "estimators.py", "attacks.py")


def called(
    folder: Path, *arguments: str, start: str = "-m tracebound"
) -> subprocess.CompletedProcess[str]:
    """The command, run in a folder with the packages on the path."""
    return subprocess.run(
        [sys.executable, *start.split(" ", 1), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": PACKAGES, "COLUMNS": "80"},
    )


def test_the_version_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tracebound {tracebound.__version__}\n"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    attribute = project["tool"]["setuptools"]["dynamic"]["version"]["attr"]
    assert attribute == "tracebound.__version__"
    assert project["project"]["scripts"] == {"tracebound": "tracebound.__main__:script"}
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {tracebound.__version__}\n" in citation
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (.*)$", changes, re.MULTILINE)[1] == tracebound.__version__


def test_commands_do_what_the_modules_do(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = ["bounded-mean", "--d", "20", "--rho", ".125"]
    assert main(["bounds", *numbers, "--n", "100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["kind"] == "certified"
    assert main(["plan", *numbers, "--risk", ".01"]) == 0
    assert "with n < 2,068" in capsys.readouterr().out
    assert main(["rates", "--list", "--only", "bounded-mean/tracing/GDP"]) == 0
    assert main(["proofs", "--list", "--only", "CWZ19:Lemma 8.1"]) == 0
    assert "CWZ19:Lemma 8.1" in capsys.readouterr().out


def test_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "commands:" in capsys.readouterr().out
    assert main(["bonds"]) == 2
    assert "no command 'bonds'; there are bounds, plan, rates" in capsys.readouterr().err
    for name in COMMANDS:
        with pytest.raises(SystemExit) as stopped:
            main([name, "--no-such-option"])
        assert stopped.value.code == 2
        assert f"usage: tracebound {name} " in capsys.readouterr().err


def test_a_folder_may_have_modules_of_the_same_names(tmp_path: Path) -> None:
    """Also for the worker processes: what they import is what was called."""
    for name in OWN_NAMES:
        (tmp_path / name).write_text("raise SystemExit('the wrong module')\n")
    options = ["--only", "bounded-mean/tracing/GDP", "--jobs", "2", "--json", "found.json"]
    done = called(tmp_path, "rates", *options)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "found.json").read_text())["summary"]["violated"] == 0
    script = called(
        tmp_path, "rates", "--list", start="-c import tracebound.__main__ as t; t.script()"
    )
    assert script.returncode == 0, script.stderr
    # Control: the module alone takes what the folder has.
    wrong = called(tmp_path, "--list", start="-m verify.rates")
    assert wrong.returncode == 1
    assert "the wrong module" in wrong.stderr


def test_the_working_folder_goes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    for first in ("", os.getcwd()):
        monkeypatch.setattr(sys, "path", [first, "/packages"])
        packages_first()
        assert sys.path == ["/packages", os.getcwd()]
    packages_first()
    assert sys.path == ["/packages", os.getcwd()]


def test_verify_lists_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert verify_list.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 100 for line in lines)
    told = dict(line.removeprefix("python -m ").split(maxsplit=1) for line in lines)
    assert told["verify.rates"] == "does measured error stay between the bounds?"
    assert {"verify.proofs", "verify.channels"} <= set(told)


INTERRUPTED_AT = """-c import runpy, sys
class Interrupts:
    def find_spec(self, name, *_):
        if name == "{name}":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupts())
runpy.run_module("{module}", run_name="__main__", alter_sys=True)"""


@pytest.mark.parametrize(
    ("module", "name", "code", "told"),
    [
        ("tracebound", "rich.console", 130, "interrupted before anything was begun\n"),
        ("tracebound", "nowhere", 0, ""),
        (
            "verify.rates",
            "verify.rates.command",
            130,
            "interrupted: no file was left half-written\n",
        ),
        ("verify.rates", "nowhere", 0, ""),
    ],
)
def test_ctrl_c_while_the_command_is_still_loading(
    module: str, name: str, code: int, told: str, tmp_path: Path
) -> None:
    """One line, and none without it."""
    start = INTERRUPTED_AT.format(module=module, name=name)
    found = called(tmp_path, "--help", start=start)
    assert (found.returncode, found.stderr) == (code, told)
