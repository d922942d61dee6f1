"""Entries of figures: what a verdict amounts to, and what the form is called."""

from __future__ import annotations

import pytest

from verify.figures.catalogue import all_panels, panel_of
from verify.figures.readings import Reading, Verdict
from verify.proofs.document import paragraphs
from verify.proofs.entry import Chapter, Entry, Finding, Result, Status
from verify.statements import figures
from verify.statements.figures import reads, variant_of


def reading_of(panel: str, about: str) -> Reading:
    return figures._reading(panel_of(panel), about)[1]


def entry_of(panel: str, about: str, unsaid: str = "") -> Entry:
    chapter = Chapter("WX21")
    reads(chapter, "Figure 0", "Found.", panel=panel, about=about, of="(1)", unsaid=unsaid)
    (entry,) = chapter.entries
    return entry


@pytest.mark.parametrize(
    ("panel", "about", "variant"),
    [
        ("WX21:Figure 1(a)", "r = C√p: falls with n", "printed"),
        ("WX21:Figure 1(b)", "r = C√p, lowest of 10 runs: falls with n", "printed"),
        ("WX21:Figure 1(a)", "proven r: falls with n", "private"),
        ("WX21:Figure 2(a)", "exact noise: within 1.5 for all p", "private"),
        ("WX21:Figure 2(a')", "one-bit labels: within 1.5 for all p", "best"),
    ],
)
def test_a_reading_has_the_variant_of_its_curves(panel: str, about: str, variant: str) -> None:
    assert variant_of(panel_of(panel), reading_of(panel, about)) == variant


def test_every_reading_has_a_variant() -> None:
    for panel in all_panels().values():
        for sentence in panel.sentences:
            for reading in sentence.readings:
                assert variant_of(panel, reading) in figures.TITLES, (panel.id, reading.about)


def test_no_figure_holds_by_what_a_reader_should_use() -> None:
    panel, about = "WX21:Figure 1(a')", "planned: falls with n"
    assert reading_of(panel, about).expected is Verdict.REPRODUCED
    with pytest.raises(ValueError, match="no figure holds by what the paper does not use"):
        entry_of(panel, about)


def test_nothing_is_refuted_where_the_paper_is_silent() -> None:
    panel, about = "WX21:Figure 2(a')", "as printed: within 1.5 for all p"
    assert entry_of(panel, about).expected is Status.REFUTED
    silent = entry_of(panel, about, unsaid="p, n and which step")
    assert silent.expected is Status.UNPROVED
    assert silent.severity == "harmless"
    assert silent.wrong.endswith("Not said: p, n and which step.")


def test_the_page_calls_a_form_by_its_variant() -> None:
    entry = entry_of("WX21:Figure 2(c)", "exact noise: rises with falling ε")
    shown = Finding(entry.id, Status.UNPROVED, {"step": Result(False, {})})
    labels = [label for label, _ in paragraphs(entry, shown)]
    assert labels[-2].startswith("With exactly the privacy asked for (exact noise")
    assert not any("step of the proof" in label for label in labels)
