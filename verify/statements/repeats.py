"""Statements that an earlier version of a paper has too.

WX19 is the conference version of WX21, and WSX18 the workshop version of WX19. A statement that is
the same in two of them has the same forms, run again under its own name; what is worded or numbered
differently is said where it is repeated. A statement that differs has forms of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from verify.proofs.entry import Case, Chapter, Kind, Severity, Status
from verify.statements.wx21 import ENTRIES

FINAL = {entry.id: entry for entry in ENTRIES}
"""The entries of WX21, the last version."""


class EarlierVersion(Chapter):
    """A chapter of a version before WX21."""

    def repeats(
        self,
        number: str,
        *,
        of: str = "",
        numbers: Mapping[str, str] | None = None,
        kind: Kind | None = None,
        statement: str | None = None,
        found: str | None = None,
        expected: Status | None = None,
        severity: Severity | None = None,
        wrong: str | None = None,
        printed: Case | None = None,
        mutant: Case | None = None,
    ) -> None:
        """A statement of WX21: `of`, or the one of the same number.

        `numbers` says how statements named in its words are numbered here. The other fields, where
        given, are what is not the same; `printed` and `mutant`, each naming its check, stand for
        all forms of the statement of WX21.
        """
        same_as = f"WX21:{of or number}"
        first = FINAL[same_as]

        def here(own: str | None, text: str) -> str:
            """What is said here, or what WX21 says with the numbers of this version."""
            if own is not None:
                return own
            for old, new in (numbers or {}).items():
                text = text.replace(old, new)
            return text

        entry = replace(
            first,
            id=f"{self.paper}:{number}",
            same_as=same_as,
            kind=kind or first.kind,
            statement=here(statement, first.statement),
            summary=here(found, first.summary),
            expected=expected or first.expected,
            severity=severity or first.severity,
            wrong=here(wrong, first.wrong),
        )
        if printed and mutant:
            entry = replace(entry, printed=printed.form(), corrected=None, mutant=mutant.form())
        self.add(entry)
