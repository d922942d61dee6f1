"""Clipped residuals in phases: risk between the bounds, the law of the noise, against a descent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from estimators import NoisyGradientRegression, ResidualClippedRegression
from minimax.core.privacy import Approximate, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.problems.regression.lower import antipodal_pairs
from minimax.problems.regression.problem import RegressionProblem
from tests.simulation import above, below

PROBLEM = RegressionProblem(20_000, 4, 0.05)
FITS, MANY = 60, 200


def losses(model: Any, problem: RegressionProblem = PROBLEM, seed: int = 5) -> list[float]:
    """Losses at the coefficients that are farthest from 0."""
    rng, beta = np.random.default_rng(seed), problem.farthest()
    found = []
    for _ in range(FITS):
        fitted = model.set_params(random_state=rng).fit(*problem.draw(beta, rng))
        found.append(float(np.sum((fitted.coef_ - beta) ** 2)) / problem.d)
    return found


def phases(privacy: SpendablePrivacy, **options: Any) -> ResidualClippedRegression:
    """With isotropic rows, for which the risk is proved."""
    given = {"row_bound": 1.0, "radius": 1.0, "sigma": 0.05, "second_moment": "isotropic"}
    return ResidualClippedRegression(privacy, **{**given, **options})


@pytest.mark.parametrize("privacy", [ZeroConcentrated(5e-4), Approximate(0.2, 1e-6), Pure(0.5)])
def test_the_risk_is_below_what_is_proved_and_noise_breaks_it(privacy: SpendablePrivacy) -> None:
    bound = phases(privacy).risk_bound(PROBLEM)
    found = losses(phases(privacy))
    assert below(found, bound.value())
    assert np.mean(found) > bound.value() / 10
    less = {
        k: v / (256 if k == "rho" else 16) for k, v in privacy.parameters.items() if k != "delta"
    }
    weaker = type(privacy)(**{**privacy.parameters, **less})
    assert above(losses(phases(weaker)), bound.value())


def test_the_risk_is_near_the_lower_bound_and_far_below_a_descent() -> None:
    privacy = ZeroConcentrated(5e-4)
    lower = antipodal_pairs(ZeroConcentrated).value(**PROBLEM.point, **privacy.parameters)
    found = losses(phases(privacy))
    assert below([loss / 4 for loss in found], lower)
    descent = NoisyGradientRegression(privacy, sigma=0.05)
    assert above([loss / 10 for loss in losses(descent)], float(np.mean(found)))


def test_the_coefficients_scatter_as_the_fit_says() -> None:
    """(coef - beta)'V^{-1}(coef - beta)/d is 1 on average, V of noise and statistics together."""
    n, d, sigma = 20_000, 4, 0.3
    S = np.diag([0.1, 0.2, 0.3, 0.4])
    rng, beta = np.random.default_rng(3), np.array([0.5, -0.5, 0.3, 0.1])
    scores = []
    for _ in range(MANY):
        X = rng.choice([-1.0, 1.0], (n, d)) * np.sqrt(np.diag(S))
        y = X @ beta + sigma * rng.standard_normal(n)
        model = phases(
            ZeroConcentrated(5e-3), sigma=sigma, second_moment="private", random_state=rng
        ).fit(X, y)
        V = model.noise_covariance_ + model.inefficiency_ / n * np.linalg.inv(S)
        error = model.coef_ - beta
        scores.append(float(error @ np.linalg.solve(V, error)) / d)
    assert below([score / 1.5 for score in scores], 1.0)
    assert above([score / 0.7 for score in scores], 1.0)


def test_the_default_is_no_worse_than_a_tuned_averaged_descent() -> None:
    """Rows uniform in a cube whose second moment is found privately; the peer is tuned on them."""
    n, d, privacy = 10_000, 5, Approximate(0.5, 3.2e-5)
    mu, rng = privacy.to_gaussian().mu, np.random.default_rng(8)
    ours, peers = [], []
    for _ in range(MANY):
        beta = rng.standard_normal(d)
        beta /= np.linalg.norm(beta)
        X = rng.uniform(-1, 1, (n, d))
        y = X @ beta + math.sqrt(0.1) * rng.standard_normal(n)
        model = ResidualClippedRegression(
            privacy, row_bound=math.sqrt(d), radius=1.0, sigma=math.sqrt(0.1), random_state=rng
        ).fit(X, y)
        ours.append(float(np.sum((model.coef_ - beta) ** 2)))
        peers.append(float(np.sum((_averaged_descent(X, y, mu, rng) - beta) ** 2)))
    assert below([a - 1.25 * b for a, b in zip(ours, peers, strict=True)], 0.0)


def _averaged_descent(X: Any, y: Any, mu: float, rng: np.random.Generator) -> Any:
    """Gradients clipped to 0.5, six steps of 3.5, the last three averaged: the best of a grid."""
    steps, clip, length = 6, 0.5, 3.5
    b, norms, path = np.zeros(X.shape[1]), np.linalg.norm(X, axis=1), []
    noise = 2 * clip * math.sqrt(steps) / (len(X) * mu)
    for _ in range(steps):
        r = y - X @ b
        weights = np.minimum(1, clip / np.maximum(np.abs(r) * norms, 1e-300))
        b = b + length * (X.T @ (weights * r) / len(X) + noise * rng.standard_normal(len(b)))
        path.append(b)
    return np.mean(path[steps // 2 :], axis=0)
