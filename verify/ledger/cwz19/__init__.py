"""The statements of CWZ19, section by section."""

from __future__ import annotations

from verify.ledger.cwz19 import (
    appendix_a,
    experiments,
    group_privacy,
    regression_step,
    thresholding_step,
)
from verify.ledger.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    *experiments.ENTRIES,
    *group_privacy.ENTRIES,
    *appendix_a.ENTRIES,
    *regression_step.ENTRIES,
    *thresholding_step.ENTRIES,
)
