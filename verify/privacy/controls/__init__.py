"""Broken mechanisms, each of which the auditor must refute, and correct twins, none of which."""

from __future__ import annotations

from verify.privacy.cases import Case
from verify.privacy.controls.counts import COUNTS
from verify.privacy.controls.leaks import LEAKS
from verify.privacy.controls.local import LOCAL
from verify.privacy.controls.means import MEANS
from verify.privacy.controls.published import PUBLISHED
from verify.privacy.controls.selection import SELECTION

__all__ = ["CONTROLS"]

CONTROLS: tuple[Case, ...] = tuple(
    case
    for catalogue in (MEANS, SELECTION, COUNTS, LOCAL, LEAKS, PUBLISHED)
    for case in catalogue.cases
)
