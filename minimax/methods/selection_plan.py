r"""Phases of clipped residuals that also choose the coordinates, planned by their predicted risk.

A phase forms z = b + (noisy average of clipped residuals times rows)/(slope E x_j^2). It may choose
s coordinates of large |z_j| by Gumbel noise, or keep those chosen before, and it releases z there
with noise. First clips are as wide as the residuals, the last about sigma, where noise is least.
What is predicted is the risk to leading order; it is no bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import optimize

from minimax.core.calibration import Allowance, noise_variance, part_of_budget, selection_epsilon
from minimax.core.privacy import Privacy
from minimax.methods.phase_plan import (
    EARLY_RATIO,
    LAST_RATIOS,
    WORTHWHILE,
    Setting,
    best_last_ratio,
)
from minimax.methods.residual_clip import clipped_normal, predicted_phase

MOST_SELECTIONS = 3
LEVELS = np.linspace(0.05, 1.5, 59)
"""Sizes of a coefficient, over the threshold, among which the worst is looked for."""
CAUTION = 0.1
"""Weight of what the worst coefficients, all as large as can just be missed, would cost."""
LEAST_PART, MOST_PART = 0.05, 0.95
"""Of a phase's budget for the selection: either release must stay possible."""


class SelectionPhase(NamedTuple):
    """One pass over the data."""

    clip: float
    slope: float
    """What the clip leaves of a small shift: the average is divided by it."""
    selection: float
    """Part of the budget with which coordinates are chosen; 0: those of the phase before stay."""
    values: float
    """Part of the budget with which their values are released."""
    risk: float
    """E<x, b - beta>^2 after it for the worst coefficients, as predicted."""
    missed: float
    """What coefficients that were not chosen have in it."""
    settled: float | None = None
    """Above it a released coefficient is not chosen again; None: by deviations of its error."""

    @property
    def aim(self) -> float:
        """What is minimised: most coefficients are far from the threshold."""
        return self.risk - (1 - CAUTION) * self.missed


class SparsePlan(NamedTuple):
    """What a fit does: `print(model.plan_)` shows it."""

    phases: tuple[SelectionPhase, ...]
    moment_share: float
    """Part of the budget for second moments."""
    scale_share: float
    """Part of the budget for the residuals' scale."""

    def __str__(self) -> str:
        shares = (("second moment", self.moment_share), ("scale", self.scale_share))
        lines = [f"{name}: {share:.1%} of the budget" for name, share in shares if share]
        for k, p in enumerate(self.phases, 1):
            chosen = f"{p.selection:.1%} to choose, " if p.selection else ""
            lines.append(f"phase {k}: clip {p.clip:.4g}, {chosen}{p.values:.1%} for the values")
        return "\n".join(lines)


@dataclass(frozen=True)
class SparseSetting:
    """What the prediction depends on: public or released numbers."""

    n: int
    d: int
    s: int
    entry_bound: float
    square: float
    """E x_j^2."""
    length: float
    """Bound on the length of a record's row on the chosen coordinates."""
    sigma: float
    signal: float
    """E<x, b - beta>^2 before the first phase."""
    model: type[Privacy]
    """Pure, Gaussian or ZeroConcentrated."""
    pure: bool
    strength: float
    """epsilon if pure, else mu."""
    stretch: float = 1.0
    """As in `minimax.methods.phase_plan.Setting`."""

    def part(self, share: float) -> Allowance:
        return part_of_budget(self.pure, self.strength, share)

    def selection_scale(self, clip: float, slope: float, share: float) -> float:
        """Scale of the Gumbel noise on a coordinate of z."""
        epsilon = selection_epsilon(self.model, self.part(share), self.s)
        return 4 * clip * self.entry_bound / (self.n * self.square * slope * epsilon)

    def unit_noise(self, share: float) -> float:
        """The risk that values with clip and slope 1 add."""
        entry = self.length / math.sqrt(self.s)
        variance = noise_variance(self.part(share), self.n, self.s, entry)
        return float(self.s * variance / self.square)


def missed_square(scale: float, deviation: float, others: int) -> float:
    r"""The largest beta_j^2 P(j is not chosen), as predicted.

    Gumbel noise of this scale on |z_j| and on `others` coordinates that are N(0, deviation^2). A
    coefficient loses to some of them with chance A/(A + e^{|beta_j|/scale}), A the sum of the
    e^{|z_k|/scale} (`missed_chance`), which is near others * 2 exp(deviation^2/(2 scale^2)). Where
    the deviation is the larger one that sum is no average, and the scale at which it is takes its
    place.
    """
    if others == 0:
        return 0.0
    count = math.log(2 * others)
    scale = max(scale, deviation / math.sqrt(2 * count))
    threshold = count + (deviation / scale) ** 2 / 2
    u = LEVELS * threshold
    return float(scale**2 * np.max(u**2 / (1 + np.exp(u - threshold))))


def predicted_selection_phases(
    setting: SparseSetting, parts: Sequence[tuple[float, float]], ratios: Sequence[float]
) -> tuple[SelectionPhase, ...]:
    """The phases with these parts (selection, values) and clips over the residuals' deviation."""
    risk, missed, phases = setting.signal, 0.0, []
    spread = setting.s / setting.n
    for (selection, values), ratio in zip(parts, ratios, strict=True):
        seen = setting.stretch * risk
        s = math.sqrt(setting.sigma**2 + seen)
        residual = clipped_normal(ratio * s, s)
        clip, slope = ratio * s, float(residual.slope)
        if selection > 0:
            scale = setting.selection_scale(clip, slope, selection)
            deviation = math.sqrt(residual.inefficiency / (setting.n * setting.square))
            worst = missed_square(scale, deviation, setting.d - setting.s)
            missed = setting.s * setting.square * worst
        after = predicted_phase(seen, setting.sigma, ratio, spread, setting.unit_noise(values))
        risk = float(after.statistics + after.noise + after.bias / setting.stretch) + missed
        phases.append(SelectionPhase(clip, slope, selection, values, risk, missed))
    return tuple(phases)


@lru_cache(maxsize=1024)
def best_selection_phases(setting: SparseSetting, spent: float) -> tuple[SelectionPhase, ...]:
    """The phases of least predicted risk on what is left of the budget: more passes must pay."""
    best: tuple[SelectionPhase, ...] | None = None
    for selections in range(1, MOST_SELECTIONS + 1):
        for kept in (0, 1):
            found = _with_counts(setting, selections, kept, 1 - spent)
            if best is None or found[-1].aim < WORTHWHILE * best[-1].aim:
                best = found
    assert best is not None
    return best


def _with_counts(
    setting: SparseSetting, selections: int, kept: int, left: float
) -> tuple[SelectionPhase, ...]:
    """So many phases that choose, then so many that keep, with the best parts and clips."""
    count = selections + kept
    free = min(count, 2)
    """The last clips are free, the others wide."""

    def phases(logs: Sequence[float]) -> tuple[SelectionPhase, ...]:
        bounded = [min(max(v, -20.0), 20.0) for v in logs]
        odds = [math.exp(v) for v in bounded[: count - 1]] + [1.0]
        shares = [left * odd / sum(odds) for odd in odds]
        inside = [1 / (1 + math.exp(-v)) for v in bounded[count - 1 : count - 1 + selections]]
        inside = [min(max(p, LEAST_PART), MOST_PART) for p in inside] + [0.0] * kept
        parts = [(share * p, share * (1 - p)) for share, p in zip(shares, inside, strict=True)]
        last = [math.exp(v) for v in bounded[count - 1 + selections :]]
        clips = [min(max(z, LAST_RATIOS[0]), LAST_RATIOS[1]) for z in last]
        return predicted_selection_phases(setting, parts, [EARLY_RATIO] * (count - free) + clips)

    start = np.array([-1.5] * (count - 1) + [0.7] * selections + [0.5] * free)
    found = optimize.minimize(
        lambda logs: math.log(phases(logs)[-1].aim),
        start,
        method="Nelder-Mead",
        options={"xatol": 0.02, "fatol": 1e-4, "maxfev": 80 * len(start)},
    )
    return phases(found.x)


def best_last_clip(setting: SparseSetting, values: float) -> float:
    """The clip of least predicted risk, over sigma, where the start is close."""
    spread, noise = setting.s / setting.n, setting.unit_noise(values)
    return best_last_ratio(Setting(setting.sigma, 0.0, spread, lambda _: noise), values)
