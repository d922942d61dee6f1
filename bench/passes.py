"""Fits in units of one pass over the data, X'(Xb), or of one X'X, on the same data in the same run.

    python bench/passes.py           the sizes of the goals: about 1 GB of memory, a few minutes
    python bench/passes.py --small   a tenth of the records

A fit and its unit take turns, in one thread; the best time of either counts, by the clock and of
the processor, which are one where nothing else runs. Every fit has a seed of its own, so that what
is planned from its releases is planned anew.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from threadpoolctl import threadpool_limits

from estimators.baselines.sparse_regression import PrivateFrankWolfe, TwoStageRegression
from estimators.label_regression import LabelLasso
from estimators.residual_clipped import ResidualClippedRegression
from minimax.core.privacy import Approximate, Pure, ZeroConcentrated

REPETITIONS = 15
BUDGET = Approximate(1.0, 1e-6)
SIGMA = 0.3
"""Deviation of the responses' noise where clipped residuals are measured."""


class Row(NamedTuple):
    """One estimator on one layout: how many passes, or X'X, a fit takes, and how many it may."""

    name: str
    passes: float
    """By the clock."""
    processor: float
    """Of the processor's time."""
    goal: float
    unit: str = "X'(Xb)"


def seconds(action: Callable[[], object]) -> np.ndarray:
    """By the clock and of the processor."""
    clocks = time.perf_counter, time.process_time
    start = [clock() for clock in clocks]
    action()
    return np.array([clock() for clock in clocks]) - start


def relative(model: Any, X: Any, y: np.ndarray, unit: Callable[[], object]) -> tuple[float, float]:
    """Best times of a fit over those of the unit, by turns."""
    times = []
    with threadpool_limits(1):
        for seed in range(REPETITIONS):
            fresh = model.set_params(random_state=seed)
            times.append((seconds(lambda: fresh.fit(X, y)), seconds(unit)))  # noqa: B023
    ours, one = np.min(times, axis=0)
    return tuple(ours / one)


def passes(model: Any, X: Any, y: np.ndarray) -> tuple[float, float]:
    """In passes over the data."""
    b = np.ones(X.shape[1])
    return relative(model, X, y, lambda: X.T @ (X @ b))


def dense_design(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform entries and a response that one feature makes."""
    X = np.random.default_rng(0).uniform(-1, 1, (n, d))
    return X, X[:, 0] / 2


def sparse_design(n: int, d: int, each: int) -> tuple[Any, np.ndarray]:
    """CSR with at most so many entries in a row."""
    rng = np.random.default_rng(0)
    columns, rows = rng.integers(d, size=n * each), np.repeat(np.arange(n), each)
    X = sparse.csr_array((rng.uniform(-1, 1, n * each), (rows, columns)), shape=(n, d))
    return X, np.asarray(X[:, [0]].toarray()).ravel()


def phases(n: int, d: int, outside: bool) -> Row:
    """Clipped residuals with a private second moment, all phases together, in X'X.

    `outside`: half of the rows are longer than the bound that is given, and shortened.
    """
    X, y = dense_design(n, d)
    y += SIGMA * np.random.default_rng(1).standard_normal(n)
    bound = math.sqrt(d / 3) if outside else math.sqrt(d)
    model = ResidualClippedRegression(
        ZeroConcentrated(0.1), row_bound=bound, radius=1.0, sigma=SIGMA
    )
    name = f"{type(model).__name__}, {'half of the rows shortened' if outside else 'dense'}"
    took = relative(model, X, y, lambda: X.T @ X)
    return Row(f"{name}, n = {n:,}, d = {d}", *took, 3.0, "X'X")


def measured(n: int) -> list[Row]:
    """Every estimator on the layout for which it has a goal."""
    X, y = dense_design(n // 4, 300)
    Z, z = sparse_design(n, 2000, 20)
    label = Pure(1.0, "label")
    fits: list[tuple[str, Any, Any, Any, float]] = [
        ("PrivateFrankWolfe, dense", PrivateFrankWolfe(BUDGET), X, y, 40),
        ("PrivateFrankWolfe, CSR", PrivateFrankWolfe(BUDGET), Z, z, 200),
        ("TwoStageRegression, CSR", TwoStageRegression(BUDGET, s=5), Z, z, 60),
        ("LabelLasso, CSR", LabelLasso(label, s=5), Z, z, 12),
    ]
    return [
        Row(f"{name}, n = {A.shape[0]:,}, d = {A.shape[1]:,}", *passes(m, A, b), goal)
        for name, m, A, b, goal in fits
    ] + [phases(5 * n, 50, outside) for outside in (False, True)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a tenth of the records")
    n = 20_000 if parser.parse_args().small else 200_000
    table = Table(
        "fit", "takes", "processor", "goal", title="fits in passes over the data, in one run"
    )
    for row in measured(n):
        took = (f"{figure:.2f} {row.unit}" for figure in (row.passes, row.processor))
        table.add_row(row.name, *took, f"at most {row.goal:g}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
