"""Where claims are checked: sweeps of one parameter around a base point, by profile.

A sweep lies in one regime. Its `deep` point is far inside the regime (sizes nobody could simulate);
the bound's exponent is read off there, as the slope of its closed form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from minimax.bound import Point
from verify.claims import Claim

Regime = Literal["privacy", "statistics"]


@dataclass(frozen=True)
class Profile:
    """How much to run: exponents k of the factors 2^k of a sweep, and trials per cell."""

    name: str
    steps: tuple[float, ...]
    trials: int
    flow: int
    """Simulated draws per point of the worst-case simulation in log d."""


PROFILES: dict[str, Profile] = {
    "quick": Profile("quick", (-1, 0, 1), 160, 4_000),
    "standard": Profile("standard", (-1, -0.5, 0, 0.5, 1), 400, 20_000),
    "full": Profile("full", (-1.5, -1, -0.5, 0, 0.5, 1, 1.5), 1600, 100_000),
}


@dataclass(frozen=True)
class Sweep:
    """One parameter moved around a base point of a claim, inside one regime."""

    claim: str
    regime: Regime
    base: Mapping[str, float]
    deep: Mapping[str, float] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    """Parameters whose slope is fitted; with none, only the base point is checked."""
    weight: int = 1
    """How many times the profile's trials: more where bounds are tight or losses heavy-tailed."""


@dataclass(frozen=True)
class Cell:
    """A claim at a point."""

    claim: Claim
    regime: Regime
    point: Point
    weight: int = 1

    @property
    def label(self) -> str:
        numbers = ",".join(f"{name}={value:g}" for name, value in self.point.items())
        return f"{self.claim.name}|{numbers}"


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


UNIT = {"sigma": 1.0, "radius": 1.0}
WHOLE = ("n", "d", "s")

_DEEP_PRIVACY = {**UNIT, "n": 1e12, "d": 1e9}

SWEEPS: tuple[Sweep, ...] = (
    Sweep(
        "mean/tracing/approximate",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "epsilon": 0.5, "delta": 1e-7},
        {**_DEEP_PRIVACY, "epsilon": 1e-3, "delta": 1e-30},
        ("n", "d", "epsilon"),
    ),
    Sweep(
        "mean/tracing/zCDP",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "rho": 0.05},
        {**_DEEP_PRIVACY, "rho": 1e-6},
        ("n", "d", "rho"),
    ),
    Sweep(
        "mean/tracing/zCDP",
        "statistics",
        {**UNIT, "n": 2000, "d": 40, "rho": 200.0},
        {**UNIT, "n": 1e9, "d": 1e3, "rho": 200.0},
        ("n", "d", "rho"),
        weight=4,
    ),
    Sweep("mean/tracing/zCDP/best R", "privacy", {**UNIT, "n": 1000, "d": 200, "rho": 0.05}),
    Sweep(
        "mean/tracing/GDP",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "mu": 0.3},
        {**_DEEP_PRIVACY, "mu": 1e-3},
        ("n", "mu"),
    ),
    Sweep(
        "mean/tracing/pure",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "epsilon": 0.5},
        {**_DEEP_PRIVACY, "epsilon": 1e-3},
        ("n", "epsilon"),
        weight=2,
    ),
    Sweep(
        "mean/packing/pure",
        "privacy",
        {**UNIT, "n": 1000, "d": 50, "epsilon": 0.5},
        {**UNIT, "n": 1e20, "d": 1e4, "epsilon": 1e-2},
        ("n", "d", "epsilon"),
    ),
    Sweep(
        "mean/dilution/approximate",
        "privacy",
        {**UNIT, "n": 1000, "d": 400, "epsilon": 0.5, "delta": 1e-9},
        {**UNIT, "n": 1e12, "d": 1e8, "epsilon": 1e-3, "delta": 1e-60},
        ("n", "d", "epsilon"),
    ),
    Sweep(
        "mean/tracing/zCDP/CoinPress",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "rho": 0.05},
        {**_DEEP_PRIVACY, "rho": 1e-6},
    ),
    Sweep(
        "mean/tracing/approximate/KarwaVadhan",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "epsilon": 0.5, "delta": 1e-7},
    ),
    Sweep(
        "bounded-mean/tracing/zCDP",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "rho": 0.05},
        {**_DEEP_PRIVACY, "rho": 1e-6},
        ("n", "d", "rho"),
    ),
    Sweep(
        "bounded-mean/tracing/zCDP",
        "statistics",
        {**UNIT, "n": 2000, "d": 40, "rho": 5.0},
        {**UNIT, "n": 1e12, "d": 1e3, "rho": 5.0},
        ("n", "d", "rho"),
        weight=4,
    ),
    Sweep(
        "bounded-mean/tracing/pure",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "epsilon": 0.5},
        {**_DEEP_PRIVACY, "epsilon": 1e-3},
        ("n", "epsilon"),
        weight=2,
    ),
    Sweep(
        "bounded-mean/tracing/approximate",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "epsilon": 0.5, "delta": 1e-7},
        {**_DEEP_PRIVACY, "epsilon": 1e-3, "delta": 1e-30},
        ("n", "epsilon"),
    ),
    Sweep(
        "bounded-mean/tracing/GDP",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "mu": 0.3},
        {**_DEEP_PRIVACY, "mu": 1e-3},
        ("n", "mu"),
    ),
    Sweep(
        "sparse-mean/known support/zCDP",
        "privacy",
        {**UNIT, "n": 400, "d": 800, "s": 100, "rho": 0.02},
        {**UNIT, "n": 1e12, "d": 1e10, "s": 1e9, "rho": 1e-6},
        ("n", "d", "s", "rho"),
    ),
    Sweep(
        "sparse-mean/known support/approximate/peeling",
        "privacy",
        {**UNIT, "n": 400, "d": 800, "s": 100, "epsilon": 0.2, "delta": 1e-7},
        {**UNIT, "n": 1e12, "d": 1e10, "s": 1e9, "epsilon": 1e-3, "delta": 1e-30},
        ("n", "s", "epsilon"),
    ),
    Sweep(
        "sparse-mean/packing/pure",
        "privacy",
        {**UNIT, "n": 1000, "d": 2000, "s": 10, "epsilon": 0.5},
        {**UNIT, "n": 1e25, "d": 1e12, "s": 1e4, "epsilon": 1e-2},
        ("n", "s", "epsilon"),
        weight=4,
    ),
    Sweep(
        "sparse-mean/statistics/zCDP",
        "statistics",
        {**UNIT, "n": 1000, "d": 1000, "s": 10, "rho": 500.0},
        {**UNIT, "n": 1e9, "d": 1e5, "s": 1e3, "rho": 500.0},
        ("n", "s"),
    ),
    Sweep(
        "sparse-mean/packing/approximate/stable",
        "privacy",
        {**UNIT, "n": 1000, "d": 2000, "s": 1, "epsilon": 0.1, "delta": 1e-7},
    ),
)


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
    points = []
    for step in profile.steps:
        moved = sweep.base[variable] * 2.0**step
        points.append({**sweep.base, variable: round(moved) if variable in WHOLE else moved})
    return points


def base_cells(cells: list[Cell]) -> list[Cell]:
    """The base cell of each claim's privacy sweep: where its controls are run."""
    bases = {s.claim: dict(s.base) for s in SWEEPS if s.regime == "privacy"}
    return [cell for cell in cells if bases.get(cell.claim.name) == dict(cell.point)]
