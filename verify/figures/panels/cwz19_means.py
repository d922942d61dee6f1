"""CWZ19: Figures 1(a), 3(a), means in low dimension."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np

from estimators import CoinPressMean, KarwaVadhanMean, NoisyMean, SampleMean, compose
from estimators.core.accounting import LedgerEntry
from estimators.core.truncation import private_window
from minimax.core.privacy import Approximate
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
    CENTRAL,
    CUBE,
    DELTA,
    DENSE_NS,
    DENSE_QUICK,
    GAUSSIAN,
    LOW,
    NOT_PRIVATE,
    PERCENTILES,
    PLACES,
    SHRINKING,
    TRUNCATION,
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
    Comparable,
    ExponentBetween,
    GapShrinks,
    Reading,
    Sentence,
    Verdict,
)

Noise = Literal["paper", "analytic"]
SEARCH = 0.1
"""The part of epsilon that percentiles cost."""


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


def each_truncated(sample: Means, point: Point, rng: Rng) -> Fit:
    """Algorithm 3.1 with percentiles of every coordinate, which share what others spend on two."""
    asked, d = budget(point), size(point)
    each = SEARCH * asked.epsilon / (2 * d)
    bounds: list[tuple[float, float]] = []
    ledger: tuple[LedgerEntry, ...] = ()
    for column in sample.records.T:
        window, entries = private_window(column[:, None], each, 0.975, rng)
        bounds.append((window.low, window.high))
        ledger += entries
    left = Approximate((1 - SEARCH) * asked.epsilon, asked.delta)
    made = NoisyMean(left, bounds=bounds, random_state=seed_of(rng)).fit(sample.records)
    made.ledger_ = (*ledger, *made.ledger_)
    made.privacy_ = compose(made.ledger_, Approximate, asked.delta)
    return released(made, point)


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
DRIVEN, DRIVEN_EXACT = "data-driven R", "data-driven R, exact noise"
NONE, PLANNED, MAGNITUDES = "no truncation", "planned phases", "quantile of |x|"
KV, COINS, PLAIN_MEAN = "Karwa–Vadhan [29]", "CoinPress", "sample mean"
FLOOR = "pooled percentiles cut the outer coordinates: a floor that n does not lower"
THEORY_METHODS = (
    Method(THEORY, "printed", partial(truncated, R="theory", noise="paper")),
    Method(THEORY_EXACT, "private", partial(truncated, R="theory", noise="analytic")),
)
DRIVEN_METHODS = (
    Method(DRIVEN, "printed", partial(truncated, R="percentiles", noise="paper")),
    Method(DRIVEN_EXACT, "private", partial(truncated, R="percentiles", noise="analytic")),
)
BEST = Method(PLANNED, "best", planned)


def _comparable(
    first: str, second: str, expected: Verdict, why: str, at: tuple[float, ...] | None = None
) -> Reading:
    where = "" if at is None else f", n = {at[0]:g}"
    return Reading(
        f"{first} within a factor 2 of {second}{where}",
        Comparable(first, second, at=at),
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
        *DRIVEN_METHODS,
        Method(MAGNITUDES, "private", partial(truncated, R="magnitudes", noise="analytic")),
        Method("percentiles per coordinate", "private", each_truncated),
        BEST,
        zero(size),
    ),
    sentences=(
        Sentence(
            TRUNCATION,
            (
                _comparable(DRIVEN, THEORY, Verdict.REVERSED, FLOOR),
                _comparable(DRIVEN, NONE, Verdict.REVERSED, FLOOR),
                _comparable(DRIVEN_EXACT, THEORY_EXACT, Verdict.REVERSED, FLOOR),
                _comparable(
                    MAGNITUDES,
                    THEORY_EXACT,
                    Verdict.REPRODUCED,
                    "one search in place of two, and the noise hides the floor there",
                    at=(5_000.0,),
                ),
                _comparable(MAGNITUDES, THEORY_EXACT, Verdict.REVERSED, FLOOR),
                _comparable(
                    "percentiles per coordinate",
                    THEORY_EXACT,
                    Verdict.REVERSED,
                    "no floor, but forty searches share what two had",
                ),
            ),
        ),
        Sentence(
            SHRINKING,
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
        *DRIVEN_METHODS,
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
                    (DRIVEN, Verdict.REPRODUCED, "the truncation's floor is what remains"),
                    (THEORY_EXACT, Verdict.REPRODUCED, "it falls faster than the sampling error"),
                    (PLANNED, Verdict.REPRODUCED, "it shrinks to 5 per cent at the end"),
                )
            ),
        ),
        Sentence(
            ACCURATE,
            (
                Reading(
                    f"{DRIVEN}: less than twice the error of {KV}",
                    Close(DRIVEN, KV, 2.0),
                    Verdict.REVERSED,
                    FLOOR,
                ),
                Reading(
                    f"{THEORY_EXACT}: less than twice the error of {KV}",
                    Close(THEORY_EXACT, KV, 2.0),
                    Verdict.REPRODUCED,
                    "both pay for a range in every coordinate",
                ),
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
    printed={**GAUSSIAN, **CUBE, **LOW, "R": "data-driven"},
    ours={**PLACES, **PERCENTILES, "added": "CoinPress, theory R, planned phases"},
    caption=f"{DELTA} {NOT_PRIVATE} Nothing is said of [29] at this figure; §7 is.",
)

PANELS = (FIGURE_1A, FIGURE_3A)
