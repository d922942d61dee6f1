"""What the pages of bounds, estimators, attacks and problems show, from their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import attacks
import estimators
from minimax.catalogue import PROBLEMS
from minimax.core.bound import UpperBound
from verify.companion import addresses as where
from verify.companion.closed_forms import budget_label, letter
from verify.companion.formulas import from_latex, from_plain, shown_point
from verify.companion.prose import blocks, inline
from verify.companion.stored import Measured
from verify.companion.views import Data, Views, claim_tag, code_tag, lead, link_of
from verify.proofs.theorems import REFERENCE, Carried, carried_bounds, place

LARGEST_FORMULA = 40
"""Operations; a larger closed form is for the calculator."""
HOMES = {"estimators": estimators, "attacks": attacks}


@dataclass(frozen=True)
class ObjectViews:
    """The pages' data, from the objects themselves."""

    views: Views

    @cached_property
    def statements_of(self) -> dict[str, list[Data]]:
        """By the last part of a name of the code: the statements that name it."""
        found: dict[str, list[Data]] = {}
        for entry in self.views.ledger.entries.values():
            for last in dict.fromkeys(name.split(".")[-1] for name in entry.code):
                found.setdefault(last, []).append(self.views.tag(entry))
        return found

    def bound(self, carried: Carried, root: str) -> Data:
        """The page of a bound."""
        bound = carried.bound
        entry = self.views.ledger.entries.get(bound.entry)
        users = [
            other for name, other in self.views.ledger.entries.items() if carried in self._of(name)
        ]
        claims = [
            claim_tag(claim)
            for claim in self.views.ledger.claims
            if (claim.problem, claim.bound) == (carried.problem, bound.name)
        ]
        return {
            **self.views.bound_tag(carried),
            "source": bound.source,
            "entry": self.views.tag(entry) if entry else None,
            "statements": [self.views.tag(other) for other in users],
            "parameters": from_plain(", ".join(letter(name) for name in bound.parameters)),
            "radius": "radius" in bound.parameters,
            "loss": inline(str(bound.loss)),
            "remark": inline(bound.remark),
            "budgets": [budget_label(budget) for budget in carried.budgets],
            "formula": self._closed_form(carried),
            "proofs": [self._told(name, root) for name in carried.makers],
            "estimator": bound.estimator if isinstance(bound, UpperBound) else "",
            "claims": claims,
            "problem_address": where.problem_address(carried.problem),
        }

    def _of(self, name: str) -> Sequence[Carried]:
        return self.views.ledger.carried[name]

    def _closed_form(self, carried: Carried) -> str:
        """The closed form, or nothing if it is too long to be read."""
        bound = carried.bound
        readable = bound.expr.count_ops() <= LARGEST_FORMULA
        return from_latex(bound.latex(), display=True) if readable else ""

    def _told(self, name: str, root: str) -> Data:
        found = place(name)
        return {**code_tag(name), "text": blocks(found.docstring, link_of(root, found.path))}

    def exported(self, kind: str, name: str, root: str) -> Data:
        """The page of an estimator or an attack."""
        value = getattr(HOMES[kind], name)
        path, line = where_is(value)
        claims = [claim for claim in self.views.ledger.claims if claim.estimator == name]
        cells = [(claim, self.views.ledger.stored.cells_of(claim.name)) for claim in claims]
        upper = [
            self.views.bound_tag(each)
            for each in carried_bounds()
            if isinstance(each.bound, UpperBound) and each.bound.estimator == name
        ]
        return {
            "name": name,
            "signature": _signature(value),
            "text": blocks(inspect.getdoc(value) or "", link_of(root, path)),
            "address": where.source_address(path, line),
            "place": f"{path}:{line}",
            "statements": self.statements_of.get(name, []),
            "bounds": upper,
            "claims": [claim_tag(claim) for claim in claims],
            "measured": [_measured(claim, found) for claim, found in cells if found],
        }

    def problem(self, name: str, root: str) -> Data:
        """The page of a problem."""
        problem = PROBLEMS[name]
        path, line = where_is(problem)
        own = [each for each in carried_bounds() if each.problem == name]
        at = problem.at(REFERENCE)
        return {
            "name": name,
            "about": inline(problem.about),
            "text": blocks(inspect.getdoc(problem) or "", link_of(root, path)),
            "address": where.source_address(path, line),
            "place": f"{path}:{line}",
            "scope": problem.scope,
            "loss": inline(str(at.loss)),
            "parameters": ", ".join(problem.parameters()),
            "sides": [
                (side, [self.views.bound_tag(each) for each in own if each.bound.side == side])
                for side in ("lower", "upper")
            ],
        }

    def listed(self, kind: str) -> list[Data]:
        """The exported names of a package with what each is, in a line."""
        names = HOMES[kind].__all__
        docs = {name: inspect.getdoc(getattr(HOMES[kind], name)) or "" for name in names}
        return [
            {"name": name, "address": where.object_address(kind, name), "about": lead(doc)}
            for name, doc in docs.items()
        ]


def where_is(value: Any) -> tuple[str, int]:
    """The file and the line of a class or a function."""
    found = place(f"{value.__module__}.{value.__qualname__}")
    return found.path, found.line


def _signature(value: Any) -> str:
    """What it is called with, and the defaults; nothing for what is only a shape of others."""
    if getattr(value, "_is_protocol", False):
        return ""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    bare = [each.replace(annotation=each.empty) for each in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


def _measured(claim: Measured, cells: Sequence[Mapping[str, Any]]) -> Data:
    """The cells of a claim: what they share is told once."""
    points = [cell["point"] for cell in cells]
    shared = {k: v for k, v in points[0].items() if all(p.get(k) == v for p in points)}
    return {
        **claim_tag(claim),
        "shared": shown_point(shared),
        "loss": inline(claim.loss),
        "cells": [_cell(cell, shared) for cell in cells],
    }


def _cell(cell: Mapping[str, Any], shared: Mapping[str, float]) -> Data:
    """A measured cell, as it is shown."""
    own = {name: value for name, value in cell["point"].items() if name not in shared}
    return {
        "point": shown_point(own) or "–",
        "risk": f"{cell['risk']:.3g}",
        "interval": f"{cell['ci_low']:.3g} – {cell['ci_high']:.3g}",
        "lower": "" if cell.get("lower") is None else f"{cell['lower']:.3g}",
        "upper": "" if cell.get("upper") is None else f"{cell['upper']:.3g}",
        "trials": cell["trials"],
        "seed": cell["seed"],
        "verdict": cell["verdict"],
    }
