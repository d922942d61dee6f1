"""``python -m verify.attacks``: can a release be traced to its records?

Plays the tracing attacks of the lower-bound proofs against every private estimator of the toolkit,
at several budgets, and against controls that must be caught: estimators without noise, with half of
it, adversaries with a wrong prior. Each row holds outsiders against the soundness bound, the
members' sum against what accuracy forces and what privacy allows, and the ROC curve against the
claim's trade-off.

With MODULE:NAME it attacks an estimator of your own, or a function of a sample and a generator;
with --data the records of a table of your own. Exit code 0: every verdict is what it must be. 1:
one is not, or your own claim is refuted. 2: bad usage.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import joblib

from attacks import play
from estimators import NoisyMean, SampleMean
from minimax.core.loading import CannotLoad
from minimax.core.privacy import SCOPES, Privacy, ZeroConcentrated, from_parameters
from verify.attacks.judge import INTERVALS, Row, judged
from verify.attacks.matches import Match, toolkit_matches
from verify.attacks.own import (
    in_unit_box,
    load_table,
    own_matches,
    records_of,
    settings_for,
)
from verify.attacks.plots import write_plots
from verify.attacks.report import Run, print_run
from verify.attacks.settings import ATTACKS, Setting, table_setting
from verify.attacks.tails import Tails, count_tails
from verify.console import Terminal, command_parser, track
from verify.files import write_json
from verify.options import check_common, matching, numbers_of
from verify.seeds import cell_seed

TRIALS, CONFIDENCE = 100, 0.999
NUMBERS = ("epsilon", "delta", "rho", "mu")
EXAMPLES = """\
examples:
  python -m verify.attacks                        everything, plots in out/
  python -m verify.attacks --only 'gaussian:*'    matches whose name matches
  python -m verify.attacks --list
  python -m verify.attacks my_module:estimator --epsilon 1
  python -m verify.attacks my_module:release --attack signs --rho 0.1
  python -m verify.attacks --data table.csv --target income
"""


def _parser(prog: str | None) -> argparse.ArgumentParser:
    parser = command_parser("verify.attacks", __doc__, EXAMPLES, prog)
    parser.add_argument("own", nargs="?", metavar="MODULE:NAME", help="an estimator of your own")
    parser.add_argument("--only", metavar="PATTERN", help="matches whose name matches")
    parser.add_argument("--list", action="store_true", help="list what would be played and stop")
    parser.add_argument("--attack", metavar="NAME", help=f"this alone, of {', '.join(ATTACKS)}")
    claim = parser.add_argument_group("the claim of your own estimator")
    for name in NUMBERS:
        claim.add_argument(f"--{name}", type=float)
    claim.add_argument("--scope", choices=SCOPES, default="central")
    claim.add_argument("--attribute", help="where it keeps its release (mean_ or coef_)")
    table = parser.add_argument_group("a table of your own")
    table.add_argument("--data", type=Path, metavar="PATH", help="CSV with names, or .npy")
    table.add_argument("--target", metavar="COLUMN", help="its responses")
    table.add_argument("--classes", action="store_true", help="the responses are 0 and 1")
    effort = parser.add_argument_group("effort")
    effort.add_argument("--n", type=int, help="records of a sample")
    effort.add_argument("--d", type=int, help="dimension")
    effort.add_argument("--trials", type=int, default=TRIALS, help="default %(default)d")
    effort.add_argument("--confidence", type=float, default=CONFIDENCE, help="of the whole run")
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
        known = _matches(args)
    except (CannotLoad, ValueError, TypeError) as error:
        parser.error(str(error))
    chosen = matching(parser, known, args.only, lambda match: match.label)
    console = Terminal()
    if args.list:
        for match in chosen:
            console.note(match.label)
        return 0
    tails = [] if args.own or args.data or args.only or args.attack else [*LEMMA_2_1]
    share = (1 - args.confidence) / (INTERVALS * len(chosen) + 3 * len(tails))
    rows = tuple(track(_played(chosen, args, share), console, "playing", len(chosen)))
    counted = tuple(_tails(name, args, share) for name in tails)
    found = Run(rows, counted, args.seed, args.confidence)
    print_run(found, console)
    if args.json:
        write_json(args.json, found.to_dict())
        console.note(f"JSON in {args.json}")
    console.note(f"{len(write_plots(args.plots, rows))} plots in {args.plots}/")
    return found.exit_code


def _check_options(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Refuse what could not be run or written before anything is."""
    check_common(parser, args)
    for name, least in (("trials", 4), ("n", 1), ("d", 1)):
        given = getattr(args, name)
        if given is not None and given < least:
            parser.error(f"--{name} must be at least {least}, got {given}")
    if args.attack is not None and args.attack not in ATTACKS:
        parser.error(f"--attack must be one of {', '.join(ATTACKS)}; got {args.attack!r}")
    if args.own is None and (numbers_of(args, NUMBERS) or args.attribute):
        parser.error("--epsilon and its like, and --attribute, go with MODULE:NAME")
    if args.data is None and (args.target or args.classes):
        parser.error("--target and --classes go with --data")
    if args.data is not None and (args.attack or args.d):
        parser.error("--attack and --d do not go with --data")


def _matches(args: argparse.Namespace) -> list[Match]:
    claim: Privacy | None = None
    if numbers_of(args, NUMBERS):
        claim = from_parameters(**numbers_of(args, NUMBERS), scope=args.scope, prefix="--")
    settings = _settings(args)
    if args.own is not None:
        return own_matches(args.own, claim, settings, args.attribute)
    found = toolkit_matches(settings)
    if args.data is None and args.n is None and args.d is None:
        from verify.attacks.controls import controls

        names = {each.name for each in settings}
        found += [match for match in controls() if match.setting.name in names]
    return found


def _settings(args: argparse.Namespace) -> list[Setting]:
    if args.data is None:
        return settings_for(args.own, args.attack, args.n, args.d)
    kind = "classification" if args.classes else "regression"
    table = load_table(args.data, args.target, kind)
    if args.own is None:
        table = in_unit_box(table)
    return [table_setting(table, records_of(table, args.n))]


def _played(matches: Sequence[Match], args: argparse.Namespace, share: float) -> Iterator[Row]:
    jobs = min(len(matches), joblib.cpu_count()) if args.jobs == -1 else args.jobs
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator")
    yield from parallel(
        joblib.delayed(played)(match, args.trials, cell_seed(args.seed, match.label), 1 - share)
        for match in matches
    )


def played(match: Match, trials: int, seed: int, confidence: float) -> Row:
    """One row, whatever happens."""
    setting = match.setting
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of budgets and plans: a study has many fits
            game = play(
                setting.prior,
                setting.n,
                match.estimator,
                setting.attack,
                trials=trials,
                seed=seed,
                confidence=confidence,
                attribute=match.attribute or setting.attribute,
            )
    except Exception as error:  # whatever an estimator of one's own does
        return Row(match, None, error=f"{type(error).__name__}: {error}")
    return judged(match, game)


LEMMA_2_1 = {
    "SampleMean": (SampleMean(), True),
    "NoisyMean": (NoisyMean(ZeroConcentrated(0.1), R=1.0), False),
}
"""Whom the lemma is counted for, and whether members must be caught."""


def _tails(name: str, args: argparse.Namespace, level: float) -> Tails:
    estimator, catches = LEMMA_2_1[name]
    return count_tails(
        name,
        estimator,
        trials=2 * args.trials,
        seed=cell_seed(args.seed, f"Lemma 2.1: {name}"),
        level=level,
        catches=catches,
    )
