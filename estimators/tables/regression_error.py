r"""What is known of the error of a regression on a table, and a guard against noise.

**What is covered.** Least squares on the whole table, or in the population, as the numbers are: not
clamped, not clipped. The error has five parts, each a covariance of the coefficients.

*Noise* follows exactly from the steps, which are linear, but for the noise in the second moment,
which enters to first order by what a ridge leaves.

*Sampling.* H (sum r^2 uu') H', H being the last step's matrix: the sandwich, whatever the spread of
the residuals. The middle is released with noise too; where that would drown it, residuals of one
spread are assumed, half as large again.

*Ridges* leave the part `left` of the coefficients where no step has moved it: L b for the true b,
of which no more is known than its size. Its covariance is taken as `UNMOVED` |b|^2 LL'.

*Clamps.* Rows that are shortened, a part q of all, count with a part of their weight: where the
model is not linear, this moves coefficients. A row that is shortened to R loses about as much as R
(tails of real tables), and its residual is about s, s^2 being the mean square of clipped residuals:
the sum of rows times residuals is off by about n q R s. The direction is unknown, so each of p
whitened ones gets 1/p of the square, times `LOST`^2, which was set on real tables: California
housing and diamonds.

*Clips.* A residual beyond the clip c loses what it is beyond by. How many are beyond c, and 2 c, is
released; with a tail t^-a through both, residuals lose c P(|r| > c)/(a - 1) on average, `lost`.
In any direction e the sum of rows times residuals is off by n E(loss <u, e>). Whitened rows u have
<u, e> of mean square 1; what is lost goes with rows that are far out if the largest residuals do,
so that each direction gets the square of `FAR_OUT` n `lost`. Where the tail is lost in noise, it is
taken to be a deviation of that noise at least, with a = `USUAL_TAIL`, anywhere among the rows. The
constants were set on made tables with skewed residuals. This and the one before are allowances, and
no bounds.

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
from estimators.tables.ranges import count_noise
from estimators.tables.regression_guard import guarded
from estimators.tables.regression_kernels import clipped_counts, last_look
from estimators.tables.regression_plan import TELLS_CLIPPED
from estimators.tables.regression_steps import Run

UNMOVED = 0.25
LOST = 1.25
CLAMPED = 1.5
"""Set on log-normal columns with responses that are linear in them, and in their logarithms."""
FAR_OUT = 1.5
"""<u, e>, on average, for the rows u whose residuals are clipped, where that is not 0."""
USUAL_TAIL, LEAST_TAIL = 3.0, 1.25
"""Powers of a residual's tail: where it is not seen, and the least that is taken."""
SURELY = 3.0
"""Deviations of noise by which a count has to be larger, to tell of a tail."""
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
    if run.plan.shares.sandwich:
        counts, gram = run.records.totals(last_look, run.lens)
        middle = _middle(run, gram)
    else:
        counts = run.records.total(clipped_counts, run.lens)
        middle = ONE_SPREAD * run.square * run.n * np.eye(run.p)
    sampling = step @ middle @ step.T
    slopes = run.coef[1:] if run.frame.intercept else run.coef
    unmoved = UNMOVED * float(slopes @ slopes) * run.left @ run.left.T
    shortened = LOST * run.plan.cut * run.length * math.sqrt(run.square / run.p)
    lost = run.n * math.hypot(shortened, _lost_by_clips(run, counts))
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


def _lost_by_clips(run: Run, counts: Array) -> float:
    """What clips take off a residual, on average, times how far out its row is.

    **Privacy.** A record moves each of two counts by at most 1.
    """
    share = TELLS_CLIPPED * run.plan.shares.quantile * run.part
    told = run.purse.cube_release(counts, 1.0, share, "clipped residuals, counted")
    return tail_loss(float(told[0]), float(told[1]), count_noise(run.purse, 2, share)) * (
        run.clip / run.n
    )


def tail_loss(beyond: float, farther: float, noise: float) -> float:
    """The sum of (|r| - 1)_+ <u, e> for a tail t^-a of `beyond` records at 1, `farther` at 2."""
    if beyond < SURELY * noise:
        return max(beyond, noise) / (USUAL_TAIL - 1)
    power = math.log2(beyond / max(farther, noise / 2))
    return FAR_OUT * beyond / (max(power, LEAST_TAIL) - 1)


def _middle(run: Run, gram: Array) -> Array:
    """sum r^2 uu' in whitened coordinates, as far as it is seen."""
    known = run.square * run.n
    found, unit = run.released_gram(gram, run.plan.shares.sandwich, "sandwich")
    size = (run.clip * run.length) ** 2
    blur = unit * size * math.sqrt(run.p) / known
    trust = 1 / (1 + blur**2)
    whole = trust * size * found + (1 - trust) * ONE_SPREAD * known * np.eye(run.p)
    values, axes = np.linalg.eigh(whole)
    return np.asarray((axes * np.maximum(values, LEAST_MIDDLE * known)) @ axes.T)
