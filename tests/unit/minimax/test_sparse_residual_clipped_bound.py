"""The proven risk of sparse regression on clipped residuals, written down a second time."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath
import pytest

from estimators import SparseResidualClippedRegression
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from minimax.problems.sparse_regression.residual_clipped import (
    best_course,
    proven_phases,
    sparse_residual_clipped_upper,
)
from minimax.problems.sparse_regression.upper import best_upper

PRIVATE = SparseRegressionProblem(10**6, 100, 5, 0.1)
"""Privacy costs as much as statistics at rho = 1e-5."""
BUDGETS = [ZeroConcentrated(1e-5), Gaussian(0.01), Approximate(0.1, 1e-7), Pure(0.05)]


def shifted_mean(t: mpmath.mpf, c: mpmath.mpf, sigma: mpmath.mpf) -> mpmath.mpf:
    """E psi_c(xi + t) by quadrature."""
    ends = sorted([-12 * sigma, 12 * sigma, -c - t, c - t])
    return mpmath.quad(lambda v: min(max(v + t, -c), c) * mpmath.npdf(v, 0, sigma), ends)


def transcribed(problem: SparseRegressionProblem, rho: float) -> mpmath.mpf:
    """The recursion for zCDP from its statement, in mpmath, at the phases that were planned."""
    f = mpmath.mpf
    n, d, s, sigma, a = (f(v) for v in (problem.n, problem.d, problem.s, problem.sigma, 1))
    bound = sparse_residual_clipped_upper(problem, ZeroConcentrated(rho))
    found = bound.optimise(bound.defaults)
    x, m, r = f(found["x"]), a, a
    golden, u = (1 + mpmath.sqrt(5)) / 2, mpmath.log((d - s) / s)
    low = mpmath.sqrt(mpmath.quad(lambda t: 2 * t * mpmath.exp(-mpmath.exp(t)), [0, 1, 3, 8]))
    G = mpmath.sqrt(s) * (mpmath.hypot(1 + u, 1) + low)
    y = x + mpmath.log(s)
    sure = mpmath.sqrt(s) * (mpmath.hypot(2 + u, 1) + mpmath.log(y)) + y * mpmath.pi / 6**0.5
    for k in range(1, int(found["phases"]) + 1):
        c, l, choice, values = (
            f(found[f"{name}_{k}"]) for name in ("clip", "slope", "selection", "values")
        )
        t = a if k == 1 else mpmath.sqrt(2) * r
        K = max(
            abs(1 - shifted_mean(t, c, sigma) / (l * t)),
            abs(1 - mpmath.erf(c / sigma / mpmath.sqrt(2)) / l),
        )
        tau = mpmath.sqrt(s / n) * min(sigma, c) / l
        top = min(d - s, 2 * s * (mpmath.log(2 * (d - s) / s) + 1))
        w = x + mpmath.log(2 * d)
        if k == 1:
            v, b = s * min(sigma**2 + a**2 / s, c**2) / (l**2 * n), mpmath.sqrt(s) * c / (l * n)
            g = 1 + mpmath.log(2 * (d - s) / s)
            high = mpmath.sqrt(2 * v * g) + 2 * b * mpmath.hypot(g, 1) / 3
            drift = mpmath.sqrt(s * v + min((d - s) * v, s * high**2))
            largest = mpmath.sqrt(2 * v * w) + 2 * b * w / 3
        else:
            z = x + mpmath.log(2 * d * 400) + mpmath.log(mpmath.binomial(d, s))
            b, e = 2 * mpmath.sqrt(2 * s), 2 * mpmath.sqrt(2 * s / n)
            D = f(1.03) * (e + mpmath.sqrt(2 * z / n * (1 + 2 * b * e)) + b * z / (3 * n)) / l
            drift = tau * mpmath.sqrt(s + top) + mpmath.sqrt(2 * s) * D * m
            largest = tau * mpmath.sqrt(2 * w) + D * r
        B = 4 * c * mpmath.sqrt(s) / (l * n * mpmath.sqrt(8 * rho * choice / s))
        v = (s / l * 2 * c / n) ** 2 / (2 * rho * values)
        Z = mpmath.sqrt(v) * (mpmath.sqrt(s) + mpmath.sqrt(2 * x))
        m = mpmath.hypot(golden * (drift + K * m) + B * G, mpmath.sqrt(s * v))
        r = golden * (mpmath.sqrt(2 * s) * largest + K * r) + mpmath.hypot(Z, B * sure)
    return m**2 / s + found["phases"] * 6 * mpmath.exp(-x) * 4 / s


@pytest.mark.parametrize(
    ("problem", "rho"), [(PRIVATE, 1e-5), (SparseRegressionProblem(10**5, 30, 2, 0.1), 5e-4)]
)
def test_the_value_is_that_of_the_statement(problem: SparseRegressionProblem, rho: float) -> None:
    """What is left out here, 2a FINEST and digits of constants, is far below a thousandth."""
    value = sparse_residual_clipped_upper(problem, ZeroConcentrated(rho)).value()
    assert 1 <= value / float(transcribed(problem, rho)) < 1 + 2e-3


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_it_beats_releasing_zero_and_descent_where_privacy_costs(privacy: Privacy) -> None:
    best = best_upper(PRIVATE, privacy)
    assert best.estimator == "SparseResidualClippedRegression"
    assert best.risk < PRIVATE.zero_release_risk() / 100
    model = SparseResidualClippedRegression(privacy, **best.settings)
    assert model.risk_bound(PRIVATE).value() == best.risk
    other = SparseRegressionProblem(10**6, 100, 5, 0.1, L=1.5)
    assert best_upper(other, privacy).estimator != "SparseResidualClippedRegression"


def test_the_risk_falls_with_records_and_budget() -> None:
    bound = sparse_residual_clipped_upper(PRIVATE, ZeroConcentrated(1e-5))
    by_n = [bound.value(n=10.0**k) for k in range(5, 12)]
    by_rho = [bound.value(rho=10.0**k) for k in range(-7, 1)]
    assert all(more < less for less, more in pairwise(by_n))
    assert all(more < less for less, more in pairwise(by_rho))
    # with many records and no privacy to speak of, some multiple of s log(d) sigma^2/n
    free = bound.value(n=1e10, rho=10.0)
    assert 1 < free / (0.01 * 5 * math.log(100) / 1e10) < 20


def test_phases_for_other_units() -> None:
    """Rows twice as long and coefficients half as large are the same problem."""
    at, privacy = PRIVATE.point, ZeroConcentrated(1e-5)
    here = best_course(at, privacy).phases
    there = proven_phases({**at, "radius": 0.5}, privacy, 2.0)
    for ours, theirs in zip(here, there, strict=True):
        assert theirs[:4] == ours[:4]
        assert theirs.settled == pytest.approx(ours.settled / 2)
    assert sum(p.selection + p.values for p in here) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plan": "other"}, "plan must be"),
        ({"sigma": None}, "plan='proven' needs"),
        ({"second_moment": "private"}, "plan='proven' needs"),
        ({"start": [0.0] * 100}, "plan='proven' needs"),
        ({"radius": 2.0}, "radius must be that of the problem"),
        ({"entry_bound": 1.0}, "entry_bound must be that of the problem"),
        ({"s": 4}, "s must be that of the problem"),
        ({"plan": "predicted"}, "risk_bound covers"),
    ],
)
def test_what_is_not_proved_is_refused(options: dict[str, object], message: str) -> None:
    given = {
        "s": 5,
        "entry_bound": 5**-0.5,
        "radius": 1.0,
        "sigma": 0.1,
        "second_moment": "isotropic",
        "plan": "proven",
    }
    model = SparseResidualClippedRegression(ZeroConcentrated(1e-5), **{**given, **options})
    with pytest.raises(ValueError, match=message):
        model.risk_bound(PRIVATE)
