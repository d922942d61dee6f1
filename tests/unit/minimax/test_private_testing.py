"""Private Fano and Le Cam for a packing of one's own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp
from scipy import stats

from minimax.core.privacy import (
    Pure,
)
from minimax.methods import le_cam
from minimax.methods.fano import (
    PrivatePacking,
    donsker_varadhan,
    error_probability,
    fano,
    separation_exponent,
)
from minimax.problems.local_regression import lower as local_regression
from minimax.problems.local_regression.randomised_response import randomised_response_risk

# --- The generic calculators ----------------------------------------------------------------------


def sign_laws(p: int, tilt: float) -> np.ndarray:
    W = np.array(list(itertools.product([1.0, -1.0], repeat=p)))
    signed = np.vstack([np.eye(p), -np.eye(p)])
    return (1 + tilt * signed @ W.T) / 2**p


def test_private_fano_reproduces_theorem_1s_route() -> None:
    """p = 3, delta = .5, B = 1: information at most A delta^2/p of the core lemma, and below."""
    targets = 0.5 * np.vstack([np.eye(3), -np.eye(3)])
    packing = PrivatePacking.from_targets(targets, laws=sign_laws(3, 0.5))
    found = packing.bound(50, 0.5)
    assert packing.radius == pytest.approx(0.125)
    A = local_regression.report_energy(Pure, {"p": 3, "epsilon": 0.5})
    assert 0.4 * A * 0.25 / 3 < found.information <= A * 0.25 / 3
    assert found.closed_form <= found.value <= 0.125
    # The pairwise distances alone know less.
    by_tv = PrivatePacking(packing.radius, total_variation=packing.total_variation).bound(50, 0.5)
    assert 0 < by_tv.value < found.value
    # A large alphabet is bounded, not computed, and still valid.
    wide = PrivatePacking.from_targets(0.5 * np.vstack([np.eye(4), -np.eye(4)]),
                                       laws=sign_laws(4, 0.5))  # fmt: skip
    assert 0 < wide.information(0.5) < math.tanh(0.25) ** 2 * 0.15


def test_error_probability_is_fano_inverted() -> None:
    assert error_probability(0.0, 4) == pytest.approx(0.75)
    assert error_probability(math.log(4), 4) == 0
    for P in (0.1, 0.5, 0.7):
        entropy = -P * math.log(P) - (1 - P) * math.log(1 - P)
        information = math.log(4) - entropy - P * math.log(3)
        assert error_probability(information, 4) == pytest.approx(P, rel=1e-9)
        assert error_probability(information, 4) >= fano(1.0, information, 4)
        scales = np.geomspace(0.01, 100, 4000)
        dual, _ = donsker_varadhan(information, scales, separation_exponent(scales, 1.0, 4))
        assert dual == pytest.approx(P, rel=1e-4)
    information, size = sp.symbols("I M", positive=True)
    formula = fano(1, information, size)
    assert float(formula.subs({information: 0.3, size: 50})) == pytest.approx(fano(1.0, 0.3, 50))


def test_le_cam_of_two_coins_is_below_the_exact_risk() -> None:
    n, epsilon = 60, 0.7
    laws = np.array([[0.35, 0.65], [0.65, 0.35]])
    exact_bound = le_cam.two_points(n, epsilon, laws=laws)
    from_tv = le_cam.two_points(n, epsilon, total_variation=0.3)
    assert from_tv.log_affinity <= exact_bound.log_affinity
    tilt = 0.3 * math.tanh(epsilon / 2)
    heads = np.arange(n + 1)
    one, other = (stats.binom.pmf(heads, n, (1 + sign * tilt) / 2) for sign in (1, -1))
    affinity = float(np.sqrt(one * other).sum())
    assert exact_bound.log_affinity == pytest.approx(math.log(affinity), rel=1e-6)
    true_tv = float(np.abs(one - other).sum() / 2)
    assert true_tv <= exact_bound.total_variation < 1.35 * true_tv
    squared = float(np.sum(2 * one * other / (one + other))) / 4
    assert 0.9 * squared < exact_bound.squared(1.0) <= squared
    assert from_tv.squared(1.0) <= exact_bound.squared(1.0)
    assert exact_bound.risk(1.0) == pytest.approx((1 - exact_bound.total_variation) / 2)


@pytest.mark.parametrize("by_laws", [False, True])
def test_le_cam_of_close_laws_does_not_exceed_randomised_response(by_laws: bool) -> None:
    """n = 1e15, epsilon = 1e-7, t = .1: reported coins of bias t tanh(epsilon/2), summed."""
    n, epsilon, t = 10**15, 1e-7, 0.1
    attained = stats.norm.sf(math.sqrt(n) * t * math.tanh(epsilon / 2))
    assert attained == pytest.approx(0.4372, abs=1e-4)
    laws = np.array([[0.5 + t / 2, 0.5 - t / 2], [0.5 - t / 2, 0.5 + t / 2]])
    given_by = {"laws": laws} if by_laws else {"total_variation": t}
    found = le_cam.two_points(n, epsilon, **given_by).risk(1.0)
    assert 0.9 * attained < found < attained


@pytest.mark.parametrize("epsilon", [1e-12, 700.0, 710.0, 800.0, 1e5])
def test_reports_at_extreme_epsilon_are_bounded_without_overflow(epsilon: float) -> None:
    laws = np.array([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]])
    for given_by in ({"laws": laws}, {"total_variation": 0.6}):
        risk = le_cam.two_points(3, epsilon, **given_by).risk(1.0)
        assert 0 < risk < 0.5
        # Of three records in the open none tells with chance .4^3: half of that is lost.
        assert risk <= (0.4**3 / 2 if epsilon > 1 else 0.5)
    packing = PrivatePacking(1.0, laws=laws).bound(1, epsilon)
    assert 0 <= packing.closed_form <= packing.value <= 0.5
    assert packing.information <= math.log(2) * (1 + 1e-8)


def test_a_mixture_is_harder_than_its_elements() -> None:
    laws, base = sign_laws(3, 0.5), np.full(8, 1 / 8)
    mixed = le_cam.point_against_mixture(200, 0.5, base=base, laws=laws)
    alone = le_cam.point_against_mixture(200, 0.5, base=base, laws=laws[:1])
    assert mixed.total_variation < 0.8 * alone.total_variation
    # For one law the affinity of each round can be used, which a mixture does not allow.
    single = le_cam.two_points(200, 0.5, laws=np.array([base, laws[0]]))
    assert 0.7 * alone.total_variation < single.total_variation <= alone.total_variation


def test_risks_from_affinity_with_symbols() -> None:
    d, q = sp.symbols("d q", positive=True)
    for risk in (le_cam.testing_risk, le_cam.squared_risk):
        value = float(risk(d, -q).subs({d: 0.6, q: 0.2}))
        assert value == pytest.approx(float(risk(0.6, -0.2)))
    assert float(le_cam.testing_risk(2.0, -0.5)) == pytest.approx(1 - math.sqrt(1 - math.exp(-1)))


BAD_INPUT = [
    (lambda: PrivatePacking(1.0), "exactly one"),
    (lambda: PrivatePacking(0.0, total_variation=np.zeros((2, 2))), "radius"),
    (lambda: PrivatePacking(1.0, total_variation=[[0, 2], [2, 0]]), "total_variation"),
    (lambda: PrivatePacking(1.0, total_variation=[[0, 0.5]]), "square"),
    (lambda: PrivatePacking(1.0, laws=[[0.5, 0.6], [0.5, 0.5]]), "laws"),
    (lambda: PrivatePacking(1.0, laws=[[0.5, math.nan], [0.5, 0.5]]), "laws"),
    (lambda: PrivatePacking(1.0, laws=[[0.5, 0.5]]), "at least 2"),
    (lambda: PrivatePacking.from_targets([[0.0]], laws=[[1.0], [1.0]]), "targets"),
    (lambda: PrivatePacking.from_targets(np.eye(3), laws=np.eye(2)), "targets: 3"),
    (lambda: PrivatePacking(1.0, laws=np.eye(2)).bound(0, 1.0), "n must"),
    (lambda: PrivatePacking(1.0, laws=np.eye(2)).bound(5, -1.0), "epsilon"),
    (lambda: le_cam.two_points(5, 1.0), "exactly one"),
    (lambda: le_cam.two_points(5, 1.0, total_variation=1.5), "total_variation"),
    (lambda: le_cam.two_points(5, 1.0, laws=np.eye(3)), "two rows"),
    (lambda: le_cam.two_points(0, 1.0, total_variation=0.5), "n must"),
    (lambda: le_cam.two_points(5, math.inf, total_variation=0.5), "epsilon"),
    (lambda: le_cam.point_against_mixture(5, 1.0, base=[1.0], laws=np.eye(2)), "base"),
    (lambda: le_cam.two_points(5, 1.0, total_variation=0.5).risk(0.0), "separation"),
    (lambda: le_cam.two_points(5, 1.0, total_variation=0.5).squared(-1.0), "distance"),
    (lambda: randomised_response_risk(5, 10, 1.0, 1.0, 0.5), "n >= p"),
]


@pytest.mark.parametrize(("call", "match"), BAD_INPUT)
def test_bad_input_is_refused(call: Callable[[], object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        call()
