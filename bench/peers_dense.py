"""Private dense regression against tuned descent: squared errors, ratios with their intervals.

    python bench/peers_dense.py              400 paired seeds, both sizes: about ten minutes
    python bench/peers_dense.py --seeds 20   does it run?

x ~ U(-1, 1)^d, |beta| = 1, noise variance 0.1. Ours is told sigma and the longest row, and nothing
is tuned. The peer, averaged descent with clipped gradients, is tuned for this very law: a grid of
steps, clips and rates on data sets of its own, the best for each number of steps again on those of
the comparison, of which the best counts. All fit the same data sets; it spends the same budget in
Gaussian DP. The goal is met if the upper end of the ratio's interval is at most 1.05.
"""

from __future__ import annotations

import argparse
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from peers import fit_diffprivlib
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from estimators.controls.regression import LeastSquares
from estimators.core.base import PrivacyWarning
from estimators.residual_clipped import ResidualClippedRegression
from minimax.core.privacy import Approximate

BUDGET = Approximate(0.5, 3.2e-5)
NOISE = math.sqrt(0.1)
SIZES = ((10_000, 5), (100_000, 20))
GOAL = 1.05
TUNING_SETS = 8
FIRST_SEED = 10**6
"""Of the data sets that the peer is tuned on."""


class Tuning(NamedTuple):
    """Options of averaged clipped descent."""

    steps: int
    clip: float
    rate: float

    def __str__(self) -> str:
        return f"{self.steps} steps, clip {self.clip:g}, rate {self.rate:g}"


STEPS, CLIPS, RATES = (4, 6, 10, 16, 24), (0.25, 0.5, 1.0, 2.0), (1.0, 1.5, 2.0, 3.0, 4.5)
GRID = [Tuning(steps, clip, rate) for steps, clip, rate in itertools.product(STEPS, CLIPS, RATES)]


class DataSet(NamedTuple):
    """Records, what made them, and the seed."""

    X: np.ndarray
    y: np.ndarray
    beta: np.ndarray
    seed: int

    @classmethod
    def drawn(cls, n: int, d: int, seed: int) -> DataSet:
        """The data set of a seed."""
        rng = np.random.default_rng(seed)
        beta = rng.standard_normal(d)
        beta /= np.linalg.norm(beta)
        X = rng.uniform(-1, 1, (n, d))
        return cls(X, X @ beta + NOISE * rng.standard_normal(n), beta, seed)

    def error(self, coef: np.ndarray) -> float:
        """|coef - beta|^2."""
        return float(np.sum((coef - self.beta) ** 2))


def averaged_descent(data: DataSet, tuning: Tuning, mu: float) -> np.ndarray:
    """Gradients clipped in l2, noise for mu-GDP in all, the last half of the iterates averaged."""
    X, y, rng = data.X, data.y, np.random.default_rng((data.seed, tuning.steps))
    (n, d), steps, clip = X.shape, tuning.steps, tuning.clip
    norms, b, path = np.sqrt(np.einsum("ij,ij->i", X, X)), np.zeros(d), []
    noise = 2 * clip * math.sqrt(steps) / (n * mu)
    for _ in range(steps):
        residuals = y - X @ b
        weights = np.minimum(1, clip / np.maximum(np.abs(residuals) * norms, 1e-300))
        gradient = X.T @ (weights * residuals) / n + noise * rng.standard_normal(d)
        b = b + tuning.rate * gradient
        path.append(b)
    return np.asarray(np.mean(path[steps // 2 :], axis=0))


def ours(data: DataSet) -> np.ndarray:
    """By default, told sigma and a bound on rows."""
    bound = math.sqrt(len(data.beta))
    model = ResidualClippedRegression(
        BUDGET, row_bound=bound, radius=1.0, sigma=NOISE, random_state=data.seed
    )
    return model.fit(data.X, data.y).coef_


def theirs(data: DataSet) -> np.ndarray:
    """The functional mechanism, pure."""
    options = {"epsilon": 0.5, "bounds_X": (-1, 1), "bounds_y": (-2, 2), "seed": data.seed}
    return fit_diffprivlib(data.X, data.y, options)


def finalists(n: int, d: int, mu: float) -> list[Tuning]:
    """For each number of steps, the tuning of least error on data sets that are drawn for this."""
    errors = dict.fromkeys(GRID, 0.0)
    for seed in range(FIRST_SEED, FIRST_SEED + TUNING_SETS):
        data = DataSet.drawn(n, d, seed)
        for tuning in GRID:
            errors[tuning] += data.error(averaged_descent(data, tuning, mu))
    return [min((t for t in GRID if t.steps == k), key=errors.__getitem__) for k in STEPS]


def ratio(mine: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """Of the mean errors, with its 95 % interval: by the pairs, on the logarithmic scale."""
    a, b = np.asarray(mine), np.asarray(other)
    found = a.mean() / b.mean()
    deviation = np.std(a / a.mean() - b / b.mean(), ddof=1) / math.sqrt(len(a))
    return found, found * math.exp(-1.96 * deviation), found * math.exp(1.96 * deviation)


class Row(NamedTuple):
    """One contestant at one size: its mean error, and ours over it with the interval."""

    size: str
    name: str
    error: float
    ratio: tuple[float, float, float]
    rival: bool = False
    """Whether the goal is about it."""

    @property
    def met(self) -> bool:
        """Whether the upper end is within the goal."""
        return self.ratio[2] <= GOAL


def measured(n: int, d: int, seeds: int) -> list[Row]:
    """All contestants on the same data sets."""
    mu = BUDGET.to_gaussian().mu
    tuned = {
        f"averaged descent: {tuning}": lambda data, tuning=tuning: averaged_descent(
            data, tuning, mu
        )
        for tuning in finalists(n, d, mu)
    }
    fits: dict[str, Callable[[DataSet], np.ndarray]] = {
        "ResidualClippedRegression, defaults": ours,
        **tuned,
        "least squares, not private": lambda data: LeastSquares().fit(data.X, data.y).coef_,
    }
    if find_spec("diffprivlib"):
        fits["diffprivlib, pure"] = theirs
    errors: dict[str, list[float]] = {name: [] for name in fits}
    for seed in range(seeds):
        data = DataSet.drawn(n, d, seed)
        for name, fit in fits.items():
            errors[name].append(data.error(fit(data)))
    mine, *_ = errors.values()
    best = min(tuned, key=lambda name: float(np.mean(errors[name])))
    return [
        Row(f"n = {n:,}, d = {d}", name, float(np.mean(e)), ratio(mine, e), name == best)
        for name, e in errors.items()
    ]


def main() -> None:
    """Print the table, and a line for each goal."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seeds", type=int, default=400, help="paired seeds (default: %(default)s)"
    )
    seeds = parser.parse_args().seeds
    console = Console(width=120)
    warnings.simplefilter("ignore", PrivacyWarning)  # delta is that of the comparison
    with threadpool_limits(limits=1):
        rows = [row for size in SIZES for row in measured(*size, seeds)]
    title = f"epsilon = {BUDGET.epsilon}, delta = {BUDGET.delta:g}; {seeds} paired seeds from 0"
    table = Table("", "squared error", "ours over it", "95 % interval", title=title)
    for row in rows:
        found, low, high = row.ratio
        table.add_row(
            f"{row.size}: {row.name}",
            f"{row.error:.3e}",
            f"{found:.3f}",
            f"[{low:.3f}, {high:.3f}]",
        )
    console.print(table)
    if not find_spec("diffprivlib"):
        console.print("diffprivlib is not installed here, and not compared.")
    for row in rows:
        if row.rival:
            word = "met" if row.met else "NOT MET"
            console.print(
                f"{word}: {row.size}: upper end {row.ratio[2]:.3f} of the ratio to the best tuned"
                f" descent, at most {GOAL}"
            )


if __name__ == "__main__":
    main()
