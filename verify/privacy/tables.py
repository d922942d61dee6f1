"""Releases as rows of numbers: what statistics are learned from and looked up in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from verify.privacy.outcomes import MOST_NUMBERS, Outcome

Array = NDArray[np.float64]
DIFFERENCES = 5
"""Among so many first numbers, all differences are columns too: shared noise cancels in them."""
FRACTIONS = 3
"""Of so many first numbers the fractional part is a column too: a lattice shows in it."""


@dataclass(frozen=True, eq=False)
class Table:
    """Releases of one side, as rows of numbers and as they are."""

    numbers: Array
    """One row for each release; NaN where it has fewer numbers than others."""
    outcomes: Sequence[Outcome]

    def __len__(self) -> int:
        return len(self.outcomes)

    def part(self, rows: slice) -> Table:
        """Some of the rows."""
        return Table(self.numbers[rows], self.outcomes[rows])


def joined(tables: Sequence[Table]) -> Table:
    """All rows of several tables."""
    return Table(
        np.vstack([table.numbers for table in tables]),
        [outcome for table in tables for outcome in table.outcomes],
    )


@dataclass(frozen=True)
class Layout:
    """Which columns a table has: given by the first releases that were seen, kept from then on."""

    width: int

    @staticmethod
    def of(outcomes: Sequence[Outcome]) -> Layout:
        """Wide enough for these."""
        return Layout(min(max((len(o.numbers) for o in outcomes), default=0), MOST_NUMBERS))

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """The releases' numbers, and columns that are computed from them."""
        blank = (None,) * self.width
        rows = [(outcome.numbers + blank)[: self.width] for outcome in outcomes]
        plain = np.array(rows, dtype=float).reshape(len(rows), self.width)
        length = np.array([len(outcome.numbers) for outcome in outcomes], dtype=float)
        return Table(np.column_stack([plain, length, *self._derived(plain)]), outcomes)

    def pair(self, sides: tuple[Sequence[Outcome], Sequence[Outcome]]) -> Pair:
        """The tables of both sides."""
        return Pair(*map(self.table, sides))

    def _derived(self, plain: Array) -> list[Array]:
        """How many numbers, their sum, largest, smallest, where these are; differences; parts."""
        if self.width == 0:
            return []
        first = plain[:, :DIFFERENCES].T
        parts = [column - np.floor(column) for column in first[:FRACTIONS]]
        if self.width == 1:
            return parts
        known = ~np.isnan(plain)
        high, low = (np.where(known, plain, fill) for fill in (-np.inf, np.inf))
        derived = [known.sum(axis=1), np.where(known, plain, 0.0).sum(axis=1)]
        derived += [high.max(axis=1), low.min(axis=1), high.argmax(axis=1), low.argmin(axis=1)]
        derived += [a - b for i, a in enumerate(first) for b in first[i + 1 :]]
        return [np.where(np.isfinite(c), c, np.nan).astype(float) for c in (*derived, *parts)]

    def names(self) -> list[str]:
        """What each column is."""
        plain = [*(f"number {j}" for j in range(self.width)), "how many entries"]
        few = range(min(self.width, DIFFERENCES))
        parts = [f"fractional part of number {j}" for j in few[:FRACTIONS]]
        if self.width < 2:
            return plain + parts
        derived = ["how many numbers", "their sum", "the largest", "the smallest"]
        derived += ["where the largest is", "where the smallest is"]
        derived += [f"number {i} - number {j}" for i in few for j in few[i + 1 :]]
        return plain + derived + parts


class Pair(NamedTuple):
    """Releases on X and on its neighbour, row by row with the same noise."""

    first: Table
    second: Table


def joined_pair(parts: Sequence[Pair]) -> Pair:
    """All rows of several pairs of tables."""
    return Pair(*(joined([part[side] for part in parts]) for side in (0, 1)))
