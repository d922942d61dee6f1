"""Hard thresholding on fixed data with a budget: WG19: Theorem 5.4 and WX21: Theorem 8.

The theorems of `minimax.problems.erm.upper` are about a given noise. Here it is what a budget asks
for, and the sparsity of the iterates and the number of steps are those of least proven error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from minimax.core.bound import Assumption, OutsideRegime, UpperBound
from minimax.core.calibration import budget_of, repeated_noise
from minimax.core.privacy import Privacy
from minimax.problems.erm.upper import (
    claimed_theorem_5_4,
    claimed_theorem_8,
    theorem_5_4,
    theorem_8,
)

MULTIPLES = (1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500)
"""Of the sparsity of the target: sparsities of the iterates that are tried."""
MOST_STEPS = 2000
UNCLIPPED = Assumption("no record's gradient on the way is longer than G", lambda at: True)
PATIENCE = 6
"""After so many numbers of steps without a gain the search ends."""


@dataclass(frozen=True)
class FixedData:
    """n records, a loss of d parameters, and a target with at most s of them.

    The averaged loss has curvature between `curvature` and `smoothness` on few coordinates, every
    record's gradient on the way is at most `G` long, and the averaged gradient at the target is at
    most `gradient` in every coordinate. The target is at most `radius` long.
    """

    n: int
    d: int
    s: int
    curvature: float
    smoothness: float
    G: float
    gradient: float
    radius: float = 1.0
    kept: int | None = None
    """Parameters that an iterate keeps; None: those of least proven error."""
    steps: int | None = None

    def __post_init__(self) -> None:
        """s <= kept <= d, and curvature <= smoothness."""
        if self.s > self.d:
            raise ValueError(f"s must be at most d = {self.d}, got {self.s}")
        if self.kept is not None and not self.s <= self.kept <= self.d:
            raise ValueError(f"kept must lie between s = {self.s} and d = {self.d}")
        if self.curvature > self.smoothness:
            raise ValueError(f"curvature must be at most smoothness = {self.smoothness:g}")

    @property
    def gap(self) -> float:
        """At least the loss of 0 above that of the target: along the way from the target to 0 it
        grows by at most gradient |target|_1 + smoothness |target|^2/2."""
        return (
            self.gradient * math.sqrt(self.s) * self.radius + self.smoothness * self.radius**2 / 2
        )


def fixed_data_bounds(data: FixedData, privacy: Privacy) -> list[UpperBound]:
    """Both theorems with their constants, at the noise of the budget, and as they are claimed."""

    def distance(kept: int, steps: int, noise: float) -> UpperBound:
        return theorem_5_4(
            d=data.d,
            s=kept,
            s_star=data.s,
            curvature=data.curvature,
            smoothness=data.smoothness,
            gradient=data.gradient,
            radius=data.radius,
            noise=noise,
            steps=steps,
        )

    def excess(kept: int, steps: int, noise: float) -> UpperBound:
        return theorem_8(
            d=data.d,
            s=kept,
            s_star=data.s,
            curvature=data.curvature,
            smoothness=data.smoothness,
            gap=data.gap,
            noise=noise,
            steps=steps,
        )

    given = {
        **{name: float(getattr(data, name)) for name in ("n", "d", "s", "G", "gradient", "radius")},
        **{name: float(getattr(data, name)) for name in ("curvature", "smoothness")},
        **privacy.parameters,
    }
    claims = [claimed_theorem_5_4(type(privacy)), claimed_theorem_8()]
    stated = [claim for claim in claims if claim and {*claim.parameters} <= {*given}]
    return [
        _best(data, privacy, distance),
        _best(data, privacy, excess),
        *(replace(claim, defaults=given) for claim in stated),
    ]


Made = Callable[[int, int, float], UpperBound]
"""A theorem at a sparsity of the iterates, a number of steps, and the noise of a gradient."""


def _best(data: FixedData, privacy: Privacy, made: Made) -> UpperBound:
    """The theorem at the settings of least proven error, or at any if none has a proof."""
    best: tuple[float, UpperBound] | None = None
    for kept in _sparsities(data):
        for bound in _while_it_pays(made, kept, data, privacy):
            value = _value(bound)
            if best is None or value < best[0]:
                best = value, replace(bound, assumptions=(*bound.assumptions, UNCLIPPED))
    assert best is not None
    return best[1]


def _sparsities(data: FixedData) -> list[int]:
    if data.kept is not None:
        return [data.kept]
    return sorted({min(math.ceil(factor * data.s), data.d) for factor in MULTIPLES})


def _while_it_pays(
    made: Made, kept: int, data: FixedData, privacy: Privacy
) -> Iterator[UpperBound]:
    """Bounds with more and more steps."""
    steps, least, since = data.steps or 1, math.inf, 0
    while steps <= MOST_STEPS and since < PATIENCE:
        noise = float(repeated_noise(budget_of(privacy), 2 * data.G / data.n, steps))
        size = min(2 * kept + data.s, data.d)
        remark = f"kept = {kept}, steps = {steps}; curvature as given on every {size} coordinates"
        bound = replace(made(kept, steps, noise), remark=remark)
        yield bound
        value = _value(bound)
        least, since = (value, 0) if value < least else (least, since + 1)
        if data.steps is not None or value == math.inf:
            return
        steps += max(1, steps // 6)


def _value(bound: UpperBound) -> float:
    try:
        return bound.value()
    except OutsideRegime:
        return math.inf
