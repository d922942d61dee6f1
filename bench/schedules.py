"""What the theorems' schedules and a good start change: ratios of errors on the same data sets.

    python bench/schedules.py           20 data sets a line, about a minute
    python bench/schedules.py --small   4 data sets, small ones

An error is |estimate - truth|^2, the median over data sets; a ratio is to the planned schedule from
0 on the same data sets and seeds. No goals: the theorems are about rates. (`epsilon` is what
`privacy_` reports for the theorem's noise, at the delta asked for.)
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from estimators.label_regression import LabelHardThresholding
from estimators.local_regression import LocalHardThresholding
from estimators.regression import NoisyGradientRegression
from estimators.sparse_erm import NoisyHardThresholding
from estimators.sparse_regression import PrivateHardThresholding
from minimax.core.privacy import Approximate, Pure

BUDGET = Approximate(1.0, 1e-6)
NOISE = 0.2


class Row(NamedTuple):
    """Ratios for one estimator."""

    name: str
    planned: float
    theorem: float
    near: float
    spent: str


def estimators(d: int) -> dict[str, Callable[..., Any]]:
    """Each estimator at its usual settings for rows of length 1 (labels and users: of +-1)."""
    b, s = 1 / math.sqrt(d), 2
    local, label = Pure(4.0, "local"), Approximate(1.0, 1e-3, "label")

    def fixed(kind: Any, *args: Any, **settings: Any) -> Callable[..., Any]:
        return lambda **more: kind(*args, **settings, **more)

    return {
        "NoisyGradientRegression": fixed(NoisyGradientRegression, BUDGET, sigma=NOISE),
        "PrivateHardThresholding": fixed(
            PrivateHardThresholding, BUDGET, s=s, entry_bound=b, sigma=NOISE
        ),
        "NoisyHardThresholding": fixed(
            NoisyHardThresholding, BUDGET, s=s, feature_scale=b, radius=1.0
        ),
        "LocalHardThresholding": fixed(LocalHardThresholding, local, s=s, C=NOISE),
        "LabelHardThresholding": fixed(LabelHardThresholding, label, s=s, C=NOISE),
    }


def measured(n: int, d: int, sets: int) -> list[Row]:
    """Planned, theorem, and planned from a start whose error is a hundredth of |truth|^2."""
    truth = np.zeros(d)
    truth[:2] = 0.6, -0.5
    start = 0.9 * truth
    rows = []
    for name, make in estimators(d).items():
        scale = 1.0 if name[:2] == "Lo" or name[:2] == "La" else 1 / math.sqrt(d)
        errors, spent = np.empty((sets, 3)), ""
        for seed in range(sets):
            rng = np.random.default_rng(seed)
            X = scale * rng.choice([-1.0, 1.0], (n, d))
            y = X @ truth + rng.uniform(-NOISE, NOISE, n)
            runs = [make(random_state=seed), make(schedule="theorem", random_state=seed)]
            runs.append(make(start=start, random_state=seed))
            for k, model in enumerate(runs):
                errors[seed, k] = np.sum((model.fit(X, y).coef_ - truth) ** 2)
            spent = str(runs[1].privacy_)
        median = np.median(errors, axis=0)
        rows.append(Row(name, median[0], median[1] / median[0], median[2] / median[0], spent))
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="4 small data sets a line")
    n, d, sets = (5_000, 5, 4) if parser.parse_args().small else (50_000, 10, 20)
    table = Table(
        "estimator", "planned", "theorem /", "start /", "the theorem's noise is",
        title=f"squared errors, n = {n:,}, d = {d}, {sets} data sets, seeds 0 to {sets - 1}",
    )  # fmt: skip
    for row in measured(n, d, sets):
        table.add_row(
            row.name, f"{row.planned:.2g}", f"{row.theorem:.3g}", f"{row.near:.3g}", row.spent
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
