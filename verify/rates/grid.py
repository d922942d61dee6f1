"""The cells and series that the sweeps of the claims come to under a profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import NamedTuple

from minimax.core.bound import OutsideRegime, Point
from verify.files import JSON
from verify.rates.claim import BadClaim, Ceiling, Claim, Regime, Sweep


@dataclass(frozen=True)
class Profile:
    """How much to run: exponents k of the factors 2^k of a sweep, and trials per cell."""

    name: str
    steps: tuple[float, ...]
    trials: int
    worst_case_draws: int
    """Simulated draws per point of the worst-case simulation in log d."""
    ordering: int
    """Trials of the orderings."""


PROFILES: dict[str, Profile] = {
    "quick": Profile("quick", (-1, 0, 1), 160, 4_000, 16),
    "standard": Profile("standard", (-1, -0.5, 0, 0.5, 1), 400, 20_000, 40),
    "full": Profile("full", (-1.5, -1, -0.5, 0, 0.5, 1, 1.5), 1600, 100_000, 100),
}
FITTED_FROM = 3
"""A slope is fitted to at least so many cells."""
LONG = 300
"""Letters that are told of an error of somebody's own code."""
WHOLE = ("n", "d", "s", "p")
"""Parameters that are whole numbers."""


def cell_label(claim: str, point: Point) -> str:
    """A cell's name: its claim and its point."""
    return claim + "|" + shown_point(point, ",")


def shown_point(point: Point, between: str = " ") -> str:
    """All numbers of a point, in a line."""
    return between.join(f"{name}={value:g}" for name, value in point.items())


def told(error: BaseException) -> str:
    """An error of somebody's own code, in a line that is not too long."""
    said = " ".join(str(error).split())
    short = said if len(said) <= LONG else said[:LONG] + " ..."
    return f"{type(error).__name__}: {short}" if short else type(error).__name__


@contextmanager
def telling(claim: Claim, what: str, point: Point) -> Iterator[None]:
    """Errors as sentences that name the claim, the part and the point."""
    try:
        yield
    except BadClaim:
        raise
    except OutsideRegime as error:
        outside = f"is outside its regime at {shown_point(point)}, it needs"
        why = f"{outside} {'; '.join(error.needs)}" if error.needs else f"is missing: {error}"
        raise BadClaim(f"claim {claim.name!r}: {what} {why}") from error
    except (Exception, SystemExit) as error:  # a user's own code may raise anything, or exit()
        raise BadClaim(
            f"claim {claim.name!r}: {what} fails at {shown_point(point)}: {told(error)}"
        ) from error


@dataclass(frozen=True)
class Cell:
    """A claim at a point."""

    claim: Claim
    regime: Regime
    point: Point
    weight: float = 1
    loud_weight: float = 1
    """That of its control with more noise."""
    fits: int = 1
    """Fits to the records of a trial."""

    @property
    def label(self) -> str:
        return cell_label(self.claim.name, self.point)

    @cached_property
    def ceiling(self) -> Ceiling | None:
        """The upper bound here, which may take a search."""
        return self.claim.ceiling(self.point)

    @property
    def has_controls(self) -> bool:
        """Whether the controls of the claim are run here."""
        base = self.claim.control_point
        return base is not None and dict(base) == dict(self.point)


@dataclass(frozen=True)
class Series:
    """The cells of one sweep in one variable, in increasing order of it."""

    claim: Claim
    regime: Regime
    variable: str
    cells: tuple[Cell, ...]
    asymptotic_point: Mapping[str, float]


@dataclass(frozen=True)
class Dropped:
    """A point that was not checked, and why."""

    claim: str
    point: Point
    reason: str
    unfitted: str = ""
    """The variable in which no exponent is fitted for want of it."""

    def as_json(self) -> JSON:
        """The point as the JSON file has it."""
        return asdict(self)


class Grid(NamedTuple):
    """Cells (each once), the series they form, and what fell outside a regime."""

    cells: list[Cell]
    series: list[Series]
    dropped: list[Dropped]


class UncheckedClaim(BadClaim):
    """A claim of which nothing, or no control, would be checked: it must not pass unseen."""


def build(claims: Sequence[Claim], profile: Profile) -> Grid:
    """The grid of some claims; raises `UncheckedClaim` if one of them would not be checked."""
    counts = Counter(claim.name for claim in claims)
    for name, count in counts.items():
        if count > 1:
            raise UncheckedClaim(f"claim {name!r} is given {count} times: names must differ")
    parts = [_claim_grid(claim, profile) for claim in claims]
    return Grid(*([item for part in parts for item in part[k]] for k in range(3)))  # type: ignore[arg-type]


def _claim_grid(claim: Claim, profile: Profile) -> Grid:
    cells: dict[str, Cell] = {}
    dropped: dict[str, Dropped] = {}
    series = []
    for sweep in claim.sweeps:
        for variable in sweep.variables or (None,):
            row = []
            if variable and variable not in sweep.base:
                raise BadClaim(f"claim {claim.name!r}: a sweep in {variable} has no {variable}")
            points = _points(claim, sweep, variable, profile)
            outside = []
            for point in points:
                weights = sweep.weight_at(point), sweep.loud_weight
                cell = Cell(claim, sweep.regime, point, *weights, sweep.fits)
                with telling(claim, "the regime of the lower bound", point):
                    broken = claim.lower.broken(**point)
                if broken:
                    outside.append((cell.label, point, "; ".join(broken)))
                else:
                    row.append(cells.setdefault(cell.label, cell))
            if variable and len(row) >= FITTED_FROM:
                series.append(
                    Series(claim, sweep.regime, variable, tuple(row), sweep.asymptotic_point)
                )
            lost = variable if variable and len(row) < FITTED_FROM <= len(points) else ""
            so = f": too few are left for an exponent in {lost}" if lost else ""
            for label, point, why in outside:
                dropped[label] = Dropped(claim.name, point, why + so, lost)
    grid = Grid(list(cells.values()), series, list(dropped.values()))
    _require_checked(claim, grid)
    return grid


def _require_checked(claim: Claim, grid: Grid) -> None:
    if not claim.sweeps:
        raise UncheckedClaim(f"claim {claim.name!r} has no sweep: there is no cell to check it in")
    if not grid.cells:
        reasons = "; ".join(dict.fromkeys(point.reason for point in grid.dropped))
        raise UncheckedClaim(
            f"claim {claim.name!r} has no cell: every point of its sweeps is outside the regime of"
            f" its lower bound, which needs {reasons}"
        )
    if claim.control_point and not any(cell.has_controls for cell in grid.cells):
        raise UncheckedClaim(
            f"claim {claim.name!r} has no control: the base of its last privacy sweep is not among"
            " its cells"
        )


def _points(
    claim: Claim, sweep: Sweep, variable: str | None, profile: Profile
) -> list[dict[str, float]]:
    if variable is None:
        return [dict(sweep.base)]
    moved = [sweep.base[variable] * 2.0**step for step in profile.steps]
    if variable in WHOLE:
        moved = list(dict.fromkeys(round(x) for x in moved))  # small ones may round to the same
        if 0 in moved:
            raise BadClaim(
                f"claim {claim.name!r}: a sweep in {variable} around {variable} ="
                f" {sweep.base[variable]:g} comes to {variable} = 0"
            )
    return [{**sweep.base, variable: x} for x in moved]
