"""Entries for statements that a later version of a paper repeats.

WX19 is the conference version of WX21, and WSX18 the workshop version of WX19. A statement that is
the same in two of them has the same forms, run again under its own name; what is worded or numbered
differently is said in its entry. A statement that differs has forms of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from verify.ledger.entry import Entry
from verify.ledger.wx21 import ENTRIES

FINAL = {entry.id: entry for entry in ENTRIES}
"""The entries of WX21, the last version."""


def repeat(same_as: str, name: str, **differences: Any) -> Entry:
    """The entry of a statement of WX21 under another name, with what is worded differently."""
    return replace(FINAL[same_as], id=name, same_as=same_as, **differences)
