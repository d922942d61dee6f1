"""The densities of local randomisers never differ by more than e^epsilon, whatever the inputs.

Each predicate holds at epsilon for all inputs found, is attained at a witness, and fails for a
control: a larger epsilon, halved noise, an input that is not clipped, ties counted twice.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from attacks.one_report import index_tradeoff, tradeoff
from estimators.randomisers.labels import (
    BinaryLabels,
    GaussianLabels,
    LaplaceLabels,
    PureFromApproximate,
)
from estimators.randomisers.signs import HypercubeRandomiser
from estimators.randomisers.vectors import Randomiser, SphereRandomiser, privunit
from minimax.core.privacy import Scope
from tests.effort import part
from tests.strategies import log_floats

Array = NDArray[np.float64]
QUICK = settings(max_examples=part(25, of=80), deadline=None, derandomize=True)
NORMS = [0.0, 5e-324, 1e-200, 0.5, 1.0, 1.0000001, 1e6, 1e300]
ROUNDING = 1e-9


def directions(p: int) -> st.SearchStrategy[Array]:
    return hnp.arrays(float, p, elements=st.floats(-1, 1, width=16)).map(
        lambda v: v / np.abs(v).max() if np.any(v) else np.ones(p)
    )


@st.composite
def cases(draw: Any, kind: str) -> tuple[Randomiser, Array, Array, Array]:
    """A randomiser, two inputs and some reports."""
    p, epsilon = draw(st.integers(1, 6)), draw(log_floats(1e-3, 20))
    radius = draw(st.sampled_from([1e-3, 1.0, 50.0]))
    randomiser: Randomiser
    if kind == "cube":
        randomiser = HypercubeRandomiser(
            p, epsilon, radius, draw(st.sampled_from(["half", "best"]))
        )
    else:
        caps = ["half", "best"] if p == 1 else ["half", "best", 0.0, 0.3, 0.95]
        randomiser = SphereRandomiser(p, epsilon, radius, draw(st.sampled_from(caps)))
    x, other = (radius * draw(st.sampled_from(NORMS)) * draw(directions(p)) for _ in range(2))
    reports = draw(hnp.arrays(float, (4, p), elements=st.floats(-1, 1, width=16)))
    if kind == "cube":
        reports = np.where(reports >= 0, randomiser.size, -randomiser.size)  # type: ignore[attr-defined]
    else:
        reports[np.abs(reports).max(axis=1) == 0, 0] = 1.0
    return randomiser, x, other, reports


def log_ratio(randomiser: Any, reports: Any, x: Any, other: Any) -> float:
    difference = randomiser.log_likelihood(reports, x) - randomiser.log_likelihood(reports, other)
    return float(np.max(np.abs(difference)))


@QUICK
@given(cases("sphere"))
def test_sphere_ratio(case: tuple[Randomiser, Array, Array, Array]) -> None:
    randomiser, x, other, reports = case
    # The reports most likely to violate are those at the inputs themselves.
    ends = np.stack([v for v in (x, other, -x) if np.abs(v).max() > 1e-100] or [reports[0]])
    reports = np.vstack([reports, ends / np.abs(ends).max(axis=1, keepdims=True)])
    assert log_ratio(randomiser, reports, x, other) <= randomiser.epsilon + ROUNDING


@QUICK
@given(cases("cube"))
def test_cube_ratio(case: tuple[Randomiser, Array, Array, Array]) -> None:
    randomiser, x, other, _ = case
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=randomiser.p)))
    assert log_ratio(randomiser, corners, x, other) <= randomiser.epsilon + ROUNDING
    law = np.exp(randomiser.log_likelihood(corners, x)) / 2**randomiser.p
    assert law.sum() == pytest.approx(1)


@pytest.mark.parametrize("p", [1, 2, 5, 40, 10_000])
@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 4.0, 40.0])
def test_epsilon_is_attained_and_a_larger_one_is_seen(p: int, epsilon: float) -> None:
    x = np.full(p, 1e3)
    for make in (SphereRandomiser, privunit):
        assert log_ratio(make(p, epsilon), x, x, -x) == pytest.approx(epsilon, rel=1e-9)
        assert log_ratio(make(p, 1.2 * epsilon), x, x, -x) > 1.1 * epsilon
    if p <= 40:
        cube = HypercubeRandomiser(p, epsilon)
        assert log_ratio(cube, x, x, -x) == pytest.approx(epsilon, rel=1e-9)
        assert log_ratio(HypercubeRandomiser(p, 1.2 * epsilon), x, x, -x) > 1.1 * epsilon


@QUICK
@given(st.floats(1.01, 3.0), log_floats(0.01, 5))
def test_an_input_that_is_not_clipped_breaks_the_ratio(norm: float, epsilon: float) -> None:
    """With 1/2 + |x|/2r above 1, what WX21 prints gives the other direction a negative chance."""
    randomiser = SphereRandomiser(4, epsilon)
    low, high = math.exp(randomiser.log_low), math.exp(randomiser.log_low + epsilon)

    def density(share: float) -> tuple[float, float]:
        towards, away = 0.5 + share / 2, 0.5 - share / 2
        return towards * high + away * low, towards * low + away * high

    def holds(share: float) -> bool:
        ahead, behind = density(share)
        return ahead <= math.exp(epsilon) * behind * (1 + ROUNDING)

    assert holds(min(norm, 1.0))
    assert not holds(norm)
    x = np.array([norm, 0, 0, 0])
    measured = np.exp(randomiser.log_likelihood([[1.0, 0, 0, 0], [-1.0, 0, 0, 0]], x))
    np.testing.assert_allclose(measured, density(1.0))


@pytest.mark.parametrize("p", [2, 4, 10])
def test_ties_counted_twice_break_the_ratio(p: int) -> None:
    """{<z, w> >= 0} and {<z, w> <= 0} with chances e^eps : 1, for even p."""
    epsilon = 0.7
    likely = math.exp(epsilon) / (1 + math.exp(epsilon))
    tie, behind = likely + (1 - likely), 1 - likely
    assert math.log(tie / behind) > epsilon + 0.3
    randomiser = HypercubeRandomiser(p, epsilon)
    balanced = np.where(np.arange(p) % 2 == 0, 1.0, -1.0)
    assert randomiser.log_likelihood(balanced, np.ones(p))[0] == pytest.approx(randomiser.log_low)


@QUICK
@given(
    st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.floats(-100, 100), log_floats(0.01, 10)
)
def test_laplace_label_ratio(y: float, other: float, report: float, epsilon: float) -> None:
    randomiser = LaplaceLabels(3.0, epsilon)
    assert log_ratio(randomiser, report, y, other) <= epsilon + ROUNDING
    assert log_ratio(randomiser, 3.0, 9.0, -9.0) == pytest.approx(epsilon)
    halved = LaplaceLabels(3.0, 2 * epsilon)  # half the noise
    assert log_ratio(halved, 3.0, 9.0, -9.0) > 1.9 * epsilon


@dataclass(frozen=True)
class Arbitrary:
    """A randomiser whose likelihood ratios are whatever the input says: as far from private."""

    scope: ClassVar[Scope] = "local"

    def reference(self, size: tuple[int, ...], rng: np.random.Generator) -> Array:
        return rng.standard_normal(size)

    def log_ratio(self, reports: Array, y: Array) -> Array:
        return reports * y


@QUICK
@given(
    hnp.arrays(float, st.integers(1, 12), elements=st.sampled_from([-1e9, -1, -0.3, 0, 0.5, 1, 2])),
    st.sampled_from([-1e3, -1.0, -0.2, 0.0, 0.4, 1.0]),
    st.sampled_from([-1e3, -1.0, -0.2, 0.0, 0.4, 1.0]),
    st.floats(0.01, math.log(2)),
)
def test_genprot_is_pure_for_any_base(public: Array, y: float, other: float, clip: float) -> None:
    mechanism = PureFromApproximate(Arbitrary(), clip, len(public))
    curve = index_tradeoff(mechanism, public, y, other)
    assert curve.epsilon <= mechanism.epsilon + ROUNDING
    assert mechanism.epsilon <= 4 * clip + ROUNDING


def test_genprot_ratio_is_attained_and_needs_its_clip() -> None:
    clip = 0.5
    mechanism = PureFromApproximate(Arbitrary(), clip, 8)
    public = np.array([clip] + [-clip] * 7)
    curve = index_tradeoff(mechanism, public, 1.0, -1.0)
    assert curve.epsilon == pytest.approx(mechanism.epsilon)
    assert curve.epsilon > PureFromApproximate(Arbitrary(), clip / 1.2, 8).epsilon


@st.composite
def pairs(draw: Any) -> tuple[Any, Any, Any]:
    epsilon, p = draw(log_floats(0.05, 8)), draw(st.integers(1, 8))
    kind = draw(st.sampled_from(["half", "best", "cube", "laplace", "binary", "gaussian"]))
    if kind in ("laplace", "binary"):
        label_noise = LaplaceLabels if kind == "laplace" else BinaryLabels
        return label_noise(1.0, epsilon), draw(st.floats(-2, 2)), draw(st.floats(-2, 2))
    if kind == "gaussian":
        return GaussianLabels(1.0, 1 / epsilon), draw(st.floats(-2, 2)), draw(st.floats(-2, 2))
    x, other = draw(directions(p)), draw(directions(p))
    if kind == "cube":
        signs = (np.where(v >= 0, 1.0, -1.0) for v in (x, other))
        return HypercubeRandomiser(p, epsilon), *signs
    scale = draw(st.sampled_from([0.0, 0.3, 1.0, 1e6]))
    return SphereRandomiser(p, epsilon, cap=kind), scale * x, other


@QUICK
@given(pairs())
def test_curves_stay_within_the_region_and_are_proper(case: tuple[Any, Any, Any]) -> None:
    curve = tradeoff(*case)
    assert curve.excess <= 1e-9
    for rate in (curve.false_positive, curve.true_positive):
        assert np.all(np.diff(rate) >= -1e-12)
        assert (rate[0], rate[-1]) == pytest.approx((0.0, 1.0))
    slopes = np.diff(curve.true_positive) / np.maximum(np.diff(curve.false_positive), 1e-300)
    wide = np.diff(curve.false_positive) > 1e-9
    assert np.all(np.diff(slopes[wide]) <= 1e-6 * slopes[wide][:-1] + 1e-9)
    assert curve.advantage >= -1e-12
