"""OneShotThreshold under zCDP: soft caps against bits, and against the proven bound.

Fixed seeds, mean +- 5 standard errors; every check has a control that fails.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from estimators import LocalHardThresholding, OneShotThreshold
from minimax.core.privacy import ZeroConcentrated
from minimax.core.soft_cap import mean_along, second_moment, steepness
from minimax.problems.local_regression.problem import LocalRegressionProblem
from minimax.problems.local_regression.upper import soft_cap_upper

Array = np.ndarray
ERRORS = 5.0


def zcdp(rho: float) -> ZeroConcentrated:
    return ZeroConcentrated(rho, scope="local")


def interval(values: Array) -> tuple[float, float]:
    half = ERRORS * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return float(np.mean(values)) - half, float(np.mean(values)) + half


def records(n: int, p: int, theta: float, C: float, rng: np.random.Generator) -> Any:
    """Noise +-C with a fair sign: the largest that the class has."""
    X = rng.choice([-1.0, 1.0], (n, p))
    return X, theta * X[:, 0] + C * rng.choice([-1.0, 1.0], n)


def squared_errors(model: Any, problem: LocalRegressionProblem, theta: float, trials: int) -> Array:
    target = theta * np.eye(1, problem.p)[0]
    losses = []
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        X, y = records(problem.n, problem.p, theta, problem.C, rng)
        losses.append(np.sum((model.set_params(random_state=rng).fit(X, y).coef_ - target) ** 2))
    return np.array(losses)


@pytest.mark.parametrize("rho", [0.5, 3.0])
def test_the_mean_of_soft_caps_errs_as_they_say_and_less_than_bits(rho: float) -> None:
    """Nothing thresholded (s = p, a wide ball): the variances of all coordinates."""
    p, n, C, trials = 6, 600, 1.0, 700
    problem, B = LocalRegressionProblem(n, p, C), 1.5
    options: dict[str, Any] = {"s": p, "C": C, "radius": 1e3, "bound": B}
    caps, bits = (
        squared_errors(OneShotThreshold(zcdp(rho), report=report, **options), problem, 0.5, trials)  # type: ignore[arg-type]
        for report in ("auto", "coordinate")
    )
    k = steepness(rho)
    stated = (p * (B / mean_along(k)) ** 2 * (p - 1 + second_moment(k)) - 0.25) / n
    low, high = interval(caps)
    assert low < stated < high
    assert high < interval(bits)[0]  # which is the control too: bits do not have the stated error


def test_the_risk_stays_below_the_bound_of_soft_caps() -> None:
    """At several sizes of the coefficient; a budget that is not there breaks the bound."""
    problem, budget = LocalRegressionProblem(4_000, 10, 1.0), zcdp(1.0)
    bound = soft_cap_upper(problem, budget).value()
    assert bound < 0.5
    model = OneShotThreshold(budget, C=problem.C)
    assert model.risk_bound(problem).value() == bound
    for theta in (0.1, 0.25, 1.0):
        assert interval(squared_errors(model, problem, theta, 60))[1] <= bound
    poorer = OneShotThreshold(zcdp(0.02), C=problem.C)
    assert interval(squared_errors(poorer, problem, 1.0, 60))[0] > bound


def test_gradients_through_soft_caps_err_less_than_through_gaussian_noise() -> None:
    """One step of length 1 that thresholds nothing: coef_ is the mean of the reports."""
    p, trials = 20, 60
    problem = LocalRegressionProblem(2_000, p, 1.0)
    losses = {}
    for randomiser in ("auto", "softcap", "gaussian"):
        model = LocalHardThresholding(
            zcdp(1.0),
            s=p,
            radius=1e3,
            randomiser=randomiser,  # type: ignore[arg-type]
            steps=1,
            step_size=1.0,
            clip=2 * math.sqrt(p),
        )
        losses[randomiser] = squared_errors(model, problem, 0.5, trials)
    assert np.array_equal(losses["auto"], losses["softcap"])
    low, high = interval(losses["softcap"])
    noise = 2 * p * (4 * p) / problem.n  # 2 p r^2/(rho n): of Gaussian noise, without the records'
    assert high < noise < interval(losses["gaussian"])[1]
    cap = 4 * p / mean_along(steepness(1.0)) ** 2 / problem.n
    assert low < cap * (p - 1 + second_moment(steepness(1.0))) < high * 1.01


def test_labels_of_zero_share_no_direction() -> None:
    """y = 0 is in the class: were all such reports along one axis, they would break the bound."""
    problem, budget = LocalRegressionProblem(2_000, 200, 1.0), zcdp(300.0)
    bound = soft_cap_upper(problem, budget).value()
    losses, zeros = [], np.zeros(problem.n)
    for seed in range(30):
        X = np.random.default_rng(seed).choice([-1.0, 1.0], (problem.n, problem.p))
        fitted = OneShotThreshold(budget, C=1.0, report="softcap", random_state=seed).fit(X, zeros)
        losses.append(np.sum(fitted.coef_**2))
    assert interval(np.array(losses))[1] < bound
    k = steepness(budget.rho)
    one_axis = (2 / mean_along(k)) ** 2 * problem.p * second_moment(k) / problem.n
    assert one_axis > bound
