"""What the proofs with sign vectors share: their prior, their gain, and a search on a log scale."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize

from minimax.core.bound import Assumption, Parts, Point, Prior
from minimax.core.privacy import Privacy
from minimax.core.symbolic import LETTERS, Expression, Number, library
from minimax.methods.priors import SignPrior
from minimax.methods.tracing import SUBGAUSSIAN, best_shift, closed_gain, gain_at

SMALL_EPSILON = Assumption(
    "epsilon <= 1 (beyond, the closed form's gain is far from the best shift's)",
    lambda p: p.get("epsilon", 0.0) <= 1,
)


def best_on_log_scale(objective: Callable[[float], float], start: float) -> float:
    """The best point near the maximum on a log grid around `start`, never worse than `start`."""
    grid = np.append(start * np.geomspace(1e-3, 1e3, 61), start)
    values = [objective(float(u)) for u in grid]
    centre = float(grid[int(np.argmax(values))])
    found = optimize.minimize_scalar(
        lambda log_u: -objective(math.exp(log_u)),
        bounds=(math.log(centre) - 0.3, math.log(centre) + 0.3),
        method="bounded",
    )
    polished = math.exp(float(found.x))
    return polished if objective(polished) >= max(values) else centre


def sign_prior(p: Point, parts: Parts) -> Prior:
    """The prior (1 - p^2)^{u/2 - 1} of every coordinate, at the best u."""
    return SignPrior(int(p["d"]), p["sigma"], parts.optimum["u"])


def sign_shift(model: type[Privacy], p: Point) -> float:
    """A good shift for the score of sign vectors."""
    return best_shift(model, p, SUBGAUSSIAN, member=2 * math.sqrt(p["d"]))


def sign_gain(model: type[Privacy], p: Point, shift: float) -> Number:
    """The gain of a score of sign vectors, at most 2 sqrt(d) in size."""
    return gain_at(model, p, SUBGAUSSIAN, shift, member=2 * library(p["d"]).sqrt(p["d"]))


def best_sign_gain(model: type[Privacy], p: Point) -> float:
    """`sign_gain` at a good shift."""
    return float(sign_gain(model, p, sign_shift(model, p)))


def closed_sign_gain(model: type[Privacy]) -> Expression:
    """A closed form that is at least `best_sign_gain`."""
    return closed_gain(model, SUBGAUSSIAN, member=2 * library(LETTERS["d"]).sqrt(LETTERS["d"]))
