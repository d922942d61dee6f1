"""The proven risk of StableSparseMean: above what is measured, and not much above it."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from estimators.core.truncation import theoretical_truncation
from estimators.stable_sparse_mean import StableSparseMean
from minimax.core.bound import OutsideRegime
from minimax.core.privacy import Approximate
from minimax.problems.sparse_mean.problem import SparseMeanProblem
from minimax.problems.sparse_mean.stable_upper import stable_risk, stable_upper
from verify.rates.measure import interval
from verify.rates.special.worst_case_log_d import DELTA, EPSILON, N, worst_case

POINT = {"n": 1e5, "d": 1e4, "sigma": 1.5, "radius": 2.0, "epsilon": 0.7, "delta": 1e-6}
LARGE = {"n": N, "sigma": 1.0, "radius": 1.0, "epsilon": EPSILON, "delta": DELTA}


def by_hand(n: float, d: float, sigma: float, radius: float, epsilon: float, delta: float) -> float:
    """The statement, written down again with 40 digits; k = 2."""
    with mpmath.workdps(40):
        log, sqrt = mpmath.log, mpmath.sqrt
        n, sigma = mpmath.mpf(n), mpmath.mpf(sigma)
        R = radius + 4 * sigma * sqrt(log(n))
        b = sigma * sqrt(mpmath.pi / 2) * mpmath.exp(-(((R - radius) / sigma) ** 2) / 2)
        M = b + sqrt(4 * sigma**2 * (log(2 * d) + 1) / n)
        t = 4 * R / n * (1 + (log(1 / (2 * mpmath.mpf(delta))) + 1) * 2 / epsilon)
        missed = min(mpmath.mpf(radius), sqrt(b**2 + sigma**2 / n) + M + t)
        return float(M**2 + missed**2 + 32 * (R / (n * epsilon)) ** 2)


@pytest.mark.parametrize("changed", [{}, {"n": 50.0}, {"epsilon": 1e-4}, {"d": 1.0}, {"d": 1e300}])
def test_value_and_closed_form_are_the_statement(changed: dict[str, float]) -> None:
    point = {**POINT, **changed}
    exact, bound = by_hand(**point), stable_upper()
    assert exact <= bound.value(**point) <= exact * (1 + 1e-8)
    assert exact <= bound.closed_form(**point) <= exact * (1 + 1e-8)


def test_estimator_names_its_bound() -> None:
    problem = SparseMeanProblem(1000, 50, 1, 1.5, 2.0)
    budget = Approximate(0.7, 1e-6)
    R = theoretical_truncation(1000, 1.5, 2.0)
    point = {**POINT, "n": 1000, "d": 50}
    for level in ("theory", R):
        own = StableSparseMean(budget, R=level, sigma=1.5, radius=2.0).risk_bound(problem)
        assert own.value() == pytest.approx(by_hand(**point), rel=1e-8)
    # A narrower interval than the problem's is a level like any other, until means leave it.
    narrow = StableSparseMean(budget, R=1.0, sigma=1.5, radius=2.0).risk_bound(problem)
    with pytest.raises(OutsideRegime, match="R >= radius"):
        narrow.value()
    with pytest.raises(ValueError, match="s = 1"):
        StableSparseMean(budget, s=2, sigma=1.0, radius=1.0).risk_bound(problem)
    with pytest.raises(OutsideRegime, match="delta"):
        stable_upper().value(**{**POINT, "delta": 0.6})


def test_the_refutation_is_proved_and_not_only_measured() -> None:
    """Claimed over proven grows with log d, beyond every constant; scale sqrt 2 is the paper's."""
    for sigma, least in ((1.0, 12), (math.sqrt(2), 6)):
        quotients = []
        for log_d in (1e5, 1e6, 1e7):
            claimed = log_d / N + (log_d / (N * EPSILON)) ** 2
            quotients.append(claimed / stable_risk(log_d, **{**LARGE, "sigma": sigma}))
        assert quotients[1] > least
        assert quotients[2] > 10 * quotients[1]


def test_worst_case_lies_below_the_proven_risk_by_a_known_factor() -> None:
    """4 k log(d)/n is proved, about 2 log(d)/n measured; a quarter of the bound is refuted."""
    for log_d in (1e5, 1e6):
        measured = worst_case(log_d, 800, 3, 1e-6).measured
        gaussian, any_law = (
            stable_risk(log_d, law=law, **LARGE) for law in ("Gaussian", "sub-Gaussian")
        )
        assert measured.ci_high < gaussian < any_law
        assert measured.ci_low > any_law / 8
        assert measured.ci_low > gaussian / 4


BUDGET = Approximate(5.0, 0.01)


def losses(theta: float, n: int, d: int, trials: int) -> np.ndarray:
    """Losses on signs, all coordinates but the first of which are equal: far from independent."""
    rng = np.random.default_rng(11)
    estimator = StableSparseMean(BUDGET, R=5.0, sigma=1.0, radius=0.5)
    out = np.empty(trials)
    for t in range(trials):
        X = np.repeat(rng.choice([-1.0, 1.0], (n, 1)), d, axis=1)
        X[:, 0] = np.where(rng.random(n) < (1 + theta) / 2, 1.0, -1.0)
        mean = estimator.set_params(random_state=rng).fit(X).mean_
        out[t] = (mean[0] - theta) ** 2 + np.sum(mean[1:] ** 2)
    return out


@pytest.mark.parametrize("theta", [0.0, 0.05, 0.2, 0.5])
def test_dependent_signs_stay_below(theta: float) -> None:
    n, d = 2000, 6
    estimator = StableSparseMean(BUDGET, R=5.0, radius=0.5)
    bound = estimator.risk_bound(SparseMeanProblem(n, d, 1, 1.0, 0.5)).value()
    assert bound < 0.03  # releasing 0 has .25
    assert interval(losses(theta, n, d, 150), 1e-6, 0).ci_high < bound
