"""The page of verdicts, and the table of the README."""

from __future__ import annotations

from pathlib import Path

from verify.figures.judge import Judged
from verify.figures.report import Run
from verify.files import write_whole

HEAD = """# The papers' figures and tables

What `python -m verify.figures` finds: each sentence that the papers read off a figure or a table,
and whether it is reproduced. Recorded at profile {profile}, seed {seed}; every verdict has a control
that broke. REVERSED: the opposite is seen. NOT SEPARATED: the intervals cover both. Panels on real
data need `--data`.
"""


def page(run: Run) -> str:
    """The whole page."""
    lines = [HEAD.format(profile=run.profile, seed=run.seed), *table(run)]
    for panel in run.panels:
        lines += ["", f"## {panel.panel.id}", "", panel.panel.title]
        for head, facts in (("The paper", panel.panel.printed), ("Ours", panel.panel.ours)):
            if facts:
                told = "; ".join(f"{name}: {value}" for name, value in facts.items())
                lines += ["", f"{head}: {told}."]
        if panel.panel.caption:
            lines += ["", panel.panel.caption]
    return "\n".join(lines) + "\n"


def table(run: Run) -> list[str]:
    """Figure, sentence, verdict, one line why."""
    rows = ["| figure | sentence | read of | verdict | why |", "|---|---|---|---|---|"]
    for panel in run.panels:
        rows += [f"| {panel.panel.id} | {_cells(each)} |" for each in panel.judged]
    return rows


def _cells(each: Judged) -> str:
    words = (each.sentence.quote, each.reading.about, each.reading.expected.value, each.reading.why)
    return " | ".join(word.replace("|", "\\|") for word in words)


def write_page(path: Path, run: Run) -> None:
    """Write it."""
    write_whole(path, lambda target: target.write_text(page(run), encoding="utf-8"))
