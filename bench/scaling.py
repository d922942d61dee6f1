"""How verify.rates scales: measured from one process to two, and a model of its pieces beyond.

    python bench/scaling.py                          the quick profile (minutes, on two free cores)
    python bench/scaling.py --only 'bounded-mean*'   some claims
    python bench/scaling.py --profile standard --model    its pieces alone, in one process

Measured: the whole command by the clock, with imports, bounds and plots. Model: every piece of the
simulation is run and timed once, and so is what it costs to hand one out, keep it and take it back,
which one process does for all. Within a look pieces are begun longest first, a free worker takes
the next, and all wait for the last. What is done once besides, also in one process, is in the model
of the whole run alone.
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
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, TypeVar

from rich.console import Console
from rich.table import Table

from verify.rates.backends import Processes
from verify.rates.claims import all_claims
from verify.rates.command import EXTRAS, ORDERING
from verify.rates.grid import PROFILES
from verify.rates.results import open_results
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
    """One process, which notes what each piece takes, look by look."""

    def __init__(self) -> None:
        self.looks: list[list[float]] = []
        self.pieces: list[object] = []

    def completed(self, call: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Each item's place and result, one after the other."""
        seconds: list[float] = []
        self.looks.append(seconds)
        self.pieces += items
        for place, item in enumerate(items):
            start = time.process_time()
            found = call(item)
            seconds.append(time.process_time() - start)
            yield place, found


def no_trials(piece: object) -> list[float]:
    """As many numbers as a short piece gives, for no work."""
    return 60 * [0.5]


def handed_out(pieces: Sequence[object]) -> float:
    """Seconds of this process for each piece that another process gets and whose results are kept:
    where nothing is left to be done, that is nearly all of the time."""
    with tempfile.TemporaryDirectory() as folder, closing(Processes(2)) as workers:
        results, start = open_results(Path(folder)), time.process_time()
        for place, found in workers.completed(no_trials, pieces):
            results.keep({"place": place}, found)
        return (time.process_time() - start) / len(pieces)


def last_end(seconds: Sequence[float], workers: int, each: float) -> float:
    """When the last of some pieces ends, if each in turn is begun by the first free worker, and not
    before those that come first have been handed out, for `each` seconds a piece."""
    free = [0.0] * workers
    for place, piece in enumerate(seconds, 1):
        heapq.heapreplace(free, max(free[0], place * each) + piece)
    return max(free)


def spread(looks: Sequence[Sequence[float]], workers: int, each: float) -> float:
    """Seconds that so many workers take; looks come one after the other."""
    return sum(last_end(seconds, workers, each) for seconds in looks)


class Pieces(NamedTuple):
    """What was simulated, in seconds of the processor."""

    looks: list[list[float]]
    besides: float
    """What took place once: plans, bounds and verdicts."""
    each: float
    """What it takes one process to hand out a piece."""


def pieces(profile: str, only: str) -> Pieces:
    """Those of a run in one process."""
    chosen = [claim for claim in all_claims() if fnmatch.fnmatch(claim.name, only)]
    specials = [e for e in EXTRAS if e is not ORDERING and fnmatch.fnmatch(e.name, only)]
    noted, start = Timed(), time.process_time()
    run(chosen, PROFILES[profile], specials=specials, backend=noted)
    whole = time.process_time() - start
    besides = whole - sum(map(sum, noted.looks))
    return Pieces(noted.looks, besides, handed_out(noted.pieces))


def measured(profile: str, only: str) -> tuple[str, ...]:
    """The line of the whole command."""
    one, two = clock(1, profile, only), clock(2, profile, only)
    return "the whole command, measured: 2", "", "", f"{one / two:.2f}"


def modelled(found: Pieces, workers: int) -> tuple[str, ...]:
    """The line of so many workers."""
    whole = sum(map(sum, found.looks))
    free, real = (spread(found.looks, workers, cost) for cost in (0.0, found.each))
    fast = whole / free, whole / real, (whole + found.besides) / (real + found.besides)
    return f"workers, by the model: {workers}", *(f"{times:.1f}" for times in fast)


def told(found: Pieces) -> str:
    """The pieces in numbers."""
    whole, count = sum(map(sum, found.looks)), sum(map(len, found.looks))
    largest = max(map(max, found.looks)) / whole
    return (
        f"{count:,} pieces in {len(found.looks)} looks, {whole:.0f} s; the largest {largest:.2%}."
        f"\nTo hand one out takes {found.each * 1e3:.2f} ms; what is done once, besides, takes"
        f" {found.besides / whole:.2f} of the pieces' time"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="PATTERN", default="*", help="claims whose name matches")
    parser.add_argument("--profile", choices=list(PROFILES), default="quick")
    parser.add_argument("--model", action="store_true", help="measure pieces alone")
    asked = parser.parse_args()
    table = Table(
        "times as fast",
        "pieces",
        "handed out one by one",
        "with what is done once",
        title=f"scaling of verify.rates, {asked.profile}",
    )
    if not asked.model:
        table.add_row(*measured(asked.profile, asked.only))
    found = pieces(asked.profile, asked.only)
    for workers in WORKERS:
        table.add_row(*modelled(found, workers))
    table.caption = told(found)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
