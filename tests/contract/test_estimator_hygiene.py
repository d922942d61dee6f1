"""What no private estimator may do with a record, whatever it computes.

Every exported estimator enters; the controls, which say that they are not private, do not. A seed
is fixed so that all that is left to differ is the data: nothing may but the declared releases. Each
check is run on estimators that leak, which it must find.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import estimators
from estimators import NoisyMean
from estimators.core.base import SECRET_SEED, PlanWarning, PrivateEstimator
from tests.contract.estimator_examples import FURTHER, examples, exported, sample
from tests.contract.hygiene import (
    Look,
    extreme_neighbours,
    far_away,
    fitted,
    look,
)
from verify.privacy.hygiene import differing, generators_held, records_held

pytestmark = pytest.mark.oldest

EXAMPLES = examples()
PRIVATE = [name for name, made in EXAMPLES.items() if isinstance(made, PrivateEstimator)]
CONTROLS = [name for name in EXAMPLES if name not in PRIVATE]
KINDS = sorted({name.split("(")[0] for name in PRIVATE})


class Leaky(NoisyMean):
    """The base of estimators that do one thing wrong."""

    def fit(self, X: Any, y: Any = None) -> Leaky:
        super().fit(X)
        self._leak(np.asarray(X))
        return self

    def _leak(self, X: np.ndarray) -> None:
        raise AssertionError("a leak must be given")


class Raises(Leaky):
    def _leak(self, X: np.ndarray) -> None:
        if X.max() > 5:
            raise ValueError("X is large")


class Warns(Leaky):
    def _leak(self, X: np.ndarray) -> None:
        if X.max() > 5:
            warnings.warn("X is large", stacklevel=2)


class WarnsOfFew(Leaky):
    def _leak(self, X: np.ndarray) -> None:
        if X.max() > 5:
            warnings.warn("n is too small", PlanWarning, stacklevel=2)


class Publishes(Leaky):
    def _leak(self, X: np.ndarray) -> None:
        self.largest_ = float(np.abs(X).max())


class Ignores(Leaky):
    def _leak(self, X: np.ndarray) -> None:
        self.mean_ = X.mean(axis=0)


class KeepsRecord(Leaky):
    def _leak(self, X: np.ndarray) -> None:
        self.notes_ = {"worst": [X[3].copy()]}


class KeepsNumber(Leaky):
    def _leak(self, X: np.ndarray) -> None:
        self.notes_ = {"worst": float(X[3, 1])}


class KeepsGenerator(Leaky):
    def _leak(self, X: np.ndarray) -> None:
        self.notes_ = {"source": self._rng()}


# Who is in


def test_exporting_an_estimator_enters_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Raises" not in exported()
    monkeypatch.setattr(estimators, "Raises", Raises, raising=False)
    monkeypatch.setattr(estimators, "__all__", [*estimators.__all__, "Raises"])
    assert isinstance(examples()["Raises()"], Raises)


def test_options_are_those_of_exported_estimators() -> None:
    assert set(FURTHER) <= set(exported())


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_says_that_it_is_not_private(name: str) -> None:
    control = EXAMPLES[name]
    fit = fitted(control, sample(control))
    assert fit.privacy_ is None
    assert fit.ledger_ == ()
    assert "**not private**" in type(control).__doc__


# One record decides nothing that can be seen but the releases


@cache
def looks(estimator: Any) -> list[Look]:
    """At fits to the sample, to its neighbours and to other data, with one seed.

    The checks below look at the same fits.
    """
    data = sample(estimator)
    every = [data, *extreme_neighbours(estimator, data), *far_away(estimator, data)]
    return [look(estimator, one) for one in every]


def endings(estimator: Any) -> set[str]:
    """How fits to the sample, to its neighbours, and to few records end."""
    few = sample(estimator, n=3)
    every = looks(estimator)
    if getattr(estimator, "classes", True):  # where labels are found, few records may lack one
        neighbours = extreme_neighbours(estimator, few)
        every = [*every, *(look(estimator, one) for one in (few, *neighbours))]
    return {one.ending for one in every}


def undeclared(estimator: Any) -> set[str]:
    """Attributes that follow the data and are not declared."""
    return followers(estimator) - set(estimator.releases)


def followers(estimator: Any) -> set[str]:
    """The attributes that differ between the sample and other data, under the same seed."""
    here, *others = (one.fit for one in looks(estimator))
    return set().union(*(differing(here, other) for other in others))


@pytest.mark.parametrize("name", PRIVATE)
def test_no_record_decides_an_error_or_a_warning(name: str) -> None:
    assert endings(EXAMPLES[name]) == {"well"}


def few_records_told(estimator: Any) -> set[tuple[str, ...]]:
    """What fits to the sample and to its neighbours say about the number of records."""
    return {one.of_few_records for one in looks(estimator)}


@pytest.mark.parametrize("name", PRIVATE)
def test_no_record_decides_whether_records_are_too_few(name: str) -> None:
    assert len(few_records_told(EXAMPLES[name])) == 1


def test_a_warning_of_few_records_that_follows_them_is_noticed() -> None:
    assert len(few_records_told(WarnsOfFew(R=1.0))) == 2


@pytest.mark.parametrize("leak", [Raises, Warns])
def test_an_error_or_a_warning_is_noticed(leak: Any) -> None:
    assert len(endings(leak(R=1.0))) == 2


@pytest.mark.parametrize("name", PRIVATE)
def test_only_declared_releases_follow_the_data(name: str) -> None:
    assert undeclared(EXAMPLES[name]) == set()


def test_an_undeclared_release_is_noticed() -> None:
    assert undeclared(Publishes(R=1.0)) == {"largest_"}


@pytest.mark.parametrize("name", PRIVATE)
def test_the_guarantee_does_not_follow_the_data(name: str) -> None:
    here, *others = (one.fit.privacy_ for one in looks(EXAMPLES[name]))
    for there in others:
        assert type(there) is type(here)
        assert there.assumes == here.assumes
        assert there.parameters == pytest.approx(here.parameters, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_every_declared_release_follows_the_data(kind: str) -> None:
    """So that `releases` is no licence: what never differs must not be in it."""
    made = [EXAMPLES[name] for name in PRIVATE if name.split("(")[0] == kind]
    assert set(made[0].releases) <= set().union(*map(followers, made))


# Noise


def freely_drawn(made: list[Any]) -> bool:
    """Whether unseeded fits of one of the estimators differ: one of 30 from the first, since a
    release that takes few values may well be the same twice."""
    return any(
        differing(fitted(one, sample(one), None), fitted(one, sample(one), None))
        for one in made
        for _ in range(30)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_two_unseeded_fits_differ(kind: str) -> None:
    made = [EXAMPLES[name] for name in PRIVATE if name.split("(")[0] == kind]
    assert freely_drawn(made)


def test_a_release_without_noise_is_noticed() -> None:
    assert not freely_drawn([Ignores(R=1.0)])


@pytest.mark.parametrize("name", PRIVATE)
def test_two_fits_with_one_seed_are_the_same(name: str) -> None:
    made = EXAMPLES[name]
    assert differing(fitted(made, sample(made)), looks(made)[0].fit) == set()


# What is kept


@pytest.mark.parametrize("name", PRIVATE)
def test_an_unseeded_fit_keeps_no_generator_and_no_record(name: str) -> None:
    made = EXAMPLES[name]
    data = sample(made)
    fit = fitted(made, data, None)
    assert generators_held(fit) == []
    assert records_held(fit, data[0]) == []


@pytest.mark.parametrize("leak", [KeepsRecord, KeepsNumber, KeepsGenerator])
def test_what_is_kept_is_found(leak: Any) -> None:
    data = sample(leak(R=1.0))
    fit = fitted(leak(R=1.0), data, None)
    assert generators_held(fit) or records_held(fit, data[0])
    seeded = leak(R=1.0, random_state=np.random.default_rng(0)).fit(*data)
    assert generators_held(seeded)  # and a generator that was given is kept, as scikit-learn asks


@pytest.mark.parametrize("name", PRIVATE)
def test_a_seeded_fit_says_that_it_is_a_study(name: str) -> None:
    made = EXAMPLES[name]
    assert SECRET_SEED in looks(made)[0].fit.privacy_.assumes
    assert SECRET_SEED not in fitted(made, sample(made), None).privacy_.assumes
