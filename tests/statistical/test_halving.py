"""SequentialHalving against its bound and against OneShotThreshold: mean +- 5 standard errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from estimators import OneShotThreshold, SequentialHalving
from minimax.halving import Rounds, halving_upper, rounds
from minimax.local_upper import LocalRegressionProblem
from minimax.privacy import Pure

Array = np.ndarray
ERRORS = 5.0


def interval(values: Array) -> tuple[float, float]:
    half = ERRORS * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return float(np.mean(values)) - half, float(np.mean(values)) + half


# Record by record


PROBLEM = LocalRegressionProblem(12_000, 20, 2.0)


def records(size: float, kind: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """Noise of mean zero given x: C times a sign, skewed, or what makes y one of two labels."""
    n, p, C = PROBLEM.n, PROBLEM.p, PROBLEM.C
    X = rng.integers(0, 2, (n, p)) * 2.0 - 1
    signal = size * X[:, 7]
    if kind == "sign":
        return X, signal + C * rng.choice([-1.0, 1.0], n)
    if kind == "skewed":
        return X, signal + np.where(rng.random(n) < 0.2, C, -C / 4)
    height = C - size
    return X, np.where(rng.random(n) < (1 + signal / height) / 2, height, -height)


def losses(
    estimator: Any, size: float, kind: str, trials: int, seed: int
) -> tuple[Array, Array]:
    """Squared errors and errors of the sum."""
    rng = np.random.default_rng(seed)
    truth = size * np.eye(PROBLEM.p)[7]
    errors = []
    for _ in range(trials):
        coef = estimator.set_params(random_state=rng).fit(*records(size, kind, rng)).coef_
        errors.append(coef - truth)
    found = np.array(errors)
    return np.sum(found**2, axis=1), np.abs(found.sum(axis=1))


def halving(epsilon: float) -> SequentialHalving:
    return SequentialHalving(Pure(epsilon, scope="local"), C=PROBLEM.C)


@pytest.mark.parametrize("kind", ["sign", "skewed", "two labels"])
@pytest.mark.parametrize("size", [0.0, 0.25, 0.6, 1.0])
def test_the_risk_is_below_the_bound(size: float, kind: str) -> None:
    squared, summed = losses(halving(1.0), size, kind, 60, seed=1)
    for found, loss in ((squared, "squared"), (summed, "sum")):
        bound = halving(1.0).risk_bound(PROBLEM, loss)  # type: ignore[arg-type]
        assert interval(found)[1] <= bound.value() < 1


def test_the_bound_is_not_empty_and_a_smaller_budget_breaks_it() -> None:
    """.6 is about the worst size: tau^2 m = 3."""
    squared, summed = losses(halving(1.0), 0.6, "sign", 100, seed=2)
    poorer, poorer_sums = losses(halving(0.2), 0.6, "sign", 60, seed=3)
    for found, control, loss in ((squared, poorer, "squared"), (summed, poorer_sums, "sum")):
        bound = halving(1.0).risk_bound(PROBLEM, loss).value()  # type: ignore[arg-type]
        assert interval(found)[0] > bound / 3
        assert interval(control)[0] > bound


def test_interaction_helps_at_twenty_features() -> None:
    """At the size that is worst for each, with the same users, noise and budget."""
    sizes = (0.0, 0.3, 0.45, 0.6, 0.75)
    once = OneShotThreshold(Pure(1.0, scope="local"), C=PROBLEM.C)
    ours, theirs = (
        max((losses(model, size, "sign", 60, seed=4)[0] for size in sizes), key=np.mean)
        for model in (halving(1.0), once)
    )
    assert interval(ours)[1] < interval(theirs)[0]


# By the exact law of the sums: many features


def sums(users: int, tau: Array, rng: np.random.Generator) -> Array:
    """Sums of `users` signs of these means."""
    return 2 * rng.binomial(users, (1 + tau) / 2) - users


def run(plan: Rounds, tau: float, rng: np.random.Generator) -> float:
    """The squared error in units of M^2 of the protocol; the first coordinate is the true one."""
    means = np.zeros(plan.candidates[0])
    means[0] = tau
    for users, kept in zip(plan.users[:-1], plan.candidates[1:], strict=True):
        order = np.argsort(-np.abs(sums(users, means, rng)) - rng.random(len(means)) / 2)
        means = means[order[:kept]]
    value = float(sums(plan.users[-1], means, rng)[0]) / plan.users[-1]
    return (value - tau) ** 2 if means[0] == tau else value**2 + tau**2


def once(plan: Rounds, tau: float, rng: np.random.Generator) -> float:
    """The same for the largest of all means, all users asked about all coordinates in turn."""
    users = sum(q * m for q, m in zip(plan.candidates, plan.users, strict=True))
    means = np.zeros(plan.candidates[0])
    means[0] = tau
    found = sums(users // len(means), means, rng) / (users // len(means))
    best = int(np.argmax(np.abs(found)))
    return (found[0] - tau) ** 2 if best == 0 else found[best] ** 2 + tau**2


def worst(protocol: Any, p: int, each: int, trials: int) -> Array:
    """Losses at the worst of some sizes, in units of M^2 p/n."""
    rng = np.random.default_rng(p)
    plan = rounds(each * p, p)
    top = 2 * math.log(2 * p) if protocol is once else 8.0
    runs = [
        np.array([protocol(plan, math.sqrt(x / each), rng) for _ in range(trials)]) * each
        for x in np.linspace(0.3, 1.1, 4) * top
    ]
    return max(runs, key=np.mean)


def test_the_measured_worst_risk_has_no_log_p() -> None:
    """p from 16 to 65,536: log p grows fourfold, and the worst risk of halving not at all."""
    each, trials = 4000, 150
    bound = halving_upper(LocalRegressionProblem(each * 65_536, 65_536, 2.0), Pure(6.0)).value()
    unit = (3 / math.tanh(3.0)) ** 2 / each
    few, many = (interval(worst(run, p, each, trials)) for p in (16, 65_536))
    assert many[0] < few[1]
    assert many[1] <= bound / unit
    assert many[0] > bound / unit / 2
    once_few, once_many = (interval(worst(once, p, each, trials)) for p in (16, 65_536))
    assert once_many[0] > 2.5 * once_few[1]
    assert once_many[0] > 5 * many[1]
