"""The statements of WX21."""

from __future__ import annotations

from verify.ledger.entry import Entry
from verify.ledger.wx21 import (
    contraction_proof,
    experiments,
    label_algorithms,
    label_bounds,
    local_algorithms,
    local_bounds,
    thresholding_proof,
)

ENTRIES: tuple[Entry, ...] = (
    *local_bounds.ENTRIES,
    *local_algorithms.ENTRIES,
    *thresholding_proof.ENTRIES,
    *contraction_proof.ENTRIES,
    *label_algorithms.ENTRIES,
    *label_bounds.ENTRIES,
    *experiments.ENTRIES,
)
