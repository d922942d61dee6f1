"""What the calculator prints: a table, or in few columns one block for each bound."""

from __future__ import annotations

import json
import math
import os
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from minimax.calculator import Row, closed_form
from minimax.core.bound import Bound, Point
from minimax.core.privacy import Privacy
from minimax.core.problem import Problem
from minimax.core.symbolic import PLAIN_LETTERS, symbol
from minimax.plan import LARGEST_N, Plan
from minimax.plan_for import LEVELS, NumberPlan

JSON = dict[str, object]
PIPE_WIDTH = 80
"""Columns in a pipe, unless COLUMNS says otherwise."""
TABLE_WIDTH = 110
"""In fewer columns a table's own would be too narrow to read."""


def title_of(problem: Problem, privacy: Privacy) -> str:
    """The problem and its numbers."""
    numbers = ", ".join(f"{name} = {value:g}" for name, value in problem.point.items())
    return f"{problem.name}: {problem.description}; {privacy}\n{numbers}"


def columns() -> int:
    """How wide the output may be."""
    return Console().width if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH


def print_wrapped(text: str, indent: str = "", more: str = "  ") -> None:
    """A paragraph that fits the columns; continued lines are moved in by `more`."""
    lines = textwrap.wrap(
        text,
        columns(),
        initial_indent=indent,
        subsequent_indent=indent + more,
        break_long_words=False,
        break_on_hyphens=False,
    )
    print("\n".join(lines))


def print_table(table: list[Row], title: str) -> None:
    """One row for each bound."""
    if columns() < TABLE_WIDTH:
        _print_blocks(table, title)
        return
    shown = Table(title=escape(title), show_lines=True)
    shown.add_column("bound", overflow="fold")
    shown.add_column("kind", no_wrap=True)
    for column in ("statistical", "privacy", "total"):
        shown.add_column(column, justify="right", overflow="fold")
    shown.add_column("assumptions", overflow="fold")
    for row in table:
        shown.add_row(
            f"{escape(row.name)}\n[dim]{escape(row.source)}[/dim]",
            row.kind,
            *map(_number, (row.statistical, row.privacy, row.total)),
            escape("\n".join(row.assumptions)),
        )
    Console(width=columns()).print(shown)


def _print_blocks(table: list[Row], title: str) -> None:
    for line in title.splitlines():
        print_wrapped(line)
    for row in table:
        print()
        print_wrapped(f"{row.name} [{row.kind}]")
        print_wrapped(row.source, "  ")
        terms = {"statistical": row.statistical, "privacy": row.privacy, "total": row.total}
        print_wrapped("   ".join(f"{name} {_number(each)}" for name, each in terms.items()), "  ")
        for note in row.assumptions:
            print_wrapped(f"- {note}", "  ")


CLOSED_FORMS = (
    "Closed forms are valid wherever the bounds are, and on the safe side of the totals in the"
    " table, which are optimised and may be much better."
)


def print_closed_forms(bounds: Sequence[Bound]) -> None:
    """As LaTeX, with what they are."""
    for bound in bounds:
        form = closed_form(bound)
        print(f"{form.name}\n  {form.latex}")
    letters = [f"{symbol(name)} = {name}" for name in PLAIN_LETTERS if _has(bounds, name)]
    print_wrapped(" ".join([CLOSED_FORMS, *(f"({each})" for each in letters)]))


def _has(bounds: Sequence[Bound], name: str) -> bool:
    return any(name in bound.parameters for bound in bounds)


def print_json(table: list[Row], bounds: Sequence[Bound], point: Point) -> None:
    """The rows with their closed forms; the best proven risk, the first of upper rows, has none."""
    first = len(table) - len(bounds)
    forms = [*[_form_json()] * first, *(_form(bound, point) for bound in bounds)]
    both = [{**asdict(row), **form} for row, form in zip(table, forms, strict=True)]
    print(json.dumps(both, indent=2))


def _form(bound: Bound, point: Point) -> JSON:
    """Of a formula of one's own that only takes numbers there is none: it may fail anyhow."""
    try:
        found = closed_form(bound)
    except Exception:
        return _form_json()
    return _form_json(found.closed_form, found.latex, _form_value(bound, point))


def _form_value(bound: Bound, point: Point) -> float | None:
    """The closed form that is printed, at the point: it is not as near as the total. None outside
    the regime, where the numbers are too far apart, and for a form of one's own that cannot be
    computed."""
    known = {k: v for k, v in point.items() if k in bound.parameters}
    try:
        found = Bound.closed_form(bound, **known)  # some upper bounds have a nearer one there
    except Exception:
        return None
    return found if math.isfinite(found) else None


def _form_json(
    text: str | None = None, latex: str | None = None, value: float | None = None
) -> JSON:
    return {"closed_form": text, "closed_form_value": value, "latex": latex}


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3e}"


def print_plan(found: Plan, as_json: bool) -> None:
    """The answer to --plan."""
    if as_json:
        print(json.dumps(vars(found), indent=2))
        return
    print_wrapped(f"target risk: {found.risk:g}")
    reach = f"n < {found.impossible_below:,}"
    if found.impossible_below >= LARGEST_N:
        reach = "any n up to 10^15"
    print_wrapped(f"no private estimator reaches it with {reach}   ({found.by})")
    if found.enough_at is None:
        print("no estimator here is proven to reach it with n up to 10^15")
    else:
        print_wrapped(f"proven to be reached at n = {found.enough_at:,}   ({found.with_estimator})")


def print_number_plan(found: NumberPlan, as_json: bool) -> None:
    """The answer to --plan --for."""
    if as_json:
        print(json.dumps(vars(found), indent=2))
        return
    level = found.number in LEVELS
    print_wrapped(f"target risk: {found.risk:g}")
    if found.impossible_at is None:
        print(f"no {found.number} that was tried is excluded by a lower bound")
    else:
        where = _outward(found.impossible_at, up=False) if level else f"{found.impossible_at:,.0f}"
        reach = f"with {found.number} <= {where}" if level else f"at {found.number} = {where}"
        print_wrapped(f"no private estimator reaches it {reach}   ({found.by})")
    if found.enough_at is None:
        print(f"no estimator here is proven to reach it at any {found.number} that was tried")
    else:
        where = _outward(found.enough_at, up=True) if level else f"{found.enough_at:,.0f}"
        print_wrapped(
            f"proven to be reached at {found.number} = {where}   ({found.with_estimator})"
        )


def _outward(value: float, *, up: bool) -> str:
    """Four digits, rounded to the side on which the statement stays true."""
    scale = 10.0 ** (3 - math.floor(math.log10(value)))
    return f"{(math.ceil if up else math.floor)(value * scale) / scale:.4g}"
