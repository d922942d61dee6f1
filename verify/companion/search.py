"""The search index: every page by its title, what it is, and the words and formulas on it."""

from __future__ import annotations

import inspect
import re
from html import unescape

import attacks
import estimators
from minimax.catalogue import PROBLEMS
from verify.companion import addresses as where
from verify.companion.object_views import HOMES, ObjectViews
from verify.companion.views import Views
from verify.proofs.theorems import carried_bounds

LONGEST = 420
"""Characters of a page's own words that are searched."""


def plain(html: str) -> str:
    """The text of a piece of HTML, formulas in their letters."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split())


def search_index(views: Views, objects: ObjectViews) -> list[list[str]]:
    """Title, address, kind, status and words of every page but the source."""
    found = []
    for name, entry in views.ledger.entries.items():
        status = views.ledger.stored.status(entry).value
        code = " ".join(each.split(".")[-1] for each in entry.code)
        words = f"{entry.summary} {plain(views.statement_text(entry))} {code}"
        found.append([name, where.statement_address(name), entry.kind, status, words[:LONGEST]])
    for carried in carried_bounds():
        bound = carried.bound
        title = f"{carried.problem}: {bound.name}"
        made = " ".join(name.split(".")[-1] for name in carried.makers)
        words = f"{bound.source} {made} {' '.join(bound.parameters)}"
        found.append(
            [title, where.bound_address(carried), f"{bound.side} bound", bound.kind, words]
        )
    for kind, names in (("estimators", estimators.__all__), ("attacks", attacks.__all__)):
        for name in names:
            doc = " ".join((inspect.getdoc(getattr(HOMES[kind], name)) or "").split())
            found.append([name, where.object_address(kind, name), kind[:-1], "", doc[:LONGEST]])
    for name, problem in PROBLEMS.items():
        found.append([name, where.problem_address(name), "problem", "", problem.about])
    return found
