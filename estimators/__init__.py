"""Private estimators in scikit-learn conventions, with a ledger of what they spent.

The default noise is floating-point noise, made for studying error and privacy over the real
numbers. It is not hardened against floating-point attacks: do not release real data with it.
"""

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
