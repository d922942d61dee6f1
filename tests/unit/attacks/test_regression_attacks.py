"""Attacks on regression: scores by hand, exact identities, tails by enumeration, bad input."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import integrate, special, stats

from attacks import audit_epsilon, play, release_sampler
from attacks.logistic import LogisticFamily, ScoreAttack, ScoreResidualAttack, mean_variance
from attacks.regression import RegressionAttack, RegressionResidualAttack, lemma_4_1_boundary
from attacks.score import ball_gradient
from attacks.sparse_regression import (
    SupportRegressionAttack,
)
from estimators.controls.regression import LeastSquares
from minimax import ZeroConcentrated
from minimax.core.bound import Labelled
from minimax.methods.priors import (
    LinearInstance,
    LogisticPrior,
    RegressionPrior,
)
from minimax.methods.resampled_sign import concentrated_contraction
from minimax.methods.tracing import BOUNDED_PRODUCT, GAUSSIAN, GAUSSIAN_PRODUCT
from minimax.methods.van_trees import ball_exponent, ball_information

LINEAR = RegressionPrior(d=5, radius=1.5, sigma=0.7)
LOGISTIC = LogisticPrior(d=5, radius=2.0)


def drawn(prior, n=9, seed=0):
    rng = np.random.default_rng(seed)
    instance = prior.draw(rng)
    release = rng.normal(size=len(instance.target))
    return instance, instance.sample(n, rng), instance.sample(n, rng), release


def by_loops(prior, instance, sample, records, release, *, residual):
    """The scores from the definition: a vector per record, record i left out of its own V_i."""
    d, beta = prior.d, instance.target
    linear = isinstance(prior, RegressionPrior)
    phi, most = (prior.sigma**2, 1 / prior.sigma**2) if linear else (1.0, 0.25)

    def weight(x, y):
        return y - x @ beta if linear else y - 1 / (1 + math.exp(-x @ beta))

    k = ball_exponent(d)
    gradient = -2 * k * beta / (prior.radius**2 - beta @ beta)
    kappa = d / (len(sample.y) * most + ball_information(d, prior.radius)) if residual else 0.0
    out = []
    for i, (x, y) in enumerate(zip(*records, strict=True)):
        others = [j for j in range(len(sample.y)) if j != i]
        terms = [weight(sample.X[j], sample.y[j]) * sample.X[j] / phi for j in others]
        V = release - beta - kappa * (np.sum(terms, axis=0) + gradient)
        out.append(V @ x * weight(x, y))
    return out


@pytest.mark.parametrize(
    ("attack", "residual"),
    [
        (RegressionAttack(LINEAR), False),
        (RegressionResidualAttack(LINEAR), True),
        (ScoreAttack(LOGISTIC), False),
        (ScoreResidualAttack(LOGISTIC), True),
    ],
    ids=lambda x: type(x).__name__,
)
def test_scores_by_hand(attack, residual):
    instance, sample, fresh, release = drawn(attack.prior)
    for records in (sample, fresh):
        expected = by_loops(attack.prior, instance, sample, records, release, residual=residual)
        got = attack.scores(records, release, instance, sample)
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_equation_4_2_in_numbers():
    """beta = (.5, 0), M = (1, 1), x = (1, -1)/sqrt 2, y = 2: xi = 2 - .5/sqrt 2."""
    attack = RegressionAttack(RegressionPrior(2, 1.0, 0.5))
    instance = LinearInstance(np.array([0.5, 0.0]), 0.5, 1 / math.sqrt(2))
    record = Labelled(np.array([[1.0, -1.0]]) / math.sqrt(2), np.array([2.0]))
    release = np.ones(2)
    score = attack.scores(record, release, instance, record)[0]
    assert score == pytest.approx((0.5 - 1.0) / math.sqrt(2) * (2 - 0.5 / math.sqrt(2)))
    assert attack.spread(release, instance, 1) == pytest.approx(1.25 / 2)
    assert attack.spread(release, instance, 1) == pytest.approx(instance.loss(release))
    # k = 1 + sqrt 2, grad = -2 k (.5, 0)/(1 - .25), so <M - beta, grad> = -2k/3.
    expected = 0.25 * (2 + 2 * (1 + math.sqrt(2)) / 3)
    assert attack.completeness(release, instance, 1) == pytest.approx(expected)
    assert attack.sigma == 0.5
    assert attack.tail is GAUSSIAN_PRODUCT


def test_gradient_is_the_derivative_of_the_log_prior():
    coef, step = np.array([0.3, -0.9, 0.1]), 1e-6

    def log_density(b):
        return ball_exponent(3) * math.log(1 - b @ b / 1.5**2)

    numeric = [
        (log_density(coef + step * e) - log_density(coef - step * e)) / (2 * step)
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(ball_gradient(coef, 1.5), numeric, rtol=1e-7)
    with pytest.raises(ValueError, match=r"prior\.radius"):
        ball_gradient(coef, 0.9)


def test_gradient_has_the_information_of_the_prior_and_stein_has_no_boundary():
    """Radial integrals: E|grad|^2 = J and E<beta, grad> = -d, by quadrature over |beta|."""
    d, a = 8, 1.7
    k = ball_exponent(d)

    def radial(r):
        return r ** (d - 1) * (1 - (r / a) ** 2) ** k

    def mean(f):
        return integrate.quad(lambda r: f(r) * radial(r), 0, a)[0] / mass

    mass = integrate.quad(radial, 0, a)[0]
    length = [float(np.linalg.norm(ball_gradient(np.r_[r, np.zeros(d - 1)], a))) for r in (0.5, 1)]
    assert length == pytest.approx([2 * k * r / (a**2 - r**2) for r in (0.5, 1)])
    assert mean(lambda r: (2 * k * r / (a**2 - r**2)) ** 2) == pytest.approx(ball_information(d, a))
    assert mean(lambda r: -2 * k * r**2 / (a**2 - r**2)) == pytest.approx(-d)


def test_the_spread_agrees_with_the_certified_proof():
    """At M - beta = kappa U the residual vanishes: R = kappa d, r = kappa J, V_i = kappa s_i."""
    n, attack = 50, RegressionResidualAttack(LINEAR)
    kappa, J, d = attack.kappa(n), attack.information, LINEAR.d
    information = 1 / LINEAR.sigma**2
    assert kappa == pytest.approx(d / (n * information + J))
    signal = kappa * n * information
    # A release with |M - beta|^2 = kappa d and <M - beta, grad> = kappa J.
    instance = LINEAR.draw(np.random.default_rng(1))
    gradient = ball_gradient(instance.target, LINEAR.radius)
    along = kappa * J / (gradient @ gradient) * gradient
    side = np.linalg.svd(gradient[None, :])[2][-1]
    release = instance.target + along + math.sqrt(kappa * d - along @ along) * side
    assert attack.spread(release, instance, n) * d == pytest.approx(kappa**2 * information)
    assert attack.completeness(release, instance, n) == pytest.approx(LINEAR.sigma**2 * signal)
    assert attack.floor(n, kappa) == pytest.approx(LINEAR.sigma**2 * signal)


@pytest.mark.parametrize(
    "attack", [RegressionResidualAttack(LINEAR), ScoreResidualAttack(LOGISTIC)]
)
def test_floor_falls_with_the_loss(attack):
    kappa, J, phi = attack.kappa(50), attack.information, attack.family.dispersion
    least = attack.floor(50, kappa)
    assert attack.floor(50, kappa + 0.01 / 5) == pytest.approx(least - phi * math.sqrt(J) * 0.1)
    for bad in (0.5 * kappa, math.nan):
        with pytest.raises(ValueError, match="loss"):
            attack.floor(50, bad)


def test_known_support_attacks_those_coefficients_only():
    wide = RegressionPrior(d=8, radius=1.5, sigma=0.7, support=5)
    instance, sample, fresh, release = drawn(wide)
    narrow = LinearInstance(instance.target[:5], 0.7, instance.scale)
    cut = [Labelled(records.X[:, :5], records.y) for records in (fresh, sample)]
    other = release + np.r_[np.zeros(5), np.ones(3)]
    for kind in (RegressionAttack, RegressionResidualAttack):
        got = kind(wide).scores(fresh, release, instance, sample)
        np.testing.assert_allclose(got, kind(LINEAR).scores(cut[0], release[:5], narrow, cut[1]))
        np.testing.assert_array_equal(kind(wide).scores(fresh, other, instance, sample), got)
        for number in ("spread", "completeness"):
            expected = getattr(kind(LINEAR), number)(release[:5], narrow, 9)
            assert getattr(kind(wide), number)(other, instance, 9) == pytest.approx(expected)


@pytest.mark.parametrize("scale", [0.1, 1.0, 4.0])
def test_logistic_variance_is_the_average_over_all_signs(scale):
    coef = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    rows = scale * np.array(list(product([-1.0, 1.0], repeat=5)))
    p = special.expit(rows @ coef)
    assert mean_variance(coef, scale) == pytest.approx(np.mean(p * (1 - p)), rel=1e-12)
    assert mean_variance(0 * coef, scale) == pytest.approx(LogisticFamily.sigma**2, rel=1e-14)


# --- Lemma 4.1 -----------------------------------------------------------------------------------


def test_the_dropped_boundary_term():
    """E nu^2 = .291 and 2 pi(1) = .709, by scipy's truncated normal law."""
    law, term = stats.truncnorm(-1, 1), lemma_4_1_boundary()
    assert term.interior == pytest.approx(law.var()) == pytest.approx(0.291, abs=5e-4)
    assert term.boundary == pytest.approx(2 * law.pdf(1)) == pytest.approx(0.709, abs=5e-4)
    assert term.derivative == pytest.approx(1.0)
    assert (term.risk, term.holds) == (0.0, True)


def test_the_bayes_risk_form_of_the_lemma_is_false():
    law = stats.truncnorm(-1, 1)
    for width in (0.01, 0.05, 0.3):
        term, inner = lemma_4_1_boundary(width), 1 - width
        outside = 2 * integrate.quad(lambda t: t**2 * law.pdf(t), inner, 1)[0]
        assert term.risk == pytest.approx(4 * outside)
        # The weak derivative itself: 1 inside, -1 in the strips, two jumps of -2 inner.
        inside = law.cdf(inner) - law.cdf(-inner)
        weak = inside - (1 - inside) - 4 * inner * law.pdf(inner)
        assert term.derivative == pytest.approx(weak)
        assert not term.holds
    assert lemma_4_1_boundary(1e-9).derivative == pytest.approx(0.2911 - 0.7089, abs=1e-3)
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="flipped"):
            lemma_4_1_boundary(bad)


# --- Tails by enumeration ------------------------------------------------------------------------

SHIFTS = np.concatenate([[0.0], np.geomspace(0.01, 25.0, 120)])


def weight_vectors():
    rng = np.random.default_rng(5)
    vectors = [np.ones(d) for d in (1, 2, 3, 4, 10)]
    vectors += [rng.normal(size=d) for d in (2, 5, 9)] + [np.geomspace(1, 0.01, 8)]
    return [v / np.linalg.norm(v) for v in vectors]


def sign_rows(d):
    return np.array(list(product([-1.0, 1.0], repeat=d)))


def gaussian_product(v):
    """E (xi W - t)^+ and sqrt(E ((xi W - t)^-)^2) for every shift, over all signs."""
    widths = np.abs(sign_rows(len(v)) @ v)
    widths = np.maximum(widths, 1e-12)[:, None]  # W = 0: no excess, and t is the shortfall
    r = SHIFTS / widths
    excess = np.mean(widths * (stats.norm.pdf(r) - r * stats.norm.sf(r)), axis=0)
    shortfall = widths**2 * ((1 + r**2) * stats.norm.cdf(r) + r * stats.norm.pdf(r))
    return excess, np.sqrt(np.mean(shortfall, axis=0))


@pytest.mark.parametrize("k", [0, 35, 70])
def test_the_gaussian_formulas_by_quadrature(k):
    """For v = (.6, .8): W = +-1.4 or +-.2."""
    t, widths = SHIFTS[k], (1.4, 0.2)

    def mean(f):
        return sum(integrate.quad(f, -12, 12, args=(w,), points=[t / w])[0] for w in widths) / 2

    excess, shortfall = gaussian_product(np.array([0.6, 0.8]))
    above = mean(lambda z, w: max(w * z - t, 0.0) * stats.norm.pdf(z))
    below = mean(lambda z, w: min(w * z - t, 0.0) ** 2 * stats.norm.pdf(z))
    assert excess[k] == pytest.approx(above, rel=1e-7)
    assert shortfall[k] == pytest.approx(math.sqrt(below), rel=1e-7)


@pytest.mark.parametrize("v", weight_vectors(), ids=lambda v: f"d{len(v)}")
def test_gaussian_product_tail_dominates(v):
    excess, shortfall = gaussian_product(v)
    assert np.all(excess <= GAUSSIAN_PRODUCT.excess(SHIFTS) * (1 + 1e-12))
    assert np.all(shortfall <= GAUSSIAN_PRODUCT.shortfall(SHIFTS) * (1 + 1e-12))
    seen = excess[1:] > 1e-290
    logs = GAUSSIAN_PRODUCT.log_excess(SHIFTS[1:][seen])  # an equality for one sign and small t
    assert np.all(np.log(excess[1:][seen]) <= logs + 1e-12)


def test_gaussian_product_tail_is_reached():
    """One sign: equality while t is small. Two equal weights, W^2 in {0, 2}: equality at one t.

    The control: the tail of a Gaussian score is broken by that score.
    """
    small = SHIFTS < 0.6
    excess, shortfall = gaussian_product(np.ones(1))
    np.testing.assert_allclose(GAUSSIAN_PRODUCT.excess(SHIFTS)[small], excess[small], rtol=1e-12)
    np.testing.assert_allclose(GAUSSIAN_PRODUCT.shortfall(SHIFTS), shortfall, rtol=1e-12)
    excess, _ = gaussian_product(np.ones(2) / math.sqrt(2))
    ratio = excess / GAUSSIAN_PRODUCT.excess(SHIFTS)
    assert ratio[np.argmin(np.abs(SHIFTS - 0.612 * math.sqrt(2)))] > 0.998
    assert np.max(excess / GAUSSIAN.excess(SHIFTS)) > 10


def bounded_product(v, beta):
    """The same for 2 (y - p(<x, beta>)) W over all x and both y."""
    rows = sign_rows(len(v))
    p, W = special.expit(rows @ beta), rows @ v
    values = np.concatenate([2 * (1 - p) * W, -2 * p * W])[:, None]
    chances = np.concatenate([p, 1 - p]) / len(rows)
    excess = chances @ np.maximum(values - SHIFTS, 0.0)
    return excess, np.sqrt(chances @ np.maximum(SHIFTS - values, 0.0) ** 2)


@pytest.mark.parametrize("v", weight_vectors(), ids=lambda v: f"d{len(v)}")
@pytest.mark.parametrize("size", [0.0, 1.0, 6.0])
def test_bounded_product_tail_dominates(v, size):
    directions = [v, np.random.default_rng(6).normal(size=len(v))]
    for beta in (size * u / np.linalg.norm(u) for u in directions):
        excess, shortfall = bounded_product(v, beta)
        assert np.all(excess <= BOUNDED_PRODUCT.excess(SHIFTS) * (1 + 1e-12))
        assert np.all(shortfall <= BOUNDED_PRODUCT.shortfall(SHIFTS) * (1 + 1e-12))
        seen = excess[1:] > 0
        assert np.all(np.log(excess[1:][seen]) <= BOUNDED_PRODUCT.log_excess(SHIFTS[1:][seen]))


def test_bounded_product_tail_is_reached():
    """One sign and beta = 0: A = +-1. The control: a Gaussian score has less excess."""
    excess, shortfall = bounded_product(np.ones(1), np.zeros(1))
    assert excess[0] == BOUNDED_PRODUCT.excess(np.zeros(1))[0] == 0.5
    assert shortfall[-1] == pytest.approx(BOUNDED_PRODUCT.shortfall(SHIFTS)[-1])
    assert excess[0] > GAUSSIAN.excess(np.zeros(1))[0]


# --- The game and the audit on labelled data -----------------------------------------------------


def test_game_plays_regression():
    result = play(
        LINEAR, 20, LeastSquares(), RegressionAttack(LINEAR), trials=4, seed=1, attribute="coef_"
    )
    assert result.spread.value == pytest.approx(result.loss.value)
    contraction = math.sqrt(concentrated_contraction(0.5))  # least: few records, of one scalar each
    assert result.ceiling(ZeroConcentrated(0.5)).value == pytest.approx(
        20 * contraction * math.sqrt(result.member_second.value)
    )
    without = replace(result, symmetric=False)
    assert without.ceiling(ZeroConcentrated(0.5)).value == pytest.approx(
        20 * math.sqrt(math.expm1(1.0)) * 0.7 * math.sqrt(result.spread.value)
    )


def test_audit_takes_labelled_data():
    """A release of two coefficients: without noise the data sets are told apart at once."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    pair = [Labelled(X, np.array([0.0, 0.0, y])) for y in (0.0, 1.0)]
    samplers = [release_sampler(LeastSquares(), data, attribute="coef_") for data in pair]
    found = audit_epsilon(*samplers, statistic=lambda coef: float(coef[0]), trials=60)
    assert found.epsilon > 1
    assert audit_epsilon(*samplers[:1] * 2, lambda coef: float(coef[0]), trials=60).epsilon == 0


@pytest.mark.parametrize(
    "attack",
    [RegressionAttack(LINEAR), RegressionResidualAttack(LINEAR), SupportRegressionAttack(0.7)],
    ids=lambda x: type(x).__name__,
)
def test_unlabelled_records_are_refused(attack):
    instance, sample, _, release = drawn(LINEAR)
    with pytest.raises(TypeError, match="records"):
        attack.scores(sample.X, release, instance, sample)


def test_mismatched_records_are_refused():
    instance, sample, fresh, release = drawn(LINEAR)
    attack = RegressionResidualAttack(LINEAR)
    short = Labelled(fresh.X[:4], fresh.y[:4])
    with pytest.raises(ValueError, match="records must be as many"):
        attack.scores(short, release, instance, sample)
    with pytest.raises(ValueError, match="sample"):
        attack.scores(fresh, release, instance, Labelled(fresh.X[:, :3], fresh.y))
    with pytest.raises(ValueError, match="records"):
        attack.scores(Labelled(fresh.X, fresh.y[:4]), release, instance, sample)


def test_the_prior_of_another_model_is_refused():
    with pytest.raises(TypeError, match="prior must be a RegressionPrior"):
        RegressionResidualAttack(LOGISTIC)
    with pytest.raises(ValueError, match="noise must be given"):
        RegressionAttack(LOGISTIC)
    for kind in (ScoreAttack, ScoreResidualAttack):
        with pytest.raises(TypeError, match="prior must be a LogisticPrior"):
            kind(LINEAR)
