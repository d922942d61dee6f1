"""Sparse means by distance to instability: exact selection where no neighbour would differ."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from estimators.core.accounting import LedgerEntry
from estimators.core.base import Array, Seed, clipped_sum
from estimators.core.checks import check_problem, check_sparsity
from estimators.core.mechanisms import exponential_mechanism, laplace, propose_test_release
from estimators.core.spending import GivenPrivacy
from estimators.core.truncation import TruncatingEstimator, Truncation
from estimators.sparse_mean import Indices
from minimax.core.bound import UpperBound
from minimax.core.privacy import Approximate
from minimax.problems.sparse_mean.problem import SparseMeanProblem
from minimax.problems.sparse_mean.stable_upper import stable_upper

CHOICE_MARGIN = 20.0
"""Odds, per competitor, at which the exponential mechanism is to prefer a better size."""


class StableRelease(NamedTuple):
    """What a stability-tested release gives out."""

    size: int
    """How many of the largest coordinates are released; 0 if the test refused."""
    values: Array
    """Their noisy values, in the order given."""
    noise_scale: float
    entries: tuple[LedgerEntry, ...]


def stability_distances(top: Array, n: int, R: float) -> Array:
    """g_k = n (a_(k) - a_(k+1))/(4R) for decreasing magnitudes of means of n records in [-R, R].

    1-Lipschitz under replacement: each order statistic moves by at most 2R/n. And g_k > 1 means
    that every neighbour has the same k largest coordinates: all of them stay above
    a_(k) - 2R/n > a_(k+1) + 2R/n, which no other can reach. Ties have g_k = 0.
    """
    return -np.diff(top) * (n / (4 * R))


def stable_release(
    top: Array,
    values: Array,
    *,
    n: int,
    R: float,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> StableRelease:
    """Release the k largest coordinates exactly if no neighbour has other ones, with noisy values.

    `top` holds the s + 1 largest magnitudes in decreasing order, `values` the signed values of the
    first s; s magnitudes only if there are no more than s coordinates. No d-dimensional array is
    needed. The caller may publish the *set* of coordinates; their order is not private.
    See `StableSparseMean` for the algorithm and the proof.
    """
    s = len(values)
    if len(top) not in (s, s + 1) or s < 1:
        raise ValueError(f"top must hold s or s + 1 magnitudes for s = {s} values, got {len(top)}")
    if np.any(top[1:] > top[:-1]):
        raise ValueError("top must be in decreasing order")
    entries: list[LedgerEntry] = []
    size, passed, share = s, True, epsilon
    if len(top) > s:
        share = epsilon / (2 if s == 1 else 3)
        distances = stability_distances(top, n, R)
        if s > 1:
            sure = 1 + (math.log(1 / (2 * delta)) + math.log(CHOICE_MARGIN)) / share
            step = 2 * math.log(CHOICE_MARGIN * s) / share
            scores = np.minimum(distances, sure + step * np.arange(1, s + 1))
            chosen, entry = exponential_mechanism(
                scores, sensitivity=1.0, epsilon=share, rng=rng, about="how many coordinates"
            )
            size = chosen + 1
            entries.append(entry)
        passed, entry = propose_test_release(
            float(distances[size - 1]), epsilon=share, delta=delta, rng=rng, about="support"
        )
        entries.append(entry)
    # Drawn and charged also when refused: the ledger must not depend on the data.
    l1 = 2 * R * size / n
    noisy, entry = laplace(values[:size], l1_sensitivity=l1, epsilon=share, rng=rng, about="values")
    entries.append(entry)
    if not passed:
        return StableRelease(0, noisy[:0], entry.scale, tuple(entries))
    return StableRelease(size, noisy, entry.scale, tuple(entries))


class StableSparseMean(TruncatingEstimator):
    """Release the largest coordinates exactly when no neighbouring data set would change them.

    **Algorithm.** a = |average of the records clipped to [-R, R]|, in decreasing order; distances
    g_k = n (a_(k) - a_(k+1))/(4R). For s = 1, k = 1. For s > 1 the exponential mechanism picks
    k <= s by the score min(g_k, c + b k): the largest k whose gap is safely above the test's
    threshold, or else the largest gap. If g_k + Laplace(1/eps') > 1 + log(1/(2 delta))/eps', the k
    coordinates are released with Laplace(2Rk/(n eps')) noise on their means; otherwise the release
    is 0. eps' is eps/2 for s = 1 and eps/3 for s > 1. With s = d there is nothing to choose: the
    set of all coordinates is the same for every data set; no test, the values get all of eps.

    **Privacy**, for every data set. (1) g_k is 1-Lipschitz and b, c are constants, so the scores
    have sensitivity 1 and k is eps'-DP. (2) Given k, let T be the k largest coordinates (ties
    broken in any way). If g_k > 1 at either of two neighbours, T is the same at both
    (`stability_distances`; the inequality is strict, so ties elsewhere do not matter, and a tie at
    k itself has g_k = 0), and what is seen is a function of g_k + Laplace(1/eps'): eps'-DP. If g_k
    <= 1 at both, T is seen with probability at most P(Laplace(1/eps') > log(1/(2 delta))/eps') =
    delta at either, and not seeing it is a function of the Laplace release: (eps', delta)-DP.
    (3) Given the set T, the means on T move by at most 2Rk/n in l1: eps'-DP. These compose to
    (eps, delta). Only the set is released: the order of magnitudes inside T need not be stable.

    **Risk.** s = 1: `risk_bound` proves, for all sub-Gaussian data and with constants, a risk of
    8 sigma^2 log(d)/n for large log d, without (log d)^2; what privacy adds is a multiple of
    sigma^2 log n log^2(1/delta)/(n eps)^2 (`minimax.problems.sparse_mean.stable_upper`). No rate
    is claimed for s > 1.

    **Source.** Distance to instability: Smith and Thakurta (2013); Dwork and Lei (2009). Refutes
    the (log d)^2 of CWZ19: Theorem 3.3 for s = 1 and d large against n.

    **Departures from the paper.** Not in CWZ19. Scores are capped, which keeps their sensitivity
    and prefers a larger set among the safe ones: with the plain gap a single large coordinate
    would hide the others.

    Parameters
    ----------
    privacy : Approximate, delta < 1/2
    s : int
        Largest number of coordinates released.
    R, sigma, radius, quantile, range_share
        As for `SparseMean`.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    mean_, support_ (sorted, empty if refused), R_, noise_scale_, privacy_, ledger_, n_features_in_
    """

    releases = ("mean_", "support_", "R_", "noise_scale_", "ledger_")

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        s: int = 1,
        R: Truncation = "theory",
        sigma: float | None = None,
        radius: float | None = None,
        quantile: float = 0.975,
        range_share: float = 0.1,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.s = s
        self.R = R
        self.sigma = sigma
        self.radius = radius
        self.quantile = quantile
        self.range_share = range_share
        self.random_state = random_state

    def risk_bound(self, problem: SparseMeanProblem) -> UpperBound:
        """The proven upper bound on the risk for s = 1: see
        `minimax.problems.sparse_mean.stable_upper`."""
        check_problem(problem, SparseMeanProblem)
        self._check_truncation("theory", "quantile")
        budget = self._budget(Approximate)
        if self.s != 1 or problem.s != 1:
            raise ValueError(
                f"risk_bound covers s = 1, got {self.s!r} for a problem of {problem.s}"
            )
        if isinstance(self.R, str) and self.R != "theory":
            raise ValueError("risk_bound covers R given or 'theory'")
        assert isinstance(budget, Approximate)
        same = (self.sigma, self.radius) == (problem.sigma, problem.radius)
        R = None if self.R == "theory" and same else self._fixed_level(problem.n)
        point = {name: value for name, value in problem.point.items() if name != "s"}
        given = {**point, "epsilon": budget.epsilon, "delta": budget.delta}
        return replace(stable_upper(R), defaults=given)

    def fit(self, X: ArrayLike, y: object = None) -> StableSparseMean:
        """Release the private sparse mean of the rows of X."""
        X = self._validated(X)
        self._check_truncation("theory", "quantile")
        check_sparsity(self.s, X.shape[1])
        budget = self._budget(Approximate)
        if isinstance(budget, Approximate) and not budget.delta < 0.5:
            raise ValueError(f"privacy.delta must be below 1/2, got {budget.delta!r}")
        rng = self._rng()
        ledger: list[LedgerEntry] = []
        search, left = self._split_for_range(budget)
        level = self._window(X, search, rng, ledger).largest
        assert isinstance(left, Approximate)
        average = clipped_sum(X, np.float64(-level), np.float64(level)) / len(X)
        order = largest_first(np.abs(average), min(self.s + 1, len(average)))
        released = stable_release(
            np.abs(average[order]),
            average[order[: self.s]],
            n=len(X),
            R=level,
            epsilon=left.epsilon,
            delta=left.delta,
            rng=rng,
        )
        ledger += released.entries
        self._account(ledger)
        support = order[: released.size]
        self.mean_ = np.zeros(len(average))
        self.mean_[support] = released.values
        self.support_ = np.sort(support)
        self.R_, self.noise_scale_ = level, released.noise_scale
        return self


def largest_first(magnitudes: Array, k: int) -> Indices:
    """Indices of the k largest magnitudes, largest first."""
    top = np.argpartition(magnitudes, len(magnitudes) - k)[len(magnitudes) - k :]
    return top[np.argsort(-magnitudes[top], kind="stable")]
