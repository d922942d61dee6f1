"""Private means that the literature compares with: Karwa and Vadhan's, and CoinPress."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from estimators.baselines.histogram import LAST_BIN, bin_counts, fullest_bin
from estimators.core.base import Array, PrivateEstimator, Seed, ball_clipped_sum, split_budget
from estimators.core.checks import check_between, check_positive, check_problem
from estimators.core.intervals import (
    ErrorLaw,
    KnownVariance,
    NoiseLaw,
    NoLaw,
    NormalNoise,
    WithIntervals,
    noise_law,
)
from estimators.core.mechanisms import Release, gaussian, gaussian_scale, laplace
from estimators.core.spending import GivenPrivacy
from estimators.core.truncation import SAFE_RANGE, known
from minimax.core.bound import Point, UpperBound
from minimax.core.calibration import Allowance
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Pure,
    SpendablePrivacy,
    ZeroConcentrated,
    at_point,
)
from minimax.core.symbolic import FLOATS, Number, library
from minimax.problems.mean.baselines import (
    CoinPressPlan,
    coinpress_upper,
    far_bin_chance,
    gaussian_length,
    karwa_vadhan_upper,
)
from minimax.problems.mean.problem import MeanProblem
from minimax.problems.mean.upper import subgaussian_clip_bias

RARE = 1e-3
"""The chance that is left to a histogram to be wrong where intervals rely on it."""
Rng = np.random.Generator


def noisy_mean(
    mean: Array, l1: float, l2: float, budget: SpendablePrivacy, rng: Rng
) -> Release[Array]:
    """The mean with noise that spends the budget: Laplace if it is pure, else Gaussian."""
    if isinstance(budget, Pure):
        return laplace(mean, l1_sensitivity=l1, epsilon=budget.epsilon, rng=rng, about="mean")
    scale = gaussian_scale(budget, l2)
    return gaussian(mean, l2_sensitivity=l2, scale=scale, rng=rng, about="mean")


class KarwaVadhanMean(WithIntervals, PrivateEstimator):
    """Find each coordinate's neighbourhood with a private histogram, then clip to it.

    **Algorithm** (Karwa and Vadhan, 2018, coordinate by coordinate). Records fall into bins of
    width sigma centred at k sigma; the bin with the largest noisy count gives the centre c_j; the
    mean of x_ij - c_j clipped to [-h, h], h = sigma (3/2 + K sqrt(log n)), is released with noise.
    Without `radius` only nonempty bins get noise and the winner must pass a threshold T, else
    c_j = 0. With `radius` every bin that meets [-radius, radius] gets noise and there is no T.

    **Privacy.** Replacing a record moves one unit from bin a to bin b of each coordinate: l1
    distance 2, so Laplace(2/eps_0) noise is eps_0-DP where a and b are nonempty in both data sets.
    Let a hold only that record, so that a is empty afterwards; p = P(1 + Laplace > T). Split on
    whether a passes: P(S) <= p + (1-p) P(S | a absent), where the last term is at most
    e^{eps_0/2} P'(S), for bin b, or P'(S) if b was empty, as b then stays absent with probability
    1-p. Conversely P'(S) <= p + (1-p) P'(S) <= p + e^{eps_0/2} P(S) if b was nonempty. Each data
    set has at most one bin that is empty in the other, so p is paid once: (eps_0, p)-DP, and
    T = 1 + (2/eps_0) log(1/(2 delta_0)) makes p = delta_0. That is one release per coordinate; the
    clipped means, one more for all, move by 2h/n in each coordinate, whatever the data.

    **Risk.** About sigma^2 d/n plus d (noise variance), without a bound on the mean, once n is
    several times T: the largest bin is then the mean's own or one next to it with high probability
    and nothing is clipped. Below that n the centre is 0 and the error can be as large as the mean.
    With `radius`, proven: `risk_bound`.

    **Intervals.** `confidence_interval(level)` and `stderr_`, for records of variance sigma^2: the
    sampling error of the mean, the noise, and what h may cut off, at most E(|x - mean| - u)^+ for a
    window that reaches u beyond the mean on both sides. So it does with u = h - c_0 - radius, c_0
    the farthest centre, if that is positive, and with u = h - 3 sigma/2 where `far_bin_chance` says
    that for normal records the centre is right, but for one in a thousand. Else there is none.

    **Source.** Karwa and Vadhan (2018), "Finite sample differentially private confidence
    intervals"; the comparison of CWZ19 §5.3.

    **Departures from the paper.** Budgets with a delta, and zCDP, use one Gaussian release for all
    means instead of one Laplace release each, and split over coordinates by zCDP or by plain
    addition, whichever gives the histograms more. The threshold is the one replacement needs.

    Parameters
    ----------
    privacy : Pure or ZeroConcentrated (both need `radius`), or Approximate
    sigma, radius : float, float or None
        Known sub-Gaussian scale of each coordinate; bound on the mean's coordinates, if any.
    factor, range_share : float
        K in the clipping margin; share of the budget that goes to the histograms.
    random_state : None, int, Generator or RandomState

    Attributes: mean_, stderr_, centres_, found_, half_width_, noise_scale_, error_law_, privacy_,
    ledger_
    """

    estimated = "mean_"
    releases = ("mean_", "centres_", "found_", "error_law_")

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        sigma: float | None = None,
        radius: float | None = None,
        factor: float = 2.0,
        range_share: float = 0.25,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.sigma, self.radius = sigma, radius
        self.factor, self.range_share = factor, range_share
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> KarwaVadhanMean:
        """Release the private mean of the rows of X."""
        X = self._validated(X)
        self._check_options()
        n, d = X.shape
        search, release = self._split(self._budget(Pure, Approximate, ZeroConcentrated), d)
        sigma = known("sigma", self.sigma)
        last, half = self._last_bin, self._half_width(n)
        rng = self._rng()
        found, centres, offsets = np.zeros(d, dtype=bool), np.zeros(d), np.zeros(d)
        for j, column in enumerate(_columns(X)):
            winner, bins = fullest_bin(bin_counts(column, sigma, last), last, search, rng)
            found[j] = winner is not None
            centres[j] = (winner or 0) * sigma
            offsets[j] = centred_clipped_mean(column, centres[j], half)
        step = 2 * half / n
        noisy, entry = noisy_mean(offsets, step * d, step * math.sqrt(d), release, rng)
        self._account([replace(bins, count=d), entry])
        self.mean_, self.centres_, self.found_ = centres + noisy, centres, found
        self.half_width_, self.noise_scale_ = half, entry.scale
        self.error_law_ = self._error_law(n, 2 / search.epsilon, noise_law(entry, d))
        return self

    def _error_law(self, n: int, scale: float, noise: NoiseLaw) -> ErrorLaw | NoLaw:
        """That of a clipped mean whose window holds the mean, where that is known."""
        sigma, half, last = known("sigma", self.sigma), self.half_width_, self._last_bin
        beyond = -math.inf if self.radius is None else half - last * sigma - float(self.radius)
        bins = n if self.radius is None else 2 * last + 1
        if far_bin_chance(n, scale, bins) <= RARE:
            beyond = max(beyond, half - 1.5 * sigma)
        if not self.found_.all():
            return NoLaw("no bin passed the threshold on some coordinate")
        if not beyond >= 0:
            return NoLaw("for so few records the histogram's bin may be far from the mean")
        bias = 2 * float(subgaussian_clip_bias(beyond, sigma, 0.0))
        return ErrorLaw(KnownVariance(np.array(sigma**2 / n)), noise, bias=bias)

    def risk_bound(self, problem: MeanProblem) -> UpperBound:
        """The proven upper bound on the risk for a given `radius`: see `karwa_vadhan_upper`."""
        check_problem(problem, MeanProblem)
        self._check_options()
        asked = self._budget(Pure, Approximate, ZeroConcentrated)
        if self.radius is None:
            raise ValueError("risk_bound covers radius given")
        return karwa_vadhan_upper(
            problem,
            asked,
            half_width=lambda at: self._half_width(at["n"]),
            farthest_centre=self._last_bin * float(known("sigma", self.sigma)),
            noise_variance=lambda at: self._noise_variance(Allowance(type(asked), at), at),
        )

    @property
    def _last_bin(self) -> int:
        sigma = known("sigma", self.sigma)
        return LAST_BIN if self.radius is None else round(float(self.radius) / sigma)

    def _half_width(self, n: Number) -> Number:
        lib = library(n)
        margin = 1.5 + float(self.factor) * lib.sqrt(lib.log(lib.largest(n, 2)))
        return float(known("sigma", self.sigma)) * margin

    def _noise_variance(self, budget: Allowance, at: Point) -> Number:
        """Of a coordinate, with `radius`; at least that for numbers other than floats."""
        step, d = 2 * self._half_width(at["n"]) / at["n"], at["d"]
        if budget.is_pure:
            return 2 * (step * d / (budget.epsilon * self._kept)) ** 2
        if budget.library is FLOATS:
            _, release = self._split(at_point(budget.model, at), int(d))
            assert isinstance(release, Gaussian)
            return d * gaussian_scale(release, step) ** 2
        mu = budget.library.sqrt(2 * budget.rho() * self._kept)
        if budget.model is Approximate:
            by_addition = {"epsilon": budget.epsilon * self._kept, "delta": at["delta"]}
            mu = budget.library.least(mu, Allowance(Approximate, by_addition).mu())
        return d * (step / mu) ** 2

    @property
    def _kept(self) -> float:
        """The share of the budget that is left for the means, with room for rounding."""
        return (1 - float(self.range_share)) * (1 - 1e-12)

    def _check_options(self) -> None:
        sigma = known("sigma", self.sigma)
        check_between(0, 1000, factor=self.factor)
        check_between(0, 1, range_share=self.range_share)
        if self.radius is not None:
            check_between(*SAFE_RANGE, radius=self.radius)
            if float(self.radius) / sigma > LAST_BIN:
                raise ValueError(f"radius must be at most 2^50 sigma, got {self.radius!r}")
        elif isinstance(self._asked, (Pure, ZeroConcentrated)):
            raise ValueError(f"radius must be given for a budget without delta, {self._asked}")

    def _can_draw(self, kind: type[SpendablePrivacy]) -> bool:
        """Without `radius` the bins are endless, which needs a delta."""
        return self.radius is not None or kind is Approximate

    def _split(
        self, budget: SpendablePrivacy, d: int
    ) -> tuple[Pure | Approximate, Pure | Gaussian]:
        """The guarantee of one coordinate's histogram, and that of the release of all means."""
        share, kept = float(self.range_share), self._kept
        if isinstance(budget, Pure):
            return Pure(budget.epsilon * share / d), Pure(budget.epsilon * kept)
        leak = 0.0
        if isinstance(budget, Approximate) and self.radius is None:
            leak = budget.delta / 2  # the other half is for the composition
            budget = Approximate(budget.epsilon, budget.delta - leak)
        rho = budget.to_zcdp().rho
        epsilon, release = math.sqrt(2 * rho * share / d), Gaussian(math.sqrt(2 * rho * kept))
        if isinstance(budget, Approximate) and budget.epsilon * share / d > epsilon:
            epsilon = budget.epsilon * share / d
            release = Approximate(budget.epsilon * kept, budget.delta).to_gaussian()
        if leak == 0:
            return Pure(epsilon), release
        return Approximate(epsilon, leak / d * (1 - 1e-12)), release


def centred_clipped_mean(column: Array, centre: float, half: float) -> float:
    """Mean of x - centre clipped to [-half, half]. (A bound centre + half would be rounded.)"""
    shifted = column - np.float64(centre)
    np.clip(shifted, np.float64(-half), np.float64(half), out=shifted)
    return float(np.add.reduce(shifted, dtype=float)) / len(column)


def _columns(X: Array, block: int = 16) -> Iterator[Array]:
    """The columns of X as float64, copied into contiguous memory a few at a time."""
    for j in range(0, X.shape[1], block):
        yield from np.ascontiguousarray(X[:, j : j + block].T, dtype=float)


class CoinPressMean(WithIntervals, PrivateEstimator):
    """Shrink a ball around the mean, each time with a noisy clipped mean.

    **Algorithm** (Biswas, Dong, Kamath and Ullman, 2020: MVM). Start from a ball B(c, r) that holds
    the mean. In each of `iterations` steps shorten x - c to length r + gamma, where gamma bounds
    |x - mean| for all n records; release the mean of the shortened records with Gaussian noise; it
    is the next centre, and a confidence radius for it the next r. The last centre is the estimate.

    **Privacy.** Replacing a record moves each clipped mean by at most 2 (r + gamma)/n in l2,
    whatever the data; c and r are functions of earlier releases. All steps are Gaussian, so they
    compose exactly: mu^2 (or rho) adds up.

    **Risk.** With probability 1 - beta no record of a N(mean, sigma^2 I) sample is shortened, and
    the error is sigma^2 d/n plus d times the last step's noise variance, which has forgotten the
    first radius up to a factor that each step shrinks like sqrt(d)/(n sqrt(rho)). In full:
    `risk_bound`.

    **Intervals.** `confidence_interval(level)` and `stderr_`, for N(mean, sigma^2 I) records with
    the mean in the first ball: the sampling error, the last step's noise, and as a bias all that
    shortening may do, `CoinPressPlan.lost`. Radii and scales depend on no record.

    **Source.** Biswas et al. (2020), "CoinPress: practical private mean and covariance estimation".

    **Departures from the paper.** A ball that would grow is kept (too few records); beta is divided
    evenly; (epsilon, delta) and GDP budgets are spent exactly instead of through zCDP.

    Parameters
    ----------
    privacy : ZeroConcentrated, Gaussian or Approximate
    sigma, radius, ball_radius : float, float, float or None
        Known scale (covariance sigma^2 I) and bound on each coordinate of the mean: the first ball
        has radius `radius` sqrt(d), or `ball_radius` if that is given.
    iterations, last_share, beta : int, float, float
        Number of steps; the last one's share of rho (or mu^2), the others divide the rest;
        probability with which the gammas and radii may fail on Gaussian data.
    random_state : None, int, Generator or RandomState

    Attributes: mean_, stderr_, ball_radii_, noise_scale_, error_law_, privacy_, ledger_,
    n_features_in_
    """

    estimated = "mean_"
    releases = ("mean_",)

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        sigma: float | None = None,
        radius: float | None = None,
        ball_radius: float | None = None,
        iterations: int = 3,
        last_share: float = 0.75,
        beta: float = 0.01,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.sigma, self.radius, self.ball_radius = sigma, radius, ball_radius
        self.iterations, self.last_share, self.beta = iterations, last_share, beta
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> CoinPressMean:
        """Release the private mean of the rows of X."""
        X = self._validated(X)
        self._check_options()
        budget = self._budget(ZeroConcentrated, Gaussian, Approximate)
        if isinstance(budget, Approximate):
            budget = budget.to_gaussian()
        n, d = X.shape
        plan = self._plan()
        sigma, parts = plan.sigma, split_budget(budget, *plan.shares)
        record, tail = (gaussian_length(float(d), x) for x in plan.tails(float(n)))
        gamma = sigma * record
        rng, centre = self._rng(), np.zeros(d)
        ledger, radii = [], [float(plan.first_radius(float(d)))]
        for part in parts:
            average = ball_clipped_sum(X, centre, radii[-1] + gamma) / n
            l2 = 2 * (radii[-1] + gamma) / n
            noisy, entry = noisy_mean(average, math.sqrt(d) * l2, l2, part, rng)
            ledger.append(entry)
            shrunk = tail * math.hypot(sigma / math.sqrt(n), entry.scale)
            estimate, noise_scale = centre + noisy, entry.scale
            if shrunk < radii[-1]:
                centre = estimate
            radii.append(min(shrunk, radii[-1]))
        self._account(ledger)
        self.mean_, self.noise_scale_ = estimate, noise_scale
        self.ball_radii_ = np.array(radii)
        lost = plan.lost(float(n), float(d), sigma, [step.scale for step in ledger[:-1]])
        sampling = KnownVariance(np.array(sigma**2 / n))
        self.error_law_ = ErrorLaw(sampling, NormalNoise(noise_scale), bias=float(lost))
        return self

    def risk_bound(self, problem: MeanProblem) -> UpperBound:
        """The proven upper bound on the risk for Gaussian records: see `coinpress_upper`."""
        check_problem(problem, MeanProblem)
        self._check_options()
        asked = self._budget(ZeroConcentrated, Gaussian, Approximate)
        return coinpress_upper(problem, asked, self._plan())

    def _plan(self) -> CoinPressPlan:
        t = int(self.iterations)
        first = [(1 - float(self.last_share)) / max(t - 1, 1)] * (t - 1)

        def first_radius(d: Number) -> Number:
            if self.ball_radius is not None:
                return 0 * d + float(self.ball_radius)
            return float(known("radius", self.radius)) * library(d).sqrt(d)

        sigma = float(known("sigma", self.sigma))
        return CoinPressPlan(sigma, (*first, 1 - sum(first)), float(self.beta), first_radius)

    def _check_options(self) -> None:
        known("sigma", self.sigma)
        if self.ball_radius is None:
            known("radius", self.radius)
        else:
            check_between(*SAFE_RANGE, ball_radius=self.ball_radius)
        check_between(0, 1, last_share=self.last_share, beta=self.beta)
        check_positive(iterations=self.iterations)
        if not isinstance(self.iterations, (int, np.integer)):
            raise TypeError(f"iterations must be an integer, got {self.iterations!r}")
