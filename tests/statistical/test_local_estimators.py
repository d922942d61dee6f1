"""Estimators from locally private records: they recover, improve with n, and are not too good.

Student tests over independent data sets at level 1e-6 each, fixed seeds. Every check has a control
that must not pass: the gradient's sign flipped, no privacy, another constant.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from attacks import GameResult, RegressionAttack, local_ceiling, play
from estimators.controls.regression import IterativeHardThresholding
from estimators.core.links import Link
from estimators.local_regression import LocalHardThresholding, OneShotThreshold
from minimax.core.privacy import Pure
from minimax.methods.priors import RegressionPrior, TwoLabelPrior
from minimax.problems.local_regression.randomised_response import randomised_response_risk
from tests.effort import part

Array = NDArray[np.float64]
ALPHA = 1e-6
LEVEL = 1 - ALPHA
P = 10
SIZE = 0.9
PAPER = Link(lambda t: 8 * t + np.cos(t), lambda t: 8 - np.sin(t), 7.0, 9.0)


def local(epsilon: float) -> Pure:
    return Pure(epsilon, scope="local")


def errors(
    estimator: Any, n: int, s: int, trials: int, *, seed: int = 0, size: float = SIZE, f: Any = None
) -> Array:
    """|coef_ - theta|^2 over new data: theta of this norm with s entries, noise within .5."""
    found = []
    for child in np.random.SeedSequence(seed).spawn(trials):
        rng = np.random.default_rng(child)
        theta = np.zeros(P)
        theta[rng.choice(P, s, replace=False)] = size / math.sqrt(s) * rng.choice([-1, 1], s)
        X = rng.choice([-1.0, 1.0], (n, P))
        mean = X @ theta if f is None else f(X @ theta)
        y = mean + rng.uniform(-0.5, 0.5, n)
        coef = estimator.set_params(random_state=rng).fit(X, y).coef_
        found.append(np.sum((coef - theta) ** 2))
    return np.array(found)


def smaller(ours: Array, other: Array | float) -> bool:
    """Whether a mean is below another, or a number, at level ALPHA."""
    if isinstance(other, np.ndarray):
        result = stats.ttest_ind(ours, other, equal_var=False, alternative="less")
    else:
        result = stats.ttest_1samp(ours, other, alternative="less")
    return bool(result.pvalue < ALPHA)


class Ascent(LocalHardThresholding):
    """The control: the gradient's sign flipped, as in the label algorithm that WX21 prints."""

    def _gradients(self, *arguments: Any) -> Any:
        return (-block for block in super()._gradients(*arguments))


@pytest.mark.parametrize("randomiser", ["duchi", "privunit"])
@pytest.mark.parametrize(("s", "n"), [(1, 20_000), (3, 100_000)])
def test_hard_thresholding_recovers_and_ascent_does_not(randomiser: Any, s: int, n: int) -> None:
    """n is such that s T length^2/(p n), the noise on s coordinates, is about zero's error / 30."""
    options: dict[str, Any] = {"s": s, "C": 0.5, "randomiser": randomiser}
    ours = errors(LocalHardThresholding(local(4.0), **options), n, s, 25)
    assert smaller(ours, SIZE**2 / 3)
    assert errors(Ascent(local(4.0), **options), n, s, 5).min() > SIZE**2


def test_the_error_falls_with_n() -> None:
    model = LocalHardThresholding(local(4.0), s=3, C=0.5)
    few, many = errors(model, 3_000, 3, 40), errors(model, 200_000, 3, 25, seed=1)
    assert smaller(many, few / 4)
    assert not smaller(errors(model, 3_000, 3, 40, seed=2), few / 4)


def test_the_papers_link_works_and_without_it_does_not() -> None:
    size = 0.3
    linked = LocalHardThresholding(local(4.0), C=0.5, link=PAPER)
    ours = errors(linked, 100_000, 1, 25, size=size, f=PAPER.f)
    assert smaller(ours, size**2 / 3)
    plain = LocalHardThresholding(local(4.0), C=0.5)  # finds 8 theta, cut to the ball
    assert errors(plain, 100_000, 1, 5, size=size, f=PAPER.f).min() > size**2


def test_privunit_is_better_than_the_half_sphere() -> None:
    """At epsilon = 4 and p = 10 its reports have .29 of the error, and the rest is the same.

    Nothing is cut (s = p), so that errors are the reports' alone, without the heavy tail of a wrong
    support.
    """
    options: dict[str, Any] = {"s": P, "radius": 10.0, "clip": 8.0, "steps": 2}
    best = LocalHardThresholding(local(4.0), randomiser="privunit", **options)
    half = LocalHardThresholding(local(4.0), randomiser="duchi", **options)
    plain = errors(half, 20_000, 3, 40, seed=1)
    assert smaller(errors(best, 20_000, 3, 40), plain / 2)
    assert not smaller(errors(half, 20_000, 3, 40, seed=2), plain / 2)


# One report


@pytest.mark.parametrize("report", ["coordinate", "hypercube"])
def test_one_shot_is_unbiased_with_the_variance_of_its_reports(report: Any) -> None:
    """Nothing cut: each coordinate has mean theta_j and variance (b^2 - theta_j^2)/users."""
    n, theta, trials = 200, np.array([0.6, -0.3, 0.0, 0.0]), 4000
    rng = np.random.default_rng(5)
    model = OneShotThreshold(local(1.5), s=4, C=0.5, report=report, radius=1e3, bound=1.6)
    found = []
    for _ in range(trials):
        X = rng.choice([-1.0, 1.0], (n, 4))
        y = X @ theta + rng.uniform(-0.5, 0.5, n)
        found.append(model.set_params(random_state=rng).fit(X, y).coef_)
    kind, users = model.randomiser_, n if report == "hypercube" else n / 4
    variance = (kind.size**2 - theta**2) / users
    if report == "coordinate":
        assert kind.size == pytest.approx(1.6 / math.tanh(0.75))
    gaps = (np.mean(found, axis=0) - theta) / np.sqrt(variance / trials)
    limit = stats.norm.isf(ALPHA / 8)
    assert np.abs(gaps).max() < limit
    assert np.abs(np.mean(found, axis=0) - 0.9 * theta).max() > limit * math.sqrt(
        float(variance.max()) / trials
    )
    # normal to a good approximation: n/p = 50 bits at least
    spread = np.var(found, axis=0) / variance
    assert np.abs(spread - 1).max() < 1.2 * limit * math.sqrt(2 / trials)
    assert np.abs(spread * 1.3 - 1).max() > 1.2 * limit * math.sqrt(2 / trials)


def test_one_shot_is_no_better_than_the_exact_bayes_risk_and_not_far() -> None:
    """Under the prior of WX21: Theorem 1 the posterior mean is the best that the bits allow."""
    n, p, epsilon, B, delta = 4000, 8, 1.0, 1.5, 0.4
    best = randomised_response_risk(n, p, epsilon, B, delta)
    prior = TwoLabelPrior(p, delta, B)

    def risks(model: Any, seed: int) -> Array:
        rng = np.random.default_rng(seed)
        found = []
        for _ in range(300):
            instance = prior.draw(rng)
            X, y = instance.sample(n, rng)
            coef = model.set_params(random_state=rng).fit(X, y).coef_
            found.append(np.sum((coef - instance.target) ** 2))
        return np.array(found)

    ours = risks(OneShotThreshold(local(epsilon), bound=B), 0)
    assert not smaller(ours, best)
    assert smaller(ours, 4 * best)
    open_ = risks(OneShotThreshold(local(8.0), bound=B), 1)
    assert smaller(open_, best)


# Attack


PRIORS = [
    RegressionPrior(d=P, radius=2.0, sigma=0.5),
    RegressionPrior(d=P, radius=2.0, sigma=0.5, support=4),
]
PROTOCOLS: list[tuple[Any, dict[str, Any]]] = [
    (LocalHardThresholding, {"steps": 1, "randomiser": "privunit"}),
    (OneShotThreshold, {"report": "hypercube"}),
    (LocalHardThresholding, {"steps": 3}),
]
PROTOCOL_NAMES = ["one round", "one shot", "three rounds"]
each_prior = pytest.mark.parametrize("prior", PRIORS, ids=["dense", "sparse"])


def trace(prior: RegressionPrior, estimator: Any, trials: int) -> tuple[GameResult, Any]:
    """Members (x, y) against fresh records: the game, and what local privacy allows in it."""
    attack = RegressionAttack(prior)
    result = play(
        prior, 800, estimator, attack, trials=trials, seed=31, attribute="coef_", confidence=LEVEL
    )
    return result, partial(local_ceiling, result, attack)


def protocol(prior: RegressionPrior, epsilon: float, kind: Any, options: dict[str, Any]) -> Any:
    s = RegressionAttack(prior).d
    scale = 1 / math.sqrt(s)
    return kind(local(epsilon), s=s, radius=2.0, C=1.5, feature_scale=scale, **options)


@each_prior
@pytest.mark.parametrize(("kind", "options"), PROTOCOLS, ids=PROTOCOL_NAMES)
def test_private_records_are_traced_no_further_than_local_privacy_allows(
    kind: Any, options: dict[str, Any], prior: RegressionPrior
) -> None:
    result, allowed = trace(prior, protocol(prior, 2.0, kind, options), trials=part(250, of=500))
    assert result.privacy == local(2.0)
    assert result.completeness_gap is not None
    assert result.completeness_gap.contains(0.0)
    assert result.member_sum.high < allowed().low


@each_prior
def test_the_plain_twin_is_traced_further_than_local_privacy_allows(prior: RegressionPrior) -> None:
    """The control, at the same n and epsilon."""
    twin = IterativeHardThresholding(s=RegressionAttack(prior).d)
    result, allowed = trace(prior, twin, trials=800)
    assert result.member_sum.low > allowed(local(2.0)).high


@each_prior
@pytest.mark.parametrize(("kind", "options"), PROTOCOLS[:2], ids=PROTOCOL_NAMES[:2])
def test_a_large_budget_is_traced_further_than_a_small_one_allows(
    kind: Any, options: dict[str, Any], prior: RegressionPrior
) -> None:
    """The control of what was spent. The identity is the members' sum with less noise."""
    result, allowed = trace(prior, protocol(prior, 50.0, kind, options), trials=300)
    assert result.completeness is not None
    assert result.completeness.low > allowed(local(0.1)).high
    assert result.completeness.high < allowed().low
