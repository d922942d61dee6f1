"""The statements of WSX18, in the order of the text."""

from __future__ import annotations

from verify.proofs.entry import Entry
from verify.statements.wsx18 import labels, records

CHAPTERS = (
    records.PRELIMINARIES,
    records.LOWER_BOUNDS,
    labels.CHAPTER,
)
ENTRIES: tuple[Entry, ...] = tuple(entry for chapter in CHAPTERS for entry in chapter.entries)
