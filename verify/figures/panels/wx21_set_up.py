"""The synthetic regressions of WX21 §VIII-A and C and of WX19 §7.1: laws, schedule, curves.

theta* has s* random coordinates uniform on [0, 1], x is uniform on {-1, 1}^p, and
y = f(<x, theta*>) + noise, uniform on [-C, C]. At s* = 1 the relative error has no mean: an error
that does not shrink with theta* is divided by a number uniform on [0, 1]. Hence geometric means.

Two versions of every panel. (a): as the experiment is described, which starts at a normal vector
(thresholded and projected, as the algorithms do in their first step). (a'): as the algorithm is
printed, which starts at 0, with theta*/sqrt(s*), which lies in the unit ball that the algorithm
projects on.

§VIII-A names eta, s, T, delta and the start for Label-LDP-IHT alone; §VIII-C names none of them,
nor C. Where they are carried over, the panels say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimators.regression import projected
from estimators.sparse_erm import hard_threshold
from verify.figures.compound import Every, Typical, UnlessNoise
from verify.figures.panel import ZERO, Fit, Grid, Method, Point, Variant, zero
from verify.figures.readings import (
    Comparable,
    Falls,
    Flat,
    GapShrinks,
    Reading,
    Rises,
    SentenceTest,
    Verdict,
)
from verify.rates.claims.local import PAPER_LINK

Array = NDArray[np.float64]
Rng = np.random.Generator
NOISE = 0.05
"""C."""
STEP, SHORT_STEP = 0.2, 0.1
"""eta: the papers name both, and not where each was used."""
RUNS = 10
"""Of which the lowest error is plotted."""
MOST = 1.0
"""An estimate with at least so much of the error of releasing 0 at every n shows nothing: no number
was chosen for this."""
LOWEST = "lowest"
ONE_OPTION = Grid()
EIGHT_SIGNS = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) - 1
LAW = {
    "θ*": "s* random coordinates uniform on [0, 1]",
    "x": "uniform on {-1, 1}^p",
    "noise": "uniform on [-C, C]",
}
LINK_LAW = {**LAW, "f": "8x + cos x"}
PRINTED = {
    **LAW,
    "C": "0.05",
    "schedule of Label-LDP-IHT": "η = 0.2 or 0.1, s = s*, T = ⌈log(n/p)⌉, δ = 10⁻³",
    "start": "a random normal Gaussian vector",
}
TEN_RUNS = {"plotted": "the lowest relative error of 10 runs"}
OURS = {
    "η": "0.2 where no other is named",
    "start": "the normal vector, thresholded and projected; 0 in the panels with a prime",
    "no better than releasing 0": "an error of at least its at every n",
}
ONE_DATA_SET = {"ten runs": "on one data set, each with its own start and noise"}
LINK_OURS = {
    "C, η, s, T, δ, start, ten runs": "those of §VIII-A, since §VIII-C names none",
    "pairs": "Figure 5 with 1 and 6 with 2, as their captions have the algorithms; the text says"
    " “Figure 6 and 5 … Figure 1 and 2, respectively”",
}
IN_CLASS = {"θ*": "divided by √s*, so that |θ*| ≤ 1 as the algorithm supposes; start 0"}


class Regression(NamedTuple):
    """Records and their coefficients."""

    X: Array
    y: Array
    theta: Array


def sign_rows(n: int, p: int, rng: Rng) -> Array:
    """n rows uniform on {-1, 1}^p."""
    octets = rng.integers(0, 256, -(-n * p // 8), dtype=np.uint8)
    return np.asarray(EIGHT_SIGNS[octets].reshape(-1)[: n * p].reshape(n, p), dtype=float)


def draw(point: Point, rng: Rng) -> Regression:
    """One sample; theta* is divided by sqrt(s*) if the point has `in_class`."""
    n, p, s = size(point, "n"), size(point), size(point, "s")
    places = rng.choice(p, s, replace=False)
    theta = np.zeros(p)
    theta[places] = rng.uniform(0, 1, s) / (math.sqrt(s) if point["in_class"] else 1.0)
    X = sign_rows(n, p, rng)
    signal = X[:, places] @ theta[places]
    if point["linked"]:
        signal = PAPER_LINK.f(signal)
    return Regression(X, signal + rng.uniform(-NOISE, NOISE, n), theta)


def random_start(point: Point, rng: Rng) -> Array:
    """A normal vector, thresholded and projected."""
    normal = rng.standard_normal(size(point))
    return np.asarray(projected(hard_threshold(normal, size(point, "s")), 1.0))


def relative_error(estimate: Array, sample: Regression) -> float:
    """|estimate - theta*|/|theta*|."""
    return float(np.linalg.norm(estimate - sample.theta) / np.linalg.norm(sample.theta))


def size(point: Point, name: str = "p") -> int:
    """A whole number of a point."""
    return int(point[name])


def rounds(point: Point) -> int:
    """T = ceil(log(n/p)), at least one."""
    return max(1, math.ceil(math.log(point["n"] / point["p"])))


def model(point: Point) -> dict[str, Any]:
    """What an estimator is told of the model."""
    link = PAPER_LINK if point["linked"] else None
    return {"s": size(point, "s"), "C": NOISE, "link": link}


# --- curves for several p, s* or epsilon ----------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """What differs between the curves of a panel, in the order in which the error should rise."""

    letter: str
    key: str
    symbol: str
    """As the curves call it."""
    values: tuple[float, ...]
    typical: bool = True
    """Whether geometric means are read."""

    @property
    def order(self) -> str:
        """The direction in which the error should rise."""
        return f"{'falling' if self.key == 'epsilon' else 'growing'} {self.symbol}"

    @property
    def middle(self) -> float:
        """The value of which there is one curve in all panels."""
        return self.values[len(self.values) // 2]

    def name(self, method: str, value: float, statistic: str = "") -> str:
        """The name of a curve, of single runs or of the lowest of ten."""
        told = f", {statistic} of {RUNS}" if statistic else ""
        return f"{method}, {self.symbol} = {value:g}{told}"

    def names(self, method: str, statistic: str = "") -> tuple[str, ...]:
        """The names of all curves of a method."""
        return tuple(self.name(method, value, statistic) for value in self.values)

    def curves(
        self,
        method: str,
        variant: Variant,
        fit: Callable[..., Fit],
        values: Sequence[float] | None = None,
        grid: Grid = ONE_OPTION,
        **also: float,
    ) -> tuple[Method, ...]:
        """One curve for every value, or for those given."""
        return tuple(
            Method(self.name(method, value), variant, fit, grid, {self.key: value, **also})
            for value in values or self.values
        )

    def lowest(
        self,
        method: str,
        fit: Callable[..., Fit],
        values: Sequence[float] | None = None,
        every: int = RUNS,
        **also: float,
    ) -> tuple[Method, ...]:
        """The same for the lowest of ten runs of a printed method, on one of so many data sets."""
        return tuple(
            replace(each, name=f"{each.name}, {LOWEST} of {RUNS}", runs=RUNS, every=every)
            for each in self.curves(method, "printed", fit, values, ONE_OPTION, **also)
        )

    def zero(self) -> Method:
        """The curve of releasing 0, whose relative error is 1 on any draws."""
        return zero(size, at={self.key: self.values[0]})

    # --- readings ---------------------------------------------------------------------------------

    def rises(
        self, method: str, statistic: str, found: Verdict, why: str, noise: bool = False
    ) -> Reading:
        """The error rises from curve to curve."""
        test = Rises(self.names(method, statistic))
        return self._reading(method, statistic, f"rises with {self.order}", test, found, why, noise)

    def flat(
        self, method: str, statistic: str, found: Verdict, why: str, noise: bool = False
    ) -> Reading:
        """All curves are within a factor 1.5."""
        test = Flat(self.names(method, statistic), 1.5)
        about = f"within 1.5 for all {self.symbol}"
        return self._reading(method, statistic, about, test, found, why, noise)

    def falls(
        self, method: str, statistic: str, found: Verdict, why: str, noise: bool = False
    ) -> Reading:
        """The error of the middle curve falls with n."""
        test = Falls(self.name(method, self.middle, statistic))
        return self._reading(method, statistic, "falls with n", test, found, why, noise)

    def fades(self, method: str, statistic: str, found: Verdict, why: str) -> Reading:
        """The last curve lies above the first, by less where n is large."""
        first, *_, last = self.names(method, statistic)
        about = f"more with {self.order}, above all at small n"
        return self._reading(method, statistic, about, GapShrinks(last, first), found, why, False)

    def alike(
        self, method: str, other: str, statistic: str, found: Verdict, why: str, noise: bool = False
    ) -> Reading:
        """Every curve is within a factor 2 of that of the other method; with `noise`, the middle
        one is, and that of the other method is not noise either."""
        values = (self.middle,) if noise else self.values
        test: SentenceTest = Every(
            tuple(
                Comparable(self.name(method, v, statistic), self.name(other, v, statistic))
                for v in values
            )
        )
        if noise:
            test = UnlessNoise(test, self.name(other, self.middle, statistic), ZERO, MOST)
        about = f"within 2 of “{other}”" + (f" at {self.symbol} = {self.middle:g}" if noise else "")
        return self._reading(method, statistic, about, test, found, why, noise)

    def _reading(
        self,
        method: str,
        statistic: str,
        about: str,
        test: SentenceTest,
        found: Verdict,
        why: str,
        noise: bool,
    ) -> Reading:
        """With `noise`, not to be read if the middle curve keeps most of the error of releasing
        0."""
        told = f"{method}, {statistic} of {RUNS} runs" if statistic else method
        if noise:
            test = UnlessNoise(test, self.name(method, self.middle, statistic), ZERO, MOST)
        return Reading(f"{told}: {about}", Typical(test) if self.typical else test, found, why)
