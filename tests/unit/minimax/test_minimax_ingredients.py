"""The lemmas behind the bounds, each with a witness that it is sharp or a brute-force check."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from minimax.core.bound import Terms
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.methods import tracing
from minimax.methods.blocks import block_exponent, free_exponent, log_guess_probability
from minimax.methods.counts import binomial_cdf
from minimax.methods.couplings import BlockPacking, Packing, kearns_saul
from minimax.methods.packing import packing_formula, packing_search
from minimax.methods.priors import CosinePrior, SignPrior
from minimax.methods.van_trees import cosine_information, sign_bayes_risk
from minimax.problems.bounded_mean import diluted
from minimax.problems.bounded_mean import lower as bounded_mean

pytestmark = pytest.mark.oldest


def test_cosine_prior_has_the_stated_information_and_law() -> None:
    a = 0.7

    def density(t: float) -> float:
        return math.cos(math.pi * t / (2 * a)) ** 2 / a

    def score_squared(t: float) -> float:
        return (math.pi / a * math.tan(math.pi * t / (2 * a))) ** 2 * density(t)

    assert integrate.quad(density, -a, a)[0] == pytest.approx(1)
    assert integrate.quad(score_squared, -a, a)[0] == pytest.approx(cosine_information(1, a))
    draws = CosinePrior(50_000, a, 1.0).draw(np.random.default_rng(0)).target

    def cdf(t: np.ndarray) -> np.ndarray:
        return (t + a) / (2 * a) + np.sin(np.pi * t / a) / (2 * np.pi)

    assert stats.kstest(draws, cdf).pvalue > 1e-6
    assert stats.kstest(draws, stats.uniform(-a, 2 * a).cdf).pvalue < 1e-6


@pytest.mark.parametrize(("n", "u"), [(1, 0.7), (5, 2.0), (12, math.sqrt(12))])
def test_sign_bayes_risk_is_exact(n: int, u: float) -> None:
    # Posterior variance of p = 2 theta - 1, theta ~ Beta(u/2 + k, u/2 + n - k), summed over k.
    risk = mpmath.mpf(0)
    for k in range(n + 1):
        weight = mpmath.binomial(n, k) * mpmath.beta(u / 2 + k, u / 2 + n - k)
        weight /= mpmath.beta(u / 2, u / 2)
        a, b = u / 2 + k, u / 2 + n - k
        risk += weight * 4 * a * b / ((a + b) ** 2 * (a + b + 1))
    assert sign_bayes_risk(n, u) == pytest.approx(float(risk), rel=1e-12)


def test_sign_prior_second_moment() -> None:
    u = 3.0
    p = SignPrior(200_000, 2.0, u).draw(np.random.default_rng(1)).target / 2
    error = 6 * np.std(p**2) / math.sqrt(len(p))
    assert np.mean(p**2) == pytest.approx(1 / (u + 1), abs=error)


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_moment_bound_covers_the_worst_finite_pair(epsilon: float, delta: float) -> None:
    """Linear programming over all (eps, delta)-close P for a fixed symmetric discrete Q."""
    from scipy.optimize import linprog

    score = np.linspace(-2.5, 2.5, 11)
    q = stats.norm.pdf(score)
    q /= q.sum()
    k = len(q)
    # Variables: p, and slacks for (p - e^eps q)^+ and (q - e^eps p)^+ with total mass <= delta.
    grow = math.exp(epsilon)
    eye, zero = np.eye(k), np.zeros((k, k))
    A_ub = np.vstack(
        [
            np.hstack([eye, -eye, zero]),
            np.hstack([-grow * eye, zero, -eye]),
            np.hstack([np.zeros(k), np.ones(k), np.zeros(k)])[None],
            np.hstack([np.zeros(k), np.zeros(k), np.ones(k)])[None],
        ]
    )
    b_ub = np.concatenate([grow * q, -q, [delta, delta]])
    A_eq = np.hstack([np.ones(k), np.zeros(2 * k)])[None]
    worst = linprog(np.concatenate([-score, np.zeros(2 * k)]), A_ub, b_ub, A_eq, [1.0])
    p = worst.x[:k]
    mean_abs = float(q @ np.abs(score))
    rms_member = math.sqrt(float(p @ np.maximum(score, 0) ** 2))
    rms_outsider = math.sqrt(float(q @ np.maximum(-score, 0) ** 2))
    bound = tracing.moment_bound(epsilon, delta, mean_abs, rms_member, rms_outsider)
    assert -worst.fun <= bound
    # Control: without its delta terms the bound is beaten when delta matters.
    if delta > 1e-3 and epsilon < 0.5:
        assert -worst.fun > tracing.moment_bound(epsilon, 0.0, mean_abs, 0, 0)


def test_gain_limits() -> None:
    assert tracing.gain(Gaussian(0.3), tracing.GAUSSIAN) == 0.3
    assert tracing.gain(ZeroConcentrated(0.02), tracing.SUBGAUSSIAN) == pytest.approx(0.2)
    tiny = tracing.gain(Approximate(0.5, 1e-30), tracing.GAUSSIAN)
    assert tiny == pytest.approx(tracing.gain(Pure(0.5), tracing.GAUSSIAN), rel=1e-6)
    huge = tracing.gain(Pure(500.0), tracing.GAUSSIAN)
    assert 25 < huge <= math.sqrt(1000.0)


@pytest.mark.parametrize("m", [1, 2, 3, 10, 1000])
def test_block_exponent_is_the_supremum_over_all_guesses(m: int) -> None:
    rng = np.random.default_rng(2)
    size = min(m, 50)
    for b in (0.3, 0.8, 2.0, math.log(2 * m) + 0.3):
        h = float(block_exponent(b, m)[0])
        guesses = rng.normal(size=(4000, size)) * rng.choice([0.0, 0.3, 1.0], size=(4000, size))
        mean_cosh = (np.cosh(2 * b * guesses).sum(axis=1) + m - size) / m
        assert np.max(-b * np.sum(guesses**2, axis=1) + np.log(mean_cosh)) <= h + 1e-12
        spike = np.linspace(0, 1, 2001)
        reached = np.max(-b * spike**2 + np.log((m - 1 + np.cosh(2 * b * spike)) / m))
        assert h == pytest.approx(reached, abs=1e-5)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 20, 1000, 10**9])
def test_free_exponent_lies_between_its_bounds(m: int) -> None:
    b = free_exponent(m)
    assert math.log(2 * m) / 2 <= b <= math.log(2 * m)
    assert block_exponent(b * (1 - 1e-6), m)[0] < 1e-12
    assert block_exponent(b * 1.05, m)[0] > 1e-6


@pytest.mark.parametrize("alpha", [1e-4, 0.03, 0.3, 0.5])
def test_kearns_saul_bounds_the_bernoulli_moment_function(alpha: float) -> None:
    v = float(kearns_saul(alpha))

    def log_moment(t: np.ndarray) -> np.ndarray:
        return np.logaddexp(np.log1p(-alpha) - alpha * t, np.log(alpha) + (1 - alpha) * t)

    t = np.linspace(-40, 40, 4001)
    assert np.all(log_moment(t) <= v * t**2 / 2 + 1e-12)
    touching = 2 * math.log((1 - alpha) / alpha)
    assert log_moment(np.float64(touching)) == pytest.approx(v * touching**2 / 2, abs=1e-12)


def test_guess_probability_covers_the_best_constant_guess() -> None:
    """m = 2, s = 3: enumerate all spikes and random guesses; the bound holds for every radius."""
    m, s = 2, 3
    rng = np.random.default_rng(3)
    places = np.stack(np.meshgrid(*[np.arange(2 * m)] * s), -1).reshape(-1, s)
    spikes = np.zeros((len(places), s, m))
    for row, choice in enumerate(places):
        spikes[row, np.arange(s), choice % m] = np.where(choice < m, 1.0, -1.0)
    radii = np.array([0.1, 0.3, 0.6])
    bound = np.exp(-log_guess_probability(m, s, radii))
    guesses = [spikes[0], 0.5 * spikes[0], *rng.uniform(-1, 1, (300, s, m))]
    for u in guesses:
        close = np.sum((spikes - u) ** 2, axis=(1, 2))
        for r, limit in zip(radii, bound, strict=True):
            assert np.mean(close < r * s) <= limit + 1e-12
    assert bound[0] < 1  # it says something


def packing_bound(packing: Packing, privacy: Pure | Approximate) -> float:
    return float(packing_formula(packing, privacy, packing_search(packing, privacy)))


def test_packing_bound_takes_dimensions_beyond_floating_point() -> None:
    privacy = Approximate(1e-3, 1e-20)
    small = packing_bound(BlockPacking(10**10, 2**1000, 1, 1.0, 1.0, "sub-Gaussian"), privacy)
    large = packing_bound(BlockPacking(10**10, 2**1_000_000, 1, 1.0, 1.0, "sub-Gaussian"), privacy)
    assert 0 < small <= large < 1.2 * small  # it stops at log(eps/delta)
    pure = Pure(1e-3)
    a = packing_bound(BlockPacking(10**10, 2**1000, 1, 1.0, 1.0, "bounded"), pure)
    b = packing_bound(BlockPacking(10**10, 2**100_000, 1, 1.0, 1.0, "bounded"), pure)
    assert b / a == pytest.approx(1e4, rel=0.5)  # without delta it goes on like (log d)^2


def summed_cdf(k: int, n: int, p: float) -> float:
    """P(K <= k) by adding the terms, from the largest down, at 50 digits."""
    with mpmath.workdps(50):
        logs = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)
        term = mpmath.exp(logs + k * mpmath.log(p) + (n - k) * mpmath.log1p(-mpmath.mpf(p)))
        total = term
        for j in range(k, 0, -1):
            term *= mpmath.mpf(j) / (n - j + 1) * (1 - mpmath.mpf(p)) / p
            total += term
        return float(total)


@pytest.mark.parametrize("n", [60, 10**6, 2 * 10**9, 2071301177, 2**31 - 1, 2**31, 10**15])
def test_binomial_cdf_is_the_sum_of_its_terms(n: int) -> None:
    for mean in (0.01, 3.0, 40.0, 737.0):
        if mean < n:
            k = np.unique(np.round(mean + np.array([-8, -3, -1, 0, 1, 3]) * math.sqrt(mean)))
            k = np.append(k[k >= 0], min(38, n - 1))
            exact = np.array([summed_cdf(int(j), n, mean / n) for j in k])
            assert np.abs(binomial_cdf(k, n, mean / n) - exact).max() < 1e-10


def test_binomial_cdf_at_its_ends() -> None:
    assert binomial_cdf([0, 4, 5], 5, 1.0).tolist() == [0, 0, 1]
    assert binomial_cdf([0, 1e15 - 1, 1e15], 1e15, 1.0).tolist() == [0, 0, 1]
    assert binomial_cdf(38, 2e9, 737 / 2e9) == 0 == binomial_cdf(0, 1e15, 0.5)
    assert binomial_cdf(0, 1e15, 1e-300) == 1
    counts, chances = np.arange(9)[:, None], np.linspace(0.01, 0.99, 7)
    assert binomial_cdf(counts, 8, chances) == pytest.approx(
        stats.binom.cdf(counts, 8, chances), abs=1e-14
    )


def test_dilution_does_not_break_where_the_sample_size_fills_an_integer() -> None:
    # The value is smooth in n: n^2 times it changes by as little as n does.
    bound, rest = diluted.dilution(Approximate), {"d": 1e7, "epsilon": 0.01, "delta": 2.33e-19}
    sizes = np.array([1.9e9, 2e9, 2071301177, 2**31 - 1, 2**31 + 1, 2.3e9])
    values = [bound.value(n=n, sigma=1, radius=1, **rest) for n in sizes]
    assert np.diff(values).max() < 0
    assert np.ptp(values * sizes**2) < 1e-2 * np.max(values * sizes**2)
    assert 0 < bound.value(n=1e15, sigma=1, radius=1, **rest) < 1e-10


@pytest.mark.parametrize("model", [Pure, Approximate, ZeroConcentrated, Gaussian])
def test_a_packing_bound_is_finite_at_every_sample_size(model: type) -> None:
    numbers = {Approximate: (0.01, 1e-12)}.get(model, (0.01,))
    values = [
        packing_bound(BlockPacking(n, 10**5, 40, 1.0, 1.0, "bounded"), model(*numbers))
        for n in (10**9, 2 * 10**9, 2**31 - 1, 2**31, 10**12, 10**15)
    ]
    assert np.isfinite(values).all()
    assert np.diff(values).max() < 0 < min(values)


@pytest.mark.parametrize("total", [math.nan, math.inf])
def test_a_bound_refuses_what_is_not_a_number(total: float) -> None:
    bound = bounded_mean.statistical_signs()
    broken = replace(bound, formula=lambda point, found: Terms(total, None))
    assert bound.value(n=9, d=16, sigma=1) == pytest.approx(1)
    with pytest.raises(ValueError, match=rf"sign data: the value at n=9, .* is {total}"):
        broken.value(n=9, d=16, sigma=1)


@pytest.mark.parametrize("name", ["n", "d"])
def test_a_count_below_one_is_refused(name: str) -> None:
    from minimax.problems.bounded_mean.lower import statistical_signs

    point = {"n": 10.0, "d": 5.0, "sigma": 1.0}
    assert statistical_signs().value(**point) > 0
    with pytest.raises(ValueError, match=f"{name} must be at least 1"):
        statistical_signs().value(**{**point, name: 0.5})
