"""The ledger as text: one entry for the terminal, and all of them as ``docs/ledger.md``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from minimax.papers import PAPERS, THIS_WORK
from verify.proofs.entry import Entry, Finding, Status, Value

TITLES = {
    "printed": "As printed",
    "step": "A step of the proof",
    "corrected": "Corrected",
    "mutant": "Control that must fail",
    "relaxed": "Control that must hold",
}
INTRODUCTION = """\
# The proof ledger

Every numbered statement of the papers, and every theorem of this toolkit about the exact cost of
privacy, checked. This page is written by
`python -m verify.proofs --write docs/ledger.md`; the statuses and numbers are those of that run
(seed {seed}). A status follows from which forms of a statement hold when they are run:

* **holds**: the printed form passes its check, and a deliberately broken form fails it.
* **holds corrected**: the printed form fails, the corrected one passes, and a deliberately broken
  form of the corrected one fails.
* **refuted**: an executed counterexample; a relaxed form shows that the check can be passed.
* **rate only**: the constant is hidden in the paper; the exponent is checked.
* **unproved**: a named step of the paper's proof fails; the entry says what is known otherwise. Of
  a figure: what the paper says of its set-up does not show what it reads off it.
* **not checkable**: with the reason.

Entries that show again what another one found (an equation behind a lemma, a later version of a
paper) name that entry, and are counted as one finding with it.
"""


MATHS = re.compile(r"\$([^$]*)\$")
"""A formula; on the page it is put between backticks too, or Markdown would read it as text."""
SPECIAL = re.compile(r"([*_|<`])")
"""Characters that Markdown would take for its own."""


def evidence_text(evidence: Mapping[str, Value]) -> str:
    """Named numbers in one line."""
    return ", ".join(f"{name} = {_value(value)}" for name, value in evidence.items())


def _value(value: Value) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}"


def paragraphs(entry: Entry, finding: Finding) -> list[tuple[str, str]]:
    """One entry as pairs of a label (or nothing) and a text."""
    severity = f", {entry.severity}" if entry.severity != "none" else ""
    method = f" · {entry.method}" if entry.method else ""
    found = [
        ("", f"{entry.kind} · {finding.status.value}{severity}{method}"),
        ("", entry.summary),
        ("Statement", entry.statement),
    ]
    optional = (
        ("What is wrong", entry.wrong),
        ("Repeats", entry.same_as),
        ("Same finding as", entry.echoes),
        ("Not checkable", entry.not_checkable),
    )
    found += [(label, text) for label, text in optional if text]
    for role, outcome in finding.results.items():
        verdict = "holds" if outcome.holds else "fails"
        shown = f"{verdict}; {evidence_text(outcome.evidence)}"
        found.append((f"{form_title(entry, role)} ({entry.forms[role].words})", shown))
    if entry.code:
        found.append(("Code that implements or uses it", ", ".join(entry.code)))
    return found


def form_title(entry: Entry, role: str) -> str:
    """What a form of a statement is called: its own name, or that of its role."""
    return entry.forms[role].title or TITLES[role]


def section(entry: Entry, finding: Finding) -> str:
    """One entry as Markdown."""
    lines = [f"### {entry.id}"]
    for label, text in paragraphs(entry, finding):
        start = f"**{_markdown(label)}.** " if label else ""
        lines.append(start + _markdown(text))
    return "\n\n".join(lines) + "\n"


def _markdown(text: str) -> str:
    """A text with its formulas between backticks, and the rest safe from Markdown."""
    plain_or_formula = MATHS.split(text)
    for i, part in enumerate(plain_or_formula):
        plain_or_formula[i] = f"$`{part}`$" if i % 2 else SPECIAL.sub(r"\\\1", part)
    return "".join(plain_or_formula)


def anchors(entries: Iterable[Entry]) -> dict[str, str]:
    """The anchor of each entry's heading: letters and digits, numbered where they repeat."""
    found: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for entry in entries:
        kept = [c for c in entry.id.lower() if c.isalnum() or c in " -_"]
        plain = "".join(kept).replace(" ", "-")
        found[entry.id] = f"{plain}-{seen[plain]}" if seen[plain] else plain
        seen[plain] += 1
    return found


def table(entries: list[Entry], findings: Mapping[str, Finding]) -> str:
    """The entries of a paper, a line each."""
    links = anchors(entries)
    rows = [
        f"| [{entry.id.partition(':')[2]}](#{links[entry.id]}) |"
        f" {findings[entry.id].status.value} | {_severity(entry)} |"
        f" {_markdown(entry.summary)} |"
        for entry in entries
    ]
    return "\n".join(["| statement | status | severity | |", "|---|---|---|---|", *rows]) + "\n"


def _severity(entry: Entry) -> str:
    return "" if entry.severity == "none" else entry.severity


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """How many entries have each status that occurs."""
    found = [finding.status for finding in findings]
    return {status.value: found.count(status) for status in Status if status in found}


FAULTS = (Status.CORRECTED, Status.REFUTED, Status.UNPROVED)
"""Statuses that say that something is wrong with the statement as printed."""


def distinct(entries: Iterable[Entry], findings: Mapping[str, Finding]) -> dict[str, int]:
    """How many findings there are of each fault: entries that echo another count with it."""
    found = {(findings[entry.id].status, entry.finding) for entry in entries}
    statuses = [status for status, _ in found]
    return {status.value: statuses.count(status) for status in FAULTS if status in statuses}


def summary(entries: Iterable[Entry], findings: Mapping[str, Finding]) -> str:
    """The counts in one line: “12 refuted (3 findings)” where some are echoes of others."""
    told = list(entries)
    found = distinct(told, findings)
    parts = []
    for name, n in counts(findings[entry.id] for entry in told).items():
        several = found.get(name, n)
        echoes = f" ({several} {'finding' if several == 1 else 'findings'})" if several < n else ""
        parts.append(f"{n} {name}{echoes}")
    return ", ".join(parts)


def _origin(paper: str) -> str:
    """Where the statements of a chapter come from."""
    if paper == THIS_WORK:
        return "This toolkit: the proofs stand in the docstrings of the code that each entry names."
    return f"{PAPERS[paper].authors}, *{PAPERS[paper].title}*."


def document(entries: Mapping[str, Entry], findings: Mapping[str, Finding], seed: int = 0) -> str:
    """The whole ledger as Markdown."""
    told = summary(entries.values(), findings)
    parts = [INTRODUCTION.format(seed=seed), f"{len(entries)} entries: {told}.\n"]
    for paper in dict.fromkeys(entry.paper for entry in entries.values()):
        own = [entry for entry in entries.values() if entry.paper == paper]
        parts.append(f"## {paper}\n\n{_origin(paper)}\n")
        parts.append(table(own, findings))
        parts += [section(entry, findings[entry.id]) for entry in own]
    return "\n".join(parts)
