"""The figure of WX21's point: what a dimension costs with private records, with private labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verify.plotting import AXIS_TITLES, fill_band, new_figure, plain_values, ticks_at
from verify.rates.claims.local import LABELS, RECORDS
from verify.rates.rows import SlopeRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = (
    (RECORDS, "tab:red", "whole records private", "p log p"),
    (LABELS, "tab:blue", "labels private", "log p"),
)


def dimension_figure(slopes: Sequence[SlopeRow]) -> Figure | None:
    """Risk against p for both, at the same n, C and epsilon; None unless both were measured."""
    swept = [[s for s in slopes if (s.claim, s.variable) == (claim, "p")] for claim, *_ in SHOWN]
    if any(len(one) != 1 for one in swept):
        return None
    series = [one[0] for one in swept]
    figure = new_figure(7.4, 6.2)
    axis = figure.subplots()
    for (_, colour, name, rate), slope in zip(SHOWN, series, strict=True):
        _draw(axis, slope, colour, f"{name} (theory: {rate})")
    point = series[0].rows[0].point
    trials = sorted({row.measured.trials for slope in series for row in slope.rows})
    counted = " to ".join(str(count) for count in dict.fromkeys((trials[0], trials[-1])))
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    ticks_at(axis, series[0].points)
    plain_values(axis)
    axis.set_xlabel(AXIS_TITLES["p"])
    axis.set_ylabel("risk E|θ̂ − θ|²")
    axis.grid(alpha=0.3, which="both")
    axis.set_title(
        "The price of a dimension: private records against private labels\n"
        f"n = {point['n']:,}, C = {point['C']:g}, ε = {point['epsilon']:g}, one non-zero"
        f" coefficient; {counted} trials a point",
        fontsize=10,
    )
    figure.legend(loc="outside lower center", frameon=False, fontsize=9)
    return figure


def _draw(axis: Axes, slope: SlopeRow, colour: str, name: str) -> None:
    x, rows = slope.points, slope.rows
    fill_band(axis, x, [row.measured for row in rows], colour, 0.2)
    shown = f"{name}: {rows[0].estimator}, exponent {slope.slope.fitted:+.2f}"
    axis.plot(x, [row.measured.risk for row in rows], "o-", color=colour, label=shown)
    bound = f"lower bound, {rows[0].lower_source.partition(' (')[0]}"
    axis.plot(x, [row.lower for row in rows], "^--", color=colour, alpha=0.7, label=bound)
