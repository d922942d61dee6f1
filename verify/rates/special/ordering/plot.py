"""The plot of the orderings: relative error of every method, a panel for each experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from verify.plotting import AXIS_TITLES, new_figure, panels, plain_values, ticks_at, write_figure
from verify.rates.special.ordering.experiments import (
    CLIPPED,
    DESCENT,
    DP_IGHT,
    FRANK_WOLFE,
    IGHT,
    MANY_STEPS,
    OLS,
    PAPER_IGHT,
    PAPER_WOLFE,
    PEELING,
    PROJECTION,
    STATISTICS,
    TWO_STAGE,
)
from verify.rates.special.ordering.rows import MethodRow, Ordering

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {
    IGHT: "tab:gray", OLS: "tab:gray", DP_IGHT: "tab:blue", DESCENT: "tab:blue",
    PAPER_IGHT: "tab:cyan", FRANK_WOLFE: "tab:red", PAPER_WOLFE: "tab:pink",
    PROJECTION: "tab:red", CLIPPED: "tab:orange", MANY_STEPS: "tab:orange",
    TWO_STAGE: "tab:green", PEELING: "tab:purple", STATISTICS: "tab:olive",
}  # fmt: skip


def plot(ordering: Ordering, path: Path) -> Path:
    """Relative error against epsilon or n, one panel per experiment."""
    names = list(dict.fromkeys(row.experiment for row in ordering.rows))
    columns = min(len(names), 2)
    figure = new_figure(5.6 * columns, 1.0 + 4.6 * -(-len(names) // columns))
    for axis, name in zip(panels(figure, len(names), columns), names, strict=True):
        _panel(axis, [row for row in ordering.rows if row.experiment == name])
    figure.suptitle(
        "relative ℓ₂ error of each method at the options chosen for it; bars are intervals"
    )
    return write_figure(path, figure)


def _panel(axis: Axes, rows: Sequence[MethodRow]) -> None:
    variable, methods = rows[0].variable, list(dict.fromkeys(row.method for row in rows))
    axis.set_yscale("log")
    if variable == "n":
        axis.set_xscale("log")
    for place, method in enumerate(methods):
        # Side by side, so that bars do not hide each other.
        shift = (place - (len(methods) - 1) / 2) * 0.012
        _bars(axis, [row for row in rows if row.method == method], shift)
    axis.axhline(1.0, color="black", linewidth=0.8, linestyle=":", label="releasing 0")
    point = rows[0].point
    shown = {"n": point.n, "d": point.d, "s": point.s, "epsilon": point.epsilon}
    fixed = " ".join(f"{name}={value:g}" for name, value in shown.items() if name != variable)
    axis.set_title(f"{rows[0].experiment} ({rows[0].source})\n{fixed}", fontsize=9)
    axis.set_xlabel(AXIS_TITLES[variable])
    axis.set_ylabel("relative ℓ₂ error")
    ticks = sorted({row.x for row in rows})
    if len(ticks) == 1:
        axis.set_xlim(ticks[0] / 1.5, ticks[0] * 1.5)
    ticks_at(axis, ticks)
    plain_values(axis, (1.0, 2.0, 5.0))
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.14))


def _bars(axis: Axes, rows: Sequence[MethodRow], shift: float) -> None:
    x = np.array([row.x for row in rows])
    x = x * (1 + 4 * shift) if rows[0].variable == "n" else x + shift * 10
    y = np.array([row.error for row in rows])
    low = np.array([max(row.measured.ci_low, row.error / 30) for row in rows])
    high = np.array([row.measured.ci_high for row in rows])
    axis.errorbar(
        x,
        y,
        yerr=[y - low, high - y],
        fmt="o-" if rows[0].private else "o--",
        label=rows[0].method,
        color=COLOURS.get(rows[0].method, "black"),
        capsize=3,
        markersize=4,
    )
