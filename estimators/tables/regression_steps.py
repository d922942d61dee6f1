r"""The steps of one fit of linear regression on a table: what is made of the kernels' sums.

**Rows.** A frame, made of released ranges, brings encoded numbers to about [-1, 1], clamps them,
and puts a 1 before them. A row is z, its response t.

**One Gram for the price of a vector.** A step whitens rows, u = W'z shortened to length R and
divided by it, and clips residuals, rho = clip(t - <z, b>, c)/c. With a = (sqrt(w) u,
sqrt(1 - w) rho), |a| <= 1, it releases the sum of aa'. Replacing a by e moves that by at most
sqrt 2 in Frobenius' norm: |aa' - ee'|^2 = |a|^4 + |e|^4 - 2 <a, e>^2. An entry off the diagonal
then has noise of 1/mu: at w = 1/2 the sum of rho u has noise of 2/mu, exactly what releasing it
alone would need, as |rho u| <= 1. The second moment of the whitened rows and the mean square of
the residuals come with it for nothing.

**Steps.** With M the second moment, b <- b + W (M + lam)^{-1} sum rho u c R, where lam is about the
size of the noise in M: directions that are lost in it stay where they are. After each of the first
two second moments rows are whitened by it, and each time a direction is seen that varies less, by
the factor lam/n. Later steps average what they know of the same equation: moved to one b with M,
sums are weighted by their noise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimators.core.base import Array
from estimators.core.purse import ONE_DEVIATION, Purse
from estimators.core.symmetric import flat, unflat
from estimators.tables.found_frame import found_frame
from estimators.tables.frame import longest_row
from estimators.tables.lengths import released_quantile
from estimators.tables.records import Records
from estimators.tables.regression_frame import Frame, Scene
from estimators.tables.regression_guard import guarded
from estimators.tables.regression_kernels import (
    RESIDUALS,
    Lens,
    View,
    joint_gram,
    joint_lengths,
    residual_counts,
    spread_counts,
    step_gram,
    step_vector,
)
from estimators.tables.regression_plan import FINDS_SCALE, Plan

MOST_LENGTHS = 0.95
"""The first second moment is that of rows shortened to this quantile of their lengths."""
SECOND_WEIGHT, LATER_WEIGHT = 0.7, 0.5
"""w: the first whitened step tells more of the second moment, later ones more of the residuals."""
LEAST_LENGTH, LEAST_FOUND = 0.8, 0.3
"""Whitened rows are about sqrt(p) long: for the noise of second moments they are not shortened
below the first part of it, and never below the second."""
GRAM_NOISE = 0.35
"""Rows are shortened to where the noise of their second moment is about this part of it."""
NOISE_NORM = 0.1
"""Clips are chosen for noise of this part of the residuals' deviation, together ..."""
LEAST_CLIP, USUAL_CLIP, CLIP_GROWTH = 2.0, 8.0, 0.25
"""... but within these multiples of the deviation; the last grows slowly with the information."""
SPIKE = 3.0
"""Where the residuals' deviation, by the first fit, is more than so many times the one that a
quantile tells, most of them are nearly equal and tell no scale: the first is taken."""
MOST_BEYOND = 0.9
"""No more of a column's mean square is taken to be clamped away."""
SURELY = 2.0
"""Deviations of noise by which a second moment has to be larger, to count as such."""
LEAST_SQUARE = 0.25
"""Part of the scale's square that the residuals' mean square is at least."""


# --- What sums become -----------------------------------------------------------------------------


class Sums(NamedTuple):
    """A step's release, in units of whitened rows and of residuals."""

    gram: Array
    vector: Array
    square: float
    """Of the clipped residuals, summed."""
    gram_noise: float
    """Deviation on the diagonal."""
    vector_noise: float


class Run:
    """One fit: what is released, in order, each time from what was released before.

    `coef` are the coefficients of the frame's rows; `left` says what part of them, direction by
    direction, no step has moved yet, as a matrix; `noise` is the covariance of their noise.
    """

    frame: Frame
    scene: Scene
    coef: Array
    left: Array
    noise: Array
    whitening: Array
    length: float
    clip: float
    spike: bool
    """Whether most responses are nearly equal: the scale is then that of a second moment."""
    blurred: NDArray[np.bool_]
    """Which numbers, and then whether the responses, were not seen to vary."""
    beyond: Array
    """The part of each column's mean square that is clamped away, as its tail is taken to be."""
    spread: tuple[float, float]
    """The deviation of the residuals, by the first second moment, at least and at most."""
    scale: float
    """The deviation of the residuals, by a quantile where that tells one."""
    square: float
    """The mean square of the clipped residuals."""
    moment: Array
    """The second moment of the rows."""
    solver: Array
    """(M + ridge)^{-1} of the last step, whitened."""

    def __init__(self, records: Records, purse: Purse, plan: Plan, part: float) -> None:
        """`part` of the budget is spent."""
        self.records, self.purse, self.plan, self.part = records, purse, plan, part
        self.n, self.p = plan.n, plan.p

    def solve(self, intercept: bool) -> None:
        """Ranges, two second moments, steps."""
        self.frame = self._found_frame(intercept)
        self.records, self.scene = self.frame.narrowed(self.records)
        self._first_fit()
        self._whitened_step()
        self._later_steps()

    # --- Ranges -----------------------------------------------------------------------------------

    def _found_frame(self, intercept: bool) -> Frame:
        shares, binary = self.plan.shares, self.records.schema.binary
        columns, found = found_frame(
            self.records,
            self.purse,
            shares.ranges * self.part,
            shares.tails * self.part,
            clamp=self.plan.clamp,
            intercept=intercept,
        )
        self.spike, self.blurred, self._kept = found.spike, found.blurred, found.kept
        beyond = found.lengths.moment_beyond(self.plan.clamp * found.half)[:-1]
        self.beyond = np.zeros(len(binary))
        self.beyond[~binary] = np.minimum(beyond, MOST_BEYOND)
        ends = float(found.middle[-1]), float(found.half[-1])
        return Frame(columns, *ends, found.lowest, found.highest)

    def _length(self, counts: Array, level: float) -> float:
        return released_quantile(counts, level, self.purse, self.plan.shares.quantile * self.part)

    def _scale(self, counts: Array) -> float:
        share, about = self.plan.shares.quantile * self.part, "scale of the residuals"
        found = released_quantile(counts, ONE_DEVIATION, self.purse, share, RESIDUALS, about)
        least, most = self.spread
        if self.spike and NOISE_NORM * self._reach > USUAL_CLIP:  # a wide clip can be paid for
            return max(found, most)
        return least if least > SPIKE * found else found

    # --- The first fit ----------------------------------------------------------------------------

    def _first_fit(self) -> None:
        """A ridge regression from the second moment of rows with their responses."""
        view = self._view(np.eye(self.p), np.zeros(self.p))
        counts = self.records.total(joint_lengths, view)
        longest = math.hypot(longest_row(self.records.schema, self.frame.columns), self.plan.clamp)
        length = min(self._length(counts, MOST_LENGTHS), longest)
        gram = self.records.total(joint_gram, view, length)
        noisy, unit = self.released_gram(gram, self.plan.shares.first, "second moment")
        whole, noise = noisy * length**2, unit * length**2
        self.blurred = self.blurred | self._kept & ~self._varying(np.diag(whole), noise)
        values, axes = np.linalg.eigh(whole[:-1, :-1])
        ridge = noise * math.sqrt(self.p)
        values = np.maximum(values, 0.0) + ridge
        self.coef = axes @ ((axes.T @ whole[:-1, -1]) / values)
        inverse = (axes / values) @ axes.T
        self.left = (axes * (ridge / values)) @ axes.T
        self.noise = inverse @ inverse * (noise**2 / 2 * (1 + self.coef @ self.coef))
        self.whitening = axes * np.sqrt(self.n / values)
        self._before = whole[:-1, :-1], noise, values
        self.spread = _deviations(
            (whole[-1, -1] - self.coef @ whole[:-1, -1]) / self.n, noise / self.n
        )
        self._guard((axes * values) @ axes.T)

    def _varying(self, squares: Array, noise: float) -> NDArray[np.bool_]:
        """Which numbers, and then whether the responses, have a sum of squares that is seen."""
        numbers = np.flatnonzero(~self.records.schema.binary) + int(self.frame.intercept)
        return np.asarray(squares[np.append(numbers, self.p)] > SURELY * noise)

    def _guard(self, moment: Array) -> None:
        """The first coefficients, shrunk where they are mostly noise: no step with a large ridge
        would take it out again."""
        guard = guarded(self.coef, moment, self.noise, self.frame.intercept)
        turn = guard.shrinking
        self.coef, self.noise = guard.coef, turn @ self.noise @ turn.T
        self.left = np.eye(self.p) - turn @ (np.eye(self.p) - self.left)

    def released_gram(self, gram: Array, share: float, about: str) -> tuple[Array, float]:
        """A sum of aa' over rows a of length 1 at most, and its noise on the diagonal."""
        spent = share * self.part
        found = self.purse.release(flat(gram), math.sqrt(2), spent, about)
        size = len(gram) * (len(gram) + 1) // 2
        return unflat(found, len(gram)), self.purse.deviation(math.sqrt(2), size, spent)

    # --- Steps ------------------------------------------------------------------------------------

    def _whitened_step(self) -> None:
        """A step that tells most of the second moment; what the first fit knew of it is added."""
        self._measure()
        sums = self._gram_step(self.plan.shares.second, SECOND_WEIGHT)
        gram, noise, values = self._before
        known = self.n**2 / np.outer(values, values) * noise**2
        precise, new = 1 / known, 1 / sums.gram_noise**2
        before = self.whitening.T @ gram @ self.whitening
        moment = (before * precise + sums.gram * new) / (precise + new)
        values, axes = np.linalg.eigh(moment)
        ridge = sums.gram_noise * math.sqrt(self.p)
        values = np.maximum(values, 0.0)
        slopes = self._slopes(axes, values)
        self._move(axes, slopes + ridge, ridge, sums.vector, sums.vector_noise)
        values = values + ridge
        turned = axes * np.sqrt(self.n / values)
        self.whitening = self.whitening @ turned
        self._known = turned.T @ moment @ turned
        self._precision = np.outer(values, values) / (self.n * sums.gram_noise) ** 2

    def _later_steps(self) -> None:
        """Steps in the same whitened coordinates: each averages with those before it."""
        inverse = np.linalg.pinv(self.whitening)
        moment, precision = self._known * self._precision, self._precision
        told: list[tuple[Array, Array, float]] = []
        for k, share in enumerate(self.plan.shares.later):
            if k == 0:
                self._measure()
            elif k + 1 < FINDS_SCALE:
                view = self._view(np.zeros((self.p, 0)), self.coef)
                self._choose_clip(self.records.total(residual_counts, view))
            sums = self._step(share)
            noise = sums.gram_noise / math.sqrt(k + 1)
            if not self.purse.pure:
                moment = moment + sums.gram / sums.gram_noise**2
                precision = precision + 1 / sums.gram_noise**2
            values, axes = np.linalg.eigh(moment / precision)
            values = np.maximum(values, 0.0)
            told.append((inverse @ self.coef, sums.vector, sums.vector_noise))
            slopes = self._slopes(axes, values)
            vector, vector_noise = _at(inverse @ self.coef, told, (axes * slopes) @ axes.T)
            ridge = noise * math.sqrt(self.p)
            self._move(axes, slopes + ridge, ridge, vector, vector_noise)
        self.square = max(sums.square / self.n, LEAST_SQUARE * self.scale**2)
        self.moment = inverse.T @ ((axes * values) @ axes.T) @ inverse / self.n
        self.solver = (axes / (slopes + ridge)) @ axes.T

    def _slopes(self, axes: Array, values: Array) -> Array:
        """By how much sums of rho u fall as b moves along the axes of M.

        Rows that are shortened by f count f^2 in M, but f here: between M and what it would be
        without. The first second moment, of rows that are not whitened, tells the latter where its
        noise allows. Without this, steps along an indicator that is rare would go too far.
        """
        gram, noise, _ = self._before
        seen = self.whitening @ axes
        whole = ((gram @ seen) * seen).sum(axis=0) - SURELY * noise * (seen**2).sum(axis=0)
        return np.asarray(np.sqrt(np.maximum(whole, values) * values))

    def _measure(self) -> None:
        """To what length rows are shortened, and where residuals are clipped."""
        root = math.sqrt(self.p)
        counts = self.records.total(spread_counts, self._view(self.whitening, self.coef))
        usual = max(LEAST_FOUND * root, self._length(counts[0], 1 - self.plan.cut))
        most = math.sqrt(GRAM_NOISE * self._signal / (math.sqrt(8) * root))
        self.length = min(usual, max(LEAST_LENGTH * root, most))
        self._choose_clip(counts[1])

    def _choose_clip(self, counts: Array) -> None:
        self.scale = self._scale(counts)
        allowed = max(NOISE_NORM * self._reach, LEAST_CLIP)
        if self.spike:  # a deviation of which only the most is known is not multiplied as often
            surely = self.spread[0] * min(allowed, self._largest(USUAL_CLIP))
            self.clip = max(surely, self.scale * min(allowed, self._largest(SPIKE)))
        else:
            self.clip = self.scale * min(allowed, self._largest(USUAL_CLIP))

    def _largest(self, usual: float) -> float:
        return usual * max(1.0, self._reach * NOISE_NORM / usual) ** CLIP_GROWTH

    @property
    def _reach(self) -> float:
        """The clip, in deviations, with which noise is as large as the residuals' deviation."""
        return self._signal / (2 * self.length * math.sqrt(self.p))

    @property
    def _signal(self) -> float:
        """n mu of all later steps together."""
        return self.n * self.plan.strength * math.sqrt(math.fsum(self.plan.shares.later))

    @property
    def lens(self) -> Lens:
        """What the next step sees the records through."""
        return Lens(self._view(self.whitening, self.coef), self.length, self.clip)

    def _view(self, whitening: Array, coef: Array) -> View:
        return View(self.scene.image(whitening, coef), self.scene.response_stretch)

    def _step(self, share: float) -> Sums:
        """The second moment comes for nothing, but under a pure budget: there it stays as it is."""
        if not self.purse.pure:
            return self._gram_step(share, LATER_WEIGHT)
        total = self.records.total(step_vector, self.lens)
        spent, unit = share * self.part, self.length * self.clip
        vector = self.purse.release(total, 2.0, spent, "clipped residuals") * unit
        noise = self.purse.deviation(2.0, self.p, spent) * unit
        known = float(np.median(1 / np.sqrt(np.diag(self._precision))))
        return Sums(self._known, vector, 0.0, known, noise)

    def _gram_step(self, share: float, weight: float) -> Sums:
        rows, residuals = math.sqrt(weight) / self.length, math.sqrt(1 - weight) / self.clip
        weights = np.append(np.full(self.p, rows), residuals)
        gram = self.records.total(step_gram, self.lens, weights)
        noisy, unit = self.released_gram(gram, share, "clipped residuals and second moment")
        rows, residuals = self.length**2 / weight, self.clip**2 / (1 - weight)
        cross = math.sqrt(rows * residuals)
        self._sharpen(float(noisy[-1, -1] * residuals) / self.n, unit * residuals / self.n)
        return Sums(
            noisy[:-1, :-1] * rows,
            noisy[:-1, -1] * cross,
            float(noisy[-1, -1] * residuals),
            unit * rows,
            unit / math.sqrt(2) * cross,
        )

    def _sharpen(self, square: float, blur: float) -> None:
        """What a step tells of the residuals' deviation, where it knows more than those before."""
        least, most = _deviations(square, blur)
        self.spread = max(self.spread[0], least), min(self.spread[1], most)

    def _move(self, axes: Array, values: Array, ridge: float, vector: Array, noise: float) -> None:
        """b + W (M + ridge)^{-1} vector; `values` are those of M with the ridge."""
        step = self.whitening @ (axes / values) @ axes.T
        kept = self.whitening @ (axes * (ridge / values)) @ axes.T @ np.linalg.pinv(self.whitening)
        self.coef = self.coef + step @ vector
        self.left = kept @ self.left
        self.noise = kept @ self.noise @ kept.T + step @ step.T * noise**2


def _deviations(square: float, blur: float) -> tuple[float, float]:
    """At least and at most, of a mean square that is known up to noise."""
    sure = SURELY * blur
    return math.sqrt(max(0.0, square - sure)), math.sqrt(max(0.0, square) + sure)


def _at(here: Array, told: list[tuple[Array, Array, float]], moment: Array) -> tuple[Array, float]:
    """What all sums tell of the sum at these coefficients: each moved there by the second moment,
    weighted by its noise; and the noise of that."""
    weights = np.array([noise**-2.0 for _, _, noise in told])
    moved = [vector + moment @ (coef - here) for coef, vector, _ in told]
    mean = np.average(moved, axis=0, weights=weights)
    return np.asarray(mean), float(1 / math.sqrt(weights.sum()))
