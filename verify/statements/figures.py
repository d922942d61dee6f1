"""A sentence that a paper reads off a figure, as an entry whose check is the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache

import numpy as np

from verify.figures.catalogue import panel_of
from verify.figures.curves import Curves
from verify.figures.measure import measured
from verify.figures.panel import Panel, Variant
from verify.figures.readings import Reading, Verdict
from verify.proofs.entry import Case, Cases, Chapter, Result, Severity, Status, result
from verify.rates.backends import Processes
from verify.rates.results import Results

EXPECTED = {
    Verdict.REPRODUCED: Status.HOLDS,
    Verdict.REVERSED: Status.REFUTED,
    Verdict.NOT_REPRODUCIBLE: Status.UNPROVED,
    Verdict.NOT_SEPARATED: Status.UNPROVED,
}
"""What a verdict means for the sentence: what cannot be seen with the printed parameters is not
thereby false."""
SEVERITIES: dict[Status, Severity] = {
    Status.HOLDS: "none",
    Status.UNPROVED: "harmless",
    Status.REFUTED: "constants",
}
TITLES: dict[Variant, str] = {
    "not private": "Without privacy",
    "peer": "With another method of the panel",
    "printed": "As printed",
    "private": "With exactly the privacy asked for",
    "best": "With what a reader should use",
}
"""What a reading is of, by the variant of its curves; the last of those that it has counts."""


def reads(
    chapter: Chapter,
    number: str,
    found: str,
    *,
    panel: str,
    about: str,
    of: str,
    unsaid: str = "",
) -> None:
    """Add the entry of a figure or a table: one reading of one of its panels, of an algorithm.

    `unsaid`: what decides and the paper does not say. Then nothing is refuted.
    """
    drawn = panel_of(panel)
    quote, reading = _reading(drawn, about)
    verdict, variant = reading.expected, variant_of(drawn, reading)
    if verdict is Verdict.REPRODUCED and variant == "best":
        raise ValueError(f"{panel}: no figure holds by what the paper does not use")
    status = Status.UNPROVED if unsaid else EXPECTED[verdict]
    title = f"{TITLES[variant]}, so far as it is said" if unsaid else TITLES[variant]
    said = Case(about, title=title, panel=panel, about=about)
    forms: Cases = {"step": said} if status is Status.UNPROVED else {"printed": said}
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
        expected=status,
        severity=SEVERITIES[status],
        wrong="" if verdict is Verdict.REPRODUCED else _wrong(reading, unsaid),
        code=("verify.figures",),
        uses=(of,),
        slow=True,
        **forms,
    )(verdict_on)


def _wrong(reading: Reading, unsaid: str) -> str:
    """Why it is not seen, and what is not said."""
    why = f"{reading.why[0].upper()}{reading.why[1:]}."
    return f"{why} Not said: {unsaid}." if unsaid else why


def variant_of(panel: Panel, reading: Reading) -> Variant:
    """The variant of the curves that are read, by the order of `TITLES`."""
    read = set(_words(reading.test))
    variants = {method.variant for method in panel.methods if method.name in read}
    return next(each for each in reversed(TITLES) if each in variants)


def _words(test: object) -> Iterator[str]:
    """All words in the fields of a test and of those that it is made of."""
    if isinstance(test, str):
        yield test
    elif isinstance(test, tuple):
        for each in test:
            yield from _words(each)
    elif is_dataclass(test):
        for field in fields(test):
            yield from _words(getattr(test, field.name))


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
