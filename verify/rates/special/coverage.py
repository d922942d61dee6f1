"""Whether confidence intervals hold what they promise: coverage, with exact intervals.

In each cell an estimator is fitted many times to fresh records of fresh parameters. Of each fit one
coordinate, drawn at random, counts, so that trials are independent and the number of intervals that
hold the parameter is binomial: its interval is Clopper and Pearson's. Coverage may be off by the
tolerance: it is violated if its whole interval is farther off, and consistent if no part of that is
farther off than twice as much. What is neither after the last look fails the run. Control: with the
privacy noise left out of their law the intervals must cover less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimators.baselines.regression import AdaptiveSufficientStatistics
from estimators.core.intervals import (
    ErrorLaw,
    KnownVariance,
    MixedVariance,
    NoLaw,
    NormalNoise,
    Sampling,
)
from estimators.mean import NoisyMean
from estimators.regression import NoisyGradientRegression
from estimators.residual_clipped import ResidualClippedRegression
from minimax.core.bound import Point
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Pure,
    SpendablePrivacy,
    ZeroConcentrated,
)
from minimax.methods.priors import random_signs
from verify.files import JSON
from verify.plotting import new_figure
from verify.rates.grid import Profile
from verify.rates.judge import Reason, Verdict, coverage_reason
from verify.rates.measure import Measurement
from verify.rates.results import Key
from verify.rates.rows import LevelControl
from verify.rates.sequential import Check, Seen
from verify.rates.special import Measured
from verify.seeds import cell_seed, streams

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Rng = np.random.Generator
CLAIM = "coverage"
TOLERANCE = {0.9: 0.03, 0.99: 0.01}
"""How far from a level coverage may be; its interval may reach twice as far."""
TRIALS = {"quick": 3_000, "standard": 12_000, "full": 48_000}
LEFT_OUT = "privacy noise left out"


class Drawn(NamedTuple):
    """Records and the parameter behind them."""

    data: tuple[Array, ...]
    target: Array


def gaussian_records(n: int, d: int, rng: Rng) -> Drawn:
    """N(mean, I) about a mean drawn from [-1, 1]^d."""
    mean = rng.uniform(-1, 1, d)
    return Drawn((mean + rng.standard_normal((n, d)),), mean)


def signs(n: int, d: int, rng: Rng) -> Drawn:
    """Signs about a mean drawn from [-0.9, 0.9]^d: the largest variance that a bound allows."""
    mean = rng.uniform(-0.9, 0.9, d)
    return Drawn((np.where(rng.random((n, d)) < (1 + mean) / 2, 1.0, -1.0),), mean)


NOISE = 0.3
"""Deviation of the responses' noise."""
SHORT = 0.5
"""Length of the shorter rows."""


def responses(n: int, d: int, rng: Rng, lengths: Array | float = 1.0) -> Drawn:
    """Rows of signs, of length 1 if no others are given, and coefficients of length 0.7 in a
    direction drawn at random."""
    direction = rng.standard_normal(d)
    coef = 0.7 * direction / np.linalg.norm(direction)
    X = lengths * random_signs(n, d, 1 / math.sqrt(d), rng)
    return Drawn((X, X @ coef + NOISE * rng.standard_normal(n)), coef)


def two_lengths(n: int, d: int, rng: Rng) -> Drawn:
    """The same, half of the rows shortened to SHORT."""
    lengths = np.where(rng.random(n) < 0.5, 1.0, SHORT)
    return responses(n, d, rng, lengths[:, None])


@dataclass(frozen=True)
class Cell:
    """An estimator on records of a kind, at a size and a budget."""

    name: str
    draw: Callable[[int, int, Rng], Drawn]
    estimator: Callable[..., Any]
    options: dict[str, Any]
    privacy: SpendablePrivacy
    n: int
    d: int
    weight: int = 1
    """So many times the fits, where a bias that is only bounded leaves less room to see."""

    @property
    def claim(self) -> str:
        return f"{CLAIM}/{self.name}, {type(self.privacy).name}"

    @property
    def point(self) -> Point:
        return {"n": self.n, "d": self.d, **self.privacy.parameters}


KNOWN = {"sigma": 1.0, "radius": 1.0}
RESPONSES = {"sigma": NOISE, "row_bound": 1.0, "radius": 2.0}
ISOTROPIC = {**RESPONSES, "second_moment": "isotropic"}
TOLD = {**RESPONSES, "L": 1.0}
"""For gradient steps: L = 1 says that rows are isotropic."""
UNEQUAL = {**RESPONSES, "second_moment": (1 + SHORT**2) / 4 * np.eye(2)}
UNTOLD = {"row_bound": 1.0, "radius": 2.0}
"""Sigma is found, the second moment released."""
STATISTICS = {"sigma": NOISE, "row_bound": 1.0, "R": 2.0}
GRADIENT, RESIDUALS = NoisyGradientRegression, ResidualClippedRegression
# Budgets so small that noise is a large part of the error, and large enough that what intervals
# add for a bias that is only bounded (of clipping, for pure budgets) is a small part of it.
CELLS = (
    Cell("Gaussian mean", gaussian_records, NoisyMean, KNOWN, ZeroConcentrated(0.1), 300, 3),
    Cell("Gaussian mean", gaussian_records, NoisyMean, KNOWN, Approximate(2.0, 1e-6), 300, 3),
    Cell("Gaussian mean", gaussian_records, NoisyMean, KNOWN, Pure(1.5), 300, 3, weight=2),
    Cell("bounded mean", signs, NoisyMean, {"R": 1.0}, ZeroConcentrated(0.01), 300, 3),
    Cell("bounded mean", signs, NoisyMean, {"R": 1.0}, Pure(0.2), 300, 1),
    Cell("gradient steps", responses, GRADIENT, TOLD, Gaussian(1.0), 300, 3),
    Cell("clipped residuals", responses, RESIDUALS, ISOTROPIC, ZeroConcentrated(0.002), 1000, 3),
    Cell("clipped residuals", responses, RESIDUALS, ISOTROPIC, Approximate(0.3, 1e-6), 1000, 3),
    Cell("two lengths of rows", two_lengths, RESIDUALS, UNEQUAL, ZeroConcentrated(0.002), 2000, 2),
    Cell("two lengths, untold", two_lengths, RESIDUALS, UNTOLD, ZeroConcentrated(0.005), 4000, 2),
    Cell("one column, untold", responses, RESIDUALS, UNTOLD, ZeroConcentrated(0.003), 4000, 1),
    Cell(
        "AdaSSP",
        responses,
        AdaptiveSufficientStatistics,
        STATISTICS,
        Approximate(2.0, 1e-6),
        300,
        3,
    ),
)


@dataclass(frozen=True)
class CoverageRow:
    """How often intervals of a level held the parameter."""

    claim: str
    point: Point
    estimator: str
    privacy: str
    level: float
    tolerance: float
    measured: Measurement

    @property
    def verdict(self) -> Verdict:
        """Whether coverage is within the tolerance of the level."""
        return self.reason.verdict

    @property
    def reason(self) -> Reason:
        """What happened, in words."""
        return coverage_reason(self.measured, self.level, self.tolerance)

    @property
    def is_clear(self) -> bool:
        """Whether the whole interval is within the tolerance of the level."""
        reach = max(self.level - self.measured.ci_low, self.measured.ci_high - self.level)
        return reach <= self.tolerance

    def as_json(self) -> JSON:
        """The row as the JSON file has it."""
        found = self.measured
        return {
            "claim": self.claim,
            "point": dict(self.point),
            "estimator": self.estimator,
            "privacy": self.privacy,
            "level": self.level,
            "tolerance": self.tolerance,
            "trials": found.trials,
            "seed": found.seed,
            "coverage": found.risk,
            "ci_low": found.ci_low,
            "ci_high": found.ci_high,
            "verdict": self.verdict.value,
            "reason": self.reason.value,
        }


# --- Measuring -----------------------------------------------------------------------------------


class Trials(NamedTuple):
    """One coordinate of every fit: estimate, parameter, and the law of their difference."""

    estimates: Array
    targets: Array
    laws: list[ErrorLaw | NoLaw]
    """One for each fit, or one that stands for all."""

    def held(self, level: float, *, noise: bool) -> NDArray[np.bool_]:
        """Which intervals hold the parameter, made with or without the noise in their law.

        A fit that has no interval holds nothing.
        """
        out = np.zeros(len(self.targets), dtype=bool)
        for law, where in self._joined():
            used = law if noise else replace(law, noise=NormalNoise(0.0))
            low, high = used.interval(self.estimates[where], level)
            out[where] = (low <= self.targets[where]) & (self.targets[where] <= high)
        return out

    def _joined(self) -> list[tuple[ErrorLaw, NDArray[np.intp]]]:
        """Laws, each with the fits that it is about: many fits have one, so that their intervals
        are found in one go."""
        everything = np.arange(len(self.targets))
        if len(self.laws) == 1:
            return [(law, everything) for law in self.laws if isinstance(law, ErrorLaw)]
        there = [(law, k) for k, law in enumerate(self.laws) if isinstance(law, ErrorLaw)]
        if not there:
            return []
        return [(joined([law for law, _ in there]), np.array([k for _, k in there]))]


def joined(laws: Sequence[ErrorLaw]) -> ErrorLaw:
    """The law of as many coordinates as there are laws of single ones, if their noise is normal and
    nothing is known of a bias: only its deviation times the factor then counts."""
    first = laws[0]
    alike = {(type(law.sampling), type(law.noise), law.bias, law.shrinkage) for law in laws}
    if alike != {(type(first.sampling), NormalNoise, 0.0, first.shrinkage)}:
        raise TypeError(f"laws that cannot be joined: {alike}")
    values = np.array([law.sampling.values for law in laws])  # type: ignore[attr-defined]
    factors = np.array([float(law.factors) * law.noise.deviation for law in laws])
    origin = np.array([float(law.origin) for law in laws])
    sampling: Sampling = KnownVariance(values)
    if isinstance(first.sampling, MixedVariance):
        sampling = MixedVariance(values.T, first.sampling.weights)
    return ErrorLaw(sampling, NormalNoise(1.0), factors, 0.0, first.shrinkage, origin)


def fitted_trials(cell: Cell, first: int, last: int, seed: int) -> Trials:
    """Fits to fresh records, each with a stream of its own.

    Where `error_law_` is no release it is a function of public numbers, the same for every fit:
    one stands for all.
    """
    estimates, targets = np.empty(last - first), np.empty(last - first)
    laws: list[ErrorLaw | NoLaw] = []
    for t, rng in enumerate(streams(seed, first, last)):
        drawn = cell.draw(cell.n, cell.d, rng)
        fit = cell.estimator(cell.privacy, random_state=rng, **cell.options).fit(*drawn.data)
        j = int(rng.integers(cell.d))
        estimates[t], targets[t] = getattr(fit, fit.estimated)[j], drawn.target[j]
        if not laws or "error_law_" in fit.releases:
            laws.append(fit.error_law_.coordinate(j))
    return Trials(estimates, targets, laws)


INTERVALS = [(level, noise) for level in TOLERANCE for noise in (True, False)]
"""What is seen of every fit: its interval of each level, and that of the control."""


@dataclass(frozen=True)
class CoverageTask:
    """Whether the intervals of a cell hold the parameter, fit by fit."""

    place: int
    trials: int

    @property
    def cell(self) -> Cell:
        return CELLS[self.place]

    @property
    def label(self) -> str:
        return self.cell.claim

    @property
    def size(self) -> float:
        """Numbers that a fit draws."""
        return self.cell.n * self.cell.d

    def key(self, written: bool) -> Key:
        """The cells are data of the packages."""
        return {"task": self.label}

    def values(self, seed: int, first: int, last: int) -> Array:
        """A row for each fit: does each of its intervals hold the parameter?"""
        found = fitted_trials(self.cell, first, last, cell_seed(seed, self.label))
        columns = [found.held(level, noise=noise) for level, noise in INTERVALS]
        return np.column_stack(columns).astype(float)


class CoverageStudy:
    """Every cell at every level, with its control."""

    def __init__(self, profile: Profile) -> None:
        usual = TRIALS[profile.name]
        self.tasks = [CoverageTask(k, cell.weight * usual) for k, cell in enumerate(CELLS)]

    def checks(self, seen: Seen) -> list[Check]:
        """How often the intervals held the parameter so far."""
        return [
            Check(self._found(task, level, noise, seen.share(task.label, k)), (task.label,))
            for task in self.tasks
            for k, (level, noise) in enumerate(INTERVALS)
        ]

    def _found(
        self, task: CoverageTask, level: float, noise: bool, held: Measurement
    ) -> CoverageRow | LevelControl:
        cell, tolerance = task.cell, TOLERANCE[level]
        if noise:
            name, privacy = cell.estimator.__name__, str(cell.privacy)
            return CoverageRow(cell.claim, cell.point, name, privacy, level, tolerance, held)
        kind = f"{level:.0%} interval, {LEFT_OUT}"
        return LevelControl(cell.claim, kind, cell.point, held, "lower", level - tolerance)


SPECIAL = Measured(
    CLAIM,
    against="the level of confidence intervals [dim](90 % and 99 %)[/dim]",
    by="NoisyMean, regressions",
    intervals=2 * len(CELLS) * len(TOLERANCE),
    study=CoverageStudy,
)


# --- The figure ----------------------------------------------------------------------------------

APART = 0.14
"""How far above a line what is measured is drawn, and its control below."""


def coverage_figure(rows: Sequence[CoverageRow], controls: Sequence[LevelControl]) -> Figure | None:
    """Measured coverage by cell, a panel for each level, with the controls beside it."""
    if not rows:
        return None
    names = list(dict.fromkeys(f"{_short(row)}\n{row.privacy}" for row in rows))
    figure = new_figure(9.6, 2.0 + 0.45 * len(names))
    axes = figure.subplots(1, len(TOLERANCE), sharey=True)
    for axis, level in zip(axes, TOLERANCE, strict=True):
        _panel(axis, level, [row for row in rows if row.level == level], controls)
    axes[0].set_yticks(range(len(names)), names, fontsize=8)
    axes[0].invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    figure.suptitle(
        "Coverage of confidence intervals: sampling error and privacy noise\n"
        f"{min(row.measured.trials for row in rows):,} fits a row or more, one coordinate of each;"
        " intervals are exact"
        " (Clopper and Pearson)",
        fontsize=10,
    )
    return figure


def _short(row: CoverageRow) -> str:
    """The kind of cell, and its size."""
    kind = row.claim.partition("/")[2].rpartition(",")[0]
    return f"{kind}, n = {row.point['n']:,}, d = {row.point['d']}"


def _panel(
    axis: Axes, level: float, rows: Sequence[CoverageRow], controls: Sequence[LevelControl]
) -> None:
    tolerance = TOLERANCE[level]
    axis.axvspan(
        level - tolerance, level + tolerance, color="0.9", label="level and tolerance", zorder=0
    )
    axis.axvline(level, color="black", lw=0.8)
    bare = {c.claim: c.measured for c in controls if c.kind.startswith(f"{level:.0%} ")}
    found = [row.measured for row in rows]
    left_out = [bare[row.claim] for row in rows if row.claim in bare]
    _draw(axis, found, -APART, label="measured, with exact interval", color="tab:blue")
    _draw(axis, left_out, APART, label=f"control: {LEFT_OUT}", color="tab:red", mfc="white")
    axis.set_xlabel(f"coverage of {level:.0%} intervals")
    axis.set_xlim(right=1.005)
    axis.grid(alpha=0.3, axis="x")


def _draw(axis: Axes, found: Sequence[Measurement], below: float, **style: Any) -> None:
    shares = np.array([m.risk for m in found])
    ends = np.abs(np.array([(m.ci_low, m.ci_high) for m in found]).T - shares)
    axis.errorbar(shares, np.arange(len(found)) + below, xerr=ends, fmt="o", capsize=2, **style)
