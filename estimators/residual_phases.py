"""The phases of one fit of linear regression on clipped residuals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from estimators.core.base import (
    Array,
    settled_entries,
)
from estimators.core.design import Design
from estimators.core.purse import Purse
from estimators.core.second_moment import (
    SecondMoment,
    moment_noise,
    released_moment,
    row_stretch,
)
from estimators.core.unsure_moment import ErrorsOnAxes, Step
from minimax.core.calibration import ball_noise_variance, part_of_budget
from minimax.methods.phase_plan import (
    WIDE_RATIO,
    PlannedPhase,
    Setting,
    best_last_ratio,
    best_phases,
    predicted_phases,
)
from minimax.methods.residual_clip import clipped_normal
from minimax.problems.regression.residual_clipped import best_course

SECOND_MOMENT_SHARES = (0.02, 0.05, 0.1, 0.2, 0.3)
"""Parts of the budget among which that of a private second moment is chosen."""
USUAL_SHARES = (0.05, 0.15, 0.8)
"""Shares of the phases, of what is left, that are assumed for this choice."""
TYPICAL_SQUARE = 1 / 3
"""E|x|^2/row_bound^2 that is assumed for this choice: that of rows uniform in a cube."""
SQUARE_SHARE = 0.005
"""Part of the budget with which the rows' mean square, one number, is released."""
UNKNOWN_SIGMA = 0.1
"""sigma over row_bound radius that is assumed for it where sigma is not given."""
SCALE_SHARE = 0.06
"""Part of the budget with which residuals' scales are found, if sigma is not given."""
ADAPTIVE_SHARES = (0.1, 0.2, 0.7)
"""Parts of the rest that the phases then get: nothing is known to plan them with."""
PURE_SLACK = 2.0
"""Noise of density e^{-|z|} is more often far off than normal noise of its variance: among 500 fits
of 10,000 rows with 3 features at epsilon = .5 (seeds 0 to 499) the largest squared error is 2,800
times the median without it, and 8 times with it."""
SCALE_RANGE = 1e-6, 1e6
"""Scales are looked for between these multiples of row_bound radius."""


class Plan(NamedTuple):
    """What a fit does: `print(model.plan_)` shows it."""

    phases: tuple[PlannedPhase, ...]
    row_length: float
    """Rows count in a release with at most this length."""
    second_moment_share: float
    """Part of the budget spent on the second moment."""
    scale_share: float
    """Part of the budget spent on the residuals' scale."""
    risk: float
    """E<x, coef - beta>^2, as predicted."""
    proven: float | None
    """A bound on it for isotropic rows and N(0, sigma^2) noise, where there is one."""

    def __str__(self) -> str:
        lines = [
            f"phase {k}: clip {p.clip:.4g}, {p.share:.1%} of the budget, risk {p.risk:.3g}"
            for k, p in enumerate(self.phases, 1)
        ]
        shares = (("second moment", self.second_moment_share), ("scale", self.scale_share))
        lines[:0] = [f"{name}: {share:.1%} of the budget" for name, share in shares if share]
        lines += [] if self.proven is None else [f"proven risk: {self.proven:.3g}"]
        return "\n".join(lines)


class Outlook(NamedTuple):
    """What public numbers let expect, for rows that are assumed where S is not known."""

    risk: float
    """E<x, coef - beta>^2 as predicted."""
    start: float
    """That of the first value at most."""


@dataclass(frozen=True)
class UnitNoise:
    """The risk that a release with clip 1 has: compared by its numbers, so that fits that know the
    same are planned once."""

    pure: bool
    strength: float
    left: float
    """What is left of the budget."""
    n: int
    d: int
    length: float
    inverse_trace: float

    @cached_property
    def whole(self) -> float:
        """With all that is left."""
        part = part_of_budget(self.pure, self.strength, self.left)
        return float(self.inverse_trace * ball_noise_variance(part, self.n, self.d, self.length))

    def __call__(self, share: float) -> float:
        """With this share of it: a variance falls with epsilon^2, or with mu^2."""
        return self.whole / (share * share if self.pure else share)


@lru_cache(maxsize=256)
def _usual_risk(setting: Setting) -> float:
    """With the usual shares: a function of public numbers, and the same for many fits."""
    return predicted_phases(setting, USUAL_SHARES, 1.0)[-1].risk


class Run:
    """One fit: what it has found so far. Everything it decides on is public or released."""

    design: Design
    moment: SecondMoment
    errors: ErrorsOnAxes | None = None
    """Followed where S is released."""
    plan: Plan
    sigma: float
    noise: float
    inverse: Array
    """What the last phase's average was multiplied by, but for its slope."""

    def __init__(
        self, y: Array, row_bound: float, reach: float, start: Array, purse: Purse
    ) -> None:
        self.y, self.purse, self.row_bound, self.reach = y, purse, row_bound, reach
        self.n, self.d = len(y), len(start)
        self.coef, self.moment_share, self.stretch = start, 0.0, 1.0

    def outlook(self, known: SecondMoment | None, sigma: float | None) -> Outlook:
        """Before any record is read: what share S gets, and what all can be expected to reach."""
        spread = UNKNOWN_SIGMA * self.reach * self.row_bound if sigma is None else float(sigma)
        if known is None:
            self.moment_share = min(
                SECOND_MOMENT_SHARES,
                key=lambda share: _usual_risk(self._assumed(share, spread)),
            )
            setting = self._assumed(self.moment_share, spread)
        else:
            setting = self._setting(known, self.row_bound, spread, 0.0)
        risk = _usual_risk(setting)
        if not risk < setting.signal:
            risk = min(risk, best_phases(setting)[-1].risk)
        return Outlook(risk, setting.signal)

    def _assumed(self, share: float, sigma: float) -> Setting:
        """With a second moment that is released with this share, for rows that are assumed."""
        length = math.sqrt(TYPICAL_SQUARE) * self.row_bound
        noise = moment_noise(self.purse, math.sqrt(length * self.row_bound), self.d, share)
        moment = SecondMoment.isotropic(self.d, length**2, noise)
        return self._setting(moment, length, sigma, share + SQUARE_SHARE)

    def read(self, X: Any, known: SecondMoment | None) -> None:
        """The last check of X, its rows' norms and, where it is to be released, S.

        S is the second moment that steps see, E w x x', w shortening rows to their root mean square
        at most, which most rows nearly have: it moves by sqrt(2) row_length row_bound/n at most.
        """
        self.design = Design.checked(X, settled_entries)
        self.shorten = self.design.shortening(self.row_bound)
        if known is not None:
            self.moment, self.row_length, self.weights = known, self.row_bound, self.shorten
            return
        square = self._released_square()
        self.row_length = math.sqrt(square)
        self.weights = self.design.shortening(self.row_length)
        roots = self.weights * self.shorten
        gram = self.design.gram(np.sqrt(roots, out=roots))
        bound = math.sqrt(self.row_length * self.row_bound)
        self.moment = released_moment(gram, bound, self.moment_share, self.purse)
        self.stretch = row_stretch(square, self.moment, self.row_bound)
        self.errors = ErrorsOnAxes(self.moment, self.n, self.reach, self.stretch)

    def _released_square(self) -> float:
        """E|x|^2 with noise, between its deviation and row_bound^2."""
        average = np.array([self.design.mean_square(self.row_bound)])
        sensitivity = self.row_bound**2 / self.n
        noisy = self.purse.release(average, sensitivity, SQUARE_SHARE, "mean square of rows")
        least = self.purse.deviation(sensitivity, 1, SQUARE_SHARE)
        return min(max(float(noisy[0]), least), self.row_bound**2)

    @property
    def moments_share(self) -> float:
        """Part of the budget that S, and what it needs, are released with."""
        return self.moment_share + SQUARE_SHARE if self.moment_share else 0.0

    def _setting(self, moment: SecondMoment, length: float, sigma: float, spent: float) -> Setting:
        n, d, purse = self.n, self.d, self.purse
        left = purse.pure, purse.strength, 1 - spent
        unit_noise = UnitNoise(*left, n, d, length, moment.inverse_trace)
        signal = self.reach**2 * moment.largest * self.stretch
        slack = PURE_SLACK if purse.pure else 1.0
        return Setting(sigma, signal, d / n, unit_noise, moment.mismatch, self.stretch**2, slack)

    def planned_phases(self, sigma: float, *, proven: bool) -> None:
        """All phases, planned before the first of them."""
        self.sigma = sigma
        plan = self._proven_plan(sigma) if proven else self._predicted_plan(sigma)
        self._keep(plan, [self.step(phase, sigma) for phase in plan.phases])

    def _proven_plan(self, sigma: float) -> Plan:
        """For isotropic rows, in units in which row_bound is 1."""
        n, d = self.n, self.d
        at = {"n": float(n), "d": float(d), "sigma": sigma, "radius": self.reach * self.row_bound}
        planned = best_course(at, self.purse.privacy)
        setting = self._setting(self.moment, self.row_length, sigma, 0.0)
        phases = tuple(
            _phase(setting, float(p.clip), float(p.share), float(p.slope)) for p in planned.phases
        )
        return Plan(phases, self.row_length, 0.0, 0.0, phases[-1].risk, float(planned.risk))

    def _predicted_plan(self, sigma: float) -> Plan:
        spent = self.moments_share
        phases = best_phases(self._setting(self.moment, self.row_length, sigma, spent))
        phases = tuple(p._replace(share=p.share * (1 - spent)) for p in phases)
        return Plan(phases, self.row_length, spent, 0.0, phases[-1].risk, None)

    def adaptive_phases(self) -> None:
        """Phases whose clips follow the scale of the residuals before them, found privately."""
        if not self.sees_scale:
            self.planned_phases(self.row_bound * self.reach, proven=False)
            return
        spent = self.moments_share + SCALE_SHARE
        phases, done = [], []
        for k, share in enumerate(ADAPTIVE_SHARES):
            self.sigma = self._found_scale(SCALE_SHARE / len(ADAPTIVE_SHARES))
            setting = self._setting(self.moment, self.row_length, self.sigma, spent)
            last = k == len(ADAPTIVE_SHARES) - 1
            ratio = best_last_ratio(setting, share) if last else WIDE_RATIO
            slope = clipped_normal(ratio, 1.0).slope
            phase = _phase(setting, ratio * self.sigma, share, slope)
            phases.append(phase._replace(share=share * (1 - spent)))
            done.append(self.step(phases[-1], None))
        shares = self.moments_share, SCALE_SHARE
        self._keep(Plan(tuple(phases), self.row_length, *shares, phases[-1].risk, None), done)

    @property
    def sees_scale(self) -> bool:
        """Whether residuals' scales can be found, by what is known of the rows' lengths."""
        weight = self.n * min(self.moment.trace / self.row_length**2, 1.0)
        return self.purse.sees_scale(weight, SCALE_SHARE / len(ADAPTIVE_SHARES))

    def _keep(self, plan: Plan, risks: list[float]) -> None:
        """The plan, with risks that know how unsure S is: phases were planned without that."""
        pairs = zip(plan.phases, risks, strict=True)
        phases = tuple(phase._replace(risk=max(phase.risk, risk)) for phase, risk in pairs)
        self.plan = plan._replace(phases=phases, risk=phases[-1].risk)

    @property
    def risk_before_last(self) -> float:
        """E<x, b - beta>^2 before the last phase, as predicted."""
        earlier = self.plan.phases[:-1]
        return earlier[-1].risk if earlier else self.reach**2 * self.moment.largest * self.stretch

    def _deviation(self, phase: PlannedPhase) -> float:
        return self.purse.deviation(self._sensitivity(phase), self.d, phase.share)

    def _sensitivity(self, phase: PlannedPhase) -> float:
        return 2 * phase.clip * self.row_length / self.n

    def _found_scale(self, share: float) -> float:
        """That of residuals in steps: a row counts with the square of its length, up to the usual
        one, because short rows say nothing of what the coefficients miss."""
        unit = self.row_bound * self.reach
        low, high = (unit * end for end in SCALE_RANGE)
        sizes = np.abs(self.y - self.shorten * self.design.predict(self.coef))
        return self.purse.scale(sizes, self.design.energies(self.row_length), low, high, share)

    def step(self, phase: PlannedPhase, sigma: float | None) -> float:
        """One phase: X is read once. The risk it leaves, by what is known of S.

        sigma is the deviation of the responses' noise; None: that of the residuals was found.
        """
        total = self.design.clipped_correlation(
            self.y, self.coef, self.shorten, self.weights, phase.clip
        )
        noisy = self.purse.release(
            total / self.n, self._sensitivity(phase), phase.share, "clipped residuals"
        )
        self.noise = self._deviation(phase)
        self.inverse, risk = self.moment.inverse, phase.risk
        if self.errors is not None:
            deviation = self.sigma if sigma is None else self.errors.residual_deviation(sigma)
            gain = self.errors.step(Step(phase.clip, phase.slope, self.noise), deviation)
            self.inverse, risk = self.errors.mapped(gain), self.errors.risk
        self.coef = self.coef + self.inverse @ noisy / phase.slope
        return risk


def _phase(setting: Setting, clip: float, share: float, slope: float) -> PlannedPhase:
    """A phase with the risk that it leaves, to leading order."""
    noise = setting.unit_noise(share) * (clip / slope) ** 2
    statistics = setting.spread * clipped_normal(clip, setting.sigma).square / slope**2
    return PlannedPhase(clip, share, slope, float(statistics + noise))
