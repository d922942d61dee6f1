"""No finite record decides an error, a warning or a list of classes; what a guarantee assumes."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Lasso

from estimators import (
    KarwaVadhanMean,
    LabelLasso,
    LeastSquares,
    LocalHardThresholding,
    NoisyGradientRegression,
    NoisyHardThresholding,
    NoisyHardThresholdingClassifier,
    NoisyMean,
    PrivateFrankWolfe,
    SampleMean,
    SparseMean,
    SquaredLoss,
    TwoStageRegression,
)
from estimators.core.losses import chosen_loss
from minimax.core.privacy import Pure

N = 40
X = np.random.default_rng(0).uniform(-1, 1, (N, 3))
Y = (X[:, 0] > 0).astype(float)


# Responses outside [0, 1] under the logistic loss


@pytest.mark.parametrize("kind", [NoisyHardThresholding, PrivateFrankWolfe, TwoStageRegression])
@pytest.mark.parametrize(("outside", "inside"), [(1.5, 1.0), (-1e300, 0.0), (1e300, 1.0)])
def test_a_response_outside_is_clipped(kind: Any, outside: float, inside: float) -> None:
    far, near = Y.copy(), Y.copy()
    far[7], near[7] = outside, inside
    fits = [kind(loss="logistic", random_state=0).fit(X, y) for y in (far, near)]
    assert np.array_equal(fits[0].coef_, fits[1].coef_)
    inner = np.where(np.arange(N) == 7, 0.5, Y)  # control: inside [0, 1] the number matters
    gentle = NoisyHardThresholding(loss="logistic", random_state=0)
    seen = gentle.fit(X, inner).coef_
    assert not np.array_equal(seen, gentle.fit(X, near).coef_)


# Numbers beyond the floats

BEYOND = 10**400
KINDS = (NoisyMean, NoisyGradientRegression, LocalHardThresholding, LabelLasso)


@pytest.mark.parametrize("kind", [*KINDS, NoisyHardThresholdingClassifier, SampleMean])
@pytest.mark.parametrize("as_list", [False, True])
def test_an_integer_beyond_the_floats_is_refused_by_name(kind: Any, as_list: bool) -> None:
    places = ("X",) if kind in (NoisyMean, SampleMean) else ("X", "y")
    for place in places:
        data = {"X": X, "y": Y}
        data[place] = data[place].astype(object)
        data[place].flat[4] = BEYOND
        given = {name: held.tolist() if as_list else held for name, held in data.items()}
        with pytest.raises(ValueError, match=f"^{place} holds a number") as refusal:
            kind().fit(given["X"], given["y"])
        assert str(BEYOND)[:9] not in str(refusal.value)
        assert refusal.value.__cause__ is None
        assert refusal.value.__suppress_context__


@pytest.mark.parametrize(
    ("kind", "rows"),
    [(NoisyHardThresholding, sparse.csr_matrix)]
    + [(kind, np.asarray) for kind in (*KINDS, KarwaVadhanMean, LeastSquares)],
)
def test_a_wide_float_beyond_the_floats_is_clipped_without_a_warning(kind: Any, rows: Any) -> None:
    wide = X.astype(np.longdouble)
    wide[1, 1] = np.longdouble("1e4000")
    near = X.copy()
    near[1, 1] = np.finfo(float).max
    known = {"random_state": 0, "sigma": 1.0, "radius": 1.0}
    options = {name: known[name] for name in known.keys() & kind().get_params().keys()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fits = [kind(**options).fit(rows(data), Y) for data in (wide, near)]
    name = "mean_" if hasattr(fits[0], "mean_") else "coef_"
    assert np.array_equal(getattr(fits[0], name), getattr(fits[1], name))
    with pytest.raises(ValueError, match="infinity"):
        kind(**options).fit(rows(np.where(wide > 2, np.inf, wide)), Y)


# Labels


def with_label(label: Any) -> list[Any]:
    return [*map(int, Y[:-1]), label]


@pytest.mark.parametrize("label", [2, -1, 0.5, 1e300, "no", "1", None, (1, 2)], ids=repr)
def test_a_label_outside_the_classes_is_the_first_one(label: Any) -> None:
    options: dict[str, Any] = {"classes": (0, 1), "random_state": 0}
    odd, first, second = (
        NoisyHardThresholdingClassifier(**options).fit(X, with_label(value))
        for value in (label, 0, 1)
    )
    assert odd.classes_.tolist() == [0, 1]
    assert np.array_equal(odd.coef_, first.coef_)
    assert not np.array_equal(odd.coef_, second.coef_)  # the label is looked at


@pytest.mark.parametrize("value", [0, 1, 7])
def test_equal_labels_are_no_error_if_the_classes_are_public(value: int) -> None:
    fitted = NoisyHardThresholdingClassifier(classes=(0, 1)).fit(X, np.full(N, value))
    assert fitted.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="two classes"):
        NoisyHardThresholdingClassifier().fit(X, np.full(N, value))


def test_many_labels_are_no_warning_if_the_classes_are_public() -> None:
    """scikit-learn may warn of as many classes as records, which a record decides."""
    many, odd = np.arange(N), np.where(np.arange(N) == 1, 1, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fits = [
            NoisyHardThresholdingClassifier(classes=(0, 1), random_state=0).fit(X, labels)
            for labels in (many, odd)
        ]
    assert fits[0].classes_.tolist() == [0, 1]
    assert np.array_equal(fits[0].coef_, fits[1].coef_)  # all but 1 are the first class
    # The control: where the classes are read off the labels, so many are noticed.
    with pytest.raises(ValueError, match="classes"):
        NoisyHardThresholdingClassifier(random_state=0).fit(X, many)


def test_classes_of_two_types_are_refused() -> None:
    with pytest.raises(ValueError, match="classes must be two labels of one type"):
        NoisyHardThresholdingClassifier(classes=("a", 0)).fit(X, Y)


# Warnings of scikit-learn's Lasso


@pytest.mark.parametrize("blocks", [1, 3])
def test_no_block_warns(blocks: int) -> None:
    """The penalty of a block of tiny responses rounds to 0, of which scikit-learn warns."""
    tiny = np.ones((N, 3)), np.full(N, 5e-324)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = TwoStageRegression(blocks=blocks, random_state=0).fit(*tiny)
    assert np.isfinite(fitted.coef_).all()
    with pytest.warns(UserWarning, match="alpha=0"):  # the control: it does warn
        Lasso(alpha=0.0).fit(*tiny)


# Losses of one's own


class Centred:
    """Looks across records."""

    smoothness = 1.0

    def slope(self, prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
        return prediction - y + np.mean(y)

    def value(self, prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (prediction - y) ** 2 / 2


class Deceiving(Centred):
    """Looks across records, but only if there are as many as in the data."""

    def slope(self, prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
        return super().slope(prediction, y) if len(y) == N else prediction - y


class Inherited(SquaredLoss):
    """As `Deceiving`, under a name that is known."""

    def slope(self, prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.asarray(Deceiving().slope(prediction, y))


class Failing(Deceiving):
    """Has no slope for one kind of response."""

    def slope(self, prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
        warnings.warn("asked for a slope", stacklevel=1)
        if np.any(y > 5):
            raise RuntimeError("y is above 5")
        return prediction - y


def test_a_loss_that_looks_across_records_is_refused() -> None:
    with pytest.raises(ValueError, match=r"loss\.slope must work record by record"):
        chosen_loss(Centred())
    with pytest.raises(ValueError, match=r"loss\.slope must work record by record"):
        NoisyHardThresholding(loss=Centred()).fit(X, Y)


@pytest.mark.parametrize("loss", [Deceiving(), Inherited()], ids=["deceiving", "inherited"])
def test_a_loss_that_deceives_sees_one_record_all_the_same(loss: Any) -> None:
    assert chosen_loss(loss) is loss  # the look at public records finds nothing
    options: dict[str, Any] = {"random_state": 0, "steps": 3}
    mine, squared = (
        NoisyHardThresholding(loss=one, **options).fit(X, Y) for one in (loss, "squared")
    )
    np.testing.assert_allclose(mine.coef_, squared.coef_, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:asked for a slope")
def test_a_loss_that_fails_on_one_record_loses_that_record() -> None:
    spoilt, zeros = Y.copy(), X.copy()
    spoilt[3], zeros[3] = 9.0, 0.0
    options: dict[str, Any] = {"random_state": 0, "steps": 3}
    estimator = NoisyHardThresholding(loss=Failing(), **options)
    with warnings.catch_warnings(record=True) as seen:
        failing = estimator.fit(X, spoilt)
    assert len(seen) <= 2  # from the look at public records
    without = NoisyHardThresholding(loss="squared", **options).fit(zeros, Y)
    np.testing.assert_allclose(failing.coef_, without.coef_, rtol=1e-12)


# What a guarantee assumes


def test_a_seed_is_an_assumption() -> None:
    unseeded, seeded = (
        NoisyMean(R="theory", sigma=1.0, radius=1.0).fit(X).privacy_,
        NoisyMean(random_state=0, R="theory", sigma=1.0, radius=1.0).fit(X).privacy_,
    )
    assert unseeded.assumes == ()
    assert [words.split(":")[0] for words in seeded.assumes] == ["random_state is secret"]
    assert seeded == unseeded
    assert str(seeded) == str(unseeded) == "approximate(epsilon=1, delta=1e-06)"
    assert pickle.loads(pickle.dumps(seeded)).assumes == seeded.assumes
    tuned = SparseMean(s="cv", s_grid=(1, 2), n_folds=2, random_state=0, sigma=1.0, radius=1.0).fit(
        X
    )
    assert tuned.privacy_.assumes == seeded.assumes


@pytest.mark.parametrize(
    "state",
    [np.random.default_rng(0), np.random.RandomState(0), np.int64(3)],
    ids=["generator", "legacy", "integer"],
)
def test_any_random_state_is_a_seed(state: Any) -> None:
    assert (
        len(
            NoisyMean(random_state=state, R="theory", sigma=1.0, radius=1.0).fit(X).privacy_.assumes
        )
        == 1
    )


def test_labels_that_are_found_are_an_assumption() -> None:
    found = NoisyHardThresholdingClassifier().fit(X, Y).privacy_
    given = NoisyHardThresholdingClassifier(classes=(0, 1)).fit(X, Y).privacy_
    assert found.assumes == ("the set of labels is public",)
    assert given.assumes == ()
    assert found == given


def test_assumptions_add_up() -> None:
    budget = Pure(1.0).assuming("one").assuming("two")
    assert budget.assumes == ("one", "two")
    assert budget == Pure(1.0)
    assert Pure(1.0).assumes == ()


def test_a_loss_of_ones_own_is_an_assumption() -> None:
    """A loss that remembers earlier calls mixes records, and no check can see it."""
    from estimators import NoisyHardThresholding
    from tests.contract.estimator_examples import Huber

    X, y = np.eye(4).repeat(5, axis=0), np.ones(20)
    own = NoisyHardThresholding(loss=Huber(), s=2).fit(X, y)
    assert any("remembers nothing" in words for words in own.privacy_.assumes)
    assert not NoisyHardThresholding(s=2).fit(X, y).privacy_.assumes
