"""The statements of WSX18, in the order of the text."""

from __future__ import annotations

from verify.ledger.entry import Entry
from verify.ledger.wsx18 import labels, records

ENTRIES: tuple[Entry, ...] = (
    *records.PRELIMINARIES,
    *records.LOWER_BOUNDS,
    *labels.ENTRIES,
)
