"""What is said about a budget: by public numbers alone."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from estimators import LabelHardThresholding, NoisyGradientRegression, NoisyMean
from estimators.core.base import DEFAULT_PRIVACY, PrivacyWarning
from minimax.core.privacy import Approximate, Pure, SpendablePrivacy

N = 100
X = np.random.default_rng(0).uniform(-1, 1, (N, 2))


def fitted(privacy: SpendablePrivacy | None, data: np.ndarray = X) -> NoisyMean:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return NoisyMean(privacy, sigma=1, radius=1, random_state=0).fit(data)


def test_a_delta_that_allows_a_record_in_clear_is_warned_of() -> None:
    with pytest.raises(PrivacyWarning, match=r"delta = 0.01 is at least 1/n = 0.01.*NoisyMean"):
        fitted(Approximate(1.0, 0.01))
    assert fitted(Approximate(1.0, 0.0099)).privacy_.parameters["delta"] == 0.0099
    assert fitted(Pure(1.0)).privacy_ == Pure(1.0)


def test_the_warning_depends_on_no_record() -> None:
    for data in (X, 1e6 * X, np.zeros_like(X)):
        with pytest.raises(PrivacyWarning) as found:
            fitted(Approximate(1.0, 0.02), data)
        assert str(found.value).startswith("delta = 0.02 is at least 1/n = 0.01: ")


def test_every_scope_is_warned_and_the_release_is_made() -> None:
    y = X[:, 0]
    labels = LabelHardThresholding(Approximate(1.0, 0.1, "label"), random_state=0)
    for estimator in (labels, NoisyGradientRegression(Approximate(1.0, 0.1), random_state=0)):
        with pytest.warns(PrivacyWarning) as found:
            assert estimator.fit(X, y).coef_.shape == (2,)
        assert [warning.filename for warning in found] == [__file__]  # where fit was called


def test_the_default_budget_is_told_and_warned_of_from_a_million_records_on() -> None:
    assert DEFAULT_PRIVACY["central"] == Approximate(1.0, 1e-6)
    assert str(fitted(None).privacy_) == "approximate(epsilon=1, delta=1e-06)"
    many = np.zeros((10**6, 1), dtype=np.int8)
    assert fitted(None, many[:-1]).privacy_.parameters["delta"] == 1e-6
    with pytest.raises(PrivacyWarning, match="delta = 1e-06"):
        fitted(None, many)
