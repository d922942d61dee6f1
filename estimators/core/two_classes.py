"""Labels of two classes: what every private linear classifier does with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from estimators.core.base import Array, PrivateEstimator, as_floats
from estimators.core.summaries import Repeated

PUBLIC_LABELS = "the set of labels is public"


class TwoClassPredictor(ClassifierMixin, PrivateEstimator):
    """<x, coef_> is the log-odds of ``classes_[1]``.

    With `classes` given, a record's label is the second class or it is not, whatever it is. Without
    it the two labels are read off y, and a y with another number of labels raises: `privacy_` then
    assumes that the set of labels is public.
    """

    classes: Sequence[Any] | None
    classes_: Any
    coef_: Array

    def _labelled(self, X: Any, y: Any) -> tuple[Any, Array, Any]:
        """X, 1 where the label is the second class and 0 elsewhere, and the classes.

        Of rows that are `Repeated` the labels are 0 and 1.
        """
        if isinstance(X, Repeated):
            self.n_features_in_ = X.d
            return X, np.asarray(y, dtype=float), np.array([0.0, 1.0])
        if y is None:
            self._validated_pair(X, y, sparse_rows=True)  # raises, saying that y is needed
        if np.ma.isMaskedArray(y):
            raise TypeError("y is a masked array: fill or drop the masked entries first")
        classes, labels = self._found_classes(y) if self.classes is None else self._given_classes(y)
        positive = np.asarray(labels == classes[1], dtype=float)
        X, positive = self._validated_pair(X, positive, sparse_rows=True)
        return X, positive, classes

    def _given_classes(self, y: Any) -> tuple[Any, Any]:
        """`classes`, checked, and the labels, each compared with them on its own."""
        classes = np.asarray(self.classes)
        if classes.shape != (2,) or classes[0] == classes[1]:
            raise ValueError(f"classes must be two different labels, got {self.classes!r}")
        if classes.tolist() != list(self.classes or ()):
            raise ValueError(f"classes must be two labels of one type, got {self.classes!r}")
        # A list becomes an array of its objects: one string in it must not turn numbers to text.
        labels = column_or_1d(y if hasattr(y, "dtype") else np.array(y, dtype=object), warn=True)
        if np.any(labels != labels):
            raise ValueError("Input y contains NaN")
        return classes, labels

    def _found_classes(self, y: Any) -> tuple[Any, Any]:
        """The labels that occur, an error unless there are two, and those of the records."""
        labels = column_or_1d(as_floats("y", y), warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        found = np.unique(labels)
        if len(found) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target y is "
                f"{type_of_target(labels)}, with {len(found)} classes."
            )
        if len(found) < 2:
            raise ValueError(f"y must hold two classes, got one class: {found.tolist()}")
        return found, labels

    @property
    def _assumptions(self) -> tuple[str, ...]:
        found = () if self.classes is not None else (PUBLIC_LABELS,)
        return super()._assumptions + found

    def decision_function(self, X: Any) -> Array:
        """The log-odds <x, coef_> of ``classes_[1]`` for each row of X."""
        check_is_fitted(self, "coef_")
        X = as_floats("X", X)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        return np.asarray(X @ self.coef_)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the two classes, one row per row of X."""
        log_odds = self.decision_function(X)
        return np.column_stack([special.expit(-log_odds), special.expit(log_odds)])

    def predict(self, X: Any) -> Any:
        """The likelier class of each row of X."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags
