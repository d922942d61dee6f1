"""The calculator on the command line: ``python -m minimax PROBLEM ...``."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from minimax.calculator import Row, closed_forms, rows, upper_rows
from minimax.catalogue import PROBLEMS
from minimax.core.balls import MissingFlint
from minimax.core.bound import Bound
from minimax.core.loading import CannotLoad
from minimax.core.privacy import Privacy, from_parameters
from minimax.core.problem import Problem
from minimax.figure import plot_problems, write_bounds_figure
from minimax.options import BUDGET, RELAXED, calculator_parser, own_problem
from minimax.plan import LARGEST_N, Plan, plan
from minimax.plan_for import LEVELS, NumberPlan, plan_for
from minimax.problems.local_regression.problem import LOSSES
from minimax.rigorous import best_certificate, certificates, shown

PIPE_WIDTH = 140
"""Columns in a pipe, unless COLUMNS says otherwise."""


def main(argv: list[str] | None = None, prog: str | None = None) -> int:
    """Run the calculator; returns the exit code."""
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
    except ArithmeticError:  # an overflow, a division by 0, or a value that is not finite
        parser.error("these numbers are too far apart to compute with")
    except Exception as error:
        if own is None:
            raise
        parser.error(f"--from: {args.own} fails: {type(error).__name__}: {error}")


def _answered(args: argparse.Namespace, problem: Problem, privacy: Privacy) -> int:
    """What was asked for, printed; the exit code."""
    if args.plan and args.wanted in (None, "n"):
        _print_plan(plan(problem, privacy, args.risk), args.json)
        return 0
    if args.plan:
        _print_number_plan(plan_for(problem, privacy, args.risk, args.wanted), args.json)
        return 0
    if args.rigorous:
        return _print_certificates(problem, privacy, args.upper, args.json)
    if args.plot:
        write_bounds_figure(args.plot, problem, privacy, _title(problem, privacy))
    table = (upper_rows if args.upper else rows)(problem, privacy)
    if args.latex:
        _print_closed_forms(table, _bounds(problem, privacy, args.upper), args.json)
    elif args.json:
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


def _title(problem: Problem, privacy: Privacy) -> str:
    numbers = ", ".join(f"{name} = {value:g}" for name, value in problem.point.items())
    return f"{problem.name}: {problem.description}; {privacy}\n{numbers}"


def _print_table(table: list[Row], title: str) -> None:
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
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    Console(width=wide).print(shown)


def _bounds(problem: Problem, privacy: Privacy, upper: bool) -> Sequence[Bound]:
    return problem.upper(privacy) if upper else problem.lower(type(privacy))


def _print_closed_forms(table: list[Row], bounds: Sequence[Bound], as_json: bool) -> None:
    """The closed forms, alone or beside the rows; the best proven risk is no formula."""
    forms = closed_forms(bounds)
    if not as_json:
        for form in forms:
            print(f"{form.name}\n  {form.latex}")
        return
    first = len(table) - len(forms)
    beside: list[dict[str, str | None]] = [{"closed_form": None, "latex": None}] * first
    beside += [{"closed_form": form.closed_form, "latex": form.latex} for form in forms]
    both = [{**asdict(row), **form} for row, form in zip(table, beside, strict=True)]
    print(json.dumps(both, indent=2))


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


def _print_number_plan(found: NumberPlan, as_json: bool) -> None:
    if as_json:
        print(json.dumps(vars(found), indent=2))
        return
    level = found.number in LEVELS
    print(f"target risk: {found.risk:g}")
    if found.impossible_at is None:
        print(f"no {found.number} that was tried is excluded by a lower bound")
    else:
        where = _outward(found.impossible_at, up=False) if level else f"{found.impossible_at:,.0f}"
        reach = f"with {found.number} <= {where}" if level else f"at {found.number} = {where}"
        print(f"no private estimator reaches it {reach}   ({found.by})")
    if found.enough_at is None:
        print(f"no estimator here is proven to reach it at a {found.number} that was tried")
    else:
        where = _outward(found.enough_at, up=True) if level else f"{found.enough_at:,.0f}"
        print(f"proven to be reached at {found.number} = {where}   ({found.with_estimator})")


def _outward(value: float, *, up: bool) -> str:
    """Four digits, rounded to the side on which the statement stays true."""
    scale = 10.0 ** (3 - math.floor(math.log10(value)))
    return f"{(math.ceil if up else math.floor)(value * scale) / scale:.4g}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(0)
