"""Ingredients of the regression lower bounds against independent computations."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import sympy as sp
from scipy import integrate, optimize, special, stats

from minimax.core.calibration import repeated_noise
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.methods.concentration import largest_eigenvalue
from minimax.methods.couplings import RegressionPacking
from minimax.methods.packing import poisson_mode
from minimax.methods.priors import LogisticPrior, RegressionBlockPrior, RegressionPrior
from minimax.methods.tails import MIXTURE_TOP, MIXTURE_TURN
from minimax.methods.tracing import BOUNDED_PRODUCT, GAUSSIAN, GAUSSIAN_PRODUCT, gain
from minimax.methods.van_trees import ball_exponent, ball_information
from minimax.problems.logistic import lower as logistic
from minimax.problems.regression import lower as regression


@pytest.mark.parametrize("d", [1, 2, 3, 7, 20, 101, 1000])
def test_ball_prior_has_nearly_the_least_information(d: int) -> None:
    """4 j^2, j the first zero of J_{d/2-1}, is the least; another exponent is worse than ours."""
    order = mpmath.mpf(d) / 2 - 1
    guess = math.sqrt(ball_information(d, 1.0)) / 2
    grid = np.linspace(0.8 * guess, guess, 2000)
    first = grid[np.argmax(special.jv(d / 2 - 1, grid) <= 0)]  # it is positive before its zero
    least = 4 * float(mpmath.findroot(lambda z: mpmath.besselj(order, z), first)) ** 2
    assert least <= ball_information(d, 1.0) <= 1.06 * least

    def information(k: float) -> float:
        return 2 * d * k / (k - 1) * (d / 2 + k)

    best = optimize.minimize_scalar(information, bounds=(1.01, 10 + 2 * d), method="bounded")
    assert ball_information(d, 1.0) == pytest.approx(information(ball_exponent(d)))
    assert ball_information(d, 1.0) == pytest.approx(best.fun, rel=1e-6)


def test_ball_prior_sampler_has_its_moments() -> None:
    d, rng = 6, np.random.default_rng(5)
    draws = np.stack([RegressionPrior(d, 2.0, 1.0).draw(rng).target for _ in range(4000)])
    k = ball_exponent(d)
    squared = np.sum(draws**2, axis=1) / 4
    expected = (d / 2) / (d / 2 + k + 1)
    assert abs(squared.mean() - expected) < 5.5 * squared.std() / math.sqrt(len(squared))
    assert squared.max() < 1
    assert np.abs(draws.mean(axis=0)).max() < 5.5 * draws.std() / math.sqrt(len(draws))
    # A uniform draw from the ball would be told apart.
    assert abs(squared.mean() - d / (d + 2)) > 20 * squared.std() / math.sqrt(len(squared))


def test_instances_have_the_model_they_say() -> None:
    rng = np.random.default_rng(6)
    linear = RegressionPrior(5, 1.0, 0.3, support=3).draw(rng)
    assert np.all(linear.target[3:] == 0)
    X, y = linear.sample(40_000, rng)
    assert np.allclose(np.abs(X), 1 / math.sqrt(3))
    residual = y - X @ linear.target
    assert residual.std() == pytest.approx(0.3, rel=0.02)
    assert linear.loss(linear.target + 1.0) == pytest.approx(5 / 3)
    binary = LogisticPrior(4, 3.0).draw(rng)
    X, y = binary.sample(60_000, rng)
    scores = X.T @ (y - special.expit(X @ binary.target)) / len(y)
    assert np.abs(scores).max() < 5.5 * 0.25 / math.sqrt(len(y))
    flipped = X.T @ (y - special.expit(-X @ binary.target)) / len(y)
    assert np.abs(flipped).max() > 0.02
    spikes = RegressionBlockPrior(12, 3, 0.2, 1.0).draw(rng)
    assert np.array_equal(np.sort(np.abs(spikes.target))[-4:], [0, 0.2, 0.2, 0.2])


def test_mixture_constants() -> None:
    with mpmath.workdps(30):
        r = mpmath.findroot(lambda r: mpmath.npdf(r) - 2 * r * mpmath.ncdf(-r), 0.6)
        top = r * (mpmath.npdf(r) - r * mpmath.ncdf(-r))
    assert pytest.approx(float(r), rel=1e-14) == MIXTURE_TURN
    assert pytest.approx(float(top), rel=1e-14) == MIXTURE_TOP


@pytest.mark.parametrize("tail", [GAUSSIAN_PRODUCT, BOUNDED_PRODUCT], ids=lambda t: t.name)
@pytest.mark.parametrize("privacy", [Pure(0.3), Pure(5.0), Approximate(0.5, 1e-6)], ids=str)
def test_no_channel_gains_more(tail: object, privacy: object) -> None:
    """Given a release, the record's density ratio is best at two values with quotient e^eps; here
    A is a sum of signs times a Gaussian or a sign, as the tails say."""
    epsilon = privacy.epsilon  # type: ignore[attr-defined]
    rng = np.random.default_rng(7)
    W = rng.choice([-1.0, 1.0], (200_000, 6)) @ np.array([0.7, 0.5, 0.3, 0.3, 0.2, 0.1])
    W /= math.sqrt(np.mean(W**2))
    noise = rng.standard_normal(len(W))
    A = np.sort(W * (noise if tail is GAUSSIAN_PRODUCT else np.sign(noise)))[::-1]
    above = np.arange(1, len(A))  # records with the larger ratio
    tilted = np.cumsum(A)[:-1] * math.expm1(epsilon) / (len(A) + above * math.expm1(epsilon))
    assert tilted.max() <= gain(privacy, tail) * 1.01  # type: ignore[arg-type]
    assert tilted.max() >= gain(privacy, tail) / (1.5 if epsilon < 1 else 3)  # type: ignore[arg-type]
    if tail is GAUSSIAN_PRODUCT and epsilon < 0.99:
        assert gain(privacy, tail) == pytest.approx(gain(privacy, GAUSSIAN))  # type: ignore[arg-type]


def test_chi_square_gain_is_that_of_the_gaussian_mechanism() -> None:
    """chi^2 of N(mu, 1) against N(0, 1), by quadrature; a KL gain would be smaller and unproved."""
    mu = 0.7

    def integrand(x: float) -> float:
        return float(stats.norm.pdf(x, mu) ** 2 / stats.norm.pdf(x))

    chi_square = integrate.quad(integrand, -12, 14)[0] - 1
    assert gain(Gaussian(mu), GAUSSIAN_PRODUCT) == pytest.approx(math.sqrt(chi_square))
    rho = ZeroConcentrated(mu**2 / 2)
    assert gain(rho, BOUNDED_PRODUCT) == pytest.approx(math.sqrt(chi_square))
    assert gain(Gaussian(mu), GAUSSIAN_PRODUCT) > gain(Gaussian(mu), GAUSSIAN)
    assert gain(Gaussian(0.01), GAUSSIAN_PRODUCT) == pytest.approx(0.01, rel=1e-4)


@pytest.mark.parametrize("s", [1, 4, 9, 500, 501, 3000])
def test_coupling_chance_of_the_packing(s: int) -> None:
    """alpha(g) against simulation, above it but close; and height is its inverse from below."""
    packing = RegressionPacking(100, 1, s, 0.5, 1e9)
    W = (2 * np.random.default_rng(8).binomial(s, 0.5, 400_000) - s) / math.sqrt(s)
    for g in (0.01, 0.3, 2.0):
        exact = special.erf(g * np.abs(W) / (2 * math.sqrt(2) * 0.5))
        error = 6 * exact.std() / math.sqrt(len(W)) + 1e-9
        # The normal law costs its Wasserstein distance 1/sqrt(s) twice, times the slope.
        loss = 0.0 if s <= 500 else 4 * g / math.sqrt(2 * math.pi * s)
        assert exact.mean() - error <= packing.difference(g) <= exact.mean() + loss + error
    alphas = np.array([1e-100, 1e-6, 0.01, 0.3])
    heights = packing.height(alphas)
    assert np.all(packing.difference(heights) <= alphas * (1 + 1e-12))
    assert np.all(packing.difference(heights * 1.01) > alphas)


def test_eigenvalue_bound_holds_and_bernstein_is_its_relaxation() -> None:
    n, d, rng = 400, 8, np.random.default_rng(9)
    chance = 0.05
    level = largest_eigenvalue(n / d, n / d, 1.0, math.log(d / chance))
    sizes = []
    for _ in range(300):
        X = rng.choice([-1.0, 1.0], (n, d)) / math.sqrt(d)
        sizes.append(np.linalg.eigvalsh(X.T @ X)[-1])
    assert np.mean(np.array(sizes) > level) <= chance
    assert level < 2 * n / d
    relaxed = largest_eigenvalue(sp.Integer(n // d), n / d, 1.0, math.log(d / chance))
    assert level <= float(relaxed) <= 1.05 * level


def test_repeated_noise_composes_to_the_budget() -> None:
    tau = repeated_noise(ZeroConcentrated(0.2), 0.3, 7)
    assert 7 * 0.3**2 / (2 * tau**2) == pytest.approx(0.2)
    budget = Approximate(0.8, 1e-7)
    tau = repeated_noise(budget, 0.3, 7)
    assert Gaussian(math.sqrt(7) * 0.3 / tau).to_approximate(1e-7).epsilon == pytest.approx(0.8)
    assert repeated_noise(budget, 0.3, 7, "basic") > 1.5 * tau
    with pytest.raises(ValueError, match="composition"):
        repeated_noise(budget, 0.3, 7, "advanced")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="basic"):
        repeated_noise(ZeroConcentrated(1.0), 0.3, 7, "basic")


def test_logistic_information_is_never_above_a_quarter() -> None:
    """E p(1 - p) and E p(1 - p)(1 - 3 p(1 - p)), the two constants of the logistic proof."""
    p = special.expit(np.linspace(-8, 8, 4001))
    variance = p * (1 - p)
    assert variance.max() <= 0.25
    fourth = variance * (1 - 3 * variance)
    assert fourth.max() <= 1 / 12 + 1e-12
    assert fourth.max() > 1 / 12 - 1e-6
    assert np.allclose(fourth, p * (1 - p) ** 4 + (1 - p) * p**4)


@pytest.mark.parametrize(("d", "radius"), [(1, 3.0), (2, 5.0), (6, 2.0)])
def test_cubes_of_logistic_scores_add_up(d: int, radius: float) -> None:
    """s |s|^2 has a mean given beta, so that their sum grows like n, not like its root."""
    n, rng = 400, np.random.default_rng(3)
    beta = rng.standard_normal((2000, d))
    beta *= radius / np.linalg.norm(beta, axis=1, keepdims=True)
    sums = []
    for b in beta:
        x = rng.choice([-1.0, 1.0], (n, d)) / math.sqrt(d)
        chance = special.expit(x @ b)
        residual = (rng.random(n) < chance) - chance
        sums.append(float(np.sum((x.T @ residual**3) ** 2)))
    wobble = logistic.LogisticLeak(float(n), float(d), radius).moments(1.0).wobble
    mean, error = np.mean(sums), np.std(sums) / math.sqrt(len(sums))
    assert mean + 5 * error < n * wobble
    if d == 1:  # control: independent terms would have much less
        assert mean - 5 * error > 3 * n / 12


def test_small_budgets_make_the_prior_the_limit() -> None:
    """As the budget vanishes the bounds tend to a constant below the mean loss of releasing 0."""
    rng = np.random.default_rng(10)
    bound = regression.tracing(ZeroConcentrated)
    point = {"n": 500, "d": 10, "sigma": 0.2, "radius": 1.0, "rho": 1e-12}
    drawn = [bound.prior(**point).draw(rng) for _ in range(3000)]
    free = np.mean([one.loss(np.zeros(10)) for one in drawn])
    assert 0.3 * free < bound.value(**point) <= free
    bound = logistic.tracing(Pure)
    point = {"n": 500, "d": 10, "radius": 3.0, "epsilon": 1e-8}
    drawn_binary = [bound.prior(**point).draw(rng) for _ in range(3000)]
    free = np.mean([one.loss(np.zeros(10)) for one in drawn_binary])
    assert 0.3 * free < bound.value(**point) <= free


@pytest.mark.parametrize(("epsilon", "g"), [(5.0, 1.0), (5.0, 1.35), (8.0, 1.35)])
def test_packing_with_a_random_common_law(epsilon: float, g: float) -> None:
    """Randomised response on sign(sum x_i y_i), n = 4, one coefficient +-g: its success is within
    the general form of `packing_bound`, and above the form for a fixed common law."""
    n = 4
    success = float(stats.norm.cdf(math.sqrt(n) * g))  # sum of n N(g, 1)
    keep = float(special.expit(epsilon))
    success = keep * success + (1 - keep) * (1 - success)
    alpha = float(RegressionPacking(n, 1, 1, 1.0, 1e9).difference(g))
    k = np.arange(n + 1)
    weights, below = stats.binom.pmf(k, n, alpha), stats.binom.cdf(k, n, alpha)

    def reached(size: int, q: float) -> float:
        return float(Pure(max(size, 1e-12) * epsilon).tradeoff_log(math.log(min(q, 1.0))))

    fixed = sum(w * reached(i, 0.5) for i, w in zip(k, weights, strict=True))
    general = 1 - max(c * (1 - reached(i, 0.5 / c)) for i, c in zip(k, below, strict=True))
    assert fixed < success <= general + 1e-12


@pytest.mark.parametrize("s", [1, 4, 500, 501, 3000])
def test_intensity_of_the_differences(s: int) -> None:
    """Mean and deviation of sum_i (log p_0/p_v)^+ against simulation: exact up to s = 500, then
    above it."""
    n, sigma, rng = 30, 0.5, np.random.default_rng(11)
    packing = RegressionPacking(n, 1, s, sigma, 1e9)
    W = (2 * rng.binomial(s, 0.5, 400_000) - s) / math.sqrt(s)
    y = sigma * rng.standard_normal(len(W))
    for alpha in (1e-3, 0.1, 0.6):
        g = float(packing.height(np.array([alpha]))[0])
        ratio = stats.norm.logpdf(y, 0, sigma) - stats.norm.logpdf(y, g * W, sigma)
        ratio = np.maximum(ratio, 0.0)
        coupled = packing.coupling(alpha, g)
        mean, deviation = float(coupled.mean), float(coupled.deviation)
        error = 6 / math.sqrt(len(W))
        assert mean >= n * (ratio.mean() - error * ratio.std())
        assert deviation >= math.sqrt(n) * ratio.std() * (1 - 3 * error)
        if s <= 500:
            assert mean <= n * (ratio.mean() + error * ratio.std())
            assert deviation <= math.sqrt(n) * ratio.std() * (1 + 3 * error)
        elif alpha < 0.01:
            assert mean <= 1.1 * n * ratio.mean()


@pytest.mark.parametrize(("n", "g", "epsilon", "q"), [(50, 0.4, 0.5, 0.01), (200, 0.1, 0.5, 0.01)])
def test_packing_whatever_the_release_knows(n: int, g: float, epsilon: float, q: float) -> None:
    """The largest success over *all* chances p(common data) of mean q, from the exact law of the
    number of changed records given the data (a Lagrangian over 2000 data sets): between the form
    for a fixed common law and the Poisson form of `packing_bound`."""
    packing = RegressionPacking(n, 1, 1, 1.0, 1e9)
    alpha = float(packing.difference(g))
    ratio = g**2 / 2 - g * np.random.default_rng(12).standard_normal((2000, n))
    changed = -np.expm1(-np.maximum(ratio, 0.0))
    given_data = np.zeros((2000, n + 1))
    given_data[:, 0] = 1
    for chance in changed.T[:, :, None]:
        given_data[:, 1:] = given_data[:, 1:] * (1 - chance) + given_data[:, :-1] * chance
        given_data[:, :1] *= 1 - chance
    k = np.arange(n + 1)
    below, total = np.cumsum(given_data, axis=1), np.maximum(ratio, 0.0).sum(axis=1)[:, None]
    assert np.all(below >= stats.poisson.cdf(k, total) - 1e-12)
    assert np.any(below < stats.poisson.cdf(k, changed.sum(axis=1)[:, None]) - 1e-3)

    guesses = np.geomspace(1e-9, 1.0, 300)

    def reached(chances: np.ndarray) -> np.ndarray:
        later = [Pure(i * epsilon).tradeoff_log(np.log(chances)) for i in k[1:]]
        return np.stack([chances, *later])

    gained = given_data @ reached(guesses)
    prices = np.geomspace(1e-2, 1e4, 200)
    best = min(float(np.mean(np.max(gained - x * guesses, axis=1))) + x * q for x in prices)
    at_q = reached(np.array([q]))[:, 0]
    coupled = packing.coupling(alpha, float(packing.height(np.array([alpha]))[0]))
    mean, deviation = float(coupled.mean), float(coupled.deviation)
    poisson = stats.poisson.pmf(k, mean) @ at_q + stats.poisson.sf(n, mean)
    proved = poisson + deviation / 2 * stats.poisson.pmf(math.floor(mean), mean)
    assert stats.binom.pmf(k, n, alpha) @ at_q < best <= proved < 0.95


def test_more_records_move_a_poisson_law_by_at_most_its_mode() -> None:
    """P(Poisson(x) >= k) grows with slope at most the largest probability, which it has at the
    mean; Stirling's bound on that is within 1/(12 k)."""
    means = np.array([0.3, 1.0, 3.7, 20.0, 400.0])
    mode = np.array([stats.poisson.pmf(np.arange(900), m).max() for m in means])
    bound = poisson_mode(means)
    assert np.all(mode <= bound)
    assert np.all(
        bound[1:] * (1 - 1 / (11 * np.floor(means[1:])))
        <= stats.poisson.pmf(np.floor(means[1:]), np.floor(means[1:]))
    )
    for m, most in zip(means, mode, strict=True):
        for step in (1e-3, 0.5, 5.0):
            k = np.arange(900)
            growth = (stats.poisson.sf(k - 1, m + step) - stats.poisson.sf(k - 1, m)) / step
            assert growth.max() <= most * (1 + 1e-9)
            assert step > 1e-3 or growth.max() > 0.99 * most


def test_leaks_by_hand() -> None:
    """The second moments of the scores, from their formulas with the constants written out."""
    n, d, sigma, a, t = 1000.0, 10.0, 0.5, 2.0, 30.0
    plain = regression.RegressionLeak(n, d, sigma, a).moments(t)
    b2, rare = 2 * (math.log(n) + t), (2 * math.exp(-t)) ** (7 / 8)
    expected = _bennett(n / d, 3 * n / d, b2, math.log(d) + t) / sigma**2
    assert plain.slope**2 == pytest.approx(expected)
    reached = 3 * (2 * a) ** 2 / sigma**2 * rare
    assert plain.tail == pytest.approx(reached * (2 * (n + 7) + (n + 15) ** 2))
    assert plain[2:] == pytest.approx((3 / sigma**4, 6 / sigma**6))
    weighted = regression.RegressionLeak(n, d, sigma, a, weighted=True).moments(t)
    first = math.sqrt(2 / math.pi)
    expected = _bennett(first * n / d, n / d, math.sqrt(b2), math.log(d) + t) / sigma**2
    assert weighted.slope**2 == pytest.approx(expected)
    by_hoelder = math.sqrt(n) * (2 * (n + 3) ** 0.5 + (n + 11) ** 1.5)
    assert weighted.tail == pytest.approx(reached * by_hoelder)
    assert weighted[2:] == pytest.approx((2 * first / sigma**4, (3 - 4 * first**2) / sigma**6))
    slope, tail, fourth, wobble = logistic.LogisticLeak(n, d, a).moments(t)
    assert slope**2 == pytest.approx(_bennett(n / (4 * d), n / (12 * d), 1.0, math.log(d) + t))
    assert tail == pytest.approx(3 * (2 * a) ** 2 * n * math.exp(-t) * (2 + n**2 / (n / 4)))
    assert (fourth, wobble) == pytest.approx((1 / 12, 1 / 12 + (n - 1) / (108 * d)))


def _bennett(mean: float, variance: float, largest: float, x: float) -> float:
    """By root finding, where the code uses Lambert's function."""

    def rate(u: float) -> float:
        return (1 + u) * math.log1p(u) - u - x * largest**2 / variance

    return mean + variance / largest * float(optimize.brentq(rate, 1e-12, 1e9, xtol=1e-12))


@pytest.mark.parametrize("s", [501, 4001])
def test_normal_bound_of_the_coupling_is_above_the_exact_sum(s: int) -> None:
    packing = RegressionPacking(10, 1, s, 1.0, 1e9)
    ups = np.arange(s + 1)
    W = np.abs(2 * ups - s) / math.sqrt(s)
    for g in (1e-3, 0.1, 1.0, 4.0):
        exact = special.erf(g * W / math.sqrt(8)) @ stats.binom.pmf(ups, s, 0.5)
        assert exact <= packing.difference(g)
        normal = 2 / math.pi * math.atan(g / 2)
        assert packing.difference(g) - normal <= g / math.sqrt(2 * math.pi * s) + 1e-15
        assert packing.difference(g) == pytest.approx(
            min(normal + g / math.sqrt(2 * math.pi * s), special.erf(g / math.sqrt(8)))
        )
