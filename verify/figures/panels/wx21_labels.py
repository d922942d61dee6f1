"""WX21: Figures 2 and 6, WX19: Figure 1, sparse regression with private labels (Algorithms 2, 5).

Step 5 of Algorithm 2 has the wrong sign in print and climbs: the corrected one is run. The printed
noise is calibrated to labels that differ by 2C, and theirs is a range of 2 (sqrt(s) + C): the
legends say what it really spends. T = ceil(log(n/p)) steps of 0.2 leave 0.8^T of the start, and T
falls with p.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from estimators import LabelHardThresholding
from minimax import Approximate
from verify.figures.panel import Fit, Method, Panel, Plan, Point, released, seed_of
from verify.figures.panels.wx21_set_up import (
    IN_CLASS,
    OURS,
    PRINTED,
    RUNS,
    STEP,
    TEN_RUNS,
    Axis,
    Regression,
    Rng,
    draw,
    model,
    relative_error,
    rounds,
)
from verify.figures.readings import Sentence, Verdict

REPRODUCED, REVERSED = Verdict.REPRODUCED, Verdict.REVERSED
NOT_SEPARATED, NOISE_ONLY = Verdict.NOT_SEPARATED, Verdict.NOT_REPRODUCIBLE
DIMENSION = Axis("a", "p", "p", (100, 400, 1600))
SPARSITY = Axis("b", "s", "s*", (2, 5, 10))
PRIVACY = Axis("c", "epsilon", "ε", (2, 1, 0.5))
AXES = (DIMENSION, SPARSITY, PRIVACY)
VALUES = {
    "p, s*, ε": "p = 100, 400, 1600 (s* = 5, ε = 1); s* = 2, 5, 10 (p = 400, ε = 1); ε = 0.5, 1, 2"
    " (p = 400, s* = 5)",
    "n": "the values on the axis",
    "step 5": "downhill; its sign is wrong in print",
}
FLAT = (
    "when the dimensionality p increases, unlike Figure 1, it does not cause the relative error to"
    " change significantly."
)
PRIVACY_HELPS = "when the privacy parameter increases, the relative error decreases."
CONFIRM = "These results confirm our theoretical claims."
SAME = "We can see that these results are almost the same as in Figure 1 and 2, respectively."
FLAT_19 = (
    "when the dimensionality 𝑝 increases, it does not cause the relative error to change"
    " significantly."
)
PRIVACY_19 = "when the privacy parameter increases, the relative error decreases"
FALLS_19 = "when the sample size increases, the relative error will decreases."
CONFIRM_19 = "In total, all of these results confirm our theoretical claims."

TO_THE_LETTER, EXACT = "as printed", "exact noise"
CONVERGED, ONE_BIT = "printed noise, to convergence", "one-bit labels"
LINKED, LINKED_ONE_BIT = "f, as printed", "f, one-bit labels"


def point(n: float, *, in_class: bool, linked: bool) -> Point:
    """p = 400, s* = 5, epsilon = 1 where nothing else is said."""
    fixed = {"p": 400, "s": 5, "epsilon": 1.0, "delta": 1e-3}
    return {"n": n, **fixed, "in_class": in_class, "linked": linked}


def fitted(sample: Regression, point: Point, rng: Rng, **options: Any) -> Fit:
    """Label-LDP-IHT."""
    budget = Approximate(point["epsilon"], point["delta"], scope="label")
    made = LabelHardThresholding(budget, random_state=seed_of(rng), **model(point), **options)
    return released(made.fit(sample.X, sample.y), point)


def scheduled(sample: Regression, point: Point, rng: Rng, *, start: bool, **options: Any) -> Fit:
    """The printed step and number of steps; from the normal start, or from 0."""
    loss = "squared" if point["linked"] else "matching"
    begin = sample.start if start else None
    fixed = {"loss": loss, "step_size": STEP, "steps": rounds(point), "start": begin}
    return fitted(sample, point, rng, **fixed, **options)


printed = partial(scheduled, calibration="paper")
exact = partial(scheduled, start=True, mechanism="gaussian")
converged = partial(fitted, calibration="paper")


def one_bit(sample: Regression, point: Point, rng: Rng) -> Fit:
    """The toolkit's default, told how long theta* can be."""
    radius = 1.0 if point["in_class"] else math.sqrt(point["s"])
    return fitted(sample, point, rng, radius=radius)


def panel(
    figure: str,
    axis: Axis,
    title: str,
    methods: tuple[Method, ...],
    sentences: tuple[Sentence, ...],
    *,
    prime: bool = False,
    linked: bool = False,
) -> Panel:
    """One panel. WX19 does not speak of ten runs; nor do the panels with a prime need them, whose
    errors have means."""
    lowest = figure.startswith("WX21") and not prime
    first = figure == "WX21:Figure 2"
    trials = 4 * RUNS if lowest and first else 2 * RUNS
    return Panel(
        id=f"{figure}({axis.letter}{chr(39) if prime else ''})",
        title=f"{title}: several {axis.symbol}",
        x="n",
        metric="relative error",
        point=partial(point, in_class=prime, linked=linked),
        draw=draw,
        error=relative_error,
        methods=(*methods, axis.zero()),
        sentences=sentences,
        quick=Plan((2_000, 10_000 if first else 6_000), trials),
        standard=Plan((2_000, 5_000, 10_000, 20_000, 40_000), 10 * RUNS),
        brief=Plan((2_000, 4_000), 2 * RUNS),
        printed={**PRINTED, **(TEN_RUNS if lowest else {})},
        ours={**OURS, **VALUES, **(IN_CLASS if prime else {})},
        blocks=RUNS if lowest else 1,
    )


def described(axis: Axis, *sentences: Sentence) -> Panel:
    """Figure 2 as the experiment is described."""
    methods = (
        *axis.curves(TO_THE_LETTER, "printed", partial(printed, start=True)),
        *axis.curves(EXACT, "private", exact),
    )
    return panel("WX21:Figure 2", axis, "Algorithm 2, normal start", methods, sentences)


def boxed(axis: Axis, *sentences: Sentence) -> Panel:
    """Figure 2 as Algorithm 2 is printed, in its class; and run to convergence."""
    methods = (
        *axis.curves(TO_THE_LETTER, "printed", partial(printed, start=False)),
        *axis.curves(CONVERGED, "printed", converged),
        *axis.curves(ONE_BIT, "best", one_bit),
    )
    title = "Algorithm 2, start 0, |θ*| ≤ 1"
    return panel("WX21:Figure 2", axis, title, methods, sentences, prime=True)


def link_described(axis: Axis, *sentences: Sentence) -> Panel:
    """Figure 6 as the experiment is described, with a curve of Figure 2."""
    start = partial(printed, start=True)
    methods = (
        *axis.curves(LINKED, "printed", start),
        *axis.curves(f"f, {EXACT}", "private", exact, [axis.middle]),
        *axis.curves(TO_THE_LETTER, "printed", start, [axis.middle], linked=0.0),
    )
    title = "Algorithm 5, f(x) = 8x + cos x, normal start"
    return panel("WX21:Figure 6", axis, title, methods, sentences, linked=True)


def link_boxed(axis: Axis, *sentences: Sentence) -> Panel:
    """Figure 6 to convergence with a safe step, with the curves of Figure 2."""
    methods = (
        *axis.curves(LINKED_ONE_BIT, "best", one_bit),
        *axis.curves(ONE_BIT, "best", one_bit, linked=0.0),
    )
    title = "Algorithm 5, start 0, |θ*| ≤ 1"
    return panel("WX21:Figure 6", axis, title, methods, sentences, prime=True, linked=True)


def earlier(axis: Axis, *sentences: Sentence) -> Panel:
    """WX19: Figure 1."""
    methods = (
        *axis.curves(TO_THE_LETTER, "printed", partial(printed, start=True)),
        *axis.curves(EXACT, "private", exact),
        *axis.curves(ONE_BIT, "best", one_bit),
    )
    return panel("WX19:Figure 1", axis, "Algorithm 2", methods, sentences)


STUCK = "0.8^T of a normal start is left, T = 1 … 5: the wrong support is still there"
FEW_STEPS = "0.8^T is left of θ*, and T falls with p"
SHORT = "0.8^T is left of θ*, whatever the noise"
DIVERGES = "η = 0.2 diverges (b²η = 16 > 2) and is projected: both are near releasing 0"
SCALES = "f multiplies signal and range of a label by about the same"
MISSED = "about 1.4: √log p, and supports that are missed at small n"
CONVERGES = "run to convergence, the noise is what is left"

PANELS = (
    described(
        DIMENSION,
        Sentence(
            FLAT,
            (
                DIMENSION.flat(TO_THE_LETTER, "", NOISE_ONLY, STUCK, noise=True),
                DIMENSION.flat(TO_THE_LETTER, "lowest", NOT_SEPARATED, STUCK),
                DIMENSION.flat(EXACT, "", NOISE_ONLY, STUCK, noise=True),
            ),
        ),
    ),
    described(
        SPARSITY,
        Sentence(
            CONFIRM,
            (
                SPARSITY.rises(TO_THE_LETTER, "", NOISE_ONLY, STUCK, noise=True),
                SPARSITY.rises(
                    TO_THE_LETTER,
                    "lowest",
                    REVERSED,
                    "the start costs less, relative to a θ* that is longer the larger s* is",
                ),
                SPARSITY.rises(EXACT, "", NOISE_ONLY, STUCK, noise=True),
            ),
        ),
    ),
    described(
        PRIVACY,
        Sentence(
            PRIVACY_HELPS,
            (
                PRIVACY.rises(TO_THE_LETTER, "", NOISE_ONLY, STUCK, noise=True),
                PRIVACY.rises(TO_THE_LETTER, "lowest", NOT_SEPARATED, STUCK),
                PRIVACY.rises(EXACT, "", NOISE_ONLY, STUCK, noise=True),
            ),
        ),
    ),
    boxed(
        DIMENSION,
        Sentence(
            FLAT,
            (
                DIMENSION.flat(TO_THE_LETTER, "", REVERSED, FEW_STEPS),
                DIMENSION.flat(
                    CONVERGED, "", NOT_SEPARATED, "1.2 from p = 100 to 1600, with wide intervals"
                ),
                DIMENSION.flat(ONE_BIT, "", NOT_SEPARATED, MISSED),
            ),
        ),
    ),
    boxed(
        SPARSITY,
        Sentence(
            CONFIRM,
            (
                SPARSITY.rises(TO_THE_LETTER, "", NOT_SEPARATED, SHORT),
                SPARSITY.rises(CONVERGED, "", REPRODUCED, CONVERGES),
                SPARSITY.rises(ONE_BIT, "", REPRODUCED, CONVERGES),
            ),
        ),
    ),
    boxed(
        PRIVACY,
        Sentence(
            PRIVACY_HELPS,
            (
                PRIVACY.rises(TO_THE_LETTER, "", NOT_SEPARATED, SHORT),
                PRIVACY.rises(CONVERGED, "", REPRODUCED, CONVERGES),
                PRIVACY.rises(ONE_BIT, "", REPRODUCED, CONVERGES),
            ),
        ),
    ),
    *(
        link_described(
            axis,
            Sentence(
                SAME,
                (axis.alike(LINKED, TO_THE_LETTER, "", REPRODUCED, DIVERGES, whole=False),),
            ),
        )
        for axis in AXES
    ),
    *(
        link_boxed(axis, Sentence(SAME, (axis.alike(LINKED_ONE_BIT, ONE_BIT, "", found, SCALES),)))
        for axis, found in zip(AXES, (REPRODUCED, NOT_SEPARATED, NOT_SEPARATED), strict=True)
    ),
    earlier(
        DIMENSION,
        Sentence(
            FLAT_19,
            (
                DIMENSION.flat(TO_THE_LETTER, "", NOISE_ONLY, STUCK, noise=True),
                DIMENSION.flat(ONE_BIT, "", NOT_SEPARATED, MISSED),
            ),
        ),
        Sentence(
            FALLS_19,
            (
                DIMENSION.falls(TO_THE_LETTER, "", NOISE_ONLY, STUCK, noise=True),
                DIMENSION.falls(ONE_BIT, "", REPRODUCED, CONVERGES),
            ),
        ),
    ),
    earlier(
        SPARSITY,
        Sentence(
            CONFIRM_19,
            (
                SPARSITY.rises(TO_THE_LETTER, "", NOISE_ONLY, STUCK, noise=True),
                SPARSITY.rises(ONE_BIT, "", REPRODUCED, CONVERGES),
            ),
        ),
    ),
    earlier(
        PRIVACY,
        Sentence(
            PRIVACY_19,
            (
                PRIVACY.rises(TO_THE_LETTER, "", NOISE_ONLY, STUCK, noise=True),
                PRIVACY.rises(ONE_BIT, "", REPRODUCED, CONVERGES),
            ),
        ),
    ),
)
