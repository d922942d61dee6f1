"""What every attack keeps to. An attack enters by being exported from `attacks`.

Each needs one example here: a prior, the attack, a non-private estimator that it must catch and
where that keeps its release. Everything else is the same for all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import attacks
from estimators import LeastSquares, SampleMean
from minimax.core.bound import Prior
from minimax.methods.priors import CosinePrior, LogisticPrior, RegressionPrior, SignPrior
from minimax.methods.tracing import Tail
from minimax.papers import cite

ALPHA = 1e-6
N = 60
METHODS = ("scores", "spread", "completeness")


@dataclass(frozen=True)
class Example:
    """A game that the attack wins."""

    prior: Prior
    attack: attacks.Attack
    estimator: Any
    attribute: str = "mean_"


SIGNS = SignPrior(d=8, sigma=2.0, u=3.0)
COSINE = CosinePrior(d=8, radius=1.5, sigma=0.7)
LINEAR = RegressionPrior(d=8, radius=1.5, sigma=0.7)
LOGISTIC = LogisticPrior(d=4, radius=1.0)
SPARSE = attacks.TopNormalPrior(d=40, s=3, sigma=1.0)
REVEALING = attacks.TopRegressionPrior(d=40, s=3, sigma=0.5)


class VisibleLeastSquares:
    """Least squares on the columns that are not zero."""

    def fit(self, X, y):
        dense = X.toarray()
        seen = np.flatnonzero(np.any(dense != 0, axis=0))
        self.coef_ = np.zeros(dense.shape[1])
        self.coef_[seen] = np.linalg.lstsq(dense[:, seen], y, rcond=None)[0]
        return self


TABLE = attacks.TablePopulation(
    "mean", np.random.default_rng(3).exponential([1.0, 10.0, 100.0], size=(500, 3))
)
LOGIT = LogisticRegression(C=10.0, fit_intercept=False)
EXAMPLES = [
    Example(SIGNS, attacks.SignAttack(SIGNS), SampleMean()),
    Example(SIGNS, attacks.SignAttack(SIGNS, centred=False), SampleMean()),
    Example(COSINE, attacks.ResidualAttack(COSINE), SampleMean()),
    Example(SPARSE, attacks.SupportAttack(SPARSE.sigma), SampleMean()),
    Example(LINEAR, attacks.RegressionAttack(LINEAR), LeastSquares(), "coef_"),
    Example(LINEAR, attacks.RegressionResidualAttack(LINEAR), LeastSquares(), "coef_"),
    Example(
        REVEALING, attacks.SupportRegressionAttack(REVEALING.sigma), VisibleLeastSquares(), "coef_"
    ),
    Example(LOGISTIC, attacks.ScoreAttack(LOGISTIC), LOGIT, "coef_"),
    Example(LOGISTIC, attacks.ScoreResidualAttack(LOGISTIC), LOGIT, "coef_"),
    Example(TABLE, attacks.TableAttack(TABLE), SampleMean()),
    Example(
        attacks.PublicDesignPrior(LINEAR, N), attacks.LabelAttack(LINEAR), LeastSquares(), "coef_"
    ),
]
every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: type(e.attack).__name__)


def exported_attacks(module: Any) -> set[type]:
    """The classes that score, among what a module exports; the protocol is not one of them."""
    exported = [getattr(module, name) for name in module.__all__]
    return {
        thing
        for thing in exported
        if isinstance(thing, type)
        and thing is not attacks.Attack
        and all(hasattr(thing, method) for method in METHODS)
    }


def without_example(module: Any) -> set[type]:
    return exported_attacks(module) - {type(example.attack) for example in EXAMPLES}


def test_every_exported_attack_has_an_example():
    assert not without_example(attacks)
    assert len(exported_attacks(attacks)) >= 9


def test_an_attack_without_example_is_noticed():
    class Newcomer(attacks.SupportAttack):
        pass

    class Exports:
        __all__ = ("Newcomer", "SignAttack")

    Exports.Newcomer, Exports.SignAttack = Newcomer, attacks.SignAttack
    assert without_example(Exports) == {Newcomer}


@every_example
def test_attack_says_what_it_proves(example):
    text = type(example.attack).__doc__
    for word in ("**Soundness", "**Completeness", "**Source.**"):
        assert word in text, word
    assert example.attack.name
    assert cite(example.attack.source)
    assert example.attack.sigma > 0
    assert isinstance(example.attack.tail, Tail)
    assert getattr(example.attack, "asks", "record") in ("record", "label")


def drawn(example):
    rng = np.random.default_rng(0)
    instance = example.prior.draw(rng)
    release = rng.normal(size=len(instance.target))
    return instance, instance.sample(N, rng), instance.sample(N, rng), release


@every_example
def test_scores_are_finite_numbers_one_for_each_record(example):
    instance, sample, fresh, release = drawn(example)
    for records in (sample, fresh):
        scores = example.attack.scores(records, release, instance, sample)
        assert scores.shape == (N,)
        assert scores.dtype == float
        assert np.all(np.isfinite(scores))
    spread = example.attack.spread(release, instance, N)
    identity = example.attack.completeness(release, instance, N)
    assert isinstance(spread, float)
    assert identity is None or math.isfinite(identity)


@every_example
def test_a_score_is_of_its_own_record(example):
    """Other candidates do not move it, and nothing that is passed in is changed."""
    instance, sample, fresh, release = drawn(example)
    kept = release.copy()
    scores = example.attack.scores(fresh, release, instance, sample)
    labelled = hasattr(fresh, "y")
    other = type(fresh)(*(part.copy() for part in fresh)) if labelled else fresh.copy()
    values = other.y if labelled else other
    values[1:] += 1.0
    changed = example.attack.scores(other, release, instance, sample)
    assert changed[0] == scores[0]
    assert np.any(changed[1:] != scores[1:])
    np.testing.assert_array_equal(release, kept)
    np.testing.assert_array_equal(example.attack.scores(fresh, release, instance, sample), scores)


@every_example
def test_outsiders_score_zero_and_members_of_a_non_private_release_do_not(example):
    """Six intervals for each example; members are the control of the outsiders' check."""
    result = attacks.play(
        example.prior,
        N,
        example.estimator,
        example.attack,
        trials=300,
        seed=1,
        confidence=1 - ALPHA / (6 * len(EXAMPLES)),
        attribute=example.attribute,
    )
    assert result.outsider_mean.contains(0.0)
    assert result.outsider_abs.low <= result.soundness.high
    assert result.member_sum.low / N > result.outsider_mean.high
    assert result.auc.low > 0.5
    if result.completeness_gap is not None:
        assert result.completeness_gap.contains(0.0)
        assert not result.member_sum.contains(0.0)
