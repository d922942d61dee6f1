"""To what entries are truncated: levels that are given, theoretical, or found privately."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.random import Generator as Rng

from estimators.core.accounting import LedgerEntry
from estimators.core.base import Array, PrivateEstimator, equal_part, split_budget
from estimators.core.checks import check_between, safe_range
from estimators.core.mechanisms import Release, above_threshold_quantile
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy
from minimax.core.problem import Problem
from minimax.core.symbolic import Number, library

Truncation = float | Literal["theory", "quantile", "percentiles"]
SEARCHED = ("quantile", "percentiles")
"""What R may be where levels are found privately."""
NEEDED = {
    "sigma": "the sub-Gaussian scale of the records, a public number",
    "radius": "a bound on each coordinate of the mean, a public number",
}
THEORY_FACTOR = 4.0
"""K in R = radius + K sigma sqrt(log n); CWZ19 §5.1 uses 4."""
SAFE_RANGE = safe_range(2)
"""For levels and scales of means, of which squares are formed."""


def known(name: str, value: float | None) -> float:
    """A public number about the records, which must be given."""
    if value is None:
        raise ValueError(f"{name} must be given: {NEEDED[name]}")
    check_between(*SAFE_RANGE, **{name: value})
    return float(value)


def theoretical_truncation(n: Number, sigma: float, radius: float) -> Number:
    """R = radius + K sigma sqrt(log n), the choice of CWZ19: Theorem 3.2 with K = 4.

    With K >= sqrt 2 it keeps all n records of a sub-Gaussian(sigma) coordinate with high
    probability: n P(|x - mean| > K sigma sqrt(log n)) <= 2 n^{1 - K^2/2}.
    """
    lib = library(n)
    return float(radius) + THEORY_FACTOR * float(sigma) * lib.sqrt(lib.log(lib.largest(n, 2)))


class Window(NamedTuple):
    """[low, high] with low < 0 < high, to which entries are truncated."""

    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the width: replacing a record moves an average by at most 2 half/n."""
        return self.high / 2 - self.low / 2

    @property
    def largest(self) -> float:
        """The largest magnitude that is left."""
        return max(-self.low, self.high)

    def within(self, bound: float) -> Window:
        """The same, but no wider than [-bound, bound]."""
        return Window(max(self.low, -bound), min(self.high, bound))

    def clipped(self, values: Array) -> Array:
        """The values, truncated."""
        return np.clip(values, np.float64(self.low), np.float64(self.high))


def private_truncation(
    X: Array,
    epsilon: float,
    quantile: float,
    rng: Rng,
    *,
    size: Callable[[Array], Array] = np.abs,
    about: str = "truncation level",
) -> Release[float]:
    """A data-driven level R, epsilon-DP, for data of unknown and unbounded range.

    The quantile of |x_ij|, or of another size, over all entries, found by AboveThreshold on a
    geometric grid; see `above_threshold_quantile`.
    """
    level, entry = above_threshold_quantile(
        X,
        quantile,
        start=1e-6,
        growth=1.1,
        epsilon=epsilon,
        rng=rng,
        size=size,
        about=f"{about}, quantile {quantile:g}",
    )
    return Release(min(level, SAFE_RANGE[1]), entry)


def above_zero(x: Array) -> Array:
    """How far each number is above 0; 0 where it is not."""
    return np.maximum(x, 0.0)


def below_zero(x: Array) -> Array:
    """How far each number is below 0; 0 where it is not."""
    return np.maximum(-x, 0.0)


def private_window(
    X: Array, epsilon: float, quantile: float, rng: Rng
) -> tuple[Window, tuple[LedgerEntry, LedgerEntry]]:
    """A data-driven window, two searches that are epsilon-DP each (CWZ19 §5.1).

    high is the `quantile` of the entries and low their (1 - quantile)-quantile, each searched from
    0 outwards: high is the quantile of max(x, 0), and -low that of max(-x, 0). So low < 0 < high,
    whatever the data and the noise; a percentile on the other side of 0 is taken for 0, which makes
    the window wider than it had to be and cuts nothing off.
    """
    high, upper = private_truncation(
        X, epsilon, quantile, rng, size=above_zero, about="truncation from above"
    )
    low, lower = private_truncation(
        X, epsilon, quantile, rng, size=below_zero, about="truncation from below"
    )
    return Window(-low, high), (upper, lower)


def row_lengths(X: Array) -> Array:
    """The l2 norm of each row, as a column; a row too long for its squares has the largest."""
    with np.errstate(over="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=float))
    return np.minimum(lengths, np.finfo(float).max)[:, None]


def pure_share(budget: SpendablePrivacy) -> float:
    """epsilon of a pure mechanism that spends exactly this budget."""
    if isinstance(budget, (Pure, Approximate)):
        return budget.epsilon
    return math.sqrt(2 * budget.to_zcdp().rho)


class TruncatingEstimator(PrivateEstimator):
    """What the estimators that clip coordinates to a window share: how it is given or found."""

    R: Truncation | Literal["auto"]
    quantile: float
    range_share: float

    def _check_truncation(self, *named: str) -> None:
        """Check R, which may be one of the names, and the numbers that it needs."""
        if not isinstance(self.R, str):
            check_between(*SAFE_RANGE, R=self.R)
        elif self.R not in named:
            names = ", ".join(map(repr, named))
            raise ValueError(f"R must be a number or one of {names}, got {self.R!r}")
        for name, value in ((name, getattr(self, name)) for name in NEEDED):
            if value is not None:
                check_between(*SAFE_RANGE, **{name: value})
            elif isinstance(self.R, str) and not self._searches:
                raise ValueError(
                    f"{name} must be given for R={self.R!r}: {NEEDED[name]}. Without it give R, or"
                    " R='quantile'"
                )
        check_between(0, 1, range_share=self.range_share, quantile=self.quantile)

    @property
    def _searches(self) -> bool:
        """Whether levels are found privately."""
        return isinstance(self.R, str) and self.R in SEARCHED

    def _can_draw(self, kind: type[SpendablePrivacy]) -> bool:
        """The search for R is pure: it has no part of a Gaussian budget."""
        return not self._searches or kind is not Gaussian

    def _known_scales(self) -> dict[str, float]:
        """sigma and radius, which have been checked to be there."""
        return {name: float(getattr(self, name)) for name in NEEDED}

    def _check_scales_of(self, problem: Problem) -> None:
        """That what is planned from sigma and radius is planned from the problem's."""
        for name in NEEDED:
            if getattr(self, name) != getattr(problem, name):
                raise ValueError(
                    f"risk_bound with R={self.R!r}: {name} must be that of the problem,"
                    f" {getattr(problem, name)!r}, got {getattr(self, name)!r}"
                )

    def _split_for_range(
        self, budget: SpendablePrivacy
    ) -> tuple[SpendablePrivacy | None, SpendablePrivacy]:
        """What the search for R gets, if there is one, and what is left.

        The search is pure, so all of delta stays with the release.
        """
        if not self._searches:
            return None, budget
        share = float(self.range_share)
        if isinstance(budget, Approximate):
            search = Pure(budget.epsilon * share)
            return search, Approximate(budget.epsilon - search.epsilon, budget.delta)
        if isinstance(budget, Gaussian):
            raise TypeError(f"R={self.R!r} needs a Pure, Approximate or ZeroConcentrated budget")
        first, second = split_budget(budget, share, 1 - share)
        return first, second

    def _reported(self, window: Window) -> float | Window:
        """`R_`: the level, or for "percentiles" the pair of them."""
        return window if self.R == "percentiles" else window.high

    def _fixed_level(self, n: Number) -> Number:
        """R where it does not depend on the data."""
        if isinstance(self.R, str):
            return theoretical_truncation(n, **self._known_scales())
        return float(self.R)

    def clip_level(self, n: int, d: int) -> float | None:
        """To what all entries are clipped before records are added up, if a fit to so many reads no
        more of them than that sum; else None."""
        return None if self._searches else float(self._fixed_level(n))

    def _window(
        self,
        X: Array,
        search: SpendablePrivacy | None,
        rng: Rng,
        ledger: list[LedgerEntry],
        *,
        rows: bool = False,
    ) -> Window:
        """[-R, R], or what is found; the search, if there is one, goes on the ledger. `rows`: R is
        for rows."""
        if search is None:
            level = float(self._fixed_level(len(X)))
            return Window(-level, level)
        quantile = float(self.quantile)
        if self.R == "percentiles":
            window, entries = private_window(X, pure_share(equal_part(search, 2)), quantile, rng)
            ledger += entries
            return window
        level, entry = private_truncation(
            row_lengths(X) if rows else X, pure_share(search), quantile, rng
        )
        ledger.append(entry)
        return Window(-level, level)
