"""Linear regression on a table, with intervals."""

from __future__ import annotations

import math
import warnings
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from estimators.core.base import Array, LinearPredictor, PlanWarning, Seed
from estimators.core.design import check_gram_fits
from estimators.core.intervals import (
    ConfidenceInterval,
    ErrorLaw,
    KnownVariance,
    NoLaw,
    NormalNoise,
    WithIntervals,
)
from estimators.core.purse import Purse
from estimators.core.spending import GivenPrivacy
from estimators.tables.constant import released_mean
from estimators.tables.frame import ColumnFrame
from estimators.tables.front_door import TableEstimator
from estimators.tables.records import NumberResponse, Records
from estimators.tables.regression_error import Solved, solved
from estimators.tables.regression_frame import Frame
from estimators.tables.regression_plan import Plan, plan_of
from estimators.tables.regression_steps import Run
from estimators.tables.report import Report, Row
from estimators.tables.schema import Bounds, Categories, Schema, response_range

REPORT_LEVEL = 0.95
TOO_FEW = "there are too few records for these columns and this budget: {} was released"
HIDDEN = (
    "most responses are nearly equal, and there are too few records for these columns and this"
    " budget to see the others, which decide the coefficients"
)
LEAST_FOR_SPIKES = 150.0
"""n mu/p, below which intervals were seen to hold too seldom where most responses are equal."""


class Units(NamedTuple):
    """From coefficients of the frame's rows to those of the table: shift + matrix @ coef."""

    shift: Array
    matrix: Array


def table_units(frame: Frame, schema: Schema, response: NumberResponse) -> Units:
    r"""In the table's units, the intercept first if there is one.

    With z = (x - X)/H encoded and b_j for (z_j - m_j)/h_j, y = Y + K (mu + k (b_0 + sum b_j (z_j -
    m_j)/h_j)): the slope is K k b_j/(h_j H_j), and the intercept takes what is left at x = 0.
    """
    scale, d = response.half * frame.response_half, schema.d
    units = scale / (frame.columns.half * schema.halves)
    slopes = units[:, None] * frame.columns.slopes(np.eye(d))
    if not frame.intercept:
        return Units(np.zeros(d), slopes)
    origin = schema.middles + schema.halves * frame.columns.middle
    matrix = np.zeros((d + 1, d + 1))
    matrix[0, 0], matrix[0, 1:], matrix[1:, 1:] = scale, -origin @ slopes, slopes
    shift = np.zeros(d + 1)
    shift[0] = response.middle + response.half * frame.response_middle
    return Units(shift, matrix)


def _mean_alone(
    records: Records, purse: Purse, part: float, *, intercept: bool
) -> tuple[Frame, Solved]:
    """The frame that leaves numbers as they are, and slopes of 0.

    Without an intercept no record is read. The ledger, which is never empty, counts the budget as
    spent all the same.
    """
    d, p = records.d, records.d + int(intercept)
    coef, nothing = np.zeros(p), np.zeros((p, p))
    if intercept:
        coef[0] = released_mean(records, purse, part)
    else:
        purse.release(np.zeros(1), 2.0, part, "nothing: all coefficients are 0")
    frame = Frame(ColumnFrame(np.zeros(d), np.ones(d), 1.0, intercept), 0.0, 1.0, -1.0, 1.0)
    return frame, Solved(coef, nothing, nothing, nothing)


class PrivateRegression(WithIntervals, LinearPredictor, TableEstimator):
    r"""Linear least squares on a table, with intervals; all options but public facts are planned.

    **Algorithm.** Numbers are clipped to their public bounds and categories become indicators.
    Ranges within the bounds are found by noisy searches for medians and sizes, so that loose bounds
    cost next to nothing. A noisy second moment of rows and responses gives a first ridge fit, and
    whitens the rows. Steps on clipped residuals follow; each also tells the second moment of the
    whitened rows, at no cost, by which rows are whitened anew: directions that were lost in noise
    are seen (`regression_steps`). Clamps, clips, ridges and shares depend on public numbers and on
    what was released (`regression_plan`); with n mu/p, what clamps and clips move tends to 0. Last,
    slopes are shrunk where they are mostly noise (`regression_error`). Where records are too few
    even for that, by public numbers, the mean of the responses is all that is released, with a
    `PlanWarning`, and nothing if there is no intercept: all coefficients are then 0.

    `predict` clamps numbers as `fit` did, and predictions to a range that responses were found in,
    or, on a side where they have a long tail, to their public bound.

    **Privacy.** Replacing a record moves a count of a search or of clipped residuals by at most 1,
    those of a column's levels by sqrt 2 together, a released second moment of rows of length 1 by
    sqrt 2, and a sum of clipped residuals times such rows by 2, whatever the data. Noise is
    Gaussian; under a pure budget uniform on cubes of random size for counts and of density e^{-|z|}
    else. All other numbers come after the releases. The ledger is public.

    **What the intervals cover.** `confidence_interval(level)`, `stderr_`, `covariance_` and
    `fitted_interval(X, level)` are about least squares on the population that the records were
    drawn from, numbers as they are within their bounds. They hold sampling error, for residuals of
    any spread, noise, and an allowance for what ridges, clamps and clips may have moved, which is
    no bound (`regression_error`). Of level 0.9, they held 0.85 of the coefficients and more on made
    tables with n mu/p of 25 to 1500: skewed and zero-inflated responses, log-normal columns,
    responses that are linear in logarithms, levels, rare flags. Single coefficients were held less
    often, half of the time at n mu/p of 50, where a column that most of the fit rests on is clamped
    or clipped; and where columns or residuals have long tails, intervals are wide. There are none
    where most responses are equal and n mu/p is below 150, and those of columns that are not seen
    to vary (`unseen_columns_`) hold all numbers. Columns that are nearly combinations of others
    cannot be told apart under noise: their own coefficients, which least squares makes huge with
    opposite signs, are not covered, while fitted values are. Noise of a pure budget is counted as
    if it were normal.

    **Source.** this toolkit; clipped residuals: Varshney, Thakurta and Jain (2022); the guard:
    James and Stein (1961).

    Parameters
    ----------
    privacy : Pure, Approximate, ZeroConcentrated, Gaussian or a Budget's share, default
        Approximate(1, 1e-6)
    bounds : {name: (low, high)}, pairs in the order of the columns, one pair, or "private"
        The range in which a column's values can lie: public knowledge, without a default. Values
        outside are clipped. "private" finds them for 10 % of the budget.
    response_bounds : (low, high) or "private"
        The same for the responses.
    categories : {name: levels} or None
        The levels of columns that are not numbers, public as well.
    fit_intercept : bool
    report_clipped : bool
        Whether to tell the share of values outside their bounds, as `clipped_share_`, with noise:
        2 % of the budget.
    random_state : None, int, Generator or RandomState
        A number makes noise that can be computed again: for studies, never for a release.

    Attributes: coef_, intercept_ (both in the table's units), stderr_, covariance_ (of intercept,
    if there is one, and coefficients), plan_, frame_, frame_coef_ and frame_covariance_ (what
    predictions and their intervals are made with), feature_names_out_, clipped_share_, schema_ and
    response_ (bounds, given or found), error_law_, privacy_, ledger_, n_features_in_,
    feature_names_in_ (of a data frame)

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import Approximate
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(40, 10, 20_000), rng.normal(0, 1, 20_000)])
    >>> y = 100 + 2 * X[:, 0] - 30 * X[:, 1] + rng.normal(0, 20, 20_000)
    >>> model = PrivateRegression(
    ...     Approximate(1, 1e-6), [(0, 120), (-10, 10)], (0, 1000), random_state=0
    ... ).fit(X, y)
    >>> low, high = model.confidence_interval(0.99)
    >>> bool(low[0] < 2 < high[0]), bool(low[1] < -30 < high[1]), bool((high - low)[1] < 6)
    (True, True, True)
    """

    releases = (
        "coef_",
        "intercept_",
        "covariance_",
        "frame_",
        "frame_coef_",
        "frame_covariance_",
        "schema_",
        "response_",
        "clipped_share_",
        "unseen_columns_",
        "error_law_",
    )

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        bounds: Bounds = None,
        response_bounds: Any = None,
        *,
        categories: Categories = None,
        fit_intercept: bool = True,
        report_clipped: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.privacy, self.bounds, self.response_bounds = privacy, bounds, response_bounds
        self.categories, self.fit_intercept = categories, fit_intercept
        self.report_clipped, self.random_state = report_clipped, random_state

    def fit(self, X: Any, y: Any = None) -> PrivateRegression:
        """Release private coefficients of y on the columns of X."""
        records, purse = self._checked(X, y)
        records, part, clipped = self._bounded(records, purse)
        plan = self._plan(records, purse, part)
        if plan.constant:
            frame, found = _mean_alone(records, purse, part, intercept=bool(self.fit_intercept))
        else:
            run = Run(records, purse, plan, part)
            run.solve(bool(self.fit_intercept))
            frame, found = run.frame, solved(run)
        self._account(purse.ledger)
        self._keep(frame, found, records)
        self.plan_ = plan
        self.unseen_columns_: list[object] = []
        if plan.constant:
            what = "the mean alone" if self.fit_intercept else "nothing"
            self.error_law_ = NoLaw(TOO_FEW.format(what))
        else:
            self._tell_unseen(records, run.blurred)
            if run.spike and plan.information < LEAST_FOR_SPIKES:
                self.error_law_ = NoLaw(HIDDEN)
        self._tell_clipped(clipped)
        return self

    def _checked(self, X: Any, y: Any) -> tuple[Records, Purse]:
        """Everything that can be wrong is, before any noise is drawn."""
        if not isinstance(self.fit_intercept, (bool, np.bool_)):
            raise TypeError(f"fit_intercept must be True or False, got {self.fit_intercept!r}")
        range_ = response_range("response_bounds", self.response_bounds)
        centred = bool(self.fit_intercept)
        records = self._records(X, y, NumberResponse(range_, centred), centred=centred)
        check_gram_fits(records.d + 2)
        budget, rng = self._checked_budget(), self._rng()
        self._warn_of_large_delta(records.n)
        return records, Purse(budget, rng, records.n)

    def _plan(self, records: Records, purse: Purse, part: float) -> Plan:
        centred, numbers = bool(self.fit_intercept), int((~records.schema.binary).sum()) + 1
        p = records.d + centred
        plan = plan_of(purse, part, records.n, p, numbers, centred=centred)
        if plan.constant:
            warnings.warn(
                f"n = {records.n} is too small for {p} coefficients and this budget: "
                + ("the mean of the responses is released, and " if centred else "")
                + "coef_ is 0",
                PlanWarning,
                stacklevel=4,
            )
        return plan

    def _keep(self, frame: Frame, found: Solved, records: Records) -> None:
        assert isinstance(records.response, NumberResponse)
        self.schema_, self.response_ = records.schema, records.response
        self.feature_names_out_ = np.array(records.schema.names, dtype=object)
        units = table_units(frame, records.schema, records.response)
        whole = units.shift + units.matrix @ found.coef
        first = int(frame.intercept)
        self.coef_, self.intercept_ = whole[first:], float(whole[0]) if first else 0.0
        self.frame_, self.frame_coef_ = frame, found.coef
        self.frame_covariance_ = found.covariance
        self.covariance_ = units.matrix @ found.covariance @ units.matrix.T
        sampling = np.diag(units.matrix @ found.sampling @ units.matrix.T)[first:]
        others = np.diag(self.covariance_)[first:] - sampling
        self.error_law_ = ErrorLaw(
            KnownVariance(sampling), NormalNoise(1.0), np.sqrt(np.maximum(others, 0.0))
        )

    def confidence_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """(low, high) of this level for each coefficient alone; of columns in `unseen_columns_`
        nothing is known, and their intervals hold all numbers."""
        low, high = super().confidence_interval(level)
        numbers = [
            self.schema_.columns[j].name in self.unseen_columns_ for j in self.schema_.numeric
        ]
        unseen = np.flatnonzero(~self.schema_.binary)[numbers]
        low[unseen], high[unseen] = -math.inf, math.inf
        return ConfidenceInterval(low, high)

    def predict(self, X: Any) -> Array:
        """The fitted values, numbers clamped as in `fit`, within the range of the responses."""
        check_is_fitted(self, "frame_")
        frame, response = self.frame_, self.response_
        t = frame.fitted(self._encoded(X), self.frame_coef_)
        y = frame.response_middle + frame.response_half * t
        return np.asarray(response.middle + response.half * np.clip(y, frame.lowest, frame.highest))

    def fitted_interval(self, X: Any, level: float = 0.95) -> ConfidenceInterval:
        """(low, high) for <x, beta> + intercept at each row of X, each row alone.

        About the linear function itself, numbers within their public bounds, where `predict` may
        clamp. It costs no budget.
        """
        check_is_fitted(self, "frame_")
        if isinstance(level, bool) or not isinstance(level, Real):
            raise TypeError(f"level must be a number, got {level!r}")
        if not 0 < level < 1:
            raise ValueError(f"level must lie in (0, 1), got {level!r}")
        if isinstance(self.error_law_, NoLaw):
            raise ValueError(f"no interval: {self.error_law_.reason}")
        frame, response = self.frame_, self.response_
        rows = frame.columns.unclamped(
            self._encoded(X)
        )  # in the table's units large offsets would cancel
        t = frame.response_middle + frame.response_half * (rows @ self.frame_coef_)
        centre = response.middle + response.half * t
        spread = ((rows @ self.frame_covariance_) * rows).sum(axis=1)
        deviation = response.half * frame.response_half * np.sqrt(np.maximum(spread, 0.0))
        reach = float(special.ndtri((1 + level) / 2)) * deviation
        return ConfidenceInterval(centre - reach, centre + reach)

    def _report(self) -> Report:
        names = list(self.schema_.names)
        rows = [Row("intercept", self.intercept_)] if self.fit_intercept else []
        if isinstance(self.error_law_, NoLaw):
            rows += [Row(name, float(slope)) for name, slope in zip(names, self.coef_, strict=True)]
            covers = f"No intervals: {self.error_law_.reason}."
        else:
            low, high = self.confidence_interval(REPORT_LEVEL)
            if rows:
                reach = float(special.ndtri((1 + REPORT_LEVEL) / 2)) * math.sqrt(
                    max(0.0, float(self.covariance_[0, 0]))
                )
                rows = [
                    Row(
                        "intercept",
                        self.intercept_,
                        self.intercept_ - reach,
                        self.intercept_ + reach,
                    )
                ]
            found = zip(names, self.coef_, low, high, strict=True)
            rows += [Row(name, *map(float, numbers)) for name, *numbers in found]
            covers = (
                "An interval is for the coefficient of least squares on the population that the"
                " records were drawn from; it counts sampling, privacy noise and an allowance for"
                " clipping together, which is no bound: with few records for the columns and the"
                " budget, or columns with long tails, it may hold less often than it says."
            )
        return Report(
            "PrivateRegression: linear coefficients",
            rows,
            REPORT_LEVEL,
            self.privacy_,
            self.ledger_,
            covers,
            getattr(self, "clipped_share_", None),
        )
