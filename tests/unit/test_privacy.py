"""Privacy definitions against independent computations."""

from __future__ import annotations

import math

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant

from minimax.divergences import gaussian_hockey_stick, group_delta, kl_pure
from minimax.privacy import (
    Approximate,
    Gaussian,
    Pure,
    Renyi,
    ZeroConcentrated,
    from_parameters,
)


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
    assert gaussian.tradeoff(math.log(q)) <= zcdp.tradeoff(math.log(q))
    # Control: with a quarter of the budget it must fail to cover it somewhere.
    quarter = ZeroConcentrated(mu**2 / 8)
    assert gaussian.tradeoff(-28) > quarter.tradeoff(-28)


def test_tradeoff_of_pure_is_reached_by_randomised_response() -> None:
    epsilon = 1.1
    q = 1 / (1 + math.exp(epsilon))
    assert Pure(epsilon).tradeoff(math.log(q)) == pytest.approx(1 - q)


def test_tradeoff_keeps_events_too_rare_for_floating_point() -> None:
    assert Pure(5000.0).tradeoff(-5001.0) == pytest.approx(math.exp(-1))
    assert ZeroConcentrated(4900.0).tradeoff(-5041.0) == pytest.approx(math.exp(-1))
    with mpmath.workdps(30):
        tail = mpmath.findroot(lambda x: mpmath.log(mpmath.ncdf(-x)) + 5000, 99.9)
    expected = float(mpmath.ncdf(100 - tail))
    assert Gaussian(100.0).tradeoff(-5000.0) == pytest.approx(expected, rel=1e-9)


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
