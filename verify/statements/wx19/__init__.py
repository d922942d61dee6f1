"""The statements of WX19, in the order of the text."""

from __future__ import annotations

from verify.proofs.entry import Entry
from verify.statements.wx19 import erm, figures, labels, records, thresholding

CHAPTERS = (
    records.PRELIMINARIES,
    records.LOWER_BOUNDS,
    thresholding.CHAPTER,
    labels.CHAPTER,
    erm.CHAPTER,
    labels.EXPERIMENTS,
    figures.CHAPTER,
)
ENTRIES: tuple[Entry, ...] = tuple(entry for chapter in CHAPTERS for entry in chapter.entries)
