"""Where everything is on the site: permanent addresses, and what a name of the code leads to."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

import attacks
import estimators
from minimax.catalogue import PROBLEMS
from verify.proofs.theorems import Carried

PACKAGES = ("minimax", "estimators", "attacks", "verify", "tracebound")


def slug(text: str) -> str:
    """Letters and digits with hyphens between them; a prime is spelled out.

    >>> slug("(D1')"), slug("Lemma 3.2(1)")
    ('d1-prime', 'lemma-3-2-1')
    """
    spelled = text.replace("'", " prime").replace("+", " plus ").casefold()
    return re.sub(r"[^a-z0-9]+", "-", spelled).strip("-")


def statement_address(identifier: str) -> str:
    """The page of a statement; that of a numbered display starts with eq.

    >>> statement_address("CWZ19:Lemma 3.2"), statement_address("CWZ19:(B.1)")
    ('cwz19/lemma-3-2.html', 'cwz19/eq-b-1.html')
    """
    paper, _, number = identifier.partition(":")
    display = "eq-" if re.match(r"\((?:[A-Z]\.)?\d", number) else ""
    return f"{slug(paper)}/{display}{slug(number)}.html"


def paper_address(key: str) -> str:
    """The index of a paper's statements."""
    return f"{slug(key)}/index.html"


def graph_address(key: str) -> str:
    """The graph of what rests on what in a paper."""
    return f"{slug(key)}/graph.html"


def bound_address(carried: Carried) -> str:
    """The page of a problem's bound."""
    return f"bounds/{carried.problem}/{carried.bound.side}-{slug(carried.bound.name)}.html"


def problem_address(name: str) -> str:
    """The page of a problem."""
    return f"problems/{name}.html"


def object_address(kind: str, name: str) -> str:
    """The page of an exported estimator or attack."""
    return f"{kind}/{name}.html"


def source_address(path: str, line: int = 0) -> str:
    """A file of the packages, at a line."""
    page = f"source/{path.removesuffix('.py')}.html"
    return f"{page}#L{line}" if line else page


@dataclass(frozen=True)
class Source:
    """A file of the packages: its path, its text, and where it defines what."""

    path: str
    text: str
    defined: dict[str, int] = field(compare=False)
    """Lines of functions, classes, methods and constants, by name within the file."""

    @property
    def module(self) -> str:
        """Its dotted name."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def sources() -> dict[str, Source]:
    """Every file of the packages, by path."""
    found = {}
    for package in PACKAGES:
        for folder in map(Path, import_module(package).__path__):
            for file in sorted(folder.rglob("*.py")):
                path = file.relative_to(folder.parent).as_posix()
                text = file.read_text(encoding="utf-8")
                found[path] = Source(path, text, _defined(ast.parse(text)))
    return found


def _defined(tree: ast.Module) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node.lineno
        if isinstance(node, ast.ClassDef):
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            found |= {f"{node.name}.{each.name}": each.lineno for each in methods}
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {each.id: node.lineno for each in targets if isinstance(each, ast.Name)}
    return found


@cache
def definitions() -> dict[str, list[tuple[str, int]]]:
    """Every place that defines a name: by the name alone, and by its dotted name."""
    found: dict[str, list[tuple[str, int]]] = {}
    for source in sources().values():
        found.setdefault(source.module, []).append((source.path, 0))
        for name, line in source.defined.items():
            found.setdefault(name, []).append((source.path, line))
            found.setdefault(f"{source.module}.{name}", []).append((source.path, line))
    return found


@cache
def exported() -> dict[str, str]:
    """The pages of exported estimators, attacks and problems, by name."""
    pages = {name: object_address("estimators", name) for name in estimators.__all__}
    pages |= {name: object_address("attacks", name) for name in attacks.__all__}
    return pages | {problem.__name__: problem_address(n) for n, problem in PROBLEMS.items()}


def name_address(name: str, near: str = "") -> str | None:
    """What a name of the code leads to: a page, or a line of the source.

    A name that several files define leads to the one of the file `near`, or else nowhere.
    """
    last = name.rpartition(".")[2]
    if last in exported() and not re.search(r"\.[a-z_]+\.[a-z_]+$", name):
        return exported()[last]
    found = definitions().get(name, [])
    here = [place for place in found if place[0] == near]
    if len(found) != 1 and len(here) != 1:
        return None
    return source_address(*(here or found)[0])
