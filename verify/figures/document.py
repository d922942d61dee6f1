"""The page of verdicts, and the table of the README: what is recorded of every sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from verify.data_sets import DATA_SETS, DataSet
from verify.figures.panel import Panel
from verify.figures.readings import Reading, Sentence
from verify.files import write_whole

HEAD = """# The papers' figures and tables

What `python -m verify.figures` finds: sentences that the papers read off their figures and tables,
and whether they are reproduced. These are the recorded verdicts (profile quick, seed 0), and the
command's exit code is 1 if it finds others, or if the control of a verdict does not break.
REVERSED: the opposite is seen, at one place at least, where the sentence speaks of all. NOT
SEPARATED: the intervals (99 %) cover both. NOT REPRODUCIBLE AS PRINTED: with the printed parameters
the method has about the error of releasing 0, nine tenths of it or more in the papers' own panels,
all of it in ours, so that the picture shows nothing. What the papers do not say and we have chosen
is named as ours, and so are readings that no paper makes. A prime, as in Figure 1(a'), marks a
panel of ours beside the paper's: a signal that can be seen, a start at 0, or other data, as its
title says. Sentences that speak of no curve, such as "robust performance", are not read.
`python -m verify.figures show "WG19:Table 3"` tells the numbers of one.
"""


def page(panels: Sequence[Panel]) -> str:
    """The whole page."""
    lines = [HEAD, *table(panels), "", "## Data", "", *data_table(list(DATA_SETS.values()))]
    for panel in panels:
        lines += ["", f"## {panel.id}", "", f"{panel.title}."]
        for head, facts in (("The paper", panel.printed), ("Ours", panel.ours)):
            if facts:
                told = "; ".join(f"{name}: {value}" for name, value in facts.items())
                lines += ["", f"{head}: {told}."]
        if panel.caption:
            lines += ["", panel.caption]
    return "\n".join(lines) + "\n"


def table(panels: Sequence[Panel]) -> list[str]:
    """Figure, sentence, what it was read of, verdict, one line why."""
    rows = ["| figure | sentence | read of | verdict | why |", "|---|---|---|---|---|"]
    for panel in panels:
        for sentence in panel.sentences:
            rows += [_row(panel, sentence, reading) for reading in sentence.readings]
    return rows


def _row(panel: Panel, sentence: Sentence, reading: Reading) -> str:
    cells = (panel.id, sentence.quote, reading.about, reading.expected.value, reading.why)
    return _joined(cells)


HEADLINES = (
    ("CWZ19:Figure 1(a)", "pooled percentiles: less than twice the error of theory R"),
    (
        "CWZ19:Figure 1(a)",
        "percentiles per coordinate: less than twice the error of theory R, exact noise",
    ),
    ("CWZ19:Figure 1(b)", "data-driven R: less than twice the error of theory R"),
    ("CWZ19:Figure 2(a)", "s by CV within a factor 2 of s = s*"),
    (
        "CWZ19:Figure 3(a)",
        "percentiles per coordinate: less than twice the error of Karwa–Vadhan [29]",
    ),
    ("CWZ19:Figure 3(b)", "Algorithm 4.1, tuned: ahead of projection [41], tuned"),
    ("CWZ19:Figure 3(c)", "planned: ahead of Frank–Wolfe [45]"),
    ("CWZ19:Figure 3(d)", "data-driven R: ahead of Frank–Wolfe [45]"),
    (
        "CWZ19:Figure 4(a)",
        "mice, Algorithm 3.3: less than twice the error of Frank–Wolfe [45]",
    ),
    ("CWZ19:Figure 4(b)", "Algorithm 4.1, tuned: the error falls with m"),
    ("WG19:Figure 1(a)", "DP-IGHT below 2 times IGHT, every ε"),
    (
        "WG19:Figure 1(a)",
        "DP-IGHT, cross-validated, choice not charged ahead of DP-IGHT, cross-validated,"
        " choice charged, ε = 6, 10",
    ),
    ("WG19:Figure 1(b)", "DP-IGHT ahead of Frank-Wolfe, ε = 10"),
    ("WG19:Figure 1(d)", "DP-IGHT ahead of Frank-Wolfe, ε = 2"),
    ("WG19:Table 1(c)", "DP-IGHT, exact noise: log d, so an exponent below 1/2 in d"),
    ("WG19:Table 2(b)", "DP-IGHT ahead of Frank-Wolfe, every ε"),
    ("WG19:Table 2(b)", "noisy gradients, no threshold ahead of DP-IGHT, every ε"),
    ("WG19:Table 3(a)", "DP-IGHT ahead of Frank-Wolfe, every ε"),
    ("WG19:Table 3(a)", "noisy gradients, no threshold ahead of DP-IGHT, every ε"),
    ("WX19:Figure 1(c)", "as printed: rises with falling ε"),
    ("WX19:Figure 1(c)", "one-bit labels: rises with falling ε"),
    ("WX19:Figure 2(a)", "c = 1: within 1.5 for all p"),
    ("WX21:Figure 1(a)", "r = C√p: falls with n"),
    ("WX21:Figure 1(a')", "planned: falls with n"),
    ("WX21:Figure 2(a)", "as printed: within 1.5 for all p"),
    ("WX21:Figure 2(a')", "as printed, η = 0.1: within 1.5 for all p"),
    ("WX21:Figure 3(a)", "by zCDP: within 1.5 for all p"),
    ("WX21:Figure 4(c)", "by zCDP: rises with falling ε"),
    ("WX21:Figure 5(b)", "f, r = bC√p: within 2 of “r = C√p” at s* = 2"),
    ("WX21:Figure 6(a)", "f, as printed: within 2 of “as printed” at p = 400"),
    ("WX21:Figure 6(a')", "f, one-bit labels: within 2 of “one-bit labels”"),
)
"""A reading or two of every figure and table, for the README: panel, and what was read."""


def headlines(panels: Mapping[str, Panel]) -> list[str]:
    """The short table."""
    rows = ["| figure | what is read off it | verdict | why |", "|---|---|---|---|"]
    for name, about in HEADLINES:
        (found,) = (
            reading
            for sentence in panels[name].sentences
            for reading in sentence.readings
            if reading.about == about
        )
        rows.append(_joined((name, about, found.expected.value, found.why)))
    return rows


def data_table(sets: Sequence[DataSet]) -> list[str]:
    """What each data set is, its licence, and which paper used it."""
    rows = ["| file | what | licence | source | used by |", "|---|---|---|---|---|"]
    return rows + [
        _joined((f"`{each.file}`", each.what, each.licence, each.citation, each.used_by))
        for each in sets
    ]


def _joined(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def write_page(path: Path, panels: Sequence[Panel]) -> None:
    """Write it."""
    write_whole(path, lambda target: target.write_text(page(panels), encoding="utf-8"))
