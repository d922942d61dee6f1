"""Attacks on a table of one's own, on plain functions, and under any prior."""

from __future__ import annotations

import numpy as np
import pytest

from attacks import (
    RegressionAttack,
    ResidualAttack,
    SupportAttack,
    TableAttack,
    TablePopulation,
    TopRegressionPrior,
    play,
)
from attacks.release import takes_data
from estimators import LeastSquares, NoisyMean, SampleMean
from minimax import ZeroConcentrated
from minimax.core.bound import Labelled
from minimax.methods.priors import (
    CosinePrior,
    RegressionBlockPrior,
    RegressionPrior,
    TwoLabelPrior,
)

ROWS = np.random.default_rng(1).exponential([1.0, 50.0], size=(300, 2))
LABELS = (ROWS[:, 0] + np.random.default_rng(2).normal(size=300) > 1).astype(float)
COSINE = CosinePrior(d=5, radius=1.0, sigma=1.0)


@pytest.mark.parametrize("kind", ["mean", "regression", "logistic"])
def test_scores_of_the_whole_table_average_to_zero(kind):
    y = {"mean": None, "regression": 3 * ROWS[:, 1] + LABELS, "logistic": LABELS}[kind]
    table = TablePopulation(kind, ROWS, y)
    whole = ROWS if y is None else Labelled(ROWS, y)
    scores = table.score_vectors(whole)
    assert np.abs(scores.mean(axis=0)).max() <= 1e-9 * np.abs(scores).max()
    np.testing.assert_allclose(table.covariance, scores.T @ scores / 300)


def test_units_do_not_matter():
    """A column in other units has the same scores."""
    table = TablePopulation("mean", ROWS)
    scaled = TablePopulation("mean", ROWS * [1.0, 1e6])
    release = ROWS[:40].mean(axis=0)
    first = TableAttack(table).scores(ROWS, release, table, None)
    second = TableAttack(scaled).scores(scaled.X, release * [1.0, 1e6], scaled, None)
    np.testing.assert_allclose(first, second)


def test_a_sample_mean_has_the_sum_d():
    table = TablePopulation("mean", ROWS)
    game = play(table, 50, SampleMean(), TableAttack(table), trials=400, seed=0, confidence=0.9999)
    assert game.member_sum.contains(2.0)
    assert not game.member_sum.contains(3.0)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("mean", ROWS[:, 0]), "rows and columns"),
        (("mean", np.full((4, 2), np.nan)), "finite"),
        (("mean", np.ones((4, 2))), "column 0"),
        (("mean", ROWS, LABELS), "y must be given"),
        (("regression", ROWS), "y must be given"),
        (("regression", ROWS, np.full(300, np.inf)), "y must hold finite"),
        (("logistic", ROWS, ROWS[:, 1]), "0 or 1"),
        (("logistic", ROWS - 20, (ROWS[:, 1] > 20).astype(float)), "separated"),
    ],
)
def test_tables_that_cannot_be_attacked(arguments, told):
    with pytest.raises(ValueError, match=told):
        TablePopulation(*arguments)


def averaged(X):
    return X.mean(axis=0)


def noisy(X, rng):
    return X.mean(axis=0) + rng.normal(size=X.shape[1])


def made(rng):
    return NoisyMean(ZeroConcentrated(0.5), R=3.0, random_state=rng)


def test_plain_functions_are_played():
    options = {"trials": 5, "seed": 3}
    attack = SupportAttack(1.0)
    plain = play(COSINE, 20, averaged, attack, **options)
    twin = play(COSINE, 20, SampleMean(), attack, **options)
    assert plain.loss.value == twin.loss.value
    assert play(COSINE, 20, noisy, attack, **options).loss.value > plain.loss.value
    assert play(COSINE, 20, made, attack, **options).privacy is not None
    assert [takes_data(f) for f in (averaged, noisy, made, np.mean)] == [True, True, False, True]


def test_a_regression_function_gets_rows_and_labels():
    def fit(data, rng):
        X, y = data
        return np.linalg.lstsq(X, y, rcond=None)[0]

    prior = RegressionPrior(d=3, radius=1.0, sigma=0.5)
    attack, options = RegressionAttack(prior), {"trials": 4, "seed": 1, "attribute": "coef_"}
    first = play(prior, 30, fit, attack, **options)
    assert first.loss.value == pytest.approx(
        play(prior, 30, LeastSquares(), attack, **options).loss.value
    )


def test_an_attack_for_another_dimension_is_refused():
    other = ResidualAttack(CosinePrior(d=7, radius=1.0, sigma=1.0))
    with pytest.raises(ValueError, match="dimension 7, the prior draws 5"):
        play(COSINE, 20, SampleMean(), other, trials=2, seed=0)


class Visible:
    """Least squares on a dense copy."""

    def fit(self, X, y):
        dense = X.toarray() if hasattr(X, "toarray") else X
        self.coef_ = np.linalg.lstsq(dense, y, rcond=None)[0]
        return self


@pytest.mark.parametrize(
    ("prior", "noise"),
    [
        (RegressionBlockPrior(6, 2, 0.3, 0.5), None),
        (TopRegressionPrior(d=30, s=3, sigma=0.5), None),
        (TwoLabelPrior(p=4, size=0.3, height=1.0), 1.0),
    ],
    ids=["blocks", "revealing", "two labels"],
)
def test_the_regression_attack_takes_any_prior(prior, noise):
    """Soundness holds, and members of a release without noise are told apart."""
    attack = RegressionAttack(prior, noise)
    game = play(
        prior, 40, Visible(), attack, trials=200, seed=5, attribute="coef_", confidence=1 - 1e-6
    )
    assert game.completeness is None
    assert game.outsider_mean.contains(0.0)
    assert game.outsider_abs.low <= game.soundness.high
    assert game.outsider_rms.low <= game.soundness.high
    assert game.member_sum.low > 0


def test_the_regression_attack_needs_to_know_the_noise():
    with pytest.raises(ValueError, match="noise must be given"):
        RegressionAttack(TwoLabelPrior(p=4, size=0.3, height=1.0))
    with pytest.raises(TypeError, match="prior must draw"):
        RegressionAttack(3)
