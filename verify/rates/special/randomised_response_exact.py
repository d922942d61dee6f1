"""How close WX21: Theorems 1 and 2 are to the exact Bayes risk of randomised response.

Under the prior of their proof, and without simulation: `randomised_response_risk` is one integral.
The risk must lie above the certified bound and below a stated multiple of it: twice Theorem 1's,
three times Theorem 2's. Controls: without privacy the risk falls below the bound, and the bound by
the paper's own route is not within the multiple.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console

from minimax.core.bound import Bound, Point
from minimax.core.privacy import Pure
from minimax.problems.local_regression.lower import (
    wx21_theorem_1,
    wx21_theorem_1_fano,
    wx21_theorem_2,
)
from minimax.problems.local_regression.randomised_response import randomised_response_risk
from verify.rates.claim import Ceiling
from verify.rates.grid import Profile
from verify.rates.measure import exactly
from verify.rates.rows import LevelControl, Row
from verify.rates.special import Found, Special

CLAIM = "local-regression/exact"
ESTIMATOR = "randomised response, posterior mean (exact)"
NOT_PRIVATE = 60.0
"""An epsilon at which randomised response is the identity to double precision."""
POINTS: tuple[Point, ...] = tuple(
    {"n": n, "p": p, "C": 2.0, "epsilon": epsilon}
    for n, p, epsilon in (
        (4_000, 20, 0.5),
        (10_000, 20, 0.5),
        (100_000, 20, 0.5),
        (100_000, 100, 0.25),
        (1_000_000, 1_000, 0.5),
    )
)


@dataclass(frozen=True)
class Tightness:
    """A bound and the multiple of it that randomised response stays below."""

    name: str
    bound: Callable[[], Bound]
    multiple: float


CHECKED = (Tightness("Theorem 1", wx21_theorem_1, 2.0), Tightness("Theorem 2", wx21_theorem_2, 3.0))


def exact_risk(bound: Bound, point: Point, epsilon: float) -> float:
    """Bayes risk of randomised response at a level epsilon under the prior of a bound."""
    free = bound.parts(**point).optimum
    return randomised_response_risk(
        int(point["n"]), int(point["p"]), epsilon, free["B"], free["delta"]
    )


def rows() -> list[Row]:
    """A row for each bound and point, as the measured cells have them."""
    return [_row(tightness, point) for tightness in CHECKED for point in POINTS]


def _row(tightness: Tightness, point: Point) -> Row:
    bound, multiple = tightness.bound(), tightness.multiple
    lower = bound.value(**point)
    return Row(
        claim=f"{CLAIM}/{tightness.name}",
        problem="local-regression",
        regime="privacy",
        point=dict(point),
        estimator=ESTIMATOR,
        privacy=str(Pure(point["epsilon"], scope="local")),
        measured=exactly(exact_risk(bound, point, point["epsilon"])),
        lower=lower,
        lower_source=bound.source,
        upper=Ceiling(multiple * lower, f"{multiple:g} times the lower bound"),
    )


def controls() -> list[LevelControl]:
    """Without privacy the risk is below Theorem 1's bound; the paper's route is not within 2."""
    out = []
    for point in POINTS:
        bound, fano = wx21_theorem_1(), wx21_theorem_1_fano()
        free = exactly(exact_risk(bound, point, NOT_PRIVATE))
        private = exactly(exact_risk(fano, point, point["epsilon"]))
        lower, twice = bound.value(**point), CHECKED[0].multiple * fano.value(**point)
        out += [
            LevelControl(CLAIM, "randomised response without privacy", point, free, "lower", lower),
            LevelControl(
                CLAIM, "2 x the bound by the paper's route", point, private, "upper", twice
            ),
        ]
    return out


def check(profile: Profile, seed: int, alpha: float, console: Console | None) -> Found:
    """Every row and control; nothing is random."""
    return Found(rows(), controls=controls())


SPECIAL = Special(
    CLAIM,
    against="WX21: Theorems 1 and 2 [dim](their constants)[/dim]",
    by="randomised response, exact Bayes risk",
    intervals=0,
    check=check,
)
