"""The statements of WX21, in the order of the text."""

from __future__ import annotations

from verify.ledger.entry import Entry
from verify.ledger.wx21 import interaction, local_privacy

ENTRIES: tuple[Entry, ...] = (
    *local_privacy.DEFINITIONS,
    *interaction.ENTRIES,
    *local_privacy.LABEL_CLASS,
    *local_privacy.MONOTONE_CLASS,
)
