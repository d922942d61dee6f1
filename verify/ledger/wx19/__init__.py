"""The statements of WX19, in the order of the text."""

from __future__ import annotations

from verify.ledger.entry import Entry
from verify.ledger.wx19 import erm, labels, records, thresholding

ENTRIES: tuple[Entry, ...] = (
    *records.PRELIMINARIES,
    *records.LOWER_BOUNDS,
    *thresholding.ENTRIES,
    *labels.ENTRIES,
    *erm.ENTRIES,
    *labels.EXPERIMENTS,
)
