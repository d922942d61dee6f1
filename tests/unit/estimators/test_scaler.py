"""The private scaler: what it releases, what it does to columns, and in a pipeline."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from estimators import NoisyGradientRegression, PrivateScaler
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated

LOUD = Gaussian(1e6)


def table(n: int = 2000) -> np.ndarray:
    return np.random.default_rng(3).normal([40.0, -3.0], [10.0, 0.5], (n, 2))


RANGES = [(0.0, 100.0), (-10.0, 10.0)]


def test_without_noise_columns_get_mean_0_and_deviation_1() -> None:
    X = table()
    scaled = PrivateScaler(LOUD, bounds=RANGES, random_state=0).fit_transform(X)
    assert scaled.mean(axis=0) == pytest.approx([0, 0], abs=1e-3)
    assert scaled.std(axis=0) == pytest.approx([1, 1], abs=1e-3)
    assert table().std(axis=0)[0] > 5  # as they came they had others


@pytest.mark.parametrize("budget", [Pure(1.0), Approximate(1.0, 1e-6), ZeroConcentrated(0.1)])
def test_the_ledger_composes_to_the_budget(budget: SpendablePrivacy) -> None:
    fit = PrivateScaler(budget, bounds=RANGES, random_state=0).fit(table())
    name, spent = next(iter(fit.privacy_.parameters.items()))
    assert spent <= budget.parameters[name] * (1 + 1e-9)
    assert spent >= budget.parameters[name] * 0.999


def test_values_outside_are_clipped_to_the_bounds_that_come_out() -> None:
    fit = PrivateScaler(LOUD, bounds=RANGES, random_state=0).fit(table())
    far = fit.transform([[1e300, 1e300], [-1e300, -1e300]])
    assert far == pytest.approx(fit.bounds_.T[::-1])


def test_a_constant_column_is_not_blown_up() -> None:
    X = table()
    X[:, 1] = 2.0
    fit = PrivateScaler(LOUD, bounds=RANGES, random_state=0).fit(X)
    assert fit.scale_[1] >= 1e-3 * 10
    assert np.abs(fit.transform(X)[:, 1]).max() < 1


def test_in_a_pipeline_the_ledgers_stay_apart() -> None:
    X = table()
    y = (X[:, 0] - 40) / 10
    scaler = PrivateScaler(ZeroConcentrated(0.3), bounds=RANGES, random_state=0)
    model = NoisyGradientRegression(ZeroConcentrated(0.2), sigma=0.5, random_state=0)
    made = make_pipeline(scaler, model).fit(X, y)
    spent = [step.privacy_.rho for step in made]
    assert spent == pytest.approx([0.3, 0.2])
