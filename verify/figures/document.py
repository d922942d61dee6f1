"""The page of verdicts, and the table of the README: what is recorded of every sentence."""

from __future__ import annotations

from collections.abc import Sequence
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
