"""The methods of WG19 §6, as its figure and its tables fit them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from estimators import (
    IterativeHardThresholding,
    NoisyHardThresholding,
    PrivateFrankWolfe,
    SparseResidualClippedRegression,
    TwoStageRegression,
)
from estimators.core.spending import GivenPrivacy
from verify.figures.panel import (
    Fit,
    Grid,
    Method,
    Point,
    Variant,
    budget,
    released,
    seed_of,
    zero,
)
from verify.figures.readings import Ahead, Below, Close, Reading, SentenceTest, Verdict

Array = NDArray[np.float64]
Rng = np.random.Generator
LossName = Literal["squared", "logistic"]
DELTA = 0.01
EPSILONS = (2.0, 4.0, 6.0, 8.0, 10.0)
QUICK_EPSILONS, ENDS = (2.0, 6.0, 10.0), (2.0, 10.0)
BUDGETS = {"budget": "ε = 2, 4, …, 10 with δ = .01", "trials": "10"}

IGHT = "IGHT"
DP_IGHT, PRINTED_IGHT = "DP-IGHT", "DP-IGHT, printed noise"
WOLFE, PRINTED_WOLFE = "Frank-Wolfe", "Frank-Wolfe, printed noise"
CLIPPED_WOLFE = "Frank-Wolfe, entries clipped"
TWO_STAGE = "two-stage"
PLANNED = "residuals clipped"
DENSE = "noisy gradients, no threshold"
CHOICES = {
    "options": "chosen for every method from equally many, by its error on draws of their own",
    "Frank-Wolfe": "exact: Gumbel noise; printed: Laplace noise; both need |x_ij| to be bounded",
}


class Records(Protocol):
    """What a method is fitted to."""

    @property
    def X(self) -> Any:
        """Rows, which may be sparse."""

    @property
    def y(self) -> Array:
        """Responses."""


class Simulated(NamedTuple):
    """Records and the theta* that made them."""

    X: Array
    y: Array
    theta: Array


class Split(NamedTuple):
    """Rows to fit to, and rows to be judged by."""

    X: Any
    y: Array
    X_test: Any
    y_test: Array


def relative_error(estimate: Array, sample: Simulated) -> float:
    """|estimate - theta*|/|theta*|."""
    return float(np.linalg.norm(estimate - sample.theta) / np.linalg.norm(sample.theta))


def half_mse(estimate: Array, sample: Split) -> float:
    """|X theta - y|^2/(2 n) over the test rows, as WG19 §6.2 has it."""
    return float(np.mean((sample.X_test @ estimate - sample.y_test) ** 2) / 2)


def misclassified(estimate: Array, sample: Split) -> float:
    """The share of test rows on the wrong side of <x, theta> = 0; 0 itself is the first class."""
    return float(np.mean((sample.X_test @ estimate > 0) != (sample.y_test > 0)))


def number_of_features(point: Point) -> int:
    """d."""
    return int(point["d"])


# --- fits -----------------------------------------------------------------------------------------


def thresholding(
    sample: Records, point: Point, rng: Rng, *, loss: LossName, s: int, steps: int
) -> Fit:
    """IGHT, not private."""
    made = IterativeHardThresholding(s=s, loss=loss, method="gradient", refit=False, steps=steps)
    return released(made.fit(sample.X, sample.y), point)


def noisy_descent(
    privacy: GivenPrivacy,
    rng: Rng,
    *,
    loss: LossName,
    clip: float,
    s: int,
    steps: int,
    path: float,
    calibration: Literal["analytic", "paper"] = "analytic",
) -> NoisyHardThresholding:
    """DP-IGHT, to be fitted. `path` is the sum of its step sizes; below the usual norm of a
    gradient only clip times step size matters, so that clip is not chosen but path."""
    return NoisyHardThresholding(
        privacy,
        s=s,
        loss=loss,
        clip=clip,
        steps=steps,
        step_size=path / steps,
        calibration=calibration,
        random_state=seed_of(rng),
    )


def noisy_thresholding(sample: Records, point: Point, rng: Rng, **options: Any) -> Fit:
    """DP-IGHT."""
    made = noisy_descent(budget(point), rng, **options)
    return released(made.fit(sample.X, sample.y), point)


def dense_descent(sample: Records, point: Point, rng: Rng, **options: Any) -> Fit:
    """The same steps, of which nothing is set to 0.

    A step's noise moves a prediction <x, theta> by |x| times the deviation of one coordinate,
    whatever the number of features. So where predictions count and rows are short, as unit rows
    are, a threshold has little noise to remove; what it removes besides is signal.
    """
    return noisy_thresholding(sample, point, rng, s=sample.X.shape[1], **options)


def frank_wolfe(
    sample: Records,
    point: Point,
    rng: Rng,
    *,
    loss: LossName,
    R: float,
    entry_bound: float,
    l1_radius: float,
    steps: int,
    printed: bool = False,
) -> Fit:
    """Talwar et al. 2015: exact with Gumbel noise, or with the Laplace noise they print."""
    made = PrivateFrankWolfe(
        budget(point),
        loss=loss,
        l1_radius=l1_radius,
        entry_bound=entry_bound,
        R=R,
        steps=steps,
        selection="laplace" if printed else "exponential",
        calibration="paper" if printed else "zcdp",
        random_state=seed_of(rng),
    )
    return released(made.fit(sample.X, sample.y), point)


def two_stage(sample: Records, point: Point, rng: Rng, **options: Any) -> Fit:
    """Kifer et al. 2012, with constants for replacement of a record."""
    made = TwoStageRegression(budget(point), random_state=seed_of(rng), **options)
    return released(made.fit(sample.X, sample.y), point)


def planned(sample: Records, point: Point, rng: Rng, **options: Any) -> Fit:
    """The toolkit's own, for the squared loss."""
    made = SparseResidualClippedRegression(budget(point), random_state=seed_of(rng), **options)
    return released(made.fit(sample.X, sample.y), point)


# --- a panel's methods ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Contest:
    """What the methods of a panel are told, and their options to choose from.

    Every grid has the same number of options. They were placed by wider sweeps on other draws, so
    that the best found lie within where that is possible: one step is an end.
    """

    loss: LossName
    s: int
    """Non-zeros of IGHT."""
    R: float
    """Bound on the responses; squared loss only."""
    entry_bound: float
    """Beyond which no entry of the design lies, or hardly one."""
    l1_radius: float
    """Of Frank-Wolfe with clipped entries."""
    descent: Mapping[str, Any]
    """Of DP-IGHT, not chosen: a clip below the usual norm of a gradient, and the length of all
    steps together, or their number, or s."""
    two_stage: Mapping[str, Any]
    """Of two-stage, not chosen."""
    descents: Grid
    vertices: Grid
    clipped: Grid
    stages: Grid
    planned: Mapping[str, Any] = field(default_factory=dict)
    """Of the toolkit's own for the squared loss, which has no choice."""
    denses: Grid | None = None
    """Of steps without a threshold: what a reader should use for predictions."""
    clipped_is_best: bool = False
    """Whether Frank-Wolfe with clipped entries is what a reader should use."""

    def methods(self) -> tuple[Method, ...]:
        """All curves but those by cross-validation."""
        loss, R = self.loss, self.R
        descent = partial(noisy_thresholding, loss=loss, **self.descent)
        wolfe = partial(frank_wolfe, loss=loss, R=R, entry_bound=self.entry_bound)
        clipped = partial(frank_wolfe, loss=loss, R=R, l1_radius=self.l1_radius)
        stages = partial(two_stage, loss=loss, R=R, **self.two_stage)
        found = (
            Method(IGHT, "not private", partial(thresholding, loss=loss, s=self.s, steps=50)),
            Method(PRINTED_WOLFE, "printed", partial(wolfe, printed=True), self.vertices),
            Method(WOLFE, "private", wolfe, self.vertices),
            Method(
                CLIPPED_WOLFE, "best" if self.clipped_is_best else "peer", clipped, self.clipped
            ),
            Method(TWO_STAGE, "peer", stages, self.stages),
            Method(PRINTED_IGHT, "printed", partial(descent, calibration="paper"), self.descents),
            Method(DP_IGHT, "private", descent, self.descents),
        )
        return (*found, *self._own(), zero(number_of_features))

    def _own(self) -> Iterator[Method]:
        """The toolkit's."""
        if self.planned:
            variant: Variant = "peer" if self.denses else "best"
            yield Method(PLANNED, variant, partial(planned, **self.planned))
        if self.denses:
            dense = partial(dense_descent, loss=self.loss, clip=self.descent["clip"])
            yield Method(DENSE, "best", dense, self.denses)


# --- readings -------------------------------------------------------------------------------------

Found = Mapping[tuple[float, ...], tuple[Verdict, str]]
"""Budgets that stand alike (none: all), the verdict there and why."""


def ahead_at(first: str, second: str, found: Found) -> tuple[Reading, ...]:
    """One method ahead of another, for each group of budgets."""
    return _readings(f"{first} ahead of {second}", partial(Ahead, first, second), found)


def close_at(first: str, second: str, factor: float, found: Found) -> tuple[Reading, ...]:
    """Less than so many times the error of another."""
    about = f"{first} below {factor:g} times {second}"
    return _readings(about, partial(Close, first, second, factor), found)


def below_at(curve: str, bound: float, found: Found) -> tuple[Reading, ...]:
    """An error below a number."""
    return _readings(f"{curve} below {bound:g}", partial(Below, curve, bound), found)


def _readings(
    about: str, test: Callable[[tuple[float, ...] | None], SentenceTest], found: Found
) -> tuple[Reading, ...]:
    return tuple(
        Reading(f"{about}, {_told(budgets)}", test(budgets or None), verdict, why)
        for budgets, (verdict, why) in found.items()
    )


def _told(budgets: tuple[float, ...]) -> str:
    return f"ε = {', '.join(f'{epsilon:g}' for epsilon in budgets)}" if budgets else "every ε"
