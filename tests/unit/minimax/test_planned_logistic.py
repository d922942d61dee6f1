"""The planned descent on the logistic loss and the pairs of labels: constants, by hand or force."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import special

from minimax.core.bound import OutsideRegime
from minimax.core.calibration import Allowance, budget_of
from minimax.core.logistic_gradient import logistic_half_width
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.methods.antipodal_gain import pointwise_pair_gain
from minimax.methods.recursion import Interval, chernoff_interval
from minimax.problems.logistic import lower as logistic
from minimax.problems.logistic.planned import (
    Setting,
    _best_step,
    best_plan,
    contraction,
    moved,
    planned_logistic_upper,
)
from minimax.problems.logistic.problem import LogisticProblem
from minimax.problems.logistic.upper import best_upper

BUDGETS: list[SpendablePrivacy] = [
    Pure(0.01),
    Approximate(0.01, 1e-10),
    ZeroConcentrated(5e-6),
    Gaussian(4e-3),
]


# --- The plan -------------------------------------------------------------------------------------


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_the_shares_of_a_plan_are_the_budget(privacy: SpendablePrivacy) -> None:
    plan = best_plan(Setting(2e5, 4.0, 1.0, 0.5), budget_of(privacy))
    assert sum(phase.share for phase in plan.phases) == pytest.approx(1)
    assert plan.strength == (privacy.epsilon if plan.pure else float(budget_of(privacy).mu()))
    widths = [phase.half_width for phase in plan.phases]
    assert widths == [0.5] + [logistic_half_width(1.0)] * (len(widths) - 1)


def test_few_features_are_worth_the_noise_of_a_pure_budget() -> None:
    """One phase has (d + 1) (sensitivity/epsilon)^2 or (sensitivity/mu)^2 on a coordinate."""
    budget = Approximate(0.01, 1e-10)
    assert 5 < (0.01 / budget_of(budget).mu()) ** 2 < 61
    ways = [best_plan(Setting(1e8, d, 1.0, 1.0), budget_of(budget)).pure for d in (4.0, 60.0)]
    assert ways == [True, False]
    assert not best_plan(Setting(1e8, 4.0, 1.0, 1.0), Allowance(Gaussian, {"mu": 1.0})).pure


@pytest.mark.parametrize("k", [0, 1])
@pytest.mark.parametrize("noise", [1e-4, 1e-2, 1.0])
def test_the_step_is_the_best_one(k: int, noise: float) -> None:
    curvature, error = Interval(0.03, 0.06), 2e-3
    step = float(_best_step(k, np.array([0.7]), curvature, error, np.array([noise]))[0])
    tried = np.geomspace(1e-3, 100, 4001)
    lengths = moved(k, 0.7, contraction(tried, curvature), tried, error, np.full(4001, noise))
    least = moved(k, 0.7, contraction(step, curvature), step, error, noise)
    assert least <= lengths.min() * (1 + 1e-12)
    assert step == pytest.approx(float(tried[np.argmin(lengths)]), rel=5e-3)


def test_more_records_shorten_the_expected_distance() -> None:
    lengths = [
        best_plan(Setting(n, 6.0, 1.5, 0.6), Allowance(ZeroConcentrated, {"rho": 1e-4})).distance
        for n in (1e2, 1e3, 1e4, 1e5, 1e6, 1e7)
    ]
    assert all(after < before for before, after in pairwise(lengths))
    assert lengths[0] <= 1.5


# --- The bound ------------------------------------------------------------------------------------


def test_the_bound_by_hand() -> None:
    """Every constant of the statement, from the plan's own shares and steps."""
    n, d, a, c0, rho = 2e5, 4.0, 0.8, 1.0, 5e-6
    problem = LogisticProblem(int(n), int(d), a)
    bound = planned_logistic_upper(problem, ZeroConcentrated(rho), radius=c0, reach=0.7)
    parts = bound.parts()
    found = parts.optimum
    low, high = chernoff_interval(n, d, 1.0, Interval(1 / d, 1 / d), found["failure"])
    flattest, m = math.exp(c0) / (1 + math.exp(c0)) ** 2, a
    for k in range(int(found["phases"])):
        width = 0.5 if k == 0 else logistic_half_width(c0)
        noise = (2 * width / n) ** 2 * d / (2 * rho * found[f"share_{k}"])
        step = found[f"step_{k}"]
        q = max(abs(1 - step * flattest * low), abs(1 - step * high / 4))
        if k == 0:  # between 0 and beta the curvature is a chord's, and that of the law
            chord = (1 / (1 + math.exp(-a)) - 1 / 2) / a
            q = max(abs(1 - step * chord / d), abs(1 - step / (4 * d)))
            m = math.sqrt((q * m) ** 2 + step**2 * (1 / (4 * n) + noise))
        else:
            m = math.sqrt((q * m + step / (2 * math.sqrt(n))) ** 2 + step**2 * noise)
    assert int(found["phases"]) > 1
    risk = (m**2 + found["failure"] * (a + c0) ** 2) / d
    assert parts.total == pytest.approx(risk, rel=1e-7)


def test_small_coefficients_cost_what_the_lower_bound_says() -> None:
    """Curvature next to 1/4, sensitivity next to 1/n: 8 d^2/(rho n^2), on both sides."""
    n, d, a, rho = 1e16, 10.0, 1e-2, 1e-21
    problem = LogisticProblem(int(n), int(d), a)
    leading = 8 * d**2 / (rho * n**2)
    upper = planned_logistic_upper(problem, ZeroConcentrated(rho)).value()
    lower = logistic.antipodal_pairs(ZeroConcentrated).value(n=n, d=d, radius=a, rho=rho)
    assert leading == pytest.approx(8e-9)
    assert 0.97 * leading < lower < upper < 1.2 * leading


def test_a_bound_refuses_coefficients_beyond_the_ball() -> None:
    bound = planned_logistic_upper(LogisticProblem(10**6, 4, 1.0), Gaussian(0.1), radius=1.0)
    with pytest.raises(OutsideRegime, match="projection's radius"):
        bound.value(radius=1.01)


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_the_calculator_names_the_planned_descent(privacy: SpendablePrivacy) -> None:
    problem = LogisticProblem(10**6, 4, 1.0)
    best = best_upper(problem, privacy)
    assert best.estimator == "PlannedLogisticRegression"
    assert problem.best_lower(privacy).risk < best.risk < 8 * problem.best_lower(privacy).risk
    nothing = best_upper(LogisticProblem(20, 4, 1.0), privacy)
    assert nothing.releases_zero


# --- Pairs of labels ------------------------------------------------------------------------------


def channels(rng: np.random.Generator, d: int) -> list[np.ndarray]:
    """Laws of a release given the record (x, y), one row each: mixtures of randomised response."""
    records = 2 ** (d + 1)
    uniform = np.full((records, records), 1 / records)
    noisy = rng.dirichlet(np.ones(6), records)
    return [
        0.97 * uniform + 0.03 * np.eye(records),
        0.8 * uniform + 0.2 * np.eye(records),
        0.9 / 6 + 0.1 * noisy,
        0.5 / 6 + 0.5 * noisy,
    ]


def concentration(channel: np.ndarray) -> float:
    """rho, by all pairs and a grid of orders."""
    orders = np.concatenate([np.linspace(1.0001, 3, 40), np.geomspace(3, 1e4, 60)])
    log = np.log(channel)
    return max(
        float(
            np.max(special.logsumexp(np.outer(orders, p - q) + q, axis=1) / orders / (orders - 1))
        )
        for p, q in product(log, log)
        if p is not q
    )


def best_score(channel: np.ndarray, beta: np.ndarray) -> float:
    """The largest E<V, s>/sqrt(E|V|^2): sqrt(E|E[s | release]|^2)."""
    d = len(beta)
    rows = np.array(list(product([-1, 1], repeat=d))) / math.sqrt(d)
    p = special.expit(rows @ beta)
    chances = np.column_stack([1 - p, p]).ravel() / len(rows)
    scores = (np.column_stack([-p, 1 - p])[..., None] * rows[:, None]).reshape(-1, d)
    m = chances @ channel
    posterior = (chances[:, None] * scores).T @ channel / m
    return math.sqrt(float(np.sum(posterior**2 @ m)))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_channel_gains_more_than_its_pairs(d: int) -> None:
    rng = np.random.default_rng(d)
    reached = []
    for channel in channels(rng, d):
        rho = concentration(channel)
        gain = float(pointwise_pair_gain(ZeroConcentrated, {"rho": rho}))
        for beta in (np.zeros(d), rng.standard_normal(d), 3 * rng.standard_normal(d)):
            reached.append(best_score(channel, beta) / (gain / (2 * math.sqrt(d))))
    assert max(reached) <= 1
    # Teeth: a gain for a quarter of the budget is broken.
    assert max(reached) > 0.5


@pytest.mark.parametrize("model", [ZeroConcentrated, Gaussian])
def test_pairs_are_four_times_the_score_attack_where_privacy_dominates(model: type) -> None:
    budget = {"rho": 1e-7} if model is ZeroConcentrated else {"mu": math.sqrt(2e-7)}
    at = {"n": 1e7, "d": 8.0, "radius": 1.0, **budget}
    before = logistic.tracing(model).parts(**at).privacy
    after = logistic.antipodal_pairs(model).parts(**at).privacy
    assert before is not None
    assert after is not None
    assert after / before == pytest.approx(4, rel=0.05)
