"""What each page of a statement shows, as plain data for the templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from attacks import __all__ as attack_names
from estimators import __all__ as estimator_names
from minimax.core.bound import UpperBound
from minimax.papers import PAPERS, THIS_WORK
from verify.companion import addresses as where
from verify.companion.evidence import evidence_html
from verify.companion.formulas import shown_point
from verify.companion.graph import Edge, Node, picture, status_class
from verify.companion.prose import blocks, inline
from verify.companion.stored import Measured, Stored, figure_names, measured_claims, panel_name
from verify.proofs.document import form_title
from verify.proofs.entry import Entry, Status
from verify.proofs.figures import PANELS
from verify.proofs.theorems import Carried, bounds_of, place, proofs_of, sections

Data = dict[str, object]
MOST_PICTURES = 3
HEADLINES = ("CWZ19:Theorem 3.3", "CWZ19:Algorithm 3.1", "WX21:Remark 1")
"""The findings of the front page."""
PROVING = ("Statement", "Assumptions", "Proof", "Constants")
"""Sections of a docstring that belong to a statement; the others are about the code."""


@dataclass(frozen=True)
class Ledger:
    """The statements with what was found about them, and what rests on what."""

    entries: dict[str, Entry]
    stored: Stored

    @cached_property
    def users(self) -> dict[str, list[tuple[Entry, bool]]]:
        """By id: the statements that use it, and whether only their proof does."""
        found: dict[str, list[tuple[Entry, bool]]] = {name: [] for name in self.entries}
        for entry in self.entries.values():
            for name in entry.uses:
                found[name].append((entry, False))
            for name in entry.proof_uses:
                found[name].append((entry, True))
        return found

    @cached_property
    def claims(self) -> list[Measured]:
        """What is measured."""
        return measured_claims(self.stored)

    @cached_property
    def carried(self) -> dict[str, list[Carried]]:
        """By id: the bounds that state, prove or sharpen it."""
        return {name: bounds_of(entry) for name, entry in self.entries.items()}

    def of_paper(self, key: str) -> list[Entry]:
        """Its statements in the order of the text."""
        return [entry for entry in self.entries.values() if entry.paper == key]

    def papers(self) -> list[str]:
        """The keys, in order."""
        return list(dict.fromkeys(entry.paper for entry in self.entries.values()))


def paper_title(key: str) -> tuple[str, str]:
    """Title and reference of a chapter."""
    if key == THIS_WORK:
        return "This toolkit", "Theorems proved in the docstrings of the code"
    paper = PAPERS[key]
    return paper.title, f"{paper.authors}. {paper.version}"


def number_of(entry: Entry) -> str:
    """The statement's number, without the paper."""
    return entry.id.partition(":")[2]


def link_of(root: str, near: str = "") -> Callable[[str], str | None]:
    """What finds the address of a name, from a page at this depth."""

    def link(name: str) -> str | None:
        address = where.name_address(name.removesuffix("()"), near)
        return root + address if address else None

    return link


@dataclass(frozen=True)
class Views:
    """The pages' data, from the objects that the commands use."""

    ledger: Ledger

    def tag(self, entry: Entry, *, proof_only: bool = False) -> Data:
        """A statement as a link."""
        status = self.ledger.stored.status(entry)
        return {
            "id": entry.id,
            "number": number_of(entry),
            "paper": entry.paper,
            "kind": entry.kind,
            "address": where.statement_address(entry.id),
            "status": status.value,
            "status_class": status_class(status),
            "severity": "" if entry.severity == "none" else entry.severity,
            "method": entry.method or "",
            "summary": inline(entry.summary),
            "proof_only": proof_only,
        }

    def statement_text(self, entry: Entry) -> str:
        """What the paper says, without links."""
        return inline(entry.statement)

    def preview(self, entry: Entry) -> tuple[str, str, str]:
        """What is shown of a statement where it is cited: status, words, what was found."""
        status = self.ledger.stored.status(entry).value
        return status, self.statement_text(entry), inline(entry.summary)

    def statement(self, entry: Entry, root: str) -> Data:
        """The page of a statement."""
        same = self.ledger.entries.get(entry.same_as or entry.echoes)
        known = self.ledger.entries
        return {
            **self.tag(entry),
            "paper_title": paper_title(entry.paper)[0],
            "paper_address": where.paper_address(entry.paper),
            "statement": inline(entry.statement, link_of(root)),
            "wrong": inline(entry.wrong),
            "despite": inline(entry.despite, link_of(root)),
            "not_checkable": inline(entry.not_checkable),
            "run": entry.id in self.ledger.stored.ledger,
            "same": self.tag(same) if same else None,
            "repeats": bool(entry.same_as),
            "forms": self._forms(entry),
            "bounds": [self.bound_tag(each) for each in self.ledger.carried[entry.id]],
            "pictures": self.pictures(entry),
            "drawn": bool(self.drawn(entry)),
            "proofs": self._proofs(entry, root),
            "code": [code_tag(name) for name in entry.code],
            "uses": [self.tag(known[name]) for name in entry.uses],
            "proof_uses": [self.tag(known[name], proof_only=True) for name in entry.proof_uses],
            "used_by": [
                self.tag(user, proof_only=only) for user, only in self.ledger.users[entry.id]
            ],
            "chain": self._chain(entry),
            "graph": self._around(entry, root),
            **self._neighbours(entry),
        }

    def _neighbours(self, entry: Entry) -> Data:
        own = self.ledger.of_paper(entry.paper)
        i = own.index(entry)
        near = (own[i - 1] if i else None, own[i + 1] if i + 1 < len(own) else None)
        before, after = (self.tag(each) if each else None for each in near)
        return {"previous": before, "next": after}

    def _forms(self, entry: Entry) -> list[Data]:
        found: list[Data] = []
        for role, form in entry.forms.items():
            shown = self.ledger.stored.evidence(entry, role)
            about = {"form", "holds", "check", "module", "arguments"}
            numbers = {k: v for k, v in (shown or {}).items() if k not in about}
            found.append(
                {
                    "role": form_title(entry, role),
                    "words": inline(form.words),
                    "verdict": "not run" if shown is None else _verdict(bool(shown["holds"])),
                    "numbers": evidence_html(numbers),
                    "check": form.check,
                    "address": where.name_address(f"{form.module}.{form.check}"),
                }
            )
        return found

    def pictures(self, entry: Entry) -> list[Data]:
        """Those of `drawn` that are stored, the first few."""
        drawn = self.drawn(entry).items()
        found = [(name, about) for name, about in drawn if self.ledger.stored.picture(name)]
        return [{"name": name, "about": about} for name, about in found[:MOST_PICTURES]]

    def drawn(self, entry: Entry) -> dict[str, str]:
        """The pictures that a run draws of a statement, and what each shows: the finding's panel,
        the paper's figure, and the plots of the claims that are about a theorem."""
        own = [panel_name(entry.id)] if entry.id in PANELS else []
        found = dict.fromkeys([*own, *figure_names(entry.id)], f"{entry.id}, measured")
        carried = {(each.problem, each.bound.name) for each in self.ledger.carried[entry.id]}
        for claim in self.ledger.claims if entry.kind == "theorem" else ():
            if (claim.problem, claim.bound) in carried:
                about = f"the claim {claim.name}: risk of {claim.estimator} against the bounds"
                found[claim.picture] = about
        return found

    def _proofs(self, entry: Entry, root: str) -> list[Data]:
        found = []
        for name, told in proofs_of(entry).items():
            link = link_of(root, place(name).path)
            parts = [(label, blocks(told[label], link)) for label in PROVING if label in told]
            found.append({**code_tag(name), "parts": parts})
        return found

    def _chain(self, entry: Entry) -> list[tuple[str, list[Data]]]:
        """From the theorem to what uses it: estimators, attacks, checks."""
        bounds = self.ledger.carried[entry.id]
        named = {name.split(".")[-1] for name in entry.code}
        upper = [each.bound for each in bounds if isinstance(each.bound, UpperBound)]
        named |= {bound.estimator for bound in upper if bound.estimator}
        carried = {(each.problem, each.bound.name) for each in bounds}
        claims = [claim for claim in self.ledger.claims if (claim.problem, claim.bound) in carried]
        named |= {claim.estimator for claim in claims}
        links = [
            ("estimators", sorted(named & set(estimator_names))),
            ("attacks", sorted(named & set(attack_names))),
        ]
        found = [(kind, [object_tag(kind, name) for name in names]) for kind, names in links]
        return [*found, ("checks", [claim_tag(claim) for claim in claims])]

    def bound_tag(self, carried: Carried) -> Data:
        """A bound as a link, with its conditions."""
        bound = carried.bound
        return {
            "name": bound.name,
            "problem": carried.problem,
            "side": bound.side,
            "kind": bound.kind,
            "address": where.bound_address(carried),
            "assumptions": [(inline(t), holds) for t, holds in carried.assumptions.items()],
            "point": shown_point(carried.point),
        }

    # --- What rests on what ----------------------------------------------------------------------

    def node(self, entry: Entry, paper: str, *, here: bool = False) -> Node:
        """A statement in the graph of a paper."""
        ghost = entry.paper != paper
        label = f"{entry.paper} {number_of(entry)}" if ghost else number_of(entry)
        address, status = where.statement_address(entry.id), self.ledger.stored.status(entry)
        title = f"{entry.id} ({entry.kind}, {status.value}): {entry.summary}"
        return Node(entry.id, label, entry.kind, status, address, title, ghost, here)

    def edges(self, entries: Iterable[Entry], kept: set[str]) -> list[Edge]:
        """The edges between statements of a graph."""
        return [
            Edge(name, entry.id, proof_only)
            for entry in entries
            for proof_only, names in ((False, entry.uses), (True, entry.proof_uses))
            for name in names
            if name in kept and entry.id in kept
        ]

    def graph(self, key: str, root: str) -> tuple[str, list[Data]]:
        """The graph of a paper, and the statements that stand alone."""
        own = self.ledger.of_paper(key)
        others = [n for entry in own for n in (*entry.uses, *entry.proof_uses)]
        shown = list(dict.fromkeys([*(entry.id for entry in own), *others]))
        edges = self.edges(own, set(shown))
        joined = {name for edge in edges for name in (edge.used, edge.user)}
        nodes = [self.node(self.ledger.entries[name], key) for name in shown if name in joined]
        alone = [self.tag(entry) for entry in own if entry.id not in joined]
        return picture(nodes, edges, f"What rests on what in {key}", root), alone

    def _around(self, entry: Entry, root: str) -> str:
        """The statement with what it uses and what uses it."""
        users = [user for user, _ in self.ledger.users[entry.id]]
        used = [self.ledger.entries[name] for name in (*entry.uses, *entry.proof_uses)]
        near: Sequence[Entry] = list({e.id: e for e in (*used, entry, *users)}.values())
        if len(near) == 1:
            return ""
        edges = [
            edge
            for edge in self.edges(near, {each.id for each in near})
            if entry.id in (edge.used, edge.user)
        ]
        nodes = [self.node(each, entry.paper, here=each is entry) for each in near]
        return picture(nodes, edges, f"What {entry.id} rests on, and what rests on it", root, 760)


def _verdict(holds: bool) -> str:
    return "holds" if holds else "fails"


def code_tag(name: str) -> Data:
    """A name of the code as a link to its line."""
    found = place(name)
    line = 0 if found.line == 1 else found.line
    return {
        "name": name,
        "address": where.source_address(found.path, line),
        "place": f"{found.path}:{found.line}",
    }


def object_tag(kind: str, name: str) -> Data:
    """An estimator or an attack as a link."""
    return {"name": name, "address": where.object_address(kind, name)}


def claim_tag(claim: Measured) -> Data:
    """A measured claim, as a link to the estimator's page, where its cells are."""
    told = ", ".join(f"{count} {verdict}" for verdict, count in claim.verdicts.items())
    address = where.object_address("estimators", claim.estimator)
    return {"name": claim.name, "told": told or "not run", "address": f"{address}#measured"}


def status_counts(ledger: Ledger, key: str) -> list[tuple[str, str, int]]:
    """How many statements of a paper have each status."""
    found = [ledger.stored.status(entry) for entry in ledger.of_paper(key)]
    return [(s.value, status_class(s), found.count(s)) for s in Status if s in found]


def lead(docstring: str) -> str:
    """The first paragraph of a docstring, for lists."""
    first = docstring.strip().split("\n\n")[0].replace("\n", " ")
    told = sections(first)
    return inline(told.get("", "") or told.get("Statement", ""))
