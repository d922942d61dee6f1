"""The statements of CWZ19, section by section."""

from __future__ import annotations

from verify.ledger.cwz19 import group_privacy, mean, privacy, sparse_lower, tracing
from verify.ledger.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    *privacy.ENTRIES,
    *tracing.ENTRIES,
    *mean.ENTRIES,
    *sparse_lower.ENTRIES,
    *group_privacy.ENTRIES,
)
