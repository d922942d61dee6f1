"""What a user names on the command line: an estimator of one's own, and a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacks import TablePopulation
from attacks.table import Kind as TableKind
from minimax.core.loading import CannotLoad, load_object
from minimax.core.privacy import Privacy
from verify.attacks.matches import Match, kind_of
from verify.attacks.settings import ATTACKS, Setting, setting

Array = NDArray[np.float64]
MOST_RECORDS = 400
"""In a sample of a table, unless told otherwise."""


def own_estimator(named: str) -> Any:
    """What MODULE:NAME names: an estimator, or a function of a sample and a generator."""
    found = load_object(named)
    if isinstance(found, type):
        raise CannotLoad(f"{named} is a class: name an estimator that is made, or a function")
    if not (hasattr(found, "fit") or callable(found)):
        raise CannotLoad(f"{named} is {found!r}, neither an estimator nor a function")
    return found


def own_matches(
    named: str, claim: Privacy | None, settings: list[Setting], attribute: str | None
) -> list[Match]:
    """An estimator of one's own against attacks."""
    found, name = own_estimator(named), named.partition(":")[2]
    return [Match(each, name, found, claim, attribute=attribute) for each in settings]


def settings_for(
    named: str | None, attack: str | None, n: int | None, d: int | None
) -> list[Setting]:
    """The attacks that were named, or all that are meant for an estimator's kind."""
    if attack is not None:
        return [setting(attack, n, d)]
    known = [setting(name, n, d) for name in ATTACKS]
    if named is None:
        return known
    found = own_estimator(named)
    scope = getattr(found, "scope", "central")
    return [each for each in known if each.kind == kind_of(found) and each.scope == scope]


# --- Tables ---------------------------------------------------------------------------------------


def load_table(path: Path, target: str | None, kind: str) -> TablePopulation:
    """A .npy file, or a CSV file with a line of names; `target` is the column of y."""
    try:
        names, values = _npy(path) if path.suffix == ".npy" else _csv(path)
    except (OSError, ValueError) as error:
        raise CannotLoad(f"{path} cannot be read as a table of numbers: {error}") from None
    if target is None:
        return TablePopulation("mean", values, name=path.name)
    if target not in names:
        raise CannotLoad(f"{path} has no column {target!r}; it has {', '.join(names)}")
    at = names.index(target)
    y, X = values[:, at], np.delete(values, at, axis=1)
    model: TableKind = "logistic" if kind == "classification" else "regression"
    return TablePopulation(model, X, y, name=path.name)


def _npy(path: Path) -> tuple[list[str], Array]:
    values = np.load(path, allow_pickle=False)
    if values.ndim != 2:
        raise ValueError(f"its shape is {values.shape}, not rows and columns")
    return [str(k) for k in range(values.shape[1])], values.astype(float)


def _csv(path: Path) -> tuple[list[str], Array]:
    with path.open(encoding="utf-8") as lines:
        names = [name.strip().strip('"') for name in lines.readline().strip().split(",")]
        values = np.loadtxt(lines, delimiter=",", ndmin=2)
    if values.shape[1] != len(names):
        raise ValueError(f"{len(names)} names, {values.shape[1]} columns")
    return names, values


def in_unit_box(table: TablePopulation) -> TablePopulation:
    """Every column between -1 and 1, as the toolkit's estimators are told here: the table is the
    population, and its ends are known to all."""

    def scaled(values: Array) -> Array:
        low, high = values.min(axis=0), values.max(axis=0)
        return np.asarray(2 * (values - low) / np.where(high > low, high - low, 1.0) - 1)

    y = scaled(table.y) if table.kind == "regression" and table.y is not None else table.y
    return TablePopulation(table.kind, scaled(table.X), y, table.name)


def records_of(table: TablePopulation, n: int | None) -> int:
    """How many records a sample has."""
    return min(MOST_RECORDS, len(table.X)) if n is None else n
