"""Runs and rows as a notebook shows them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from minimax.core.html import html_table
from verify.rates.report import ceiling_text, numbers, over_lower, percent, remarks
from verify.rates.rows import Row, Run

CELL_HEAD = ("claim", "estimator", "point", "lower", "risk", "upper", "× lower (noticed from)")
WHY = ("verdict", "reason")


def rows_html(rows: Sequence[Row]) -> str:
    """Cells as a table."""
    shown = [
        (
            row.claim,
            row.estimator,
            numbers(row.point),
            f"{row.lower:.3g}",
            percent(row.measured),
            ceiling_text(row.upper),
            over_lower(row),
            row.verdict.value,
            row.reason.value,
        )
        for row in rows
    ]
    return html_table("measured risk between its bounds", (*CELL_HEAD, *WHY), shown)


def run_html(found: Run) -> str:
    """A run: its summary and remarks, cells, exponents, coverages and controls."""
    slopes = [
        (
            *(s.claim, f"{s.variable} ({s.regime})"),
            *(f"{s.slope.fitted:+.2f}", f"{s.expected:+.2f}"),
            *(s.verdict.value, s.reason.value),
        )
        for s in found.slopes
    ]
    coverage = [
        (
            *(c.claim, c.estimator, f"{c.level:g}", f"{c.measured.risk:.4f}"),
            *(c.verdict.value, c.reason.value),
        )
        for c in found.coverage
    ]
    controls = [(c.claim, c.kind, *c.comparison, c.reason) for c in found.controls]
    tables = [
        rows_html(found.cells) if found.cells else "",
        html_table("exponents", ("claim", "in", "fitted", "bound", *WHY), slopes),
        html_table("coverage", ("claim", "estimator", "level", "covered", *WHY), coverage),
        html_table("controls", ("claim", "control", "measured", "must be", "reason"), controls),
    ]
    parts = (found.cells, found.slopes, found.coverage, found.controls)
    filled = [table for table, rows in zip(tables, parts, strict=True) if rows]
    said = [f"<p>{escape(line)}</p>" for line in (str(found.summary), *remarks(found))]
    return "\n".join([*said, *filled])
