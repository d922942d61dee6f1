"""The sandwich for logistic regression: lower bound, measured risk, proven upper bound.

Cells where statistics << privacy << releasing 0 (4d/n << 8 d^2/(rho n^2) << 1/d), one for each
definition of privacy; see `verify.rates.special.sandwich`. Controls: the same estimator with a
budget without end must fall below the lower bound, and with eight times the noise it must rise
above the upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from estimators.logistic import PlannedLogisticRegression
from minimax.core.bound import LowerBound, Prior
from minimax.core.calibration import budget_of
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.problems.logistic.problem import LogisticProblem
from verify.rates.claim import Ceiling
from verify.rates.claims.logistic import CAUTION
from verify.rates.draws import given
from verify.rates.grid import Profile
from verify.rates.results import Key
from verify.rates.rows import LevelControl
from verify.rates.sequential import Check, Seen
from verify.rates.special import Measured
from verify.rates.special.sandwich import TRIALS
from verify.rates.special.sandwich_cells import SandwichRow
from verify.seeds import cell_seed, streams

CLAIM = "sandwich-logistic"
ESTIMATOR = "PlannedLogisticRegression"
ENDLESS, LOUD = "a budget without end", "eight times the noise"


@dataclass(frozen=True)
class Cell:
    """A size and a budget."""

    privacy: SpendablePrivacy
    n: int
    d: int
    before: float
    """The largest certified lower bound of tracebound 0.4.0."""
    radius: float = 1.0
    weight: int = 1
    """How many times the profile's trials."""

    @property
    def name(self) -> str:
        return f"logistic, {type(self.privacy).name}, n = {self.n:,}, d = {self.d:,}"

    @property
    def problem(self) -> LogisticProblem:
        return LogisticProblem(self.n, self.d, self.radius)

    @property
    def point(self) -> dict[str, float]:
        return {**self.problem.point, **self.privacy.parameters}

    def estimator(self, privacy: SpendablePrivacy) -> PlannedLogisticRegression:
        """The estimator of the cell on some budget."""
        return PlannedLogisticRegression(
            privacy, radius=self.radius, row_bound=1.0, reach=CAUTION * self.radius
        )

    def best_lower(self) -> LowerBound:
        """The certified row that is largest here."""
        rows = self.problem.lower(type(self.privacy))
        return max(rows, key=lambda row: row.value(**self._at(row)))

    def _at(self, bound: LowerBound) -> dict[str, float]:
        return {name: self.point[name] for name in bound.parameters}

    def row(self) -> partial[SandwichRow]:
        """What is proved here: a row that lacks what is measured."""
        lower, upper = self.best_lower(), self.estimator(self.privacy).risk_bound(self.problem)
        return partial(
            SandwichRow,
            claim=f"{CLAIM}/{self.name}",
            problem="logistic regression",
            regime="privacy",
            point=self.point,
            estimator=ESTIMATOR,
            privacy=str(self.privacy),
            lower=lower.value(**self._at(lower)),
            lower_source=f"{lower.source} ({lower.name})",
            upper=Ceiling(upper.value(), upper.source, upper.remark),
            before=self.before,
        )

    def prior(self) -> Prior:
        """That of the best row."""
        lower = self.best_lower()
        return lower.prior(**self._at(lower))


CELLS = (
    Cell(ZeroConcentrated(1.5e-5), 200_000, 8, 0.0003456, weight=8),
    Cell(Gaussian(3e-5**0.5), 200_000, 8, 0.0003456, weight=8),
    Cell(Pure(5e-3), 200_000, 4, 0.0001399, weight=10),
    Cell(Approximate(5e-3, 1e-12), 200_000, 4, 0.0001399, weight=10),
)


def louder(privacy: SpendablePrivacy) -> SpendablePrivacy:
    """A budget for eight times the noise."""
    if isinstance(privacy, (Pure, Approximate)):
        return Pure(privacy.epsilon / 8)
    return Gaussian(float(budget_of(privacy).mu()) / 8)


@dataclass(frozen=True)
class LogisticTask:
    """The loss of the estimator of a cell on some budget, under the prior of the best row."""

    place: int
    privacy: SpendablePrivacy
    prior: Prior
    trials: int

    @property
    def cell(self) -> Cell:
        return CELLS[self.place]

    @property
    def label(self) -> str:
        return f"{CLAIM}|{self.cell.name}|{self.privacy}"

    @property
    def size(self) -> float:
        """Numbers that a trial draws."""
        return self.cell.n * self.cell.d

    def key(self, written: bool) -> Key:
        """The cells are data of the packages."""
        return {"task": self.label}

    def values(self, seed: int, first: int, last: int) -> NDArray[np.float64]:
        """The losses of some trials."""

        def loss(rng: np.random.Generator) -> float:
            instance = self.prior.draw(rng)
            estimator = self.cell.estimator(self.privacy).set_params(random_state=rng)
            records = given(estimator, instance, self.cell.n, rng)
            return instance.loss(estimator.fit(*records).coef_)

        own = cell_seed(seed, self.label)
        return np.array([loss(rng) for rng in streams(own, first, last)])


class LogisticStudy:
    """Every cell, and its two controls."""

    def __init__(self, profile: Profile) -> None:
        usual = TRIALS[profile.name]
        self.rows = [cell.row() for cell in CELLS]
        self.triples = []
        for place, cell in enumerate(CELLS):
            budgets = cell.privacy, ZeroConcentrated(1e6), louder(cell.privacy)
            prior, trials = cell.prior(), cell.weight * usual
            self.triples.append([LogisticTask(place, each, prior, trials) for each in budgets])
        self.tasks = [task for triple in self.triples for task in triple]

    def checks(self, seen: Seen) -> list[Check]:
        """The rows and the controls."""
        found = []
        for unmeasured, triple in zip(self.rows, self.triples, strict=True):
            own, endless, loud = (task.label for task in triple)
            row = unmeasured(measured=seen.risk(own))
            assert row.upper is not None
            quiet, noisy = seen.risk(endless), seen.risk(loud)
            below = LevelControl(row.claim, ENDLESS, row.point, quiet, "lower", row.lower)
            above = LevelControl(row.claim, LOUD, row.point, noisy, "upper", row.upper.value)
            found += [Check(row, (own,)), Check(below, (endless,)), Check(above, (loud,))]
        return found


SPECIAL = Measured(
    CLAIM,
    against="the best certified row [dim](cells where privacy dominates)[/dim]",
    by=ESTIMATOR,
    intervals=3 * len(CELLS),
    study=LogisticStudy,
)
