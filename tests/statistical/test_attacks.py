"""The attacks' theorems, measured. One error budget for the file, fixed seeds, no reruns.

Every interval below has confidence 1 - ALPHA/CHECKS, so all of them hold together with probability
at least 1 - ALPHA. Every check comes with a control: the same assertion on something that must
fail it.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

from attacks import (
    ResidualAttack,
    SignAttack,
    SupportAttack,
    TopNormalPrior,
    audit_epsilon,
    lemma_2_1_threshold,
    lemma_3_2_counterexample,
    play,
    release_sampler,
)
from attacks.audit import choose_event, lower_epsilon
from estimators.controls.mean import HardThresholdedMean, SampleMean
from estimators.core.mechanisms import gaussian, gaussian_scale, laplace
from estimators.mean import NoisyMean
from minimax import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.methods.priors import CosinePrior, SignPrior
from tests.effort import part

ALPHA = 1e-6
CHECKS = 150
"""At least the number of intervals the assertions below rely on."""
CONFIDENCE = 1 - ALPHA / CHECKS

SIGNS = SignPrior(d=60, sigma=1.0, u=3.0)
COSINE = CosinePrior(d=40, radius=1.0, sigma=1.0)
BUDGET = ZeroConcentrated(0.1)
"""At n = 100, d = 40 privacy costs far more than statistics under this budget."""
PRIVATE = NoisyMean(privacy=BUDGET, R=9.0, clip="ball")
game = partial(play, confidence=CONFIDENCE)


# --- Sign attack ---------------------------------------------------------------------------------


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize(
    "estimator",
    [SampleMean(), NoisyMean(ZeroConcentrated(0.5), R=1.0), HardThresholdedMean(threshold=0.4)],
    ids=lambda e: type(e).__name__,
)
def test_sign_identity(estimator, centred):
    """sum_i E A_i = u E<mu, M> for every estimator; an attack that takes another u must miss it."""
    right = game(
        SIGNS, 30, estimator, SignAttack(SIGNS, centred), trials=part(500, of=1000), seed=11
    )
    assert right.completeness_gap.contains(0.0)
    assert right.outsider_mean.contains(0.0)
    assert right.outsider_rms.low <= right.soundness.high
    mistaken = SignAttack(SignPrior(d=60, sigma=1.0, u=6.0), centred)
    wrong = game(SIGNS, 30, estimator, mistaken, trials=200, seed=11)
    assert not wrong.completeness_gap.contains(0.0)


def test_sign_sum_of_the_sample_mean_is_exactly_known():
    """E<p, xbar> = d/(u+1), so the members' sum is sigma^2 d u/(u+1) = 45."""
    result = game(SIGNS, 30, SampleMean(), SignAttack(SIGNS), trials=1500, seed=12)
    assert result.member_sum.contains(45.0)
    assert not result.member_sum.contains(60.0)


def exceeding(attack, threshold_of, seed=13, trials=300, n=5):
    """How many members and outsiders, of trials * n each, exceed the threshold."""
    rng = np.random.default_rng(seed)
    counts = np.zeros(2, dtype=int)
    for _ in range(trials):
        instance = attack.prior.draw(rng)
        sample, fresh = instance.sample(n, rng), instance.sample(n, rng)
        release = SampleMean().fit(sample).mean_
        t = threshold_of(release, instance)
        for k, records in enumerate((sample, fresh)):
            counts[k] += np.sum(attack.scores(records, release, instance, sample) > t)
    return counts / (trials * n)


def test_hoeffding_holds_for_outsiders_and_breaks_for_members():
    """Lemma 2.1(1), and its sharp form. The members are the control."""
    prior, delta = SignPrior(d=2000, sigma=1.0, u=2.0), 0.01
    attack = SignAttack(prior, centred=False)
    # Given the releases, outsiders exceed independently, with chance at most delta each.
    most = stats.binom.isf(ALPHA / CHECKS, 1500, delta) / 1500
    for threshold_of in (
        lambda release, instance: lemma_2_1_threshold(2000, 1.0, delta) / 2,
        lambda release, instance: attack.threshold(release, instance, delta),
    ):
        members, outsiders = exceeding(attack, threshold_of)
        assert outsiders <= most
        assert members > 0.9


# --- Residual attack -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        SampleMean(),
        PRIVATE,
        NoisyMean(privacy=ZeroConcentrated(5.0), R=0.5),
        NoisyMean(privacy=Approximate(3.0, 1e-4), R=9.0, clip="ball"),
    ],
    ids=["SampleMean", "NoisyMean", "clipped", "approximate"],
)
def test_residual_identity_and_soundness(estimator):
    result = game(
        COSINE, 100, estimator, ResidualAttack(COSINE), trials=part(500, of=1000), seed=21
    )
    assert result.completeness_gap.contains(0.0)
    assert result.outsider_mean.contains(0.0)
    if result.privacy is None:
        return  # here |grad|^2, of infinite variance, is most of |V|^2: no interval for the rms
    # Gaussian records: E A^2 = sigma^2 E|V|^2 exactly, so the two intervals must meet.
    assert result.outsider_rms.low <= result.soundness.high
    assert result.soundness.low <= result.outsider_rms.high


def test_residual_identity_needs_the_right_prior():
    """The control: records clipped at 1/2 shrink the mean, and a prior twice as wide is noticed."""
    shrinking = NoisyMean(privacy=ZeroConcentrated(5.0), R=0.5)
    mistaken = ResidualAttack(CosinePrior(d=40, radius=2.0, sigma=1.0))
    result = game(COSINE, 100, shrinking, mistaken, trials=1000, seed=21)
    assert not result.completeness_gap.contains(0.0)


def test_residual_floor():
    """sum_i E A_i >= sigma^2 (d - kappa J - sqrt(J) eta); a constant release is far below d."""
    attack = ResidualAttack(COSINE)
    accurate = NoisyMean(privacy=ZeroConcentrated(1.0), R=9.0, clip="ball")
    result = game(COSINE, 100, accurate, attack, trials=1000, seed=22)
    floor = attack.floor(100, result.loss.high)
    assert floor > 10
    assert result.member_sum.low > floor
    ignorant = game(COSINE, 100, HardThresholdedMean(threshold=9.0), attack, trials=300, seed=22)
    assert ignorant.member_sum.high < floor


def test_private_sums_stay_below_the_ceiling_and_the_sample_mean_breaks_it():
    attack = ResidualAttack(COSINE)
    for estimator in (PRIVATE, NoisyMean(privacy=Approximate(1.0, 1e-6), R=9.0, clip="ball")):
        private = game(COSINE, 100, estimator, attack, trials=600, seed=23)
        assert private.member_sum.high < private.ceiling().low
    open_book = game(COSINE, 100, SampleMean(), attack, trials=600, seed=23)
    for budget in (BUDGET, Pure(0.5), Approximate(0.5, 1e-6), Gaussian(0.5)):
        assert open_book.member_sum.low > open_book.ceiling(budget).high


def test_too_little_noise_breaks_the_ceiling():
    """A Gaussian mechanism with a fiftieth of its noise is caught by the ceiling it claims."""
    careless = NoisyMean(privacy=ZeroConcentrated(BUDGET.rho * 50**2), R=9.0, clip="ball")
    result = game(COSINE, 100, careless, ResidualAttack(COSINE), trials=600, seed=24)
    assert result.member_sum.low > result.ceiling(BUDGET).high
    assert result.member_sum.high < result.ceiling().low


# --- Telling members from outsiders --------------------------------------------------------------


def test_auc_and_advantage():
    """Strong privacy: nothing to see. None: members are plain. In between: within the trade-off."""
    attack = ResidualAttack(COSINE)
    strong = NoisyMean(privacy=Pure(0.01), R=9.0, clip="ball")
    hidden, plain, some = (
        game(COSINE, 100, estimator, attack, trials=600, seed=31)
        for estimator in (strong, SampleMean(), NoisyMean(Gaussian(2.0), R=9.0, clip="ball"))
    )
    limit = math.tanh(0.01 / 2)  # the largest TPR - FPR under pure epsilon
    assert hidden.auc.contains(0.5)
    assert hidden.advantage.low <= limit
    assert plain.auc.low > 0.85
    assert plain.advantage.low > 0.5
    assert hidden.auc.high < some.auc.low
    assert some.auc.high < plain.auc.low
    # The most a mu-GDP release allows; without privacy that of mu = 1 is passed.
    allowed = {mu: 2 * stats.norm.cdf(mu / 2) - 1 for mu in (1.0, 2.0)}
    assert some.advantage.high < allowed[2.0]
    assert plain.advantage.low > allowed[1.0]


# --- Sparse means --------------------------------------------------------------------------------


def test_support_attack_is_sound():
    """Lemma 3.2(1): mean zero and E|A| <= sigma sqrt(E|M - mu|^2); members are the control."""
    prior = TopNormalPrior(d=100, s=5)
    result = game(
        prior, 40, HardThresholdedMean(threshold=0.5), SupportAttack(), trials=800, seed=41
    )
    assert result.outsider_mean.contains(0.0)
    assert result.outsider_abs.high <= result.soundness.low
    assert result.soundness.high <= math.sqrt(result.loss.high)
    assert result.outsider_rms.low <= result.soundness.high
    assert result.soundness.low <= result.outsider_rms.high
    assert result.member_sum.low / 40 > result.outsider_mean.high


@pytest.mark.parametrize(("d", "trials", "claim"), [(10**3, 1000, 75), (10**5, 120, 155)])
def test_lemma_3_2_is_refuted(d, trials, claim):
    """The sum stays at sigma^2 s = 10 where (B.1) says more than `claim`.

    The control: a threshold where the prior has mass makes the sum grow, so the measurement can see
    a log d where there is one.
    """
    run = partial(lemma_3_2_counterexample, d, trials=trials, seed=51, confidence=CONFIDENCE)
    result = run()
    assert result.member_sum.contains(result.lipschitz_sum)
    assert result.stein.contains(result.lipschitz_sum)
    assert result.loss.high < 0.01
    assert result.claimed.low > claim
    assert result.member_sum.high < result.printed / 3
    assert result.refuted
    control = run(threshold=TopNormalPrior(d, 10).typical_cut)
    assert control.stein.low > 2 * result.lipschitz_sum
    assert control.member_sum.low < control.stein.high
    assert control.stein.low < control.member_sum.high
    assert not control.member_sum.contains(control.lipschitz_sum)


# --- Audit ---------------------------------------------------------------------------------------


def laplace_release(value, epsilon):
    return lambda rng: laplace(
        np.array([value]), l1_sensitivity=1.0, epsilon=epsilon, rng=rng
    ).value[0]


def gaussian_release(value, scale):
    return lambda rng: gaussian(np.array([value]), l2_sensitivity=1.0, scale=scale, rng=rng).value[
        0
    ]


audit = partial(audit_epsilon, confidence=CONFIDENCE)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_audit_of_laplace(epsilon):
    run = partial(audit, trials=20_000, seed=61)
    correct = run(laplace_release(0.0, epsilon), laplace_release(1.0, epsilon))
    assert not correct.refutes(epsilon)
    assert correct.epsilon > 0.5 * epsilon
    halved = run(laplace_release(0.0, 2 * epsilon), laplace_release(1.0, 2 * epsilon))
    assert halved.refutes(epsilon)
    assert not halved.refutes(2 * epsilon)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.05), (0.5, 0.02)])
def test_audit_of_gaussian(epsilon, delta):
    scale = gaussian_scale(Approximate(epsilon, delta), 1.0)
    run = partial(audit, trials=20_000, delta=delta, seed=62)
    correct = run(gaussian_release(0.0, scale), gaussian_release(1.0, scale))
    assert not correct.refutes(epsilon)
    halved = run(gaussian_release(0.0, scale / 2), gaussian_release(1.0, scale / 2))
    assert halved.refutes(epsilon)


def test_audit_of_an_estimator():
    """NoisyMean on its worst pair of data sets: the bound is nearly reached and never passed."""
    X = np.full((3, 1), 1.0)
    X2 = X.copy()
    X2[0] = -1.0
    run = partial(audit, statistic=lambda mean: float(mean[0]), trials=2000, seed=63)
    honest = NoisyMean(privacy=Pure(1.0), R=1.0)
    found = run(release_sampler(honest, X), release_sampler(honest, X2))
    assert not found.refutes(1.0)
    assert found.epsilon > 0.2
    careless = NoisyMean(privacy=Pure(2.5), R=1.0)
    assert run(release_sampler(careless, X), release_sampler(careless, X2)).refutes(1.0)


def test_audit_covers_because_the_event_is_chosen_elsewhere():
    """Two equal laws are told apart in at most 1 - confidence = 20 % of the runs.

    The control chooses and judges the event on the same releases, and passes that.
    """
    runs, level = 300, 0.1
    most = stats.binom.isf(ALPHA / CHECKS, runs, 2 * level)
    sound = unsound = 0
    for seed in range(runs):
        first, second, third, fourth = np.random.default_rng(seed).normal(size=(4, 300))
        for judged in ((third, fourth), (first, second)):
            event = choose_event(first, second, 0.0, level)
            p, q = (np.array([event.count(x)]) for x in judged)
            found = lower_epsilon(*((q, p) if event.swapped else (p, q)), 300, 0.0, level)
            if judged[0] is third:
                sound += int(found[0] > 0)
            else:
                unsound += int(found[0] > 0)
    assert sound <= most
    assert unsound > most
