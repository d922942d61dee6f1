"""The command line of the commands: what --help says, the console, and progress on it."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import NoReturn, TypeVar

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

T = TypeVar("T")
HELP_WIDTH = 80


def command_parser(
    module: str, docstring: str, examples: str, prog: str | None = None
) -> argparse.ArgumentParser:
    """The parser of ``python -m module``, described by the docstring, in plain text.

    `prog` is what it was called as, if not so: usage and examples then say that.
    """
    own = f"python -m {module}"
    paragraphs = docstring.replace("`", "").strip().split("\n\n")
    return argparse.ArgumentParser(
        prog=prog or own,
        description="\n\n".join(textwrap.fill(each, HELP_WIDTH) for each in paragraphs),
        epilog=examples.replace(own, prog or own),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


PIPE_WIDTH = 150


class Terminal(Console):
    """The console of the commands: in a pipe as wide as COLUMNS says, or 150 columns."""

    def __init__(self) -> None:
        if isinstance(sys.stdout, TextIOWrapper):  # letters that its encoding has not become ?
            sys.stdout.reconfigure(errors="replace")
        wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
        super().__init__(width=wide)

    def note(self, text: str) -> None:
        """A line of text as it is."""
        self.print(text, markup=False, highlight=False, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """A reader that has seen enough is no failure, nor does it make one well: what is left to
        do is done, files and exit code."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def new_table(title: str, words: Sequence[str], figures: Sequence[str] = ()) -> Table:
    """A table with columns of words, which are folded, and then of figures, which are not."""
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for column in words:
        table.add_column(column, overflow="fold")
    for column in figures:
        table.add_column(column, justify="right", overflow="fold", vertical="bottom")
    return table


def leave(main: Callable[[], int]) -> NoReturn:
    """Run a command and leave with its exit code."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted: no file was left half-written", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)


def leave_from(module: str) -> NoReturn:
    """Run the `main` of a module and leave; Ctrl-C while the module is loaded is heeded too."""
    leave(lambda: int(import_module(module).main()))


def track(items: Iterable[T], console: Console | None, what: str, total: int) -> Iterator[T]:
    """The items, with a progress bar on the console if there is one that shows it."""
    if console is None or not (console.is_terminal or console.is_jupyter):
        yield from items
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield from progress.track(items, total=total, description=what)
