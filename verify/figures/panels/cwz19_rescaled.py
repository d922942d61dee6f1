"""CWZ19: (d') and (b'), sparse regression on a rescaled design, in which beta can be seen."""

from __future__ import annotations

from functools import partial

from verify.figures.panel import Method, Plan
from verify.figures.panels.cwz19_setups import (
    BEYOND,
    CONVERGES,
    DELTA,
    HIGH,
    LARGE_GAPS,
    LINEAR,
    OUTSIDE,
    PLACES,
    RESCALED,
    SEEN_NS,
    SEEN_QUICK,
    SELECTION,
    SPARSITY,
    SYMMETRIC,
    TRUNCATION,
    WIDE,
    seen_point,
)
from verify.figures.panels.cwz19_sparse_regression import (
    BEST,
    CLIPPED,
    CV,
    CV_SETTINGS,
    DRIVEN,
    DRIVEN_EXACT,
    DRIVEN_PLANNED,
    FW,
    GIVEN,
    REFERENCE,
    THEORY,
    THREE_RANGES,
    blind,
    frank_wolfe,
    hard_thresholding,
    pair,
    panel,
    truncated,
)
from verify.figures.readings import Ahead, Below, Comparable, GapShrinks, Reading, Sentence, Verdict

THEORY_PLANNED = "theory R, planned"
GIVEN_PLANNED, CV_PLANNED = "s = s*, planned", "s by CV, planned"
MANY_STEPS = "about a hundred steps of peeling share the budget: noise"
SEEN_STEPS = {"L": "3", "T": "L² log(8 L n) of Theorem 4.4; not said", "start": "0"}
NOT_PRINTED = "Not a panel of the paper: its own design shows nothing of β."

FIGURE_1D_SEEN = panel(
    "1(d')",
    "Algorithm 4.2, rescaled design, d = 100: three choices of R",
    seen_point,
    (
        *THREE_RANGES,
        Method(THEORY_PLANNED, "best", partial(truncated, R="theory", kind="planned")),
        Method(DRIVEN_PLANNED, "best", partial(truncated, kind="planned")),
        BEST,
    ),
    (
        Sentence(
            TRUNCATION,
            (
                blind(
                    f"{DRIVEN} within a factor 2 of {THEORY}",
                    Comparable(DRIVEN, THEORY),
                    DRIVEN,
                    MANY_STEPS,
                ),
                blind(
                    f"{DRIVEN_EXACT} within a factor 2 of {THEORY}",
                    Comparable(DRIVEN_EXACT, THEORY),
                    DRIVEN_EXACT,
                    MANY_STEPS,
                ),
                Reading(
                    f"{DRIVEN_PLANNED} within a factor 2 of {THEORY_PLANNED}",
                    Comparable(DRIVEN_PLANNED, THEORY_PLANNED),
                    Verdict.REPRODUCED,
                    "both are close to releasing 0 on the whole axis",
                ),
                Reading(
                    f"{DRIVEN_PLANNED} ahead of {THEORY_PLANNED} from n = 8000 on",
                    Ahead(DRIVEN_PLANNED, THEORY_PLANNED, at=(8_000.0, 16_000.0, 32_000.0)),
                    Verdict.REPRODUCED,
                    "R is a sixth, and so is the noise",
                ),
            ),
        ),
    ),
    quick=Plan(SEEN_QUICK, 6),
    standard=Plan(SEEN_NS, 100),
    brief=Plan((8_000.0,), 4),
    printed={**LINEAR, **HIGH},
    ours={**PLACES, **SYMMETRIC, **SEEN_STEPS, **RESCALED},
    caption=f"{DELTA} {BEYOND} {NOT_PRINTED}",
)

FIGURE_2B_SEEN = panel(
    "2(b')",
    "Algorithm 4.2, rescaled design, d = 100: s given or by cross-validation",
    seen_point,
    (
        *pair(GIVEN, CV, "printed", "printed"),
        *pair(GIVEN_PLANNED, CV_PLANNED, "best", "planned"),
    ),
    (
        Sentence(
            SELECTION,
            (
                blind(f"{CV} within a factor 2 of {GIVEN}", Comparable(CV, GIVEN), CV, MANY_STEPS),
                Reading(
                    f"{CV_PLANNED} within a factor 2 of {GIVEN_PLANNED}",
                    Comparable(CV_PLANNED, GIVEN_PLANNED),
                    Verdict.REPRODUCED,
                    "both are close to releasing 0 on the whole axis",
                ),
                Reading(
                    f"{CV_PLANNED}: the s chosen is below 25, the middle of its grid",
                    Below(CV_PLANNED, 25.0, note="s"),
                    Verdict.REPRODUCED,
                    "few coordinates rise above the noise, and the others cost",
                ),
            ),
        ),
    ),
    quick=Plan(SEEN_QUICK, 6),
    standard=Plan(SEEN_NS, 50),
    brief=Plan((2_000.0, 8_000.0), 4),
    printed={**LINEAR, **HIGH},
    ours={**PLACES, **SYMMETRIC, **SEEN_STEPS, **CV_SETTINGS, **RESCALED},
    caption=f"{DELTA} {NOT_PRINTED}",
)

FIGURE_3D_SEEN = panel(
    "3(d')",
    "Sparse regression, rescaled design, d = 100: against other methods",
    seen_point,
    (
        Method(DRIVEN, "printed", partial(truncated, kind="printed")),
        Method(DRIVEN_PLANNED, "best", partial(truncated, kind="planned")),
        BEST,
        Method(FW, "peer", frank_wolfe),
        Method(REFERENCE, "not private", hard_thresholding),
    ),
    (
        Sentence(
            LARGE_GAPS,
            (
                blind(f"{DRIVEN}: ahead of {FW}", Ahead(DRIVEN, FW), DRIVEN, MANY_STEPS),
                Reading(
                    f"{DRIVEN_PLANNED}: ahead of {FW}",
                    Ahead(DRIVEN_PLANNED, FW),
                    Verdict.REVERSED,
                    "behind at small n, about the same at the end",
                ),
                Reading(
                    f"{CLIPPED}: ahead of {FW}",
                    Ahead(CLIPPED, FW),
                    Verdict.REPRODUCED,
                    "residuals are shorter than responses",
                ),
            ),
        ),
        Sentence(
            OUTSIDE,
            (
                Reading(
                    f"{FW}: more than s*/2 coordinates outside the support are not 0",
                    Below(FW, SPARSITY / 2, note="outside", above=True),
                    Verdict.REPRODUCED,
                    "it moves to a vertex in every step, often a wrong one",
                ),
            ),
        ),
        Sentence(
            CONVERGES,
            (
                Reading(
                    f"{CLIPPED}: the gap to {REFERENCE} shrinks",
                    GapShrinks(CLIPPED, REFERENCE),
                    Verdict.REVERSED,
                    "at small n it is ahead: nothing keeps the non-private estimate short",
                ),
                Reading(
                    f"{CLIPPED}: less than .6 of the error of releasing 0 at the end",
                    Below(CLIPPED, 0.6, at=(32_000.0,)),
                    Verdict.REPRODUCED,
                    "noise falls with n",
                ),
            ),
        ),
    ),
    quick=Plan(SEEN_QUICK, 10),
    standard=Plan(SEEN_NS, 100),
    brief=Plan((2_000.0, 32_000.0), 4),
    printed={**LINEAR, **WIDE},
    ours={**PLACES, **SYMMETRIC, **SEEN_STEPS, **RESCALED, FW: "l1 ball of radius √s, R = 2.5"},
    caption=f"{DELTA} {NOT_PRINTED}",
)

PANELS = (FIGURE_1D_SEEN, FIGURE_2B_SEEN, FIGURE_3D_SEEN)
