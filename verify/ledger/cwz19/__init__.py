"""The statements of CWZ19, section by section."""

from __future__ import annotations

from verify.ledger.cwz19 import (
    appendix_b,
    group_privacy,
    regression,
    regression_algorithm,
    sparse_regression,
)
from verify.ledger.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    *regression.ENTRIES,
    *regression_algorithm.ENTRIES,
    *sparse_regression.ENTRIES,
    *group_privacy.ENTRIES,
    *appendix_b.ENTRIES,
)
