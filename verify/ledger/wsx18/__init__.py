"""The statements of WSX18."""

from __future__ import annotations

from verify.ledger.entry import Entry

ENTRIES: tuple[Entry, ...] = ()
