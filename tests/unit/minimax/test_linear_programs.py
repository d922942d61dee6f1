"""Every certified lower bound against the best private mechanism, found by linear programming.

The prior is the one of the bound's own proof, so the bound must not exceed the least Bayes risk of
any private mechanism. Controls: somewhere a stated multiple of its privacy part does exceed it, and
somewhere the bound itself exceeds the risk that is possible without privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from minimax.core.bound import Bound, Parts
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.methods.priors import (
    BlockPrior,
    CosinePrior,
    DilutedPrior,
    LogisticPrior,
    RegressionBlockPrior,
    RegressionPrior,
    SignPrior,
)
from minimax.methods.van_trees import ball_exponent, sign_bayes_risk
from minimax.problems.bounded_mean import lower as bounded_mean
from minimax.problems.bounded_mean.diluted import dilution, in_sample
from minimax.problems.logistic import lower as logistic
from minimax.problems.mean import lower as mean
from minimax.problems.regression import lower as regression
from minimax.problems.sparse_mean import lower as sparse_mean
from tests.linear_programs import (
    Array,
    FiniteProblem,
    counting_problem,
    least_pure_risk,
    least_risk,
)

# --- The proofs' priors as finite problems -------------------------------------------------------


def binary(n: int, weights: Array, chance: Array, targets: Array) -> FiniteProblem:
    """n records of two values, the first with the given chance."""
    return counting_problem(n, weights, np.stack([chance, 1 - chance], axis=1), targets)


def sign_law(u: float, size: int) -> tuple[Array, Array]:
    """Gauss-Jacobi nodes: exact for the polynomials in p that n signs and the loss give."""
    p, weights = special.roots_jacobi(size, u / 2 - 1, u / 2 - 1)
    return p, weights / weights.sum()


def signs(n: int, prior: SignPrior) -> FiniteProblem:
    """A record is one of 2^d sign vectors."""
    p, weights = sign_law(prior.u, n // 2 + 2)
    values = np.array(list(product([-1.0, 1.0], repeat=prior.d)))
    means = np.array(list(product(p, repeat=prior.d)))
    masses = np.prod(np.array(list(product(weights, repeat=prior.d))), axis=1)
    chances = np.prod((1 + means[:, None, :] * values) / 2, axis=2)
    return counting_problem(n, masses, chances, prior.sigma * means)


def sample_means(n: int, prior: SignPrior) -> FiniteProblem:
    """The target is the mean of the sample itself."""
    mass = stats.betabinom.pmf(np.arange(n + 1), n, prior.u / 2, prior.u / 2)
    xbar = prior.sigma * np.linspace(-1, 1, n + 1)
    steps = np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)))
    return FiniteProblem(np.diag(mass), xbar[:, None], np.argwhere(steps == 1))


def ball_law(radius: float) -> tuple[Array, Array]:
    """Gauss-Jacobi nodes of the ball prior in dimension one."""
    nodes, weights = special.roots_jacobi(96, ball_exponent(1), ball_exponent(1))
    return radius * nodes, weights / weights.sum()


def logistic_signs(n: int, prior: LogisticPrior) -> FiniteProblem:
    """z = x (2y - 1) is 1 with chance expit(beta) whatever x, which is pure noise.

    A mechanism on z may draw the x itself, so reducing (x, y) to z loses nothing.
    """
    beta, weights = ball_law(prior.radius)
    return binary(n, weights, special.expit(beta), beta)


def linear_signs(n: int, prior: RegressionPrior) -> FiniteProblem:
    """z = x y ~ N(beta, sigma^2), of which only the sign is kept.

    A mechanism on the signs is one on the data: the optimum can only be too large, which is
    allowed for an oracle from above.
    """
    beta, weights = ball_law(prior.radius)
    return binary(n, weights, special.ndtr(beta / prior.sigma), beta)


def gaussian_signs(n: int, prior: CosinePrior) -> FiniteProblem:
    """Gaussian records, of which only the sign is kept: see `linear_signs`."""
    mu = prior.radius * np.linspace(-1, 1, 401)
    weights = np.cos(np.pi * mu / (2 * prior.radius)) ** 2
    return binary(n, weights / weights.sum(), special.ndtr(mu / prior.sigma), mu)


def two_slopes(n: int, prior: RegressionBlockPrior) -> FiniteProblem:
    """d = s = 1: beta = +-height, and the sign of x y is kept."""
    beta = prior.height * np.array([-1.0, 1.0])
    return binary(n, np.full(2, 0.5), special.ndtr(beta / prior.sigma), beta)


def spikes(n: int, prior: BlockPrior) -> FiniteProblem:
    """A record is 0 or the spike vector, one of (2m)^s.

    Data sets with two different spikes never occur, and the proof walks from those with one spike
    to the one without, so they are left out.
    """
    m = prior.d // prior.s
    choices = list(product(range(2 * m), repeat=prior.s))
    vectors = np.zeros((len(choices), prior.d))
    for row, choice in enumerate(choices):
        for block, place in enumerate(choice):
            vectors[row, block * m + place // 2] = (-1.0) ** place
    chances = np.hstack(
        [prior.alpha * np.eye(len(choices)), np.full((len(choices), 1), 1 - prior.alpha)]
    )
    weights = np.full(len(choices), 1 / len(choices))
    return counting_problem(
        n,
        weights,
        chances,
        prior.alpha * prior.height * vectors,
        keep=lambda table: np.sum(table[:, :-1] > 0, axis=1) <= 1,
    )


def diluted(n: int, prior: DilutedPrior) -> FiniteProblem:
    """d = 1: of the m points j are +1; a record is +, - or 0."""
    share = np.arange(prior.points + 1) / prior.points
    law = stats.betabinom(prior.points, prior.u / 2, prior.u / 2)
    weights = law.pmf(np.arange(prior.points + 1))
    kept = prior.alpha * np.stack([share, 1 - share], axis=1)
    chances = np.column_stack([kept, np.full(len(share), 1 - prior.alpha)])
    return counting_problem(n, weights, chances, prior.alpha * prior.sigma * (2 * share - 1))


# --- The cases ------------------------------------------------------------------------------------


@lru_cache
def made(factory: Callable[[Any], Bound], model: type[Any]) -> Bound:
    """The bound under one definition of privacy (its closed form takes sympy a while)."""
    return factory(model)


@dataclass(frozen=True)
class Case:
    """A bound, the finite problem of its prior, where to look, and how close it must come."""

    bound: Callable[[Any], Bound]
    problem: Callable[[int, Any], FiniteProblem]
    point: dict[str, float]
    sizes: tuple[int, ...]
    within: float
    """Somewhere this multiple of the privacy part (of the bound, if it has none) is too much."""
    points: int = 41
    epsilons: tuple[float, ...] = (0.01, 0.1, 0.5, 1.0, 2.0)
    deltas: tuple[float, ...] = (1e-6, 1e-3, 0.05)

    def bound_at(self, privacy: Any, n: int) -> tuple[Parts, FiniteProblem] | None:
        """The bound and the problem of its prior, or None where it is not proved or zero."""
        bound = made(self.bound, type(privacy))
        given = {**self.point, **privacy.parameters, "n": n}
        point = bound.point({name: given[name] for name in bound.parameters})
        if bound.broken(**point):
            return None
        parts = bound.parts(**point)
        if parts.total == 0:
            return None
        assert bound.prior_at is not None
        return parts, self.problem(n, bound.prior_at(point, parts))


UNIT = {"d": 1, "sigma": 1.0}
PLANE = {"d": 2, "sigma": 1.0}
FEW: dict[str, Any] = {"epsilons": (0.01, 0.5, 2.0), "deltas": (1e-6, 1e-3)}
TWO: dict[str, Any] = {"epsilons": (0.01, 1.0), "deltas": (1e-3,)}


def bounded_packing(model: Any) -> Bound:
    """Bounded data, blocks of one coordinate."""
    return mean.dense_packing(model, "bounded")


CASES = {
    "signs": Case(bounded_mean.tracing_signs, signs, UNIT, (1, 2, 5, 8), 1.2),
    "signs-sum": Case(bounded_mean.tracing_signs_additive, signs, UNIT, (1, 2, 5, 8), 1.2),
    "signs-plane": Case(bounded_mean.tracing_signs, signs, PLANE, (1, 2), 1.2, 11, **TWO),
    "signs-sum-plane": Case(
        bounded_mean.tracing_signs_additive, signs, PLANE, (1, 2), 1.2, 11, **TWO
    ),
    "signs-statistics": Case(
        lambda model: bounded_mean.statistical_signs(), signs, UNIT, (1, 2, 5, 8), 1.2
    ),
    "in-sample": Case(in_sample, sample_means, UNIT, (1, 2, 5, 8), 1.5),
    "dilution": Case(dilution, diluted, {**UNIT, "radius": 1.0}, (1, 2, 4), 1.5, 31, **FEW),
    "logistic": Case(
        logistic.tracing, logistic_signs, {"d": 1, "radius": 5.0}, (2, 4, 12), 1.5, **FEW
    ),
    "logistic-wide": Case(
        logistic.tracing, logistic_signs, {"d": 1, "radius": 20.0}, (1, 4, 12), 1.5, **FEW
    ),
    "logistic-statistics": Case(
        lambda model: logistic.statistical(),
        logistic_signs,
        {"d": 1, "radius": 2.0},
        (2, 12),
        1.3,
    ),
    "regression": Case(
        regression.tracing, linear_signs, {**UNIT, "radius": 5.0}, (1, 8), 1.5, **FEW
    ),
    "regression-shifted": Case(
        lambda model: regression.tracing(model, shifted=True),
        linear_signs,
        {**UNIT, "radius": 5.0},
        (1, 4),
        1.5,
        **FEW,
    ),
    "gaussian": Case(
        mean.tracing_gaussian, gaussian_signs, {**UNIT, "radius": 5.0}, (1, 8), 1.5, **FEW
    ),
    "gaussian-shifted": Case(
        lambda model: mean.tracing_gaussian(model, shifted=True),
        gaussian_signs,
        {**UNIT, "radius": 5.0},
        (1, 4),
        1.5,
        **FEW,
    ),
    # In one or two dimensions a guess is good already, and Markov's inequality is not.
    "packing": Case(bounded_packing, spikes, UNIT, (4, 8), 9.0, **FEW),
    "packing-plane": Case(bounded_packing, spikes, PLANE, (4,), 5.0, 9, **TWO),
    "packing-subgaussian": Case(
        mean.dense_packing, spikes, {**UNIT, "radius": 1.0}, (4, 8), 9.0, **FEW
    ),
    "packing-blocks": Case(
        lambda model: sparse_mean.packing(model, "bounded"),
        spikes,
        {**PLANE, "s": 1, "radius": 1.0},
        (4,),
        5.0,
        9,
        **TWO,
    ),
    "packing-regression": Case(
        regression.dense_packing, two_slopes, {**UNIT, "radius": 5.0}, (4, 8), 9.0, **FEW
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_no_private_mechanism_beats_the_bound(name: str) -> None:
    case = CASES[name]
    # What the part at stake would have to be multiplied by to reach the optimum, and the risk
    # without privacy in units of the bound.
    factors, freely = [], []
    for epsilon, n in product(case.epsilons, case.sizes):
        for privacy in (Pure(epsilon), *(Approximate(epsilon, delta) for delta in case.deltas)):
            found = case.bound_at(privacy, n)
            if found is None:
                continue
            parts, problem = found
            low, high = least_risk(problem, privacy, case.points)
            assert parts.total <= low, (n, privacy)
            part = parts.total if parts.privacy is None else parts.privacy
            if part > 0:
                factors.append(1 + (high - parts.total) / part)
            if parts.privacy is not None:
                freely.append(problem.bayes_risk() / parts.total)
    assert min(factors) < case.within
    assert not freely or min(freely) < 0.5


CONCENTRATED = {
    **{name: CASES[name] for name in ("signs", "signs-sum", "logistic", "gaussian", "packing")},
    "signs-antipodal": Case(bounded_mean.antipodal_signs, signs, UNIT, (), 0),
    "signs-resampled": Case(bounded_mean.resampled_signs, signs, UNIT, (), 0),
    "signs-antipodal-plane": Case(bounded_mean.antipodal_signs, signs, PLANE, (), 0, 11),
    "gaussian-antipodal": Case(
        mean.antipodal_gaussian, gaussian_signs, {**UNIT, "radius": 5.0}, (), 0
    ),
    "gaussian-resampled": Case(
        mean.resampled_gaussian, gaussian_signs, {**UNIT, "radius": 5.0}, (), 0
    ),
    "regression-antipodal": Case(
        regression.antipodal_pairs, linear_signs, {**UNIT, "radius": 5.0}, (), 0
    ),
    "regression-resampled": Case(
        regression.resampled_sign, linear_signs, {**UNIT, "radius": 5.0}, (), 0
    ),
}


@pytest.mark.parametrize("name", CONCENTRATED)
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0])
def test_concentrated_bounds_stay_below_the_best_pure_mechanism(name: str, epsilon: float) -> None:
    """A pure mechanism is epsilon^2/2-zCDP, and mu-GDP with mu that of randomised response.

    (The trade-off curve of N(0, 1) and N(mu, 1) is convex and meets that of randomised response,
    which is two chords of it, at its corner and at its ends.)
    """
    mu = -2 * special.ndtri(special.expit(-epsilon))
    case = CONCENTRATED[name]
    sizes = [2] if name.endswith("plane") else [2, 4]
    for privacy, n in product([ZeroConcentrated(epsilon**2 / 2), Gaussian(mu)], sizes):
        found = case.bound_at(privacy, n)
        if found is None:
            continue
        parts, problem = found
        assert parts.total <= least_risk(problem, Pure(epsilon), case.points)[0], (n, privacy)
    assert case.bound_at(Gaussian(mu), sizes[-1]) is not None


# --- The oracle itself ----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_one_sign_is_best_released_by_randomised_response(epsilon: float, delta: float) -> None:
    """With chance delta the sign itself, else randomised response; then the posterior mean."""
    u = 1.5
    problem = signs(1, SignPrior(1, 1.0, u))
    kept = delta + (1 - delta) * math.tanh(epsilon / 2) ** 2
    exact = 1 / (u + 1) - kept / (1 + u) ** 2
    privacy = Approximate(epsilon, delta) if delta else Pure(epsilon)
    low, high = least_risk(problem, privacy, 161)
    assert low <= exact <= high
    if not delta:
        assert least_pure_risk(problem, epsilon) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("n", [3, 8])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_lattice_costs_what_is_said(n: int, epsilon: float) -> None:
    problem = logistic_signs(n, LogisticPrior(1, 5.0))
    exact = least_pure_risk(problem, epsilon)
    low, high = least_risk(problem, Pure(epsilon), 21)
    assert low <= exact <= high
    assert problem.bayes_risk() < exact < problem.prior_variance()
    assert exact == pytest.approx(problem.prior_variance(), rel=0.5 * n * epsilon)
    assert least_pure_risk(problem, 40.0) == pytest.approx(problem.bayes_risk(), rel=1e-6)


def test_finite_problems_have_the_moments_of_the_priors() -> None:
    u, n = 0.7, 5
    problem = signs(n, SignPrior(2, 3.0, u))
    assert problem.joint.sum() == pytest.approx(1)
    assert problem.prior_variance() == pytest.approx(2 * 9 / (u + 1))
    assert problem.bayes_risk() == pytest.approx(2 * 9 * sign_bayes_risk(n, u))
    a, k = 5.0, ball_exponent(1)
    assert logistic_signs(n, LogisticPrior(1, a)).prior_variance() == pytest.approx(
        a**2 / (2 * k + 3)
    )
    # A data set of one spike has 2^2 kinds and n sizes, and there is the one without.
    star = spikes(n, BlockPrior(2, 1, 0.3, 2.0))
    assert len(star.joint) == 4 * n + 1
    assert star.prior_variance() == pytest.approx(0.6**2)
    assert star.bayes_risk() == pytest.approx(0.6**2 * 0.7**n)
