"""Noisy gradient regression: dtypes, extreme records, options and data that are refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from estimators.regression import (
    NoisyGradientRegression,
)
from minimax.core.privacy import Approximate, Gaussian, Pure, Renyi, ZeroConcentrated

pytestmark = pytest.mark.oldest

Array = NDArray[np.float64]
BUDGET = Approximate(1.0, 1e-6)
X0 = np.random.default_rng(0).choice([-0.5, 0.5], (200, 4))
Y0 = X0 @ np.array([0.6, -0.3, 0.0, 0.2]) + 0.5 * np.random.default_rng(1).standard_normal(200)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float32, bool, object])
def test_other_dtypes_give_the_same_release(dtype: Any) -> None:
    X, y = np.random.default_rng(4).integers(0, 2, (2, 50, 3))
    expected = NoisyGradientRegression(BUDGET, random_state=0).fit(X.astype(float), y[:, 0])
    again = NoisyGradientRegression(BUDGET, random_state=0).fit(X.astype(dtype), y[:, 0])
    assert np.array_equal(expected.coef_, again.coef_)


EXTREME: list[dict[str, Any]] = [
    {},
    {"R": 9e29, "row_bound": 9e29, "radius": 9e29, "steps": 3},
    {"R": 2e-30, "row_bound": 2e-30, "radius": 2e-30, "steps": 3},
    {"R": 9e29, "row_bound": 9e29, "radius": 2e-30, "step_size": 9e149, "steps": 3},
    {"R": "quantile", "range_share": 0.01},
    {"L": 9e29, "privacy": Gaussian(1e6)},
    {"privacy": Approximate(1e-9, 1e-14)},
]


@pytest.mark.parametrize("options", EXTREME, ids=str)
def test_extreme_records_and_options_stay_finite(options: dict[str, Any]) -> None:
    X = np.array([[1e300, -1.7e308, 5e-324], [0.0, 0.0, 0.0], [1e-200, 1e6, -1e6]])
    y = np.array([1.7e308, -1e300, 5e-324])
    fitted = NoisyGradientRegression(**{"privacy": BUDGET, "random_state": 0, **options}).fit(X, y)
    assert np.all(np.isfinite(fitted.coef_))
    assert np.linalg.norm(fitted.coef_ / float(fitted.radius)) <= 1 + 1e-12


def released(estimator: Any) -> set[str]:
    names = {name for name in vars(estimator) if name.endswith("_") and name[0] != "_"}
    return names - {"n_features_in_", "feature_names_in_"}


def with_value(values: Array, value: Any) -> Array:
    changed = values.copy()
    changed.flat[3] = value
    return changed


BAD_DATA: dict[str, tuple[Any, Any, str]] = {
    "NaN in X": (with_value(X0, np.nan), Y0, "Input X contains NaN"),
    "NaN in y": (X0, with_value(Y0, np.nan), "Input y contains NaN"),
    "infinite X": (with_value(X0, np.inf), Y0, "Input X contains infinity"),
    "infinite y": (X0, with_value(Y0, -np.inf), "Input y contains infinity"),
    "lengths": (X0, Y0[:-1], "inconsistent numbers of samples"),
    "no y": (X0, None, "requires y to be passed"),
    "two columns of y": (X0, np.column_stack([Y0, Y0]), "y should be a 1d array"),
    "one axis": (X0[:, 0], Y0, "2D array"),
    "no records": (X0[:0], Y0[:0], "0 sample"),
    "no columns": (X0[:, :0], Y0, "0 feature"),
    "complex X": (X0 + 1j, Y0, "Complex data not supported"),
    "complex y": (X0, Y0 + 1j, "Complex data not supported"),
    "words": (X0, np.array(["a"] * len(Y0)), "could not convert|dtype"),
    "masked": (X0, np.ma.masked_array(Y0, Y0 > 0), "y is a masked array"),
    "NaN in CSR": (sparse.csr_array(with_value(X0, np.nan)), Y0, "Input X contains NaN"),
    "nothing": (None, Y0, "2D array|NoneType"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_is_refused_and_nothing_is_released(case: str) -> None:
    X, y, message = BAD_DATA[case]
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    estimator = NoisyGradientRegression(BUDGET, random_state=rng)
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(X, y)
    assert rng.bit_generator.state == before
    assert not released(estimator)
    assert "coef_" in released(estimator.fit(X0, Y0))
    assert rng.bit_generator.state != before


BAD_PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({"privacy": Pure(1.0)}, "privacy must be one of Approximate, ZeroConcentrated, Gaussian"),
    ({"privacy": Renyi(2.0, 1.0)}, "privacy must"),
    ({"privacy": 1.0}, "privacy must"),
    ({"privacy": Approximate(1.0, 1e-6, "local")}, "privacy.scope must"),
    ({"R": 0.0}, "R must"),
    ({"R": math.nan}, "R must"),
    ({"R": 1e40}, "R must"),
    ({"R": True}, "R must"),
    ({"R": "large"}, "R must"),
    ({"R": "quantile", "privacy": Gaussian(1.0)}, "R='quantile' needs"),
    ({"row_bound": 0.0}, "row_bound must"),
    ({"row_bound": "1"}, "row_bound must"),
    ({"row_bound": math.inf}, "row_bound must"),
    ({"radius": -1.0}, "radius must"),
    ({"radius": 1e31}, "radius must"),
    ({"radius": True}, "radius must"),
    ({"sigma": np.complex128(2)}, "sigma must"),
    ({"sigma": 1e-40}, "sigma must"),
    ({"L": 0.99}, "L must"),
    ({"L": "one"}, "L must"),
    ({"L": math.nan}, "L must"),
    ({"L": 1e31}, "L must"),
    ({"step_size": 0.0}, "step_size must"),
    ({"step_size": "short"}, "step_size must"),
    ({"step_size": False}, "step_size must"),
    ({"step_size": None}, "step_size must"),
    ({"steps": 0}, "steps must"),
    ({"steps": 2.5}, "steps must"),
    ({"steps": True}, "steps must"),
    ({"steps": "many"}, "steps must"),
    ({"composition": "advanced"}, "composition must"),
    ({"composition": True}, "composition must"),
    ({"composition": "basic", "privacy": ZeroConcentrated(1.0)}, "composition='basic' needs"),
    ({"composition": "basic", "R": "quantile"}, "steps must be given"),
    ({"quantile": 1.0}, "quantile must"),
    ({"range_share": "half"}, "range_share must"),
    ({"random_state": "abc"}, "random_state"),
]


@pytest.mark.parametrize(("changed", "message"), BAD_PARAMETERS, ids=str)
def test_bad_parameters_are_named_and_nothing_is_released(
    changed: dict[str, Any], message: str
) -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    estimator = NoisyGradientRegression(**{"privacy": BUDGET, "random_state": rng, **changed})
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(X0, Y0)
    assert rng.bit_generator.state == before
    assert not released(estimator)
