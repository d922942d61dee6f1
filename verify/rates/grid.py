"""The cells and series that the sweeps of the claims come to under a profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from minimax.bound import Point
from verify.rates.claim import Claim, Regime, Sweep
from verify.rates.claims import SWEEPS


@dataclass(frozen=True)
class Profile:
    """How much to run: exponents k of the factors 2^k of a sweep, and trials per cell."""

    name: str
    steps: tuple[float, ...]
    trials: int
    flow: int
    """Simulated draws per point of the worst-case simulation in log d."""
    ordering: int
    """Trials of the orderings."""


PROFILES: dict[str, Profile] = {
    "quick": Profile("quick", (-1, 0, 1), 160, 4_000, 16),
    "standard": Profile("standard", (-1, -0.5, 0, 0.5, 1), 400, 20_000, 40),
    "full": Profile("full", (-1.5, -1, -0.5, 0, 0.5, 1, 1.5), 1600, 100_000, 100),
}


def cell_label(claim: str, point: Point) -> str:
    """A cell's name: its claim and its point."""
    return claim + "|" + ",".join(f"{name}={value:g}" for name, value in point.items())


@dataclass(frozen=True)
class Cell:
    """A claim at a point."""

    claim: Claim
    regime: Regime
    point: Point
    weight: float = 1

    @property
    def label(self) -> str:
        return cell_label(self.claim.name, self.point)


@dataclass(frozen=True)
class Series:
    """The cells of one sweep in one variable, in increasing order of it."""

    claim: Claim
    regime: Regime
    variable: str
    cells: tuple[Cell, ...]
    deep: Mapping[str, float]


@dataclass(frozen=True)
class Dropped:
    """A point that was not checked, and why."""

    claim: str
    point: Point
    reason: str


WHOLE = ("n", "d", "s", "p")


def build(claims: list[Claim], profile: Profile) -> tuple[list[Cell], list[Series], list[Dropped]]:
    """Cells (each once), the series they form, and what fell outside a regime."""
    by_name = {claim.name: claim for claim in claims}
    cells: dict[str, Cell] = {}
    series, dropped = [], {}
    for sweep in SWEEPS:
        if sweep.claim not in by_name:
            continue
        claim = by_name[sweep.claim]
        for variable in sweep.variables or (None,):
            row = []
            for point in _points(sweep, variable, profile):
                cell = Cell(claim, sweep.regime, point, sweep.weight)
                broken = claim.lower.broken(**point)
                if broken:
                    dropped[cell.label] = Dropped(claim.name, point, "; ".join(broken))
                    continue
                row.append(cells.setdefault(cell.label, cell))
            if variable and len(row) >= 3:
                series.append(Series(claim, sweep.regime, variable, tuple(row), sweep.deep))
    return list(cells.values()), series, list(dropped.values())


def _points(sweep: Sweep, variable: str | None, profile: Profile) -> list[dict[str, float]]:
    if variable is None:
        return [dict(sweep.base)]
    moved = [sweep.base[variable] * 2.0**step for step in profile.steps]
    if variable in WHOLE:
        moved = list(dict.fromkeys(round(x) for x in moved))  # small ones may round to the same
    return [{**sweep.base, variable: x} for x in moved]


def base_cells(cells: list[Cell]) -> list[Cell]:
    """The base cell of each claim's privacy sweep: where its controls are run."""
    bases = {s.claim: dict(s.base) for s in SWEEPS if s.regime == "privacy"}
    return [cell for cell in cells if bases.get(cell.claim.name) == dict(cell.point)]
