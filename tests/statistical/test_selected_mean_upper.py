"""The proven risk of Gumbel selection: its steps by simulation, its size, and what refutes it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from estimators.sparse_mean import SparseMean
from minimax.core.privacy import ZeroConcentrated
from minimax.problems.sparse_mean.lower import statistical
from minimax.problems.sparse_mean.problem import SparseMeanProblem
from minimax.problems.sparse_mean.selection import (
    best_exponent,
    cells,
    log_miss,
    log_null_weight,
    overshoot,
    selected_mean_upper,
)
from minimax.problems.sparse_mean.upper import best_upper

PROBLEM = SparseMeanProblem(2000, 1000, 10, 1.0, 1.0)
BUDGET = ZeroConcentrated(0.02)


def planned(**options: object) -> SparseMean:
    return SparseMean(BUDGET, s=10, sigma=1.0, radius=1.0, **options)


def test_the_proven_risk_is_within_60_of_the_lower_bound() -> None:
    proven = planned().risk_bound(PROBLEM).value()
    lower = statistical().value(n=2000, d=1000, s=10, sigma=1.0, radius=1.0)
    assert proven <= 60 * lower
    best = best_upper(PROBLEM, BUDGET)
    assert best.risk == proven
    assert best.settings == {"s": 10, "sigma": 1.0, "radius": 1.0}


@pytest.mark.parametrize("u", [0.0, 0.7, 2.0, 3.5])
def test_overshoot_bounds_extreme_laws(u: float) -> None:
    """Gaussian and symmetric two-point laws; half of it is below the Gaussian's at u = 0."""
    gaussian = stats.norm.pdf(u) - u * stats.norm.sf(u)
    assert gaussian <= overshoot(u, 1.0)
    assert max(1 - u, 0) / 2 <= overshoot(u, 1.0)
    if u == 0:
        assert gaussian > overshoot(u, 1.0) / 2


@pytest.mark.parametrize(("B", "folded"), [(0.04, True), (0.04, False), (0.02, False)])
def test_null_weight_of_clipped_gaussians(B: float, folded: bool) -> None:
    at = {"n": 2000.0, "d": 2.0, "s": 1.0, "sigma": 1.0, "radius": 1.0}
    deviation = 1 / math.sqrt(2000)

    def weight(z: float) -> float:
        return math.exp(abs(z) / B) * stats.norm.pdf(z, scale=deviation)

    exact = integrate.quad(weight, -1, 1, points=[0.0], limit=200)[0]
    bound = math.exp(log_null_weight(at, 3.0, B, folded))
    assert bound / 2 < exact <= bound


@pytest.mark.parametrize("mean", [0.2, 0.3, 0.4])
def test_chance_of_missing(mean: float) -> None:
    """By simulation of one signal against the nulls' scores."""
    rng = np.random.default_rng(1)
    b, deviation, nulls, R = 0.038, 1 / math.sqrt(2000), 990, 3.0
    at = {"n": 2000.0, "d": 991.0, "s": 1.0, "sigma": 1.0, "radius": 1.0}
    scores = np.abs(rng.normal(0, deviation, (4000, nulls))) + rng.gumbel(0, b, (4000, nulls))
    own = np.abs(rng.normal(mean, deviation, 4000)) + rng.gumbel(0, b, 4000)
    missed = np.mean(scores.max(axis=1) > own)
    v = (deviation / b) ** 2
    gap = (mean - overshoot(R - mean, 1.0)) / b - log_null_weight(at, R, b, True)
    bound = math.exp(min(log_miss(gap, v, best_exponent(gap, v, 1.0), 1.0), 0.0))
    margin = 4 * math.sqrt(bound / 4000)
    assert missed <= bound + margin
    shorter = gap + math.log(nulls)  # control: as if there were one null
    wrong = math.exp(min(log_miss(shorter, v, best_exponent(shorter, v, 1.0), 1.0), 0.0))
    assert missed > wrong + margin


def test_more_budget_never_costs_much() -> None:
    """Cells must be narrow about the mean that is hidden, not about the radius."""
    problem = SparseMeanProblem(40_000, 40, 20, 1.0, 1.0)
    risks = [
        selected_mean_upper(problem, ZeroConcentrated(rho), s=20).value() for rho in (1e-4, 2e-4)
    ]
    assert risks[1] < risks[0]


def test_cells_cover_all_means() -> None:
    for peak, radius in ((0.3, 1.0), (1.0, 1.0), (1e-6, 1e6)):
        ends = cells(peak, radius)
        assert ends[0] == 0
        assert ends[-1] == radius
        assert ends == sorted(ends)
        assert len(ends) < 90


@pytest.mark.parametrize("mean", [0.05, 0.25, 1.0])
def test_measured_risk_is_below_the_proven_one(mean: float) -> None:
    rng = np.random.default_rng(2)
    truth = np.where(np.arange(1000) < 10, mean, 0.0)
    errors = [
        np.sum(
            (planned(random_state=seed).fit(rng.normal(truth, 1, (2000, 1000))).mean_ - truth) ** 2
        )
        for seed in range(6)
    ]
    bound = planned().risk_bound(PROBLEM).value()
    assert np.mean(errors) <= bound
    if mean == 0.25:  # near the worst mean: a quarter of the bound would be refuted
        assert np.mean(errors) > bound / 4


def test_measured_risk_at_the_prior_of_the_lower_bound() -> None:
    rng = np.random.default_rng(3)
    lower = statistical()
    point = {"n": 2000, "d": 1000, "s": 10, "sigma": 1.0, "radius": 1.0}
    prior = lower.prior(**point)

    def risk(**options: object) -> float:
        losses = []
        for seed in range(8):
            instance = prior.draw(rng)
            fitted = planned(random_state=seed, **options).fit(instance.sample(2000, rng))
            losses.append(instance.loss(fitted.mean_))
        return float(np.mean(losses))

    assert risk() <= 5 * lower.value(**point)
    assert risk(R=2.193, selection_share=0.829) > 5 * lower.value(**point)  # without the threshold


def test_threshold_shrinks_and_is_checked() -> None:
    X = np.random.default_rng(0).normal(0.5, 1, (500, 4))
    budget = ZeroConcentrated(10.0)
    plain, shrunk = (
        SparseMean(budget, s=4, R=5.0, threshold=t, random_state=0).fit(X).mean_ for t in (0.0, 0.1)
    )
    assert np.allclose(shrunk, plain - 0.1)
    with pytest.raises(ValueError, match="threshold"):
        SparseMean(budget, s=4, R=5.0, threshold=-1.0).fit(X)
