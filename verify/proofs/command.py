"""``python -m verify.proofs``: is this line of the paper true?

Runs the proof ledger: every numbered statement of the papers in executable form, with a control for
each. Exit code 0: every status is the recorded one. 1: some status differs from the expectation
recorded in its entry. 2: bad usage.
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from verify.console import Terminal, command_parser, track
from verify.files import write_json, write_problems, write_whole
from verify.plotting import save_figure
from verify.proofs.document import (
    counts,
    distinct,
    document,
    evidence_text,
    paragraphs,
    summary,
)
from verify.proofs.entry import Entry, Finding, Form, Result, Status, run_entry
from verify.proofs.theorems import Carried, background, bounds_of, place, proofs_of
from verify.statements import entries

EXAMPLES = """\
examples:
  python -m verify.proofs                          all entries, by paper
  python -m verify.proofs --fast                   without the slow checks
  python -m verify.proofs --only 'CWZ19:*'         entries whose id matches
  python -m verify.proofs show "CWZ19:Lemma 3.2"   one entry, whole
  python -m verify.proofs --json proofs.json --write docs/ledger.md
"""
STYLE = {
    Status.HOLDS: "green",
    Status.CORRECTED: "yellow",
    Status.REFUTED: "red",
    Status.RATE: "cyan",
    Status.UNPROVED: "magenta",
    Status.INVALID: "bold red",
}


def run(
    chosen: list[Entry], *, seed: int = 0, jobs: int = 1, console: Console | None = None
) -> dict[str, Finding]:
    """Run entries, the slow ones first so that the end of the run is not one slow entry."""
    from joblib import Parallel, delayed  # slow to import, and of no use to --help

    order = sorted(chosen, key=lambda entry: not entry.slow)
    # By id: the entries hold functions, which a worker finds in its own copy of the ledger.
    work = (delayed(_run_by_id)(entry.id, seed) for entry in order)
    found = Parallel(n_jobs=jobs, return_as="generator_unordered")(work)
    by_id = {finding.id: finding for finding in track(found, console, "statements", len(order))}
    return {entry.id: by_id[entry.id] for entry in chosen}


def _run_by_id(identifier: str, seed: int) -> Finding:
    """One entry, its linear algebra in one thread: more of them wait for one another by spinning
    where other processes run (a check of 60 small matrices took 15 s instead of .6)."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return run_entry(entries()[identifier], seed)


def unexpected(chosen: list[Entry], findings: dict[str, Finding]) -> list[Entry]:
    """Entries whose status is not the recorded one."""
    return [entry for entry in chosen if findings[entry.id].status is not entry.expected]


def as_dict(chosen: list[Entry], findings: dict[str, Finding]) -> dict[str, object]:
    """The run as plain data."""
    return {
        "summary": counts(findings.values()),
        "findings": distinct(chosen, findings),
        "entries": [_plain(entry, findings[entry.id]) for entry in chosen],
    }


def _plain(entry: Entry, finding: Finding) -> dict[str, object]:
    return {
        "id": entry.id,
        "paper": entry.paper,
        "kind": entry.kind,
        "status": finding.status.value,
        "expected": entry.expected.value,
        "severity": entry.severity,
        "method": entry.method,
        "statement": entry.statement,
        "summary": entry.summary,
        "wrong": entry.wrong,
        "not_checkable": entry.not_checkable,
        "corrected": entry.corrected.words if entry.corrected else None,
        "finding": entry.finding,
        "same_as": entry.same_as,
        "uses": list(entry.uses),
        "proof_uses": list(entry.proof_uses),
        "despite": entry.despite,
        "code": [_plain_place(name) for name in entry.code],
        "proofs": proofs_of(entry),
        "bounds": [_plain_bound(each) for each in bounds_of(entry)],
        "evidence": {
            role: _plain_form(entry.forms[role], found) for role, found in finding.results.items()
        },
        "mutant_fails": finding.mutant_fails,
        "seconds": finding.seconds,
    }


def _plain_place(name: str) -> dict[str, object]:
    found = place(name)
    return {"name": name, "file": found.path, "line": found.line}


def _plain_bound(carried: Carried) -> dict[str, object]:
    bound = carried.bound
    return {
        "problem": carried.problem,
        "name": bound.name,
        "kind": bound.kind,
        "side": bound.side,
        "source": bound.source,
        "assumptions": carried.assumptions,
        "at": carried.point,
    }


def _plain_form(form: Form, found: Result) -> dict[str, object]:
    return {
        "form": form.words,
        "holds": found.holds,
        **found.evidence,
        "check": form.check,
        "module": form.module,
        "arguments": {name: _plain_value(value) for name, value in form.arguments.items()},
    }


def _plain_value(value: object) -> object:
    """An argument of a check for JSON; what is not plain goes by its name, or as it prints."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return getattr(value, "__name__", str(value))


def print_tables(chosen: list[Entry], findings: dict[str, Finding], console: Console) -> None:
    """A table for each paper."""
    for paper in dict.fromkeys(entry.paper for entry in chosen):
        shown = Table("statement", "status", "severity", "", title=paper)
        for column in shown.columns:
            column.overflow = "fold"  # words are never cut
        for entry in (e for e in chosen if e.paper == paper):
            status = findings[entry.id].status
            severity = "" if entry.severity == "none" else entry.severity
            style = STYLE.get(status, "dim")
            shown.add_row(entry.id, f"[{style}]{status.value}[/{style}]", severity, entry.summary)
        console.print(shown)


def print_summary(
    chosen: list[Entry], findings: dict[str, Finding], left_out: int, console: Console
) -> None:
    """What differs from the record, then one line of counts."""
    for entry in unexpected(chosen, findings):
        finding = findings[entry.id]
        console.print(
            f"[bold red]{entry.id}: {finding.status.value}[/bold red], recorded as"
            f" {entry.expected.value}"
        )
        for role, found in finding.results.items():
            console.print(
                f"  {role}: {'holds' if found.holds else 'fails'}; {evidence_text(found.evidence)}"
            )
    told = summary(chosen, findings)
    tail = f"; {left_out} slow ones left out" if left_out else ""
    console.print(f"{len(chosen)} {'entry' if len(chosen) == 1 else 'entries'}: {told}{tail}")


def print_list(chosen: list[Entry], console: Console) -> None:
    """A line for each entry."""
    width = max(len(entry.id) for entry in chosen)
    for entry in chosen:
        line = f"{entry.id:{width}s}  {entry.kind:12s} {entry.summary}"
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _parser(prog: str | None) -> argparse.ArgumentParser:
    parser = command_parser("verify.proofs", __doc__, EXAMPLES, prog)
    parser.add_argument("--only", metavar="PATTERN", help="entries whose id matches (shell style)")
    parser.add_argument("--fast", action="store_true", help="leave out the slow checks")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write everything as JSON")
    parser.add_argument("--write", type=Path, metavar="PATH", help="write the ledger as Markdown")
    parser.add_argument("--plot", type=Path, metavar="PATH", help="draw the headline findings")
    parser.add_argument("--list", action="store_true", help="list the entries and stop")
    parser.add_argument("--seed", type=int, default=0, help="of the simulated checks (default 0)")
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: all cores)")
    commands = parser.add_subparsers(dest="command", metavar="show ID")
    show = commands.add_parser("show", help="run one entry and print it whole")
    show.add_argument("id", help='such as "CWZ19:Lemma 3.2"')
    return parser


def main(argv: list[str] | None = None, prog: str | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = _parser(prog)
    args = parser.parse_args(argv)
    console = Terminal()
    if args.jobs == 0 or args.jobs < -1:
        parser.error(f"--jobs must be positive, or -1 for all cores; got {args.jobs}")
    if args.seed < 0:
        parser.error(f"--seed must not be negative, got {args.seed}")
    _check_outputs(parser, args)
    if args.command == "show":
        return _show(parser, args.id, args.seed, console)
    chosen = _chosen(parser, args.only)
    kept = [entry for entry in chosen if not (args.fast and entry.slow)]
    if not kept:
        parser.error(f"--fast leaves out everything that --only {args.only!r} matches")
    if args.list:
        print_list(kept, console)
        return 0
    findings = run(kept, seed=args.seed, jobs=args.jobs, console=console)
    print_tables(kept, findings, console)
    print_summary(kept, findings, len(chosen) - len(kept), console)
    if args.json:
        write_json(args.json, as_dict(kept, findings))
        console.print(f"JSON in {args.json}")
    if args.write:
        text = document({entry.id: entry for entry in kept}, findings, args.seed)
        write_whole(args.write, lambda path: path.write_text(text, encoding="utf-8"))
        console.print(f"the ledger in {args.write}")
    if args.plot:
        from verify.proofs.figures import findings_figure  # matplotlib is slow to import

        with console.status("drawing the headline findings"):
            write_whole(args.plot, partial(save_figure, findings_figure(args.seed)))
        console.print(f"the headline findings in {args.plot}")
    return 1 if unexpected(kept, findings) else 0


def _check_outputs(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Refuse before hours are spent what could not be written, or would be ignored."""
    outputs = {"--json": args.json, "--write": args.write, "--plot": args.plot}
    given = {option: path for option, path in outputs.items() if path is not None}
    for option, path in given.items():
        if args.command == "show" or args.list:
            parser.error(f"{option} goes with a run, not with {args.command or '--list'}")
        for problem in write_problems(path):
            parser.error(f"{option}: {problem}")
    if len({path.resolve() for path in given.values()}) < len(given):
        parser.error(f"{' and '.join(given)} must not be the same file")
    if args.write and (args.only or args.fast):
        parser.error("--write writes the whole ledger: leave --only and --fast out")


def _chosen(parser: argparse.ArgumentParser, pattern: str | None) -> list[Entry]:
    known = entries()
    wanted = "*" if pattern is None else pattern.casefold()
    chosen = [e for e in known.values() if fnmatch.fnmatchcase(e.id.casefold(), wanted)]
    if not chosen:
        parser.error(f"--only {pattern!r} matches no entry; nearest: {_nearest(str(pattern))}")
    return chosen


def _folded(identifier: str) -> str:
    """An id whatever its case and spaces."""
    return "".join(identifier.casefold().split())


def _nearest(text: str) -> str:
    known = {identifier.lower(): identifier for identifier in entries()}
    near = difflib.get_close_matches(text.lower(), list(known), n=3, cutoff=0.0)
    return ", ".join(repr(known[name]) for name in near)


def _show(parser: argparse.ArgumentParser, identifier: str, seed: int, console: Console) -> int:
    known = {_folded(name): entry for name, entry in entries().items()}
    entry = known.get(_folded(identifier))
    if entry is None:
        parser.error(f"no entry {identifier!r}; nearest: {_nearest(identifier)}")
    finding = run_entry(entry, seed)
    console.print(entry.id, style="bold underline", highlight=False, markup=False)
    links = (
        ("Stated with", ", ".join(entry.uses)),
        ("Proved with", ", ".join(entry.proof_uses)),
        ("Why it stands although not all of that does", entry.despite),
    )
    known_of = [(label, text) for label, text in links if text]
    for label, text in (*paragraphs(entry, finding), *known_of, *background(entry)):
        console.print()
        if label:
            console.print(f"{label}:", style="bold", highlight=False, markup=False)
        console.print(text, highlight=False, markup=False)
    return 0 if finding.status is entry.expected else 1
