"""Clipped residuals in phases: risk between the bounds, the law of the noise, against a descent."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy import stats

from estimators import NoisyGradientRegression, ResidualClippedRegression, residual_phases
from estimators.core.base import Array
from estimators.core.design import Design
from estimators.core.second_moment import SecondMoment, row_stretch
from estimators.residual_phases import Run
from minimax.core.privacy import Approximate, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.methods.phase_plan import Setting
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


# --- Tables as they come --------------------------------------------------------------------------


def _errors_and_coverage(
    draw: Callable[[np.random.Generator], Array], beta: Array, fits: int, **options: Any
) -> tuple[Array, Array, Array]:
    """Of each fit and coordinate: squared errors, whether 90 % intervals held, and whether those
    that trust the released second moment did."""
    budget, errors, held, naive = Approximate(1.0, 1e-6), [], [], []
    for seed in range(fits):
        rng = np.random.default_rng(seed)
        X = draw(rng)
        y = X @ beta + options["sigma"] * rng.standard_normal(len(X))
        model = ResidualClippedRegression(budget, random_state=seed, **options).fit(X, y)
        low, high = model.confidence_interval(0.9)
        errors.append((model.coef_ - beta) ** 2)
        held.append((low <= beta) & (beta <= high))
        noise = 1.645 * np.sqrt(np.diag(model.noise_covariance_))
        naive.append(np.abs(model.unprojected_coef_ - beta) <= noise)
    return np.array(errors), np.array(held), np.array(naive)


def _signs_of_two_lengths(rng: np.random.Generator) -> Array:
    lengths = np.where(rng.random(20_000) < 0.1, 1.0, 0.05)
    return rng.choice([-1.0, 1.0], (20_000, 2)) / math.sqrt(2) * lengths[:, None]


def test_rows_of_different_lengths_leave_no_bias() -> None:
    """Steps weight long rows down, and are preconditioned with the second moment of that: with that
    of the rows themselves a part of the coefficients would never be reached."""
    beta, options = np.array([0.8, 0.0]), {"row_bound": 1.0, "radius": 1.0, "sigma": 0.05}
    errors, held, _ = _errors_and_coverage(_signs_of_two_lengths, beta, 25, **options)
    assert errors.mean() < 1e-4
    assert stats.binomtest(int(held[:, 0].sum()), 25, 0.9).pvalue > 1e-4

    whole = Design.moments

    def unweighted(self: Design, weights: Array, factors: Array | None = None) -> Any:
        return whole(self, np.ones(self.n))[0], whole(self, weights, factors)[1]

    with patch.object(Design, "moments", unweighted):
        wrong, missed, _ = _errors_and_coverage(_signs_of_two_lengths, beta, 5, **options)
    assert wrong[:, 0].mean() > 100 * errors[:, 0].mean()
    assert not missed[:, 0].any()


def _nearly_collinear(rng: np.random.Generator) -> Array:
    X = rng.standard_normal((20_000, 3))
    X[:, 2] = 0.995 * X[:, 0] + 0.1 * X[:, 2]
    return X


def test_intervals_know_where_the_second_moment_is_unsure() -> None:
    """Two columns are hardly told apart through the noise on the second moment."""
    beta, options = np.array([1.0, 2.0, -1.0]), {"row_bound": 4.0, "radius": 4.0, "sigma": 1.0}
    _, held, naive = _errors_and_coverage(_nearly_collinear, beta, 30, **options)

    def too_few(covered: Array) -> bool:
        test = stats.binomtest(int(covered.sum()), len(covered), 0.9, alternative="less")
        return bool(test.pvalue < 1e-3)

    assert not any(too_few(held[:, j]) for j in range(3))
    assert too_few(naive[:, 0])
    assert too_few(naive[:, 2])


def _risk_on_two_lengths(sigma: float | None, fits: int) -> float:
    """The mean of E<x, coef - beta>^2, for noise of 1e-3."""
    beta, found = np.array([0.8, 0.0]), []
    for seed in range(fits):
        rng = np.random.default_rng(seed)
        X = _signs_of_two_lengths(rng)
        y = X @ beta + 1e-3 * rng.standard_normal(len(X))
        options = {"row_bound": 1.0, "radius": 1.0, "sigma": sigma, "random_state": seed}
        model = ResidualClippedRegression(Approximate(1.0, 1e-6), **options).fit(X, y)
        found.append(np.mean((X @ (model.coef_ - beta)) ** 2))
    return float(np.mean(found))


def test_a_scale_that_is_found_is_that_of_the_long_rows() -> None:
    """Short rows, nine in ten, have small residuals whatever the coefficients miss."""
    assert _risk_on_two_lengths(None, 8) < 1e-5
    with patch.object(Design, "energies", lambda self, bound: np.ones(self.n)):
        assert _risk_on_two_lengths(None, 3) > 1e-3


def test_first_clips_that_are_planned_hold_the_residuals_of_long_rows() -> None:
    """They are larger than those of all rows, for which the clips would be too narrow."""
    assert _risk_on_two_lengths(1e-3, 8) < 1e-7
    alike = partial(Setting, stretch=1.0)
    with patch.object(residual_phases, "Setting", lambda *numbers: alike(*numbers[:5])):
        assert _risk_on_two_lengths(1e-3, 3) > 1e-5


@pytest.mark.parametrize(("long", "short"), [(1.0, 0.0), (0.3, 0.0), (0.1, 0.05), (0.5, 0.5)])
def test_the_stretch_of_rows_of_two_lengths(long: float, short: float) -> None:
    """Of E<x, e>^2 among rows weighted with w|x|^2, over that among all: about its square."""
    square = long + (1 - long) * short**2
    weights = np.minimum(1.0, math.sqrt(square) / np.array([1.0, max(short, 1e-9)]))
    energies = weights * np.array([long, (1 - long) * short**2])
    moment = SecondMoment.isotropic(2, float(energies.sum()))
    seen = energies @ [1.0, short**2] / energies.sum() / square
    assert row_stretch(square, moment, 1.0) ** 2 == pytest.approx(seen, rel=0.15)
    tiny = SecondMoment.isotropic(2, 1e-9)  # as noise may make it
    assert row_stretch(square, tiny, 1.0) == pytest.approx(1 / math.sqrt(square))


def _measured_and_told(sigma: float | None, fits: int) -> Array:
    """E<x, coef - beta>^2 of each fit to nearly collinear columns, and what its plan tells."""
    beta, found = np.array([1.0, 2.0, -1.0]), []
    for seed in range(fits):
        rng = np.random.default_rng(seed)
        X = _nearly_collinear(rng)
        y = X @ beta + rng.standard_normal(len(X))
        options = {"row_bound": 4.0, "radius": 4.0, "sigma": sigma, "random_state": seed}
        model = ResidualClippedRegression(Approximate(1.0, 1e-6), **options).fit(X, y)
        assert model.plan_.phases[-1].risk == model.plan_.risk
        found.append((np.mean((X @ (model.coef_ - beta)) ** 2), model.plan_.risk))
    return np.array(found)


@pytest.mark.parametrize("sigma", [1.0, None])
def test_the_risk_that_a_plan_tells_knows_an_unsure_second_moment(sigma: float | None) -> None:
    """Two columns are hardly told apart; phases are planned without that."""
    measured, told = _measured_and_told(sigma, 25).T
    assert np.mean(measured <= told) > 0.8
    assert measured.mean() < told.mean()
    if sigma is None:  # a control: what they were planned with is far too small there
        with patch.object(Run, "_keep", lambda run, plan, risks: setattr(run, "plan", plan)):
            measured, planned = _measured_and_told(sigma, 10).T
        assert measured.mean() > 5 * planned.mean()


def far_draws(slack: float) -> float:
    """The largest squared error of 200 fits with a pure budget, over the median."""
    errors = []
    with patch.object(residual_phases, "PURE_SLACK", slack):
        for seed in range(MANY):
            rng = np.random.default_rng(seed)
            X, beta = rng.uniform(-1, 1, (10_000, 3)), rng.standard_normal(3)
            beta /= np.linalg.norm(beta)
            y = X @ beta + 0.02 * rng.standard_normal(len(X))
            model = ResidualClippedRegression(
                Pure(0.5), row_bound=math.sqrt(3), radius=1.5, sigma=0.02, random_state=seed
            )
            errors.append(float(np.mean((X @ (model.fit(X, y).coef_ - beta)) ** 2)))
    return float(np.max(errors) / np.median(errors))


def test_far_draws_of_pure_noise_are_made_good() -> None:
    """The control: without slack in the clips they are not."""
    assert far_draws(residual_phases.PURE_SLACK) < 20
    assert far_draws(1.0) > 100
