"""What is simulated for claims: an estimator under a prior at a point, so many times."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from minimax.core.bound import Point, Prior
from verify.rates.claim import BadClaim, Factory
from verify.rates.fingerprint import source_digest
from verify.rates.grid import Cell, Profile, shown_point
from verify.rates.measure import losses_with_noise
from verify.rates.results import Key
from verify.seeds import cell_seed

LEAST_CONTROL_TRIALS = 60
FEWEST_TRIALS = 2
"""An interval needs a scatter."""
PAIR = 2
"""So many fits are opposed to each other: what four independent ones do is as good as two pairs."""


@dataclass(frozen=True)
class ClaimTask:
    """An estimator of a claim, private or not, under the prior of its lower bound at a point.

    It travels to workers, and so has the estimator's factory and the prior, not the claim, whose
    closed forms would take longer to unpack than trials take.
    """

    label: str
    drawn_as: str
    """Names its draws. Those of all tasks of a claim are the same as far as their points allow:
    exponents rest on ratios, which such losses have with less scatter."""
    make: Factory
    prior: Prior
    point: Point
    estimator_point: Point
    trials: int
    fits: int = 1
    paired: bool = False
    """Whether the second of two fits has the noise of the first turned round."""
    reports: bool = False
    """Whether every user randomises a record: reports take twice the time that records do."""
    rehearsed: str = ""
    """Of one's own claims: a digest of what their parts gave in the rehearsal."""

    @property
    def size(self) -> float:
        """Numbers that a trial draws, about."""
        records = self.point["n"] * self.point.get("d", self.point.get("p", 1.0))
        return 3 * records if self.reports else records

    def values(self, seed: int, first: int, last: int) -> NDArray[np.float64]:
        """The losses of some trials, and how long their noise was; raises `ValueError` for what is
        no loss, of which no mean says anything."""
        values = losses_with_noise(
            lambda _: self.make(self.estimator_point),
            self.prior,
            self.point,
            last - first,
            cell_seed(seed, self.drawn_as),
            first,
            self.fits,
            paired=self.paired,
        )
        wrong = np.flatnonzero(~(np.isfinite(values[:, 0]) & (values[:, 0] >= 0)))
        if wrong.size:
            trial = int(wrong[0])
            raise ValueError(
                f"the loss of trial {first + trial} is {values[trial, 0]:g}, which is no loss"
            )
        return values

    def key(self, written: bool) -> Key:
        """What decides the losses. Of one's own claims, whose parts may come from anywhere, the
        estimator and the prior are written out as well, and what they gave in the rehearsal: what
        a closure, a library or a file that they read has changed stands in no source."""
        key: dict[str, object] = {
            "task": self.label,
            "drawn_as": self.drawn_as,
            "point": dict(self.point),
            "estimator_point": dict(self.estimator_point),
            "fits": self.fits,
            "paired": self.paired,
        }
        if written:
            estimator = self.make(self.estimator_point)
            made = [source_digest(type(part)) for part in (estimator, self.prior)]
            written_out = type(estimator).__qualname__, estimator.get_params(), self.prior
            parts = (*written_out, made, self.rehearsed)
            key["parts"] = hashlib.sha256(_written(parts).encode()).hexdigest()
        return key


def _written(parts: object) -> str:
    """The parts with all of their numbers, and without where they are in memory."""
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(parts))


def weakened(point: Point, factor: float) -> dict[str, float]:
    """The point with its budget cut so that the noise is `factor` times as large."""
    powers = {"epsilon": 1, "mu": 1, "rho": 2}
    return {k: v / factor ** powers[k] if k in powers else v for k, v in point.items()}


def tasks_of(
    cells: Sequence[Cell],
    profile: Profile,
    *,
    paired: bool = False,
    rehearsed: Mapping[str, str] = MappingProxyType({}),
) -> list[ClaimTask]:
    """The cells, and their controls where they have them; `paired` if their noise is known;
    `rehearsed`: what claims gave in the rehearsal."""
    return [
        replace(task, rehearsed=rehearsed.get(cell.claim.name, ""))
        for cell in cells
        for task in _cell_tasks(cell, profile, paired)
    ]


def _cell_tasks(cell: Cell, profile: Profile, paired: bool) -> Iterator[ClaimTask]:
    claim, point = cell.claim, cell.point
    prior, drawn_as = claim.lower.prior(**point), claim.name
    full = _trials(cell, profile.trials, cell.weight)
    make = claim.estimator_at
    fits, paired = cell.fits, paired and cell.fits == PAIR
    how = fits, paired, claim.problem.scope == "local"
    yield ClaimTask(cell.label, drawn_as, make, prior, point, point, full, *how)
    if not cell.has_controls:
        return
    trials = max(profile.trials // 2, LEAST_CONTROL_TRIALS)
    few = _trials(cell, trials, min(cell.weight, 1))
    twin = twin_label(cell)
    yield ClaimTask(twin, drawn_as, claim.non_private, prior, point, point, few)
    ceiling = cell.ceiling
    if ceiling and not ceiling.vacuous:
        noisier = weakened(point, claim.noise_factor)
        many = _trials(cell, trials, cell.loud_weight)
        label = noisier_label(cell)
        yield ClaimTask(label, drawn_as, make, prior, point, noisier, many, *how)


def _trials(cell: Cell, whole: int, weight: float) -> int:
    """So many times the weight; raises `BadClaim` for a weight that leaves nothing to measure."""
    trials = round(whole * weight)
    if trials < FEWEST_TRIALS:
        raise BadClaim(
            f"claim {cell.claim.name!r}: a weight of {weight:g} leaves {trials} of {whole} trials"
            f" at {shown_point(cell.point)}"
        )
    return trials


def twin_label(cell: Cell) -> str:
    """Label of the control without privacy."""
    return f"control|{cell.label}"


def noisier_label(cell: Cell) -> str:
    """Label of the control with more noise."""
    return f"noisier|{cell.label}"
