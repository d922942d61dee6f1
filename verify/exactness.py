"""How close WX21: Theorems 1 and 2 are to the exact Bayes risk of randomised response.

Under the prior of their proof, and without simulation: `randomised_response_risk` is one integral.
The risk must lie above the certified bound and below a stated multiple of it: twice Theorem 1's,
three times Theorem 2's. Controls: without privacy the risk falls below the bound, and the bound by
the paper's own route is not within the multiple.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minimax.bound import Bound
from minimax.core.bound import Point
from minimax.core.privacy import Pure
from minimax.problems.local_regression.lower import (
    wx21_theorem_1,
    wx21_theorem_1_fano,
    wx21_theorem_2,
)
from minimax.problems.local_regression.randomised_response import randomised_response_risk
from verify.judge import judge_level
from verify.measure import Measurement

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
    free = bound.parts(**point).free
    return randomised_response_risk(
        int(point["n"]), int(point["p"]), epsilon, free["B"], free["delta"]
    )


def _known(risk: float) -> Measurement:
    """A number known without error."""
    return Measurement(risk, risk, risk, trials=0, seed=0)


def rows() -> list[dict[str, Any]]:
    """A row for each bound and point, as the measured cells have them."""
    return [_row(check, point) for check in CHECKED for point in POINTS]


def _row(check: Tightness, point: Point) -> dict[str, Any]:
    bound = check.bound()
    lower = bound.value(**point)
    risk = exact_risk(bound, point, point["epsilon"])
    upper = check.multiple * lower
    return {
        "claim": f"{CLAIM}/{check.name}",
        "problem": "local-regression",
        "regime": "privacy",
        "point": dict(point),
        "estimator": ESTIMATOR,
        "privacy": str(Pure(point["epsilon"], scope="local")),
        "trials": 0,
        "seed": 0,
        "risk": risk,
        "ci_low": risk,
        "ci_high": risk,
        "lower": lower,
        "lower_source": bound.source,
        "upper": upper,
        "upper_source": f"{check.multiple:g} times the lower bound",
        "upper_remark": None,
        "ratio": risk / lower,
        "verdict": judge_level(_known(risk), lower, upper).value,
    }


def controls() -> list[dict[str, Any]]:
    """Without privacy the risk is below Theorem 1's bound; the paper's route is not within 2."""
    out = []
    for point in POINTS:
        bound, fano = wx21_theorem_1(), wx21_theorem_1_fano()
        lower, twice = bound.value(**point), CHECKED[0].multiple * fano.value(**point)
        free = exact_risk(bound, point, NOT_PRIVATE)
        private = exact_risk(fano, point, point["epsilon"])
        out.append(_control(point, "randomised response without privacy", "lower", free, lower))
        out.append(_control(point, "2 x the bound by the paper's route", "upper", private, twice))
    return out


def _control(point: Point, kind: str, side: str, risk: float, bound: float) -> dict[str, Any]:
    return {
        "claim": CLAIM,
        "kind": kind,
        "point": dict(point),
        "risk": risk,
        "ci_low": risk,
        "ci_high": risk,
        "trials": 0,
        "seed": 0,
        "side": side,
        "bound": bound,
        "broke": risk < bound if side == "lower" else risk > bound,
    }
