"""The proof ledger: every numbered statement of the papers, and our own theorems, with checks.

One package per paper and one for this work, each statement above the check that decides it.
``python -m verify.proofs`` runs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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
    return {name: _at_home(entry, found) for name, entry in found.items()}


def _at_home(entry: Entry, known: Mapping[str, Entry]) -> Entry:
    """A statement repeated from another version, resting on this version's statements.

    What this version does not state (its proofs are in the last one) stays with the other.
    """
    if not entry.same_as or entry.same_as.startswith(f"{entry.paper}:"):
        return entry
    here = {each.same_as: each.id for each in known.values() if each.paper == entry.paper}

    def local(name: str) -> str:
        paper, _, number = name.partition(":")
        own = known.get(f"{entry.paper}:{number}")  # stated in words of its own
        alone = own is not None and not own.same_as.startswith(f"{paper}:")
        return here.get(name, f"{entry.paper}:{number}" if alone else name)

    return replace(
        entry,
        uses=tuple(map(local, entry.uses)),
        proof_uses=tuple(map(local, entry.proof_uses)),
    )
