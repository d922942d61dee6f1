"""The mean of a table's columns, with an interval for each."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimators.core.base import Array, Seed
from estimators.core.intervals import (
    ConfidenceInterval,
    ErrorLaw,
    KnownVariance,
    NoiseLaw,
    NormalNoise,
    WithIntervals,
    noise_law,
)
from estimators.core.purse import Purse
from estimators.core.spending import GivenPrivacy
from estimators.tables.front_door import TableEstimator
from estimators.tables.records import Records
from estimators.tables.report import Report, Row
from estimators.tables.schema import Bounds, Categorical, Categories, Schema
from minimax.core.calibration import budget_of
from minimax.core.privacy import Approximate, Pure, SpendablePrivacy

SPREAD_PART = 0.05
"""What the spread costs of a pure budget. Gaussian noise gives it away."""
SQUARE_WEIGHT = 1.665
"""The largest weight of the squares that costs nothing, rounded down: see `released_moments`."""
SURE = 2.0
"""Deviations of its own noise by which a variance is taken larger than it came out."""
REPORT_LEVEL = 0.95
FOLDED = 64


class Moments(NamedTuple):
    """Released: means and variances of the encoded columns, and the noise on a mean."""

    mean: Array
    variance: Array
    """Hardly ever too small for its noise, and never above what the range allows."""
    noise: NoiseLaw


def moment_sums(Z: Array, y: None, binary: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Sums of the columns and of their squares; indicators as +-1, all of whose squares are 1."""
    sums, squares = column_sums(Z), column_sums(Z, squared=True)
    if binary.any():
        sums[binary] = 2 * sums[binary] - len(Z)
        squares[binary] = len(Z)
    return sums, squares


def column_sums(Z: Array, squared: bool = False) -> Array:
    """Sums of the columns or of their squares. `FOLDED` rows are taken as one: long rows are added
    faster."""
    d, whole = Z.shape[1], len(Z) // FOLDED * FOLDED
    parts = [Z[:whole].reshape(-1, FOLDED * d), Z[whole:]]
    if squared:
        sums = [np.einsum("ij,ij->j", part, part) for part in parts]
    else:
        sums = [np.ones(len(part)) @ part for part in parts]
    return np.asarray(sums[0].reshape(-1, d).sum(axis=0) + sums[1])


def largest_move(schema: Schema) -> float:
    """What replacing a record can move the sums of `moment_sums` by, in l2, squares left out.

    A number moves by at most 2. Of the indicators of one column at most two change.
    """
    numeric = len(schema.numeric)
    groups = [len(c.levels) - 1 for c in schema.columns if isinstance(c, Categorical)]
    return 2 * math.sqrt(numeric + sum(min(levels, 2) for levels in groups))


def spendable(privacy: SpendablePrivacy, schema: Schema) -> SpendablePrivacy:
    """The budget as the mean spends it: an (epsilon, delta) budget is spent without delta where
    noise on the cube has the smaller variance, for few columns and small deltas."""
    if not isinstance(privacy, Approximate):
        return privacy
    gaussian = (largest_move(schema) / float(budget_of(privacy).mu())) ** 2
    d = schema.d
    cube = (d + 1) * (d + 2) / 3 * (2 / (privacy.epsilon * (1 - SPREAD_PART))) ** 2
    return Pure(privacy.epsilon) if cube < gaussian else privacy


def released_moments(records: Records, purse: Purse, part: float) -> Moments:
    r"""Means and variances of the encoded columns, indicators as +-1.

    **Statement (the spread is free).** Let z, z' be in [-1, 1]^d. Then for w^2 <= g^5/4, with the
    golden ratio g = (1 + sqrt 5)/2,

        |z - z'|^2 + w^2 sum_j (z_j^2 - z'_j^2)^2 <= 4 d,

    and the left side is at most its value at w = 0 maximised over the same columns: adding the
    squares, with weight w, to a Gaussian release of the sums needs no more noise.

    **Proof.** Column by column, u = |z_j - z'_j| and v = |z_j + z'_j| have u + v <= 2, and the
    column's part is u^2 (1 + w^2 v^2) <= u^2 (1 + w^2 (2 - u)^2). That is at most 4 if w^2 is at
    most h(u) = (4 - u^2)/(u (2 - u))^2 = (2 + u)/(u^2 (2 - u)). h has its least value where
    u^2 + 2 u = 4, at u = 2/g, and there it is g^5/4. Indicators as +-1 have the same squares.
    **Constants.** At u = 2/g, v = 2 - u a larger weight costs something: g^(5/2)/2 = 1.66509... is
    the largest.

    Noise of a pure budget is uniform on a cube of random size (`k_norm`); squares, between 0 and 1,
    get `SPREAD_PART` of it.
    """
    schema, d = records.schema, records.d
    sums, squares = records.total(moment_sums, schema.binary)
    n = records.n
    if purse.pure:
        mean = purse.cube_release(sums, 2.0, part * (1 - SPREAD_PART), "mean") / n
        noise = noise_law(purse.ledger[-1], d)
        square = purse.cube_release(squares, 1.0, part * SPREAD_PART, "spread") / n
        unsure = noise_law(purse.ledger[-1], d).deviation / n
    else:
        both = np.concatenate([sums, SQUARE_WEIGHT * squares])
        found = purse.release(both, largest_move(schema), part, "mean and spread") / n
        mean, square = found[:d], found[d:] / SQUARE_WEIGHT
        noise = NormalNoise(purse.ledger[-1].scale)
        unsure = purse.ledger[-1].scale / (SQUARE_WEIGHT * n)
    mean = np.clip(mean, -1.0, 1.0)
    allowed = 1 - mean**2
    return Moments(mean, np.clip(square + SURE * unsure - mean**2, 0.0, allowed), noise)


class PrivateMean(WithIntervals, TableEstimator):
    """The mean of each column of a table, with an interval.

    **Algorithm.** Values are clipped to the public bounds of their column and brought to [-1, 1].
    The averages of the columns and of their squares are released with noise, in one pass over the
    records. A column with `categories` gives the share of each level but the first.

    **Privacy.** Replacing a record moves each scaled average by at most 2/n, whatever the data.
    Noise is Gaussian, or uniform on a cube of random size under a pure budget, or where an
    (epsilon, delta) budget is better spent without its delta: for few columns. The squares, from
    which the spread is found, cost nothing under Gaussian noise (`released_moments`) and 5 % of a
    pure budget.

    **Intervals.** `confidence_interval(level)` and `stderr_` hold sampling error and noise, to
    leading order in n, and are about the mean of the clipped values: of the values themselves where
    the bounds are right. They are a little too wide: the variance is taken two deviations of its
    own noise above what came out.

    **Source.** this toolkit; noise on the cube is that of Hardt and Talwar (2010).

    Parameters
    ----------
    privacy : Pure, Approximate, ZeroConcentrated, Gaussian or a Budget's share, default
        Approximate(1, 1e-6)
    bounds : {name: (low, high)}, pairs in the order of the columns, one pair, or "private"
        The range in which a column's values can lie: public knowledge, without a default. Values
        outside are clipped. "private" finds ranges from the data, for 10 % of the budget; what they
        clip then moves the mean, and is no part of the interval.
    categories : {name: levels} or None
        The levels of columns that are not numbers, public as well.
    report_clipped : bool
        Whether to tell the share of values outside their bounds, as `clipped_share_`, with noise:
        2 % of the budget.
    random_state : None, int, Generator or RandomState
        A number makes noise that can be computed again: for studies, never for a release.

    Attributes: mean_, stderr_, noise_scale_ (of each mean), feature_names_out_, clipped_share_,
    schema_, error_law_, privacy_, ledger_, n_features_in_, feature_names_in_ (of a data frame)

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import Approximate
    >>> ages = np.random.default_rng(0).normal(40, 10, (20_000, 1))
    >>> found = PrivateMean(Approximate(1, 1e-6), bounds=(17, 90), random_state=0).fit(ages)
    >>> low, high = found.confidence_interval(0.99)
    >>> bool(low[0] < 40 < high[0]), bool(high[0] - low[0] < 1)
    (True, True)
    """

    estimated = "mean_"
    releases = ("mean_", "noise_scale_", "schema_", "clipped_share_", "error_law_")
    passes = "one"

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        bounds: Bounds = None,
        *,
        categories: Categories = None,
        report_clipped: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.privacy, self.bounds, self.categories = privacy, bounds, categories
        self.report_clipped, self.random_state = report_clipped, random_state

    def fit(self, X: Any, y: object = None) -> PrivateMean:
        """Release the private means of the columns of X."""
        records = self._records(X, None, None)
        budget = spendable(self._checked_budget(), records.schema)
        purse = Purse(budget, self._rng(), 1)
        records, part, clipped = self._bounded(records, purse)
        found = released_moments(records, purse, part)
        n, schema = self._counted(records), records.schema
        self._account(purse.ledger)
        middle = np.where(schema.binary, 0.5, schema.middles)
        half = np.where(schema.binary, 0.5, schema.halves)
        self.mean_ = middle + half * found.mean
        self.noise_scale_ = half * found.noise.deviation / n
        self.error_law_ = ErrorLaw(
            KnownVariance(half**2 * found.variance / n), found.noise, half / n
        )
        self.schema_, self.feature_names_out_ = schema, np.array(schema.names, dtype=object)
        self._tell_clipped(clipped)
        return self

    def confidence_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """(low, high) of this level for each column alone, within its public bounds."""
        interval = super().confidence_interval(level)
        if isinstance(self.bounds, str):
            return interval
        ends = np.tile([[0.0], [1.0]], self.schema_.d)
        ends[:, ~self.schema_.binary] = self.schema_.ends
        return ConfidenceInterval(*(np.clip(end, *ends) for end in interval))

    def _report(self) -> Report:
        low, high = self.confidence_interval(REPORT_LEVEL)
        rows = zip(self.schema_.names, self.mean_, low, high, strict=True)
        return Report(
            "PrivateMean: means of columns",
            [Row(name, *map(float, numbers)) for name, *numbers in rows],
            REPORT_LEVEL,
            self.privacy_,
            self.ledger_,
            "An interval holds the mean of the population that the records were drawn from, values"
            " clipped to the bounds; it counts sampling and privacy noise together.",
            getattr(self, "clipped_share_", None),
        )
