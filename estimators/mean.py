"""Private estimation of a mean vector."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from estimators.core.accounting import LedgerEntry
from estimators.core.base import Array, Seed, ball_clipped_sum, clipped_sum
from estimators.core.checks import check_plannable, check_problem
from estimators.core.intervals import (
    BallNoise,
    BoundedRecords,
    ErrorLaw,
    KnownVariance,
    NoiseLaw,
    NoLaw,
    NormalNoise,
    WithIntervals,
    noise_law,
)
from estimators.core.mechanisms import Calibration, Release, gaussian, gaussian_scale, k_norm
from estimators.core.spending import GivenPrivacy
from estimators.core.truncation import SEARCHED, TruncatingEstimator, Truncation, Window
from estimators.tables.records import Records, source_of
from estimators.tables.schema import Bounds, schema_of
from minimax.core.bound import Point, UpperBound
from minimax.core.calibration import Allowance, noise_variance
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.core.symbolic import Number
from minimax.problems.bounded_mean.problem import BoundedMeanProblem
from minimax.problems.mean.centred import Course, Phase, best_course, centred_mean_upper
from minimax.problems.mean.problem import MeanProblem
from minimax.problems.mean.upper import (
    Law,
    best_noisy_mean,
    noisy_mean_upper,
    subgaussian_clip_bias,
)

Rng = np.random.Generator
Clip = Literal["coordinate", "ball"]
Tails = Literal["vectors", "Gaussian", "coordinates"]


class NoisyMean(WithIntervals, TruncatingEstimator):
    """Clip, average, add noise.

    **Algorithm.** By default (``R="auto"``) in a few phases, each of which shortens every record to
    a ball about the last centre and releases the average with noise; balls, number of phases and
    their parts of the budget are functions of n, d, sigma, radius and the budget that minimise
    the proven risk. With any other `R` in one step (CWZ19: Algorithm 3.1): each coordinate of each
    record is clipped to [-R, R] (``clip="coordinate"``), or each record is shortened to l2 norm R
    (``clip="ball"``), and the average is released with noise. With `bounds` in one step as well: a
    column is clipped to its own range, and gets noise in proportion to it.

    **Privacy.** Replacing a record moves a clipped average by at most 2 R/n in every coordinate
    (coordinate clip), or 2R/n in l2 (ball clip), whatever the data; coordinates in [low, high]
    differ by at most high - low, which takes the place of 2R for ``R="percentiles"``. Noise is
    Gaussian; for a pure budget it has density e^{-c |z|} in the norm of that bound. Centres are
    functions of earlier releases.

    **Risk.** `risk_bound`. For R="auto", about sigma^2 d/n + 2 sigma^2 d^2/(rho n^2) under zCDP,
    which is the lower bound to leading order.

    **Intervals.** `confidence_interval(level)` and `stderr_` hold sampling error and noise; exact
    to leading order for N(mean, sigma^2) and wider than needed elsewhere. A coordinate's variance
    is at most sigma^2, public; for R="auto" and R="theory" the bound on what clipping moves is
    added. With R a number they are about the mean of the clipped records, and without sigma the
    variance is at most R^2 - mean^2; with `bounds`, (high - mean)(mean - low). There are none
    where R is found privately.

    **Departures from the paper.** The noise is calibrated exactly by default; the variance printed
    in the paper, 4 R^2 d log(1/delta)/(n eps)^2, is available as ``calibration="paper"`` and does
    not give (epsilon, delta)-DP: `privacy_` then reports what it gives.

    Parameters
    ----------
    privacy : Pure, Approximate, ZeroConcentrated or Gaussian, default Approximate(1, 1e-6)
        The budget.
    R : "auto", float, "theory", "quantile" or "percentiles"
        Truncation: planned; given; ``radius + 4 sigma sqrt(log n)``; a private quantile of the
        magnitudes (of entries, or of rows for ``clip="ball"``), which spends `range_share`; or two,
        which share that: coordinates are clipped to [low, high], by default the 2.5 and 97.5 per
        cent points of all entries (CWZ19 §5.1; `private_window`).
    clip : {"coordinate", "ball"}
        Used unless ``R="auto"``.
    sigma, radius : float
        Sub-Gaussian scale and bound on each coordinate of the mean: public knowledge that
        ``R="auto"`` and ``R="theory"`` need. There is no default, as no number fits raw data.
    bounds : {name: (low, high)}, pairs in the order of the columns, one pair for all, or None
        The range of each column, public knowledge: in place of R, sigma and radius.
    tails : {"vectors", "Gaussian", "coordinates"}
        Used by ``R="auto"`` and by `risk_bound`. What is sub-Gaussian(sigma): every projection of a
        record; or the record is N(mean, sigma^2 I), and clipping may be corrected for; or each
        coordinate alone.
    quantile, range_share : float
        Used where R is found: the order of the quantile (of low, 1 less this), and what it spends.
    calibration : {"analytic", "classical", "paper"}
        Used unless ``R="auto"``.
    random_state : None, int, Generator or RandomState

    Attributes: mean_, stderr_, R_, noise_scale_, error_law_, privacy_, ledger_, n_features_in_

    `R_` is the last radius (with `bounds` half of each range, for "percentiles" the pair low and
    high), `noise_scale_` the standard deviation of the noise on a coordinate of `mean_`,
    `error_law_` what intervals are made of.

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import ZeroConcentrated
    >>> X = np.random.default_rng(0).normal(0.3, 1, (5000, 3))
    >>> mean = NoisyMean(ZeroConcentrated(0.1), sigma=1, radius=10, random_state=0).fit(X)
    >>> bool(np.abs(mean.mean_ - 0.3).max() < 0.1), str(mean.privacy_)
    (True, 'zCDP(rho=0.1)')
    >>> low, high = mean.confidence_interval(0.99)
    >>> bool((low < 0.3).all() and (high > 0.3).all())
    True
    """

    estimated = "mean_"
    releases = ("mean_", "R_", "noise_scale_", "ledger_", "privacy_")
    R_: float | Array | Window
    noise_scale_: float | Array

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        R: Truncation | Literal["auto"] = "auto",
        clip: Clip = "coordinate",
        sigma: float | None = None,
        radius: float | None = None,
        tails: Tails = "vectors",
        quantile: float = 0.975,
        range_share: float = 0.1,
        calibration: Calibration = "analytic",
        random_state: Seed = None,
        bounds: Bounds = None,
    ) -> None:
        self.privacy, self.bounds = privacy, bounds
        self.R, self.clip, self.calibration = R, clip, calibration
        self.sigma, self.radius, self.tails = sigma, radius, tails
        self.quantile, self.range_share = quantile, range_share
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> NoisyMean:
        """Release the private mean of the rows of X."""
        X = self._validated(X)
        if self.bounds is not None:
            return self._fit_bounded(X, self.bounds)
        self._check_options()
        budget = self._budget(Pure, Approximate, ZeroConcentrated, Gaussian)
        if self.R == "auto":
            check_plannable(budget)
        if self.R == "auto" and self.tails != "coordinates":
            return self._fit_phases(X, budget)
        search, budget = self._split_for_range(budget)
        if not isinstance(budget, Pure):  # raises if the calibration does not fit the budget
            gaussian_scale(budget, 1.0, self.calibration)
        rng = self._rng()
        ledger: list[LedgerEntry] = []
        if self.R == "auto":
            level = self._best_level(*X.shape, privacy=budget)
            window = Window(-level, level)
        else:
            window = self._window(X, search, rng, ledger, rows=self.clip == "ball")
        n, d = X.shape
        average = self._clipped_mean(X, window)
        noisy, entry = self.noisy_average(average, 2 * window.half / n, budget, rng)
        ledger.append(entry)
        self._account(ledger)
        self.mean_, self.R_ = noisy, self._reported(window)
        self.error_law_ = self._error_law(n, window.high, noise_law(entry, d))
        self.noise_scale_ = noise_law(entry, d).deviation
        return self

    def risk_bound(self, problem: MeanProblem | BoundedMeanProblem) -> UpperBound:
        """The proven upper bound on the risk: `centred_mean_upper`, or CWZ19: Theorem 3.2.

        For R="auto" it covers the records that `tails` names, and sigma and radius must be those of
        the problem; else all sub-Gaussian ones, or with ``tails="Gaussian"`` Gaussian ones.
        """
        check_problem(problem, MeanProblem)
        if self.bounds is not None:
            raise ValueError("risk_bound covers bounds=None")
        self._check_options()
        asked = self._budget(Pure, Approximate, ZeroConcentrated, Gaussian)
        if self.R == "auto":
            self._check_scales_of(problem)
            if self.tails == "coordinates":
                return best_noisy_mean(problem, asked)
            return centred_mean_upper(problem.point, asked, self.tails)
        if self._searches or self.clip != "coordinate":
            raise ValueError("risk_bound covers R='auto', or clip='coordinate' with R not found")

        def level(at: Point) -> Number:
            return self._fixed_level(at["n"])

        def variance(at: Point) -> Number:
            budget = Allowance(type(asked), at)
            return noise_variance(budget, at["n"], at["d"], level(at), self.calibration)

        law: Law = "Gaussian" if self.tails == "Gaussian" else "sub-Gaussian"
        return noisy_mean_upper(problem, R=level, noise_variance=variance, privacy=asked, law=law)

    def _fit_phases(self, X: Array, budget: SpendablePrivacy) -> NoisyMean:
        """A phase after the other, each about the centre that the last one found."""
        n, d = X.shape
        place = {"n": float(n), "d": float(d), **self._known_scales()}
        planned = best_course(place, budget, "Gaussian" if self.tails == "Gaussian" else "vectors")
        rng, centre = self._rng(), np.zeros(d)
        ledger = []
        for phase in planned.phases:
            moved, entry = self._phase(X, centre, phase, budget, rng)
            centre = centre + phase.weight / phase.slope * moved
            ledger.append(entry)
        self._account(ledger)
        self.mean_, self.R_ = centre, float(planned.phases[-1].R)
        self.noise_scale_ = math.sqrt(planned.noise)
        self.error_law_ = ErrorLaw(
            KnownVariance(np.array(planned.sampling)),
            _noise_of_phases(planned, ledger, d),
            bias=float(planned.cut),
        )
        return self

    def _fit_bounded(self, X: Array, bounds: Bounds) -> NoisyMean:
        """Each column in units of half its range about the middle: the cube, clipped as always."""
        given = [name for name in ("sigma", "radius") if getattr(self, name) is not None]
        if given or self.R != "auto" or self.clip != "coordinate":
            raise ValueError("bounds stand in place of R, clip, sigma and radius: give no others")
        if isinstance(bounds, str):
            raise ValueError("bounds must be numbers; PrivateMean can find them privately")
        schema, n = schema_of(X, bounds), len(X)
        budget = self._budget(Pure, Approximate, ZeroConcentrated, Gaussian)
        average = Records(source_of(X, None)[0], schema, None).total(column_sums) / n
        noisy, entry = self.noisy_average(average, 2 / n, budget, self._rng())
        self._account([entry])
        half, noise = schema.halves, noise_law(entry, X.shape[1])
        self.mean_, self.R_ = schema.middles + half * noisy, half
        self.noise_scale_ = half * noise.deviation
        self.error_law_ = ErrorLaw(BoundedRecords(schema.ends[0], schema.ends[1], n), noise, half)
        return self

    def _error_law(self, n: int, level: float, noise: NoiseLaw) -> ErrorLaw | NoLaw:
        """Of one step: the variance that is known, and what clipping may move where R is not the
        user's own."""
        if self._searches:
            return NoLaw(
                f"R={self.R!r} moves the mean by an unknown amount; give R, sigma or radius"
            )
        if not isinstance(self.R, str) and self.sigma is None:
            return ErrorLaw(BoundedRecords(-level, level, n), noise)
        known = KnownVariance(np.array(float(self.sigma or 0) ** 2 / n))
        if not isinstance(self.R, str):
            return ErrorLaw(known, noise)
        if self.clip == "ball":
            return NoLaw("clip='ball' with R='theory' moves the mean by an unknown amount; give R")
        bias = subgaussian_clip_bias(level, **self._known_scales())
        return ErrorLaw(known, noise, bias=float(bias))

    def _phase(
        self, X: Array, centre: Array, phase: Phase, budget: SpendablePrivacy, rng: Rng
    ) -> Release[Array]:
        """The noisy mean of the records' distances from the centre, shortened to the ball."""
        average, step = ball_clipped_sum(X, centre, phase.R) / len(X), 2 * phase.R / len(X)
        if isinstance(budget, Pure):
            epsilon = budget.epsilon * phase.share
            return k_norm(
                average, norm="l2", sensitivity=step, epsilon=epsilon, rng=rng, about="mean"
            )
        mu = Allowance(type(budget), budget.parameters).mu() * math.sqrt(phase.share)
        return gaussian(average, l2_sensitivity=step, scale=step / mu, rng=rng, about="mean")

    def noisy_average(
        self, average: Array, step: float, budget: SpendablePrivacy, rng: Rng
    ) -> Release[Array]:
        """The average with noise, where a record moves each coordinate, or the whole, by `step`."""
        ball = self.clip == "ball"
        if isinstance(budget, Pure):
            norm: Literal["l2", "linf"] = "l2" if ball else "linf"
            return k_norm(
                average, norm=norm, sensitivity=step, epsilon=budget.epsilon, rng=rng, about="mean"
            )
        l2 = step if ball else step * math.sqrt(average.size)
        scale = gaussian_scale(budget, l2, self.calibration)
        return gaussian(average, l2_sensitivity=l2, scale=scale, rng=rng, about="mean")

    def clip_level(self, n: int, d: int) -> float | None:
        """The level of a step with coordinates clipped; phases and balls read records whole."""
        if self.clip == "ball" or self.bounds is not None:
            return None
        if self.R != "auto":
            return super().clip_level(n, d)
        budget = self._budget(Pure, Approximate, ZeroConcentrated, Gaussian)
        return self._best_level(n, d, privacy=budget) if self.tails == "coordinates" else None

    def _best_level(self, n: int, d: int, *, privacy: SpendablePrivacy) -> float:
        problem = MeanProblem(n, d, **self._known_scales())
        return float(best_noisy_mean(problem, privacy).parts().optimum["R"])

    def _check_options(self) -> None:
        if self.clip not in ("coordinate", "ball"):
            raise ValueError(f"clip must be 'coordinate' or 'ball', got {self.clip!r}")
        if self.tails not in ("vectors", "Gaussian", "coordinates"):
            raise ValueError(
                f"tails must be 'vectors', 'Gaussian' or 'coordinates', got {self.tails!r}"
            )
        if self.calibration not in ("analytic", "classical", "paper"):
            raise ValueError(
                f"calibration must be 'analytic', 'classical' or 'paper', got {self.calibration!r}"
            )
        if self.R == "auto" and (self.clip != "coordinate" or self.calibration != "analytic"):
            raise ValueError("R: 'auto' plans clip and noise; give R, 'theory' or 'quantile'")
        if self.R == "percentiles" and self.clip != "coordinate":
            raise ValueError("R='percentiles' needs clip='coordinate': a ball has one radius")
        self._check_truncation("auto", "theory", *SEARCHED)

    def _can_draw(self, kind: type[SpendablePrivacy]) -> bool:
        """Formulas other than the analytic one are for (epsilon, delta)."""
        fits = self.calibration == "analytic" or kind is Approximate
        return fits and super()._can_draw(kind)

    def _clipped_mean(self, X: Array, window: Window) -> Array:
        if self.clip == "coordinate":
            # float64 bounds: a Python float would be rounded, perhaps outwards, to X's own dtype
            return clipped_sum(X, np.float64(window.low), np.float64(window.high)) / len(X)
        return ball_clipped_sum(X, np.zeros(X.shape[1]), window.high) / len(X)


def column_sums(Z: Array, y: None) -> Array:
    """Of encoded rows."""
    return np.asarray(np.ones(len(Z)) @ Z)


def _noise_of_phases(planned: Course, ledger: list[LedgerEntry], d: int) -> NoiseLaw:
    """The law of a coordinate of the last centre's noise: a phase's counts with its weight, and
    what came before it with the rest."""
    if ledger[0].guarantee(Pure) is None:
        return NormalNoise(math.sqrt(planned.noise))
    scales: list[float] = []
    for phase, entry in zip(planned.phases, ledger, strict=True):
        scales = [scale * (1 - float(phase.weight)) for scale in scales]
        scales.append(entry.scale * float(phase.weight / phase.slope))
    return BallNoise(tuple(scales), d)
