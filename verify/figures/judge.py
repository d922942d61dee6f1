"""Verdicts on the sentences, their controls, and whether they are the recorded ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from verify.data_sets import DATA_SETS
from verify.figures.curves import Curve
from verify.figures.panel import Panel, Profile
from verify.figures.readings import Control, Finding, Reading, Sentence, Verdict, control

RECORDED_PROFILE, RECORDED_SEED = "quick", 0
SEPARATED = {Verdict.REPRODUCED, Verdict.REVERSED}


@dataclass(frozen=True)
class Judged:
    """One reading of a sentence, and what became of it."""

    sentence: Sentence
    reading: Reading
    finding: Finding
    control: Control | None
    """None where nothing was measured."""
    as_recorded: bool

    @property
    def verdict(self) -> Verdict:
        """Of the reading."""
        return self.finding.verdict

    @property
    def control_broke(self) -> bool:
        """Whether the control did what it must; where nothing was measured there is none."""
        return self.control is None or self.control.broke


@dataclass(frozen=True)
class PanelRun:
    """A panel, its curves, and the verdicts on its sentences; no curves if its data are absent."""

    panel: Panel
    profile: Profile
    seed: int
    curves: Mapping[str, Curve]
    judged: tuple[Judged, ...]

    @property
    def status(self) -> str:
        """Whether it was measured."""
        return "MEASURED" if self.curves else Verdict.NO_DATA.value

    @property
    def good(self) -> bool:
        """Whether every verdict is the recorded one and every control broke."""
        return all(each.as_recorded and each.control_broke for each in self.judged)


def judge(panel: Panel, profile: Profile, seed: int, curves: Mapping[str, Curve]) -> PanelRun:
    """The verdict on every reading of every sentence of a panel."""
    judged = tuple(
        _judged(sentence, reading, curves, (profile, seed) == (RECORDED_PROFILE, RECORDED_SEED))
        if curves
        else _without_data(panel, sentence, reading)
        for sentence in panel.sentences
        for reading in sentence.readings
    )
    return PanelRun(panel, profile, seed, curves, judged)


def _without_data(panel: Panel, sentence: Sentence, reading: Reading) -> Judged:
    files = ", ".join(DATA_SETS[key].file for key in panel.data)
    finding = Finding(Verdict.NO_DATA, f"not found: {files}")
    return Judged(sentence, reading, finding, control=None, as_recorded=True)


def _judged(
    sentence: Sentence, reading: Reading, curves: Mapping[str, Curve], exactly: bool
) -> Judged:
    finding = reading.test.judge(curves)
    return Judged(
        sentence,
        reading,
        finding,
        control=control(reading.test, curves, finding.verdict),
        as_recorded=agrees(finding.verdict, reading.expected, exactly),
    )


def agrees(found: Verdict, expected: Verdict, exactly: bool) -> bool:
    """Whether a verdict is the recorded one.

    Recorded is what the quick profile finds with seed 0. With other trials an interval may come to
    separate, or cease to; that contradicts nothing. A verdict that turns round does. Nothing is
    recorded (NO DATA) of data that were never there.
    """
    if expected in (found, Verdict.NO_DATA):
        return True
    return not exactly and Verdict.NOT_SEPARATED in (found, expected)
