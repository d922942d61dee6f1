"""Symmetric scores: the contraction of signs, tracing in van Trees form, sign data, the cells."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from minimax.methods.antipodal_gain import average_pair_gain, pointwise_pair_gain
from minimax.methods.resampled_sign import concentrated_contraction, sign_contraction
from minimax.methods.score_model import ScoreModel, SecondMoments
from minimax.problems.bounded_mean import uniform_part
from minimax.problems.bounded_mean.lower import tracing_signs_additive
from minimax.problems.mean import lower as mean
from minimax.problems.regression import lower as regression

Array = np.ndarray
ORDERS = np.concatenate([1 + np.geomspace(1e-4, 1, 30), np.geomspace(2.1, 200, 40)])


CONCENTRATED = [
    (ZeroConcentrated, lambda rho: {"rho": rho}),
    (Gaussian, lambda rho: {"mu": (2 * rho) ** 0.5}),
]


def contraction(q: Array, other: Array) -> float:
    """E_p tanh^2 u = (1/2) sum (q - q')^2/(q + q')."""
    return float(0.5 * np.sum((q - other) ** 2 / (q + other)))


def concentration(channel: Array) -> float:
    """The least rho (on a grid of orders) for which all rows are pairwise rho-zCDP."""
    logs = np.log(channel)
    worst = 0.0
    for a, b in product(range(len(logs)), repeat=2):
        if a != b:
            powers = ORDERS[:, None] * logs[a] + (1 - ORDERS[:, None]) * logs[b]
            divergences = special.logsumexp(powers, axis=1) / (ORDERS - 1)
            worst = max(worst, float(np.max(divergences / ORDERS)))
    return worst


def random_channel(rng: np.random.Generator, pairs: int, outputs: int) -> Array:
    """Rows 2k and 2k + 1 are an antipodal pair."""
    logs = rng.normal(size=(2 * pairs, outputs)) * math.exp(rng.uniform(-5, 0.7))
    logs += rng.normal(size=outputs)
    return np.asarray(special.softmax(logs, axis=1))


# --- The contraction of signs --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_no_channel_exceeds_its_contraction(seed: int) -> None:
    """60 channels a seed: zCDP, pure and (eps, delta) of each as small as it can be."""
    rng = np.random.default_rng(seed)
    largest = 0.0
    for _ in range(60):
        q, other = random_channel(rng, 1, int(rng.integers(2, 6)))
        found = contraction(q, other)
        rho = concentration(np.stack([q, other]))
        worst = float(np.max(np.abs(np.log(q / other))))
        epsilon = worst * rng.uniform(0.1, 1)
        delta = max(
            float(np.sum(np.maximum(a - math.exp(epsilon) * b, 0)))
            for a, b in ((q, other), (other, q))
        )
        budgets: list[Privacy] = [ZeroConcentrated(rho), Pure(worst)]
        budgets += [Approximate(epsilon, delta)] if 0 < delta < 1 else []
        for privacy in budgets:
            bound = float(sign_contraction(type(privacy), privacy.parameters))
            assert found <= bound * (1 + 1e-9), privacy
            largest = max(largest, found / bound)
    assert largest > 0.9  # the control: nine tenths of the bound are not enough


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0, 6.0])
def test_randomised_response_attains_it(epsilon: float) -> None:
    kept = math.exp(epsilon) / (1 + math.exp(epsilon))
    q, other = np.array([kept, 1 - kept]), np.array([1 - kept, kept])
    rho = epsilon * math.tanh(epsilon / 2)
    assert concentration(np.stack([q, other])) <= rho * (1 + 1e-9)
    for model, point in ((Pure, {"epsilon": epsilon}), (ZeroConcentrated, {"rho": rho})):
        assert sign_contraction(model, point) == pytest.approx(contraction(q, other), rel=1e-10)
    delta = 0.03
    revealed = [delta * np.array([1.0, 0.0]), delta * np.array([0.0, 1.0])]
    q, other = (
        np.concatenate([r, (1 - delta) * p]) + 1e-300
        for r, p in zip(revealed, (q, other), strict=True)
    )
    point = {"epsilon": epsilon, "delta": delta}
    assert sign_contraction(Approximate, point) == pytest.approx(contraction(q, other), rel=1e-10)


@pytest.mark.parametrize("mu", [1e-6, 0.05, 1.0, 2.0, 3.0, 7.9])
def test_the_gaussian_mechanism_attains_it(mu: float) -> None:
    with mpmath.workdps(30):
        exact = mpmath.quad(
            lambda z: mpmath.npdf(z) * mpmath.tanh(mu * (z + mu / 2) / 2) ** 2,
            [-14, -7, -3, -1, 0, 1, 3, 7, 14],
        )
    value = sign_contraction(Gaussian, {"mu": mu})
    assert value == pytest.approx(float(exact), rel=1e-12)
    assert value <= sign_contraction(ZeroConcentrated, {"rho": mu**2 / 2})
    rng = np.random.default_rng(1)
    for _ in range(20):  # post-processing: bins, and any merging of them
        cuts = np.sort(rng.normal(mu / 2, 1.5, size=rng.integers(1, 8)))
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        q, other = np.diff(stats.norm.cdf(edges)), np.diff(stats.norm.cdf(edges - mu))
        merge = rng.dirichlet(np.ones(3), size=len(q))
        assert contraction(q @ merge, other @ merge) <= value * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_scores_of_random_channels_stay_below_every_route(seed: int) -> None:
    """60 channels a seed, with the best V and a random one: the average, the pair, the sign."""
    rng = np.random.default_rng(100 + seed)
    used = 0.0
    for _ in range(60):
        pairs, d, outputs = (int(rng.integers(1, 4)) for _ in range(3))
        channel = random_channel(rng, pairs, outputs + 1)
        half = rng.normal(size=(pairs, d))
        y = np.repeat(half, 2, axis=0)
        y[1::2] *= -1
        rows = len(y)
        covariance = y.T @ y / rows
        if np.linalg.matrix_rank(covariance) < d:
            continue
        y = y @ np.linalg.inv(np.linalg.cholesky(covariance)).T
        point, m = {"rho": concentration(channel)}, channel.mean(axis=0)
        weights = np.repeat(rng.uniform(0.2, 2, pairs), 2)
        best = (channel.T @ y / rows) / m[:, None]
        for V in (best, rng.normal(size=best.shape)):
            traced = abs(float(np.sum(channel * (y @ V.T)) / rows))
            size = math.sqrt(float(m @ np.sum(V**2, axis=1)))
            if d == 1 and pairs == 1:  # a sign: the average gain holds, sub-Gaussian as well
                assert traced <= average_pair_gain(ZeroConcentrated, point) * size * (1 + 1e-9)
            S = np.einsum("z,zi,zj->ij", m, V, V)
            along = np.sqrt(np.einsum("ki,ij,kj->k", y, S, y)).mean()
            assert traced <= pointwise_pair_gain(ZeroConcentrated, point) * along * (1 + 1e-9)
            squares = np.sum(channel * (y @ V.T) ** 2 / weights[:, None]) / rows
            T2 = float(sign_contraction(ZeroConcentrated, point))
            by_sign = math.sqrt(T2 * weights.mean() * squares)
            assert traced <= by_sign * (1 + 1e-9)
            used = max(used, traced / by_sign)
    assert used > math.sqrt(0.5)  # the control: with T^2 halved this would be broken


# --- Tracing in the form of van Trees ------------------------------------------------------------


class FixedMoments:
    """A leak whose moments are given."""

    def __init__(self, moments: SecondMoments) -> None:
        self.given = moments

    def moments(self, t: float) -> SecondMoments:
        return self.given

    def closed_form_t(self) -> float:
        return 1.0


def least_risk(model: ScoreModel, G: float) -> float:
    """The least D^2/I + x^2/J + nu^2 that the proof's inequality leaves, by brute force."""
    I, w = model.n * model.information, model.n * G * model.spread
    moments = model.leak.moments(1.0) if model.leak else SecondMoments(0.0, 0.0, 0.0, 0.0)
    s = math.sqrt(model.n * model.leak_square)

    def gap(nu: float, D: float) -> float:
        kappa = D / I
        Y = moments.slope**2 * nu**2 + moments.tail + kappa**2 * model.n * moments.fourth
        Y += 2 * kappa * math.sqrt(model.n * moments.wobble) * nu
        own = (1 if model.exact else 2) * D**2 / (model.n * I)
        return w * math.sqrt(nu**2 + own) + s * math.sqrt(Y) - D

    def risk(D: float) -> float:
        nu = 0.0
        if gap(0.0, D) < 0:
            nu = optimize.brentq(gap, 0.0, 1e3 * D / (w + s * moments.slope), args=(D,), rtol=1e-13)
        return D**2 / I + (model.signal - D) ** 2 / model.prior + nu**2

    found = optimize.minimize_scalar(
        risk, bounds=(0, model.signal), method="bounded", options={"xatol": 1e-10}
    )
    return float(found.fun)


@pytest.mark.parametrize("seed", range(3))
def test_the_statement_is_what_the_inequality_leaves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        n, d = float(rng.integers(2, 1000)), float(rng.integers(1, 50))
        G = math.exp(rng.uniform(-6, 0.5))
        plain = ScoreModel(n, d, d * rng.uniform(0.2, 3), 1.0, d * math.exp(rng.uniform(-2, 5)))
        least = least_risk(plain, G)
        assert sum(plain.proved(G, {})) == pytest.approx(least, rel=1e-6)
        moments = SecondMoments(math.sqrt(n) + 1, 0.0, d * (d + 2), 2 * d * (d + 2))
        for gain in (G, 0.0):
            leaked = ScoreModel(
                n, d, d, 1.0, plain.prior, leak_square=G**2 / 3, leak=FixedMoments(moments)
            )
            least, found = least_risk(leaked, gain), sum(leaked.proved(gain, {"t": 1.0}))
            assert found <= least * (1 + 1e-9)
            assert found >= least * (1 - 1e-6)


def test_a_tail_is_subtracted() -> None:
    moments = SecondMoments(11.0, 0.0, 24.0, 48.0)
    for gain, share in ((0.0, 1.0), (0.05, 0.7)):  # all of it if there is nothing but the leak
        plain, tailed = (
            ScoreModel(100.0, 4.0, 4.0, 1.0, 3.0, leak_square=0.01, leak=FixedMoments(given))
            for given in (moments, moments._replace(tail=0.05))
        )
        lost = plain.proved(gain, {"t": 1.0})[1] - tailed.proved(gain, {"t": 1.0})[1]
        assert lost == pytest.approx(share * 0.05 / 121, rel=0.03)
        assert sum(tailed.proved(gain, {"t": 1.0})) <= least_risk(tailed, gain)


# --- Sign data -----------------------------------------------------------------------------------


def test_the_fair_part_has_the_score_as_its_mean() -> None:
    """E[(1 + |p|) 1(fair) b | b] = b - p, and what is said of the weighted score."""
    for p in np.linspace(-0.95, 0.95, 39):
        t, sign = abs(p), math.copysign(1, p)
        fair_given = {sign: (1 - t) / (1 + t), -sign: 1.0}
        for b in (-1.0, 1.0):
            assert (1 + t) * fair_given[b] * b == pytest.approx(b - p)
    t = np.linspace(0, 1, 2001)
    assert np.all((1 - t) * (1 + t / 2) ** 2 <= 1)
    assert np.all((1 + t / 2) ** 4 * (1 - t) <= 1.25)
    assert np.all((1 + t / 2) ** 2 * (1 - t) / (1 + t) <= 1)
    assert np.all((1 + t / 2) ** 4 * (1 - t) * (1 + t**2) / (1 + t) ** 2 <= 1)
    assert (1 - t[667]) * (1 + t[667]) ** 2 == pytest.approx(32 / 27, rel=1e-5)  # without weights


@pytest.mark.parametrize("u", [2.0, 3.0, 10.0, 200.0])
def test_the_moments_of_the_weighted_scores(u: float) -> None:
    def mean_of(f) -> float:
        top = integrate.quad(lambda p: f(p) * (1 - p**2) ** (u / 2 - 1), 0, 1, limit=200)[0]
        return top / integrate.quad(lambda p: (1 - p**2) ** (u / 2 - 1), 0, 1)[0]

    def drift(t: float) -> float:
        return (u - 2) * t * (1 + t / 2) / (1 + t) + 0.5 + t

    model = uniform_part.weighted_scores(10.0, 1.0, u)
    signal = mean_of(lambda t: (1 - t) * (1 + t / 2))
    information = mean_of(lambda t: (1 - t) * (1 + t / 2) ** 2 / (1 + t))
    prior = mean_of(lambda t: drift(t) ** 2)
    assert signal * 0.99 <= model.signal <= signal * (1 + 1e-9)
    assert information * (1 - 1e-9) <= model.information <= information * 1.07
    assert prior * (1 - 1e-9) <= model.prior <= prior * 1.07


def test_the_fair_part_by_simulation() -> None:
    """sum_i E s_i (m - p) + E r (m - p) = E B for an estimator that is not the truth."""
    rng, u, n, trials = np.random.default_rng(0), 6.0, 5, 400_000
    p = 2 * rng.beta(u / 2, u / 2, size=trials) - 1
    b = np.where(rng.random((n, trials)) < (1 + p) / 2, 1.0, -1.0)
    t, m = np.abs(p), np.tanh(b.sum(axis=0))
    s = ((1 + t / 2) / (1 + t) * (b - p)).sum(axis=0)
    r = -np.sign(p) * ((u - 2) * t * (1 + t / 2) / (1 + t) + 0.5 + t)
    draws = (m - p) * (s + r)
    expected = float(np.mean((1 - t) * (1 + t / 2)))
    assert abs(draws.mean() - expected) < 5 * draws.std() / math.sqrt(trials)


def gaussian_mechanism_bayes_risk(n: int, u: float, rho: float) -> float:
    """The posterior variance of p given the sum of n signs plus N(0, 2/rho), by quadrature."""
    ups, variance = np.arange(n + 1), 2 / rho
    mass = stats.betabinom.pmf(ups, n, u / 2, u / 2)
    posterior = (2 * ups - n) / (n + u)
    inside = mass @ ((1 - posterior**2) / (n + u + 1))
    reach = n + 9 * math.sqrt(variance)
    z = np.linspace(-reach, reach, 2001)
    joint = mass * stats.norm.pdf(z[:, None], 2 * ups - n, math.sqrt(variance))
    law = joint.sum(axis=1)
    explained = np.sum((joint @ posterior) ** 2 / np.maximum(law, 1e-300)) * (z[1] - z[0])
    return float(inside + mass @ posterior**2 - explained)


@pytest.mark.parametrize(("model", "budget"), CONCENTRATED)
@pytest.mark.parametrize("n", [20, 200, 500])
def test_the_gaussian_mechanism_stays_above(model: type, budget, n: int) -> None:
    """Its exact Bayes risk, best use of the release, under the prior of each bound; d = 1."""
    ratios = []
    routes = (uniform_part.antipodal_signs, uniform_part.resampled_signs, tracing_signs_additive)
    for rho, route in product([1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0], routes):
        parts = route(model).parts(n=n, d=1, sigma=1.0, **budget(rho))
        risk = gaussian_mechanism_bayes_risk(n, parts.optimum["u"], rho)
        assert parts.total <= risk
        ratios.append(risk / parts.total)
    assert min(ratios) < 1.1  # the control: a tenth more is too much


# --- The cells -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "budget"), CONCENTRATED)
@pytest.mark.parametrize(
    ("n", "d", "rho", "within"), [(200_000, 2000, 0.001, 1.5), (20_000, 400, 0.0005, 2.1)]
)
def test_bounded_data_meet_the_gaussian_mechanism(
    model: type, budget, n: int, d: int, rho: float, within: float
) -> None:
    risk = d / n + 2 * d**2 / (rho * n**2)  # at most: noise 2 sqrt(d)/n over sqrt(2 rho)
    value = uniform_part.antipodal_signs(model).value(n=n, d=d, sigma=1.0, **budget(rho))
    assert value <= risk <= within * value
    assert risk < 2 * value  # the control: twice the bound is broken
    old = tracing_signs_additive(model).value(n=n, d=d, sigma=1.0, **budget(rho))
    assert risk > 3 * old


@pytest.mark.parametrize(("model", "budget"), CONCENTRATED)
@pytest.mark.parametrize(("radius", "within"), [(1.0, 1.7), (5.0, 1.3)])
def test_gaussian_data_meet_the_ball(model: type, budget, radius: float, within: float) -> None:
    n, d, rho = 20_000, 400, 0.0005
    leading = d / n + 2 * d**2 / (rho * n**2)
    point = {"n": n, "d": d, "sigma": 1.0, "radius": radius, **budget(rho)}
    value = mean.antipodal_gaussian(model).value(**point)
    assert leading / within <= value <= leading
    assert mean.resampled_gaussian(model).value(**point) >= 0.65 * leading


def test_few_records_of_many_dimensions() -> None:
    """The weighted scores at the gain that the linear programme of pairs has at rho = .125."""
    n = d = 20_000.0
    gain = math.sqrt(0.125 / 2 * 1.6)
    best = max(sum(uniform_part.weighted_scores(n, d, u).proved(gain, {})) for u in (60.0, 95.0))
    assert 17.0 / 2.7 <= best <= 17.0


@pytest.mark.parametrize(
    ("n", "d", "sigma", "rho"), [(50_000, 8, 0.05, 1e-4), (20_000, 20, 0.05, 1e-3)]
)
def test_regression_meets_the_noisy_sign(n: int, d: int, sigma: float, rho: float) -> None:
    leading = sigma**2 * d / n + math.pi * (sigma * d / n) ** 2 / rho
    point = {"n": n, "d": d, "sigma": sigma, "radius": 1.0, "rho": rho}
    assert leading / 1.2 <= regression.antipodal_pairs(ZeroConcentrated).value(**point) <= leading
    assert regression.resampled_sign(ZeroConcentrated).value(**point) >= leading / 1.4


@pytest.mark.parametrize("budget", [{"rho": 0.5}, {"rho": 1.5}, {"mu": 1.0}, {"mu": 1.5}])
def test_one_coefficient_has_a_price(budget: dict[str, float]) -> None:
    """d = 1: tracing by chi-square alone proves nothing here."""
    model = ZeroConcentrated if "rho" in budget else Gaussian
    point = {"n": 10_000, "d": 1, "sigma": 1.0, "radius": 1.0, **budget}
    assert regression.tracing(model).parts(**point).privacy == 0
    assert regression.resampled_sign(model).parts(**point).privacy > 0


@pytest.mark.parametrize("d", [1, 2, 7, 400])
def test_the_mean_length_of_a_gaussian_vector(d: int) -> None:
    exact = math.sqrt(2 / d) * math.exp(special.gammaln((d + 1) / 2) - special.gammaln(d / 2))
    bound = math.sqrt(1 - (1 - 2 / math.pi) / d)
    assert exact <= bound * (1 + 1e-12)
    assert bound - exact < (1 / 4 - (1 / 2 - 1 / math.pi)) / d  # exact: 1 - 1/(4d) + ...
    assert d > 1 or bound == pytest.approx(exact)


@pytest.mark.parametrize("rho", [1e-300, 7.8e-126, 1e-36, 1e-34, 1e-33, 1e-32, 1e-20])
def test_a_tiny_budget_has_a_contraction(rho: float) -> None:
    assert concentrated_contraction(rho) == pytest.approx(rho / 2, rel=1e-6)
