"""The statements of WX19, in the order of the text."""

from __future__ import annotations

from verify.proofs.entry import Entry
from verify.statements.wx19 import erm, labels, records, thresholding

ENTRIES: tuple[Entry, ...] = (
    *records.PRELIMINARIES,
    *records.LOWER_BOUNDS,
    *thresholding.ENTRIES,
    *labels.ENTRIES,
    *erm.ENTRIES,
    *labels.EXPERIMENTS,
)
