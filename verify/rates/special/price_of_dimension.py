"""The figure of WX21's point: what a dimension costs with private records, with private labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from verify.rates.claims.local import LABELS, RECORDS
from verify.rates.grid import cell_label

Row = dict[str, Any]

SHOWN = (
    (RECORDS, "tab:red", "whole records private", "p log p"),
    (LABELS, "tab:blue", "labels private", "log p"),
)


def dimension_figure(found: dict[str, Any]) -> Figure | None:
    """Risk against p for both, at the same n, C and epsilon; None unless both were measured."""
    swept = [_series(found, claim) for claim, *_ in SHOWN]
    if any(len(one) != 1 for one in swept):
        return None
    series = [one[0] for one in swept]
    figure = Figure(figsize=(7.4, 6.2), dpi=110, layout="constrained")
    axis = figure.subplots()
    for (_, colour, name, rate), (slope, rows) in zip(SHOWN, series, strict=True):
        _draw(axis, slope, rows, colour, f"{name} (theory: {rate})")
    point = series[0][1][0]["point"]
    trials = sorted({row["trials"] for _, rows in series for row in rows})
    counted = " to ".join(str(count) for count in dict.fromkeys((trials[0], trials[-1])))
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    x = series[0][0]["points"]
    axis.set_xticks(x, [f"{value:g}" for value in x])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_xlabel("dimension p")
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


def _series(found: dict[str, Any], claim: str) -> list[tuple[Row, list[Row]]]:
    """The fitted slope in p of a claim with its cells, if it was measured."""
    cells = {cell_label(row["claim"], row["point"]): row for row in found["cells"]}
    return [
        (slope, [cells[label] for label in slope["labels"]])
        for slope in found["slopes"]
        if slope["claim"] == claim and slope["variable"] == "p"
    ]


def _draw(axis: Any, slope: Row, rows: list[Row], colour: str, name: str) -> None:
    x = np.array(slope["points"], dtype=float)
    low, high = ([row[key] for row in rows] for key in ("ci_low", "ci_high"))
    axis.fill_between(x, low, high, color=colour, alpha=0.2)
    shown = f"{name}: {rows[0]['estimator']}, exponent {slope['fitted']:+.2f}"
    axis.plot(x, [row["risk"] for row in rows], "o-", color=colour, label=shown)
    bound = f"lower bound, {rows[0]['lower_source'].partition(' (')[0]}"
    axis.plot(x, [row["lower"] for row in rows], "^--", color=colour, alpha=0.7, label=bound)
