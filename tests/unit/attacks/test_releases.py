"""Releases of estimators that keep randomness of their own: independent, in audit and game."""

from __future__ import annotations

import copy
import functools
import random

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator

from attacks import SupportAttack, audit_epsilon, play, release_sampler
from attacks.release import fresh_estimator, released, sources_in
from estimators.mean import NoisyMean
from minimax import ZeroConcentrated
from minimax.methods.priors import GaussianInstance
from tests.effort import part

NOISY = NoisyMean(privacy=ZeroConcentrated(0.5), R=3.0)


class NoMean(BaseEstimator):
    def fit(self, X, y=None):
        return self


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


class KeepsState(KeepsGenerator):
    """The state of its generator, which is made anew at each fit."""

    def __init__(self, epsilon=1.0):
        self.epsilon, self.state = epsilon, np.random.PCG64(7).state

    def noise(self, size):
        bits = np.random.PCG64()
        bits.state = self.state
        drawn = np.random.Generator(bits).laplace(scale=1 / (size * self.epsilon))
        self.state = bits.state
        return drawn


class KeepsLegacyState(KeepsGenerator):
    def __init__(self, epsilon=1.0):
        self.epsilon, self.random_state = epsilon, np.random.RandomState(7).get_state()

    def noise(self, size):
        legacy = np.random.RandomState()
        legacy.set_state(self.random_state)
        drawn = legacy.laplace(scale=1 / (size * self.epsilon))
        self.random_state = legacy.get_state()
        return drawn


class KeepsPythonState(KeepsPython):
    def __init__(self, epsilon=1.0):
        self.epsilon, self.state = epsilon, random.Random(7).getstate()

    def noise(self, size):
        self.random = random.Random()
        self.random.setstate(self.state)
        drawn = super().noise(size)
        self.state = self.random.getstate()
        return drawn


CORRECT = [
    KeepsState,
    KeepsLegacyState,
    KeepsPythonState,
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


TRIALS = part(1600, of=2500)


def audited(estimator, trials=TRIALS):
    np.random.seed(0)
    pair = [release_sampler(estimator, data) for data in (X, NEIGHBOUR)]
    return audit_epsilon(*pair, trials=trials, confidence=1 - 1e-6)


@pytest.mark.parametrize("make", CORRECT, ids=NAMES)
def test_audit_does_not_refute_a_correct_mechanism(make):
    """The control has half the noise."""
    found = audited(make(1.0))
    assert not found.refutes(1.0)
    assert found.epsilon > 0.4
    assert not found.repeats
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


class DropsMemo(KeepsGenerator):
    """Copies its generator by itself."""

    def __deepcopy__(self, memo):
        fresh = type(self)(self.epsilon)
        fresh.generator = copy.deepcopy(self.generator)
        return fresh


class HoldsOneThatDropsMemo(KeepsMechanism):
    def __init__(self, epsilon=1.0):
        self.epsilon, self.parts = epsilon, [DropsMemo(epsilon)]


class KeepsCounter(KeepsGenerator):
    """Noise from a counter under a name that says nothing of it."""

    def __init__(self, epsilon=1.0):
        self.epsilon, self.drawn = epsilon, 0

    def noise(self, size):
        self.drawn += 1
        return np.random.default_rng(self.drawn).laplace(scale=1 / (size * self.epsilon))


@pytest.mark.parametrize("make", [DropsMemo, HoldsOneThatDropsMemo, KeepsCounter])
def test_audit_refuses_copies_that_repeat_one_noise(make):
    """The copies' releases would refute a private mechanism; with one estimator there is none."""
    with pytest.raises(ValueError, match=r"estimator must .* function from a generator"):
        audited(make(1.0), trials=40)
    template = KeepsGenerator(1.0)
    with pytest.raises(ValueError, match="estimator must not repeat its noise"):
        audited(lambda rng: copy.deepcopy(template), trials=40)
    kept = make(1.0)
    assert not audited(lambda rng: kept).refutes(1.0)


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
