"""The attack on the support of a regression, its counterexample, its private estimator."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from attacks.sparse_mean import TopNormalPrior
from attacks.sparse_regression import (
    RevealingInstance,
    SupportRegressionAttack,
    TopRegressionPrior,
    VisibleColumnsRegression,
    lemma_4_3_counterexample,
)
from estimators.controls.regression import LeastSquares
from minimax import Approximate, Pure
from minimax.core.bound import Labelled
from minimax.methods.priors import RegressionBlockPrior


def drawn(prior, n=9, seed=0):
    rng = np.random.default_rng(seed)
    instance = prior.draw(rng)
    release = rng.normal(size=len(instance.target))
    return instance, instance.sample(n, rng), instance.sample(n, rng), release


def test_support_attack_sees_the_support_only():
    prior = RegressionBlockPrior(d=12, s=3, height=0.4, sigma=0.5)
    instance, sample, fresh, release = drawn(prior)
    attack = SupportRegressionAttack(0.5)
    residual = fresh.y - fresh.X @ instance.target
    V = np.where(instance.target != 0, release - instance.target, 0.0)
    expected = residual * (fresh.X @ V)
    np.testing.assert_allclose(attack.scores(fresh, release, instance, sample), expected)
    assert attack.spread(release, instance, 9) == pytest.approx(V @ V / 3)
    changed = release + (instance.target == 0)
    np.testing.assert_array_equal(
        attack.scores(fresh, changed, instance, sample),
        attack.scores(fresh, release, instance, sample),
    )
    assert attack.completeness(release, instance, 9) is None


def test_revealing_design():
    """Zero off S, unit rows, and the same records dense or sparse."""
    instance, sample, _, release = drawn(TopRegressionPrior(d=100, s=4, sigma=0.3), n=20)
    X = sample.X.toarray()
    np.testing.assert_array_equal(np.flatnonzero(np.any(X != 0, axis=0)), instance.support)
    np.testing.assert_allclose(np.sum(X**2, axis=1), 1.0)
    assert 0.1 < np.std(sample.y - X @ instance.target) < 0.6
    attack, dense = SupportRegressionAttack(0.3), Labelled(X, sample.y)
    np.testing.assert_allclose(
        attack.scores(sample, release, instance, sample),
        attack.scores(dense, release, instance, dense),
    )
    moved = instance.target
    moved[instance.support[0]] += 2.0
    assert instance.loss(moved) == pytest.approx(4 / 4)
    moved[np.flatnonzero(instance.target == 0)] += 5.0
    assert instance.loss(moved) == pytest.approx(4 / 4)


def test_top_coefficients_have_the_law_of_the_whole_draw():
    """The s largest, drawn alone, against all d drawn and sorted; other d must be told apart."""
    whole = [TopNormalPrior(400, 5).draw(np.random.default_rng(i)) for i in range(400)]
    told = np.array([np.sort(np.abs(x.target[x.target != 0])) for x in whole])

    def alone(d):
        prior = TopRegressionPrior(d, 5)
        draws = [prior.draw(np.random.default_rng(10**6 + i)) for i in range(400)]
        return np.array([np.sort(np.abs(x.coef)) * math.sqrt(5) for x in draws])

    for k in (0, 2, 4):
        assert stats.ks_2samp(told[:, k], alone(400)[:, k]).pvalue > 1e-6
    assert stats.ks_2samp(told[:, 0], alone(10**5)[:, 0]).pvalue < 1e-9
    assert alone(400).max() <= 1


def test_least_squares_sums_to_a_projection():
    """sum_i A_i = |P xi|^2 exactly, whatever beta."""
    sums = []
    for coef in (np.array([0.1, 0.2, -0.3]), np.array([0.5, -0.5, 0.01])):
        instance = RevealingInstance(50, np.array([4, 7, 30]), coef, 0.5)
        columns, noise = instance.visible(40, np.random.default_rng(9))
        y, release = columns @ coef + noise, np.zeros(50)
        release[instance.support] = LeastSquares().fit(columns, y).coef_
        sample = Labelled(instance.placed(columns), y)
        sums.append(SupportRegressionAttack(0.5).scores(sample, release, instance, sample).sum())
        assert sums[-1] == pytest.approx(noise @ columns @ np.linalg.pinv(columns) @ noise)
    assert sums[0] == pytest.approx(sums[1])


def visible_data(n=400, d=30, seed=0):
    rng = np.random.default_rng(seed)
    instance = RevealingInstance(d, np.array([3, 11]), np.array([0.6, -0.4]), 0.1)
    return instance.sample(n, rng)


def test_visible_columns_regression_finds_the_columns():
    X, y = visible_data(4000)
    model = VisibleColumnsRegression(Approximate(2.0, 1e-6), R=1.5, random_state=0)
    sparse_fit, dense_fit = (clone(model).fit(rows, y) for rows in (X, X.toarray()))
    np.testing.assert_array_equal(sparse_fit.visible_, [3, 11])
    np.testing.assert_allclose(sparse_fit.coef_, dense_fit.coef_)
    np.testing.assert_allclose(sparse_fit.coef_[[3, 11]], [0.6, -0.4], atol=0.1)
    assert np.count_nonzero(sparse_fit.coef_) == 2
    assert sparse_fit.privacy_.epsilon <= 2.0
    assert len(sparse_fit.ledger_) == 2
    projected = clone(model).set_params(radius=0.3).fit(X, y)
    assert np.linalg.norm(projected.coef_) == pytest.approx(0.3)


def test_visible_columns_refuse_an_unstable_set():
    """A column in half of the records is one replacement from the other side: nothing is shown."""
    X, y = visible_data(4000)
    rows = X.toarray()
    rows[:2000, 20] = 0.1
    model = VisibleColumnsRegression(Approximate(2.0, 1e-6), R=1.5, random_state=0)
    shown, fitted, few = (
        clone(model).fit(*data) for data in ((X, y), (rows, y), (rows[:20], y[:20]))
    )
    assert [len(m.visible_) for m in (shown, fitted, few)] == [2, 0, 0]
    assert not np.any(fitted.coef_)
    assert fitted.privacy_ == shown.privacy_


def test_visible_columns_follow_scikit_learn():
    check_estimator(VisibleColumnsRegression())


@pytest.mark.parametrize(
    ("changed", "error", "word"),
    [
        ({"privacy": Pure(1.0)}, TypeError, "privacy"),
        ({"R": 0.0}, ValueError, "R"),
        ({"row_bound": math.inf}, ValueError, "row_bound"),
        ({"radius": -1.0}, ValueError, "radius"),
    ],
)
def test_visible_columns_refuse_bad_parameters(changed, error, word):
    X, y = visible_data(20)
    with pytest.raises(error, match=word):
        VisibleColumnsRegression(**changed).fit(X, y)


def test_counterexample_is_reproducible_and_plain():
    first, second = (lemma_4_3_counterexample(200, n=100, s=3, trials=3, seed=4) for _ in range(2))
    assert first == second
    assert first.unbiased_sum == pytest.approx(0.27)
    assert first.printed == pytest.approx(0.27 * math.log(200))
    signal, loss = first.signal.value, first.loss.value
    claimed = 0.27 * 4 * math.log(200 / 12) * (signal - math.sqrt(signal * loss))
    assert first.claimed.value == pytest.approx(claimed)
    private = lemma_4_3_counterexample(
        200, n=100, s=3, trials=3, seed=4, privacy=Approximate(1.0, 1e-6)
    )
    assert "epsilon=1" in json.loads(json.dumps(private.to_dict()))["privacy"]


@pytest.mark.parametrize(
    ("changed", "error", "word"),
    [
        ({"d": 20}, ValueError, "s must be below d/8"),
        ({"n": 0}, ValueError, "n must"),
        ({"trials": 1.5}, TypeError, "trials"),
        ({"sigma": -1.0}, ValueError, "sigma"),
        ({"confidence": 1.0}, ValueError, "confidence"),
        ({"privacy": Pure(1.0)}, TypeError, "privacy"),
        ({"threshold": -0.1}, ValueError, "threshold"),
        ({"threshold": math.nan}, ValueError, "threshold"),
    ],
)
def test_counterexample_refuses_bad_input(changed, error, word):
    with pytest.raises(error, match=word):
        lemma_4_3_counterexample(**{"d": 200, "n": 50, "s": 3, "trials": 2, **changed})
