"""Workers that are copies of the process that asks them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from verify.rates.backends import FORKS, Processes

pytestmark = pytest.mark.skipif(not FORKS, reason="workers are no copies here")
KNOWN: dict[str, int] = {}


def looked_up(name: str) -> tuple[int | None, int]:
    """What this process knows, and which it is."""
    time.sleep(0.05)  # so that one worker does not do all
    return KNOWN.get(name), os.getpid()


def waited(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def gone(pids: set[int]) -> bool:
    end = time.monotonic() + 60
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(alive, pids))


def test_workers_know_what_was_known_when_they_began(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: what is found out later they do not know, and so they were not begun anew."""
    monkeypatch.setitem(KNOWN, "plan", 7)
    with closing(Processes(2)) as workers:
        first = dict(workers.completed(looked_up, ["plan", "other"] * 4))
        monkeypatch.setitem(KNOWN, "other", 8)
        second = dict(workers.completed(looked_up, ["plan", "other"] * 4))
        for found in (first, second):
            assert [found[place][0] for place in range(8)] == [7, None] * 4
        pids = {pid for _, pid in (*first.values(), *second.values())}
        assert len(pids) == 2
        assert os.getpid() not in pids
    assert gone(pids)
    with closing(Processes(2)) as workers:
        assert {value for _, (value, _) in workers.completed(looked_up, ["other"] * 2)} == {8}


ALONE = """
import os, time
from contextlib import closing
from verify.rates.backends import Processes

def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def spent():
    times = os.times()
    return times.children_user + times.children_system

with closing(Processes(2)) as workers:
    list(workers.completed(busy, [0.2] * 2))
    running = spent()
print(running, spent())
"""


def test_the_time_of_workers_counts() -> None:
    """As that of ended children, by which a run's cost is told.

    In a process of its own, since children of other tests may end at any time. The control: the
    time does not count while they are there.
    """
    told = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    running, ended = map(float, told.stdout.split())
    assert running < 0.1
    assert ended > 0.3


def test_workers_end_when_no_more_is_asked_for() -> None:
    workers = Processes(2)
    pids = {pid for _, (_, pid) in workers.completed(looked_up, [""] * 4)}
    assert all(map(alive, pids))
    asked = workers.completed(waited, [0.01, *[300.0] * 8])
    assert next(asked) == (0, 0.01)
    asked.close()
    assert gone(pids)
    with closing(workers):  # others take their place
        assert dict(workers.completed(waited, [0.0])) == {0: 0.0}


def test_an_error_is_that_of_the_call() -> None:
    """What is no function of a module travels too."""
    divisors = [1, 0, 2]
    with (
        closing(Processes(2)) as workers,
        pytest.raises(ZeroDivisionError, match="division"),
    ):
        list(workers.completed(lambda place: 1 // divisors[place], range(3)))


def test_workers_begin_before_the_first_result_is_asked_for() -> None:
    """A progress bar's threads begin in between, and a copy would not have them."""
    with closing(Processes(2)) as workers:
        results = workers.completed(waited, [0.0])
        assert workers._copies is not None
        assert list(results) == [(0, 0.0)]
