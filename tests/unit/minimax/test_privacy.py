"""Privacy definitions against independent computations."""

from __future__ import annotations

import math
from typing import Any

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant

from minimax.core.closeness import gaussian_hockey_stick, group_delta, kl_pure
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Pure,
    Renyi,
    ZeroConcentrated,
    from_parameters,
)
from minimax.core.randomised_response import randomised_response_epsilon

pytestmark = pytest.mark.oldest


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.001, 0.5, 3.0, 20.0])
def test_hockey_stick_agrees_with_mpmath(mu: float, epsilon: float) -> None:
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
    got = gaussian_hockey_stick(mu, epsilon)
    assert got == pytest.approx(float(exact), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("delta", [1e-30, 1e-8, 1e-3])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 5.0])
def test_conversions_round_trip(epsilon: float, delta: float) -> None:
    budget = Approximate(epsilon, delta)
    assert budget.to_gaussian().to_approximate(delta).epsilon == pytest.approx(epsilon, rel=1e-8)
    assert budget.to_zcdp().to_approximate(delta).epsilon == pytest.approx(epsilon, rel=1e-6)
    assert budget.to_gaussian().to_approximate(delta).epsilon <= epsilon


@pytest.mark.parametrize("rho", [0.01, 0.3, 2.0])
def test_zcdp_conversion_is_no_worse_than_the_library_and_not_better_than_exact(rho: float) -> None:
    delta = 1e-6
    accountant = RdpAccountant(np.concatenate([np.linspace(1.01, 10, 300), np.arange(11, 512)]))
    accountant.compose(dp_accounting.ZCDpEvent(rho))
    ours = ZeroConcentrated(rho).to_approximate(delta).epsilon
    assert ours <= accountant.get_epsilon(delta) * (1 + 1e-9)
    exact = Gaussian(math.sqrt(2 * rho)).to_approximate(delta).epsilon
    assert exact < ours < exact * 1.4


def best_order_delta(rho: float, epsilon: float) -> mpmath.mpf:
    """The formula of Canonne, Kamath and Steinke at its best order: golden section, 60 digits."""

    def log_delta(x: mpmath.mpf) -> mpmath.mpf:
        a = 1 + mpmath.exp(x)
        return (a - 1) * (a * rho - mpmath.mpf(epsilon)) + a * mpmath.log1p(-1 / a) - x

    low, high = mpmath.mpf(-60), mpmath.mpf(60)
    ratio = (mpmath.sqrt(5) - 1) / 2
    for _ in range(150):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if log_delta(left) < log_delta(right) else (left, high)
    return mpmath.exp(log_delta(low))


@pytest.mark.parametrize("delta", [1e-30, 1e-5, 0.3])
@pytest.mark.parametrize("rho", [1e-3, 1.0, 1e6, 1e12, 1e14, 1e18, 1e25])
def test_zcdp_conversion_has_the_delta_of_its_formula(rho: float, delta: float) -> None:
    with mpmath.workdps(60):
        epsilon = ZeroConcentrated(rho).to_approximate(delta).epsilon
        if epsilon == 1e-12:  # the least there is
            assert best_order_delta(rho, epsilon) <= delta
            return
        # epsilon is rounded upwards, relatively by 1e-12, and that is all.
        assert best_order_delta(rho, epsilon) <= delta
        assert best_order_delta(rho, epsilon * (1 - 1.1e-12)) >= delta * (1 - 1e-9)


@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-5, 0.5])
@pytest.mark.parametrize("epsilon", [1e-10, 1e-8, 1e3, 1e6, 1e9, 1e15])
def test_extreme_budgets_are_converted(epsilon: float, delta: float) -> None:
    budget = Approximate(epsilon, delta)
    for spent in (budget.to_zcdp(), budget.to_gaussian()):
        assert spent.to_approximate(delta).epsilon == pytest.approx(epsilon, rel=1e-4)
    assert budget.to_zcdp().rho < budget.to_gaussian().to_zcdp().rho
    assert Approximate(1e-14, delta).to_gaussian().mu > 0


def test_pure_conversion_at_extreme_budgets() -> None:
    assert Pure(1e6).to_approximate(0.1).epsilon == pytest.approx(1e6 + math.log(0.9), rel=2e-12)
    assert Pure(1e-8).to_approximate(0.1).epsilon == 1e-12
    # 1 + e^eps' = (1 + e^eps)(1 - delta): to first order eps' = eps - 2 delta.
    assert Pure(1e-8).to_approximate(1e-10).epsilon == pytest.approx(0.98e-8, rel=1e-6)


def test_randomised_response_is_the_worst_pure_pair() -> None:
    epsilon = 0.7
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    kl = p * math.log(p / (1 - p)) + (1 - p) * math.log((1 - p) / p)
    assert kl_pure(epsilon) == pytest.approx(kl)
    delta = 0.05
    shifted = Pure(epsilon).to_approximate(delta).epsilon
    assert p - math.exp(shifted) * (1 - p) == pytest.approx(delta)


def test_group_delta_is_the_iterated_definition() -> None:
    epsilon, delta = 0.5, 1e-3
    grown = 0.0
    for size in range(1, 6):
        grown = math.exp(epsilon) * grown + delta
        assert group_delta(epsilon, delta, size) == pytest.approx(grown)
    # CWZ19: Lemma 8.1 has e - 1 for e^eps - 1, which is too small a delta.
    printed = delta * math.expm1(2 * epsilon) / (math.e - 1)
    assert printed < 0.4 * float(group_delta(epsilon, delta, 2))


@pytest.mark.parametrize("q", [1e-12, 1e-3, 0.2, 0.7])
@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_zcdp_tradeoff_covers_the_gaussian_pair(q: float, mu: float) -> None:
    gaussian, zcdp = Gaussian(mu), ZeroConcentrated(mu**2 / 2)
    assert gaussian.tradeoff_log(math.log(q)) <= zcdp.tradeoff_log(math.log(q))
    # Control: with a quarter of the budget it must fail to cover it somewhere.
    quarter = ZeroConcentrated(mu**2 / 8)
    assert gaussian.tradeoff_log(-28) > quarter.tradeoff_log(-28)


def test_tradeoff_of_pure_is_reached_by_randomised_response() -> None:
    epsilon = 1.1
    q = 1 / (1 + math.exp(epsilon))
    assert Pure(epsilon).tradeoff_log(math.log(q)) == pytest.approx(1 - q)


def test_tradeoff_keeps_events_too_rare_for_floating_point() -> None:
    assert Pure(5000.0).tradeoff_log(-5001.0) == pytest.approx(math.exp(-1))
    assert ZeroConcentrated(4900.0).tradeoff_log(-5041.0) == pytest.approx(math.exp(-1))
    with mpmath.workdps(30):
        tail = mpmath.findroot(lambda x: mpmath.log(mpmath.ncdf(-x)) + 5000, 99.9)
    expected = float(mpmath.ncdf(100 - tail))
    assert Gaussian(100.0).tradeoff_log(-5000.0) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: Pure(0.0), "epsilon"),
        (lambda: Pure(float("nan")), "epsilon"),
        (lambda: Pure("1"), "epsilon"),
        (lambda: Approximate(1.0, 1.0), "delta"),
        (lambda: Approximate(1.0, 0.0), "delta"),
        (lambda: ZeroConcentrated(-1.0), "rho"),
        (lambda: Gaussian(math.inf), "mu"),
        (lambda: Renyi(1.0, 1.0), "alpha"),
        (lambda: Pure(1.0, scope="global"), "scope"),
        (lambda: from_parameters(), "epsilon"),
        (lambda: from_parameters(epsilon=1, rho=1), "rho"),
        (lambda: from_parameters(rho=1, delta=0.1), "delta"),
        (lambda: from_parameters(rho=1, alpha=2), "alpha"),
        (lambda: from_parameters(epsilon=1, kappa=2), "kappa"),
        (lambda: from_parameters(epsilon=1, alpha=2, delta=0.1), "alpha and delta"),
        (lambda: OffsetConcentrated(-1.0, 1.0), "kappa"),
    ],
)
def test_bad_numbers_are_named(build: object, name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=name):
        build()  # type: ignore[operator]


def test_from_parameters_picks_the_definition() -> None:
    assert from_parameters(epsilon=1) == Pure(1)
    assert from_parameters(epsilon=1, delta=0.1) == Approximate(1, 0.1)
    assert from_parameters(rho=1) == ZeroConcentrated(1)
    assert from_parameters(mu=1) == Gaussian(1)
    assert from_parameters(alpha=2, epsilon=1, scope="label") == Renyi(2, 1, "label")
    assert from_parameters(kappa=2, rho=1, scope="local") == OffsetConcentrated(2, 1, "local")


# --- Randomised response --------------------------------------------------------------------------

SLOWLY = np.append(1 + np.geomspace(1e-3, 1e3, 400), 1e5)


def response_divergence(alpha: float, epsilon: float) -> float:
    """D_alpha of randomised response from its definition, at 50 digits."""
    with mpmath.workdps(50):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        a = mpmath.mpf(alpha)
        total = p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)
        return float(mpmath.log(total) / (a - 1))


@pytest.mark.parametrize("size", [1e-3, 0.1, 1.0, 5.0])
def test_randomised_response_spends_the_budget_and_no_more(size: float) -> None:
    def spends(privacy: Any, excess: Any) -> None:
        """`excess` of epsilon is positive if and only if the budget is exceeded."""
        epsilon = randomised_response_epsilon(privacy)
        assert excess(epsilon) <= 1e-12 * max(size, 1)
        assert excess(1.001 * epsilon) > 0

    spends(Pure(size), lambda e: e - size)
    approximate = Approximate(size, 0.01)
    spends(approximate, lambda e: math.log(0.99 * math.exp(e) - 0.01) - size)
    # Where Q(S) = 1/(1 + e^e), the response has P(S) = 1 - Q(S); the budget allows `tradeoff`.
    spends(
        Gaussian(size),
        lambda e: (
            1 / (1 + math.exp(-e)) - float(Gaussian(size).tradeoff_log(-math.log1p(math.exp(e))))
        ),
    )
    spends(Renyi(1.5, size), lambda e: response_divergence(1.5, e) - size)
    spends(Renyi(20.0, size), lambda e: response_divergence(20.0, e) - size)
    spends(ZeroConcentrated(size), lambda e: response_divergence(1 + 1e-9, e) - size * (1 + 1e-9))


@pytest.mark.parametrize("rho", [1e-3, 0.3, 4.0])
@pytest.mark.parametrize("kappa", [0.0, 1e-3, 0.5, 3.0])
def test_randomised_response_is_concentrated_at_every_order(kappa: float, rho: float) -> None:
    privacy = OffsetConcentrated(kappa, rho) if kappa else ZeroConcentrated(rho)
    epsilon = randomised_response_epsilon(privacy)
    assert epsilon > kappa
    for alpha in SLOWLY:
        assert response_divergence(alpha, epsilon) <= (kappa + alpha * rho) * (1 + 1e-9)
    over = [response_divergence(a, 1.5 * epsilon) > kappa + a * rho for a in SLOWLY]
    assert any(over)


def test_offset_concentrated_covers_what_zcdp_and_pure_do() -> None:
    q = np.log([1e-9, 1e-3, 0.2, 0.9])
    plain, offset = ZeroConcentrated(0.2), OffsetConcentrated(0.1, 0.2)
    assert np.all(offset.tradeoff_log(q) >= plain.tradeoff_log(q))
    # kappa-DP is (kappa, rho)-zCDP for every rho.
    almost_pure = OffsetConcentrated(0.7, 1e-9).tradeoff_log(q)
    assert np.all(almost_pure >= Pure(0.7).tradeoff_log(q))
    assert np.all(almost_pure[:2] <= 1.01 * Pure(0.7).tradeoff_log(q)[:2])
    assert offset.kl() == pytest.approx(0.3)
    assert offset.group(1) == offset
    assert offset.group(2) == OffsetConcentrated(0.1 * 2 * 1.5, 0.8)
    assert str(OffsetConcentrated(0.1, 0.2, "local")) == "local zCDP(kappa=0.1, rho=0.2)"
