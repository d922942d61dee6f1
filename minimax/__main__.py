"""The calculator on the command line: ``python -m minimax PROBLEM ...``."""

from __future__ import annotations

import argparse
import json
import math
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from minimax.calculator import Row, rows, upper_rows
from minimax.catalogue import PROBLEMS
from minimax.core.balls import MissingFlint
from minimax.core.bound import Bound
from minimax.core.privacy import Privacy, from_parameters
from minimax.core.problem import Problem
from minimax.plan import LARGEST_N, Plan, plan
from minimax.problems.local_regression.problem import LOSSES, LocalRegressionProblem
from minimax.rigorous import best_certificate, certificates, shown

EXAMPLES = """\
examples:
  python -m minimax mean --n 10000 --d 20 --epsilon 0.5 --delta 1e-6
  python -m minimax bounded-mean --n 10000 --d 20 --rho 0.125 --json
  python -m minimax sparse-mean --n 10000 --d 1000 --s 10 --mu 0.2
  python -m minimax regression --n 10000 --d 20 --epsilon 0.5 --delta 1e-6
  python -m minimax sparse-regression --n 10000 --d 1000 --s 10 --epsilon 0.5
  python -m minimax logistic --n 10000 --d 20 --rho 0.125
  python -m minimax local-regression --n 1e4 --p 20 --epsilon 0.5 --interactive
  python -m minimax local-regression --n 1e4 --p 20 --alpha 2 --epsilon 0.2
  python -m minimax local-regression --n 1e4 --p 20 --rho 0.1 --loss sum
  python -m minimax label-regression --n 1e4 --p 1e3 --s 10 --epsilon 0.5
  python -m minimax sparse-regression --n 1e4 --d 1e3 --s 10 --rho 0.125 --upper
  python -m minimax mean --d 20 --epsilon 0.5 --delta 1e-6 --plan --risk 0.01
  python -m minimax mean --n 10000 --d 20 --epsilon 0.5 --delta 1e-6 --rigorous
"""


BUDGET = ("epsilon", "delta", "rho", "mu", "alpha", "kappa")
RELAXED = ("alpha", "kappa")
"""Numbers of the definitions under which only reports have bounds."""
SMALLEST = 1e-100
"""Numbers beyond this and its inverse are refused: squares and products are formed of them."""


class _NotPositive(argparse.ArgumentTypeError):
    """Not a positive, finite number."""


Converted = TypeVar("Converted", int, float)


def _positive(kind: type[Converted]) -> Callable[[str], Converted]:
    def convert(text: str) -> Converted:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None
        if not (value > 0 and math.isfinite(value)):
            raise _NotPositive(f"must be positive and finite, got {text}")
        if not SMALLEST <= value <= 1 / SMALLEST:
            raise argparse.ArgumentTypeError(
                f"must lie between {SMALLEST:g} and {1 / SMALLEST:g}, got {text}"
            )
        if kind is int and value != int(value):
            raise argparse.ArgumentTypeError(f"must be a whole number, got {text}")
        if kind is int and value > LARGEST_N:
            raise argparse.ArgumentTypeError(f"must be at most {LARGEST_N:.0e}, got {text}")
        return kind(value)

    return convert


def _offset(text: str) -> float:
    """kappa: positive, with a hint for those who write plain zCDP as (0, rho)-zCDP."""
    try:
        return _positive(float)(text)
    except _NotPositive as error:
        hint = "(0, rho)-zCDP is --rho alone"
        raise argparse.ArgumentTypeError(f"{error}; {hint}") from None


def _parser() -> argparse.ArgumentParser:
    problems = "\n".join(
        textwrap.fill(
            f"  {p.name:18s} {p.about}", 80, subsequent_indent=" " * 21, break_on_hyphens=False
        )
        for p in PROBLEMS.values()
    )
    parser = argparse.ArgumentParser(
        prog="python -m minimax",
        description="Certified minimax lower bounds on the risk under privacy.\n\n"
        f"problems:\n{problems}",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("problem", choices=list(PROBLEMS), metavar="PROBLEM")
    parser.add_argument("--n", type=_positive(int), help="number of records")
    parser.add_argument("--d", type=_positive(int), help="dimension (central problems)")
    parser.add_argument("--p", type=_positive(int), help="dimension (local and label-regression)")
    parser.add_argument(
        "--s", type=_positive(int), help="sparsity (sparse problems, label-regression)"
    )
    parser.add_argument("--sigma", type=_positive(float), help="scale of the noise (default 1)")
    parser.add_argument(
        "--radius",
        type=_positive(float),
        help="bound on each |mean_j| (default sigma), or on |beta| (default 1)",
    )
    _add_local(parser)
    privacy = parser.add_argument_group("privacy (one of epsilon, rho, mu)")
    privacy.add_argument(
        "--epsilon", type=_positive(float), help="pure, or with --delta, or with --alpha"
    )
    privacy.add_argument("--delta", type=_positive(float), help="goes with --epsilon")
    privacy.add_argument("--rho", type=_positive(float), help="zero-concentrated")
    privacy.add_argument("--mu", type=_positive(float), help="Gaussian")
    privacy.add_argument(
        "--alpha", type=_positive(float), help="Renyi of this order, with --epsilon (local, label)"
    )
    privacy.add_argument(
        "--kappa", type=_offset, help="(kappa, rho)-zCDP, with --rho (local, label)"
    )
    parser.add_argument("--plan", action="store_true", help="invert the bounds in n")
    parser.add_argument("--risk", type=_positive(float), help="target risk for --plan")
    parser.add_argument("--upper", action="store_true", help="show upper bounds instead")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument(
        "--rigorous",
        action="store_true",
        help="certified bounds in ball arithmetic: each number is proved (needs python-flint)",
    )
    return parser


def _add_local(parser: argparse.ArgumentParser) -> None:
    local = parser.add_argument_group("local-regression and label-regression")
    local.add_argument(
        "--C",
        type=_positive(float),
        help=f"bound on the noise (default {LocalRegressionProblem.C:g}, as in WX21's classes)",
    )
    local.add_argument(
        "--b",
        type=_positive(float),
        help="bound on the link's slope (label-regression; default: y is linear, f(x) = x)",
    )
    reports = local.add_mutually_exclusive_group()
    reports.add_argument(
        "--interactive",
        action="store_const",
        const=True,
        help="each report may depend on earlier ones (local-regression)",
    )
    reports.add_argument(
        "--non-interactive",
        dest="interactive",
        action="store_const",
        const=False,
        help="no report depends on another (default)",
    )
    local.add_argument(
        "--loss",
        choices=tuple(LOSSES),
        help="squared l2 distance (default), or |sum_j (estimate_j - theta_j)| (local-regression)",
    )


def main(argv: list[str] | None = None) -> int:
    """Run the calculator; returns the exit code."""
    parser = _parser()
    args = parser.parse_args(argv)
    args.loss = LOSSES.get(args.loss)
    problem = _problem(parser, args)
    try:
        privacy = from_parameters(
            **{name: getattr(args, name) for name in BUDGET}, scope=problem.scope, prefix="--"
        )
    except (TypeError, ValueError) as error:
        parser.error(str(error))
    try:
        return _answered(args, problem, privacy)
    except (OverflowError, ZeroDivisionError):
        parser.error("these numbers are too far apart to compute with")


def _answered(args: argparse.Namespace, problem: Problem, privacy: Privacy) -> int:
    """What was asked for, printed; the exit code."""
    if args.plan:
        _print_plan(plan(problem, privacy, args.risk), args.json)
        return 0
    if args.rigorous:
        return _print_certificates(problem, privacy, args.upper, args.json)
    table = (upper_rows if args.upper else rows)(problem, privacy)
    if args.json:
        print(json.dumps([asdict(row) for row in table], indent=2))
    else:
        _print_table(table, _title(problem, privacy))
        if not args.upper:
            best = problem.best_upper(privacy)
            print(f"proven upper bound: {best.risk:.3e}   ({best})")
            for row in upper_rows(problem, privacy)[1:]:
                if row.kind == "certified" and row.total is not None and row.total < best.risk:
                    print(f"in a narrower class: {row.total:.3e}   ({row.name})")
    return 0


def _problem(parser: argparse.ArgumentParser, args: argparse.Namespace) -> Problem:
    """The problem in the form that the options ask for; options of other problems are refused."""
    problem = PROBLEMS[args.problem]
    _refuse_foreign(parser, args, problem)
    _check_size(parser, args)
    needed = problem.parameters()
    given = {name: getattr(args, name) for name in needed if getattr(args, name) is not None}
    for name in needed:
        if needed[name] and name not in given and name != "n":
            parser.error(f"{problem.name} needs --{name}")
    given.setdefault("n", 1)  # what --plan looks for
    forms = {name: getattr(args, name) for name in problem.options}
    try:
        return problem.at(given, **{k: v for k, v in forms.items() if v is not None})
    except ValueError as error:
        parser.error(f"--{error}")


def _taken(problem: type[Problem]) -> tuple[str, ...]:
    """The options that a problem takes."""
    relaxed = () if problem.scope == "central" else RELAXED
    return (*problem.parameters(), *problem.options, *relaxed)


def _refuse_foreign(
    parser: argparse.ArgumentParser, args: argparse.Namespace, problem: type[Problem]
) -> None:
    for name in dict.fromkeys(name for each in PROBLEMS.values() for name in _taken(each)):
        if getattr(args, name) is not None and name not in _taken(problem):
            users = ", ".join(each.name for each in PROBLEMS.values() if name in _taken(each))
            parser.error(f"--{name} is for {users}, not for {problem.name}")


def _check_size(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Either n is given, or it is what is looked for."""
    if args.plan and args.rigorous:
        parser.error("--rigorous proves numbers at a given --n: leave --plan out")
    if args.plan and args.upper:
        parser.error("--plan uses both sides already: leave --upper out")
    if args.plan != (args.risk is not None):
        parser.error("--plan and --risk go together")
    if args.plan and args.n is not None:
        parser.error("--n is what --plan computes: leave it out")
    if not args.plan and args.n is None:
        parser.error("the following arguments are required: --n")


def _title(problem: Problem, privacy: Privacy) -> str:
    numbers = ", ".join(f"{name} = {value:g}" for name, value in problem.point.items())
    return f"{problem.name}: {problem.description}; {privacy}\n{numbers}"


def _print_table(table: list[Row], title: str) -> None:
    shown = Table(title=escape(title), show_lines=True)
    for column in ("bound", "kind", "statistical", "privacy", "total"):
        shown.add_column(column, justify="left" if column in ("bound", "kind") else "right")
    shown.add_column("assumptions")
    for row in table:
        shown.add_row(
            f"{escape(row.name)}\n[dim]{escape(row.source)}[/dim]",
            row.kind,
            *map(_number, (row.statistical, row.privacy, row.total)),
            escape("\n".join(row.assumptions)),
        )
    Console(width=None if sys.stdout.isatty() else 140).print(shown)


def _print_certificates(problem: Problem, privacy: Privacy, upper: bool, as_json: bool) -> int:
    bounds: Sequence[Bound] = problem.upper(privacy) if upper else problem.lower(type(privacy))
    place = {**problem.point, **privacy.parameters}
    try:
        found = [best_certificate(problem, privacy)] if upper else []
        found += certificates(bounds, place)
    except MissingFlint as error:
        print(error, file=sys.stderr)
        return 2
    if as_json:
        print(json.dumps([vars(certificate) for certificate in found], indent=2))
    else:
        unproved = sum(bound.kind != "certified" for bound in bounds)
        print(shown(found, _title(problem, privacy), unproved))
    return 0


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3e}"


def _print_plan(found: Plan, as_json: bool) -> None:
    if as_json:
        print(json.dumps(vars(found), indent=2))
        return
    print(f"target risk: {found.risk:g}")
    reach = f"n < {found.impossible_below:,}"
    if found.impossible_below >= LARGEST_N:
        reach = "any n up to 10^15"
    print(f"no private estimator reaches it with {reach}   ({found.by})")
    if found.enough_at is None:
        print("no estimator here is proven to reach it with n up to 10^15")
    else:
        print(f"proven to be reached at n = {found.enough_at:,}   ({found.with_estimator})")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(0)
