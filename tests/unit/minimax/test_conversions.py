"""Conversions to (epsilon, delta) never understate, from delta = 1e-300 to 1 - 1e-12."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from minimax.core.closeness import log_gaussian_hockey_sticks
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

pytestmark = pytest.mark.oldest

DELTAS = [1e-300, 1e-100, 1e-30, 1e-12, 1e-6, 1e-3, 0.1, 0.49, 0.51, 0.9, 1 - 1e-6, 1 - 1e-12]
SIZES = [1e-8, 1e-6, 1e-4, 1e-2, 0.3, 1.0, 7.0, 50.0, 300.0, 700.0]
LEAST = 1e-12


def hockey_stick(mu: float, epsilon: float) -> mpmath.mpf:
    m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def close(found: float, exact: mpmath.mpf) -> bool:
    """Rounded upwards only, by 1e-11 of itself or what rounding 1 - delta takes."""
    return exact <= found <= max(exact * (1 + mpmath.mpf(10) ** -11) + 1e-12, LEAST)


@pytest.mark.parametrize("delta", DELTAS)
def test_pure_is_rounded_upwards(delta: float) -> None:
    with mpmath.workdps(340):
        for size in SIZES:
            grown = (1 + mpmath.exp(mpmath.mpf(size))) * (1 - mpmath.mpf(delta)) - 1
            exact = mpmath.log(grown) if grown > 1 else mpmath.mpf(0)
            assert close(Pure(size).to_approximate(delta).epsilon, exact)


@pytest.mark.parametrize("delta", DELTAS)
def test_gaussian_is_rounded_upwards(delta: float) -> None:
    """Both ways: what a budget is spent on is within it, and says so."""
    with mpmath.workdps(60):
        for size in SIZES:
            spent = Approximate(size, delta).to_gaussian()
            assert hockey_stick(spent.mu, size) <= delta
            for mu in (size, spent.mu):
                found = Gaussian(mu).to_approximate(delta).epsilon
                assert hockey_stick(mu, found) <= delta
                less = found * (1 - 1e-11) - 1e-12
                assert found == LEAST or less < 0 or hockey_stick(mu, less) > delta
            assert spent.to_approximate(delta).epsilon <= max(size, LEAST)


@pytest.mark.parametrize("delta", DELTAS)
def test_zcdp_is_rounded_upwards(delta: float) -> None:
    """Against the best order, found by bisection of its equation rho g^2 + log(1 + g) = L."""
    with mpmath.workdps(60):
        L = -mpmath.log(mpmath.mpf(delta))
        for size in SIZES:
            for rho in (size, Approximate(size, delta).to_zcdp().rho):
                low, high = mpmath.mpf(-60), mpmath.mpf(60)
                for _ in range(140):
                    x = (low + high) / 2
                    g = mpmath.exp(x)
                    low, high = (low, x) if rho * g**2 + mpmath.log1p(g) > L else (x, high)
                exact = mpmath.mpf(rho) * (1 + g) + (L - mpmath.log1p(g)) / g - mpmath.log1p(1 / g)
                assert close(ZeroConcentrated(rho).to_approximate(delta).epsilon, exact)
            assert Approximate(size, delta).to_zcdp().to_approximate(delta).epsilon <= size


@pytest.mark.parametrize("mu", [1e-9, 1e-3, 0.11, 0.49, 0.51, 1.0, 20.0, 400.0])
def test_log_hockey_stick_keeps_its_digits(mu: float) -> None:
    """At both signs of the level, one at a time and many at once; rounding of the level allowed."""
    levels = np.array([mu * (z + mu / 2) for z in (-3.0, -1.01, -0.99, 0.0, 1.0, 10.0, 30.0, 45.0)])
    levels = np.concatenate([levels, -levels, [0.0]])
    found = log_gaussian_hockey_sticks(mu, levels)
    with mpmath.workdps(500):
        for level, log_delta in zip(levels, found, strict=True):
            exact = float(mpmath.log(hockey_stick(mu, level)))
            moved = abs(float(mpmath.log(hockey_stick(mu, level * (1 + 2e-15)))) - exact)
            assert abs(float(log_delta) - exact) <= 1e-15 * (4 + 2 * abs(exact)) + moved
            if level >= 0:
                one = Gaussian(mu).delta(float(level))
                assert one == pytest.approx(float(np.exp(log_delta)), rel=1e-12, abs=1e-320)
