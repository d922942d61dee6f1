"""How verify.rates scales: measured from one process to two, and a model of its pieces beyond.

    python bench/scaling.py                          the quick profile (minutes, on two free cores)
    python bench/scaling.py --only 'bounded-mean*'   some claims
    python bench/scaling.py --profile standard --model    its pieces alone, in one process

Measured: the whole command by the clock, with imports, bounds and plots. Model: every piece of the
simulation is run and timed once; within a look pieces are begun longest first, a free worker takes
the next, and all wait for the last. What is done once, in one process, is not in the model: its
share of the simulation's time is printed.
"""

from __future__ import annotations

import argparse
import fnmatch
import heapq
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from rich.console import Console
from rich.table import Table

from verify.rates.claims import all_claims
from verify.rates.command import EXTRAS, ORDERING
from verify.rates.grid import PROFILES
from verify.rates.run import run

T = TypeVar("T")
R = TypeVar("R")
ROOT = Path(__file__).parents[1]
WORKERS = (2, 8, 16, 64)


def clock(jobs: int, profile: str, only: str) -> float:
    """Seconds that the command takes with so many processes, nothing kept from before."""
    command = [sys.executable, "-m", "verify.rates", "--summary", "--only", only]
    command += ["--profile", profile]
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run(
            [*command, "--jobs", str(jobs)],
            cwd=folder,
            env=path,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        return time.perf_counter() - start


class Timed:
    """One process, which notes what each piece takes, look by look; of those for many workers."""

    is_large = True

    def __init__(self) -> None:
        self.looks: list[list[float]] = []

    def completed(self, call: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Each item's place and result, one after the other."""
        seconds: list[float] = []
        self.looks.append(seconds)
        for place, item in enumerate(items):
            start = time.process_time()
            found = call(item)
            seconds.append(time.process_time() - start)
            yield place, found


def last_end(seconds: Sequence[float], workers: int) -> float:
    """When the last of some pieces ends, if each in turn is begun by the first free worker."""
    free = [0.0] * workers
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free)


def times_as_fast(looks: Sequence[Sequence[float]], workers: int) -> float:
    """So many workers, against one; looks come one after the other."""
    return sum(map(sum, looks)) / sum(last_end(seconds, workers) for seconds in looks)


class Pieces(NamedTuple):
    """What was simulated, in seconds of the processor."""

    looks: list[list[float]]
    besides: float
    """What took place once: plans, bounds and verdicts."""


def pieces(profile: str, only: str) -> Pieces:
    """Those of a run in one process."""
    chosen = [claim for claim in all_claims() if fnmatch.fnmatch(claim.name, only)]
    specials = [e for e in EXTRAS if e is not ORDERING and fnmatch.fnmatch(e.name, only)]
    noted, start = Timed(), time.process_time()
    run(chosen, PROFILES[profile], specials=specials, backend=noted)
    whole = time.process_time() - start
    return Pieces(noted.looks, whole - sum(map(sum, noted.looks)))


def measured(profile: str, only: str) -> tuple[str, str]:
    """The line of the whole command."""
    one, two = clock(1, profile, only), clock(2, profile, only)
    return "measured, the whole command: 2 processes", f"{one / two:.2f}"


def modelled(profile: str, only: str) -> list[tuple[str, str]]:
    """The lines of the pieces."""
    looks, besides = pieces(profile, only)
    whole, count = sum(map(sum, looks)), sum(map(len, looks))
    largest = max(map(max, looks)) / whole
    told = f"{count:,} pieces in {len(looks)} looks; the largest is {largest:.2%} of them all"
    return [
        *(
            (f"model, {told}: {workers} workers", f"{times_as_fast(looks, workers):.1f}")
            for workers in WORKERS
        ),
        ("what is done once / the pieces", f"{besides / whole:.2f}"),
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="PATTERN", default="*", help="claims whose name matches")
    parser.add_argument("--profile", choices=list(PROFILES), default="quick")
    parser.add_argument("--model", action="store_true", help="measure pieces alone")
    asked = parser.parse_args()
    table = Table("what", "times as fast", title=f"scaling of verify.rates, {asked.profile}")
    if not asked.model:
        table.add_row(*measured(asked.profile, asked.only))
    for row in modelled(asked.profile, asked.only):
        table.add_row(*row)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
