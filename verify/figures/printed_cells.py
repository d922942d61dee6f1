"""A test of a table against the numbers that a paper prints in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from attacks.intervals import student_half_width
from verify.figures.curves import ALPHA, Array, Curve, Curves
from verify.figures.readings import PLAIN, Finding, Verdict


@dataclass(frozen=True)
class NearPrinted:
    """In every cell that was measured the mean lies within so many printed standard errors of the
    printed mean; REVERSED if it plainly does not in one."""

    curve: str
    cells: Mapping[float, tuple[float, float]]
    """Place on the axis: printed mean and standard error."""
    within: float = 2.0

    def judge(self, curves: Curves) -> Finding:
        """By Student intervals in each cell."""
        curve = curves[self.curve]
        measured = [(x, v) for x, v in zip(curve.x, curve.losses, strict=True) if x in self.cells]
        if not measured:
            raise ValueError(f"{curve.name} was not measured at any of {sorted(self.cells)}")
        inside, outside, told = [], [], []
        for x, values in measured:
            printed, error = self.cells[x]
            half = student_half_width(values, ALPHA / len(measured))
            gap = abs(float(values.mean()) - printed)
            inside.append(gap + half < self.within * error)
            outside.append(gap - half > self.within * error)
            told.append(
                f"{values.mean():.4g} ± {half:.2g}, printed {printed:g} ({error:g}) at {x:g}"
            )
        plain = Verdict.REVERSED if any(outside) else Verdict.NOT_SEPARATED
        return Finding(Verdict.REPRODUCED if all(inside) else plain, "; ".join(told))

    def shown(self, curves: Curves) -> Curves:
        """Every trial is the printed mean."""
        return self._planted(curves, lambda printed, error: printed)

    def denied(self, curves: Curves) -> Curves:
        """... and far above."""
        return self._planted(curves, lambda printed, error: printed + PLAIN * self.within * error)

    def _planted(self, curves: Curves, value: Callable[[float, float], float]) -> Curves:
        curve: Curve = curves[self.curve]

        def planted(x: float, values: Array) -> Array:
            return np.full_like(values, value(*self.cells[x])) if x in self.cells else values

        losses = tuple(planted(x, v) for x, v in zip(curve.x, curve.losses, strict=True))
        return {**curves, curve.name: replace(curve, losses=losses)}
