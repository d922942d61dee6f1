"""Ingredients of upper bounds by descent, each by brute force, by hand or in 40 digits."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from minimax.core import calibration
from minimax.methods import recursion as descent
from minimax.problems.sparse_regression import upper as sparse_upper
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from minimax.problems.sparse_regression.thresholded import restricted_interval


def hard(z: np.ndarray, s: int) -> np.ndarray:
    out = np.zeros_like(z)
    keep = np.argsort(-np.abs(z), kind="stable")[:s]
    out[keep] = z[keep]
    return out


# --- Hard thresholding ---------------------------------------------------------------------------

SHAPES = [(2, 1, 1), (3, 1, 1), (4, 2, 2), (6, 3, 2), (5, 4, 2), (8, 4, 2), (9, 6, 3)]


def stretch(d: int, s: int, s_star: int, rng: np.random.Generator, draws: int) -> float:
    """Largest |H_s(z) - x|^2/|z - x|^2 found: structured and random z, best x for each."""
    worst = 0.0
    for _ in range(draws):
        z = rng.choice([1.0, 0.999, rng.random(), 0.0], d) * rng.choice([-1, 1], d)
        kept = hard(z, s)
        for support in itertools.combinations(range(d), s_star):
            for scale in (1.0, 1.3, 1.618, 2.0, 2.618, 3.5):
                x = np.zeros(d)
                x[list(support)] = z[list(support)]
                off = [j for j in support if kept[j] == 0]
                x[off] *= scale
                apart = float(np.sum((z - x) ** 2))
                if apart > 1e-9:
                    worst = max(worst, float(np.sum((kept - x) ** 2)) / apart)
    return worst


@pytest.mark.parametrize(("d", "s", "s_star"), SHAPES)
def test_hard_thresholding_never_stretches_more(d: int, s: int, s_star: int) -> None:
    nu = descent.thresholding_factor(s, s_star, d)
    found = stretch(d, s, s_star, np.random.default_rng(d), 25)
    assert found <= nu * (1 + 1e-12)


@pytest.mark.parametrize(("d", "s", "s_star"), SHAPES)
def test_hard_thresholding_factor_is_attained(d: int, s: int, s_star: int) -> None:
    nu, r = (f(s, s_star, d) for f in (descent.thresholding_factor, descent.thresholding_ratio))
    missed = min(s_star, d - s)
    z = np.zeros(d)
    z[:s] = 1.0  # kept
    z[s : s + missed] = 1.0 - 1e-9  # just missed; x stretches them by nu/(nu - 1)
    x = np.zeros(d)
    x[s : s + missed] = nu / (nu - 1)
    shared = s_star - missed
    x[:shared] = z[:shared]
    ratio = np.sum((hard(z, s) - x) ** 2) / np.sum((z - x) ** 2)
    assert ratio == pytest.approx(nu, rel=1e-6)
    assert math.sqrt(nu) - 1 / math.sqrt(nu) == pytest.approx(math.sqrt(r), abs=1e-12)


def test_hard_thresholding_hand_values() -> None:
    assert descent.thresholding_factor(3, 3, 10) == pytest.approx((3 + math.sqrt(5)) / 2)
    assert descent.thresholding_factor(5, 2, 5) == 1.0
    assert descent.thresholding_ratio(8, 2, 100) == pytest.approx(1 / 4)


# --- Eigenvalues, largest noises -----------------------------------------------------------------


@pytest.mark.parametrize("cost", [1e-9, 1e-5, 0.003, 0.2, 0.97, 3.0, 80.0])
def test_chernoff_interval_solves_its_equation(cost: float) -> None:
    # size = 2, failure = 4 e^{-c}: the cost is c reach/(n l) with n = l = h = 1
    c = 1.0 if cost < 1 else cost + 2
    found = descent.chernoff_interval(
        1.0, 2, cost / c, descent.Interval(1.0, 1.0), 4 * math.exp(-c)
    )
    with mpmath.workdps(40):
        rate = [mpmath.mpf(float(u)) for u in found]
        k = [float(u * mpmath.log(u) - u + 1) if u > 0 else 1.0 for u in rate]
    assert float(found.low) < 1 < float(found.high)
    assert k[1] == pytest.approx(cost, rel=1e-6)
    assert k[0] == pytest.approx(min(cost, 1.0), rel=1e-6)


@pytest.mark.parametrize("n", [30.0, 1e3, 1e7, 1e15])
def test_isotropic_deviation_is_the_wider_end(n: float) -> None:
    with mpmath.workdps(50):
        exact = [mpmath.mpf(x) for x in (n, 20, 1e-3)]
        level = descent.Interval(1 / exact[1], 1 / exact[1])
        low, high = descent.chernoff_interval(exact[0], exact[1], mpmath.mpf(1), level, exact[2])
        true = max(1 - 20 * low, 20 * high - 1)
    found = descent.isotropic_deviation(n, 20.0, 1e-3)
    assert found == pytest.approx(float(true), rel=1e-13, abs=0)


def test_chernoff_interval_hand_value() -> None:
    # d e^{-(n l/c) k(u)} = p/2 on both sides, n = 10^4, l = h = 1/20
    low, high = descent.chernoff_interval(1e4, 20, 1.0, descent.Interval(0.05, 0.05), 1e-3)
    for end in (float(low), float(high)):
        u = end / 0.05
        chance = 20 * math.exp(-500 * (u * math.log(u) - u + 1))
        assert chance == pytest.approx(5e-4, rel=1e-6)


def test_intervals_narrow_with_n_and_failure() -> None:
    def width(n: float, p: float) -> tuple[float, float]:
        a = descent.chernoff_interval(n, 5, 1.0, descent.Interval(0.2, 0.2), p)
        b = descent.coherence_interval(n, 9, 5, 0.2, p)
        return float(a.high - a.low), float(b.high - b.low)

    for near, far in (((1e5, 1e-3), (1e4, 1e-3)), ((1e5, 1e-3), (1e5, 1e-9))):
        assert all(x < y for x, y in zip(width(*near), width(*far), strict=True))
    assert float(descent.coherence_interval(1e4, 10, 3, 1.0, 1e-2).high) == pytest.approx(
        1 + 2 * math.sqrt(2 * math.log(1e4) / 1e4)
    )


def test_restricted_interval_takes_the_narrower() -> None:
    small = SparseRegressionProblem(10**5, 10**9, 1)
    by_pairs = descent.coherence_interval(10**5, 10**9, 3, 1.0, 1e-6)
    assert restricted_interval(small.point, 1.0, 3, 1e-6).high == pytest.approx(by_pairs.high)
    large = SparseRegressionProblem(10**5, 1000, 10)
    by_pairs = descent.coherence_interval(10**5, 1000, 30, 0.1, 1e-6)
    assert restricted_interval(large.point, 1.0, 30, 1e-6).high < by_pairs.high


def test_largest_noises() -> None:
    assert descent.gaussian_top(7, 7) == pytest.approx(7)
    assert descent.gaussian_top(0, 5) == 0
    # k = 1, d = 2: E max(g1^2, g2^2) = 1 + 2/pi
    assert 1 + 2 / math.pi <= descent.gaussian_top(1, 2) <= 1.2 * (1 + 2 / math.pi)
    for k, d in ((1, 10), (5, 1000), (300, 1000)):
        exact, _ = integrate.quad(
            lambda t, k=k, d=d: min(k, d * 2 * stats.norm.sf(math.sqrt(t))), 0, 200, limit=400
        )
        assert descent.gaussian_top(k, d) == pytest.approx(exact, rel=1e-4)
        assert descent.gaussian_top(k, d) <= descent.gaussian_top_expression(k, d)
        assert descent.gaussian_top(k, d) <= descent.subgaussian_top(k, d)


@pytest.mark.parametrize("u", [-2.0, -0.3, 0.0, 0.7, 4.0])
def test_excess_of_a_gaussian(u: float) -> None:
    exact, _ = integrate.quad(
        lambda x: max(abs(x) - u, 0.0) ** 2 * stats.norm.pdf(x, scale=1.5), -25, 25, limit=400
    )
    assert sparse_upper.excess_rms(u, 1.5) == pytest.approx(math.sqrt(exact), rel=1e-6)


def test_gradient_sensitivity_is_reached_and_not_exceeded() -> None:
    R, c, c0 = 1.5, 2.0, 0.7
    claim = calibration.gradient_sensitivity(10, R, c, c0)
    A = c * c0
    s = 2 * A / (R + math.sqrt(R * R + 8 * A * A))
    m = math.asin(s)
    x, other = (c * np.array([math.cos(m), sign * math.sin(m)]) for sign in (1, -1))
    b = c0 * np.array([0.0, 1.0])
    ends = [z * (z @ b - y) for z, y in ((x, -R), (other, R))]
    assert np.linalg.norm(ends[0] - ends[1]) / 10 == pytest.approx(claim)
    rng = np.random.default_rng(0)
    for _ in range(300):
        rows, b = rng.standard_normal((2, 3)), rng.standard_normal(3)
        rows *= c / np.linalg.norm(rows, axis=1, keepdims=True)
        b *= c0 / np.linalg.norm(b)
        y = rng.choice([-R, R], 2)
        assert np.linalg.norm(rows.T @ ((rows @ b - y) * [1, -1])) / 10 <= claim + 1e-12


# --- The recursion -------------------------------------------------------------------------------


def test_recursion_hand_value_and_cap() -> None:
    recursion = descent.Recursion(0.5, 0.1, 0.2)
    first = math.sqrt((0.5 * 2 + 0.1) ** 2 + 0.04)
    assert float(recursion.run(2.0, 2)) == pytest.approx(math.sqrt((0.5 * first + 0.1) ** 2 + 0.04))
    assert float(descent.Recursion(2.0, 0.0, 0.0).run(1.0, 50, 3.0)) == 3.0
    for steps in (1, 3, 30):
        assert float(recursion.run(2.0, steps)) ** 2 <= recursion.closed_form(2.0, steps)
