"""The workers of a dask scheduler: the same numbers, also when one of them is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dask import config
from dask.distributed import LocalCluster

from tests.commands import usage_error
from tests.effort import part
from verify.rates import main
from verify.rates.backends import WATCH_SECONDS, OtherSources, _unpacked

ROOT = Path(__file__).parents[3]
PATIENCE = 90.0
"""Seconds after which a wait is given up: a test that hangs says so."""
FRAGILE = """
import os
import time
from dataclasses import replace
from pathlib import Path
from numbers_of_mine import SHARE, WEIGHT
from own_theorem import CLAIM, LaplaceMean

HERE = Path(__file__).parent

class Fragile(LaplaceMean):
    '''The first fit to 50 records leaves its process number and waits to be killed.'''

    def fit(self, X):
        if len(X) == 50 and self.is_first():
            (HERE / "running" / str(os.getpid())).touch()
            end = time.monotonic() + 90
            while not (HERE / "killed").exists() and time.monotonic() < end:
                time.sleep(0.01)
        return super().fit(X)

    def is_first(self):
        try:
            (HERE / "running").mkdir()
        except FileExistsError:
            return False
        return True

SWEEPS = tuple(replace(sweep, weight=WEIGHT) for sweep in CLAIM.sweeps)
MINE = replace(CLAIM, estimator_at=lambda p: Fragile(SHARE * p["epsilon"]), sweeps=SWEEPS)
"""
DEADLY = """
import multiprocessing
import os
from dataclasses import replace
from own_theorem import CLAIM, LaplaceMean

class Deadly(LaplaceMean):
    def fit(self, X):
        if multiprocessing.parent_process() is not None:
            os._exit(3)
        return super().fit(X)

MINE = replace(CLAIM, estimator_at=lambda p: Deadly(p["epsilon"]))
"""
OPTIONS = ["--claims", "fragile:MINE", "--seed", "2"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    size = {"n_workers": 2, "threads_per_worker": 1}
    with LocalCluster(**size, processes=True, dashboard_address=None) as made:
        yield made


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A working folder with claims of one's own, where no worker looks for modules."""
    text = (ROOT / "examples" / "own_theorem.py").read_text(encoding="utf-8")
    (tmp_path / "own_theorem.py").write_text(text, encoding="utf-8")
    (tmp_path / "numbers_of_mine.py").write_text(f"SHARE, WEIGHT = 1.0, {part(1, of=2) / 2}\n")
    (tmp_path / "fragile.py").write_text(FRAGILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("own_theorem", "numbers_of_mine", "fragile", "deadly"):
        sys.modules.pop(name, None)


def killer(folder: Path) -> threading.Thread:
    """Ends the process that leaves its number, as soon as it does."""

    def kill() -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not list(folder.glob("running/*")):
            time.sleep(0.01)
        for path in folder.glob("running/*"):
            os.kill(int(path.name), signal.SIGKILL)
        (folder / "killed").touch()

    made = threading.Thread(target=kill)
    made.start()
    return made


def test_a_killed_worker_changes_nothing(cluster: LocalCluster, folder: Path) -> None:
    thread = killer(folder)
    spread = ["--backend", "dask", "--scheduler", cluster.scheduler_address, "--results", "far"]
    code = main([*OPTIONS, *spread, "--json", "far.json"])
    thread.join()
    (victim,) = folder.glob("running/*")  # one was killed, and who did its work again was not
    assert int(victim.name) != os.getpid()
    assert main([*OPTIONS, "--jobs", "1", "--results", "near", "--json", "near.json"]) == code
    assert (folder / "far.json").read_bytes() == (folder / "near.json").read_bytes()
    far, near = ({p.name for p in (folder / k).glob("[0-9a-f]*.json")} for k in ("far", "near"))
    assert far == near
    assert len(far) >= 7


def test_a_scheduler_that_is_not_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("verify.rates.backends.CONNECT_SECONDS", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    spread = ["--backend", "dask", "--scheduler", address]
    message = usage_error(main, [*OPTIONS, *spread], capsys)
    assert f"--scheduler: no scheduler answers at {address}" in message


def test_another_service_is_no_scheduler(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It takes the connection and says nothing."""
    monkeypatch.setattr("verify.rates.backends.CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        spread = ["--backend", "dask", "--scheduler", address]
        message = usage_error(main, [*OPTIONS, *spread], capsys)
    assert f"--scheduler: what answers at {address} is no dask scheduler, or too slow" in message


def test_a_service_that_speaks_first_is_no_scheduler(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its words are taken for the length of a message of exabytes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            for _ in range(20):
                with contextlib.suppress(OSError):
                    server.accept()[0].sendall(b"SSH-2.0-OpenSSH_9.6p1 Ubuntu-3ubuntu13\r\n")

        threading.Thread(target=greet, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        spread = ["--backend", "dask", "--scheduler", address]
        message = usage_error(main, [*OPTIONS, *spread], capsys)
    assert f"--scheduler: what answers at {address} is no dask scheduler" in message


def test_an_address_that_needs_certificates_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spread = ["--backend", "dask", "--scheduler", "tls://127.0.0.1:1"]
    message = usage_error(main, [*OPTIONS, *spread], capsys)
    assert "--scheduler: what answers at tls://127.0.0.1:1 is no dask scheduler" in message


def test_nobody_to_work_and_work_that_nobody_survives(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sentence for each. The cluster has no worker at first, and then one that dies of it."""
    (folder / "deadly.py").write_text(DEADLY)
    one = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=0, **one) as empty,
    ):
        come = threading.Timer(4 * WATCH_SECONDS, empty.scale, [1])
        come.start()
        spread = ["--backend", "dask", "--scheduler", empty.scheduler_address]
        with pytest.raises(SystemExit) as stopped:
            main(["--claims", "deadly:MINE", *spread])
        come.join()
    printed = capsys.readouterr()
    assert stopped.value.code == 2
    assert "the scheduler has no workers: waiting for one" in printed.out
    assert "workers ended one after the other in the middle of the same work" in printed.err
    assert "what was measured is kept in .tracebound/" in printed.err


@pytest.mark.parametrize(
    "options", [["--backend", "dask"], ["--scheduler", "tcp://127.0.0.1:1"]], ids=str
)
def test_the_options_go_together(
    options: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = usage_error(main, [*OPTIONS, *options], capsys)
    assert "--backend dask and --scheduler ADDRESS go together" in message


def test_a_worker_with_other_sources_is_refused() -> None:
    with pytest.raises(OtherSources, match="has other versions of tracebound"):
        _unpacked(b"", "another digest")
