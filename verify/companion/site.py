"""The site: every page written from its template into a folder that is the companion's own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

import attacks
import estimators
from minimax.catalogue import PROBLEMS
from verify.companion import addresses as where
from verify.companion.closed_forms import BUDGET_FORMS, calculator_problems, problem_script
from verify.companion.listing import listing
from verify.companion.object_views import ObjectViews
from verify.companion.search import search_index
from verify.companion.stored import Stored
from verify.companion.views import HEADLINES, Data, Ledger, Views, paper_title, status_counts
from verify.proofs.document import summary
from verify.proofs.entry import Entry, Finding
from verify.proofs.theorems import carried_bounds
from verify.statements import entries

MARK = ".tracebound-companion"
"""The file by which a folder that the companion made is known."""
MATHS_FONT = "STIXTwoMath-Regular.ttf"
"""A font that browsers can set formulas with; not every system has one."""
SECTIONS = (
    ("statements.html", "Statements"),
    ("bounds.html", "Bounds"),
    ("estimators.html", "Estimators"),
    ("attacks.html", "Attacks"),
    ("problems.html", "Problems"),
    ("calculator.html", "Calculator"),
)


class Refused(ValueError):
    """A folder that cannot be written to, in a sentence."""


def prepare(out: Path) -> None:
    """An empty folder of ours; one that holds anything else is refused."""
    if out.exists() and not out.is_dir():
        raise Refused(f"{out} is no folder")
    try:
        if out.is_dir() and any(out.iterdir()):
            if not (out / MARK).is_file():
                raise Refused(f"{out} is not empty, and not made by this command: choose another")
            shutil.rmtree(out)
        out.mkdir(parents=True, exist_ok=True)
        (out / MARK).write_text("made by python -m verify.companion\n", encoding="utf-8")
    except OSError as error:
        raise Refused(f"cannot write to {out}: {error.strerror}") from None


@dataclass(frozen=True)
class Site:
    """Everything that is written, and where."""

    out: Path
    stored: Stored
    chosen: tuple[str, ...] | None = None
    """The statements that get a page; None: all, and everything else too."""

    @cached_property
    def ledger(self) -> Ledger:
        """The statements, with what was found."""
        return Ledger(entries(), self.stored)

    @cached_property
    def views(self) -> Views:
        """Pages of statements."""
        return Views(self.ledger)

    @cached_property
    def objects(self) -> ObjectViews:
        """Pages of everything else."""
        return ObjectViews(self.views)

    @cached_property
    def templates(self) -> Environment:
        """The templates of this package; what the views made is HTML already."""
        found = Environment(
            loader=PackageLoader("verify.companion"),
            autoescape=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        found.globals.update(sections=SECTIONS, serving=False)
        return found

    @property
    def first(self) -> str:
        """The page to start with."""
        return where.statement_address(self.chosen[0]) if self.chosen else "index.html"

    def build(self) -> int:
        """Write everything; the number of pages."""
        pages = 0
        for address, template, data in self.pages():
            self._page(address, template, data)
            pages += 1
        self._assets()
        return pages

    def pages(self) -> Iterator[tuple[str, str, Data]]:
        """Address, template and data of every page."""
        for name, entry in self.ledger.entries.items():
            if self.chosen is None or name in self.chosen:
                address = where.statement_address(name)
                yield address, "statement.html", self.views.statement(entry, _root(address))
        if self.chosen is not None:
            return
        yield from self._papers()
        yield from self._objects()
        yield from self._lists()
        yield from self._sources()

    def _page(self, address: str, template: str, data: Data) -> None:
        path = self.out / address
        path.parent.mkdir(parents=True, exist_ok=True)
        shown = self.templates.get_template(template).render(
            root=_root(address), here=address, **data
        )
        path.write_text(shown, encoding="utf-8")

    def _papers(self) -> Iterator[tuple[str, str, Data]]:
        for key in self.ledger.papers():
            address = where.paper_address(key)
            title, reference = paper_title(key)
            about = {"key": key, "title": title, "reference": reference}
            own = [self.views.tag(entry) for entry in self.ledger.of_paper(key)]
            counts = status_counts(self.ledger, key)
            graph = where.graph_address(key)
            yield address, "paper.html", {**about, "rows": own, "counts": counts, "graph": graph}
            svg, alone = self.views.graph(key, _root(graph))
            yield graph, "graph.html", {**about, "svg": svg, "alone": alone, "index": address}

    def _objects(self) -> Iterator[tuple[str, str, Data]]:
        for carried in carried_bounds():
            address = where.bound_address(carried)
            yield address, "bound.html", self.objects.bound(carried, _root(address))
        for kind, names in (("estimators", estimators.__all__), ("attacks", attacks.__all__)):
            for name in names:
                address = where.object_address(kind, name)
                data = self.objects.exported(kind, name, _root(address))
                yield address, "object.html", {**data, "kind": kind}
        for name in PROBLEMS:
            address = where.problem_address(name)
            yield address, "problem.html", self.objects.problem(name, _root(address))

    def _lists(self) -> Iterator[tuple[str, str, Data]]:
        rows = [self.views.tag(entry) for entry in self.ledger.entries.values()]
        yield "statements.html", "statements.html", {"rows": rows, "filters": _filters(rows)}
        problems = {name: self.objects.problem(name, "") for name in PROBLEMS}
        yield "bounds.html", "bounds.html", {"problems": problems}
        yield "problems.html", "problems.html", {"problems": problems}
        for kind in ("estimators", "attacks"):
            yield f"{kind}.html", "objects.html", {"kind": kind, "rows": self.objects.listed(kind)}
        yield "calculator.html", "calculator.html", self._calculator()
        yield "index.html", "index.html", {**self._front(), **self._calculator()}

    def _calculator(self) -> Data:
        return {"problems": calculator_problems(), "budgets": BUDGET_FORMS}

    def _front(self) -> Data:
        known = self.ledger.entries
        recorded = {name: Finding(name, self.stored.status(e)) for name, e in known.items()}
        papers = [
            {
                "key": key,
                "address": where.paper_address(key),
                "graph": where.graph_address(key),
                "title": paper_title(key)[0],
                "reference": paper_title(key)[1],
                "counts": status_counts(self.ledger, key),
            }
            for key in self.ledger.papers()
        ]
        return {
            "headlines": [self._headline(known[name]) for name in HEADLINES],
            "papers": papers,
            "told": summary(known.values(), recorded),
            "count": len(known),
            "run": len(self.stored.ledger),
            "sandwich": self.stored.picture("sandwich.png"),
        }

    def _headline(self, entry: Entry) -> Data:
        pictures = self.views.pictures(entry)
        return {**self.views.tag(entry), "picture": pictures[0] if pictures else None}

    def _sources(self) -> Iterator[tuple[str, str, Data]]:
        for path, source in where.sources().items():
            yield (
                where.source_address(path),
                "source.html",
                {"path": path, "code": listing(source.text)},
            )
        yield "source/index.html", "sources.html", {"paths": list(where.sources())}

    def _assets(self) -> None:
        """Style, scripts and their data, font and pictures."""
        for asset in files("verify.companion").joinpath("static").iterdir():
            self._asset(asset.name, asset.read_text(encoding="utf-8"))
        index = search_index(self.views, self.objects)
        self._asset("search-index.js", f"COMPANION.index({_json(index)});\n")
        for key in self.ledger.papers():
            told = _json(
                {entry.id: self.views.preview(entry) for entry in self.ledger.of_paper(key)}
            )
            self._asset(f"preview-{where.slug(key)}.js", f'COMPANION.previews("{key}",{told});\n')
        for name in PROBLEMS if self.chosen is None else ():
            self._asset(f"calculator-{name}.js", problem_script(name))
        shutil.copyfile(maths_font(), self.out / "static" / MATHS_FONT)
        self._pictures()

    def _asset(self, name: str, text: str) -> None:
        folder = self.out / "static"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")

    def _pictures(self) -> None:
        for name in self.stored.pictures():
            path, copy = self.stored.picture(name), self.out / "pictures" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(path), copy)


def maths_font() -> Path:
    """The font's file, in a package that is not imported for it."""
    found = find_spec("ziamath")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("no font for formulas", name="ziamath")
    return Path(found.submodule_search_locations[0]) / "fonts" / MATHS_FONT


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def _root(address: str) -> str:
    """The way from a page to the top."""
    return "../" * address.count("/")


def _filters(rows: list[Data]) -> list[tuple[str, list[str]]]:
    names = ("paper", "status", "severity", "method", "kind")
    return [
        (name, list(dict.fromkeys(str(row[name]) for row in rows if row[name]))) for name in names
    ]
