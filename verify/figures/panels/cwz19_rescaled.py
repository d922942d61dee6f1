"""CWZ19: (d') and (b'), sparse regression on a rescaled design, in which beta can be seen."""

from __future__ import annotations

from functools import partial

from verify.figures.panel import Method, Plan
from verify.figures.panels.cwz19_setups import (
    BEYOND,
    CHOICE,
    CONVERGES,
    CV_SETTINGS,
    DELTA,
    GIVEN_R,
    HIGH,
    INFERRED,
    LARGE_GAPS,
    LINEAR,
    OURS,
    OUTSIDE,
    RESCALED,
    SEEN_NS,
    SEEN_PLACES,
    SEEN_QUICK,
    SELECTION,
    SPLIT,
    SYMMETRIC,
    TRUNCATION,
    WIDE,
    seen_point,
)
from verify.figures.panels.cwz19_sparse_regression import (
    BEST,
    CLIPPED,
    CV,
    DRIVEN,
    DRIVEN_EXACT,
    DRIVEN_PLANNED,
    FW,
    GIVEN,
    REFERENCE,
    THEORY,
    THREE_RANGES,
    WOLFE,
    WRONG,
    blind,
    frank_wolfe,
    hard_thresholding,
    pair,
    panel,
    sparse_enough,
    truncated,
    twice,
    wrong_places,
)
from verify.figures.readings import (
    Ahead,
    Below,
    Close,
    Comparable,
    Falls,
    Reading,
    Sentence,
    SentenceTest,
    Verdict,
)

THEORY_PLANNED = "theory R, planned"
GIVEN_PLANNED, CV_PLANNED = "s = s*, planned", "s by CV, planned"
MANY_STEPS = "about a hundred steps of peeling share the budget: noise"
SEEN_STEPS = {"L": "3", "T": "L² log(8 L n) of Theorem 4.4; not said", "start": "0"}
NOT_PRINTED = "Not a panel of the paper: its own design shows nothing of β."


def noise(about: str, test: SentenceTest, noisy: str) -> Reading:
    """A reading of the printed schedule, which is no better than releasing 0 at any n; here beta
    can be seen, and any error below that of 0 would count."""
    return blind(about, test, noisy, MANY_STEPS, least=1.0)


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
                noise(*twice(DRIVEN, THEORY)),
                noise(*twice(DRIVEN_EXACT, THEORY)),
                Reading(
                    *twice(DRIVEN_PLANNED, THEORY_PLANNED)[:2],
                    Verdict.REPRODUCED,
                    "both are close to releasing 0 on the whole axis",
                ),
            ),
        ),
        Sentence(
            OURS,
            (
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
    ours={**SEEN_PLACES, **SYMMETRIC, **SEEN_STEPS, **RESCALED},
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
                noise(f"{CV} within a factor 2 of {GIVEN}", Comparable(CV, GIVEN), CV),
                Reading(
                    f"{CV_PLANNED} within a factor 2 of {GIVEN_PLANNED}",
                    Comparable(CV_PLANNED, GIVEN_PLANNED),
                    Verdict.REPRODUCED,
                    "both are close to releasing 0 on the whole axis",
                ),
            ),
        ),
        Sentence(
            OURS,
            (
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
    printed={**LINEAR, **HIGH, **GIVEN_R, **CHOICE},
    ours={**SEEN_PLACES, **SYMMETRIC, **SEEN_STEPS, **CV_SETTINGS, **RESCALED},
    caption=f"{DELTA} {SPLIT} {NOT_PRINTED}",
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
                noise(f"{DRIVEN}: ahead of {FW}", Ahead(DRIVEN, FW), DRIVEN),
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
        Sentence(OUTSIDE, wrong_places(FW, (Verdict.NOT_SEPARATED, Verdict.NOT_SEPARATED), WRONG)),
        Sentence(
            CONVERGES,
            (
                sparse_enough(DRIVEN),
                noise(f"{DRIVEN}: the error falls with n", Falls(DRIVEN), DRIVEN),
                Reading(
                    f"{DRIVEN_PLANNED}: the error falls with n",
                    Falls(DRIVEN_PLANNED),
                    Verdict.REPRODUCED,
                    "noise falls with n",
                ),
                Reading(
                    f"{CLIPPED}: less than twice the error of {REFERENCE} at the end",
                    Close(CLIPPED, REFERENCE, 2.0, at=(32_000.0,)),
                    Verdict.REPRODUCED,
                    "noise falls with n; at small n it is ahead, as nothing keeps IHT short",
                ),
                Reading(
                    f"{CLIPPED}: less than half the error of releasing 0 at the end",
                    Below(CLIPPED, 0.5, at=(32_000.0,)),
                    Verdict.NOT_SEPARATED,
                    ".46 in the mean of few trials",
                ),
            ),
        ),
    ),
    quick=Plan(SEEN_QUICK, 10),
    standard=Plan(SEEN_NS, 100),
    brief=Plan((2_000.0, 32_000.0), 4),
    printed={**LINEAR, **WIDE},
    ours={**SEEN_PLACES, **INFERRED, **SYMMETRIC, **SEEN_STEPS, **RESCALED, FW: WOLFE},
    caption=f"{DELTA} {NOT_PRINTED}",
)

PANELS = (FIGURE_1D_SEEN, FIGURE_2B_SEEN, FIGURE_3D_SEEN)
