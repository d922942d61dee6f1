"""The surplus of records: mean 0 for every kind that has one, and a narrower interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from estimators.controls.mean import SampleMean
from estimators.controls.regression import IterativeHardThresholding
from estimators.logistic import PlannedLogisticRegression
from estimators.residual_clipped import ResidualClippedRegression
from minimax.core.bound import Instance
from minimax.core.privacy import ZeroConcentrated
from minimax.methods.priors import (
    GaussianInstance,
    LinearInstance,
    LogisticInstance,
    SignInstance,
)
from verify.rates.claims import all_claims
from verify.rates.draws import given
from verify.rates.known_noise import adjusted
from verify.rates.known_sampling import sampling_surplus
from verify.rates.measure import losses_with_noise

TARGET = np.array([0.3, 0.0, -0.5, 0.2])
LINEAR = LinearInstance(TARGET, 0.7, 0.5)
LOGISTIC = LogisticInstance(2 * TARGET, 0.5)
PRIVATE: dict[str, Any] = {"privacy": ZeroConcentrated(1.0)}
BOUNDS = {"row_bound": 1.0, "radius": 1.0, "sigma": 0.7, "second_moment": "isotropic"}
DRAWN: dict[str, tuple[Instance, Callable[[], Any], int]] = {
    "mean": (GaussianInstance(TARGET, 1.7), lambda: None, 20),
    "rows": (LINEAR, lambda: None, 40),
    "sorted rows": (LINEAR, lambda: ResidualClippedRegression(**PRIVATE, **BOUNDS), 100),
    "mean labels": (LINEAR, lambda: IterativeHardThresholding(s=2), 100),
    "bits": (LOGISTIC, lambda: None, 40),
    "counted bits": (LOGISTIC, lambda: PlannedLogisticRegression(**PRIVATE), 300),
}


@pytest.mark.parametrize("name", DRAWN)
def test_it_has_mean_zero(name: str) -> None:
    instance, make, n = DRAWN[name]
    rng = np.random.default_rng(0)
    found = [sampling_surplus(instance, given(make(), instance, n, rng)) for _ in range(4000)]
    error = float(np.std(found)) / math.sqrt(len(found))
    assert abs(np.mean(found)) < 4.5 * error
    assert 0.005 < error < 0.03  # a law that is a tenth off would be seen


def test_records_of_another_law_have_another_mean() -> None:
    rng = np.random.default_rng(1)
    told, drawn = GaussianInstance(TARGET, 1.0), GaussianInstance(TARGET, 0.8)
    found = [sampling_surplus(told, (drawn.sample(20, rng),)) for _ in range(1000)]
    assert np.mean(found) < -0.3


def test_where_it_is_not_known_it_is_zero() -> None:
    rng = np.random.default_rng(2)
    signs = SignInstance(TARGET, 1.0)
    assert sampling_surplus(signs, (signs.sample(20, rng),)) == 0
    nothing = GaussianInstance(np.zeros(4), 1.0)
    assert sampling_surplus(nothing, (nothing.sample(20, rng),)) == 0


def test_losses_of_the_sample_mean_are_known() -> None:
    """All of their scatter is the records': what is left is a hundredth at most."""
    claim = next(c for c in all_claims() if c.name == "mean/tracing/zCDP")
    point = {"n": 50, "d": 10, "sigma": 1.0, "radius": 1.0, "rho": 0.1}
    prior = claim.lower.prior(**point)
    values = losses_with_noise(lambda _: Watched(), prior, point, 60, 0)
    assert adjusted(values).mean() == pytest.approx(10 / 50, rel=0.02)
    assert adjusted(values).std() < 0.1 * values[:, 0].std()


class Watched(SampleMean):
    """The sample mean under a name of its own, which is given records and not their sums."""
