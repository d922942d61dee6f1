"""The statements of CWZ19, section by section."""

from __future__ import annotations

from verify.ledger.cwz19 import (
    group_privacy,
    mean,
    privacy,
    sparse_descent,
    sparse_lower,
    sparse_mean,
    tracing,
)
from verify.ledger.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    *privacy.ENTRIES,
    *tracing.ENTRIES,
    *mean.ENTRIES,
    *sparse_lower.ENTRIES,
    *sparse_mean.ENTRIES,
    *group_privacy.ENTRIES,
    *sparse_descent.ENTRIES,
)
