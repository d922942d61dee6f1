"""Private hard thresholding: options and data that are refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from estimators.sparse_regression import PrivateHardThresholding
from minimax.core.privacy import Approximate, Gaussian, Pure

BUDGET = Approximate(1.0, 1e-6)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"s": 4}, ValueError, "between 1 and d = 3"),
        ({"s": 0}, ValueError, "between 1 and d = 3"),
        ({"s": 2.0}, TypeError, "integer"),
        ({"s": True}, TypeError, "integer"),
        ({"s": "auto"}, ValueError, "'cv'"),
        ({"entry_bound": 0.0}, ValueError, "entry_bound"),
        ({"entry_bound": "1"}, TypeError, "entry_bound"),
        ({"entry_bound": math.inf}, ValueError, "entry_bound"),
        ({"R": "guess"}, ValueError, "R must be"),
        ({"R": -1.0}, ValueError, "R must be"),
        ({"R": 1e30}, ValueError, "R must lie"),
        ({"R": None}, TypeError, "R must be"),
        ({"radius": 0.0}, ValueError, "radius"),
        ({"radius": 1e40}, ValueError, "radius"),
        ({"sigma": math.nan}, ValueError, "sigma"),
        ({"L": 0.5}, ValueError, "L must be at least 1"),
        ({"L": "1"}, TypeError, "L must"),
        ({"step_size": -1.0}, ValueError, "step_size"),
        ({"step_size": "big"}, ValueError, "step_size"),
        ({"steps": 0}, ValueError, "steps"),
        ({"steps": 1.5}, TypeError, "steps"),
        ({"steps": "many"}, ValueError, "steps"),
        ({"method": "lasso"}, ValueError, "method"),
        ({"calibration": "exact"}, ValueError, "calibration"),
        ({"calibration": "paper"}, ValueError, "needs method='peeling'"),
        (
            {"privacy": Pure(1.0), "method": "peeling", "calibration": "paper"},
            ValueError,
            "Approximate budget",
        ),
        ({"selection_share": 1.0}, ValueError, "selection_share"),
        ({"tuning_share": 1.5}, ValueError, "tuning_share"),
        ({"quantile": 1.0}, ValueError, "quantile"),
        ({"range_share": 0.0}, ValueError, "range_share"),
        ({"privacy": Gaussian(1.0)}, TypeError, "privacy must be one of"),
        ({"privacy": Pure(1.0, scope="local")}, ValueError, "scope"),
        ({"random_state": "seed"}, (TypeError, ValueError), "random_state"),
        ({"s": "cv"}, ValueError, "s_grid"),
        ({"s": "cv", "s_grid": "12"}, ValueError, "s_grid"),
        ({"s": "cv", "s_grid": [2, 2]}, ValueError, "at least two"),
        ({"s": "cv", "s_grid": [1, 4]}, ValueError, "between 1 and d = 3"),
        ({"s": "cv", "s_grid": [1, 1.5]}, TypeError, "integer"),
        ({"s": "cv", "s_grid": [1, 2], "n_folds": 1}, ValueError, "n_folds"),
        ({"s": "cv", "s_grid": [1, 2], "n_folds": 7}, ValueError, "n = 6"),
        ({"s": "cv", "s_grid": [1, 2], "n_folds": 2.0}, TypeError, "n_folds"),
    ],
    ids=str,
)
def test_bad_options_are_refused(options: dict[str, Any], error: Any, match: str) -> None:
    estimator = PrivateHardThresholding(**{"privacy": BUDGET, **options})
    assert clone(estimator).get_params() == estimator.get_params()
    with pytest.raises(error, match=match):
        estimator.fit(np.ones((6, 3)), np.ones(6))
    assert not hasattr(estimator, "coef_")


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.full((3, 2), np.nan), np.zeros(3)),
        (np.zeros((3, 2)), np.array([0, np.inf, 0])),
        (np.zeros(3), np.zeros(3)),
        (np.zeros((3, 2)), np.zeros(4)),
        (np.zeros((3, 2)), None),
        (np.zeros((0, 2)), np.zeros(0)),
        (np.zeros((2, 2), dtype=complex), np.zeros(2)),
        (sparse.csr_matrix(np.array([[np.nan, 1.0], [0, 0]])), np.zeros(2)),
    ],
    ids=["nan", "infinite y", "1d", "lengths", "no y", "no records", "complex", "sparse nan"],
)
def test_bad_data_are_refused(X: Any, y: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - scikit-learn words these
        PrivateHardThresholding(BUDGET).fit(X, y)
