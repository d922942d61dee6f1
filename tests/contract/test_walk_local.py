"""The bounds under local privacy over their whole domain, held against balls."""

from __future__ import annotations

import numpy as np
import pytest

from minimax.core.bound import LowerBound
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Pure,
    Renyi,
    ZeroConcentrated,
)
from minimax.problems.label_regression import lower as label_regression
from minimax.problems.local_regression import lower as local_regression
from tests.contract.walk import POINTS, Draw, points, walk

MODELS = (Pure, Approximate, ZeroConcentrated, OffsetConcentrated, Gaussian, Renyi)
BOUNDS: dict[str, LowerBound] = {
    f"{problem}/{model.__name__}/{bound.name}": bound
    for model in MODELS
    for problem, bounds in (
        ("local", local_regression.lower_bounds(model)),
        ("label", label_regression.lower_bounds(model)),
        ("linear-label", label_regression.lower_bounds(model, link=False)),
    )
    for bound in bounds
}


def one_of(*values: float) -> Draw:
    """Few values, so that the exponents of a block size, which are costly, are found once."""
    return lambda rng: float(np.asarray(values)[rng.integers(len(values))])


DOMAIN = {"p": one_of(1, 2, 3, 17, 400, 31_623, 10**6), "s": one_of(1, 2, 9, 10**6)}


@pytest.mark.parametrize("name", BOUNDS)
def test_no_bound_lies_beyond_its_ball(name: str) -> None:
    bound = BOUNDS[name]
    seen = walk(bound, points(bound, domain=DOMAIN))
    assert seen.faults == []
    assert seen.evaluated == POINTS
    assert bound.kind != "certified" or seen.compared == POINTS
