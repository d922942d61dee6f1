"""Objective perturbation: minimisers that are exact, constants of the proof, noise of its law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from estimators.baselines import objective_perturbation as module
from estimators.baselines.objective_perturbation import (
    Perturbation,
    ball_least_squares,
    linear_term,
    logistic_minimum,
    objective_perturbation,
)
from estimators.core.accounting import LedgerEntry, compose
from minimax.core.privacy import Approximate, Pure, ZeroConcentrated

pytestmark = pytest.mark.oldest

UNIT = np.finfo(float).eps
Problem = tuple[np.ndarray, np.ndarray, float, np.ndarray]


def perturbed_problem(seed: int) -> Problem:
    """Rows, responses, ridge and linear term as the second stage may meet them.

    Rows of norm at most B, B from 1e-30 to 1e30 in every other problem; equal, nearly zero or
    separable data; epsilon from 1e-6, where noise is all, to 60, where the minimum is far away.
    """
    rng = np.random.default_rng(seed)
    n, s = int(10 ** rng.uniform(0, 2.5)), int(rng.integers(1, 10))
    bound = 10.0 ** rng.uniform(-30, 30) if seed % 2 else 1.0
    Z = rng.standard_normal((n, s))
    Z *= bound / np.maximum(np.linalg.norm(Z, axis=1), 1.0)[:, None]
    if seed % 7 == 0:
        Z[:] = Z[0]
    if seed % 11 == 0:
        Z *= 10.0 ** rng.uniform(-20, 0, (n, 1))
    y = (Z[:, 0] > 0).astype(float) if seed % 5 == 0 else rng.choice([0.0, 1.0], n)
    plan = objective_perturbation(bound, bound**2 / 4, Pure(10.0 ** rng.uniform(-6, 1.8)))
    return Z, y, plan.ridge, linear_term(plan, s, rng)


def excess(problem: Problem, coef: np.ndarray) -> float:
    """|gradient| over the rounding error of one operation on each of its terms."""
    Z, y, ridge, linear = problem
    slope, lengths = special.expit(Z @ coef) - y, np.linalg.norm(Z, axis=1)
    terms = lengths @ (np.abs(slope) + 1) + np.linalg.norm(linear)
    terms += (lengths @ lengths / 4 + ridge) * np.linalg.norm(coef)
    return float(np.linalg.norm(Z.T @ slope + ridge * coef + linear) / (UNIT * terms))


def logistic_excesses() -> np.ndarray:
    problems = [perturbed_problem(seed) for seed in range(400)]
    return np.array([excess(problem, logistic_minimum(*problem)) for problem in problems])


def test_logistic_minimisers_are_exact_up_to_rounding() -> None:
    assert logistic_excesses().max() <= 4 * (1 + 1e-9)


def test_a_minimiser_that_stops_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROUNDING", 1e-9)
    assert np.mean(logistic_excesses() > 4) > 0.2


def test_newton_steps_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard against an endless loop is never met: with a tenth of it nothing changes."""
    problems = [perturbed_problem(seed) for seed in range(200)]
    found = [logistic_minimum(*problem) for problem in problems]
    monkeypatch.setattr(module, "MOST_STEPS", module.MOST_STEPS // 10)
    again = [logistic_minimum(*problem) for problem in problems]
    assert all(map(np.array_equal, found, again))
    monkeypatch.setattr(module, "MOST_STEPS", 1)
    hasty = [logistic_minimum(*problem) for problem in problems]
    assert not all(map(np.array_equal, found, hasty))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("radius", [100.0, 0.05])
def test_minimisers_are_exact(radius: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    Z, y = rng.standard_normal((30, 3)), rng.choice([0.0, 1.0], 30)
    linear, ridge = 4 * rng.standard_normal(3), 0.7
    b = ball_least_squares(Z, y, ridge, linear, radius)
    gradient = Z.T @ (Z @ b - y) + ridge * b + linear
    if radius > 1:
        assert np.abs(gradient).max() < 1e-12
    else:  # the gradient points into the ball, along b
        assert np.linalg.norm(b) == pytest.approx(radius, rel=1e-12)
        np.testing.assert_allclose(gradient, b * (gradient @ b) / radius**2, atol=1e-12)
        assert gradient @ b < 0
    for tiny in (1e-40, 1e-3):  # nothing but noise: the other end of the ball
        b = ball_least_squares(0 * Z, y, tiny, linear, radius)
        assert np.linalg.norm(b) == pytest.approx(radius, rel=1e-12)
    for size in (1.0, 1e3):
        b = logistic_minimum(Z, y, ridge, size * linear)
        gradient = Z.T @ (special.expit(Z @ b) - y) + ridge * b + size * linear
        assert np.abs(gradient).max() < 1e-12 * size


def test_many_records_keep_the_minimiser_exact() -> None:
    """Sorted records make partial sums as large as they can be."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((100_000, 4))
    Z = Z[np.argsort(Z[:, 0])] / 4
    problem = (Z, (Z[:, 0] > 0).astype(float), 0.4, 4 * rng.standard_normal(4))
    assert excess(problem, logistic_minimum(*problem)) <= 4


@pytest.mark.parametrize(("noise", "private"), [(1.0, True), (0.2, False)])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_perturbed_minimiser_in_one_dimension(noise: float, delta: float, private: bool) -> None:
    """The density of the minimiser is known: compare it at neighbours exactly.

    One record (x, y), |x| <= 1, with a Huber loss whose slopes are at most 1.
    """
    epsilon = 1.0
    privacy = Pure(epsilon) if delta == 0 else Approximate(epsilon, delta)
    plan = objective_perturbation(1.0, 1.0, privacy)
    law = stats.laplace if delta == 0 else stats.norm
    grid = np.linspace(-1, 1, 100_001) * 12 * plan.scale / plan.ridge

    def density(x: float, y: float) -> np.ndarray:
        residual = x * grid - y
        g = -np.clip(residual, -1, 1) * x - plan.ridge * grid
        jacobian = x**2 * (np.abs(residual) < 1) + plan.ridge
        return np.asarray(law.pdf(g, scale=noise * plan.scale) * jacobian)

    cases = [(1.0, 0.0), (1.0, 5.0), (1.0, 1e9), (1.0, -1e9), (0.0, 0.0), (-1.0, 1.0), (0.5, 3.0)]
    worst = 0.0
    for here in cases:
        for there in cases:
            gain = np.maximum(density(*here) - math.exp(epsilon) * density(*there), 0)
            worst = max(worst, float(integrate.trapezoid(gain, grid)))
    assert (worst <= delta) == private


def test_perturbation_has_the_constants_of_the_proof() -> None:
    plan = objective_perturbation(3.0, 2.0, Approximate(0.8, 1e-5))
    h, t = 2 * 3.0 / plan.scale, math.sqrt(2 * math.log(1e5))
    assert h * t + h**2 / 2 == pytest.approx(0.4)
    assert math.log1p(2.0 / plan.ridge) == pytest.approx(0.4)
    assert plan.ridge < 2 * 2.0 / 0.8  # less than Kifer, Smith and Thakurta ask for
    printed = 3.0 * math.sqrt(8 * math.log(2e5) + 4 * 0.8) / 0.8
    assert 1.7 < plan.scale / printed < 2.0
    assert objective_perturbation(3.0, 2.0, Pure(0.8)).scale == pytest.approx(15.0)


@pytest.mark.parametrize("privacy", [Approximate(1.0, 1e-6), Pure(1.0)], ids=str)
def test_random_linear_term_has_its_law(privacy: Pure | Approximate) -> None:
    """E|g|^2 is s scale^2 if normal, s (s + 1) scale^2 if pure; halved noise is seen."""
    s, scale, rng = 5, 2.0, np.random.default_rng(3)
    draws = np.stack([linear_term(Perturbation(1.0, scale, privacy), s, rng) for _ in range(4000)])
    squares = np.sum(draws**2, axis=1)
    expected = scale**2 * (s if isinstance(privacy, Approximate) else s * (s + 1))
    error = 5.5 * squares.std() / math.sqrt(len(squares))
    assert abs(squares.mean() - expected) < error
    assert abs(squares.mean() - expected / 4) > 5 * error
    assert np.abs(draws.mean(axis=0)).max() < 5.5 * draws.std() / math.sqrt(len(draws))


def test_concentrated_calls_beside_a_leaking_one() -> None:
    """At most zCDP for the calls that have it, at the delta left, plus the other's epsilon."""
    selection = LedgerEntry(
        "exponential", 1.0, "linf", 1.0, (Pure(0.3), ZeroConcentrated(0.3**2 / 8)), 20
    )
    other = LedgerEntry("objective perturbation", 1.0, "l2", 1.0, (Approximate(1.0, 1e-6),))
    together = compose((selection, other), Approximate, 2e-6)
    alone = ZeroConcentrated(20 * 0.3**2 / 8).to_approximate(1e-6).epsilon
    assert isinstance(together, Approximate)
    assert 0.9 * (1.0 + alone) < together.epsilon < 1.0 + alone
    tighter = compose((selection, other), Approximate, 1.5e-6)
    assert isinstance(tighter, Approximate)
    assert tighter.epsilon > together.epsilon
