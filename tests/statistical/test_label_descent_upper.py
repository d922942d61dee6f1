"""The upper bound for thresholded descent on private labels: its inequality, and the estimator."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from estimators.core.design import Design
from estimators.core.links import Link
from estimators.label_regression import LabelHardThresholding
from estimators.thresholding import SAFETY, thresholded_descent
from minimax.core.bound import OutsideRegime
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Pure,
    SpendablePrivacy,
    ZeroConcentrated,
    at_point,
)
from minimax.problems.label_regression.problem import LabelRegressionProblem
from tests.simulation import above, below
from verify.rates.claims.local import PAPER_LINK

Array = np.ndarray


def restricted_eigenvalues(X: Array, size: int) -> tuple[float, float]:
    """The least and the largest over all sets of so many columns."""
    H = X.T @ X / len(X)
    sets = (H[np.ix_(places, places)] for places in map(list, combinations(range(len(H)), size)))
    ends = [np.linalg.eigvalsh(part)[[0, -1]] for part in sets]
    return min(low for low, _ in ends), max(high for _, high in ends)


@pytest.mark.parametrize("steps", [1, 2, 30])
@pytest.mark.parametrize("link", [None, PAPER_LINK], ids=["linear", "link"])
def test_no_run_leaves_the_ellipse_of_the_proof(steps: int, link: Link | None) -> None:
    """On every draw, with the design's own eigenvalues. After one step k = 0 would be broken, and
    after many a quarter of the noise."""
    rng, n, p, s = np.random.default_rng(1), 60, 6, 2
    f, a, b = (lambda t: t, 1.0, 1.0) if link is None else (link.f, link.a, link.b)
    broken = 0
    for _ in range(60):
        X = rng.choice([-1.0, 1.0], (n, p))
        theta = np.zeros(p)
        theta[rng.choice(p, s, replace=False)] = rng.normal(size=s)
        theta /= max(1.0, float(np.linalg.norm(theta)))
        y = f(X @ theta) + 0.5 * b * rng.standard_normal(n)
        coef, _ = thresholded_descent(
            Design(X), lambda t, y=y: f(t) - y, s=s, radius=1.0, steps=steps, smoothness=b
        )
        low, high = restricted_eigenvalues(X, 2 * s)
        r = X.T @ (y - f(X @ theta)) / n
        size = float(np.linalg.norm(r[(coef != 0) | (theta != 0)]))
        k = b * high / SAFETY - a * low
        distance = a * low * float(np.linalg.norm(coef - theta))
        assert distance <= size + math.sqrt(size**2 + a * low * k)
        broken += distance > (size if steps == 1 else size / 4)
    assert broken > 5


def losses(estimator: LabelHardThresholding, problem: LabelRegressionProblem) -> list[float]:
    """Equal coefficients of norm 1/2, and noise of C times a sign."""
    rng, theta = np.random.default_rng(2), problem.farthest() / 2
    estimator.set_params(random_state=rng)
    out = []
    for _ in range(60):
        X = rng.choice([-1.0, 1.0], (problem.n, problem.p))
        y = X @ theta + problem.C * rng.choice([-1.0, 1.0], problem.n)
        out.append(float(np.sum((estimator.fit(X, y).coef_ - theta) ** 2)))
    return out


BUDGETS = [
    Pure(1.0, scope="label"),
    Pure(4.0, scope="label"),
    Approximate(1.0, 1e-5, scope="label"),
    ZeroConcentrated(0.5, scope="label"),
    Gaussian(1.0, scope="label"),
]


def weaker(privacy: SpendablePrivacy, factor: float) -> SpendablePrivacy:
    """A budget with so much more noise, or for zCDP its root."""
    given = {k: v if k == "delta" else v / factor for k, v in privacy.parameters.items()}
    return at_point(type(privacy), given, "label")


@pytest.mark.parametrize("steps", [1, 200])
@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_descent_is_below_its_bound(privacy: SpendablePrivacy, steps: int) -> None:
    """And with a fraction of the budget above it."""
    problem = LabelRegressionProblem(20_000, 10, 2, C=1.0)
    named = LabelHardThresholding(privacy, s=2, C=1.0, steps=steps)
    bound = named.risk_bound(problem).value()
    assert bound < problem.zero_release_risk()
    assert below(losses(named, problem), bound)
    assert above(losses(named.set_params(privacy=weaker(privacy, 1000.0)), problem), bound)


def test_the_bound_of_a_link_follows_its_slopes() -> None:
    """f(t) = 2t is the linear model with labels and noise twice as large."""
    twice = Link(lambda t: 2 * t, lambda t: 2 + 0 * t, 2.0, 2.0)
    privacy = Pure(1.0, scope="label")
    linked = LabelHardThresholding(privacy, C=2.0, link=twice)
    plain = LabelHardThresholding(privacy, C=1.0)
    assert linked.risk_bound(LabelRegressionProblem(50_000, 9, 1, 2.0, 2.0)).value() == (
        pytest.approx(plain.risk_bound(LabelRegressionProblem(50_000, 9, 1, 1.0)).value(), rel=1e-9)
    )


def test_settings_outside_the_proof_are_refused() -> None:
    problem = LabelRegressionProblem(1000, 9, 2, C=1.0)
    named = LabelHardThresholding(Pure(1.0, scope="label"), s=2, C=1.0)
    for change in (
        {"C": 2.0},
        {"radius": 2.0},
        {"bound": 3.0},
        {"mechanism": "genprot"},
        {"link": PAPER_LINK},
        {"step_size": 0.5},
    ):
        with pytest.raises(ValueError, match="risk_bound needs"):
            LabelHardThresholding(**{**named.get_params(deep=False), **change}).risk_bound(problem)
    with pytest.raises(OutsideRegime, match="s <= p"):
        LabelHardThresholding(Pure(1.0, scope="label"), C=1.0).risk_bound(problem).value()
