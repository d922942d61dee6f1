"""Attacks: identities that hold exactly, shapes, reproducibility, and bad input refused."""

from __future__ import annotations

import json
import math

import joblib
import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator

from attacks import (
    Estimate,
    ResidualAttack,
    SignAttack,
    SupportAttack,
    TopNormalPrior,
    lemma_2_1_threshold,
    lemma_3_2_counterexample,
    play,
)
from attacks.sparse_mean import _derivative, claimed_sum
from estimators.controls.mean import HardThresholdedMean, SampleMean
from estimators.mean import NoisyMean
from minimax import Approximate, Pure, ZeroConcentrated
from minimax.methods.antipodal_gain import average_pair_gain
from minimax.methods.priors import CosinePrior, GaussianInstance, SignPrior
from minimax.methods.tracing import GAUSSIAN, gain

SIGNS = SignPrior(d=6, sigma=2.0, u=3.0)
COSINE = CosinePrior(d=5, radius=1.5, sigma=0.7)
NOISY = NoisyMean(privacy=ZeroConcentrated(0.5), R=3.0)


def small_game(**changed):
    arguments = {"prior": COSINE, "n": 7, "estimator": NOISY, "attack": ResidualAttack(COSINE)}
    return play(**{**arguments, "trials": 6, "seed": 3, **changed})


# --- Scores --------------------------------------------------------------------------------------


def drawn(prior, n=9, seed=0):
    rng = np.random.default_rng(seed)
    instance = prior.draw(rng)
    return instance, instance.sample(n, rng), instance.sample(n, rng), rng.normal(size=prior.d)


@pytest.mark.parametrize("centred", [True, False])
def test_sign_scores_are_inner_products(centred):
    instance, sample, fresh, release = drawn(SIGNS)
    attack = SignAttack(SIGNS, centred)
    against = release - instance.target if centred else release
    expected = [(x - instance.target) @ against for x in fresh]
    np.testing.assert_allclose(attack.scores(fresh, release, instance, sample), expected)
    assert attack.spread(release, instance, 9) == pytest.approx(against @ against)


def residual_by_hand(instance, sample, record, i, release):
    """V_i from the definition, with record i left out of the sum."""
    n, d, a, sigma = len(sample), COSINE.d, COSINE.radius, COSINE.sigma
    mu = instance.target
    gradient = -(math.pi / a) * np.tan(math.pi * mu / (2 * a))
    kappa = d / (n * d / sigma**2 + d * math.pi**2 / a**2)
    others = np.delete(sample, i, axis=0)
    V = release - mu - kappa * ((others - mu).sum(axis=0) / sigma**2 + gradient)
    return V @ (record - mu)


def test_residual_scores_leave_their_own_record_out():
    instance, sample, fresh, release = drawn(COSINE)
    for records in (sample, fresh):
        scores = ResidualAttack(COSINE).scores(records, release, instance, sample)
        by_hand = [residual_by_hand(instance, sample, x, i, release) for i, x in enumerate(records)]
        np.testing.assert_allclose(scores, by_hand)


def test_residual_gradient_is_the_derivative_of_the_log_prior():
    mu = np.linspace(-1.2, 1.3, 7)
    step = 1e-6
    log_density = [2 * np.log(np.cos(math.pi * (mu + e) / 3.0)) for e in (step, -step)]
    numeric = (log_density[0] - log_density[1]) / (2 * step)
    np.testing.assert_allclose(ResidualAttack(COSINE)._gradient(mu), numeric, rtol=1e-6)


def test_known_support_attacks_those_coordinates_only():
    wide = CosinePrior(d=8, radius=1.5, sigma=0.7, support=5)
    instance, sample, fresh, release = drawn(wide)
    narrow = GaussianInstance(instance.target[:5], 0.7)
    expected = ResidualAttack(COSINE).scores(fresh[:, :5], release[:5], narrow, sample[:, :5])
    got = ResidualAttack(wide).scores(fresh, release, instance, sample)
    np.testing.assert_allclose(got, expected)
    other = release + np.r_[np.zeros(5), np.ones(3)]
    np.testing.assert_array_equal(ResidualAttack(wide).scores(fresh, other, instance, sample), got)


def test_floor_is_cauchy_schwarz_on_the_identity():
    """At loss = kappa d the residual vanishes; the floor falls as the loss grows."""
    attack = ResidualAttack(COSINE)
    kappa, J, d = attack.kappa(50), attack.information, COSINE.d
    least = attack.floor(50, kappa * d)
    assert least == pytest.approx(0.49 * (d - kappa * J))
    assert attack.floor(50, kappa * d + 0.01) == pytest.approx(least - 0.49 * math.sqrt(J) * 0.1)
    with pytest.raises(ValueError, match="loss"):
        attack.floor(50, 0.5 * kappa * d)


def test_support_attack_sees_the_support_only_and_sums_to_the_sample_mean():
    prior = TopNormalPrior(d=40, s=3)
    instance, sample, _, release = drawn(prior, n=11)
    on = np.flatnonzero(instance.target)
    scores = SupportAttack().scores(sample, release, instance, sample)
    error = sample.mean(axis=0) - instance.target
    assert scores.sum() == pytest.approx(11 * error[on] @ (release - instance.target)[on])
    changed = release.copy()
    changed[np.flatnonzero(instance.target == 0)] += 5.0
    np.testing.assert_array_equal(SupportAttack().scores(sample, changed, instance, sample), scores)
    assert SupportAttack().completeness(release, instance, 11) is None


def test_lemma_2_1_threshold_is_twice_the_sharp_one():
    instance = GaussianInstance(np.zeros(6), 2.0)
    sharp = SignAttack(SIGNS, centred=False).threshold(np.full(6, 2.0), instance, 0.01)
    assert lemma_2_1_threshold(6, 2.0, 0.01) == pytest.approx(2 * sharp)


def test_sign_threshold_bounds_the_exact_tail():
    """All 2^10 outsiders at once; half the threshold must fail (Hoeffding is that sharp here)."""
    prior = SignPrior(d=10, sigma=1.0, u=2.0)
    instance = GaussianInstance(np.zeros(10), 1.0)
    signs = 1.0 - 2.0 * ((np.arange(1024)[:, None] >> np.arange(10)) & 1)
    attack, release = SignAttack(prior), np.ones(10)
    scores = attack.scores(signs, release, instance, signs)
    for delta in (0.1, 0.01, 0.001):
        t = attack.threshold(release, instance, delta)
        assert np.mean(scores > t) <= delta
        assert np.mean(scores > t / 2) > delta


# --- The prior and Stein's formula ---------------------------------------------------------------


def test_top_normal_prior_keeps_the_largest():
    prior = TopNormalPrior(d=4000, s=10)
    instances = [prior.draw(np.random.default_rng(i)) for i in range(30)]
    kept = np.array([np.sort(np.abs(x.target[x.target != 0])) for x in instances])
    assert kept.shape == (30, 10)
    assert kept.max() <= 1
    assert prior.variance == pytest.approx(1 / (4 * math.log(100)))
    assert np.all(kept[:, 0] > 0.45)
    assert kept[:, 0].min() < prior.typical_cut < kept[:, 0].max()


@pytest.mark.parametrize("mean", [0.0, 0.2, 0.26, -0.24, 0.9])
def test_stein_derivative_of_hard_thresholding(mean):
    t, sd, step = 0.25, 0.03, 1e-5

    def expected(mu):
        up, down = (t - mu) / sd, (t + mu) / sd
        kept = stats.norm.sf(up) + stats.norm.sf(down)
        return mu * kept + sd * (stats.norm.pdf(up) - stats.norm.pdf(down))

    numeric = (expected(mean + step) - expected(mean - step)) / (2 * step)
    exact = _derivative(np.array([mean]), t, sd)[0]
    assert exact == pytest.approx(numeric, rel=1e-4, abs=1e-8)


def test_hard_thresholding_is_not_lipschitz_at_its_threshold():
    """The sum can exceed sigma^2 s if the prior sits at the jump, so `1-Lipschitz` is needed."""
    assert _derivative(np.array([0.25]), 0.25, 1 / math.sqrt(4000))[0] > 6


# --- The game ------------------------------------------------------------------------------------


def test_game_does_not_depend_on_the_number_of_jobs():
    alone = small_game()
    with joblib.parallel_config("threading"):
        shared = small_game(n_jobs=3)
    assert alone.to_dict() == shared.to_dict()
    np.testing.assert_array_equal(alone.in_scores, shared.in_scores)
    np.testing.assert_array_equal(alone.out_scores, shared.out_scores)


def test_game_depends_on_the_seed_and_not_on_the_estimators_own():
    seeded = NoisyMean(privacy=ZeroConcentrated(0.5), R=3.0, random_state=1)
    same = small_game(estimator=seeded)
    np.testing.assert_array_equal(small_game().in_scores, same.in_scores)
    assert np.all(small_game(seed=4).in_scores != same.in_scores)
    assert seeded.random_state == 1
    assert not hasattr(seeded, "mean_")


def test_noise_differs_between_trials():
    """One frozen seed would make the trials' noise equal; the control is that frozen noise."""

    class Point:
        def draw(self, rng):
            return GaussianInstance(np.zeros(1), 1e-12)

    def spread_of_losses(estimator):
        result = play(Point(), 3, estimator, SupportAttack(), trials=5, seed=0)
        return result.loss.high - result.loss.low

    frozen = NoisyMean(privacy=ZeroConcentrated(0.5), R=3.0, random_state=0)
    assert spread_of_losses(NOISY) > 1e-3
    assert spread_of_losses(lambda rng: frozen) < 1e-9


def test_estimator_may_be_a_function_of_the_generator():
    result = small_game(estimator=lambda rng: NoisyMean(Pure(1.0), R=3.0, random_state=rng))
    assert result.privacy == Pure(1.0)


def test_nested_random_states_are_seeded():
    class Nested(BaseEstimator):
        def __init__(self, inner=None):
            self.inner = inner

        def fit(self, X, y=None):
            self.mean_ = self.inner.fit(X).mean_
            return self

    first, second = (small_game(estimator=Nested(NOISY)) for _ in range(2))
    np.testing.assert_array_equal(first.in_scores, second.in_scores)
    np.testing.assert_array_equal(first.in_scores, small_game().in_scores)


def test_game_result_shapes_and_json():
    result = small_game(n=7, trials=6)
    assert result.in_scores.shape == result.out_scores.shape == (42,)
    assert result.fpr.shape == result.tpr.shape == (8,)
    assert np.all(np.diff(result.fpr) > 0)
    assert np.all(np.diff(result.tpr) >= 0)
    assert (result.fpr[0], result.tpr[0], result.fpr[-1], result.tpr[-1]) == (0, 0, 1, 1)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["n"] == 7
    assert plain["ceiling"]["value"] == pytest.approx(result.ceiling().value)
    for word in ("member sum", "ceiling", "outsider rms", "seed 3", "NoisyMean"):
        assert word in result.summary()


def test_one_trial_has_no_interval():
    result = small_game(trials=1)
    assert result.member_sum.low == -math.inf
    json.dumps(result.to_dict(), allow_nan=False)


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr("attacks.game.KEPT_SCORES", 10)
    assert len(small_game().in_scores) == 6
    assert len(small_game(trials=12).out_scores) == 10
    whole = small_game().member_sum.value
    monkeypatch.setattr("attacks.game.KEPT_SCORES", 100)
    assert small_game().member_sum.value == whole


def test_ceiling_is_the_tracing_lemma():
    result = small_game()
    G = average_pair_gain(ZeroConcentrated, {"rho": 0.5})
    assert gain(ZeroConcentrated(0.5), GAUSSIAN) > G
    expected = 7 * G * 0.7 * math.sqrt(result.spread.value)
    assert result.ceiling().value == pytest.approx(expected)
    plain = result.ceiling(Pure(0.5)).value
    leaky = result.ceiling(Approximate(0.5, 1e-2)).value
    assert leaky > plain + 7 * math.sqrt(1e-2 * result.member_square.value) * 0.99


def test_ceiling_needs_a_privacy():
    result = small_game(estimator=SampleMean())
    with pytest.raises(ValueError, match="privacy"):
        result.ceiling()
    assert result.to_dict()["ceiling"] is None


def test_estimate_is_students_interval():
    x = np.array([1.0, 2.0, 4.0, 9.0])
    low, high = stats.ttest_1samp(x, 0.0).confidence_interval(0.9)
    found = Estimate.over(x, 0.9)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.contains(4.0)
    assert not found.contains(high + 1e-9)


class NoMean(BaseEstimator):
    def fit(self, X, y=None):
        return self


class Scalar(NoMean):
    def fit(self, X, y=None):
        self.mean_ = 0.0
        return self


@pytest.mark.parametrize(
    ("changed", "error", "word"),
    [
        ({"trials": 0}, ValueError, "trials"),
        ({"trials": 2.5}, TypeError, "trials"),
        ({"n": 0}, ValueError, "n must"),
        ({"n": True}, TypeError, "n must"),
        ({"seed": -1}, ValueError, "seed"),
        ({"confidence": 1.0}, ValueError, "confidence"),
        ({"estimator": 3}, TypeError, "estimator"),
        ({"estimator": NoMean()}, TypeError, "estimator must set mean_"),
        ({"estimator": Scalar()}, ValueError, "estimator must release shape"),
        ({"attack": object()}, TypeError, "attack must have scores"),
    ],
)
def test_bad_input_is_named(changed, error, word):
    with pytest.raises(error, match=word):
        small_game(**changed)


def test_residual_attack_needs_a_record_for_every_position():
    instance, sample, fresh, release = drawn(COSINE)
    with pytest.raises(ValueError, match="records"):
        ResidualAttack(COSINE).scores(fresh[:3], release, instance, sample)


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_thresholds_need_a_delta(delta):
    with pytest.raises(ValueError, match="delta"):
        lemma_2_1_threshold(3, 1.0, delta)


# --- Counterexample --------------------------------------------------------------------


def test_claim_covers_both_intervals():
    """By a grid over them; the corner (lowest signal, highest loss) alone would miss the least."""
    signal, loss = Estimate(1.0, 0.2, 1.8), Estimate(3.0, 2.0, 4.0)
    grid = [
        2.0 * (x - math.sqrt(x * y))
        for x in np.linspace(0.2, 1.8, 801)
        for y in np.linspace(2.0, 4.0, 5)
    ]
    found = claimed_sum(2.0, signal, loss)
    assert (found.low, found.high) == pytest.approx((min(grid), max(grid)), rel=1e-5)
    assert found.low < 2.0 * (0.2 - math.sqrt(0.8)) - 0.1
    assert found.value == pytest.approx(2 * (1 - math.sqrt(3)))


def test_counterexample_of_one_trial_claims_nothing():
    single = lemma_3_2_counterexample(100, n=50, s=3, trials=1)
    assert (single.claimed.low, single.claimed.high) == (-math.inf, math.inf)
    assert not single.refuted
    assert json.loads(json.dumps(single.to_dict(), allow_nan=False))["loss"]["low"] is None


def test_counterexample_agrees_with_the_game():
    """Drawing the sample mean and drawing the sample give the same sum, within their intervals."""
    settings = {"trials": 400, "seed": 5, "confidence": 1 - 1e-6}
    short = lemma_3_2_counterexample(60, n=50, s=3, threshold=0.5, **settings)
    prior = TopNormalPrior(60, 3)
    long = play(prior, 50, HardThresholdedMean(threshold=0.5), SupportAttack(), **settings)
    for first, second in ((short.member_sum, long.member_sum), (short.loss, long.loss)):
        assert first.low < second.high
        assert second.low < first.high
    json.dumps(short.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"d": 70}, "s must be below d/8"),
        ({"d": 1000, "n": 0}, "n must"),
        ({"d": 1000, "trials": 0}, "trials"),
        ({"d": 1000, "sigma": 0.0}, "sigma"),
        ({"d": 1000, "threshold": -1.0}, "threshold"),
        ({"d": 1000, "confidence": 0.0}, "confidence"),
    ],
)
def test_counterexample_refuses(arguments, word):
    with pytest.raises(ValueError, match=word):
        lemma_3_2_counterexample(**arguments)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_release_must_be_finite(value):
    class Broken(BaseEstimator):
        def fit(self, X):
            self.mean_ = np.full(X.shape[1], value)
            return self

    with pytest.raises(ValueError, match="finite"):
        small_game(estimator=Broken())
