"""What shortening to a ball cuts off: against quadrature, simulation and a control."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from minimax.methods.ball_clip import (
    _exact_gamma,
    _half_step,
    gamma_excess,
    norm_excess,
    shortened_gaussian,
)

DIMENSIONS = [1, 2, 5, 40, 300]


def chi_mean(d: int, value, *edges: float) -> float:
    """The mean of a function of |g|, g ~ N(0, I_d), whose kinks are the edges."""
    log_norm = mpmath.log(2) * (1 - mpmath.mpf(d) / 2) - mpmath.loggamma(mpmath.mpf(d) / 2)

    def density(r):
        at = max(r, mpmath.mpf("1e-100"))
        return mpmath.exp(log_norm + (d - 1) * mpmath.log(at) - at * at / 2)

    ends = sorted({0.0, max(0.0, math.sqrt(d) - 8), math.sqrt(d), math.sqrt(d) + 20, *edges})
    return float(mpmath.quad(lambda r: value(r) * density(r), ends))


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("w", [0.003, 0.1, 0.5, 2.0])
def test_a_gaussian_length_exceeds_no_more(d: int, w: float) -> None:
    scale, R = 1.7, 1.7 * math.sqrt(d) * (1 + w)
    true = scale * math.sqrt(chi_mean(d, lambda r: max(r - R / scale, 0) ** 2, R / scale))
    assert true <= norm_excess(scale, d, w)


def test_the_excess_is_not_vague() -> None:
    """Where the tail is thin the exponent is the true one."""
    d, w = 200, 0.3
    R = math.sqrt(d) * (1 + w)
    true = math.sqrt(chi_mean(d, lambda r: max(r - R, 0) ** 2, R))
    assert true <= norm_excess(1.0, d, w) <= 4 * true
    assert norm_excess(1.0, d, w) / 8 < true  # the control: an eighth of it is broken


@pytest.mark.parametrize("d", [1, 3, 30])
def test_domination_of_shifted_signs_and_gaussians(d: int) -> None:
    """E e^{l|z + b|^2} <= (1 - 2 l (s^2 + a^2))^{-d/2}, |b|^2 = d a^2, exactly for both laws."""
    a = 0.8
    for share in (0.1, 0.5, 0.9):
        rate = share / (2 * (1 + a * a))
        log_right = -d / 2 * math.log(1 - share)
        gaussian = -d / 2 * math.log(1 - 2 * rate) + rate * d * a * a / (1 - 2 * rate)
        signs = d * math.log((math.exp(rate * (1 + a) ** 2) + math.exp(rate * (1 - a) ** 2)) / 2)
        assert max(gaussian, signs) <= log_right
        assert gaussian > -d / 2 * math.log(1 - 2 * rate)  # the control: without the shift


@pytest.mark.parametrize("d", [1, 2, 10, 100])
@pytest.mark.parametrize("w", [0.003, 0.2, 1.0, 5.0])
def test_a_gamma_exceeds_no_more(d: int, w: float) -> None:
    r = d * (1 + w)

    def tail(t):
        return (t - r) ** 2 * mpmath.exp((d - 1) * mpmath.log(t) - t - mpmath.loggamma(d))

    true = math.sqrt(mpmath.quad(tail, [r, r + math.sqrt(d) + 1, r + 10 * math.sqrt(d) + 50]))
    assert 2.5 * true <= gamma_excess(2.5, d, w)
    if w == 1.0:  # the control: a part of it is broken
        assert gamma_excess(2.5, d, w) / (8 * math.sqrt(d)) < 2.5 * true


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("R", [0.01, 0.9, 1.0, 1.2, 3.0])
def test_moments_of_a_shortened_gaussian(d: int, R: float) -> None:
    scale, level = 1.3, R * math.sqrt(d)
    slope, square = shortened_gaussian(scale, d, 1.3 * level)
    inner = chi_mean(d, lambda r: r * min(r, level), level) / d  # E<short(y), y>/(d scale^2)
    assert slope == pytest.approx(inner, rel=1e-9)
    second = scale**2 * chi_mean(d, lambda r: min(r, level) ** 2, level)
    assert square == pytest.approx(second, rel=1e-9)


def test_moments_by_simulation_in_one_dimension() -> None:
    y = np.random.default_rng(0).standard_normal(10**6)
    slope, square = shortened_gaussian(1.0, 1, 0.7)
    short = np.clip(y, -0.7, 0.7)
    assert slope == pytest.approx(np.mean(short * y), abs=5e-3)
    assert square == pytest.approx(np.mean(short**2), abs=3e-3)


def test_the_same_in_50_digits() -> None:
    with mpmath.workdps(50):
        for d in (1, 2, 7, 1999, 10**5):
            for factor in (0.5, 1.0, 1.001, 1.4):
                exact = shortened_gaussian(
                    mpmath.mpf(1), mpmath.mpf(d), mpmath.mpf(factor) * mpmath.sqrt(d)
                )
                floats = shortened_gaussian(1.0, float(d), factor * math.sqrt(d))
                assert floats.slope == pytest.approx(float(exact.slope), rel=1e-12)
                assert floats.square == pytest.approx(float(exact.square), rel=1e-12)


@pytest.mark.parametrize("a", [999, 1000])
def test_both_ways_to_an_incomplete_gamma(a: int) -> None:
    """Series and continued fraction against mpmath, which can still do this size."""
    with mpmath.workdps(50):
        for factor in (0.8, 0.99, 1.0, 1.01, 1.3, 5.0):
            z = a * mpmath.mpf(factor)
            ends = (0, z) if z < a else (z, mpmath.inf)
            found = _exact_gamma(mpmath.mpf(a), z)
            assert abs(found / mpmath.gammainc(a, *ends, regularized=True) - 1) < 1e-40


def test_half_a_step() -> None:
    for x in (0.5, 1.0, 49.5, 99.5, 100.0, 100.5, 1e4, 1e9):
        with mpmath.workdps(50):
            exact = float(_half_step(mpmath.mpf(x)))
        assert _half_step(x) == pytest.approx(exact, rel=2e-15)
