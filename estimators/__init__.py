"""Private estimators in scikit-learn conventions, with a ledger of what they spent.

The default noise is floating-point noise, made for studying error and privacy over the real
numbers. It is not hardened against floating-point attacks: do not release real data with it.
"""

from estimators.accounting import LedgerEntry, delta_at, total
from estimators.mean import CoinPressMean, KarwaVadhanMean, NoisyMean
from estimators.nonprivate import HardThresholdedMean, SampleMean
from estimators.sparse_mean import SparseMean
from estimators.stable_sparse_mean import StableSparseMean

__all__ = [
    "CoinPressMean",
    "HardThresholdedMean",
    "KarwaVadhanMean",
    "LedgerEntry",
    "NoisyMean",
    "SampleMean",
    "SparseMean",
    "StableSparseMean",
    "delta_at",
    "total",
]
