"""What a private regression on a table does, as public numbers decide it."""

from __future__ import annotations

import math
from typing import NamedTuple

from estimators.core.purse import Purse
from estimators.tables.ranges import count_noise, size_part, tail_part

LEAST_RANGES, MOST_RANGES = 0.05, 0.4
"""Part of the budget that finding ranges may cost."""
RANGE_NOISE = 0.04
"""Noise of a count, over the records, that ranges are paid for."""
BLIND_NOISE = 0.13
"""Where it is larger even so, ranges cannot be found."""
FEWEST = 5.0
"""Records times strength over coefficients: with less, only the mean is released, if there is an
intercept."""
LEAST_TAILS, MOST_TAILS, TAIL_NOISE = 0.015, 0.05, 0.01
"""The same for the reach of the responses, which predictions are clamped to."""
SANDWICH_PART = 0.05
FIRST_GRAM, SECOND_GRAM = 0.12, 0.13
"""Parts of the budget, where ranges cost least, of the second moments that rows are whitened by."""
QUANTILE_PART = 0.01
PURE_QUANTILE_PART = 0.03
"""A pure budget is divided, not its square: counts need more of it."""
STEPS, PURE_STEPS = 4, 2
FINDS_SCALE = 3
"""In so many first steps the scale of the residuals is found anew."""
TELLS_CLIPPED = 2
"""What counting clipped residuals costs, in quantiles."""
TYPICAL_PART = 0.2
"""The part of the budget at which noise of other laws is compared with Gaussian noise."""
LEAST_CLAMP, CLAMP_GROWTH = 1.5, 0.22
LEAST_CUT, MOST_CUT, CUT_GROWTH = 0.0005, 0.1, 0.3


class Shares(NamedTuple):
    """Parts of the budget; they add up to 1."""

    ranges: float
    tails: float
    quantile: float
    """Of each of the quantiles of lengths and residuals."""
    first: float
    second: float
    later: tuple[float, ...]
    """Of each of the steps after the second whitening."""
    sandwich: float

    @property
    def total(self) -> float:
        """1, but for rounding."""
        quantiles = _quantiles(len(self.later) + 1) * self.quantile
        spent = self.ranges, self.tails, quantiles, self.first, self.second, self.sandwich
        return math.fsum((*spent, *self.later))


class Plan(NamedTuple):
    """All that is fixed before a record is read: `print(model.plan_)` shows it."""

    n: int
    p: int
    """The number of coefficients, the intercept among them."""
    strength: float
    """The budget as that of a Gaussian release: mu, or what noise of another law is worth."""
    constant: bool
    """Whether there are too few records for more than a mean, or, without an intercept, than 0."""
    shares: Shares
    clamp: float
    """How far, in half-widths of their ranges, numbers reach before they are clamped."""
    cut: float
    """The part of the rows that is shortened in a step."""

    @property
    def information(self) -> float:
        """n mu/p: what a record's budget allows to learn."""
        return self.n * self.strength / self.p

    def __str__(self) -> str:
        if self.constant:
            return f"{self.n} records are too few for {self.p} coefficients: the mean alone, if any"
        s = self.shares
        lines = [
            f"ranges: {s.ranges + s.tails:.1%} of the budget; numbers are clamped at"
            f" {self.clamp:.3g} half-widths",
            f"second moment and first fit: {s.first:.1%}; whitened anew: {s.second:.1%}",
            f"steps on clipped residuals: {len(s.later)}, together {math.fsum(s.later):.1%};"
            f" {self.cut:.2%} of the rows are shortened",
            f"sandwich: {s.sandwich:.1%}; each quantile of lengths and residuals: {s.quantile:.1%};"
            f" clipped residuals, counted: {TELLS_CLIPPED * s.quantile:.1%}",
        ]
        return "\n".join(lines)


def plan_of(purse: Purse, part: float, n: int, p: int, numbers: int, *, centred: bool) -> Plan:
    """The plan for n records, p coefficients and so many numbers whose ranges are searched, with
    a part of the budget.

    With n mu/p, the information, numbers are clamped farther out, fewer rows are shortened and
    residuals are clipped farther out: what clamps and clips move tends to 0.
    """
    entries = (p + 1) * (p + 2) // 2
    unit = purse.deviation(1.0, entries, TYPICAL_PART * part)
    strength = 1 / (math.sqrt(TYPICAL_PART) * unit)
    each = part * size_part(centred, True)
    blind = count_noise(purse, numbers, MOST_RANGES * each) / n > BLIND_NOISE
    constant = blind or n * strength / p < FEWEST
    root = math.sqrt(n * strength / p)
    power = 1 if purse.pure else 2
    ranges = (count_noise(purse, numbers, each) / (RANGE_NOISE * n)) ** power
    tails = (count_noise(purse, 2, part * tail_part()) / (TAIL_NOISE * n)) ** power
    return Plan(
        n,
        p,
        strength,
        constant,
        _shares(
            min(max(ranges, LEAST_RANGES), MOST_RANGES),
            min(max(tails, LEAST_TAILS), MOST_TAILS),
            purse.pure,
        ),
        max(LEAST_CLAMP, CLAMP_GROWTH * root),
        min(max(CUT_GROWTH / root, LEAST_CUT), MOST_CUT),
    )


def _quantiles(steps: int) -> int:
    """What quantiles cost together, and the count of clipped residuals, in quantiles."""
    return 3 + min(steps, FINDS_SCALE) + TELLS_CLIPPED


def _shares(ranges: float, tails: float, pure: bool) -> Shares:
    """Second moments are released beside each step; under a pure budget, where that would cost,
    they are not, there are fewer steps and no sandwich."""
    steps = PURE_STEPS if pure else STEPS
    sandwich = 0.0 if pure else SANDWICH_PART
    quantile = PURE_QUANTILE_PART if pure else QUANTILE_PART
    left = (1 - ranges - tails - SANDWICH_PART) / (1 - LEAST_RANGES - SANDWICH_PART)
    first, second = FIRST_GRAM * left, SECOND_GRAM * left
    spent = ranges, tails, _quantiles(steps) * quantile, first, second, sandwich
    each = (1 - math.fsum(spent)) / (steps - 1)
    return Shares(ranges, tails, quantile, first, second, (each,) * (steps - 1), sandwich)
