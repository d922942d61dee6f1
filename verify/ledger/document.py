"""The ledger as text: one entry for the terminal, and all of them as ``docs/ledger.md``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from minimax.papers import PAPERS
from verify.ledger.entry import Entry, Finding, Status, Value

TITLES = {
    "printed": "As printed",
    "step": "A step of the proof",
    "corrected": "Corrected",
    "mutant": "Control that must fail",
    "relaxed": "Control that must hold",
}
INTRODUCTION = """\
# The proof ledger

Every numbered statement of the papers, checked. This page is written by
`python -m verify.proofs --write docs/ledger.md`; the statuses and numbers are those of that run
(seed 0). A status follows from which forms of a statement hold when they are run:

* **holds**: the printed form passes its check, and a deliberately broken form fails it.
* **holds corrected**: the printed form fails, the corrected one passes.
* **refuted**: an executed counterexample; a relaxed form shows that the check can be passed.
* **rate only**: the constant is hidden in the paper; the exponent is checked.
* **unproved**: a named step of the paper's proof fails, and truth is not known here.
* **not checkable**: with the reason.
"""


def evidence_text(evidence: Mapping[str, Value]) -> str:
    """Named numbers in one line."""
    return ", ".join(f"{name} = {_value(value)}" for name, value in evidence.items())


def _value(value: Value) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}"


def section(entry: Entry, finding: Finding) -> str:
    """One entry as Markdown."""
    severity = f", {entry.severity}" if entry.severity != "none" else ""
    lines = [
        f"### {entry.id}",
        f"*{entry.kind}* · **{finding.status.value}**{severity}"
        + (f" · {entry.method}" if entry.method else ""),
        entry.summary,
        f"**Statement.** {entry.statement}",
    ]
    if entry.wrong:
        lines.append(f"**What is wrong.** {entry.wrong}")
    if entry.same_as:
        lines.append(f"**Repeats** {entry.same_as}.")
    if entry.not_checkable:
        lines.append(f"**Not checkable:** {entry.not_checkable}")
    lines += [
        f"* {TITLES[role]} ({entry.forms[role].words}):"
        f" **{'holds' if found.holds else 'fails'}**; {evidence_text(found.evidence)}"
        for role, found in finding.results.items()
    ]
    if entry.code:
        lines.append("Code: " + ", ".join(f"`{name}`" for name in entry.code))
    return "\n\n".join(lines) + "\n"


def table(entries: Iterable[Entry], findings: Mapping[str, Finding]) -> str:
    """The entries of a paper, a line each."""
    rows = [
        f"| {_link(entry)} | {findings[entry.id].status.value} | {_severity(entry)} |"
        f" {entry.summary.replace('|', '∣')} |"
        for entry in entries
    ]
    return "\n".join(["| statement | status | severity | |", "|---|---|---|---|", *rows]) + "\n"


def _severity(entry: Entry) -> str:
    return "" if entry.severity == "none" else entry.severity


def _link(entry: Entry) -> str:
    """To the heading of the entry's section."""
    kept = [c for c in entry.id.lower() if c.isalnum() or c in " -_"]
    return f"[{entry.id.partition(':')[2]}](#{''.join(kept).replace(' ', '-')})"


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """How many entries have each status that occurs."""
    found = [finding.status for finding in findings]
    return {status.value: found.count(status) for status in Status if status in found}


def document(entries: Mapping[str, Entry], findings: Mapping[str, Finding]) -> str:
    """The whole ledger as Markdown."""
    summary = ", ".join(f"{n} {name}" for name, n in counts(findings.values()).items())
    parts = [INTRODUCTION, f"{len(entries)} entries: {summary}.\n"]
    for paper in dict.fromkeys(entry.paper for entry in entries.values()):
        own = [entry for entry in entries.values() if entry.paper == paper]
        parts.append(f"## {paper}\n\n{PAPERS[paper].authors}, *{PAPERS[paper].title}*.\n")
        parts.append(table(own, findings))
        parts += [section(entry, findings[entry.id]) for entry in own]
    return "\n".join(parts)
