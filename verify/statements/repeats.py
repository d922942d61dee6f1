"""Entries for statements that an earlier version of a paper has too.

WX19 is the conference version of WX21, and WSX18 the workshop version of WX19. A statement that is
the same in two of them has the same forms, run again under its own name; what is worded or numbered
differently is said in its entry. A statement that differs has forms of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from verify.proofs.entry import Entry
from verify.statements.wx21 import ENTRIES

FINAL = {entry.id: entry for entry in ENTRIES}
"""The entries of WX21, the last version."""


def repeat(
    same_as: str, name: str, *, numbers: Mapping[str, str] | None = None, **differences: Any
) -> Entry:
    """The entry of a statement of WX21 under another name.

    `numbers` says how statements named in its words are numbered in the other version;
    `differences` are the fields that are not the same.
    """
    entry = FINAL[same_as]
    words = {field: getattr(entry, field) for field in ("summary", "statement", "wrong")}
    for old, new in (numbers or {}).items():
        words = {field: text.replace(old, new) for field, text in words.items()}
    return replace(entry, **{**words, "id": name, "same_as": same_as, **differences})
