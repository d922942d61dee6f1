"""The statements of WG19."""

from __future__ import annotations

from verify.proofs.entry import Entry
from verify.statements.wg19 import (
    applications,
    descent,
    descent_error,
    dimension,
    experiments,
    preliminaries,
    problems,
)

ENTRIES: tuple[Entry, ...] = (
    *problems.INTRODUCTION.entries,
    *preliminaries.ENTRIES,
    *descent.ENTRIES,
    *descent_error.ENTRIES,
    *problems.LINEAR.entries,
    *applications.LINEAR,
    *dimension.LINEAR,
    *problems.LOGISTIC.entries,
    *applications.LOGISTIC,
    *dimension.LOGISTIC,
    *experiments.ENTRIES,
)
