"""The soft cap: its whole Renyi curve, for every pair of inputs, and what its reports are."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimators.randomisers.zcdp_privunit import SoftCapRandomiser
from minimax.core.privacy import ZeroConcentrated
from minimax.core.soft_cap import log_norm, mean_along, steepness
from tests.effort import part
from tests.strategies import log_floats

QUICK = settings(max_examples=part(20, of=60), deadline=None, derandomize=True)
RHOS = [1e-6, 1e-3, 0.1, 1.0, 3.0, 50.0]


def opposite(k: float, alpha: float) -> mpmath.mpf:
    """D_alpha of opposite inputs, in 40 digits, from the closed form of N."""
    with mpmath.workdps(40):
        k, alpha = mpmath.mpf(k), mpmath.mpf(alpha)

        def part(s: mpmath.mpf) -> mpmath.mpf:
            return mpmath.exp(s * s / 2) * mpmath.ncdf(s)

        moment = (part(alpha * k) + part((1 - alpha) * k)) / (mpmath.mpf(1) / 2 + part(k))
        return mpmath.log(moment) / (alpha - 1)


@pytest.mark.parametrize("rho", RHOS)
def test_the_whole_renyi_curve_of_opposite_inputs(rho: float) -> None:
    """D_alpha <= alpha rho for 1 < alpha <= 10^4, near equality as alpha tends to 1."""
    k = steepness(rho)
    ratios = [float(opposite(k, 1 + a) / ((1 + a) * rho)) for a in np.geomspace(1e-8, 1e4, 60)]
    assert max(ratios) <= 1
    assert ratios[0] > 1 - 1e-6
    # The control: one percent more steepness is not within the budget.
    assert opposite(1.01 * k, 1 + 1e-8) > (1 + 1e-8) * rho


@pytest.mark.parametrize("k", [0.01, 0.5, 2.0, 8.0])
def test_the_coefficients_of_the_proof_change_sign_once(k: float) -> None:
    """b_j increases, from quadrature in 30 digits; the normalised moments are log-concave."""
    with mpmath.workdps(30):
        c = mpmath.mpf(k) / 2
        moments = [
            2
            * mpmath.quad(
                lambda x, n=n: mpmath.npdf(x) * mpmath.exp(c * x) * x**n, [0, 1, 4, 10, 30, 60]
            )
            for n in range(14)
        ]
        rho = mpmath.mpf(k) * mean_along(k)
        b = [rho / 2 - c**2 * moments[2 * j + 2] / ((2 * j + 1) * moments[2 * j]) for j in range(6)]
        other = [
            rho / 2 - c**2 - c**3 * moments[2 * j + 1] / ((2 * j + 1) * moments[2 * j])
            for j in range(6)
        ]
    assert all(earlier < later for earlier, later in itertools.pairwise(b))
    assert [float(x) for x in b] == pytest.approx([float(x) for x in other], rel=1e-9, abs=1e-12)
    assert b[0] < 0


@QUICK
@given(rho=log_floats(1e-2, 5), t=st.floats(-1, 1), alpha=log_floats(1.2, 6))
def test_no_pair_of_inputs_exceeds_the_budget(rho: float, t: float, alpha: float) -> None:
    """The moment at correlation t by the trapezoid rule, below that of opposite inputs."""
    k = steepness(rho)
    nodes = np.arange(-9, 9 + alpha * k, 0.02)
    a, b = np.meshgrid(nodes, nodes[np.abs(nodes) <= 9])
    other = t * a + math.sqrt(max(1 - t * t, 0.0)) * b
    exponents = alpha * k * np.maximum(a, 0) + (1 - alpha) * k * np.maximum(other, 0)
    exponents -= (a * a + b * b) / 2
    total = float(np.exp(exponents).sum()) * 0.02**2 / (2 * math.pi)
    found = (math.log(total) - log_norm(k)) / (alpha - 1)
    largest = float(opposite(k, alpha))
    assert found <= largest * (1 + 1e-3) + 1e-4
    assert found <= alpha * rho * (1 + 1e-3) + 1e-4
    if t == -1:
        assert found == pytest.approx(largest, rel=1e-2, abs=1e-3)


@pytest.mark.parametrize("rho", [0.1, 1.0, 3.0])
def test_the_reports_are_unbiased_and_have_the_stated_error(rho: float) -> None:
    rng = np.random.default_rng(0)
    p, n = 6, 200_000
    randomiser = SoftCapRandomiser(p, rho, radius=2.0)
    for x in (
        np.array([2.0, 0, 0, 0, 0, 0]),
        np.array([0.3, -0.4, 0.5, 0, 0, 0.1]),
        9 * np.ones(p),
    ):
        reports, entry = randomiser.randomise(np.tile(x, (n, 1)), rng)
        clipped = randomiser.clip(x[None])[0]
        error = reports.std(axis=0) / math.sqrt(n)
        assert np.all(np.abs(reports.mean(axis=0) - clipped) <= 6 * error)
        squares = np.sum((reports - clipped) ** 2, axis=1)
        stated = randomiser.error(x)
        assert abs(squares.mean() - stated) <= 6 * squares.std() / math.sqrt(n)
        assert entry.guarantees == (ZeroConcentrated(rho, scope="local"),)
    assert np.linalg.norm(randomiser.clip(9 * np.ones((1, p)))) == pytest.approx(2.0)


@pytest.mark.parametrize(("rho", "gain"), [(0.1, 1.18), (1.0, 1.54), (3.0, 1.81), (100.0, 2.0)])
def test_the_gain_over_gaussian_noise(rho: float, gain: float) -> None:
    p = 10**6
    ours = SoftCapRandomiser(p, rho).error(np.eye(1, p)[0])
    assert 2 * p / rho / ours == pytest.approx(gain, abs=0.01)


def test_the_density_is_that_of_the_reports() -> None:
    """p = 1: the share of reports above 0 and its likelihood, at an input inside the ball."""
    randomiser = SoftCapRandomiser(1, 0.7)
    grid = np.linspace(-40, 40, 400_001)
    base = np.exp(-((grid / randomiser.scale) ** 2) / 2) / math.sqrt(2 * math.pi) / randomiser.scale
    for x in (1.0, 0.4, -0.9):
        density = base * np.exp(randomiser.log_likelihood(grid[:, None], [x]))
        step = grid[1] - grid[0]
        assert float(density.sum() * step) == pytest.approx(1, abs=1e-6)
        assert float((density * grid).sum() * step) == pytest.approx(x, abs=1e-6)
        reports = randomiser.randomise(np.full((100_000, 1), x), np.random.default_rng(1)).value
        above = float(density[grid > 0].sum() * step)
        assert abs((reports > 0).mean() - above) < 6 * 0.5 / math.sqrt(100_000)


@pytest.mark.parametrize(
    ("name", "value"), [("p", 0), ("rho", 0.0), ("rho", math.nan), ("rho", 1e9), ("radius", -1.0)]
)
def test_bad_arguments_are_named(name: str, value: float) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"^{name}\b"):
        SoftCapRandomiser(**{"p": 3, "rho": 1.0, name: value})
