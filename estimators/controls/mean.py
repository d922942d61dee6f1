"""Controls: the estimators one would use if nobody's privacy mattered.

They release exact statistics of the data, so no lower bound for private estimators covers them. In
a cell where privacy dominates they must fall below such a bound; if they do not, the check that
uses the bound has no teeth. `privacy_` is None and `ledger_` is empty on purpose.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from estimators.core.base import Array, validated
from estimators.core.checks import check_sparsity
from estimators.core.summaries import Sums


class SampleMean(BaseEstimator):
    """The average of the records. A control: **not private**.

    **Algorithm.** mean_ = (1/n) sum_i x_i, nothing clipped, no noise.

    **Privacy.** None: replacing one record can move the release arbitrarily far.

    **Risk.** Exactly sum_j Var(x_j)/n, at most sigma^2 d/n for sub-Gaussian(sigma) coordinates.

    **Source.** The non-private counterpart of CWZ19: Algorithm 3.1 (§5.3).

    **Departures from the paper.** None.

    Attributes
    ----------
    mean_, n_features_in_, privacy_ (None), ledger_ (empty)
    """

    def fit(self, X: ArrayLike, y: object = None) -> SampleMean:
        """Average the rows of X."""
        self.mean_ = _average(self, X)
        self.privacy_ = None
        self.ledger_: tuple[()] = ()
        return self


class HardThresholdedMean(BaseEstimator):
    """The average with its small coordinates set to zero. A control: **not private**.

    **Algorithm.** mean_j = xbar_j if |xbar_j| > threshold, and 0 otherwise; with `s` given, only
    the s largest survivors are kept.

    **Privacy.** None: the support is an exact function of the data.

    **Risk.** At threshold 4 sigma sqrt(log(d)/n) a constant times s sigma^2 log(d)/n. It is also
    the counterexample to CWZ19: Lemma 3.2(2): its tracing sum stays at sigma^2 s for every d.

    **Source.** Hard thresholding; the non-private counterpart of CWZ19: Algorithm 3.3 (§5.3).

    **Departures from the paper.** The paper's counterpart keeps the s largest coordinates only;
    that is ``threshold=0`` with `s` given.

    Parameters
    ----------
    threshold : float, at least 0
    s : int or None
        Largest number of non-zero coordinates; None for no limit.

    Attributes
    ----------
    mean_, support_, n_features_in_, privacy_ (None), ledger_ (empty)
    """

    def __init__(self, threshold: float = 0.25, s: int | None = None) -> None:
        self.threshold = threshold
        self.s = s

    def fit(self, X: ArrayLike, y: object = None) -> HardThresholdedMean:
        """Average the rows of X and drop the coordinates at or below the threshold."""
        average = _average(self, X)
        level = self.threshold
        if isinstance(level, bool) or not isinstance(level, (int, float, np.number)):
            raise TypeError(f"threshold must be a number, got {level!r}")
        if not (level >= 0 and math.isfinite(level)):
            raise ValueError(f"threshold must be non-negative and finite, got {level!r}")
        kept = np.flatnonzero(np.abs(average) > level)
        if self.s is not None:
            check_sparsity(self.s, len(average))
            largest_first = np.argsort(-np.abs(average[kept]), kind="stable")
            kept = np.sort(kept[largest_first[: self.s]])
        self.support_ = kept
        self.mean_ = np.zeros_like(average)
        self.mean_[kept] = average[kept]
        self.privacy_ = None
        self.ledger_: tuple[()] = ()
        return self


def _average(estimator: BaseEstimator, X: ArrayLike) -> Array:
    rows = validated(estimator, X)
    if isinstance(rows, Sums):
        return rows.total / rows.n
    return np.asarray(np.mean(rows, axis=0, dtype=float))
