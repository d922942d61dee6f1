"""``python -m verify.companion``: a page for every statement, in the browser.

Writes a static site that is complete offline: what each paper says, what is true, the proof, the
numbers, the code, and what rests on what; a calculator and a search. It is made from the ledger,
the docstrings and stored results; what is not stored shows "not run". Exit code 0: it is written.
2: bad usage, or a folder or port that cannot be used.
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import webbrowser
from contextlib import nullcontext
from http.server import ThreadingHTTPServer
from pathlib import Path

from verify.console import Terminal, command_parser

EXAMPLES = """\
examples:
  python -m verify.companion                 in site/, from results in out/
  python -m verify.companion --run           run ledger and claims first
  python -m verify.companion --serve 8000    serve it, with exact values
  python -m verify.companion --only 'CWZ19:Lemma*'
"""
MISSING = "the companion needs more packages: pip install 'tracebound[companion]'"


def _parser(prog: str | None) -> argparse.ArgumentParser:
    parser = command_parser("verify.companion", __doc__, EXAMPLES, prog)
    parser.add_argument("--out", type=Path, metavar="DIR", default=Path("site"), help="where to")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        default=Path("out"),
        help="proofs.json, rates.json and plots of earlier runs (default out/)",
    )
    parser.add_argument("--run", action="store_true", help="run ledger and claims into --results")
    parser.add_argument("--only", metavar="PATTERN", help="pages of matching statements alone")
    parser.add_argument("--open", action="store_true", help="open it in a browser")
    parser.add_argument("--serve", type=int, metavar="PORT", help="serve it on this machine alone")
    parser.add_argument("--seed", type=int, default=0, help="of --run (default 0)")
    parser.add_argument("--jobs", type=int, default=-1, help="processes of --run (default: all)")
    return parser


def main(argv: list[str] | None = None, prog: str | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = _parser(prog)
    args = parser.parse_args(argv)
    console = Terminal()
    _check(parser, args)
    try:
        from verify.companion.server import PortTaken, server
        from verify.companion.site import Refused, Site, maths_font, prepare
        from verify.companion.stored import Unreadable, load, rerun

        maths_font()
    except ModuleNotFoundError as error:
        parser.error(f"{MISSING} ({error.name} is missing)")
    chosen = _chosen(parser, args.only)
    try:
        with nullcontext() if args.serve is None else server(args.out, args.serve) as running:
            prepare(args.out)
            if args.run:
                rerun(args.results, args.jobs, args.seed, console.note)
            site = Site(args.out, load(args.results), chosen)
            with console.status("writing the pages"):
                pages = site.build()
            console.note(f"{pages} pages in {args.out}; start with {args.out / site.first}")
            if running is not None:
                _serve(running, site.first, args.open, console)
            elif args.open:
                webbrowser.open((args.out / site.first).resolve().as_uri())
    except (Refused, Unreadable) as error:
        parser.error(str(error))
    except PortTaken as error:
        parser.error(f"--serve: {error}")
    return 0


def _check(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    if args.serve is not None and not 0 <= args.serve <= 65535:
        parser.error(f"--serve must be a port, from 0 to 65535; got {args.serve}")
    if args.jobs == 0 or args.jobs < -1:
        parser.error(f"--jobs must be positive, or -1 for all cores; got {args.jobs}")
    if args.seed < 0:
        parser.error(f"--seed must not be negative, got {args.seed}")
    if args.out.resolve() == args.results.resolve():
        parser.error("--out and --results must not be the same folder")


def _chosen(parser: argparse.ArgumentParser, pattern: str | None) -> tuple[str, ...] | None:
    """The statements that match; all of them without a pattern."""
    from verify.statements import entries

    if pattern is None:
        return None
    known = list(entries())
    wanted = pattern.casefold()
    chosen = tuple(name for name in known if fnmatch.fnmatchcase(name.casefold(), wanted))
    if not chosen:
        near = difflib.get_close_matches(pattern, known, n=3, cutoff=0.0)
        parser.error(f"--only {pattern!r} matches no statement; nearest: {', '.join(near)}")
    return chosen


def _serve(running: ThreadingHTTPServer, first: str, browser: bool, console: Terminal) -> None:
    """Serve until the command is interrupted."""
    address = f"http://{running.server_address[0]!s}:{running.server_address[1]}/{first}"
    console.note(f"serving on {address}; Ctrl-C ends it")
    if browser:
        webbrowser.open(address)
    running.serve_forever()
