"""Verdicts. A check that could not see its own margin is INCONCLUSIVE, never a success."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import stats

from attacks.intervals import student_quantile
from verify.rates.measure import Measurement

MARGIN = 0.1
"""Relative margin of a level check. Tight bounds are equalities, which no interval clears: an
interval that stays within 10 % of the bound on the wrong side counts as consistent."""
SLOPE_TOLERANCE = 0.3
"""How far a fitted exponent may be from the bound's (log factors, finite sizes)."""


class Verdict(StrEnum):
    """The outcome of a check."""

    CONSISTENT = "CONSISTENT"
    VIOLATED = "VIOLATED"
    INCONCLUSIVE = "INCONCLUSIVE"


def judge_level(measured: Measurement, lower: float | None, upper: float | None) -> Verdict:
    """lower <= risk <= upper?

    VIOLATED: the whole interval is on the wrong side of a bound. INCONCLUSIVE: it reaches across a
    bound by more than the margin. CONSISTENT otherwise.
    """
    if lower is not None and measured.ci_high < lower:
        return Verdict.VIOLATED
    if upper is not None and measured.ci_low > upper:
        return Verdict.VIOLATED
    if lower is not None and measured.ci_low < lower * (1 - MARGIN):
        return Verdict.INCONCLUSIVE
    if upper is not None and measured.ci_high > upper * (1 + MARGIN):
        return Verdict.INCONCLUSIVE
    return Verdict.CONSISTENT


def judge_coverage(measured: Measurement, level: float, tolerance: float) -> Verdict:
    """Is coverage within the tolerance of the level?

    VIOLATED: the whole interval is outside. INCONCLUSIVE: it reaches beyond twice the tolerance.
    """
    if abs(min(max(level, measured.ci_low), measured.ci_high) - level) > tolerance:
        return Verdict.VIOLATED
    reach = max(level - measured.ci_low, measured.ci_high - level)
    return Verdict.CONSISTENT if reach <= 2 * tolerance else Verdict.INCONCLUSIVE


@dataclass(frozen=True)
class Slope:
    """A fitted exponent with its interval."""

    fitted: float
    ci_low: float
    ci_high: float
    intercept: float


def fit_slope(x: list[float], measured: list[Measurement], alpha: float) -> Slope:
    """Weighted least squares of log risk on log x; the interval propagates the cells' intervals."""
    log_x = np.log(x)
    log_y = np.log([m.risk for m in measured])
    z_cell = np.array([student_quantile(m.trials, alpha) for m in measured])
    spread = np.array([(m.ci_high - m.ci_low) / 2 / m.risk for m in measured]) / z_cell
    weights = 1 / np.maximum(spread, 1e-3) ** 2  # no cell is known to better than 0.1 %
    centre = float(np.average(log_x, weights=weights))
    denominator = float(np.sum(weights * (log_x - centre) ** 2))
    fitted = float(np.sum(weights * (log_x - centre) * log_y)) / denominator
    half = float(stats.norm.isf(alpha / 2)) / math.sqrt(denominator)
    intercept = float(np.average(log_y, weights=weights)) - fitted * centre
    return Slope(fitted, fitted - half, fitted + half, intercept)


def judge_slope(slope: Slope, expected: float) -> Verdict:
    """Is the exponent within the tolerance of the expected one?

    VIOLATED: the whole interval is outside. INCONCLUSIVE: the interval reaches outside.
    """
    low, high = expected - SLOPE_TOLERANCE, expected + SLOPE_TOLERANCE
    if slope.ci_low > high or slope.ci_high < low:
        return Verdict.VIOLATED
    if slope.ci_low < low or slope.ci_high > high:
        return Verdict.INCONCLUSIVE
    return Verdict.CONSISTENT
