"""FrankWolfeMean: hand values, the law of a step, its optimum, the ledger, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn.utils.estimator_checks import check_estimator

from estimators import FrankWolfeMean, PrivateFrankWolfe
from estimators.core.accounting import compose, delta_at
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated

BUDGET = Approximate(1.0, 1e-6)
QUIET = Pure(1e9)
GOOD = np.random.default_rng(0).uniform(-1, 1, (60, 3))
LEVEL = 1e-6


@pytest.mark.parametrize(
    "model",
    [
        FrankWolfeMean(R=2.0, steps=5),
        FrankWolfeMean(Pure(1.0), R="percentiles", selection="laplace", steps=5),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(model: Any) -> None:
    check_estimator(model)


# --- the algorithm


def test_first_steps_by_hand() -> None:
    X = np.array([[3.0, 0.0], [1.0, -0.5]])
    model = FrankWolfeMean(QUIET, l1_radius=3.0, R=2.0, steps=2, random_state=0).fit(X)
    # Clipped mean (1.5, -.25). First +3 e_1 with weight 2/3: b = (2, 0), gradient (.5, .25); then
    # -3 e_1 with weight 1/2.
    assert model.mean_.tolist() == pytest.approx([-0.5, 0.0])
    (entry,) = model.ledger_
    assert (entry.count, entry.about) == (2, "vertex")
    assert entry.sensitivity == 2 * 2.0 * 3.0 / 2
    assert (model.R_, model.n_iter_) == (2.0, 2)


@pytest.mark.parametrize("selection", ["exponential", "laplace"])
@pytest.mark.parametrize("K", [0.5, 2.0])
def test_it_tends_to_the_nearest_point_of_the_ball(selection: Any, K: float) -> None:
    X = np.random.default_rng(1).normal([0.7, -0.3, 0.1, 0.0, 0.0], 1.0, (400, 5))
    mean = np.clip(X, -2, 2).mean(axis=0)
    nearest = l1_projection(mean, K)
    options: dict[str, Any] = {"l1_radius": K, "R": 2.0, "selection": selection, "steps": 3000}
    found = FrankWolfeMean(QUIET, random_state=0, **options).fit(X).mean_
    assert np.abs(found).sum() <= K * (1 + 1e-12)
    # What is proved, |b - mean|^2 <= |nearest - mean|^2 + 16 K^2/(T + 2).
    assert np.sum((found - mean) ** 2) <= np.sum((nearest - mean) ** 2) + 16 * K**2 / 3002
    np.testing.assert_allclose(found, nearest, atol=0.03 * K)
    noisy = FrankWolfeMean(Pure(0.1), random_state=0, **options).fit(X).mean_
    assert np.abs(noisy - nearest).max() > 0.1 * K


def l1_projection(point: np.ndarray, K: float) -> np.ndarray:
    """By the threshold of soft thresholding that has norm K."""
    if np.abs(point).sum() <= K:
        return point

    def excess(t: float) -> float:
        return float(np.maximum(np.abs(point) - t, 0).sum() - K)

    t = optimize.brentq(excess, 0, float(np.abs(point).max()))
    return np.asarray(np.sign(point) * np.maximum(np.abs(point) - t, 0))


def test_it_is_a_regression_on_the_identity() -> None:
    """y = sum of n records times e_j: the same gradient, and with the same noise the same path."""
    X = np.clip(GOOD, -0.5, 0.5)
    total = X.sum(axis=0)
    mean = FrankWolfeMean(Pure(4.0), R=0.5, steps=9, random_state=3).fit(X)
    # |b - m|^2/2 is the squared loss of d records e_j sqrt(d) with y_j = m_j sqrt(d).
    root = math.sqrt(3)
    regression = PrivateFrankWolfe(Pure(4.0), entry_bound=root, R=root, steps=9, random_state=3)
    scaled = total / 60 * root
    sensitivity = 2 * root * (root + root) / 3  # of its ledger, 4; that of the mean is 1/60
    loud = regression.set_params(privacy=Pure(4.0 * sensitivity * 60)).fit(np.eye(3) * root, scaled)
    np.testing.assert_allclose(mean.mean_, loud.coef_, atol=1e-12)
    other = regression.set_params(privacy=Pure(4.0)).fit(np.eye(3) * root, scaled)
    assert np.abs(mean.mean_ - other.coef_).max() > 0.01


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_a_step_picks_vertices_by_the_exponential_law(factor: float) -> None:
    """P(v) is proportional to exp(-eps <v, b - mean>/(2 sensitivity)); at twice the eps it is not
    that."""
    X = np.array([[0.6, 0.1], [0.2, -0.7], [0.4, -0.3]])
    mean, K, R, epsilon, trials = X.mean(axis=0), 1.5, 1.0, 2.0, 2000
    rng = np.random.default_rng(7)
    model = FrankWolfeMean(Pure(epsilon * factor), l1_radius=K, R=R, steps=1, random_state=rng)
    signs = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
    picked = np.array([model.fit(X).mean_ for _ in range(trials)]) @ signs.T
    counts = np.bincount(picked.argmax(axis=1), minlength=4)
    weights = np.exp(epsilon * K * signs @ mean / (2 * 2 * R * K / 3))
    p = stats.chisquare(counts, trials * weights / weights.sum()).pvalue
    assert (p > LEVEL) == (factor == 1.0)


def test_the_number_of_steps_grows_with_the_records() -> None:
    steps = [
        FrankWolfeMean(BUDGET, R=1.0, random_state=0).fit(np.zeros((n, 2))).n_iter_
        for n in (10, 1_000, 100_000)
    ]
    assert steps[0] < 10 < steps[1] < steps[2] <= 1000


def test_a_start_is_left_by_two_thirds() -> None:
    start = np.array([0.25, -0.5, 0.0])
    model = FrankWolfeMean(QUIET, R=1.0, steps=1, start=start, random_state=0).fit(GOOD)
    away = model.mean_ - start / 3
    downhill = GOOD.mean(axis=0) - start
    assert np.argmax(np.abs(away)) == np.argmax(np.abs(downhill))
    assert np.abs(away).max() == pytest.approx(2 / 3)
    np.testing.assert_array_equal(start, [0.25, -0.5, 0.0])


# --- privacy


@pytest.mark.parametrize("R", [1.0, "quantile", "percentiles"])
@pytest.mark.parametrize("selection", ["exponential", "laplace"])
@pytest.mark.parametrize(
    "budget", [BUDGET, Pure(0.5), ZeroConcentrated(0.1), Approximate(3.0, 1e-3)], ids=str
)
def test_no_more_than_the_budget_is_spent(budget: SpendablePrivacy, selection: Any, R: Any) -> None:
    model = FrankWolfeMean(budget, R=R, steps=12, selection=selection, random_state=0).fit(GOOD)
    delta = budget.delta if isinstance(budget, Approximate) else None
    assert compose(model.ledger_, type(budget), delta) == model.privacy_
    for name, number in budget.parameters.items():
        assert 0.4 * number < model.privacy_.parameters[name] <= number * (1 + 1e-9)
    twice = compose(model.ledger_ * 2, type(budget), delta).parameters
    assert any(twice[name] > number for name, number in budget.parameters.items())


def test_the_printed_noise_tells_what_it_gives() -> None:
    model = FrankWolfeMean(
        BUDGET, R=1.0, steps=30, selection="laplace", calibration="paper", random_state=0
    ).fit(GOOD)
    # Half the sensitivity 2 R K/n, times sqrt(8 T log(1/delta))/eps.
    assert model.selection_scale_ == pytest.approx(math.sqrt(8 * 30 * math.log(1e6)) / 60)
    assert model.privacy_.epsilon == 1.0
    assert model.privacy_.delta == pytest.approx(delta_at(model.ledger_, 1.0))
    rho = 30 * (4 / math.sqrt(8 * 30 * math.log(1e6))) ** 2 / 2
    by_concentration = ZeroConcentrated(rho).to_approximate(1e-6).epsilon
    assert 1.0 < compose(model.ledger_, Approximate, 1e-6).epsilon <= by_concentration


# --- bad input: named, and before any noise


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"privacy": Gaussian(1.0)}, "privacy must"),
        ({"privacy": 1.0}, "privacy must"),
        ({"l1_radius": 0.0}, "l1_radius must"),
        ({"R": -1.0}, "R must"),
        ({"R": "auto"}, "R must be a number or one of"),
        ({"R": "theory"}, "sigma must be given for R='theory'"),
        ({"R": "quantile"}, "steps must be given for R='quantile'"),
        ({"R": "percentiles"}, "steps must be given for R='percentiles'"),
        ({"steps": 0}, "steps must"),
        ({"steps": "many"}, "steps must"),
        ({"selection": "best"}, "selection must"),
        ({"calibration": "exact"}, "calibration must"),
        ({"calibration": "paper"}, "needs selection='laplace'"),
        ({"range_share": 1.0}, "range_share must"),
        ({"start": np.ones(3)}, "start must have l1 norm at most 1"),
        ({"start": np.zeros(2)}, "start must have shape"),
        ({"random_state": "x"}, "random_state"),
    ],
    ids=str,
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    model = FrankWolfeMean(**{"R": 1.0, "random_state": rng, **options})
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(GOOD)
    assert rng.bit_generator.state == before
    assert not hasattr(model, "mean_")
