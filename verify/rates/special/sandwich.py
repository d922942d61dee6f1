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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from estimators.controls.regression import IterativeHardThresholding, LeastSquares
from estimators.mean import NoisyMean
from estimators.residual_clipped import ResidualClippedRegression
from estimators.sparse_residual_clipped import SparseResidualClippedRegression
from minimax.core.bound import Bound, LowerBound, OutsideRegime, Point, UpperBound
from minimax.core.calibration import budget_of
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Privacy,
    Pure,
    SpendablePrivacy,
    ZeroConcentrated,
)
from minimax.methods.priors import GaussianInstance, SignInstance
from minimax.problems.bounded_mean.lower import bounded_lower_bounds
from minimax.problems.bounded_mean.problem import BoundedMeanProblem
from minimax.problems.mean.lower import lower_bounds
from minimax.problems.mean.problem import MeanProblem
from minimax.problems.regression.lower import lower_bounds as regression_lower_bounds
from minimax.problems.regression.problem import RegressionProblem
from minimax.problems.sparse_regression.lower import lower_bounds as sparse_lower_bounds
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from verify.figures import new_figure
from verify.files import JSON
from verify.rates.claim import Ceiling
from verify.rates.grid import Profile
from verify.rates.measure import Measurement, interval
from verify.rates.rows import LevelControl, Row
from verify.rates.special import Found, Special
from verify.seeds import cell_seed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
CLAIM = "sandwich"
Estimator = NoisyMean | ResidualClippedRegression | SparseResidualClippedRegression
TRIALS = {"quick": 16, "standard": 24, "full": 48}
LOUDER = "more noise"


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
    Cell(GAUSSIAN, Pure(0.2), 20_000, 200, 0.01382, weight=5, before_in_class=0.1628),
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
        drawn = bound.prior_at(at, parts).draw(np.random.default_rng(0))
        usual = cell.kind.records is None or isinstance(drawn, cell.kind.records)
        found[bound.name] = Certified(parts.total, bound, usual)
    return found


def measured_rows(cell: Cell) -> list[Certified]:
    """The largest lower bound, and, if its records are not of the kind that the cell names, the
    largest of which they are."""
    rows = sorted(certified_rows(cell).values(), key=lambda row: -row.value)
    usual = next(row for row in rows if row.usual)
    return [usual] if rows[0].usual else [rows[0], usual]


# --- Measuring -----------------------------------------------------------------------------------


def _average(instance: Any, n: int, rng: np.random.Generator) -> Array:
    """The mean of n records; of sign data the counts are drawn, not the records."""
    if isinstance(instance, SignInstance):
        ups = rng.binomial(n, (1 + instance.target / instance.sigma) / 2)
        return np.asarray(instance.sigma * (2 * ups / n - 1))
    return np.asarray(instance.sample(n, rng).mean(axis=0))


def _loss(cell: Cell, privacy: SpendablePrivacy, instance: Any, rng: np.random.Generator) -> float:
    """The loss of one fit. Records that nothing clips enter a release through their mean alone."""
    estimator = cell.kind.estimator_at(privacy, cell.point)
    if not isinstance(estimator, NoisyMean):
        fitted = estimator.set_params(random_state=rng).fit(*instance.sample(cell.n, rng))
        release = fitted.coef_
    elif cell.kind is BOUNDED:
        R = cell.point["sigma"]
        average = _average(instance, cell.n, rng)
        release = estimator.noisy_average(average, 2 * R / cell.n, privacy, rng).value
    else:
        release = estimator.set_params(random_state=rng).fit(instance.sample(cell.n, rng)).mean_
    return float(instance.loss(release))


def _non_private_loss(cell: Cell, instance: Any, rng: np.random.Generator) -> float:
    """That of the sample mean, of least squares, or of hard thresholding."""
    if cell.kind is SPARSE:
        pursuit = IterativeHardThresholding(s=int(cell.point["s"]))
        return float(instance.loss(pursuit.fit(*instance.sample(cell.n, rng)).coef_))
    if cell.kind is LINEAR:
        return float(instance.loss(LeastSquares().fit(*instance.sample(cell.n, rng)).coef_))
    return float(instance.loss(_average(instance, cell.n, rng)))


def _measured(
    cell: Cell, bound: LowerBound, trials: int, seed: int, alpha: float, of: str
) -> Measurement:
    """The Bayes risk under the prior of a bound: of the estimator, of it with less budget, or of
    its non-private twin."""
    at = {name: cell.point[name] for name in bound.parameters}
    assert bound.prior_at is not None
    prior = bound.prior_at(at, bound.parts(**at))
    own = cell_seed(seed, f"{CLAIM}|{cell.name}|{of}|{bound.name}")
    privacy = weaker(cell.privacy, cell.kind.louder) if of == LOUDER else cell.privacy
    losses = []
    for child in np.random.SeedSequence(own).spawn(trials):
        rng = np.random.default_rng(child)
        instance = prior.draw(rng)
        if of == cell.kind.non_private:
            losses.append(_non_private_loss(cell, instance, rng))
        else:
            losses.append(_loss(cell, privacy, instance, rng))
    return interval(np.array(losses), alpha, own)


def weaker(privacy: SpendablePrivacy, times: float) -> SpendablePrivacy:
    """A budget for so many times the noise."""
    if isinstance(privacy, Pure):
        return Pure(privacy.epsilon / times)
    return Gaussian(float(budget_of(privacy).mu()) / times)


def check(profile: Profile, seed: int, alpha: float, console: Console | None) -> Found:
    """Every cell, and its two controls where they are cheap: the records' mean is all they need."""
    rows, controls = [], []
    for cell in CELLS:
        certified = measured_rows(cell)
        named, *whole = found = _rows(cell, cell.weight * TRIALS[profile.name], seed, alpha)
        rows += found
        cheap = cell.kind is BOUNDED or cell.n * cell.d < 5 * 10**6
        if cell.controlled and cheap:
            fitted = cell.kind in (LINEAR, SPARSE)
            trials = TRIALS[profile.name] * (cell.weight if fitted else 1)
            kept = [(cell.kind.non_private, row, "lower", row.lower) for row in (named, *whole)]
            if named.upper is not None:
                kept.append((LOUDER, named, "upper", named.upper.value))
            for of, row, side, against in kept:
                prior = certified[0 if row in whole else -1].bound
                risk = _measured(cell, prior, trials, seed, alpha, of)
                shown = f"noise x {cell.kind.louder:g}" if of == LOUDER else of
                controls.append(LevelControl(row.claim, shown, cell.point, risk, side, against))  # type: ignore[arg-type]
    return Found(rows, controls=controls)


def _rows(cell: Cell, trials: int, seed: int, alpha: float) -> list[SandwichRow]:
    """The row of the records named and, where more is proved about it, that of the class."""
    certified, proven = measured_rows(cell), _proven(cell)
    estimator = type(cell.kind.estimator_at(cell.privacy, cell.point)).__name__
    risks = [_measured(cell, row.bound, trials, seed, alpha, estimator) for row in certified]
    best, usual = certified[0], certified[-1]
    named = SandwichRow(
        claim=f"{CLAIM}/{cell.name}",
        problem=cell.kind.name,
        regime="privacy",
        point=cell.point,
        estimator=estimator,
        privacy=str(cell.privacy),
        measured=risks[-1],
        lower=usual.value,
        lower_source=f"{usual.bound.source} ({usual.bound.name})",
        upper=None if proven is None else Ceiling(proven.value(), proven.source, proven.remark),
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


def _proven(cell: Cell) -> UpperBound | None:
    """The upper bound on the estimator's risk on records of the kind that the cell names."""
    estimator = cell.kind.estimator_at(cell.privacy, cell.point)
    if isinstance(estimator, SparseResidualClippedRegression):
        return None
    return estimator.risk_bound(cell.kind.problem(cell.point))


SPECIAL = Special(
    CLAIM,
    against="the best certified row of each problem [dim](cells where privacy dominates)[/dim]",
    by="NoisyMean, (Sparse)ResidualClippedRegression",
    intervals=4 * len(CELLS),
    check=check,
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
