"""WX21: Figures 2 and 6, WX19: Figure 1, sparse regression with private labels (Algorithms 2, 5).

Step 5 of Algorithm 2 has the wrong sign in print and climbs: the corrected one is run. The printed
noise is calibrated to labels that differ by 2C, and theirs is a range of 2 (sqrt(s) + C): the
legends say what it really spends. T = ceil(log(n/p)) steps of 0.2 leave 0.8^T of the start, those
of 0.1 leave 0.9^T, and T falls with p.

The bound on the error grows as sqrt(s*), and so does |theta*| before it is scaled: only in the
panels with a prime does the theory have the relative error rise with s*.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from estimators import LabelHardThresholding
from minimax import Approximate
from verify.figures.panel import Fit, Method, Panel, Plan, Point, released, seed_of
from verify.figures.panels.wx21_set_up import (
    IN_CLASS,
    LINK_LAW,
    LINK_OURS,
    LOWEST,
    ONE_DATA_SET,
    OURS,
    PRINTED,
    SHORT_STEP,
    STEP,
    TEN_RUNS,
    Axis,
    Regression,
    Rng,
    draw,
    model,
    random_start,
    relative_error,
    rounds,
)
from verify.figures.readings import Reading, Sentence, Verdict

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

TO_THE_LETTER, SHORTER, EXACT = "as printed", "as printed, η = 0.1", "exact noise"
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


def scheduled(
    sample: Regression,
    point: Point,
    rng: Rng,
    *,
    start: bool,
    step: float = STEP,
    **options: Any,
) -> Fit:
    """A printed step and the number of steps; from the normal start, or from 0."""
    loss = "squared" if point["linked"] else "matching"
    begin = random_start(point, rng) if start else None
    fixed = {"loss": loss, "step_size": step, "steps": rounds(point), "start": begin}
    return fitted(sample, point, rng, **fixed, **options)


printed = partial(scheduled, calibration="paper")
shorter = partial(printed, step=SHORT_STEP)
normal_start = partial(printed, start=True)
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
    """One panel. WX19 does not speak of ten runs; in WX21 they are for the experiment as
    described."""
    lowest = figure.startswith("WX21") and not prime
    first = figure == "WX21:Figure 2"
    chosen = LINK_OURS if linked else ONE_DATA_SET if lowest else {}
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
        quick=Plan((2_000, 10_000 if first else 6_000), 40 if lowest and first else 20),
        standard=Plan((2_000, 5_000, 10_000, 20_000, 40_000), 100),
        brief=Plan((2_000, 4_000), 20),
        printed=LINK_LAW if linked else {**PRINTED, **(TEN_RUNS if lowest else {})},
        ours={**OURS, **chosen, **VALUES, **(IN_CLASS if prime else {})},
        caption="Geometric means are read and drawn.",
        typical=True,
    )


def described(axis: Axis, *sentences: Sentence) -> Panel:
    """Figure 2 as the experiment is described; what is not its own only where it is read."""
    read = [axis.middle] if axis is SPARSITY else None
    short_start = partial(shorter, start=True)
    methods = (
        *axis.curves(TO_THE_LETTER, "printed", normal_start),
        *axis.lowest(TO_THE_LETTER, normal_start, read),
        *axis.curves(SHORTER, "printed", short_start, read),
        *(axis.lowest(SHORTER, short_start) if axis is DIMENSION else ()),
        *axis.curves(EXACT, "private", exact, read),
    )
    return panel("WX21:Figure 2", axis, "Algorithm 2, normal start", methods, sentences)


def boxed(axis: Axis, *sentences: Sentence) -> Panel:
    """Figure 2 as Algorithm 2 is printed, in its class; and run to convergence. The shorter step
    is for p, with which the number of steps changes."""
    short = partial(shorter, start=False)
    methods = (
        *axis.curves(TO_THE_LETTER, "printed", partial(printed, start=False)),
        *(axis.curves(SHORTER, "printed", short) if axis is DIMENSION else ()),
        *axis.curves(CONVERGED, "printed", converged),
        *axis.curves(ONE_BIT, "best", one_bit),
    )
    title = "Algorithm 2, start 0, |θ*| ≤ 1"
    return panel("WX21:Figure 2", axis, title, methods, sentences, prime=True)


def link_described(axis: Axis, *sentences: Sentence) -> Panel:
    """Figure 6 with the schedule of §VIII-A, and a curve of Figure 2."""
    middle = [axis.middle]
    methods = (
        *axis.curves(LINKED, "printed", normal_start),
        *axis.curves(f"f, {EXACT}", "private", exact, middle),
        *axis.curves(TO_THE_LETTER, "printed", normal_start, middle, linked=0.0),
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
        *axis.curves(TO_THE_LETTER, "printed", normal_start),
        *axis.curves(SHORTER, "printed", partial(shorter, start=True)),
        *axis.curves(EXACT, "private", exact),
        *axis.curves(ONE_BIT, "best", one_bit),
    )
    return panel("WX19:Figure 1", axis, "Algorithm 2", methods, sentences)


STUCK = "0.8^T of a normal start is left, T = 1 … 5: the wrong support is still there"
SHORTER_STUCK = "0.9^T of a normal start is left"
LUCK = "what is lowest of ten is the luck of the start: wide intervals"
FEW_STEPS = "0.8^T is left of θ*, and T falls with p: from a start at 0, with η = 0.2"
FEW_SHORT_STEPS = "0.9^T is left of θ*: by itself 1.3 from p = 100 to 1600"
SHORT = "0.8^T is left of θ*, whatever the noise"
DIVERGES = (
    "a factor 2 of what is no better than releasing 0 says nothing; η = 0.2, if it was used here,"
    " diverges (b²η = 16 > 2) and is projected"
)
SCALES = "f multiplies signal and range of a label by about the same"
MISSED = "about 1.4: √log p, and supports that are missed at small n"
CONVERGES = "run to convergence, the noise is what is left"


def as_described(
    axis: Axis,
    read: Callable[..., Reading],
    printed: tuple[Verdict, str],
    exact: tuple[Verdict, str],
) -> tuple[Reading, ...]:
    """Single runs and the lowest of ten, with either step; printed and exact noise have the
    findings given."""
    short = (read(SHORTER, LOWEST, NOT_SEPARATED, LUCK),) if axis is DIMENSION else ()
    return (
        read(TO_THE_LETTER, "", *printed, noise=True),
        read(TO_THE_LETTER, LOWEST, NOT_SEPARATED, LUCK),
        read(SHORTER, "", NOISE_ONLY, SHORTER_STUCK, noise=True),
        *short,
        read(EXACT, "", *exact, noise=True),
    )


def single_runs(read: Callable[..., Reading]) -> tuple[Reading, ...]:
    """With either step: the start hides the rest."""
    return (
        read(TO_THE_LETTER, "", NOISE_ONLY, STUCK, noise=True),
        read(SHORTER, "", NOISE_ONLY, SHORTER_STUCK, noise=True),
    )


PANELS = (
    described(
        DIMENSION,
        Sentence(
            FLAT,
            as_described(
                DIMENSION,
                DIMENSION.flat,
                (REPRODUCED, "1.25 from p = 100 to 1600: what is left of the start hides p"),
                (REPRODUCED, "about 1.35 from p = 100 to 1600: what is left of the start hides p"),
            ),
        ),
    ),
    described(
        SPARSITY,
        Sentence(
            CONFIRM,
            as_described(
                SPARSITY,
                SPARSITY.falls,
                *[(REPRODUCED, "barely: T grows with n, and 0.8^T of the start is left")] * 2,
            ),
        ),
    ),
    described(
        PRIVACY,
        Sentence(
            PRIVACY_HELPS, as_described(PRIVACY, PRIVACY.rises, *[(NOT_SEPARATED, STUCK)] * 2)
        ),
    ),
    boxed(
        DIMENSION,
        Sentence(
            FLAT,
            (
                DIMENSION.flat(TO_THE_LETTER, "", REVERSED, FEW_STEPS),
                DIMENSION.flat(SHORTER, "", REPRODUCED, FEW_SHORT_STEPS),
                DIMENSION.flat(
                    CONVERGED, "", NOT_SEPARATED, "1.2 from p = 100 to 1600, with wide intervals"
                ),
                DIMENSION.flat(ONE_BIT, "", NOT_SEPARATED, MISSED),
            ),
        ),
    ),
    *(
        boxed(
            axis,
            Sentence(
                quote,
                (
                    axis.rises(TO_THE_LETTER, "", NOT_SEPARATED, SHORT),
                    axis.rises(CONVERGED, "", REPRODUCED, CONVERGES),
                    axis.rises(ONE_BIT, "", REPRODUCED, CONVERGES),
                ),
            ),
        )
        for axis, quote in ((SPARSITY, CONFIRM), (PRIVACY, PRIVACY_HELPS))
    ),
    *(
        link_described(
            axis,
            Sentence(
                SAME,
                (axis.alike(LINKED, TO_THE_LETTER, "", NOISE_ONLY, DIVERGES, noise=True),),
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
                *single_runs(DIMENSION.flat),
                DIMENSION.flat(ONE_BIT, "", NOT_SEPARATED, MISSED),
            ),
        ),
        Sentence(
            FALLS_19,
            (
                *single_runs(DIMENSION.falls),
                DIMENSION.falls(ONE_BIT, "", REPRODUCED, CONVERGES),
            ),
        ),
    ),
    earlier(
        SPARSITY,
        Sentence(
            CONFIRM_19,
            (
                *single_runs(SPARSITY.falls),
                SPARSITY.falls(ONE_BIT, "", REPRODUCED, CONVERGES),
            ),
        ),
    ),
    earlier(
        PRIVACY,
        Sentence(
            PRIVACY_19,
            (
                *single_runs(PRIVACY.rises),
                PRIVACY.rises(ONE_BIT, "", REPRODUCED, CONVERGES),
            ),
        ),
    ),
)
