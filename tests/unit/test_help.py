"""What every command says on --help: plain text that a terminal of 80 columns holds."""

from __future__ import annotations

import importlib
import os
import pkgutil
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tests.effort import part
from tracebound.__main__ import COMMANDS

ROOT = Path(__file__).parents[2]
PACKAGES = ("minimax", "estimators", "attacks", "verify")


def commands() -> list[str]:
    """What can be run with `python -m`, found by the line that runs it."""
    found = []
    for package in map(importlib.import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            source = importlib.util.find_spec(module.name).origin
            if 'if __name__ == "__main__":' in Path(source).read_text(encoding="utf-8"):
                found.append(module.name.removesuffix(".__main__"))
    return found


FORMER = {"verify.contraction": "verify.channels"}
CALLS = ["tracebound", *(f"tracebound {name}" for name in COMMANDS)]


def faults(text: str) -> list[str]:
    """Lines that are too long or hold markup; and no example."""
    lines = [line for line in text.splitlines() if len(line) > 80 or "`" in line]
    return lines + ["no examples"] * ("examples:" not in text)


def test_commands_are_found():
    assert {"minimax", "verify.rates", "verify.proofs", "verify.channels"} <= set(commands())


def help_of(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> str:
    """What the module prints on --help when it is run as the main one, in this process."""
    module, *arguments = command.split()
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "argv", [module, *arguments, "--help"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it may have been imported before
        with pytest.raises(SystemExit) as stopped:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    assert not stopped.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize("command", commands() + CALLS)
def test_help_fits_a_terminal(command, monkeypatch, capsys):
    shown = help_of(command, monkeypatch, capsys)
    called = command if command in CALLS else f"python -m {FORMER.get(command, command)}"
    assert shown.startswith(f"usage: {called} ")
    examples = [line for line in shown.partition("examples:\n")[2].splitlines() if line]
    assert all(line.startswith((f"  {called}", "   ", "tracebound COMMAND")) for line in examples)
    assert faults(shown) == []


EVERY = list(dict.fromkeys(["minimax", "tracebound proofs", *commands(), *CALLS]))


@pytest.mark.parametrize("command", EVERY[: part(2, of=len(EVERY))])
def test_another_process_prints_the_same(command, monkeypatch, capsys):
    shown = subprocess.run(
        [sys.executable, "-m", *command.split(), "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "80"},
    ).stdout
    assert shown == help_of(command, monkeypatch, capsys)


def test_faults_are_seen():
    assert faults("examples:\n" + "x" * 81) == ["x" * 81]
    assert faults("examples:\n``code``") == ["``code``"]
    assert faults("usage") == ["no examples"]
