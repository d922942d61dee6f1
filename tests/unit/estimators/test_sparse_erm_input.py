"""Noisy hard thresholding: options and data that are refused, before any noise is drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from estimators.core.losses import SquaredLoss
from estimators.sparse_erm import NoisyHardThresholding, NoisyHardThresholdingClassifier
from minimax.core.privacy import Gaussian, Pure
from tests.contract.estimator_examples import Huber

SIX, HALVES = np.ones((6, 3)), np.array([0, 1, 0, 1, 0, 1])


class Flat(Huber):
    """A loss with one slope for all records."""

    def slope(self, prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.asarray(np.mean(prediction - y))


BAD_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"privacy": Pure(1.0)}, TypeError, "privacy must be one of"),
    ({"privacy": "much"}, TypeError, "privacy must be one of"),
    ({"privacy": Gaussian(1.0, scope="local")}, ValueError, "scope"),
    ({"s": 4}, ValueError, "s must lie between 1 and d = 3"),
    ({"s": 0}, ValueError, "s must lie"),
    ({"s": 1.0}, TypeError, "s must be an integer"),
    ({"loss": "hinge"}, ValueError, "loss must be"),
    ({"loss": 3}, TypeError, "loss must have slope"),
    ({"loss": SquaredLoss}, TypeError, "loss must have slope"),
    ({"loss": SquaredLoss(smoothness=0.0)}, ValueError, "loss.smoothness"),
    ({"loss": Flat()}, ValueError, "one number per record"),
    ({"clip": 0.0}, ValueError, "clip"),
    ({"clip": math.inf}, ValueError, "clip"),
    ({"clip": "1"}, TypeError, "clip"),
    ({"clip": None}, TypeError, "clip"),
    ({"steps": 0}, ValueError, "steps"),
    ({"steps": 2.5}, TypeError, "steps"),
    ({"steps": True}, TypeError, "steps"),
    ({"step_size": "fast"}, ValueError, "step_size"),
    ({"step_size": -1.0}, ValueError, "step_size"),
    ({"step_size": math.nan}, ValueError, "step_size"),
    ({"step_size": 2.0, "l2": 1.0}, ValueError, "step_size must be below 2/l2"),
    ({"feature_scale": 0}, ValueError, "feature_scale"),
    ({"l2": -0.1}, ValueError, "l2"),
    ({"l2": None}, TypeError, "l2"),
    ({"l2": "0"}, TypeError, "l2"),
    ({"l2": False}, TypeError, "l2"),
    ({"radius": 0.0}, ValueError, "radius"),
    ({"radius": "big"}, TypeError, "radius"),
    ({"calibration": "zcdp"}, ValueError, "calibration"),
    ({"calibration": "paper", "privacy": Gaussian(1.0)}, ValueError, "calibration='paper'"),
    ({"random_state": "dice"}, (TypeError, ValueError), "random_state"),  # type: ignore[list-item]
]


@pytest.mark.parametrize("kind", [NoisyHardThresholding, NoisyHardThresholdingClassifier])
@pytest.mark.parametrize(("options", "error", "match"), BAD_OPTIONS, ids=lambda v: str(v)[:40])
def test_bad_options_are_refused(
    kind: Any, options: dict[str, Any], error: type[Exception], match: str
) -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    estimator = kind(**{"random_state": rng, **options})
    with pytest.raises(error, match=match):
        estimator.fit(SIX, HALVES)
    assert rng.bit_generator.state == before  # not a single number was drawn
    released = {name for name in vars(estimator) if name.endswith("_")}
    assert released <= {"n_features_in_"}
    assert set(clone(estimator).get_params()) == set(estimator.get_params())


@pytest.mark.parametrize(
    ("estimator", "y", "match"),
    [
        (NoisyHardThresholding(), [1.0, 2.0], "inconsistent numbers of samples"),
        (NoisyHardThresholding(), [math.nan] * 6, "y contains NaN"),
        (NoisyHardThresholding(), [math.inf] * 6, "y contains infinity"),
        (NoisyHardThresholding(), None, "requires y"),
        (NoisyHardThresholdingClassifier(), [2] * 6, "y must hold two classes"),
        (NoisyHardThresholdingClassifier(), [0, 1, 2] * 2, "target y is multiclass, with 3"),
        (NoisyHardThresholdingClassifier(), np.linspace(0, 1, 6), "continuous"),
        (NoisyHardThresholdingClassifier(), [0, 1, math.nan] * 2, "y contains NaN"),
        (NoisyHardThresholdingClassifier(), [0, 1, math.inf] * 2, "y contains infinity"),
        (NoisyHardThresholdingClassifier(), None, "requires y"),
        (NoisyHardThresholdingClassifier(), [0, 1], "inconsistent numbers of samples"),
        (NoisyHardThresholdingClassifier(classes=(0, 0)), HALVES, "classes must be two"),
        (NoisyHardThresholdingClassifier(classes=(0, 1, 2)), HALVES, "classes must be two"),
        (NoisyHardThresholdingClassifier(classes=5), HALVES, "classes must be two"),  # type: ignore[arg-type]
        (NoisyHardThresholdingClassifier(loss="squared"), HALVES, "loss must be"),
        (NoisyHardThresholdingClassifier(loss=SquaredLoss()), HALVES, "loss must be"),
    ],
)
def test_bad_responses_are_refused(estimator: Any, y: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        estimator.fit(SIX, y)
    assert not hasattr(estimator, "coef_")
    assert not hasattr(estimator, "classes_")


@pytest.mark.parametrize("kind", [NoisyHardThresholding, NoisyHardThresholdingClassifier])
@pytest.mark.parametrize(
    "X",
    [
        np.full((6, 3), np.nan),
        sparse.csr_matrix(np.full((6, 3), np.inf)),
        np.ones(6),
        np.ones((0, 3)),
        np.ones((6, 0)),
        np.ones((6, 3), dtype=complex),
    ],
    ids=["nan", "sparse inf", "1d", "no records", "no features", "complex"],
)
def test_bad_rows_are_refused(kind: Any, X: Any) -> None:
    estimator = kind()
    with pytest.raises(ValueError):  # noqa: PT011 - scikit-learn words these
        estimator.fit(X, HALVES[: X.shape[0]])
    assert not hasattr(estimator, "coef_")
