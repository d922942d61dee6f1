"""The cells of the sandwich: where privacy dominates, and what is certified there.

Cells where statistics << privacy << releasing 0 (rho n << 2 d << rho n^2), one for each problem and
definition of privacy, at sizes that no sweep reaches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from estimators.mean import NoisyMean
from estimators.residual_clipped import ResidualClippedRegression
from estimators.sparse_residual_clipped import SparseResidualClippedRegression
from minimax.core.bound import Bound, LowerBound, OutsideRegime, Point, Prior
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Privacy,
    Pure,
    SpendablePrivacy,
    ZeroConcentrated,
)
from minimax.methods.priors import GaussianInstance
from minimax.problems.bounded_mean.lower import bounded_lower_bounds
from minimax.problems.bounded_mean.problem import BoundedMeanProblem
from minimax.problems.mean.lower import lower_bounds
from minimax.problems.mean.problem import MeanProblem
from minimax.problems.regression.lower import lower_bounds as regression_lower_bounds
from minimax.problems.regression.problem import RegressionProblem
from minimax.problems.sparse_regression.lower import lower_bounds as sparse_lower_bounds
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from verify.files import JSON
from verify.rates.rows import Row

Estimator = NoisyMean | ResidualClippedRegression | SparseResidualClippedRegression


@dataclass(frozen=True)
class SandwichRow(Row):
    """A cell, with what was proved there before antipodal pairs."""

    before: float

    def as_json(self) -> JSON:
        """The row as the JSON file has it."""
        return {**super().as_json(), "lower_before": self.before}


@dataclass(frozen=True)
class Kind:
    """A kind of records, with its bounds and its estimator."""

    name: str
    problem: Callable[[Point], Any]
    lower: Callable[[type[Privacy]], Sequence[Bound]]
    estimator_at: Callable[[SpendablePrivacy, Point], Estimator]
    non_private: str = "sample mean"
    records: type | None = None
    """What the records of a prior are that the upper bound covers, if not all are."""
    whole: str = ""
    """The name of the class, if that has other records too."""
    louder: float = 2.0
    """How many times the noise must break the upper bound."""


GAUSSIAN = Kind(
    "Gaussian mean",
    MeanProblem.at,
    lower_bounds,
    lambda privacy, p: NoisyMean(privacy, sigma=p["sigma"], radius=p["radius"], tails="Gaussian"),
    records=GaussianInstance,
    whole="sub-Gaussian mean",
)
BOUNDED = Kind(
    "bounded mean",
    BoundedMeanProblem.at,
    bounded_lower_bounds,
    lambda privacy, p: NoisyMean(privacy, R=p["sigma"]),
)

LINEAR = Kind(
    "regression",
    RegressionProblem.at,
    regression_lower_bounds,
    lambda privacy, p: ResidualClippedRegression(
        privacy,
        row_bound=1.0,
        radius=p["radius"],
        sigma=p["sigma"],
        second_moment="isotropic",
    ),
    non_private="least squares",
    louder=8.0,
)
SPARSE = Kind(
    "sparse regression",
    SparseRegressionProblem.at,
    sparse_lower_bounds,
    lambda privacy, p: SparseResidualClippedRegression(
        privacy,
        s=int(p["s"]),
        entry_bound=p["s"] ** -0.5,
        radius=p["radius"],
        sigma=p["sigma"],
        second_moment="isotropic",
    ),
    non_private="hard thresholding",
)


@dataclass(frozen=True)
class Cell:
    """A kind of records at a size and a budget."""

    kind: Kind
    privacy: SpendablePrivacy
    n: int
    d: int
    before: float
    """The largest certified lower bound of tracebound 0.4.0 for such records."""
    radius: float = 1.0
    sigma: float = 1.0
    s: int | None = None
    weight: int = 1
    """How many times the profile's trials: losses of few coordinates scatter, K-norm's most, and
    where only counts are drawn, trials are cheap."""

    before_in_class: float = math.nan
    """That of 0.4.0 for the class, where it is larger."""
    controlled: bool = True
    """Not where statistics alone come so near to the bound that it would take thousands of trials
    to see that they fall below it."""

    @property
    def estimator(self) -> Estimator:
        """The estimator on the cell's budget."""
        return self.kind.estimator_at(self.privacy, self.point)

    @property
    def name(self) -> str:
        return f"{self.kind.name}, {self.place}"

    @property
    def place(self) -> str:
        wide = f", radius {self.radius:g}" if self.radius != 1 else ""
        few = f", s = {self.s}" if self.s else ""
        return f"{type(self.privacy).name}, n = {self.n:,}, d = {self.d:,}{few}{wide}"

    @property
    def point(self) -> dict[str, float]:
        sizes = {"n": self.n, "d": self.d, "sigma": self.sigma, "radius": self.radius}
        few = {} if self.s is None else {"s": self.s}
        return {**sizes, **few, **self.privacy.parameters}


THIN = Approximate(0.2, 1e-6)
CELLS = (
    Cell(GAUSSIAN, ZeroConcentrated(0.0005), 20_000, 400, 0.3506, weight=2),
    Cell(GAUSSIAN, ZeroConcentrated(0.0005), 20_000, 400, 0.4045, radius=5.0, weight=2),
    Cell(GAUSSIAN, Gaussian(0.001**0.5), 20_000, 400, 0.3506, weight=2),
    Cell(GAUSSIAN, Pure(0.2), 20_000, 200, 0.01382, weight=2, before_in_class=0.1628),
    Cell(GAUSSIAN, THIN, 20_000, 2_000, 0.4514),
    Cell(BOUNDED, ZeroConcentrated(0.001), 200_000, 2_000, 0.05467, weight=50),
    Cell(BOUNDED, Gaussian(0.002**0.5), 200_000, 2_000, 0.05467, weight=50),
    Cell(BOUNDED, ZeroConcentrated(0.0005), 20_000, 400, 0.2995, weight=50),
    Cell(BOUNDED, ZeroConcentrated(0.125), 20_000, 20_000, 4.191, weight=20),
    Cell(BOUNDED, Pure(0.2), 20_000, 200, 0.01986, weight=10),
    Cell(BOUNDED, THIN, 20_000, 2_000, 0.1998, weight=10),
    Cell(LINEAR, ZeroConcentrated(1e-4), 50_000, 8, 7.183e-07, sigma=0.05, weight=20),
    Cell(LINEAR, ZeroConcentrated(1e-4), 100_000, 20, 3.965e-06, sigma=0.1, weight=8),
    Cell(
        LINEAR,
        Approximate(0.1, 1e-7),
        100_000,
        20,
        2.061e-06,
        sigma=0.1,
        weight=8,
        controlled=False,
    ),
    Cell(SPARSE, ZeroConcentrated(5e-5), 100_000, 100, 2.288e-07, sigma=0.05, s=5, weight=4),
)


# --- The lower bound -----------------------------------------------------------------------------


class Certified(NamedTuple):
    """A certified lower bound for the class of a cell."""

    value: float
    bound: LowerBound
    usual: bool
    """Whether the records of its prior are of the kind that the cell names."""
    prior: Prior


def certified_rows(cell: Cell) -> dict[str, Certified]:
    """Every certified lower bound on the risk of a cell, with its value."""
    found = {}
    for bound in cell.kind.lower(type(cell.privacy)):
        if not isinstance(bound, LowerBound) or bound.kind != "certified":
            continue
        at = {name: cell.point[name] for name in bound.parameters}
        try:
            parts = bound.parts(**at)
        except OutsideRegime:
            continue
        if bound.prior_at is None or bound.loss is not cell.kind.problem(cell.point).loss:
            continue
        prior = bound.prior_at(at, parts)
        drawn = prior.draw(np.random.default_rng(0))
        usual = cell.kind.records is None or isinstance(drawn, cell.kind.records)
        found[bound.name] = Certified(parts.total, bound, usual, prior)
    return found


def measured_rows(cell: Cell) -> list[Certified]:
    """The largest lower bound, and, if its records are not of the kind that the cell names, the
    largest of which they are."""
    rows = sorted(certified_rows(cell).values(), key=lambda row: -row.value)
    usual = next(row for row in rows if row.usual)
    return [usual] if rows[0].usual else [rows[0], usual]
