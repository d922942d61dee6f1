"""`docs/tables.png`: test scores over epsilon, one panel for each table."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator
from table_contest import Line, Score, summarised
from table_report import FIGURES, SHOWN, epsilons_of
from table_schemas import TABLES, TableSchema

LOOKS = {
    "sufficient statistics": ("#0072b2", "s"),
    "AdaSSP": ("#56b4e9", "^"),
    "averaged clipped DP-GD": ("#009e73", "D"),
    "noisy gradient descent": ("#009e73", "D"),
    "median of small models": ("#cc79a7", "v"),
    "objective perturbation": ("#e69f00", "P"),
    "diffprivlib, pure": ("#8c6d31", "X"),
}
OURS_LOOK = ("#d62728", "o")
OURS_LABEL = "ours: PrivateRegression, PrivateClassifier"
DESCENT = "noisy gradient descent (of squares: clipped)"
SHARED_LABELS = {"averaged clipped DP-GD": DESCENT, "noisy gradient descent": DESCENT}
LOWEST = {"housing": 0.38, "diamonds": 0.66, "parkinsons": -0.15, "adult": 0.75}
"""Where the axes begin: what is lower is written in the panel."""


def panel(axes: Axes, scores: list[Score], schema: TableSchema) -> None:
    """One table."""
    figure, low = FIGURES[schema.task][0], LOWEST[schema.name]
    epsilons, lines = epsilons_of(scores, schema), summarised(scores, schema, figure)
    floors = [line for line in lines if line.kind == "not private"]
    top = floors[0].summaries[0].mean
    axes.axhline(top, color="black", linestyle=":", linewidth=1.5, zorder=5)
    axes.annotate(
        f"{floors[0].name}, not private", (epsilons[0], top), (0, 8), fontsize=8,
        textcoords="offset points",
    )  # fmt: skip
    absent = []
    for line in [line for line in lines if line.kind != "not private"]:
        values = [each.mean for each in line.summaries]
        if max(values) < low:
            absent.append(f"{line.name} ({spanned(values)})")
            continue
        drawn(axes, line, epsilons)
    height = top - low
    axes.set_ylim(low, top + 0.16 * height)
    if absent:
        axes.text(
            0.98, 0.03, "below this range: " + ",\n".join(absent), fontsize=8, color="0.35",
            ha="right", va="bottom", transform=axes.transAxes, zorder=4,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
        )  # fmt: skip
    axes.set_title(schema.title, fontsize=10)
    axes.set_ylabel(f"test {SHOWN[figure]}")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(epsilons))
    axes.xaxis.set_major_formatter(FixedFormatter([f"{epsilon:g}" for epsilon in epsilons]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("ε")
    axes.grid(axis="y", color="0.9")


def spanned(values: list[float]) -> str:
    """From the least to the greatest, in few digits."""
    ends = [
        f"{v:.{0 if abs(v) >= 10 else 1}f}".replace("-", "−") for v in (min(values), max(values))
    ]
    return " to ".join(dict.fromkeys(ends))


def drawn(axes: Axes, line: Line, epsilons: list[float]) -> None:
    """One contestant: means with standard errors."""
    colour, marker = OURS_LOOK if line.kind == "ours" else LOOKS[line.name]
    label = OURS_LABEL if line.kind == "ours" else SHARED_LABELS.get(line.name, line.name)
    axes.errorbar(
        epsilons,
        [each.mean for each in line.summaries],
        [each.error for each in line.summaries],
        color=colour, marker=marker, label=label, capsize=2,
        linewidth=2.5 if line.kind == "ours" else 1.2, zorder=3 if line.kind == "ours" else 2,
    )  # fmt: skip


def plot(scores: list[Score], path: Path) -> None:
    """All tables that were run, and one legend."""
    schemas = [schema for schema in TABLES if epsilons_of(scores, schema)]
    figure, grid = plt.subplots(2, 2, figsize=(9, 7.4), layout="constrained")
    for axes, schema in zip(grid.flat, schemas, strict=False):
        panel(axes, scores, schema)
    for axes in list(grid.flat)[len(schemas) :]:
        axes.set_visible(False)
    labels = {}
    for axes in grid.flat:
        handles, names = axes.get_legend_handles_labels()
        labels.update(dict(zip(names, handles, strict=True)))
    figure.legend(labels.values(), labels.keys(), loc="outside lower center", ncols=2, fontsize=9)
    splits = len({score.split for score in scores})
    figure.suptitle(
        f"Private prediction on real tables: δ = 10⁻⁶, {splits} splits, ± one standard error",
        fontsize=11,
    )
    figure.savefig(path, dpi=130)
    plt.close(figure)
