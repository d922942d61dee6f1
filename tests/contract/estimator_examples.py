"""Every exported estimator, built: what the contract runs over.

An estimator enters by being exported from `estimators`: it is run as its constructor makes it
(with the public numbers that it asks for), and
with the further options that `FURTHER` lists, which are there to reach every branch of a `fit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import estimators
from estimators import Link
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from verify.privacy.toolkit import PUBLIC
from verify.privacy.toolkit import sample as toolkit_sample

Data = tuple[np.ndarray, ...]
"""(X,) for a mean, (X, y) where there is a response."""


@dataclass(frozen=True)
class Huber:
    """A loss of one's own: quadratic up to |p - y| = 1, linear beyond."""

    smoothness: float = 1.0

    def largest_slope(self, reach: float) -> float:
        return 1.0

    def flatness(self, reach: float) -> float:
        return 0.5

    def slope(self, prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.clip(prediction - y, -1, 1)

    def value(self, prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
        size = np.abs(prediction - y)
        return np.where(size <= 1, size**2 / 2, size - 0.5)


def bent(t: np.ndarray) -> np.ndarray:
    return 8 * t + np.cos(t)


def bent_slope(t: np.ndarray) -> np.ndarray:
    return 8 - np.sin(t)


BENT = Link(bent, bent_slope, 7.0, 9.0)
FOLDS = {"s": "cv", "s_grid": (1, 2, 3), "n_folds": 2}
PAPER = {"privacy": Approximate(2.0, 1e-6), "calibration": "paper"}
LOUD, LOUD_PURE, LOUD_CONCENTRATED = Approximate(1e3, 1e-6), Pure(1e3), ZeroConcentrated(1e5)
"""Budgets so large that the releases follow the data."""
REPORTED = ZeroConcentrated(20.0, "local")
FURTHER: dict[str, list[dict[str, Any]]] = {
    "NoisyMean": [
        {"privacy": LOUD_PURE, "R": "quantile"},
        {"privacy": LOUD, "R": "quantile", "clip": "ball"},
        {"privacy": ZeroConcentrated(5e5), "R": "quantile"},
        {"privacy": LOUD, "R": "percentiles"},
        {"privacy": LOUD_PURE},
        {"privacy": LOUD, "tails": "Gaussian"},
        {"privacy": LOUD, "tails": "coordinates"},
        {"R": "theory", **PAPER},
        {"privacy": LOUD, "bounds": (-1.5, 1.5), "sigma": None, "radius": None},
        {"privacy": LOUD_PURE, "bounds": [(-2, 1)] * 3, "sigma": None, "radius": None},
    ],
    "PrivateClassifier": [
        {"privacy": LOUD, "classes": (0, 1), "report_clipped": True},
        {"privacy": LOUD_PURE, "fit_intercept": False},
        {"privacy": LOUD_CONCENTRATED, "classes": (0, 1, 2), "categories": {0: [0.0, 1.0, 2.0]}},
        {"privacy": Gaussian(1e3), "classes": (0, 1), "bounds": "private"},
    ],
    "PrivateRegression": [
        {"privacy": LOUD, "report_clipped": True},
        {"privacy": LOUD, "bounds": "private", "response_bounds": "private"},
        {"privacy": LOUD_PURE},
        {"privacy": LOUD_CONCENTRATED, "fit_intercept": False},
    ],
    "PrivateMean": [
        {"privacy": LOUD, "report_clipped": True},
        {"privacy": LOUD_CONCENTRATED, "bounds": "private"},
        {"privacy": LOUD_PURE, "categories": {0: [0.0, 1.0, 2.0]}},
    ],
    "PrivateScaler": [
        {"privacy": LOUD_PURE},
        {"privacy": LOUD_CONCENTRATED, "bounds": "private"},
    ],
    "KarwaVadhanMean": [{"privacy": Pure(9.0), "radius": 2.0}, {"privacy": LOUD}],
    "CoinPressMean": [{"iterations": 1}, {"privacy": Gaussian(3.0), "ball_radius": 1e9}],
    "SparseMean": [
        {"privacy": LOUD_CONCENTRATED, "R": "quantile", **FOLDS},
        {"privacy": LOUD_PURE, "R": "percentiles", **FOLDS},
        {"privacy": LOUD_PURE, **FOLDS},
        {"method": "peeling", "s": 2},
        {"method": "peeling", **PAPER},
    ],
    "StableSparseMean": [{"privacy": LOUD, "s": 2, "R": "quantile"}, {"privacy": LOUD, "R": 1.0}],
    "NoisyGradientRegression": [
        {"privacy": LOUD, "radius": 10.0, "L": 1.0},
        {"privacy": LOUD, "R": "quantile"},
        {"privacy": LOUD_CONCENTRATED, "R": "percentiles"},
        {"steps": 8, "composition": "basic"},
        {"schedule": "theorem"},
    ],
    "ResidualClippedRegression": [
        {"privacy": LOUD_PURE, "second_moment": "isotropic"},
        {"privacy": LOUD},
        {"privacy": LOUD_CONCENTRATED, "sigma": None, "second_moment": "isotropic"},
        {"privacy": LOUD_PURE, "sigma": None},
        {"privacy": Gaussian(1e3), "second_moment": np.eye(3) / 3, "start": np.full(3, 0.1)},
    ],
    "SparseResidualClippedRegression": [
        {"privacy": LOUD_PURE, "s": 2},
        {"privacy": LOUD, "s": 2, "second_moment": "isotropic"},
        {"privacy": LOUD, "s": 2, "second_moment": "isotropic", "plan": "proven"},
        {"privacy": LOUD_CONCENTRATED, "s": 2, "sigma": None},
        {"privacy": LOUD_PURE, "s": 3, "sigma": None, "second_moment": 0.4},
        {"privacy": Gaussian(1e3), "s": 2, "start": np.array([0.1, 0.0, 0.1])},
    ],
    "PrivateHardThresholding": [
        {"privacy": LOUD, "R": "quantile", **FOLDS},
        {"privacy": LOUD_PURE, "R": "percentiles"},
        {"privacy": LOUD_PURE, "method": "peeling", "s": 2},
        {"method": "peeling", "steps": 3, **PAPER},
        {"schedule": "theorem"},
    ],
    "NoisyHardThresholding": [
        {"loss": "logistic", "s": 2},
        {"loss": Huber(), "radius": 1.0},
        {"l2": 0.1, **PAPER},
        {"schedule": "theorem", "radius": 1.0},
    ],
    "NoisyHardThresholdingClassifier": [{"classes": (0, 1), "s": 2}],
    "PlannedLogisticRegression": [
        {"classes": (0, 1), "privacy": LOUD_CONCENTRATED, "start": (0.5, 0.0, -0.5)},
        {"privacy": LOUD_PURE, "reach": 1.0, "row_bound": 2.0},
        {"privacy": LOUD_CONCENTRATED, "loss": "probit"},
        {"privacy": LOUD_PURE, "loss": "hinge", "classes": (0, 1)},
    ],
    "PlannedRobustRegression": [
        {"privacy": LOUD_PURE, "start": (0.5, 0.0, -0.5)},
        {"privacy": LOUD_CONCENTRATED, "loss": Huber(), "reach": 1.0},
    ],
    "AdaptiveSufficientStatistics": [{"privacy": Gaussian(1e3)}, {"release": "three", **PAPER}],
    "JohnsonLindenstraussRegression": [{"privacy": LOUD, "projections": 9}],
    "PrivateFrankWolfe": [
        {"loss": "logistic", "steps": 4},
        {"selection": "laplace", "steps": 4, **PAPER},
    ],
    "FrankWolfeMean": [
        {"privacy": LOUD_PURE, "R": "percentiles", "steps": 3},
        {"privacy": LOUD_CONCENTRATED, "R": "quantile", "steps": 2},
        {"privacy": LOUD, "R": 1.0, "start": (0.5, 0.0, -0.5)},
        {"selection": "laplace", "steps": 4, **PAPER},
    ],
    "TwoStageRegression": [
        {"loss": "logistic", "s": 2, "blocks": 3},
        {"privacy": LOUD_CONCENTRATED, "blocks": 3},
    ],
    "LocalHardThresholding": [
        {"link": BENT, "s": 2, "randomiser": "privunit", "steps": 3},
        {"privacy": REPORTED, "steps": 3},
        {"privacy": REPORTED, "randomiser": "gaussian"},
        {"schedule": "theorem"},
    ],
    "OneShotThreshold": [
        {"report": "hypercube", "s": 2},
        {"privacy": REPORTED, "s": 2},
        {"privacy": REPORTED, "report": "coordinate"},
    ],
    "SequentialHalving": [{"privacy": Pure(9.0, "local")}, {"privacy": REPORTED}],
    "LabelHardThresholding": [
        {"link": BENT, "loss": "squared", "s": 2, "mechanism": "binary"},
        {"privacy": Approximate(1.0, 1e-3, "label"), "calibration": "paper", "steps": 3},
        {"privacy": Approximate(1.0, 1e-3, "label"), "schedule": "theorem"},
    ],
    "LabelLasso": [
        {"refit": True, "penalty": 0.1, "mechanism": "laplace"},
        {"privacy": Gaussian(1.0, "label")},
    ],
    "HardThresholdedMean": [{"s": 1}],
    "IterativeHardThresholding": [{"loss": "logistic"}, {"method": "gradient", "s": 2, "l2": 0.1}],
}


def exported() -> dict[str, type[BaseEstimator]]:
    """The estimators among the names that the package exports."""
    everything = {name: getattr(estimators, name) for name in estimators.__all__}
    return {
        name: kind
        for name, kind in everything.items()
        if isinstance(kind, type) and issubclass(kind, BaseEstimator)
    }


def made(name: str, **options: Any) -> Any:
    """The exported estimator of this name, with the public numbers that it asks for."""
    return exported()[name](**{**PUBLIC.get(name, {}), **options})


def examples() -> dict[str, BaseEstimator]:
    """One estimator for each exported class and each set of options, by a name that says which, and
    that is its own: the place of the options in the list follows where names of options repeat."""
    found: dict[str, BaseEstimator] = {}
    for name in exported():
        for place, options in enumerate([{}, *FURTHER.get(name, [])]):
            told = f"{name}({', '.join(options)})"
            found[f"{told} {place}" if told in found else told] = made(name, **options)
    return found


def sample(estimator: BaseEstimator, n: int = 60) -> Data:
    """Data as the estimator takes them, the same at every call; no two numbers in X are equal."""
    found = toolkit_sample(estimator, n)
    return found if isinstance(found, tuple) else (found,)
