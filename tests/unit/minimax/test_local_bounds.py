"""Local privacy: the numbers of the theorems, exact Bayes risks, and the generic calculators."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from scipy import stats

from minimax.core.bound import Bound, OutsideRegime
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Pure,
    Renyi,
    ZeroConcentrated,
)
from minimax.methods.divergences import report_information, strong_contraction
from minimax.methods.priors import TwoLabelInstance, TwoLabelPrior
from minimax.problems.label_regression import lower as label_regression
from minimax.problems.local_regression import lower as local_regression
from minimax.problems.local_regression.problem import SUM
from minimax.problems.local_regression.randomised_response import randomised_response_risk
from tests.effort import part
from tests.strategies import log_floats, log_integers

POINT = {"n": 10**4, "p": 20, "C": 2.0, "epsilon": 0.5}


LABEL = {**POINT, "s": 1}


@pytest.mark.parametrize(
    ("bound", "point", "value"),
    [
        (local_regression.wx21_theorem_1(), POINT, 0.130),
        (local_regression.wx21_theorem_1_fano(), POINT, 0.0095),
        (local_regression.wx21_theorem_2(), POINT, 0.0336),
        (local_regression.wx21_theorem_3(), POINT, 0.0868),
        (
            local_regression.wx21_theorem_4(Renyi),
            {**POINT, "alpha": 2.0, "epsilon": math.log(1.25)},
            0.0099,
        ),
        (local_regression.wx21_theorem_4(ZeroConcentrated), {**POINT, "rho": 0.125}, 0.0227),
        (label_regression.wx21_theorem_7(), LABEL, 0.0105),
        (label_regression.wx21_theorem_7(Approximate), {**LABEL, "delta": 1e-3}, 0.0104),
        (label_regression.wx21_theorem_7(Approximate), {**LABEL, "delta": 0.05}, 0.00611),
        (label_regression.wx21_theorem_7(Approximate), {**LABEL, "delta": 0.3}, 0.00201),
        (label_regression.wx21_theorem_7(), {**LABEL, "p": 1000, "s": 10}, 0.0502),
        (label_regression.wx21_theorem_10(), {**LABEL, "b": 1.0}, 0.0105),
    ],
)
def test_values_at_one_point(bound: Bound, point: dict[str, float], value: float) -> None:
    assert bound.value(**point) == pytest.approx(value, rel=0.02)


@pytest.mark.parametrize("epsilon", [1e-100, 1e-12, 1e-5, 0.9e-3, 1.1e-3, 0.5, 40.0])
def test_contractions_do_not_cancel(epsilon: float) -> None:
    """Below the truth they would make a lower bound too large."""
    with mpmath.workdps(250):
        e = mpmath.mpf(epsilon)
        g = e / -mpmath.expm1(-e)
        information, kept = float(g - 1 - mpmath.log(g)), float(-mpmath.expm1(-e))
    assert report_information(epsilon) == pytest.approx(information, rel=1e-7)
    assert report_information(epsilon) >= information * (1 - 1e-10)
    assert strong_contraction(epsilon) == pytest.approx(kept, rel=1e-12)


def test_sharper_constants_raise_the_bounds() -> None:
    for theorem in (
        local_regression.wx21_theorem_1,
        local_regression.wx21_theorem_2,
        local_regression.wx21_theorem_3,
    ):
        plain, sharp = theorem().value(**POINT), theorem(sharp=True).value(**POINT)
        assert 1.005 < sharp / plain < 1.03
        wide = {**POINT, "epsilon": 3.0}
        assert theorem(sharp=True).value(**wide) > 1.3 * theorem().value(**wide)


def test_the_papers_route_is_below_the_pairs() -> None:
    """(delta^2/4)(1 - delta sqrt(k) x), x^2 = n A/(4 p) = 7.977: at k = 1 it is 1/(27 x^2)."""
    found = local_regression.null_against_mixture().value(**POINT)
    assert found == pytest.approx(1 / (27 * 7.977), rel=0.02)
    assert found < local_regression.wx21_theorem_2().value(**POINT)
    sums = local_regression.null_against_mixture(Pure, SUM).value(**POINT)
    assert sums == pytest.approx(1 / (8 * math.sqrt(7.977)), rel=0.02)
    assert sums < local_regression.wx21_theorem_3().value(**POINT)


def test_theorem_10_scales_with_the_slope() -> None:
    """f(x) = b x at noise C is the linear model at noise C/b (below the cap on theta)."""
    bound, linear = label_regression.wx21_theorem_10(), label_regression.wx21_theorem_7()
    assert bound.value(**LABEL, b=4.0) == pytest.approx(linear.value(**{**LABEL, "C": 0.5}))


def test_zcdp_with_offset_is_weaker_than_without() -> None:
    plain = local_regression.wx21_theorem_4(ZeroConcentrated)
    offset = local_regression.wx21_theorem_4(OffsetConcentrated)
    base = {**POINT, "rho": 0.1}
    found = offset.value(**base, kappa=0.05)
    # A = min{e^{kappa + 2 rho} - 1, 2 (kappa + rho)} is here that of (2, kappa + 2 rho)-RDP
    renyi = local_regression.wx21_theorem_4(Renyi).value(**{**POINT, "alpha": 2, "epsilon": 0.25})
    assert found == pytest.approx(renyi)
    assert found < 0.8 * plain.value(**base)


# --- Exact Bayes risks ----------------------------------------------------------------------------


def test_randomised_response_is_within_a_factor_of_theorem_1() -> None:
    first, second = local_regression.wx21_theorem_1(), local_regression.wx21_theorem_2()
    for n in (10**4, 3 * 10**4, 10**5):
        point = {**POINT, "n": n}
        for bound, low, high in ((first, 1.4, 1.6), (second, 2.25, 2.6)):
            parts = bound.parts(**point)
            risk = randomised_response_risk(n, 20, 0.5, parts.optimum["B"], parts.optimum["delta"])
            assert low < risk / parts.total < high


def test_randomised_response_risk_against_enumeration() -> None:
    """n = 5 reports on p = 2 coordinates: all 2^5 outcomes."""
    n, p, epsilon, B, delta = 5, 2, 1.3, 1.1, 0.7
    tau = delta / B * math.tanh(epsilon / 2)
    vertices = [(j, sign) for j in range(p) for sign in (1, -1)]
    risk = 0.0
    for outcome in itertools.product([1, -1], repeat=n):
        joint = [
            math.prod((1 + sign * z * tau * (i % p == j)) / 2 for i, z in enumerate(outcome)) / 4
            for j, sign in vertices
        ]
        total = sum(joint)
        mean = np.zeros(p)
        for (j, sign), chance in zip(vertices, joint, strict=True):
            mean[j] += sign * chance / total
        risk += total * delta**2 * (1 - float(mean @ mean))
    assert randomised_response_risk(n, p, epsilon, B, delta) == pytest.approx(risk, rel=1e-9)


@settings(max_examples=part(15, of=40), deadline=None, derandomize=True)
@given(
    p=log_integers(1, 200),
    per=log_integers(1, 150),
    epsilon=log_floats(0.05, 5),
    C=log_floats(0.2, 8),
)
def test_no_bound_exceeds_the_exact_risk_of_randomised_response(
    p: int, per: int, epsilon: float, C: float
) -> None:
    point = {"n": p * per, "p": p, "epsilon": epsilon, "C": C}
    bounds = [
        local_regression.wx21_theorem_1(sharp=True),
        local_regression.wx21_theorem_1(),
        local_regression.wx21_theorem_2(sharp=True),
    ]
    if p >= 2:
        bounds.append(local_regression.wx21_theorem_1_fano())
    for bound in bounds:
        parts = bound.parts(**point)
        risk = randomised_response_risk(
            p * per, p, epsilon, parts.optimum["B"], parts.optimum["delta"]
        )
        assert parts.total <= risk * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("n", [1, 10, 300])
def test_one_coordinate_is_randomised_response(n: int, epsilon: float) -> None:
    """p = 1: a report of w or of the label is one coin, and the exact risks are binomial sums."""
    point = {"n": n, "p": 1, "s": 1, "C": 2.0, "epsilon": epsilon}
    labels = label_regression.wx21_theorem_7().parts(**point)
    exact = randomised_response_risk(n, 1, epsilon, labels.optimum["B"], labels.optimum["delta"])
    assert labels.total <= exact
    sums = local_regression.wx21_theorem_3().parts(**point)
    tau = sums.optimum["delta"] / sums.optimum["B"] * math.tanh(epsilon / 2)
    heads = np.arange(n + 1)
    plus, minus = (stats.binom.pmf(heads, n, (1 + sign * tau) / 2) for sign in (1, -1))
    exact = sums.optimum["delta"] * float(np.minimum(plus, minus).sum())
    assert 0.45 * exact < sums.total <= exact


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("delta", [1e-3, 0.05, 0.3])
def test_label_contraction_of_the_revealing_channel(epsilon: float, delta: float) -> None:
    """Reports 1, 0 reveal the label with chance delta; 2, 3 are randomised response. Reached."""
    kept = math.exp(epsilon) / (1 + math.exp(epsilon))
    K = np.array([[delta, 0, (1 - delta) * kept, (1 - delta) * (1 - kept)],
                  [0, delta, (1 - delta) * (1 - kept), (1 - delta) * kept]])  # fmt: skip
    for one, other in (K, K[::-1]):
        excess = np.maximum(one - math.exp(epsilon) * other, 0).sum()
        assert excess == pytest.approx(delta)
    share = label_regression.label_contraction(Approximate, {"epsilon": epsilon, "delta": delta})
    omega = (K[0] - K[1]) / K.sum(axis=0)
    assert share == pytest.approx(float(K.mean(axis=0) @ omega**2))
    for tilt in (1e-3, 0.5):
        chances = np.array([1 + tilt, 1 - tilt]) / 2 @ K
        information = float(chances @ np.log(chances / K.mean(axis=0)))
        cap = float(local_regression.entropy_ratio(tilt)) * share * tilt**2
        assert information <= cap * (1 + 1e-9)
        assert information > 0.9 * cap


@pytest.mark.parametrize("mu", [0.02, 0.3, 1.0])
def test_gaussian_reports_are_concentrated_ones_where_the_dimension_is_large(mu: float) -> None:
    point = {**POINT, "mu": mu, "rho": mu**2 / 2}
    for bound in (local_regression.interactive, local_regression.wx21_theorem_1):
        gaussian, concentrated = (bound(model) for model in (Gaussian, ZeroConcentrated))
        assert gaussian.value(**point) == pytest.approx(concentrated.value(**point), rel=1e-12)
        assert gaussian.closed_form(**point) == pytest.approx(concentrated.closed_form(**point))


def test_records_with_delta_are_no_more_than_labels_with_delta() -> None:
    """All that is proved for (epsilon, delta) records: their labels are private."""
    for p in (1, 4, 20):
        point = {**LABEL, "p": p, "delta": 0.05}
        labels = label_regression.wx21_theorem_7(Approximate).value(**point)
        assert local_regression.wx21_theorem_1(Approximate).value(**point) == pytest.approx(labels)
    assert {b.kind for b in local_regression.lower_bounds(Approximate)} == {"certified"}
    # One report of one coin with chance 1 - delta, in the pure case the same as at delta = 0.
    tiny = {**POINT, "p": 1, "delta": 1e-12}
    for bound in (local_regression.wx21_theorem_1, local_regression.interactive):
        pure, approximate = bound(Pure).value(**tiny), bound(Approximate).value(**tiny)
        assert pure * 0.99 < approximate <= pure


@pytest.mark.parametrize(
    ("model", "budget", "plain"),
    [
        (ZeroConcentrated, {"rho": 0.5}, 0.6488),
        (Renyi, {"alpha": 2.0, "epsilon": 0.5}, math.expm1(0.5)),
        (Renyi, {"alpha": 1.5, "epsilon": 0.5}, 1.0),
        (Gaussian, {"mu": 1.0}, 0.6488),
    ],
)
def test_few_coordinates_tell_less_than_a_report_may(
    model: Any, budget: dict[str, float], plain: float
) -> None:
    # tanh(v)^2 with v tanh v = 1/4
    share = {"rho": 0.229535, "epsilon": 0.229535, "mu": 0.20405}
    one = local_regression.report_energy(model, {"p": 1, **budget})
    assert one == pytest.approx(share[next(k for k in share if k in budget)], rel=1e-3)
    assert local_regression.report_energy(model, {"p": 2, **budget}) == pytest.approx(
        min(2 * one, plain)
    )
    assert local_regression.report_energy(model, {"p": 99, **budget}) == pytest.approx(
        min(plain, 1.0), rel=1e-3
    )


def test_label_contraction_of_a_gaussian_report() -> None:
    for mu in (0.1, 0.5, 2.0, 4.0):
        share = label_regression.label_contraction(Gaussian, {"mu": mu})
        z = np.linspace(-15, 15, 60001)
        plus, minus = stats.norm.pdf(z, mu / 2), stats.norm.pdf(z, -mu / 2)
        direct = float(np.sum((plus - minus) ** 2 / (plus + minus)) / 2 * (z[1] - z[0]))
        assert share == pytest.approx(direct, rel=1e-6)
        symbol = sp.Symbol("mu", positive=True)
        closed = float(
            label_regression.label_contraction(Gaussian, {"mu": symbol}).subs(symbol, mu)
        )
        assert closed == pytest.approx(1 - math.exp(-(mu**2) / 4))
        assert share <= closed <= 1.16 * share


# --- Priors ---------------------------------------------------------------------------------------


def test_the_prior_lies_in_the_class() -> None:
    rng = np.random.default_rng(3)
    for bound, point in (
        (local_regression.wx21_theorem_1(), POINT),
        (label_regression.wx21_theorem_7(), {**LABEL, "p": 60, "s": 4}),
    ):
        instance = bound.prior(**point).draw(rng)
        assert isinstance(instance, TwoLabelInstance)
        assert np.linalg.norm(instance.target) <= 1
        X, y = instance.sample(200_000, rng)
        noise = y - X @ instance.target
        assert np.abs(noise).max() <= 2.0 + 1e-12
        assert set(np.unique(X)) == {-1.0, 1.0}
        # mean zero given x: uncorrelated with every coordinate and with the mean function
        assert abs(noise.mean()) < 6 * noise.std() / math.sqrt(len(y))
        found = X.T @ y / len(y)
        error = 6 * y.std() / math.sqrt(len(y))
        assert np.abs(found - instance.target).max() < error
        assert np.abs(found).max() > error  # the signal is visible in this sample


def test_a_link_shifts_and_bends_the_labels() -> None:
    def link(x: np.ndarray) -> np.ndarray:
        return 1.0 + x + 0.25 * np.sin(x)

    point = {**LABEL, "s": 4, "p": 40, "b": 1.25}
    prior = label_regression.wx21_theorem_10(Pure, link).prior(**point)
    assert isinstance(prior, TwoLabelPrior)
    rng = np.random.default_rng(0)
    instance = prior.draw(rng)
    X, y = instance.sample(100_000, rng)
    residual = y - link(X @ instance.target)
    assert np.abs(residual).max() <= 2.0 + 1e-12
    assert abs(residual.mean()) < 6 * residual.std() / math.sqrt(len(y))
    assert abs((y - X @ instance.target).mean()) > 0.9  # the control: f(0) = 1 is not ignored


def test_the_sum_loss_ignores_where_the_mass_is() -> None:
    instance = TwoLabelInstance(np.array([0.5, 0.0]), 1.0, summed=True)
    assert instance.loss(np.array([0.0, 0.5])) == 0
    assert instance.loss(np.zeros(2)) == 0.5
    assert TwoLabelInstance(np.array([0.5, 0.0]), 1.0).loss(np.array([0.0, 0.5])) == 0.5


# --- Regimes --------------------------------------------------------------------------------------


def test_claimed_rates_say_where_they_hold() -> None:
    for bound, point in (
        (local_regression.claimed_theorem(1), POINT),
        (local_regression.claimed_theorem(2), POINT),
        (local_regression.claimed_theorem(3), POINT),
        (label_regression.claimed_theorem_7(), LABEL),
        (label_regression.claimed_theorem_10(), {**LABEL, "b": 1.0}),
    ):
        assert bound.kind == "claimed"
        assert bound.value(**point) > 0
        with pytest.raises(OutsideRegime, match="epsilon <= 1/2"):
            bound.value(**{**point, "epsilon": 0.6})
    with pytest.raises(OutsideRegime, match="C >= 2"):
        local_regression.claimed_theorem(1).value(**{**POINT, "C": 1.0})
    with pytest.raises(OutsideRegime, match="epsilon <= log 2"):
        local_regression.claimed_theorem(4, Renyi).value(**{**POINT, "alpha": 2, "epsilon": 0.8})
    with pytest.raises(OutsideRegime, match="alpha >= 2"):
        local_regression.claimed_theorem(4, Renyi).value(**{**POINT, "alpha": 1.5})
    assert local_regression.claimed_theorem(1).value(**POINT) == pytest.approx(
        20 * math.log(20) / 2500
    )


def test_slopes_of_the_closed_forms() -> None:
    """p log p / (n eps^2) with private records, s log p / (n eps^2) with private labels."""
    large = {"n": 10**8, "p": 1000, "s": 5, "C": 2.0, "epsilon": 0.1}
    record, label = local_regression.wx21_theorem_1(), label_regression.wx21_theorem_7()
    for bound in (record, label):
        assert bound.slope("n", **large) == pytest.approx(-1)
        assert bound.slope("epsilon", **large) == pytest.approx(-2, abs=0.01)
    assert record.slope("p", **large) == pytest.approx(1 + 1 / math.log(2000))
    assert label.slope("p", **large) == pytest.approx(1 / math.log(200))
    assert local_regression.wx21_theorem_3().slope("p", **large) == pytest.approx(0.5)


def test_what_is_not_proved_is_refused() -> None:
    with pytest.raises(ValueError, match="wx21_theorem_2"):
        local_regression.wx21_theorem_4(Pure)
    with pytest.raises(ValueError, match="Theorem 2"):
        local_regression.claimed_theorem(2, Gaussian)
    with pytest.raises(OutsideRegime, match="p >= s"):
        label_regression.wx21_theorem_7().value(**{**LABEL, "s": 30})
    names = {b.name for b in local_regression.lower_bounds(Pure, interaction=True)}
    assert not any("non-interactive" in name for name in names)
