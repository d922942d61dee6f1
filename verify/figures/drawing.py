"""One picture for each figure, in the paper's layout of panels.

CWZ19 has its panels in pairs, WX21 and WX19 in rows of three, WG19 in one row across the page. What
is ours, the panels with a prime, stands below in the column of what it belongs to.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from verify.data_sets import DATA_SETS
from verify.figures.catalogue import all_panels
from verify.figures.compound import geometric
from verify.figures.judge import PanelRun
from verify.figures.panel import ZERO
from verify.figures.report import Run, spent_text
from verify.files import write_whole
from verify.plotting import AXIS_TITLES, new_figure, plain_values, save_figure, ticks_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from verify.figures.curves import Curve

MARKERS = {"printed": "s", "private": "o", "best": "D", "peer": "^", "not private": "x"}
COLUMNS = {"CWZ19": 2, "WG19": 4, "WX21": 3, "WX19": 3}
"""Panels in a row of the paper."""
WIDTH, HEIGHT = 6.4, 6.2
"""Of a panel with its legend, in inches."""
LINE = 118
"""Characters of a line below a panel."""
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
        _write(folder / file_name(_part(name, grouped[name])), name, grouped[name])
        for name, found in measured.items()
        if found
    ]


def layout(ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Row and column of each panel of a figure; rows and columns that would be empty are left out.

    >>> layout(["WX21:Figure 2(a)", "WX21:Figure 2(c)", "WX21:Figure 2(c')"])
    {'WX21:Figure 2(a)': (0, 0), 'WX21:Figure 2(c)': (0, 1), "WX21:Figure 2(c')": (1, 1)}
    """
    places = {name: _printed_place(name) for name in ids}
    rows = sorted({(prime, row) for prime, row, _ in places.values()})
    columns = sorted({column for _, _, column in places.values()})
    return {
        name: (rows.index((prime, row)), columns.index(column))
        for name, (prime, row, column) in places.items()
    }


def _printed_place(name: str) -> tuple[bool, int, int]:
    """Whether a panel is ours, and its row and column among those of its kind."""
    letter = name.partition("(")[2][:1] or "a"
    row, column = divmod(ord(letter) - ord("a"), COLUMNS[name.partition(":")[0]])
    return "'" in name, row, column


def _part(figure: str, run: list[PanelRun]) -> str:
    """The figure's name, with its panels where not all were asked for: a part replaces no whole."""
    ids = [each.panel.id for each in run]
    if len(ids) == sum(panel.figure == figure for panel in all_panels().values()):
        return figure
    letters = (each.removeprefix(figure).strip("()").replace("'", "prime") for each in ids)
    return " ".join([figure, *letters])


def _write(path: Path, name: str, found: list[PanelRun]) -> Path:
    places = layout([each.panel.id for each in found])
    rows, columns = (1 + max(place[k] for place in places.values()) for k in (0, 1))
    figure = new_figure(WIDTH * columns, 0.8 + HEIGHT * rows)
    grid = figure.add_gridspec(rows, columns)
    for panel in found:
        axis = figure.add_subplot(grid[places[panel.panel.id]])
        (_draw if panel.curves else _draw_absent)(axis, panel)
    paper, _, what = name.partition(":")
    run = next(each for each in found if each.curves)
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


def _draw_absent(axis: Axes, run: PanelRun) -> None:
    """The place of a panel whose data are not there."""
    _title(axis, run)
    axis.set_axis_off()
    files = textwrap.fill(", ".join(DATA_SETS[key].file for key in run.panel.data), 40)
    axis.text(0.5, 0.5, f"{run.status}\nnot found: {files}", ha="center", va="center")


def _title(axis: Axes, run: PanelRun) -> None:
    letter, title = run.panel.id.partition("(")[2], run.panel.title
    axis.set_title(textwrap.fill(f"({letter} {title}" if letter else title, 80), fontsize=9)


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
    _title(axis, run)
    trials = len(next(iter(run.curves.values())).losses[0])
    told = textwrap.fill(f"{trials} trials. {panel.caption}".strip(), LINE)
    verdicts = "\n".join(_verdict_lines(run))
    axis.legend(
        fontsize=6.5,
        frameon=False,
        ncols=2,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.13),
        title=f"{told}\n{verdicts}",
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
        yield textwrap.fill(
            f"{each.verdict.value}: {each.reading.about}", LINE, subsequent_indent="    "
        )


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
