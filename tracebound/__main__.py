"""``tracebound COMMAND ...``: every command of the toolkit under one name.

It works in any folder, also in one that has a verify.py or a minimax.py of its own: the packages
come before the working folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from tracebound import __version__

HELP_FLAGS = ("-h", "--help", "help")


@dataclass(frozen=True)
class Command:
    """A subcommand: the module whose `main` runs it, and what it is for."""

    module: str
    about: str
    options: tuple[str, ...] = ()
    """Added to those that are given."""

    def run(self, name: str, arguments: list[str]) -> int:
        """Run it under its name and return its exit code."""
        main: Callable[..., int] = import_module(self.module).main
        return main([*self.options, *arguments], prog=f"tracebound {name}")


COMMANDS = {
    "bounds": Command("minimax.__main__", "lower and upper bounds of a problem, as numbers"),
    "plan": Command("minimax.__main__", "how many records reach a risk", ("--plan",)),
    "rates": Command("verify.rates.command", "measured error against the bounds: the main job"),
    "privacy": Command("verify.privacy.command", "is a mechanism as private as it says?"),
    "attacks": Command("verify.attacks.command", "can a release be traced to its records?"),
    "proofs": Command("verify.proofs.command", "every numbered statement of the papers, run"),
    "figures": Command("verify.figures.command", "the papers' figures and tables, regenerated"),
    "channels": Command("verify.channels", "how private channels contract divergences"),
    "companion": Command("verify.companion.command", "a page for every statement, in the browser"),
}


def usage() -> str:
    """What there is."""
    lines = [f"  tracebound {name:10s} {command.about}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "usage: tracebound COMMAND [OPTION ...]",
            "",
            f"tracebound {__version__}: private estimators and minimax bounds that are proved.",
            "",
            "commands:",
            *lines,
            "",
            "examples:",
            "  tracebound bounds mean --n 10000 --d 20 --rho 0.125",
            "  tracebound plan bounded-mean --d 20 --rho 0.125 --risk 0.01",
            "  tracebound rates --only 'mean*'",
            "",
            "tracebound COMMAND --help tells of one; tracebound --version tells the version.",
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand; returns the exit code, 2 for bad usage."""
    given = sys.argv[1:] if arguments is None else arguments
    if not given or given[0] in HELP_FLAGS:
        print(usage())
        return 0 if given else 2
    name, *rest = given
    if name == "--version":
        print(f"tracebound {__version__}")
        return 0
    if name not in COMMANDS:
        known = ", ".join(COMMANDS)
        print(f"tracebound: there is no command {name!r}; there are {known}", file=sys.stderr)
        return 2
    return COMMANDS[name].run(name, rest)


def packages_first() -> None:
    """Let the working folder, which ``python -m`` puts first, come after the installed packages."""
    if sys.path and sys.path[0] in ("", os.getcwd()):
        sys.path.pop(0)
        sys.path.append(os.getcwd())


def script() -> None:
    """The console command."""
    try:
        packages_first()
        from verify.console import leave
    except KeyboardInterrupt:  # of which `leave` would tell, and is not there yet
        print("interrupted before anything was begun", file=sys.stderr)
        sys.exit(130)
    leave(main)


if __name__ == "__main__":
    script()
