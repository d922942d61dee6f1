"""The proof ledger: every numbered statement of the papers, and our own theorems, with checks.

One package per paper and one for this work, each statement above the check that decides it.
``python -m verify.proofs`` runs them.
"""

from __future__ import annotations

from functools import cache

from verify.proofs.entry import Entry


@cache
def entries() -> dict[str, Entry]:
    """Every entry by its id, paper by paper in the order of the text; our own theorems last."""
    from verify.statements import cwz19, tracebound, wg19, wsx18, wx19, wx21

    found: dict[str, Entry] = {}
    for paper in (cwz19, wx21, wx19, wsx18, wg19, tracebound):
        for entry in paper.ENTRIES:
            if entry.id in found:
                raise ValueError(f"two entries have the id {entry.id!r}")
            found[entry.id] = entry
    return found
