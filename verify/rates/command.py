"""``python -m verify.rates``: does measured error stay between the bounds?

Draws theta from the prior of each lower bound's proof, fits the private estimator, and compares its
risk with the certified lower bound and the proven upper bound; fits exponents; runs the controls
that must break. Exit code 0: nothing violated, every control broke, every claim has a cell that
could be seen. 1: a violation, a control that did not break, or a claim with nothing but
inconclusive cells. 2: bad usage.
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from minimax.bound import Point
from minimax.papers import THIS_WORK
from minimax.privacy import Approximate, at_point
from verify.rates.claim import Claim
from verify.rates.claims import all_claims
from verify.rates.grid import PROFILES, Cell, Dropped, Profile, Series, base_cells, build
from verify.rates.judge import (
    SLOPE_TOLERANCE,
    Slope,
    Verdict,
    fit_slope,
    judge_level,
    judge_slope,
)
from verify.rates.measure import Measurement, cell_seed, interval, losses
from verify.rates.report import (
    Terminal,
    check_outputs,
    list_claims,
    print_ordering,
    print_report,
    write_json,
    write_plots,
)
from verify.rates.special import ordering, randomised_response_exact, worst_case_log_d
from verify.rates.special.worst_case_log_d import WorstCase

T = TypeVar("T")

ORDERING = "orderings"
EXTRAS = {
    worst_case_log_d.CLAIM: (
        "packing and Fano [dim](against CWZ19: Theorem 3.3, refuted)[/dim]",
        "StableSparseMean",
    ),
    randomised_response_exact.CLAIM: (
        "WX21: Theorems 1 and 2 [dim](their constants)[/dim]",
        "randomised response, exact Bayes risk",
    ),
    ORDERING: ("no bound: which method is ahead [dim](WG19 §6, CWZ19 §5.3)[/dim]", "all of them"),
}
"""What is run besides the claims."""
ORDERING_ALPHA = 0.01
"""Error budget of the orderings, which are told and not judged."""
ALPHA = 1e-6
"""Error budget of a whole run, divided over all its intervals (nominal: Student intervals)."""

EXAMPLES = """\
examples:
  python -m verify.rates                             quick profile, plots in out/
  python -m verify.rates --profile standard --jobs 2 --json rates.json
  python -m verify.rates --only 'bounded-mean*'      claims whose name matches
  python -m verify.rates --list                      the claims and their bounds
"""


@dataclass(frozen=True)
class Task:
    """One thing to simulate: an estimator under a prior at a point."""

    label: str
    claim: Claim
    point: Point
    estimator_point: Point
    private: bool
    trials: int


def simulate(task: Task, seed: int, alpha: float) -> Measurement:
    """Run one task with the seed that its label determines."""
    own = cell_seed(seed, task.label)
    claim = task.claim
    factory = claim.make if task.private else claim.twin
    values = losses(
        lambda _: factory(task.estimator_point),
        claim.lower.prior(**task.point),
        task.point,
        task.trials,
        own,
    )
    return interval(values, alpha, own)


def weakened(point: Point, factor: float) -> dict[str, float]:
    """The point with its budget cut so that the noise is `factor` times as large."""
    powers = {"epsilon": 1, "mu": 1, "rho": 2}
    return {k: v / factor ** powers[k] if k in powers else v for k, v in point.items()}


@dataclass
class Run:
    """Everything a run found; the JSON file is this, field by field."""

    summary: dict[str, Any]
    cells: list[dict[str, Any]]
    slopes: list[dict[str, Any]]
    controls: list[dict[str, Any]]
    dropped: list[dict[str, Any]]
    ordering: dict[str, Any] | None = None
    """Orderings that papers report, as measured; they do not touch the exit code."""

    def as_dict(self) -> dict[str, Any]:
        """The run as plain data."""
        return asdict(self)

    @property
    def exit_code(self) -> int:
        """0 only if nothing is violated, every control broke, and every claim was really seen."""
        failures = ("violated", "controls_unbroken", "claims_without_a_consistent_cell")
        return 1 if any(self.summary[key] for key in failures) else 0


def run(
    claims: list[Claim],
    profile: Profile,
    *,
    seed: int = 0,
    jobs: int = 1,
    extras: Collection[str] = (),
    console: Console | None = None,
) -> Run:
    """Check the claims on the profile's grid, and what is named of `EXTRAS`."""
    cells, series, dropped = build(claims, profile)
    tasks = _tasks(cells, profile)
    log_ds = worst_case_log_d.SHOWN if worst_case_log_d.CLAIM in extras else ()
    alpha = ALPHA / max(len(tasks) + 2 * len(series) + len(log_ds) + 2, 1)
    measured = _simulate_all(tasks, seed, alpha, jobs, console)
    flow = [
        worst_case_log_d.worst_case(log_d, profile.flow, seed, alpha)
        for log_d in _track(log_ds, console, "worst case in log d", len(log_ds))
    ]
    rows = [_cell_row(cell, measured[cell.label]) for cell in cells]
    rows += [_worst_case_row(case) for case in flow]
    rows += randomised_response_exact.rows() if randomised_response_exact.CLAIM in extras else []
    slopes = [_slope_row(s, measured, alpha) for s in series]
    slopes += [_worst_case_slope(flow, alpha)] if flow else []
    controls = _level_controls(cells, measured) + [_slope_control(row) for row in slopes]
    controls += (
        randomised_response_exact.controls() if randomised_response_exact.CLAIM in extras else []
    )
    return Run(
        summary=_summary(rows, slopes, controls, dropped, profile, seed, alpha),
        cells=rows,
        slopes=slopes,
        controls=controls,
        dropped=[asdict(d) for d in dropped],
    )


def _tasks(cells: list[Cell], profile: Profile) -> list[Task]:
    tasks = [
        Task(c.label, c.claim, c.point, c.point, True, round(profile.trials * c.weight))
        for c in cells
    ]
    for cell in base_cells(cells):
        trials = max(profile.trials // 2, 60)
        tasks.append(
            Task(f"control|{cell.label}", cell.claim, cell.point, cell.point, False, trials)
        )
        if _has_teeth(cell):
            noisier = weakened(cell.point, cell.claim.noise_factor)
            tasks.append(
                Task(f"noisier|{cell.label}", cell.claim, cell.point, noisier, True, trials)
            )
    return tasks


def _has_teeth(cell: Cell) -> bool:
    """Whether more noise could exceed the upper bound: there is one and it is not vacuous here."""
    return cell.claim.upper is not None and not cell.claim.upper(cell.point).remark


def _simulate_all(
    tasks: list[Task], seed: int, alpha: float, jobs: int, console: Console | None
) -> dict[str, Measurement]:
    # Processes, not threads: the work is many small numpy calls, which would contend for the
    # interpreter. The longest tasks go first so that the end of the run is not one slow cell.
    ordered = sorted(tasks, key=_cost, reverse=True)
    calls = (delayed(simulate)(task, seed, alpha) for task in ordered)
    results = Parallel(n_jobs=jobs, return_as="generator", batch_size=1)(calls)
    tracked = _track(results, console, "measuring", len(ordered))
    return {task.label: found for task, found in zip(ordered, tracked, strict=True)}


def _cost(task: Task) -> float:
    """Numbers that the task draws, about."""
    point = task.point
    return task.trials * point["n"] * point.get("d", point.get("p", 1.0))


def _track(items: Iterable[T], console: Console | None, what: str, total: int) -> Iterator[T]:
    """The items, with a progress bar on the console if there is one."""
    if console is None:
        yield from items
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield from progress.track(items, total=total, description=what)


def _cell_row(cell: Cell, found: Measurement) -> dict[str, Any]:
    claim = cell.claim
    lower = claim.lower.value(**cell.point)
    upper = claim.upper(cell.point) if claim.upper else None
    ceiling = upper.value() if upper else None
    return {
        "claim": claim.name,
        "problem": claim.problem,
        "regime": cell.regime,
        "point": dict(cell.point),
        "estimator": claim.estimator,
        "privacy": str(at_point(claim.model, cell.point, claim.scope)),
        "trials": found.trials,
        "seed": found.seed,
        "risk": found.risk,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "lower": lower,
        "lower_source": claim.lower.source,
        "upper": ceiling,
        "upper_source": upper.source if upper else None,
        "upper_remark": upper.remark if upper else None,
        "ratio": found.risk / lower if lower > 0 else None,
        "verdict": judge_level(found, lower, ceiling).value,
    }


def _worst_case_row(case: WorstCase) -> dict[str, Any]:
    found = case.measured
    return {
        "claim": worst_case_log_d.CLAIM,
        "problem": "sparse-mean",
        "regime": "privacy",
        "point": {
            "n": worst_case_log_d.N,
            "log_d": case.log_d,
            "s": 1,
            "sigma": 1.0,
            "radius": 1.0,
            "epsilon": worst_case_log_d.EPSILON,
            "delta": worst_case_log_d.DELTA,
            "signal": case.signal,
        },
        "estimator": "StableSparseMean",
        "privacy": str(Approximate(worst_case_log_d.EPSILON, worst_case_log_d.DELTA)),
        "trials": found.trials,
        "seed": found.seed,
        "risk": found.risk,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "lower": case.lower,
        "lower_source": f"{THIS_WORK}: {case.lower_source}",
        "upper": None,
        "upper_source": None,
        "upper_remark": None,
        "ratio": found.risk / case.lower,
        "verdict": judge_level(found, case.lower, None).value,
        "packing": case.packing,
        "claimed": case.claimed,
    }


def _slope_row(series: Series, measured: dict[str, Measurement], alpha: float) -> dict[str, Any]:
    found = [measured[cell.label] for cell in series.cells]
    x = [cell.point[series.variable] for cell in series.cells]
    slope = fit_slope(x, found, alpha)
    expected = series.claim.lower.slope(series.variable, **series.deep)
    return {
        "claim": series.claim.name,
        "regime": series.regime,
        "variable": series.variable,
        **asdict(slope),
        "expected": expected,
        "expected_source": series.claim.lower.source,
        "tolerance": SLOPE_TOLERANCE,
        "verdict": judge_slope(slope, expected).value,
        "labels": [cell.label for cell in series.cells],
        "points": x,
    }


def _worst_case_slope(flow: list[WorstCase], alpha: float) -> dict[str, Any]:
    """Exponent of the worst-case risk in log d: 1, where CWZ19: Theorem 3.3 claims 2."""
    fitted = [case for case in flow if case.log_d in worst_case_log_d.FITTED]
    slope = fit_slope([case.log_d for case in fitted], [case.measured for case in fitted], alpha)
    return {
        "claim": worst_case_log_d.CLAIM,
        "regime": "privacy",
        "variable": "log_d",
        **asdict(slope),
        "expected": 1.0,
        "expected_source": f"{THIS_WORK}: StableSparseMean; CWZ19: Theorem 3.3 claims 2",
        "tolerance": SLOPE_TOLERANCE,
        "verdict": judge_slope(slope, 1.0).value,
        "labels": [],
        "points": [case.log_d for case in fitted],
    }


def _level_controls(cells: list[Cell], measured: dict[str, Measurement]) -> list[dict[str, Any]]:
    """The twin must fall below the lower bound, and more noise must rise above the upper."""
    out = []
    for cell in base_cells(cells):
        lower = cell.claim.lower.value(**cell.point)
        twin = measured[f"control|{cell.label}"]
        out.append(_control(cell, "non-private twin", twin, lower, "lower", twin.ci_high < lower))
        noisier = measured.get(f"noisier|{cell.label}")
        if noisier is not None and cell.claim.upper is not None:
            upper = cell.claim.upper(cell.point).value()
            factor = cell.claim.noise_factor
            out.append(
                _control(
                    cell, f"noise x {factor:g}", noisier, upper, "upper", noisier.ci_low > upper
                )
            )
    return out


def _control(
    cell: Cell, kind: str, found: Measurement, bound: float, side: str, broke: bool
) -> dict[str, Any]:
    return {
        "claim": cell.claim.name,
        "kind": kind,
        "point": dict(cell.point),
        **asdict(found),
        "side": side,
        "bound": bound,
        "broke": broke,
    }


def _slope_control(row: dict[str, Any]) -> dict[str, Any]:
    """The same data against an exponent off by one: the check must reject it."""
    slope = Slope(row["fitted"], row["ci_low"], row["ci_high"], row["intercept"])
    # For log d the shifted exponent is the one that CWZ19: Theorem 3.3 claims.
    shifted = row["expected"] + 1
    return {
        "claim": row["claim"],
        "kind": f"exponent in {row['variable']} shifted by one ({row['regime']})",
        "side": "slope",
        "bound": shifted,
        "risk": row["fitted"],
        "broke": judge_slope(slope, shifted) is Verdict.VIOLATED
        and judge_slope(slope, row["expected"] - 1) is Verdict.VIOLATED,
    }


def _summary(
    rows: list[dict[str, Any]],
    slopes: list[dict[str, Any]],
    controls: list[dict[str, Any]],
    dropped: list[Dropped],
    profile: Profile,
    seed: int,
    alpha: float,
) -> dict[str, Any]:
    verdicts = [row["verdict"] for row in (*rows, *slopes)]
    count = {v.value.lower(): verdicts.count(v.value) for v in Verdict}
    return {
        "profile": profile.name,
        "seed": seed,
        "cells": len(rows),
        "slopes": len(slopes),
        **count,
        "controls": len(controls),
        "controls_unbroken": sum(not control["broke"] for control in controls),
        "claims_without_a_consistent_cell": _unseen(rows),
        "dropped": len(dropped),
        "alpha": ALPHA,
        "alpha_per_interval": alpha,
    }


def _unseen(rows: list[dict[str, Any]]) -> list[str]:
    """Claims all of whose cells were inconclusive or violated: nothing was shown for them."""
    seen = {row["claim"] for row in rows if row["verdict"] == Verdict.CONSISTENT.value}
    return sorted({row["claim"] for row in rows} - seen)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m verify.rates",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--profile", choices=list(PROFILES), default="quick")
    parser.add_argument("--only", metavar="PATTERN", help="claims whose name matches (shell style)")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write everything as JSON")
    parser.add_argument("--plots", type=Path, metavar="DIR", default=Path("out"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: all cores)")
    parser.add_argument("--list", action="store_true", help="list the claims and stop")
    return parser


def main(argv: list[str] | None = None, claims: list[Claim] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = _parser()
    args = parser.parse_args(argv)
    console = Terminal()
    chosen = all_claims() if claims is None else claims
    extras = dict(EXTRAS) if claims is None else {}
    if args.only:
        names = [claim.name for claim in chosen] + list(extras)
        chosen = [claim for claim in chosen if fnmatch.fnmatch(claim.name, args.only)]
        extras = {k: v for k, v in extras.items() if fnmatch.fnmatch(k, args.only)}
        if not chosen and not extras:
            near = difflib.get_close_matches(args.only, names, n=3, cutoff=0.0)
            parser.error(f"--only {args.only!r} matches no claim; nearest: {', '.join(near)}")
    if args.list:
        list_claims(chosen, extras, console)
        return 0
    if args.jobs == 0 or args.jobs < -1:
        parser.error(f"--jobs must be positive, or -1 for all cores; got {args.jobs}")
    if args.seed < 0:
        parser.error(f"--seed must not be negative, got {args.seed}")
    for option, problem in check_outputs(args.json, args.plots):
        parser.error(f"{option}: {problem}")
    profile = PROFILES[args.profile]
    found = run(
        chosen,
        profile,
        seed=args.seed,
        jobs=args.jobs,
        extras=extras,
        console=console,
    )
    measured = None
    if ORDERING in extras:
        with console.status("orderings that papers report"):
            alpha = ORDERING_ALPHA / ordering.intervals()
            measured = ordering.measure(profile.ordering, args.seed, args.jobs, alpha)
        found.ordering = asdict(measured)
        print_ordering(found.ordering, console)
    print_report(found.as_dict(), console)
    if args.json:
        write_json(args.json, found.as_dict())
        console.print(f"JSON in {args.json}")
    plots = write_plots(args.plots, found.as_dict())
    if measured is not None:
        plots.append(args.plots / f"{ORDERING}.png")
        ordering.plot(measured, plots[-1])
    console.print(f"{len(plots)} plots in {args.plots}/")
    return found.exit_code
