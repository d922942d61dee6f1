"""The options of the calculator's command line."""

from __future__ import annotations

import argparse
import inspect
import math
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from minimax.catalogue import PROBLEMS
from minimax.core.bound import COUNTS
from minimax.core.loading import CannotLoad, load_object
from minimax.core.problem import Problem
from minimax.plan import LARGEST_N
from minimax.plan_for import LEVELS, SIZES
from minimax.problems.local_regression.problem import LOSSES, LocalRegressionProblem

EXAMPLES = """\
examples:
  python -m minimax mean --n 10000 --d 20 --epsilon 0.5 --delta 1e-6
  python -m minimax bounded-mean --n 10000 --d 20 --rho 0.125 --json
  python -m minimax sparse-mean --n 10000 --d 1000 --s 10 --mu 0.2
  python -m minimax regression --n 10000 --d 20 --epsilon 0.5 --delta 1e-6
  python -m minimax sparse-regression --n 10000 --d 1000 --s 10 --epsilon 0.5
  python -m minimax logistic --n 10000 --d 20 --rho 0.125
  python -m minimax sparse-logistic --n 1e7 --d 100 --s 5 --rho 0.1
  python -m minimax regression --n 10000 --d 20 --rho 0.125 --L 2
  python -m minimax local-regression --n 1e4 --p 20 --epsilon 0.5 --interactive
  python -m minimax local-regression --n 1e4 --p 20 --alpha 2 --epsilon 0.2
  python -m minimax local-regression --n 1e4 --p 20 --rho 0.1 --loss sum
  python -m minimax label-regression --n 1e4 --p 1e3 --s 10 --epsilon 0.5
  python -m minimax sparse-regression --n 1e4 --d 1e3 --s 10 --rho 0.125 --upper
  python -m minimax fixed-data --help
  python -m minimax mean --d 20 --epsilon 0.5 --delta 1e-6 --plan --risk 0.01
  python -m minimax mean --n 10000 --d 20 --plan --for rho --risk 0.01
  python -m minimax mean --n 10000 --rho 0.1 --plan --for d --risk 0.01
  python -m minimax mean --n 10000 --d 20 --epsilon 0.5 --delta 1e-6 --rigorous
  python -m minimax mean --n 10000 --d 20 --rho 0.125 --plot bounds.png
"""

OWN_NAME = "python -m minimax"
BUDGET = ("epsilon", "delta", "rho", "mu", "alpha", "kappa")
NUMBERS = ("n", "d", "p", "s", "sigma", "radius", "C", "b")
"""The numbers of the problems that there are."""
RELAXED = ("alpha", "kappa")
"""Numbers of the definitions under which only reports have bounds."""
SMALLEST = 1e-100
"""Numbers beyond this and its inverse are refused: squares and products are formed of them."""


class _NotPositive(argparse.ArgumentTypeError):
    """Not a positive, finite number."""


Converted = TypeVar("Converted", int, float)


def positive(kind: type[Converted]) -> Callable[[str], Converted]:
    """What reads an option: a positive, finite number, whole if it is an int."""

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
        return positive(float)(text)
    except _NotPositive as error:
        hint = "(0, rho)-zCDP is --rho alone"
        raise argparse.ArgumentTypeError(f"{error}; {hint}") from None


def _examples(prog: str) -> str:
    """The examples as this name is called: a name that plans is shown planning alone."""
    title, *lines = EXAMPLES.splitlines(keepends=True)
    if prog.endswith(" plan"):
        lines = [line.replace(" --plan", "") for line in lines if " --plan" in line]
    return title + "".join(lines).replace(OWN_NAME, prog)


def own_problem(argv: list[str] | None) -> type[Problem] | None:
    """The problem that ``--from`` names, which may have options of its own; raises `CannotLoad`."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--from", dest="own")
    named = first.parse_known_args(argv)[0].own
    if named is None:
        return None
    found = load_object(named)
    if not (isinstance(found, type) and issubclass(found, Problem)):
        raise CannotLoad(f"{named} is {found!r}, not a subclass of minimax.Problem")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise CannotLoad(f"{named} does not say what its {missing} are")
    return found


def calculator_parser(
    prog: str | None = None, own: type[Problem] | None = None
) -> argparse.ArgumentParser:
    """The parser, with options for the numbers of a problem of one's own."""
    problems = "\n".join(
        textwrap.fill(
            f"  {p.name:18s} {p.about}", 80, subsequent_indent=" " * 21, break_on_hyphens=False
        )
        for p in PROBLEMS.values()
    )
    parser = argparse.ArgumentParser(
        prog=prog or OWN_NAME,
        description="Certified minimax lower bounds on the risk under privacy; with --plan,\n"
        "how many records, which budget or which dimension a risk takes.\n\n"
        f"problems:\n{problems}\n  {'fixed-data':18s} no problem, but an algorithm on given data,"
        " for any loss:\n                     see fixed-data --help",
        epilog=_examples(prog or OWN_NAME),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("problem", choices=list(PROBLEMS), metavar="PROBLEM", nargs="?")
    parser.add_argument(
        "--from",
        dest="own",
        metavar="MODULE:NAME",
        help="a problem of your own instead: a subclass of minimax.Problem in a module of yours",
    )
    parser.add_argument("--n", type=positive(int), help="number of records")
    parser.add_argument("--d", type=positive(int), help="dimension (central problems)")
    parser.add_argument("--p", type=positive(int), help="dimension (local and label-regression)")
    parser.add_argument(
        "--s", type=positive(int), help="sparsity (sparse problems, label-regression)"
    )
    parser.add_argument("--sigma", type=positive(float), help="scale of the noise (default 1)")
    parser.add_argument(
        "--radius",
        type=positive(float),
        help="bound on each |mean_j| (default sigma), or on |beta| (default 1)",
    )
    parser.add_argument(
        "--L",
        type=positive(float),
        help="by which factor eigenvalues of E x x' may differ from the isotropic 1/d or 1/s"
        " (regressions, logistic; default 1)",
    )
    _add_local(parser)
    privacy = parser.add_argument_group("privacy (one of epsilon, rho, mu)")
    privacy.add_argument(
        "--epsilon", type=positive(float), help="pure, or with --delta, or with --alpha"
    )
    privacy.add_argument("--delta", type=positive(float), help="goes with --epsilon")
    privacy.add_argument("--rho", type=positive(float), help="zero-concentrated")
    privacy.add_argument("--mu", type=positive(float), help="Gaussian")
    privacy.add_argument(
        "--alpha", type=positive(float), help="Renyi of this order, with --epsilon (local, label)"
    )
    privacy.add_argument(
        "--kappa", type=_offset, help="(kappa, rho)-zCDP, with --rho (local, label)"
    )
    _add_own(parser, own)
    parser.add_argument("--plan", action="store_true", help="invert the bounds: see --for")
    parser.add_argument(
        "--for",
        dest="wanted",
        choices=("n", *LEVELS, *SIZES),
        help="the number that --plan looks for (default n)",
    )
    parser.add_argument("--risk", type=positive(float), help="target risk for --plan")
    parser.add_argument("--upper", action="store_true", help="show upper bounds instead")
    parser.add_argument("--json", action="store_true", help="machine-readable, with closed forms")
    parser.add_argument("--latex", action="store_true", help="closed forms, on the safe side")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw the bounds around n (png, pdf or svg)"
    )
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
        type=positive(float),
        help=f"bound on the noise (default {LocalRegressionProblem.C:g}, as in WX21's classes)",
    )
    local.add_argument(
        "--b",
        type=positive(float),
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


def _add_own(parser: argparse.ArgumentParser, own: type[Problem] | None) -> None:
    """The numbers of one's own problem that no other problem has."""
    if own is None:
        return
    group = parser.add_argument_group(own.name)
    for name in own.parameters():
        if name not in NUMBERS:
            group.add_argument(f"--{name}", type=positive(int if name in COUNTS else float))
