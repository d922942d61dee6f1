"""What a fitted front door tells a person: estimate, interval, guarantee, what was clipped."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from estimators.core.accounting import LedgerEntry
from estimators.core.base import SECRET_SEED
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated

COLUMNS = 80
MOST_ROWS = 40
"""A printed table stops here; the attributes have all rows."""
SEEDED = (
    "random_state was given, so the noise can be computed again: this is a study, not a release."
    " To release a result, leave random_state out."
)
DIGITS = 4
USUAL_DELTA = 1e-6
"""At which guarantees in other definitions are told as well."""


@dataclass(frozen=True)
class Row:
    """One estimated number and its interval."""

    name: str
    estimate: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Report:
    """A fit, told."""

    title: str
    rows: Sequence[Row]
    level: float
    privacy: SpendablePrivacy
    ledger: Sequence[LedgerEntry]
    covers: str
    """What the intervals are about, or why there are none."""
    clipped: Mapping[Any, float] | None = None

    def text(self) -> str:
        """At most 80 columns."""
        cells = [self._cells(row) for row in self.rows[:MOST_ROWS]]
        header = ("", "estimate", f"{self.level:.0%} interval" if self._intervals else "")
        widths = [max(len(row[j]) for row in [header, *cells]) for j in range(3)]
        widths[0] = min(widths[0], COLUMNS - 4 - widths[1] - widths[2])
        lines = [self.title, *(_line(row, widths) for row in [header, *cells])]
        if len(self.rows) > MOST_ROWS:
            lines.append(f"... and {len(self.rows) - MOST_ROWS} more")
        notes = [textwrap.fill(note, COLUMNS, subsequent_indent="  ") for note in self.notes()]
        return "\n".join([*lines, "", *notes])

    def html(self) -> str:
        """The same for a notebook."""
        header = ("", "estimate", f"{self.level:.0%} interval" if self._intervals else "")
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in self._cells(row)) + "</tr>"
            for row in self.rows
        )
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes())
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<div><b>{html.escape(self.title)}</b>{table}{notes}</div>"

    def notes(self) -> list[str]:
        """The sentences under the table."""
        found = [
            f"Guarantee: {in_words(self.privacy)}, whichever single record is replaced by another.",
            f"Spent on: {spent_on(self.ledger)}.",
        ]
        if SECRET_SEED in self.privacy.assumes:
            found.append(f"Careful: {SEEDED}")
        found += [f"Assumed: {words}." for words in self.privacy.assumes if words != SECRET_SEED]
        found.append(self.covers)
        if self.clipped is not None:
            shares = ", ".join(f"{name} {share:.1%}" for name, share in self.clipped.items())
            found.append(f"Clipped to the bounds (told with noise): {shares}.")
        return found

    @property
    def _intervals(self) -> bool:
        return any(row.low is not None for row in self.rows)

    def _cells(self, row: Row) -> tuple[str, str, str]:
        if row.low is None or row.high is None:
            return row.name, number(row.estimate), ""
        digits = interval_digits(row.low, row.high)
        low, high = number(row.low, digits), number(row.high, digits)
        return row.name, number(row.estimate, digits), f"{low} ... {high}"


def _line(row: tuple[str, str, str], widths: Sequence[int]) -> str:
    name = row[0] if len(row[0]) <= widths[0] else row[0][: widths[0] - 1] + "…"
    return f"{name:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:<{widths[2]}}".rstrip()


def interval_digits(low: float, high: float) -> int:
    """Decimals that show the width to two digits."""
    width = high - low
    if not (width > 0 and math.isfinite(width)):
        return DIGITS
    return max(0, 1 - math.floor(math.log10(width)))


def number(value: float, decimals: int | None = None) -> str:
    """A number as a person writes it: decimals if given, else four digits."""
    size = abs(value)
    if decimals is None or not 1e-5 <= size < 1e9 or decimals > 8:
        return f"{value:.{DIGITS}g}"
    return f"{value:,.{decimals}f}"


def in_words(privacy: SpendablePrivacy) -> str:
    """The guarantee, with the epsilon that it means at a usual delta."""
    if isinstance(privacy, (Pure, Approximate)):
        return str(privacy)
    same = privacy.to_approximate(USUAL_DELTA)
    return f"{privacy}, so epsilon = {same.epsilon:.3g} at delta = {USUAL_DELTA:g}"


def spent_on(ledger: Sequence[LedgerEntry]) -> str:
    """What the parts of the budget went to, in the order of their sizes."""
    parts: dict[str, float] = {}
    for entry in ledger:
        parts[entry.about] = parts.get(entry.about, 0.0) + _strength(entry)
    whole = sum(parts.values())
    ordered = sorted(parts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {part / whole:.0%}" for name, part in ordered)


def _strength(entry: LedgerEntry) -> float:
    """mu^2 of a call, or epsilon where it is pure: what adds up."""
    gaussian, pure = entry.guarantee(Gaussian), entry.guarantee(Pure)
    if isinstance(gaussian, Gaussian):
        return entry.count * gaussian.mu**2
    if isinstance(pure, Pure):
        return entry.count * pure.epsilon
    concentrated = entry.guarantee(ZeroConcentrated)
    return entry.count * concentrated.rho if isinstance(concentrated, ZeroConcentrated) else 0.0
