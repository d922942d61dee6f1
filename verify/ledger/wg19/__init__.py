"""The statements of WG19."""

from __future__ import annotations

from verify.ledger.entry import Entry
from verify.ledger.wg19 import (
    applications,
    descent,
    descent_error,
    dimension,
    experiments,
    preliminaries,
)

ENTRIES: tuple[Entry, ...] = (
    *preliminaries.ENTRIES,
    *descent.ENTRIES,
    *descent_error.ENTRIES,
    *applications.LINEAR,
    *dimension.LINEAR,
    *applications.LOGISTIC,
    *dimension.LOGISTIC,
    *experiments.ENTRIES,
)
