"""A budget in words: what was drawn, by whom and for what, and what is left."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from estimators.core.accounting import COLUMNS

if TYPE_CHECKING:
    from estimators.core.budget import Budget


class Row(NamedTuple):
    """Draws that are alike."""

    draws: str
    each: str
    by: str
    released: str


HEAD = Row("draws", "each", "by", "released")


def rows(budget: Budget) -> list[Row]:
    """The draws, those that are alike together."""
    alike = Counter((percent(draw.share), draw.by, draw.released) for draw in budget.history)
    return [Row(str(times), *words) for words, times in alike.items()]


def percent(share: float) -> str:
    """A share in per cent, with three digits."""
    return f"{100 * share:.3g} %"


def title(budget: Budget) -> str:
    """The whole, and in which definition it is kept."""
    kept = budget.kept_as
    other = "" if kept in (None, budget.total) else f", kept as {kept}"
    return f"Budget of {budget.total}{other}"


def totals(budget: Budget) -> list[str]:
    """What is spent, and what is left."""
    spent, left = budget.spent, budget.left
    rest = min(budget.left_fractions())
    words = "nothing" if spent is None else f"together {spent}"
    more = "nothing" if left is None else f"in one draw {left}"
    return [f"spent {percent(1 - rest):>5}: {words}", f"left  {percent(rest):>5}: {more}"]


def as_text(budget: Budget) -> str:
    """A table of at most 80 columns."""
    table = rows(budget)
    table = [HEAD, *table] if table else []
    width = max((len(row.by) for row in table), default=0)
    lines = [f"{row.draws:>5}  {row.each:>6}  {row.by:<{width}}  {row.released}" for row in table]
    return "\n".join(shortened(line) for line in [title(budget), *lines, *totals(budget)])


def shortened(line: str) -> str:
    """The line, cut where the page ends."""
    return line if len(line) <= COLUMNS else line[: COLUMNS - 3] + "..."


def one_line(budget: Budget) -> str:
    """How much is spent, in how many draws."""
    rest, draws = min(budget.left_fractions()), len(budget.history)
    return f"<Budget of {budget.total}: {percent(1 - rest)} spent in {draws} draws>"


def as_html(budget: Budget) -> str:
    """The same table for a notebook."""

    def line(tag: str, row: tuple[str, ...]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"

    lines = [line("td", row) for row in rows(budget)]
    table = f"<table>{line('th', HEAD)}{''.join(lines)}</table>" if lines else ""
    words = "<br>".join(escape(text) for text in totals(budget))
    return f"<div><b>{escape(title(budget))}</b>{table}<p>{words}</p></div>"
