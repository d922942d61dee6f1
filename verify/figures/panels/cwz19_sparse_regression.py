"""CWZ19: Figures 1(d), 2(b), 3(d), sparse regression on the printed design."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from estimators import (
    IterativeHardThresholding,
    PrivateFrankWolfe,
    PrivateHardThresholding,
    SparseResidualClippedRegression,
)
from verify.figures.compound import UnlessNoise
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
from verify.figures.panels.cwz19_setups import (
    BEYOND,
    CENTRAL,
    CHOICE,
    CONVERGES,
    CV_SETTINGS,
    DELTA,
    GIVEN_R,
    HIGH,
    HIGH_NS,
    HIGH_QUICK,
    INFERRED,
    LARGE_GAPS,
    LINEAR,
    OURS,
    OUTSIDE,
    PLACES,
    SELECTION,
    SPARSITIES,
    SPARSITY,
    SPLIT,
    SYMMETRIC,
    TRUNCATION,
    WIDE,
    WIDE_NS,
    Regression,
    Rng,
    distance,
    regression,
    size,
    sparse_point,
    supports,
    theory_range,
    without_guarantee,
)
from verify.figures.readings import (
    Ahead,
    Below,
    Close,
    Comparable,
    Reading,
    Sentence,
    SentenceTest,
    Verdict,
)

Schedule = Literal["printed", "private", "planned"]
FEW_STEPS = 20
"""Of the printed design, where the theorem asks for 10^6 and more."""
BY_CV: dict[str, Any] = {"s": "cv", "s_grid": SPARSITIES, "n_folds": 5, "tuning_share": 0.5}


def condition(point: Point) -> float:
    """L: s times an eigenvalue of E x x' is between 1/L and L."""
    return 3 / (SPARSITY * point["entry"] ** 2)


def schedule(point: Point, kind: Schedule) -> dict[str, Any]:
    """eta = s/(6L) and T = L^2 log(8 L n) of Theorem 4.4, or few steps where these are millions;
    with the noise that is printed, or exact. Or what is planned."""
    L = condition(point)
    if kind == "planned":
        return {"L": 3.0}
    theorem = math.ceil(L**2 * math.log(8 * L * point["n"]))
    steps = theorem if theorem < 1000 else FEW_STEPS
    given = {"step_size": SPARSITY / (6 * L), "steps": steps, "method": "peeling"}
    return {**given, "calibration": "paper"} if kind == "printed" else given


def truncated(
    sample: Regression,
    point: Point,
    rng: Rng,
    *,
    kind: Schedule,
    R: str = "driven",
    chosen: bool = False,
) -> Fit:
    """Algorithm 4.2 with one of the truncations of §5.1, and with s given or `chosen` by
    cross-validation."""
    ranges: dict[str, dict[str, Any]] = {
        "theory": {"R": theory_range(point)},
        "none": {"R": float(np.abs(sample.y).max())},
        "driven": CENTRAL,
    }
    sparsity: dict[str, Any] = BY_CV if chosen else {"s": SPARSITY}
    made = PrivateHardThresholding(
        budget(point),
        **sparsity,
        **ranges[R],
        **schedule(point, kind),
        entry_bound=point["entry"],
        random_state=seed_of(rng),
    ).fit(sample.X, sample.y)
    notes = {"s": float(made.s_), **supports(made.coef_, sample)}
    release = released(made, point, notes)
    return without_guarantee(release) if R == "none" else release


def long_step(sample: Regression, point: Point, rng: Rng) -> Fit:
    """Algorithm 4.2 with one step of the inverse curvature."""
    made = PrivateHardThresholding(
        budget(point),
        s=SPARSITY,
        R=2.5,
        entry_bound=point["entry"],
        step_size=3 / point["entry"] ** 2,
        steps=1,
        random_state=seed_of(rng),
    )
    return released(made.fit(sample.X, sample.y), point)


def residual_clipped(sample: Regression, point: Point, rng: Rng) -> Fit:
    """What a reader should use: residuals are clipped, in planned phases."""
    made = SparseResidualClippedRegression(
        budget(point),
        s=SPARSITY,
        entry_bound=point["entry"],
        radius=1.0,
        sigma=1.0,
        random_state=seed_of(rng),
    ).fit(sample.X, sample.y)
    return released(made, point, supports(made.coef_, sample))


def frank_wolfe(
    sample: Regression, point: Point, rng: Rng, *, steps: int | Literal["theory"] = "theory"
) -> Fit:
    """[45] in the smallest l1 ball that holds every beta."""
    made = PrivateFrankWolfe(
        budget(point),
        l1_radius=math.sqrt(SPARSITY),
        entry_bound=point["entry"],
        R=2.5,
        steps=steps,
        random_state=seed_of(rng),
    ).fit(sample.X, sample.y)
    return released(made, point, supports(made.coef_, sample))


def hard_thresholding(sample: Regression, point: Point, rng: Rng) -> Fit:
    """The reference."""
    return released(IterativeHardThresholding(s=SPARSITY).fit(sample.X, sample.y), point)


THEORY = "theory R"
DRIVEN, DRIVEN_EXACT = "data-driven R", "data-driven R, exact noise"
DRIVEN_PLANNED = "data-driven R, planned"
NONE, CLIPPED, LONG = "no truncation", "residuals clipped", "one long step"
FW, FW_LONG, REFERENCE = "Frank–Wolfe [45]", "Frank–Wolfe, 48 steps", "thresholding (IHT)"
BLIND = "no estimator has less than 98 per cent of the squared error of 0 on this design"
WRONG = "it moves to a vertex in every step, often a wrong one"
WOLFE = "l1 ball of radius √s, R = 2.5, the best number of steps by its theory; none is said"
LEAST = 0.9
"""From this part of the error of releasing 0 on, curves of the printed design show nothing of beta:
no estimator has less than .99 there, and few trials leave an interval about it."""
STEPS = {
    "L": "3d/s, which (D2') needs on this design; not said",
    "T": f"{FEW_STEPS}: Theorem 4.4 asks for more than 10⁶ steps where L = 300",
    "start": "0",
}
THREE_RANGES = (
    Method(NONE, "not private", partial(truncated, R="none", kind="printed")),
    Method(THEORY, "printed", partial(truncated, R="theory", kind="printed")),
    Method(DRIVEN, "printed", partial(truncated, kind="printed")),
    Method(DRIVEN_EXACT, "private", partial(truncated, kind="private")),
)
BEST = Method(CLIPPED, "best", residual_clipped)
LONG_STEP = Method(LONG, "best", long_step)


def panel(
    name: str,
    title: str,
    point: Callable[[float], Point],
    methods: tuple[Method, ...],
    sentences: tuple[Sentence, ...],
    **more: Any,
) -> Panel:
    """What all panels of sparse regression share."""
    return Panel(
        id=f"CWZ19:Figure {name}",
        title=title,
        x="n",
        metric="ℓ₂ error",
        point=point,
        draw=regression,
        error=distance,
        methods=(*methods, zero(size)),
        sentences=sentences,
        **more,
    )


def blind(
    about: str, test: SentenceTest, noisy: str, why: str = BLIND, least: float = LEAST
) -> Reading:
    """A reading of curves that are no better than releasing 0."""
    return Reading(about, UnlessNoise(test, noisy, ZERO, least), Verdict.NOT_REPRODUCIBLE, why)


def twice(first: str, second: str) -> tuple[str, SentenceTest, str]:
    """That the first has less than twice the error of the second: words, test, whom it is about."""
    about = f"{first}: less than twice the error of {second}"
    return about, Close(first, second, 2.0), first


def wrong_places(method: str, expected: tuple[Verdict, Verdict], why: str) -> tuple[Reading, ...]:
    """That a method's estimates have many coordinates outside the support, and large ones."""
    return (
        Reading(
            f"{method}: more than s* coordinates outside the support are not 0",
            Below(method, SPARSITY, note="outside", above=True),
            expected[0],
            why,
        ),
        Reading(
            f"{method}: more than half of the squared length is outside the support",
            Below(method, 0.5, note="length outside", above=True),
            expected[1],
            why,
        ),
    )


def sparse_enough(method: str) -> Reading:
    """That no more than s coordinates of a method's estimates are not 0."""
    return Reading(
        f"{method}: at most s coordinates are not 0",
        Below(method, SPARSITY + 0.5, note="non-zero"),
        Verdict.REPRODUCED,
        "peeling leaves s of them",
    )


FIGURE_1D = panel(
    "1(d)",
    "Algorithm 4.2, d = n, s = s* = 20: three choices of R",
    sparse_point(lambda n: n),
    (*THREE_RANGES, LONG_STEP, BEST),
    (
        Sentence(
            TRUNCATION,
            (
                blind(*twice(DRIVEN, THEORY)),
                blind(*twice(DRIVEN, NONE)),
                blind(*twice(DRIVEN_EXACT, THEORY)),
                blind(*twice(CLIPPED, NONE)),
            ),
        ),
    ),
    quick=Plan(HIGH_QUICK, 8),
    standard=Plan(HIGH_NS, 100),
    brief=Plan((2_000.0,), 3),
    printed={**LINEAR, **HIGH, "theory R": "4 σ √(log n)"},
    ours={**PLACES, **SYMMETRIC, **STEPS},
    caption=f"{DELTA} {BEYOND} For large d the printed step is too short to leave 0.",
)

GIVEN, CV = "s = s*", "s by CV"
GIVEN_EXACT, CV_EXACT = "s = s*, exact noise", "s by CV, exact noise"


def pair(first: str, second: str, variant: Any, kind: Schedule) -> tuple[Method, Method]:
    """s given, and s by cross-validation."""
    return (
        Method(first, variant, partial(truncated, kind=kind)),
        Method(second, variant, partial(truncated, kind=kind, chosen=True)),
    )


FIGURE_2B = panel(
    "2(b)",
    "Algorithm 4.2, d = n, s* = 20: s given or by cross-validation",
    sparse_point(lambda n: n),
    (*pair(GIVEN, CV, "printed", "printed"), *pair(GIVEN_EXACT, CV_EXACT, "private", "private")),
    (
        Sentence(
            SELECTION,
            (
                blind(f"{CV} within a factor 2 of {GIVEN}", Comparable(CV, GIVEN), CV),
                blind(
                    f"{CV_EXACT} within a factor 2 of {GIVEN_EXACT}",
                    Comparable(CV_EXACT, GIVEN_EXACT),
                    CV_EXACT,
                ),
            ),
        ),
    ),
    quick=Plan(HIGH_QUICK, 8),
    standard=Plan(HIGH_NS, 50),
    brief=Plan((100.0, 500.0), 5),
    printed={**LINEAR, **HIGH, **GIVEN_R, **CHOICE},
    ours={**PLACES, **SYMMETRIC, **STEPS, **CV_SETTINGS},
    caption=f"{DELTA} {SPLIT}",
)

FIGURE_3D = panel(
    "3(d)",
    "Sparse regression, d = 2n, s = 20: against other methods",
    sparse_point(lambda n: 2 * n),
    (
        Method(DRIVEN, "printed", partial(truncated, kind="printed")),
        Method(DRIVEN_EXACT, "private", partial(truncated, kind="private")),
        LONG_STEP,
        BEST,
        Method(FW, "peer", frank_wolfe),
        Method(FW_LONG, "peer", partial(frank_wolfe, steps=48)),
        Method(REFERENCE, "not private", hard_thresholding),
    ),
    (
        Sentence(
            LARGE_GAPS,
            (
                blind(f"{DRIVEN}: ahead of {FW}", Ahead(DRIVEN, FW), DRIVEN),
                blind(f"{LONG}: ahead of {FW}", Ahead(LONG, FW), LONG),
                blind(f"{LONG}: ahead of {FW_LONG}", Ahead(LONG, FW_LONG), LONG),
            ),
        ),
        Sentence(
            OUTSIDE,
            wrong_places(FW_LONG, (Verdict.REPRODUCED, Verdict.REPRODUCED), WRONG),
        ),
        Sentence(
            OURS,
            wrong_places(
                FW,
                (Verdict.REVERSED, Verdict.REPRODUCED),
                "one step is best by theory here, and moves to one vertex, a wrong one",
            ),
        ),
        Sentence(
            CONVERGES,
            (
                sparse_enough(DRIVEN),
                blind(
                    f"{DRIVEN}: below half the error of releasing 0",
                    Below(DRIVEN, 0.5),
                    DRIVEN,
                    "without privacy the error is above 30: there is nothing to converge to",
                ),
            ),
        ),
    ),
    quick=Plan((2_000.0, 2_500.0), 4),
    standard=Plan(WIDE_NS, 100),
    brief=Plan((2_000.0,), 3),
    printed={**LINEAR, **WIDE},
    ours={
        **PLACES,
        **INFERRED,
        **SYMMETRIC,
        **STEPS,
        FW: WOLFE,
        FW_LONG: "with fewer than s* there are not that many coordinates",
    },
    caption=f"{DELTA} The less a method moves away from 0, the better it does here.",
)

PANELS = (FIGURE_1D, FIGURE_2B, FIGURE_3D)
