"""The plots of a run: a figure per claim with a fitted slope, and the special findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from verify.plotting import (
    AXIS_TITLES,
    fill_band,
    load_matplotlib,
    new_figure,
    panels,
    plain_values,
    ticks_at,
    write_figure,
)
from verify.rates.backends import Processes
from verify.rates.report import numbers
from verify.rates.rows import LevelControl, Run, SlopeRow, WorstCaseRow
from verify.rates.special.coverage import coverage_figure
from verify.rates.special.price_of_dimension import dimension_figure
from verify.rates.special.sandwich import sandwich_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def write_plots(folder: Path, found: Run, jobs: int = 1) -> list[Path]:
    """A figure per claim with a fitted slope, the finding in log d, records against labels."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = list(_figures(found))
    load_matplotlib()
    with closing(Processes(jobs)) as workers:
        written = dict(workers.completed(partial(_write, folder), figures))
    return [path for _, path in sorted(written.items()) if path is not None]


def _write(folder: Path, named: tuple[str, Callable[[], Figure | None]]) -> Path | None:
    """A figure's file, if there is anything to draw."""
    name, drawn = named
    figure = drawn()
    return None if figure is None else write_figure(folder / name, figure)


def _figures(found: Run) -> Iterator[tuple[str, Callable[[], Figure | None]]]:
    """The name of each figure's file, and what draws it."""
    by_claim: dict[str, list[SlopeRow]] = {}
    for slope in found.slopes:
        by_claim.setdefault(slope.claim, []).append(slope)
    for claim, slopes in by_claim.items():
        cases = [r for r in found.cells if r.claim == claim and isinstance(r, WorstCaseRow)]
        drawn = (
            partial(_worst_case_figure, cases, slopes[0])
            if cases
            else partial(_claim_figure, claim, slopes)
        )
        yield plot_name(claim), drawn
    yield "local-contrast.png", partial(dimension_figure, found.slopes)
    yield "sandwich.png", partial(sandwich_figure, found.cells)
    controls = [control for control in found.controls if isinstance(control, LevelControl)]
    yield "coverage.png", partial(coverage_figure, found.coverage, controls)


def plot_name(claim: str) -> str:
    """The file of a claim's figure."""
    return re.sub(r"[^A-Za-z0-9]+", "-", claim).strip("-") + ".png"


def _claim_figure(claim: str, slopes: Sequence[SlopeRow]) -> Figure:
    columns = min(len(slopes), 3)
    lines = -(-len(slopes) // columns)
    figure = new_figure(max(4.6 * columns, 8.0), 0.9 + 4.0 * lines)
    axes = panels(figure, len(slopes), columns)
    for axis, slope in zip(axes, slopes, strict=True):
        _panel(axis, slope)
        axis.set_ylabel("risk")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    first = slopes[0].rows[0]
    figure.suptitle(f"{claim}: {first.estimator}\nlower bound: {first.lower_source}")
    return figure


def _panel(axis: Axes, slope: SlopeRow) -> None:
    x, rows = np.array(slope.points, dtype=float), slope.rows
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    ceilings = [row.upper.value for row in rows if row.upper is not None]
    if len(ceilings) == len(rows):
        axis.plot(x, ceilings, "v--", color="tab:red", label="proven upper bound")
    fit = np.exp(slope.slope.intercept) * x**slope.slope.fitted
    axis.plot(x, fit, "-", color="tab:blue", alpha=0.6, label="fitted power of the measured risk")
    fill_band(axis, x, [r.measured for r in rows], "tab:blue", 0.25, "measured, with interval")
    axis.plot(x, [r.measured.risk for r in rows], "o", color="tab:blue")
    axis.plot(x, [r.lower for r in rows], "^--", color="tab:green", label="certified lower bound")
    fixed = {k: v for k, v in rows[0].point.items() if k != slope.variable}
    axis.set_title(
        f"{slope.regime} regime: exponent {slope.slope.fitted:+.2f}"
        f"\nbound, deep in the regime: {slope.expected:+.2f}\n{numbers(fixed)}",
        fontsize=9,
    )
    axis.set_xlabel(AXIS_TITLES.get(slope.variable, slope.variable))
    ticks_at(axis, x)
    low, high = axis.get_ylim()
    subs = (1.0, 2.0, 5.0) if 4 < high / low < 1e3 else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    plain_values(axis, (1.0,) if high / low >= 1e3 else subs)
    axis.grid(alpha=0.3)


def _worst_case_figure(rows: Sequence[WorstCaseRow], slope: SlopeRow) -> Figure:
    figure = new_figure(7.8, 6.0)
    axis = figure.subplots()
    x = np.array([row.point["log_d"] for row in rows])
    axis.loglog(x, [r.claimed for r in rows], "s--", color="tab:red")
    axis.annotate(
        "CWZ19: Theorem 3.3 claims every private\nestimator is above this (exponent 2)",
        (x[-2], rows[-2].claimed),
        xytext=(-215, 12),
        textcoords="offset points",
        color="tab:red",
        fontsize=9,
    )
    fill_band(axis, x, [r.measured for r in rows], "tab:blue", 0.3)
    measured = f"StableSparseMean, measured (exponent {slope.slope.fitted:.2f})"
    lines = (
        ([r.measured.risk for r in rows], "o-", "tab:blue", measured),
        ([r.lower for r in rows], "^--", "tab:green", "certified lower bound"),
        ([r.packing for r in rows], "v:", "tab:olive", "packing bound: stops at log(ε/δ)"),
    )
    for y, style, colour, label in lines:
        axis.plot(x, y, style, color=colour, label=label)
    proven = [row.upper.value for row in rows if row.upper is not None]
    if len(proven) == len(rows):
        axis.plot(x, proven, "v--", color="tab:blue", label="its proven risk, whole class")
    axis.plot([], [], "s--", color="tab:red", label="claimed by CWZ19: Theorem 3.3")
    point = rows[0].point
    axis.set_title(
        "A private estimator below the claimed lower bound\n"
        f"sparse mean, Gaussian data, s = 1, n = {point['n']:.0e}, ε = {point['epsilon']:g},"
        f" δ = {point['delta']:.0e}; {rows[0].measured.trials} trials a point",
        fontsize=11,
    )
    axis.set_xlabel(AXIS_TITLES["log_d"])
    axis.set_ylabel("worst-case risk")
    axis.grid(alpha=0.3, which="both")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure
