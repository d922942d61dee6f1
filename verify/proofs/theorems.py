"""What stands behind an entry: the docstrings that prove it, and the bounds that carry it.

A proof is written once, in the docstring of the code that an entry names, in sections such as
**Statement.**, **Proof.** and **Constants.**; here it is found from there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType

from minimax.catalogue import PROBLEMS
from minimax.core.bound import Bound
from minimax.core.claimed import claimed_bound
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from verify.proofs.entry import Entry

SECTION = re.compile(r"\*\*([A-Z][^*.]*)\.?\*\*\.?[ \n]*")
"""A label of a docstring's section."""
REFERENCE: Mapping[str, float] = {"n": 10_000, "d": 100, "p": 20, "s": 5}
"""Where assumptions are looked at, with every other number of a problem at its default."""
BUDGETS: tuple[Privacy, ...] = (
    Pure(0.5),
    Approximate(0.5, 1e-6),
    ZeroConcentrated(0.125),
    Gaussian(0.5),
)
"""The budgets of all bounds at the reference point; those of reports have scopes of their own."""


def sections(docstring: str) -> dict[str, str]:
    """A docstring by its sections; what comes before the first has no label.

    >>> sections("A mean.  **Statement.** 1 = 1. **Proof.** Count.")
    {'': 'A mean.', 'Statement': '1 = 1.', 'Proof': 'Count.'}
    """
    first, *rest = SECTION.split(inspect.cleandoc(docstring))
    found = {"": first.strip()} if first.strip() else {}
    for label, text in zip(rest[::2], rest[1::2], strict=True):
        found[label] = f"{found[label]}\n\n{text.strip()}" if label in found else text.strip()
    return found


@dataclass(frozen=True)
class Place:
    """A piece of code: its dotted name, where it stands, and its docstring."""

    name: str
    module: str
    line: int
    docstring: str

    @property
    def path(self) -> str:
        """The file within the packages."""
        stem = self.module.replace(".", "/")
        file = Path(inspect.getfile(import_module(self.module)))
        return f"{stem}/__init__.py" if file.name == "__init__.py" else f"{stem}.py"


@cache
def place(name: str) -> Place:
    """Where a dotted name is defined: a module, or what it holds."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        return _place(name, ".".join(parts[:cut]), found, parts[cut:])
    raise ValueError(f"there is no {name}")


def _place(name: str, module: str, found: object, rest: list[str]) -> Place:
    for part in rest:
        found = getattr(found, part)
    if isinstance(found, ModuleType):
        return Place(name, module, 1, inspect.getdoc(found) or "")
    if isinstance(found, (type, FunctionType)):
        home = found.__module__
        return Place(name, home, inspect.getsourcelines(found)[1], inspect.getdoc(found) or "")
    lines = inspect.getsource(import_module(module)).splitlines()
    named = re.compile(rf"\b{re.escape(rest[-1])}\b")
    return Place(
        name, module, 1 + next(i for i, text in enumerate(lines) if named.search(text)), ""
    )


@dataclass(frozen=True)
class Carried:
    """A bound of a problem, with the budgets under which it has it."""

    problem: str
    budgets: tuple[Privacy, ...]
    forms: tuple[Bound, ...]
    """The bound under each budget."""

    @property
    def bound(self) -> Bound:
        """Under the first of its budgets."""
        return self.forms[0]

    @property
    def point(self) -> dict[str, float]:
        """The reference point of its problem, with the numbers of all of its budgets."""
        at = dict(PROBLEMS[self.problem].at(REFERENCE).point)
        for budget in self.budgets:
            at |= budget.parameters
        return at

    @property
    def assumptions(self) -> dict[str, bool]:
        """Its conditions under any budget, in words, and whether each holds at the reference
        point."""
        return {
            each.text: bool(each.holds(form.point(self.point)))
            for form in self.forms
            for each in form.assumptions
        }

    @cached_property
    def makers(self) -> tuple[str, ...]:
        """The functions whose docstrings state and prove it, by dotted name."""
        found = [name for made in _makers(self.bound, set()) for name in _public(made)]
        common = f"{claimed_bound.__module__}.{claimed_bound.__qualname__}"
        return tuple(name for name in dict.fromkeys(found) if name != common)


def _makers(value: object, seen: set[int]) -> Iterator[str]:
    """Functions from which a bound was made: those that its formulas close over."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Bound):
        for formula in (value.formula, value.expression):
            yield from _makers(formula, seen)
    if isinstance(value, FunctionType):
        yield f"{value.__module__}.{value.__qualname__.split('.')[0]}"
        for cell in value.__closure__ or ():
            yield from _makers(cell.cell_contents, seen)


def _public(name: str) -> list[str]:
    """The name; for a helper of a file, the functions there that call it."""
    module, _, helper = name.rpartition(".")
    if not helper.startswith("_"):
        return [name]
    functions = inspect.getmembers(import_module(module), inspect.isfunction)
    return [
        f"{module}.{other}"
        for other, made in functions
        if helper in made.__code__.co_names and made.__module__ == module and other[0] != "_"
    ]


@cache
def carried_bounds() -> tuple[Carried, ...]:
    """Every bound that a problem has at the reference point."""
    found: dict[tuple[str, str, str], Carried] = {}
    for name, problem in PROBLEMS.items():
        at = problem.at(REFERENCE)
        for budget in BUDGETS:
            for bound in (*at.lower(type(budget)), *at.upper(budget)):
                key = (name, bound.side, bound.name)
                known = found.get(key, Carried(name, (), ()))
                forms = (*known.forms, bound)
                found[key] = Carried(name, (*known.budgets, budget), forms)
    return tuple(found.values())


def bounds_of(entry: Entry) -> list[Carried]:
    """The bounds that state, prove or sharpen an entry, by their source or by its code."""
    return [
        each
        for each in carried_bounds()
        if each.bound.entry == entry.id or set(each.makers) & set(entry.code)
    ]


def entries_of(carried: Carried, known: Mapping[str, Entry]) -> list[Entry]:
    """The entries that a bound states, proves or sharpens."""
    return [entry for entry in known.values() if carried in bounds_of(entry)]


def proofs_of(entry: Entry) -> dict[str, dict[str, str]]:
    """The sections of what an entry's code and bounds prove, by dotted name."""
    own = [each for each in carried_bounds() if each.bound.entry == entry.id]
    named = dict.fromkeys([*entry.code, *(name for each in own for name in each.makers)])
    found = {name: sections(place(name).docstring) for name in named}
    return {name: told for name, told in found.items() if {"Proof", "Statement"} & set(told)}


def background(entry: Entry) -> list[tuple[str, str]]:
    """Assumptions, constants and proofs behind an entry, as pairs of a label and a text."""
    told = []
    for each in bounds_of(entry):
        held = [
            f"{text} ({'holds' if holds else 'does not hold'} at {_shown(each.point)})"
            for text, holds in each.assumptions.items()
        ]
        told.append((f"Conditions of the {each.problem} bound {each.bound.name!r}", held))
    plain = [(label, "; ".join(held)) for label, held in told if held]
    for name, parts in proofs_of(entry).items():
        plain += [(f"{label} ({name})", text) for label, text in parts.items() if label]
    return plain


def _shown(point: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in point.items())
