"""A transformer that brings columns to one scale, with a private mean and spread."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from estimators.core.base import Array, Seed
from estimators.core.purse import Purse
from estimators.core.spending import GivenPrivacy
from estimators.tables.front_door import TableEstimator
from estimators.tables.mean import released_moments, spendable
from estimators.tables.report import Report, Row
from estimators.tables.schema import Bounds

LEAST_SCALE = 1e-3
"""No column is divided by less than this part of half its range: noise would be blown up."""


class PrivateScaler(OneToOneFeatureMixin, TransformerMixin, TableEstimator):
    """Takes off each column's mean and divides by its deviation, both released with noise.

    **Algorithm.** Means and mean squares of the columns, clipped to their public bounds, are
    released as by `PrivateMean`. `transform` clips a value to its bounds, takes off the mean and
    divides by the deviation, which is taken to be a thousandth of half the range at least.

    **Privacy.** That of `PrivateMean`; `transform` reads releases and the record itself. Its budget
    is in its own `ledger_` and comes on top of what is fitted behind it in a pipeline: give both a
    share of one `Budget` and the sum is kept. The transformed table holds records, and is not a
    release.

    Parameters
    ----------
    privacy : Pure, Approximate, ZeroConcentrated, Gaussian or a Budget's share, default
        Approximate(1, 1e-6)
    bounds : {name: (low, high)}, pairs in the order of the columns, one pair, or "private"
        Public knowledge, without a default. "private" finds them for 10 % of the budget.
    random_state : None, int, Generator or RandomState

    Attributes: mean_, scale_, bounds_ (after scaling: the public range of each column of the
    result, for what comes behind), schema_, privacy_, ledger_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(40, 10, (20_000, 1))
    >>> scaler = PrivateScaler(bounds=(0, 100), random_state=0).fit(X)
    >>> scaled = scaler.transform(X)
    >>> bool(abs(scaled.mean()) < 0.1), bool(abs(scaled.std() - 1) < 0.1)
    (True, True)
    """

    categories = None
    report_clipped = False
    passes = "one"
    releases = ("mean_", "scale_", "bounds_", "schema_")

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        bounds: Bounds = None,
        *,
        random_state: Seed = None,
    ) -> None:
        self.privacy, self.bounds, self.random_state = privacy, bounds, random_state

    def fit(self, X: Any, y: object = None) -> PrivateScaler:
        """Release means and deviations of the columns of X."""
        records = self._records(X, None, None)
        purse = Purse(spendable(self._checked_budget(), records.schema), self._rng(), 1)
        records, part, _ = self._bounded(records, purse)
        found = released_moments(records, purse, part)
        self._counted(records)
        self._account(purse.ledger)
        schema = self.schema_ = records.schema
        self.mean_ = schema.middles + schema.halves * found.mean
        self.scale_ = schema.halves * np.maximum(np.sqrt(found.variance), LEAST_SCALE)
        self.bounds_ = ((schema.ends - self.mean_) / self.scale_).T
        return self

    def transform(self, X: Any) -> Array:
        """Columns of about mean 0 and deviation 1; values are clipped to the bounds first."""
        Z = self._encoded(X)
        values = self.schema_.middles + self.schema_.halves * Z
        return np.asarray((values - self.mean_) / self.scale_)

    def _report(self) -> Report:
        names = self.schema_.names
        means = [
            Row(f"mean of {name}", float(m)) for name, m in zip(names, self.mean_, strict=True)
        ]
        scales = [Row(f"scale of {n}", float(s)) for n, s in zip(names, self.scale_, strict=True)]
        told = "The transformed table holds records: it is not a release."
        return Report("PrivateScaler", [*means, *scales], 0.95, self.privacy_, self.ledger_, told)
