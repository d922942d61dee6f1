"""Hard thresholding on numbers that are no longer private: steps as long as the descent allows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from estimators.core.base import Array
from estimators.core.design import LARGEST, Design
from estimators.core.summaries import Signs
from estimators.regression import projected
from estimators.sparse_erm import hard_threshold

STILL = 1e-10
"""A step that moves no coefficient by more than this share of the largest one ends the descent."""
SAFETY = 0.99
"""Share of the best step that is tried: the best itself would fail its test by a rounding error."""

MANY = 4
"""Entries are few if there are so many times as many columns."""


def thresholded_descent(
    design: Design,
    slope: Callable[[Array], Array],
    *,
    s: int,
    radius: float,
    steps: int,
    step_size: float | None = None,
    smoothness: float = 1.0,
    start: Array | None = None,
) -> tuple[Array, int]:
    """theta <- P(H_s(theta - eta g)) from `start`, g the mean of slope_i x_i; and the steps made.

    `slope` maps the predictions <x_i, theta> to one number per record and grows by at most
    `smoothness` per unit. Without `step_size`, steps are as long as the descent of a convex loss
    with this slope allows: H_s and P together project on the sparse vectors of the ball, so theta'
    minimises over them the quadratic that lies above the loss wherever
    smoothness |X (theta' - theta)|^2/n <= |theta' - theta|^2/eta.
    """

    def stiffness(v: Array) -> float:
        """smoothness |Xv|^2/(n |v|^2), and 0 for v = 0."""
        largest = float(np.abs(v).max())
        if largest == 0:
            return 0.0
        v = v / largest
        length = design.squared_length(few.predict(v))
        return smoothness * length / (design.n * float(v @ v))

    def move(coef: Array, gradient: Array, eta: float) -> Array:
        target = hard_threshold(coef - eta * gradient, s)
        return projected(target, radius) - coef

    def safe_move(coef: Array, gradient: Array) -> Array:
        along = np.where(coef != 0, gradient, 0.0)
        along = along if np.any(along) else hard_threshold(gradient, s)
        stiff = stiffness(along)
        if stiff == 0:
            return np.zeros_like(coef)
        # Beyond this the step ends on the ball's boundary anyway, and products might overflow.
        eta = min(SAFETY / stiff, LARGEST / float(np.abs(gradient).max()), LARGEST**3)
        while True:
            moved = move(coef, gradient, eta)
            stiff = stiffness(moved)
            if eta * stiff <= 1:
                return moved
            eta = min(SAFETY / stiff, eta / 2)

    few = design if isinstance(design, Signs) else FewColumns(design)
    coef, made = np.zeros(design.d) if start is None else start, 0
    while made < steps:
        made += 1
        gradient = design.correlate(slope(few.predict(coef))) / design.n
        if not np.isfinite(gradient).all():
            raise ValueError(f"slope: the gradient is not finite in step {made}")
        moved = safe_move(coef, gradient) if step_size is None else move(coef, gradient, step_size)
        coef = coef + moved
        if np.abs(moved).max() <= STILL * np.abs(coef).max():
            break
    return coef, made


class FewColumns:
    """Predictions of vectors with few entries: the columns of the last ones are kept together."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self._is_kept = np.zeros(design.d, dtype=bool)
        self._block = np.empty((0, 0))

    def predict(self, coef: Array) -> Array:
        """As the design's own."""
        support = np.flatnonzero(coef)
        if not len(support) or MANY * len(support) > self.design.d:
            return self.design.predict(coef)
        if not self._is_kept[support].all():
            self._is_kept, self._block = coef != 0, self.design.columns(support)
        return np.asarray(self._block @ coef[self._is_kept])
