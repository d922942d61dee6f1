"""Local randomisers and estimators: what a report costs beside the Gaussians it needs, and memory.

Ratios of one run: ours and the reference take turns at every chunk of users, a few milliseconds
each, so that a busy machine slows both alike; the times are summed. A goal that is missed is
printed as NOT MET; the exit code is 0 all the same, since a busy machine misses goals too.

    python bench/local.py            10^6 users, p = 100: two minutes
    python bench/local.py --quick    a tenth of the users
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from estimators.local_regression import LocalHardThresholding
from estimators.randomisers.base import VectorRandomiser, mean_of_reports
from estimators.randomisers.signs import HypercubeRandomiser
from estimators.randomisers.vectors import SphereRandomiser, privunit
from estimators.randomisers.zcdp_privunit import GaussianRandomiser, SoftCapRandomiser
from minimax.core.privacy import ZeroConcentrated

Array = NDArray[np.float64]
TIME_GOAL = 2.0
SOFT_CAP_GOAL = 1.5
FIT_GOAL = 3.0
MEMORY_GOAL = 1.05
FIT_MEMORY_GOAL = 0.25
CHUNK = 10_000


class Row(NamedTuple):
    """One line of the table."""

    what: str
    figure: float
    goal: float


def timed(action: Callable[[], object]) -> float:
    """Wall time of an action."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def randomisers(p: int) -> list[VectorRandomiser]:
    """What is timed."""
    return [
        SphereRandomiser(p, 1.0),
        privunit(p, 1.0),
        privunit(p, 8.0),
        HypercubeRandomiser(p, 1.0),
        GaussianRandomiser(p, 1.0),
        SoftCapRandomiser(p, 0.1),
        SoftCapRandomiser(p, 3.0),
    ]


def time_rows(n: int, p: int) -> list[Row]:
    """n reports against drawing n p Gaussians, chunk by chunk in turn, both into new memory."""
    rng = np.random.default_rng(0)
    rows = []
    for randomiser in randomisers(p):
        ours = drawing = 0.0
        for X in chunks(n, p):
            if isinstance(randomiser, HypercubeRandomiser):
                np.sign(X, out=X)
            ours += timed(lambda r=randomiser, d=X: r.randomise(d, rng))  # type: ignore[misc]
            drawing += timed(lambda size=X.shape: rng.standard_normal(size))  # type: ignore[misc]
        what = f"{randomiser.name}, {randomiser.guarantee}, n = {n:,}, p = {p}"
        rows.append(Row(f"{what}: time / drawing n p Gaussians", ours / drawing, TIME_GOAL))
    return rows


def soft_cap_row(n: int, p: int) -> Row:
    """n soft caps against Gaussian noise on the same n vectors, chunk by chunk in turn."""
    rng = np.random.default_rng(4)
    soft, noisy = SoftCapRandomiser(p, 1.0), GaussianRandomiser(p, 1.0)
    ours = other = 0.0
    for X in chunks(n, p):
        ours += timed(lambda d=X: soft.randomise(d, rng))  # type: ignore[misc]
        other += timed(lambda d=X: noisy.randomise(d, rng))  # type: ignore[misc]
    return Row(f"soft cap, n = {n:,}, p = {p}: time / Gaussian noise", ours / other, SOFT_CAP_GOAL)


def chunks(n: int, p: int) -> Iterator[Array]:
    """n users in chunks, none of which outlives its turn."""
    rng = np.random.default_rng(1)
    for start in range(0, n, CHUNK):
        yield rng.standard_normal((min(CHUNK, n - start), p)) / np.sqrt(p)


def peak(n: int, randomiser: VectorRandomiser) -> int:
    """Peak bytes while the mean of n users' reports is formed."""
    tracemalloc.start()
    mean_of_reports(chunks(n, randomiser.p), randomiser, np.random.default_rng(2))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def memory_rows(n: int, p: int) -> list[Row]:
    """Peak memory of the mean of n users' reports against that of n/5 users."""
    rows = []
    for randomiser in randomisers(p):
        few, many = peak(n // 5, randomiser), peak(n, randomiser)
        what = f"mean of reports, {randomiser.name}, {randomiser.guarantee}, n = {n:,}"
        shown = f"{what}: peak memory / that at n/5 ({many / 2**20:.0f} MiB)"
        rows.append(Row(shown, many / few, MEMORY_GOAL))
    return rows


def fit_time(model: LocalHardThresholding, X: Array, y: Array) -> float:
    """Time of a fit over that of the mean of as many reports: the best of three turns of each."""
    randomiser, rng = model.fit(X, y).randomiser_, np.random.default_rng(3)
    turns = [
        (timed(lambda: model.fit(X, y)), timed(lambda: mean_of_reports([X], randomiser, rng)))
        for _ in range(3)
    ]
    ours, alone = np.min(turns, axis=0)
    return float(ours / alone)


def fit_memory(model: LocalHardThresholding, X: Array, y: Array) -> float:
    """Peak memory of a fit over that of X, which is not counted."""
    tracemalloc.start()
    model.fit(X, y)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / X.nbytes


def fit_rows(n: int, p: int) -> list[Row]:
    """A fit against randomising its users' rows alone, and its peak memory against X."""
    X = np.vstack(list(chunks(n, p)))
    y = X[:, 0].copy()
    rows = []
    concentrated = ZeroConcentrated(0.5, scope="local")
    for name, privacy in (("duchi", None), ("privunit", None), ("softcap", concentrated)):
        model = LocalHardThresholding(privacy, randomiser=name, random_state=0)  # type: ignore[arg-type]
        what = f"LocalHardThresholding, {name}, n = {n:,}, p = {p}"
        rows.append(Row(f"{what}: time / mean of reports", fit_time(model, X, y), FIT_GOAL))
        rows.append(Row(f"{what}: peak memory / X", fit_memory(model, X, y), FIT_MEMORY_GOAL))
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the users")
    quick = parser.parse_args().quick
    n = 10**5 if quick else 10**6
    table = Table("what", "ratio", "goal", title="local randomisers, as ratios in one run")
    rows = [*time_rows(n, 100), soft_cap_row(n, 100)]
    for row in rows + memory_rows(n, 100) + fit_rows(10**5, 100):
        verdict = "" if row.figure <= row.goal else "  NOT MET"
        table.add_row(row.what, f"{row.figure:.2f}{verdict}", f"at most {row.goal:g}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
