"""What a person reads of a run: a row for each mechanism, and one line that sums it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape

from verify.console import new_table
from verify.privacy.auditing import Audit
from verify.privacy.budget import letter, stated
from verify.privacy.cases import Case


@dataclass(frozen=True)
class Row:
    """A case and what was found, or why nothing could be."""

    case: Case
    audit: Audit | None
    error: str = ""

    @property
    def well(self) -> bool:
        """Whether the verdict is what it must be; a claim that nobody knows must not be refuted."""
        return self.audit is not None and self.audit.refuted is (self.case.keeps is False)

    @property
    def verdict(self) -> str:
        """In capitals."""
        return "NOT AUDITED" if self.audit is None else self.audit.verdict.value

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        found = {} if self.audit is None else self.audit.to_dict()
        return {
            **found,
            "name": self.case.name,
            "group": self.case.group,
            "claim": str(self.case.claim),
            "expected": {True: "NOT REFUTED", False: "REFUTED", None: None}[self.case.keeps],
            "verdict": self.verdict,
            "well": self.well,
            "error": self.error,
        }


@dataclass(frozen=True)
class Run:
    """All rows of a run."""

    rows: tuple[Row, ...]
    seed: int
    confidence: float

    @property
    def exit_code(self) -> int:
        """0 if every verdict is what it must be."""
        return 0 if all(row.well for row in self.rows) else 1

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "seed": self.seed,
            "confidence": self.confidence,
            "exit_code": self.exit_code,
            "rows": [row.to_dict() for row in self.rows],
        }

    def summary(self) -> str:
        """How many of each kind are what they must be."""
        broken = [row for row in self.rows if row.case.keeps is False]
        sound = [row for row in self.rows if row.case.keeps]
        others = [row for row in self.rows if row.case.keeps is None]
        parts = []
        if broken:
            parts.append(f"{sum(r.well for r in broken)} of {len(broken)} broken claims refuted")
        if sound:
            parts.append(f"{_refuted(sound)} of {len(sound)} sound ones refuted")
        if others:
            parts.append(f"{_refuted(others)} of {len(others)} of your own refuted")
        unheard = sum(row.audit is None for row in self.rows)
        parts += [f"{unheard} not audited"] if unheard else []
        return f"{'; '.join(parts)}; confidence {self.confidence:g} each, seed {self.seed}"


def _refuted(rows: Sequence[Row]) -> int:
    return sum(row.audit is not None and row.audit.refuted for row in rows)


def print_run(found: Run, console: Console, failures_only: bool = False) -> None:
    """A table for each group, of all rows or of those that are wrong, and the sum."""
    shown = [row for row in found.rows if not (failures_only and row.well)]
    for group in dict.fromkeys(row.case.group for row in shown):
        table = new_table(
            group, ("mechanism / why",), ("claimed", "at least", "releases", "s", "verdict")
        )
        for row in (row for row in shown if row.case.group == group):
            table.add_row(_named(row), *_figures(row), _verdict(row))
        console.print(table)
    console.print(found.summary(), highlight=False)


def _named(row: Row) -> str:
    return "\n".join([escape(row.case.name), *(f"[dim]{escape(line)}[/]" for line in reasons(row))])


def reasons(row: Row) -> list[str]:
    """Why a claim is refuted, in a line or two; or why nothing was found out."""
    if row.audit is None:
        return [row.error]
    if not row.audit.refuted:
        return list(row.audit.notices)
    failed = [f"{c.name}: {c.told}" for c in row.audit.checks if c.passed is False]
    best = row.audit.search.best
    return failed or ([] if best is None else [best.event, f"data: {best.pair}"])


def _figures(row: Row) -> Sequence[str]:
    if row.audit is None:
        return "-", "-", "-", "-"
    claim, found = row.case.claim, row.audit
    lower = f"{found.lower:.3g}" if found.search.tested else "-"
    claimed = f"{letter(claim)} {stated(claim):.3g}"
    return claimed, lower, f"{found.search.releases:,}", f"{found.seconds:.1f}"


def _verdict(row: Row) -> str:
    style = "green" if row.well else "bold red"
    wrong = "" if row.well else "\nwhich is wrong" if row.case.keeps is not None else ""
    return f"[{style}]{row.verdict}[/]{wrong}"
