"""SparseResidualClippedRegression: what it spends and what it finds."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats

from estimators import PrivateHardThresholding, SparseResidualClippedRegression, sparse_phases
from estimators.core import mechanisms
from estimators.core.accounting import compose
from estimators.core.base import PlanWarning
from minimax.core.calibration import Allowance, selection_epsilon
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Pure,
    SpendablePrivacy,
    ZeroConcentrated,
)
from minimax.methods.selection_plan import missed_square

BUDGETS = [Pure(2.0), Approximate(1.0, 1e-6), ZeroConcentrated(0.1), Gaussian(0.5)]
S, D, N = 3, 40, 4_000


def made(privacy: SpendablePrivacy, **options: Any) -> SparseResidualClippedRegression:
    given = {"s": S, "entry_bound": 1.0, "radius": 1.0, "sigma": 0.1, "random_state": 0}
    return SparseResidualClippedRegression(privacy, **{**given, **options})


def data(n: int = N, d: int = D, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, d))
    beta = np.zeros(d)
    beta[[1, 5, 7]] = 0.6, -0.5, 0.4
    return X, X @ beta + 0.1 * rng.standard_normal(n), beta


# --- What is spent --------------------------------------------------------------------------------


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
@pytest.mark.parametrize("sigma", [0.1, None])
@pytest.mark.parametrize("moment", ["private", "isotropic"])
def test_every_path_spends_the_budget(
    privacy: SpendablePrivacy, sigma: float | None, moment: str
) -> None:
    """Coefficients that are settled early, and responses of noise alone, cost the same."""
    X, y, _ = data()
    noise = np.random.default_rng(1).standard_normal(N)
    model = made(privacy, sigma=sigma, second_moment=moment)
    found = [model.fit(X, response).privacy_.parameters for response in (y, noise)]
    for name, value in privacy.parameters.items():
        assert found[0][name] == pytest.approx(found[1][name], rel=1e-9)
        assert found[0][name] <= value * (1 + 1e-9)
        if name != "epsilon" or isinstance(privacy, Pure):
            assert found[0][name] == pytest.approx(value, rel=1e-9)


def test_settled_coefficients_are_not_chosen_again() -> None:
    X, y, _ = data(40_000)
    rounds = [
        e.count for e in made(ZeroConcentrated(1.0)).fit(X, y).ledger_ if e.about == "support"
    ]
    assert rounds[0] == S
    assert sum(rounds) == S
    noise = np.random.default_rng(1).standard_normal(40_000)
    ledger = made(ZeroConcentrated(1.0)).fit(X, noise).ledger_
    again = [entry.count for entry in ledger if entry.about == "support"]
    assert sum(again) > sum(rounds)  # a control: nothing is settled in noise


def lowest_gap(epsilon: float, mu: float) -> float:
    """Over pairs whose log-ratios lie in [t - epsilon, t], all t: the trade-off less Gaussian's."""
    alpha = np.linspace(1e-6, 1 - 1e-6, 2001)
    gaussian = stats.norm.cdf(stats.norm.isf(alpha) - mu)
    lines = (
        np.maximum(1 - math.exp(t) * alpha, math.exp(t - epsilon) * (1 - alpha))
        for t in np.linspace(0, epsilon, 41)
    )
    return float(min(np.min(line - gaussian) for line in lines))


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
@pytest.mark.parametrize("rounds", [1, 7])
def test_rounds_add_up_to_their_part(privacy: SpendablePrivacy, rounds: int) -> None:
    model = ZeroConcentrated if isinstance(privacy, Approximate) else type(privacy)
    spent = privacy.to_zcdp() if isinstance(privacy, Approximate) else privacy
    part = Allowance(type(spent), spent.parameters)
    epsilon = selection_epsilon(model, part, rounds)
    _, entry = mechanisms.gumbel_top_k(
        np.zeros(9), rounds, sensitivity=1.0, epsilon=epsilon, rng=np.random.default_rng(0)
    )
    if model is Gaussian:
        mu = spent.parameters["mu"] / math.sqrt(rounds)
        assert lowest_gap(epsilon, mu) >= -1e-12
        assert lowest_gap(1.01 * epsilon, mu) < -1e-6  # no larger epsilon would do
        return
    total = compose((entry,), model)
    assert total.parameters == pytest.approx(spent.parameters)


# --- What it finds --------------------------------------------------------------------------------


def test_it_finds_what_is_there_and_beats_clipped_responses() -> None:
    X, y, beta = data(40_000)
    ours = made(ZeroConcentrated(1e-3)).fit(X, y)
    assert ours.support_.tolist() == [1, 5, 7]
    theirs = PrivateHardThresholding(
        ZeroConcentrated(1e-3), s=S, entry_bound=1.0, sigma=0.1, random_state=0
    ).fit(X, y)
    error = [float(np.sum((m.coef_ - beta) ** 2)) for m in (ours, theirs)]
    assert error[0] < error[1] / 10


def test_sparse_and_dense_rows_are_the_same_fit() -> None:
    X, y, _ = data()
    X[np.random.default_rng(3).random(X.shape) < 0.7] = 0.0
    dense, csr = (made(ZeroConcentrated(10.0)).fit(Z, y) for Z in (X, sparse.csr_matrix(X)))
    assert dense.support_.tolist() == csr.support_.tolist()
    assert dense.coef_ == pytest.approx(csr.coef_)


def test_the_scale_that_is_found_is_that_of_the_noise() -> None:
    X, y, beta = data(40_000)
    model = made(ZeroConcentrated(0.1), sigma=None).fit(X, y)
    assert model.sigma_ == pytest.approx(0.1, rel=0.1)
    assert float(np.sum((model.coef_ - beta) ** 2)) < 1e-4


def test_all_coordinates_need_no_choice() -> None:
    X, y, _ = data(d=8)
    model = made(ZeroConcentrated(1.0), s=8).fit(X, y)
    assert all(entry.about != "support" for entry in model.ledger_)
    assert model.privacy_.parameters["rho"] == pytest.approx(1.0)


def test_the_chance_to_miss_is_that_of_gumbel_noise() -> None:
    """sup beta^2 P(miss) by drawing the noise; the formula is no bound, but near."""
    rng, others, scale = np.random.default_rng(0), 95, 0.3
    highest = scale * (rng.gumbel(size=200_000) + math.log(others)) - scale * rng.gumbel(
        size=200_000
    )
    sizes = np.linspace(0.1, 4, 60)
    drawn = max(b**2 * np.mean(highest > b) for b in sizes)
    assert missed_square(scale, 0.0, others) == pytest.approx(drawn, rel=0.35)
    assert missed_square(scale, 0.0, others) >= drawn
    assert missed_square(scale, 0.0, 0) == 0.0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"entry_bound": None}, "entry_bound"),
        ({"radius": None}, "radius"),
        ({"second_moment": "diagonal"}, "second_moment"),
        ({"second_moment": -1.0}, "second_moment"),
        ({"second_moment": 1.1}, "second_moment must be at most entry_bound"),
        ({"entry_bound": -1.0}, "entry_bound"),
        ({"radius": 0.0}, "radius"),
        ({"s": 0}, "s must"),
        ({"sigma": 0.0}, "sigma"),
        ({"s": D + 1}, "s must"),
        ({"start": np.ones(D) / 100}, "start"),
        ({"start": np.eye(D)[0] * 2}, "start"),
        ({"start": np.ones(3)}, "start"),
    ],
)
def test_errors_name_the_parameter(options: dict[str, Any], named: str) -> None:
    """Before any noise is drawn: the generator is as it was."""
    X, y, _ = data(200)
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(ValueError, match=named):
        made(ZeroConcentrated(1.0), random_state=rng, **options).fit(X, y)
    assert rng.bit_generator.state == before


@pytest.mark.parametrize("options", [{}, {"sigma": None}, {"second_moment": "isotropic"}], ids=str)
def test_too_few_records_are_warned_of_by_public_numbers(options: dict[str, Any]) -> None:
    X, y, _ = data(100)
    message = "n = 100 is too small to choose 3 of 40 features with this budget: the plan's risk"
    found = []
    for response in (y, 1e6 * y):  # the same words whatever the records are
        with pytest.warns(PlanWarning, match=message) as caught:
            made(ZeroConcentrated(0.01), **options).fit(X, response)
        found.append(str(caught[0].message))
    assert found[0] == found[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made(ZeroConcentrated(100.0), **options).fit(X, y)


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
@pytest.mark.filterwarnings("ignore::estimators.core.base.PlanWarning")
def test_columns_and_responses_without_information(privacy: SpendablePrivacy) -> None:
    """Constant, repeated and empty columns, more columns than rows, responses all equal."""
    X, _, _ = data(30)
    X[:, 0], X[:, 1], X[:, 2] = 1.0, X[:, 3], 0.0
    fitted = made(privacy).fit(X, np.full(30, 2.0))
    assert np.isfinite(fitted.coef_).all()
    assert np.linalg.norm(fitted.coef_) <= 1 + 1e-12
    assert np.count_nonzero(fitted.coef_) <= S


def test_the_second_moment_is_that_of_the_columns_that_are_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two that are nearly the same first, and then of two that have nothing to do with them."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (4_000, 6))
    X[:, 1] = np.where(rng.random(4_000) < 0.9, X[:, 0], -X[:, 0])
    choices = []

    def fitted(first: list[int]) -> SparseResidualClippedRegression:
        turns = itertools.chain([first], itertools.repeat([2, 3]))

        def chosen(self: Any, total: Any, phase: Any) -> np.ndarray:
            original(self, total, phase)
            choices.append(next(turns))
            return np.array(choices[-1])

        monkeypatch.setattr(sparse_phases.SparseRun, "_chosen", chosen)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlanWarning)
            return made(ZeroConcentrated(1e3), s=2).fit(X, 0.1 * rng.standard_normal(4_000))

    original = sparse_phases.SparseRun._chosen
    monkeypatch.setattr(sparse_phases.SparseRun, "_settle", lambda self, phase: None)
    moved, stayed = fitted([0, 1]), fitted([2, 3])
    assert choices.count([2, 3]) >= 3
    for model in (moved, stayed):
        assert model.support_.tolist() == [2, 3]
        assert abs(model.second_moment_[0, 1]) < 0.2 < abs(np.mean(X[:, 0] * X[:, 1]))
