"""A table whose rows stand under headings as wide as the page, so that no name is broken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

LEAST = 24
"""Columns of the page that the first column has at the least, if that breaks no figure."""
NARROW = 12
"""Where it would have less, what it holds stands on lines of its own."""
INDENT = 2
"""Of what stands under a heading."""


@dataclass
class Grouped:
    """A title, the columns (the first one of words, the others of figures), and groups of rows."""

    title: str
    columns: Sequence[str]
    groups: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)

    def add(self, heading: str, *cells: str) -> None:
        """A row, in markup, under a heading."""
        self.groups.setdefault(heading, []).append(cells)

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        widths = self._widths(options.max_width)
        yield Text(self.title, style="italic")
        yield Text()
        yield from _rows([self.columns], widths, indent=0)
        wide = min(sum(widths) + len(widths) - 1, options.max_width)
        yield Text(("-" if options.ascii_only else "─") * wide)
        for heading, rows in self.groups.items():
            yield Text.from_markup(heading)
            yield from _rows(rows, widths, indent=INDENT)
        yield Text()

    def _widths(self, page: int) -> list[int]:
        """Lines as long as they are; where the page is narrow the longest of figures are folded,
        at spaces."""
        rows = [self.columns, *(row for rows in self.groups.values() for row in rows)]
        first, *figures = (max(map(_longest_line, column)) for column in zip(*rows, strict=True))
        first += INDENT
        _, *words = (max(map(_longest_word, column)) for column in zip(*rows, strict=True))
        room = page - len(figures)
        while sum(figures) > room - min(first, LEAST):
            foldable = [(width, k) for k, width in enumerate(figures) if width > words[k]]
            if not foldable:
                break
            figures[max(foldable)[1]] -= 1
        left = min(first, room - sum(figures))
        return [left if left >= NARROW else 0, *figures]


def _longest_line(cell: str) -> int:
    return max(cell_len(line) for line in Text.from_markup(cell).plain.split("\n"))


def _longest_word(cell: str) -> int:
    return max((cell_len(word) for word in Text.from_markup(cell).plain.split()), default=0)


def _rows(
    rows: Sequence[Sequence[str]], widths: Sequence[int], indent: int
) -> Iterator[RenderableType]:
    """One table, or a line and a table for each row where there is no room for the first column."""
    first, *figures = widths
    if first:
        table = _grid(widths)
        for name, *cells in rows:
            table.add_row(Padding(name, (0, 0, 0, indent)), *cells)
        yield table
        return
    for name, *cells in rows:
        yield Padding(name, (0, 0, 0, indent))
        table = _grid([indent, *figures])
        table.add_row("", *cells)
        yield table


def _grid(widths: Sequence[int]) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    first, *others = widths
    table.add_column(width=first, overflow="fold")
    for width in others:
        table.add_column(width=width, justify="right", overflow="fold", vertical="bottom")
    return table
