"""The auditor: exact intervals, releases without randomness, bad input."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator

from attacks import audit_epsilon, release_sampler
from attacks.audit import choose_event, lower_epsilon
from attacks.release import NoRandomness
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


# --- No randomness -------------------------------------------------------------------------------


class IgnoresSeed(SampleMean):
    def __init__(self, random_state=None):
        self.random_state = random_state


@pytest.mark.parametrize("estimator", [SampleMean(), IgnoresSeed(3), IgnoresSeed()])
def test_deterministic_mean_is_refuted_at_every_epsilon(estimator):
    pair = [release_sampler(estimator, data) for data in (X, NEIGHBOUR)]
    found = audit_epsilon(*pair, np.sum, trials=10, delta=0.9)
    assert found.epsilon == math.inf
    assert found.refutes(1e300)
    assert found.deterministic
    assert not found.constant
    assert "refuted at every epsilon" in found.summary()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["epsilon"] is None


def test_deterministic_release_is_refuted_where_the_statistic_is_blind():
    draws = (lambda rng: np.array([1.0, 0.0]), lambda rng: np.array([1.0, 2.0]))
    assert audit_epsilon(*draws, lambda release: release[0], trials=10).epsilon == math.inf


def test_constant_release_is_said_to_be_constant():
    constant = audit_epsilon(*[release_sampler(SampleMean(), X)] * 2, np.sum, trials=10)
    assert constant.epsilon == 0
    assert constant.constant
    assert not constant.refutes(0.0)
    assert constant.summary() == "constant release: nothing to audit"


def flipped(bit, epsilon, held):
    """Randomised response: the other bit with chance 1/(1 + e^epsilon)."""
    return lambda rng: bit ^ ((held or rng).random() < 1 / (1 + math.exp(epsilon)))


@pytest.mark.parametrize("held", [None, np.random.default_rng(0)], ids=["given", "closure"])
def test_a_discrete_mechanism_that_repeats_is_not_called_deterministic(held):
    """Randomised response at epsilon = 12 repeats 200 times; refuting it at 12 would be wrong."""
    found = audit_epsilon(flipped(0, 12.0, held), flipped(1, 12.0, held), trials=200)
    assert found.likelier == found.evaluated
    assert found.rarer == 0
    assert not found.deterministic
    assert not found.refutes(12.0)
    assert found.epsilon > 2


def test_a_discrete_mechanism_on_global_state_is_not_called_deterministic():
    def flip(bit):
        return lambda rng: bit ^ (np.random.random() < 1e-9)

    def flip_python(bit):
        return lambda rng: bit ^ (random.random() < 1e-9)

    for make in (flip, flip_python):
        assert not audit_epsilon(make(0), make(1), trials=20).deterministic


def test_noise_that_is_asked_for_and_dropped_is_not_called_deterministic():
    """Nothing says that it will always be dropped: the sample's own bound stands."""
    found = audit_epsilon(
        lambda rng: 0 * rng.normal(), lambda rng: 1 + 0 * rng.normal(), trials=200
    )
    assert math.isfinite(found.epsilon)
    assert found.refutes(2.0)


def test_nothing_can_be_drawn_from_no_randomness():
    fit = release_sampler(NOISY, X)
    for use in (lambda rng: rng.normal(), np.random.default_rng, fit):
        with pytest.raises((AttributeError, TypeError, ValueError)):
            use(NoRandomness())


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
    tail = 0.05 ** (1 / 100)
    assert found.epsilon == pytest.approx(math.log(tail / (1 - tail)))
    assert not found.deterministic
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
