r"""What is known of the error of a regression on a table, and a guard against noise.

**What is covered.** Least squares on the whole table, or in the population, as the numbers are: not
clamped, not clipped. The error has four parts, each a covariance of the coefficients.

*Noise* follows exactly from the steps, which are linear, but for the noise in the second moment,
which enters to first order by what a ridge leaves.

*Sampling.* H (sum r^2 uu') H', H being the last step's matrix: the sandwich, whatever the spread of
the residuals. The middle is released with noise too; where that would drown it, residuals of one
spread are assumed, half as large again.

*Ridges* leave the part `left` of the coefficients where no step has moved it: L b for the true b,
of which no more is known than its size. Its covariance is taken as `UNMOVED` |b|^2 LL'.

*Clamps and clips.* Rows that are shortened, a part q of all, count with a part of their weight, and
large residuals with a part of theirs: where the model is not linear, this moves coefficients. A row
that is shortened to R loses about as much as R (tails of real tables), and its residual is about
s, s^2 being the mean square of clipped residuals: the sum of rows times residuals is off by about
n q R s. Where s is larger than the scale sigma that a quantile tells, residuals have tails, and
those beyond the clip c lose at most (s^2 - sigma^2)/c on average; beyond the usual clip, of 8
sigma, this is taken to fall as c^-2. The direction is unknown, so each of p whitened ones gets 1/p
of the two squares, times `LOST`^2, which was set on real tables: California housing and diamonds.
This is an allowance, and no bound.

*Tails of columns.* Where a column is clamped, the slope is that of the values within. If a part f
of its mean square lies beyond, and responses hardly change there, least squares on the values as
they are has a slope of 1 - f times that. So `CLAMPED` f/(1 - f) of each slope is allowed for, all
of them together as one direction: f is that of a tail e^{-(t/a)^k} with two quantiles that were
found (`ranges.TailLengths`), an extrapolation. With n mu/p clamps move out, and f tends to 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from estimators.core.base import Array
from estimators.tables.regression_guard import guarded
from estimators.tables.regression_steps import USUAL_CLIP, Run, sandwich_gram

UNMOVED = 0.25
LOST = 1.05
CLAMPED = 1.5
"""Set on log-normal columns with responses that are linear in them, and in their logarithms."""
ONE_SPREAD = 1.5
"""Residuals' mean square that is assumed in the middle of the sandwich, over the one found."""
LEAST_MIDDLE = 0.5
"""The least that it is in any direction."""


class Solved(NamedTuple):
    """Coefficients in the frame's units, and covariances of their error."""

    coef: Array
    noise: Array
    sampling: Array
    allowance: Array

    @property
    def covariance(self) -> Array:
        """All together."""
        return np.asarray(self.noise + self.sampling + self.allowance)


def solved(run: Run) -> Solved:
    """The coefficients of a run that has ended, guarded, with what is known of their error."""
    step = run.whitening @ run.solver
    sampling = step @ _middle(run) @ step.T
    slopes = run.coef[1:] if run.frame.intercept else run.coef
    unmoved = UNMOVED * float(slopes @ slopes) * run.left @ run.left.T
    lost = LOST * run.n * _lost_on_average(run) / math.sqrt(run.p)
    clamped = _clamped_away(run)
    allowance = unmoved + lost**2 * step @ step.T + np.outer(clamped, clamped)
    guard = guarded(run.coef, run.moment, run.noise, run.frame.intercept)
    turn = guard.shrinking
    return Solved(
        guard.coef,
        turn @ run.noise @ turn.T,
        turn @ sampling @ turn.T,
        turn @ allowance @ turn.T + guard.taken,
    )


def _clamped_away(run: Run) -> Array:
    """What clamps may have moved coefficients by, the mean of the fitted values staying."""
    first = int(run.frame.intercept)
    moved = np.zeros(run.p)
    moved[first:] = CLAMPED * run.beyond / (1 - run.beyond) * run.coef[first:]
    if first and run.moment[0, 0] > 0:
        moved[0] = -run.moment[0, 1:] @ moved[1:] / run.moment[0, 0]
    return moved


def _lost_on_average(run: Run) -> float:
    """What shortening a row and clipping a residual take off their product."""
    of_rows = run.plan.cut * run.length * math.sqrt(run.square)
    tails = max(0.0, run.square - run.scale**2) / run.clip
    of_residuals = tails * min(1.0, USUAL_CLIP * run.scale / run.clip)
    return math.hypot(of_rows, of_residuals)


def _middle(run: Run) -> Array:
    """sum r^2 uu' in whitened coordinates, as far as it is seen."""
    known = run.square * run.n * np.eye(run.p)
    if not run.plan.shares.sandwich:
        return ONE_SPREAD * known
    gram = run.records.total(sandwich_gram, run.lens)
    found, unit = run.released_gram(gram, run.plan.shares.sandwich, "sandwich")
    size = (run.clip * run.length) ** 2
    blur = unit * size * math.sqrt(run.p) / (run.square * run.n)
    trust = 1 / (1 + blur**2)
    values, axes = np.linalg.eigh(trust * size * found + (1 - trust) * ONE_SPREAD * known)
    return np.asarray((axes * np.maximum(values, LEAST_MIDDLE * known[0, 0])) @ axes.T)
