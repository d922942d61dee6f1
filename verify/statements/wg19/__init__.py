"""The statements of WG19."""

from __future__ import annotations

from verify.proofs.entry import Entry
from verify.statements.wg19 import (
    applications,
    descent,
    descent_error,
    dimension,
    experiments,
    figures,
    preliminaries,
    problems,
)

CHAPTERS = (
    problems.INTRODUCTION,
    preliminaries.CHAPTER,
    descent.CHAPTER,
    descent_error.CHAPTER,
    problems.LINEAR,
    applications.LINEAR,
    dimension.LINEAR,
    problems.LOGISTIC,
    applications.LOGISTIC,
    dimension.LOGISTIC,
    experiments.CHAPTER,
    figures.CHAPTER,
)
ENTRIES: tuple[Entry, ...] = tuple(entry for chapter in CHAPTERS for entry in chapter.entries)
