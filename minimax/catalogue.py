"""The problems by name: what the packages of `minimax.problems` export."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from minimax import problems
from minimax.core.problem import Problem


def _exported() -> list[type[Problem]]:
    packages = [found for found in pkgutil.iter_modules(problems.__path__) if found.ispkg]
    names = [import_module(f"{problems.__name__}.{found.name}") for found in packages]
    objects = [value for package in names for value in vars(package).values()]
    return [value for value in objects if isinstance(value, type) and issubclass(value, Problem)]


PROBLEMS: dict[str, type[Problem]] = {problem.name: problem for problem in _exported()}
