"""The law of the soft cap: its moments in many digits, its calibration, its sub-Gaussian proxy."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from minimax.core.privacy import Pure, ZeroConcentrated
from minimax.core.soft_cap import (
    coordinate_proxy,
    log_norm,
    mean_along,
    proxy_along,
    second_moment,
    steepness,
)
from minimax.problems.local_regression.problem import SUM, LocalRegressionProblem
from minimax.problems.local_regression.upper import one_shot_upper, soft_cap_upper

STEEP = [1e-3, 0.4, 2.0, 9.0]


def moment(k: float, power: int) -> mpmath.mpf:
    """int x^power phi(x) e^{k x^+} dx."""
    return mpmath.quad(
        lambda x: x**power * mpmath.npdf(x) * mpmath.exp(k * max(x, 0)),
        [-40, -8, 0, k, k + 8, k + 40],
    )


@pytest.mark.parametrize("k", STEEP)
def test_moments_are_those_of_the_density(k: float) -> None:
    with mpmath.workdps(30):
        Z, first, second = (moment(k, power) for power in range(3))
    assert log_norm(k) == pytest.approx(float(mpmath.log(Z)), rel=1e-13, abs=1e-15)
    assert mean_along(k) == pytest.approx(float(first / Z), rel=1e-12)
    assert second_moment(k) == pytest.approx(float(second / Z), rel=1e-12)


@pytest.mark.parametrize("rho", [1e-12, 1e-7, 1e-3, 1.0, 700.0, 1e6])
def test_the_steepness_spends_the_budget_and_no_more(rho: float) -> None:
    k = steepness(rho)
    with mpmath.workdps(50):
        spent = mean_along(mpmath.mpf(k)) * k / mpmath.mpf(rho)
    assert 1 - 1e-11 < spent < 1


@pytest.mark.parametrize("k", STEEP)
@pytest.mark.parametrize("coin", [0.5, 0.8, 1.0])
def test_the_proxy_holds_at_every_tilt(k: float, coin: float) -> None:
    """The tilted variance of w x, by the trapezoid rule: at most V, more than 1 at some tilt."""
    x = np.linspace(-3 * k - 12, 3 * k + 12, 40_001)
    base = -(x**2) / 2
    with np.errstate(divide="ignore"):
        base += np.logaddexp(
            math.log(coin) + k * np.maximum(x, 0), np.log(1 - coin) + k * np.maximum(-x, 0)
        )
    variances = []
    for s in np.linspace(-1.5 * k - 2, 1.5 * k + 2, 41):
        weights = np.exp(base + s * x - np.max(base + s * x))
        weights /= weights.sum()
        variances.append(float(weights @ x**2 - (weights @ x) ** 2))
    assert max(variances) <= proxy_along(k)
    # Control: without the term in k it is no proxy; for a fair coin it is near the variance.
    assert max(variances) > 1 + k / 10
    assert coin > 0.5 or max(variances) > 0.6 * proxy_along(k)
    assert coordinate_proxy(k, 1) == pytest.approx(proxy_along(k))
    assert 1 < coordinate_proxy(k, 50) < 1 + proxy_along(k) / 50


def test_the_soft_cap_bound_wins_where_budgets_are_large() -> None:
    """By its proven factor; a budget of another definition is refused."""
    problem = LocalRegressionProblem(10**8, 20, 2.0)
    for rho, better in ((4.0, False), (6.0, True), (20.0, True)):
        budget = ZeroConcentrated(rho)
        bits, caps = one_shot_upper(problem, budget), soft_cap_upper(problem, budget)
        assert (caps.value() < bits.value()) is better
        best = problem.best_upper(budget)
        assert best.risk == min(caps.value(), bits.value())
        assert ("soft cap" in best.note) is better
        assert {bits.keywords()["report"], caps.keywords()["report"]} == {
            "coordinate",
            "softcap",
        }
    with pytest.raises(TypeError, match="privacy must be ZeroConcentrated"):
        soft_cap_upper(problem, Pure(1.0))


def test_the_bound_is_its_formula() -> None:
    """n = 10^6, p = 20, C = 2, rho = .125, from the statement alone."""
    problem = LocalRegressionProblem(10**6, 20, 2.0)
    k = 0.4564162342  # k mu = .125
    mu = 0.125 / k
    V = (k / 2 + math.sqrt(1 + k * k / 4)) ** 2
    v = 9 / mu**2 * (19 + V) / 1e6
    bound = soft_cap_upper(problem, ZeroConcentrated(0.125))
    assert bound.value() == pytest.approx(25.62 * v, rel=1e-3)
    sums = soft_cap_upper(LocalRegressionProblem(10**6, 20, 2.0, loss=SUM), ZeroConcentrated(0.125))
    assert sums.value() == pytest.approx(
        (1 + 2 * math.sqrt(2 * math.log(38))) * math.sqrt(v), rel=1e-6
    )
