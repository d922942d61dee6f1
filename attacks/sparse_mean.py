r"""The tracing attack on sparse means, and why its claimed completeness fails (CWZ19 §3.3).

Given mu with support S, sum_i A_i = n <(xbar - mu)_S, M - mu>, and Stein's lemma in x gives

    sum_i E[A_i | mu] = sigma^2 sum_{j in S} (d/d mu_j) E[M_j | mu].

If M_j is a 1-Lipschitz function of xbar_j (any clipped or soft-thresholded mean) each derivative is
at most one, and likewise if records are clipped before they are averaged. So the sum is at most
sigma^2 s for every mu, hence for *every prior*: no log d. Noise that is independent of the data
leaves the sum as it is, so that the clipped mean with noise, which is (epsilon, delta)-private and
whose risk vanishes as n grows, refutes Lemma 3.2(2). Hard thresholding at level t jumps, and has
derivative P(|xbar_j| > t) + t (f_j(t) + f_j(-t)), f_j the density of xbar_j; the second term is
negligible unless the prior puts mass near t. It is not private: it shows where the proof fails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from attacks.estimate import Estimate, check_confidence, check_count, plain, root
from estimators.controls.mean import HardThresholdedMean
from minimax.core.bound import Instance
from minimax.methods.priors import GaussianInstance
from minimax.methods.tracing import GAUSSIAN, Tail
from minimax.problems.sparse_mean.lower import refuted_lemma_3_2

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SupportAttack:
    r"""A = <(x - mu)_S, M - mu>, S = supp(mu): CWZ19: (3.2).

    **Soundness** (Lemma 3.2(1)). V = (M - mu)_S is independent of an outsider, so E_Q A = 0 and
    E_Q|A| <= sqrt(E_Q A^2) = sigma sqrt(E|(M - mu)_S|^2) <= sigma sqrt(E|M - mu|^2). (The proof
    prints E A' for E|A'|.)

    **Completeness.** None that does not depend on the estimator: Lemma 3.2(2), sum_i E A_i at least
    of order sigma^2 s log d for every private M of vanishing risk, fails for the clipped mean with
    noise, whose sum is at most sigma^2 s under every prior (above).

    **Source.** CWZ19: (3.2), after Steinke and Ullman (2017).
    """

    sigma: float = 1.0
    name: ClassVar[str] = "attack on the support <(x-mu)_S, M-mu>"
    source: ClassVar[str] = "CWZ19: (3.2)"
    tail: ClassVar[Tail] = GAUSSIAN
    symmetric: ClassVar[bool] = True

    def scores(self, records: Array, release: Array, instance: Instance, sample: Array) -> Array:
        on = np.flatnonzero(instance.target)
        mean = instance.target[on]
        return np.asarray((records[:, on] - mean) @ (release[on] - mean))

    def spread(self, release: Array, instance: Instance, n: int) -> float:
        on = np.flatnonzero(instance.target)
        return float(np.sum((release[on] - instance.target[on]) ** 2))

    def completeness(self, release: Array, instance: Instance, n: int) -> None:
        return None


@dataclass(frozen=True)
class TopNormalPrior:
    """The prior of the proof of CWZ19: Lemma 3.2(2).

    nu_1..nu_d independent N(0, gamma^2) truncated to [-1, 1], gamma^2 = 1/(4 log(d/4s)); mu keeps
    the s entries of largest magnitude, which exceed 1/2 with high probability.
    """

    d: int
    s: int
    sigma: float = 1.0

    def __post_init__(self) -> None:
        check_count("d", self.d)
        check_count("s", self.s)
        if 8 * self.s >= self.d:
            raise ValueError(f"s must be below d/8, got s={self.s}, d={self.d}")
        if not (self.sigma > 0 and math.isfinite(self.sigma)):
            raise ValueError(f"sigma must be positive and finite, got {self.sigma!r}")

    @property
    def variance(self) -> float:
        """gamma^2."""
        return 1 / (4 * math.log(self.d / (4 * self.s)))

    @property
    def typical_cut(self) -> float:
        """The level that s of the d entries exceed on average."""
        sd = math.sqrt(self.variance)
        whole = 2 * stats.norm.sf(1 / sd)
        share = whole + (1 - whole) * self.s / self.d
        return float(sd * stats.norm.isf(share / 2))

    def draw(self, rng: np.random.Generator) -> GaussianInstance:
        nu = math.sqrt(self.variance) * rng.standard_normal(self.d)
        while len(out := np.flatnonzero(np.abs(nu) > 1)):
            nu[out] = math.sqrt(self.variance) * rng.standard_normal(len(out))
        top = np.argpartition(np.abs(nu), self.d - self.s)[self.d - self.s :]
        mean = np.zeros(self.d)
        mean[top] = nu[top]
        return GaussianInstance(mean, self.sigma)


@dataclass(frozen=True, kw_only=True)
class TracedSum:
    """sum_i E A_i of an estimator M of theta, beside the claim that it is large."""

    d: int
    n: int
    s: int
    sigma: float
    threshold: float
    trials: int
    seed: int
    confidence: float
    member_sum: Estimate
    """sum_i E A_i, measured."""
    loss: Estimate
    """E|M - theta|^2."""
    signal: Estimate
    """E|theta|^2."""
    claimed: Estimate
    """The display of the proof, by `claimed_sum`."""
    printed: float
    """sigma^2 s log d, the lemma with its hidden constant set to one."""

    @property
    def refuted(self) -> bool:
        """Whether the measured sum is below the display, interval against interval.

        Three intervals enter, so that this is said with confidence 1 - 3 (1 - confidence).
        """
        return self.member_sum.high < self.claimed.low


@dataclass(frozen=True, kw_only=True)
class Counterexample(TracedSum):
    """What hard thresholding does to (B.1), from which CWZ19 concludes Lemma 3.2(2)."""

    stein: Estimate
    """The sum by Stein's formula given mu: no noise but that of the prior."""

    @property
    def lipschitz_sum(self) -> float:
        """sigma^2 s: the most that a coordinate-wise 1-Lipschitz function of the mean can reach."""
        return self.sigma**2 * self.s

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {**plain(self), "lipschitz_sum": self.lipschitz_sum, "refuted": self.refuted}


def lemma_3_2_counterexample(
    d: int,
    n: int = 4000,
    s: int = 10,
    sigma: float = 1.0,
    *,
    threshold: float = 0.25,
    trials: int = 400,
    seed: int = 0,
    confidence: float = 0.99,
) -> Counterexample:
    r"""Measure sum_i E A_i of the hard-thresholded mean under the lemma's own prior.

    **Claim** (CWZ19: (B.1), for Lemma 3.2(2)). sum_i E A_i >= (sigma/gamma)^2 (E|mu|^2 -
    sqrt(E|M - mu|^2 E|mu|^2)), of order sigma^2 s log d.

    **What is refuted.** The lemma is stated for private M, and this M is not: it breaks the steps
    of the proof, which use of M only that its risk vanishes. The lemma itself falls with a private
    clipped mean, whose sum is at most sigma^2 s (see the top of this module).

    **Why.** Under `TopNormalPrior` hardly any |mu_j| is near 1/4 and xbar_j is within
    sigma/sqrt n of mu_j, so thresholding at 1/4 keeps S and nothing else: M = mu + (xbar - mu)_S,
    the risk is sigma^2 s/n, and sum_i E A_i = n E|(xbar - mu)_S|^2 = sigma^2 s, for every d. The
    proof of (B.1) applies Stein's lemma to g_j(nu) 1(j in S(nu)) and drops its jump, at which nu_j
    enters S; the jump is the whole log d. Indeed a threshold *at* `TopNormalPrior.typical_cut`,
    where the prior has mass, does reach a sum that grows with log d: that is the control.

    **Method.** sum_i A_i is a function of xbar ~ N(mu, sigma^2 I/n), which is drawn directly: no
    n x d array, and d = 10^6 is nothing special.
    """
    for name, count, least in (("n", n, 1), ("trials", trials, 1), ("seed", seed, 0)):
        check_count(name, count, least)
    check_confidence(confidence)
    prior = TopNormalPrior(d, s, sigma)
    children = np.random.SeedSequence(seed).spawn(trials)
    rows = [_counter_trial(prior, n, threshold, np.random.default_rng(c)) for c in children]
    total, stein, loss, signal = (Estimate.over(x, confidence) for x in np.transpose(rows))

    return Counterexample(
        d=d,
        n=n,
        s=s,
        sigma=sigma,
        threshold=threshold,
        trials=trials,
        seed=seed,
        confidence=confidence,
        member_sum=total,
        stein=stein,
        loss=loss,
        signal=signal,
        claimed=claimed_sum(sigma**2 / prior.variance, signal, loss),
        printed=refuted_lemma_3_2().value(d=d, s=s, sigma=sigma),
    )


def claimed_sum(scale: float, signal: Estimate, loss: Estimate) -> Estimate:
    """scale (signal - sqrt(signal loss)): what CWZ19 (B.1) and (B.5) claim, over both intervals.

    It falls in the loss; in the signal it falls to its least, -loss/4 at loss/4, and then grows. So
    the low end is not always at the lowest signal.
    """

    def at(signal: float, loss: float) -> float:
        return scale * (signal - root(signal * loss))

    value = at(signal.value, loss.value)
    if not math.isfinite(loss.high):  # one trial: nothing is known of either
        return Estimate(value, -math.inf, math.inf)
    lowest = max(signal.low, 0.0)
    turn = min(max(loss.high / 4, lowest), signal.high)
    high = max(at(end, loss.low) for end in (lowest, signal.high))
    return Estimate(value, at(turn, loss.high), high)


def _counter_trial(
    prior: TopNormalPrior, n: int, threshold: float, rng: np.random.Generator
) -> tuple[float, float, float, float]:
    """(sum_i A_i, its mean given mu, loss, |mu|^2)."""
    instance = prior.draw(rng)
    mu, deviation = instance.target, prior.sigma / math.sqrt(n)
    average = mu + deviation * rng.standard_normal(prior.d)
    # The estimator depends on the sample through its mean, so the mean may stand for the sample.
    release = HardThresholdedMean(threshold=threshold).fit(average[None, :]).mean_
    on = np.flatnonzero(mu)
    total = n * float((average[on] - mu[on]) @ (release[on] - mu[on]))
    loss = float(np.sum((release - mu) ** 2))
    stein = prior.sigma**2 * float(np.sum(_derivative(mu[on], threshold, deviation)))
    return total, stein, loss, float(mu @ mu)


def _derivative(mean: Array, threshold: float, deviation: float) -> Array:
    """d/d mu of E[x 1(|x| > t)], x ~ N(mu, deviation^2)."""
    up, down = (threshold - mean) / deviation, (threshold + mean) / deviation
    kept = stats.norm.sf(up) + stats.norm.sf(down)
    jump = threshold / deviation * (stats.norm.pdf(up) + stats.norm.pdf(down))
    return np.asarray(kept + jump)
