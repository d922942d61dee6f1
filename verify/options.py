"""What commands that audit or attack share: choosing by name, and refusing bad options."""

from __future__ import annotations

import argparse
import difflib
import fnmatch
from collections.abc import Callable, Sequence
from typing import TypeVar

from verify.files import folder_problems, write_problems

T = TypeVar("T")


def matching(
    parser: argparse.ArgumentParser,
    known: Sequence[T],
    pattern: str | None,
    name: Callable[[T], str],
) -> list[T]:
    """Those whose name matches, all without a pattern; an error with the nearest names if none
    does."""
    wanted = "*" if pattern is None else pattern
    chosen = [each for each in known if fnmatch.fnmatch(name(each), wanted)]
    if not chosen:
        near = difflib.get_close_matches(wanted, map(name, known), n=3, cutoff=0.0)
        parser.error(f"--only {pattern!r} matches nothing; nearest: {', '.join(near)}")
    return chosen


def check_common(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Refuse jobs, seeds, confidences and paths with which nothing could be run or written."""
    if args.jobs == 0 or args.jobs < -1:
        parser.error(f"--jobs must be positive, or -1 for all cores; got {args.jobs}")
    if args.seed < 0:
        parser.error(f"--seed must not be negative, got {args.seed}")
    if not 0 < args.confidence < 1:
        parser.error(f"--confidence must lie between 0 and 1, got {args.confidence:g}")
    for problem in write_problems(args.json):
        parser.error(f"--json: {problem}")
    for problem in folder_problems(args.plots):
        parser.error(f"--plots: {problem}")


def numbers_of(args: argparse.Namespace, names: Sequence[str]) -> dict[str, float]:
    """The numbers of a claim that were given."""
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}
