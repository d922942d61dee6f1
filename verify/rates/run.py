"""A run: claims -> grid -> simulation -> rows with verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from joblib import Parallel, delayed
from rich.console import Console

from minimax.core.bound import Point
from minimax.core.privacy import at_point
from verify.console import track
from verify.rates.claim import Claim
from verify.rates.grid import Cell, Profile, Series, build
from verify.rates.judge import ZeroRelease, fit_slope
from verify.rates.measure import Measurement, interval, losses, zero_losses
from verify.rates.rows import ALPHA, Control, LevelControl, Row, Run, SlopeControl, SlopeRow
from verify.rates.special import Special
from verify.seeds import cell_seed

ZERO_DRAWS = 100
"""Of so many of a cell's trials the loss of releasing 0 is taken as well."""


@dataclass(frozen=True)
class Task:
    """One thing to simulate: an estimator under a prior at a point."""

    label: str
    claim: Claim
    point: Point
    estimator_point: Point
    private: bool
    trials: int

    @property
    def cost(self) -> float:
        """Numbers that the task draws, about."""
        return self.trials * self.point["n"] * self.point.get("d", self.point.get("p", 1.0))


def simulate(task: Task, seed: int, alpha: float) -> Measurement:
    """Run one task with the seed that its label determines."""
    own = cell_seed(seed, task.label)
    claim = task.claim
    factory = claim.estimator_at if task.private else claim.non_private
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


def run(
    claims: Sequence[Claim],
    profile: Profile,
    *,
    seed: int = 0,
    jobs: int = 1,
    specials: Sequence[Special] = (),
    console: Console | None = None,
) -> Run:
    """Check the claims on the profile's grid, and the special findings.

    Raises `UncheckedClaim` before anything is simulated if a claim would not be checked.
    """
    cells, series, dropped = build(claims, profile)
    tasks = _tasks(cells, profile)
    extra = sum(special.intervals for special in specials)
    alpha = ALPHA / (len(tasks) + len(cells) + 2 * len(series) + extra + 2)
    measured = _simulate_all(tasks, seed, alpha, jobs, console)
    rows = {cell.label: _cell_row(cell, measured[cell.label], alpha) for cell in cells}
    found = [special.check(profile, seed, alpha, console) for special in specials]
    slopes = [_slope_row(s, rows, alpha) for s in series]
    slopes += [slope for part in found for slope in part.slopes]
    return Run(
        profile,
        seed,
        alpha,
        cells=[*rows.values(), *(row for part in found for row in part.cells)],
        slopes=slopes,
        controls=[
            *_level_controls(cells, measured),
            *(SlopeControl(slope) for slope in slopes),
            *(control for part in found for control in part.controls),
        ],
        dropped=dropped,
        coverage=[row for part in found for row in part.coverage],
    )


# --- Simulation ----------------------------------------------------------------------------------


def _tasks(cells: list[Cell], profile: Profile) -> list[Task]:
    tasks = [
        Task(c.label, c.claim, c.point, c.point, True, round(profile.trials * c.weight))
        for c in cells
    ]
    trials = max(profile.trials // 2, 60)
    for cell in (cell for cell in cells if cell.has_controls):
        claim, point = cell.claim, cell.point
        few = round(trials * min(cell.weight, 1))
        tasks.append(Task(_twin(cell), claim, point, point, False, few))
        ceiling = claim.ceiling(point)
        if ceiling and not ceiling.vacuous:
            noisier = weakened(point, claim.noise_factor)
            many = round(trials * cell.loud_weight)
            tasks.append(Task(_noisier(cell), claim, point, noisier, True, many))
    return tasks


def _twin(cell: Cell) -> str:
    """Label of the control without privacy."""
    return f"control|{cell.label}"


def _noisier(cell: Cell) -> str:
    """Label of the control with more noise."""
    return f"noisier|{cell.label}"


def _simulate_all(
    tasks: list[Task], seed: int, alpha: float, jobs: int, console: Console | None
) -> dict[str, Measurement]:
    # Processes, not threads: the work is many small numpy calls, which would contend for the
    # interpreter. The longest tasks go first so that the end of the run is not one slow cell.
    ordered = sorted(tasks, key=lambda task: task.cost, reverse=True)
    calls = (delayed(simulate)(task, seed, alpha) for task in ordered)
    results = Parallel(n_jobs=jobs, return_as="generator", batch_size=1)(calls)
    tracked = track(results, console, "measuring", len(ordered))
    return {task.label: found for task, found in zip(ordered, tracked, strict=True)}


# --- Rows ----------------------------------------------------------------------------------------


def _cell_row(cell: Cell, found: Measurement, alpha: float) -> Row:
    claim = cell.claim
    return Row(
        claim=claim.name,
        problem=claim.problem.name,
        regime=cell.regime,
        point=cell.point,
        estimator=claim.estimator,
        privacy=str(at_point(claim.model, cell.point, claim.problem.scope)),
        measured=found,
        lower=claim.lower.value(**cell.point),
        lower_source=claim.lower.source,
        upper=claim.ceiling(cell.point),
        zero=_zero_release(cell, found, alpha),
    )


def _zero_release(cell: Cell, found: Measurement, alpha: float) -> ZeroRelease:
    prior = cell.claim.lower.prior(**cell.point)
    values = zero_losses(prior, min(found.trials, ZERO_DRAWS), found.seed)
    return ZeroRelease(
        cell.claim.zero_release_risk(cell.point), interval(values, alpha, found.seed)
    )


def _slope_row(series: Series, rows: Mapping[str, Row], alpha: float) -> SlopeRow:
    fitted = tuple(rows[cell.label] for cell in series.cells)
    x = [row.point[series.variable] for row in fitted]
    lower = series.claim.lower
    return SlopeRow(
        claim=series.claim.name,
        regime=series.regime,
        variable=series.variable,
        slope=fit_slope(x, [row.measured for row in fitted], alpha),
        expected=lower.slope(series.variable, **series.asymptotic_point),
        expected_source=lower.source,
        rows=fitted,
    )


def _level_controls(cells: list[Cell], measured: Mapping[str, Measurement]) -> list[Control]:
    """The twin must fall below the lower bound, and more noise must rise above the upper."""
    out: list[Control] = []
    for cell in (cell for cell in cells if cell.has_controls):
        name, point = cell.claim.name, cell.point
        lower, ceiling = cell.claim.lower.value(**point), cell.claim.ceiling(point)
        twin, noisier = measured[_twin(cell)], measured.get(_noisier(cell))
        out.append(LevelControl(name, "non-private twin", point, twin, "lower", lower))
        if ceiling is not None and noisier is not None:
            kind = f"noise x {cell.claim.noise_factor:g}"
            out.append(LevelControl(name, kind, point, noisier, "upper", ceiling.value))
    return out
