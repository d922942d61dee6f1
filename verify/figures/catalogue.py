"""The panels of all papers, by their ids: every module of `panels` exports a tuple PANELS."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from verify.figures import panels as package
from verify.figures.panel import Panel


@cache
def all_panels() -> dict[str, Panel]:
    """Every panel by its id, in the order of papers and figures."""
    found: list[Panel] = []
    for module in pkgutil.iter_modules(package.__path__):
        found += getattr(import_module(f"{package.__name__}.{module.name}"), "PANELS", ())
    ordered = {panel.id: panel for panel in sorted(found, key=lambda panel: _order(panel.id))}
    if len(ordered) < len(found):
        raise ValueError("two panels have the same id")
    return ordered


def _order(name: str) -> str:
    """(d') stands after (d)."""
    return name.replace("')", ")'")


def panel_of(name: str) -> Panel:
    """The panel with this id."""
    return all_panels()[name]
