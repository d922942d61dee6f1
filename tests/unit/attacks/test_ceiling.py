"""What privacy allows a score: the least of all routes, each checked on a channel that is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attacks.ceiling import Route, routes
from minimax import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.methods.tracing import GAUSSIAN, GAUSSIAN_PRODUCT, VARIANCE, gain

CLAIMS = (Pure(0.7), Approximate(0.7, 1e-6), ZeroConcentrated(0.2), Gaussian(0.6))


def least(claim, tail, symmetric, heavy=False):
    return min(
        route.allowed(1.0, 1.0, 1.0)
        for route in routes(claim, tail, symmetric=symmetric, heavy=heavy)
    )


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@pytest.mark.parametrize("tail", [GAUSSIAN, GAUSSIAN_PRODUCT, VARIANCE], ids=lambda t: t.name)
def test_symmetry_only_helps(claim, tail):
    plain = least(claim, tail, symmetric=False)
    assert least(claim, tail, symmetric=True) <= plain
    assert least(claim, tail, symmetric=True) <= least(claim, tail, symmetric=True, heavy=True)
    assert len(routes(claim, tail, symmetric=False)) == 1


def flipped_signs(epsilon, rng, size=200_000):
    """E A of randomised response on a sign, with V the report: (e^eps - 1)/(e^eps + 1)."""
    w = rng.choice([-1.0, 1.0], size)
    z = np.where(rng.random(size) < 1 / (1 + math.exp(-epsilon)), w, -w)
    return float(np.mean(z * w))


def test_randomised_response_reaches_the_contraction_and_no_more():
    """E A = tanh(eps/2), E A^2 = 1: the second route is attained, and halving it is refuted."""
    seen = flipped_signs(0.7, np.random.default_rng(0))
    (_, second) = routes(Pure(0.7), VARIANCE, symmetric=True)
    assert second.second == pytest.approx(math.tanh(0.35))
    assert abs(seen - second.allowed(1.0, 1.0, 1.0)) < 5 / math.sqrt(200_000)
    assert seen > Route(second=second.second / 2).allowed(1.0, 1.0, 1.0)


def test_a_score_of_known_variance_has_the_closed_gain():
    for epsilon in (0.1, 1.0, 3.0):
        assert gain(Pure(epsilon), VARIANCE) == pytest.approx(math.sinh(epsilon / 2))
        assert gain(Gaussian(epsilon), VARIANCE) == pytest.approx(math.sqrt(math.expm1(epsilon**2)))


def test_a_factor_of_zero_forgets_what_is_infinite():
    assert Route(own=2.0).allowed(4.0, math.inf, math.inf) == 4.0
