"""Sparse regression on clipped residuals: risk and settled coordinates against what is proved."""

from __future__ import annotations

import math

import numpy as np
import pytest

from estimators import SparseResidualClippedRegression
from minimax.core.privacy import Pure, SpendablePrivacy, ZeroConcentrated
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
    assert above(losses(weaker, coefficients(privacy)["far"], MANY), bound)


def test_only_coefficients_that_are_not_zero_are_settled() -> None:
    """The level is proved for all coordinates; a tenth of it would be passed by noise."""
    privacy = BUDGETS[0]
    level = float(best_course(PROBLEM.point, privacy).phases[-1].settled)
    beta = np.zeros(PROBLEM.d)
    largest = [float(np.max(np.abs(b))) for b in fits(privacy, beta, 4)]
    assert level / 10 < max(largest) < level
    assert math.isfinite(level)
