"""PrivateRegression: sensitivity of its sums, its ledger, units, intervals, tables as they come."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from estimators import PrivateRegression
from estimators.core.base import PlanWarning
from estimators.core.intervals import ErrorLaw
from estimators.core.purse import Purse
from estimators.tables import constant, regression_kernels
from estimators.tables.frame import Image
from estimators.tables.regression_guard import guarded
from estimators.tables.regression_kernels import Lens, View
from estimators.tables.regression_plan import plan_of
from estimators.tables.regression_steps import Run
from minimax import Approximate, Gaussian, Pure, ZeroConcentrated

Array = np.ndarray
USUAL = Approximate(1, 1e-6)
LOUD = Gaussian(1e4)


WEIGHTS = {w: np.append(np.full(4, math.sqrt(w) / 1.7), math.sqrt(1 - w) / 0.6) for w in (0.5, 0.7)}


def lens(seed: int, p: int = 4) -> Lens:
    """Rows are shortened to 1.7, residuals clipped at 0.6."""
    rng = np.random.default_rng(seed)
    image = Image(rng.normal(0, 8, (p + 1, p - 1)), rng.normal(0, 2, (p + 1, 1)))
    return Lens(View(image, 2.0), 1.7, 0.6)


def linear(n: int, d: int, seed: int, noise: float = 0.5) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(0, 1, (n, d))
    return X, X @ np.linspace(-1, 1, d) + 2 + noise * rng.normal(0, 1, n)


def fitted(X: Any, y: Any, privacy: Any = USUAL, **options: Any) -> PrivateRegression:
    given = {"bounds": (-20, 20), "response_bounds": (-50, 50), "random_state": 0} | options
    return PrivateRegression(privacy, **given).fit(X, y)


def r2(model: PrivateRegression, X: Any, y: Array) -> float:
    return float(1 - np.mean((y - model.predict(X)) ** 2) / np.var(y))


# --- Sensitivity ----------------------------------------------------------------------------------

KERNELS: dict[str, tuple[Callable[[Array, Array], Array], float]] = {
    "joint": (lambda Z, y: regression_kernels.joint_gram(Z, y, lens(0).view, 1.3), math.sqrt(2)),
    "step": (lambda Z, y: regression_kernels.step_gram(Z, y, lens(0), WEIGHTS[0.5]), math.sqrt(2)),
    "rows": (lambda Z, y: regression_kernels.step_gram(Z, y, lens(1), WEIGHTS[0.7]), math.sqrt(2)),
    "vector": (lambda Z, y: regression_kernels.step_vector(Z, y, lens(2)), 2.0),
    "sandwich": (lambda Z, y: regression_kernels.last_look(Z, y, lens(3))[1], math.sqrt(2)),
    "mean": (lambda Z, y: constant.clipped_sum(Z, y, 0.3, 0.1), 2.0),
}


def largest_move(kernel: Callable[[Array, Array], Array], tries: int = 400) -> float:
    """Over neighbours with a record at corners of what encoded rows can be."""
    rng = np.random.default_rng(5)
    Z, y = rng.uniform(-1, 1, (6, 3)), rng.uniform(-1, 1, 6)
    found = []
    for _ in range(tries):
        Z[0], y[0] = rng.choice([-1.0, 0.0, 0.1, 1.0], 3), rng.choice([-1.0, 0.0, 1.0])
        here = kernel(Z, y)
        Z[0], y[0] = rng.choice([-1.0, 0.0, 0.1, 1.0], 3), rng.choice([-1.0, 0.0, 1.0])
        found.append(float(np.linalg.norm(here - kernel(Z, y))))
    return max(found)


@pytest.mark.parametrize("name", KERNELS)
def test_a_record_moves_a_sum_by_no_more_than_the_ledger_says(name: str) -> None:
    kernel, sensitivity = KERNELS[name]
    moved = largest_move(kernel)
    assert 0.6 * sensitivity < moved <= sensitivity * (1 + 1e-12)


def test_rows_that_are_not_shortened_move_it_by_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def undone(columns: Array, length: float) -> Array:
        return columns

    monkeypatch.setattr(regression_kernels, "shortened", undone)
    assert largest_move(KERNELS["step"][0]) > 2 * math.sqrt(2)
    assert largest_move(KERNELS["joint"][0]) > 2 * math.sqrt(2)


def test_the_second_moment_is_free() -> None:
    """At equal weights the vector has the noise of a release of its own."""
    X, y = linear(500, 3, 0)
    run = whole_run(X, y)
    together = run._gram_step(0.3, 0.5)
    alone = run.purse.deviation(2.0, run.p, 0.3) * run.length * run.clip
    assert together.vector_noise == pytest.approx(alone)
    assert run._gram_step(0.3, 0.7).vector_noise > 1.05 * alone


def whole_run(X: Array, y: Array, privacy: Any = LOUD) -> Run:
    model = PrivateRegression(privacy, (-20, 20), (-50, 50), random_state=0)
    records, purse = model._checked(X, y)
    plan = plan_of(purse, 1.0, len(y), X.shape[1] + 1, X.shape[1] + 1, centred=True)
    run = Run(records, purse, plan, 1.0)
    run.solve(True)
    return run


# --- The ledger -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "privacy", [USUAL, Pure(1.0), ZeroConcentrated(0.05), Gaussian(0.3)], ids=str
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"report_clipped": True},
        {"bounds": "private", "response_bounds": "private"},
        {"fit_intercept": False},
    ],
    ids=str,
)
def test_the_ledger_composes_to_the_budget(privacy: Any, options: dict[str, Any]) -> None:
    X, y = linear(4000, 2, 1)
    model = fitted(X, y, privacy, **options)
    for name, asked in privacy.parameters.items():
        given = model.privacy_.parameters[name]
        assert given <= asked * (1 + 1e-9)
        assert given == pytest.approx(asked, rel=1e-3)


@pytest.mark.parametrize("privacy", [USUAL, Pure(1.0)], ids=str)
def test_the_mean_alone_spends_the_budget_too(privacy: Any) -> None:
    X, y = linear(60, 4, 1)
    with pytest.warns(PlanWarning, match="too small"):
        model = fitted(X, y, privacy)
    assert model.privacy_.parameters["epsilon"] == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("privacy", [USUAL, Pure(1.0), Gaussian(0.01)], ids=str)
@pytest.mark.parametrize("n", [100, 10_000, 10**8])
def test_shares_add_up_to_one(privacy: Any, n: int) -> None:
    purse = Purse(privacy, np.random.default_rng(0), n)
    shares = plan_of(purse, 0.9, n, 12, 9, centred=True).shares
    assert shares.total == pytest.approx(1.0)
    assert min(shares.later) > 0.05


def test_the_ledger_does_not_follow_the_data() -> None:
    X, y = linear(3000, 2, 2)
    assert str(fitted(X, y).ledger_) == str(fitted(5 * X, -y).ledger_)


# --- Units ----------------------------------------------------------------------------------------


def test_with_a_huge_budget_it_is_least_squares_in_the_units_of_the_table() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 9, 8000),
            "town": rng.choice(["a", "b", "c"], 8000),
            "size": rng.normal(-3000, 50, 8000),
        }
    )
    town = table["town"].map({"a": 0.0, "b": 4.0, "c": -1.0})
    y = 7 + 0.3 * table["age"] + town + 0.02 * table["size"] + rng.normal(0, 1, 8000)
    model = PrivateRegression(
        LOUD,
        {"age": (0, 120), "size": (-1e4, 1e4)},
        (-1000, 1000),
        categories={"town": ["a", "b", "c"]},
        random_state=0,
    ).fit(table, y)
    indicators = [table["town"] == "b", table["town"] == "c"]
    A = np.column_stack([np.ones(8000), table["age"], *indicators, table["size"]]).astype(float)
    exact = np.linalg.lstsq(A, y, rcond=None)[0]
    assert model.coef_ == pytest.approx(exact[1:], rel=0.02)
    assert model.intercept_ == pytest.approx(exact[0], abs=1.0)
    assert list(model.feature_names_out_) == ["age", "town=b", "town=c", "size"]
    inner = np.abs(A @ exact - np.mean(y)) < 3 * np.std(y)  # predictions are clamped beyond
    assert model.predict(table)[inner] == pytest.approx((A @ exact)[inner], abs=0.1)
    low, high = model.fitted_interval(table, 0.95)
    assert (low + high) / 2 == pytest.approx(A @ exact, abs=0.1)


def test_without_an_intercept() -> None:
    X, y = linear(8000, 3, 4)
    X = X + 1
    y = X @ [1.0, -2.0, 0.5] + 0.3 * np.random.default_rng(0).normal(0, 1, 8000)
    model = fitted(X, y, LOUD, fit_intercept=False)
    assert model.coef_ == pytest.approx([1.0, -2.0, 0.5], abs=0.02)
    assert model.intercept_ == 0.0
    assert model.covariance_.shape == (3, 3)
    low, high = model.fitted_interval(X[:5])
    assert (low + high) / 2 == pytest.approx(X[:5] @ model.coef_)


def test_scales_and_origins_of_the_columns_change_nothing() -> None:
    X, y = linear(6000, 3, 5)
    here = fitted(X, y)
    there = fitted(
        X * 2**10,
        y * 2**-8,
        bounds=(-20 * 2**10, 20 * 2**10),
        response_bounds=(-50 * 2**-8, 50 * 2**-8),
    )
    assert there.coef_ * 2**18 == pytest.approx(here.coef_)
    assert there.stderr_ * 2**18 == pytest.approx(here.stderr_)


def test_chunks_have_the_same_law() -> None:
    X, y = linear(6000, 3, 5)
    here = fitted(X, y)
    there = fitted([X[:1000], X[1000:5000], X[5000:]], [y[:1000], y[1000:5000], y[5000:]])
    assert there.coef_ == pytest.approx(here.coef_, rel=1e-9)


# --- Errors and intervals -------------------------------------------------------------------------


def test_the_noise_is_what_the_covariance_says() -> None:
    """Same records, noise drawn anew: the spread is that of `noise`, with control."""
    X, y = linear(3000, 3, 6)
    runs = []
    for seed in range(150):
        model = PrivateRegression(Gaussian(1.0), (-20, 20), (-50, 50), random_state=seed)
        records, purse = model._checked(X, y)
        run = Run(records, purse, plan_of(purse, 1.0, 3000, 4, 4, centred=True), 1.0)
        run.solve(True)
        scale = run.frame.response_half / np.append(1.0, run.frame.columns.half)
        runs.append((run.coef[1:] * scale[1:], np.sqrt(np.diag(run.noise))[1:] * scale[1:]))
    spread = np.std([coef for coef, _ in runs], axis=0)
    told = np.mean([noise for _, noise in runs], axis=0)
    assert np.mean(spread / told) == pytest.approx(1.0, abs=0.15)


def coverage(narrower: float = 1.0) -> tuple[float, float]:
    hits, fits = [], []
    beta, rows = np.linspace(-1, 1, 3), np.random.default_rng(0).normal(0, 1, (50, 3))
    for seed in range(80):
        X, y = linear(2000, 3, 1000 + seed, noise=1.0)
        model = fitted(X, y, random_state=seed)
        low, high = model.confidence_interval(0.9)
        half = (high - low) / 2 / narrower
        hits.append(np.abs(model.coef_ - beta) <= half)
        low, high = model.fitted_interval(rows, 0.9)
        fits.append(np.abs((low + high) / 2 - rows @ beta - 2) <= (high - low) / 2 / narrower)
    return float(np.mean(hits)), float(np.mean(fits))


def test_intervals_cover_and_half_of_them_do_not() -> None:
    assert min(coverage()) > 0.87
    assert max(coverage(narrower=2.5)) < 0.85


def test_intervals_shrink_with_records_to_those_of_least_squares() -> None:
    X, y = linear(200_000, 3, 7)
    model = fitted(X, y, Gaussian(5.0))
    classical = 0.5 / math.sqrt(200_000)
    assert (model.stderr_ < 3 * classical).all()
    assert (model.stderr_ > 0.9 * classical).all()


def test_unequal_spreads_are_seen_where_records_are_many() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(0, 1, (100_000, 2))
    y = X[:, 0] + rng.normal(0, 1, 100_000) * (0.2 + 2 * (np.abs(X[:, 1]) > 1.5))
    law = fitted(X, y, Gaussian(20.0)).error_law_
    assert isinstance(law, ErrorLaw)
    first, second = law.sampling.variance(np.zeros(2))
    assert second > 2 * first


def test_the_guard_keeps_what_is_known_and_the_mean() -> None:
    moment = np.array([[1.0, 0.2, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]])
    coef = np.array([0.5, 0.3, -0.4])
    quiet = guarded(coef, moment, 1e-9 * np.eye(3), True)
    assert quiet.coef == pytest.approx(coef, rel=1e-4)
    mixed = guarded(coef, moment, np.diag([1e-9, 1e-9, 25.0]), True)
    assert mixed.coef[1] == pytest.approx(0.3, rel=1e-3)
    assert abs(mixed.coef[2]) < 0.01
    loud = guarded(coef, moment, np.eye(3), True)
    assert loud.coef == pytest.approx([0.5 + 0.2 * 0.3, 0, 0])
    for guard in (quiet, mixed, loud):
        assert moment[0] @ guard.coef == pytest.approx(moment[0] @ coef)
        assert guard.coef == pytest.approx(guard.shrinking @ coef)


def test_what_the_guard_takes_off_is_a_gain() -> None:
    """Slopes of one size under unequal noise: smaller errors, and no worse without noise."""
    rng = np.random.default_rng(0)
    spreads, before, after = np.array([1e-4, 0.1, 1.0, 10.0, 100.0]), [], []
    for _ in range(200):
        true = rng.normal(0, 1, 5)
        seen = true + rng.normal(0, np.sqrt(spreads))
        guard = guarded(seen, np.eye(5), np.diag(spreads), False)
        before.append(((seen - true) ** 2).sum())
        after.append(((guard.coef - true) ** 2).sum())
    assert np.mean(after) < 0.1 * np.mean(before)
    assert np.mean(after) < 4  # no more than knowing the size by half would allow


# --- Tables as they come --------------------------------------------------------------------------


def awkward(name: str) -> tuple[Array, Array, dict[str, Any]]:
    rng = np.random.default_rng(9)
    X = rng.normal(0, 1, (8000, 4))
    y = X @ [1.0, 0.5, -1.0, 0.0] + rng.normal(0, 1, 8000)
    if name == "constant and twins":
        X = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2], np.full(8000, 3.0), np.zeros(8000)])
    if name == "rare indicators":
        rare = (rng.random((8000, 5)) < 0.002).astype(float)
        X, y = np.column_stack([X, rare]), y + 3 * rare.sum(axis=1)
        return X, y, {"categories": {j: [0, 1] for j in range(4, 9)}, "bounds": [(-20, 20)] * 4}
    if name == "heavy tails":
        X = X * np.exp(rng.normal(0, 0.7, X.shape))
        y = X @ [1.0, 0.5, -1.0, 0.0] + rng.standard_t(2.5, 8000)
        return X, y, {"bounds": (-1e4, 1e4), "response_bounds": (-1e4, 1e4)}
    if name == "a spike at the bound":
        return X, np.maximum(0, y - 1), {"response_bounds": (0, 100)}
    if name == "exact":
        return X, X @ [1.0, 0.5, -1.0, 0.0], {}
    return X, y, {}


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("plain", 0.02),
        ("constant and twins", 0.03),
        ("rare indicators", 0.04),
        ("heavy tails", 0.06),
        ("a spike at the bound", 0.03),
        ("exact", 0.02),
    ],
)
def test_awkward_tables_are_near_least_squares(name: str, lost: float) -> None:
    X, y, options = awkward(name)
    A = np.column_stack([np.ones(len(y)), X])
    best = 1 - np.mean((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2) / np.var(y)
    for seed in range(3):
        assert r2(fitted(X, y, random_state=seed, **options), X, y) > best - lost


@pytest.mark.parametrize("width", [10, 1000])
def test_bounds_that_are_far_too_wide_cost_little(width: float) -> None:
    X, y = linear(8000, 4, 10)
    here = fitted(X, y, bounds=(-4, 4), response_bounds=(-6, 10))
    wide = fitted(X, y, bounds=(-4 * width, 4 * width), response_bounds=(-6 * width, 10 * width))
    assert r2(wide, X, y) > r2(here, X, y) - 0.01


def test_private_bounds_cost_little_and_stand_in_the_ledger() -> None:
    X, y = linear(8000, 4, 10)
    X = X * [1, 1e-5, 1e6, 1] + [0, 0, 0, 5000]
    model = fitted(X, y, bounds="private", response_bounds="private")
    assert r2(model, X, y) > 0.8
    abouts = [entry.about for entry in model.ledger_]
    assert abouts[:2] == ["lower ends of columns", "upper ends of columns"]


def test_no_signal_is_not_made_up() -> None:
    rng = np.random.default_rng(11)
    for seed in range(5):
        X, y = rng.normal(0, 1, (3000, 8)), rng.exponential(1, 3000)
        model = fitted(X, y, bounds=(-50, 50), response_bounds=(0, 500), random_state=seed)
        assert r2(model, X, y) > -0.06


@pytest.mark.parametrize("privacy", [Approximate(0.1, 1e-6), Pure(0.1)], ids=str)
def test_too_few_records_give_the_mean(privacy: Any) -> None:
    X, y = linear(1000, 8, 12)
    scores = []
    for seed in range(20):
        with pytest.warns(PlanWarning, match="n = 1000 is too small"):
            model = fitted(X, y, privacy, response_bounds=(-8, 8), random_state=seed)
        assert not model.coef_.any()
        assert model.plan_.constant
        scores.append(r2(model, X, y))
    assert np.mean(scores) > -0.3
    with pytest.raises(ValueError, match="too few records"):
        model.confidence_interval()
    with pytest.raises(ValueError, match="too few records"):
        model.fitted_interval(X)
    assert "mean alone" in str(model.plan_)
    assert "No intervals" in str(model)


def test_few_records_with_a_large_budget_are_fitted() -> None:
    X, y = linear(300, 2, 13)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert r2(fitted(X, y, Gaussian(2.0)), X, y) > 0.4


# --- What is said and refused ---------------------------------------------------------------------


def test_it_prints_what_was_spent_on_what() -> None:
    X, y = linear(5000, 2, 14)
    model = fitted(X, y, report_clipped=True)
    text = str(model)
    for words in ("intercept", "95% interval", "clipped residuals", "Clipped to the bounds"):
        assert words in text
    assert "sandwich" in str(model.plan_)
    assert set(model.clipped_share_) == {0, 1, "y"}
    assert "<table>" in model._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"bounds": None}, ValueError, "bounds must be given"),
        ({"response_bounds": None}, ValueError, "response_bounds must be given"),
        ({"response_bounds": (3, 1)}, ValueError, "low < high"),
        ({"fit_intercept": "yes"}, TypeError, "fit_intercept"),
        ({"report_clipped": 1}, TypeError, "report_clipped"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], error: Any, words: str) -> None:
    X, y = linear(100, 2, 15)
    with pytest.raises(error, match=words):
        fitted(X, y, **options)


@pytest.mark.parametrize("level", [0, 1.5, "high", True])
def test_levels_of_fitted_intervals_are_checked(level: Any) -> None:
    X, y = linear(5000, 2, 14)
    with pytest.raises((TypeError, ValueError), match="level must"):
        fitted(X, y).fitted_interval(X, level)
