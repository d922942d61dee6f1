"""The statements of CWZ19, section by section."""

from __future__ import annotations

from verify.ledger.cwz19 import (
    appendix_b,
    group_privacy,
    regression,
    regression_algorithm,
    sparse_regression,
    sparse_regression_algorithm,
)
from verify.ledger.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    *regression.ENTRIES,
    *regression_algorithm.ENTRIES,
    *sparse_regression.ENTRIES,
    *sparse_regression_algorithm.ENTRIES,
    *group_privacy.ENTRIES,
    *appendix_b.ENTRIES,
)
