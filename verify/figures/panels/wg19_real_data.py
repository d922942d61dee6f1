"""WG19: Tables 2 and 3, test errors on real data against the privacy budget.

The paper's own data sets do not come with this toolkit. Table 2 is run if E2006-tfidf is given;
other data stand in for both, and are called by their own names.

The toolkit's best was found on fifths held out of rows to fit to: noisy gradient steps without a
threshold, with the clip of DP-IGHT. Planned descents (`PlannedLogisticRegression`, error .097 on
Reuters), steps that clip residuals and Frank-Wolfe with clipped entries are behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from verify.figures.panel import Grid, Panel, Plan, Point
from verify.figures.panels.wg19_methods import (
    BUDGETS,
    CHOICES,
    CLIPPED_WOLFE,
    DELTA,
    DENSE,
    DP_IGHT,
    ENDS,
    EPSILONS,
    IGHT,
    PRINTED_IGHT,
    PRINTED_WOLFE,
    TWO_STAGE,
    WOLFE,
    Array,
    Contest,
    Found,
    Rng,
    Split,
    ahead_at,
    close_at,
    half_mse,
    misclassified,
)
from verify.figures.printed_cells import NearPrinted
from verify.figures.readings import Reading, Sentence, Verdict

Rows = tuple[sparse.csr_matrix, Array]
TRAIT = "Biochem.HDL"
EARNINGS = 1
"""The largest topic of Reuters-21578."""
KEPT = 0.8
"""The share of the rows to fit to where no split is public."""
E2006_FEATURES = 50_000
NEAR, NEAR_MICE = 1.4, 1.1
"""What we take "close" to mean: in Table 2, which is called close, the ratio is 1.35 at ε = 2 and
1.03 at ε = 10. On mice releasing 0 is not 1.4 times IGHT's error either."""

TABLE_2 = {
    WOLFE: (1.514, 0.093, 1.320, 0.090, 1.210, 0.084, 1.105, 0.079, 1.094, 0.071),
    TWO_STAGE: (1.286, 0.112, 1.072, 0.101, 1.042, 0.082, 0.997, 0.080, 0.986, 0.075),
    DP_IGHT: (1.057, 0.107, 0.890, 0.081, 0.854, 0.073, 0.823, 0.070, 0.810, 0.066),
}
"""Printed: mean and standard error at each ε; IGHT .785."""
TABLE_3 = {
    "IGHT": ".0625",
    "Frank-Wolfe": ".1271, .1034, .0938, .0852, .0807",
    "two-stage": ".1213, .0989, .0893, .0810, .0791",
    "DP-IGHT": ".1168, .0956, .0841, .0797, .0762",
}
"""Printed test errors at ε = 2, 4, …, 10."""
BEST = {DENSE: "the steps and the clip of DP-IGHT, and as many options"}
SPLITS = {"choice": "on other random splits of the same rows, without charge"}


# --- data -----------------------------------------------------------------------------------------


def e2006_draw(point: Point, rng: Rng, train: Rows, test: Rows) -> Split:
    """The public split, on random features."""
    (X, y), (X_test, y_test) = train, test
    some = np.sort(rng.choice(X.shape[1], int(point["d"]), replace=False))
    return Split(X[:, some], y, X_test[:, some], y_test)


def mice_draw(
    point: Point, rng: Rng, mice: dict[str, Array], traits: dict[str, list[str]]
) -> Split:
    """Mice whose HDL is known; columns and response standardised over all of them."""
    response = np.array([float(value) if value else np.nan for value in traits[TRAIT]])
    known = np.flatnonzero(np.isfinite(response))
    X = standardised(mice["X"][known].astype(float))
    return split(X, standardised(response[known]), round(KEPT * len(known)), rng)


def reuters_draw(point: Point, rng: Rng, found: dict[str, Any]) -> Split:
    """Unit rows of log (1 + count); as many rows to fit to as in the public split."""
    X = normalize(sparse.csr_matrix(found["fea"]).log1p())
    y = (found["gnd"].ravel() == EARNINGS).astype(float)
    return split(X, y, len(found["trainIdx"]), rng)


def subset_draw(point: Point, rng: Rng, found: Rows) -> Split:
    """Rows as they are, of unit length."""
    X, y = found
    return split(X, (y > 0).astype(float), round(KEPT * len(y)), rng)


def split(X: Array | sparse.csr_matrix, y: Array, kept: int, rng: Rng) -> Split:
    """Rows at random: so many to fit to, the others to judge by."""
    order = rng.permutation(len(y))
    return Split(X[order[:kept]], y[order[:kept]], X[order[kept:]], y[order[kept:]])


def standardised(values: Array) -> Array:
    """Columns of mean 0 and variance 1; a constant one is 0."""
    deviation = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1))


def points(d: int) -> Callable[[float], Point]:
    """The numbers at a budget, d features."""

    def point(epsilon: float) -> Point:
        return {"epsilon": epsilon, "delta": DELTA, "d": d}

    return point


# --- contests -------------------------------------------------------------------------------------

E2006 = Contest(
    "squared",
    s=2000,
    R=8.0,
    entry_bound=1.0,
    l1_radius=100.0,
    descent={"clip": 1.0, "s": 2000},
    two_stage={"row_bound": 0.5, "radius": 30.0, "selection_share": 0.7},
    descents=Grid({"steps": (2, 6, 18), "path": (20.0, 60.0, 200.0)}),
    vertices=Grid({"l1_radius": (10.0, 40.0, 160.0), "steps": (8, 24, 72)}),
    clipped=Grid({"entry_bound": (0.05, 0.1, 0.2), "steps": (8, 24, 72)}),
    stages=Grid({"s": (5, 20, 80), "blocks": (32, 64, 128)}),
    planned={"s": 100, "entry_bound": 0.2, "radius": 30.0},
    denses=Grid({"steps": (6, 18, 54), "path": (20.0, 60.0, 200.0)}),
)
MICE = Contest(
    "squared",
    s=50,
    R=2.0,
    entry_bound=5.0,
    l1_radius=1.0,
    descent={"clip": 10.0, "path": 3.0},
    two_stage={"row_bound": 2.0, "radius": 1.0, "selection_share": 0.7},
    descents=Grid({"s": (5, 50, 150), "steps": (1, 4, 12)}),
    vertices=Grid({"l1_radius": (0.1, 0.3, 0.9), "steps": (1, 4, 16)}),
    clipped=Grid({"entry_bound": (0.5, 1.0, 2.0), "steps": (4, 16, 48)}),
    stages=Grid({"s": (1, 3, 10), "blocks": (4, 12, 36)}),
    planned={"s": 10, "entry_bound": 2.5, "radius": 0.7},
    denses=Grid({"steps": (5, 15, 45), "path": (0.07, 0.14, 0.28)}),
)
REUTERS = Contest(
    "logistic",
    s=500,
    R=1.0,
    entry_bound=1.0,
    l1_radius=300.0,
    descent={"clip": 0.25, "s": 500},
    two_stage={"row_bound": 0.5, "selection_share": 0.7},
    descents=Grid({"steps": (10, 30, 100), "path": (10_000.0, 30_000.0, 90_000.0)}),
    vertices=Grid({"l1_radius": (2.0, 6.0, 18.0), "steps": (20, 60, 180)}),
    clipped=Grid({"entry_bound": (0.05, 0.1, 0.2), "steps": (45, 135, 405)}),
    stages=Grid({"s": (1, 3, 8), "blocks": (24, 48, 96)}),
    denses=Grid({"steps": (30, 100, 300), "path": (5_000.0, 15_000.0, 45_000.0)}),
)
SUBSET = Contest(
    "logistic",
    s=500,
    R=1.0,
    entry_bound=1.0,
    l1_radius=10.0,
    descent={"clip": 0.5, "path": 300.0},
    two_stage={"row_bound": 0.5, "selection_share": 0.7},
    descents=Grid({"s": (100, 500, 1500), "steps": (1, 3, 9)}),
    vertices=Grid({"l1_radius": (10.0, 50.0, 200.0), "steps": (5, 20, 60)}),
    clipped=Grid({"entry_bound": (0.03, 0.1, 0.3), "steps": (10, 30, 90)}),
    stages=Grid({"s": (3, 8, 20), "blocks": (4, 12, 36)}),
    denses=Grid({"steps": (10, 30, 100), "path": (100.0, 300.0, 1000.0)}),
)


# --- panels ---------------------------------------------------------------------------------------

YES, NO, EITHER = Verdict.REPRODUCED, Verdict.REVERSED, Verdict.NOT_SEPARATED
UNSEEN: Found = {(): (Verdict.NO_DATA, "never measured: the data are not at hand")}
NOISE = "1275 records: from 0, which costs .5, to IGHT there is little room"
WIDE = "the intervals cover both"
SHORT = "clipped entries make Frank-Wolfe's noise several times smaller"
VOTES = "blocks are too small to vote for the same SNPs"
TERMS = "steps in all terms at once, of unit rows"
LOUD = "too little noise: it spends 5.4 to 64, not 2 to 10"
NO_DROP = "unit rows: noise in a prediction is that of one term, and no term is lost"
SPREAD = "many SNPs carry a little each, and neighbours carry the same"
FEW = "1398 records: a step or a few are all that can be paid for, and both make them"
PRINTED_ERRORS = {f"printed, {name}": told for name, told in TABLE_3.items()}
TABLE_2_QUOTE = (
    "The results in Table 2 show that the performance of our algorithm is close to the non-private"
    " baseline (i.e., IGHT), and is much better than Frank-Wolfe and Two stage."
)
TABLE_3_QUOTE = (
    "It is obvious that our algorithm achieves the lowest test error among private algorithms on"
    " RCV1 dataset, which demonstrates the superiority of our algorithm."
)
BEST_QUOTE = (
    "Ours, not the paper's: what a reader should use is more accurate than the paper's algorithm at"
    " the same budget."
)


def panel(
    name: str,
    title: str,
    d: int,
    contest: Contest,
    sentences: tuple[Sentence, ...],
    **told: Any,
) -> Panel:
    """A table, by ε, of one data set."""
    squared = contest.loss == "squared"
    return Panel(
        id=f"WG19:{name}",
        title=title,
        x="epsilon",
        metric="test error |Xθ - y|²/2n" if squared else "share of test rows misclassified",
        point=points(d),
        error=half_mse if squared else misclassified,
        methods=contest.methods(),
        sentences=sentences,
        quick=Plan(ENDS, 5, 1),
        standard=Plan(EPSILONS, 10, 4),
        brief=Plan(ENDS, 4, 1),
        logarithmic=False,
        **told,
    )


def printed_cells(name: str) -> Reading:
    """Whether a row of Table 2 comes out as printed."""
    row = iter(TABLE_2[name])
    cells = {epsilon: (next(row), next(row)) for epsilon in EPSILONS}
    about = f"{name}: within 2 printed standard errors in every cell"
    return Reading(about, NearPrinted(name, cells), *UNSEEN[()])


E2006_PANEL = panel(
    "Table 2(a)",
    "E2006-tfidf",
    E2006_FEATURES,
    E2006,
    (
        Sentence(
            TABLE_2_QUOTE,
            (
                *close_at(DP_IGHT, IGHT, NEAR, UNSEEN),
                *ahead_at(DP_IGHT, WOLFE, UNSEEN),
                *ahead_at(DP_IGHT, TWO_STAGE, UNSEEN),
                *map(printed_cells, TABLE_2),
            ),
        ),
        Sentence(BEST_QUOTE, ahead_at(DENSE, DP_IGHT, UNSEEN)),
    ),
    draw=e2006_draw,
    data=("e2006-train", "e2006-test"),
    printed={
        "rows": "16,087 to fit to, 3,308 to test",
        "features": "50,000 at random",
        "s*": "2000",
        **BUDGETS,
        "IGHT": ".785; the other cells with their standard errors are in the readings",
    },
    ours={**CHOICES, **BEST, "centring": "none", "grids": "placed without the data"},
)
MICE_PANEL = panel(
    "Table 2(b)",
    "a stand-in: HDL of mice from their SNPs, none of the paper's data",
    10_346,
    MICE,
    (
        Sentence(
            TABLE_2_QUOTE,
            (
                *close_at(DP_IGHT, IGHT, NEAR_MICE, {(): (EITHER, NOISE)}),
                *close_at(PRINTED_IGHT, IGHT, NEAR_MICE, {(): (EITHER, NOISE)}),
                *ahead_at(DP_IGHT, WOLFE, {(): (EITHER, NOISE)}),
                *ahead_at(DP_IGHT, CLIPPED_WOLFE, {(2.0,): (EITHER, WIDE), (10.0,): (NO, SHORT)}),
                *ahead_at(DP_IGHT, TWO_STAGE, {(2.0,): (EITHER, NOISE), (10.0,): (YES, VOTES)}),
                *ahead_at(
                    PRINTED_IGHT, PRINTED_WOLFE, {(2.0,): (EITHER, NOISE), (10.0,): (YES, LOUD)}
                ),
            ),
        ),
        Sentence(BEST_QUOTE, ahead_at(DENSE, DP_IGHT, {(): (YES, SPREAD)})),
    ),
    draw=mice_draw,
    data=("mice", "mice-traits"),
    printed={"data": "E2006-tfidf, which this is not", **BUDGETS},
    ours={
        "rows": "1594 mice, a fifth to test; standardised over all, as if public",
        "s": "50",
        "close": f"an error below {NEAR_MICE:g} times IGHT's: below 1.4 times is releasing 0",
        **SPLITS,
        **CHOICES,
        **BEST,
    },
    caption="Animals are related: records are not independent. Releasing 0 costs about .5.",
)
REUTERS_PANEL = panel(
    "Table 3(a)",
    "a stand-in: Reuters-21578, earnings against the rest, none of the paper's data",
    18_933,
    REUTERS,
    (
        Sentence(
            TABLE_3_QUOTE,
            (
                *ahead_at(DP_IGHT, WOLFE, {(): (YES, TERMS)}),
                *ahead_at(DP_IGHT, CLIPPED_WOLFE, {(): (YES, TERMS)}),
                *ahead_at(DP_IGHT, TWO_STAGE, {(): (YES, TERMS)}),
                *ahead_at(PRINTED_IGHT, PRINTED_WOLFE, {(): (YES, LOUD)}),
            ),
        ),
        Sentence(BEST_QUOTE, ahead_at(DENSE, DP_IGHT, {(): (YES, NO_DROP)})),
    ),
    draw=reuters_draw,
    data=("reuters",),
    printed={"data": "RCV1, which this is not", "s*": "500", **BUDGETS, **PRINTED_ERRORS},
    ours={
        "rows": "8293 stories, 2347 to test; unit rows of log (1 + count)",
        **SPLITS,
        **CHOICES,
        **BEST,
    },
    caption="Printed errors are of RCV1, and not to be compared with these.",
)
SUBSET_PANEL = panel(
    "Table 3(b)",
    "a stand-in: 1747 rows of the corpus, a thirteenth of the paper's sample",
    47_236,
    SUBSET,
    (
        Sentence(
            TABLE_3_QUOTE,
            (
                *ahead_at(DP_IGHT, WOLFE, {(): (YES, TERMS)}),
                *ahead_at(DP_IGHT, CLIPPED_WOLFE, {(): (YES, TERMS)}),
                *ahead_at(DP_IGHT, TWO_STAGE, {(): (YES, TERMS)}),
                *ahead_at(PRINTED_IGHT, PRINTED_WOLFE, {(): (YES, LOUD)}),
            ),
        ),
        Sentence(
            BEST_QUOTE, ahead_at(DENSE, DP_IGHT, {(2.0,): (EITHER, FEW), (10.0,): (YES, NO_DROP)})
        ),
    ),
    draw=subset_draw,
    data=("rcv1-subset",),
    printed={"rows": "20,242 to fit to, 20,000 to test", "s*": "500", **BUDGETS, **PRINTED_ERRORS},
    ours={"rows": "1747, a fifth to test", **SPLITS, **CHOICES, **BEST},
    caption="Too few rows to show more: the majority is 53 %. Printed errors are of all of RCV1.",
)

PANELS = (E2006_PANEL, MICE_PANEL, REUTERS_PANEL, SUBSET_PANEL)
