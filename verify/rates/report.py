"""What a person reads: a table, plots, a JSON file. Files appear whole or not at all."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from rich.console import Console
from rich.table import Table

from verify.rates.claim import Claim
from verify.rates.grid import cell_label
from verify.rates.special.price_of_dimension import dimension_figure

STYLE = {"CONSISTENT": "green", "VIOLATED": "bold red", "INCONCLUSIVE": "yellow"}
LABELS = {
    "n": "records n",
    "d": "dimension d",
    "s": "sparsity s",
    "p": "dimension p",
    "epsilon": "privacy level ε",
    "rho": "privacy level ρ (zCDP)",
    "mu": "privacy level μ (GDP)",
    "log_d": "log d",
}


def check_outputs(json_path: Path | None, plots: Path) -> list[tuple[str, str]]:
    """Problems with where output is to go, found before hours are spent: (option, what)."""
    problems = [("--json", problem) for problem in write_problems(json_path)]
    try:
        plots.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return [*problems, ("--plots", f"cannot make {plots}: {error.strerror}")]
    return problems + [("--plots", problem) for problem in _folder_problems(plots)]


def write_problems(path: Path | None) -> list[str]:
    """What keeps a file from being written; nothing if all is well."""
    if path is None:
        return []
    target = path.resolve()
    if not target.parent.is_dir():
        return [f"no such folder: {path.parent}"]
    if target.is_dir():
        return [f"is a folder: {path}"]
    if target.exists() and not target.is_file():
        return [f"is not a regular file: {path}"]
    return _folder_problems(target.parent)


def _folder_problems(folder: Path) -> list[str]:
    """Nothing if a file can be made in the folder, else what is wrong."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return []
    except OSError as error:
        return [f"cannot write to {folder}: {error.strerror}"]


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the target, then move into place; a link stays a link."""
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o644)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, found: dict[str, Any]) -> None:
    """The whole run as JSON."""
    text = json.dumps(_plain(found), indent=1, allow_nan=False) + "\n"
    write_whole(path, lambda p: p.write_text(text, encoding="utf-8"))


def _plain(value: Any) -> Any:
    """What JSON can say: numpy's numbers as Python's, and null for what is not finite."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    number = float(value)
    return number if math.isfinite(number) else None


class Terminal(Console):
    """The console of the commands: 150 columns in a pipe."""

    def __init__(self) -> None:
        super().__init__(width=None if sys.stdout.isatty() else 150)

    def on_broken_pipe(self) -> None:
        """A reader that has seen enough is no failure."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0)


def list_claims(claims: list[Claim], extras: dict[str, tuple[str, str]], console: Console) -> None:
    """The claims, one line each; `extras` are what else is run: name, against what, by what."""
    table = Table("claim", "lower bound", "estimator", "upper bound", title="claims")
    for claim in claims:
        table.add_row(
            claim.name,
            f"{claim.lower.name} [dim]({claim.lower.source})[/dim]",
            claim.estimator,
            "proven" if claim.upper else "-",
        )
    for name, (against, by) in extras.items():
        table.add_row(name, against, by, "-")
    console.print(table)


def print_report(found: dict[str, Any], console: Console) -> None:
    """Cells, slopes, controls, what was dropped, and one line that sums it up."""
    tables = {"cells": _cell_table, "slopes": _slope_table, "controls": _control_table}
    for part, table in tables.items():
        if found[part]:
            console.print(table(found[part]))
    for row in found["dropped"]:
        console.print(f"dropped {row['claim']} at {_numbers(row['point'])}: {row['reason']}")
    s = found["summary"]
    console.print(
        f"{s['cells']} cells, {s['slopes']} slopes: {s['consistent']} consistent,"
        f" {s['violated']} violated, {s['inconclusive']} inconclusive; {s['controls']} controls,"
        f" {s['controls_unbroken']} of them unbroken; {s['dropped']} points outside a regime."
        f" Profile {s['profile']}, seed {s['seed']}, error budget {s['alpha']:g} for the whole run."
    )


def print_ordering(found: dict[str, Any], console: Console) -> None:
    """The orderings that papers report, as measured."""
    table = Table(title="orderings that papers report, as measured (no verdict on the code)")
    for column in ("experiment", "reported ahead", "of"):
        table.add_column(column)
    for column in ("ahead", "behind", "not separated", "better than releasing 0"):
        table.add_column(column, justify="right")
    for claim in found["claims"]:
        if claim["reported"]:
            counts = [str(claim[key]) for key in ("ahead", "behind", "not_separated")]
            own = (claim["experiment"], claim["first"])
            rows = [row for row in found["rows"] if (row["experiment"], row["method"]) == own]
            better = sum(row["against_zero"] == "better" for row in rows)
            counts.append(f"{better} of {len(rows)}")
            table.add_row(claim["experiment"], claim["first"], claim["second"], *counts)
    console.print(table)


def _numbers(point: dict[str, float]) -> str:
    shown = {k: v for k, v in point.items() if k not in ("sigma", "radius", "signal")}
    return " ".join(f"{name}={value:.4g}" for name, value in shown.items())


def _cell_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="measured Bayes risk under the prior of the lower bound's proof")
    table.add_column("claim / estimator")
    table.add_column("point")
    for column in ("lower", "risk", "interval", "upper", "risk/lower"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict")
    previous = None
    for row in rows:
        name = "" if row["claim"] == previous else f"{row['claim']}\n[dim]{row['estimator']}[/dim]"
        previous = row["claim"]
        table.add_row(
            name,
            _numbers(row["point"]),
            f"{row['lower']:.3g}",
            f"{row['risk']:.3g}",
            f"{row['ci_low']:.3g} … {row['ci_high']:.3g}",
            _upper_text(row),
            "-" if row["ratio"] is None else f"{row['ratio']:.3g}",
            f"[{STYLE[row['verdict']]}]{row['verdict']}[/]",
        )
    return table


def _upper_text(row: dict[str, Any]) -> str:
    if row["upper"] is None:
        return "-"
    return f"{row['upper']:.3g}" + (" (vacuous)" if row["upper_remark"] else "")


def _slope_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(
        title="exponents: fitted to the measured risk, and the bound's deep in the regime"
    )
    for column in ("claim", "regime", "in"):
        table.add_column(column)
    for column in ("fitted", "interval", "bound"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict")
    for row in rows:
        table.add_row(
            row["claim"],
            row["regime"],
            row["variable"],
            f"{row['fitted']:+.2f}",
            f"{row['ci_low']:+.2f} … {row['ci_high']:+.2f}",
            f"{row['expected']:+.2f} ± {row['tolerance']:g}",
            f"[{STYLE[row['verdict']]}]{row['verdict']}[/]",
        )
    return table


def _control_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="controls: each must break its bound")
    table.add_column("claim")
    table.add_column("control")
    table.add_column("measured", justify="right")
    table.add_column("must be", justify="right")
    table.add_column("broke")
    relation = {"lower": "<", "upper": ">", "slope": "≠"}
    for row in rows:
        table.add_row(
            row["claim"],
            row["kind"],
            f"{row['risk']:.3g}",
            f"{relation[row['side']]} {row['bound']:.3g}",
            "[green]yes[/]" if row["broke"] else "[bold red]NO[/]",
        )
    return table


# --- Plots ---------------------------------------------------------------------------------------


def write_plots(folder: Path, found: dict[str, Any]) -> list[Path]:
    """A figure per claim with a fitted slope, the finding in log d, records against labels."""
    folder.mkdir(parents=True, exist_ok=True)
    cells = {cell_label(row["claim"], row["point"]): row for row in found["cells"]}
    by_claim: dict[str, list[dict[str, Any]]] = {}
    for slope in found["slopes"]:
        by_claim.setdefault(slope["claim"], []).append(slope)
    written = []
    for claim, slopes in by_claim.items():
        if slopes[0]["variable"] == "log_d":
            rows = [row for row in found["cells"] if row["claim"] == claim]
            figure = _worst_case_figure(rows, slopes[0])
        else:
            figure = _claim_figure(claim, slopes, cells)
        path = folder / (re.sub(r"[^A-Za-z0-9]+", "-", claim).strip("-") + ".png")
        write_whole(path, partial(save_figure, figure))
        written.append(path)
    contrast = dimension_figure(found)
    if contrast is not None:
        written.append(folder / "local-contrast.png")
        write_whole(written[-1], partial(save_figure, contrast))
    return written


def save_figure(figure: Figure, path: Path) -> None:
    """The figure as a PNG file."""
    FigureCanvasAgg(figure).print_png(str(path))


def _claim_figure(
    claim: str, slopes: list[dict[str, Any]], cells: dict[str, dict[str, Any]]
) -> Figure:
    columns = min(len(slopes), 3)
    lines = -(-len(slopes) // columns)
    figure = Figure(
        figsize=(max(4.6 * columns, 8.0), 0.9 + 4.0 * lines), dpi=110, layout="constrained"
    )
    axes = np.atleast_1d(figure.subplots(lines, columns)).ravel()
    first = cells[slopes[0]["labels"][0]]
    for axis, slope in zip(axes, slopes, strict=False):
        rows = [cells[label] for label in slope["labels"]]
        _panel(axis, slope, rows)
        axis.set_ylabel("risk")
    for unused in axes[len(slopes) :]:
        unused.set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    figure.suptitle(f"{claim}: {first['estimator']}\nlower bound: {first['lower_source']}")
    return figure


def _panel(axis: Any, slope: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    x = np.array(slope["points"], dtype=float)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    if rows[0]["upper"] is not None:
        axis.plot(x, [r["upper"] for r in rows], "v--", color="tab:red", label="proven upper bound")
    fit = np.exp(slope["intercept"]) * x ** slope["fitted"]
    axis.plot(x, fit, "-", color="tab:blue", alpha=0.6, label="fitted power of the measured risk")
    axis.fill_between(
        x,
        [r["ci_low"] for r in rows],
        [r["ci_high"] for r in rows],
        color="tab:blue",
        alpha=0.25,
        label="measured, with interval",
    )
    axis.plot(x, [r["risk"] for r in rows], "o", color="tab:blue")
    axis.plot(
        x, [r["lower"] for r in rows], "^--", color="tab:green", label="certified lower bound"
    )
    fixed = {k: v for k, v in rows[0]["point"].items() if k != slope["variable"]}
    axis.set_title(
        f"{slope['regime']} regime: exponent {slope['fitted']:+.2f}"
        f"\nbound, deep in the regime: {slope['expected']:+.2f}\n{_numbers(fixed)}",
        fontsize=9,
    )
    axis.set_xlabel(LABELS.get(slope["variable"], slope["variable"]))
    axis.set_xticks(x, [f"{value:g}" for value in x])
    axis.xaxis.set_minor_locator(NullLocator())
    low, high = axis.get_ylim()
    subs = (1.0, 2.0, 5.0) if 4 < high / low < 1e3 else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high / low >= 1e3 else subs))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.grid(alpha=0.3)


def _worst_case_figure(rows: list[dict[str, Any]], slope: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(7.8, 6.0), dpi=110, layout="constrained")
    axis = figure.subplots()
    x = np.array([row["point"]["log_d"] for row in rows])
    axis.loglog(x, [r["claimed"] for r in rows], "s--", color="tab:red")
    axis.annotate(
        "CWZ19: Theorem 3.3 claims every private\nestimator is above this (exponent 2)",
        (x[-2], rows[-2]["claimed"]),
        xytext=(-215, 12),
        textcoords="offset points",
        color="tab:red",
        fontsize=9,
    )
    axis.fill_between(
        x, [r["ci_low"] for r in rows], [r["ci_high"] for r in rows], color="tab:blue", alpha=0.3
    )
    axis.plot(
        x,
        [r["risk"] for r in rows],
        "o-",
        color="tab:blue",
        label=f"StableSparseMean, measured (exponent {slope['fitted']:.2f})",
    )
    axis.plot(
        x, [r["lower"] for r in rows], "^--", color="tab:green", label="certified lower bound"
    )
    axis.plot(
        x,
        [r["packing"] for r in rows],
        "v:",
        color="tab:olive",
        label="packing bound: stops at log(ε/δ)",
    )
    axis.plot([], [], "s--", color="tab:red", label="claimed by CWZ19: Theorem 3.3")
    point = rows[0]["point"]
    axis.set_title(
        "A private estimator below the claimed lower bound\n"
        f"sparse mean, Gaussian data, s = 1, n = {point['n']:.0e}, ε = {point['epsilon']:g},"
        f" δ = {point['delta']:.0e}; {rows[0]['trials']} trials a point"
    )
    axis.set_xlabel("log d")
    axis.set_ylabel("worst-case risk")
    axis.grid(alpha=0.3, which="both")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure
