"""A budget that is spent in shares, by Gaussian or, if it is pure, by K-norm noise."""

from __future__ import annotations

import math

import numpy as np

from estimators.core.accounting import LedgerEntry
from estimators.core.base import Array
from estimators.core.mechanisms import bisected_quantile, gaussian, k_norm
from minimax.core.calibration import Allowance, ball_noise_variance, budget_of, part_of_budget
from minimax.core.privacy import SpendablePrivacy

ONE_DEVIATION = 0.6826894921370859
"""P(|g| <= 1), g standard normal: this quantile of |residuals| is their deviation."""
CLEAR = 4
"""Deviations of noise that a count stands out by, if a scale is to be found with it."""
UNSEEN_SCALE = "too few rows count to find sigma, which is taken to be that of the largest signal"
SCALE_QUERIES = 8
"""Noisy counts with which a scale is found."""


class Purse:
    """The budget, spent in shares: of mu^2 (or rho), or of epsilon if it is pure."""

    def __init__(self, privacy: SpendablePrivacy, rng: np.random.Generator, n: int) -> None:
        budget = budget_of(privacy)
        self.pure = budget.is_pure
        self.strength = float(budget.epsilon if self.pure else budget.mu())
        self.privacy, self.rng, self.n = privacy, rng, n
        self.ledger: list[LedgerEntry] = []

    def part(self, share: float) -> Allowance:
        return part_of_budget(self.pure, self.strength, share)

    def release(self, value: Array, sensitivity: float, share: float, about: str) -> Array:
        """The value with noise in proportion to its l2 sensitivity."""
        part = self.part(share)
        if self.pure:
            noisy, entry = k_norm(
                value,
                norm="l2",
                sensitivity=sensitivity,
                epsilon=part.epsilon,
                rng=self.rng,
                about=about,
            )
        else:
            noisy, entry = gaussian(
                value,
                l2_sensitivity=sensitivity,
                scale=sensitivity / float(part.mu()),
                rng=self.rng,
                about=about,
            )
        self.ledger.append(entry)
        return noisy

    def cube_release(self, value: Array, step: float, share: float, about: str) -> Array:
        """The value with noise, where a record moves each coordinate by at most `step`."""
        if not self.pure:
            return self.release(value, step * math.sqrt(value.size), share, about)
        noisy, entry = k_norm(
            value,
            norm="linf",
            sensitivity=step,
            epsilon=self.part(share).epsilon,
            rng=self.rng,
            about=about,
        )
        self.ledger.append(entry)
        return noisy

    def deviation(self, sensitivity: float, d: int, share: float) -> float:
        """The standard deviation of a coordinate of that noise."""
        return math.sqrt(ball_noise_variance(self.part(share), 1.0, d, sensitivity / 2))

    def scale(self, sizes: Array, weights: Array, low: float, high: float, share: float) -> float:
        """The deviation of symmetric numbers by a weighted quantile of their sizes, which is looked
        for between two public ones."""
        level, entry = bisected_quantile(
            sizes,
            ONE_DEVIATION,
            low=low,
            high=high,
            queries=SCALE_QUERIES,
            privacy=self.part(share),
            rng=self.rng,
            weights=weights,
            about="scale of the residuals",
        )
        self.ledger.append(entry)
        return level

    def sees_scale(self, weight: float, share: float) -> bool:
        """Whether the counts with which `scale` looks stand out of their noise, if numbers have
        this weight in all: where every number is below a level, (1 - ONE_DEVIATION) of it is
        counted too many."""
        noise = self.deviation(1.0, 1, share / SCALE_QUERIES)
        return (1 - ONE_DEVIATION) * weight >= CLEAR * noise
