"""Private regression, classification and means on real tables, ours beside what others do.

The folder must hold the files that `bench/table_schemas.py` names, with the same bytes; they are
read where they are. Everyone is told the same ranges and categories. Peers that are libraries are
installed by pip in environments of their own under --peers-dir, on first use; without network the
bench says so and goes on. A goal that is missed is printed as NOT MET; the exit code is 0 all the
same. It is 2 if the data are not there.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from rich.console import Console
from table_contest import KINDS, SPLITS, Kind, contest
from table_data import NoData, TableData, load
from table_large import ROWS, large_rows
from table_libraries import Libraries, libraries
from table_plot import plot
from table_report import Figures, document, other_tables, score_tables, terminal_table
from table_schemas import TABLES
from table_sections import coverage_rows, goal_rows, mean_rows, wide_rows
from threadpoolctl import threadpool_limits

from estimators.core.base import PlanWarning, ReleasedWarning

EXAMPLES = """examples:
  python bench/tables.py DATA                           contest and means: ten minutes
  python bench/tables.py DATA --quick --no-peers        does it run?
  python bench/tables.py DATA --only housing --splits 3
  python bench/tables.py DATA --all --figures out/tables.json --write docs/tables.md
"""
SECTIONS = ("contest", "means", "goals", "wide", "coverage", "large")
DEFAULT = ("contest", "means")
DRAWS, MEAN_DRAWS = 400, 200


def arguments() -> argparse.Namespace:
    """The options, and what follows from them."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, metavar="DATA", help="the folder with the files")
    words = {
        "contest": "ours and all peers on the same splits",
        "means": "means of Adult's numeric columns",
        "goals": "ours on 5 splits times 3 seeds, with epsilon = 0.3",
        "wide": "public ranges ten times too wide",
        "coverage": "coverage of 90 %% intervals",
        "large": "10^8 rows in chunks: time and memory",
    }
    for name in SECTIONS:
        parser.add_argument(f"--{name}", action="store_true", help=words[name])
    parser.add_argument("--all", action="store_true", help="all sections")
    parser.add_argument("--quick", action="store_true", help="few splits, draws and rows")
    names = [schema.name for schema in TABLES]
    parser.add_argument("--only", nargs="+", choices=names, help="these tables")
    parser.add_argument(
        "--ours", action="store_true", help="in the contest, measure ours again and keep the others"
    )
    parser.add_argument("--splits", type=int, help=f"(default: {SPLITS})")
    parser.add_argument("--draws", type=int, help=f"of training rows (default: {DRAWS})")
    parser.add_argument("--rows", type=int, help=f"of --large (default: {ROWS:,})")
    parser.add_argument("--no-peers", action="store_true", help="no libraries but our own")
    parser.add_argument(
        "--peers-dir", type=Path, default=Path(tempfile.gettempdir()) / "tracebound-peers",
        help="where libraries' environments are made and kept (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--figures", type=Path, metavar="PATH",
        help="keep figures here (JSON); what is there and not measured again stays",
    )  # fmt: skip
    parser.add_argument(
        "--nothing", action="store_true", help="measure nothing: report what --figures holds"
    )
    parser.add_argument("--write", type=Path, metavar="PATH", help="write the document and plot")
    args = parser.parse_args()
    chosen = [name for name in SECTIONS if getattr(args, name) or args.all]
    args.sections = [] if args.nothing else chosen or list(DEFAULT)
    args.splits = args.splits or (2 if args.quick else SPLITS)
    args.draws = args.draws or (10 if args.quick else DRAWS)
    args.rows = args.rows or (10**6 if args.quick else ROWS)
    return args


def others(rows: list[Any], table: str) -> list[Any]:
    """Those that are about other tables."""
    return [row for row in rows if row.table != table]


def measure(
    data: TableData, args: argparse.Namespace, running: Libraries, figures: Figures, out: Console
) -> None:
    """All sections that are about one table; its older figures are replaced."""
    name, sections = data.schema.name, args.sections
    regression = data.schema.task == "regression"
    if "contest" in sections:
        kinds: tuple[Kind, ...] = ("ours",) if args.ours else KINDS
        again = list(contest(data, running, args.splits, kinds=kinds, report=out.print))
        kept = [row for row in figures.scores if row.table == name and row.kind not in kinds]
        scores = again + kept
        figures.scores = others(figures.scores, name) + scores
        for title, rows in score_tables(scores, data.schema):
            out.print(terminal_table(title, rows))
    if "goals" in sections:
        found = goal_rows(data, *((2, 1) if args.quick else ()))
        figures.goals = others(figures.goals, name) + found
    if "wide" in sections and regression:
        figures.wide = others(figures.wide, name) + wide_rows(data, args.splits)
    if "coverage" in sections and regression:
        figures.coverage = others(figures.coverage, name) + coverage_rows(data, args.draws)
    if "means" in sections and not regression:
        draws = 20 if args.quick else MEAN_DRAWS
        figures.means = list(mean_rows(data, running, draws, out.print))


def keep(figures: Figures, args: argparse.Namespace) -> None:
    """Write what was asked for."""
    if args.figures:
        args.figures.parent.mkdir(parents=True, exist_ok=True)
        args.figures.write_text(json.dumps(figures.as_json(), indent=1))
    if args.write:
        args.write.write_text(document(figures), encoding="utf-8")
        if figures.scores:
            plot(figures.scores, args.write.with_suffix(".png"))


def main() -> int:
    """Print tables as they are finished and, last, one line per goal."""
    args, out, start = arguments(), Console(width=80), time.perf_counter()
    # The budgets are those of the comparison, also where they promise little or hide a column.
    warnings.simplefilter("ignore", PlanWarning)
    warnings.simplefilter("ignore", ReleasedWarning)
    figures = Figures()
    if args.figures and args.figures.exists():
        figures = Figures.from_json(json.loads(args.figures.read_text()))
    schemas = [schema for schema in TABLES if not args.only or schema.name in args.only]
    peers_dir = None if args.no_peers else args.peers_dir.expanduser()
    with threadpool_limits(limits=1), libraries(peers_dir) as running:
        for schema in schemas if set(args.sections) - {"large"} else []:
            try:
                data = load(schema, args.data)
            except NoData as reason:
                out.print(f"{schema.title}: {reason}", highlight=False, soft_wrap=True)
                return 2
            measure(data, args, running, figures, out)
        if "large" in args.sections:
            figures.large = list(large_rows(args.rows))
    for title, rows in other_tables(figures):
        out.print(terminal_table(title, rows))
    for verdict in figures.verdicts:
        out.print(str(verdict), highlight=False, soft_wrap=True)
    out.print(f"{time.perf_counter() - start:.0f} seconds.")
    keep(figures, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
