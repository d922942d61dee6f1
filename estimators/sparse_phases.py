"""The phases of one fit of sparse regression: residuals are clipped, coordinates chosen."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from estimators.core.base import Array
from estimators.core.columns import Columns
from estimators.core.design import Design
from estimators.core.mechanisms import gumbel_top_k, k_norm
from estimators.core.purse import Purse
from estimators.core.symmetric import flat, unflat
from estimators.regression import projected
from minimax.core.calibration import noise_variance, selection_epsilon
from minimax.core.privacy import Gaussian
from minimax.methods.phase_plan import EARLY_RATIO, WIDE_RATIO
from minimax.methods.residual_clip import clipped_normal
from minimax.methods.selection_plan import (
    SelectionPhase,
    SparsePlan,
    SparseSetting,
    best_last_clip,
    best_selection_phases,
    predicted_selection_phases,
)
from minimax.problems.sparse_regression.residual_clipped import proven_phases

SQUARE_SHARE = 0.005
"""Part of the budget with which E x_j^2, one number, is released."""
MOMENT_SHARE = 0.05
"""Part of the budget for the second moment on chosen coordinates."""
SMALLEST_SQUARE = 1e-4
"""Of entry_bound^2: E x_j^2 is taken as no less."""
FLOOR = 0.05
"""Eigenvalues of the second moment are raised to this part of E x_j^2."""
SETTLED = 6.0
"""Deviations at which a released coefficient is not to be chosen again."""
SCALE_SHARE = 0.06
"""Part of the budget with which residuals' scales are found, if sigma is not given."""
SCALE_RANGE = 1e-6, 1e6
"""Scales are looked for between these multiples of sqrt(s) entry_bound radius."""
ADAPTIVE_PARTS = ((0.06, 0.04), (0.10, 0.10), (0.35, 0.35))
"""(selection, values) of the rest that phases then get: nothing is known to plan them with."""
TYPICAL_SQUARE = 1 / 3
"""E x_j^2/entry_bound^2 that is expected before it is released: that of uniform entries."""
UNKNOWN_SIGMA = 0.1
"""sigma over sqrt(s) entry_bound radius that is expected where sigma is not given."""


@lru_cache(maxsize=256)
def _usual_risk(setting: SparseSetting) -> float:
    """What the phases of an unknown sigma would leave."""
    ratios = (EARLY_RATIO, EARLY_RATIO, 1.0)
    return predicted_selection_phases(setting, ADAPTIVE_PARTS, ratios)[-1].risk


class SparseRun:
    """One fit: what it has found so far. Everything it decides on is public or released."""

    plan: SparsePlan
    sigma: float
    noise: float

    def __init__(
        self, design: Design, y: Array, s: int, bound: float, radius: float, purse: Purse
    ) -> None:
        self.design, self.y, self.s, self.purse = design, y, s, purse
        self.bound, self.radius = bound, radius
        everything = range(design.d if design.d == s else 0)
        self.support: NDArray[np.intp] = np.array(everything, dtype=np.intp)
        self.settled = self.support
        self.known: NDArray[np.intp] | None = None
        """The coordinates whose second moment is known."""
        self.held: Columns | None = None
        """The columns that were read last."""
        self.moment_share, self.stretch = 0.0, 1.0
        self.unspent = 0.0
        """Shares of what needed no release: the last phase gets them."""

    def begin(self, start: Array, moment: str | float) -> None:
        """From public coefficients, no more than radius + |start| away."""
        self.coef = start
        self.reach = self.radius + float(np.linalg.norm(start))
        self.sigma = 0.0
        self.length = math.sqrt(self.s) * self.bound
        self.private_moment = moment == "private"
        if self.private_moment:
            self.moment_share = MOMENT_SHARE
            self._rely_on(TYPICAL_SQUARE * self.bound**2)
        else:
            self.square = self.bound**2 if isinstance(moment, str) else float(moment)

    def expected(self, sigma: float | None) -> float:
        """The risk that public numbers let expect, of phases that are usual or better ones."""
        setting = self._setting(UNKNOWN_SIGMA * self._unit if sigma is None else float(sigma))
        usual = _usual_risk(setting)
        if usual < setting.signal:
            return usual
        return min(usual, best_selection_phases(setting, self.spent)[-1].risk)

    def find_square(self) -> None:
        """E x_j^2: known, or released, together with the rows' mean length.

        Where lengths L differ, rows that count most, weighted with L^2, are longer: among them
        E<x, e>^2 is larger by E L^4/(E L^2)^2, about E L^2/(E L)^2, which is exact where L is one
        number or 0, and at most by (largest L)^2/E L^2.
        """
        if not self.private_moment:
            return
        lengths = self.design.norms / (math.sqrt(self.design.d) * self.bound)
        averages = np.array([np.mean(lengths**2), np.mean(lengths)])
        about = "mean square and mean length of rows"
        noisy = self.purse.release(averages, math.sqrt(2) / self.design.n, SQUARE_SHARE, about)
        square, length = np.clip(noisy, [SMALLEST_SQUARE, SMALLEST_SQUARE], 1.0)
        self._rely_on(float(square) * self.bound**2)
        self.stretch = float(min(max(square / length**2, 1.0), 1 / square))

    def _rely_on(self, square: float) -> None:
        """This as E x_j^2; rows count with the length that they have then on average."""
        self.square = square
        if not self.purse.pure:
            self.length = math.sqrt(self.s * square)

    @property
    def signal(self) -> float:
        """E<x, start - beta>^2 at most."""
        return self.square * self.reach**2

    @property
    def spent(self) -> float:
        return (SQUARE_SHARE if self.private_moment else 0.0) + self.moment_share

    def _setting(self, sigma: float) -> SparseSetting:
        return SparseSetting(
            self.design.n,
            self.design.d,
            self.s,
            self.bound,
            self.square,
            self.length,
            sigma,
            self.signal,
            type(self.purse.privacy),
            self.purse.pure,
            self.purse.strength,
            self.stretch,
        )

    def planned_phases(self, sigma: float) -> None:
        """All phases, planned before the first of them."""
        self.sigma = sigma
        self._take(best_selection_phases(self._setting(sigma), self.spent))

    def proven_phases(self, sigma: float) -> None:
        """Those of least proven risk."""
        self.sigma, n, d = sigma, self.design.n, self.design.d
        at = {"n": n, "d": d, "s": self.s, "sigma": sigma, "radius": self.radius}
        self._take(proven_phases(at, self.purse.privacy, self.length))

    def _take(self, phases: tuple[SelectionPhase, ...]) -> None:
        self.plan = SparsePlan(phases, self.spent, 0.0)
        for phase in phases:
            self.step(phase, self.moment_share / len(phases), last=phase is phases[-1])

    def adaptive_phases(self) -> None:
        """Phases whose clips follow the scale of the residuals before them, found privately."""
        if not self.sees_scale:
            self.planned_phases(self._unit)
            return
        count, left = len(ADAPTIVE_PARTS), 1 - self.spent - SCALE_SHARE
        phases = []
        for k, (selection, values) in enumerate(ADAPTIVE_PARTS):
            self.sigma = self._found_scale(SCALE_SHARE / count)
            ratio = WIDE_RATIO
            if k == count - 1:
                ratio = best_last_clip(self._setting(self.sigma), left * values)
            shares, setting = (left * selection, left * values), self._setting(self.sigma)
            clip, clipped = ratio * self.sigma, clipped_normal(ratio, 1.0)
            slope, noise = float(clipped.slope), setting.unit_noise(shares[1]) * clip**2
            statistics = self.s / self.design.n * float(clipped.square) * self.sigma**2
            risk = (statistics + noise) / slope**2  # where the choice and the start are right
            phases.append(SelectionPhase(clip, slope, *shares, risk, 0.0))
            self.step(phases[-1], self.moment_share / count, last=k == count - 1)
        self.plan = SparsePlan(tuple(phases), self.spent, SCALE_SHARE)

    @property
    def sees_scale(self) -> bool:
        """Whether residuals' scales can be found."""
        return self.purse.sees_scale(self.design.n, SCALE_SHARE / len(ADAPTIVE_PARTS))

    @property
    def _unit(self) -> float:
        """The largest <x, coef - beta> of rows with s entries."""
        return math.sqrt(self.s) * self.bound * self.reach

    def _found_scale(self, share: float) -> float:
        low, high = (self._unit * end for end in SCALE_RANGE)
        energies = self.design.energies(math.sqrt(self.design.d * self.square))
        return self.purse.scale(np.abs(self._residuals()), energies, low, high, share)

    def _residuals(self) -> Array:
        if not self.coef.any():
            return self.y
        columns = self._columns()
        if columns.is_read:  # few columns, close together
            return self.y - columns.block @ self.coef[self.support]
        return self.y - self.design.predict(self.coef)

    def step(self, phase: SelectionPhase, moment_share: float, *, last: bool) -> None:
        """One phase: X is read once, and once more its chosen columns, if rows are too long there
        or no columns were to be chosen."""
        clipped = np.clip(self._residuals(), -phase.clip, phase.clip)
        total: Array | None = None
        if phase.selection and len(self.settled) < self.s:
            total = self.design.correlate(clipped)
            self.support = self._chosen(total, phase)
        else:
            self.unspent += phase.selection
        columns = self._columns()
        if self.known is None or not np.array_equal(self.known, self.support):
            self._find_moment(columns, moment_share)
        else:
            self.unspent += moment_share
        share = phase.values + (self.unspent if last else 0.0)
        if total is None or columns.shorten is not None:
            total = columns.correlate(clipped)
        else:
            total = total[self.support]
        noisy = self._released(total / self.design.n, phase.clip, share)
        values = self.coef[self.support] + self.inverse @ noisy / phase.slope
        self.coef = np.zeros(self.design.d)
        self.coef[self.support] = projected(values, self.radius)
        self._settle(phase)

    def _chosen(self, total: Array, phase: SelectionPhase) -> NDArray[np.intp]:
        """The settled coordinates and, by Gumbel noise, others up to s of them, in order: from the
        sum of rows times residuals."""
        rounds = self.s - len(self.settled)
        is_open = np.ones(self.design.d, dtype=bool)
        is_open[self.settled] = False
        open_ = np.flatnonzero(is_open)
        step = 1 / (self.square * phase.slope)
        scores = np.abs(self.coef + step * total / self.design.n)
        model, part = type(self.purse.privacy), self.purse.part(phase.selection)
        found, entry = gumbel_top_k(
            scores[open_],
            rounds,
            sensitivity=2 * step * phase.clip * self.bound / self.design.n,
            epsilon=float(selection_epsilon(model, part, rounds)),
            rng=self.purse.rng,
            about="support",
        )
        if model is Gaussian:
            each = Gaussian(float(part.mu()) / math.sqrt(rounds))
            entry = replace(entry, guarantees=(*entry.guarantees, each))
        self.purse.ledger.append(entry)
        return np.sort(np.concatenate([self.settled, open_[found]]))

    def _columns(self) -> Columns:
        """The chosen columns, their rows shortened to `length`: kept while both stay."""
        held = self.held
        if (
            held is None
            or held.length != self.length
            or not np.array_equal(held.places, self.support)
        ):
            self.held = held = Columns(self.design, self.support, self.length)
        return held

    def _find_moment(self, columns: Columns, share: float) -> None:
        """E w x x' on the support, w shortening rows to `length`: known, or released."""
        s, n = self.s, self.design.n
        self.known = self.support
        if not self.private_moment:
            self.moment = self.square * np.eye(s)
            self.inverse = np.eye(s) / self.square
            return
        sensitivity = math.sqrt(2) * math.sqrt(s) * self.bound * self.length / n
        gram = flat(columns.gram() / n)
        noisy = self.purse.release(gram, sensitivity, share, "second moment on the support")
        noise = self.purse.deviation(sensitivity, gram.size, share)
        sizes, vectors = np.linalg.eigh(unflat(noisy, s))
        sizes = np.maximum(sizes, max(FLOOR * self.square, math.sqrt(2 * s) * noise))
        self.moment = (vectors * sizes) @ vectors.T
        self.inverse = (vectors / sizes) @ vectors.T

    def _released(self, average: Array, clip: float, share: float) -> Array:
        """The average on the support with noise: for a pure budget in the norm of the cube."""
        n, about = self.design.n, "clipped residuals"
        part = self.purse.part(share)
        if not self.purse.pure:
            entry = clip * self.length / math.sqrt(self.s)
            self.noise = math.sqrt(noise_variance(part, n, self.s, entry))
            return self.purse.release(average, 2 * clip * self.length / n, share, about)
        self.noise = math.sqrt(noise_variance(part, n, self.s, clip * self.bound))
        noisy, made = k_norm(
            average,
            norm="linf",
            sensitivity=2 * clip * self.bound / n,
            epsilon=float(part.epsilon),
            rng=self.purse.rng,
            about=about,
        )
        self.purse.ledger.append(made)
        return noisy

    def _settle(self, phase: SelectionPhase) -> None:
        """The coordinates whose released values are far from 0, by the deviation of their error."""
        if self.s == self.design.d:
            return
        statistics = clipped_normal(phase.clip, max(self.sigma, phase.clip / 8)).square
        each = (self.noise**2 + statistics * self.square / self.design.n) / phase.slope**2
        deviation = math.sqrt(each) * np.sqrt(np.diag(self.inverse @ self.inverse))
        level = SETTLED * deviation if phase.settled is None else phase.settled
        self.settled = self.support[np.abs(self.coef[self.support]) > level]
