"""The truncation level R: given, theoretical, or found privately."""

from __future__ import annotations

import math
from typing import Literal

from numpy.random import Generator as Rng

from estimators.core.accounting import LedgerEntry
from estimators.core.base import Array, PrivateEstimator, split_budget
from estimators.core.checks import check_between, safe_range
from estimators.core.mechanisms import FractionBelow, Release, above_threshold_quantile
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy
from minimax.core.symbolic import Number, library

Truncation = float | Literal["theory", "quantile"]
THEORY_FACTOR = 4.0
"""K in R = radius + K sigma sqrt(log n); CWZ19 §5.1 uses 4."""
SAFE_RANGE = safe_range(2)
"""For levels and scales of means, of which squares are formed."""


def theoretical_truncation(n: Number, sigma: float, radius: float) -> Number:
    """R = radius + K sigma sqrt(log n), the choice of CWZ19: Theorem 3.2 with K = 4.

    With K >= sqrt 2 it keeps all n records of a sub-Gaussian(sigma) coordinate with high
    probability: n P(|x - mean| > K sigma sqrt(log n)) <= 2 n^{1 - K^2/2}.
    """
    lib = library(n)
    return float(radius) + THEORY_FACTOR * float(sigma) * lib.sqrt(lib.log(lib.largest(n, 2)))


def private_truncation(X: Array, epsilon: float, quantile: float, rng: Rng) -> Release[float]:
    """A data-driven level R, epsilon-DP, for data of unknown and unbounded range.

    The quantile of |x_ij| over all entries, found by AboveThreshold on a geometric grid; see
    `above_threshold_quantile`. CWZ19 §5.1 does the same with the two outer percentiles.
    """
    below, n, about = FractionBelow(X), len(X), f"truncation level, quantile {quantile:g}"
    level, entry = above_threshold_quantile(
        below, quantile, records=n, start=1e-6, growth=1.1, epsilon=epsilon, rng=rng, about=about
    )
    return Release(min(level, SAFE_RANGE[1]), entry)


def pure_share(budget: SpendablePrivacy) -> float:
    """epsilon of a pure mechanism that spends exactly this budget."""
    if isinstance(budget, (Pure, Approximate)):
        return budget.epsilon
    return math.sqrt(2 * budget.to_zcdp().rho)


class TruncatingEstimator(PrivateEstimator):
    """What the estimators that clip coordinates to [-R, R] share: how R is given or found."""

    R: Truncation
    sigma: float
    radius: float
    quantile: float
    range_share: float

    def _check_truncation(self) -> None:
        if isinstance(self.R, str):
            if self.R not in ("theory", "quantile"):
                raise ValueError(f"R must be a number, 'theory' or 'quantile', got {self.R!r}")
        else:
            check_between(*SAFE_RANGE, R=self.R)
        check_between(*SAFE_RANGE, sigma=self.sigma, radius=self.radius)
        check_between(0, 1, range_share=self.range_share, quantile=self.quantile)

    def _split_for_range(
        self, budget: SpendablePrivacy
    ) -> tuple[SpendablePrivacy | None, SpendablePrivacy]:
        """What the search for R gets, if there is one, and what is left.

        The search is pure, so all of delta stays with the release.
        """
        if self.R != "quantile":
            return None, budget
        share = float(self.range_share)
        if isinstance(budget, Approximate):
            search = Pure(budget.epsilon * share)
            return search, Approximate(budget.epsilon - search.epsilon, budget.delta)
        if isinstance(budget, Gaussian):
            raise TypeError("R='quantile' needs a Pure, Approximate or ZeroConcentrated budget")
        first, second = split_budget(budget, share, 1 - share)
        return first, second

    def _fixed_level(self, n: Number) -> Number:
        """R where it does not depend on the data."""
        if isinstance(self.R, str):
            return theoretical_truncation(n, self.sigma, self.radius)
        return float(self.R)

    def _level(
        self, X: Array, search: SpendablePrivacy | None, rng: Rng, ledger: list[LedgerEntry]
    ) -> float:
        """R; the search for it, if there is one, goes on the ledger."""
        if search is None:
            return self._fixed_level(len(X))
        level, entry = private_truncation(X, pure_share(search), self.quantile, rng)
        ledger.append(entry)
        return level
