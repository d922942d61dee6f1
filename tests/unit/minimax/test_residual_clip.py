"""Clipped residuals: moments against quadrature, windows and biases against simulation."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from minimax.methods.phase_plan import (
    EARLY_ODDS,
    EARLY_RATIOS,
    LAST_RATIOS,
    Setting,
    best_last_ratio,
    best_phases,
    predicted_phases,
)
from minimax.methods.recursion import Interval
from minimax.methods.residual_clip import (
    clipped_normal,
    normal_bias,
    predicted_phase,
    slope_window,
    symmetric_bias,
    thinned_window,
)


@pytest.mark.parametrize("c", [0.05, 0.5, 1.0, 3.0, 9.0])
@pytest.mark.parametrize("sigma", [0.1, 1.0, 40.0])
def test_the_moments_are_the_integrals(c: float, sigma: float) -> None:
    found = clipped_normal(c * sigma, sigma)
    with mpmath.workdps(30):
        square = 2 * mpmath.quad(
            lambda t: mpmath.npdf(t) * min(t, mpmath.mpf(c)) ** 2, [0, c, c + 2, 30]
        )
        slope = 2 * mpmath.quad(mpmath.npdf, [0, c])
    assert found.slope == pytest.approx(float(slope), rel=1e-12)
    assert found.square == pytest.approx(sigma**2 * float(square), rel=1e-10)


@pytest.mark.parametrize("z", [0.05, 0.5, 2.0, 5.0, 8.0])
def test_the_surplus_is_not_lost_in_rounding(z: float) -> None:
    found = clipped_normal(3 * z, 3.0)
    with mpmath.workdps(50):
        exact = clipped_normal(mpmath.mpf(3 * z), mpmath.mpf(3))
        true = exact.square / 9 - exact.slope**2
    assert found.surplus == pytest.approx(float(true), rel=1e-10, abs=0)
    if z >= 5:  # the control: a difference of numbers near one
        assert found.square / 9 - found.slope**2 != pytest.approx(float(true), rel=1e-10, abs=0)


def test_a_small_clip_is_the_sign_and_a_wide_one_nothing() -> None:
    small, wide = clipped_normal(1e-4, 1.0), clipped_normal(40.0, 1.0)
    assert 1e-4 / small.slope == pytest.approx(math.sqrt(math.pi / 2), rel=1e-8)
    assert small.inefficiency == pytest.approx(math.pi / 2, rel=1e-3)
    assert wide.inefficiency == pytest.approx(1.0)
    ratios = [clipped_normal(z, 1.0).inefficiency for z in np.linspace(0.1, 5, 30)]
    assert ratios == sorted(ratios, reverse=True)


def _mean_of_clipped(u: float, c: float, sigma: float) -> float:
    """E psi_c(xi + u), by quadrature."""
    law = stats.norm(scale=sigma)
    inside = integrate.quad(lambda t: (t + u) * law.pdf(t), -c - u, c - u)[0]
    return float(inside + c * (law.sf(c - u) - law.cdf(-c - u)))


@pytest.mark.parametrize("z", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("noise", [0.05, 0.5, 4.0])
def test_what_a_phase_leaves_of_normal_noise(z: float, noise: float) -> None:
    """E f(u)^2 by Gauss and Hermite is below the bound, and above half of it at degree 3 alone."""
    spread = math.sqrt(1 + noise)
    residual = clipped_normal(z * spread, spread)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    f = [
        u - _mean_of_clipped(u, z * spread, 1.0) / residual.slope for u in math.sqrt(noise) * nodes
    ]
    exact = float(np.dot(weights / weights.sum(), np.square(f)))
    bound = normal_bias(noise, spread, residual)
    assert exact <= bound * (1 + 1e-6)
    assert exact > bound / 20  # a factor (noise/s^2)^4 in its place would fail for small noise
    sixth = 15 * noise**3
    own = clipped_normal(z, 1.0)
    g = [u - _mean_of_clipped(u, z, 1.0) / own.slope for u in math.sqrt(noise) * nodes]
    assert float(np.dot(weights / weights.sum(), np.square(g))) <= symmetric_bias(
        sixth, 1.0, own.slope
    )


def test_the_window_holds_for_the_worst_error_of_a_sample() -> None:
    """Signs as rows: eigenvalues of M at errors chosen after the data, against the window."""
    n, d, sigma, c, r = 4000, 4, 1.0, 1.5, 0.5
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n, d)) / math.sqrt(d)
    xi = sigma * rng.standard_normal(n)
    window = thinned_window(
        float(n), float(d), 1.0, Interval(1 / d, 1 / d), slope_window(c, sigma, r), 0.01
    )
    for _ in range(40):
        e = rng.standard_normal(d)
        u = X @ (r * e / np.linalg.norm(e))
        v = (np.clip(xi, -c, c) - np.clip(xi - u, -c, c)) / u
        values = np.linalg.eigvalsh(X.T @ (v[:, None] * X) / n)
        assert window.low <= values[0]
        assert values[-1] <= window.high
    without = thinned_window(
        float(n), float(d), 1.0, Interval(1 / d, 1 / d), slope_window(c, sigma, 0.0), 0.5
    )
    assert window.low < without.low
    assert without.high < window.high
    assert slope_window(0.4, 1.0, 0.5).low == 0


def test_predictions_fall_with_the_budget_and_plans_use_it_all() -> None:
    def setting(noise: float) -> Setting:
        return Setting(0.1, 0.5, 1e-4, lambda share: noise / share)

    risks = []
    for noise in (1e-1, 1e-2, 1e-3, 1e-5):
        phases = best_phases(setting(noise))
        assert sum(phase.share for phase in phases) == pytest.approx(1)
        assert [p.clip for p in phases] == sorted((p.clip for p in phases), reverse=True)
        again = predicted_phases(
            setting(noise),
            [p.share for p in phases],
            phases[-1].clip / _spread(phases),
            phases[0].clip / math.sqrt(0.01 + 0.5),
        )
        assert again[-1].risk == pytest.approx(phases[-1].risk)
        risks.append(phases[-1].risk)
    assert risks == sorted(risks, reverse=True)
    assert best_last_ratio(setting(1e-9), 1.0) > 3 > 1 > best_last_ratio(setting(1.0), 1.0)


def _spread(phases: tuple) -> float:
    before = phases[-2].risk if len(phases) > 1 else 0.5
    return math.sqrt(0.01 + before)


def test_hardly_any_of_many_plans_is_better() -> None:
    """20,000 plans at random, of all lengths; the control: equal shares are far from the best."""
    rng, control = np.random.default_rng(0), []
    for _ in range(25):
        sigma, signal, spread, noise = 10 ** rng.uniform([-3, -2, -6, -12], [0, 1, -2, -2])
        setting = Setting(sigma, signal, spread, lambda share, v=noise: v / share, 0.01, 1.2)
        found = best_phases(setting)[-1].risk
        for count in (1, 2, 3, 4):
            odds = np.exp(rng.uniform(*np.log(EARLY_ODDS), (count, 5_000)))
            odds[-1] = 1
            last, early = (
                np.exp(rng.uniform(*np.log(range_), 5_000))
                for range_ in (LAST_RATIOS, EARLY_RATIOS)
            )
            shares = list(odds / odds.sum(axis=0))
            others = predicted_phases(setting, shares, last, early)[-1].risk
            assert found <= 1.04 * others.min()
        control.append(predicted_phases(setting, [1 / 3] * 3, 1.0)[-1].risk / found)
    assert max(control) > 5


def test_a_predicted_phase_is_what_a_simulation_finds() -> None:
    """Normal rows and an independent start: the risk after one phase, within its interval."""
    n, d, sigma, before, ratio, noise = 2000, 5, 1.0, 0.3, 1.0, 0.001
    predicted = predicted_phase(before, sigma, ratio, d / n, noise)
    s = math.sqrt(sigma**2 + before)
    slope = clipped_normal(ratio, 1.0).slope
    rng, found = np.random.default_rng(1), []
    for _ in range(400):
        X, e = rng.standard_normal((n, d)), rng.standard_normal(d) * math.sqrt(before / d)
        xi = sigma * rng.standard_normal(n)
        w = rng.standard_normal(d) * math.sqrt(noise / d) * ratio * s
        g = X.T @ np.clip(xi - X @ e, -ratio * s, ratio * s) / n
        found.append(float(np.sum((e + (g + w) / slope) ** 2)))
    margin = 4 * float(np.std(found)) / 20
    assert (
        abs(np.mean(found) - predicted.risk) < margin + 0.2 * predicted.bias + 0.05 * predicted.risk
    )
    assert abs(np.mean(found) - predicted_phase(0.0, sigma, ratio, d / n, 0.0).risk) > margin
