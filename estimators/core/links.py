r"""Monotone links, y = f(<x, theta>) + noise, and the steps at which hard thresholding contracts.

**The contraction** (WX21: Theorems 5, 6, 9 and 11). One step is
theta' = H_s(theta - eta g) with g the average of f'(<x_i, theta>) (f(<x_i, theta>) - y_i) x_i, and
then the projection on a ball that holds theta*. Let F join the supports of theta, theta' and
theta*, so |F| <= 2s + s*, and let the design have the isometry constant Delta on it:
(1 - Delta) |v|^2 <= |Xv|^2/n <= (1 + Delta) |v|^2 for v supported on F.

1. By the mean value theorem f(<x, theta>) - f(<x, theta*>) = f'(between) <x, theta - theta*>, so
   without noise the step on F is (I - eta D)(theta - theta*), where D averages
   f'(between) f'(<x, theta>) x x' over records. The weights lie in [a^2, b^2], so
   a^2 (1 - Delta) <= D <= b^2 (1 + Delta) on F, and

       |I - eta D| <= max{1 - eta a^2 (1 - Delta), eta b^2 (1 + Delta) - 1}.

2. For w supported on F, |H_s(w) - w|^2 <= (|F| - s)/(|F| - s*) |w - theta*|^2: what is cut is the
   smallest. The ratio grows with |F|; at 2s + s* it is (s + s*)/(2s) = 9/16 for s = 8 s*. So
   |H_s(w) - theta*| <= (1 + 3/4) |w - theta*|, and the projection brings it no further away.

The product of (1) and (2) is at most 1/2 where (1) is at most 2/7: the **window**

    5/(7 a^2 (1 - Delta)) <= eta <= 9/(7 b^2 (1 + Delta)),

which is not empty if and only if Delta <= (9 a^2 - 5 b^2)/(9 a^2 + 5 b^2).

**Departures from the paper.** WX21 prints Delta <= (9 a^2 - 5 b^2)/14, which is not invariant to
scaling f: for its own f(x) = 8x + cos x it is 2.57, more than any isometry constant, where .0426 is
true. (For f the identity both are 2/7.) Its proof has a for a^2 in the lower end of the window, and
5 a^2 - 9 b^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline

from estimators.core.base import LinearPredictor
from estimators.core.checks import check_positive
from minimax.core.bound import OutsideRegime

Array = NDArray[np.float64]
RATE = 2 / 7
"""The contraction asked of a gradient step: thresholding multiplies distances by 7/4 at most."""
GRID = 4001
"""Places at which a link is looked at: no finite number of them is a proof."""
AGREEMENT = 1e-4
"""Largest difference between f' and the slope of f that is put down to numerics, in units of b."""


@dataclass(frozen=True)
class Link:
    """An (a, b)-monotone link f: differentiable, with 0 < a <= f' <= b.

    Both functions take and give arrays, entry by entry. Only arguments that can occur matter:
    `check` looks at an interval around 0. No look at a function is a proof: where privacy depends
    on it, use `tabulated`.
    """

    f: Callable[[Array], Array]
    derivative: Callable[[Array], Array]
    a: float
    b: float

    def __post_init__(self) -> None:
        for name in ("f", "derivative"):
            if not callable(getattr(self, name)):
                raise TypeError(f"{name} must be a function, got {getattr(self, name)!r}")
        check_positive(a=self.a, b=self.b)
        if self.a > self.b:
            raise ValueError(f"a must be at most b = {self.b!r}, got {self.a!r}")

    @property
    def largest_isometry(self) -> float:
        """(9 a^2 - 5 b^2)/(9 a^2 + 5 b^2): beyond it no step is known to contract."""
        ratio = (self.a / self.b) ** 2
        return ((1 + RATE) * ratio - (1 - RATE)) / ((1 + RATE) * ratio + (1 - RATE))

    def check(self, largest: float) -> None:
        """Raise unless, on a fine grid of [-largest, largest], f' is in [a, b] and is f's slope.

        Both must also give an entry the same value whatever the other entries are.
        """
        check_positive(largest=largest)
        t = np.linspace(-largest, largest, GRID)
        slope = evaluated("derivative", self.derivative, t)
        worst = np.argmax(np.maximum(slope - self.b, self.a - slope))
        if not self.a * (1 - 1e-9) <= slope[worst] <= self.b * (1 + 1e-9):
            raise ValueError(
                f"link: the derivative leaves [a, b] = [{self.a:g}, {self.b:g}]: "
                f"it is {slope[worst]:g} at {t[worst]:g}"
            )
        _check_entries("derivative", self.derivative, t)
        _check_entries("f", self.f, t)
        h = largest * 1e-5
        t = t * (1 - 2e-5)  # the neighbours stay inside
        slope = evaluated("derivative", self.derivative, t)
        above, below = evaluated("f", self.f, t + h), evaluated("f", self.f, t - h)
        numeric = (above - below) / ((t + h) - (t - h))
        rounding = 4 * np.finfo(float).eps * float(np.abs(above).max()) / h
        gap = np.abs(numeric - slope)
        worst = np.argmax(gap)
        if gap[worst] > AGREEMENT * self.b + rounding:
            raise ValueError(
                f"link: derivative is not that of f: it is {slope[worst]:g} at {t[worst]:g}, "
                f"where f has slope {numeric[worst]:g}"
            )

    def tabulated(self, largest: float) -> Link:
        """The link on [-largest, largest] by cubics through f and f' on a grid; constant beyond.

        Both functions are called once, on a grid that no data choose. The result works entry by
        entry, whatever they are.
        """
        t = np.linspace(-largest, largest, GRID)
        slopes = evaluated("derivative", self.derivative, t)
        cubics = CubicHermiteSpline(t, evaluated("f", self.f, t), slopes)
        steepness = cubics.derivative()
        return Link(
            lambda at: cubics(np.clip(at, -largest, largest)),
            lambda at: steepness(np.clip(at, -largest, largest)),
            self.a,
            self.b,
        )


def _check_entries(name: str, function: Callable[[Array], Array], t: Array) -> None:
    """Raise unless a part of the grid, in reverse, gets the values that it has in the whole."""
    part = slice(3 * len(t) // 4, len(t) // 3, -1)
    whole = evaluated(name, function, t)
    gap = np.abs(evaluated(name, function, t[part]) - whole[part])
    if gap.max() > 1e-9 * np.abs(whole).max():
        raise ValueError(
            f"link: {name} must work entry by entry: at {t[part][np.argmax(gap)]:g} its value "
            "depends on the other entries"
        )


def evaluated(name: str, function: Callable[[Array], Array], t: Array) -> Array:
    """A function's values, or an error that says what is wrong with them."""
    try:
        with np.errstate(all="ignore"):
            values = np.broadcast_to(np.asarray(function(t), dtype=float), t.shape)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"link: {name} must map arrays to arrays of equal shape: {error}"
        ) from None
    if not np.isfinite(values).all():
        place = t[np.argmin(np.isfinite(values))]
        raise ValueError(f"link: {name} is not finite at {place:g}")
    return values


def _same(t: Array) -> Array:
    return t


IDENTITY = Link(_same, np.ones_like, 1.0, 1.0)
"""The linear model."""


class LinkPredictor(LinearPredictor):
    """A linear predictor followed by a link; none is the identity."""

    link: Link | None

    @property
    def _link(self) -> Link:
        if self.link is not None and not isinstance(self.link, Link):
            raise TypeError(f"link must be a Link or None, got {self.link!r}")
        return IDENTITY if self.link is None else self.link

    def predict(self, X: Any) -> Array:
        """f(<x, coef_>) for each row of X."""
        return np.asarray(self._link.f(super().predict(X)), dtype=float)


def step_window(link: Link, isometry: float = 0.0) -> tuple[float, float]:
    """(low, high): the steps at which s = 8 s* halves the error; see the module's docstring.

    `isometry` is Delta, of the design on 2s + s* coordinates. Raises where there is no such step.
    """
    _check_isometry(isometry)
    if not 0 < link.largest_isometry >= isometry:
        raise OutsideRegime(
            "link: no step is known to contract: it needs 9 a^2 > 5 b^2 and an isometry of at most "
            f"(9 a^2 - 5 b^2)/(9 a^2 + 5 b^2) = {link.largest_isometry:.4g}; "
            f"got a = {link.a:g}, b = {link.b:g}, isometry = {isometry:g}"
        )
    low = (1 - RATE) / (link.a**2 * (1 - isometry))
    high = (1 + RATE) / (link.b**2 * (1 + isometry))
    return low, max(low, high)


def best_step(link: Link, isometry: float = 0.0) -> float:
    """2/(a^2 (1 - Delta) + b^2 (1 + Delta)): where the larger of the two terms of (1) is least.

    In the window whenever there is one. Raises where there is none.
    """
    step_window(link, isometry)
    return 2 / (link.a**2 * (1 - isometry) + link.b**2 * (1 + isometry))


def gradient_bound(
    link: Link, p: int, s: int, s_star: int, C: float, radius: float = 1.0, scale: float = 1.0
) -> float:
    r"""r: no gradient of the class is longer; attained if f is the identity and p >= s + s*.

    The gradient is f'(<x, theta>) (f(<x, theta>) - y) x with |x_j| <= scale, y = f(<x, theta*>) +
    noise, |noise| <= C, and theta, theta* in the ball with s, s* non-zero entries. As |theta|_1 <=
    sqrt(s) radius, |<x, theta - theta*>| <= scale (sqrt s + sqrt s*) radius, so

        r = b sqrt(p) scale (C + b scale (sqrt s + sqrt s*) radius).

    WX21 has |<x, theta>| <= |x|_inf |theta|_2 <= 1, which fails at x = (1, 1), theta = x/sqrt 2.
    """
    reach = scale * radius * (math.sqrt(s) + math.sqrt(s_star))
    return link.b * math.sqrt(p) * scale * (C + link.b * reach)


def _check_isometry(isometry: float) -> None:
    if not (0 <= isometry < 1 and math.isfinite(isometry)):
        raise ValueError(f"isometry must lie in [0, 1), got {isometry!r}")
