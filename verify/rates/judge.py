"""Verdicts. A check that could not see its own margin is INCONCLUSIVE, never a success."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attacks.intervals import student_quantile
from verify.rates.measure import Measurement

MARGIN = 0.1
"""Relative margin of a level check. Tight bounds are equalities, which no interval clears: an
interval that stays within 10 % of the bound on the wrong side counts as consistent."""
SLOPE_TOLERANCE = 0.3
"""How far a fitted exponent may be from the bound's (log factors, finite sizes)."""
TRUSTED = 0.9
"""How much of the measured covariance of two risks counts: a tenth of the variance of independent
ones stays whatever the correlation, for what so few trials may not have shown."""

NO_LOGARITHM = 50.0
"""So far may the logarithm of a risk be off whose interval reaches down to 0: as good as knowing
nothing of it."""
ROOM = 10.0
"""How far the risk of releasing 0 under a prior must be above the lower bound for a comparison
there to say something: see `judge_against_zero`."""

AgainstZero = Literal["better", "worse", "worse under the prior", "not separated"]


class Verdict(StrEnum):
    """The outcome of a check."""

    CONSISTENT = "CONSISTENT"
    VIOLATED = "VIOLATED"
    INCONCLUSIVE = "INCONCLUSIVE"


class Reason(StrEnum):
    """What happened, in words; each belongs to one verdict."""

    BOUNDED = "within the bounds"
    LOWER_BROKEN = "broken lower bound"
    UPPER_BROKEN = "broken upper bound"
    BELOW_UNSURE = "interval too wide at the lower bound"
    ABOVE_UNSURE = "interval too wide at the upper bound"
    EXPONENT = "exponent matched"
    NO_EXPONENT = "exponent not matched"
    EXPONENT_UNSURE = "interval too wide for the exponent"
    COVERED = "level matched"
    TOO_LITTLE = "covers too little"
    TOO_MUCH = "covers too much"
    COVERAGE_UNSURE = "interval too wide for the level"

    @property
    def verdict(self) -> Verdict:
        """The verdict that it is a reason of."""
        if self in (Reason.BOUNDED, Reason.EXPONENT, Reason.COVERED):
            return Verdict.CONSISTENT
        return Verdict.INCONCLUSIVE if self.startswith("interval") else Verdict.VIOLATED


def level_reason(measured: Measurement, lower: float | None, upper: float | None) -> Reason:
    """lower <= risk <= upper?

    Broken: the whole interval is on the wrong side of a bound. Too wide: it reaches across a bound
    by more than the margin.
    """
    if lower is not None and measured.ci_high < lower:
        return Reason.LOWER_BROKEN
    if upper is not None and measured.ci_low > upper:
        return Reason.UPPER_BROKEN
    if lower is not None and not measured.ci_low >= lower * (1 - MARGIN):
        return Reason.BELOW_UNSURE
    if upper is not None and not measured.ci_high <= upper * (1 + MARGIN):
        return Reason.ABOVE_UNSURE
    return Reason.BOUNDED  # and nothing that is not a number is


def noticed_from(measured: Measurement, lower: float) -> float | None:
    """By how much the lower bound would have to be inflated for the cell to notice: from there on
    the whole interval is below it."""
    return measured.ci_high / lower if lower > 0 else None


def coverage_reason(measured: Measurement, level: float, tolerance: float) -> Reason:
    """Is coverage within the tolerance of the level?

    Too little, too much: the whole interval is outside. Too wide: it reaches beyond twice the
    tolerance.
    """
    if measured.ci_high < level - tolerance:
        return Reason.TOO_LITTLE
    if measured.ci_low > level + tolerance:
        return Reason.TOO_MUCH
    reach = max(level - measured.ci_low, measured.ci_high - level)
    return Reason.COVERED if reach <= 2 * tolerance else Reason.COVERAGE_UNSURE


@dataclass(frozen=True)
class ZeroRelease:
    """What releasing 0 risks, whatever the data, at a cell."""

    largest: float | None
    """Over the class; None where the problem is a name alone."""
    under_prior: Measurement
    """For what the prior of the lower bound's proof draws, in the trials of the cell."""
    prior_decides: bool = True
    """Whether doing worse under that prior alone is a failure, or only told."""


def judge_against_zero(measured: Measurement, lower: float, zero: ZeroRelease) -> AgainstZero:
    """Is the risk below or above that of releasing 0?

    An estimator is made for a class, and so is held against the largest risk of releasing 0 there;
    its risk under a prior is at most its own largest. Where the prior is spread over the class it
    is held against releasing 0 under that prior as well. A packing instead draws what nobody can
    tell from 0: its lower bound is a constant times the risk of releasing 0 under its prior, and an
    estimator that does not know the prior exceeds both. So the prior counts only if releasing 0
    there risks at least `ROOM` times the lower bound. That tells a packing from a prior that is
    spread only if the bound is as good as its proof can make it: a valid bound of a tenth of that
    would make an estimator fail that passes under a better one. So where the bound may be loose
    (claims of one's own, unless they say otherwise) the prior does not decide.

    "worse": the whole interval is above one of the two; "worse under the prior": above the second
    alone, which does not decide. "better": it is below what counts.
    """
    held_against = _held_against(lower, zero)
    if any(measured.ci_low > high for _, high in _deciding(lower, zero)):
        return "worse"
    if any(measured.ci_low > high for _, high in held_against):
        return "worse under the prior"
    below = all(measured.ci_high < low for low, _ in held_against)
    return "better" if held_against and below else "not separated"


def may_be_worse(measured: Measurement, lower: float, zero: ZeroRelease) -> bool:
    """Whether the risk is measured above that of releasing 0, and not yet for sure."""
    above = any(measured.risk > high for _, high in _deciding(lower, zero))
    return above and judge_against_zero(measured, lower, zero) != "worse"


def _held_against(lower: float, zero: ZeroRelease) -> list[tuple[float, float]]:
    """The intervals of the risks of releasing 0 that count."""
    prior = zero.under_prior
    held_against = []
    if zero.largest is not None:
        held_against.append((zero.largest, zero.largest))
    if prior.ci_low >= ROOM * lower:
        held_against.append((prior.ci_low, prior.ci_high))
    return held_against


def _deciding(lower: float, zero: ZeroRelease) -> list[tuple[float, float]]:
    """Those of which one that is exceeded is a failure."""
    if zero.prior_decides:
        return _held_against(lower, zero)
    return [] if zero.largest is None else [(zero.largest, zero.largest)]


@dataclass(frozen=True)
class Slope:
    """A fitted exponent with its interval."""

    fitted: float
    ci_low: float
    ci_high: float
    intercept: float

    @property
    def half_width(self) -> float:
        """Half the length of the interval, whose ends need not be equally far."""
        return (self.ci_high - self.ci_low) / 2

    def moved_to(self, exponent: float) -> Slope:
        """What would have been fitted to a risk with this exponent, measured as precisely."""
        by = exponent - self.fitted
        return Slope(exponent, self.ci_low + by, self.ci_high + by, self.intercept)


def fit_slope(
    x: list[float],
    measured: list[Measurement],
    alpha: float,
    states: int = 1,
    correlations: NDArray[np.float64] | None = None,
) -> Slope:
    """Least squares of log risk on log x; the interval propagates the cells' intervals.

    All cells weigh the same, however well they are known: where the risk is no power of x, weights
    by precision would let the numbers of trials decide which exponent is meant. Cells have the
    level 1 - alpha. Where each cell may have been measured to one of several numbers of trials,
    `states` is how many combinations of them there are for each of its own: the level is that of
    all of them together. The fitted exponent is the sum of c_k log risk_k, and has the variance
    c' V c: with `correlations` of the measured risks, whose trials may share their draws, V has a
    part `TRUSTED` of the covariances that these give. (Where numbers of trials differ they may not
    fit together: a variance that came out negative counts as none.) Logarithms reach farther down
    than up, and the more so the farther. Independent risks may lead to either end of the exponent's
    interval by different ends of the cells', and risks that are off together by the same: both
    ends are as far as the farthest that these come to, at the exponent's own level. It is nominal,
    as that of Student's intervals is. Of a risk of 0 there is no exponent.
    """
    if any(m.risk <= 0 for m in measured):
        return Slope(math.nan, -math.inf, math.inf, math.nan)
    log_x = np.log(x)
    log_y = np.log([m.risk for m in measured])
    shares = _leverage(log_x)
    fitted = float(shares @ log_y)

    def length(reach: NDArray[np.float64]) -> float:
        scaled = shares * reach
        alone = float(scaled @ scaled)
        if correlations is None:
            return math.sqrt(alone)
        together = max(float(scaled @ correlations @ scaled), 0.0)
        return math.sqrt((1 - TRUSTED) * alone + TRUSTED * together)

    below, above = _log_reach(measured, shares, alpha, states)
    apart = np.where(shares > 0, below, above), np.where(shares > 0, above, below)
    half = max(map(length, (below, above, *apart)))
    intercept = float(log_y.mean()) - fitted * float(log_x.mean())
    return Slope(fitted, fitted - half, fitted + half, intercept)


def slope_shares(
    x: list[float], measured: list[Measurement], alpha: float, states: int = 1
) -> NDArray[np.float64]:
    """Each cell's share in the variance of a fitted exponent, as if risks were independent."""
    leverage = _leverage(np.log(x))
    parts = (leverage * _log_reach(measured, leverage, alpha, states).below) ** 2
    return np.asarray(parts / np.sum(parts))


def _leverage(log_x: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the logarithm of each risk counts in the exponent."""
    centred = log_x - log_x.mean()
    return np.asarray(centred / (centred @ centred))


class Reach(NamedTuple):
    """How far the logarithms of risks may be below and above the measured ones."""

    below: NDArray[np.float64]
    above: NDArray[np.float64]


def _log_reach(
    measured: list[Measurement], leverage: NDArray[np.float64], alpha: float, states: int
) -> Reach:
    """By intervals of the level 1 - alpha/states, where those of the cells have 1 - alpha, with the
    degrees of freedom of the cell with the fewest trials of those that count. No deviation is taken
    to be less than 0.1 %."""
    counts = np.abs(leverage) > 1e-9
    fewest = min(m.trials for m, counted in zip(measured, counts, strict=True) if counted)
    quantile = student_quantile(fewest, alpha / states)
    z_cell = np.array([student_quantile(m.trials, alpha) for m in measured])
    off = [(m.ci_high - m.risk) / m.risk if m.risk > 0 else math.inf for m in measured]
    far = quantile / z_cell * np.array(off)
    below = np.full(len(far), NO_LOGARITHM)
    below[far < 1] = -np.log1p(-far[far < 1])
    return Reach(*np.clip((below, np.log1p(far)), 1e-3 * quantile, NO_LOGARITHM))


def slope_reason(slope: Slope, expected: float) -> Reason:
    """Is the exponent within the tolerance of the expected one?

    Not matched: the whole interval is outside. Too wide: the interval reaches outside.
    """
    low, high = expected - SLOPE_TOLERANCE, expected + SLOPE_TOLERANCE
    if slope.ci_low > high or slope.ci_high < low:
        return Reason.NO_EXPONENT
    is_within = low <= slope.ci_low <= slope.ci_high <= high
    return Reason.EXPONENT if is_within else Reason.EXPONENT_UNSURE
