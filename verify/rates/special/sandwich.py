"""How far apart the two sides are: certified lower bound, measured risk, proven upper bound.

Cells where statistics << privacy << releasing 0 (rho n << 2 d << rho n^2), one for each problem and
definition of privacy, at sizes that no sweep reaches. The lower bound is the largest of all
certified rows of the problem whose records are of the kind named; the risk is measured under its
prior.

Where a row of the whole class is larger still, but under a prior whose records are of another kind
(a packing of sub-Gaussian laws has none that are Gaussian), a second row is about the class: that
bound, and the larger of the risks under its prior and on the records named. The largest risk of an
estimator over the class is no smaller than either, nor than the bound. No upper bound stands beside
it: the estimator's is about the kind named.

Controls: the sample mean, least squares, or hard thresholding must fall below the lower bound, and
the estimator with more noise must rise above the upper bound, where one is proved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from estimators.controls.regression import IterativeHardThresholding, LeastSquares
from estimators.mean import NoisyMean
from estimators.sparse_residual_clipped import SparseResidualClippedRegression
from minimax.core.bound import Prior
from minimax.core.calibration import budget_of
from minimax.core.privacy import Gaussian, Pure, SpendablePrivacy
from minimax.methods.priors import GaussianInstance
from minimax.methods.summaries import column_sums
from verify.plotting import new_figure
from verify.rates.claim import Ceiling
from verify.rates.draws import given
from verify.rates.grid import Profile
from verify.rates.known_noise import seen_loss
from verify.rates.measure import Measurement
from verify.rates.results import Key
from verify.rates.rows import LevelControl, Row
from verify.rates.sequential import Check, Seen
from verify.rates.special import Measured
from verify.rates.special.sandwich_cells import (
    BOUNDED,
    CELLS,
    LINEAR,
    SPARSE,
    Cell,
    Certified,
    SandwichRow,
    measured_rows,
)
from verify.seeds import cell_seed, streams

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
CLAIM = "sandwich"
TRIALS = {"quick": 16, "standard": 24, "full": 48}
LOUDER = "more noise"


# --- Measuring -----------------------------------------------------------------------------------


def _average(instance: Any, n: int, rng: np.random.Generator) -> Array:
    """The mean of n records, drawn without them."""
    return column_sums(instance, n, math.inf, rng) / n


def _loss(cell: Cell, privacy: SpendablePrivacy, instance: Any, rng: np.random.Generator) -> float:
    """The loss of one fit. Records that nothing clips enter a release through their mean alone."""
    estimator = cell.kind.estimator_at(privacy, cell.point)
    if not isinstance(estimator, NoisyMean):
        records = given(estimator, instance, cell.n, rng)
        release = estimator.set_params(random_state=rng).fit(*records).coef_
    elif cell.kind is BOUNDED:
        R = cell.point["sigma"]
        average = _average(instance, cell.n, rng)
        release = estimator.noisy_average(average, 2 * R / cell.n, privacy, rng).value
    else:
        release = estimator.set_params(random_state=rng).fit(_records(cell, instance, rng)).mean_
    return float(instance.loss(release))


def _records(cell: Cell, instance: Any, rng: np.random.Generator) -> Array:
    """Of one trial: Gaussian ones, of which there are many, take the place of the last trial's."""
    if isinstance(instance, GaussianInstance):
        return instance.sample(cell.n, rng, out=_room(cell.n, cell.d, get_ident()))
    return np.asarray(instance.sample(cell.n, rng))


@lru_cache(maxsize=1)
def _room(n: int, d: int, thread: int) -> Array:
    """That no other thread writes to."""
    return np.empty((n, d))


def _non_private_loss(cell: Cell, instance: Any, rng: np.random.Generator) -> float:
    """That of the sample mean, of least squares, or of hard thresholding."""
    if cell.kind is SPARSE:
        pursuit = IterativeHardThresholding(s=int(cell.point["s"]))
        return float(instance.loss(pursuit.fit(*instance.sample(cell.n, rng)).coef_))
    if cell.kind is LINEAR:
        return float(instance.loss(LeastSquares().fit(*instance.sample(cell.n, rng)).coef_))
    return float(instance.loss(_average(instance, cell.n, rng)))


def weaker(privacy: SpendablePrivacy, times: float) -> SpendablePrivacy:
    """A budget for so many times the noise."""
    if isinstance(privacy, Pure):
        return Pure(privacy.epsilon / times)
    return Gaussian(float(budget_of(privacy).mu()) / times)


@dataclass(frozen=True)
class SandwichTask:
    """The loss in a cell under the prior of a bound: of the estimator, of it with less budget, or
    of its non-private twin."""

    place: int
    """Of the cell in `CELLS`, which workers have too."""
    of: str
    bound: str
    prior: Prior
    trials: int

    @property
    def cell(self) -> Cell:
        return CELLS[self.place]

    @property
    def label(self) -> str:
        return f"{CLAIM}|{self.cell.name}|{self.of}|{self.bound}"

    @property
    def size(self) -> float:
        """Numbers that a trial draws: of bounded records their sums alone."""
        return self.cell.d * (1 if self.cell.kind is BOUNDED else self.cell.n)

    def key(self, written: bool) -> Key:
        """The cells are data of the packages."""
        return {"task": self.label}

    def values(self, seed: int, first: int, last: int) -> Array:
        """The losses of some trials, and how long their noise was."""
        rngs = streams(cell_seed(seed, self.label), first, last)
        return np.array([seen_loss(partial(self._loss, rng)) for rng in rngs])

    def _loss(self, rng: np.random.Generator) -> float:
        cell, instance = self.cell, self.prior.draw(rng)
        if self.of == cell.kind.non_private:
            return _non_private_loss(cell, instance, rng)
        privacy = weaker(cell.privacy, cell.kind.louder) if self.of == LOUDER else cell.privacy
        return _loss(cell, privacy, instance, rng)


def found_rows(
    cell: Cell, certified: list[Certified], upper: Ceiling | None, risks: list[Measurement]
) -> list[SandwichRow]:
    """The row of the records named and, where more is proved about it, that of the class."""
    best, usual = certified[0], certified[-1]
    named = SandwichRow(
        claim=f"{CLAIM}/{cell.name}",
        problem=cell.kind.name,
        regime="privacy",
        point=cell.point,
        estimator=type(cell.estimator).__name__,
        privacy=str(cell.privacy),
        measured=risks[-1],
        lower=usual.value,
        lower_source=f"{usual.bound.source} ({usual.bound.name})",
        upper=upper,
        before=cell.before,
    )
    if best is usual:
        return [named]
    larger, under = max(zip(risks, certified, strict=True), key=lambda pair: pair[0].risk)
    source = f"{best.bound.source} ({best.bound.name}); risk under the prior of"
    whole = replace(
        named,
        claim=f"{CLAIM}/{cell.kind.whole}, {cell.place}",
        problem=cell.kind.whole,
        measured=larger,
        lower=best.value,
        lower_source=f"{source} {under.bound.name}",
        upper=None,
        before=cell.before_in_class,
    )
    return [named, whole]


def _proven(cell: Cell) -> Ceiling | None:
    """The upper bound on the estimator's risk on records of the kind that the cell names."""
    estimator = cell.estimator
    if isinstance(estimator, SparseResidualClippedRegression):
        return None
    bound = estimator.risk_bound(cell.kind.problem(cell.point))
    return Ceiling(bound.value(), bound.source, bound.remark)


class CellStudy:
    """A cell, and its two controls where they are cheap: the records' mean is all they need."""

    def __init__(self, place: int, usual: int) -> None:
        cell = self.cell = CELLS[place]
        self.certified, self.upper = measured_rows(cell), _proven(cell)
        estimator = type(cell.estimator).__name__

        def task(of: str, row: Certified, weight: int) -> SandwichTask:
            return SandwichTask(place, of, row.bound.name, row.prior, usual * weight)

        self.measured = [task(estimator, row, cell.weight) for row in self.certified]
        cheap = cell.kind is BOUNDED or cell.n * cell.d < 5 * 10**6
        controls: list[tuple[str, Certified]] = []
        if cell.controlled and cheap:
            controls = [(cell.kind.non_private, row) for row in reversed(self.certified)]
            if self.upper is not None:
                controls.append((LOUDER, self.certified[-1]))
        fitted = cell.kind in (LINEAR, SPARSE)
        self.controls = [task(*each, cell.weight if fitted else 1) for each in controls]

    def checks(self, seen: Seen) -> Iterator[Check]:
        """The rows and the controls."""
        labels = tuple(task.label for task in self.measured)
        risks = [seen.risk(label) for label in labels]
        rows = found_rows(self.cell, self.certified, self.upper, risks)
        yield from (Check(row, labels) for row in rows)
        # The last certified bound is about the records named, whose row is the first.
        under = dict(zip((row.bound.name for row in self.certified), rows[::-1], strict=True))
        for task in self.controls:
            row = under[task.bound]
            yield Check(self._control(task, row, seen.risk(task.label)), (task.label,))

    def _control(self, task: SandwichTask, row: Row, risk: Measurement) -> LevelControl:
        if task.of == LOUDER:
            assert row.upper is not None
            kind = f"noise x {self.cell.kind.louder:g}"
            return LevelControl(row.claim, kind, row.point, risk, "upper", row.upper.value)
        return LevelControl(row.claim, task.of, row.point, risk, "lower", row.lower)


class SandwichStudy:
    """All cells."""

    def __init__(self, profile: Profile) -> None:
        self.cells = [CellStudy(place, TRIALS[profile.name]) for place in range(len(CELLS))]
        self.tasks = [task for cell in self.cells for task in (*cell.measured, *cell.controls)]

    def checks(self, seen: Seen) -> list[Check]:
        """The rows and the controls of every cell."""
        return [check for cell in self.cells for check in cell.checks(seen)]


SPECIAL = Measured(
    CLAIM,
    against="the best certified row of each problem [dim](cells where privacy dominates)[/dim]",
    by="NoisyMean, (Sparse)ResidualClippedRegression",
    intervals=4 * len(CELLS),
    study=SandwichStudy,
)


# --- The figure ----------------------------------------------------------------------------------


def sandwich_figure(rows: Sequence[Row]) -> Figure | None:
    """Measured risk over lower bound by cell, before and now, and proven upper over lower."""
    shown = [row for row in rows if isinstance(row, SandwichRow)]
    if not shown:
        return None
    figure = new_figure(8.6, 1.6 + 0.42 * len(shown))
    axis = figure.subplots()
    heights = np.arange(len(shown))[::-1]
    for height, row in zip(heights, shown, strict=True):
        risk = row.measured.risk
        if row.upper is not None:
            reach = [1, row.upper.value / row.lower]
            axis.plot(reach, [height] * 2, color="0.85", lw=6, solid_capstyle="butt", zorder=1)
        axis.plot(risk / row.before, height, "o", mfc="white", color="tab:red", zorder=2)
        axis.plot(risk / row.lower, height, "o", color="tab:blue", zorder=3)
    axis.plot([], [], "o", mfc="white", color="tab:red", label="measured / lower bound, 0.4.0")
    axis.plot([], [], "o", color="tab:blue", label="measured / lower bound, now")
    axis.plot([], [], color="0.85", lw=6, label="from the lower to the proven upper bound")
    axis.axvline(1, color="black", lw=0.8)
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_yticks(heights, [row.claim.partition("/")[2] for row in shown], fontsize=8)
    axis.set_xlabel("risk / certified lower bound")
    axis.grid(alpha=0.3, axis="x", which="both")
    axis.set_title("Lower bound, measured risk, upper bound, where privacy dominates", fontsize=10)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure
