"""The theorems of this toolkit itself: exact constants for the cost of privacy."""

from __future__ import annotations

from verify.proofs.entry import Entry
from verify.statements.tracebound import means, own_channel, pairs, scores

CHAPTERS = (scores.CHAPTER, own_channel.CHAPTER, pairs.CHAPTER, means.CHAPTER)
ENTRIES: tuple[Entry, ...] = tuple(entry for chapter in CHAPTERS for entry in chapter.entries)
