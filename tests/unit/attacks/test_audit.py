"""The auditor: exact intervals, releases that repeat, bad input."""

from __future__ import annotations

import json
import math
import os
import random
import types

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator

from attacks import audit_epsilon, release_sampler
from attacks.audit import choose_event, lower_epsilon
from estimators.controls.mean import SampleMean
from estimators.mean import NoisyMean
from minimax import ZeroConcentrated

pytestmark = pytest.mark.oldest

NOISY = NoisyMean(privacy=ZeroConcentrated(0.5), R=3.0)
X = np.array([[1.0], [0.5], [0.5]])
NEIGHBOUR = np.array([[0.0], [0.5], [0.5]])


class NoMean(BaseEstimator):
    def fit(self, X, y=None):
        return self


# --- Releases that repeat ------------------------------------------------------------------------


def most_that_is_proved(evaluated, delta, confidence):
    """By an event that was always seen on one side and never on the other."""
    tail = ((1 - confidence) / 2) ** (1 / evaluated)
    return math.log((tail - delta) / (1 - tail))


class IgnoresSeed(SampleMean):
    def __init__(self, random_state=None):
        self.random_state = random_state


@pytest.mark.parametrize("estimator", [SampleMean(), IgnoresSeed(3), IgnoresSeed()])
def test_a_mean_without_noise_is_refuted_as_far_as_its_releases_prove(estimator):
    pair = [release_sampler(estimator, data) for data in (X, NEIGHBOUR)]
    found = audit_epsilon(*pair, np.sum, trials=400, delta=0.1)
    assert found.epsilon == pytest.approx(most_that_is_proved(200, 0.1, 0.99))
    assert found.refutes(3.0)
    assert found.repeats
    assert not found.constant
    assert "without randomness, refuted at every epsilon" in found.summary()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["epsilon"] == found.epsilon


def test_two_releases_that_repeat_prove_nothing():
    found = audit_epsilon(lambda rng: 0.0, lambda rng: 1.0, trials=2)
    assert found.epsilon == 0
    assert found.repeats
    assert not found.constant


def test_constant_release_is_said_to_be_constant():
    constant = audit_epsilon(*[release_sampler(SampleMean(), X)] * 2, np.sum, trials=10)
    assert constant.epsilon == 0
    assert constant.constant
    assert not constant.refutes(0.0)
    assert constant.summary() == "constant release: nothing to audit"


def flipped(bit, epsilon, held):
    """Randomised response: the other bit with chance 1/(1 + e^epsilon)."""
    return lambda rng: bit ^ ((held or rng).random() < 1 / (1 + math.exp(epsilon)))


class Flips:
    """Randomised response of the first record, by a function of its own for uniform numbers."""

    def __init__(self, epsilon, uniform=random.random):
        self.epsilon, self.uniform = epsilon, uniform

    def fit(self, X):
        self.mean_ = (X[0, 0] > 0.5) ^ (self.uniform() < 1 / (1 + math.exp(self.epsilon)))
        return self


def flips_by_class(epsilon):
    class Holder(Flips):
        generator = np.random.default_rng(0)

    return Holder(epsilon, lambda: Holder.generator.random())


def flips_by_module(epsilon):
    module = types.ModuleType("module")
    module.generator = np.random.default_rng(0)
    return Flips(epsilon, lambda: module.generator.random())


def flips_by_system(epsilon):
    return Flips(epsilon, lambda: int.from_bytes(os.urandom(8)) / 2**64)


def fitted(make):
    return lambda bit, epsilon: release_sampler(make(epsilon), np.array([[float(bit)]]))


FLIPS = {
    "given": lambda bit, epsilon: flipped(bit, epsilon, None),
    "closure": lambda bit, epsilon: flipped(bit, epsilon, np.random.default_rng(bit)),
    "global": fitted(Flips),
    "class": fitted(flips_by_class),
    "module": fitted(flips_by_module),
    "system": fitted(flips_by_system),
}


@pytest.mark.parametrize("flip", FLIPS.values(), ids=FLIPS)
def test_a_discrete_mechanism_that_repeats_is_refuted_below_its_epsilon_only(flip):
    """Randomised response at epsilon = 25 repeats 200 times, but for a chance of 6e-9."""
    found = audit_epsilon(flip(0, 25.0), flip(1, 25.0), trials=200)
    assert found.likelier == found.evaluated
    assert found.rarer == 0
    assert found.repeats
    assert not found.refutes(25.0)
    assert found.epsilon == pytest.approx(most_that_is_proved(100, 0.0, 0.99))


@pytest.mark.parametrize("flip", FLIPS.values(), ids=FLIPS)
def test_a_discrete_mechanism_that_does_not_repeat_says_so(flip):
    found = audit_epsilon(flip(0, 1.0), flip(1, 1.0), trials=400, confidence=1 - 1e-6)
    assert not found.repeats
    assert not found.refutes(1.0)


# --- The bound -----------------------------------------------------------------------------------


def test_lower_epsilon_is_clopper_pearson():
    low = stats.binomtest(70, 100).proportion_ci(0.9, "exact").low
    high = stats.binomtest(20, 100).proportion_ci(0.9, "exact").high
    found = lower_epsilon(np.array([70, 70, 0, 100]), np.array([20, 100, 20, 0]), 100, 0.1, 0.05)
    assert found[0] == pytest.approx(math.log((low - 0.1) / high))
    assert found[1] == found[2] == 0
    extreme = (0.05 ** (1 / 100) - 0.1) / (1 - 0.05 ** (1 / 100))
    assert found[3] == pytest.approx(math.log(extreme))


def test_audit_of_a_repeated_draw_is_clopper_pearson_at_its_extreme():
    """One value on X and another on X', by chance: the bound says no more than the sample does."""
    pair = (lambda rng: rng.random() < 2, lambda rng: rng.random() > 2)
    found = audit_epsilon(*pair, trials=200, confidence=0.9)
    assert found.epsilon == pytest.approx(most_that_is_proved(100, 0.0, 0.9))
    assert found.repeats
    assert "epsilon >=" in found.summary()
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("flip", [False, True])
def test_audit_finds_either_order_and_side(flip):
    for sign in (1.0, -1.0):

        def near(rng, sign=sign):
            return sign * rng.exponential()

        def far(rng, sign=sign):
            return sign * (rng.exponential() if rng.random() < 0.2 else 9 + rng.exponential())

        pair = (far, near) if flip else (near, far)
        assert audit_epsilon(*pair, trials=2000).epsilon > 1.5


def test_audit_is_reproducible():
    sampler = release_sampler(NOISY, np.ones((4, 2)))
    runs = [audit_epsilon(sampler, sampler, lambda m: m[0], trials=40, seed=2) for _ in range(2)]
    assert runs[0] == runs[1]
    assert audit_epsilon(sampler, sampler, lambda m: m[0], trials=40, seed=3) != runs[0]


@pytest.mark.parametrize(
    ("changed", "error", "word"),
    [
        ({"trials": 1}, ValueError, "trials"),
        ({"delta": 1.0}, ValueError, "delta"),
        ({"confidence": 2.0}, ValueError, "confidence"),
        ({"statistic": lambda x: math.nan}, ValueError, "statistic"),
        ({"release_on_X": release_sampler(NoMean(), np.ones((2, 2)))}, TypeError, "estimator"),
    ],
)
def test_audit_refuses(changed, error, word):
    arguments = {"release_on_X": lambda rng: 0.0, "release_on_X2": lambda rng: 1.0, "trials": 10}
    with pytest.raises(error, match=word):
        audit_epsilon(**{**arguments, **changed})


def test_thresholds_are_values_even_if_some_are_infinite():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 900))
    first[:90], second[:9] = math.inf, -math.inf
    event = choose_event(first, second, 0.0, 0.01)
    assert event.side == ">="
    assert not event.swapped
    assert 90 <= event.count(first) < 120
