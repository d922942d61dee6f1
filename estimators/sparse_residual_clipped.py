"""Private sparse linear regression in phases that clip residuals and choose coordinates."""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal

from numpy.typing import ArrayLike

from estimators.core.accounting import LedgerEntry, compose
from estimators.core.base import (
    LinearPredictor,
    PlanWarning,
    PrivateEstimator,
    Seed,
    settled_entries,
)
from estimators.core.checks import (
    SAFE_RANGE,
    check_between,
    check_plannable,
    check_problem,
    check_sparsity,
    check_whole,
    checked_start,
)
from estimators.core.design import Design
from estimators.core.intervals import NoLaw, WithIntervals
from estimators.core.purse import UNSEEN_SCALE, Purse
from estimators.core.spending import GivenPrivacy
from estimators.core.summaries import Drawn
from estimators.sparse_phases import SparseRun
from minimax.core.bound import UpperBound
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from minimax.problems.sparse_regression.residual_clipped import sparse_residual_clipped_upper

ROUNDING = 1 + 1e-9
NEEDED = {
    "entry_bound": "a bound on the entries of X, a public number",
    "radius": "a bound on the l2 norm of the coefficients, a public number",
}


class SparseResidualClippedRegression(WithIntervals, LinearPredictor, PrivateEstimator):
    r"""Hard thresholding on clipped residuals, whose clips shrink to about the noise.

    **Algorithm.** Entries of X are clipped to [-b, b], b = `entry_bound`. From coef = `start`, a
    few phases, each one pass over X: g = (1/n) sum_i psi_c(y_i - <x_i, coef>) x_i, psi_c clipping
    to [-c, c]; s coordinates of large |coef + g/(slope E x_j^2)| are chosen by one pass of Gumbel
    noise; coef + S^{-1} g/slope is released there, S their second moment, with noise, and is 0
    elsewhere; it is projected on the ball of `radius`. First clips are as wide as the residuals of
    the start; the last phase, which gets most of the budget, clips at about sigma, where the noise
    is least. A coefficient that was released as more than 6 deviations of its error is not chosen
    again: what is left of the s places is, and what is not needed goes to the last values. Clips
    and shares minimise `minimax.methods.selection_plan`'s prediction of the risk. There is no
    intercept.

    **Privacy.** Replacing a record moves each g_j by at most 2 c b/n, and g on s coordinates by
    2 c length/n in l2, where rows on them are shortened to `length` <= sqrt(s) b; the rows' mean
    square and mean length, over their largest, by sqrt(2)/n together; and counts of small
    residuals, weighted by rows' lengths, by 1. Rounds of the
    exponential mechanism and noise, Gaussian or for a pure budget uniform on a random cube, get
    parts of the budget; whether one of them is moved to the last release depends on releases alone,
    and the total is the budget on every path, which is what adaptive composition asks (Feldman and
    Zrnic, 2021, for zCDP; Smith and Thakurta, 2022, for GDP). As the number of rounds depends on
    releases, `privacy_` of an (epsilon, delta) budget is read from the zCDP total, which does not.
    A `PlanWarning` where records are too few to expect more than `start` rests on public numbers.

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
        E x x': released with noise, on the chosen coordinates; entry_bound^2 I; or this number,
        at most entry_bound^2, times I.
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
    noise_scale_ (of the last average), plan_, error_law_ (why there are no intervals), privacy_,
    ledger_, n_features_in_

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
        privacy: GivenPrivacy = None,
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
        X, y = self._validated_pair(X, y, sparse_rows=True, read_later=True)
        budget = self._check_options()
        d = X.shape[1]
        check_sparsity(self.s, d)
        bound, radius = float(self.entry_bound or 0), float(self.radius or 0)
        start = checked_start(self.start, d, radius=radius, s=int(self.s))
        spent = budget.to_zcdp() if isinstance(budget, Approximate) else budget
        drawn = isinstance(X, Drawn)
        design = X.clipped(bound) if drawn else Design.bounded(X, bound, settled_entries)
        run = SparseRun(design, y, int(self.s), bound, radius, Purse(spent, self._rng(), design.n))
        run.begin(start, self.second_moment)
        self._warn_of_few_records(run.expected(self.sigma), run.signal, *X.shape)
        if self.sigma is None and not run.sees_scale:
            warnings.warn(f"{UNSEEN_SCALE}; give sigma", PlanWarning, stacklevel=3)
        run.find_square()
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
        self.error_law_ = NoLaw("coordinates were chosen because their coefficients looked large")
        return self

    def _account(self, ledger: list[LedgerEntry]) -> None:
        """As for every estimator, but an (epsilon, delta) budget is reported from the zCDP total:
        the number of rounds follows the releases, that total does not."""
        super()._account(ledger)
        if isinstance(self._asked, Approximate):
            total = compose(tuple(ledger), ZeroConcentrated).to_zcdp()
            reported = total.to_approximate(self._asked.delta)
            self.privacy_ = reported.assuming(*self._assumptions)

    def _warn_of_few_records(self, risk: float, start: float, n: int, d: int) -> None:
        if not risk < start:
            warnings.warn(
                f"n = {n} is too small to choose {self.s} of {d} features with this budget: the"
                f" plan's risk E<x, coef - beta>^2 is about {risk:.3g}, that of releasing `start`,"
                f" for which no record is needed, at most {start:.3g}",
                PlanWarning,
                stacklevel=4,
            )

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
            if not self.second_moment <= ROUNDING * float(self.entry_bound or 0) ** 2:
                raise ValueError("second_moment must be at most entry_bound^2, as x_j^2 is")
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
        budget = self._budget(Pure, Approximate, ZeroConcentrated, Gaussian)
        check_plannable(budget)
        return budget

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
