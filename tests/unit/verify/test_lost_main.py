"""A main process that is killed outright leaves no workers behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from verify.rates.backends import Processes

SCRIPT = """
import os, sys, time
from verify.rates.backends import Processes

def call(folder):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    time.sleep(300)

if __name__ == "__main__":
    list(Processes(2).completed(call, [sys.argv[1]] * 2))
"""
PATIENCE = 60


def alive(pid: int) -> bool:
    """Neither gone nor only waited for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
def test_workers_end_with_their_main_process(tmp_path: Path) -> None:
    """The control: they were alive, and had minutes to go."""
    script, seen = tmp_path / "main_process.py", tmp_path / "seen"
    script.write_text(SCRIPT)
    seen.mkdir()
    with subprocess.Popen([sys.executable, str(script), str(seen)]) as main:
        try:
            wait_until(lambda: len(list(seen.iterdir())) == 2)
            workers = [int(path.name) for path in seen.iterdir()]
            assert all(map(alive, workers))
            assert main.pid not in workers
        finally:
            main.send_signal(signal.SIGKILL)
    try:
        wait_until(lambda: not any(map(alive, workers)))
    finally:
        for worker in filter(alive, workers):
            os.kill(worker, signal.SIGKILL)


def wait_until(condition) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


def test_a_main_process_that_works_alone_watches_nobody() -> None:
    assert list(Processes(1).completed(abs, [-3])) == [(0, 3)]
