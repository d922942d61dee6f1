"""Upper bounds under local privacy: their factors and values, as numbers and as symbols."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import sympy as sp

from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Pure,
    Renyi,
    ZeroConcentrated,
)
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.label_regression.upper import one_shot_label_upper
from minimax.problems.local_regression.problem import SQUARED, SUM, LocalRegressionProblem
from minimax.problems.local_regression.upper import one_shot_upper, sum_factor, threshold_factor


@pytest.mark.parametrize(
    ("p", "s", "factor", "summed"),
    [(1, 1, 1.0, 1.0), (2, 1, 5.0, 3.355), (20, 1, 25.6, 6.40), (1000, 10, 332.5, 8.80)],
)
def test_factors_of_the_upper_bounds(p: int, s: int, factor: float, summed: float) -> None:
    """Numbers and symbols are two ways to one value."""
    assert threshold_factor(p, s) == pytest.approx(factor, rel=2e-3)
    assert sum_factor(p) == pytest.approx(summed, rel=2e-3)
    P, S = sp.symbols("p s", positive=True)
    assert float(sum_factor(P).subs(P, p)) == pytest.approx(sum_factor(p))
    symbolic = threshold_factor(P, S).subs({P: p, S: s})
    assert float(symbolic) == pytest.approx(threshold_factor(p, s))


@pytest.mark.parametrize(
    ("privacy", "loose"),
    [
        (Pure(0.5), 0.0),
        (Approximate(0.5, 0.05), 0.0),
        (Gaussian(0.3), 0.0),
        (ZeroConcentrated(0.1), 0.04),
        (OffsetConcentrated(0.1, 0.1), 0.5),
        (Renyi(2.0, 0.2), 0.15),
    ],
)
def test_upper_bounds_are_their_closed_forms(privacy: Any, loose: float) -> None:
    """Where nothing is capped, and where p divides n but for the closed form's n - p + 1.

    The closed form of tanh(e/2) is exact for three definitions and a bound for the others.
    """
    for loss in (SQUARED, SUM):
        bound = one_shot_upper(LocalRegressionProblem(10**9, 20, 2.0, loss=loss), privacy)
        assert 1 - 1e-9 <= bound.closed_form() / bound.value() <= 1 + loose + 1e-7
    for s, C in ((1, 2.0), (4, 0.5), (10, 8.0)):
        labels = one_shot_label_upper(LabelRegressionProblem(10**8, 400, s, C), privacy)
        assert 1 - 1e-12 <= labels.closed_form() / labels.value() <= 1 + loose + 1e-12


def test_values_of_the_upper_bounds() -> None:
    """(1 + 2)^2/tanh(.25)^2/floor(n/p) times the factors; (2 + .5)^2/tanh(.25)^2/n for labels."""
    t = math.tanh(0.25)
    v = 9 / t**2 / 500_000
    records = LocalRegressionProblem(10**7, 20, 2.0)
    assert one_shot_upper(records, Pure(0.5)).value() == pytest.approx(25.6 * v, rel=2e-3)
    assert one_shot_upper(replace(records, loss=SUM), Pure(0.5)).value() == pytest.approx(
        (1 + 2 * math.sqrt(2 * math.log(38))) * math.sqrt(v)
    )
    labels = one_shot_label_upper(LabelRegressionProblem(10**7, 400, 4, 0.5), Pure(0.5))
    assert labels.value() == pytest.approx(6.25 / t**2 / 10**7 * threshold_factor(400, 4))
