"""The interactive estimator that the ledger sets against a conjecture, run record by record."""

from __future__ import annotations

import math

import numpy as np
import pytest

from verify.ledger.wx21.interaction import EPSILON, REACH, Halving

PROTOCOL = Halving(20_000, group=200, slack=1.3)


def sums(users: int, means: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sums of `users` signs of these means."""
    return 2 * rng.binomial(users, (1 + means) / 2) - users


def fails(tau: float, rng: np.random.Generator) -> bool:
    """One run: is the true coordinate, the first, lost? An overflow counts as lost."""
    means = np.zeros(int(PROTOCOL.p))
    means[0] = tau
    for (users, level), share in zip(PROTOCOL.stages, PROTOCOL.shares[1:], strict=True):
        kept = np.abs(sums(users, means, rng)) >= level
        if not kept[0] or kept.sum() > PROTOCOL.slack * PROTOCOL.p * share:
            return True
        means = means[kept]
    return int(np.argmax(np.abs(sums(PROTOCOL.last, means, rng)))) != 0


@pytest.mark.parametrize("signal", [1.0, 3.0, 10.0])
def test_the_bound_on_failure_holds_and_is_not_empty(signal: float) -> None:
    rng = np.random.default_rng(17)
    tau = math.sqrt(signal / PROTOCOL.group)
    measured = np.mean([fails(tau, rng) for _ in range(150)])
    bound = PROTOCOL.fails(tau)
    assert measured <= bound + 4 * math.sqrt(bound * (1 - bound) / 150) + 1e-9
    assert bound <= measured + 0.25


def test_reports_are_private_and_unbiased_for_any_noise() -> None:
    rng = np.random.default_rng(3)
    keep = math.exp(EPSILON) / (1 + math.exp(EPSILON))
    theta, x = 0.7, rng.choice([-1.0, 1.0], size=400_000)
    y = theta * x + np.where(rng.random(len(x)) < 0.2, 2.0, -0.5)  # |noise| <= 2, mean zero
    rounded = np.where(rng.random(len(x)) < (1 + y / REACH) / 2, 1.0, -1.0)
    reports = rounded * x * np.where(rng.random(len(x)) < keep, 1.0, -1.0)
    mean = math.tanh(EPSILON / 2) * theta / REACH
    assert np.mean(reports) == pytest.approx(mean, abs=5 / math.sqrt(len(x)))
    assert math.log(keep / (1 - keep)) == pytest.approx(EPSILON)


def test_risk_falls_with_users_and_does_not_grow_with_log_p() -> None:
    small, large = Halving(1e6), Halving(1e12)
    assert large.risk * large.users / large.p < 1.1 * small.risk * small.users / small.p
    more = Halving(1e6, group=800_000)
    assert more.risk == pytest.approx(small.risk / 4, rel=0.05)
