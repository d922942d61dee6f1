"""The statements of WG19."""

from __future__ import annotations

from verify.ledger.entry import Entry
from verify.ledger.wg19 import applications, descent, experiments, preliminaries

ENTRIES: tuple[Entry, ...] = (
    *preliminaries.ENTRIES,
    *descent.ENTRIES,
    *applications.ENTRIES,
    *experiments.ENTRIES,
)
