r"""Phases of clipped residuals planned by their predicted risk, for any second moment of the rows.

For isotropic rows of length one a risk is proved, and `minimax.problems.regression.
residual_clipped` plans by it. Elsewhere phases are planned by `predicted_phase`, which is exact to
leading order if <x, e> is normal and is no bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import optimize

from minimax.methods.residual_clip import clipped_normal, predicted_phase

EARLY_RATIO = 1.5
"""Clip of the phases before the last over the residuals' deviation. A wider one has more noise; a
smaller one moves far errors too little where <x, e> is not normal."""
EARLY_CLIP = EARLY_RATIO, clipped_normal(EARLY_RATIO, 1.0)
WIDE_RATIO = 3.0
"""That where the deviation is found from the residuals: they may follow one large coefficient and
not a normal law, and a narrower clip would leave an unknown part of it."""
LAST_RATIOS = (0.5, 4.0)
"""Range of the last one: below, the slope would rest on sigma alone."""
MOST_PHASES = 4
WORTHWHILE = 0.99
"""One more phase, which is one more pass over the data, must lower the risk to this part."""


class PlannedPhase(NamedTuple):
    """One noisy average of clipped residuals times rows."""

    clip: float
    share: float
    """Its part of mu^2 (or rho), or of epsilon if the budget is pure."""
    slope: float
    """What the clip leaves of a small shift: the release is divided by it."""
    risk: float
    """E<x, b - beta>^2 after it, as predicted."""


class Setting(NamedTuple):
    """What the prediction depends on: public or released numbers."""

    sigma: float
    signal: float
    """E<x, b - beta>^2 before the first phase."""
    spread: float
    """d/n."""
    unit_noise: Callable[[float], float]
    """The risk that a release with clip 1 and this share of the budget has."""
    mismatch: float = 0.0
    """Relative error of the second moment: this part of an error is left by a phase."""
    stretch: float = 1.0
    """Where rows have different lengths, those that count most are longer: what their residuals'
    variance owes to an error is so many times the risk."""


def predicted_phases(
    setting: Setting, shares: Sequence[float], last_ratio: float
) -> tuple[PlannedPhase, ...]:
    """The phases with these shares, their clips and what they are predicted to reach."""
    risk, phases = setting.signal, []
    for k, share in enumerate(shares):
        last = k == len(shares) - 1
        ratio, unit = (last_ratio, clipped_normal(last_ratio, 1.0)) if last else EARLY_CLIP
        noise = setting.unit_noise(share)
        seen = setting.stretch * risk
        after = predicted_phase(seen, setting.sigma, ratio, setting.spread, noise, unit)
        s = math.sqrt(setting.sigma**2 + seen)
        left = min(setting.mismatch, 1.0) ** 2 * risk + after.bias / setting.stretch
        risk = float(after.statistics + after.noise + left)
        phases.append(PlannedPhase(ratio * s, share, unit.slope, risk))
    return tuple(phases)


@lru_cache(maxsize=256)
def best_phases(setting: Setting) -> tuple[PlannedPhase, ...]:
    """The phases of least predicted risk: phases are added in front while that pays."""
    best = _with_phases(setting, 1)
    for count in range(2, MOST_PHASES + 1):
        more = _with_phases(setting, count)
        if not more[-1].risk < WORTHWHILE * best[-1].risk:
            break
        best = more
    return best


def _with_phases(setting: Setting, count: int) -> tuple[PlannedPhase, ...]:
    def phases(logs: Sequence[float]) -> tuple[PlannedPhase, ...]:
        odds = [*(math.exp(min(max(v, -20), 20)) for v in logs[:-1]), 1.0]
        ratio = min(max(math.exp(logs[-1]), LAST_RATIOS[0]), LAST_RATIOS[1])
        return predicted_phases(setting, [odd / sum(odds) for odd in odds], ratio)

    start = np.array([-2.0] * (count - 1) + [0.2])
    found = optimize.minimize(
        lambda logs: math.log(phases(logs)[-1].risk),
        start,
        method="Nelder-Mead",
        options={"xatol": 0.1, "fatol": 2e-3, "maxfev": 25 * count},
    )
    return phases(found.x)


def best_last_ratio(setting: Setting, share: float) -> float:
    """The clip of least predicted risk, over sigma, for a phase whose start is close."""
    noise = setting.unit_noise(share)
    found = optimize.minimize_scalar(
        lambda z: math.log(predicted_phase(0.0, setting.sigma, z, setting.spread, noise).risk),
        bounds=LAST_RATIOS,
        method="bounded",
    )
    return float(found.x)
