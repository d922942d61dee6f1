"""Private estimation of a mean vector."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from scipy import special

from estimators.accounting import Guarantee, LedgerEntry
from estimators.base import (
    DEFAULT_PRIVACY,
    Array,
    PrivateEstimator,
    ball_clipped_sum,
    clipped_sum,
    split,
)
from estimators.mechanisms import (
    Calibration,
    FractionBelow,
    above_threshold_quantile,
    check_positive,
    gaussian,
    gaussian_scale,
    laplace,
)
from minimax.bound import Bound, Parts, Point
from minimax.mean import BoundedMeanProblem, MeanProblem, noisy_mean_upper
from minimax.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

Truncation = float | Literal["theory", "quantile"]
THEORY_FACTOR = 4.0
"""K in R = radius + K sigma sqrt(log n); CWZ19 §5.1 uses 4."""


def theoretical_truncation(n: int, sigma: float, radius: float) -> float:
    """R = radius + K sigma sqrt(log n), the choice of CWZ19: Theorem 3.2 with K = 4.

    With K >= sqrt 2 it keeps all n records of a sub-Gaussian(sigma) coordinate with high
    probability: n P(|x - mean| > K sigma sqrt(log n)) <= 2 n^{1 - K^2/2}.
    """
    return radius + THEORY_FACTOR * sigma * math.sqrt(math.log(max(n, 2)))


def private_truncation(
    X: Array, epsilon: float, quantile: float, rng: np.random.Generator
) -> tuple[float, LedgerEntry]:
    """A data-driven level R, epsilon-DP, for data of unknown and unbounded range.

    The quantile of |x_ij| over all entries, found by AboveThreshold on a geometric grid; see
    `above_threshold_quantile`. CWZ19 §5.1 does the same with the two outer percentiles.
    """
    start, growth = 1e-6, 1.1
    release = above_threshold_quantile(
        FractionBelow(X),
        quantile,
        records=len(X),
        start=start,
        growth=growth,
        epsilon=epsilon,
        rng=rng,
        about=f"truncation level, quantile {quantile:g}",
    )
    return release.value, release.entry


def pure_share(budget: Guarantee) -> float:
    """epsilon of a pure mechanism that spends exactly this budget."""
    if isinstance(budget, (Pure, Approximate)):
        return budget.epsilon
    return math.sqrt(2 * budget.to_zcdp().rho)


class NoisyMean(PrivateEstimator):
    """Clip, average, add noise.

    **Algorithm** (CWZ19: Algorithm 3.1). Each coordinate of each record is clipped to [-R, R]
    (``clip="coordinate"``), or each record is shortened to l2 norm R (``clip="ball"``); the
    average is released with Gaussian noise, or Laplace noise under a pure budget.

    **Privacy.** Replacing a record moves the clipped average by at most 2 R sqrt(d)/n in l2 and
    2 R d/n in l1 (coordinate clip), or 2R/n and 2 R sqrt(d)/n (ball clip), whatever the data.

    **Risk.** `risk_bound`: variance of the average + squared clip bias + noise, all explicit.

    **Departures from the paper.** The noise is calibrated exactly by default; the variance printed
    in the paper, 4 R^2 d log(1/delta)/(n eps)^2, is available as ``calibration="paper"`` and does
    not give (epsilon, delta)-DP: `privacy_` then reports what it gives.

    Parameters
    ----------
    privacy : Pure, Approximate, ZeroConcentrated or Gaussian
        The budget. Pure uses Laplace noise, the others Gaussian noise.
    R : float, "theory" or "quantile"
        Truncation level: given; ``radius + 4 sigma sqrt(log n)``; or a private quantile of the
        magnitudes, which spends `range_share` of the budget.
    clip : {"coordinate", "ball"}
    sigma, radius : float
        Sub-Gaussian scale and bound on the mean's coordinates, used by ``R="theory"`` only.
    quantile, range_share : float
        Used by ``R="quantile"`` only.
    calibration : {"analytic", "classical", "paper"}
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    mean_, R_, noise_scale_, privacy_, ledger_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import ZeroConcentrated
    >>> X = np.random.default_rng(0).normal(0.3, 1, (5000, 3))
    >>> fitted = NoisyMean(privacy=ZeroConcentrated(0.1), R=5.0, random_state=0).fit(X)
    >>> bool(np.abs(fitted.mean_ - 0.3).max() < 0.1), fitted.privacy_
    (True, ZeroConcentrated(rho=0.1, scope='central'))
    """

    def __init__(
        self,
        privacy: Guarantee = DEFAULT_PRIVACY,
        R: Truncation = "theory",
        clip: Literal["coordinate", "ball"] = "coordinate",
        sigma: float = 1.0,
        radius: float = 1.0,
        quantile: float = 0.975,
        range_share: float = 0.1,
        calibration: Calibration = "analytic",
        random_state: Any = None,
    ) -> None:
        self.privacy = privacy
        self.R = R
        self.clip = clip
        self.sigma = sigma
        self.radius = radius
        self.quantile = quantile
        self.range_share = range_share
        self.calibration = calibration
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> NoisyMean:
        """Release the private mean of the rows of X."""
        X = self._validated(X)
        self._check_options()
        rng, ledger = self._rng(), []
        budget = self._budget(Pure, Approximate, ZeroConcentrated, Gaussian)
        if self.R == "quantile":
            search, budget = self._split_for_range(budget)
            level, entry = private_truncation(X, pure_share(search), self.quantile, rng)
            ledger.append(entry)
        else:
            level = self._fixed_level(len(X))
        average = self._clipped_mean(X, level)
        self.mean_, entry, self.noise_scale_ = self._noised(average, len(X), level, budget, rng)
        ledger.append(entry)
        self.R_ = level
        self._account(ledger)
        return self

    def risk_bound(self, problem: MeanProblem | BoundedMeanProblem) -> Bound:
        """The proven upper bound on the risk of this estimator on a problem.

        CWZ19: Theorem 3.2 with explicit constants: see `minimax.mean.noisy_mean_upper`.
        """
        self._check_options()
        if self.R == "quantile" or self.clip != "coordinate":
            raise ValueError("risk_bound covers clip='coordinate' with R given or 'theory'")
        level = self._fixed_level(problem.n)
        scale, per_coordinate = self._noise(problem.n, problem.d, level, self.privacy)
        return noisy_mean_upper(problem, R=level, noise_variance=per_coordinate)

    def _check_options(self) -> None:
        if self.clip not in ("coordinate", "ball"):
            raise ValueError(f"clip must be 'coordinate' or 'ball', got {self.clip!r}")
        if self.calibration not in ("analytic", "classical", "paper"):
            raise ValueError(
                "calibration must be 'analytic', 'classical' or 'paper',"
                f" got {self.calibration!r}"
            )
        if isinstance(self.R, str):
            if self.R not in ("theory", "quantile"):
                raise ValueError(f"R must be a number, 'theory' or 'quantile', got {self.R!r}")
        else:
            check_positive(R=self.R)
        check_positive(sigma=self.sigma, radius=self.radius)
        if not 0 < self.range_share < 1:
            raise ValueError(f"range_share must lie in (0, 1), got {self.range_share!r}")
        if not 0 < self.quantile < 1:
            raise ValueError(f"quantile must lie in (0, 1), got {self.quantile!r}")

    def _split_for_range(self, budget: Guarantee) -> tuple[Guarantee, Guarantee]:
        """The range search is pure, so all of delta stays with the release."""
        if isinstance(budget, Approximate):
            search = Pure(budget.epsilon * self.range_share)
            return search, Approximate(budget.epsilon - search.epsilon, budget.delta)
        if isinstance(budget, Gaussian):
            raise TypeError("R='quantile' needs a Pure, Approximate or ZeroConcentrated budget")
        first, second = split(budget, self.range_share, 1 - self.range_share)
        return first, second

    def _fixed_level(self, n: int) -> float:
        if self.R == "theory":
            return theoretical_truncation(n, self.sigma, self.radius)
        return float(self.R)

    def _clipped_mean(self, X: Array, level: float) -> Array:
        if self.clip == "coordinate":
            return clipped_sum(X, -level, level) / len(X)
        return ball_clipped_sum(X, np.zeros(X.shape[1]), level) / len(X)

    def _noise(self, n: int, d: int, level: float, budget: Guarantee) -> tuple[float, float]:
        """Noise scale, and the variance it puts on each coordinate."""
        if isinstance(budget, Pure):
            scale = self._l1(n, d, level) / budget.epsilon
            return scale, 2 * scale**2
        scale = gaussian_scale(budget, self._l2(n, d, level), self.calibration)
        return scale, scale**2

    def _noised(
        self, average: Array, n: int, level: float, budget: Guarantee, rng: np.random.Generator
    ) -> tuple[Array, LedgerEntry, float]:
        d = len(average)
        scale, _ = self._noise(n, d, level, budget)
        if isinstance(budget, Pure):
            noisy, entry = laplace(
                average,
                l1_sensitivity=self._l1(n, d, level),
                epsilon=budget.epsilon,
                rng=rng,
                about="mean",
            )
        else:
            noisy, entry = gaussian(
                average, l2_sensitivity=self._l2(n, d, level), scale=scale, rng=rng, about="mean"
            )
        return noisy, entry, scale

    def _l2(self, n: int, d: int, level: float) -> float:
        return 2 * level * (math.sqrt(d) if self.clip == "coordinate" else 1.0) / n

    def _l1(self, n: int, d: int, level: float) -> float:
        return 2 * level * (d if self.clip == "coordinate" else math.sqrt(d)) / n
