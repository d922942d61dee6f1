"""Private estimators in scikit-learn conventions, with a ledger of what they spent.

The default noise is floating-point noise, made for studying error and privacy over the real
numbers. It is not hardened against floating-point attacks: do not release real data with it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimators.accounting import LedgerEntry, delta_at, total
    from estimators.baselines import AdaptiveSufficientStatistics, JohnsonLindenstraussRegression
    from estimators.halving import SequentialHalving
    from estimators.label_regression import LabelHardThresholding, LabelLasso
    from estimators.links import Link
    from estimators.local_regression import LocalHardThresholding, OneShotThreshold
    from estimators.losses import LogisticLoss, SquaredLoss
    from estimators.mean import CoinPressMean, KarwaVadhanMean, NoisyMean
    from estimators.nonprivate import HardThresholdedMean, SampleMean
    from estimators.nonprivate_regression import IterativeHardThresholding, LeastSquares
    from estimators.regression import NoisyGradientRegression
    from estimators.sparse_baselines import PrivateFrankWolfe, TwoStageRegression
    from estimators.sparse_erm import NoisyHardThresholding, NoisyHardThresholdingClassifier
    from estimators.sparse_mean import SparseMean
    from estimators.sparse_regression import PrivateHardThresholding
    from estimators.stable_sparse_mean import StableSparseMean

__all__ = [
    "AdaptiveSufficientStatistics",
    "CoinPressMean",
    "HardThresholdedMean",
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
    "PrivateFrankWolfe",
    "PrivateHardThresholding",
    "SampleMean",
    "SequentialHalving",
    "SparseMean",
    "SquaredLoss",
    "StableSparseMean",
    "TwoStageRegression",
    "delta_at",
    "total",
]

_HOMES = {
    "AdaptiveSufficientStatistics": "baselines",
    "CoinPressMean": "mean",
    "HardThresholdedMean": "nonprivate",
    "IterativeHardThresholding": "nonprivate_regression",
    "JohnsonLindenstraussRegression": "baselines",
    "KarwaVadhanMean": "mean",
    "LabelHardThresholding": "label_regression",
    "LabelLasso": "label_regression",
    "LeastSquares": "nonprivate_regression",
    "LedgerEntry": "accounting",
    "Link": "links",
    "LocalHardThresholding": "local_regression",
    "LogisticLoss": "losses",
    "NoisyGradientRegression": "regression",
    "NoisyHardThresholding": "sparse_erm",
    "NoisyHardThresholdingClassifier": "sparse_erm",
    "NoisyMean": "mean",
    "OneShotThreshold": "local_regression",
    "PrivateFrankWolfe": "sparse_baselines",
    "PrivateHardThresholding": "sparse_regression",
    "SampleMean": "nonprivate",
    "SequentialHalving": "halving",
    "SparseMean": "sparse_mean",
    "SquaredLoss": "losses",
    "StableSparseMean": "stable_sparse_mean",
    "TwoStageRegression": "sparse_baselines",
    "delta_at": "accounting",
    "total": "accounting",
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
