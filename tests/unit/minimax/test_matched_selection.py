"""Missed coordinates matched with false ones: constants, sharpness, and deviations for all e."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimax.methods.matched_selection import (
    FINEST,
    LOWEST,
    MATCHED,
    Average,
    gumbel_rms,
    gumbel_sure,
    residual_deviation,
)
from minimax.methods.residual_clip import clipped_mean, shift_error, slopes_within

Array = np.ndarray


# --- The matching ---------------------------------------------------------------------------------


def release(beta: Array, eps: Array, zeta: Array, noise: Array, s: int) -> tuple[Array, Array]:
    """(error of what is released, chosen places)."""
    z = beta + eps
    chosen = np.argsort(-(np.abs(z) + noise))[:s]
    out = np.zeros_like(z)
    out[chosen] = z[chosen] + zeta[: len(chosen)]
    return out - beta, chosen


def matched_bound(eps: Array, zeta: Array, noise: Array, s: int, chosen: Array) -> float:
    """The right side of the module's inequality; S is the first s places."""
    S = np.arange(s)
    both, false, missed = np.union1d(S, chosen), np.setdiff1d(chosen, S), np.setdiff1d(S, chosen)
    high = np.linalg.norm(np.maximum(noise[false], 0))
    low = np.linalg.norm(np.maximum(-noise[missed], 0))
    size = math.hypot(float(np.linalg.norm(zeta)), float(high + low))
    return float(MATCHED * np.linalg.norm(eps[both]) + size)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(0, 8), st.floats(-3, 3))
def test_no_release_is_farther_than_the_matching_says(
    seed: int, s: int, more: int, log_scale: float
) -> None:
    rng, d = np.random.default_rng(seed), s + more
    beta = np.where(np.arange(d) < s, rng.standard_normal(d), 0.0)
    eps, noise = rng.standard_normal(d), math.exp(log_scale) * rng.gumbel(size=d)
    zeta = rng.standard_normal(s)
    error, chosen = release(beta, eps, zeta, noise, s)
    assert np.linalg.norm(error) <= matched_bound(eps, zeta, noise, s, chosen) * (1 + 1e-12)


def test_the_factor_is_sharp() -> None:
    """One coordinate just missed, with errors in the golden ratio; no smaller factor would do."""
    u, v = (1 + math.sqrt(5)) / 2, 1.0
    beta, eps = np.array([u + v, 0.0]), np.array([-v - 1e-9, u])
    error, chosen = release(beta, eps, np.zeros(1), np.zeros(2), 1)
    assert chosen.tolist() == [1]
    bound = matched_bound(eps, np.zeros(1), np.zeros(2), 1, chosen)
    assert 1 - 1e-8 < np.linalg.norm(error) / bound <= 1


# --- Gumbel noise ---------------------------------------------------------------------------------


def drawn_sizes(s: int, others: int, trials: int = 20_000) -> Array:
    """G with the s largest of the others for F and all of S for M."""
    rng = np.random.default_rng(0)
    top = np.sort(np.maximum(rng.gumbel(size=(trials, others)), 0), axis=1)[:, -s:]
    low = np.maximum(-rng.gumbel(size=(trials, s)), 0)
    return np.asarray(np.linalg.norm(top, axis=1) + np.linalg.norm(low, axis=1))


def test_the_least_of_a_gumbel() -> None:
    square = mpmath.quad(lambda t: 2 * t * mpmath.exp(-mpmath.exp(t)), [0, 1, 3, 8])
    assert 0 <= LOWEST - mpmath.sqrt(square) < 1e-4


@pytest.mark.parametrize(("s", "others"), [(1, 1), (1, 1000), (5, 95), (20, 30), (7, 7)])
def test_sizes_of_gumbels(s: int, others: int) -> None:
    found = drawn_sizes(s, others)
    rms = math.sqrt(float(np.mean(found**2)))
    assert rms <= gumbel_rms(s, others) <= 1.5 * rms
    for x in (1.0, 3.0):
        beyond = float(np.mean(found > gumbel_sure(s, others, x)))
        assert beyond <= 2 * math.exp(-x)
    # a control: what is sure at x = 3 is not far from what is seen at all
    assert np.max(found) > gumbel_sure(s, others, 3.0) / 2


# --- Any shift ------------------------------------------------------------------------------------


@pytest.mark.parametrize("u", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("c", [0.2, 1.0, 4.0])
def test_the_mean_of_a_shifted_clipped_normal(u: float, c: float) -> None:
    def integrand(t: mpmath.mpf) -> mpmath.mpf:
        return min(max(t + u, -c), c) * mpmath.npdf(t, 0, 0.7)

    exact = mpmath.quad(integrand, [-9, -c - u, c - u, 9])
    assert clipped_mean(u, c, 0.7) == pytest.approx(float(exact), rel=1e-9)
    low, high = slopes_within(u, c, 0.7)
    shifts = [mpmath.mpf(u) * k / 50 for k in range(1, 51)]
    slopes = [float(clipped_mean(v, mpmath.mpf(c), mpmath.mpf(0.7)) / v) for v in shifts]
    assert low - 1e-12 <= min(slopes) <= max(slopes) <= high + 1e-12
    assert max(slopes) > high - 0.1 * (high - low) - 1e-6
    slope = (low + high) / 2
    K = shift_error(u, c, 0.7, slope)
    errors = [abs(1 - value / slope) for value in slopes]
    assert 0.9 * K - 1e-6 <= max(errors) <= K


# --- Deviations -----------------------------------------------------------------------------------


def strayed(n: int, d: int, rng: np.random.Generator) -> float:
    """The largest deviation over |e|, of all e on two places, s = 1."""
    X, xi, c = rng.choice([-1.0, 1.0], (n, d)), rng.standard_normal(n), 1.0
    largest = 0.0
    for angle in np.linspace(0, math.pi, 12, endpoint=False):
        for size in (0.1, 0.5, 1.0, 2.0):
            e = size * np.array([math.cos(angle), math.sin(angle)])
            for k in range(1, d):
                u = X[:, [0, k]] @ e
                moved = np.clip(xi, -c, c) - np.clip(xi - u, -c, c)
                mean = expected(e, c)
                others = np.delete(np.arange(d), [0, k])
                parts = [X[:, 0] @ moved / n - mean[0], X[:, k] @ moved / n - mean[1]]
                parts += list(X[:, others].T @ moved / n)
                largest = max(largest, float(np.max(np.abs(parts))) / size)
    return largest


def expected(e: Array, c: float) -> tuple[float, float]:
    """E[(psi(xi) - psi(xi - <x, e>)) x] for two independent signs."""
    plus, minus = (clipped_mean(float(v), c, 1.0) for v in (e[0] + e[1], e[0] - e[1]))
    return (plus + minus) / 2, (plus - minus) / 2


def test_deviations_for_all_errors_at_once() -> None:
    n, d, x = 1000, 6, 1.0
    rng = np.random.default_rng(2)
    found = max(strayed(n, d, rng) for _ in range(12))
    D = residual_deviation(n, d, 1, x, math.log(d))
    assert D / 6 < found <= D  # the left is a control: it is not far above what happens
    assert FINEST < 1e-5


def first_averages(n: int, d: int, s: int, c: float, rng: np.random.Generator) -> Array:
    """s [average of psi_c(y) x - its mean], y = <x, beta> + N(0, 1), beta = (1, 0, ...)."""
    X = rng.choice([-1.0, 1.0], (n, d)) / math.sqrt(s)
    psi = np.clip(X[:, 0] + rng.standard_normal(n), -c, c)
    averages = s * (X.T @ psi) / n
    averages[0] -= math.sqrt(s) * clipped_mean(1 / math.sqrt(s), c, 1.0)
    return averages


@pytest.mark.parametrize(("n", "d", "s"), [(500, 4, 2), (500, 100, 2), (60, 300, 3)])
def test_averages_of_a_first_phase(n: int, d: int, s: int) -> None:
    c, x, trials = 3.0, 1.0, 400
    rng = np.random.default_rng(3)
    drawn = np.abs([first_averages(n, d, s, c, rng) for _ in range(trials)])
    average = Average(n, s * min(1 + 1 / s, c**2), math.sqrt(s) * c)
    lengths = np.sum(drawn[:, :s] ** 2, axis=1)
    lengths += np.sum(np.sort(drawn[:, s:] ** 2, axis=1)[:, -s:], axis=1)
    rms = math.sqrt(float(np.mean(lengths)))
    assert rms <= average.rms(s, max(d - s, s)) <= 2.2 * rms
    beyond = float(np.mean(np.max(drawn, axis=1) > average.sure(d, x)))
    assert beyond <= math.exp(-x)
    # controls: s places that are fixed are too few, and half of what is sure is not
    assert rms > math.sqrt(s * average.square / n)
    assert float(np.mean(np.max(drawn, axis=1) > average.sure(d, x) / 2)) > math.exp(-x)
