"""What NoisyMean does when it is told no more than sigma and radius, next to the sample mean."""

from __future__ import annotations

import numpy as np

from estimators.mean import NoisyMean
from minimax.core.privacy import Approximate
from minimax.problems.mean.problem import MeanProblem
from tests.simulation import above, below

N, D = 100_000, 20
BUDGET = Approximate(0.5, 3.2e-5)


def losses(trials: int) -> tuple[list[float], list[float], list[float]]:
    """Of the default, of CWZ19's truncation and of the sample mean, on N(.3, 1)."""
    rng = np.random.default_rng(0)
    known = {"sigma": 1.0, "radius": 1.0, "random_state": rng}
    default, theory = NoisyMean(BUDGET, **known), NoisyMean(BUDGET, R="theory", **known)
    found: tuple[list[float], list[float], list[float]] = ([], [], [])
    for _ in range(trials):
        X = rng.standard_normal((N, D))
        X += 0.3
        for values, estimate in zip(
            found, (default.fit(X).mean_, theory.fit(X).mean_, X.mean(axis=0)), strict=True
        ):
            values.append(float(np.sum((estimate - 0.3) ** 2)))
    return found


def test_the_default_costs_little_more_than_the_sample_mean() -> None:
    default, theory, plain = losses(24)
    proved = NoisyMean(BUDGET, sigma=1.0, radius=1.0).risk_bound(MeanProblem(N, D)).value()
    assert proved < 2.3e-4
    assert not above(default, proved)
    assert below(default, 1.5 * D / N)
    assert not above(plain, D / N)
    assert above(theory, 4 * D / N)  # the control: the truncation of CWZ19: Theorem 3.2
