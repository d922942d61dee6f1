"""WG19: Table 1, the rates of three methods for sparse linear regression, as fitted exponents.

Signs as features, so that rows have length sqrt(d), every eigenvalue of the second moment is 1 and
Theorem 5.4's conditions hold; responses without noise, so that all that is left is the price of
privacy (and of stopping). The toolkit's own estimator is not drawn: without noise in the responses
its clips shrink to nothing, and its error with them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Literal

import numpy as np

from estimators import NoisyHardThresholding, PrivateFrankWolfe
from verify.figures.panel import Fit, Method, Panel, Plan, Point, budget, released, seed_of, zero
from verify.figures.panels.wg19_methods import (
    DELTA,
    DP_IGHT,
    PRINTED_IGHT,
    PRINTED_WOLFE,
    TWO_STAGE,
    WOLFE,
    Array,
    Rng,
    Simulated,
    number_of_features,
    two_stage,
)
from verify.figures.readings import ExponentBetween, Reading, Sentence, Verdict

NONZERO, REACH = 4, 2.0
"""theta* has so many entries, all of one size and this l1 norm; so that |y| <= 2."""
MANY = 256
"""... or so many, more than Frank-Wolfe makes steps at first."""
STEPS = 10
DIMENSION = 32
RECORDS = 8_000
CONDITIONS = {"n·ε": "n grows, ε = 1", "δ": f"{DELTA}", "s* = s": f"{NONZERO}"}
DESIGN = {"design": "signs; no noise in y; |θ*|₁ = 2"}


def point_of_budget(spent: float) -> Point:
    """n records at epsilon = 1."""
    return {"n·ε": spent, **point_of_dimension(DIMENSION), "n": spent}


def point_of_dimension(d: float) -> Point:
    """d features."""
    return {"n": RECORDS, "d": d, "nonzero": NONZERO, "epsilon": 1.0, "delta": DELTA}


def signs(point: Point, rng: Rng) -> Simulated:
    """y = X theta* exactly, entries of X are -1 or 1."""
    n, d, nonzero = (int(point[name]) for name in ("n", "d", "nonzero"))
    X = rng.choice((-1.0, 1.0), (n, d))
    theta = np.zeros(d)
    theta[rng.choice(d, nonzero, replace=False)] = REACH / nonzero * rng.choice((-1, 1), nonzero)
    return Simulated(X, X @ theta, theta)


def excess_risk(estimate: Array, sample: Simulated) -> float:
    """Of the empirical risk |X b - y|^2/2n, whose minimum is 0 at theta*."""
    return float(np.mean((sample.X @ estimate - sample.y) ** 2) / 2)


def squared_distance(estimate: Array, sample: Simulated) -> float:
    """|b - theta*|^2."""
    return float(np.sum((estimate - sample.theta) ** 2))


def vertices(sample: Simulated, point: Point, rng: Rng, *, printed: bool) -> Fit:
    """Frank-Wolfe on the smallest l1 ball, with its own number of steps."""
    made = PrivateFrankWolfe(
        budget(point),
        l1_radius=REACH,
        R=REACH,
        selection="laplace" if printed else "exponential",
        calibration="paper" if printed else "zcdp",
        random_state=seed_of(rng),
    )
    return released(made.fit(sample.X, sample.y), point)


def descent(
    sample: Simulated, point: Point, rng: Rng, *, calibration: Literal["analytic", "paper"]
) -> Fit:
    """DP-IGHT with steps of the inverse curvature and a clip that cuts no first gradient."""
    made = NoisyHardThresholding(
        budget(point),
        s=NONZERO,
        clip=REACH * math.sqrt(point["d"]),
        steps=STEPS,
        step_size=1.0,
        calibration=calibration,
        random_state=seed_of(rng),
    )
    return released(made.fit(sample.X, sample.y), point)


OTHERS = (
    Method(
        TWO_STAGE,
        "peer",
        partial(two_stage, s=NONZERO, row_bound=math.sqrt(NONZERO), R=REACH, radius=1.0),
    ),
    Method(PRINTED_IGHT, "printed", partial(descent, calibration="paper")),
    Method(DP_IGHT, "private", partial(descent, calibration="analytic")),
    zero(number_of_features),
)
MANY_ENTRIES = f"Frank-Wolfe, {MANY} entries"
DENSE = {"d": MANY, "nonzero": MANY}
GAUSSIAN_TERM = (
    "The term O(s∗2 log d log(1/δ)/(n2ε2)) corresponds to the error introduced by the Gaussian"
    " mechanism, which matches the best known result [Kifer et al., 2012]."
)

TABLE_1A = Panel(
    id="WG19:Table 1(a)",
    title="excess empirical risk of Frank-Wolfe",
    x="n·ε",
    metric="excess empirical risk",
    point=point_of_budget,
    draw=signs,
    error=excess_risk,
    methods=(
        Method(PRINTED_WOLFE, "printed", partial(vertices, printed=True)),
        Method(WOLFE, "private", partial(vertices, printed=False)),
        Method(MANY_ENTRIES, "private", partial(vertices, printed=False), at=DENSE),
        zero(number_of_features),
    ),
    sentences=(
        Sentence(
            "Frank-Wolfe Iterative O(log(nd)/(nε)2/3) Sub-linear No No",
            (
                Reading(
                    "Frank-Wolfe: an exponent of at most -2/3 in nε",
                    ExponentBetween(WOLFE, most=-2 / 3),
                    Verdict.REPRODUCED,
                    "an upper bound: four entries are found faster than the worst case",
                ),
                Reading(
                    f"Frank-Wolfe, θ* with {MANY} entries: exponent -2/3 in nε",
                    ExponentBetween(MANY_ENTRIES, -0.85, -0.55),
                    Verdict.REPRODUCED,
                    "T + 1 vertices cannot come nearer than 1/T: 1/T + sqrt(T)/(nε) at the best T",
                ),
            ),
        ),
        Sentence(
            "They showed that their algorithm can achieve O(ω(C)2/3 log n/(nε)3/2) utility"
            " guarantee, where ω(C) is the Gaussian width of the constraint set C.",
            (
                Reading(
                    "Frank-Wolfe: exponent -3/2 in nε",
                    ExponentBetween(WOLFE, -1.65, -1.35),
                    Verdict.REVERSED,
                    "ledger WG19:Table 1, Frank-Wolfe: 2/3 is right, 3/2 a slip",
                ),
            ),
        ),
    ),
    quick=Plan((2000, 8000, 32000), 10),
    standard=Plan((2000, 4000, 8000, 16000, 32000, 64000), 40),
    brief=Plan((2000, 8000), 5),
    printed={"utility": "log(nd)/(nε)^(2/3)"},
    ours={**CONDITIONS, **DESIGN, "d": f"{DIMENSION}", "T": "the one of the best bound"},
)

TABLE_1B = Panel(
    id="WG19:Table 1(b)",
    title="squared distance of the other two",
    x="n·ε",
    metric="squared ℓ₂ distance",
    point=point_of_budget,
    draw=signs,
    error=squared_distance,
    methods=OTHERS,
    sentences=(
        Sentence(
            "While, their method can achieve O(s∗2 log(2/γ)/(nε)2) utility guarantee",
            (
                Reading(
                    "two-stage: exponent -2 in nε",
                    ExponentBetween(TWO_STAGE, -2.3, -1.7),
                    Verdict.REPRODUCED,
                    "once the votes find the support",
                ),
            ),
        ),
        Sentence(
            GAUSSIAN_TERM,
            (
                Reading(
                    "DP-IGHT, printed noise: exponent -2 in nε",
                    ExponentBetween(PRINTED_IGHT, -2.3, -1.7),
                    Verdict.REPRODUCED,
                    "noise of standard deviation 1/n on s* coefficients",
                ),
                Reading(
                    "DP-IGHT, exact noise: exponent -2 in nε",
                    ExponentBetween(DP_IGHT, -2.3, -1.7),
                    Verdict.REPRODUCED,
                    "the same, 1.5 to 2 times as much noise",
                ),
            ),
        ),
    ),
    quick=Plan((4000, 16000, 64000), 40),
    standard=Plan((4000, 8000, 16000, 32000, 64000), 100),
    brief=Plan((4000, 16000), 6),
    printed={"utility": "two-stage s*² log(2/γ)/(nε)², DP-IGHT s*² log d/(nε)²"},
    ours={**CONDITIONS, **DESIGN, "d": f"{DIMENSION}", "T of DP-IGHT": f"{STEPS}"},
)

TABLE_1C = Panel(
    id="WG19:Table 1(c)",
    title="squared distance as d grows",
    x="d",
    metric="squared ℓ₂ distance",
    point=point_of_dimension,
    draw=signs,
    error=squared_distance,
    methods=OTHERS,
    sentences=(
        Sentence(
            GAUSSIAN_TERM,
            (
                Reading(
                    "DP-IGHT, printed noise: log d, so an exponent below 1/2 in d",
                    ExponentBetween(PRINTED_IGHT, most=0.5),
                    Verdict.REVERSED,
                    "ledger WG19:Table 1: rows are sqrt(d) long, which the row of DP-IGHT lacks",
                ),
                Reading(
                    "DP-IGHT, exact noise: log d, so an exponent below 1/2 in d",
                    ExponentBetween(DP_IGHT, most=0.5),
                    Verdict.REVERSED,
                    "the error grows like d, since rows are sqrt(d) long",
                ),
                Reading(
                    "DP-IGHT, exact noise: exponent 1 in d",
                    ExponentBetween(DP_IGHT, 0.7, 1.3),
                    Verdict.REPRODUCED,
                    "the corrected row: d s*² log d/(nε)²",
                ),
                Reading(
                    "two-stage, which it matches: an exponent below 1/2 in d",
                    ExponentBetween(TWO_STAGE, most=0.5),
                    Verdict.REPRODUCED,
                    "its noise is on the s* features chosen: it does not match",
                ),
            ),
        ),
    ),
    quick=Plan((16, 64, 256), 40),
    standard=Plan((16, 32, 64, 128, 256), 100),
    brief=Plan((16, 64), 5),
    printed={"utility": "DP-IGHT s*² log d/(nε)²"},
    ours={"n": f"{RECORDS:,}", "ε, δ": f"1, {DELTA}", **DESIGN, "T of DP-IGHT": f"{STEPS}"},
)

PANELS = (TABLE_1A, TABLE_1B, TABLE_1C)
