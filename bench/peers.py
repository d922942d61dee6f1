"""Private regression against tuned peers: squared errors, ratios with their intervals.

    python bench/peers.py              400 paired seeds (sparse: a tenth): a quarter of an hour
    python bench/peers.py --seeds 20   does it run?

x ~ U(-1, 1)^d, |beta| = 1, noise variance 0.1. Ours is told sigma and the longest row (sparse: the
largest entry), and nothing is tuned. Dense: the peer, averaged descent with clipped gradients, is
tuned for this very law: a grid of steps, clips and rates on data sets of its own, the best for each
number of steps again on those of the comparison, of which the best counts; it spends the same
budget in Gaussian DP. Sparse: the peer chooses the columns by one private correlation pass, then
descends on them, with settings that suit this law. All fit the same data sets. A goal is met if the
upper end of the ratio's interval is.
"""

from __future__ import annotations

import argparse
import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from peer_process import fit_diffprivlib, fit_screening
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from estimators.controls.regression import LeastSquares
from estimators.core.base import PrivacyWarning
from estimators.residual_clipped import ResidualClippedRegression
from estimators.sparse_residual_clipped import SparseResidualClippedRegression
from minimax.core.privacy import Approximate

BUDGET = Approximate(0.5, 3.2e-5)
NOISE = math.sqrt(0.1)
SIZES = ((10_000, 5), (100_000, 20))
SPARSE_SIZE = (200_000, 500, 10)
GOAL, SPARSE_GOAL = 1.05, 1.1
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
    def drawn(cls, n: int, d: int, seed: int, s: int | None = None) -> DataSet:
        """The data set of a seed; with s coefficients of equal size if s is given."""
        rng = np.random.default_rng(seed)
        beta = rng.standard_normal(d)
        if s is not None:
            beta = np.where(rng.permutation(d) < s, np.sign(beta), 0.0)
        beta /= np.linalg.norm(beta)
        X = rng.uniform(-1, 1, (n, d))
        return cls(X, X @ beta + NOISE * rng.standard_normal(n), beta, seed)

    def error(self, coef: np.ndarray) -> float:
        """|coef - beta|^2."""
        return float(np.sum((coef - self.beta) ** 2))


Fit = Callable[[DataSet], np.ndarray]


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
    goal: float | None = None
    """What the upper end may be at most, if there is a goal about it."""

    @property
    def met(self) -> bool:
        """Whether it is."""
        return self.goal is None or self.ratio[2] <= self.goal


def measured(n: int, d: int, seeds: int) -> list[Row]:
    """All contestants on the same data sets."""
    mu = BUDGET.to_gaussian().mu
    tuned = {
        f"averaged descent: {tuning}": lambda data, tuning=tuning: averaged_descent(
            data, tuning, mu
        )
        for tuning in finalists(n, d, mu)
    }
    fits: dict[str, Fit] = {
        "ResidualClippedRegression, defaults": ours,
        **tuned,
        "least squares, not private": lambda data: LeastSquares().fit(data.X, data.y).coef_,
    }
    if find_spec("diffprivlib"):
        fits["diffprivlib, pure"] = theirs
    rows = contested(f"n = {n:,}, d = {d}", fits, (DataSet.drawn(n, d, k) for k in range(seeds)))
    best = min((row for row in rows if row.name in tuned), key=lambda row: row.error)
    return [row._replace(goal=GOAL) if row is best else row for row in rows]


def sparse_rows(n: int, d: int, s: int, seeds: int) -> list[Row]:
    """The same for s of d coefficients, against screening and clipped descent."""
    options = {"s": s, "rho": BUDGET.to_zcdp().rho, "R": 1.5, "clip": 1.0, "steps": 20}

    def ours(data: DataSet) -> np.ndarray:
        model = SparseResidualClippedRegression(
            BUDGET, s=s, entry_bound=1.0, radius=1.0, sigma=NOISE, random_state=data.seed
        )
        return model.fit(data.X, data.y).coef_

    def screened(data: DataSet) -> np.ndarray:
        return fit_screening(data.X, data.y, {**options, "step_size": 3.0, "seed": data.seed})

    def oracle(data: DataSet) -> np.ndarray:
        coef, support = np.zeros(d), np.flatnonzero(data.beta)
        coef[support] = LeastSquares().fit(data.X[:, support], data.y).coef_
        return coef

    fits: dict[str, Fit] = {
        "SparseResidualClippedRegression, defaults": ours,
        "screening, clipped descent": screened,
        "least squares on the support, not private": oracle,
    }
    sets = (DataSet.drawn(n, d, seed, s) for seed in range(seeds))
    mine, peer, told = contested(f"n = {n:,}, d = {d}, s = {s}", fits, sets)
    return [mine, peer._replace(goal=SPARSE_GOAL), told]


def contested(size: str, fits: dict[str, Fit], sets: Iterable[DataSet]) -> list[Row]:
    """Everyone's mean error on the data sets, and that of the first over it."""
    errors: dict[str, list[float]] = {name: [] for name in fits}
    for data in sets:
        for name, fit in fits.items():
            errors[name].append(data.error(fit(data)))
    mine, *_ = errors.values()
    return [Row(size, name, float(np.mean(e)), ratio(mine, e)) for name, e in errors.items()]


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
        rows += sparse_rows(*SPARSE_SIZE, max(seeds // 10, 2))
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
        console.print("diffprivlib is not installed here: bench/regression.py gets it by itself.")
    for row in rows:
        if row.goal is not None:
            word = "met" if row.met else "NOT MET"
            console.print(
                f"{word}: {row.size}: upper end {row.ratio[2]:.3f} of the ratio to {row.name};"
                f" at most {row.goal}"
            )


if __name__ == "__main__":
    main()
