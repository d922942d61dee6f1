"""Reports of one user, and of labels, right and wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from minimax.core.privacy import Pure
from verify.privacy.cases import Catalogue

Array = NDArray[np.float64]
LOCAL = Catalogue()
BIT = {"values": [0, 1]}
CATEGORY = {"values": [0, 1, 2, 3]}
REPORT = Pure(1.0, "local")
LIKELY = float(special.expit(1.0))
LABELS: dict[str, Any] = {
    "data": (np.linspace(-1, 1, 5)[:, None], np.array([0, 1, 0, 1, 1])),
}


@LOCAL.private(REPORT, **BIT)
def randomised_response(bit: int, rng: np.random.Generator) -> int:
    """The truth with chance e^epsilon/(1 + e^epsilon)."""
    return bit if rng.random() < LIKELY else 1 - bit


@LOCAL.broken(REPORT, **BIT)
def response_that_lies_half_as_often(bit: int, rng: np.random.Generator) -> int:
    """A lie with chance e^-epsilon/2 instead of 1/(1 + e^epsilon)."""
    return 1 - bit if rng.random() < math.exp(-1.0) / 2 else bit


@LOCAL.private(REPORT, **CATEGORY)
def response_among_four(category: int, rng: np.random.Generator) -> int:
    """The truth with chance e^epsilon/(3 + e^epsilon), each other with one part of the rest."""
    if rng.random() < math.e / (math.e + 3):
        return category
    return (category + int(rng.integers(1, 4))) % 4


@LOCAL.broken(REPORT, **CATEGORY)
def response_among_four_with_the_chance_for_two(category: int, rng: np.random.Generator) -> int:
    """The truth with chance e^epsilon/(1 + e^epsilon): three times too likely."""
    return category if rng.random() < LIKELY else (category + int(rng.integers(1, 4))) % 4


def encoded(category: int, truth: float, lie: float, rng: np.random.Generator) -> Array:
    """A bit for each category: 1 with chance `truth` for the own one, `lie` for the others."""
    chances = np.where(np.arange(4) == category, truth, lie)
    return np.asarray(rng.random(4) < chances, dtype=float)


@LOCAL.private(REPORT, **CATEGORY)
def unary_encoding(category: int, rng: np.random.Generator) -> Array:
    """Two categories differ in two bits, each told at epsilon/2 (one-time RAPPOR)."""
    truth = float(special.expit(0.5))
    return encoded(category, truth, 1 - truth, rng)


@LOCAL.broken(REPORT, **CATEGORY)
def unary_encoding_at_epsilon_a_bit(category: int, rng: np.random.Generator) -> Array:
    """Each bit at epsilon, as if categories differed in one."""
    return encoded(category, LIKELY, 1 - LIKELY, rng)


@LOCAL.private(REPORT, **CATEGORY)
def optimised_encoding(category: int, rng: np.random.Generator) -> Array:
    """The own bit by a coin, others with chance 1/(1 + e^epsilon) (Wang et al., 2017)."""
    return encoded(category, 0.5, 1 - LIKELY, rng)


@LOCAL.broken(REPORT, data=0.3, bounds=(-1, 1))
def laplace_report_without_the_factor_2(x: float, rng: np.random.Generator) -> float:
    """Two records in [-1, 1] are 2 apart."""
    return float(np.clip(x, -1, 1) + rng.laplace())


@LOCAL.private(REPORT, data=0.3)
def laplace_report(x: float, rng: np.random.Generator) -> float:
    """Clipped to [-1, 1], Laplace(2/epsilon)."""
    return float(np.clip(x, -1, 1) + rng.laplace(scale=2.0))


@LOCAL.private(Pure(1.0, "label"), **LABELS)
def flipped_labels(data: tuple[Array, Array], rng: np.random.Generator) -> Array:
    """Randomised response on each label; rows are public."""
    X, y = data
    told = np.where(rng.random(len(y)) < LIKELY, y, 1 - y)
    return np.asarray(told * (1 + X[:, 0]))


@LOCAL.broken(Pure(1.0, "label"), **LABELS)
def labels_flipped_together(data: tuple[Array, Array], rng: np.random.Generator) -> Array:
    """One coin for all labels: whether two agree is told as it is."""
    _, y = data
    return np.asarray(y if rng.random() < LIKELY else 1 - y, dtype=float)


@LOCAL.broken(Pure(1.0, "label"), **LABELS)
def labels_flipped_by_a_public_rule(data: tuple[Array, Array], rng: np.random.Generator) -> Array:
    """Labels of rows on one side are told without noise."""
    X, y = data
    kept = (X[:, 0] < 0) | (rng.random(len(y)) < LIKELY)
    return np.asarray(np.where(kept, y, 1 - y), dtype=float)
