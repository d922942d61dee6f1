"""What `verify.rates` runs besides the claims: findings that need a computation of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from verify.rates.grid import Profile

if TYPE_CHECKING:
    from verify.rates.rows import Control, Row, SlopeRow
    from verify.rates.sequential import Check, Study
    from verify.rates.special.coverage import CoverageRow


@dataclass(frozen=True)
class Found:
    """What a special finding adds to a run."""

    cells: Sequence[Row]
    slopes: Sequence[SlopeRow] = ()
    controls: Sequence[Control] = ()
    coverage: Sequence[CoverageRow] = ()


def gathered(checks: Sequence[Check]) -> Found:
    """What checks found, by kind."""
    from verify.rates.rows import LevelControl, Row, SlopeControl, SlopeRow
    from verify.rates.special.coverage import CoverageRow

    found = [check.found for check in checks]
    return Found(
        [each for each in found if isinstance(each, Row)],
        [each for each in found if isinstance(each, SlopeRow)],
        [each for each in found if isinstance(each, (LevelControl, SlopeControl))],
        [each for each in found if isinstance(each, CoverageRow)],
    )


@dataclass(frozen=True)
class Extra:
    """Something run besides the claims: its name, against what it is held, and by what."""

    name: str
    against: str
    by: str


@dataclass(frozen=True)
class Special(Extra):
    """An extra that adds cells, slopes and controls to a run, and so to its exit code."""

    intervals: int
    """How many intervals it has, for the error budget."""
    check: Callable[[Profile, int, float, Console | None], Found]
    """From the profile, the seed, the error budget of one interval, and a console for progress."""


@dataclass(frozen=True)
class Measured(Extra):
    """An extra that is measured as claims are: its tasks share workers and looks with theirs."""

    intervals: int
    """How many intervals it has, for the error budget."""
    study: Callable[[Profile], Study]
