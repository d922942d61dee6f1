"""The private classifier of tables: what it learns, what it spends, odd tables."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import special

from estimators import PrivateClassifier
from estimators.core.base import PlanWarning
from estimators.core.two_classes import PUBLIC_LABELS
from estimators.tables import classifier_steps
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated

LOUD = Gaussian(1e4)
USUAL = Approximate(1.0, 1e-6)
TRUE = np.array([0.1, -0.002])
BOUNDS = [(0.0, 100.0), (0.0, 10_000.0)]


def table(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two columns of very different scale, and labels that follow a logistic law."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(40, 10, n), rng.normal(1500, 500, n)])
    y = rng.random(n) < special.expit((X - [40, 1500]) @ TRUE)
    return X, y.astype(int)


def three_classes(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 1.0], [0.0, 2.0, -1.0]])
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    return centres[y] + rng.normal(0, 1, (n, 3)), y


def log_loss(model: Any, X: Any, y: np.ndarray) -> float:
    """Of labels that are places in `classes_`."""
    return float(-model.predict_log_proba(X)[np.arange(len(y)), y].mean())


def base_log_loss(y: np.ndarray) -> float:
    shares = np.bincount(y) / len(y)
    return float(-np.log(shares[y]).mean())


# --- What it learns -------------------------------------------------------------------------------


def test_without_noise_coefficients_are_those_of_the_law_in_the_units_of_the_table() -> None:
    X, y = table(40_000)
    fit = PrivateClassifier(LOUD, BOUNDS, (0, 1), random_state=0).fit(X, y)
    assert fit.coef_[0] == pytest.approx(TRUE, rel=0.1)
    assert fit.intercept_[0] == pytest.approx(-TRUE @ [40, 1500], abs=0.3)
    shuffled = np.random.default_rng(1).permutation(y)
    control = PrivateClassifier(LOUD, BOUNDS, (0, 1), random_state=0).fit(X, shuffled)
    assert np.abs(control.coef_[0] / TRUE).max() < 0.2


def lost_to_noise(seed: int) -> float:
    """Log loss beyond that of the classes' shares, where the columns tell nothing."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(0, 1, (3000, 20)), rng.integers(0, 2, 3000)
    fit = PrivateClassifier(USUAL, (-10, 10), (0, 1), random_state=seed).fit(X[:1000], y[:1000])
    return log_loss(fit, X[1000:], y[1000:]) - math.log(2)


def test_where_nothing_can_be_learnt_the_constant_is_nearly_what_is_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert np.mean([lost_to_noise(seed) for seed in range(12)]) < 0.02
    monkeypatch.setattr(classifier_steps, "guarded", lambda found, *told: found)
    assert np.mean([lost_to_noise(seed) for seed in range(12)]) > 0.03


def test_echoes_are_what_noise_becomes_in_the_average() -> None:
    """A unit in one slope alone, followed step by step."""
    pace, bend = classifier_steps.Pace(6, 2, 0.4, 0.5), 0.7
    for at, echo in enumerate(pace.echoes(bend)):
        coef = way = total = 0.0
        for t in range(6):
            way = 0.5 * way - 0.4 * ((t == at) + bend * coef)
            coef += way
            total += coef if t >= 2 else 0.0
        assert echo == pytest.approx(total / 4)


def test_a_usual_budget_loses_little() -> None:
    X, y = table(20_000)
    new, labels = table(20_000, seed=1)
    fit = PrivateClassifier(USUAL, BOUNDS, (0, 1), random_state=0).fit(X, y)
    best = -np.mean(special.log_expit(np.where(labels == 1, 1, -1) * ((new - [40, 1500]) @ TRUE)))
    assert log_loss(fit, new, labels) < best + 0.01 < base_log_loss(labels) - 0.1


@pytest.mark.parametrize("wider", [10, 100])
def test_bounds_much_too_wide_cost_little(wider: int) -> None:
    X, y = table(20_000)
    new, labels = table(20_000, seed=1)
    loose = [
        ((a + b) / 2 - wider * (b - a) / 2, (a + b) / 2 + wider * (b - a) / 2) for a, b in BOUNDS
    ]
    tight, wide = (
        PrivateClassifier(USUAL, bounds, (0, 1), random_state=0).fit(X, y)
        for bounds in (BOUNDS, loose)
    )
    assert wide.score(new, labels) > tight.score(new, labels) - 0.01
    assert tight.score(new, labels) > 0.7  # the majority has a half


def test_three_classes() -> None:
    X, y = three_classes(20_000)
    new, labels = three_classes(20_000, seed=1)
    fit = PrivateClassifier(USUAL, (-8, 8), (0, 1, 2), random_state=0).fit(X, y)
    assert fit.coef_.shape == (3, 3)
    assert fit.intercept_.shape == (3,)
    assert fit.predict_proba(new).sum(axis=1) == pytest.approx(np.ones(len(new)))
    assert np.array_equal(fit.decision_function(new).argmax(axis=1), fit.predict(new))
    assert fit.score(new, labels) > 0.8
    assert np.mean(labels == 0) < 0.55


def test_separable_classes_have_finite_coefficients() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(0, 1, (10_000, 4))
    y = (X @ [1, -1, 0.5, 0] > 0).astype(int)
    for budget in (USUAL, LOUD):
        fit = PrivateClassifier(budget, (-5, 5), (0, 1), random_state=0).fit(X, y)
        assert np.abs(fit.coef_).max() < 100
        assert fit.score(X, y) > 0.97


def test_a_rare_class_keeps_its_share() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(0, 1, (40_000, 5))
    y = (rng.random(40_000) < special.expit(X[:, 0] - 5.1)).astype(int)
    fit = PrivateClassifier(USUAL, (-5, 5), (0, 1), random_state=0).fit(X, y)
    assert fit.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.2)
    assert log_loss(fit, X, y) < base_log_loss(y)


def test_without_an_intercept_the_origin_is_even() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2, (20_000, 2))
    y = (rng.random(20_000) < special.expit(X @ [2, -1])).astype(int)
    fit = PrivateClassifier(USUAL, (0, 2), (0, 1), fit_intercept=False, random_state=0).fit(X, y)
    assert fit.intercept_.tolist() == [0.0]
    assert fit.predict_proba([[0.0, 0.0]])[0, 1] == pytest.approx(0.5)
    assert fit.coef_[0] == pytest.approx([2, -1], abs=0.4)
    assert "classes" not in {entry.about for entry in fit.ledger_}


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("d", [5, 60])
def test_few_records_give_about_the_shares_of_the_classes(epsilon: float, d: int) -> None:
    """On average over fits, where there is nothing to learn."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(0, 1, (1000, d)), (rng.random(1000) < 0.3).astype(int)
    losses = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        for seed in range(10):
            model = PrivateClassifier(Approximate(epsilon, 1e-6), (-5, 5), (0, 1))
            losses.append(log_loss(model.set_params(random_state=seed).fit(X, y), X, y))
    assert np.mean(losses) < base_log_loss(y) + 0.04
    assert base_log_loss(y) < np.log(2) - 0.06


def test_few_records_are_told() -> None:
    X, y = np.random.default_rng(0).normal(0, 1, (100, 8)), np.arange(100) % 2
    with pytest.warns(PlanWarning, match="n = 100 is too small for 8 columns, 2 classes"):
        PrivateClassifier(USUAL, (-5, 5), (0, 1), random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrivateClassifier(Gaussian(10), (-5, 5), (0, 1), random_state=0).fit(X, y)


# --- What it spends -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "budget",
    [Pure(1.0), USUAL, ZeroConcentrated(0.1), Gaussian(0.5)],
    ids=lambda b: type(b).__name__,
)
@pytest.mark.parametrize(
    "options",
    [{}, {"report_clipped": True}, {"fit_intercept": False}, {"bounds": "private"}],
    ids=lambda o: "".join(o) or "usual",
)
def test_the_ledger_composes_to_the_budget(
    budget: SpendablePrivacy, options: dict[str, Any]
) -> None:
    X, y = three_classes(2000)
    model = PrivateClassifier(budget, **{"bounds": (-8, 8), "classes": (0, 1, 2), **options})
    spent = model.set_params(random_state=0).fit(X, y).privacy_
    for name, asked in budget.parameters.items():
        assert asked * 0.999 <= spent.parameters[name] <= asked * (1 + 1e-9)


def test_the_ledger_is_public() -> None:
    X, y = table(2000)
    models = [PrivateClassifier(USUAL, BOUNDS, (0, 1), random_state=seed) for seed in (0, 1)]
    here, there = models[0].fit(X, y), models[1].fit(X[::-1] * 0.1, 1 - y)
    assert list(map(str, here.ledger_)) == list(map(str, there.ledger_))
    assert here.n_iter_ == there.n_iter_


# --- Labels ---------------------------------------------------------------------------------------


def test_labels_of_any_kind_in_the_order_that_is_given() -> None:
    X, y = table(5000)
    words = np.where(y == 1, "yes", "no")
    numbers = PrivateClassifier(USUAL, BOUNDS, (0, 1), random_state=0).fit(X, y)
    texts = PrivateClassifier(USUAL, BOUNDS, ("no", "yes"), random_state=0).fit(X, words)
    turned = PrivateClassifier(LOUD, BOUNDS, ("yes", "no"), random_state=0).fit(X, words)
    assert np.array_equal(numbers.coef_, texts.coef_)
    assert set(texts.predict(X)) == {"no", "yes"}
    assert turned.classes_.tolist() == ["yes", "no"]
    assert np.all(np.sign(turned.coef_) == -np.sign(TRUE))


def test_labels_that_are_not_listed_add_nothing() -> None:
    X, y = table(5000)
    odd = y.copy()
    odd[:500] = 7
    fits = [PrivateClassifier(LOUD, BOUNDS, (0, 1), random_state=0).fit(X, y) for y in (y, odd)]
    assert fits[1].coef_ == pytest.approx(fits[0].coef_, rel=0.2)
    read_off = PrivateClassifier(LOUD, BOUNDS, random_state=0).fit(X, odd)
    assert read_off.classes_.tolist() == [0, 1, 7]
    assert PUBLIC_LABELS in read_off.privacy_.assumes
    assert PUBLIC_LABELS not in fits[0].privacy_.assumes


def test_labels_that_are_not_listed_are_counted_where_it_is_asked_for() -> None:
    X, y = table(5000)
    for classes, share in (((0, 1), 0.0), ((1, 2), np.mean(y == 0)), ((2, 3), 1.0)):
        model = PrivateClassifier(LOUD, BOUNDS, classes, report_clipped=True, random_state=0)
        assert model.fit(X, y).clipped_share_["y"] == pytest.approx(share, abs=0.01)
        silent = PrivateClassifier(LOUD, BOUNDS, classes, random_state=0).fit(X, y)
        assert not hasattr(silent, "clipped_share_")


@pytest.mark.parametrize("form", [list, np.array, pd.Series, pd.Index])
def test_classes_in_any_sequence(form: Any) -> None:
    X, y = table(2000)
    for labels in ([0, 1], [False, True], ["no", "yes"]):
        named = np.array(labels)[y]
        plain = PrivateClassifier(USUAL, BOUNDS, tuple(labels), random_state=0).fit(X, named)
        fit = PrivateClassifier(USUAL, BOUNDS, form(labels), random_state=0).fit(X, named)
        assert fit.classes_.tolist() == labels
        assert np.array_equal(fit.coef_, plain.coef_)
    for wrong in (form([0]), form([1, 1])):
        with pytest.raises(ValueError, match="classes must be"):
            PrivateClassifier(USUAL, BOUNDS, wrong).fit(X, y)


@pytest.mark.parametrize(
    ("classes", "message"),
    [((1,), "two labels or more"), ((0, 0), "different"), ((0, "a"), "one type"), ("ab", "labels")],
)
def test_classes_that_are_none(classes: Any, message: str) -> None:
    X, y = table(100)
    model = PrivateClassifier(USUAL, BOUNDS, classes)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "ledger_")


# --- Columns that are mostly one value ------------------------------------------------------------


def rarely(share: float, n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A normal column, and a flag whose coefficient is 2."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(0, 1, n), "flag": rng.random(n) < share})
    y = rng.random(n) < special.expit(frame["x"] + 2 * frame["flag"] - 0.5)
    return frame, y.to_numpy().astype(int)


@pytest.mark.parametrize("dtype", ["bool", "float64"])
@pytest.mark.parametrize(("share", "n"), [(0.01, 20_000), (0.025, 20_000), (0.03, 5000)])
def test_a_rare_flag_has_a_coefficient_in_the_units_of_the_table(
    share: float, n: int, dtype: str
) -> None:
    found = []
    for seed in range(5):
        frame, y = rarely(share, n, seed)
        model = PrivateClassifier(USUAL, {"x": (-10, 10), "flag": (0, 1)}, (0, 1))
        model.set_params(random_state=seed).fit(frame.astype({"flag": dtype}), y)
        assert model.feature_names_out_.tolist() == ["x", "flag"]
        found.append(model.coef_[0, 1])
    assert np.median(found) == pytest.approx(2, abs=1)
    assert max(map(abs, found)) < 8


def widths(X: np.ndarray, seed: int) -> np.ndarray:
    """Of the ranges that are found, between -1 and 1."""
    y = np.arange(len(X)) % 2
    fit = PrivateClassifier(USUAL, (-1, 1), (0, 1), random_state=seed).fit(X, y)
    return np.diff(fit.ranges_, axis=0)[0]


def test_a_gap_beside_a_spike_is_no_scale_and_a_narrow_column_is() -> None:
    """Values of 0.5 that are rare, about a tail, and more; and columns in a sliver of the range."""
    rng = np.random.default_rng(0)
    shares = np.repeat([0.01, 0.02, 0.025, 0.03, 0.06], 5)
    found = [
        widths(np.where(rng.random((20_000, 4)) < share, 0.5, 0.0), seed)
        for seed, share in enumerate(shares)
    ]
    assert np.mean(np.concatenate(found) > 0.25) > 0.95
    assert widths(rng.normal(0, 1e-3, (20_000, 4)), 0).max() < 0.01


# --- Tables ---------------------------------------------------------------------------------------


def test_chunks_give_what_the_whole_table_gives() -> None:
    X, y = table(4000)
    chunks = [(X[i : i + 700], y[i : i + 700]) for i in range(0, 4000, 700)]
    whole = PrivateClassifier(USUAL, BOUNDS, (0, 1), random_state=0).fit(X, y)
    for source in (chunks, lambda: iter(chunks)):
        parts = PrivateClassifier(USUAL, BOUNDS, (0, 1), random_state=0).fit(source)
        assert parts.coef_ == pytest.approx(whole.coef_, rel=1e-9)
    with pytest.raises(ValueError, match="classes must be given"):
        PrivateClassifier(USUAL, BOUNDS).fit(chunks)
    with pytest.raises(ValueError, match="only once"):
        PrivateClassifier(USUAL, BOUNDS, (0, 1)).fit(iter(chunks))


def test_a_frame_with_levels_and_names() -> None:
    rng = np.random.default_rng(0)
    level = rng.choice(["low", "mid", "high"], 20_000)
    frame = pd.DataFrame({"age": rng.normal(40, 10, 20_000), "level": level})
    odds = 0.1 * (frame["age"] - 40) + 2.0 * (level == "high")
    y = np.where(rng.random(20_000) < special.expit(odds), "rich", "poor")
    fit = PrivateClassifier(
        USUAL,
        {"age": (17, 90)},
        ("poor", "rich"),
        categories={"level": ["low", "mid", "high"]},
        report_clipped=True,
        random_state=0,
    ).fit(frame, y)
    assert fit.feature_names_out_.tolist() == ["age", "level=mid", "level=high"]
    assert fit.coef_[0] == pytest.approx([0.1, 0.0, 2.0], abs=0.3)
    assert set(fit.clipped_share_) == {"age", "level", "y"}
    assert "level=high" in str(fit)
    assert "no intervals" in str(fit)


def test_rows_beyond_the_ranges_are_predicted_as_their_ends() -> None:
    X, y = table(5000)
    fit = PrivateClassifier(USUAL, BOUNDS, (0, 1), random_state=0).fit(X, y)
    ends = fit.decision_function(fit.ranges_)
    assert fit.decision_function([[-1e300, -1e300], [1e300, 1e300]]) == pytest.approx(ends)
    inside = fit.ranges_.mean(axis=0)[None, :]
    assert fit.decision_function(inside) == pytest.approx(inside @ fit.coef_[0] + fit.intercept_)
    assert np.all(fit.ranges_[0] >= np.min(BOUNDS, axis=1))


def test_there_is_no_interval_and_a_reason() -> None:
    X, y = table(500)
    fit = PrivateClassifier(USUAL, BOUNDS, (0, 1), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="no confidence interval: what weights"):
        fit.confidence_interval()


def test_private_bounds_are_found_and_paid_for() -> None:
    X, y = table(20_000)
    fit = PrivateClassifier(USUAL, "private", (0, 1), random_state=0).fit(X, y)
    assert any("ends of columns" in entry.about for entry in fit.ledger_)
    assert fit.score(X, y) > 0.7


def test_a_wrong_option_is_refused_before_anything_is_released() -> None:
    X, y = table(100)
    model = PrivateClassifier(USUAL, BOUNDS, (0, 1), fit_intercept="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="fit_intercept must be True or False"):
        model.fit(X, y)
    assert not hasattr(model, "ledger_")
