"""Clipped residuals on tables that are hard, too small or wrong: what is said, and when."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from estimators import ResidualClippedRegression
from estimators.core.base import PlanWarning
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated

GIVEN = {"row_bound": 1.0, "radius": 1.0, "sigma": 0.1}
BETA = np.array([0.5, -0.3, 0.2])
LOUD = ZeroConcentrated(1.0)
FEW = r"n = (\d+) is too small for 3 features and this budget: the plan's risk .* about ([\d.e+-]+)"


def table(n: int = 20_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3)) / np.sqrt(3)
    return X, X @ BETA + 0.1 * rng.standard_normal(n)


def quiet(privacy: SpendablePrivacy, X: Any, y: Any, **options: Any) -> ResidualClippedRegression:
    """A fit during which nothing is warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return ResidualClippedRegression(privacy, **{**GIVEN, "random_state": 0, **options}).fit(
            X, y
        )


KINDS: list[dict[str, Any]] = [
    {},
    {"sigma": None},
    {"second_moment": "isotropic"},
    {"second_moment": np.eye(3) / 9},
]
NAMES = ["private", "sigma found", "isotropic", "given"]


@pytest.mark.parametrize("options", KINDS, ids=NAMES)
@pytest.mark.parametrize("privacy", [Pure(1.0), Approximate(1.0, 1e-6), Gaussian(0.3)], ids=str)
def test_too_few_records_are_told_with_the_risk_of_the_plan(
    privacy: SpendablePrivacy, options: dict[str, Any]
) -> None:
    X, y = table(8)
    told = []
    for rows, responses in ((X, y), (1e6 * X, y), (np.zeros_like(X), np.full(8, 1e300))):
        with pytest.warns(PlanWarning, match=FEW) as found:
            model = ResidualClippedRegression(
                privacy, **{**GIVEN, "random_state": 0, **options}
            ).fit(rows, responses)
        assert {warning.filename for warning in found} == {__file__}  # where fit was called
        assert np.linalg.norm(model.coef_) <= 1 + 1e-12
        told.append(str(found[0].message))
    assert len(set(told)) == 1  # by public numbers alone
    quiet(privacy, *table(20_000), **options)


def test_the_risk_that_is_told_falls_to_that_of_the_start_as_records_come() -> None:
    risks, n = [], 20
    while True:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = ResidualClippedRegression(ZeroConcentrated(0.01), **GIVEN, random_state=0)
            model.fit(*table(n))
        if not told:
            break
        found = re.search(FEW, str(told[0].message))
        assert found
        assert int(found[1]) == n
        risks.append(float(found[2]))
        n *= 2
    assert len(risks) > 2
    assert risks == sorted(risks, reverse=True)
    assert risks[-1] >= 1 / 9  # E<x, beta>^2 of the rows that are assumed: row_bound^2/(3 d)
    assert n < 5_000


def test_more_features_than_records_are_told() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-0.1, 0.1, (50, 80)), rng.standard_normal(50)
    with pytest.warns(PlanWarning, match="n = 50 is too small for 80 features"):
        model = ResidualClippedRegression(Gaussian(1e6), **GIVEN, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()


def degenerate() -> dict[str, np.ndarray]:
    X, _ = table()
    return {
        "a column of zeros": X * [1, 1, 0],
        "a constant column": np.column_stack([X[:, :2], np.full(len(X), 0.5)]),
        "a column twice": X[:, [0, 1, 1]],
    }


@pytest.mark.parametrize("name", degenerate())
@pytest.mark.parametrize("sigma", [0.1, None])
@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_columns_that_tell_nothing_cost_nothing(
    name: str, sigma: float | None, layout: Any
) -> None:
    """Predictions are as good as if all was well; the coefficients stay in their ball."""
    X = degenerate()[name]
    y = X @ BETA + 0.1 * np.random.default_rng(1).standard_normal(len(X))
    model = quiet(LOUD, layout(X), y, sigma=sigma)
    assert np.mean((X @ (model.coef_ - BETA)) ** 2) < 1e-4 < np.mean((X @ BETA) ** 2) / 100
    assert np.linalg.norm(model.coef_) <= 1 + 1e-12
    assert np.isfinite(model.noise_covariance_).all()


@pytest.mark.parametrize("level", [0.0, 0.3, 1e300])
@pytest.mark.parametrize("options", KINDS, ids=NAMES)
def test_equal_responses_are_responses(level: float, options: dict[str, Any]) -> None:
    X, y = table()
    same, other = (quiet(LOUD, X, r, **options) for r in (np.full(len(X), level), y))
    assert np.isfinite(same.coef_).all()
    assert same.privacy_ == other.privacy_
    if level < 1:
        assert np.mean((X @ same.coef_) ** 2) < 1e-3
        assert np.mean((X @ other.coef_) ** 2) > 1e-2


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("options", KINDS, ids=NAMES)
@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_what_is_not_finite_is_refused_before_anything_is_drawn(
    entry: float, options: dict[str, Any], layout: Any
) -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    X, y = table(3_000)
    X[2_000, 1] = entry
    what = "NaN" if np.isnan(entry) else "infinity"
    with pytest.raises(ValueError, match=f"Input X contains {what}"):
        quiet(LOUD, layout(X), y, random_state=rng, **options)
    assert rng.bit_generator.state == before


def test_too_many_features_are_refused_before_anything_is_computed() -> None:
    X = sparse.csr_array((20, 10**5))
    with pytest.raises(ValueError, match="X has 100000 features: X'X alone would need"):
        quiet(LOUD, X, np.zeros(20))


def test_huge_entries_are_shortened_like_others() -> None:
    """A record of 1e300 moves what it would at 1e3: to the bound and no further."""
    X, y = table()
    found = []
    for size in (1e3, 1e99, 1e300):
        X[7] = size, 0, 0
        found.append(quiet(LOUD, X, y).coef_)
    assert found[1] == pytest.approx(found[0], rel=1e-9)
    assert found[2] == pytest.approx(found[0], rel=1e-9)
