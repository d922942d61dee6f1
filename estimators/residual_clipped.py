"""Private linear regression in phases that clip residuals, not responses."""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from estimators.core.base import (
    LinearPredictor,
    PlanWarning,
    PrivateEstimator,
    ReleasedWarning,
    Seed,
)
from estimators.core.checks import (
    SAFE_RANGE,
    check_between,
    check_no_start,
    check_plannable,
    check_problem,
    checked_start,
)
from estimators.core.design import check_gram_fits
from estimators.core.error_laws import LastPhase, last_phase_error
from estimators.core.intervals import ErrorLaw, NoLaw, WithIntervals, noise_law
from estimators.core.purse import UNSEEN_SCALE, Purse
from estimators.core.second_moment import SecondMoment
from estimators.core.spending import GivenPrivacy
from estimators.regression import projected
from estimators.residual_phases import Outlook, Run
from minimax.core.bound import UpperBound
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.methods.residual_clip import clipped_normal
from minimax.problems.regression.problem import RegressionProblem
from minimax.problems.regression.residual_clipped import residual_clipped_upper

ROUNDING = 1 + 1e-9
NEEDED = {
    "row_bound": "a bound on the l2 norm of the rows, a public number",
    "radius": "a bound on the l2 norm of the coefficients, a public number",
}


class ResidualClippedRegression(WithIntervals, LinearPredictor, PrivateEstimator):
    r"""Newton steps on clipped residuals, whose clips shrink to about the noise.

    **Algorithm.** Rows are shortened to l2 norm `row_bound`. From b = `start`, a few phases:
    b <- b + S^{-1}/slope [(1/n) sum_i psi_c(y_i - <x_i, b>) w_i x_i + noise], psi_c clipping to
    [-c, c], slope = P(|residual| <= c), w_i shortening the row to `row_length` at most; where S is
    a release, each of its axes is moved by the part that leaves least error (`ErrorsOnAxes`); last,
    b is projected on the ball of `radius`. First clips are as wide as the residuals of the start,
    the last, which gets most of the budget, is about sigma, where the noise is least. Clips and
    shares minimise a risk before any record is read: for ``second_moment="isotropic"`` and sigma
    given by `minimax.problems.regression.residual_clipped`, which proves it, else by
    `minimax.methods.phase_plan`, which predicts it. There is no intercept.

    **Privacy.** Replacing a record moves a phase's average by at most 2 c row_length/n in l2, the
    rows' mean square by row_bound^2/n, and their second moment, weighted by w, by
    sqrt(2) row_length row_bound/n in Frobenius' norm (`moment_sensitivity`), whatever the data.
    Noise is Gaussian, or for a pure budget of density e^{-|z|} in that norm. Counts of small
    residuals, weighted by rows' lengths, have sensitivity 1. All else comes after the releases. A
    `PlanWarning` where the records are too few to expect more than `start` rests on public numbers
    alone.

    **Risk.** `risk_bound`, for an isotropic second moment. About (inefficiency) d/n +
    2 (c/slope)^2 d^2/(rho n^2) under zCDP, where the inefficiency E psi_c^2/slope^2 is between
    sigma^2 and (pi/2) sigma^2.

    **Intervals.** `confidence_interval(level)` and `stderr_`, about `unprojected_coef_`, hold noise
    and sampling error of the last phase and what it leaves of the error before it:
    `last_phase_error`, for N(0, sigma^2) noise, where S is the rows' second moment and the plan
    foresees the error before the last phase; `ErrorsOnAxes`, where S is a release. The error of a
    sigma that was found is not counted; where it could not be found there is no interval.

    **Source.** this toolkit; shrinking clips are due to Varshney, Thakurta and Jain (2022).

    Parameters
    ----------
    privacy : Pure, Approximate, ZeroConcentrated or Gaussian, default Approximate(1, 1e-6)
    row_bound, radius : float
        Bounds on the norms of rows and coefficients: public knowledge, without a default.
    sigma : float or None
        Standard deviation of the responses' noise; None: found privately from the residuals. Where
        too few rows count for that, it is taken to be row_bound radius, with a `ReleasedWarning`.
    second_moment : {"private", "isotropic"} or array of shape (d, d)
        S = E x x': released with noise first, which any table allows; row_bound^2/d I, for rows of
        length row_bound whose directions are evenly spread, as `risk_bound` assumes; or given.
    start : None or array of shape (d,)
        Public coefficients to start from, in the ball of `radius`; None: 0.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_, unprojected_coef_ (before it is projected), sigma_ (given or found), noise_scale_ (of the
    last average), noise_covariance_ (of `unprojected_coef_`), inefficiency_ (E psi_c^2/slope^2 of
    the last clip), stderr_, error_law_ (what intervals are made of), second_moment_ (S), plan_,
    privacy_, ledger_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import ZeroConcentrated
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-0.5, 0.5], (50_000, 4))
    >>> y = X @ [0.6, 0, 0, -0.6] + 0.1 * rng.standard_normal(50_000)
    >>> model = ResidualClippedRegression(
    ...     ZeroConcentrated(0.001), row_bound=1, radius=1, sigma=0.1, random_state=0
    ... ).fit(X, y)
    >>> bool(np.abs(model.coef_ - [0.6, 0, 0, -0.6]).max() < 0.02), str(model.privacy_)
    (True, 'zCDP(rho=0.001)')
    """

    estimated = "unprojected_coef_"
    releases = (
        "coef_",
        "unprojected_coef_",
        "sigma_",
        "second_moment_",
        "noise_scale_",
        "noise_covariance_",
        "inefficiency_",
        "error_law_",
        "plan_",
        "ledger_",
        "privacy_",
    )
    _sparse_rows = True

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        row_bound: float | None = None,
        radius: float | None = None,
        sigma: float | None = None,
        second_moment: Literal["private", "isotropic"] | ArrayLike = "private",
        start: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.row_bound, self.radius, self.sigma = row_bound, radius, sigma
        self.second_moment, self.start = second_moment, start
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> ResidualClippedRegression:
        """Release private coefficients of y on the columns of X."""
        X, y = self._validated_pair(X, y, sparse_rows=True, read_later=True)
        budget, d = self._check_options(), X.shape[1]
        row_bound, radius = float(self.row_bound or 0), float(self.radius or 0)
        check_gram_fits(d)
        start = checked_start(self.start, d, radius=radius)
        known = self._known_moment(d)
        purse = Purse(budget, self._rng(), len(y))
        run = Run(y, row_bound, radius + float(np.linalg.norm(start)), start, purse)
        self._warn_of_few_records(run.outlook(known, self.sigma), len(y), d)
        run.read(X, known)
        if self.sigma is None:
            run.adaptive_phases()
        else:
            run.planned_phases(float(self.sigma), proven=self._isotropic)
        self._account(purse.ledger)
        self.unprojected_coef_ = run.coef
        self.coef_ = projected(run.coef, radius)
        self.sigma_, self.plan_, self.second_moment_ = run.sigma, run.plan, run.moment.matrix
        last = run.plan.phases[-1]
        self.noise_scale_ = run.noise
        whitening = run.inverse * (run.noise / last.slope)
        self.noise_covariance_ = whitening @ whitening.T
        self.inefficiency_ = float(clipped_normal(last.clip, run.sigma).inefficiency)
        self.error_law_ = self._error_law(run)
        return self

    def _error_law(self, run: Run) -> ErrorLaw | NoLaw:
        """That of the last phase, which forgets where it started as far as S is known."""
        n, d, last = run.design.n, run.design.d, run.plan.phases[-1]
        if self.sigma is None and not run.sees_scale:
            warnings.warn(f"{UNSEEN_SCALE}; give sigma", ReleasedWarning, stacklevel=4)
            return NoLaw(f"{UNSEEN_SCALE}; give sigma")
        noise = noise_law(run.purse.ledger[-1], d)
        if run.errors is not None:
            return run.errors.error_law(noise, self.noise_covariance_)
        before, sigma = run.risk_before_last, run.sigma
        if self.sigma is None:  # what is found holds what the coefficients missed
            sigma = math.sqrt(max(sigma**2 - before, 0.0))
        phase = LastPhase(n, last.clip, last.slope, sigma, before)
        return last_phase_error(phase, run.moment.inverse, noise, self.noise_covariance_)

    def risk_bound(self, problem: RegressionProblem) -> UpperBound:
        """The proven upper bound on the risk: see `residual_clipped_upper`."""
        check_problem(problem, RegressionProblem)
        asked = self._check_options()
        if not self._isotropic:
            kind = self.second_moment if isinstance(self.second_moment, str) else "a matrix"
            raise ValueError(f"risk_bound covers second_moment='isotropic', got {kind!r}")
        if self.sigma is None:
            raise ValueError("risk_bound covers a sigma that is given, got sigma=None")
        check_no_start(self.start)
        told = {"sigma": self.sigma, "radius": self.radius, "row_bound": self.row_bound}
        class_ = {"sigma": problem.sigma, "radius": problem.radius, "row_bound": 1.0}
        for name, value in told.items():
            if value != class_[name]:
                raise ValueError(f"{name} must be that of the problem, {class_[name]:g}: {value!r}")
        return residual_clipped_upper(problem, asked)

    @property
    def _isotropic(self) -> bool:
        return isinstance(self.second_moment, str) and self.second_moment == "isotropic"

    def _check_options(self) -> SpendablePrivacy:
        """Everything that can be wrong but for shapes; the budget to spend."""
        for name, about in NEEDED.items():
            if getattr(self, name) is None:
                raise ValueError(f"{name} must be given: {about}")
            check_between(*SAFE_RANGE, **{name: getattr(self, name)})
        if self.sigma is not None:
            check_between(*SAFE_RANGE, sigma=self.sigma)
        named = isinstance(self.second_moment, str)
        if named and self.second_moment not in ("isotropic", "private"):
            raise ValueError(
                "second_moment must be 'private', 'isotropic' or a matrix, got"
                f" {self.second_moment!r}"
            )
        budget = self._budget(Pure, Approximate, ZeroConcentrated, Gaussian)
        check_plannable(budget)
        return budget

    def _known_moment(self, d: int) -> SecondMoment | None:
        """S where it is public, checked."""
        if self._isotropic:
            return SecondMoment.isotropic(d, float(self.row_bound or 0) ** 2)
        if isinstance(self.second_moment, str):
            return None
        try:
            matrix = np.asarray(self.second_moment, dtype=float)
        except (TypeError, ValueError):
            matrix = np.empty(())
        if matrix.shape != (d, d) or not np.isfinite(matrix).all():
            raise ValueError(f"second_moment must be a finite matrix of shape ({d}, {d})")
        if not np.allclose(matrix, matrix.T):
            raise ValueError("second_moment must be symmetric")
        if not np.linalg.eigvalsh(matrix)[0] > 0:
            raise ValueError("second_moment must be positive definite")
        if not np.trace(matrix) <= ROUNDING * float(self.row_bound or 0) ** 2:
            raise ValueError("second_moment must have a trace of at most row_bound^2, as |x|^2 is")
        return SecondMoment.of((matrix + matrix.T) / 2)

    def _warn_of_few_records(self, outlook: Outlook, n: int, d: int) -> None:
        if not outlook.risk < outlook.start:
            warnings.warn(
                f"n = {n} is too small for {d} features and this budget: the plan's risk"
                f" E<x, coef - beta>^2 is about {outlook.risk:.3g}, that of releasing `start`, for"
                f" which no record is needed, at most {outlook.start:.3g}",
                PlanWarning,
                stacklevel=4,
            )
