"""Ball arithmetic: it encloses, it decides only what is sure, and it finds what floats missed."""

from __future__ import annotations

import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest
from scipy import stats

from minimax.core.balls import BALLS, Ball, Undecided, hull, precision, root_near, surely
from minimax.core.privacy import Gaussian, Pure
from minimax.core.symbolic import EXACT, lift
from minimax.methods.binary_reports import label_contraction
from minimax.methods.blocks import block_exponent, exponent, free_exponent
from minimax.methods.enclosed_counts import BinomialLaw, PoissonLaw, distribution
from minimax.problems.mean.lower import tracing_gaussian

pytest.importorskip("flint")


@pytest.fixture(autouse=True)
def _bits() -> Iterator[None]:
    with precision(200):
        yield


def test_a_ball_holds_what_floats_cannot() -> None:
    third = Ball(1) / 3
    assert third.low < third.high
    assert 0 < third.relative_radius < 1e-55
    assert bool(third * 3 > 1 - 1e-9)
    with pytest.raises(Undecided):
        bool(third * 3 > 1)
    assert not surely(third * 3 >= 1)
    with pytest.raises(TypeError):
        math.exp(third)  # no way out of the balls
    assert np.float64(2.0) * Ball(3) == 6
    assert int(Ball(12)) == 12
    with pytest.raises(Undecided):
        int(third * 3)


def test_an_undecided_choice_is_the_hull_of_both() -> None:
    one = Ball(1) / 3 * 3
    chosen = BALLS.choose(one > 1, lambda: Ball(5), lambda: Ball(7))
    assert chosen.low <= 5 <= 7 <= chosen.high
    assert BALLS.least(one, 2).high < 1.1
    assert hull(1, 2).low <= 1 <= 2 <= hull(1, 2).high


FUNCTIONS = ("exp", "expm1", "sinh", "cosh", "tanh", "atan", "erf", "erfc", "ndtr", "log_ndtr")


@pytest.mark.parametrize("name", [*FUNCTIONS, "log", "log1p", "sqrt", "loggamma", "harmonic"])
@pytest.mark.parametrize("x", [1e-9, 0.3, 2.5, 25.0])
def test_functions_agree_with_mpmath(name: str, x: float) -> None:
    ball = getattr(BALLS, name)(Ball(x))
    with mpmath.workdps(80):
        assert ball.middle == pytest.approx(float(getattr(EXACT, name)(mpmath.mpf(x))), rel=1e-15)
    assert ball.relative_radius < 1e-40


@pytest.mark.parametrize("log_chance", [-1e-290, -1e-9, -0.5, -1.5, -40.0, -1e6])
def test_quantiles_invert_the_distribution_function(log_chance: float) -> None:
    z = BALLS.ndtri_exp(log_chance)
    back = BALLS.log1p(-BALLS.ndtr(-z)) if log_chance > -1 else BALLS.log_ndtr(z)
    assert abs(back / log_chance - 1).high < 1e-40


def test_a_root_is_enclosed_between_two_signs() -> None:
    root = root_near(lambda x: x**2 - 2, lambda x: 2 * x, 1.4)
    assert root.relative_radius < 1e-50
    assert not surely(root**2 != 2)
    with pytest.raises(Undecided):
        root_near(lambda x: 2 - x**2, lambda x: -2 * x, 1.4)  # it falls there


@pytest.mark.parametrize("m", [1, 2, 3, 4, 10, 1000, 10**6])
def test_the_float_exponent_is_above_its_ball(m: int) -> None:
    """Just above b_m a grid of 513 c found no maximum above 0: h came out too small by 2e-6."""
    free, c = free_exponent(m), np.linspace(0, 1, 20001)
    for factor in (0.7, 0.97, 1 - 1e-9, 1.0, 1 + 1e-9, 1 + 2e-7, 1.003, 1.3, 4.0):
        b = free * factor
        enclosed = exponent(Ball(b), m)
        assert enclosed.high <= exponent(b, m) <= enclosed.high + 1e-13 * (1 + b)
        values = -b * c**2 + np.log((m - 1 + np.cosh(2 * b * c)) / m)
        assert enclosed.high >= np.max(values) - 1e-12


def test_h_of_a_thousand_just_above_where_it_leaves_zero() -> None:
    assert float(block_exponent(7.600402584872839, 1000)[0]) == pytest.approx(1.91276e-6, rel=1e-4)


@pytest.mark.parametrize(("n", "p"), [(40, 0.3), (10**5, 2e-3), (10**8, 0.2), (10**15, 3e-9)])
def test_counts_agree_with_floats(n: int, p: float) -> None:
    mean, spread = n * p, math.sqrt(n * p)
    counts = sorted({int(min(max(mean + z * spread, 0), n)) for z in (-60, -9, -3, 0, 2, 8, 60)})
    for law, floats in (
        (BinomialLaw(n, Ball(p)), stats.binom.cdf(counts, n, p)),
        (PoissonLaw(Ball(mean)), stats.poisson.cdf(counts, mean)),
    ):
        found = distribution(law, counts)
        assert all(ball.high >= 0 and ball.low <= 1 for ball in found)
        seen = [ball.middle for ball in found]
        assert seen == pytest.approx(floats.tolist(), rel=1e-4, abs=1e-50)


def test_certain_counts() -> None:
    assert [b.middle for b in distribution(BinomialLaw(4, Ball(1)), [0, 3, 4])] == [0, 0, 1]
    assert distribution(BinomialLaw(4, Ball(0.5)), [4])[0] == 1


@pytest.mark.parametrize("mu", [1e-8, 0.1, 1.0, 5.0, 60.0])
def test_the_share_of_a_gaussian_report(mu: float) -> None:
    ball = label_contraction(Gaussian, {"mu": Ball(mu)})
    assert ball.relative_radius < 1e-45
    with mpmath.workdps(30):
        other = label_contraction(Gaussian, {"mu": mpmath.mpf(mu)})
    assert ball.middle == pytest.approx(float(other), rel=1e-14)


def test_a_bound_in_balls() -> None:
    bound = tracing_gaussian(Pure)
    point = {"n": 1000, "d": 50, "sigma": 1, "radius": 1, "epsilon": 0.3}
    ball = bound.ball(**point)
    assert bound.value(**point) <= ball.low
    assert bound.value(**point) == pytest.approx(ball.middle, rel=1e-8)
    assert float(bound.exact(**point)) == pytest.approx(ball.middle, rel=1e-15)


def test_what_is_lifted_keeps_its_kind() -> None:
    assert isinstance(lift(0.5, Ball(1)), Ball)
