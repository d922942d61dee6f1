"""Upper bounds under local privacy against the simulated protocols: mean + 5 standard errors.

The protocols are written out here from the docstrings, bit by bit. Every check has a control that
breaks the bound: a twentieth of it, or reports of a smaller budget than it was given.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Pure,
    Renyi,
    ZeroConcentrated,
)
from minimax.core.randomised_response import randomised_response_epsilon
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.label_regression.upper import one_shot_label_upper
from minimax.problems.local_regression.lower import wx21_theorem_1
from minimax.problems.local_regression.problem import SQUARED, SUM, LocalRegressionProblem
from minimax.problems.local_regression.upper import one_shot_upper, sum_factor, threshold_factor

Array = np.ndarray
ERRORS = 5.0


def interval(values: Array) -> tuple[float, float]:
    half = ERRORS * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return float(np.mean(values)) - half, float(np.mean(values)) + half


def bits(values: Array, B: float, epsilon: float, rng: np.random.Generator) -> Array:
    """The one-bit reports of numbers, clipped to [-B, B]."""
    t = math.tanh(epsilon / 2)
    up = rng.random(values.shape) < (1 + np.clip(values, -B, B) / B * t) / 2
    return np.where(up, B / t, -B / t)


def noise(signal: Array, C: float, kind: str, rng: np.random.Generator) -> Array:
    """Mean zero given x: C times a sign, or what makes y one of two labels."""
    if kind == "sign":
        return C * rng.choice([-1.0, 1.0], signal.shape)
    height = C - np.abs(signal).max()  # y = +-height, as in the lower bounds' priors
    return np.where(rng.random(signal.shape) < (1 + signal / height) / 2, height, -height) - signal


def kept(u: Array, s: int) -> Array:
    """Hard thresholding, and the projection on the unit ball."""
    places = np.argsort(-np.abs(u))[:s]
    out = np.zeros_like(u)
    out[places] = u[places]
    return out / max(1.0, float(np.linalg.norm(out)))


def record_losses(
    problem: LocalRegressionProblem,
    epsilon: float,
    size: float,
    kind: str,
    trials: int,
    seed: int,
) -> tuple[Array, Array]:
    """Squared errors and errors of the sum; user i needs only x_j of j = i mod p, and x_0."""
    rng, (n, p, C) = np.random.default_rng(seed), (problem.n, problem.p, problem.C)
    squared, summed = np.empty(trials), np.empty(trials)
    turn = np.arange(n) % p
    theta = np.zeros(p)
    theta[0] = size
    for trial in range(trials):
        first, other = rng.choice([-1.0, 1.0], (2, n))
        signal = size * first
        y = signal + noise(signal, C, kind, rng)
        z = bits(y * np.where(turn == 0, first, other), 1 + C, epsilon, rng)
        u = np.bincount(turn, z, p) / np.bincount(turn, minlength=p)
        error = kept(u, 1) - theta
        squared[trial], summed[trial] = error @ error, abs(error.sum())
    return squared, summed


@pytest.mark.parametrize("kind", ["sign", "two labels"])
@pytest.mark.parametrize(("p", "size"), [(1, 0.5), (12, 0.0), (12, 0.25), (12, 0.9), (40, 0.5)])
def test_one_shot_thresholding(p: int, size: float, kind: str) -> None:
    problem, privacy = LocalRegressionProblem(p * 500 + p - 1, p, 2.0), Pure(1.0)
    squared, summed = record_losses(problem, 1.0, size, kind, 300, seed=p)
    bound, sums = both_bounds(problem, privacy)
    assert interval(summed)[1] <= sums
    if p > 1:  # the bound is within 15 % of the worst risk, and 5 standard errors are as much
        assert interval(squared)[0] <= bound
        assert interval(squared)[1] <= 1.25 * bound
    else:  # then it is the variance, less theta^2/n: no interval clears it
        low, high = interval(squared)
        assert low <= bound <= high * 1.01
        assert low > bound / 2


def both_bounds(problem: LocalRegressionProblem, privacy: Privacy) -> list[float]:
    """In squared loss, and for the sum of errors."""
    return [one_shot_upper(replace(problem, loss=loss), privacy).value() for loss in (SQUARED, SUM)]


def law_losses(
    p: int, users: int, tau: float, trials: int, seed: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Intervals of the squared error and of that of the sum, in units of M: by the law of sums."""
    rng = np.random.default_rng(seed)
    means = np.zeros(p)
    means[0] = tau
    u = 2 * rng.binomial(users, (1 + means) / 2, (trials, p)) / users - 1
    best = np.argmax(np.abs(u) + 1e-9 * rng.random(u.shape), axis=1)
    value = u[np.arange(trials), best]
    squared = np.where(best == 0, (value - tau) ** 2, value**2 + tau**2)
    return interval(squared), interval(np.abs(value - tau))


def test_one_shot_thresholding_at_its_worst() -> None:
    """The largest mean of 20: the bound is 1.15 (sum: 1.45) times the risk at the worst size."""
    p, users, M = 20, 4000, 3.0 / math.tanh(0.5)
    problem = LocalRegressionProblem(p * users, p, 2.0)
    sizes = np.linspace(1.2, 4.0, 8) / math.sqrt(users)
    runs = [law_losses(p, users, tau, 30_000, seed=5) for tau in sizes]
    for i, value in enumerate(both_bounds(problem, Pure(1.0))):
        bound = value / M ** (2 - i)
        low, high = max(run[i] for run in runs)
        assert high <= bound
        # Controls: three fifths are not enough, and a smaller budget breaks the bound.
        assert low > 0.6 * bound
        poorer = (math.tanh(0.5) / math.tanh(0.15)) ** (2 - i)
        assert low * poorer > bound


@pytest.mark.parametrize(
    "privacy",
    [
        Approximate(0.8, 0.05),
        ZeroConcentrated(0.4),
        OffsetConcentrated(0.2, 0.3),
        Gaussian(1.0),
        Renyi(4.0, 0.6),
    ],
    ids=str,
)
def test_every_budget_has_its_own_bits(privacy: Any) -> None:
    problem = LocalRegressionProblem(10 * 3000, 10, 1.0)
    epsilon = randomised_response_epsilon(privacy)
    squared, _ = record_losses(problem, epsilon, 0.3, "sign", 200, seed=7)
    bound = one_shot_upper(problem, privacy).value()
    assert interval(squared)[0] <= bound < 1
    assert interval(squared)[1] <= 1.25 * bound
    poorer, _ = record_losses(problem, epsilon / 5, 0.3, "sign", 200, seed=7)
    assert interval(poorer)[0] > bound


def test_the_upper_bound_is_near_the_lower_one() -> None:
    """Both have the rate p log(p)/n: neither a log nor a p is lost between them."""
    at = {"C": 2.0, "epsilon": 0.5}
    for p, low, high in ((20, 8.5, 9), (2000, 10, 13)):
        n = 500_000 * p
        upper = one_shot_upper(LocalRegressionProblem(n, p, 2.0), Pure(0.5)).value()
        lower = wx21_theorem_1(sharp=True).value(n=n, p=p, **at)
        assert low < upper / lower < high


# --- Labels ---------------------------------------------------------------------------------------


def label_losses(
    problem: LabelRegressionProblem, epsilon: float, theta: Array, trials: int, seed: int
) -> Array:
    rng, n = np.random.default_rng(seed), problem.n
    losses = np.empty(trials)
    for trial in range(trials):
        X = rng.choice([-1.0, 1.0], (n, problem.p))
        y = X @ theta + noise(X @ theta, problem.C, "sign", rng)
        z = bits(y, math.sqrt(problem.s) + problem.C, epsilon, rng)
        error = kept(z @ X / n, problem.s) - theta
        losses[trial] = error @ error
    return losses


@pytest.mark.parametrize("shape", ["zero", "flat", "steep", "one"])
def test_one_shot_correlation(shape: str) -> None:
    problem, s = LabelRegressionProblem(8000, 30, 3, 1.0), 3
    heads = {"zero": [0, 0, 0], "flat": [0.57] * 3, "steep": [0.9, 0.14, 0.12], "one": [1, 0, 0]}
    theta = np.zeros(30)
    theta[:s] = heads[shape]
    losses = label_losses(problem, 1.5, theta, 120, seed=11)
    bound = one_shot_label_upper(problem, Pure(1.5)).value()
    assert interval(losses)[1] <= bound
    if shape == "steep":
        assert interval(losses)[0] > bound / 20
        assert interval(label_losses(problem, 0.3, theta, 60, seed=12))[0] > bound


# --- The factors, without data --------------------------------------------------------------------


@pytest.mark.parametrize(("p", "s"), [(1, 1), (2, 1), (30, 1), (30, 4), (6, 4), (5, 5), (2000, 3)])
def test_thresholding_gaussian_errors(p: int, s: int) -> None:
    """u = theta + N(0, I); the worst size is about that of the largest error."""
    rng, runs = np.random.default_rng(13), 1500
    worst_square = worst_sum = (-math.inf, math.inf)
    for height in (0.0, 1.0, 2.0, 3.0, 4.0, 8.0):
        theta = np.zeros(p)
        theta[:s] = height
        losses, sums = np.empty(runs), np.empty(runs)
        for run in range(runs):
            u = theta + rng.standard_normal(p)
            out = np.zeros(p)
            places = np.argpartition(-np.abs(u), s - 1)[:s]
            out[places] = u[places]
            losses[run], sums[run] = np.sum((out - theta) ** 2), abs(np.sum(out - theta))
        low, high = interval(losses)
        if p == s:  # nothing is thresholded: exactly the variance
            assert low <= threshold_factor(p, s) <= high
        else:
            assert high <= threshold_factor(p, s)
        worst_square = max(worst_square, interval(losses))
        worst_sum = max(worst_sum, interval(sums))
        if s == 1:
            assert interval(sums)[1] <= sum_factor(p)
    assert worst_square[0] > threshold_factor(p, s) / 6
    if s == 1:
        assert worst_sum[0] > sum_factor(p) / 6
