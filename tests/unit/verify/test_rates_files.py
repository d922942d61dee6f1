"""What a run of verify.rates leaves behind when it cannot tell, or cannot write, all of it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import verify
from minimax.core.bound import Assumption
from tests.commands import usage_error
from tests.statistical.test_own_claims import SWEEPS, NoisyCoin, claim
from verify.rates import Claim, command, main
from verify.rates.grid import PROFILES, Profile, build

PACKAGES = str(Path(verify.__path__[0]).parent)
TESTS = str(Path(__file__).parents[3])
ARGUMENTS = ["--jobs", "1", "--json", "found.json"]
FEW = Profile("quick", (0,), 40, 10, 2)


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PROFILES, "quick", FEW)


def cheating() -> Claim:
    """Without its noise."""
    return replace(claim(), estimator_at=lambda p: NoisyCoin(p["epsilon"], noise=0.0))


def found() -> int:
    """How many cells the JSON has."""
    return len(json.loads(Path("found.json").read_text())["cells"])


def test_the_json_is_there_whatever_becomes_of_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: object) -> None:
        raise UnicodeEncodeError("ascii", "×", 0, 1, "no such letter")

    monkeypatch.setattr(command, "print_report", fails)
    with pytest.raises(UnicodeEncodeError):
        main(ARGUMENTS, [claim()])
    assert found() == 1


@pytest.mark.parametrize(("name", "option"), [("write_json", "--json"), ("write_plots", "--plots")])
@pytest.mark.parametrize(("own", "code"), [(claim, 2), (cheating, 1)])
def test_a_full_disk_is_told(
    name: str,
    option: str,
    own: type[Claim],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The rest is printed and written; what is violated is violated."""

    def full(*given: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert main(ARGUMENTS, [own()]) == (1 if own is cheating else 0)
    monkeypatch.setattr(command, name, full)
    capsys.readouterr()
    assert main(ARGUMENTS, [own()]) == code
    printed = capsys.readouterr()
    assert f": {option}: cannot write to " in printed.err
    assert "No space left on device" in printed.err
    assert "1 cells" in printed.out


def test_one_path_for_two_things_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    message = usage_error(
        partial(main, claims=[claim()]), ["--json", "same", "--plots", "same"], capsys
    )
    assert "--json: is a folder: same" in message


CLOSED = """-c import sys
from tests.unit.verify import test_rates_files as t
t.PROFILES["quick"] = t.FEW
sys.exit(t.main(t.ARGUMENTS, [t.{own}()]))"""


@pytest.mark.parametrize(("own", "code"), [("claim", 0), ("cheating", 1)])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_reader_who_leaves_changes_no_exit_code(own: str, code: int, encoding: str) -> None:
    """Nor does one who cannot read all letters."""
    path = os.pathsep.join([PACKAGES, TESTS])
    process = subprocess.Popen(
        [sys.executable, *CLOSED.format(own=own).split(" ", 1)],
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": encoding},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    if encoding == "utf-8":
        process.stdout.close()
    else:
        assert b"1 cells" in process.stdout.read()
    assert process.wait() == code, process.stderr.read().decode()
    assert found() == 1


def test_an_exponent_that_is_not_fitted_for_want_of_points_is_told() -> None:
    """Its control: with all points inside there is an exponent, and nothing to tell."""
    steps = Profile("steps", (-1, 0, 1), 40, 10, 2)
    (sweep,) = SWEEPS
    own = replace(claim(), sweeps=(replace(sweep, variables=("n",)),))
    whole = build([own], steps)
    assert [len(whole.series), len(whole.dropped)] == [1, 0]
    many = (Assumption("n >= 30", lambda at: at["n"] >= 30),)
    part = build([replace(own, lower=replace(own.lower, assumptions=many))], steps)
    assert not part.series
    assert [d.reason for d in part.dropped] == ["n >= 30: too few are left for an exponent in n"]
