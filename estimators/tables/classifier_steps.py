r"""What the private classifier does with records: plan, frame, second moment, slopes.

Everything that reads records is a kernel, a function of a chunk whose sums over the records are
released. Each is divided by how far one record can move it, so that the ledger is a function of
public numbers.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from estimators.core.base import Array
from estimators.core.purse import Purse
from estimators.core.symmetric import flat, unflat
from estimators.tables.found_frame import LEVEL_PART, found_frame
from estimators.tables.frame import ColumnFrame, Image, Rows, longest_row
from estimators.tables.lengths import length_counts, released_quantile, shortened, squared_lengths
from estimators.tables.ranges import count_noise, size_part
from estimators.tables.records import Records
from estimators.tables.schema import Schema

RATE_ERROR = 0.025
"""The deviation of the noise on a class's share that counts are paid for ..."""
COUNT_SHARES = 0.02, 0.8
"""... between these shares of the budget."""
MOMENT_SHARE, LENGTH_SHARE = 0.2, 0.01
"""Parts of what counts and ranges leave: of the second moment, and of each of two lengths."""
RANGE_SHARES, RANGE_ERROR = (0.1, 0.4), 0.04
"""Counts of sizes may be off by this part of n, in deviations of their noise, before ranges cost
more than the first share of the budget."""
CLAMP = 1.25
"""Values are taken up to so many half-widths from the median."""
LONG, TYPICAL = 0.95, 0.5
"""Quantiles of lengths: rows of the second moment are shortened to the first, slopes are weighted
down beyond the second."""
RICH = 100.0
"""Records times budget for each column (see `DescentPlan`) from which on accuracy is lost by
weights rather than by noise."""
POOR = 4.0
"""The same, below which little more than the shares of the classes can be learnt."""
MOST_WIDENING = 2.0
"""Beyond twice the typical length there are hardly any rows but those of heavy tails."""
STEPS, RICHNESS_PER_STEP = (10, 40), 9.0
PURE_STEPS = 4, 10
"""Pure budgets add up, not their squares: many steps cost more, so there are fewer."""
STEP_SIZE, BURN_IN = 1.5, 0.3
"""For two classes weighted slopes of whitened rows change by at most 2 for each unit: steps with
momentum m are stable up to 1 + m. The first part of them is not averaged."""
MOMENTUM = 0.5, 0.75
LEAST_SQUARE = 0.01
"""Of whitened rows, in a direction."""
RIDGE = 4.0
"""The penalty is this times the square of the noise's length, for equal shares."""


class DescentPlan(NamedTuple):
    """How the budget is spent, from public numbers alone."""

    counts: float
    ranges: float
    length: float
    moment: float
    slopes: float
    """Shares of the budget: one number of each; there are two lengths."""
    steps: int
    richness: float
    """n mu/p, p numbers to find for each class: what a record's budget allows to learn."""

    @property
    def evenness(self) -> float:
        """The power of the largest residual that slopes are divided by: see `slope_sums`."""
        return min(1.0, (RICH / self.richness) ** 0.5)

    @property
    def widening(self) -> float:
        """What the typical length is multiplied by before rows are weighted down."""
        return widening_at(self.richness)


def widening_at(richness: float) -> float:
    """1 where noise matters more, then growing with the budget."""
    return float(np.clip((richness / RICH) ** 0.5, 1.0, MOST_WIDENING))


def planned(
    purse: Purse, d: int, classes: int, ranges: float, part: float, *, intercept: bool
) -> DescentPlan:
    """The plan for d columns and a part of the budget; `ranges` is what finding ranges costs.

    Counts get what makes their noise small beside a share of 1/2, so that with few records nearly
    all is spent on them, and the release is close to the shares of the classes. Without an
    intercept they are not released.
    """
    n, p = purse.n, d + int(intercept)
    rough = math.sqrt(2) * purse.deviation(1.0, classes, 1.0) / (RATE_ERROR * n)
    counts = float(np.clip(share_for(purse, rough), *COUNT_SHARES)) if intercept else 0.0
    left = (1 - counts) * (1 - ranges)
    moment, length = left * MOMENT_SHARE, left * LENGTH_SHARE
    richness = n / (p * purse.deviation(1.0, p * (classes - 1), part))
    steps = math.sqrt(classes - 1) * richness / (RICHNESS_PER_STEP * widening_at(richness))
    return DescentPlan(
        part * counts,
        part * (1 - counts) * ranges,
        part * length,
        part * moment,
        part * (left - moment - 2 * length),
        int(np.clip(steps, *(PURE_STEPS if purse.pure else STEPS))),
        richness,
    )


# --- Ranges of columns ----------------------------------------------------------------------------


def range_share(purse: Purse, schema: Schema, intercept: bool) -> float:
    """The part of the budget that the frame of these columns gets."""
    columns = len(schema.numeric)
    if columns == 0:
        return LEVEL_PART * RANGE_SHARES[0] if intercept else 0.0
    ratio = count_noise(purse, columns, size_part(intercept, False)) / (RANGE_ERROR * purse.n)
    return float(np.clip(share_for(purse, ratio), *RANGE_SHARES))


def share_for(purse: Purse, ratio: float) -> float:
    """The share with which noise is as large as wanted, if with the whole budget it is `ratio`
    times that; at most 1."""
    return min(1.0, ratio) ** (1 if purse.pure else 2)


def released_frame(
    records: Records, purse: Purse, share: float, intercept: bool
) -> tuple[ColumnFrame, NDArray[np.bool_]]:
    """Numeric columns on one scale, by private medians and sizes, and which of them were not seen
    to vary."""
    frame, found = found_frame(records, purse, share, clamp=CLAMP, intercept=intercept)
    return frame, found.blurred


# --- Shares of the classes ------------------------------------------------------------------------


def class_counts(Z: Array, y: Array, classes: int) -> Array:
    """How many records have each label; a label that is not listed counts nowhere.

    Replacing a record takes 1 off one count and adds 1 to another: sqrt(2) in l2.
    """
    return np.bincount(y[y >= 0].astype(np.intp), minlength=classes).astype(float)


def released_logits(records: Records, purse: Purse, classes: int, share: float) -> Array:
    """Logarithms of the classes' shares.

    Counts are moved to add up to n. None is below its noise, so that none is 0.
    """
    counts = records.total(class_counts, classes)
    unit = math.sqrt(2)
    noisy = unit * purse.release(counts / unit, 1.0, share, "classes")
    noisy += (purse.n - noisy.sum()) / classes
    noise = purse.deviation(unit, classes, share) * math.sqrt(1 - 1 / classes)
    return np.asarray(special.log_softmax(np.log(np.maximum(noisy, max(1.0, noise)))))


# --- The second moment of the rows ----------------------------------------------------------------


def row_lengths(Z: Array, y: Array, image: Image) -> Array:
    """How many rows are how long."""
    return length_counts(image(Z))


def gram_sum(Z: Array, y: Array, image: Image, bound: float) -> Array:
    """Sum of the outer products of rows, each shortened to `bound`, over sqrt(2) bound^2.

    |xx' - zz'|_F^2 = |x|^4 + |z|^4 - 2<x, z>^2 <= 2 bound^4: replacing a record moves it by 1.
    """
    columns = shortened(image(Z), bound)
    return np.asarray(columns @ columns.T / (math.sqrt(2) * bound**2))


def released_whitening(
    records: Records, purse: Purse, rows: Rows, longest: float, plan: DescentPlan
) -> tuple[Array, float]:
    """W with W'(sum of outer products + ridge)W = n I, up to noise: eigenvectors times numbers; and
    the mean square of whitened rows, in a direction, which the ridge keeps below 1.

    The ridge is the size of the noise: what is not seen is not stretched.
    """
    p = rows.width
    image = rows.image(np.eye(p))
    counts = records.total(row_lengths, image)
    bound = min(released_quantile(counts, LONG, purse, plan.length), longest)
    unit = math.sqrt(2) * bound**2
    noisy = purse.release(
        flat(records.total(gram_sum, image, bound)), 1.0, plan.moment, "second moment"
    )
    noise = purse.deviation(unit, p * (p + 1) // 2, plan.moment)
    values, vectors = np.linalg.eigh(unit * unflat(noisy, p))
    stretched = purse.n / (np.maximum(values, 0.0) + noise * math.sqrt(p))
    return vectors * np.sqrt(stretched), float(
        np.clip(np.mean(values * stretched) / purse.n, LEAST_SQUARE, 1.0)
    )


# --- Slopes ---------------------------------------------------------------------------------------


class Slopes(NamedTuple):
    """What slopes are computed with, all of it public or released."""

    image: Image
    """The whitened rows."""
    contrasts: Array
    """Orthonormal columns, each of sum 0: all differences between classes are made of them."""
    start: Array
    """Log-odds of the classes for the zero coefficients."""
    reach: float
    evenness: float


def contrasts(classes: int) -> Array:
    """An orthonormal basis of the vectors of sum 0, in columns."""
    return np.asarray(linalg.helmert(classes).T)


def slope_sums(Z: Array, y: Array, slopes: Slopes, coef: Array) -> Array:
    r"""Sum over records of w (p - e_y) (x) Wx in the contrasts, in units of what a record moves.

    x is the frame's row, W the whitening, p the chances that softmax gives the classes at the
    coefficients W coef, and

        w = min(1, reach/|Wx|)/m^evenness, m = max_y |p - e_y|/sqrt(2), between 1/2 and 1.

    **Statement (sensitivity).** A record adds a vector of length sqrt(2) reach at most; replacing
    it moves the sum by 2 sqrt(2) reach, which is the unit. A label that is not listed adds 0.

    **Proof.** |p - e_y| <= sqrt(2) m <= sqrt(2) m^evenness and w|Wx| <= reach/m^evenness; contrasts
    keep the lengths of vectors of sum 0.

    **Statement (weights are free).** If softmax with some coefficients is the law of y given x,
    they are a zero of the expected sum, whatever the weights.

    **Proof.** w is a function of x and the coefficients, and E(p - e_y | x) = 0 there.

    With evenness 1 no weights are larger for the same sensitivity: there is a label with which the
    record is as far as any record may be. For two classes it is the slope of the loss that is
    linear for margins below 0 and e^{-margin} above. The smaller the evenness, the nearer to the
    log loss, which is better where the model is wrong and noise is small.
    """
    white = slopes.image(Z)  # as columns
    chances = (slopes.contrasts @ coef.T) @ white + slopes.start[:, None]  # a row for each class
    chances -= chances.max(axis=0)
    np.exp(chances, out=chances)
    chances /= chances.sum(axis=0)
    squares = np.einsum("ki,ki->i", chances, chances)
    largest = np.sqrt((squares + 1 - 2 * chances.min(axis=0)) / 2)
    lengths = np.sqrt(squared_lengths(white))
    weights = 1 / (np.maximum(lengths, slopes.reach) * largest**slopes.evenness)
    weights *= y >= 0
    places = np.maximum(y, 0).astype(np.intp)
    chances[places, np.arange(len(y))] -= 1
    return np.asarray(white @ (slopes.contrasts.T @ chances * (weights / math.sqrt(8))).T)


class Pace(NamedTuple):
    """Steps of a descent."""

    steps: int
    burnt: int
    """So many of the first iterates are not averaged."""
    size: float
    momentum: float

    def echoes(self, bend: float) -> Array:
        """What a unit in the slope of each step alone becomes in the averaged iterates, where
        slopes grow by `bend` for each unit of the way: all is linear then."""
        coef, way, total = np.zeros((3, self.steps))
        for t, now in enumerate(np.eye(self.steps)):
            way = self.momentum * way - self.size * (now + bend * coef)
            coef = coef + way
            total = total + (coef if t >= self.burnt else 0.0)
        return np.asarray(total / (self.steps - self.burnt))


def descended(
    records: Records, purse: Purse, slopes: Slopes, plan: DescentPlan, square: float
) -> Array:
    """The average of noisy steps, for whitened rows with this mean square in each direction, shrunk
    as far as it may be noise: a column for each class.

    Steps have momentum, more where classes are rare or many and the loss bends little, and a
    penalty on the way from the start. With noise of deviation s on each of D numbers, a loss that
    bends by h and a prior of about 1 on the log-odds, least error is expected with a penalty in
    proportion to D s^2/h: where noise drowns everything, the start is hardly left.
    """
    p, free = len(slopes.image.matrix), slopes.contrasts.shape[1]
    unit, share = math.sqrt(8) * slopes.reach / purse.n, plan.slopes / plan.steps
    noise = purse.deviation(unit, p * free, share)
    chances = special.softmax(slopes.start)
    bend = float(np.mean(chances * (1 - chances)))
    even = free / (free + 1) ** 2  # that of equal shares
    ridge = RIDGE * p * free * noise**2 / plan.steps * even / bend
    momentum = float(np.clip(0.9 - 2 * bend, *MOMENTUM))
    pace = Pace(plan.steps, int(BURN_IN * plan.steps), STEP_SIZE / (1 + 2 * ridge), momentum)
    coef, way, total = np.zeros((p, free)), np.zeros((p, free)), np.zeros((p, free))
    for t in range(pace.steps):
        sums = records.total(slope_sums, slopes, coef)
        noisy = purse.release(sums.ravel(), 1.0, share, "slopes").reshape(sums.shape)
        way = pace.momentum * way - pace.size * (unit * noisy + ridge * coef)
        coef = coef + way
        total += coef if t >= pace.burnt else 0.0
    purse.ledger[-pace.steps :] = [replace(purse.ledger[-1], count=pace.steps)]
    found = total / (pace.steps - pace.burnt)
    return np.asarray(
        guarded(found, slopes, pace, noise, ridge, square, purse.n) @ slopes.contrasts.T
    )


def guarded(
    found: Array,
    slopes: Slopes,
    pace: Pace,
    noise: float,
    ridge: float,
    square: float,
    n: int,
) -> Array:
    """Averaged iterates, multiplied by what keeps of them that is not noise, and by 1 at most.

    At the start the mean of weighted slopes grows by h for each unit of the way, and one record's
    has the mean square q: p - e_y has the covariance diag(p) - pp', of trace 1 - |p|^2, shared by
    the contrasts, is divided by m^evenness (`slope_sums`), and goes with rows of this mean square.
    So iterates reach the part f of where they go, by penalty and steps, with errors of variance v
    from noise and sampling. Of D numbers found so, (1 - (D - 2) v/|found|^2)_+ is the factor of
    James and Stein (1961); as a part f is taken off already, it is divided by that.
    """
    chances = special.softmax(slopes.start)
    trace = float(1 - chances @ chances) / slopes.contrasts.shape[1]
    largest = math.sqrt((float(chances @ chances) + 1 - 2 * float(chances.min())) / 2)
    weight = largest**-slopes.evenness
    slope = trace * weight * square
    echoes = pace.echoes(slope + ridge)
    reached = slope * abs(float(echoes.sum()))
    drawn = trace * weight**2 * square / n
    variance = noise**2 * float(echoes @ echoes) + drawn * float(echoes.sum()) ** 2
    seen = max(float(np.sum(found**2)), np.finfo(float).tiny)
    kept = max(0.0, 1 - max(0, found.size - 2) * variance / seen)
    return found * min(1.0, kept / max(reached, np.finfo(float).tiny))


def released_coefficients(
    records: Records, purse: Purse, frame: ColumnFrame, start: Array, plan: DescentPlan
) -> Array:
    """Coefficients of the framed columns, a column for each class.

    Whitened rows have a mean square of at most p: their typical length is at most sqrt(2 p).
    """
    schema, rows = frame.narrowed(records.schema)
    longest = longest_row(schema, frame)
    records = records.rebounded(schema, records.response)
    whitening, square = released_whitening(records, purse, rows, longest, plan)
    root = math.sqrt(rows.width)
    image = rows.image(whitening)
    counts = records.total(row_lengths, image)
    typical = released_quantile(counts, TYPICAL, purse, plan.length)
    typical = float(np.clip(typical, 0.3 * root, 2.0 * root))
    reach = typical * plan.widening
    slopes = Slopes(image, contrasts(len(start)), start, reach, plan.evenness)
    return whitening @ descended(records, purse, slopes, plan, square)
