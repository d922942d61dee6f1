"""What others do for private sparse learning: Frank-Wolfe on the l1 ball, and two stages.

Both take sparse matrices and never make one dense; both clip first, so their privacy does not rest
on the data.
"""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from estimators.baselines.frank_wolfe import Selection, VertexDescent
from estimators.baselines.objective_perturbation import (
    LossName,
    ball_least_squares,
    gradient_sum,
    linear_term,
    logistic_minimum,
    objective_perturbation,
    quieter,
)
from estimators.baselines.regression import ROOM
from estimators.baselines.vertex_scores import vertex_scores
from estimators.core.accounting import LedgerEntry
from estimators.core.base import Array, LinearPredictor, PrivateEstimator, Seed
from estimators.core.checks import (
    SAFE_RANGE,
    check_between,
    check_sparsity,
    check_whole,
)
from estimators.core.design import Design, clipped_entries
from estimators.core.lasso import screened_lasso
from estimators.core.losses import accepted_responses, chosen_loss
from estimators.core.mechanisms import Release, gumbel_top_k
from estimators.core.spending import GivenPrivacy
from estimators.core.witness import shown
from minimax.core.privacy import Approximate, Pure, SpendablePrivacy, ZeroConcentrated

CURVATURE = {"squared": 1.0, "logistic": 0.25}
"""Largest second derivative of each loss in the prediction."""


def largest_slope(loss: LossName, R: float, prediction: float) -> float:
    """Largest |derivative of the loss| over |y| <= R (or y in [0, 1]), |<x, b>| <= prediction."""
    return R + prediction if loss == "squared" else 1.0


def frank_wolfe_sensitivity(
    n: int, loss: LossName, R: float, entry_bound: float, l1_radius: float
) -> float:
    r"""How far replacing a record moves the score <v, gradient> of a vertex v of the l1 ball.

    A record adds slope(<x,b>, y) <v, x>/n. With |x_j| <= c and |b|_1, |v|_1 <= K both |<x,b>| and
    |<v,x>| are at most K c, so the slope is at most R + K c for the squared loss and 1 for the
    logistic one, and two records differ by at most 2 K c slope/n.
    """
    reach = l1_radius * entry_bound
    return 2 * reach * largest_slope(loss, R, reach) / n


class PrivateFrankWolfe(LinearPredictor, VertexDescent):
    """Frank-Wolfe over the l1 ball, each vertex chosen privately.

    **Algorithm** (Talwar, Thakurta and Zhang, 2015: Algorithm 2). Entries are clipped to
    [-entry_bound, entry_bound], responses to [-R, R]. From b = `start`, for t = 1, ..., T: pick the
    vertex v = +-K e_j, K = `l1_radius`, for which <v, gradient> is smallest up to noise, and b <-
    (1 - m) b + m v with m = 2/(t + 2). A step costs one product with X', for the squared loss one
    column of X'X (`vertex_scores`). No intercept.

    **Privacy.** b stays in the l1 ball, so replacing a record moves every score by at most
    `frank_wolfe_sensitivity`, whatever the data; each step is a private selection among 2d
    vertices, and T of them compose by zCDP (or by addition under a pure budget).

    **Risk.** Excess empirical risk of order 1/T + (noise of a score) log d; with the best T that is
    (n eps)^{-2/3} up to logarithms, for every design. b has up to T non-zero coefficients.

    **Source.** Talwar, Thakurta and Zhang (2015), "Nearly optimal private LASSO", NIPS; the
    comparison of CWZ19 §5.3 and of WG19 §6.

    **Departures from the paper.** Data are clipped. The exponential mechanism (Gumbel noise) is the
    default, as its zCDP is four times smaller than that of Laplace noise (``selection="laplace"``).
    ``calibration="paper"`` has the printed noise, which is a quarter of what a noisy max needs
    under replacement of a record; `privacy_` reports what it gives. T minimises a bound with the
    paper's rate in n and epsilon, `best_rounds`.

    Parameters
    ----------
    privacy : Pure, Approximate or ZeroConcentrated, default Approximate(1, 1e-6)
    loss : {"squared", "logistic"}
        For "logistic" y is clipped to [0, 1] and `predict` gives log-odds.
    l1_radius, entry_bound : float
        K, and the bound to which entries of X are clipped.
    R : float
        Bound to which responses are clipped; squared loss only.
    steps : int or "theory"
    selection : {"exponential", "laplace"}
    calibration : {"zcdp", "paper"}
        "paper" needs ``selection="laplace"`` and an Approximate budget.
    start : array of shape (d,) or None
        A public point of the l1 ball; None is 0.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_, n_iter_ (T), selection_scale_ (of the noise on each score), privacy_, ledger_,
    n_features_in_
    """

    releases = ("coef_",)
    _sparse_rows = True

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        loss: LossName = "squared",
        l1_radius: float = 1.0,
        entry_bound: float = 1.0,
        R: float = 1.0,
        steps: int | Literal["theory"] = "theory",
        selection: Selection = "exponential",
        calibration: Literal["zcdp", "paper"] = "zcdp",
        start: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> None:
        self.privacy, self.loss = privacy, loss
        self.l1_radius, self.entry_bound, self.R = l1_radius, entry_bound, R
        self.steps, self.selection, self.calibration = steps, selection, calibration
        self.start, self.random_state = start, random_state

    def fit(self, X: Any, y: ArrayLike) -> PrivateFrankWolfe:
        """Release private coefficients in the l1 ball."""
        X, y = self._validated_pair(X, y, sparse_rows=True)
        budget = self._check_options()
        loss, y = checked_loss(self.loss, y, self.R)
        n, d = X.shape
        radius, bound = float(self.l1_radius), float(self.entry_bound)
        moved = frank_wolfe_sensitivity(n, self.loss, float(self.R), bound, radius)
        # |v - b|_1 <= 2 K, so the curvature constant is at most 4 (K c)^2 times the loss's own.
        curvature = 4 * (radius * bound) ** 2 * CURVATURE[self.loss]
        rounds, coef = self._rounds(d, moved, curvature, budget), self._start(d)
        rng = self._rng()
        scores = vertex_scores(clipped_entries(X, bound), y, loss, rounds, coef)
        entry = self._descend(scores, coef, n, moved=moved, rounds=rounds, budget=budget, rng=rng)
        self._account([entry])
        self.coef_, self.n_iter_, self.selection_scale_ = coef, rounds, entry.scale
        return self

    def _check_options(self) -> SpendablePrivacy:
        check_between(*SAFE_RANGE, entry_bound=self.entry_bound, R=self.R)
        return self._check_descent()


def checked_loss(loss: Any, y: Array, R: float) -> tuple[Any, Array]:
    """The loss of that name, and the responses clipped: to [-R, R] if squared, else to [0, 1]."""
    if not (isinstance(loss, str) and loss in CURVATURE):
        raise ValueError(f"loss must be 'squared' or 'logistic', got {loss!r}")
    chosen = chosen_loss(loss)
    return chosen, np.clip(y, -R, R) if loss == "squared" else accepted_responses(chosen, y)


def block_votes(
    X: Any, y: Array, s: int, blocks: list[NDArray[np.intp]], bound: float, penalty: float
) -> Array:
    """For each feature the number of blocks whose Lasso has it among its s largest coefficients,
    entries of X clipped to [-bound, bound].

    A record is in one block, and a block has at most one vote for each feature, so replacing a
    record moves every count by at most 1, whatever the Lasso makes of the block.
    """
    votes = np.zeros(X.shape[1])
    with warnings.catch_warnings():
        # Whatever there is to say about a block's Lasso would tell something about its records.
        warnings.simplefilter("ignore")
        for block in blocks:
            part = X[block]  # a copy
            held = part.data if sparse.issparse(part) else part
            np.clip(held, -bound, bound, out=held)
            held /= bound
            votes[lasso_support(part, y[block], s, penalty)] += 1
    return votes


def lasso_support(X: Any, y: Array, s: int, penalty: float) -> NDArray[np.intp]:
    """The at most s largest non-zero Lasso coefficients, at a penalty relative to the smallest one
    that makes all of them 0."""
    zero_from = float(np.abs(X.T @ y).max()) / len(y)
    if zero_from == 0:
        return np.empty(0, dtype=np.intp)
    magnitudes = np.abs(screened_lasso(X, y, penalty * zero_from, most_sweeps=300, tol=1e-3))
    top = np.argsort(-magnitudes, kind="stable")[:s]
    return top[magnitudes[top] > 0]


class TwoStageRegression(LinearPredictor, PrivateEstimator):
    """Choose features by the votes of blocks of records, then perturb the objective on them.

    **Algorithm** (Kifer, Smith and Thakurta, 2012). Stage 1, sample and aggregate: records are
    dealt at random into k blocks; the Lasso of each block votes for at most s features; the s
    features with most votes, up to Gumbel noise, are the support. Stage 2, objective perturbation:
    on the support, rows shortened to l2 norm B = `row_bound`, the sum of losses + Delta |b|^2/2 +
    <g, b> is minimised, g random; for the squared loss over |b| <= `radius` and with y clipped to
    [-R, R].

    **Privacy.** Replacing a record changes one block, so each count by at most 1: s rounds of the
    exponential mechanism. Stage 2 is `objective_perturbation`, with gradients of at most B for the
    logistic loss and B (R + B radius) for the squared one. The ball: within it the squared loss is
    a Huber loss with slopes of at most R + B radius everywhere, to which the theorem applies with
    any smooth convex public penalty added; with penalties that grow outside the ball the
    minimisers tend to the constrained one, and privacy passes to the limit (their Theorem on
    successive approximation). It is proved for the exact minimiser; ours is exact up to rounding:
    `logistic_minimum`.

    **Risk.** Their guarantee needs blocks on which the Lasso already finds the support.

    **Source.** Kifer, Smith and Thakurta (2012), "Private convex empirical risk minimization and
    high-dimensional regression", COLT; the comparison of WG19 §6.

    **Departures from the paper.** Constants for replacement of a record: `objective_perturbation`.
    An (eps, delta) budget takes normal or pure noise there, whichever is `quieter`. Gumbel noise of
    scale 2s/eps or less on the counts. Binary blocks vote by the Lasso on -1, 1. Data are clipped.

    Parameters
    ----------
    privacy : Pure, Approximate or ZeroConcentrated, default Approximate(1, 1e-6)
    s : int
        Number of features chosen.
    loss : {"squared", "logistic"}
        For "logistic" y is clipped to [0, 1] and `predict` gives log-odds.
    row_bound : float
        B: bound on the l2 norm of a row on the support, and on each entry when blocks vote.
    R, radius : float
        Bounds on responses and on the norm of the coefficients; squared loss only.
    blocks : int or "theory"
        k; "theory" is sqrt(n), as in the paper.
    penalty : float
        Of each block's Lasso, relative to the smallest that makes all coefficients 0.
    selection_share : float
        Share of the budget for stage 1.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_, support_ (sorted), ridge_ (Delta), selection_scale_, noise_scale_, privacy_, ledger_,
    n_features_in_
    """

    releases = ("coef_", "support_")
    _sparse_rows = True

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        s: int = 1,
        loss: LossName = "squared",
        row_bound: float = 1.0,
        R: float = 1.0,
        radius: float = 1.0,
        blocks: int | Literal["theory"] = "theory",
        penalty: float = 0.25,
        selection_share: float = 0.5,
        random_state: Seed = None,
    ) -> None:
        self.privacy, self.s, self.loss = privacy, s, loss
        self.row_bound, self.R, self.radius = row_bound, R, radius
        self.blocks, self.penalty, self.selection_share = blocks, penalty, selection_share
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> TwoStageRegression:
        """Release private coefficients on s privately chosen features."""
        X, y = self._validated_pair(X, y, sparse_rows=True)
        n, d = X.shape
        each, release = self._check_options(n, d)
        _, y = checked_loss(self.loss, y, self.R)
        bound, R, radius = float(self.row_bound), float(self.R), float(self.radius)
        gradient = bound * largest_slope(self.loss, R, bound * radius)
        perturbed = objective_perturbation(gradient, CURVATURE[self.loss] * bound**2, release)
        rng = self._rng()
        support, selected = self._select(X, y, each, rng)
        Z = X[:, support]
        design = Design(Z.toarray() if sparse.issparse(Z) else Z)
        Z = design.X * design.shortening(bound)[:, None]
        linear = linear_term(perturbed, len(support), rng)
        if self.loss == "squared":
            values = ball_least_squares(Z, y, perturbed.ridge, linear, radius)
        else:
            values = logistic_minimum(Z, y, perturbed.ridge, linear)
        name, about = "objective perturbation", "sum of the gradients"
        entry = LedgerEntry(name, 2 * gradient, "l2", perturbed.scale, (release,), 1, about)
        gradients = partial(gradient_sum, self.loss, Z, y)
        values, noise = shown(gradients, Release(values, entry))
        self._account([selected, noise])
        self.coef_ = np.zeros(d)
        self.coef_[support] = values
        self.support_, self.ridge_ = np.sort(support), perturbed.ridge
        self.selection_scale_, self.noise_scale_ = selected.scale, perturbed.scale
        return self

    def _select(
        self, X: Any, y: Array, epsilon: float, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], LedgerEntry]:
        """The support by noisy votes, and the record of it."""
        count = round(math.sqrt(len(y))) if isinstance(self.blocks, str) else int(self.blocks)
        blocks = np.array_split(rng.permutation(len(y)), count)
        labels = y / float(self.R) if self.loss == "squared" else 2 * y - 1
        votes = block_votes(X, labels, self.s, blocks, float(self.row_bound), float(self.penalty))
        return gumbel_top_k(votes, self.s, sensitivity=1.0, epsilon=epsilon, rng=rng, about="votes")

    def _check_options(self, n: int, d: int) -> tuple[float, Pure | Approximate]:
        """epsilon of each of the s selections, and the guarantee of stage 2."""
        check_sparsity(self.s, d)
        check_between(*SAFE_RANGE, row_bound=self.row_bound, R=self.R, radius=self.radius)
        check_between(0, 1, penalty=self.penalty, selection_share=self.selection_share)
        if isinstance(self.blocks, str):
            if self.blocks != "theory":
                raise ValueError(f"blocks must be an integer or 'theory', got {self.blocks!r}")
        else:
            check_whole(1, blocks=self.blocks)
            if self.blocks > n:
                raise ValueError(f"blocks must be at most n = {n}, got {self.blocks}")
        budget = self._budget(Pure, Approximate, ZeroConcentrated)
        share, s = float(self.selection_share), int(self.s)
        if isinstance(budget, Pure):
            return budget.epsilon * share / s * ROOM, Pure(budget.epsilon * (1 - share) * ROOM)
        if isinstance(budget, ZeroConcentrated):
            each = math.sqrt(8 * budget.rho * share / s)
            return each * ROOM, Pure(math.sqrt(2 * budget.rho * (1 - share)) * ROOM)
        assert isinstance(budget, Approximate)
        first, rest = budget.epsilon * share * ROOM, budget.epsilon * (1 - share) * ROOM
        release = quieter(s, rest, budget.delta / 2)
        left = budget.delta if isinstance(release, Pure) else budget.delta / 2
        together = math.sqrt(8 * Approximate(first, left * ROOM).to_zcdp().rho / s) * ROOM
        if together <= first / s and isinstance(release, Approximate):
            release = Approximate(rest, budget.delta * ROOM)
        return max(together, first / s), release
