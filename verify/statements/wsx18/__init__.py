"""The statements of WSX18, in the order of the text."""

from __future__ import annotations

from verify.proofs.entry import Entry
from verify.statements.wsx18 import labels, records

ENTRIES: tuple[Entry, ...] = (
    *records.PRELIMINARIES,
    *records.LOWER_BOUNDS,
    *labels.ENTRIES,
)
