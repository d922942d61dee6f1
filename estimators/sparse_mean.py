"""Private estimation of a sparse mean vector."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from estimators.core.accounting import LedgerEntry
from estimators.core.base import Array, Seed, clipped_sum, equal_part, split_budget
from estimators.core.checks import check_problem
from estimators.core.intervals import NoLaw, WithIntervals
from estimators.core.mechanisms import gaussian, gumbel_top_k, laplace, peeling
from estimators.core.spending import GivenPrivacy
from estimators.core.truncation import SEARCHED, Truncation, Window
from estimators.core.tuning import (
    Method,
    SparseCalibration,
    SparseEstimator,
    choose_smallest_loss,
    tuning_grid,
)
from minimax.core.bound import Optimum, Point, UpperBound
from minimax.core.calibration import Allowance, Scales, sparse_scales
from minimax.core.privacy import Approximate, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.core.symbolic import Number
from minimax.problems.sparse_mean.problem import SparseMeanProblem
from minimax.problems.sparse_mean.selection import planned_release, selected_mean_upper
from minimax.problems.sparse_mean.upper import sparse_mean_upper

Indices = NDArray[np.intp]


def sparse_release(
    average: Array,
    s: int,
    sensitivity: float,
    scales: Scales,
    *,
    method: Method,
    pure: bool,
    rng: np.random.Generator,
) -> tuple[Indices, Array, tuple[LedgerEntry, LedgerEntry]]:
    """s coordinates of large magnitude, best first, and their noisy values."""
    if method == "peeling":
        found, entries = peeling(
            average, s, sensitivity=sensitivity, scale=scales.selection, rng=rng
        )
        return found.support, found.values, entries
    support, chosen = gumbel_top_k(
        np.abs(average),
        s,
        sensitivity=sensitivity,
        epsilon=scales.round_epsilon,
        rng=rng,
        about="support",
    )
    if pure:
        l1 = s * sensitivity
        values, entry = laplace(
            average[support], l1_sensitivity=l1, epsilon=l1 / scales.value, rng=rng, about="values"
        )
    else:
        l2 = math.sqrt(s) * sensitivity
        values, entry = gaussian(
            average[support], l2_sensitivity=l2, scale=scales.value, rng=rng, about="values"
        )
    return support, values, (chosen, entry)


def choose_sparsity(
    X: Array,
    grid: tuple[int, ...],
    *,
    window: Window,
    budget: Pure | ZeroConcentrated,
    final_variance: Array,
    n_folds: int,
    selection_share: float,
    rng: np.random.Generator,
) -> tuple[int, list[LedgerEntry]]:
    """A sparsity from the increasing `grid` by truncated cross-validation (CWZ19 §5.2).

    **Algorithm.** Record i belongs to fold i mod K. For each fold, the other records release one
    list of max(grid) coordinates, best first, with noisy values v_j; its first s entries are the
    candidate mu_s. A held-out record's loss is |mu_s|^2 - 2 <clip(x_i), mu_s>, the squared error up
    to a term without s, less the same for the smallest candidate. Losses are truncated to [-T, T],
    T a private quantile of their magnitudes, and summed; each v_j has noise of known variance
    tau^2 where the final release has `final_variance`(s), so n s (final_variance - tau^2) is
    added. The exponential mechanism picks the smallest sum.

    **Privacy.** Let the neighbours differ in record i. Folds depend on the position alone, so i is
    held out of exactly one fold, whose list has the same law for both: K-1 lists are charged, each
    calibrated to the smallest complement. Given the lists, the losses of every other record are
    fixed numbers and record i's are a function of x_i alone. Hence (a) the share of record i's
    losses below a level is one number in [0, 1], as `above_threshold_quantile` asks, and (b) given
    T, each sum moves by at most 2T; what is added to it is public. Lists, T and choice compose
    adaptively; 80, 5 and 15 per cent of the budget go to them, whatever the data.

    **Departures from the paper.** It leaves the cost of the training fits unstated and truncates
    cross-validation errors per fold; here everything released is charged, truncation is per
    record, and the loss is that of the final release. The lists cost (K-1) fits on n(1 - 1/K)
    records: their noise is K/sqrt(K-1) times (5 folds: 2.5) that of one fit with their budget, so
    a signal must exceed several times the final noise before the choice can see it.
    """
    training, search, choice = split_budget(budget, 0.80, 0.05, 0.15)
    pure, n, longest = isinstance(budget, Pure), len(X), grid[-1]
    complement = n - math.ceil(n / n_folds)
    each = equal_part(training, n_folds - 1)
    scales = sparse_scales(complement, longest, window.half, each, selection_share=selection_share)
    low, high = np.float64(window.low), np.float64(window.high)
    # Sums of folds: taking one off the whole would leave its records in the rounding.
    sums = [clipped_sum(X[fold::n_folds], low, high) for fold in range(n_folds)]
    columns = np.array(grid) - 1
    losses = np.empty((n, len(grid) - 1))
    entries: tuple[LedgerEntry, ...] = ()
    for fold in range(n_folds):
        held = X[fold::n_folds]
        others = np.sum(sums[:fold] + sums[fold + 1 :], axis=0)
        average = others / (n - len(held))
        support, values, entries = sparse_release(
            average,
            longest,
            2 * window.half / complement,
            scales,
            method="gumbel",
            pure=pure,
            rng=rng,
        )
        picked = held[:, support].astype(float)  # no narrower: the bounds would be rounded to it
        path = np.cumsum(values * (values - 2 * np.clip(picked, low, high)), axis=1)
        losses[fold::n_folds] = path[:, columns[1:]] - path[:, columns[:1]]
    ledger = [
        replace(e, count=e.count * (n_folds - 1), about=f"cross-validation: {e.about}")
        for e in entries
    ]
    public = n * np.array(grid) * (final_variance - scales.value_variance)
    chosen, rest = choose_smallest_loss(
        losses,
        start=1e-9 * window.half**2,
        search=search,
        choice=choice,
        rng=rng,
        public=public[1:] - public[0],
    )
    return grid[chosen], [*ledger, *rest]


class SparseMean(WithIntervals, SparseEstimator):
    """Clip, average, select the largest coordinates privately, release them with noise.

    **Algorithm** (CWZ19: Algorithm 3.3). Coordinates are clipped to [-R, R] and averaged; s of
    large magnitude are chosen by one pass of Gumbel noise (``method="gumbel"``) or by s rounds of
    Laplace noise (``"peeling"``, CWZ19: Algorithm 3.2 to the letter); their values get Gaussian
    noise (Laplace for peeling and under a pure budget) and are shrunk towards 0 by `threshold`;
    all others are 0.

    **Privacy.** Clipping makes every |mean_j| move by at most 2R/n, whatever the data, or by
    (high - low)/n where coordinates are clipped to [low, high] (``R="percentiles"``). Selection is
    s noisy-max or exponential-mechanism rounds, and the values are a Laplace or Gaussian release
    given the support; `sparse_scales` divides the budget. Shrinking by a public number is
    post-processing. With ``s="cv"`` the ledger of the last
    step depends on the s chosen, but its zCDP total does not, so `privacy_` of an (epsilon, delta)
    budget is then read from the zCDP total alone; see `choose_sparsity`.

    **Risk.** CWZ19: Theorem 3.4: sigma^2 [s log d/n + (s log d)^2 log(1/delta) log n/(n eps)^2] up
    to constants. Gumbel selection: `selected_mean_upper`, which R="auto" minimises over truncation,
    shares and threshold.

    **Intervals.** None: `confidence_interval` raises. A coordinate that was chosen because its mean
    looked large is off by more than its noise, and what is not chosen is 0 whatever its mean.

    **Source.** CWZ19: Algorithms 3.2 and 3.3, §5.2. Gumbel top-k: Durfee and Rogers (2019).

    **Departures from the paper.** The scale is the smallest that fits the budget by zCDP (plain
    addition under a pure budget). ``calibration="paper"`` prints theirs, e = eps/(2 sqrt(3 s L)),
    L = log(1/delta); by zCDP that is private for every s as long as eps <= 0.418 L: rho =
    (5/24) eps^2/L and rho + 2 sqrt(rho L) <= eps. Far outside (eps = 10, delta = .3, s = 20) it is
    not known to be, and `privacy_` reports the delta the ledger gives. Their "|v - v'| < lambda"
    is read as <=. R and s can be chosen privately, and what that costs is in the ledger.

    Parameters
    ----------
    privacy : Pure, Approximate or ZeroConcentrated
    s : int or "cv"
        Number of coordinates released, or private cross-validation over `s_grid`.
    R : float, "auto", "theory", "quantile" or "percentiles"
        Truncation level: given; of the least proven risk, together with selection_share and
        threshold, whose own values are then not used; ``radius + 4 sigma sqrt(log n)``; a
        private quantile of the magnitudes, which spends `range_share` of the budget; or two, the
        upper and the lower one of the entries (`private_window`), which share that. For peeling
        and ``s="cv"`` "auto" is "theory".
    method : {"gumbel", "peeling"}
    calibration : {"zcdp", "paper"}
        "paper" needs ``method="peeling"`` and an Approximate budget.
    sigma, radius : float
        Sub-Gaussian scale and bound on the mean's coordinates, public numbers that
        ``R="auto"`` and ``R="theory"`` need. There is no default, as no number fits raw data.
    selection_share : float
        Share of the release's budget that selection gets (``method="gumbel"``).
    threshold : float
        A released value v becomes sign(v) max(|v| - threshold, 0).
    s_grid : sequence of at least two int, n_folds : int, tuning_share : float
        Used by ``s="cv"`` only.
    quantile, range_share : float
        Used where R is found: the order of the quantile (of low, 1 less this), and what it spends.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    mean_, support_ (sorted), R_ (for "percentiles" the pair low, high), s_, threshold_,
    selection_scale_, noise_scale_, privacy_, ledger_, n_features_in_
    """

    estimated = "mean_"
    releases = (
        "mean_",
        "support_",
        "s_",
        "R_",
        "selection_scale_",
        "noise_scale_",
        "ledger_",
        "privacy_",
    )

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        s: int | Literal["cv"] = 1,
        R: Truncation | Literal["auto"] = "auto",
        method: Method = "gumbel",
        calibration: SparseCalibration = "zcdp",
        sigma: float | None = None,
        radius: float | None = None,
        selection_share: float = 0.5,
        threshold: float = 0.0,
        s_grid: Any = None,
        n_folds: int = 5,
        tuning_share: float = 0.5,
        quantile: float = 0.975,
        range_share: float = 0.1,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.s = s
        self.R = R
        self.method = method
        self.calibration = calibration
        self.sigma = sigma
        self.radius = radius
        self.selection_share = selection_share
        self.threshold = threshold
        self.s_grid = s_grid
        self.n_folds = n_folds
        self.tuning_share = tuning_share
        self.quantile = quantile
        self.range_share = range_share
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> SparseMean:
        """Release the private sparse mean of the rows of X."""
        X = self._validated(X)
        budget = self._check_options(*X.shape)
        rng = self._rng()
        ledger: list[LedgerEntry] = []
        search, budget = self._split_for_range(budget)
        planned = self._plan(*X.shape) if self._plans() else None
        share, threshold = self.selection_share, float(self.threshold)
        if planned is None:
            window = self._window(X, search, rng, ledger)
        else:
            level, share, threshold = (planned[k] for k in ("R", "share", "threshold"))
            window = Window(-level, level)
        s = self.s
        if s == "cv":
            tuning, budget = split_budget(budget, self.tuning_share, 1 - self.tuning_share)
            grid = tuning_grid(self.s_grid)
            final = [self._scales(len(X), s, window.half, budget).value_variance for s in grid]
            s, entries = choose_sparsity(
                X,
                grid,
                window=window,
                budget=tuning if isinstance(tuning, Pure) else tuning.to_zcdp(),
                final_variance=np.array(final),
                n_folds=self.n_folds,
                selection_share=self.selection_share,
                rng=rng,
            )
            ledger += entries
        scales = self._scales(len(X), s, window.half, budget, share)
        average = clipped_sum(X, np.float64(window.low), np.float64(window.high)) / len(X)
        support, values, entries_ = sparse_release(
            average,
            s,
            2 * window.half / len(X),
            scales,
            method=self.method,
            pure=isinstance(budget, Pure),
            rng=rng,
        )
        ledger += entries_
        self._account(ledger)
        self.mean_ = np.zeros(X.shape[1])
        self.mean_[support] = np.sign(values) * np.maximum(np.abs(values) - threshold, 0.0)
        self.support_ = np.sort(support)
        self.R_, self.s_, self.threshold_ = self._reported(window), int(s), threshold
        self.selection_scale_, self.noise_scale_ = scales.selection, scales.value
        self.error_law_ = NoLaw("coordinates were chosen because their means looked large")
        return self

    def risk_bound(self, problem: SparseMeanProblem) -> UpperBound:
        """The proven upper bound on the risk: `selected_mean_upper`, or, for peeling, CWZ19:
        Theorem 3.4 (`sparse_mean_upper`)."""
        check_problem(problem, SparseMeanProblem)
        self._check_options(problem.n, problem.d)
        if self._searches:
            raise ValueError("risk_bound covers R given, 'auto' or 'theory'")
        if isinstance(self.s, str):
            raise ValueError("risk_bound covers a given s")
        if self._plans():
            self._check_scales_of(problem)
        asked, s = self._budget(Pure, Approximate, ZeroConcentrated), self.s
        if self.method == "gumbel":
            return selected_mean_upper(
                problem,
                asked,
                s=s,
                R=None if self._plans() else lambda at: self._fixed_level(at["n"]),
                selection_share=self.selection_share,
                threshold=self.threshold,
            )
        if self.threshold:
            raise ValueError("risk_bound covers peeling without a threshold")

        def scales(at: Point) -> Scales:
            return self._scales(at["n"], s, self._fixed_level(at["n"]), Allowance(type(asked), at))

        return sparse_mean_upper(
            problem,
            s=s,
            R=lambda at: self._fixed_level(at["n"]),
            scales=scales,
            privacy=asked,
        )

    def clip_level(self, n: int, d: int) -> float | None:
        """The planned level, or that given; choosing s looks at records."""
        if isinstance(self.s, str):
            return None
        return self._plan(n, d)["R"] if self._plans() else super().clip_level(n, d)

    def _plans(self) -> bool:
        """Whether all settings are those of the least proven risk."""
        return self.R == "auto" and self.method == "gumbel" and not isinstance(self.s, str)

    def _plan(self, n: int, d: int) -> Optimum:
        assert not isinstance(self.s, str)
        place = {"n": n, "d": d, "s": self.s, **self._known_scales()}
        return planned_release(place, self.s, self._asked)

    def _scales(
        self,
        n: Number,
        s: int,
        level: Number,
        budget: SpendablePrivacy | Allowance,
        share: float | None = None,
    ) -> Scales:
        return sparse_scales(
            n,
            s,
            level,
            budget,
            method=self.method,
            calibration=self.calibration,
            selection_share=self.selection_share if share is None else share,
        )

    def _check_options(self, n: int, d: int) -> SpendablePrivacy:
        """Everything that can be wrong, checked before any noise is drawn; the budget to spend."""
        self._check_truncation("auto", "theory", *SEARCHED)
        if not 0 <= self.threshold < math.inf:
            raise ValueError(f"threshold must be non-negative and finite, got {self.threshold!r}")
        return self._check_selection(n, d)
