"""The label game: what one report can keep, against all channels; scores by hand; bad input."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from attacks.game import play
from attacks.local_regression import (
    LabelAttack,
    PublicDesignPrior,
    local_ceiling,
    reported_share,
)
from estimators import LeastSquares
from minimax.core.bound import Labelled
from minimax.core.privacy import Approximate, Gaussian, Pure, Renyi, ZeroConcentrated
from minimax.methods.divergences import staircase_supremum
from minimax.methods.priors import RegressionPrior

PRIOR = RegressionPrior(d=3, radius=1.0, sigma=0.5)


def kept(values: np.ndarray, epsilon: float) -> float:
    """The largest E|E[v|report]|^2/E|v|^2 over all epsilon-LDP channels, v uniform on the rows."""

    def column(chances: np.ndarray) -> np.ndarray:
        means = chances @ values / len(values)
        return np.sum(means**2, axis=1) / chances.mean(axis=1)

    best = staircase_supremum(column, len(values), epsilon)
    return best / float(np.mean(np.sum(values**2, axis=1)))


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 2.0, 5.0])
def test_share_of_a_label_is_sharp(epsilon: float) -> None:
    share = reported_share(Pure(epsilon, scope="label"), 7)
    assert kept(np.array([[-1.0], [1.0]]), epsilon) == pytest.approx(share, rel=1e-6)
    many = np.linspace(-1, 1, 7)[:, None]
    assert 0.5 * share < kept(many, epsilon) <= share * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 2.0, 5.0])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_share_of_a_record_bounds_all_channels(epsilon: float, d: int) -> None:
    """v = w x, w and the coordinates of x independent signs: 2^d values."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=d)))
    best = kept(signs, epsilon)
    share = reported_share(Pure(epsilon, scope="local"), d)
    assert best <= share * (1 + 1e-9)
    if epsilon == 0.1:
        assert best > 0.9 * share  # sharp for small epsilon
    if d == 3 and epsilon < 1:
        assert best < 0.5 * reported_share(Pure(epsilon, scope="label"), d)


def test_share_under_other_definitions() -> None:
    for budget, expected in {
        ZeroConcentrated(0.3, scope="label"): 1 - math.exp(-0.3),
        Gaussian(0.8, scope="label"): 1 - math.exp(-0.16),
        Approximate(1.0, 0.1, scope="label"): 1 - (0.9 / math.cosh(0.5)) ** 2,
        Approximate(1.0, 1e-15, scope="label"): math.tanh(0.5) ** 2,
        Pure(1e4, scope="local"): 1.0,
    }.items():
        assert reported_share(budget, 5) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"privacy.scope must be 'local' or 'label'"):
        reported_share(Pure(1.0), 5)
    with pytest.raises(TypeError, match="no contraction"):
        reported_share(Renyi(2.0, 1.0, scope="label"), 5)


@pytest.mark.parametrize("epsilon", [1e-12, 1e-9, 1e-7])
def test_share_of_a_small_epsilon_does_not_cancel(epsilon: float) -> None:
    """A ceiling of zero would be passed by every channel that keeps anything."""
    share = reported_share(Pure(epsilon, scope="label"), 5)
    assert share == pytest.approx(epsilon**2 / 4, rel=1e-6)
    tiny = reported_share(Approximate(epsilon, 1e-20, scope="label"), 5)
    assert tiny == pytest.approx(epsilon**2 / 4 + 2e-20, rel=1e-6)


def test_leaking_channel_keeps_what_its_share_says() -> None:
    """A sign revealed with chance delta, else by randomised response: (epsilon, delta)-LDP."""
    epsilon, delta = 0.5, 0.2
    real = delta + (1 - delta) * math.tanh(epsilon / 2) ** 2
    share = reported_share(Approximate(epsilon, delta, scope="label"), 1)
    assert real <= share
    assert share < 2 * real


def test_scores_by_hand_and_shared_rows() -> None:
    prior = PublicDesignPrior(PRIOR, 5)
    rng = np.random.default_rng(0)
    instance = prior.draw(rng)
    first, second = instance.sample(5, rng), instance.sample(5, rng)
    assert np.array_equal(first.X, second.X)
    assert not np.any(first.y == second.y)
    attack, release = LabelAttack(PRIOR), np.array([1.0, -1.0, 0.5])
    error = release - instance.target
    scores = attack.scores(first, release, instance, first)
    residual = first.y - first.X @ instance.target
    assert scores == pytest.approx(residual * (first.X @ error))
    assert attack.spread(release, instance, 5) == pytest.approx(np.mean((first.X @ error) ** 2))
    assert instance.loss(release) == pytest.approx(error @ error / 3)


def test_bad_input_is_refused_by_name() -> None:
    instance = PublicDesignPrior(PRIOR, 5).draw(np.random.default_rng(0))
    with pytest.raises(ValueError, match="n must be the number of public rows, 5, got 6"):
        instance.sample(6, np.random.default_rng(0))
    with pytest.raises(TypeError, match="prior must be a RegressionPrior"):
        LabelAttack(PublicDesignPrior(PRIOR, 5))  # type: ignore[arg-type]
    fresh_rows = PRIOR.draw(np.random.default_rng(0))
    with pytest.raises(TypeError, match="needs a PublicDesignPrior"):
        LabelAttack(PRIOR).spread(np.zeros(3), fresh_rows, 5)
    with pytest.raises(TypeError, match="records must be Labelled"):
        LabelAttack(PRIOR).scores(np.zeros((5, 3)), np.zeros(3), instance, instance)
    result = play(
        PublicDesignPrior(PRIOR, 9),
        9,
        LeastSquares(),
        LabelAttack(PRIOR),
        trials=3,
        seed=0,
        attribute="coef_",
    )
    with pytest.raises(ValueError, match="privacy must be given"):
        local_ceiling(result, LabelAttack(PRIOR))
    assert isinstance(instance.sample(5, np.random.default_rng(0)), Labelled)
