"""What is to be simulated: an estimator under a prior at a point, so many times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from minimax.core.bound import Point
from verify.rates.claim import Claim
from verify.rates.grid import Cell, Profile
from verify.rates.measure import losses
from verify.seeds import cell_seed

LEAST_CONTROL_TRIALS = 60


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


class TaskFailed(RuntimeError):
    """A trial raised an error: which one, in a sentence."""


def task_losses(task: Task, seed: int) -> NDArray[np.float64]:
    """The losses of a task's trials, with the seed that its label determines.

    One thread: the work is many small products, and processes are what uses the other cores.
    """
    factory = task.claim.estimator_at if task.private else task.claim.non_private
    with threadpool_limits(limits=1):
        try:
            return losses(
                lambda _: factory(task.estimator_point),
                task.claim.lower.prior(**task.point),
                task.point,
                task.trials,
                cell_seed(seed, task.label),
            )
        except Exception as error:
            told = f"{task.label}: a trial failed: {type(error).__name__}: {error}"
            raise TaskFailed(told) from error


def weakened(point: Point, factor: float) -> dict[str, float]:
    """The point with its budget cut so that the noise is `factor` times as large."""
    powers = {"epsilon": 1, "mu": 1, "rho": 2}
    return {k: v / factor ** powers[k] if k in powers else v for k, v in point.items()}


def tasks_of(cells: Sequence[Cell], profile: Profile) -> list[Task]:
    """The cells, and their controls where they have them."""
    tasks = [
        Task(c.label, c.claim, c.point, c.point, True, round(profile.trials * c.weight))
        for c in cells
    ]
    trials = max(profile.trials // 2, LEAST_CONTROL_TRIALS)
    for cell in (cell for cell in cells if cell.has_controls):
        claim, point = cell.claim, cell.point
        few = round(trials * min(cell.weight, 1))
        tasks.append(Task(twin_label(cell), claim, point, point, False, few))
        ceiling = claim.ceiling(point)
        if ceiling and not ceiling.vacuous:
            noisier = weakened(point, claim.noise_factor)
            many = round(trials * cell.loud_weight)
            tasks.append(Task(noisier_label(cell), claim, point, noisier, True, many))
    return tasks


def twin_label(cell: Cell) -> str:
    """Label of the control without privacy."""
    return f"control|{cell.label}"


def noisier_label(cell: Cell) -> str:
    """Label of the control with more noise."""
    return f"noisier|{cell.label}"
