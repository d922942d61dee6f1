"""CWZ19: Figures 1(a), 1(c), 2(a), 3(a), 3(c), the means of §5."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimators import NoisyMean
from verify.figures.panel import (
    ZERO,
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
from verify.figures.readings import Comparable, ExponentBetween, Reading, Sentence, Verdict

Array = NDArray[np.float64]
Rng = np.random.Generator
LOW_DIMENSION = 20
BUDGET = {"budget": "(0.5, 10/n^1.1): n δ = 3.98 at n = 10⁴, which protects nobody for sure"}


class Means(NamedTuple):
    """Records N(mu, I) and their mean."""

    records: Array
    mu: Array


def dense_point(n: float) -> Point:
    """d = 20."""
    return {"n": n, "d": LOW_DIMENSION, "epsilon": 0.5, "delta": 10 / n**1.1}


def dense_draw(point: Point, rng: Rng) -> Means:
    """mu_j uniform on (-10, 10)."""
    mu = rng.uniform(-10, 10, int(point["d"]))
    return Means(mu + rng.standard_normal((int(point["n"]), len(mu))), mu)


def distance(estimate: Array, sample: Means) -> float:
    """|estimate - mu|_2."""
    return float(np.linalg.norm(estimate - sample.mu))


def size(point: Point) -> int:
    """How long an estimate is."""
    return int(point["d"])


def theory_range(point: Point) -> float:
    """R = 4 sigma sqrt(log n), as printed: without what |mu_j| <= 10 needs."""
    return 4 * math.sqrt(math.log(point["n"]))


def truncated(
    sample: Means, point: Point, rng: Rng, *, R: str, noise: Literal["paper", "analytic"]
) -> Fit:
    """Algorithm 3.1 with one of the three truncations."""
    ranges: dict[str, Any] = {
        "theory": theory_range(point),
        "none": float(np.abs(sample.records).max()),
        "quantile": "quantile",
    }
    made = NoisyMean(budget(point), R=ranges[R], calibration=noise, random_state=seed_of(rng))
    found = released(made.fit(sample.records), point)
    return found._replace(epsilon=math.inf) if R == "none" else found


def best_mean(sample: Means, point: Point, rng: Rng) -> Fit:
    """Planned phases."""
    made = NoisyMean(budget(point), sigma=1.0, radius=10.0, random_state=seed_of(rng))
    return released(made.fit(sample.records), point)


exact = partial(truncated, noise="analytic")

FIGURE_1A = Panel(
    id="CWZ19:Figure 1(a)",
    title="Algorithm 3.1, d = 20: three choices of R",
    x="n",
    metric="ℓ₂ error",
    point=dense_point,
    draw=dense_draw,
    error=distance,
    methods=(
        Method("no truncation", "not private", partial(truncated, R="none", noise="paper")),
        Method("theory R", "printed", partial(truncated, R="theory", noise="paper")),
        Method(
            "theory R, exact noise", "private", partial(truncated, R="theory", noise="analytic")
        ),
        Method("data-driven R", "private", partial(truncated, R="quantile", noise="analytic")),
        Method("planned", "best", best_mean),
        zero(size),
    ),
    sentences=(
        Sentence(
            "the data-driven method incurs comparable errors to the no truncation case and the"
            " theoretical choice of R",
            (
                Reading(
                    "data-driven R against theory R",
                    Comparable("data-driven R", "theory R, exact noise"),
                    Verdict.REVERSED,
                    "pooled percentiles cut the outer coordinates: a floor that n does not lower",
                ),
            ),
        ),
        Sentence(
            "the error falls with n",
            (
                Reading(
                    "theory R, exact noise: exponent -1 where privacy dominates",
                    ExponentBetween("theory R, exact noise", -1.15, -0.85),
                    Verdict.REPRODUCED,
                    "noise of standard deviation proportional to 1/n",
                ),
            ),
        ),
    ),
    quick=Plan((5000, 20000, 100000), 20),
    standard=Plan((5000, 10000, 20000, 40000, 70000, 100000), 100),
    brief=Plan((5000, 100000), 6),
    printed={"d": "20", "mean": "uniform on (-10, 10)", **BUDGET},
    ours={"n": "the values on the axis"},
    caption=f"{ZERO} costs {10 / math.sqrt(3) * math.sqrt(20):.3g}.",
)

PANELS = (FIGURE_1A,)
