"""Figures: made and saved without a display; matplotlib is loaded only when one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from verify.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AXIS_TITLES = {
    "n": "records n",
    "d": "dimension d",
    "s": "sparsity s",
    "p": "dimension p",
    "epsilon": "privacy level ε",
    "rho": "privacy level ρ (zCDP)",
    "mu": "privacy level μ (GDP)",
    "log_d": "log d",
}

COMPRESSION = 3
"""Of PNG files: zlib's usual level takes a third longer, for a fortieth of their size."""
Numbers = Sequence[float] | NDArray[np.float64]


class Interval(Protocol):
    """What has two ends."""

    @property
    def ci_low(self) -> float:
        """The lower end."""

    @property
    def ci_high(self) -> float:
        """The upper end."""


def load_matplotlib() -> None:
    """Once, before there are copies of this process that would each load it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: F401
    from matplotlib.figure import Figure  # noqa: F401


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=110, layout="constrained")


def panels(figure: Figure, count: int, columns: int) -> list[Axes]:
    """The first `count` places of a grid of axes; the others stay empty."""
    lines = -(-count // columns)
    axes = list(np.atleast_1d(figure.subplots(lines, columns)).ravel())
    for unused in axes[count:]:
        unused.set_visible(False)
    return axes[:count]


def save_figure(figure: Figure, path: Path) -> None:
    """The figure as a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure).print_png(str(path), pil_kwargs={"compress_level": COMPRESSION})


def write_figure(path: Path, figure: Figure) -> Path:
    """The figure as a PNG file that appears whole or not at all."""
    write_whole(path, partial(save_figure, figure))
    return path


def ticks_at(axis: Axes, points: Numbers) -> None:
    """Ticks of the horizontal axis at the points and nowhere else, as plain numbers."""
    from matplotlib.ticker import NullLocator

    axis.set_xticks(points, [f"{value:g}" for value in points])
    axis.xaxis.set_minor_locator(NullLocator())


def plain_values(axis: Axes, subs: Sequence[float] | None = None) -> None:
    """Plain numbers on a logarithmic vertical axis, at these multiples of powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if subs is not None:
        axis.yaxis.set_major_locator(LogLocator(subs=tuple(subs)))
        axis.yaxis.set_minor_locator(NullLocator())


def fill_band(
    axis: Axes,
    x: Numbers,
    intervals: Sequence[Interval],
    colour: str,
    alpha: float,
    label: str | None = None,
) -> None:
    """Intervals as a band."""
    low, high = [each.ci_low for each in intervals], [each.ci_high for each in intervals]
    axis.fill_between(x, low, high, color=colour, alpha=alpha, label=label)
