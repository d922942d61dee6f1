"""Scikit-learn's conventions and bad data, for every exported estimator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from estimators.core.base import PrivateEstimator
from tests.contract.estimator_examples import exported, made, sample

pytestmark = [
    pytest.mark.oldest,
    pytest.mark.filterwarnings("ignore::estimators.core.base.PlanWarning"),
]

KINDS = exported()
SUPERVISED = [name for name, kind in KINDS.items() if get_tags(kind()).target_tags.required]
REGRESSORS = [name for name in SUPERVISED if not is_classifier(KINDS[name]())]
PRIVATE = [name for name, kind in KINDS.items() if issubclass(kind, PrivateEstimator)]
X = np.random.default_rng(0).uniform(-1, 1, (40, 3))
Y = X[:, 0].copy()


def released(estimator: Any) -> set[str]:
    """The fitted attributes but those that describe the columns."""
    ours = {name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")}
    return ours - {"n_features_in_", "feature_names_in_"}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_conventions(name: str) -> None:
    check_estimator(made(name))


@pytest.mark.parametrize("name", KINDS)
def test_the_constructor_only_stores(name: str) -> None:
    odd = {parameter: object() for parameter in KINDS[name]().get_params(deep=False)}
    estimator = KINDS[name](**odd)
    assert vars(estimator) == odd
    assert all(clone(estimator, safe=False).get_params()[key] is not None for key in odd)


# Bad data: an error that says what is wrong with which argument, and nothing released


def changed(value: Any) -> np.ndarray:
    other = X.copy()
    other[3, 1] = value
    return other


BAD_X: dict[str, Any] = {
    "nan": changed(math.nan),
    "infinite": changed(math.inf),
    "one-dimensional": X[:, 0],
    "three-dimensional": X[None],
    "no rows": X[:0],
    "no columns": X[:, :0],
    "complex": X + 1j,
    "text": X.astype(str).astype(object) + "x",
    "objects": np.array([[object()] * 3] * 40),
    "dates": np.full((40, 3), np.datetime64("2020-01-01")),
    "masked": np.ma.masked_array(X, mask=X > 0.5),
    "nothing": None,
}


def with_entry(value: Any) -> list[Any]:
    return [*Y[:-1], value]


BAD_Y: dict[str, Any] = {
    "missing": with_entry(None),
    "nan": with_entry(math.nan),
    "text nan": np.array(with_entry("nan"), dtype=object),
    "infinite object": np.array(with_entry(math.inf), dtype=object),
    "text overflow": np.array(with_entry("1e400"), dtype=object),
    "complex": list(Y + 1j),
    "masked": np.ma.masked_array(Y, mask=Y > 0.2),
    "dates": np.full(40, np.datetime64("2020-01-01")),
    "short": Y[:-1],
    "nothing": None,
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("bad", BAD_X)
def test_bad_rows_are_refused(name: str, bad: str) -> None:
    estimator = made(name)
    y = sample(estimator, 40)[1:]
    with pytest.raises((TypeError, ValueError), match=r"\bX\b|[Aa]rray|Complex|convert|\bfloat"):
        estimator.fit(BAD_X[bad], *y)
    assert released(estimator) == set()


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("bad", BAD_Y)
def test_bad_responses_are_refused_by_name(name: str, bad: str) -> None:
    estimator = made(name)
    with pytest.raises((TypeError, ValueError), match=r"\by\b|Complex|inconsistent"):
        estimator.fit(X, BAD_Y[bad])
    assert released(estimator) == set()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("value", [math.nan, -math.inf])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.longdouble, object])
def test_what_is_not_finite_is_refused_in_one_line(name: str, value: float, kind: type) -> None:
    """In our words: scikit-learn's advise to impute, or to use another of its estimators."""
    what = "NaN" if math.isnan(value) else "infinity"
    estimator = made(name)
    fit = made(name).fit(*sample(estimator, 40))
    with pytest.raises(ValueError, match=rf"^Input X contains {what}: [^\n]*$"):
        estimator.fit(changed(value).astype(kind), *sample(estimator, 40)[1:])
    if hasattr(fit, "predict"):
        with pytest.raises(ValueError, match=rf"^Input X contains {what}: [^\n]*$"):
            fit.predict(changed(value).astype(kind))
    if name in REGRESSORS:
        with pytest.raises(ValueError, match=rf"^Input y contains {what}: [^\n]*$"):
            estimator.fit(X, np.array(with_entry(value)).astype(kind))
    assert released(estimator) == set()


LABELS = (Y > 0).astype(int)
BAD_LABELS: dict[str, Any] = {
    "nan": [*LABELS[:-1].tolist(), math.nan],
    "masked": np.ma.masked_array(LABELS, mask=Y > 0.2),
    "short": LABELS[:-1],
    "two columns": np.column_stack([LABELS, LABELS]),
    "nothing": None,
}


@pytest.mark.parametrize("name", sorted(set(SUPERVISED) - set(REGRESSORS)))
@pytest.mark.parametrize("bad", BAD_LABELS)
def test_bad_labels_are_refused_by_name(name: str, bad: str) -> None:
    for options in ({}, {"classes": (0, 1)}):
        estimator = made(name, **options)
        with pytest.raises((TypeError, ValueError), match=r"\by\b|inconsistent"):
            estimator.fit(X, BAD_LABELS[bad])
        assert released(estimator) == set()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float16, np.float32, bool, object])
def test_other_numbers_are_accepted(name: str, dtype: type) -> None:
    estimator = made(name)
    numbers = (np.arange(120).reshape(40, 3) % 2).astype(dtype)
    fit = estimator.fit(numbers, *sample(estimator, 40)[1:])
    release = fit.coef_ if hasattr(fit, "coef_") else fit.mean_
    assert release.dtype == np.float64
    assert np.all(np.isfinite(release))


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("state", ["abc", 1.5, -1])
def test_a_bad_random_state_is_named(name: str, state: Any) -> None:
    estimator = made(name, random_state=state)
    with pytest.raises((TypeError, ValueError), match="random_state"):
        estimator.fit(*sample(estimator, 40))
    assert released(estimator) == set()


@pytest.mark.parametrize("name", PRIVATE)
def test_nothing_is_released_when_accounting_fails(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("no such guarantee")

    monkeypatch.setattr("estimators.core.base.compose", fails)
    estimator = made(name, random_state=0)
    with pytest.raises(ValueError, match="no such guarantee"):
        estimator.fit(*sample(estimator, 40))
    assert released(estimator) == set()


@pytest.mark.parametrize("name", [name for name in KINDS if "sigma" in KINDS[name]().get_params()])
def test_complex_parameters_are_refused(name: str) -> None:
    estimator = made(name, sigma=np.complex128(2))
    with pytest.raises((TypeError, ValueError), match="sigma"):
        estimator.fit(*sample(estimator, 40))
