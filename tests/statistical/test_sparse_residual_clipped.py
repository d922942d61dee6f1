"""Sparse regression on clipped residuals: risk and settled coordinates against what is proved."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest

from estimators import SparseResidualClippedRegression, sparse_phases
from estimators.core.design import Design
from minimax.core.privacy import Approximate, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.methods.selection_plan import SparseSetting
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from minimax.problems.sparse_regression.residual_clipped import best_course
from tests.simulation import above, below

PROBLEM = SparseRegressionProblem(100_000, 30, 2, 0.1)
FITS, MANY = 12, 60
BUDGETS = [ZeroConcentrated(5e-4), Pure(0.1)]
Array = np.ndarray


def model(privacy: SpendablePrivacy) -> SparseResidualClippedRegression:
    return SparseResidualClippedRegression(
        privacy,
        s=PROBLEM.s,
        entry_bound=PROBLEM.s**-0.5,
        radius=1.0,
        sigma=PROBLEM.sigma,
        second_moment="isotropic",
        plan="proven",
    )


def coefficients(privacy: SpendablePrivacy) -> dict[str, Array]:
    """Far from 0, at and below what the last choice can see, of two sizes, and none."""
    threshold = float(best_course(PROBLEM.point, privacy).phases[-1].settled)
    sizes = {
        "far": (0.7, 0.7),
        "settled": (threshold, threshold),
        "near": (threshold / 4, threshold / 4),
        "below": (threshold / 10, threshold / 10),
        "one large": (0.95, threshold / 4),
        "none": (0.0, 0.0),
    }
    return {name: np.array([*pair, *[0.0] * (PROBLEM.d - 2)]) for name, pair in sizes.items()}


def fits(privacy: SpendablePrivacy, beta: Array, seed: int, trials: int = FITS) -> list[Array]:
    rng, found = np.random.default_rng(seed), []
    for _ in range(trials):
        fitted = model(privacy).set_params(random_state=rng).fit(*PROBLEM.draw(beta, rng))
        found.append(fitted.coef_)
    return found


def losses(privacy: SpendablePrivacy, beta: Array, trials: int = FITS) -> list[float]:
    return [float(np.sum((b - beta) ** 2)) / PROBLEM.s for b in fits(privacy, beta, 3, trials)]


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_the_risk_is_below_what_is_proved_for_all_coefficients(privacy: SpendablePrivacy) -> None:
    bound = model(privacy).risk_bound(PROBLEM).value()
    assert bound < PROBLEM.zero_release_risk() / 1000
    means = []
    for beta in coefficients(privacy).values():
        found = losses(privacy, beta)
        assert below(found, bound)
        means.append(float(np.mean(found)))
    assert max(means) > bound / 50  # a control: the bound is not far above the worst of them
    assert max(means) > 3 * means[0]  # and the worst are not those far from 0
    less = {k: v / (256 if k == "rho" else 16) for k, v in privacy.parameters.items()}
    weaker = type(privacy)(**less)
    assert above(losses(weaker, coefficients(privacy)["far"], 4 * MANY), bound)  # heavy tails


def test_only_coefficients_that_are_not_zero_are_settled() -> None:
    """The level is proved for all coordinates; a tenth of it would be passed by noise."""
    privacy = BUDGETS[0]
    level = float(best_course(PROBLEM.point, privacy).phases[-1].settled)
    beta = np.zeros(PROBLEM.d)
    largest = [float(np.max(np.abs(b))) for b in fits(privacy, beta, 4)]
    assert level / 10 < max(largest) < level
    assert math.isfinite(level)


# --- Rows of different lengths --------------------------------------------------------------------


def _risk_on_two_lengths(
    part: float, short: float, sigma: float | None, fits: int = 6
) -> tuple[float, float]:
    """The mean of E<x, coef - beta>^2 over fits, and what the last plan tells; this part of the
    rows is long, and the noise 1e-3."""
    beta, found = np.array([0.7, -0.6, *[0.0] * 18]), []
    for seed in range(fits):
        rng = np.random.default_rng(seed)
        lengths = np.where(rng.random(20_000) < part, 1.0, short)
        X = rng.choice([-1.0, 1.0], (20_000, 20)) * lengths[:, None]
        y = X @ beta + 1e-3 * rng.standard_normal(20_000)
        numbers = {"s": 2, "entry_bound": 1.0, "radius": 1.0, "sigma": sigma}
        fitted = SparseResidualClippedRegression(
            Approximate(1.0, 1e-6), **numbers, random_state=seed
        ).fit(X, y)
        found.append(float(np.mean((X @ (fitted.coef_ - beta)) ** 2)))
    return float(np.mean(found)), fitted.plan_.phases[-1].risk


@pytest.mark.parametrize(("part", "short", "most"), [(0.5, 0.3, 1e-8), (0.1, 0.05, 2e-5)])
def test_scales_are_those_of_rows_that_tell_something(
    part: float, short: float, most: float
) -> None:
    """Long rows hold the signal: their residuals must fit into the first clips. A scale of all rows
    alike, or a clip that is narrow against it, leaves a part of the coefficients for ever."""
    assert _risk_on_two_lengths(part, short, None)[0] < most
    alike = patch.object(Design, "energies", lambda self, bound: np.ones(self.n))
    narrow = patch.object(sparse_phases, "WIDE_RATIO", 1.5)
    with alike, narrow:
        assert _risk_on_two_lengths(part, short, None, 2)[0] > 50 * most
    if part < 0.5:  # there wide clips alone are not enough
        with alike:
            assert _risk_on_two_lengths(part, short, None, 2)[0] > 50 * most


def test_first_clips_that_are_planned_hold_the_residuals_of_long_rows() -> None:
    """Planned for rows that are all alike, they are too narrow."""
    measured, planned = _risk_on_two_lengths(0.1, 0.05, 1e-3)
    assert measured < planned < 1e-5
    with patch.object(
        sparse_phases, "SparseSetting", lambda *numbers: SparseSetting(*numbers[:-1])
    ):
        measured, planned = _risk_on_two_lengths(0.1, 0.05, 1e-3, 2)
    assert measured > 1e4 * planned
