"""Clipped residuals in phases: options, sensitivity, ledger, what the phases compute."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from estimators import ResidualClippedRegression
from estimators.core.design import Design
from estimators.core.mechanisms import bisected_quantile
from estimators.core.symmetric import flat, unflat
from minimax.core.calibration import Allowance
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.problems.regression.problem import RegressionProblem

BETA = np.array([0.5, -0.3, 0.2])
GIVEN = {"row_bound": 1.0, "radius": 1.0, "sigma": 0.1}


def records(n: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, 3)) / math.sqrt(3)
    return X, X @ BETA + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"row_bound": None}, "row_bound must be given"),
        ({"radius": None}, "radius must be given"),
        ({"row_bound": -1.0}, "row_bound must be positive"),
        ({"radius": 0.0}, "radius must be positive"),
        ({"sigma": -0.1}, "sigma must be positive"),
        ({"second_moment": "known"}, "second_moment must be 'private', 'isotropic' or a matrix"),
        ({"second_moment": np.eye(2)}, r"second_moment must be a finite matrix of shape \(3, 3\)"),
        ({"second_moment": [["a"]]}, r"second_moment must be a finite matrix of shape \(3, 3\)"),
        ({"second_moment": -np.eye(3)}, "second_moment must be positive definite"),
        ({"second_moment": np.triu(np.ones((3, 3)))}, "second_moment must be symmetric"),
        (
            {"start": np.zeros(2)},
            r"start must have shape \(3,\), one entry per feature, got \(2,\)",
        ),
        ({"start": np.full(3, np.nan)}, "start must be finite"),
        ({"start": np.ones(3)}, "start must have l2 norm at most 1, got 1.73"),
    ],
)
def test_what_is_wrong_is_named_before_anything_is_drawn(
    options: dict[str, Any], text: str
) -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(ValueError, match=text):
        ResidualClippedRegression(**{**GIVEN, **options}, random_state=rng).fit(*records(50))
    assert rng.bit_generator.state == before


BUDGETS = [Pure(5.0), Approximate(1.0, 1e-6), ZeroConcentrated(0.5), Gaussian(1.0)]
ISOTROPIC = {**GIVEN, "second_moment": "isotropic"}
KINDS: list[dict[str, Any]] = [
    {"second_moment": "isotropic"},
    {"second_moment": "isotropic", "sigma": None},
    {},
    {"sigma": None},
    {"second_moment": np.diag([0.2, 0.3, 0.5]), "start": np.array([0.4, 0.0, 0.0])},
]


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
@pytest.mark.parametrize("options", KINDS, ids=lambda options: ", ".join(options) or "private")
def test_the_ledger_adds_up_to_the_budget(
    privacy: SpendablePrivacy, options: dict[str, Any]
) -> None:
    model = ResidualClippedRegression(privacy, **{**GIVEN, **options}, random_state=0)
    model.fit(*records())
    for name, value in privacy.parameters.items():
        assert model.privacy_.parameters[name] == pytest.approx(value, rel=1e-6), name
    assert np.linalg.norm(model.coef_) <= 1 + 1e-12
    shares = [phase.share for phase in model.plan_.phases]
    spent = model.plan_.second_moment_share + model.plan_.scale_share
    assert sum(shares) + spent == pytest.approx(1)
    assert str(model.plan_).count("phase") == len(shares)


def average(X: np.ndarray, y: np.ndarray, b: np.ndarray, c: float, bound: float, row: float) -> Any:
    design = Design(X)
    shorten = design.shortening(bound)
    weights = np.minimum(shorten, design.shortening(row))
    return design.clipped_correlation(y, b, shorten, weights, c)


def test_a_phase_sums_what_it_says_and_no_record_moves_it_further_than_its_sensitivity() -> None:
    rng, c, bound, row = np.random.default_rng(0), 0.3, 2.0, 1.5
    X, y, b = 3 * rng.standard_normal((40, 3)), 10 * rng.standard_normal(40), np.array([1.0, 2, -1])
    by_hand = np.zeros(3)
    for x, response in zip(X, y, strict=True):
        x = x * min(1, bound / np.linalg.norm(x))
        residual = np.clip(response - x @ b, -c, c)
        by_hand += residual * x * min(1, row / np.linalg.norm(x))
    assert average(X, y, b, c, bound, row) == pytest.approx(by_hand)
    assert average(sparse.csr_matrix(X), y, b, c, bound, row) == pytest.approx(by_hand)
    largest = 0.0
    for scale in (1e-3, 1.0, 1e6):
        for sign in (-1.0, 1.0):
            other, moved = X.copy(), y.copy()
            X[0], y[0] = scale * np.array([1.0, 0, 0]), 1e9
            other[0], moved[0] = scale * np.array([1.0, 0, 0]), sign * 1e9
            change = average(X, y, b, c, bound, row) - average(other, moved, b, c, bound, row)
            largest = max(largest, float(np.linalg.norm(change)))
    assert largest == pytest.approx(2 * c * row)


def test_the_norm_of_a_flat_matrix_is_its_own_and_opposite_rows_are_the_worst() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 4))
    A = A + A.T
    assert np.linalg.norm(flat(A)) == pytest.approx(np.linalg.norm(A))
    assert np.allclose(unflat(flat(A), 4), A)
    x, z = np.array([2.0, 0.0]), np.array([0.0, 2.0])
    assert np.linalg.norm(np.outer(x, x) - np.outer(z, z)) == pytest.approx(math.sqrt(2) * 4)
    rows = rng.standard_normal((500, 2, 3))
    rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    moved = [np.linalg.norm(np.outer(u, u) - np.outer(v, v)) for u, v in rows]
    assert max(moved) <= math.sqrt(2)


def test_units_do_not_matter() -> None:
    """X in other units, with row_bound and radius in them: the same coefficients in theirs."""
    X, y = records()
    for options in KINDS[:4]:
        given = {**GIVEN, **options, "random_state": 0}
        model = ResidualClippedRegression(ZeroConcentrated(0.1), **given).fit(X, y)
        scaled = {**given, "row_bound": 8.0, "radius": 1 / 8}
        other = ResidualClippedRegression(ZeroConcentrated(0.1), **scaled).fit(8 * X, y)
        assert other.coef_ * 8 == pytest.approx(model.coef_)
        assert other.plan_.risk == pytest.approx(model.plan_.risk)
        assert other.plan_.proven == pytest.approx(model.plan_.proven)


@pytest.mark.filterwarnings("ignore::estimators.core.base.PlanWarning")
def test_degenerate_data_release_something_finite() -> None:
    rng = np.random.default_rng(0)
    for X, y in (
        (np.ones((50, 4)), np.ones(50)),
        (rng.standard_normal((3, 9)), rng.standard_normal(3)),
        (np.zeros((20, 2)), np.zeros(20)),
        (rng.standard_normal((1, 1)), np.array([1e300])),
    ):
        for options in KINDS[:4]:
            model = ResidualClippedRegression(**{**GIVEN, **options}, random_state=0).fit(X, y)
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.noise_covariance_).all()


def test_a_start_and_a_found_scale_serve() -> None:
    X, y = records(50_000)
    near = ResidualClippedRegression(
        ZeroConcentrated(0.01), **GIVEN, start=BETA, random_state=0
    ).fit(X, y)
    found = ResidualClippedRegression(
        ZeroConcentrated(0.01), row_bound=1.0, radius=1.0, random_state=0
    ).fit(X, y)
    assert np.abs(near.coef_ - BETA).max() < 0.02
    assert np.abs(found.coef_ - BETA).max() < 0.02
    assert found.sigma_ == pytest.approx(0.1, rel=0.15)


def test_a_bisected_quantile_is_near_and_its_budget_is_divided() -> None:
    rng = np.random.default_rng(0)
    sizes = np.abs(rng.standard_normal(20_000)) * 3
    for budget in (Allowance(Gaussian, {"mu": 1.0}), Allowance(Pure, {"epsilon": 1.0})):
        level, entry = bisected_quantile(
            sizes, 0.6827, low=1e-6, high=1e6, queries=8, privacy=budget, rng=rng
        )
        assert level == pytest.approx(3, rel=0.1)
        assert entry.count == 8
        spent = entry.guarantees[0].parameters
        each = spent["mu"] ** 2 if "mu" in spent else spent["epsilon"]
        assert 8 * each == pytest.approx(1)


def test_the_bound_is_that_of_the_plan_and_is_refused_elsewhere() -> None:
    problem = RegressionProblem(2000, 3, 0.1)
    model = ResidualClippedRegression(ZeroConcentrated(0.1), **ISOTROPIC, random_state=0)
    bound = model.risk_bound(problem)
    assert model.fit(*records()).plan_.proven == pytest.approx(bound.value(), rel=1e-6)
    again = ResidualClippedRegression(ZeroConcentrated(0.1), **bound.keywords())
    assert again.risk_bound(problem).value() == bound.value()
    with pytest.raises(ValueError, match="covers second_moment='isotropic', got 'private'"):
        ResidualClippedRegression(**GIVEN).risk_bound(problem)
    for options, text in (
        ({"second_moment": np.eye(3) / 3}, "covers second_moment='isotropic', got 'a matrix'"),
        ({"sigma": None}, "covers a sigma that is given, got sigma=None"),
        ({"start": BETA}, "covers start=None"),
        ({"sigma": 1.0}, "sigma must be that of the problem"),
    ):
        with pytest.raises(ValueError, match=text):
            ResidualClippedRegression(**{**ISOTROPIC, **options}).risk_bound(problem)
