r"""Phases of clipped residuals planned by their predicted risk, for any second moment of the rows.

For isotropic rows of length one a risk is proved, and `minimax.problems.regression.
residual_clipped` plans by it. Elsewhere phases are planned by `predicted_phase`, which is exact to
leading order if <x, e> is normal and is no bound.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minimax.core.symbolic import Number
from minimax.methods.residual_clip import clipped_normal, predicted_phase

Array = NDArray[np.float64]
EARLY_RATIO = 1.5
"""Clip of the phases before the last over the residuals' deviation. A wider one has more noise; a
smaller one moves far errors too little where <x, e> is not normal. Where the noise matters less
than a pass over the data it is up to `WIDE_RATIO`, which leaves less of an error."""
WIDE_RATIO = 3.0
"""That where the deviation is found from the residuals: they may follow one large coefficient and
not a normal law, and a narrower clip would leave an unknown part of it."""
EARLY_RATIOS = EARLY_RATIO, WIDE_RATIO
LAST_RATIOS = (0.5, 4.0)
"""Range of the last one: below, the slope would rest on sigma alone."""
MOST_PHASES = 4
EARLY_ODDS = 0.05, 10.0
"""Shares of the phases before the last, over the last one's. With less the risk is predicted to be
hardly smaller, and a far draw of an early phase's noise is not made good by the next."""
FIRST_ODDS, FIRST_STEP, LAST_STEP = -2.0, 1.0, 0.05
"""Of the search, in logs: the share of a phase that is put in front, over the last one's; steps."""
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
    slack: float = 1.0
    """Clips are as wide as if the error were so many times larger: more than 1 where the noise has
    far draws, which a phase of too narrow a clip does not make good."""


def predicted_phases(
    setting: Setting,
    shares: Sequence[Number],
    last_ratio: Number,
    early_ratio: Number = EARLY_RATIO,
) -> tuple[PlannedPhase, ...]:
    """The phases with these shares, their clips and what they are predicted to reach.

    Arrays of shares and ratios are many plans at once.
    """
    risk, phases = setting.signal, []
    early, last = ((ratio, clipped_normal(ratio, 1.0)) for ratio in (early_ratio, last_ratio))
    for k, share in enumerate(shares, 1):
        ratio, unit = last if k == len(shares) else early
        noise = setting.unit_noise(share)
        seen = setting.slack * setting.stretch * risk
        after = predicted_phase(seen, setting.sigma, ratio, setting.spread, noise, unit)
        s = np.sqrt(setting.sigma**2 + seen)
        left = min(setting.mismatch, 1.0) ** 2 * risk + after.bias / setting.stretch
        risk = after.statistics + after.noise + left
        phases.append(PlannedPhase(ratio * s, share, unit.slope, risk))
    return tuple(phases)


@lru_cache(maxsize=256)
def best_phases(setting: Setting) -> tuple[PlannedPhase, ...]:
    """The phases of least predicted risk: phases are added in front while that pays."""
    place = _best_place(setting, np.log([EARLY_RATIO, 1.0]))
    best = _plan_at(setting, place)
    for _ in range(1, MOST_PHASES):
        place = _best_place(setting, np.array([FIRST_ODDS, *place]))
        more = _plan_at(setting, place)
        if not more[-1].risk < WORTHWHILE * best[-1].risk:
            break
        best = more
    return best


@cache
def _around(size: int) -> Array:
    """A place and its neighbours on a grid."""
    return np.array(list(itertools.product((0.0, -1.0, 1.0), repeat=size)))


def _best_place(setting: Setting, place: Array) -> Array:
    """By steps to the best of all neighbours, halved where none is better.

    Places are logs, of the shares before the last one over it and of the ratios of the clips, early
    and last.
    """
    around, step = _around(len(place)), FIRST_STEP
    while step > LAST_STEP:
        places = _within_range(place + step * around)
        best = int(np.argmin(_phases_at(setting, places)[-1].risk))
        step /= 1 if best else 2
        place = places[best]
    return place


def _plan_at(setting: Setting, place: Array) -> tuple[PlannedPhase, ...]:
    return tuple(
        PlannedPhase(*(float(np.ravel(value)[0]) for value in phase))
        for phase in _phases_at(setting, place[None])
    )


def _within_range(places: Array) -> Array:
    """Shares and ratios brought into their ranges."""
    ranges = [*[EARLY_ODDS] * (places.shape[1] - 2), EARLY_RATIOS, LAST_RATIOS]
    return np.clip(places, *np.log(ranges).T)


def _phases_at(setting: Setting, places: Array) -> tuple[PlannedPhase, ...]:
    values = np.exp(places.T)
    odds, (early, last) = [*values[:-2], np.ones(len(places))], values[-2:]
    return predicted_phases(setting, list(odds / np.sum(odds, axis=0)), last, early)


def best_last_ratio(setting: Setting, share: float) -> float:
    """The clip of least predicted risk, over sigma, for a phase whose start is close: to a part in
    a thousand, which its risk does not notice."""
    ratios, statistics, noise = _last_ratios()
    risks = setting.spread * statistics + setting.unit_noise(share) * noise
    return float(ratios[np.argmin(risks)])


@cache
def _last_ratios() -> tuple[Array, Array, Array]:
    """Ratios of last clips, each with what its phase makes of a unit of spread and of unit noise,
    for residuals of deviation 1."""
    ratios = np.geomspace(*LAST_RATIOS, 2000)
    after = predicted_phase(0.0, 1.0, ratios, 1.0, 1.0)
    return ratios, np.asarray(after.statistics), np.asarray(after.noise)
