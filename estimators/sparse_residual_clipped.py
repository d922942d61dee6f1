"""Private sparse linear regression in phases that clip residuals and choose coordinates."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from estimators.core.accounting import LedgerEntry, compose
from estimators.core.base import Array, LinearPredictor, PrivateEstimator, Seed
from estimators.core.checks import (
    SAFE_RANGE,
    check_between,
    check_problem,
    check_sparsity,
    check_whole,
)
from estimators.core.design import Design, clipped_entries
from estimators.core.mechanisms import gumbel_top_k, k_norm
from estimators.core.purse import Purse
from estimators.regression import projected
from minimax.core.bound import UpperBound
from minimax.core.calibration import noise_variance, selection_epsilon
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.methods.phase_plan import EARLY_RATIO
from minimax.methods.residual_clip import clipped_normal
from minimax.methods.selection_plan import (
    SelectionPhase,
    SparsePlan,
    SparseSetting,
    best_last_clip,
    best_selection_phases,
)
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from minimax.problems.sparse_regression.residual_clipped import (
    proven_phases,
    sparse_residual_clipped_upper,
)

NEEDED = {
    "entry_bound": "a bound on the entries of X, a public number",
    "radius": "a bound on the l2 norm of the coefficients, a public number",
}
SQUARE_SHARE = 0.005
"""Part of the budget with which E x_j^2, one number, is released."""
MOMENT_SHARE = 0.05
"""Part of the budget for the second moment on chosen coordinates."""
SMALLEST_SQUARE = 1e-4
"""Of entry_bound^2: E x_j^2 is taken as no less."""
FLOOR = 0.05
"""Eigenvalues of the second moment are raised to this part of E x_j^2."""
SETTLED = 6.0
"""Deviations at which a released coefficient is not to be chosen again."""
SCALE_SHARE = 0.06
"""Part of the budget with which residuals' scales are found, if sigma is not given."""
SCALE_RANGE = 1e-6, 1e6
"""Scales are looked for between these multiples of sqrt(s) entry_bound radius."""
ADAPTIVE_PARTS = ((0.06, 0.04), (0.10, 0.10), (0.35, 0.35))
"""(selection, values) of the rest that phases then get: nothing is known to plan them with."""


class SparseResidualClippedRegression(LinearPredictor, PrivateEstimator):
    r"""Hard thresholding on clipped residuals, whose clips shrink to about the noise.

    **Algorithm.** Entries of X are clipped to [-b, b], b = `entry_bound`. From b = `start`, a few
    phases, each one pass over X: g = (1/n) sum_i psi_c(y_i - <x_i, coef>) x_i, psi_c clipping to
    [-c, c]; s coordinates of large |coef + g/(slope E x_j^2)| are chosen by one pass of Gumbel
    noise; coef + S^{-1} g/slope is released there, S their second moment, with noise, and is 0
    elsewhere; it is projected on the ball of `radius`. First clips are as wide as the residuals of
    the start; the last phase, which gets most of the budget, clips at about sigma, where the noise
    is least. A coefficient that was released as more than 6 deviations of its error is not chosen
    again: what is left of the s places is, and what is not needed goes to the last values. Clips
    and shares minimise `minimax.methods.selection_plan`'s prediction of the risk. There is no
    intercept.

    **Privacy.** Replacing a record moves each g_j by at most 2 c b/n, and g on s coordinates by
    2 c length/n in l2, where rows on them are shortened to `length` <= sqrt(s) b. Rounds of the
    exponential mechanism and noise, Gaussian or for a pure budget uniform on a random cube, get
    parts of the budget; whether one of them is moved to the last release depends on releases alone,
    and the total is the budget on every path, which is what adaptive composition asks (Feldman and
    Zrnic, 2021, for zCDP; Smith and Thakurta, 2022, for GDP). As the number of rounds depends on
    releases, `privacy_` of an (epsilon, delta) budget is read from the zCDP total, which does not.

    **Risk.** About (inefficiency) s/n + 2 (c/slope)^2 s^2/(rho n^2) under zCDP in E<x, .>^2, with
    parts of rho, and for coefficients near the threshold of the choice log^2(d)/2 times the second
    term. With plan="proven" `risk_bound` holds: the phases are more and their clips wider, which
    costs a few times the risk of the default where all coefficients are far from 0.

    **Source.** this toolkit; shrinking clips are due to Varshney, Thakurta and Jain (2022), private
    hard thresholding is CWZ19: Algorithm 4.2.

    Parameters
    ----------
    privacy : Pure, Approximate, ZeroConcentrated or Gaussian, default Approximate(1, 1e-6)
    s : int
        Number of non-zero coefficients.
    entry_bound, radius : float
        Bounds on the entries of X and on the l2 norm of the coefficients: public knowledge, without
        a default.
    sigma : float or None
        Standard deviation of the responses' noise; None: found privately from the residuals.
    second_moment : {"private", "isotropic"} or float
        E x x': released with noise, on the chosen coordinates; entry_bound^2 I; or this number
        times I.
    start : None or array of shape (d,)
        Public coefficients to start from, at most s of them not 0, in the ball of `radius`; None:
        0.
    plan : {"predicted", "proven"}
        The phases of least predicted risk, or of least proven risk (`risk_bound`): sigma is then
        given, the second moment isotropic and the start 0.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_, support_ (sorted), sigma_ (given or found), second_moment_ (on `support_`),
    noise_scale_ (of the last average), plan_, privacy_, ledger_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import ZeroConcentrated
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-1.0, 1.0], (20_000, 50))
    >>> y = X[:, :2] @ [0.6, -0.6] + 0.1 * rng.standard_normal(20_000)
    >>> model = SparseResidualClippedRegression(
    ...     ZeroConcentrated(0.01), s=2, entry_bound=1, radius=1, sigma=0.1, random_state=0
    ... ).fit(X, y)
    >>> model.support_.tolist(), str(model.privacy_)
    ([0, 1], 'zCDP(rho=0.01)')
    """

    releases = (
        "coef_",
        "support_",
        "sigma_",
        "second_moment_",
        "noise_scale_",
        "plan_",
        "ledger_",
        "privacy_",
    )
    _sparse_rows = True

    def __init__(
        self,
        privacy: SpendablePrivacy | None = None,
        s: int = 1,
        entry_bound: float | None = None,
        radius: float | None = None,
        sigma: float | None = None,
        second_moment: Literal["private", "isotropic"] | float = "private",
        start: ArrayLike | None = None,
        plan: Literal["predicted", "proven"] = "predicted",
        random_state: Seed = None,
    ) -> None:
        self.privacy, self.s = privacy, s
        self.entry_bound, self.radius, self.sigma = entry_bound, radius, sigma
        self.second_moment, self.start, self.plan = second_moment, start, plan
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> SparseResidualClippedRegression:
        """Release private sparse coefficients of y on the columns of X."""
        X, y = self._validated_pair(X, y, sparse_rows=True)
        budget = self._check_options()
        d = X.shape[1]
        check_sparsity(self.s, d)
        start = self._checked_start(d)
        bound, radius = float(self.entry_bound or 0), float(self.radius or 0)
        design = Design(clipped_entries(X, bound))
        spent = budget.to_zcdp() if isinstance(budget, Approximate) else budget
        run = _Run(design, y, int(self.s), bound, radius, Purse(spent, self._rng(), design.n))
        run.find_square(self.second_moment)
        run.begin(start)
        if self.sigma is None:
            run.adaptive_phases()
        elif self.plan == "proven":
            run.proven_phases(float(self.sigma))
        else:
            run.planned_phases(float(self.sigma))
        self._account(run.purse.ledger)
        self.coef_, self.support_ = run.coef, run.support
        self.sigma_, self.plan_ = run.sigma, run.plan
        self.second_moment_, self.noise_scale_ = run.moment, run.noise
        return self

    def _account(self, ledger: list[LedgerEntry]) -> None:
        """As for every estimator, but an (epsilon, delta) budget is reported from the zCDP total:
        the number of rounds follows the releases, that total does not."""
        super()._account(ledger)
        if isinstance(self._asked, Approximate):
            total = compose(tuple(ledger), ZeroConcentrated).to_zcdp()
            reported = total.to_approximate(self._asked.delta)
            self.privacy_ = reported.assuming(*self._assumptions)

    def _check_options(self) -> SpendablePrivacy:
        """Everything that can be wrong but for shapes; the budget to spend."""
        check_whole(s=self.s)
        for name, about in NEEDED.items():
            if getattr(self, name) is None:
                raise ValueError(f"{name} must be given: {about}")
            check_between(*SAFE_RANGE, **{name: getattr(self, name)})
        if self.sigma is not None:
            check_between(*SAFE_RANGE, sigma=self.sigma)
        if not isinstance(self.second_moment, str):
            check_between(*SAFE_RANGE, second_moment=self.second_moment)
        elif self.second_moment not in ("private", "isotropic"):
            raise ValueError(
                "second_moment must be 'private', 'isotropic' or a number, got"
                f" {self.second_moment!r}"
            )
        if self.plan not in ("predicted", "proven"):
            raise ValueError(f"plan must be 'predicted' or 'proven', got {self.plan!r}")
        isotropic = isinstance(self.second_moment, str) and self.second_moment == "isotropic"
        within = isotropic and self.sigma is not None and self.start is None
        if self.plan == "proven" and not within:
            raise ValueError("plan='proven' needs sigma, second_moment='isotropic', start=None")
        return self._budget(Pure, Approximate, ZeroConcentrated, Gaussian)

    def risk_bound(self, problem: SparseRegressionProblem) -> UpperBound:
        """The proven upper bound on the risk: see `sparse_residual_clipped_upper`."""
        check_problem(problem, SparseRegressionProblem)
        asked = self._check_options()
        if self.plan != "proven":
            raise ValueError("risk_bound covers plan='proven'")
        class_ = {name: getattr(problem, name) for name in ("s", "sigma", "radius")}
        for name, value in {**class_, "entry_bound": problem.s**-0.5}.items():
            if not math.isclose(getattr(self, name), value, rel_tol=1e-12):
                raise ValueError(f"{name} must be that of the problem, {value:g}")
        return sparse_residual_clipped_upper(problem, asked)

    def _checked_start(self, d: int) -> Array:
        if self.start is None:
            return np.zeros(d)
        start = np.asarray(self.start, dtype=float)
        if start.shape != (d,) or not np.isfinite(start).all():
            raise ValueError(f"start must be {d} finite numbers, one for each column of X")
        if np.count_nonzero(start) > self.s:
            raise ValueError(f"start must have at most s = {self.s} numbers that are not 0")
        if not np.linalg.norm(start) <= float(self.radius or 0):
            raise ValueError("start must lie in the ball of the radius given")
        return start


class _Run:
    """One fit: what it has found so far. Everything it decides on is public or released."""

    plan: SparsePlan
    sigma: float
    noise: float

    def __init__(
        self, design: Design, y: Array, s: int, bound: float, radius: float, purse: Purse
    ) -> None:
        self.design, self.y, self.s, self.purse = design, y, s, purse
        self.bound, self.radius = bound, radius
        everything = range(design.d if design.d == s else 0)
        self.support: NDArray[np.intp] = np.array(everything, dtype=np.intp)
        self.settled = self.support
        self.known: NDArray[np.intp] | None = None
        """The coordinates whose second moment is known."""
        self.moment_share = 0.0
        self.unspent = 0.0
        """Shares of what needed no release: the last phase gets them."""

    def find_square(self, given: str | float) -> None:
        """E x_j^2: known, or released."""
        self.length = math.sqrt(self.s) * self.bound
        self.private_moment = given == "private"
        if not self.private_moment:
            self.square = self.bound**2 if isinstance(given, str) else float(given)
            return
        average = np.array([float(np.mean(self.design.norms**2)) / self.design.d])
        sensitivity = self.bound**2 / self.design.n
        noisy = self.purse.release(average, sensitivity, SQUARE_SHARE, "mean square of entries")
        least = SMALLEST_SQUARE * self.bound**2
        self.square = min(max(float(noisy[0]), least), self.bound**2)
        self.moment_share = MOMENT_SHARE
        if not self.purse.pure:
            self.length = math.sqrt(self.s * self.square)

    def begin(self, start: Array) -> None:
        """From public coefficients, no more than radius + |start| away."""
        self.coef = start
        self.reach = self.radius + float(np.linalg.norm(start))
        self.sigma = 0.0

    @property
    def spent(self) -> float:
        return (SQUARE_SHARE if self.private_moment else 0.0) + self.moment_share

    def _setting(self, sigma: float) -> SparseSetting:
        return SparseSetting(
            self.design.n,
            self.design.d,
            self.s,
            self.bound,
            self.square,
            self.length,
            sigma,
            self.square * self.reach**2,
            type(self.purse.privacy),
            self.purse.pure,
            self.purse.strength,
        )

    def planned_phases(self, sigma: float) -> None:
        """All phases, planned before the first of them."""
        self.sigma = sigma
        self._take(best_selection_phases(self._setting(sigma), self.spent))

    def proven_phases(self, sigma: float) -> None:
        """Those of least proven risk."""
        self.sigma, n, d = sigma, self.design.n, self.design.d
        at = {"n": n, "d": d, "s": self.s, "sigma": sigma, "radius": self.radius}
        self._take(proven_phases(at, self.purse.privacy, self.length))

    def _take(self, phases: tuple[SelectionPhase, ...]) -> None:
        self.plan = SparsePlan(phases, self.spent, 0.0)
        for phase in phases:
            self.step(phase, self.moment_share / len(phases), last=phase is phases[-1])

    def adaptive_phases(self) -> None:
        """Phases whose clips follow the scale of the residuals before them, found privately."""
        count, left = len(ADAPTIVE_PARTS), 1 - self.spent - SCALE_SHARE
        phases = []
        for k, (selection, values) in enumerate(ADAPTIVE_PARTS):
            self.sigma = self._found_scale(SCALE_SHARE / count)
            ratio = EARLY_RATIO
            if k == count - 1:
                ratio = best_last_clip(self._setting(self.sigma), left * values)
            slope = float(clipped_normal(ratio, 1.0).slope)
            shares = left * selection, left * values
            noise = self._setting(self.sigma).unit_noise(shares[1]) * (ratio * self.sigma) ** 2
            risk = noise / slope**2  # that of the values alone
            phases.append(SelectionPhase(ratio * self.sigma, slope, *shares, risk, 0.0))
            self.step(phases[-1], self.moment_share / count, last=k == count - 1)
        self.plan = SparsePlan(tuple(phases), self.spent, SCALE_SHARE)

    def _found_scale(self, share: float) -> float:
        unit = math.sqrt(self.s) * self.bound * self.reach
        low, high = (unit * end for end in SCALE_RANGE)
        return self.purse.scale(np.abs(self._residuals()), low, high, share)

    def _residuals(self) -> Array:
        return self.y - self.design.predict(self.coef)

    def step(self, phase: SelectionPhase, moment_share: float, *, last: bool) -> None:
        """One phase: X is read once, and once more its chosen columns."""
        clipped = np.clip(self._residuals(), -phase.clip, phase.clip)
        if phase.selection and len(self.settled) < self.s:
            self.support = self._chosen(clipped, phase)
        else:
            self.unspent += phase.selection
        block = self._block()
        weights = self.length / np.maximum(np.linalg.norm(block, axis=1), self.length)
        if self.known is None or not np.array_equal(self.known, self.support):
            self._find_moment(block, weights, moment_share)
        else:
            self.unspent += moment_share
        share = phase.values + (self.unspent if last else 0.0)
        noisy = self._released(block.T @ (weights * clipped) / self.design.n, phase.clip, share)
        values = self.coef[self.support] + self.inverse @ noisy / phase.slope
        self.coef = np.zeros(self.design.d)
        self.coef[self.support] = projected(values, self.radius)
        self._settle(phase)

    def _chosen(self, clipped: Array, phase: SelectionPhase) -> NDArray[np.intp]:
        """The settled coordinates and, by Gumbel noise, others up to s of them, in order."""
        rounds = self.s - len(self.settled)
        open_ = np.setdiff1d(np.arange(self.design.d), self.settled, assume_unique=True)
        step = 1 / (self.square * phase.slope)
        scores = np.abs(self.coef + step * self.design.correlate(clipped) / self.design.n)
        model, part = type(self.purse.privacy), self.purse.part(phase.selection)
        found, entry = gumbel_top_k(
            scores[open_],
            rounds,
            sensitivity=2 * step * phase.clip * self.bound / self.design.n,
            epsilon=float(selection_epsilon(model, part, rounds)),
            rng=self.purse.rng,
            about="support",
        )
        if model is Gaussian:
            each = Gaussian(float(part.mu()) / math.sqrt(rounds))
            entry = replace(entry, guarantees=(*entry.guarantees, each))
        self.purse.ledger.append(entry)
        return np.sort(np.concatenate([self.settled, open_[found]]))

    def _block(self) -> Array:
        columns = self.design.X[:, self.support]
        return np.asarray(columns.toarray() if sparse.issparse(columns) else columns, dtype=float)

    def _find_moment(self, block: Array, weights: Array, share: float) -> None:
        """E w x x' on the support, w shortening rows to `length`: known, or released."""
        s, n = self.s, self.design.n
        self.known = self.support
        if not self.private_moment:
            self.moment = self.square * np.eye(s)
            self.inverse = np.eye(s) / self.square
            return
        sensitivity = math.sqrt(2) * math.sqrt(s) * self.bound * self.length / n
        rows, columns = np.triu_indices(s)
        weight = np.where(rows == columns, 1.0, math.sqrt(2))
        gram = (block * weights[:, None]).T @ block / n
        flat = gram[rows, columns] * weight
        noisy = self.purse.release(flat, sensitivity, share, "second moment on the support")
        noise = self.purse.deviation(sensitivity, flat.size, share)
        upper = np.zeros((s, s))
        upper[rows, columns] = noisy / weight
        sizes, vectors = np.linalg.eigh(upper + np.triu(upper, 1).T)
        sizes = np.maximum(sizes, max(FLOOR * self.square, math.sqrt(2 * s) * noise))
        self.moment = (vectors * sizes) @ vectors.T
        self.inverse = (vectors / sizes) @ vectors.T

    def _released(self, average: Array, clip: float, share: float) -> Array:
        """The average on the support with noise: for a pure budget in the norm of the cube."""
        n, about = self.design.n, "clipped residuals"
        part = self.purse.part(share)
        if not self.purse.pure:
            entry = clip * self.length / math.sqrt(self.s)
            self.noise = math.sqrt(noise_variance(part, n, self.s, entry))
            return self.purse.release(average, 2 * clip * self.length / n, share, about)
        self.noise = math.sqrt(noise_variance(part, n, self.s, clip * self.bound))
        noisy, made = k_norm(
            average,
            norm="linf",
            sensitivity=2 * clip * self.bound / n,
            epsilon=float(part.epsilon),
            rng=self.purse.rng,
            about=about,
        )
        self.purse.ledger.append(made)
        return noisy

    def _settle(self, phase: SelectionPhase) -> None:
        """The coordinates whose released values are far from 0, by the deviation of their error."""
        if self.s == self.design.d:
            return
        statistics = clipped_normal(phase.clip, max(self.sigma, phase.clip / 8)).square
        each = (self.noise**2 + statistics * self.square / self.design.n) / phase.slope**2
        deviation = math.sqrt(each) * np.sqrt(np.diag(self.inverse @ self.inverse))
        level = SETTLED * deviation if phase.settled is None else phase.settled
        self.settled = self.support[np.abs(self.coef[self.support]) > level]
