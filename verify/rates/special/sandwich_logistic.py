"""The sandwich for logistic regression: lower bound, measured risk, proven upper bound.

Cells where statistics << privacy << releasing 0 (4d/n << 8 d^2/(rho n^2) << 1/d), one for each
definition of privacy; see `verify.rates.special.sandwich`. Controls: the same estimator with a
budget without end must fall below the lower bound, and with eight times the noise it must rise
above the upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rich.console import Console

from estimators.logistic import PlannedLogisticRegression
from minimax.core.bound import Labelled, LowerBound
from minimax.core.calibration import budget_of
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.problems.logistic.problem import LogisticProblem
from verify.rates.claim import Ceiling
from verify.rates.claims.logistic import CAUTION
from verify.rates.grid import Profile
from verify.rates.measure import Measurement, interval
from verify.rates.rows import LevelControl, Row
from verify.rates.special import Found, Special
from verify.rates.special.sandwich import TRIALS, SandwichRow
from verify.seeds import cell_seed

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

    def measured(
        self, privacy: SpendablePrivacy, trials: int, seed: int, alpha: float
    ) -> Measurement:
        """The Bayes risk of the estimator on some budget, under the prior of the best row."""
        lower = self.best_lower()
        prior = lower.prior(**self._at(lower))
        own = cell_seed(seed, f"{CLAIM}|{self.name}|{privacy}")
        losses = []
        for child in np.random.SeedSequence(own).spawn(trials):
            rng = np.random.default_rng(child)
            instance = prior.draw(rng)
            sample = instance.sample(self.n, rng)
            assert isinstance(sample, Labelled)
            fitted = self.estimator(privacy).set_params(random_state=rng).fit(*sample)
            losses.append(instance.loss(fitted.coef_))
        return interval(np.array(losses), alpha, own)

    def row(self, trials: int, seed: int, alpha: float) -> SandwichRow:
        """What is proved and measured here."""
        lower, upper = self.best_lower(), self.estimator(self.privacy).risk_bound(self.problem)
        return SandwichRow(
            claim=f"{CLAIM}/{self.name}",
            problem="logistic regression",
            regime="privacy",
            point=self.point,
            estimator=ESTIMATOR,
            privacy=str(self.privacy),
            measured=self.measured(self.privacy, trials, seed, alpha),
            lower=lower.value(**self._at(lower)),
            lower_source=f"{lower.source} ({lower.name})",
            upper=Ceiling(upper.value(), upper.source, upper.remark),
            before=self.before,
        )


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


def check(profile: Profile, seed: int, alpha: float, console: Console | None) -> Found:
    """Every cell, and its two controls."""
    rows: list[Row] = []
    controls = []
    for cell in CELLS:
        trials = TRIALS[profile.name]
        row = cell.row(cell.weight * trials, seed, alpha)
        rows.append(row)
        assert row.upper is not None
        endless = cell.measured(ZeroConcentrated(1e6), cell.weight * trials, seed, alpha)
        loud = cell.measured(louder(cell.privacy), cell.weight * trials, seed, alpha)
        controls += [
            LevelControl(row.claim, ENDLESS, cell.point, endless, "lower", row.lower),
            LevelControl(row.claim, LOUD, cell.point, loud, "upper", row.upper.value),
        ]
    return Found(rows, controls=controls)


SPECIAL = Special(
    CLAIM,
    against="the best certified row [dim](cells where privacy dominates)[/dim]",
    by=ESTIMATOR,
    intervals=3 * len(CELLS),
    check=check,
)
