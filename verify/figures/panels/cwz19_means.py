"""CWZ19: Figures 1(a), 3(a), means in low dimension."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Literal

import numpy as np

from estimators import CoinPressMean, KarwaVadhanMean, NoisyMean, SampleMean, compose
from estimators.core.accounting import LedgerEntry
from estimators.core.base import split_budget
from estimators.core.mechanisms import exponential_mechanism
from minimax.core.privacy import Approximate, ZeroConcentrated
from verify.figures.panel import (
    Fit,
    Method,
    Panel,
    Plan,
    Point,
    budget,
    released,
    seed_of,
    zero,
)
from verify.figures.panels.cwz19_setups import (
    ACCURATE,
    BEYOND,
    CELLS,
    CENTRAL,
    CUBE,
    DELTA,
    DENSE_NS,
    DENSE_QUICK,
    GAUSSIAN,
    INFERRED,
    LOW,
    NOT_PRIVATE,
    OURS,
    PERCENTILES,
    PLACES,
    SHRINKING,
    TAILS,
    TRUNCATION,
    Array,
    Means,
    Rng,
    dense_point,
    distance,
    means,
    size,
    theory_range,
    without_guarantee,
)
from verify.figures.readings import (
    Ahead,
    Close,
    ExponentBetween,
    GapShrinks,
    Reading,
    Sentence,
    Verdict,
)

Noise = Literal["paper", "analytic"]
SEARCH = 0.1
"""The part of the budget that percentiles cost."""


def truncated(sample: Means, point: Point, rng: Rng, *, R: str, noise: Noise) -> Fit:
    """Algorithm 3.1 with one of the truncations of §5.1; "magnitudes" is one symmetric level."""
    ranges: dict[str, Any] = {
        "theory": {"R": theory_range(point)},
        "none": {"R": float(np.abs(sample.records).max())},
        "percentiles": {"R": "percentiles"},
        "magnitudes": CENTRAL,
    }
    made = NoisyMean(budget(point), **ranges[R], calibration=noise, random_state=seed_of(rng))
    release = released(made.fit(sample.records), point)
    return without_guarantee(release) if R == "none" else release


def charged_bounds(
    records: Array, reach: float, search: ZeroConcentrated, rng: Rng
) -> tuple[list[tuple[float, float]], tuple[LedgerEntry, ...]]:
    """Private outer 2.5 per cent points of every coordinate: 2d runs of the exponential mechanism,
    (e^2/8)-zCDP each, on cells of [-reach, reach]; replacing a record moves a count by 1."""
    n, d = records.shape
    each = math.sqrt(8 * search.rho / (2 * d))
    grid = np.linspace(-reach, reach, CELLS + 1)
    bounds: list[tuple[float, float]] = []
    ledger: tuple[LedgerEntry, ...] = ()
    for column in records.T:
        counts = np.cumsum(np.histogram(column, grid)[0])
        ends = []
        for level in TAILS:
            scores = -np.abs(counts - level * n)
            cell, entry = exponential_mechanism(scores, sensitivity=1.0, epsilon=each, rng=rng)
            ends.append(cell)
            ledger += (entry,)
        bounds.append((float(grid[min(ends)]), float(grid[max(ends) + 1])))
    return bounds, ledger


def each_truncated(sample: Means, point: Point, rng: Rng) -> Fit:
    """Algorithm 3.1 between private percentiles of every coordinate."""
    asked = budget(point)
    search, left = split_budget(asked.to_zcdp(), SEARCH, 1 - SEARCH)
    reach = 10 + theory_range(point)
    bounds, ledger = charged_bounds(sample.records, reach, search.to_zcdp(), rng)
    made = NoisyMean(left, bounds=bounds, random_state=seed_of(rng)).fit(sample.records)
    made.ledger_ = (*ledger, *made.ledger_)
    made.privacy_ = compose(made.ledger_, Approximate, asked.delta)
    return released(made, point)


def each_truncated_freely(sample: Means, point: Point, rng: Rng) -> Fit:
    """Algorithm 3.1 between the data's own percentiles of every coordinate: not private."""
    bounds = [(low, high) for low, high in np.quantile(sample.records, TAILS, axis=0).T.tolist()]
    made = NoisyMean(budget(point), bounds=bounds, random_state=seed_of(rng))
    return without_guarantee(released(made.fit(sample.records), point))


def planned(sample: Means, point: Point, rng: Rng) -> Fit:
    """Phases, planned for the class."""
    made = NoisyMean(budget(point), sigma=1.0, radius=10.0, random_state=seed_of(rng))
    return released(made.fit(sample.records), point)


def karwa_vadhan(sample: Means, point: Point, rng: Rng) -> Fit:
    """[29], Algorithm 4, in every coordinate."""
    made = KarwaVadhanMean(budget(point), sigma=1.0, random_state=seed_of(rng))
    return released(made.fit(sample.records), point)


def coin_press(sample: Means, point: Point, rng: Rng) -> Fit:
    """Three rounds."""
    made = CoinPressMean(
        budget(point), sigma=1.0, radius=10.0, iterations=3, random_state=seed_of(rng)
    )
    return released(made.fit(sample.records), point)


def sample_mean(sample: Means, point: Point, rng: Rng) -> Fit:
    """The reference."""
    return released(SampleMean().fit(sample.records), point)


THEORY, THEORY_EXACT = "theory R", "theory R, exact noise"
POOLED, POOLED_EXACT = "pooled percentiles", "pooled percentiles, exact noise"
EACH, EACH_FREE = "percentiles per coordinate", "percentiles per coordinate, not charged"
NONE, PLANNED, MAGNITUDES = "no truncation", "planned phases", "pooled quantile of |x|"
KV, COINS, PLAIN_MEAN = "Karwa–Vadhan [29]", "CoinPress", "sample mean"
FLOOR = "if pooled, they cut the outer coordinates: a floor that n does not lower"
OWN = "a short range for every coordinate, and symmetry leaves no bias"
THEORY_METHODS = (
    Method(THEORY, "printed", partial(truncated, R="theory", noise="paper")),
    Method(THEORY_EXACT, "private", partial(truncated, R="theory", noise="analytic")),
)
POOLED_METHODS = (
    Method(POOLED, "printed", partial(truncated, R="percentiles", noise="paper")),
    Method(POOLED_EXACT, "private", partial(truncated, R="percentiles", noise="analytic")),
)
EACH_METHODS = (
    Method(EACH, "private", each_truncated),
    Method(EACH_FREE, "not private", each_truncated_freely),
)
BEST = Method(PLANNED, "best", planned)


def _within_twice(
    first: str, second: str, expected: Verdict, why: str, at: tuple[float, ...] | None = None
) -> Reading:
    where = "" if at is None else f", n = {at[0]:g}"
    return Reading(
        f"{first}: less than twice the error of {second}{where}",
        Close(first, second, 2.0, at=at),
        expected,
        why,
    )


FIGURE_1A = Panel(
    id="CWZ19:Figure 1(a)",
    title="Algorithm 3.1, d = 20: three choices of R",
    x="n",
    metric="ℓ₂ error",
    point=dense_point,
    draw=means,
    error=distance,
    methods=(
        Method(NONE, "not private", partial(truncated, R="none", noise="paper")),
        *THEORY_METHODS,
        *POOLED_METHODS,
        Method(MAGNITUDES, "private", partial(truncated, R="magnitudes", noise="analytic")),
        *EACH_METHODS,
        BEST,
        zero(size),
    ),
    sentences=(
        Sentence(
            TRUNCATION,
            (
                _within_twice(POOLED, THEORY, Verdict.REVERSED, FLOOR),
                _within_twice(POOLED, NONE, Verdict.REVERSED, FLOOR),
                _within_twice(POOLED_EXACT, THEORY_EXACT, Verdict.REVERSED, FLOOR),
                _within_twice(
                    MAGNITUDES,
                    THEORY_EXACT,
                    Verdict.REPRODUCED,
                    "one search in place of two, and the noise hides the floor there",
                    at=(5_000.0,),
                ),
                _within_twice(MAGNITUDES, THEORY_EXACT, Verdict.REVERSED, FLOOR),
                _within_twice(EACH, THEORY_EXACT, Verdict.REPRODUCED, OWN),
                _within_twice(EACH, NONE, Verdict.REPRODUCED, OWN),
                _within_twice(EACH_FREE, THEORY_EXACT, Verdict.REPRODUCED, OWN),
                _within_twice(EACH_FREE, NONE, Verdict.REPRODUCED, OWN),
            ),
        ),
        Sentence(
            OURS,
            (
                Reading(
                    f"{THEORY}: exponent about -1 (below -.85), as the theorem's privacy term",
                    ExponentBetween(THEORY, most=-0.85),
                    Verdict.REPRODUCED,
                    "about -.89: R and log(1/δ) grow with n, and there is the sampling error",
                ),
                Reading(
                    f"{THEORY_EXACT}: exponent between -1 (privacy) and -1/2 (sampling)",
                    ExponentBetween(THEORY_EXACT, -1.0, -0.5),
                    Verdict.REPRODUCED,
                    "the noise, about proportional to 1/n, dominates",
                ),
            ),
        ),
    ),
    quick=Plan(DENSE_QUICK, 20),
    standard=Plan(DENSE_NS, 100),
    brief=Plan((5_000.0, 100_000.0), 14),
    printed={**GAUSSIAN, **CUBE, **LOW, "theory R": "4 σ √(log n), without a bound on μ"},
    ours={**PLACES, **PERCENTILES},
    caption=f"{DELTA} {NOT_PRIVATE} {BEYOND}",
)

FIGURE_3A = Panel(
    id="CWZ19:Figure 3(a)",
    title="Means, d = 20: against other methods",
    x="n",
    metric="ℓ₂ error",
    point=dense_point,
    draw=means,
    error=distance,
    methods=(
        *POOLED_METHODS,
        EACH_METHODS[0],
        THEORY_METHODS[1],
        BEST,
        Method(KV, "peer", karwa_vadhan),
        Method(COINS, "peer", coin_press),
        Method(PLAIN_MEAN, "not private", sample_mean),
        zero(size),
    ),
    sentences=(
        Sentence(
            SHRINKING,
            tuple(
                Reading(
                    f"{name}: the gap to the sample mean shrinks, and is there at every n",
                    GapShrinks(name, PLAIN_MEAN),
                    expected,
                    why,
                )
                for name, expected, why in (
                    (POOLED, Verdict.REPRODUCED, "the truncation's floor is what remains"),
                    (EACH, Verdict.REPRODUCED, "its searches cost less and less"),
                    (THEORY_EXACT, Verdict.REPRODUCED, "it falls faster than the sampling error"),
                    (PLANNED, Verdict.REPRODUCED, "it shrinks to 5 per cent at the end"),
                )
            ),
        ),
        Sentence(
            ACCURATE,
            (
                _within_twice(POOLED, KV, Verdict.REVERSED, FLOOR),
                _within_twice(EACH, KV, Verdict.REPRODUCED, OWN),
                _within_twice(
                    THEORY_EXACT,
                    KV,
                    Verdict.REPRODUCED,
                    "both pay for a range in every coordinate",
                ),
            ),
        ),
        Sentence(
            OURS,
            (
                Reading(
                    f"{THEORY_EXACT}: ahead of {KV}",
                    Ahead(THEORY_EXACT, KV),
                    Verdict.REVERSED,
                    "a centre for each coordinate makes the range shorter",
                ),
                Reading(
                    f"{THEORY_EXACT}: ahead of {COINS}",
                    Ahead(THEORY_EXACT, COINS),
                    Verdict.REVERSED,
                    "rounds find the centre, and the last has a short range",
                ),
                Reading(
                    f"{PLANNED}: ahead of {KV}",
                    Ahead(PLANNED, KV),
                    Verdict.REPRODUCED,
                    "balls about a centre, instead of a range in every coordinate",
                ),
                Reading(
                    f"{PLANNED}: ahead of {COINS}",
                    Ahead(PLANNED, COINS),
                    Verdict.NOT_SEPARATED,
                    "ahead at small n; both are near the sample mean at the end",
                ),
            ),
        ),
    ),
    quick=Plan(DENSE_QUICK, 50),
    standard=Plan(DENSE_NS, 100),
    brief=Plan((5_000.0, 100_000.0), 6),
    printed={**GAUSSIAN, **CUBE, **LOW},
    ours={**PLACES, **INFERRED, **PERCENTILES, "added": "CoinPress, theory R, planned phases"},
    caption=f"{DELTA} {NOT_PRIVATE} Nothing is said of [29] at this figure; §7 is.",
)

PANELS = (FIGURE_1A, FIGURE_3A)
