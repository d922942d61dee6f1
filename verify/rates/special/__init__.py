"""What `verify.rates` runs besides the claims: findings that need a computation of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from verify.rates.grid import Profile

if TYPE_CHECKING:
    from verify.rates.rows import Control, Row, SlopeRow
    from verify.rates.special.coverage import CoverageRow


@dataclass(frozen=True)
class Found:
    """What a special finding adds to a run."""

    cells: Sequence[Row]
    slopes: Sequence[SlopeRow] = ()
    controls: Sequence[Control] = ()
    coverage: Sequence[CoverageRow] = ()


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
