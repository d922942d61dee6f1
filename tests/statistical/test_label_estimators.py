"""Regression on private labels, measured. One error budget for the file, fixed seeds, no reruns.

Every interval below has confidence 1 - ALPHA/CHECKS, so all of them hold together with probability
at least 1 - ALPHA. Every check comes with a control: the same assertion on something that must
fail it.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy import linalg, stats

from attacks import Estimate, LabelAttack, PublicDesignPrior, RegressionAttack, local_ceiling, play
from estimators import IterativeHardThresholding, LabelHardThresholding, LabelLasso
from estimators.core.design import Design
from estimators.label_descent import thresholded_descent
from estimators.randomisers.label_budget import label_randomiser, noise_level, noise_tail
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.methods.priors import RegressionPrior
from minimax.problems.label_regression.lower import wx21_theorem_7

ALPHA = 1e-6
CHECKS = 120
"""At least the number of intervals the assertions below rely on."""
CONFIDENCE = 1 - ALPHA / CHECKS
over = partial(Estimate.over, confidence=CONFIDENCE)
game = partial(play, confidence=CONFIDENCE, attribute="coef_")
named = pytest.mark.parametrize
C = 0.1


def label(kind, *numbers):
    return kind(*numbers, scope="label")


def draw(n, p, s, rng, size=1.0):
    """Rows of signs, s coefficients +-size/sqrt(s), noise uniform on [-C, C]."""
    X = rng.choice([-1.0, 1.0], (n, p))
    theta = np.zeros(p)
    theta[rng.choice(p, s, replace=False)] = size * rng.choice([-1, 1], s) / math.sqrt(s)
    return X, X @ theta + rng.uniform(-C, C, n), theta


def errors(estimator, n, p, s, trials, seed):
    found = []
    for child in np.random.SeedSequence(seed).spawn(trials):
        rng = np.random.default_rng(child)
        X, y, theta = draw(n, p, s, rng)
        fit = estimator.set_params(random_state=int(rng.integers(2**31))).fit(X, y)
        found.append(float(np.sum((fit.coef_ - theta) ** 2)))
    return np.array(found)


# --- Error ---------------------------------------------------------------------------------------


def report_variance(budget, s):
    """Of a report about its regression mean: the worst case, less E y^2 where that is smaller."""
    bound = math.sqrt(s) + C
    if isinstance(budget, Pure):
        signal = 1.0  # E <x, theta>^2
        return (bound / math.tanh(budget.epsilon / 2)) ** 2 - signal
    return label_randomiser(budget, bound, 1).error() + C**2 / 3


@named("n", [2000, 8000])
@named("budget", [label(Pure, 1.0), label(Pure, 2.0), label(Gaussian, 1.0)], ids=str)
def test_error_is_that_of_least_squares_on_the_true_support(budget, n):
    """E|coef - theta|^2 = s tau^2/n (1 + O(1/n)) once the support is found."""
    s = 3
    estimator = LabelHardThresholding(budget, s=s, C=C, radius=9.0, bound=math.sqrt(s) + C)
    measured = over(errors(estimator, n, 50, s, 120, 1))
    expected = s * report_variance(budget, s) / n
    assert measured.contains(expected)
    assert not measured.contains(2 * expected)
    assert not measured.contains(expected / 2)


def test_one_bit_halves_the_error_of_laplace_noise():
    s, n, budget = 10, 2000, label(Pure, 0.5)
    bound = math.sqrt(s) + C
    one_bit, laplace = (
        over(
            errors(
                LabelHardThresholding(budget, s=s, bound=bound, radius=99.0, mechanism=mechanism),
                n,
                s,
                s,
                200,
                2,
            )
        )
        for mechanism in ("binary", "laplace")
    )
    expected = report_variance(budget, s) / (8 * (bound / 0.5) ** 2 + C**2 / 3)
    assert 0.5 < expected < 0.52
    assert one_bit.low / laplace.high < expected < one_bit.high / laplace.low
    assert one_bit.high / laplace.low < 0.8
    assert one_bit.low / laplace.high > 0.3


def losses_under_the_prior(estimator, trials, seed, **point):
    """Losses with coefficients from the prior of the lower bound's proof at this point."""
    prior, found = wx21_theorem_7(Pure).prior(**point), []
    for child in np.random.SeedSequence(seed).spawn(trials):
        rng = np.random.default_rng(child)
        instance = prior.draw(rng)
        X, y = instance.sample(point["n"], rng)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=int(rng.integers(2**31)))
        found.append(instance.loss(estimator.fit(X, y).coef_))
    return over(found)


POINT = {"n": 2000, "p": 40, "s": 1, "C": 2.0, "epsilon": 0.5}


def test_error_stays_above_the_lower_bound_and_without_privacy_falls_below():
    lower = wx21_theorem_7(Pure).value(**POINT)
    private = LabelHardThresholding(label(Pure, 0.5), s=1, C=2.0)
    assert losses_under_the_prior(private, 60, 3, **POINT).low > lower
    assert losses_under_the_prior(IterativeHardThresholding(s=1), 60, 3, **POINT).high < lower


def test_error_falls_like_n_and_epsilon_squared_and_grows_like_log_p():
    """At the hardest coefficients the error is of order s log(p)/(n eps^2)."""

    def measured(**changed):
        point = {**POINT, **changed}
        estimator = LabelHardThresholding(label(Pure, point["epsilon"]), s=1, C=2.0)
        return losses_under_the_prior(estimator, 300, 4, **point)

    base = measured()
    sharper = (math.tanh(0.5) / math.tanh(0.25)) ** 2  # 3.56: eps^2/4 is tanh(eps/2)^2 exactly
    for changed, factor in (({"n": 8000}, 4.0), ({"epsilon": 1.0}, sharper)):
        other = measured(**changed)
        low, high = base.low / other.high, base.high / other.low
        assert low < factor < high
        assert low > factor**0.5  # the exponent is above 1/2 of the claimed one
        assert high < factor**1.5
    wide = measured(p=400)
    assert base.high / wide.low < 1.5  # it does not fall
    assert wide.high / base.low < 10**0.5  # and not even the root of p is seen


# --- The statements in the docstrings ------------------------------------------------------------


@named("mechanism", ["laplace", "binary", "gaussian", "genprot"])
def test_noise_level_holds_with_its_chance(mechanism):
    n, p, chance, trials = 200, 30, 0.2, 1000
    budget = label(Approximate, 1.0, 1e-3)
    randomiser = label_randomiser(budget, 1 + C, n, mechanism=mechanism)
    rng = np.random.default_rng(4)
    X, _, theta = draw(n, p, 1, rng)
    level = noise_level(Design(X), noise_tail(randomiser, C), chance)
    largest = np.empty(trials)
    for i in range(trials):
        y = X @ theta + rng.uniform(-C, C, n)
        reports = randomiser.randomise(y, rng).value
        largest[i] = np.abs(X.T @ (reports - X @ theta)).max() / n
    above, half = int((largest > level).sum()), int((largest > level / 2).sum())
    assert stats.binomtest(above, trials, chance, alternative="greater").pvalue > ALPHA / CHECKS
    assert stats.binomtest(half, trials, chance, alternative="greater").pvalue < ALPHA / CHECKS


def bent(t):
    """Slopes in [.8, 1]."""
    return 0.9 * t + 0.1 * np.sin(t)


def contraction_excess(eta, f=lambda t: t, sign=1, steps=6):
    """The largest |theta_T - theta*| over its bound in the docstring, for an orthogonal design."""
    rng, n = np.random.default_rng(0), 64
    X = linalg.hadamard(n).astype(float)
    ratios = []
    for _ in range(30):
        theta = np.zeros(n)
        theta[rng.integers(n)] = rng.choice([-1.0, 1.0])
        noise = rng.choice([0.001, 0.1, 1.0]) * rng.standard_normal(n)
        y = f(X @ theta) + noise
        coef, _ = thresholded_descent(
            Design(X), lambda t, y=y: sign * (f(t) - y), s=8, radius=1.0, steps=steps, step_size=eta
        )
        allowed = 0.5**steps + 3.5 * eta * math.sqrt(17) * np.abs(X.T @ noise / n).max()
        ratios.append(np.linalg.norm(coef - theta) / allowed)
    return max(ratios)


@named(("f", "a"), [(lambda t: t, 1.0), (bent, 0.8)], ids=["linear", "bent"])
def test_contraction_of_the_docstring(f, a):
    for eta in np.linspace(5 / (7 * a), 9 / 7, 4):
        assert contraction_excess(eta, f) <= 1
    assert contraction_excess(0.1, f) > 1  # outside of the window
    assert contraction_excess(1.0, f, sign=-1) > 1  # the printed sign


def test_lasso_error_is_within_its_bound():
    """|coef - theta| <= 3 sqrt(s) lambda/kappa with chance .95; without the factor 3 it is not."""
    s, n, p, trials = 2, 4000, 60, 60
    excess = []
    for child in np.random.SeedSequence(6).spawn(trials):
        rng = np.random.default_rng(child)
        X, y, theta = draw(n, p, s, rng)
        kappa = np.linalg.eigvalsh(X.T @ X / n)[0]  # over all vectors: no larger than restricted
        fit = LabelLasso(label(Pure, 2.0), s=s, C=C, random_state=int(rng.integers(2**31))).fit(
            X, y
        )
        bound = math.sqrt(s) * fit.penalty_ / kappa
        excess.append(np.linalg.norm(fit.coef_ - theta) / bound)
    failures = int((np.array(excess) > 3).sum())
    assert stats.binomtest(failures, trials, 0.05, alternative="greater").pvalue > ALPHA / CHECKS
    assert np.mean(np.array(excess) > 0.5) > 0.9


# --- Attack --------------------------------------------------------------------------------------


DENSE = RegressionPrior(d=60, radius=1.0, sigma=0.5)
SPARSE = RegressionPrior(d=100, radius=20.0, sigma=0.3, support=10)
BUDGET = label(Pure, 1.0)


def private(s, radius, budget=BUDGET, bound=2.5):
    return LabelHardThresholding(budget, s=s, bound=bound, radius=radius)


def play_labels(prior, n, estimator, trials, seed):
    return game(
        PublicDesignPrior(prior, n), n, estimator, LabelAttack(prior), trials=trials, seed=seed
    )


@named(
    "estimator",
    [IterativeHardThresholding(s=60), private(60, 1.0), private(60, 1e3)],
    ids=["plain", "private", "private, unbiased"],
)
def test_label_attack_identity_and_soundness(estimator):
    result = play_labels(DENSE, 200, estimator, 150, 21)
    assert result.completeness_gap.contains(0.0)
    assert result.outsider_mean.contains(0.0)
    assert result.outsider_abs.high <= result.soundness.low
    assert result.outsider_rms.low <= result.soundness.high
    assert result.soundness.low <= result.outsider_rms.high


def test_label_identity_needs_the_right_prior():
    """The control: an estimator that shrinks to the ball notices a prior three times as wide."""
    wide = LabelAttack(RegressionPrior(d=60, radius=3.0, sigma=0.5))
    prior, shrinking = PublicDesignPrior(DENSE, 200), private(60, 1.0, label(Pure, 20.0))
    right = game(prior, 200, shrinking, LabelAttack(DENSE), trials=300, seed=22)
    wrong = game(prior, 200, shrinking, wide, trials=300, seed=22)
    assert right.completeness_gap.contains(0.0)
    assert not wrong.completeness_gap.contains(0.0)


@named(
    ("prior", "n", "s", "bound"),
    [(DENSE, 200, 60, 2.5), (SPARSE, 60, 10, 15.0)],
    ids=["dense", "sparse"],
)
def test_the_plain_twin_is_traced_and_the_private_one_is_not(prior, n, s, bound):
    attack = LabelAttack(prior)
    plain = play_labels(prior, n, IterativeHardThresholding(s=s), 300, 23)
    hidden = play_labels(prior, n, private(s, prior.radius, bound=bound), 300, 23)
    assert plain.auc.low > 0.55 > hidden.auc.high
    # What local privacy allows: kept by the private estimator, broken by its twin.
    assert hidden.member_sum.high < local_ceiling(hidden, attack).low
    assert plain.member_sum.low > local_ceiling(plain, attack, label(Pure, 0.3)).high


def test_local_privacy_allows_less_than_central_privacy_of_the_same_epsilon():
    hidden = play_labels(DENSE, 200, private(60, 1.0), 60, 26)
    assert local_ceiling(hidden, LabelAttack(DENSE)).high < hidden.ceiling().low


@named(
    "budget",
    [label(Approximate, 0.3, 1e-6), label(ZeroConcentrated, 0.03), label(Gaussian, 0.3)],
    ids=str,
)
def test_other_budgets_stay_below_their_ceiling_and_the_plain_twin_does_not(budget):
    attack = LabelAttack(DENSE)
    hidden = play_labels(DENSE, 200, private(60, 1.0, budget), 300, 24)
    plain = play_labels(DENSE, 200, IterativeHardThresholding(s=60), 60, 24)
    assert hidden.member_sum.high < local_ceiling(hidden, attack).low
    assert plain.member_sum.low > local_ceiling(plain, attack, budget).high


def test_plain_records_are_traced_beyond_local_privacy_though_central_privacy_would_allow_it():
    prior = RegressionPrior(d=10, radius=1.0, sigma=0.5)
    attack = RegressionAttack(prior)
    plain = game(prior, 500, IterativeHardThresholding(s=10), attack, trials=150, seed=27)
    assert plain.member_sum.low > local_ceiling(plain, attack, Pure(1.0, scope="local")).high
    assert plain.member_sum.high < plain.ceiling(Pure(1.0)).low


def test_private_labels_do_not_make_private_records():
    """Members (x, y) against fresh records: more is traced than local privacy of records allows."""
    prior = RegressionPrior(d=150, radius=1.0, sigma=0.5)
    attack = RegressionAttack(prior)
    result = game(prior, 400, private(150, 1e3), attack, trials=300, seed=25)
    assert result.member_sum.high < local_ceiling(result, attack, BUDGET).low
    assert result.member_sum.low > local_ceiling(result, attack, Pure(1.0, scope="local")).high
