"""One-run auditing: its bound against enumeration, its verdicts, and what it refuses."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from estimators import NoisyGradientRegression, NoisyMean
from minimax import Approximate, Gaussian, Pure
from verify.privacy import one_run_audit
from verify.privacy.one_run import chance_of, least_epsilon
from verify.privacy.outcomes import CannotAudit

M = 400
AXES = np.eye(M)


def answered(data, rng, epsilon):
    """Randomised response on the sign of every record."""
    signs = np.sign(np.asarray(data)[:, 0])
    return np.where(rng.random(len(signs)) < 1 / (1 + math.exp(-epsilon)), signs, -signs)


def test_the_bound_holds_for_every_guess_and_is_reached():
    """All channels of two coins that flip independently, all rules of guessing: by enumeration."""
    epsilon = 0.7
    q = 1 / (1 + math.exp(-epsilon))
    outcomes = list(product((-1, 1), repeat=2))
    for rule in product((-1, 1), repeat=2 * len(outcomes)):
        guess = {y: rule[2 * k : 2 * k + 2] for k, y in enumerate(outcomes)}
        chances = {0: 0.0, 1: 0.0, 2: 0.0}
        for s in outcomes:
            for y in outcomes:
                p = np.prod([q if a == b else 1 - q for a, b in zip(s, y, strict=True)]) / 4
                chances[sum(a == b for a, b in zip(s, guess[y], strict=True))] += p
        for v in (1, 2):
            seen = sum(chances[w] for w in chances if w >= v)
            assert seen <= chance_of(v, 2, 2, epsilon, 0.0) + 1e-12
    assert chance_of(2, 2, 2, epsilon, 0.0) == pytest.approx(q**2)  # guessing y itself reaches it


def test_a_leak_is_within_its_term():
    """With chance delta a coin is shown: two coins, guessed right where shown."""
    epsilon, delta = 0.5, 0.02
    q = 1 / (1 + math.exp(-epsilon))
    right = delta + (1 - delta) * q
    for v in (1, 2):
        seen = right**2 if v == 2 else 1 - (1 - right) ** 2
        assert seen <= chance_of(v, 2, 2, epsilon, delta)
        assert seen > chance_of(v, 2, 2, epsilon, 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_randomised_response_is_found_out_at_its_budget(seed):
    first, second = np.ones((M, 1)), -np.ones((M, 1))
    options = {"score": lambda y: y, "guesses": M, "seed": seed}
    loud = lambda data, rng: answered(data, rng, 3.0)  # noqa: E731
    assert one_run_audit(loud, Pure(1.0), first, second, **options).refuted
    assert not one_run_audit(loud, Pure(3.0), first, second, **options).refuted


@pytest.mark.parametrize(("claimed", "refuted"), [(Approximate(1.0, 1e-6), True), (None, False)])
def test_a_mean_with_too_little_noise_is_refuted_in_one_fit(claimed, refuted):
    budget = Approximate(20.0, 1e-6)
    made = NoisyMean(budget, R=1.0, clip="ball")
    found = one_run_audit(made, claimed or budget, AXES, -AXES, guesses=M)
    assert found.refuted is refuted
    assert found.canaries == M
    assert ("NOT REFUTED" in found.summary()) is not refuted
    assert found.to_dict()["right"] == found.right


def test_a_regression_is_audited_by_labels():
    X = np.vstack([np.eye(20)] * 10)
    ones = np.ones(200)
    made = NoisyGradientRegression(Approximate(1.0, 1e-6), R=1.0)
    found = one_run_audit(made, Approximate(1.0, 1e-6), (X, ones), (X, -ones))
    assert not found.refuted
    assert found.guesses == 66


def test_what_stays_the_same_is_no_canary():
    second = -AXES
    second[10:] = AXES[10:]
    exact = lambda data, rng: data.mean(axis=0)  # noqa: E731
    assert one_run_audit(exact, Pure(1.0), AXES, second, guesses=10).canaries == 10


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"claim": Gaussian(1.0)}, "claim must be pure"),
        ({"claim": Pure(1.0, "local")}, "central"),
        ({"second": AXES}, "no canary"),
        ({"second": AXES[:5]}, "one shape"),
        ({"guesses": M + 1}, "guesses must be at most"),
        ({"mechanism": lambda data, rng: 0.0}, "the release has 1 numbers"),
        ({"score": lambda y: np.full(M, np.nan)}, "finite"),
    ],
)
def test_bad_input(changed, told):
    options = {"mechanism": lambda d, rng: d.mean(axis=0), "claim": Pure(1.0), "second": -AXES}
    with pytest.raises(CannotAudit, match=told):
        one_run_audit(**{**options, "first": AXES, **changed})


def test_the_lower_bound_is_the_inverse_of_the_chance():
    found = least_epsilon(90, 100, 100, 0.0, 1e-3)
    assert chance_of(90, 100, 100, found, 0.0) == pytest.approx(1e-3)
    assert least_epsilon(50, 100, 100, 0.0, 1e-3) == 0.0
