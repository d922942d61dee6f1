"""Every certified lower bound against the best private mechanism of a tiny problem.

The prior is the one of the bound's own proof, so the bound must not exceed the risk of any private
mechanism under it: `tests.contract.mechanisms` finds the best, by linear programming. A row enters
by standing among its problem's lower bounds. Run with ``-s`` to see bound/optimum for each.

Controls: half as much again, and the bound for a fraction of the budget, are caught under every
definition, by mechanisms that look at the data. The programme itself is held against closed forms.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from minimax.catalogue import PROBLEMS
from minimax.core.bound import LowerBound, OutsideRegime, Parts
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Pure,
    Renyi,
    ZeroConcentrated,
    parameter_names,
)
from minimax.core.problem import Problem
from minimax.methods.priors import BlockPrior, LogisticPrior, SignPrior
from minimax.methods.van_trees import ball_exponent, sign_bayes_risk
from minimax.problems.local_regression.problem import LOSSES
from tests.contract.finite_priors import (
    Reports,
    TooLarge,
    central_problem,
    finite,
    label_problem,
    local_problem,
    logistic_signs,
    signs,
)
from tests.contract.finite_problems import FiniteProblem
from tests.contract.mechanisms import least_risk
from tests.effort import part

BUDGETS: dict[type[Privacy], list[Privacy]] = {
    Pure: [Pure(epsilon) for epsilon in (0.05, 0.2, 0.5, 1.0, 2.0, 5.0)],
    Approximate: [
        Approximate(epsilon, delta)
        for epsilon, delta in [
            (0.05, 1e-6),
            (0.5, 1e-6),
            (1, 1e-3),
            (0.2, 0.05),
            (2, 0.3),
            (5, 1e-3),
        ]
    ],
    ZeroConcentrated: [ZeroConcentrated(rho) for rho in (1e-3, 0.1, 3.0)],
    Gaussian: [Gaussian(mu) for mu in (0.05, 0.3, 1.0, 2.4)],
    Renyi: [Renyi(2.0, 0.1), Renyi(4.0, 1.0), Renyi(2.0, 3.0)],
    OffsetConcentrated: [OffsetConcentrated(0.05, 0.1), OffsetConcentrated(0.5, 1.5)],
}
CENTRAL = {Pure: 500, Approximate: 400, ZeroConcentrated: 200, Gaussian: 200}
LEAST = {**CENTRAL, Renyi: 50, OffsetConcentrated: 20}
"""Comparisons that a definition must come to."""
FIFTHS = part(1, of=5)
"""Of all comparisons: no number of budgets shares a factor with 5, so each budget has its turn."""
NUMBERS: dict[str, tuple[float | None, ...]] = {
    "d": (1, 2),
    "p": (1, 2),
    "s": (1,),
    "sigma": (1.0,),
    "radius": (5.0,),
    "C": (2.0, 0.3),
    "b": (None, 0.5),
}
"""What each number of a problem is set to, in all combinations."""
RECORDS = {"central": (1, 2, 4), "local": (1, 3), "label": (1, 3)}
MOST_DATA_SETS = 9
ROUNDING = 1e-9
"""The solver's, relative."""


@dataclass(frozen=True)
class Comparison:
    """A bound beside the risk of a private mechanism under the prior of its proof."""

    row: str
    bound: float
    risk: float
    constant: float
    """The risk of the best constant."""

    @property
    def ratio(self) -> float:
        return self.bound / self.risk


def forms() -> Iterator[Problem]:
    """Every problem of the catalogue at its tiny points."""
    for problem in PROBLEMS.values():
        names = [name for name in problem.parameters() if name != "n"]
        losses = list(LOSSES.values()) if "loss" in problem.options else [None]
        for values, n, loss in product(
            product(*(NUMBERS[name] for name in names)), RECORDS[problem.scope], losses
        ):
            point = dict(zip(names, values, strict=True))
            if {"s", "d"} <= point.keys() and point["s"] == point["d"]:
                continue  # the sparse bounds need two coordinates in a block
            form = {} if loss is None else {"loss": loss}
            yield problem.at({"n": n, **point}, **form)


def tiny(
    problem: Problem, bound: LowerBound, parts: Parts, given: dict[str, float]
) -> Reports | FiniteProblem:
    """The prior of the bound's proof as a finite problem."""
    assert bound.prior_at is not None, f"{bound.name} has no prior"
    prior = bound.prior_at(bound.point(given), parts)
    if problem.scope == "local":
        return local_problem(prior, problem.n)
    if problem.scope == "label":
        return label_problem(prior, problem.n)
    return central_problem(prior, problem.n, bound.loss)


SOLVED: dict[object, float] = {}
"""Rows that share a prior share its programme."""


def risk_of(case: Reports | FiniteProblem, privacy: Privacy) -> float:
    if isinstance(case, Reports):
        return case.least_risk(privacy)
    if len(case.joint) > MOST_DATA_SETS:
        raise TooLarge(f"{len(case.joint)} data sets")
    key = (case.joint.tobytes(), case.targets.tobytes(), case.neighbours, privacy)
    if key not in SOLVED:
        SOLVED[key] = least_risk(case, privacy).risk
    return SOLVED[key]


def compare(
    problem: Problem, bound: LowerBound, privacy: Privacy, stated: Privacy
) -> Comparison | None:
    """The bound at the budget `stated` against mechanisms with the budget `privacy`.

    None where nothing is proved (or nothing more than 0), or the prior has too many data sets.
    """
    given = {**problem.point, **stated.parameters}
    try:
        parts = bound.parts(**given)
        if parts.total == 0:
            return None
        case = tiny(problem, bound, parts, given)
        risk = risk_of(case, privacy)
    except (OutsideRegime, TooLarge):
        return None
    return Comparison(f"{problem.name}: {bound.name}", parts.total, risk, case.constant_risk())


def rows(problem: Problem, model: type[Privacy]) -> list[LowerBound]:
    """The certified lower bounds of a problem that are about privacy."""
    if model in (Renyi, OffsetConcentrated) and problem.scope == "central":
        return []
    names = set(parameter_names(model))
    bounds = problem.lower(model)
    return [bound for bound in bounds if bound.kind == "certified" and names <= {*bound.parameters}]


@lru_cache
def comparisons(model: type[Privacy]) -> list[Comparison]:
    """Of every row of every problem, at every budget."""
    everything = (
        (problem, bound, privacy)
        for problem in forms()
        for bound, privacy in product(rows(problem, model), BUDGETS[model])
    )
    taken = (these for place, these in enumerate(everything) if place % 5 < FIFTHS)
    found = (compare(problem, bound, privacy, privacy) for problem, bound, privacy in taken)
    return [here for here in found if here is not None]


@pytest.mark.parametrize("model", BUDGETS)
def test_no_private_mechanism_beats_a_bound(model: type[Privacy]) -> None:
    seen = comparisons(model)
    largest: dict[str, float] = defaultdict(float)
    for each in seen:
        largest[each.row] = max(largest[each.row], each.ratio)
    top = max(largest.values())
    print(f"\n{model.__name__}: {len(seen)} comparisons, bound/optimum at most {top:.9f}")
    for row, ratio in largest.items():
        print(f"  {ratio:.4f}  {row}")
    assert not [each for each in seen if each.ratio > 1 + ROUNDING]
    assert len(seen) >= LEAST[model] * FIFTHS / 5
    # The control: half as much again is too much, and it takes a look at the data to see it.
    assert any(each.risk < 1.5 * each.bound < each.constant for each in seen)


def fraction(privacy: Privacy, share: float) -> Privacy:
    """A share of the budget, on the scale of epsilon."""
    powers = {"epsilon": 1, "mu": 1, "rho": 2}
    numbers = {k: v * share ** powers.get(k, 0) for k, v in privacy.parameters.items()}
    return type(privacy)(**numbers)


@pytest.mark.parametrize("model", CENTRAL)
@pytest.mark.parametrize(("name", "share"), [("label-regression", 0.5), ("bounded-mean", 0.1)])
def test_a_bound_for_less_than_the_budget_is_caught(
    model: type[Privacy], name: str, share: float
) -> None:
    """As if the gain of the proof were so much smaller. One that is caught is enough."""
    stated = (
        compare(problem, bound, privacy, fraction(privacy, share))
        for problem in forms()
        if problem.name == name and problem.n < 4
        for bound, privacy in product(rows(problem, model), BUDGETS[model])
    )
    caught = (here for here in stated if here and here.risk < here.bound < here.constant)
    assert next(caught, None) is not None


def test_no_mechanism_at_all_beats_a_bound_without_a_budget() -> None:
    seen = {}
    for problem in forms():
        for bound in problem.lower(Pure):
            if bound.kind != "certified" or "epsilon" in bound.parameters:
                continue
            try:
                parts = bound.parts(**problem.point)
                case = tiny(problem, bound, parts, problem.point)
            except (OutsideRegime, TooLarge):
                continue
            assert isinstance(case, FiniteProblem)
            seen[bound.name, problem] = parts.total / case.bayes_risk()
    assert len(seen) >= 20
    assert 0.999 < max(seen.values()) <= 1 + ROUNDING


# --- The programme itself -------------------------------------------------------------------------


def kept_by_one_sign(privacy: Privacy) -> float:
    """The largest E tanh^2 of the posterior's half log odds of one fair sign.

    Pure and zCDP: randomised response, with u tanh(u/2) = rho for the latter. (epsilon, delta): the
    sign itself with chance delta. Gaussian: N(+-mu/2, 1), which every mechanism post-processes.
    """
    match privacy:
        case Pure():
            return math.tanh(privacy.epsilon / 2) ** 2
        case Approximate():
            return privacy.delta + (1 - privacy.delta) * math.tanh(privacy.epsilon / 2) ** 2
        case ZeroConcentrated():
            u = optimize.brentq(lambda u: u * math.tanh(u / 2) - privacy.rho, 1e-9, 50)
            return math.tanh(u / 2) ** 2
    mu = privacy.mu
    law = stats.norm(mu / 2)
    return float(integrate.quad(lambda z: law.pdf(z) * math.tanh(mu * z / 2), -12, 12)[0])


@pytest.mark.parametrize("privacy", [each for model in CENTRAL for each in BUDGETS[model]])
@pytest.mark.parametrize("u", [0.3, 1.5])
def test_one_sign_is_released_as_well_as_can_be(privacy: Privacy, u: float) -> None:
    """The prior's variance is 1/(u+1), and 1/(u+1)^2 of it is known with the sign."""
    exact = 1 / (u + 1) - kept_by_one_sign(privacy) / (u + 1) ** 2
    found = least_risk(signs(SignPrior(1, 1.0, u), 1), privacy)
    assert found.relaxed <= found.risk
    assert exact * (1 - 1e-9) <= found.risk <= exact * (1 + 1e-3)
    if isinstance(privacy, Pure | Approximate):
        assert found.risk == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_without_constraints_the_least_risk_is_bayes(n: int) -> None:
    u = 0.7
    problem = signs(SignPrior(1, 3.0, u), n)
    exact = 9 * sign_bayes_risk(n, u)
    assert problem.bayes_risk() == pytest.approx(exact)
    assert least_risk(problem, None).risk == pytest.approx(exact, rel=1e-9)
    for privacy in (Pure(40.0), Approximate(1.0, 1 - 1e-9), ZeroConcentrated(60.0), Gaussian(14.0)):
        assert least_risk(problem, privacy).risk == pytest.approx(exact, rel=1e-3)
    for privacy in (Pure(1.0), Approximate(1.0, 1e-3), ZeroConcentrated(0.5), Gaussian(1.0)):
        assert exact * 1.01 < least_risk(problem, privacy).risk < problem.constant_risk()


@pytest.mark.parametrize("n", [2, 4])
def test_definitions_that_imply_others_have_more_risk(n: int) -> None:
    """Pure(eps) is eps^2/2-zCDP, mu-GDP is mu^2/2-zCDP, and (eps, delta_mu(eps)) for every eps."""
    problem = signs(SignPrior(1, 1.0, 1.0), n)
    risk = {each: least_risk(problem, each).risk for each in (Pure(1.0), Gaussian(1.0))}
    assert risk[Pure(1.0)] > least_risk(problem, ZeroConcentrated(0.5)).risk
    assert risk[Gaussian(1.0)] > least_risk(problem, ZeroConcentrated(0.5)).risk
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        wider = Approximate(epsilon, Gaussian(1.0).delta(epsilon))
        assert risk[Gaussian(1.0)] > least_risk(problem, wider).risk
    assert risk[Pure(1.0)] > least_risk(problem, Approximate(1.0, 1e-4)).risk


@pytest.mark.parametrize("privacy", [ZeroConcentrated(0.1), Gaussian(0.5), Approximate(0.5, 0.01)])
def test_what_is_found_is_a_private_mechanism(privacy: Privacy) -> None:
    """Its table alone: rows that sum to one, and the definition, at levels of this test's own."""
    problem = signs(SignPrior(1, 1.0, 1.0), 3)
    table = least_risk(problem, privacy).channel.T
    assert table.sum(axis=1) == pytest.approx(np.ones(4))
    for x, y in problem.neighbours:
        p, q = table[x], table[y]
        match privacy:
            case ZeroConcentrated():
                for order in np.linspace(1.01, 40, 97):
                    divergence = math.log(np.sum(p**order * q ** (1 - order))) / (order - 1)
                    assert divergence <= order * privacy.rho * (1 + 1e-6)
            case _:
                for epsilon in [0.5] if isinstance(privacy, Approximate) else np.arange(0, 4, 0.07):
                    excess = np.maximum(p - math.exp(epsilon) * q, 0).sum()
                    delta = privacy.delta
                    limit = delta(epsilon) if callable(delta) else delta
                    assert excess <= limit * (1 + 1e-6) + 1e-12


def test_finite_problems_have_the_moments_of_the_priors() -> None:
    u, n = 0.7, 5
    plane = signs(SignPrior(2, 3.0, u), n)
    assert plane.joint.sum() == pytest.approx(1)
    assert plane.constant_risk() == pytest.approx(2 * 9 / (u + 1))
    assert plane.bayes_risk() == pytest.approx(2 * 9 * sign_bayes_risk(n, u))
    a, k = 5.0, ball_exponent(1)
    ball = logistic_signs(LogisticPrior(1, a), n)
    assert ball.constant_risk() == pytest.approx(a**2 / (2 * k + 3))
    for spike, sets in [(BlockPrior(1, 1, 0.3, 2.0), 2 * n + 1), (BlockPrior(2, 1, 0.3, 2.0), 5)]:
        star = finite(spike, n)
        assert len(star.joint) == sets
        assert star.constant_risk() == pytest.approx(0.6**2)
        assert star.bayes_risk() == pytest.approx(0.6**2 * 0.7**n)


def test_a_prior_of_a_new_kind_is_asked_for_a_finite_form() -> None:
    with pytest.raises(TypeError, match="register one"):
        finite(object(), 2)  # type: ignore[arg-type]
