"""SequentialHalving and its bound: rounds, hand values, ledger, options, bad input, no log p."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from estimators import SequentialHalving
from estimators.core.accounting import compose
from minimax.core.bound import OutsideRegime
from minimax.core.privacy import Approximate, Pure, ZeroConcentrated
from minimax.problems.local_regression import halving
from minimax.problems.local_regression.halving import (
    Rounds,
    failure,
    halving_upper,
    lost,
    rounds,
    selection_reach,
    union_bound,
    union_failure,
    worst_loss,
)
from minimax.problems.local_regression.problem import SQUARED, SUM, LocalRegressionProblem
from minimax.problems.local_regression.upper import one_shot_upper

Array = np.ndarray
QUIET = Pure(700.0, scope="local")
SIZES = [(50, 1), (7, 2), (100, 3), (100, 4), (99, 5), (10**6, 17), (10**6, 4097), (10**15, 10**12)]


def local(epsilon: float) -> Pure:
    return Pure(epsilon, scope="local")


# The rounds


@pytest.mark.parametrize(("n", "p"), SIZES)
def test_every_user_is_asked_once_and_half_as_many_in_each_round(n: int, p: int) -> None:
    plan = rounds(n, p)
    asked = [q * m for q, m in zip(plan.candidates, plan.users, strict=True)]
    assert sum(asked) == n
    assert (plan.candidates[0], plan.candidates[-1]) == (p, 1)
    for (q, m), (left, more) in itertools.pairwise(zip(plan.candidates, plan.users, strict=True)):
        assert left == math.ceil(q / 4)
        assert more == 2 * m or left == 1
    K = sum(q * 2**r for r, q in enumerate(plan.candidates[:-1]))
    assert 2 * p + 2 * math.sqrt(p) - 3 >= K or p == 1
    assert K + math.sqrt(K) <= 2 * p + 3.5 * math.sqrt(p)
    assert 1 + math.sqrt(K) <= 3.2 * math.sqrt(p)
    assert plan.users[-1] >= n / (1 + math.sqrt(K)) * (1 - 1e-12)
    if n > 2 * p + 3.5 * math.sqrt(p):
        assert min(plan.users) >= 1


# The bound


def exactly_lost(tau: float, users: int, others: int, kept: int) -> float:
    """P(`kept` of the others reach |S|), by summing over |S|."""
    sums = np.abs(2 * np.arange(users + 1) - users)
    own = stats.binom.pmf(np.arange(users + 1), users, (1 + tau) / 2)
    fair = stats.binom.pmf(np.arange(users + 1), users, 0.5)
    reach = np.array([fair[sums >= size].sum() for size in sums])
    return float(own @ stats.binom.sf(kept - 1, others, np.minimum(reach, 1.0)))


@pytest.mark.parametrize(("users", "candidates", "kept"), [(1, 2, 1), (9, 3, 1), (60, 40, 10)])
def test_the_chance_of_a_loss_is_from_above_and_near(
    users: int, candidates: int, kept: int
) -> None:
    tau = np.array([0.0, 0.1, 0.3, 0.6])
    found = lost(tau, users, candidates, kept)
    exact = [exactly_lost(t, users, candidates - 1, kept) for t in tau]
    assert np.all(found >= np.array(exact) * (1 - 1e-9))
    assert np.all(found <= np.array(exact) * 1.25 + 1e-3)
    assert np.all(np.diff(found) <= 1e-12)
    assert np.all(np.array(exact) <= union_bound(tau**2 * users))


def test_the_union_bound_is_above_the_exact_chance_and_near_in_its_exponent() -> None:
    """KEEP P(|S_k| >= |S_j|), two sums of many signs: S_j -+ S_k is N(sqrt(x), 2) in units."""
    for x in np.geomspace(1, 400, 40):
        exact = min(1.0, halving.KEEP * 2 * stats.norm.sf(math.sqrt(x / 2)))
        assert exact <= union_bound(x) <= exact * (1 + 5 * math.sqrt(x))


def test_the_union_bounds_constant() -> None:
    """f(9) < .94 and x f(x) falls from 4 on, so that x min(1, f(x)) <= 9; 8.5 is not enough."""

    def f(x: Array) -> Array:
        return 8 * np.exp(-np.multiply.outer(x, 2.0 ** np.arange(60)) / 4).sum(axis=1)

    assert f(np.array([9.0]))[0] < 0.94
    x = np.geomspace(4, 500, 4000)
    assert np.all(np.diff(x * f(x)) < 0)
    assert np.max(np.append(x * np.minimum(1, f(x)), 4.0)) <= halving.REACH
    assert np.max(x * np.minimum(1, f(x))) > 8.5


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("M", [3.0, 40.0, 1e4, 1e200])
def test_the_worst_size_is_from_above(power: int, M: float) -> None:
    plan = rounds(40_000, 40)
    theta = np.append(np.geomspace(1e-4, 1, 300), 1.0)
    fails = failure(theta / M, plan)
    found = worst_loss(plan, M, power)
    assert np.max(theta**power * fails) <= found <= 1.2 * np.max(theta**power * fails)
    assert worst_loss(Rounds((1,), (100,)), M, power) == 0


@pytest.mark.parametrize("C", [0.1, 2.0])
@pytest.mark.parametrize(("n", "p"), [(10**5, 8), (10**7, 40), (10**9, 3)])
def test_what_is_clipped_while_candidates_are_selected(n: int, p: int, C: float) -> None:
    """The least t at which a larger coefficient is lost with a chance of at most M_t^2/m."""
    plan, e = rounds(n, p), 0.5
    t = selection_reach(plan, C, e)
    for size, enough in ((t, True), (0.99 * t, False)):
        M = (C + size) / math.tanh(e / 2)
        lost_for_sure = union_failure(plan.users[0] * (size / M) ** 2, plan)
        least = min(M**2 / plan.users[0], 0.01)
        assert (lost_for_sure <= least * (1 + 1e-6)) == enough or t == 1
    assert t < 0.75
    assert selection_reach(plan, C, 1e-5) == 1.0
    assert selection_reach(rounds(n, 1), C, e) == 1.0


def clipped_means(t: float, size: float, C: float) -> tuple[float, float]:
    """E clip(y) x_j and E clip(y) x_k at the worst noise for them: it depends on x_j x_k."""
    own = other = 0.0
    for agree in (1, -1):  # x_j x_k
        noise = ((C, 0.5), (-C, 0.5)) if agree == 1 else ((0.0, 1.0),)
        clipped = sum(chance * min(max(size + e, -C - t), C + t) for e, chance in noise)
        own += clipped / 2
        other += agree * clipped / 2
    return own, other


def test_noise_that_knows_another_coordinate_does_not_hide_the_signal() -> None:
    """Clipping then gives that coordinate a mean; the difference of the two is still t."""
    for t, size in ((0.2, 0.9), (0.4, 1.0), (0.1, 0.05)):
        own, other = clipped_means(t, size, 2.0)
        assert own - abs(other) >= min(t, size) - 1e-12
        assert (abs(other) > 0.1) == (size > t)


@pytest.mark.parametrize("loss", [SQUARED, SUM], ids=str)
def test_no_log_p(loss: Any) -> None:
    """In units of M^2 p/n; the non-interactive bound grows."""
    power = 1.0 if loss is SQUARED else 0.5
    found, other = [], []
    for p in (16, 256, 4096, 10**6, 10**9):
        problem = LocalRegressionProblem(10**5 * p, p, 2.0, loss=loss)
        unit = ((3 / math.tanh(0.25)) ** 2 / 10**5) ** power
        bound = halving_upper(problem, Pure(0.5))
        found.append(bound.value() / unit)
        other.append(one_shot_upper(problem, Pure(0.5)).value() / unit)
        assert bound.value() <= bound.closed_form()
        assert found[-1] < other[-1]
    assert max(found[1:]) <= found[0]
    assert other[-1] > 1.7 * other[0]
    deep = halving_upper(LocalRegressionProblem(10**21, 10**9, 2.0, loss=loss), Pure(0.5))
    for letter, sign in (("p", 1), ("n", -1)):  # what is clipped follows n/p
        ratio = deep.value(**{letter: 4 * deep.defaults[letter]}) / deep.value()
        assert math.log(ratio, 4) == pytest.approx(sign * power, abs=0.03)
        assert deep.slope(letter) == pytest.approx(sign * power, abs=0.03)


def test_where_the_bound_is_not_proved() -> None:
    bound = halving_upper(LocalRegressionProblem(50, 20), Pure(1.0))
    with pytest.raises(OutsideRegime, match=r"n > 2p \+ 3.5 sqrt\(p\)"):
        bound.value()
    few = halving_upper(LocalRegressionProblem(60, 20), Pure(1.0))
    assert 1 <= few.value() <= 4
    assert few.is_vacuous()
    assert "vacuous" in few.remark


@pytest.mark.parametrize("privacy", [Pure(0.5), ZeroConcentrated(0.1)])
def test_the_calculator_uses_it_with_interaction_only(privacy: Any) -> None:
    interactive = LocalRegressionProblem(10**6, 50, 2.0, interactive=True)
    together = interactive.best_upper(privacy)
    alone = replace(interactive, interactive=False).best_upper(privacy)
    assert alone.estimator == "OneShotThreshold"
    assert together.estimator == "SequentialHalving"
    assert together.risk < alone.risk / 4
    assert replace(interactive, n=100).best_upper(privacy).risk == 1.0
    single = replace(interactive, p=1).best_upper(privacy)
    assert single.estimator == "OneShotThreshold"


# The estimator


@pytest.mark.parametrize(
    "estimator",
    [SequentialHalving(), SequentialHalving(local(3.0), bound=2.0, feature_scale=0.5, radius=2.0)],
    ids=["default", "options"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator: Any) -> None:
    check_estimator(estimator)


def test_the_constructor_only_stores() -> None:
    odd = {name: object() for name in SequentialHalving().get_params(deep=False)}
    estimator = SequentialHalving(**odd)
    assert estimator.get_params(deep=False) == odd
    assert set(vars(estimator)) == set(odd)
    assert clone(SequentialHalving(C=3.0)).get_params() == SequentialHalving(C=3.0).get_params()


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_by_hand(scale: float) -> None:
    """Products at +-bound need no rounding: at a huge budget the reports are the products.

    p = 5: K = 5 + 2 * 2 = 9, and 24 = 2 (9 + 3) users are m = 2 a candidate: 10, then 8 (4 each),
    and 6 for the value.
    """
    assert rounds(24, 5) == Rounds((5, 2, 1), (2, 4, 6))
    X = np.full((24, 5), 7.0 * scale)  # clipped to scale
    y = np.zeros(24)
    # Round 1, users 0..9, i about i mod 5: sums of the two reports 0, 0, 2, 0, -2.
    y[:10] = [9, -1, 1, 1, -1, -1, 1, 1, -1, -1]
    # Round 2, about 2 and 4 in turn: sums 2 and -4.
    y[10:18] = [1, -1, 1, -1, 1, -1, -1, -1]
    # Round 3, about 4: 4 times -1, twice 1.
    y[18:] = [-1, -1, 1, -1, -5, 1]
    options: dict[str, Any] = {"bound": 1.0, "feature_scale": scale, "random_state": 0}
    fitted = SequentialHalving(QUIET, **options).fit(X, y)
    assert [some.tolist() for some in fitted.candidates_] == [[0, 1, 2, 3, 4], [2, 4], [4]]
    np.testing.assert_allclose(fitted.coef_, [0, 0, 0, 0, -1 / 3 / scale], rtol=1e-12)
    assert fitted.support_.tolist() == [4]
    small = SequentialHalving(QUIET, radius=0.1, **options).fit(X, y)
    np.testing.assert_allclose(small.coef_, [0, 0, 0, 0, -0.1], rtol=1e-12)
    flipped = y.copy()
    flipped[10:18] *= [1, -1, 1, 1, 1, -1, -1, 1]  # now candidate 2 has 4, candidate 4 has -0
    other = SequentialHalving(QUIET, **options).fit(X, flipped)
    assert other.support_.tolist() == [2]


def test_with_few_users_the_first_candidates_stay() -> None:
    X, y = np.ones((3, 9)), np.ones(3)
    fitted = SequentialHalving(QUIET, bound=1.0, random_state=0).fit(X, y)
    assert fitted.support_.tolist() == [0]
    assert [entry.part for entry in fitted.ledger_] == ["round 3"]
    assert fitted.privacy_ == QUIET
    one = SequentialHalving(QUIET, bound=1.0, random_state=0).fit(X[:, :1], y)
    assert (one.n_iter_, one.coef_.tolist()) == (1, [1.0])


def test_each_round_pays_once() -> None:
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (24, 5))
    fitted = SequentialHalving(local(0.7), random_state=0).fit(X, X[:, 0])
    assert [entry.part for entry in fitted.ledger_] == ["round 1", "round 2", "round 3"]
    assert [entry.about for entry in fitted.ledger_] == [
        f"one report from each of {size} users" for size in (10, 8, 6)
    ]
    assert {entry.mechanism for entry in fitted.ledger_} == {"randomised response"}
    assert fitted.privacy_ == local(0.7) == compose(fitted.ledger_, Pure)
    together = compose(tuple(replace(entry, part="") for entry in fitted.ledger_), Pure)
    assert together.parameters["epsilon"] == pytest.approx(2.1)
    assert SequentialHalving().fit(X, X[:, 0]).privacy_ == local(1.0)


def test_the_risk_bound_is_for_the_class() -> None:
    problem = LocalRegressionProblem(10_000, 20, 2.0)
    found = SequentialHalving(local(0.5), C=2.0).risk_bound(problem)
    assert found.value() == halving_upper(problem, Pure(0.5)).value()
    for wrong in ({"C": 1.0}, {"radius": 2.0}, {"feature_scale": 2.0}, {"bound": 2.0}):
        estimator = SequentialHalving(local(0.5), **{"C": 2.0, **wrong})
        with pytest.raises(ValueError, match="risk_bound needs"):
            estimator.risk_bound(problem)


BAD = [math.nan, math.inf, 0.0, -1.0, 1e40, "big", True, None]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in ("C", "radius", "feature_scale", "bound") for value in BAD),
        ("random_state", "seed"),
        ("random_state", -1),
        ("privacy", Pure(1.0)),
        ("privacy", Approximate(1.0, 1e-6, scope="local")),
        ("privacy", 1.0),
    ],
)
def test_bad_options_are_named(name: str, value: Any) -> None:
    estimator = SequentialHalving(**{name: value})
    with pytest.raises((TypeError, ValueError), match=rf"^{name}\b"):
        estimator.fit(np.ones((20, 3)), np.ones(20))
    assert not hasattr(estimator, "coef_")


def test_the_seed_decides() -> None:
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (400, 12))
    y = 0.5 * X[:, 3]
    first, again, other = (
        SequentialHalving(random_state=seed).fit(X, y).coef_ for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
