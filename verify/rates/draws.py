"""What an estimator is given in a trial: records, or the little that it reads of them.

Where the law of what an estimator reads of its records is known, that is drawn in place of them and
goes through the same code (`estimators.core.summaries`). Instances and estimators are compared by
their exact type: another may do anything with its records.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from estimators.baselines.mean import KarwaVadhanMean
from estimators.controls.mean import HardThresholdedMean, SampleMean
from estimators.controls.regression import IterativeHardThresholding
from estimators.core.summaries import Repeated, Signs, Sorted, Sums
from estimators.core.truncation import TruncatingEstimator
from estimators.label_regression import LabelHardThresholding
from estimators.local_regression import OneShotThreshold
from estimators.logistic import PlannedLogisticRegression
from estimators.mean import NoisyMean
from estimators.regression import NoisyGradientRegression
from estimators.residual_clipped import ResidualClippedRegression
from estimators.sparse_erm import NoisyHardThresholding, NoisyHardThresholdingClassifier
from estimators.sparse_mean import SparseMean
from estimators.sparse_regression import PrivateHardThresholding
from estimators.sparse_residual_clipped import SparseResidualClippedRegression
from estimators.stable_sparse_mean import StableSparseMean
from minimax.core.bound import Instance, fit_arguments
from minimax.methods.priors import (
    DilutedInstance,
    GaussianInstance,
    LinearInstance,
    LogisticInstance,
    SignInstance,
    SignRows,
    TwoLabelInstance,
)
from minimax.methods.summaries import (
    column_sums,
    mean_labels,
    record_counts,
    sign_bytes,
    sorted_records,
)

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Array = NDArray[np.float64]
READ_BY_SUMS = (SampleMean, HardThresholdedMean, NoisyMean, SparseMean, StableSparseMean)
READ_BY_COLUMNS = (KarwaVadhanMean,)
"""One after the other: their entries are drawn close together."""
READ_BY_COUNTS = (
    PlannedLogisticRegression,
    NoisyHardThresholdingClassifier,
    IterativeHardThresholding,
    LabelHardThresholding,
    OneShotThreshold,
)
READ_IN_ANY_ORDER = (
    ResidualClippedRegression,
    NoisyGradientRegression,
    PrivateHardThresholding,
    NoisyHardThresholding,
)
"""Through products with the rows alone, and labels record by record."""
READ_AS_SIGNS = (
    *READ_IN_ANY_ORDER,
    SparseResidualClippedRegression,
    LabelHardThresholding,
)
"""Through products with the rows or their parts, whose lengths are known if entries are signs."""
SPARED_RECORDS = frozenset((*READ_BY_SUMS, *READ_BY_COLUMNS, *READ_BY_COUNTS, *READ_AS_SIGNS))
"""All that may be given something else."""
LABELLED = (LinearInstance, TwoLabelInstance)
COUNTED = (LogisticInstance, TwoLabelInstance)
SUMMED = (SignInstance, DilutedInstance, GaussianInstance)
TO_THE_END = 1e-8
REPEATED = 4
"""Rows are counted if they occur so often at least, on average."""


def given(
    estimator: BaseEstimator, instance: Instance, n: int, rng: np.random.Generator
) -> tuple[Any, ...]:
    """The arguments of `fit` for n records of an instance."""
    kind, d = type(estimator), len(instance.target)
    law: Any = instance
    if kind in READ_BY_COUNTS and type(law) in COUNTED and _few_rows(estimator, n, d):
        rows, labels, counts = record_counts(law, n, rng)
        return Repeated(rows, counts), labels
    if _squares(estimator) and type(law) is LinearInstance and n >= REPEATED * 2**d:
        rows, labels, counts = mean_labels(law, n, rng)
        return Repeated(rows, counts), labels
    if _any_order(estimator) and type(law) is LinearInstance and n >= REPEATED * 2**d:
        records = sorted_records(law, n, rng)
        return Sorted(records.rows, records.counts), records.labels
    if _as_signs(estimator) and type(law) in LABELLED:
        return _sign_records(law, n, rng)
    if kind in READ_BY_COLUMNS and type(law) is GaussianInstance:
        return (law.sample_columns(n, rng),)
    if kind in READ_BY_SUMS and type(law) in SUMMED:
        level = _clip_level(estimator, n, d)
        if level is not None:
            return (Sums(n, column_sums(law, n, level, rng), level),)
    return fit_arguments(instance.sample(n, rng))


def _sign_records(law: SignRows, n: int, rng: np.random.Generator) -> tuple[Signs, Array]:
    d = len(law.target)
    X = Signs(sign_bytes(n, d, rng), d, law.scale)
    return X, law.answers(X, rng)


def _squares(estimator: BaseEstimator) -> bool:
    """Whether it minimises squared loss, which tells nothing of labels but the means of rows; and
    to the end, since a search that stops before compares falls of the loss with the whole of it."""
    if type(estimator) is not IterativeHardThresholding or estimator.loss != "squared":
        return False
    return bool(estimator.tol <= TO_THE_END)


def _any_order(estimator: BaseEstimator) -> bool:
    """Whether records may be sorted."""
    return type(estimator) in READ_IN_ANY_ORDER and not _has_folds(estimator)


def _as_signs(estimator: BaseEstimator) -> bool:
    """Whether rows may be given as signs."""
    return type(estimator) in READ_AS_SIGNS and not _has_folds(estimator)


def _has_folds(estimator: BaseEstimator) -> bool:
    """Whether it cross-validates: folds are told by their places, and are arrays."""
    return isinstance(estimator, PrivateHardThresholding) and estimator.s == "cv"


def _few_rows(estimator: BaseEstimator, n: int, d: int) -> bool:
    """Whether rows of signs occur often enough, and reports, if there are any, can be summed."""
    if isinstance(estimator, LabelHardThresholding) and not estimator.sums_reports(n):
        return False
    if isinstance(estimator, OneShotThreshold) and not estimator.asks_for_bits(d):
        return False
    return n >= REPEATED * 2 ** (d + 1)


def _clip_level(estimator: BaseEstimator, n: int, d: int) -> float | None:
    """To what entries are clipped before they are added up; None if more is read of records."""
    return estimator.clip_level(n, d) if isinstance(estimator, TruncatingEstimator) else math.inf
