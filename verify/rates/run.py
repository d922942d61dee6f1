"""A run: claims -> grid -> simulation -> rows with verdicts."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from threadpoolctl import threadpool_limits

from minimax.core.privacy import at_point
from verify.console import track
from verify.rates.backends import Backend, Processes
from verify.rates.claim import Claim
from verify.rates.fingerprint import source_digest
from verify.rates.grid import Cell, Profile, Series, build
from verify.rates.judge import ZeroRelease, fit_slope
from verify.rates.measure import Measurement, interval, zero_losses
from verify.rates.own import rehearse
from verify.rates.records import from_plain, to_plain
from verify.rates.results import Key, Results
from verify.rates.rows import ALPHA, Control, LevelControl, Row, Run, SlopeControl, SlopeRow
from verify.rates.special import Found, Special
from verify.rates.tasks import Task, noisier_label, task_losses, tasks_of, twin_label
from verify.seeds import cell_seed

Array = NDArray[np.float64]

ZERO_DRAWS = 100
"""Of so many of a cell's trials the loss of releasing 0 is taken as well."""


def run(
    claims: Sequence[Claim],
    profile: Profile,
    *,
    seed: int = 0,
    jobs: int = 1,
    specials: Sequence[Special] = (),
    console: Console | None = None,
    results: Results | None = None,
    backend: Backend | None = None,
    own: bool = False,
) -> Run:
    """Check the claims on the profile's grid, and the special findings.

    Raises `BadClaim` before anything is simulated if a claim would not be checked; claims of one's
    own are rehearsed. What `results` has is not run again. A `backend` takes the place of `jobs`
    processes.
    """
    grid = build(claims, profile)
    cells, series, dropped = grid
    if own:
        rehearse(claims, grid)
    known = results or Results(None)
    tasks = tasks_of(cells, profile)
    extra = sum(special.intervals for special in specials)
    alpha = ALPHA / (len(tasks) + len(cells) + 2 * len(series) + extra + 2)
    simulation = Simulation(seed, known, own, backend or Processes(jobs), console)
    with threadpool_limits(limits=1):
        values = simulation.losses(tasks)
        found = [_special(each, profile, seed, alpha, known, console) for each in specials]
    seeds = {label: cell_seed(seed, label) for label in values}
    measured = {label: interval(values[label], alpha, seeds[label]) for label in values}
    rows = {cell.label: _cell_row(cell, measured[cell.label], alpha) for cell in cells}
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


@dataclass(frozen=True)
class Simulation:
    """How tasks are run, and what is known of them."""

    seed: int
    known: Results
    own: bool
    backend: Backend
    console: Console | None

    def losses(self, tasks: Sequence[Task]) -> dict[str, Array]:
        """The losses of every task: what is known is not run again, the rest is kept as it
        comes."""
        keys = {task.label: self._key(task) for task in tasks}
        found = {task.label: self.known.get(keys[task.label], _decoded) for task in tasks}
        values = {label: losses for label, losses in found.items() if losses is not None}
        if values and self.console is not None:
            self.console.print(f"{len(values)} of {len(tasks)} measurements were there already")
        # The longest tasks go first so that the end of the run is not one slow cell.
        left = sorted((t for t in tasks if t.label not in values), key=lambda t: -t.cost)
        if left:
            completed = self.backend.completed(partial(task_losses, seed=self.seed), left)
            for place, losses in track(completed, self.console, "measuring", len(left)):
                label = left[place].label
                values[label] = losses
                self.known.keep(keys[label], losses.tolist())
        return {task.label: values[task.label] for task in tasks}

    def _key(self, task: Task) -> Key:
        """What decides a task's losses. Of one's own claims, whose parts may come from anywhere,
        the estimator and the prior are written out as well."""
        key: dict[str, object] = {
            "task": task.label,
            "point": dict(task.point),
            "estimator_point": dict(task.estimator_point),
            "private": task.private,
            "seed": self.seed,
            "trials": task.trials,
        }
        if self.own and self.known.folder is not None:
            factory = task.claim.estimator_at if task.private else task.claim.non_private
            estimator, prior = factory(task.estimator_point), task.claim.lower.prior(**task.point)
            made = [source_digest(type(part)) for part in (estimator, prior)]
            parts = (type(estimator).__qualname__, estimator.get_params(), prior, made)
            key["parts"] = hashlib.sha256(_written(parts).encode()).hexdigest()
        return key


def _written(parts: object) -> str:
    """The parts with all of their numbers, and without where they are in memory."""
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        return re.sub(r" at 0x[0-9a-f]+", "", repr(parts))


def _decoded(values: object) -> Array:
    array = np.array(values, dtype=float)
    if array.ndim != 1:
        raise ValueError("it holds no list of losses")
    return array


def _special(
    special: Special,
    profile: Profile,
    seed: int,
    alpha: float,
    known: Results,
    console: Console | None,
) -> Found:
    """A special finding, run or known from before."""
    key = {"special": special.name, "profile": asdict(profile), "seed": seed, "alpha": alpha}
    found = known.get(key, from_plain)
    if found is None:
        found = special.check(profile, seed, alpha, console)
        known.keep(key, to_plain(found))
    return found


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
        twin, noisier = measured[twin_label(cell)], measured.get(noisier_label(cell))
        out.append(LevelControl(name, "non-private twin", point, twin, "lower", lower))
        if ceiling is not None and noisier is not None:
            kind = f"noise x {cell.claim.noise_factor:g}"
            out.append(LevelControl(name, kind, point, noisier, "upper", ceiling.value))
    return out
