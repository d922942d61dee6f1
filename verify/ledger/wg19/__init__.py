"""The statements of WG19."""

from __future__ import annotations

from verify.ledger.entry import Entry

ENTRIES: tuple[Entry, ...] = ()
