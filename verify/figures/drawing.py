"""One picture for each figure, in the paper's layout of panels."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from verify.figures.catalogue import all_panels
from verify.figures.compound import geometric
from verify.figures.judge import PanelRun
from verify.figures.panel import ZERO
from verify.figures.report import Run, spent_text
from verify.files import write_whole
from verify.plotting import AXIS_TITLES, new_figure, panels, plain_values, save_figure, ticks_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from verify.figures.curves import Curve

MARKERS = {"printed": "s", "private": "o", "best": "D", "peer": "^", "not private": "x"}
COLUMNS = 2
COLOURS = 128
"""Of a picture."""
MARGIN = 1.8
"""The vertical axis ends by this factor beyond the means."""


def file_name(figure: str) -> str:
    """The file of a figure: CWZ19:Figure 1 is in cwz19-figure-1.png."""
    return figure.lower().replace(":", "-").replace(" ", "-") + ".png"


def write_figures(folder: Path, run: Run) -> list[Path]:
    """The figures of which something was measured."""
    grouped: dict[str, list[PanelRun]] = {}
    for panel in run.panels:
        grouped.setdefault(panel.panel.figure, []).append(panel)
    measured = {name: [each for each in found if each.curves] for name, found in grouped.items()}
    return [
        _write(folder / file_name(_part(name, grouped[name])), name, found)
        for name, found in measured.items()
        if found
    ]


def _part(figure: str, run: list[PanelRun]) -> str:
    """The figure's name, with its panels where not all were asked for: a part replaces no whole."""
    ids = [each.panel.id for each in run]
    if len(ids) == sum(panel.figure == figure for panel in all_panels().values()):
        return figure
    letters = (each.removeprefix(figure).strip("()").replace("'", "prime") for each in ids)
    return " ".join([figure, *letters])


def _write(path: Path, name: str, found: list[PanelRun]) -> Path:
    columns = min(COLUMNS, len(found))
    rows = -(-len(found) // columns)
    figure = new_figure(7.2 * columns, 0.8 + 6.2 * rows)
    for axis, panel in zip(panels(figure, len(found), columns), found, strict=True):
        _draw(axis, panel)
    paper, _, what = name.partition(":")
    run = found[0]
    told = "geometric means" if run.panel.typical else "means"
    figure.suptitle(
        f"{paper}, {what}, regenerated: {told} with 99 % intervals\n"
        f"(profile {run.profile}, seed {run.seed}; ε in legends is what is really spent)",
        fontsize=10,
    )
    write_whole(path, partial(_save, figure))
    return path


def _save(figure: Figure, path: Path) -> None:
    """A PNG of few colours, a third of the size: a site shows many of them."""
    from PIL import Image

    save_figure(figure, path)
    with Image.open(path) as drawn:
        drawn.convert("RGB").quantize(COLOURS).save(path, optimize=True)


def _draw(axis: Axes, run: PanelRun) -> None:
    panel = run.panel
    axis.set_yscale("log")
    if panel.logarithmic:
        axis.set_xscale("log")
    shown = _shown(run)
    methods = dict.fromkeys(_method(curve) for curve in shown if not curve.name.startswith(ZERO))
    colours = {name: f"C{k % 10}" for k, name in enumerate(methods)}
    for curve in shown:
        _draw_curve(axis, curve, colours.get(_method(curve), "black"))
    ticks_at(axis, shown[0].x)
    low, high = _limits(shown)
    axis.set_ylim(low, high)
    plain_values(axis, (1.0, 2.0, 5.0) if high > 10 * low else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
    axis.set_xlabel(AXIS_TITLES.get(panel.x, panel.x))
    axis.set_ylabel(panel.metric)
    axis.grid(alpha=0.3)
    letter = panel.id.partition("(")[2]
    axis.set_title(f"({letter} {panel.title}" if letter else panel.title, fontsize=9)
    trials = len(next(iter(run.curves.values())).losses[0])
    verdicts = "\n".join(_verdict_lines(run))
    axis.legend(
        fontsize=6.5,
        frameon=False,
        ncols=2,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.13),
        title=f"{trials} trials\n{verdicts}",
        title_fontsize=6.5,
    )


def _limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """Room for every mean; a bar that leaves it is cut."""
    means = np.concatenate([curve.means for curve in curves])
    return float(means.min()) / MARGIN, float(means.max()) * MARGIN


def _shown(run: PanelRun) -> list[Curve]:
    """All curves, by what is drawn of them."""
    return list((geometric(run.curves) if run.panel.typical else run.curves).values())


def _method(curve: Curve) -> str:
    """The method of a curve, whatever is told of its runs."""
    return curve.name.partition(", lowest of")[0]


def _verdict_lines(run: PanelRun) -> Iterable[str]:
    for each in run.judged:
        yield textwrap.shorten(f"{each.verdict.value}: {each.reading.about}", 125)


def _draw_curve(axis: Axes, curve: Curve, colour: str) -> None:
    if curve.name.startswith(ZERO):
        axis.plot(curve.x, curve.means, color=colour, linestyle=":", label=ZERO)
        return
    cost = spent_text(curve)
    told = curve.variant if cost == "–" else f"{curve.variant}, ε = {cost}"
    above = curve.half_widths()
    below = np.minimum(above, 0.95 * curve.means)  # the axis is logarithmic
    axis.errorbar(
        curve.x,
        curve.means,
        yerr=np.array([below, above]),
        color=colour,
        marker=MARKERS[curve.variant],
        markersize=4,
        linewidth=1,
        capsize=2,
        linestyle="--" if ", lowest of" in curve.name else "-",
        label=f"{curve.name} ({told})",
    )
