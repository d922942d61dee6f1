"""Data that no estimator may accept: an error that names X, and nothing released."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import estimators

NAMES = [
    "NoisyMean",
    "KarwaVadhanMean",
    "CoinPressMean",
    "SparseMean",
    "StableSparseMean",
    "SampleMean",
    "HardThresholdedMean",
]
GOOD = np.random.default_rng(0).standard_normal((40, 3))


def changed(value: Any) -> np.ndarray:
    X = GOOD.copy()
    X[3, 1] = value
    return X


BAD = {
    "nan": changed(np.nan),
    "infinite": changed(np.inf),
    "one-dimensional": GOOD[:, 0],
    "three-dimensional": GOOD[None],
    "no rows": GOOD[:0],
    "no columns": GOOD[:, :0],
    "complex": GOOD + 1j,
    "strings": GOOD.astype(str).astype(object) + "x",
    "objects": np.array([[object()] * 3] * 40),
    "dates": np.full((40, 3), np.datetime64("2020-01-01")),
    "masked": np.ma.masked_array(GOOD, mask=GOOD > 1),
    "nothing": None,
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", BAD)
def test_bad_data_is_refused_and_nothing_is_released(name: str, kind: str) -> None:
    estimator = getattr(estimators, name)()
    with pytest.raises((TypeError, ValueError)):
        estimator.fit(BAD[kind])
    released = [k for k in vars(estimator) if k.endswith("_") and not k.startswith("_")]
    assert set(released) <= {"n_features_in_", "feature_names_in_"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float16, np.float32, bool, object])
def test_other_numbers_are_accepted(name: str, dtype: type) -> None:
    X = (np.arange(120).reshape(40, 3) % 2).astype(dtype)
    fitted = getattr(estimators, name)().fit(X)
    assert fitted.mean_.dtype == np.float64
    assert np.all(np.isfinite(fitted.mean_))


@pytest.mark.parametrize("name", NAMES[:5])
@pytest.mark.parametrize("state", ["abc", 1.5, -1])
def test_a_bad_random_state_is_named(name: str, state: Any) -> None:
    estimator = getattr(estimators, name)(random_state=state)
    with pytest.raises((TypeError, ValueError), match="random_state"):
        estimator.fit(GOOD)
    assert not hasattr(estimator, "mean_")


@pytest.mark.parametrize("name", NAMES[:5])
def test_complex_parameters_are_refused(name: str) -> None:
    with pytest.raises((TypeError, ValueError), match="sigma"):
        getattr(estimators, name)(sigma=np.complex128(2)).fit(GOOD)
