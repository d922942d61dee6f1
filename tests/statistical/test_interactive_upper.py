"""The upper bound for thresholded descent on reported gradients, against the estimator itself."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest

from estimators.local_regression import LocalHardThresholding
from estimators.randomisers.vectors import SphereRandomiser
from minimax.core.bound import OutsideRegime
from minimax.core.privacy import Pure
from minimax.problems.local_regression.interactive import subgamma_top
from minimax.problems.local_regression.problem import LocalRegressionProblem
from tests.simulation import above, below

Randomiser = Literal["duchi", "privunit"]
N, P, C = 20_000, 5, 1.0


def protocol(epsilon: float, randomiser: Randomiser, steps: int) -> LocalHardThresholding:
    budget = Pure(epsilon, scope="local")
    return LocalHardThresholding(budget, s=1, C=C, randomiser=randomiser, steps=steps)


def losses(estimator: LocalHardThresholding, height: float, seed: int) -> list[float]:
    """With noise of C times a sign: no noise of the class has a larger variance."""
    rng = np.random.default_rng(seed)
    estimator.set_params(random_state=rng)
    theta = np.where(np.arange(P) == 2, height, 0.0)
    out = []
    for _ in range(60):
        X = rng.choice([-1.0, 1.0], (N, P))
        y = X @ theta + C * rng.choice([-1.0, 1.0], N)
        out.append(float(np.sum((estimator.fit(X, y).coef_ - theta) ** 2)))
    return out


@pytest.mark.parametrize("randomiser", ["duchi", "privunit"])
@pytest.mark.parametrize(("steps", "height"), [(1, 0.3), (2, 0.3), (3, 0.6)])
def test_descent_is_below_its_bound(randomiser: Randomiser, steps: int, height: float) -> None:
    """And reports of a tenth of the budget are above it."""
    problem = LocalRegressionProblem(N, P, C=C)
    bound = protocol(2.0, randomiser, steps).risk_bound(problem)
    assert bound.value() < problem.zero_release_risk()
    assert below(losses(protocol(2.0, randomiser, steps), height, seed=1), bound.value())
    assert above(losses(protocol(0.2, randomiser, steps), height, seed=2), bound.value())


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_the_last_group_is_the_one_that_counts(steps: int) -> None:
    """Its users: n less those of the groups before."""
    users = N - (steps - 1) * (N // steps)
    alone = protocol(2.0, "duchi", 1).risk_bound(LocalRegressionProblem(users, P, C=C)).value()
    together = protocol(2.0, "duchi", steps).risk_bound(LocalRegressionProblem(N, P, C=C)).value()
    assert together == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("cap", ["half", "best", 0.6])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_moment_of_a_coordinate(cap: Literal["half", "best"] | float, epsilon: float) -> None:
    """Attained along the input's direction, and nowhere exceeded."""
    p, rng = 4, np.random.default_rng(3)
    randomiser = SphereRandomiser(p, epsilon, 2.0, cap)
    for direction in (np.eye(p)[0], np.ones(p) / 2, np.array([0.8, 0.6, 0, 0])):
        reports = randomiser.randomise(np.tile(2 * direction, (100_000, 1)), rng).value
        assert not above(list(reports[:, 0] ** 2), randomiser.coordinate_moment)
        along = list((reports @ direction) ** 2)
        assert not above(along, randomiser.coordinate_moment)
        assert above(along, 0.95 * randomiser.coordinate_moment)


@pytest.mark.parametrize("k", [1, 3])
def test_largest_of_skewed_means(k: int) -> None:
    """Means of centred bits of chance .02: a Gaussian tail of their variance alone is exceeded."""
    rng, users, d, chance = np.random.default_rng(4), 60, 30, 0.02
    means = rng.binomial(users, chance, (20_000, d)) / users - chance
    sums = list(np.sort(means**2, axis=1)[:, -k:].sum(axis=1))
    variance = chance * (1 - chance) / users
    assert below(sums, subgamma_top(k, d, variance, 1 / (3 * users)))
    assert above(sums, subgamma_top(k, d, variance / 2, 0.0))
    assert math.isclose(subgamma_top(d, d, variance, 1.0), d * variance)


def test_groups_without_users_are_refused() -> None:
    bound = protocol(1.0, "duchi", 7).risk_bound(LocalRegressionProblem(N, P, C=C))
    with pytest.raises(OutsideRegime, match="n >= 7"):
        bound.value(n=6)


def test_settings_outside_the_proof_are_refused() -> None:
    problem = LocalRegressionProblem(N, P, C=C)
    for change in ({"s": 2}, {"step_size": 0.5}, {"clip": 3.0}, {"C": 2.0}, {"radius": 2.0}):
        with pytest.raises(ValueError, match="risk_bound needs"):
            protocol(1.0, "duchi", 2).set_params(**change).risk_bound(problem)
