"""10^8 rows in chunks: is memory constant, and what does a pass cost beside numpy's?

Chunks are made when they are asked for, by a function that ours calls as often as it needs passes.
One pass of numpy is the same function, read once, with the sum that the task is about: of the
columns for means, of their products with one another for regression.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from contest import Verdict

from minimax.core.privacy import Approximate

ROWS, WIDTH, CHUNK = 10**8, 10, 250_000
PRIVACY = Approximate(1.0, 1e-9)
"""delta is far below 1/n."""
BOUNDS = (-1.0, 1.0)
RESPONSES = (-4.0, 4.0)
MEMORY_CHUNKS = 4, 16
"""Lengths of the runs in which memory is measured, which makes them slow."""
MEAN_GOAL, PASS_GOAL, MEMORY_GOAL = 1.5, 3.0, 1.1


class Stream:
    """A table that is made chunk by chunk, the same each time, and counts how often it is read."""

    def __init__(self, rows: int, responses: bool) -> None:
        self.rows, self.responses, self.passes = rows, responses, 0.0

    def __call__(self) -> Iterator[Any]:
        """The chunks, afresh."""
        slopes = np.linspace(-1, 1, WIDTH)
        for first in range(0, self.rows, CHUNK):
            size = min(CHUNK, self.rows - first)
            rng = np.random.Generator(np.random.SFC64(first))
            X = rng.random((size, WIDTH))
            X *= 2
            X -= 1
            self.passes += size / self.rows
            if not self.responses:
                yield X
                continue
            yield X, X @ slopes + rng.random(size) - 0.5


class LargeRow(NamedTuple):
    """One task: times of a pass, passes, and the largest memory at 4 and at 16 chunks."""

    name: str
    rows: int
    numpy_seconds: float
    seconds: float
    passes: float
    memory: tuple[float, float]
    goal: float
    made_seconds: float
    """What making the chunks takes of every pass, ours and numpy's."""

    @property
    def per_pass(self) -> float:
        """A pass of ours over one of numpy."""
        return self.seconds / self.passes / self.numpy_seconds

    @property
    def ratio(self) -> float:
        """What the goal is about: for means the whole, for regression a pass."""
        return self.seconds / self.numpy_seconds if self.goal == MEAN_GOAL else self.per_pass


def only_made(stream: Stream) -> None:
    """Chunks are made and dropped."""
    for _ in stream():
        pass


def column_sums(stream: Stream) -> Any:
    """What numpy does for means."""
    return sum(chunk.sum(axis=0) for chunk in stream())


def products(stream: Stream) -> Any:
    """What numpy does for least squares."""
    return sum(X.T @ X for X, _ in stream())


def our_mean(stream: Stream) -> Any:
    """Private means of the stream."""
    from estimators import PrivateMean

    return PrivateMean(PRIVACY, bounds=BOUNDS, random_state=0).fit(stream)


def our_regression(stream: Stream) -> Any:
    """Private regression of the stream."""
    from estimators.tables.regression import PrivateRegression

    told = {"bounds": BOUNDS, "response_bounds": RESPONSES, "random_state": 0}
    return PrivateRegression(PRIVACY, **told).fit(stream)


def timed(action: Callable[[Stream], Any], stream: Stream) -> float:
    """Seconds of the processor, of which one is used: a busy machine does not count."""
    start = time.process_time()
    action(stream)
    return time.process_time() - start


def largest_memory(action: Callable[[Stream], Any], stream: Stream) -> float:
    """Megabytes at the worst moment, of what Python and numpy ask for."""
    tracemalloc.start()
    try:
        action(stream)
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def large_rows(rows: int = ROWS) -> Iterator[LargeRow]:
    """Means, then regression. Memory is measured in runs of its own, on fewer rows."""
    for name, plain, mine, responses, goal in (
        ("PrivateMean", column_sums, our_mean, False, MEAN_GOAL),
        ("PrivateRegression", products, our_regression, True, PASS_GOAL),
    ):
        mine(Stream(CHUNK, responses))  # what is imported or made on first use is no part
        sizes = (chunks * CHUNK for chunks in MEMORY_CHUNKS)
        small, large = (largest_memory(mine, Stream(size, responses)) for size in sizes)
        numpy_seconds = timed(plain, Stream(rows, responses))
        stream = Stream(rows, responses)
        seconds = timed(mine, stream)
        made = timed(only_made, Stream(rows, responses))
        memory = small, large
        yield LargeRow(name, rows, numpy_seconds, seconds, stream.passes, memory, goal, made)


def large_verdicts(row: LargeRow) -> list[Verdict]:
    """Memory and time."""
    small, large = row.memory
    what = "a pass of numpy" if row.goal == MEAN_GOAL else "a pass of numpy, for each pass"
    return [
        Verdict(
            f"{row.name}, {row.rows:,} rows: memory does not grow with the rows",
            large <= MEMORY_GOAL * small,
            f"{small:.0f} MB at 4 chunks, {large:.0f} MB at 16",
        ),
        Verdict(
            f"{row.name}, {row.rows:,} rows: at most {row.goal:g} times {what}",
            row.ratio <= row.goal,
            f"{row.ratio:.2f}; {row.passes:.0f} passes of {row.seconds / row.passes:.2f} s; numpy"
            f" {row.numpy_seconds:.2f} s, of which making the chunks {row.made_seconds:.2f} s",
        ),
    ]
