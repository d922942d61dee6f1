"""Upper bounds under local privacy: their factors and values, as numbers and as symbols."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy import stats

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
from minimax.problems.local_regression.largest_mean import _last_size, worst_risk
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

    The closed form of tanh(e/2) is exact for three definitions and a bound for the others. That of
    records has `threshold_factor` or `sum_factor` in place of exact laws.
    """
    for loss, power, factor in ((SQUARED, 2, 25.6), (SUM, 1, 6.40)):
        bound = one_shot_upper(LocalRegressionProblem(10**9, 20, 2.0, loss=loss), privacy)
        slack = factor / worst_risk(20, 5 * 10**7, False, power, math.inf)
        assert 1 - 2e-3 <= bound.closed_form() / bound.value() / slack <= 1 + loose + 2e-3
    for s, C in ((1, 2.0), (4, 0.5), (10, 8.0)):
        labels = one_shot_label_upper(LabelRegressionProblem(10**8, 400, s, C), privacy)
        assert 1 - 1e-12 <= labels.closed_form() / labels.value() <= 1 + loose + 1e-12


def test_values_of_the_upper_bounds() -> None:
    """(1 + 2)^2/tanh(.25)^2/floor(n/p) times the factors; (2 + .5)^2/tanh(.25)^2/n for labels."""
    t = math.tanh(0.25)
    v = 9 / t**2 / 500_000
    records = LocalRegressionProblem(10**7, 20, 2.0)
    assert one_shot_upper(records, Pure(0.5)).value() == pytest.approx(6.71 * v, rel=2e-3)
    sums = one_shot_upper(replace(records, loss=SUM), Pure(0.5)).value()
    assert sums == pytest.approx(2.90 * math.sqrt(v), rel=2e-3)
    labels = one_shot_label_upper(LabelRegressionProblem(10**7, 400, 4, 0.5), Pure(0.5))
    assert labels.value() == pytest.approx(6.25 / t**2 / 10**7 * threshold_factor(400, 4))


# --- The largest of p means of signs --------------------------------------------------------------


def exact_risks(p: int, m: int, uneven: bool, tau: float) -> tuple[float, float]:
    """Squared error and error of the sum in units of v and sqrt v, by enumeration; ties are lost.

    The mean with the signal is over m signs, or m + 1 if `uneven`, and all others over m.
    """
    own = m + uneven
    means = [(2 * np.arange(count + 1) - count) / count for count in (own, m)]
    chances = [
        stats.binom.pmf(np.arange(count + 1), count, (1 + size) / 2)
        for count, size in ((own, tau), (m, 0.0))
    ]
    squared = summed = 0.0
    for (u, weight), rest in itertools.product(
        zip(means[0], chances[0], strict=True),
        itertools.product(zip(means[1], chances[1], strict=True), repeat=p - 1),
    ):
        chance = weight * math.prod(c for _, c in rest)
        kept = max((x for x, _ in rest), key=abs)
        lost = abs(kept) >= abs(u) - 1e-12
        squared += chance * (tau**2 + kept**2 if lost else (u - tau) ** 2)
        summed += chance * abs((kept if lost else u) - tau)
    return squared * m, summed * math.sqrt(m)


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize(("p", "m"), [(2, 1), (2, 2), (2, 9), (2, 40), (3, 4), (3, 11), (4, 6)])
def test_the_worst_risk_is_above_enumeration_and_near(p: int, m: int, uneven: bool) -> None:
    """Over every size of the signal; the control is a third of the bound, which is exceeded.

    (With few signs the levels are far apart; in the normal limit the bound is much nearer.)
    """
    for power in (2, 1):
        for top in (0.2, 0.7):
            sizes = np.linspace(0.0, top, 15)
            found = max(exact_risks(p, m, uneven, size)[2 - power] for size in sizes)
            bound = worst_risk(p, m, uneven, power, top * math.sqrt(m))
            assert found <= bound
            assert found > bound / 3


def test_the_worst_risk_covers_sizes_beyond_its_cells() -> None:
    for p, m in ((2, 10**4), (50, 10**6)):
        far = _last_size(p)
        for power in (1, 2):
            at_most = worst_risk(p, m, False, power, math.inf)
            assert at_most == worst_risk(p, m, False, power, 2 * far)
            assert worst_risk(p, m, False, power, far / 2) <= at_most * (1 + 2e-2)
        assert worst_risk(p, m, True, 2, math.inf) > worst_risk(p, m, False, 2, math.inf)


def test_the_largest_mean_in_the_normal_limit() -> None:
    """p = 20 and many signs: E loss by quadrature over X and T at the worst size."""
    x = np.linspace(-9, 14, 4601)
    t = np.linspace(1e-9, 9, 3601)
    reach = -np.expm1(19 * np.log1p(-2 * stats.norm.sf(t)))
    rest = (np.cumsum((2 * t * reach)[::-1]) * (t[1] - t[0]))[::-1]
    worst = 0.0
    for h in np.linspace(0.5, 5, 46):
        lost = np.interp(np.abs(x), t, rest) + 2 * h * x * np.interp(np.abs(x), t, reach)
        worst = max(worst, 1 + float(np.sum(lost * stats.norm.pdf(x - h)) * (x[1] - x[0])))
    assert worst == pytest.approx(5.8, abs=0.1)
    assert worst < worst_risk(20, 10**8, False, 2, math.inf) < 1.2 * worst
