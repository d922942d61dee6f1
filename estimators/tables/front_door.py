"""What the front doors share: a table in, records that can be read in sums, a report out."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from estimators.core.base import Array, PrivateEstimator, ReleasedWarning, as_floats, validated
from estimators.core.design import LARGEST
from estimators.core.purse import Purse
from estimators.tables.chunks import names_of
from estimators.tables.found_bounds import PRIVATE_BOUNDS_PART, bounded_records
from estimators.tables.records import Records, Response, in_memory, source_of
from estimators.tables.report import Report
from estimators.tables.schema import Bounds, Categories, Schema, schema_of
from estimators.tables.sources import READ_ONCE
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated

CLIPPED_PART = 0.02
"""The part of the budget that telling the clipped shares costs, where it is asked for."""
BUDGETS = Pure, Approximate, ZeroConcentrated, Gaussian
TEXT = "O", "U", "S", "T"
"""Kinds of arrays that may hold text."""


class Bounded(NamedTuple):
    """Records that all have bounds, and what came of finding them."""

    records: Records
    part: float
    """Of the budget, for the estimate."""
    clipped: dict[Any, float] | None


class TableEstimator(PrivateEstimator):
    """A private estimator for tables with a public schema."""

    bounds: Bounds
    categories: Categories
    report_clipped: bool
    schema_: Schema
    clipped_share_: dict[Any, float]
    passes: ClassVar[str] = "many"

    def _records(
        self, X: Any, y: Any, response: Response | None, *, centred: bool = True
    ) -> Records:
        """The records, with nothing read but the first columns; their number is counted, and all
        of them are checked, when `n` is asked for."""
        if not isinstance(self.report_clipped, (bool, np.bool_)):
            raise TypeError(f"report_clipped must be True or False, got {self.report_clipped!r}")
        self._checked_budget()  # first: where it is overdrawn nothing is touched
        table = in_memory(X)
        if table and names_of(X) is None and not self._has_objects(X):
            check_shape(X)
            X = validated(self, X)
        source, first = source_of(X, y)
        passes = self.passes != "one" or self.report_clipped or isinstance(self.bounds, str)
        if getattr(source, "once", False) and passes:
            raise ValueError(READ_ONCE)
        schema = schema_of(first, self.bounds, self.categories, centred=centred)
        validate_data(self, first, skip_check_array=True)  # names and number of columns
        return Records(source, schema, response, keep=table and self.passes == "many")

    def _has_objects(self, X: Any) -> bool:
        """Whether it is an array of objects or text, some columns of which have categories."""
        kind = getattr(getattr(X, "dtype", None), "kind", "")
        return self.categories is not None and kind in TEXT

    def _counted(self, records: Records) -> int:
        """The number of records, which a large delta is held against."""
        self._warn_of_large_delta(records.n)
        return records.n

    def _checked_budget(self) -> SpendablePrivacy:
        """The budget, of any kind."""
        return self._budget(*BUDGETS)

    def _report_clipped(self, records: Records, purse: Purse) -> dict[Any, float]:
        """The share of values outside their bounds, column by column.

        A record adds at most 1 to each count: replacing one moves the counts by at most the root of
        their number in l2.
        """
        counts = records.outside()
        noisy = purse.release(counts, np.sqrt(len(counts)), CLIPPED_PART, "clipped shares")
        names = [column.name for column in records.schema.columns]
        if records.response is not None:
            names.append("y" if "y" not in names else "y, the response")
        shares = np.clip(noisy / records.n, 0.0, 1.0).tolist()
        return dict(zip(names, shares, strict=True))

    def _bounded(self, records: Records, purse: Purse) -> Bounded:
        """The records with bounds for all columns, found where that was asked for; what is left of
        the budget; and the clipped shares, if they were asked for."""
        part, unbounded = 1 - CLIPPED_PART if self.report_clipped else 1.0, self._unbounded(records)
        if unbounded.any():
            spent = PRIVATE_BOUNDS_PART * part
            records, part = bounded_records(records, unbounded, purse, spent), part - spent
        clipped = self._report_clipped(records, purse) if self.report_clipped else None
        return Bounded(records, part, clipped)

    def _unbounded(self, records: Records) -> NDArray[np.bool_]:
        """Which numeric columns, and then the responses if there are any, have bounds to be
        found."""
        everywhere = (records.schema.ends.T == [-LARGEST, LARGEST]).all(axis=1)
        asked = isinstance(self.bounds, str) & everywhere
        if records.response is None:
            return np.asarray(asked)
        return np.append(asked, isinstance(getattr(self, "response_bounds", None), str))

    def _tell_unseen(self, records: Records, blurred: NDArray[np.bool_]) -> None:
        """Keep and say which numeric columns, and then the responses, were not seen to vary.

        A search with noise has told it: it comes after a release, as the estimate does.
        """
        names = [records.schema.columns[j].name for j in records.schema.numeric]
        self.unseen_columns_ = [
            name for name, hidden in zip([*names, "y"], blurred, strict=False) if hidden
        ]
        if self.unseen_columns_:
            warnings.warn(
                f"{', '.join(map(repr, self.unseen_columns_))}: nearly all values are equal, or"
                " their bounds are too wide for what is left to be seen; their public range is"
                " used, and differences within a sliver of it are lost: narrower bounds help",
                ReleasedWarning,
                stacklevel=3,
            )

    def _tell_clipped(self, clipped: dict[Any, float] | None) -> None:
        """Keep the clipped shares of this fit, and no earlier ones."""
        if clipped is None:
            self.__dict__.pop("clipped_share_", None)
        else:
            self.clipped_share_ = clipped

    def _encoded(self, X: Any) -> Array:
        """Rows to predict for, encoded as those of `fit` were, or an error."""
        check_is_fitted(self, "schema_")
        if names_of(X) is None and not self._has_objects(X):
            check_shape(X)
            X = validate_data(self, as_floats("X", X), reset=False, dtype="numeric")
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
        self.schema_.check_columns(X)
        self.schema_.check_entries(X)
        return self.schema_.encode(X)

    def _report(self) -> Report:
        """What `print` and a notebook show of a fit."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self._report().text() if hasattr(self, "privacy_") else repr(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        if not hasattr(self, "privacy_"):
            return dict(super()._repr_mimebundle_(**options))
        report = self._report()
        return {"text/plain": report.text(), "text/html": report.html()}


def check_shape(X: Any) -> None:
    """Raise unless X has rows and columns, and no text where numbers belong: in words that hold no
    record."""
    dimensions = getattr(X, "ndim", None)
    if dimensions is None and isinstance(X, (list, tuple)):
        dimensions = 2 if X and isinstance(X[0], (list, tuple, np.ndarray)) else 1
    if dimensions in (0, 1):
        raise ValueError(
            "X must have rows and columns: Expected 2D array, got 1D array instead. Reshape your"
            " data: X.reshape(-1, 1) is one column"
        )
    if dimensions == 2 and getattr(getattr(X, "dtype", None), "kind", "") in TEXT:
        for j in range(X.shape[1]):
            if any(isinstance(value, str) and not is_number(value) for value in X[:, j]):
                raise ValueError(
                    f"X: column {j} holds text, which cannot be made a float: give its levels,"
                    f" known without looking at the records, as categories={{{j}: [...]}}, or leave"
                    " it out"
                )


def is_number(text: str) -> bool:
    """Whether a float can be made of a text."""
    try:
        float(text)
    except ValueError:
        return False
    return True
