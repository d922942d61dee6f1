"""``python -m verify.rates``: does measured error stay between the bounds?

Draws theta from the prior of each lower bound's proof, fits the private estimator, and compares its
risk with the certified lower bound and the proven upper bound; fits exponents; runs the controls
that must break. Exit code 0: nothing violated, every control broke, every claim has a cell that
could be seen, and no estimator does worse than releasing 0. 1: a violation, a control that did not
break, a claim with nothing but inconclusive cells, a cell in which releasing 0 does better, an
estimator that treats records otherwise than what stands for them in trials, or a mechanism that
draws other noise than it states.
2: bad usage, a claim that has no cell or no control to be checked in, or a trial that fails. For
claims of your own releasing 0 counts over the class; under the prior of the lower bound it is told.
Measurements are kept as they come, and a run that was interrupted goes on where it was.
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from minimax.core.loading import CannotLoad
from verify.console import Terminal, command_parser
from verify.files import folder_problems, write_json, write_problems
from verify.rates.backends import BadScheduler, LostWorkers, OtherSources, connect
from verify.rates.claim import BadClaim, Claim
from verify.rates.claims import all_claims
from verify.rates.fingerprint import own_modules
from verify.rates.grid import PROFILES
from verify.rates.own import checked_claims, load_claims
from verify.rates.plots import write_plots
from verify.rates.records import from_plain, to_plain
from verify.rates.report import list_claims, print_ordering, print_report, print_summary
from verify.rates.results import FOLDER, BadFolder, Results, open_results
from verify.rates.rows import Run
from verify.rates.run import run
from verify.rates.sequential import STOPPED, TaskFailed
from verify.rates.shortcuts import UnlikeFits
from verify.rates.special import (
    Extra,
    coverage,
    randomised_response_exact,
    sandwich,
    sandwich_logistic,
    worst_case_log_d,
)
from verify.rates.special.ordering.measure import intervals, measure
from verify.rates.special.ordering.plot import plot

ORDERING = Extra(
    "orderings",
    against="no bound: which method is ahead [dim](WG19 §6, CWZ19 §5.3)[/dim]",
    by="all of them",
)
EXTRAS: tuple[Extra, ...] = (
    worst_case_log_d.SPECIAL,
    randomised_response_exact.SPECIAL,
    sandwich.SPECIAL,
    sandwich_logistic.SPECIAL,
    coverage.SPECIAL,
    ORDERING,
)
"""What is run besides the claims."""
INTERRUPTED = 130
"""The exit code of a command that was interrupted."""
ORDERING_ALPHA = 0.01
"""Error budget of the orderings, which are told and not judged."""

EXAMPLES = """\
examples:
  python -m verify.rates                           quick profile, plots in out/
  python -m verify.rates --profile standard --jobs 2 --json rates.json
  python -m verify.rates --only 'bounded-mean*'    claims whose name matches
  python -m verify.rates --list                    the claims and their bounds
  python -m verify.rates --claims my_module:CLAIMS
"""


def _parser(prog: str | None) -> argparse.ArgumentParser:
    parser = command_parser("verify.rates", __doc__, EXAMPLES, prog)
    parser.add_argument("--profile", choices=list(PROFILES), default="quick")
    parser.add_argument("--only", metavar="PATTERN", help="claims whose name matches (shell style)")
    parser.add_argument(
        "--claims", metavar="MODULE:NAME", help="your own claims instead, from a module of yours"
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="write everything as JSON")
    parser.add_argument("--plots", type=Path, metavar="DIR", default=Path("out"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: all cores)")
    parser.add_argument(
        "--backend",
        choices=("loky", "dask"),
        default="loky",
        help="processes of this machine (default), or the workers of a dask scheduler",
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of the dask scheduler, such as tcp://10.0.0.1:8786"
    )
    parser.add_argument("--list", action="store_true", help="list the claims and stop")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        default=FOLDER,
        help=f"where measurements are kept, so that a run can go on (default {FOLDER}/)",
    )
    parser.add_argument("--fresh", action="store_true", help="measure again what was kept")
    parser.add_argument(
        "--summary", action="store_true", help="print ten lines and what failed, no tables"
    )
    return parser


def main(
    argv: list[str] | None = None,
    claims: Sequence[Claim] | None = None,
    prog: str | None = None,
) -> int:
    """Run the command, on claims of one's own if given; returns the exit code."""
    parser = _parser(prog)
    args = parser.parse_args(argv)
    console = Terminal()
    try:
        own = _own_claims(args.claims, claims)
        chosen, extras = _chosen(parser, args.only, own)
        if args.list:
            list_claims(chosen, extras, console)
            return 0
        _check_options(parser, args)
        results = open_results(
            args.results, chosen if own is not None else (), fresh=args.fresh, tell=console.note
        )
        with _heeded_interrupt():
            found = _measured(args, chosen, extras, results, console, own is not None)
    except (CannotLoad, BadClaim) as error:
        parser.error(str(error) if args.claims is None else f"--claims: {error}")
    except BadFolder as error:
        parser.error(f"--results: {error}")
    except BadScheduler as error:
        parser.error(f"--scheduler: {error}")
    except (TaskFailed, OtherSources, LostWorkers) as error:
        parser.exit(2, f"{parser.prog}: {error}; what was measured is kept in {args.results}/\n")
    except UnlikeFits as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"interrupted: what was measured is kept in {args.results}/", file=sys.stderr)
        return INTERRUPTED
    unwritten = _report(found, args, console)
    for problem in unwritten:
        print(f"{parser.prog}: {problem}", file=sys.stderr)
    return found.exit_code or (2 if unwritten else 0)


def _own_claims(named: str | None, given: Sequence[Claim] | None) -> Sequence[Claim] | None:
    """Claims of one's own, from the command line or from code; None for the packages'."""
    if named is not None:
        return load_claims(named)
    return None if given is None else checked_claims(given)


@contextmanager
def _heeded_interrupt() -> Iterator[None]:
    """Ctrl-C is remembered, in case that what it raises is lost on the way."""

    def heed(number: int, frame: object) -> None:
        STOPPED.set()
        raise KeyboardInterrupt

    STOPPED.clear()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, heed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        STOPPED.clear()


def _measured(
    args: argparse.Namespace,
    chosen: list[Claim],
    extras: list[Extra],
    results: Results,
    console: Terminal,
    own: bool,
) -> Run:
    modules = own_modules(chosen) if own else ()
    local = args.scheduler is None
    scheduler = nullcontext() if local else closing(connect(args.scheduler, modules, console.note))
    with scheduler as backend:
        found = run(
            chosen,
            PROFILES[args.profile],
            seed=args.seed,
            jobs=args.jobs,
            specials=[extra for extra in extras if extra is not ORDERING],
            console=console,
            results=results,
            own=own,
            backend=backend,
        )
    return _with_ordering(found, args.jobs, results, console) if ORDERING in extras else found


def _chosen(
    parser: argparse.ArgumentParser, pattern: str | None, claims: Sequence[Claim] | None
) -> tuple[list[Claim], list[Extra]]:
    """The claims and extras whose name matches; with claims of one's own there are no extras."""
    known = all_claims() if claims is None else list(claims)
    extras = EXTRAS if claims is None else ()
    wanted = "*" if pattern is None else pattern
    chosen = [claim for claim in known if fnmatch.fnmatch(claim.name, wanted)]
    others = [extra for extra in extras if fnmatch.fnmatch(extra.name, wanted)]
    if not chosen and not others:
        names = [claim.name for claim in known] + [extra.name for extra in extras]
        if not names:
            parser.error("no claim is given: nothing would be checked")
        near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.0)
        parser.error(f"--only {pattern!r} matches no claim; nearest: {', '.join(near)}")
    return chosen, others


def _check_options(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Refuse before hours are spent what could not be run or written."""
    if args.jobs == 0 or args.jobs < -1:
        parser.error(f"--jobs must be positive, or -1 for all cores; got {args.jobs}")
    if (args.backend == "dask") != (args.scheduler is not None):
        parser.error("--backend dask and --scheduler ADDRESS go together")
    if args.scheduler == "":
        parser.error("--scheduler: the ADDRESS is empty; give one such as tcp://10.0.0.1:8786")
    if args.seed < 0:
        parser.error(f"--seed must not be negative, got {args.seed}")
    for problem in folder_problems(args.plots):
        parser.error(f"--plots: {problem}")
    for problem in write_problems(args.json):
        parser.error(f"--json: {problem}")


def _with_ordering(found: Run, jobs: int, results: Results, console: Console) -> Run:
    alpha = ORDERING_ALPHA / intervals()
    trials = found.profile.ordering
    key = {"special": ORDERING.name, "trials": trials, "seed": found.seed, "alpha": alpha}
    ordering = results.get(key, from_plain)
    if ordering is None:
        with console.status("orderings that papers report"):
            ordering = measure(trials, found.seed, jobs, alpha)
        results.keep(key, to_plain(ordering))
    return replace(found, ordering=ordering)


def _report(found: Run, args: argparse.Namespace, console: Terminal) -> list[str]:
    """The JSON first, so that it is there whatever becomes of the rest; returns what could not be
    written, and why."""
    problems: list[str] = []
    if args.json:
        with _writing("--json", args.json, problems):
            write_json(args.json, found.as_json())
    if args.summary:
        print_summary(found, console)
    else:
        if found.ordering is not None:
            print_ordering(found.ordering, console)
        print_report(found, console)
    if args.json and not problems:
        console.note(f"JSON in {args.json}")
    with _writing("--plots", args.plots, problems):
        console.note(f"{_write_plots(found, args)} plots in {args.plots}/")
    return problems


@contextmanager
def _writing(option: str, path: Path, problems: list[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problems.append(f"{option}: cannot write to {path}: {error.strerror}")


def _write_plots(found: Run, args: argparse.Namespace) -> int:
    jobs = args.jobs if args.scheduler is None else 1  # a scheduler's client leaves threads behind
    plots = write_plots(args.plots, found, jobs)
    if found.ordering is not None:
        plots.append(plot(found.ordering, args.plots / f"{ORDERING.name}.png"))
    return len(plots)
