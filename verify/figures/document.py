"""The page of verdicts, and the table of the README: what is recorded of every sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from verify.data_sets import DATA_SETS, DataSet
from verify.figures.panel import Panel
from verify.figures.readings import Reading, Sentence
from verify.files import write_whole

HEAD = """# The papers' figures and tables

What `python -m verify.figures` finds: each sentence that the papers read off a figure or a table,
and whether it is reproduced. These are the recorded verdicts (profile quick, seed 0), and the
command's exit code is 1 if it finds others, or if the control of a verdict does not break.
REVERSED: the opposite is seen. NOT SEPARATED: the intervals (99 %) cover both. NOT REPRODUCIBLE AS
PRINTED: with the printed parameters the method is hardly better than releasing 0 (each panel says
from which share of that error on), so that the picture shows nothing. What the papers do
not say and we have chosen is named as ours. `python -m verify.figures show "WG19:Table 3"` tells
the numbers of one.
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
    ("CWZ19:Figure 1(a)", "data-driven R within a factor 2 of theory R"),
    ("CWZ19:Figure 1(b)", "theory R: the error falls with n"),
    ("CWZ19:Figure 2(a)", "s by CV within a factor 2 of s = s*"),
    ("CWZ19:Figure 3(a)", "theory R, exact noise: ahead of Karwa–Vadhan [29]"),
    ("CWZ19:Figure 3(b)", "Algorithm 4.1, tuned: ahead of projection [41], tuned"),
    ("CWZ19:Figure 3(c)", "planned: ahead of Frank–Wolfe [45]"),
    ("CWZ19:Figure 3(d)", "data-driven R: ahead of Frank–Wolfe [45]"),
    ("CWZ19:Figure 4(a)", "Algorithm 3.3: ahead of Frank–Wolfe [45]"),
    ("CWZ19:Figure 4(b)", "Algorithm 4.1, tuned: the error falls with m"),
    ("WG19:Figure 1(a)", "DP-IGHT below 2 times IGHT, every ε"),
    ("WG19:Figure 1(b)", "DP-IGHT ahead of Frank-Wolfe, ε = 10"),
    ("WG19:Figure 1(d)", "DP-IGHT ahead of Frank-Wolfe, ε = 2"),
    ("WG19:Table 1(c)", "DP-IGHT, exact noise: log d, so an exponent below 1/2 in d"),
    ("WG19:Table 2(b)", "DP-IGHT ahead of Frank-Wolfe, every ε"),
    ("WG19:Table 3(a)", "DP-IGHT ahead of Frank-Wolfe, every ε"),
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
