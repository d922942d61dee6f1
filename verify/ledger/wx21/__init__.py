"""The statements of WX21, in the order of the text."""

from __future__ import annotations

from verify.ledger.entry import Entry
from verify.ledger.wx21 import (
    contraction_proof,
    erm,
    erm_lemmas,
    experiments,
    interaction,
    isometry,
    label_algorithms,
    label_bounds,
    local_algorithms,
    local_bounds,
    local_privacy,
    private_tests,
    randomiser,
    relaxed_privacy,
    technical_lemmas,
    thresholding_proof,
    two_label_family,
)

ENTRIES: tuple[Entry, ...] = (
    *local_privacy.DEFINITIONS,
    *local_privacy.RATE,
    *local_bounds.ENTRIES,
    *interaction.ENTRIES,
    *relaxed_privacy.ZERO_CONCENTRATED,
    *randomiser.ENTRIES,
    *isometry.WHOLE_RECORDS,
    *local_algorithms.ENTRIES,
    *local_privacy.LABEL_CLASS,
    *isometry.LABELS,
    *label_algorithms.ENTRIES,
    *label_bounds.ENTRIES,
    *erm.ENTRIES,
    *local_privacy.MONOTONE_CLASS,
    *experiments.ENTRIES,
    *technical_lemmas.SUB_GAUSSIAN,
    *technical_lemmas.LEMMAS,
    *isometry.LEMMA_5,
    *technical_lemmas.CHI_SQUARE,
    *private_tests.METHODS,
    *two_label_family.CONSTRUCTION,
    *relaxed_privacy.CHI_SQUARE,
    *private_tests.CHI_SQUARE,
    *erm_lemmas.ENTRIES,
    *thresholding_proof.ENTRIES,
    *contraction_proof.ENTRIES,
)
