"""WG19: Figure 1(a)-(d), relative errors on simulated data against the privacy budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from verify.figures.panel import Grid, Method, Panel, Plan, Point, Variant, zero
from verify.figures.panels.wg19_methods import (
    BUDGETS,
    CHOICES,
    CLIPPED_WOLFE,
    CROSS_IGHT,
    CROSS_WOLFE,
    DELTA,
    DP_IGHT,
    EPSILONS,
    IGHT,
    PLANNED,
    PRINTED_IGHT,
    PRINTED_WOLFE,
    QUICK_EPSILONS,
    TWO_STAGE,
    WOLFE,
    LossName,
    Rng,
    Simulated,
    at_each,
    cross_validated,
    frank_wolfe,
    noisy_thresholding,
    number_of_features,
    planned,
    relative_error,
    thresholding,
    two_stage,
)
from verify.figures.readings import Ahead, Below, Close, Reading, Sentence, Test, Verdict
from verify.rates.special.ordering.experiments import sparse_linear, sparse_logistic

SMALL, LARGE = (1000, 1000, 10), (5000, 5000, 30)
"""n, d, s* of settings (i) and (ii)."""
DRAWS = {"squared": sparse_linear, "logistic": sparse_logistic}
ACCURATE, NEAR = 0.5, 2.0
"""What we take "accurate" and "close" to mean."""


@dataclass(frozen=True)
class Setting:
    """A panel's data, what its methods are told, and their options to choose from.

    Every grid has the same number of options. They were placed by wider sweeps on other draws, so
    that the best found lie within where that is possible: one step and one block are an end.
    """

    loss: LossName
    size: tuple[int, int, int]
    descent: Mapping[str, Any]
    """Of DP-IGHT, not chosen: a clip below the usual norm of a gradient, and a length of all steps
    together, or one step."""
    l1_radius: float
    """Of Frank-Wolfe with clipped entries."""
    descents: Grid
    vertices: Grid
    clipped: Grid
    stages: Grid

    @property
    def response_bound(self) -> float:
        """Of the squared loss: about 1.5 deviations of a response."""
        return 2.0 if self.size == SMALL else 4.0

    @property
    def longest_entry(self) -> float:
        """Of the design once its rows are shortened: no entry is larger."""
        return 1.2 if self.size == SMALL else 1.6

    @property
    def radius(self) -> float:
        """A bound on |theta*|, 1.4 and 1.3 times its usual value."""
        return 2.5 if self.size == SMALL else 4.0

    def point(self, epsilon: float) -> Point:
        """The panel's numbers at a budget."""
        n, d, s = self.size
        return {"epsilon": epsilon, "delta": DELTA, "n": n, "d": d, "s": s}

    def draw(self, point: Point, rng: Rng) -> Simulated:
        """X, y and theta* of WG19 §6.1, the sign of its logistic model as in its §5.2."""
        return Simulated(*DRAWS[self.loss](self.size, rng))

    def methods(self) -> tuple[Method, ...]:
        """All curves of the panel but those by cross-validation."""
        loss, R = self.loss, self.response_bound
        descent = partial(noisy_thresholding, loss=loss, **self.descent)
        wolfe = partial(frank_wolfe, loss=loss, R=R, entry_bound=self.longest_entry)
        clipped = partial(frank_wolfe, loss=loss, R=R, l1_radius=self.l1_radius)
        stages: dict[str, Any] = {"row_bound": 1.5, "radius": self.radius, "selection_share": 0.7}
        printed = partial(descent, calibration="paper")
        standing: Variant = "best" if loss == "logistic" else "peer"
        found = (
            Method(IGHT, "not private", partial(thresholding, loss=loss, s=self.size[2], steps=50)),
            Method(PRINTED_WOLFE, "printed", partial(wolfe, printed=True), self.vertices),
            Method(WOLFE, "private", wolfe, self.vertices),
            Method(CLIPPED_WOLFE, standing, clipped, self.clipped),
            Method(TWO_STAGE, "peer", partial(two_stage, loss=loss, R=R, **stages), self.stages),
            Method(PRINTED_IGHT, "printed", printed, self.descents),
            Method(DP_IGHT, "private", descent, self.descents),
        )
        return (*found, *self._own(), zero(number_of_features))

    def _own(self) -> tuple[Method, ...]:
        """The toolkit's for the squared loss, without a choice."""
        if self.loss == "logistic":
            return ()
        told = {"s": self.size[2], "entry_bound": self.longest_entry, "radius": self.radius}
        return (Method(PLANNED, "best", partial(planned, **told)),)

    def by_cross_validation(self) -> tuple[Method, ...]:
        """DP-IGHT and Frank-Wolfe, their options chosen as the paper does."""
        names = {DP_IGHT: CROSS_IGHT, WOLFE: CROSS_WOLFE}
        return tuple(
            Method(
                names[method.name],
                "not private",
                partial(cross_validated, fit=method.fit, choices=method.grid.options),
            )
            for method in self.methods()
            if method.name in names
        )


LINEAR_SMALL = Setting(
    "squared",
    SMALL,
    descent={"clip": 5.0, "path": 20.0},
    l1_radius=4.0,
    descents=Grid({"s": (4, 7, 10, 13), "steps": (2, 5, 12)}),
    vertices=Grid({"l1_radius": (1.5, 3.0, 6.0), "steps": (3, 6, 12, 24)}),
    clipped=Grid({"entry_bound": (0.15, 0.3, 0.6), "steps": (8, 16, 32, 64)}),
    stages=Grid({"s": (2, 4, 7, 10), "blocks": (8, 16, 32)}),
)
LINEAR_LARGE = Setting(
    "squared",
    LARGE,
    descent={"clip": 5.0, "path": 80.0},
    l1_radius=12.0,
    descents=Grid({"s": (20, 30, 40), "steps": (5, 15, 45)}),
    vertices=Grid({"l1_radius": (4.0, 8.0, 16.0), "steps": (16, 32, 64)}),
    clipped=Grid({"entry_bound": (0.2, 0.4, 0.8), "steps": (30, 60, 120)}),
    stages=Grid({"s": (5, 20, 40), "blocks": (16, 32, 64)}),
)
LOGISTIC_SMALL = Setting(
    "logistic",
    SMALL,
    descent={"clip": 10.0, "steps": 1},
    l1_radius=3.0,
    descents=Grid({"s": (3, 5, 7, 10), "path": (3.0, 6.0, 12.0)}),
    vertices=Grid({"l1_radius": (1.0, 2.0, 4.0), "steps": (3, 6, 12, 24)}),
    clipped=Grid({"entry_bound": (0.15, 0.3, 0.6), "steps": (6, 12, 24, 48)}),
    stages=Grid({"s": (2, 4, 7, 10), "blocks": (8, 16, 32)}),
)
LOGISTIC_LARGE = Setting(
    "logistic",
    LARGE,
    descent={"clip": 10.0, "path": 40.0},
    l1_radius=12.0,
    descents=Grid({"s": (10, 20, 30), "steps": (1, 5, 20)}),
    vertices=Grid({"l1_radius": (4.0, 8.0, 16.0), "steps": (12, 24, 48)}),
    clipped=Grid({"entry_bound": (0.2, 0.4, 0.8), "steps": (30, 60, 120)}),
    stages=Grid({"s": (5, 10, 20), "blocks": (8, 16, 32)}),
)

LINEAR = (
    "We can see that the relative estimation errors of our method are close to the non-private"
    " baseline (IGHT), and are better than existing private methods."
)
ACCURATE_SENTENCE = (
    "The results show that our method can output accurate estimators when we have relative large"
    " privacy budget."
)
CONSISTENTLY = (
    "In addition, it consistently outperforms the baseline algorithms under different privacy"
    " budget."
)


def panel(letter: str, setting: Setting, title: str, sentences: tuple[Sentence, ...], **of: Any) -> Panel:
    return Panel(
        id=f"WG19:Figure 1({letter})", title=title, x="epsilon", metric="relative ℓ₂ error",
        point=setting.point, draw=setting.draw, error=relative_error, sentences=sentences,
        logarithmic=False, **of)


def probe(cv=False):
    from verify.figures.readings import Verdict as V
    out=[]
    pairs=[(DP_IGHT,WOLFE),(DP_IGHT,CLIPPED_WOLFE),(DP_IGHT,TWO_STAGE),(PRINTED_IGHT,PRINTED_WOLFE),(PRINTED_IGHT,TWO_STAGE)]+([(CROSS_IGHT,CROSS_WOLFE)] if cv else [])
    for a,b in pairs:
        for e in QUICK_EPSILONS: out.append(Reading(f"{a} vs {b} {e}",Ahead(a,b,(e,)),V.NOT_SEPARATED,""))
    for a in (DP_IGHT,PRINTED_IGHT):
        for e in QUICK_EPSILONS: out.append(Reading(f"{a} near {e}",Close(a,IGHT,2,(e,)),V.NOT_SEPARATED,""))
        out.append(Reading(f"{a} below",Below(a,.5,(10.0,)),V.NOT_SEPARATED,""))
    return (Sentence("x",tuple(out)),)

PANELS = (
    panel("a", LINEAR_SMALL, "linear", probe(True), methods=LINEAR_SMALL.methods()+LINEAR_SMALL.by_cross_validation(), quick=Plan(QUICK_EPSILONS,10,6),standard=Plan(EPSILONS,10,12),brief=Plan((2.0,10.0),4,1)),
    panel("b", LINEAR_LARGE, "linear", probe(), methods=LINEAR_LARGE.methods(), quick=Plan(QUICK_EPSILONS,5,1),standard=Plan(EPSILONS,10,4),brief=Plan((2.0,10.0),4,0)),
    panel("c", LOGISTIC_SMALL, "logistic", probe(), methods=LOGISTIC_SMALL.methods(), quick=Plan(QUICK_EPSILONS,10,6),standard=Plan(EPSILONS,10,12),brief=Plan((2.0,10.0),4,1)),
    panel("d", LOGISTIC_LARGE, "logistic", probe(), methods=LOGISTIC_LARGE.methods(), quick=Plan(QUICK_EPSILONS,5,1),standard=Plan(EPSILONS,10,4),brief=Plan((2.0,10.0),4,0)),
)
