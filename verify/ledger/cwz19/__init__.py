"""The statements of CWZ19, section by section."""

from __future__ import annotations

from verify.ledger.cwz19 import (
    group_privacy,
    privacy_inequality,
    regression,
    regression_algorithm,
    regression_convergence,
    sparse_regression,
    sparse_regression_algorithm,
    stein,
)
from verify.ledger.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    *regression.ENTRIES,
    *regression_algorithm.ENTRIES,
    *regression_convergence.ENTRIES,
    *sparse_regression.ENTRIES,
    *sparse_regression_algorithm.ENTRIES,
    *group_privacy.ENTRIES,
    *stein.ENTRIES,
    *privacy_inequality.ENTRIES,
)
