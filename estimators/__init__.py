"""Private estimators in scikit-learn conventions, with a ledger of what they spent.

The default noise is floating-point noise, made for studying error and privacy over the real
numbers. It is not hardened against floating-point attacks: do not release real data with it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimators.baselines.frank_wolfe import FrankWolfeMean
    from estimators.baselines.mean import CoinPressMean, KarwaVadhanMean
    from estimators.baselines.regression import (
        AdaptiveSufficientStatistics,
        JohnsonLindenstraussRegression,
    )
    from estimators.baselines.sparse_regression import PrivateFrankWolfe, TwoStageRegression
    from estimators.controls.mean import HardThresholdedMean, SampleMean
    from estimators.controls.regression import IterativeHardThresholding, LeastSquares
    from estimators.core.accounting import LedgerEntry, compose, delta_at
    from estimators.core.budget import Budget, Overdrawn
    from estimators.core.links import Link
    from estimators.core.losses import (
        HuberLoss,
        LogisticLoss,
        ProbitLoss,
        SmoothHingeLoss,
        SquaredLoss,
    )
    from estimators.core.scores import PrivateScore
    from estimators.halving import SequentialHalving
    from estimators.label_regression import LabelHardThresholding, LabelLasso
    from estimators.local_regression import LocalHardThresholding, OneShotThreshold
    from estimators.logistic import PlannedLogisticRegression
    from estimators.mean import NoisyMean
    from estimators.planned_descent import PlannedRobustRegression
    from estimators.randomisers.base import mean_of_reports
    from estimators.randomisers.signs import HypercubeRandomiser
    from estimators.randomisers.vectors import SphereRandomiser
    from estimators.randomisers.zcdp_privunit import GaussianRandomiser, SoftCapRandomiser
    from estimators.regression import NoisyGradientRegression
    from estimators.residual_clipped import ResidualClippedRegression
    from estimators.sparse_erm import NoisyHardThresholding, NoisyHardThresholdingClassifier
    from estimators.sparse_mean import SparseMean
    from estimators.sparse_regression import PrivateHardThresholding
    from estimators.sparse_residual_clipped import SparseResidualClippedRegression
    from estimators.stable_sparse_mean import StableSparseMean
    from estimators.tables.classifier import PrivateClassifier
    from estimators.tables.mean import PrivateMean
    from estimators.tables.regression import PrivateRegression
    from estimators.tables.scaler import PrivateScaler

__all__ = [
    "AdaptiveSufficientStatistics",
    "Budget",
    "CoinPressMean",
    "FrankWolfeMean",
    "GaussianRandomiser",
    "HardThresholdedMean",
    "HuberLoss",
    "HypercubeRandomiser",
    "IterativeHardThresholding",
    "JohnsonLindenstraussRegression",
    "KarwaVadhanMean",
    "LabelHardThresholding",
    "LabelLasso",
    "LeastSquares",
    "LedgerEntry",
    "Link",
    "LocalHardThresholding",
    "LogisticLoss",
    "NoisyGradientRegression",
    "NoisyHardThresholding",
    "NoisyHardThresholdingClassifier",
    "NoisyMean",
    "OneShotThreshold",
    "Overdrawn",
    "PlannedLogisticRegression",
    "PlannedRobustRegression",
    "PrivateClassifier",
    "PrivateFrankWolfe",
    "PrivateHardThresholding",
    "PrivateMean",
    "PrivateRegression",
    "PrivateScaler",
    "PrivateScore",
    "ProbitLoss",
    "ResidualClippedRegression",
    "SampleMean",
    "SequentialHalving",
    "SmoothHingeLoss",
    "SoftCapRandomiser",
    "SparseMean",
    "SparseResidualClippedRegression",
    "SphereRandomiser",
    "SquaredLoss",
    "StableSparseMean",
    "TwoStageRegression",
    "compose",
    "delta_at",
    "mean_of_reports",
]

_HOMES = {
    "AdaptiveSufficientStatistics": "baselines.regression",
    "Budget": "core.budget",
    "CoinPressMean": "baselines.mean",
    "FrankWolfeMean": "baselines.frank_wolfe",
    "GaussianRandomiser": "randomisers.zcdp_privunit",
    "HardThresholdedMean": "controls.mean",
    "HuberLoss": "core.losses",
    "HypercubeRandomiser": "randomisers.signs",
    "IterativeHardThresholding": "controls.regression",
    "JohnsonLindenstraussRegression": "baselines.regression",
    "KarwaVadhanMean": "baselines.mean",
    "LabelHardThresholding": "label_regression",
    "LabelLasso": "label_regression",
    "LeastSquares": "controls.regression",
    "LedgerEntry": "core.accounting",
    "Link": "core.links",
    "LocalHardThresholding": "local_regression",
    "LogisticLoss": "core.losses",
    "NoisyGradientRegression": "regression",
    "NoisyHardThresholding": "sparse_erm",
    "NoisyHardThresholdingClassifier": "sparse_erm",
    "NoisyMean": "mean",
    "OneShotThreshold": "local_regression",
    "Overdrawn": "core.budget",
    "PlannedLogisticRegression": "logistic",
    "PlannedRobustRegression": "planned_descent",
    "PrivateClassifier": "tables.classifier",
    "PrivateFrankWolfe": "baselines.sparse_regression",
    "PrivateHardThresholding": "sparse_regression",
    "PrivateMean": "tables.mean",
    "PrivateRegression": "tables.regression",
    "PrivateScaler": "tables.scaler",
    "PrivateScore": "core.scores",
    "ProbitLoss": "core.losses",
    "ResidualClippedRegression": "residual_clipped",
    "SampleMean": "controls.mean",
    "SequentialHalving": "halving",
    "SmoothHingeLoss": "core.losses",
    "SoftCapRandomiser": "randomisers.zcdp_privunit",
    "SparseMean": "sparse_mean",
    "SparseResidualClippedRegression": "sparse_residual_clipped",
    "SphereRandomiser": "randomisers.vectors",
    "SquaredLoss": "core.losses",
    "StableSparseMean": "stable_sparse_mean",
    "TwoStageRegression": "baselines.sparse_regression",
    "compose": "core.accounting",
    "delta_at": "core.accounting",
    "mean_of_reports": "randomisers.base",
}
"""The module of each name. It is imported when the name is first asked for: scikit-learn takes
longer to start than most of what is done with it."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
