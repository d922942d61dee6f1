"""The attacks on regression, measured. One error budget for the file, fixed seeds, no reruns.

Every interval below has confidence 1 - ALPHA/CHECKS, so all of them hold together with probability
at least 1 - ALPHA. Every check comes with a control: the same assertion on something that must
fail it.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy import special, stats

from attacks import Estimate, play
from attacks.logistic import ScoreAttack, ScoreResidualAttack
from attacks.regression import RegressionAttack, RegressionResidualAttack, lemma_4_1_boundary
from attacks.sparse_regression import (
    SupportRegressionAttack,
    TopRegressionPrior,
    VisibleColumnsRegression,
    lemma_4_3_counterexample,
)
from estimators.controls.regression import IterativeHardThresholding, LeastSquares
from estimators.regression import NoisyGradientRegression
from estimators.sparse_erm import NoisyHardThresholding
from minimax import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.methods.priors import LogisticPrior, RegressionPrior
from minimax.methods.tracing import GAUSSIAN_PRODUCT

ALPHA = 1e-6
CHECKS = 160
"""At least the number of intervals the assertions below rely on."""
CONFIDENCE = 1 - ALPHA / CHECKS
game = partial(play, confidence=CONFIDENCE, attribute="coef_")

LINEAR = RegressionPrior(d=30, radius=2.0, sigma=0.5)
LOGISTIC = LogisticPrior(d=12, radius=3.0)
BUDGET = ZeroConcentrated(0.01)
"""At n = 150, d = 30 privacy costs far more than statistics under this budget."""
LINEAR_ATTACKS = [RegressionAttack(LINEAR), RegressionResidualAttack(LINEAR)]
LOGISTIC_ATTACKS = [ScoreAttack(LOGISTIC), ScoreResidualAttack(LOGISTIC)]


def gradient_descent(privacy):
    return NoisyGradientRegression(privacy, radius=2.0, sigma=0.5, R=4.0)


def logistic_descent(privacy, **changed):
    options = {"steps": 4, "feature_scale": 1 / math.sqrt(12), "radius": 3.0, **changed}
    return NoisyHardThresholding(privacy, s=12, loss="logistic", **options)


MAXIMUM_LIKELIHOOD = IterativeHardThresholding(s=12, loss="logistic")
named = pytest.mark.parametrize


# --- Linear regression ---------------------------------------------------------------------------


@named("attack", LINEAR_ATTACKS, ids=lambda a: type(a).__name__)
@named(
    "estimator", [LeastSquares(), gradient_descent(ZeroConcentrated(200.0))], ids=["plain", "dp"]
)
def test_linear_identity_and_soundness(attack, estimator):
    """Lemma 4.1(1), and the identity of the members' sum for whatever estimator."""
    result = game(LINEAR, 150, estimator, attack, trials=300, seed=11)
    assert result.completeness_gap.contains(0.0)
    assert result.outsider_mean.contains(0.0)
    assert result.outsider_abs.high <= result.soundness.low
    # E A^2 = sigma^2 E|V|^2_Sigma exactly, so the two intervals must meet.
    assert result.outsider_rms.low <= result.soundness.high
    assert result.soundness.low <= result.outsider_rms.high
    # The members are the control of soundness.
    assert result.member_sum.low / 150 > result.outsider_mean.high


def test_linear_identity_needs_the_right_prior():
    """The control: an estimator that shrinks notices a prior three times as wide."""
    shrinking = NoisyGradientRegression(
        ZeroConcentrated(50.0), radius=2.0, R=4.0, steps=1, step_size=10.0
    )
    right = game(LINEAR, 150, shrinking, RegressionAttack(LINEAR), trials=300, seed=12)
    assert right.completeness_gap.contains(0.0)
    mistaken = RegressionAttack(RegressionPrior(d=30, radius=6.0, sigma=0.5))
    wrong = game(LINEAR, 150, shrinking, mistaken, trials=300, seed=12)
    assert not wrong.completeness_gap.contains(0.0)


def test_least_squares_sum_is_exactly_known():
    """An unbiased estimator has the sum sigma^2 d = 7.5 under every prior."""
    result = game(LINEAR, 150, LeastSquares(), LINEAR_ATTACKS[1], trials=400, seed=13)
    assert result.member_sum.contains(7.5)
    assert not result.member_sum.contains(9.0)


def test_linear_floor():
    """sum_i E A_i >= sigma^2 (d - kappa J - sqrt(J) eta); a constant release is below it."""
    prior = RegressionPrior(d=30, radius=20.0, sigma=0.5)
    attack = RegressionResidualAttack(prior)
    result = game(prior, 150, LeastSquares(), attack, trials=900, seed=14)
    floor = attack.floor(150, result.loss.high)
    assert floor > 3
    assert result.member_sum.low > floor
    ignorant = NoisyGradientRegression(ZeroConcentrated(1.0), steps=1, step_size=1e-9)
    assert game(prior, 150, ignorant, attack, trials=300, seed=14).member_sum.high < floor


@named("attack", LINEAR_ATTACKS, ids=lambda a: type(a).__name__)
def test_private_linear_sums_stay_below_the_ceiling_and_least_squares_breaks_it(attack):
    for budget in (BUDGET, Approximate(0.3, 1e-6)):
        private = game(LINEAR, 150, gradient_descent(budget), attack, trials=200, seed=15)
        assert private.tail is GAUSSIAN_PRODUCT
        assert private.member_sum.high < private.ceiling().low
    plain = game(LINEAR, 150, LeastSquares(), attack, trials=200, seed=15)
    for budget in (BUDGET, Pure(0.15), Approximate(0.15, 1e-9), Gaussian(0.14)):
        assert plain.member_sum.low > plain.ceiling(budget).high


def test_too_little_noise_breaks_the_ceiling():
    """Descent with a hundredth of its noise is caught by the ceiling it claims."""
    careless = gradient_descent(ZeroConcentrated(BUDGET.rho * 100**2))
    result = game(LINEAR, 150, careless, LINEAR_ATTACKS[1], trials=200, seed=16)
    assert result.member_sum.low > result.ceiling(BUDGET).high
    assert result.member_sum.high < result.ceiling().low


def residual_vectors(attack, sample, release, instance):
    """V_i for all i, by definition."""
    rows, weights = sample.X, attack._weighted("sample", sample, instance)[1]
    kappa, phi = attack.kappa(len(rows)), attack.family.dispersion
    scores = weights[:, None] * rows / phi
    gradient = attack._gradient(instance.target)
    N = release - instance.target - kappa * (scores.sum(axis=0) + gradient)
    return N + kappa * scores


@named(
    ("attack", "estimator"),
    [(LINEAR_ATTACKS[1], LeastSquares()), (LOGISTIC_ATTACKS[1], MAXIMUM_LIKELIHOOD)],
    ids=["linear", "logistic"],
)
def test_the_spread_is_that_of_the_residuals(attack, estimator):
    """avg_i |V_i|^2/d against the identity; at a wrong n the identity must miss it."""
    rng, gaps = np.random.default_rng(17), {150: [], 15: []}
    for _ in range(250):
        instance = attack.prior.draw(rng)
        sample = instance.sample(150, rng)
        release = estimator.fit(*sample).coef_
        V = residual_vectors(attack, sample, release, instance)
        direct = float(np.mean(np.sum(V**2, axis=1))) / attack.d
        for n, gap in gaps.items():
            gap.append(direct - attack.spread(release, instance, n))
    assert Estimate.over(gaps[150], CONFIDENCE).contains(0.0)
    assert not Estimate.over(gaps[15], CONFIDENCE).contains(0.0)


# --- Lemma 4.1 -----------------------------------------------------------------------------------


def test_the_boundary_term_is_real():
    """A sign turned near the ends makes the members' sum negative where (B.4) claims it is not.

    d = 1 and x = +-1: sum_i A_i = n (M - beta)(b - beta), b = least squares ~ N(beta, sigma^2/n).
    M = b, but -b where |b| > .95; sigma/sqrt n is small against .05. The control is M = b.
    """
    n, sigma, width, rng = 2500, 0.5, 0.05, np.random.default_rng(21)
    low, high = stats.norm.cdf([-1, 1])
    beta = special.ndtri(rng.uniform(low, high, 2 * 10**6))
    noise = sigma / math.sqrt(n) * rng.standard_normal(len(beta))
    plain = beta + noise
    turned = np.where(np.abs(plain) > 1 - width, -plain, plain)
    sums = {
        name: Estimate.over(n * (M - beta) * noise, CONFIDENCE)
        for name, M in (("plain", plain), ("turned", turned))
    }
    risk = Estimate.over((turned - beta) ** 2, CONFIDENCE)
    square = lemma_4_1_boundary().interior
    limit = lemma_4_1_boundary(width)
    assert square - math.sqrt(risk.high * square) > 0.08
    assert sums["turned"].high < 0
    assert sums["turned"].contains(sigma**2 * limit.derivative)
    assert not sums["turned"].contains(sigma**2 * limit.interior)
    assert sums["plain"].contains(sigma**2)


# --- Logistic regression -------------------------------------------------------------------------


@named("attack", LOGISTIC_ATTACKS, ids=lambda a: type(a).__name__)
@named(
    "estimator", [MAXIMUM_LIKELIHOOD, logistic_descent(ZeroConcentrated(1.0))], ids=["plain", "dp"]
)
def test_logistic_identity_and_soundness(attack, estimator):
    result = game(LOGISTIC, 200, estimator, attack, trials=200, seed=31)
    assert result.completeness_gap.contains(0.0)
    assert result.outsider_mean.contains(0.0)
    assert result.outsider_rms.low <= result.soundness.high
    if isinstance(attack, ScoreAttack):  # the residual's |grad|^2 has heavy tails at d = 12
        assert result.outsider_abs.high <= result.soundness.low
    assert result.member_sum.low / 200 > result.outsider_mean.high


def test_logistic_identity_needs_the_right_prior():
    """One step of length d leaves about a quarter of beta."""
    shrinking = logistic_descent(ZeroConcentrated(50.0), steps=1, step_size=12.0)
    right = game(LOGISTIC, 200, shrinking, ScoreAttack(LOGISTIC), trials=200, seed=32)
    assert right.completeness_gap.contains(0.0)
    mistaken = ScoreAttack(LogisticPrior(d=12, radius=9.0))
    wrong = game(LOGISTIC, 200, shrinking, mistaken, trials=200, seed=32)
    assert not wrong.completeness_gap.contains(0.0)


@named("attack", LOGISTIC_ATTACKS, ids=lambda a: type(a).__name__)
def test_private_logistic_sums_stay_below_the_ceiling_and_maximum_likelihood_breaks_it(attack):
    for budget in (ZeroConcentrated(0.005), Approximate(0.2, 1e-6)):
        private = game(LOGISTIC, 200, logistic_descent(budget), attack, trials=200, seed=33)
        assert private.member_sum.high < private.ceiling().low
    plain = game(LOGISTIC, 200, MAXIMUM_LIKELIHOOD, attack, trials=200, seed=33)
    for budget in (ZeroConcentrated(0.002), Pure(0.06), Approximate(0.06, 1e-9)):
        assert plain.member_sum.low > plain.ceiling(budget).high


# --- Sparse regression ---------------------------------------------------------------------------


def test_support_regression_attack_is_sound():
    """Lemma 4.3(1): mean zero and E|A| <= sigma sqrt(E|M - beta|^2_Sigma); members are the control.

    The estimator is private and finds the support by itself.
    """
    prior = TopRegressionPrior(d=100, s=4, sigma=0.3)
    estimator = VisibleColumnsRegression(Approximate(4.0, 1e-6), R=3.0)
    result = game(prior, 4000, estimator, SupportRegressionAttack(0.3), trials=200, seed=41)
    assert result.outsider_mean.contains(0.0)
    assert result.outsider_abs.high <= result.soundness.low
    assert result.outsider_rms.low <= result.soundness.high
    assert result.soundness.low <= result.outsider_rms.high
    assert result.soundness.high <= 0.3 * math.sqrt(result.loss.high) * (1 + 1e-9)
    assert result.member_sum.low / 4000 > result.outsider_mean.high
    assert result.member_sum.contains(0.3**2 * 4)
    assert result.member_sum.high < result.ceiling().low


@named(("d", "claim"), [(10**3, 5.8), (10**6, 16.0)])
def test_lemma_4_3_is_refuted_by_least_squares(d, claim):
    """The sum stays at sigma^2 s = .9 where (B.5) says more than `claim`.

    The control: a threshold where the prior has mass makes the sum grow, so the measurement can see
    a log d where there is one.
    """
    run = partial(lemma_4_3_counterexample, d, n=4000, trials=400, seed=51, confidence=CONFIDENCE)
    result = run()
    assert result.member_sum.contains(result.unbiased_sum)
    assert result.loss.high < 0.004
    assert result.claimed.low > claim
    assert result.member_sum.high < result.printed / 5
    assert result.refuted
    cut = TopRegressionPrior(d, 10).normal.typical_cut / math.sqrt(10)
    control = run(threshold=cut)
    assert control.member_sum.low > 2 * result.unbiased_sum


@named(("d", "claim"), [(10**3, 5.0), (10**5, 10.0)])
def test_lemma_4_3_is_refuted_by_a_private_estimator(d, claim):
    result = lemma_4_3_counterexample(
        d, privacy=Approximate(0.9, 1e-6), trials=100, seed=52, confidence=CONFIDENCE
    )
    assert result.member_sum.contains(result.unbiased_sum)
    assert result.loss.high < 0.03
    assert result.claimed.low > claim
    assert result.refuted
