"""Tables larger than memory: what a pass over the chunks costs beside numpy's, and memory.

Ratios of one run, in seconds of the processor: before every chunk that a fit is given, numpy reads
another one of the same size, a few milliseconds each, so that a busy machine slows both alike; the
times are summed. For means numpy takes the mean. For regression it does so too, and in a row of its
own it computes X'X and X'y, what least squares needs. The chunks are ready before the run, more of
them than a cache holds, and are gone through again and again. A goal that is missed is printed as
NOT MET; the exit code is 0 all the same, since a busy machine misses goals too.

    python bench/tables_large.py            10^8 rows, d = 10: half a minute for means
    python bench/tables_large.py --quick    a hundredth of the rows
"""

from __future__ import annotations

import argparse
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import estimators
from estimators.core.base import PrivacyWarning
from minimax.core.privacy import ZeroConcentrated

COLUMNS = 10
CHUNK = 200_000
READY = 8
"""Chunks of 16 MB each."""
BUDGET = ZeroConcentrated(0.5)
MEAN_GOAL, REGRESSION_GOAL, MEMORY_GOAL = 1.5, 3.0, 1.05
LESS = 5
"""Memory is compared with that for so many times fewer rows."""


class Row(NamedTuple):
    """One line of the table."""

    what: str
    figure: float
    goal: float


def column_means(X: np.ndarray, y: np.ndarray) -> Any:
    """What numpy does for means."""
    return X.mean(axis=0)


def normal_equations(X: np.ndarray, y: np.ndarray) -> Any:
    """What numpy does for least squares."""
    return X.T @ X, X.T @ y


class Chunks:
    """The ready chunks, `count` of them in a pass; numpy's time is taken on the way."""

    def __init__(self, count: int, responses: bool, numpy_pass: Any = column_means) -> None:
        rng = np.random.default_rng(0)
        self.ready = [rng.normal(size=(CHUNK, COLUMNS)) for _ in range(READY)]
        self.responses = [X[:, 0] + rng.normal(size=CHUNK) for X in self.ready]
        self.count, self.paired = count, responses
        self.numpy_pass, self.given, self.numpy = numpy_pass, 0, 0.0

    def __call__(self) -> Iterator[Any]:
        for i in range(self.count):
            other = (i + READY // 2) % READY
            start = time.process_time()
            self.numpy_pass(self.ready[other], self.responses[other])
            self.numpy += time.process_time() - start
            self.given += 1
            X = self.ready[i % READY]
            yield (X, self.responses[i % READY]) if self.paired else X


def relative(fit: Callable[[Chunks], object], chunks: Chunks) -> tuple[float, float]:
    """Time for each pass over that of numpy, and the number of passes."""
    start = time.process_time()
    fit(chunks)
    took = time.process_time() - start - chunks.numpy
    return took / chunks.numpy, chunks.given / chunks.count


def peak(fit: Callable[[Chunks], object], chunks: Chunks) -> int:
    """Most memory that a fit held at a time, in bytes: in a thread of its own, whose kernels have
    none from before."""
    tracemalloc.start()
    worker = threading.Thread(target=fit, args=(chunks,))
    worker.start()
    worker.join()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def mean(chunks: Chunks) -> object:
    """The private mean, with public bounds that clip some of the values."""
    return estimators.PrivateMean(BUDGET, (-3, 3)).fit(chunks)


def regression(chunks: Chunks) -> object:
    """The private regression, as it plans itself."""
    return estimators.PrivateRegression(BUDGET, (-3, 3), (-6, 6)).fit(chunks)


def measured(count: int) -> list[Row]:
    """Time and memory of every front door that reads chunks."""
    size, rows = f"n = {count * CHUNK:,}, d = {COLUMNS}", []
    for name, fit, paired, numpy_passes, goal in (
        ("PrivateMean", mean, False, {"mean": column_means}, MEAN_GOAL),
        (
            "PrivateRegression",
            regression,
            True,
            {"mean": column_means, "X'X, X'y": normal_equations},
            REGRESSION_GOAL,
        ),
    ):
        fit(Chunks(1, paired))  # everything is loaded
        for word, numpy_pass in numpy_passes.items():
            ratio, passes = relative(fit, Chunks(count, paired, numpy_pass))
            what = f"{name}, {size}: time per pass of {passes:g} / numpy's {word}"
            rows.append(Row(what, ratio, goal))
        few = max(1, count // LESS)
        grown = peak(fit, Chunks(few * LESS, paired)) / peak(fit, Chunks(few, paired))
        rows.append(Row(f"{name}: memory, {LESS} times the rows", grown, MEMORY_GOAL))
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows")
    count = 5 if parser.parse_args().quick else 500
    warnings.simplefilter("ignore", PrivacyWarning)
    table = Table("what", "ratio", "goal", title="tables larger than memory, in one run")
    with threadpool_limits(1):
        rows = measured(count)
    for row in rows:
        met = "" if row.figure <= row.goal else "  NOT MET"
        table.add_row(row.what, f"{row.figure:.3f}", f"at most {row.goal:g}{met}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
