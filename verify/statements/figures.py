"""A sentence that a paper reads off a figure, as an entry whose check is the verdict."""

from __future__ import annotations

from functools import cache

import numpy as np

from verify.figures.catalogue import panel_of
from verify.figures.curves import Curves
from verify.figures.measure import measured
from verify.figures.panel import Panel
from verify.figures.readings import Reading, Verdict
from verify.proofs.entry import Case, Cases, Chapter, Result, Status, result
from verify.rates.backends import Processes
from verify.rates.results import Results

EXPECTED = {
    Verdict.REPRODUCED: Status.HOLDS,
    Verdict.REVERSED: Status.REFUTED,
    Verdict.NOT_REPRODUCIBLE: Status.UNPROVED,
}
"""What a verdict means for the sentence: what cannot be seen with the printed parameters is not
thereby false."""


def reads(chapter: Chapter, number: str, found: str, *, panel: str, about: str, of: str) -> None:
    """Add the entry of a figure or a table: one reading of one of its panels, of an algorithm."""
    drawn = panel_of(panel)
    quote, reading = _reading(drawn, about)
    verdict = reading.expected
    said = Case(about, panel=panel, about=about)
    forms: Cases = {"step": said} if verdict is Verdict.NOT_REPRODUCIBLE else {"printed": said}
    if verdict is Verdict.REPRODUCED:
        words = "with the opposite planted in the curves"
        forms["mutant"] = Case(words, panel=panel, about=about, planted="denied")
    else:
        words = f"that it is {verdict.value}"
        forms["relaxed"] = Case(words, panel=panel, about=about, verdict=verdict.name)
    chapter.states(
        number,
        f"{drawn.title}: “{quote}”.",
        kind="experiment",
        found=found,
        by="simulation",
        expected=EXPECTED[verdict],
        severity="none" if verdict is Verdict.REPRODUCED else "constants",
        wrong="" if verdict is Verdict.REPRODUCED else f"{reading.why}.",
        code=("verify.figures",),
        uses=(of,),
        slow=True,
        **forms,
    )(verdict_on)


def needs_data(chapter: Chapter, number: str, found: str, *, panel: str, of: str) -> None:
    """Add the entry of a figure on real data, which do not come with the package."""
    drawn = panel_of(panel)
    chapter.leaves(
        number,
        f"{drawn.title}: “{drawn.sentences[0].quote}”.",
        kind="experiment",
        found=found,
        because="it needs real data: `python -m verify.figures --data DIR` gives the verdict.",
        uses=(of,),
    )


def verdict_on(
    rng: np.random.Generator,
    *,
    panel: str,
    about: str,
    verdict: str = "REPRODUCED",
    planted: str = "",
) -> Result:
    """Is this the verdict on that reading of the panel, at the brief profile?

    `planted`: in curves that are changed so that the sentence is plainly true (shown) or plainly
    false (denied).
    """
    _, reading = _reading(panel_of(panel), about)
    curves = _curves(panel, int(rng.integers(2**31)))
    if planted:
        curves = getattr(reading.test, planted)(curves)
    found = reading.test.judge(curves)
    return result(found.verdict is Verdict[verdict], verdict=found.verdict.value)


@cache
def _curves(panel: str, seed: int) -> Curves:
    found = measured([panel_of(panel)], "brief", seed, Processes(1), Results(None))
    return found[panel]


def _reading(panel: Panel, about: str) -> tuple[str, Reading]:
    """The reading of a panel with these words, and the sentence that it reads."""
    for sentence in panel.sentences:
        for reading in sentence.readings:
            if reading.about == about:
                return sentence.quote, reading
    raise ValueError(f"{panel.id} has no reading {about!r}")
