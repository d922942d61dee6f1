"""The classes of a table's rows: private logistic regression on a table as it comes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from estimators.core.base import Array, PlanWarning, Seed, as_floats
from estimators.core.design import check_gram_fits
from estimators.core.intervals import NoLaw, WithIntervals
from estimators.core.purse import Purse
from estimators.core.spending import GivenPrivacy
from estimators.core.two_classes import PUBLIC_LABELS
from estimators.tables.chunks import as_python
from estimators.tables.classifier_steps import (
    POOR,
    DescentPlan,
    planned,
    range_share,
    released_coefficients,
    released_frame,
    released_logits,
)
from estimators.tables.frame import ColumnFrame
from estimators.tables.front_door import TableEstimator
from estimators.tables.records import LabelResponse, Records, in_memory
from estimators.tables.report import Report, Row
from estimators.tables.schema import Bounds, Categories

NO_INTERVAL = (
    "what weights, penalty and unfinished steps leave of the way to the coefficients depends on a"
    " curvature that is not released"
)


class PrivateClassifier(WithIntervals, ClassifierMixin, TableEstimator):
    r"""Logistic regression, for two classes or more, with a public schema and nothing to tune.

    **Algorithm.** (1) The shares of the classes. (2) The range of each numeric column, from a
    private median and size; columns are brought to one scale and clamped there. (3) The second
    moment of the rows, with which they are whitened. (4) Steps of gradient descent with momentum,
    ten to forty of them, or four to ten under a pure budget, on weighted slopes of the log loss,
    from the shares of the classes, with a penalty that grows with the noise; their average is
    released. How the budget is divided, the number of steps, and how even the weights are follow
    from n, the number of columns, that of classes and the budget
    (`estimators.tables.classifier_steps`): with few records nearly all goes to the shares of the
    classes, and the rest stays near 0; a `PlanWarning` says so.

    **Privacy.** Counts, of classes and of the searches for ranges and lengths, move by 1 (sqrt(2)
    for the classes together) if a record is replaced. Rows of the second moment are shortened, and
    slopes are weighted so that no record has more than its part whatever its label. Noise is
    Gaussian, or K-norm noise for a pure budget. Every release is divided by how far a record can
    move it, so `ledger_` is a function of public numbers. A label that is not in `classes` adds
    nothing. Which columns there are, their bounds, categories and n are taken to be public.

    **Intervals.** None: rows are weighted and clamped and the descent is penalised, and what that
    leaves of the way to the coefficients depends on a curvature that is not released.
    `confidence_interval` says so.

    **Source.** this toolkit. That weights which do not depend on the label leave the zero of the
    expected slope where it is: `classifier_steps.slope_sums`.

    Parameters
    ----------
    privacy : Pure, Approximate, ZeroConcentrated, Gaussian or a Budget's share, default
        Approximate(1, 1e-6)
    bounds : {name: (low, high)}, pairs in the order of the columns, one pair, or "private"
        The range in which a column's values can lie: public knowledge, without a default. Values
        outside are clipped. Generous ones cost little: ranges are found within them. "private"
        finds bounds from the data and pays for it.
    classes : sequence of labels, or None
        The labels, whichever occur in y: public as well, in the order of `predict_proba`. A record
        whose label is not listed adds nothing, and nothing is said of it, since one record would
        decide that: `report_clipped` tells how many there are. Without `classes` the labels are
        read off y, and `privacy_.assumes` that they are public.
    categories : {name: levels} or None
        The levels of columns that are not numbers, public as well.
    fit_intercept : bool
        Whether log-odds have a constant part.
    report_clipped : bool
        Whether to tell the share of values outside their bounds, as `clipped_share_`, with noise:
        2 % of the budget. Its last entry, "y", is the share of labels that are not in `classes`.
    random_state : None, int, Generator or RandomState
        A number makes noise that can be computed again: for studies, never for a release.

    Attributes
    ----------
    coef_ : array (1, d) for two classes, (classes, d) for more
        In the units of the table, for the encoded columns `feature_names_out_`.
    intercept_ : array of length 1, or of the number of classes
    ranges_ : array (2, d)
        Where the columns were found to lie: rows to predict for are clamped to it.
    classes_, n_iter_ (steps), clipped_share_, schema_, error_law_ (why there are no intervals),
    privacy_, ledger_, feature_names_out_, n_features_in_, feature_names_in_ (of a data frame)

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import Approximate
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(40, 10, 20_000), rng.exponential(2_000, 20_000)])
    >>> older = rng.random(20_000) < 1 / (1 + np.exp(-(X[:, 0] - 40) / 5))
    >>> y = np.where(older, "yes", "no")
    >>> model = PrivateClassifier(
    ...     Approximate(1, 1e-6), bounds=[(17, 90), (0, 1e6)], classes=("no", "yes"), random_state=0
    ... )
    >>> bool(model.fit(X, y).score(X, y) > 0.75), str(model.privacy_)
    (True, 'approximate(epsilon=1, delta=1e-06)')
    """

    releases = ("coef_", "intercept_", "ranges_", "clipped_share_", "unseen_columns_", "schema_")

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        bounds: Bounds = None,
        classes: Sequence[Any] | None = None,
        *,
        categories: Categories = None,
        fit_intercept: bool = True,
        report_clipped: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.privacy, self.bounds, self.classes = privacy, bounds, classes
        self.categories, self.fit_intercept = categories, fit_intercept
        self.report_clipped, self.random_state = report_clipped, random_state

    def fit(self, X: Any, y: Any = None) -> PrivateClassifier:
        """Release private coefficients for telling the classes in y apart."""
        classes = self._found_classes(X, y) if self.classes is None else self._given_classes()
        records, purse = self._checked(X, y, classes)
        records, part, clipped = self._bounded(records, purse)
        plan = self._plan(records, purse, len(classes), part)
        start = np.zeros(len(classes))
        if self.fit_intercept:
            start = released_logits(records, purse, len(classes), plan.counts)
        frame, blurred = released_frame(records, purse, plan.ranges, bool(self.fit_intercept))
        found = released_coefficients(records, purse, frame, start, plan)
        self._account(purse.ledger)
        self.schema_, self.classes_, self.n_iter_ = records.schema, classes, plan.steps
        self.feature_names_out_ = np.array(records.schema.names, dtype=object)
        self._keep(frame, start, found)
        self.error_law_ = NoLaw(NO_INTERVAL)
        self._tell_unseen(records, blurred)
        self._tell_clipped(clipped)
        return self

    def _checked(self, X: Any, y: Any, classes: Any) -> tuple[Records, Purse]:
        """Everything that can be wrong is, before any noise is drawn."""
        if not isinstance(self.fit_intercept, (bool, np.bool_)):
            raise TypeError(f"fit_intercept must be True or False, got {self.fit_intercept!r}")
        response = LabelResponse(tuple(classes.tolist()))
        records = self._records(X, y, response, centred=bool(self.fit_intercept))
        check_gram_fits(records.d + 1)
        budget, rng = self._checked_budget(), self._rng()
        self._warn_of_large_delta(records.n)
        return records, Purse(budget, rng, records.n)

    def _plan(self, records: Records, purse: Purse, classes: int, part: float) -> DescentPlan:
        """The plan, and a warning where it promises little: by public numbers alone."""
        intercept = bool(self.fit_intercept)
        ranges = range_share(purse, records.schema, intercept)
        plan = planned(purse, records.d, classes, ranges, part, intercept=intercept)
        if plan.richness < POOR:
            warnings.warn(
                f"n = {records.n} is too small for {records.d} columns, {classes} classes and this"
                " budget: predictions will hardly differ from the shares of the classes; fewer"
                " columns or levels help",
                PlanWarning,
                stacklevel=4,
            )
        return plan

    def _keep(self, frame: ColumnFrame, start: Array, found: Array) -> None:
        """Coefficients, intercept and ranges, in the units of the table."""
        schema, first = self.schema_, int(frame.intercept)
        coef = (frame.slopes(found[first:]) / (schema.halves * frame.half)[:, None]).T
        intercept = start + (found[0] if first else 0.0)
        intercept = intercept - coef @ (schema.middles + schema.halves * frame.middle)
        if len(start) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept if first else np.zeros(len(coef))
        self.ranges_ = schema.middles + schema.halves * frame.ends

    def decision_function(self, X: Any) -> Array:
        """Log-odds of ``classes_[1]``, or a score for each class whose differences are log-odds."""
        check_is_fitted(self, "coef_")
        values = self.schema_.middles + self.schema_.halves * self._encoded(X)
        scores = np.clip(values, *self.ranges_) @ self.coef_.T + self.intercept_
        return np.asarray(scores[:, 0] if len(self.classes_) == 2 else scores)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, one row per row of X."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([special.expit(-scores), special.expit(scores)])
        return np.asarray(special.softmax(scores, axis=1))

    def predict_log_proba(self, X: Any) -> Array:
        """Their logarithms."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return np.asarray(special.log_softmax(scores, axis=1))

    def predict(self, X: Any) -> Any:
        """The likeliest class of each row of X."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[places]

    def _given_classes(self) -> Any:
        """`classes`, checked: two labels or more, of one type, all different."""
        given = [] if isinstance(self.classes, str) else as_python(self.classes)
        if len(given) < 2:
            raise ValueError(f"classes must be two labels or more, got {self.classes!r}")
        classes = np.asarray(given)
        if classes.ndim != 1 or classes.tolist() != [
            label.item() if isinstance(label, np.generic) else label for label in given
        ]:
            raise ValueError(f"classes must be labels of one type, got {self.classes!r}")
        if len(set(classes.tolist())) < len(given):
            raise ValueError(f"classes must be different labels, got {self.classes!r}")
        return classes

    def _found_classes(self, X: Any, y: Any) -> Any:
        """The labels that occur in y, an error unless there are two or more."""
        if not (in_memory(X) or isinstance(X, np.memmap)):
            raise ValueError("classes must be given where X is read in chunks: the list of labels")
        if y is None:
            raise ValueError("fit requires y to be passed, but the target y is None")
        labels = column_or_1d(as_floats("y", y), warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        found = np.unique(labels)
        if len(found) < 2:
            raise ValueError(f"y must hold two classes or more, got one class: {found.tolist()}")
        return found

    @property
    def _assumptions(self) -> tuple[str, ...]:
        found = () if self.classes is not None else (PUBLIC_LABELS,)
        return super()._assumptions + found

    def _report(self) -> Report:
        names = [*self.feature_names_out_, "intercept"]
        numbers = np.column_stack([self.coef_, self.intercept_])
        classes = self.classes_.tolist()
        labels = [""] if len(classes) == 2 else [f" [{label}]" for label in classes]
        about = f"log-odds of {classes[1]!r}" if len(classes) == 2 else "scores of the classes"
        return Report(
            f"PrivateClassifier: {about}",
            [
                Row(f"{name}{label}", float(value))
                for label, row in zip(labels, numbers, strict=True)
                for name, value in zip(names, row, strict=True)
            ],
            0.95,
            self.privacy_,
            self.ledger_,
            f"There are no intervals: {NO_INTERVAL}.",
            getattr(self, "clipped_share_", None),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
