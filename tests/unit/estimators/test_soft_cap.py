"""zCDP randomisers of vectors: divergences by quadrature, reports, errors, what is chosen."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from scipy import stats

import estimators
import estimators.randomisers
from estimators import LocalHardThresholding, OneShotThreshold, SequentialHalving
from estimators.core.accounting import compose
from estimators.randomisers.base import VectorRandomiser, mean_of_reports
from estimators.randomisers.choice import cube_randomiser, sphere_randomiser
from estimators.randomisers.zcdp_privunit import (
    ConcentratedRandomiser,
    GaussianRandomiser,
    SoftCapRandomiser,
    error_per_dimension,
)
from minimax.core.privacy import Pure, ZeroConcentrated
from minimax.problems.local_regression.problem import LocalRegressionProblem

ALPHA = 1e-6
Array = np.ndarray
KINDS = [SoftCapRandomiser, GaussianRandomiser]


class Steeper(SoftCapRandomiser):
    """The control: k is five percent too large."""

    @cached_property
    def k(self) -> float:
        return 1.05 * SoftCapRandomiser(self.p, self.rho).k


def zcdp(rho: float) -> ZeroConcentrated:
    return ZeroConcentrated(rho, scope="local")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_exported_as_the_others_are() -> None:
    for name in ("SoftCapRandomiser", "GaussianRandomiser", "SphereRandomiser", "mean_of_reports"):
        assert getattr(estimators, name) is getattr(estimators.randomisers, name)
        assert name in estimators.__all__


# Privacy


def divergences(
    randomiser: ConcentratedRandomiser, x: Any, other: Any, *orders: float
) -> list[float]:
    """D_alpha of the reports at two inputs in the plane, by the trapezoid rule."""
    grid = np.linspace(-14, 14, 561)
    z = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    base = -np.sum(z**2, axis=1) / 2 - math.log(2 * math.pi) + 2 * math.log(grid[1] - grid[0])
    first, second = (randomiser.log_likelihood(randomiser.scale * z, v) for v in (x, other))
    first, second = (law - log_sum(base + law) for law in (first, second))
    return [log_sum(base + a * first + (1 - a) * second) / (a - 1) for a in orders]


def log_sum(logs: np.ndarray) -> float:
    """log sum e^logs, by one pass of the exponential."""
    largest = logs.max()
    return float(largest + np.log(np.exp(logs - largest).sum()))


PAIRS = [
    ([1.0, 0.0], [-1.0, 0.0]),
    ([3.0, 4.0], [-6.0, -8.0]),
    ([0.6, 0.8], [-0.8, -0.6]),
    ([1.0, 0.0], [0.0, 0.0]),
    ([0.3, -0.2], [-0.5, 0.1]),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rho", [0.1, 0.5, 1.0])
def test_divergences_stay_within_the_budget(kind: Any, rho: float) -> None:
    """At orders 1.01 to 4 and inputs on, in and outside the ball."""
    randomiser = kind(2, rho)
    orders = (1.01, 1.5, 2.0, 4.0)
    of_pairs = [divergences(randomiser, *pair, *orders) for pair in PAIRS]
    for alpha, found in zip(orders, zip(*of_pairs, strict=True), strict=True):
        assert max(found) <= alpha * rho * (1 + 1e-3)
        assert found[0] == pytest.approx(found[1], rel=1e-3)  # clipped to the same two
        assert found[0] > 0.6 * alpha * rho
    # opposite inputs spend all of it as the order tends to 1, and a steeper density more
    (near_one,) = divergences(randomiser, *PAIRS[0], 1.001)
    assert near_one > 0.99 * 1.001 * rho
    (steeper,) = divergences(Steeper(2, rho), *PAIRS[0], 1.01)
    assert steeper > 1.02 * 1.01 * rho


# Reports


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [1, 2, 7])
def test_reports_are_unbiased_and_err_as_they_say(kind: Any, p: int) -> None:
    users, randomiser = 60_000, kind(p, 0.8, 2.0)
    direction = rng(1).standard_normal(p)
    limit = float(stats.norm.isf(ALPHA / (2 * p)))
    for size in (0.0, 1.1, 2.0, 50.0):
        x = size * direction / np.linalg.norm(direction)
        reports, entry = randomiser.randomise(np.tile(x, (users, 1)), rng(2))
        clipped = randomiser.clip(x[None])[0]
        spread = reports.std(axis=0) / math.sqrt(users)
        assert np.all(np.abs(reports.mean(axis=0) - clipped) < limit * spread)
        squares = np.sum((reports - clipped) ** 2, axis=1)
        noise = limit * squares.std() / math.sqrt(users)
        assert abs(squares.mean() - randomiser.error(x)) < noise
        assert abs(squares.mean() - kind(p, 0.7, 2.0).error(x)) > noise  # control: another budget
        assert randomiser.error(x) <= randomiser.length**2
        assert np.mean(np.sum(reports**2, axis=1)) < randomiser.length**2 + noise
        assert entry.guarantees == (zcdp(0.8),)
        assert (entry.sensitivity, entry.scale, entry.norm) == (2.0, randomiser.scale, "l2")


@pytest.mark.parametrize("rho", [1e-3, 0.1, 1.0, 3.0])
def test_the_error_per_dimension_is_the_limit(rho: float) -> None:
    x = np.eye(1, 10**5)[0]
    ours, noise = (kind(10**5, rho).error(x) / 10**5 for kind in KINDS)
    assert ours == pytest.approx(error_per_dimension(rho), rel=1e-4)
    assert noise == pytest.approx(2 / rho)
    assert error_per_dimension(rho) < 2 / rho


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0.0, 5e-324, 1e-170, 1e170, 1.7e308])
def test_extreme_inputs_get_reports_like_any_other(kind: Any, size: float) -> None:
    x, randomiser = np.array([size, -size, size]), kind(3, 3.0)
    reports = randomiser.randomise(np.tile(x, (2_000, 1)), rng(12)).value
    clipped = randomiser.clip(x[None])[0]
    spread = reports.std(axis=0) / math.sqrt(2_000)
    assert np.all(np.abs(reports.mean(axis=0) - clipped) < stats.norm.isf(ALPHA / 6) * spread)
    assert (size < 1) == (np.abs(clipped).max() < 1e-100)


@pytest.mark.parametrize("kind", KINDS)
def test_means_are_streamed(kind: Any) -> None:
    p = 20
    randomiser = kind(p, 2.0)
    X = rng(7).standard_normal((300, p))
    mean = mean_of_reports([X], randomiser, rng(8)).value
    np.testing.assert_allclose(mean, randomiser.randomise(X, rng(8)).value.mean(axis=0))

    def chunks(users: int) -> Iterator[Array]:
        for _ in range(users // 1000):
            yield np.full((1000, p), 0.1)

    peaks = []
    for users in (5_000, 50_000):
        tracemalloc.start()
        mean_of_reports(chunks(users), randomiser, rng(6))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_names_the_parameter(kind: Any) -> None:
    for options, match in (({"p": 0}, "p"), ({"rho": 0.0}, "rho"), ({"rho": 1e9}, "rho")):
        with pytest.raises(ValueError, match=rf"^{match}\b"):
            kind(**{"p": 2, "rho": 1.0, **options})
    with pytest.raises(ValueError, match="X must"):
        kind(2, 1.0).randomise([[1.0, math.nan]], rng())
    with pytest.raises(ValueError, match="reports must"):
        kind(2, 1.0).log_likelihood([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="x must"):
        kind(2, 1.0).log_likelihood([1.0, 2.0], [1.0])


# What is chosen


@pytest.mark.parametrize(
    ("p", "rho", "chosen"),
    [
        (1, 0.1, "sphere randomiser"),
        (20, 0.1, "soft cap"),
        (20, 3.0, "soft cap"),
        (1000, 8.0, "soft cap"),
        (1000, 10.0, "PrivUnit"),
        (3, 6.0, "PrivUnit"),
    ],
)
def test_the_one_of_least_error_is_chosen(p: int, rho: float, chosen: str) -> None:
    best = sphere_randomiser("auto", zcdp(rho), p, 3.0)
    assert best.name == chosen
    names: list[Any] = ["duchi", "privunit", "softcap", "gaussian"]
    assert best.length == min(sphere_randomiser(name, zcdp(rho), p, 3.0).length for name in names)
    assert sphere_randomiser("auto", Pure(1.0, "local"), p, 3.0).name == "sphere randomiser"


def test_one_number_is_sent_as_a_bit_and_a_vector_as_a_soft_cap() -> None:
    assert cube_randomiser("auto", zcdp(0.3), 1, 2.0)[1] == "coordinate"
    cap, report = cube_randomiser("auto", zcdp(0.3), 20, 2.0)
    assert (report, cap.radius) == ("softcap", pytest.approx(2 * math.sqrt(20)))
    bit, _ = cube_randomiser("coordinate", zcdp(0.3), 20, 2.0)
    assert 1.2 < (bit.length * 20 / cap.length) ** 2 < 1.4
    assert cube_randomiser("auto", Pure(1.0, "local"), 20, 2.0)[1] == "coordinate"


# The estimators


def records(n: int = 600, p: int = 5) -> tuple[Array, Array]:
    X = rng(3).choice([-1.0, 1.0], (n, p))
    return X, 0.6 * X[:, 0] + rng(4).uniform(-0.3, 0.3, n)


FITS: list[Any] = [
    (LocalHardThresholding, {}, SoftCapRandomiser),
    (LocalHardThresholding, {"randomiser": "gaussian"}, GaussianRandomiser),
    (LocalHardThresholding, {"randomiser": "privunit"}, VectorRandomiser),
    (OneShotThreshold, {}, SoftCapRandomiser),
    (OneShotThreshold, {"report": "hypercube"}, VectorRandomiser),
    (OneShotThreshold, {"report": "coordinate"}, VectorRandomiser),
    (SequentialHalving, {}, VectorRandomiser),
]


@pytest.mark.parametrize(("kind", "options", "randomiser"), FITS)
def test_the_budget_is_spent_in_full(kind: Any, options: Any, randomiser: Any) -> None:
    fitted = kind(zcdp(0.7), random_state=0, **options).fit(*records())
    assert isinstance(fitted.randomiser_, randomiser)
    assert fitted.privacy_ == zcdp(0.7) == compose(fitted.ledger_, ZeroConcentrated)
    for entry in fitted.ledger_:
        assert zcdp(0.7) in entry.guarantees
        for guarantee in entry.guarantees:  # a pure report: no more than its epsilon allows
            if isinstance(guarantee, Pure):
                e = guarantee.epsilon
                assert e * math.tanh(e / 2) <= 0.7
                assert e * math.tanh(1.05 * e / 2) > 0.7


@pytest.mark.parametrize(
    ("kind", "options", "match"),
    [
        (LocalHardThresholding, {"randomiser": "softcap"}, "randomiser='softcap' needs"),
        (LocalHardThresholding, {"randomiser": "gaussian"}, "randomiser='gaussian' needs"),
        (OneShotThreshold, {"report": "softcap"}, "report='softcap' needs"),
        (OneShotThreshold, {"privacy": zcdp(1e7)}, r"privacy\.rho must be at most"),
        (SequentialHalving, {"privacy": zcdp(1e7)}, r"privacy\.rho must be at most"),
        (LocalHardThresholding, {"privacy": zcdp(1e7)}, r"privacy\.rho must be at most"),
        (LocalHardThresholding, {"privacy": ZeroConcentrated(1.0)}, r"privacy\.scope"),
    ],
)
def test_budgets_that_do_not_fit_are_refused(kind: Any, options: Any, match: str) -> None:
    estimator = kind(**options)
    with pytest.raises(ValueError, match=match):
        estimator.fit(*records())
    assert not hasattr(estimator, "coef_")


def test_the_risk_bound_is_that_of_the_report() -> None:
    problem = LocalRegressionProblem(10**6, 20, 2.0)
    names = [
        OneShotThreshold(zcdp(0.125), C=2.0, report=report).risk_bound(problem).name  # type: ignore[arg-type]
        for report in ("auto", "softcap", "coordinate")
    ]
    caps, bits = "one-shot thresholding of soft caps", "one-shot thresholding"
    assert names == [caps, caps, bits]
    for report in ("hypercube", "gaussian"):
        with pytest.raises(ValueError, match="risk_bound needs report="):
            OneShotThreshold(zcdp(0.125), C=2.0, report=report).risk_bound(problem)  # type: ignore[arg-type]
    halving = SequentialHalving(zcdp(0.125), C=2.0).risk_bound(problem)
    assert halving.value() == pytest.approx(0.005907, rel=1e-3)
