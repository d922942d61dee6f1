"""A search is made once for a point, and what it asks for in floats is what is proved."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from minimax.core.bound import Optimum, Point, Terms, UpperBound
from minimax.core.privacy import ZeroConcentrated
from minimax.methods.recursion import _deviation
from minimax.problems.sparse_mean.problem import SparseMeanProblem
from minimax.problems.sparse_mean.selection import (
    _float_signal_loss,
    log_null_weight,
    selected_mean_upper,
    signal_loss,
)


def test_the_loss_that_is_searched_is_the_loss_of_the_bound() -> None:
    """Bit by bit, at means from next to nothing to the radius: the same operations in one order."""
    for n, d, rho, R in ((2000, 1000, 0.02, None), (10**6, 50, 1e-4, 3.0), (300, 9, 2.0, None)):
        problem = SparseMeanProblem(n, d, 5)
        bound = selected_mean_upper(problem, ZeroConcentrated(rho), s=5, R=R, threshold=0.01)
        at, found = bound.point({}), bound.parts().optimum
        B = found["selection"] / found["ratio"]
        weight = log_null_weight(at, found["R"], B, bool(found["folded"]))
        searched = _float_signal_loss(at, found, weight, B)
        for mean in np.geomspace(1e-6, 1.0, 200).tolist():
            assert searched(mean) == signal_loss(at, found, weight, B, mean, mean)


def test_value_closed_form_ball_and_settings_ask_for_one_search() -> None:
    asked: list[float] = []

    def optimise(at: Point) -> Optimum:
        asked.append(at["n"])
        return {"share": 1 / at["n"]}

    bound = UpperBound(
        name="a test",
        source="none",
        parameters=("n", "sigma"),
        formula=lambda at, found: Terms(at["sigma"] / at["n"], at["sigma"] * 0 + found["share"]),
        closed_formula=lambda at, found: 2 * found["share"],
        optimise=optimise,
        settings=lambda at, found: found,
    )
    for n in (3.0, 5.0, 3.0):
        point = {"n": n, "sigma": 1.0}
        assert math.isclose(bound.value(**point), 2 / n, rel_tol=1e-8)
        assert math.isclose(bound.closed_form(**point), 2 / n, rel_tol=1e-8)
        assert math.isclose(bound.exact(**point), 2 / n, rel_tol=1e-12)
        assert bound.ball(**point).high >= 2 / n * (1 - 1e-12)
        bound.keywords(**point)["share"] = -1.0  # a copy: what is remembered stays as it was
        assert bound.keywords(**point) == {"share": 1 / n}
    assert asked == [3.0, 5.0]
    bound.value(n=3.0, sigma=2.0)
    assert asked == [3.0, 5.0, 3.0]  # the whole point is what is remembered


@pytest.mark.parametrize("branch", [0, -1])
def test_deviations_of_arrays_are_those_of_floats_and_of_50_digits(branch: int) -> None:
    """Small costs as well, where the rate is a series."""
    costs = np.geomspace(1e-12, 0.9, 60)
    for cost, found in zip(costs.tolist(), _deviation(costs, branch).tolist(), strict=True):
        assert found == pytest.approx(_deviation(cost, branch), rel=1e-11)
        with mpmath.workdps(50):
            assert found == pytest.approx(float(_deviation(mpmath.mpf(cost), branch)), rel=1e-11)
