"""``python -m verify.privacy``: is every mechanism as private as it says?

Audits all mechanisms and estimators of the toolkit, the calibrations that papers print, and
controls: broken mechanisms, each of which must be refuted, and correct twins, none of which may be.
With MODULE:NAME it audits a mechanism of your own: a function of data and a generator, an
estimator, or a list of verify.privacy.Case. Exit code 0: every verdict is what it must be. 1: one
is not, or your own claim is refuted. 2: bad usage.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib

from minimax.core.loading import CannotLoad
from minimax.core.privacy import SCOPES, Privacy, from_parameters
from verify.console import Terminal, command_parser, track
from verify.files import write_json
from verify.options import check_common, matching, numbers_of
from verify.privacy.auditing import CONFIDENCE, RELEASES, SECONDS, Audit, audit
from verify.privacy.cases import Case
from verify.privacy.outcomes import CannotAudit
from verify.privacy.own import load_cases
from verify.privacy.plots import write_plot
from verify.privacy.report import Row, Run, print_run
from verify.seeds import cell_seed

NUMBERS = ("epsilon", "delta", "alpha", "rho", "mu")
EXAMPLES = """\
examples:
  python -m verify.privacy                         everything, plots in out/
  python -m verify.privacy --only '*sparse*'       those whose name matches
  python -m verify.privacy --list
  python -m verify.privacy my_module:my_mechanism --epsilon 1 --bounds 0 1
  python -m verify.privacy my_module:CASES --json found.json
"""


def _parser(prog: str | None) -> argparse.ArgumentParser:
    parser = command_parser("verify.privacy", __doc__, EXAMPLES, prog)
    parser.add_argument("own", nargs="?", metavar="MODULE:NAME", help="a mechanism of your own")
    parser.add_argument("--only", metavar="PATTERN", help="mechanisms whose name matches")
    parser.add_argument("--list", action="store_true", help="list what would be audited and stop")
    parser.add_argument(
        "--twins", type=int, metavar="N", default=0, help="audit each correct twin N times"
    )
    claim = parser.add_argument_group("the claim of your own mechanism")
    for name in NUMBERS:
        claim.add_argument(f"--{name}", type=float)
    claim.add_argument("--scope", choices=SCOPES, default="central")
    claim.add_argument(
        "--bounds",
        nargs=2,
        type=float,
        metavar=("LOW", "HIGH"),
        help="of its records (default: any finite record is allowed)",
    )
    effort = parser.add_argument_group("effort")
    effort.add_argument(
        "--releases", type=int, help=f"of each mechanism (default {RELEASES:,} or more)"
    )
    effort.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help="of the processor for each mechanism (default %(default)g)",
    )
    effort.add_argument("--confidence", type=float, default=CONFIDENCE)
    effort.add_argument("--seed", type=int, default=0)
    effort.add_argument("--jobs", type=int, default=-1, help="processes (default: all cores)")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write everything as JSON")
    parser.add_argument("--plots", type=Path, metavar="DIR", default=Path("out"))
    return parser


def main(argv: list[str] | None = None, prog: str | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = _parser(prog)
    args = parser.parse_args(argv)
    _check_options(parser, args)
    try:
        cases = _cases(args)
    except (CannotLoad, ValueError, TypeError) as error:
        parser.error(str(error))
    chosen = matching(parser, cases, args.only, lambda case: case.name)
    console = Terminal()
    if args.list:
        for case in chosen:
            console.note(f"{case.group}: {case.name}")
        return 0
    rows = tuple(track(_audited(chosen, args), console, "auditing", len(chosen)))
    found = Run(rows, args.seed, args.confidence)
    print_run(found, console, failures_only=bool(args.twins))
    if args.json:
        write_json(args.json, found.to_dict())
        console.note(f"JSON in {args.json}")
    drawn = [row.audit for row in rows if row.audit is not None and not (args.twins and row.well)]
    plots = [write_plot(args.plots, each) for each in drawn]
    console.note(f"{len(plots)} plots in {args.plots}/")
    return found.exit_code


def _check_options(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Refuse what could not be run or written before anything is."""
    check_common(parser, args)
    if not args.seconds > 0:
        parser.error(f"--seconds must be positive, got {args.seconds:g}")
    if args.own is None and (numbers_of(args, NUMBERS) or args.bounds):
        parser.error("--epsilon and its like, and --bounds, go with MODULE:NAME")


def _cases(args: argparse.Namespace) -> list[Case]:
    if args.own is not None:
        numbers = numbers_of(args, NUMBERS)
        claim: Privacy | None = None
        if numbers:
            claim = from_parameters(**numbers, scope=args.scope, prefix="--")
        return load_cases(args.own, claim, {"bounds": args.bounds} if args.bounds else {})
    from verify.privacy.controls import CONTROLS  # not needed for a mechanism of one's own
    from verify.privacy.toolkit import estimator_cases, mechanism_cases

    if args.twins:
        sound = [case for case in CONTROLS if case.keeps]
        return [replace(case, name=f"{case.name} {k}") for k in range(args.twins) for case in sound]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of budgets and plans
        return [*mechanism_cases(), *estimator_cases(), *CONTROLS]


def _audited(cases: Sequence[Case], args: argparse.Namespace) -> Iterator[Row]:
    effort = {"seconds": args.seconds, "confidence": args.confidence}
    if args.releases is not None:
        effort["releases"] = args.releases
    jobs = min(len(cases), joblib.cpu_count()) if args.jobs == -1 else args.jobs
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator")
    yield from parallel(
        joblib.delayed(audited)(case, cell_seed(args.seed, case.name), effort) for case in cases
    )


def audited(case: Case, seed: int, effort: dict[str, Any]) -> Row:
    """One row, whatever happens."""
    options = {"seconds": math.inf, **case.options, **effort}
    try:
        with warnings.catch_warnings():  # releases are drawn with an eye of their own on warnings
            warnings.simplefilter("ignore")
            found: Audit = audit(case.mechanism, case.claim, name=case.name, seed=seed, **options)
    except CannotAudit as error:
        return Row(case, None, str(error))
    return Row(case, found)
