"""The calculator on the command line: ``python -m minimax PROBLEM ...``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

import numpy as np

from minimax import fixed_data
from minimax.calculator import rows, upper_rows
from minimax.catalogue import PROBLEMS
from minimax.core.balls import MissingFlint
from minimax.core.bound import Bound, NotFinite
from minimax.core.loading import CannotLoad
from minimax.core.privacy import Privacy, from_parameters
from minimax.core.problem import Problem
from minimax.figure import plot_problems, write_bounds_figure
from minimax.options import BUDGET, RELAXED, calculator_parser, own_problem
from minimax.plan import plan
from minimax.plan_for import LEVELS, plan_for
from minimax.printed import (
    print_closed_forms,
    print_json,
    print_number_plan,
    print_plan,
    print_table,
    print_wrapped,
    title_of,
)
from minimax.problems.local_regression.problem import LOSSES
from minimax.rigorous import best_certificate, certificates, shown


class CannotWrite(Exception):
    """A file that cannot be written, in a sentence."""


def main(argv: list[str] | None = None, prog: str | None = None) -> int:
    """Run the calculator; returns the exit code."""
    given = sys.argv[1:] if argv is None else argv
    if given[:1] == [fixed_data.NAME]:
        return fixed_data.main(given[1:], prog)
    try:
        own = own_problem(argv)
    except CannotLoad as error:
        calculator_parser(prog).error(f"--from: {error}")
    parser = calculator_parser(prog, own)
    args = parser.parse_args(argv)
    if (args.problem is None) == (own is None):
        parser.error("give a PROBLEM, or one of your own with --from: one of the two")
    args.loss = LOSSES.get(args.loss)
    problem = _problem(parser, args, own or PROBLEMS[args.problem])
    try:
        privacy = from_parameters(
            **{name: getattr(args, name) for name in BUDGET}, scope=problem.scope, prefix="--"
        )
    except (TypeError, ValueError) as error:
        parser.error(str(error))
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is told in words
            return _answered(args, problem, privacy)
    except CannotWrite as error:
        parser.error(f"--plot: {error}")
    except ArithmeticError as error:  # an overflow, a division by 0, or what is not finite
        told = "these numbers are too far apart to compute with"
        if own is not None and isinstance(error, NotFinite):  # whose bound it is, it says
            told += f", or --from: {args.own} is wrong: {error}"
        parser.error(told)
    except Exception as error:
        if own is None:
            raise
        parser.error(f"--from: {args.own} fails: {type(error).__name__}: {error}")


def _answered(args: argparse.Namespace, problem: Problem, privacy: Privacy) -> int:
    """What was asked for, printed; the exit code."""
    if args.plan and args.wanted in (None, "n"):
        print_plan(plan(problem, privacy, args.risk), args.json)
        return 0
    if args.plan:
        print_number_plan(plan_for(problem, privacy, args.risk, args.wanted), args.json)
        return 0
    if args.rigorous:
        return _print_certificates(problem, privacy, args.upper, args.json)
    if args.plot:
        _write_plot(args, problem, privacy)
    table = (upper_rows if args.upper else rows)(problem, privacy)
    if args.json:
        bounds = _bounds(problem, privacy, args.upper)
        print_json(table, bounds, {**problem.point, **privacy.parameters})
    elif args.latex:
        print_closed_forms(_bounds(problem, privacy, args.upper))
    else:
        ceilings = [] if args.upper else _ceilings(problem, privacy)  # which may fail: first
        print_table(table, title_of(problem, privacy))
        for line in ceilings:
            print_wrapped(line)
    return 0


def _write_plot(args: argparse.Namespace, problem: Problem, privacy: Privacy) -> None:
    try:
        write_bounds_figure(args.plot, problem, privacy, title_of(problem, privacy))
    except OSError as error:
        raise CannotWrite(f"cannot write to {args.plot}: {error.strerror}") from error
    print(f"plot in {args.plot}", file=sys.stderr)


def _ceilings(problem: Problem, privacy: Privacy) -> list[str]:
    """What is proved from above, below a table of lower bounds."""
    best = problem.best_upper(privacy)
    lines = [f"proven upper bound: {best.risk:.3e}   ({best})"]
    for row in upper_rows(problem, privacy)[1:]:
        if row.kind == "certified" and row.total is not None and row.total < best.risk:
            lines.append(f"in a narrower class: {row.total:.3e}   ({row.name})")
    return lines


def _problem(
    parser: argparse.ArgumentParser, args: argparse.Namespace, problem: type[Problem]
) -> Problem:
    """The problem in the form that the options ask for; options of other problems are refused."""
    _refuse_foreign(parser, args, problem)
    _check_size(parser, args, problem)
    needed = problem.parameters()
    given = {name: getattr(args, name) for name in needed if getattr(args, name) is not None}
    for name in needed:
        if needed[name] and name not in given and name != (args.wanted or "n"):
            parser.error(f"{problem.name} needs --{name}")
    if args.plan and args.wanted not in LEVELS:  # what --plan looks for stands at any value
        given.setdefault(args.wanted or "n", given.get("s", 1))
    forms = {name: getattr(args, name, None) for name in problem.options}
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


def _check_size(
    parser: argparse.ArgumentParser, args: argparse.Namespace, problem: type[Problem]
) -> None:
    """All numbers are given but the one that is looked for."""
    wanted = args.wanted or "n"
    if args.wanted and not args.plan:
        parser.error("--for says what --plan looks for: give --plan too")
    if wanted not in LEVELS and wanted not in problem.parameters():
        parser.error(f"--for {wanted}: {problem.name} has no {wanted}")
    for option in ("latex", "plot"):
        if getattr(args, option) and (args.plan or args.rigorous):
            parser.error(f"--{option} goes with the table of bounds, not with --plan or --rigorous")
    for reason in plot_problems(args.plot) if args.plot else ():
        parser.error(f"--plot: {reason}")
    if args.plan and args.rigorous:
        parser.error("--rigorous proves numbers at a given --n: leave --plan out")
    if args.plan and args.upper:
        parser.error("--plan uses both sides already: leave --upper out")
    if args.plan != (args.risk is not None):
        parser.error("--plan and --risk go together")
    if args.plan and getattr(args, wanted) is not None:
        parser.error(f"--{wanted} is what --plan computes: leave it out")
    if args.n is None and not (args.plan and wanted == "n"):
        parser.error("the following arguments are required: --n")
    if wanted in LEVELS:
        setattr(args, wanted, 1.0)  # a place for what is looked for


def _bounds(problem: Problem, privacy: Privacy, upper: bool) -> Sequence[Bound]:
    return problem.upper(privacy) if upper else problem.lower(type(privacy))


def _print_certificates(problem: Problem, privacy: Privacy, upper: bool, as_json: bool) -> int:
    bounds = _bounds(problem, privacy, upper)
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
        print(shown(found, title_of(problem, privacy), unproved))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(0)
