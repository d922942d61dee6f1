"""``python -m verify.figures``: do the papers' figures and tables come out as they say?

Regenerates every figure and table of the papers, and tells of each sentence that the papers read
off them whether it is reproduced: as printed, with the privacy it claims, and with what a reader
should use. Every verdict has a control that must break. Panels on real data need --data, a folder
of files that are known by their content; without them their status is NO DATA.

Exit code 0: every verdict is the recorded one. 1: one is not, or a control did not break. 2: bad
usage. Measurements are kept as they come, and an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from joblib import cpu_count

from verify.console import Terminal, command_parser
from verify.data_sets import DATA_SETS, UnreadableFolder, WrongContent, folder_of, path_of
from verify.figures.catalogue import all_panels
from verify.figures.document import write_page
from verify.figures.drawing import write_figures
from verify.figures.judge import judge
from verify.figures.measure import measured
from verify.figures.panel import PROFILES, Panel
from verify.figures.report import Run, print_list, print_run, print_whole
from verify.files import folder_problems, write_json, write_problems
from verify.options import matching
from verify.rates.backends import Processes
from verify.rates.results import FOLDER, BadFolder, Results, open_results

INTERRUPTED = 130
EXAMPLES = """\
examples:
  python -m verify.figures                       everything, quick profile
  python -m verify.figures --only 'CWZ19:Figure 1*'
  python -m verify.figures --data DIR --json figures.json
  python -m verify.figures show "WG19:Table 3"   one panel or figure, whole
  python -m verify.figures --list                panels, and what they need
"""


def _parser(prog: str | None) -> argparse.ArgumentParser:
    parser = command_parser("verify.figures", __doc__, EXAMPLES, prog)
    parser.add_argument("show", nargs="*", metavar="show ID", help="one panel or figure, whole")
    parser.add_argument("--only", metavar="PATTERN", help="panels whose id matches (shell style)")
    parser.add_argument("--list", action="store_true", help="list the panels and stop")
    parser.add_argument("--profile", choices=PROFILES, default="quick")
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        default=os.environ.get("TRACEBOUND_DATA"),
        help="folder of real data (default: that of TRACEBOUND_DATA)",
    )
    parser.add_argument("--require-data", action="store_true", help="exit 2 if a file is missing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: all cores)")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write everything as JSON")
    parser.add_argument("--plots", type=Path, metavar="DIR", default=Path("out/figures"))
    parser.add_argument(
        "--write", type=Path, metavar="PATH", help="write the page of recorded verdicts"
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        default=FOLDER,
        help=f"where measurements are kept, so that a run can go on (default {FOLDER}/)",
    )
    parser.add_argument("--fresh", action="store_true", help="measure again what was kept")
    return parser


def main(argv: list[str] | None = None, prog: str | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = _parser(prog)
    args = parser.parse_args(argv)
    console = Terminal()
    chosen = _chosen(parser, args)
    _check_options(parser, args)
    try:
        folder = None if args.data is None else folder_of(Path(args.data).resolve())
        missing = _missing(chosen, folder)
        if args.require_data and missing:
            parser.error(f"--require-data: not found: {', '.join(missing)}")
        if args.list:
            print_list(chosen, set(missing), console)
            return 0
        results = open_results(args.results, fresh=args.fresh, tell=console.note)
        found = _run(args, chosen, missing, folder, results, console)
    except (UnreadableFolder, WrongContent) as error:
        parser.error(f"--data: {error}")
    except BadFolder as error:
        parser.error(f"--results: {error}")
    except KeyboardInterrupt:
        print(f"interrupted: what was measured is kept in {args.results}/", file=sys.stderr)
        return INTERRUPTED
    _report(found, args, console)
    return found.exit_code


def _run(
    args: argparse.Namespace,
    chosen: Sequence[Panel],
    missing: Sequence[str],
    folder: Path | None,
    results: Results,
    console: Terminal,
) -> Run:
    jobs = cpu_count() if args.jobs == -1 else args.jobs
    ready = [panel for panel in chosen if not _files(panel) & set(missing)]
    with closing(Processes(jobs)) as backend:
        curves = measured(ready, args.profile, args.seed, backend, results, console, folder)
    runs = [judge(panel, args.profile, args.seed, curves.get(panel.id, {})) for panel in chosen]
    return Run(tuple(runs), args.profile, args.seed)


def _report(found: Run, args: argparse.Namespace, console: Terminal) -> None:
    """Files first: who reads a pipe may leave before its end."""
    notes = []
    if args.json:
        write_json(args.json, found.as_json())
        notes.append(f"JSON in {args.json}")
    if args.write:
        write_page(args.write, [each.panel for each in found.panels])
        notes.append(f"the page of recorded verdicts in {args.write}")
    notes.append(f"{len(write_figures(args.plots, found))} figures in {args.plots}/")
    if args.show:
        print_whole(found, console)
    else:
        print_run(found, console)
    for note in notes:
        console.note(note)


def _chosen(parser: argparse.ArgumentParser, args: argparse.Namespace) -> list[Panel]:
    """The panels that match --only, or that `show` names by panel or figure."""
    known = list(all_panels().values())
    if not args.show:
        return matching(parser, known, args.only, lambda panel: panel.id)
    if args.show[0] != "show" or len(args.show) != 2:
        parser.error(f"expected: show ID; got {' '.join(args.show)!r}")
    if args.only is not None:
        parser.error("--only does not go with show")
    name = args.show[1]
    chosen = [panel for panel in known if name in (panel.id, panel.figure)]
    if not chosen:
        names = dict.fromkeys(each for panel in known for each in (panel.id, panel.figure))
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.0)
        parser.error(f"there is no panel {name!r}; nearest: {', '.join(near)}")
    return chosen


def _files(panel: Panel) -> set[str]:
    return {DATA_SETS[key].file for key in panel.data}


def _missing(chosen: Sequence[Panel], folder: Path | None) -> list[str]:
    """The files that panels need and that are not there."""
    keys = dict.fromkeys(key for panel in chosen for key in panel.data)
    return [DATA_SETS[key].file for key in keys if folder is None or path_of(key, folder) is None]


def _check_options(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Refuse before minutes are spent what could not be run or written."""
    if args.jobs == 0 or args.jobs < -1:
        parser.error(f"--jobs must be positive, or -1 for all cores; got {args.jobs}")
    if args.seed < 0:
        parser.error(f"--seed must not be negative, got {args.seed}")
    for option, path in (("json", args.json), ("write", args.write)):
        for problem in write_problems(path):
            parser.error(f"--{option}: {problem}")
    if not args.list:
        for problem in folder_problems(args.plots):
            parser.error(f"--plots: {problem}")
