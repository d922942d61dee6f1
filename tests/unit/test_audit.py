"""The auditor: exact intervals, correct mechanisms that keep randomness of their own, bad input."""

from __future__ import annotations

import copy
import functools
import json
import math
import random

import joblib
import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator

from attacks import SupportAttack, audit_epsilon, play, release_sampler
from attacks.audit import choose_event, lower_epsilon
from attacks.release import NoRandomness, fresh_estimator, released, sources_in
from estimators.mean import NoisyMean
from estimators.nonprivate import SampleMean
from minimax import ZeroConcentrated
from minimax.priors import GaussianInstance

NOISY = NoisyMean(privacy=ZeroConcentrated(0.5), R=3.0)


class NoMean(BaseEstimator):
    def fit(self, X, y=None):
        return self


# --- Randomness of one's own ---------------------------------------------------------------------


def mean_of(X):
    """That of [0, 1]-valued records: replacing one of n moves it by at most 1/n."""
    return float(np.clip(X, 0, 1).mean())


class KeepsGenerator:
    """Laplace noise of scale 1/(n epsilon) from a generator that was made once."""

    def __init__(self, epsilon=1.0):
        self.epsilon, self.generator = epsilon, np.random.default_rng(7)

    def noise(self, size):
        return self.generator.laplace(scale=1 / (size * self.epsilon))

    def fit(self, X):
        self.mean_ = mean_of(X) + self.noise(len(X))
        return self


class HidesGenerator(KeepsGenerator, BaseEstimator):
    """The constructor makes the same generator each time, and no parameter shows it."""


class KeepsMechanism(KeepsGenerator):
    """The generator is held by a part, in a list."""

    def __init__(self, epsilon=1.0):
        self.epsilon, self.parts = epsilon, [KeepsGenerator(epsilon)]

    def noise(self, size):
        return self.parts[0].noise(size)


class KeepsMethod(KeepsGenerator):
    """A generator's method, with an argument filled in."""

    def __init__(self, epsilon=1.0):
        self.draw = functools.partial(np.random.default_rng(7).laplace, 0.0)
        self.epsilon = epsilon

    def noise(self, size):
        return self.draw(1 / (size * self.epsilon))


class KeepsLegacy(KeepsGenerator):
    def __init__(self, epsilon=1.0):
        self.epsilon, self.generator = epsilon, np.random.RandomState(7)


class KeepsPython(KeepsGenerator):
    """The difference of two exponential variables is Laplace."""

    def __init__(self, epsilon=1.0):
        self.epsilon, self.random = epsilon, random.Random(7)

    def noise(self, size):
        first, second = (self.random.expovariate(size * self.epsilon) for _ in range(2))
        return first - second


class KeepsSequence(KeepsGenerator):
    """Spawns a new generator at each fit, from a sequence of its own."""

    def __init__(self, epsilon=1.0):
        self.epsilon, self.sequence = epsilon, np.random.SeedSequence(7)

    def noise(self, size):
        spawned = np.random.default_rng(self.sequence.spawn(1)[0])
        return spawned.laplace(scale=1 / (size * self.epsilon))


class KeepsBits(KeepsGenerator):
    def __init__(self, epsilon=1.0):
        self.epsilon, self.bits = epsilon, np.random.PCG64(7)

    def noise(self, size):
        return np.random.Generator(self.bits).laplace(scale=1 / (size * self.epsilon))


class CallsItRng(BaseEstimator):
    def __init__(self, epsilon=1.0, rng=None):
        self.epsilon, self.rng = epsilon, rng

    def fit(self, X):
        noise = np.random.default_rng(self.rng).laplace(scale=1 / (len(X) * self.epsilon))
        self.mean_ = mean_of(X) + noise
        return self


class CallsItSeed(BaseEstimator):
    def __init__(self, epsilon=1.0, seed=0):
        self.epsilon, self.seed = epsilon, seed

    def fit(self, X):
        self.mean_ = CallsItRng(self.epsilon, self.seed).fit(X).mean_
        return self


class KeepsSeed:
    """No parameters, no generator: an integer."""

    def __init__(self, epsilon=1.0):
        self.epsilon, self._seed = epsilon, 7

    def fit(self, X):
        self.mean_ = CallsItRng(self.epsilon, self._seed).fit(X).mean_
        return self


class UsesGlobal(KeepsGenerator):
    def __init__(self, epsilon=1.0):
        self.epsilon = epsilon

    def noise(self, size):
        return np.random.laplace(scale=1 / (size * self.epsilon))


class KeepsClosure(KeepsGenerator):
    def __init__(self, epsilon=1.0):
        held, self.epsilon = np.random.default_rng(7), epsilon
        self.draw = lambda scale: held.laplace(scale=scale)

    def noise(self, size):
        return self.draw(1 / (size * self.epsilon))


CORRECT = [
    KeepsGenerator,
    HidesGenerator,
    KeepsMechanism,
    KeepsMethod,
    KeepsLegacy,
    KeepsPython,
    KeepsSequence,
    KeepsBits,
    CallsItRng,
    lambda epsilon=1.0: CallsItRng(epsilon, np.random.default_rng(7)),
    lambda epsilon=1.0: CallsItRng(epsilon, 7),
    CallsItSeed,
    KeepsSeed,
    UsesGlobal,
    KeepsClosure,
]
NAMES = [getattr(make, "__name__", "") for make in CORRECT]
X = np.array([[1.0], [0.5], [0.5]])
NEIGHBOUR = np.array([[0.0], [0.5], [0.5]])


def audited(estimator, trials=2500):
    np.random.seed(0)
    pair = [release_sampler(estimator, data) for data in (X, NEIGHBOUR)]
    return audit_epsilon(*pair, trials=trials, confidence=1 - 1e-6)


@pytest.mark.parametrize("make", CORRECT, ids=NAMES)
def test_audit_does_not_refute_a_correct_mechanism(make):
    """The control has half the noise."""
    found = audited(make(1.0))
    assert not found.refutes(1.0)
    assert found.epsilon > 0.4
    assert not found.deterministic
    broken = audited(make(2.0))
    assert broken.refutes(1.0)
    assert not broken.refutes(2.0)


@pytest.mark.parametrize("make", CORRECT, ids=NAMES)
def test_releases_differ_and_the_estimator_stays_as_it_was(make):
    estimator = make(1.0)
    draw = release_sampler(estimator, X)
    rng = np.random.default_rng(0)
    assert len({draw(rng) for _ in range(20)}) == 20
    assert not hasattr(estimator, "mean_")


@pytest.mark.parametrize("make", CORRECT, ids=NAMES)
def test_the_trial_decides_the_noise_unless_it_is_shared(make):
    draws = [release_sampler(make(1.0), X)(np.random.default_rng(3)) for _ in range(2)]
    again = release_sampler(make(1.0), X)
    draws += [again(np.random.default_rng(3)) for _ in range(2)]
    shared = make in (UsesGlobal, KeepsClosure)
    assert (len(set(draws)) > 1) == shared


def test_a_source_used_twice_stays_one_source():
    """Two copies of one generator would add the same noise twice over."""

    class Twice(BaseEstimator):
        def __init__(self, first=None, second=None):
            self.first, self.second = first, second

        def fit(self, X):
            self.mean_ = self.first.fit(X).mean_ - self.second.fit(X).mean_
            return self

    rng = np.random.default_rng(0)
    fresh = fresh_estimator(Twice(CallsItRng(rng=rng), CallsItRng(rng=rng)), rng)
    assert fresh.first.rng is fresh.second.rng
    assert fresh.fit(X).mean_ != 0


def test_sources_are_found_where_they_are_held():
    held = [np.random.default_rng(i) for i in range(5)]

    def draw(default=held[0]):
        return held[1], default

    holder = KeepsGenerator()
    holder.generator = {"a": [held[2]], "b": (held[3].normal, draw)}
    found = sources_in([holder, functools.partial(held[4].normal)])
    assert {id(source) for source in found} >= {id(source) for source in held}
    assert sources_in(NOISY) == []
    assert sources_in(np.random.default_rng) == []


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
    for use in (lambda rng: rng.normal(), np.random.default_rng, lambda rng: NOISY.fit(rng)):
        with pytest.raises((AttributeError, TypeError, ValueError)):
            use(NoRandomness())


# --- The game ------------------------------------------------------------------------------------


class Point:
    def draw(self, rng):
        return GaussianInstance(np.full(1, 0.5), 1e-12)


class InOneEntry:
    def fit(self, X):
        super().fit(X)
        self.mean_ = np.array([self.mean_])
        return self


class OneEntry(InOneEntry, KeepsGenerator):
    pass


class OneEntryClosure(InOneEntry, KeepsClosure):
    pass


def losses(estimator, **options):
    return play(Point(), 3, estimator, SupportAttack(), trials=20, seed=0, **options).loss


def test_game_gets_new_noise_in_every_trial_and_from_its_own_seed():
    """The control copies the generator: one noise, no spread."""
    first = losses(OneEntry())
    assert first.high - first.low > 1e-3
    assert losses(OneEntry()) == first
    with joblib.parallel_config("threading"):
        assert losses(OneEntry(), n_jobs=2) == first
    template = OneEntry()
    copied = losses(lambda rng: copy.deepcopy(template))
    assert copied.high - copied.low < 1e-9


def test_game_refuses_to_copy_a_generator_to_workers():
    spread = losses(OneEntryClosure())
    assert spread.high - spread.low > 1e-3
    held = OneEntry()
    for estimator in (OneEntryClosure(), lambda rng: held):
        with pytest.raises(ValueError, match="n_jobs must be 1"):
            losses(estimator, n_jobs=2)


def test_fit_may_change_its_data():
    """Centring in place would spoil the next release, and the members' scores."""

    class Centres(BaseEstimator):
        def fit(self, X):
            self.mean_ = X.mean(axis=0)
            X -= self.mean_
            return self

    data = X.copy()
    draw = release_sampler(Centres(), data)
    assert draw(np.random.default_rng(0)) == draw(np.random.default_rng(0)) == X.mean()
    np.testing.assert_array_equal(data, X)


def test_release_of_an_earlier_fit_is_not_taken_for_a_new_one():
    stale = NoMean()
    stale.mean_ = 1.0
    with pytest.raises(TypeError, match="must set mean_"):
        released(fresh_estimator(stale, np.random.default_rng(0)), X, "mean_")


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
