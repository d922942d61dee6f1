"""What all private estimators share: validation, budget, ledger.

House rules. The constructor stores hyper-parameters and does nothing else. `fit` validates
everything before it draws any noise, so bad input raises and nothing is released. After `fit`,
`ledger_` lists every mechanism call and `privacy_` is the guarantee composed from it, in the
definition in which the budget was given; `privacy_.assumes` says what it rests on besides.

The default budget. ``privacy=None``, which `clone` and scikit-learn's checks need, spends
`DEFAULT_PRIVACY`: (1, 1e-6)-DP, or 1-DP for each report of a local protocol. It is for trying
things out, as no default fits every data set; `privacy_` always says what was spent. Whatever the
budget, a delta of 1/n or more is met with a `PrivacyWarning`: with the default, from a million
records on. `privacy` may also be a share of a `Budget` that other fits draw from too
(`estimators.core.budget`): `_budget` and `_asked` then are what this fit was handed.

What one record may decide. Data that are none (NaN, infinity, text, an object that no float can be
made of, a wrong shape) are refused: that they are there is taken to be public. No finite record
decides whether there is an error or a warning, nor any attribute but those that the class names in
`releases`, which have passed through a mechanism or are computed from what has.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, special
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from estimators.core.accounting import (
    LedgerEntry,
    PrintedLedger,
    check_composable,
    compose,
    delta_at,
)
from estimators.core.budget import Share
from estimators.core.design import clamped, surely_within
from estimators.core.losses import LogisticLoss, accepted_responses
from estimators.core.noise import Noise, noise_source, system_bits, with_noise_option
from estimators.core.rows import row_products
from estimators.core.spending import DEFAULT_PRIVACY as DEFAULT_PRIVACY
from estimators.core.spending import SpendsPrivacy, current_drawing
from estimators.core.summaries import Drawn, Sums
from minimax.core.privacy import Approximate, Gaussian, SpendablePrivacy

Array = NDArray[np.float64]
Seed: TypeAlias = int | np.random.Generator | np.random.RandomState | None
"""Where the noise comes from. None: from the operating system, every time anew."""
FORGETFUL_LOSS = "the loss remembers nothing from one call to the next"
SECRET_SEED = (
    "random_state is secret: a seeded fit is a study, not a release, as whoever knows the seed, or"
    " has this object, knows the noise"
)


def generator_from(random_state: Seed) -> np.random.Generator:
    """The generator that a `random_state` stands for, or an error that names it."""
    if random_state is None:
        return np.random.Generator(system_bits())
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise type(error)(f"random_state: {error}") from None


class PrivacyWarning(UserWarning):
    """A budget that protects less than it seems to, by public numbers alone."""


class PlanWarning(UserWarning):
    """A plan that promises no more than the public first value, by public numbers alone."""


class ReleasedWarning(UserWarning):
    """A warning that follows from what was released, with noise, and stands in an attribute."""


class PrivateEstimator(SpendsPrivacy):
    """Base of the estimators: a privacy budget in, `privacy_` and `ledger_` out.

    `DEFAULT_PRIVACY` is spent if no budget is given.
    """

    random_state: Seed
    noise: Noise = "ordinary"
    """A keyword of every constructor: "hardened" draws noise that may leave the house, with OpenDP
    (`estimators.core.noise`)."""
    releases: ClassVar[tuple[str, ...]]
    """The attributes that depend on the data. All others are functions of public numbers.

    `privacy_` is among them where noise is in proportion to a released level, or a released number
    of coordinates shares the budget: its last digits round what the ledger then holds.
    """
    privacy_: SpendablePrivacy
    ledger_: tuple[LedgerEntry, ...]

    def _validated(self, X: ArrayLike, *, minimum_records: int = 1) -> Array:
        """X as a finite, real, two-dimensional float array, or an error that says what is wrong."""
        X = validated(self, X, minimum_records)
        self._warn_of_large_delta(len(X))
        return X

    def _validated_pair(
        self, X: Any, y: ArrayLike | None, *, sparse_rows: bool = False, read_later: bool = False
    ) -> tuple[Any, Array]:
        """X and y as finite real arrays of equal length, clamped; X may be CSR if `sparse_rows`."""
        X, y = validated_pair(self, X, y, sparse_rows=sparse_rows, read_later=read_later)
        self._warn_of_large_delta(len(y))
        return X, y

    def _warn_of_large_delta(self, n: int) -> None:
        """Warn if delta >= 1/n: releasing one record at random, in clear, would be allowed.

        n and delta are public, so the warning tells nothing of a record.
        """
        stated = self.privacy.budget.total if isinstance(self.privacy, Share) else self._asked
        delta = stated.delta if isinstance(stated, Approximate) else 0.0
        if delta * n >= 1:
            warnings.warn(
                f"delta = {delta:g} is at least 1/n = {1 / n:.3g}: so large a delta allows to"
                f" release a whole record; give {type(self).__name__} a smaller one in `privacy`",
                PrivacyWarning,
                stacklevel=5,  # the caller of fit, which is wrapped
            )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = with_noise_option(cls.__init__)  # type: ignore[method-assign]

    def _rng(self) -> np.random.Generator:
        """Where the noise of this fit comes from."""
        hardened = noise_source(self.noise, self.random_state)
        if hardened is not None:
            return hardened
        source, drawing = generator_from(self.random_state), current_drawing(self)
        return source if drawing is None else drawing.generator(source)

    def _account(self, ledger: list[LedgerEntry]) -> None:
        """Record the ledger and the guarantee it composes to.

        An (epsilon, delta) budget is reported at its own delta; where the noise is too small for
        it (a paper's literal calibration), at its own epsilon with the delta really given, unless
        that is 1.
        """
        spent = PrintedLedger(ledger)
        asked = self._asked
        delta = asked.delta if isinstance(asked, Approximate) else None
        reported = compose(spent, type(asked), delta)
        if isinstance(asked, Approximate):
            assert isinstance(reported, Approximate)
            if reported.epsilon > asked.epsilon * (1 + 1e-9):
                given = delta_at(spent, asked.epsilon)
                if given < 1:
                    reported = Approximate(asked.epsilon, given, reported.scope)
        self._enter(spent)
        self.ledger_, self.privacy_ = spent, reported.assuming(*self._assumptions)

    @property
    def _assumptions(self) -> tuple[str, ...]:
        """What the guarantee rests on besides the mechanisms."""
        found = () if self.random_state is None else (SECRET_SEED,)
        own_loss = not isinstance(getattr(self, "loss", ""), str)
        return (*found, FORGETFUL_LOSS) if own_loss else found


class LinearPredictor(RegressorMixin, BaseEstimator):
    """What every linear regressor shares once `coef_` is there, private or not."""

    coef_: Array
    _sparse_rows = False
    """Whether `fit` and `predict` take CSR matrices."""

    def predict(self, X: Any) -> Array:
        """<x, coef_> for each row of X."""
        check_is_fitted(self, "coef_")
        accepted = "csr" if self._sparse_rows else False
        X = as_floats("X", X)
        X = validate_data(self, X, reset=False, accept_sparse=accepted, dtype=np.float64)
        return np.asarray(X @ self.coef_)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R^2; where predictions are log-odds, the share of the log-loss of the best constant that
        they explain (D^2), which R^2 is for the squared loss. Not private."""
        loss = getattr(self, "loss", None)
        if not (loss == "logistic" or isinstance(loss, LogisticLoss)):
            return float(super().score(X, y, sample_weight))
        labels = accepted_responses(LogisticLoss(), np.asarray(as_floats("y", y), dtype=float))
        losses = LogisticLoss().value(self.predict(X), labels)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        rate, left = (float(np.average(each, weights=weights)) for each in (labels, losses))
        least = float(special.entr(rate) + special.entr(1 - rate))
        return 1 - left / least if least > 0 else 0.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse_rows
        tags.regressor_tags.poor_score = True  # noise, and no intercept
        return tags


def validated(estimator: BaseEstimator, X: ArrayLike | Sums, minimum_records: int = 1) -> Array:
    """X as a finite, real, two-dimensional array, or an error that says what is wrong with X.

    Integers stay integers until a chunk is clipped: a copy of the whole would double memory.
    Objects that are all numbers are converted, as scikit-learn does.
    """
    if isinstance(X, Sums):
        estimator.n_features_in_ = X.shape[1]
        return X  # type: ignore[return-value]
    if np.ma.isMaskedArray(X):
        raise TypeError("X is a masked array: fill or drop the masked entries first")
    if _is_plain(X) and np.shape(X)[0] >= minimum_records:
        return _noted(estimator, as_floats("X", X))
    rows: Array = validate_data(
        estimator, as_floats("X", X), dtype="numeric", ensure_min_samples=minimum_records
    )
    if rows.dtype.kind not in "fiub":
        raise TypeError(f"X must hold real numbers, got dtype {rows.dtype}")
    return np.asarray(rows)


def validated_pair(
    estimator: BaseEstimator,
    X: Any,
    y: ArrayLike | None,
    *,
    sparse_rows: bool = False,
    read_later: bool = False,
) -> tuple[Any, Array]:
    """X (dense, or CSR if `sparse_rows`) and y, real, finite and clamped, or an error that says
    what is wrong with which of them.

    `read_later`: entries of an array of float64 are left to `settled_entries`.
    """
    if isinstance(X, Drawn):
        estimator.n_features_in_ = X.d
        return X, clamped(as_floats("y", y))
    for name, value in (("X", X), ("y", y)):
        if np.ma.isMaskedArray(value):
            raise TypeError(f"{name} is a masked array: fill or drop the masked entries first")
        dtype = getattr(value, "dtype", None)
        kind = getattr(dtype, "kind", "")
        if kind == "c":
            raise ValueError(f"Complex data not supported: {name} must hold real numbers")
        if kind in ("M", "m"):  # which numpy would take for numbers
            raise TypeError(f"{name} must hold real numbers, got dtype {dtype}")
    plain = type(X) is np.ndarray and X.dtype == np.float64
    settled = plain and (read_later or surely_within(X))  # one pass over X at most, else three
    if settled and _is_plain(X) and _is_plain(y, (len(X),)):
        return _noted(estimator, X), clamped(as_floats("y", y))
    X, y = validate_data(
        estimator,
        X if settled else as_floats("X", X),
        as_floats("y", y),
        dtype=np.float64,
        accept_sparse="csr" if sparse_rows else False,
        y_numeric=True,
        ensure_all_finite=not settled,
    )
    if np.iscomplexobj(y):  # a plain list has no dtype to look at before
        raise ValueError("Complex data not supported: y must hold real numbers")
    y = np.asarray(y, dtype=float)
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X if settled else clamped(X), clamped(y)


def _is_plain(values: Any, shape: tuple[int, ...] | None = None) -> bool:
    """Whether scikit-learn has nothing to convert: floats in an array that is not empty, with rows
    and columns or of the shape given."""
    if type(values) is not np.ndarray or values.dtype != np.float64 or not values.size:
        return False
    return values.ndim == 2 if shape is None else values.shape == shape


def _noted(estimator: BaseEstimator, X: Array) -> Array:
    """X, with what scikit-learn's validation notes of an array that has no names."""
    estimator.n_features_in_ = X.shape[1]
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return X


def settled_entries(X: Any) -> Any:
    """X, finite and clamped, or an error that says what is wrong with it."""
    plain = type(X) is np.ndarray and surely_within(X)
    return X if plain else clamped(as_floats("X", X))


def as_floats(name: str, values: Any) -> Any:
    """The same values, wider floats as float64, the nearest there is; or an error with the name.

    An integer beyond all floats would end in a bare OverflowError, a wide float in a warning, NaN
    and infinity in advice on imputers.
    """
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind == "f" and dtype.itemsize > 8:
        if sparse.issparse(values):
            held = as_floats(name, values.data)
            return type(values)((held, values.indices, values.indptr), shape=values.shape)
        largest = np.finfo(np.float64).max
        values = np.where(np.isinf(values), values, np.clip(values, -largest, largest)).astype(
            float
        )
    numbers = _numbers(name, values)
    if numbers is not None and not _all_finite(numbers):
        what = "NaN" if np.isnan(numbers).any() else "infinity"
        raise ValueError(f"Input {name} contains {what}: leave such records out, or fill them in")
    return values


def _numbers(name: str, values: Any) -> Array | None:
    """The floats among the values, or None if they are none that could be infinite."""
    held = values.tocsr().data if sparse.issparse(values) else values
    dtype = getattr(held, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind == "f":
        return np.asarray(held)
    if held is None or dtype not in (None, np.dtype(object)):
        return None
    try:
        return None if np.iscomplexobj(held) else np.asarray(held, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{name} holds a number that is too large for a float") from None
    except (TypeError, ValueError):
        return None  # scikit-learn says what is wrong


def _all_finite(numbers: Array) -> bool:
    """Whether no number is NaN or infinite; the sum, which needs no memory, mostly tells."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.sum(numbers, dtype=np.float64)
    return bool(np.isfinite(total) or np.isfinite(numbers).all())


def split_budget(privacy: SpendablePrivacy, *shares: float) -> list[SpendablePrivacy]:
    """Divide a budget into parts, of its scope, that compose back to it.

    epsilon and delta add up, rho adds up, mu^2 adds up.
    """
    if not math.isclose(sum(shares), 1.0):
        raise ValueError(f"shares must sum to 1, got {shares}")
    return [_part(privacy, share) for share in shares]


def equal_part(privacy: SpendablePrivacy, parts: int) -> SpendablePrivacy:
    """One of so many equal parts of a budget."""
    return _part(privacy, 1 / parts)


def _part(privacy: SpendablePrivacy, share: float) -> SpendablePrivacy:
    check_composable(privacy=privacy)
    power = 0.5 if isinstance(privacy, Gaussian) else 1.0
    return replace(
        privacy, **{name: value * share**power for name, value in privacy.parameters.items()}
    )


def clipped_sum(X: Array, low: Array | float, high: Array | float) -> Array:
    """Sum over records of X clipped coordinate-wise, in chunks that stay in cache."""
    if isinstance(X, Sums):
        return X.clipped(low, high)
    out = np.zeros(X.shape[1])
    low, high = np.atleast_1d(np.asarray(low, float)), np.atleast_1d(np.asarray(high, float))
    # As arrays of float64: Python floats, and before numpy 2 all scalars, would be rounded, perhaps
    # outwards, to the data's own type.
    for chunk in _chunks(X):
        out += np.add.reduce(np.clip(chunk, low, high), axis=0, dtype=float)
    return out


def ball_clipped_sum(X: Array, centre: Array, radius: float) -> Array:
    """Sum over records of X - centre, each shortened to l2 norm at most `radius`."""
    out, moved = np.zeros(X.shape[1]), centre.any()
    for chunk in _chunks(X):
        shifted, unit = chunk - centre if moved else np.asarray(chunk, dtype=float), 1.0
        squares = row_products(shifted, shifted)
        if not (1e-100 <= radius <= 1e100 and squares.max(initial=0.0) <= 1e300):
            # In units of the radius squares neither overflow nor vanish where it matters.
            shifted, unit = np.clip(shifted, -1e150 * radius, 1e150 * radius) / radius, radius
            squares = row_products(shifted, shifted)
        short = radius / unit
        out += unit * ((short / np.maximum(np.sqrt(squares), short)) @ shifted)
    return out


def _chunks(X: Array, bytes_per_chunk: int = 1 << 19) -> Iterator[Array]:
    rows = max(1, bytes_per_chunk // (8 * max(1, X.shape[1])))
    return (X[i : i + rows] for i in range(0, len(X), rows))
