"""Sparse logistic regression: its lower bounds, and what its estimators are proved to reach."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import special

from estimators import NoisyHardThresholding, PlannedLogisticRegression
from minimax.core.bound import Labelled, LowerBound
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from minimax.methods import couplings
from minimax.methods.couplings import LogisticPacking
from minimax.problems.logistic.problem import LogisticProblem
from minimax.problems.sparse_logistic import SparseLogisticProblem, lower
from minimax.problems.sparse_logistic.upper import all_coefficients_upper
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from tests.contract.test_walk_tracing import ORDINARY
from tests.contract.walk import points, walk

MODELS = (Pure, Approximate, ZeroConcentrated, Gaussian)


def every_bound() -> list[LowerBound]:
    found = [bound for model in MODELS for bound in lower.lower_bounds(model)[1:]]
    return [lower.statistical(), *found]


@pytest.mark.parametrize("bound", every_bound(), ids=lambda b: f"{b.name} {b.parameters[-1]}")
def test_no_value_lies_beyond_the_exact_one(bound: LowerBound) -> None:
    """The dense bounds and the packing formula in them are walked at length elsewhere."""
    for domain in (None, ORDINARY):
        seen = walk(bound, points(bound, 4, domain=domain))
        assert not seen.faults
        assert seen.compared == 4


# --- The packing ----------------------------------------------------------------------------------


def records(s: int, g: float) -> tuple[np.ndarray, np.ndarray]:
    """The chances of every (x on the support, y), under g v and under 0."""
    u = g * np.array(list(itertools.product([-1.0, 1.0], repeat=s))).sum(axis=1) / math.sqrt(s)
    under = np.concatenate([special.expit(u), special.expit(-u)]) / 2**s
    return under, np.full(2 ** (s + 1), 0.5 / 2**s)


@pytest.mark.parametrize("s", [1, 2, 5])
@pytest.mark.parametrize("g", [0.01, 0.7, 9.0])
def test_the_coupling_is_that_of_the_two_laws(s: int, g: float) -> None:
    under, fair = records(s, g)
    n, packing = 50.0, LogisticPacking(50.0, 3, s, 100.0)
    excess = np.maximum(np.log(fair / under), 0.0)
    mean = fair @ excess
    found = packing.coupling(0.0, g)
    assert found.alpha == pytest.approx(np.abs(under - fair).sum() / 2, rel=1e-12)
    assert found.mean == pytest.approx(n * mean, rel=1e-12)
    assert found.deviation == pytest.approx(math.sqrt(n * (fair @ excess**2 - mean**2)), rel=1e-9)
    assert found.separation == g**2
    assert found.alpha <= g / 4  # what the closed form rests on
    reached = float(packing.difference(packing.height(found.alpha)))
    assert 0.95 * found.alpha < reached <= found.alpha * (1 + 1e-12)


@pytest.mark.parametrize("g", [1e-3, 0.5, 4.0])
def test_beyond_the_exact_walk_are_bounds(g: float, monkeypatch: pytest.MonkeyPatch) -> None:
    packing = LogisticPacking(1000.0, 2, 400, 1e9)
    exact = packing.coupling(0.0, g)
    monkeypatch.setattr(couplings, "EXACT_WALK", 300)
    bounded = packing.coupling(0.0, g)
    for wide, sharp in zip(bounded, exact, strict=True):
        assert sharp <= wide * (1 + 1e-12)
    assert bounded.mean < 1.2 * exact.mean + 1000 * g**2 / 4  # and not far off


def test_a_label_tells_no_more_than_a_number_with_noise_of_size_two() -> None:
    """int_0^u t A''(t) dt <= u^2/8, nearly an equality for small u: noise of 1.99 is too much."""
    u = np.array([1e-3, 0.1, 1.0, 5.0])
    p = special.expit(u)
    divergence = p * np.log(2 * p) + (1 - p) * np.log(2 * (1 - p))
    assert np.all(divergence <= u**2 / (2 * lower.AS_NOISE**2) * (1 + 1e-9))
    assert divergence[1] > u[1] ** 2 / (2 * (1.01 * lower.AS_NOISE) ** 2)


def test_known_support_is_the_dense_problem_in_dimension_s() -> None:
    point = {"n": 5000.0, "radius": 2.0}
    for privacy in (Pure(0.3), Gaussian(0.2)):
        sparse = SparseLogisticProblem(5000, 60, 6, 2.0).lower(type(privacy))
        dense = LogisticProblem(5000, 6, 2.0).lower(type(privacy))
        for there, here in zip(dense[1:], sparse[1:], strict=False):
            value = there.value(**point, d=6.0, **privacy.parameters)
            assert here.value(**point, d=60.0, s=6.0, **privacy.parameters) == value
    drawn = sparse[1].prior(**point, d=60.0, s=6.0, mu=0.2).draw(np.random.default_rng(0))
    sample = drawn.sample(10, np.random.default_rng(1))
    assert isinstance(sample, Labelled)
    assert np.count_nonzero(drawn.target) == 6
    assert np.allclose(np.abs(sample.X), 1 / math.sqrt(6))
    assert set(sample.y) <= {0.0, 1.0}


# --- Upper bounds ---------------------------------------------------------------------------------

PROBLEM = SparseLogisticProblem(2_000_000, 40, 3)


@pytest.mark.parametrize("privacy", [Approximate(0.5, 1e-6), ZeroConcentrated(0.1)], ids=str)
def test_the_best_bound_is_the_estimators_own(privacy: Privacy) -> None:
    best = PROBLEM.best_upper(privacy)
    assert best.estimator == "NoisyHardThresholding"
    fitted = NoisyHardThresholding(privacy, **best.settings)
    assert fitted.risk_bound(PROBLEM).value() == pytest.approx(best.risk, rel=1e-9)
    assert PROBLEM.best_lower(privacy).risk < best.risk < PROBLEM.zero_release_risk() / 100
    seen = walk(best.bound, points(best.bound, 6, domain={**ORDINARY, "n": lambda rng: 1e6}))
    assert not seen.faults


def test_a_pure_budget_takes_all_coefficients() -> None:
    problem = SparseLogisticProblem(10**7, 12, 4)
    best = problem.best_upper(Pure(1.0))
    assert best.estimator == "PlannedLogisticRegression"
    assert best.settings["row_bound"] == math.sqrt(3)
    dense = LogisticProblem(10**7, 12, math.sqrt(3)).best_upper(Pure(1.0))
    assert best.risk == pytest.approx(dense.risk, rel=1e-12)
    PlannedLogisticRegression(Pure(1.0), **best.settings)
    bound = all_coefficients_upper(problem, Pure(1.0))
    assert bound.closed_form() >= bound.value() * (1 - 1e-9)
    assert not walk(bound, [{**bound.defaults, "n": 10.0**k} for k in (3, 6, 9)]).faults


def test_a_design_that_is_not_isotropic_costs_more_and_has_fewer_proofs() -> None:
    wide, privacy = SparseLogisticProblem(10**8, 40, 3, L=1.1), ZeroConcentrated(0.1)
    best = wide.best_upper(privacy)
    assert best.settings["s"] == 3
    narrow = SparseLogisticProblem(10**8, 40, 3).best_upper(privacy)
    assert narrow.risk < best.risk < wide.zero_release_risk()
    assert all_coefficients_upper(wide, privacy).broken() == ["L = 1"]


def test_the_estimator_stays_below_its_bound() -> None:
    """Measured at the farthest coefficients; the control: a fiftieth of the bound is too little."""
    problem, privacy = SparseLogisticProblem(200_000, 8, 2), ZeroConcentrated(2.0)
    best = problem.best_upper(privacy)
    truth, rng = problem.farthest(), np.random.default_rng(3)
    losses = []
    for seed in range(6):
        model = NoisyHardThresholding(privacy, **best.settings, random_state=seed)
        coef = model.fit(*problem.draw(truth, rng)).coef_
        losses.append(problem.instance(truth).loss(coef))
    assert best.risk / 50 < np.mean(losses) < best.risk < problem.zero_release_risk() / 10


def test_other_losses_and_problems_are_refused() -> None:
    squared = NoisyHardThresholding(
        Gaussian(1.0), s=3, loss="squared", clip=10.0, radius=1.0, steps=2
    )
    with pytest.raises(ValueError, match="covers the logistic loss"):
        squared.risk_bound(PROBLEM)
    assert squared.risk_bound(SparseRegressionProblem(1000, 40, 3)).value() > 0
    with pytest.raises(ValueError, match="s must be at most d"):
        SparseLogisticProblem(10, 2, 3)
    with pytest.raises(ValueError, match="L must be at least 1"):
        SparseLogisticProblem(10, 4, 3, L=0.5)
