"""What a ledger is said to lose, against its loss in 50 digits, down to delta = 1e-300."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy import optimize

import estimators
from estimators.core import accounting, loss_law
from estimators.core.accounting import LedgerEntry, LossLaw, compose, delta_at
from estimators.core.base import equal_part, split_budget
from estimators.core.mechanisms import gaussian_scale
from estimators.randomisers.label_budget import label_randomiser
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Pure,
    Renyi,
    SpendablePrivacy,
    ZeroConcentrated,
)

pytestmark = pytest.mark.oldest

DELTAS = [1e-300, 1e-150, 1e-60, 1e-30, 1e-15, 1e-10, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1 - 1e-6]
NEAR_ONE = 1 - 1e-12
Curve = Callable[[float], mpmath.mpf]


def entry(
    *guarantees: SpendablePrivacy, count: int = 1, law: LossLaw = LossLaw.WORST
) -> LedgerEntry:
    return LedgerEntry("any", 1.0, "l1", 1.0, guarantees, count, law=law)


def epsilon_of(ledger: tuple[LedgerEntry, ...], delta: float) -> float:
    found = compose(ledger, Approximate, delta)
    assert isinstance(found, Approximate)
    return found.epsilon


# Oracles: exact curves delta(epsilon) in 50 digits


def gaussian_curve(mu: float, epsilon: mpmath.mpf) -> mpmath.mpf:
    m = mpmath.mpf(mu)
    if epsilon < 0:
        return 1 - mpmath.exp(epsilon) + mpmath.exp(epsilon) * gaussian_curve(mu, -epsilon)
    return mpmath.ncdf(m / 2 - epsilon / m) - mpmath.exp(epsilon) * mpmath.ncdf(
        -m / 2 - epsilon / m
    )


def responses_curve(groups: list[tuple[float, int]], mu: float = 0.0) -> Curve:
    """Of all outcomes of the responses, one by one, with Gaussian noise beside them."""
    atoms = []
    for ups in itertools.product(*(range(count + 1) for _, count in groups)):
        chance, loss = mpmath.mpf(1), mpmath.mpf(0)
        for up, (epsilon, count) in zip(ups, groups, strict=True):
            p = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
            chance *= mpmath.binomial(count, up) * p**up * (1 - p) ** (count - up)
            loss += (2 * up - count) * mpmath.mpf(epsilon)
        atoms.append((loss, chance))

    def curve(epsilon: float) -> mpmath.mpf:
        e = mpmath.mpf(epsilon)
        if mu:
            return mpmath.fsum(chance * gaussian_curve(mu, e - loss) for loss, chance in atoms)
        return mpmath.fsum(chance * -mpmath.expm1(e - loss) for loss, chance in atoms if loss > e)

    return curve


def laplace_curve(each: float, count: int) -> Curve:
    """Of Laplace releases, within 2 * each of their largest loss.

    There, loss = count * each - (a sum of numbers that are 0 or exponential of mean 2, at evens).
    """

    def curve(epsilon: float) -> mpmath.mpf:
        x = count * mpmath.mpf(each) - mpmath.mpf(epsilon)
        assert x <= 2 * each
        if x <= 0:
            return mpmath.mpf(0)

        # E (1 - e^(G - x))_+, G of the gamma law with shape j and mean 2j, by its power series.
        powers = [
            ((-1) ** i - mpmath.exp(-x)) * (x / 2) ** i / mpmath.factorial(i) for i in range(40)
        ]

        def missing(j: int) -> mpmath.mpf:
            series = mpmath.fsum(power / (j + i) for i, power in enumerate(powers))
            return series * (x / 2) ** j / mpmath.gamma(j)

        found = -mpmath.expm1(-x) + mpmath.fsum(
            mpmath.binomial(count, j) * missing(j) for j in range(1, count + 1)
        )
        return found / mpmath.mpf(2) ** count

    return curve


def check(ledger: tuple[LedgerEntry, ...], curve: Curve, delta: float, loose: float) -> None:
    """epsilon at delta is enough, and less by the share `loose` is not; likewise delta there."""
    found = epsilon_of(ledger, delta)
    assert curve(found) <= delta
    assert found == 1e-12 or curve(found * (1 - loose)) >= delta * (1 - 1e-10)
    for epsilon in (found, 0.9 * found):
        stated = delta_at(ledger, epsilon)
        assert curve(epsilon) <= stated <= 1
        assert 0 <= stated <= max(float(curve(epsilon * (1 - loose))) * (1 + loose), 5e-324)


@pytest.fixture(autouse=True)
def _digits() -> object:
    with mpmath.workdps(50):
        yield


RESPONSES = [(0.01, 300), (0.5, 1), (0.5, 4), (1e-8, 30), (0.1, 400), (3.0, 20), (350.0, 2)]


@pytest.mark.parametrize(("epsilon", "count"), RESPONSES)
def test_responses_of_one_epsilon_lose_the_binomial_sum(epsilon: float, count: int) -> None:
    curve = responses_curve([(epsilon, count)])
    for delta in DELTAS:
        check((entry(Pure(epsilon), count=count),), curve, delta, 1e-9)
    assert curve(epsilon_of((entry(Pure(epsilon), count=count),), NEAR_ONE)) <= NEAR_ONE


def test_the_transform_of_loss_distributions_does_not_see_small_deltas() -> None:
    """The control: what a transform without tilt says at delta = 1e-30 is below the truth."""
    response = {100: 1 / (1 + math.exp(-0.01)), -100: 1 / (1 + math.exp(0.01))}
    pld = privacy_loss_distribution
    one = pld.PrivacyLossDistribution.create_from_rounded_probability(response, 0.0, 1e-4)
    nothing = pld.identity(value_discretization_interval=1e-4)
    whole = nothing.compose(one.self_compose(300))
    curve = responses_curve([(0.01, 300)])
    untilted = float(whole.get_epsilon_for_delta(1e-30))
    assert untilted == pytest.approx(1.299, abs=0.05)
    assert curve(untilted) > 1e-16
    assert curve(1.865) > 1e-30
    assert epsilon_of((entry(Pure(0.01), count=300),), 1e-30) == pytest.approx(1.8655, abs=1e-4)
    at_a_usual_delta = float(whole.get_epsilon_for_delta(1e-6))
    assert epsilon_of((entry(Pure(0.01), count=300),), 1e-6) == pytest.approx(at_a_usual_delta)


def test_frank_wolfe_reports_what_its_ledger_allows() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.choice([-1.0, 1.0], size=(60, 4)), rng.choice([-1.0, 1.0], size=60)
    budget = Approximate(0.3, 1e-60)
    fitted = estimators.PrivateFrankWolfe(budget, selection="laplace", steps=1000, random_state=0)
    spent = fitted.fit(X, y).privacy_
    (rounds,) = fitted.ledger_
    curve = responses_curve([(rounds.guarantees[0].parameters["epsilon"], rounds.count)])
    assert curve(spent.parameters["epsilon"]) <= 1e-60
    assert curve(0.29) > 1e-60
    assert 0.29 < spent.parameters["epsilon"] <= 0.3


MIXTURES: list[tuple[list[tuple[float, int]], float]] = [
    ([(0.3, 4), (0.2, 7), (0.11, 9)], 0.0),
    ([(1.0, 1), (0.01, 60)], 0.0),
    ([(1e-6, 20), (2.3e-6, 20)], 0.0),
    ([(5.0, 6), (2.0, 6)], 0.0),
    ([(0.3, 3)], 0.5),
    ([(0.3, 5), (0.1, 9)], 2.0),
    ([(0.02, 9)], 0.005),
]


@pytest.mark.parametrize(("groups", "mu"), MIXTURES)
def test_mixtures_lose_what_all_their_outcomes_add_up_to(
    groups: list[tuple[float, int]], mu: float
) -> None:
    ledger = tuple(entry(Pure(epsilon), count=count) for epsilon, count in groups)
    curve = responses_curve(groups, mu)
    if mu:
        ledger = (*ledger, entry(Gaussian(mu)))
    for delta in DELTAS[:: 3 if mu else 1]:
        check(ledger, curve, delta, 1e-3)
    assert curve(epsilon_of(ledger, NEAR_ONE)) <= NEAR_ONE


@pytest.mark.parametrize(("each", "count"), [(1.0, 1), (0.5, 30), (2.0, 120), (0.25, 400)])
def test_laplace_releases_near_their_largest_loss(each: float, count: int) -> None:
    """And the responses that dominate them lose more: the account is not of those."""
    ledger = (entry(Pure(each), count=count, law=LossLaw.LAPLACE),)
    curve = laplace_curve(each, count)
    for below in (0.1, 0.3, 0.49) if count == 1 else (0.1, 0.5, 0.9):
        epsilon = count * each - 2 * each * below
        exact = curve(epsilon)
        assert exact <= delta_at(ledger, epsilon) <= curve(epsilon - 2e-4 * count * each)
        found = epsilon_of(ledger, float(exact))
        assert curve(found) <= exact * (1 + mpmath.mpf(10) ** -15)
        assert found <= epsilon + 2e-4 * count * each
        assert delta_at((entry(Pure(each), count=count),), epsilon) > 1.01 * float(exact)


@pytest.mark.parametrize("mu", [1e-8, 1e-3, 0.08, 0.12, 1.0, 30.0])
def test_gaussian_calls_lose_what_one_of_their_root_sum_of_squares_loses(mu: float) -> None:
    ledger = (entry(Gaussian(mu), count=9), entry(Gaussian(4 * mu)))
    for delta in DELTAS:
        check(ledger, lambda e: gaussian_curve(5 * mu, mpmath.mpf(e)), delta, 1e-9)
    assert gaussian_curve(5 * mu, mpmath.mpf(epsilon_of(ledger, NEAR_ONE))) <= NEAR_ONE


def test_a_leak_is_added_to_what_the_rest_loses() -> None:
    ledger = (entry(Approximate(0.5, 1e-40)), entry(Pure(0.1), count=30))
    curve = responses_curve([(0.5, 1), (0.1, 30)])
    for delta in (2e-40, 1e-30, 1e-6):
        found = epsilon_of(ledger, delta)
        assert curve(found) + mpmath.mpf(1e-40) <= delta
        assert curve(found * (1 - 1e-3)) > delta
    assert delta_at(ledger, 3.6) == 1e-40
    assert delta_at((entry(Approximate(0.1, 0.6), count=2),), 0.1) == 1.0


def test_parts_that_report_at_two_deltas_are_both_covered() -> None:
    """One call of (.5, 1e-9) beside records that lose .4 at 1e-3, but more at 1e-9."""
    small = LedgerEntry("any", 1.0, "l1", 1.0, (Approximate(0.5, 1e-9),), part="first half")
    other = LedgerEntry("any", 1.0, "l1", 1.0, (Gaussian(0.16),), part="second half")
    found = compose((small, other), Approximate, 1e-3)
    assert epsilon_of((other,), 1e-3) < 0.5 < epsilon_of((other,), 1e-9)
    assert found == Approximate(0.5, 1e-3)


def test_a_gaussian_call_is_not_charged_for_an_approximate_guarantee_besides() -> None:
    both = entry(Gaussian(0.3), Approximate(1.0, 1e-3))
    assert delta_at((both,), 1.0) == delta_at((entry(Gaussian(0.3)),), 1.0) < 1e-3
    assert epsilon_of((both, entry(Pure(0.1))), 1e-9) == epsilon_of(
        (entry(Gaussian(0.3)), entry(Pure(0.1))), 1e-9
    )


@pytest.mark.parametrize("count", [10**8, 10**10, 10**15])
def test_any_number_of_calls_is_composed(count: int) -> None:
    """As many calls lose what Gaussian ones of the same variance lose, to 1 in 1,000."""
    each = 1 / math.sqrt(count)
    limit = Gaussian(1.0).to_approximate(1e-20).epsilon
    assert limit * (1 - 1e-6) < epsilon_of((entry(Pure(each), count=count),), 1e-20) < limit * 1.05
    calls = (entry(Pure(each), count=count), entry(Pure(2 * each), count=np.int64(count)))
    assert epsilon_of(calls, 1e-20) > 2 * limit


def test_delta_lies_between_0_and_1_and_falls_with_epsilon() -> None:
    ledger = (entry(Pure(0.01), count=300), entry(Pure(0.02), count=100, law=LossLaw.LAPLACE))
    levels = np.linspace(0, 5.5, 45)
    deltas = np.array([delta_at(ledger, float(epsilon)) for epsilon in levels])
    assert np.all((deltas >= 0) & (deltas <= 1))
    assert np.all(np.diff(deltas) <= 0)
    assert deltas[-1] == 0  # beyond the largest loss
    assert 0 < delta_at(ledger, 4.999) < 1e-99
    alike = [delta_at(ledger[:1], float(epsilon)) for epsilon in np.linspace(1.2, 2.9, 60)]
    assert all(1e-83 < after < before for before, after in itertools.pairwise(alike))
    for bad in (-0.1, math.nan, math.inf):
        with pytest.raises(ValueError, match="epsilon must be"):
            delta_at(ledger, bad)
    for bad in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="delta must lie in"):
            compose(ledger, Approximate, bad)


# The routes


def test_the_transform_agrees_with_the_binomial_sum() -> None:
    """The tilted transform where it is not needed: within its grid and its own error bound."""
    for (each, count), delta in itertools.product(((0.01, 300), (0.3, 40)), (1e-200, 1e-30, 1e-3)):
        losses = loss_law.Losses(((each, count),))
        high, order = loss_law.moment_epsilon(losses.log_moment, delta)
        exact = loss_law.response_law(each, count, order).epsilon(delta, high)
        found = loss_law.mixed_law(losses, order).epsilon(delta, high)
        assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-4) or found == high


@pytest.mark.parametrize("order", [1e-9, 0.3, 5.0, 200.0])
@pytest.mark.parametrize("epsilon", [1e-8, 0.3, 20.0, 40.0])
def test_moments_are_those_of_the_laws(epsilon: float, order: float) -> None:
    e, g = mpmath.mpf(epsilon), mpmath.mpf(order)
    p = 1 / (1 + mpmath.exp(-e))
    response = mpmath.log(p * mpmath.exp(g * e) + (1 - p) * mpmath.exp(-g * e))
    density = mpmath.quad(lambda x: mpmath.exp((x - e) / 2 + g * x) / 4, mpmath.linspace(-e, e, 20))
    ends = mpmath.exp(g * e) / 2 + mpmath.exp(-e - g * e) / 2
    at = np.array([order])
    assert loss_law.response_log_moment(epsilon, at)[0] == pytest.approx(float(response), rel=1e-13)
    laplace = float(mpmath.log(ends + density))
    assert loss_law.laplace_log_moment(epsilon, at)[0] == pytest.approx(laplace, rel=1e-13)
    assert 0 < laplace < float(response)


LAWS = {
    "binomial": loss_law.Losses(((0.1, 60),)),
    "binomial and Gaussian": loss_law.Losses(((0.1, 60),), mu=0.4),
    "mixture": loss_law.Losses(((0.2, 90),), ((0.05, 400),)),
    "nothing to lose at 0.01": loss_law.Losses(((0.01, 1),)),
}


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-40])
@pytest.mark.parametrize("name", LAWS)
def test_the_search_for_epsilon_is_short_tight_and_on_the_safe_side(
    name: str, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = LAWS[name]
    high, order = loss_law.moment_epsilon(losses.log_moment, delta)
    law = loss_law.law(losses, order)
    looked_at: list[float] = []
    plain = loss_law.Law.log_delta

    def counting(self: loss_law.Law, epsilon: float) -> float:
        looked_at.append(epsilon)
        return plain(self, epsilon)

    monkeypatch.setattr(loss_law.Law, "log_delta", counting)
    found = law.epsilon(delta, high)
    searched = len(looked_at)
    assert plain(law, found) <= math.log(delta)
    assert found == 0 or plain(law, found * (1 - 1e-9)) > math.log(delta)
    assert searched <= 12
    if found:  # the same root from a bracket that starts at 0
        gap = lambda e: max(law.log_delta(e) - math.log(delta), -1e4)  # noqa: E731
        assert optimize.brentq(gap, 0.0, high, rtol=1e-12) == pytest.approx(found, rel=1e-9)


def forget() -> None:
    """What was composed before."""
    accounting._composed.cache_clear()
    accounting._total_approximate.cache_clear()


def test_the_floor_is_searched_for_only_where_it_is_above(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = (LedgerEntry("any", 1.0, "l2", 1.0, (Pure(0.1),), count=30),)
    forget()
    found = compose(ledger, Approximate, 1e-6).parameters["epsilon"]
    assert accounting._least_epsilon(ledger, 1e-6) <= found
    # With every route broken the floor is what is reported, as a search for it gives it.
    monkeypatch.setattr(loss_law, "epsilon", lambda *_: 1e-3)
    forget()
    broken = compose(ledger, Approximate, 1e-6).parameters["epsilon"]
    forget()
    assert 1e-3 < broken == accounting._least_epsilon(ledger, 1e-6)


def test_no_route_goes_below_the_floor() -> None:
    """The floor of a ledger is what responses that keep its promises really lose."""
    ledgers = [
        (entry(Pure(0.2), ZeroConcentrated(0.005), count=50),),
        (entry(ZeroConcentrated(0.01), count=10), entry(Pure(0.1), count=20)),
        (entry(Pure(0.2), count=30, law=LossLaw.LAPLACE), entry(Gaussian(0.4))),
        (entry(Approximate(0.3, 1e-3), count=5),),
    ]
    for ledger, delta in itertools.product(ledgers, [1e-300, 1e-30, 1e-9, 0.01, 0.3]):
        floor = accounting._least_epsilon(ledger, delta)
        if delta > accounting._leaked(ledger):
            assert epsilon_of(ledger, delta) > floor
        assert math.log(delta_at(ledger, max(floor * (1 - 1e-6), 0.0))) >= min(
            math.log(delta), accounting._least_log_delta(ledger, 0.0)
        )
    exact = responses_curve([(0.01, 300)])
    tight = accounting._least_epsilon((entry(Pure(0.01), count=300),), 1e-30)
    assert exact(tight) >= 1e-30 > exact(tight * (1 + 1e-6))


# Definitions that cannot be composed, scopes, imports


@pytest.mark.parametrize("privacy", [Renyi(2.0, 1.0), OffsetConcentrated(0.1, 1.0), 1.0, None])
def test_other_definitions_are_refused_by_name(privacy: object) -> None:
    for name, use in (
        ("guarantees", lambda: entry(privacy)),  # type: ignore[arg-type]
        ("privacy", lambda: split_budget(privacy, 0.5, 0.5)),  # type: ignore[arg-type]
        ("privacy", lambda: equal_part(privacy, 3)),  # type: ignore[arg-type]
        ("privacy", lambda: label_randomiser(privacy, 1.0, 10)),  # type: ignore[arg-type]
        ("privacy", lambda: gaussian_scale(privacy, 1.0)),  # type: ignore[arg-type]
        ("kind", lambda: compose((entry(Pure(1.0)),), type(privacy))),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match=f"^{name} must be"):
            use()


@pytest.mark.parametrize("count", [0, -3])
def test_a_count_below_1_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match="count must be at least 1"):
        entry(Pure(1.0), count=count)
    with pytest.raises(TypeError, match="count must be an integer"):
        entry(Pure(1.0), count=1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("scope", ["central", "local", "label"])
def test_parts_of_a_budget_have_its_scope(scope: accounting.Scope) -> None:
    assert split_budget(Pure(1.0, scope), 0.25, 0.75) == [Pure(0.25, scope), Pure(0.75, scope)]
    whole = Approximate(1.0, 1e-6, scope)
    assert split_budget(whole, 0.5, 0.5) == [Approximate(0.5, 5e-7, scope)] * 2
    assert equal_part(ZeroConcentrated(1.0, scope), 4) == ZeroConcentrated(0.25, scope)
    assert equal_part(Gaussian(1.0, scope), 4) == Gaussian(0.5, scope)


def test_the_package_does_not_load_the_accounting_library() -> None:
    """Until an entry is asked for its event."""
    code = (
        "import sys, estimators; from minimax.core.privacy import Pure\n"
        "entry = estimators.LedgerEntry('any', 1.0, 'l1', 1.0, (Pure(1.0),))\n"
        "print('dp_accounting' in sys.modules)\n"
        "entry.event\n"
        "print('dp_accounting' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "True"]
