"""The packing formula at free parameters of any kind, and the distribution functions under it."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from minimax import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from minimax.methods.counts import binomial_cdf, poisson_cdf
from minimax.methods.couplings import BlockPacking, Packing, RegressionPacking
from minimax.methods.packing import failure, packing_formula
from minimax.problems.mean.lower import dense_packing
from tests.contract.walk import chance, log_uniform

KINDS = ("bounded", "sub-Gaussian", "regression")
MODELS = (Pure, Approximate, ZeroConcentrated, Gaussian)
CHOICES, EXACT = 300, 3


def budget(model: type, rng: np.random.Generator) -> Privacy:
    if model is Approximate:
        return Approximate(log_uniform(1e-8, 700)(rng), chance(rng))
    size = log_uniform(1e-16, 1e5) if model is ZeroConcentrated else log_uniform(1e-8, 700)
    return model(size(rng))


def packing(kind: str, n: object, sigma: object, radius: object, m: int, s: int) -> Packing:
    if kind == "regression":
        return RegressionPacking(n, m, s, sigma, radius)
    return BlockPacking(n, m, s, sigma, radius, kind)  # type: ignore[arg-type]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_formula_is_sound_at_every_choice(kind: str, model: type) -> None:
    """Any alpha, height, r, b, k and reach prove a bound: the float must not be above it."""
    rng = np.random.default_rng(KINDS.index(kind) * 10 + MODELS.index(model))
    excess = -math.inf
    compared = 0
    for _ in range(CHOICES):
        s = round(log_uniform(1, 1e5)(rng))
        m = round(log_uniform(1, 1e6 / s + 1)(rng))
        n = float(round(log_uniform(4, 1e15)(rng)))
        sigma, radius = log_uniform(1e-10, 1e10, 1.0)(rng), log_uniform(1e-10, 1e10, 1.0)(rng)
        privacy = budget(model, rng)
        reach = s * math.log(2 * m) * rng.uniform(0.05, 0.6)
        choice = {
            "alpha": min(log_uniform(0.1, 1000)(rng) / n, 1.0),
            "height": sigma * log_uniform(1e-9, 10)(rng),
            "r": rng.uniform(0.02, 0.98),
            "b": math.log(2 * m) * rng.uniform(0.4, 1.1) + 0.01,
            "k": float(rng.integers(0, 20)),
            "reach": reach,
        }
        value = float(packing_formula(packing(kind, n, sigma, radius, m, s), privacy, choice))
        assert 0 <= value < math.inf
        if value > 1e-280 and compared < EXACT and n < 1e9:
            compared += 1
            with mpmath.workdps(50):
                numbers = (mpmath.mpf(x) for x in (n, sigma, radius))
                exact = packing_formula(packing(kind, *numbers, m, s), privacy, choice)
                excess = max(excess, float(mpmath.mpf(value) / exact - 1))
    assert compared == EXACT
    assert excess <= 1e-10  # a tenth of what a reported value is rounded by


def test_one_minus_a_chance_near_one_is_not_formed_by_subtraction() -> None:
    """The old way, 1 - T, gave up to 1e-16 where the truth is nothing at all, or much less."""
    privacy, room = Approximate(0.5, 0.3), 100.0
    assert float(failure(privacy, np.array([3.0]), np.array([room]))[0]) == 0.0
    deep = float(failure(Pure(1.0), np.array([60.0]), np.array([30.0]))[0])
    assert deep == pytest.approx(math.exp(-60.0) * (1 - math.exp(-30.0)), rel=1e-12)
    cancelled = 1 - float(Pure(60.0).tradeoff_log(-30.0))
    assert cancelled == 0.0  # the control: what subtraction makes of it


def test_publishing_one_record_is_not_refuted() -> None:
    """One record of four, chosen at random, is (0, 1/4)-DP and has risk at most 200."""
    point = {"n": 4.0, "d": 200.0, "sigma": 1.0, "radius": 1e10, "epsilon": 0.5, "delta": 0.3}
    assert dense_packing(Approximate).value(**point) <= 200.0


@pytest.mark.parametrize("seed", range(4))
def test_counts_keep_ten_digits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(12):
        n, p = round(log_uniform(1, 1e15)(rng)), log_uniform(1e-14, 1)(rng)
        mean, spread = n * p, math.sqrt(n * p * (1 - p) + 0.5)
        k = int(np.clip(round(mean + rng.normal() * rng.choice([1, 4, 12]) * spread), 0, n))
        with mpmath.workdps(50):
            binomial = binomial_cdf(k, n, mpmath.mpf(p))
            poisson = poisson_cdf(k, mpmath.mpf(mean))
        for ours, exact in (
            (float(binomial_cdf(k, n, p)), binomial),
            (float(poisson_cdf(k, mean)), poisson),
        ):
            if exact > 1e-90:
                assert ours == pytest.approx(float(exact), rel=1e-10)


def test_exact_counts_are_the_sums() -> None:
    with mpmath.workdps(50):
        p, third = mpmath.mpf("0.3"), mpmath.mpf(1) / 3
        for n, k in ((10, 3), (50, 20), (400, 100)):
            terms = [mpmath.binomial(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1)]
            assert abs(binomial_cdf(k, n, p) / mpmath.fsum(terms) - 1) < 1e-45
            mean = n * third
            counts = [mpmath.exp(-mean) * mean**j / mpmath.factorial(j) for j in range(k + 1)]
            assert abs(poisson_cdf(k, mean) / mpmath.fsum(counts) - 1) < 1e-45


def test_the_exact_integral_agrees_with_the_exact_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    from minimax.methods import counts

    places = [(10**7, 10**6 + z * 1000, 0.1) for z in (-9, -1, 2)]
    with mpmath.workdps(40):
        by_integral = [binomial_cdf(k, n, mpmath.mpf(p)) for n, k, p in places]
        monkeypatch.setattr(counts, "LONGEST_SUM", 10**6)
        by_sum = [binomial_cdf(k, n, mpmath.mpf(p)) for n, k, p in places]
        for first, second in zip(by_integral, by_sum, strict=True):
            assert abs(first / second - 1) < 1e-30
