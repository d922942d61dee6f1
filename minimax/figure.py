"""The bounds of a problem as a figure: what is excluded, and what is proved, against n."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from minimax.core.privacy import Privacy
from minimax.core.problem import Problem

FORMATS = (".png", ".pdf", ".svg")
SPREAD, POINTS = 32, 17
"""How far around n, and at how many points."""


def plot_problems(path: Path) -> list[str]:
    """What keeps a figure from being written; its folder is made."""
    if path.suffix.lower() not in FORMATS:
        return [f"{path} must end with {', '.join(FORMATS)}"]
    if path.is_dir():
        return [f"is a folder: {path}"]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            return []
    except OSError as error:
        return [f"cannot write to {path.parent}: {error.strerror}"]


def write_bounds_figure(path: Path, problem: Problem, privacy: Privacy, title: str) -> None:
    """The best lower bound and the best proven risk around the problem's n; the file appears whole
    or not at all."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow to import
    from matplotlib.figure import Figure

    sizes = sorted({max(1, round(problem.n * SPREAD**t)) for t in np.linspace(-1, 1, POINTS)})
    problems = [replace(problem, n=n) for n in sizes]
    lower = np.array([each.best_lower(privacy).risk for each in problems])
    upper = np.array([each.best_upper(privacy).risk for each in problems])
    figure = Figure(figsize=(7.0, 5.0), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    axis.set_xscale("log")
    axis.set_yscale("log")
    shown = np.where(lower > 0, lower, np.nan)
    axis.plot(sizes, shown, "^--", color="tab:green", label="certified lower bound")
    axis.plot(sizes, upper, "v--", color="tab:red", label="proven upper bound")
    axis.fill_between(sizes, shown, upper, color="0.9", label="open")
    axis.axvline(problem.n, color="black", lw=0.8)
    axis.set_xlabel("records n")
    axis.set_ylabel(f"risk: {problem.loss}")
    axis.set_title(title, fontsize=9)
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=path.suffix)
    os.close(handle)
    try:
        figure.savefig(name)
        os.chmod(name, 0o644)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
