"""Frank-Wolfe over the l1 ball, each vertex chosen privately: what all losses share, and a mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from estimators.baselines.vertex_scores import Scores
from estimators.core.accounting import LedgerEntry
from estimators.core.base import Array, PrivateEstimator, Seed, clipped_sum
from estimators.core.checks import SAFE_RANGE, check_between, check_whole, checked_start
from estimators.core.mechanisms import exponential_mechanism, report_noisy_max
from estimators.core.spending import GivenPrivacy
from estimators.core.truncation import SEARCHED, TruncatingEstimator, Truncation
from minimax.core.privacy import Approximate, Pure, SpendablePrivacy, ZeroConcentrated

Selection = Literal["exponential", "laplace"]
MOST_STEPS = 1000


def round_epsilon(
    budget: SpendablePrivacy, rounds: int, selection: Selection, calibration: str = "zcdp"
) -> float:
    """epsilon of each of `rounds` selections that spend the budget together.

    A pure budget is divided. Otherwise rounds eps^2/8 = rho for the exponential mechanism, whose
    bounded range makes it (eps^2/8)-zCDP, and rounds eps^2/2 = rho for Laplace noise; for few
    rounds dividing an (epsilon, delta) budget can be better. ``paper``: the Laplace noise that
    Talwar, Thakurta and Zhang print, half the sensitivity over eps' = epsilon/sqrt(8 T
    log(1/delta)). A noisy max needs twice the sensitivity over eps', so each round really is (4
    eps')-DP.
    """
    if calibration == "paper":
        assert isinstance(budget, Approximate)
        return 4 * budget.epsilon / math.sqrt(8 * rounds * math.log(1 / budget.delta))
    if isinstance(budget, Pure):
        return budget.epsilon / rounds
    share = 8 if selection == "exponential" else 2
    concentrated = math.sqrt(share * budget.to_zcdp().rho / rounds)
    if isinstance(budget, Approximate):
        return max(concentrated, budget.epsilon / rounds)
    return concentrated


def best_rounds(curvature: float, noise: Callable[[int], float]) -> int:
    """T that minimises 2 curvature/(T + 2) + noise(T), what Frank-Wolfe is known to leave.

    `noise(T)` is about the largest error of a score when the budget is shared by T rounds.
    """
    return min(range(1, MOST_STEPS + 1), key=lambda T: 2 * curvature / (T + 2) + noise(T))


@lru_cache(maxsize=256)
def theory_rounds(
    log_scores: float,
    moved: float,
    curvature: float,
    budget: SpendablePrivacy,
    selection: Selection,
    calibration: str,
) -> int:
    """The best T for scores of which a record moves each by `moved`: of public numbers alone."""

    def noise(rounds: int) -> float:
        return 2 * moved / round_epsilon(budget, rounds, selection, calibration) * log_scores

    return best_rounds(curvature, noise)


class VertexDescent(PrivateEstimator):
    """The options and the steps of Frank-Wolfe over the l1 ball, whatever it minimises."""

    l1_radius: float
    steps: int | Literal["theory"]
    selection: Selection
    calibration: Literal["zcdp", "paper"]
    start: ArrayLike | None

    def _check_descent(self) -> SpendablePrivacy:
        """The options of the descent, checked; the budget to spend."""
        check_between(*SAFE_RANGE, l1_radius=self.l1_radius)
        if self.selection not in ("exponential", "laplace"):
            raise ValueError(
                f"selection must be 'exponential' or 'laplace', got {self.selection!r}"
            )
        if self.calibration not in ("zcdp", "paper"):
            raise ValueError(f"calibration must be 'zcdp' or 'paper', got {self.calibration!r}")
        budget = self._budget(Pure, Approximate, ZeroConcentrated)
        if self.calibration == "paper" and not (
            self.selection == "laplace" and isinstance(budget, Approximate)
        ):
            raise ValueError(
                "calibration='paper' needs selection='laplace' and an Approximate budget,"
                f" got selection={self.selection!r} and {budget}"
            )
        if isinstance(self.steps, str):
            if self.steps != "theory":
                raise ValueError(f"steps must be an integer or 'theory', got {self.steps!r}")
        else:
            check_whole(1, steps=self.steps)
        return budget

    def _start(self, d: int) -> Array:
        return checked_start(self.start, d, radius=float(self.l1_radius), norm=1)

    def _rounds(self, d: int, moved: float, curvature: float, budget: SpendablePrivacy) -> int:
        """T, for scores that a record moves by `moved` and a curvature constant of at most that."""
        if not isinstance(self.steps, str):
            return int(self.steps)
        logs = math.log(2 * d)
        return theory_rounds(logs, moved, curvature, budget, self.selection, self.calibration)

    def _descend(
        self,
        scores: Scores,
        coef: Array,
        n: int,
        *,
        moved: float,
        rounds: int,
        budget: SpendablePrivacy,
        rng: np.random.Generator,
    ) -> LedgerEntry:
        """Move `coef`, at which the scores are, by so many steps that spend the budget."""
        d, radius = len(coef), float(self.l1_radius)
        epsilon = round_epsilon(budget, rounds, self.selection, self.calibration)
        select = exponential_mechanism if self.selection == "exponential" else report_noisy_max
        for t in range(1, rounds + 1):
            downhill = -radius / n * scores.gradient()
            chosen, entry = select(
                np.concatenate([downhill, -downhill]),
                sensitivity=moved,
                epsilon=epsilon,
                rng=rng,
                about="vertex",
            )
            j, size, m = chosen % d, radius if chosen < d else -radius, 2 / (t + 2)
            coef *= 1 - m
            coef[j] += m * size
            scores.step(j, 1 - m, m * size)
        return replace(entry, count=rounds)


class MeanScores:
    """n times the gradient b - mean of |b - mean|^2/2, from the sum of the clipped records."""

    def __init__(self, total: Array, n: int, start: Array) -> None:
        self.total, self.n, self.b = total, n, start.copy()

    def gradient(self) -> Array:
        """At the present b, not divided by n."""
        return self.n * self.b - self.total

    def step(self, j: int, kept: float, weight: float) -> None:
        """b <- kept b + weight e_j."""
        self.b *= kept
        self.b[j] += weight


class FrankWolfeMean(VertexDescent, TruncatingEstimator):
    """Frank-Wolfe towards the mean over the l1 ball, each vertex chosen privately.

    **Algorithm** (Talwar, Thakurta and Zhang, 2015: Algorithm 2, for |b - mean|^2/2). Coordinates
    are clipped to [-R, R] and averaged. From b = `start`, for t = 1, ..., T: pick the vertex
    v = +-K e_j, K = `l1_radius`, for which <v, b - mean> is smallest up to noise, and b <-
    (1 - m) b + m v with m = 2/(t + 2). Records are read once.

    **Privacy.** The score of +-K e_j is -+K (b_j - mean_j), and b is a function of what was chosen
    before: replacing a record moves a coordinate of the clipped average by at most 2R/n, or by
    (high - low)/n for a window [low, high], hence every score by K times that, whatever the data.
    Each step is a private selection among 2d vertices, and T of them compose by zCDP (or by
    addition under a pure budget).

    **Risk.** |b - mean|^2/2 exceeds its least value in the ball by at most 8 K^2/(T + 2) + (noise
    of a score) log d: Frank-Wolfe's curvature constant is |v - b|_2^2 <= 4 K^2. With the best T the
    squared error falls like (n eps)^{-2/3} up to logarithms, where that of `SparseMean` falls like
    (n eps)^{-2}. b has up to T non-zero coordinates, also outside the support of the mean.

    **Source.** Talwar, Thakurta and Zhang (2015), "Nearly optimal private LASSO", NIPS; the
    comparison [45] of CWZ19 §5.3 and §6.

    **Departures from the paper.** Those of `PrivateFrankWolfe`. Neither paper writes the loss of a
    mean down.

    Parameters
    ----------
    privacy : Pure, Approximate or ZeroConcentrated, default Approximate(1, 1e-6)
    l1_radius : float
        K, a bound on |mean|_1: public.
    R : float, "theory", "quantile" or "percentiles"
        As for `SparseMean`. Where it is found, `steps` must be given.
    sigma, radius : float
        Sub-Gaussian scale and bound on the mean's coordinates, which ``R="theory"`` needs.
    quantile, range_share : float
        Used where R is found: the order of the quantile (of low, 1 less this), and what it spends.
    steps : int or "theory"
        T; "theory" minimises the bound on the risk, `best_rounds`.
    selection : {"exponential", "laplace"}
    calibration : {"zcdp", "paper"}
        "paper" needs ``selection="laplace"`` and an Approximate budget.
    start : array of shape (d,) or None
        A public point of the l1 ball; None is 0.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    mean_, n_iter_ (T), R_ (for "percentiles" the pair low, high), selection_scale_ (of the noise on
    each score), privacy_, ledger_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import Approximate
    >>> X = np.random.default_rng(0).normal([1, 0, 0, 0], 1, (5000, 4))
    >>> model = FrankWolfeMean(Approximate(1, 1e-6), l1_radius=1, R=5, steps=4, random_state=0)
    >>> model.fit(X).mean_.round(3).tolist(), str(model.privacy_)
    ([0.933, 0.0, 0.0, 0.0], 'approximate(epsilon=1, delta=1e-06)')
    """

    releases = ("mean_", "R_", "selection_scale_", "ledger_")

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        l1_radius: float = 1.0,
        R: Truncation = "theory",
        sigma: float | None = None,
        radius: float | None = None,
        quantile: float = 0.975,
        range_share: float = 0.1,
        steps: int | Literal["theory"] = "theory",
        selection: Selection = "exponential",
        calibration: Literal["zcdp", "paper"] = "zcdp",
        start: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> None:
        self.privacy, self.l1_radius = privacy, l1_radius
        self.R, self.sigma, self.radius = R, sigma, radius
        self.quantile, self.range_share = quantile, range_share
        self.steps, self.selection, self.calibration = steps, selection, calibration
        self.start, self.random_state = start, random_state

    def fit(self, X: ArrayLike, y: object = None) -> FrankWolfeMean:
        """Release a private mean of the rows of X in the l1 ball."""
        X = self._validated(X)
        n, d = X.shape
        search, budget = self._split_for_range(self._check_options())
        mean, radius = self._start(d), float(self.l1_radius)
        rng = self._rng()
        ledger: list[LedgerEntry] = []
        window = self._window(X, search, rng, ledger).within(SAFE_RANGE[1])
        moved = mean_score_sensitivity(n, window.half, radius)
        rounds = self._rounds(d, moved, 4 * radius**2, budget)
        total = clipped_sum(X, np.float64(window.low), np.float64(window.high))
        scores = MeanScores(total, n, mean)
        entry = self._descend(scores, mean, n, moved=moved, rounds=rounds, budget=budget, rng=rng)
        self._account([*ledger, entry])
        self.mean_, self.n_iter_, self.selection_scale_ = mean, rounds, entry.scale
        self.R_ = self._reported(window)
        return self

    def _check_options(self) -> SpendablePrivacy:
        """Everything that can be wrong, checked before any noise is drawn; the budget to spend."""
        self._check_truncation("theory", *SEARCHED)
        if not isinstance(self.R, str):
            check_between(*SAFE_RANGE, R=self.R)
        budget = self._check_descent()
        if self._searches and isinstance(self.steps, str):
            # What T selections are worth by the tightest account depends on T.
            raise ValueError(f"steps must be given for R={self.R!r}: T must not depend on the data")
        return budget


def mean_score_sensitivity(n: int, half: float, l1_radius: float) -> float:
    """How far replacing a record moves <v, b - mean> for a vertex v of the l1 ball: K 2 half/n.

    Coordinates lie in a window of half that width, and a vertex has one coordinate, +-K.
    """
    return 2 * half * l1_radius / n
