"""What is simulated for claims: an estimator under a prior at a point, so many times."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minimax.core.bound import Point, Prior
from verify.rates.claim import Claim
from verify.rates.fingerprint import source_digest
from verify.rates.grid import Cell, Profile
from verify.rates.measure import losses
from verify.rates.results import Key
from verify.seeds import cell_seed

LEAST_CONTROL_TRIALS = 60


@dataclass(frozen=True)
class ClaimTask:
    """An estimator of a claim, private or not, under the prior of its lower bound at a point."""

    label: str
    claim: Claim
    point: Point
    estimator_point: Point
    private: bool
    trials: int
    prior: Prior
    fits: int = 1

    @property
    def size(self) -> float:
        """Numbers that a trial draws, about."""
        return self.point["n"] * self.point.get("d", self.point.get("p", 1.0))

    def values(self, seed: int, first: int, last: int) -> NDArray[np.float64]:
        """The losses of some trials, with the seed that the label determines."""
        factory = self.claim.estimator_at if self.private else self.claim.non_private
        return losses(
            lambda _: factory(self.estimator_point),
            self.prior,
            self.point,
            last - first,
            cell_seed(seed, self.label),
            first,
            self.fits,
        )

    def key(self, written: bool) -> Key:
        """What decides the losses. Of one's own claims, whose parts may come from anywhere, the
        estimator and the prior are written out as well."""
        key: dict[str, object] = {
            "task": self.label,
            "point": dict(self.point),
            "estimator_point": dict(self.estimator_point),
            "private": self.private,
            "fits": self.fits,
        }
        if written:
            factory = self.claim.estimator_at if self.private else self.claim.non_private
            estimator = factory(self.estimator_point)
            made = [source_digest(type(part)) for part in (estimator, self.prior)]
            parts = (type(estimator).__qualname__, estimator.get_params(), self.prior, made)
            key["parts"] = hashlib.sha256(_written(parts).encode()).hexdigest()
        return key


def _written(parts: object) -> str:
    """The parts with all of their numbers, and without where they are in memory."""
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        return re.sub(r" at 0x[0-9a-f]+", "", repr(parts))


def weakened(point: Point, factor: float) -> dict[str, float]:
    """The point with its budget cut so that the noise is `factor` times as large."""
    powers = {"epsilon": 1, "mu": 1, "rho": 2}
    return {k: v / factor ** powers[k] if k in powers else v for k, v in point.items()}


def tasks_of(cells: Sequence[Cell], profile: Profile) -> list[ClaimTask]:
    """The cells, and their controls where they have them."""
    tasks = []
    for cell in cells:
        claim, point = cell.claim, cell.point
        prior = claim.lower.prior(**point)

        def task(
            label: str,
            at: Point,
            private: bool,
            trials: float,
            cell: Cell = cell,
            prior: Prior = prior,
        ) -> ClaimTask:
            fits = cell.fits if private else 1  # without noise all fits are the same
            many = round(trials)
            return ClaimTask(label, cell.claim, cell.point, at, private, many, prior, fits)

        tasks.append(task(cell.label, point, True, profile.trials * cell.weight))
        if not cell.has_controls:
            continue
        trials = max(profile.trials // 2, LEAST_CONTROL_TRIALS)
        tasks.append(task(twin_label(cell), point, False, trials * min(cell.weight, 1)))
        ceiling = claim.ceiling(point)
        if ceiling and not ceiling.vacuous:
            noisier = weakened(point, claim.noise_factor)
            tasks.append(task(noisier_label(cell), noisier, True, trials * cell.loud_weight))
    return tasks


def twin_label(cell: Cell) -> str:
    """Label of the control without privacy."""
    return f"control|{cell.label}"


def noisier_label(cell: Cell) -> str:
    """Label of the control with more noise."""
    return f"noisier|{cell.label}"
