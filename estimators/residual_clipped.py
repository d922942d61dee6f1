"""Private linear regression in phases that clip residuals, not responses."""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from estimators.core.base import (
    Array,
    LinearPredictor,
    PlanWarning,
    PrivateEstimator,
    Seed,
    settled_entries,
)
from estimators.core.checks import (
    SAFE_RANGE,
    check_between,
    check_no_start,
    check_plannable,
    check_problem,
    checked_start,
)
from estimators.core.design import Design, check_gram_fits
from estimators.core.error_laws import LastPhase, last_phase_error
from estimators.core.intervals import ErrorLaw, WithIntervals, noise_law
from estimators.core.purse import Purse
from estimators.core.second_moment import SecondMoment, moment_noise, released_moment
from estimators.regression import projected
from minimax.core.bound import UpperBound
from minimax.core.calibration import ball_noise_variance
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.methods.phase_plan import (
    EARLY_RATIO,
    PlannedPhase,
    Setting,
    best_last_ratio,
    best_phases,
    predicted_phases,
)
from minimax.methods.residual_clip import clipped_normal
from minimax.problems.regression.problem import RegressionProblem
from minimax.problems.regression.residual_clipped import best_course, residual_clipped_upper

NEEDED = {
    "row_bound": "a bound on the l2 norm of the rows, a public number",
    "radius": "a bound on the l2 norm of the coefficients, a public number",
}
SECOND_MOMENT_SHARES = (0.02, 0.05, 0.1, 0.2, 0.3)
"""Parts of the budget among which that of a private second moment is chosen."""
USUAL_SHARES = (0.05, 0.15, 0.8)
"""Shares of the phases, of what is left, that are assumed for this choice."""
TYPICAL_SQUARE = 1 / 3
"""E|x|^2/row_bound^2 that is assumed for this choice: that of rows uniform in a cube."""
UNKNOWN_SIGMA = 0.1
"""sigma over row_bound radius that is assumed for it where sigma is not given."""
SCALE_SHARE = 0.06
"""Part of the budget with which residuals' scales are found, if sigma is not given."""
ADAPTIVE_SHARES = (0.1, 0.2, 0.7)
"""Parts of the rest that the phases then get: nothing is known to plan them with."""
SCALE_RANGE = 1e-6, 1e6
"""Scales are looked for between these multiples of row_bound radius."""


class Plan(NamedTuple):
    """What a fit does: `print(model.plan_)` shows it."""

    phases: tuple[PlannedPhase, ...]
    row_length: float
    """Rows count in a release with at most this length."""
    second_moment_share: float
    """Part of the budget spent on the second moment."""
    scale_share: float
    """Part of the budget spent on the residuals' scale."""
    risk: float
    """E<x, coef - beta>^2, as predicted."""
    proven: float | None
    """A bound on it for isotropic rows and N(0, sigma^2) noise, where there is one."""

    def __str__(self) -> str:
        lines = [
            f"phase {k}: clip {p.clip:.4g}, {p.share:.1%} of the budget, risk {p.risk:.3g}"
            for k, p in enumerate(self.phases, 1)
        ]
        shares = (("second moment", self.second_moment_share), ("scale", self.scale_share))
        lines[:0] = [f"{name}: {share:.1%} of the budget" for name, share in shares if share]
        lines += [] if self.proven is None else [f"proven risk: {self.proven:.3g}"]
        return "\n".join(lines)


class ResidualClippedRegression(WithIntervals, LinearPredictor, PrivateEstimator):
    r"""Newton steps on clipped residuals, whose clips shrink to about the noise.

    **Algorithm.** Rows are shortened to l2 norm `row_bound`. From b = `start`, a few phases:
    b <- b + S^{-1}/slope [(1/n) sum_i psi_c(y_i - <x_i, b>) w_i x_i + noise], psi_c clipping to
    [-c, c], slope = P(|residual| <= c), w_i shortening the row to `row_length` at most; last, b is
    projected on the ball of `radius`. First clips are as wide as the residuals of the start, the
    last, which gets most of the budget, is about sigma, where the noise is least. Clips and shares
    minimise a risk before any record is read: for ``second_moment="isotropic"`` and sigma given by
    `minimax.problems.regression.residual_clipped`, which proves it, else by
    `minimax.methods.phase_plan`, which predicts it. There is no intercept.

    **Privacy.** Replacing a record moves a phase's average by at most 2 c row_length/n in l2, and
    X'X/n by sqrt(2) row_bound^2/n in Frobenius' norm (`moment_sensitivity`), whatever the data.
    Noise is Gaussian, or for a pure budget of density e^{-|z|} in that norm. Counts of small
    residuals have sensitivity 1. All else comes after the releases. A `PlanWarning` where the
    records are too few to expect more than `start` rests on public numbers alone.

    **Risk.** `risk_bound`, for an isotropic second moment. About (inefficiency) d/n +
    2 (c/slope)^2 d^2/(rho n^2) under zCDP, where the inefficiency E psi_c^2/slope^2 is between
    sigma^2 and (pi/2) sigma^2.

    **Intervals.** `confidence_interval(level)` and `stderr_`, about `unprojected_coef_`, hold noise
    and sampling error of the last phase and what it leaves of the error before it:
    `last_phase_error`, for N(0, sigma^2) noise, where S is the rows' second moment and the plan
    foresees the error before the last phase; that of a sigma that was found is not counted.

    **Source.** this toolkit; shrinking clips are due to Varshney, Thakurta and Jain (2022).

    Parameters
    ----------
    privacy : Pure, Approximate, ZeroConcentrated or Gaussian, default Approximate(1, 1e-6)
    row_bound, radius : float
        Bounds on the norms of rows and coefficients: public knowledge, without a default.
    sigma : float or None
        Standard deviation of the responses' noise; None: found privately from the residuals.
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
        privacy: SpendablePrivacy | None = None,
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
        run = _Run(y, row_bound, radius + float(np.linalg.norm(start)), start, purse)
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
        whitening = run.moment.inverse * (run.noise / last.slope)
        self.noise_covariance_ = whitening @ whitening.T
        self.inefficiency_ = float(clipped_normal(last.clip, run.sigma).inefficiency)
        self.error_law_ = self._error_law(run)
        return self

    def _error_law(self, run: _Run) -> ErrorLaw:
        """That of the last phase, which forgets almost all of where it started."""
        n, d, last = run.design.n, run.design.d, run.plan.phases[-1]
        before, noise = run.risk_before_last, noise_law(run.purse.ledger[-1], d)
        sigma = run.sigma  # where it is found it holds what the coefficients missed
        if self.sigma is None:
            sigma = math.sqrt(max(sigma**2 - before, 0.0))
        phase = LastPhase(n, last.clip, last.slope, sigma, before, run.moment.mismatch)
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
        matrix = np.asarray(self.second_moment, dtype=float)
        if matrix.shape != (d, d) or not np.isfinite(matrix).all():
            raise ValueError(f"second_moment must be a finite matrix of shape ({d}, {d})")
        if not np.allclose(matrix, matrix.T):
            raise ValueError("second_moment must be symmetric")
        if not np.linalg.eigvalsh(matrix)[0] > 0:
            raise ValueError("second_moment must be positive definite")
        return SecondMoment.of((matrix + matrix.T) / 2)

    def _warn_of_few_records(self, outlook: Outlook, n: int, d: int) -> None:
        if not outlook.risk < outlook.start:
            warnings.warn(
                f"n = {n} is too small for {d} features and this budget: the plan's risk"
                f" E<x, coef - beta>^2 is about {outlook.risk:.3g}, that of releasing `start`, for"
                f" which no record is needed, at most {outlook.start:.3g}",
                PlanWarning,
                stacklevel=3,
            )


class Outlook(NamedTuple):
    """What public numbers let expect, for rows that are assumed where S is not known."""

    risk: float
    """E<x, coef - beta>^2 as predicted."""
    start: float
    """That of the first value at most."""


class _Run:
    """One fit: what it has found so far. Everything it decides on is public or released."""

    design: Design
    moment: SecondMoment
    plan: Plan
    sigma: float
    noise: float

    def __init__(
        self, y: Array, row_bound: float, reach: float, start: Array, purse: Purse
    ) -> None:
        self.y, self.purse, self.row_bound, self.reach = y, purse, row_bound, reach
        self.n, self.d = len(y), len(start)
        self.coef, self.moment_share = start, 0.0

    def outlook(self, known: SecondMoment | None, sigma: float | None) -> Outlook:
        """Before any record is read: what share S gets, and what all can be expected to reach."""
        spread = UNKNOWN_SIGMA * self.reach * self.row_bound if sigma is None else float(sigma)
        if known is None:
            self.moment_share = min(
                SECOND_MOMENT_SHARES,
                key=lambda share: self._usual_risk(self._assumed(share, spread)),
            )
            setting = self._assumed(self.moment_share, spread)
        else:
            setting = self._setting(known, self._length(known), spread, 0.0)
        risk = self._usual_risk(setting)
        if not risk < setting.signal:
            risk = min(risk, best_phases(setting)[-1].risk)
        return Outlook(risk, setting.signal)

    def _usual_risk(self, setting: Setting) -> float:
        return predicted_phases(setting, USUAL_SHARES, 1.0)[-1].risk

    def _assumed(self, share: float, sigma: float) -> Setting:
        """With a second moment that is released with this share, for rows that are assumed."""
        noise = moment_noise(self.purse, self.row_bound, self.d, share)
        moment = SecondMoment.isotropic(self.d, TYPICAL_SQUARE * self.row_bound**2, noise)
        return self._setting(moment, self._length(moment), sigma, share)

    def _length(self, moment: SecondMoment) -> float:
        """Rows count with their root mean square at most, which most rows nearly have."""
        return min(self.row_bound, math.sqrt(moment.trace))

    def read(self, X: Any, known: SecondMoment | None) -> None:
        """The last check of X, and its rows' norms: in one pass with X'X if S is to be released."""
        if known is None:
            self.design, gram = Design.with_gram(X, self.row_bound, settled_entries)
            self.moment = released_moment(gram, self.row_bound, self.moment_share, self.purse)
        else:
            self.design, self.moment = Design(settled_entries(X)), known
        self.row_length = self._length(self.moment)
        self.shorten = self.design.shortening(self.row_bound)
        self.weights = self.design.shortening(self.row_length)

    def _setting(self, moment: SecondMoment, length: float, sigma: float, spent: float) -> Setting:
        n, d = self.n, self.d

        def unit_noise(share: float) -> float:
            part = self.purse.part((1 - spent) * share)
            return float(moment.inverse_trace * ball_noise_variance(part, n, d, length))

        signal = self.reach**2 * moment.largest
        return Setting(sigma, signal, d / n, unit_noise, moment.mismatch)

    def planned_phases(self, sigma: float, *, proven: bool) -> None:
        """All phases, planned before the first of them."""
        self.sigma = sigma
        self.plan = self._proven_plan(sigma) if proven else self._predicted_plan(sigma)
        for phase in self.plan.phases:
            self.step(phase)

    def _proven_plan(self, sigma: float) -> Plan:
        """For isotropic rows, in units in which row_bound is 1."""
        n, d = self.n, self.d
        at = {"n": float(n), "d": float(d), "sigma": sigma, "radius": self.reach * self.row_bound}
        planned = best_course(at, self.purse.privacy)
        setting = self._setting(self.moment, self.row_length, sigma, 0.0)
        phases = tuple(
            _phase(setting, float(p.clip), float(p.share), float(p.slope)) for p in planned.phases
        )
        return Plan(phases, self.row_length, 0.0, 0.0, phases[-1].risk, float(planned.risk))

    def _predicted_plan(self, sigma: float) -> Plan:
        spent = self.moment_share
        phases = best_phases(self._setting(self.moment, self.row_length, sigma, spent))
        phases = tuple(p._replace(share=p.share * (1 - spent)) for p in phases)
        return Plan(phases, self.row_length, spent, 0.0, phases[-1].risk, None)

    def adaptive_phases(self) -> None:
        """Phases whose clips follow the scale of the residuals before them, found privately."""
        spent = self.moment_share + SCALE_SHARE
        phases = []
        for k, share in enumerate(ADAPTIVE_SHARES):
            self.sigma = self._found_scale(SCALE_SHARE / len(ADAPTIVE_SHARES))
            setting = self._setting(self.moment, self.row_length, self.sigma, spent)
            last = k == len(ADAPTIVE_SHARES) - 1
            ratio = best_last_ratio(setting, share) if last else EARLY_RATIO
            slope = clipped_normal(ratio, 1.0).slope
            phase = _phase(setting, ratio * self.sigma, share, slope)
            phases.append(phase._replace(share=share * (1 - spent)))
            self.step(phases[-1])
        shares = self.moment_share, SCALE_SHARE
        self.plan = Plan(tuple(phases), self.row_length, *shares, phases[-1].risk, None)

    @property
    def risk_before_last(self) -> float:
        """E<x, b - beta>^2 before the last phase, as predicted."""
        earlier = self.plan.phases[:-1]
        return earlier[-1].risk if earlier else self.reach**2 * self.moment.largest

    def _found_scale(self, share: float) -> float:
        unit = self.row_bound * self.reach
        low, high = (unit * end for end in SCALE_RANGE)
        sizes = np.abs(self.y - self.shorten * self.design.predict(self.coef))
        return self.purse.scale(sizes, low, high, share)

    def step(self, phase: PlannedPhase) -> None:
        """One phase: X is read once."""
        n, d = self.n, self.d
        total = self.design.clipped_correlation(
            self.y, self.coef, self.shorten, self.weights, phase.clip
        )
        sensitivity = 2 * phase.clip * self.row_length / n
        noisy = self.purse.release(total / n, sensitivity, phase.share, "clipped residuals")
        self.noise = self.purse.deviation(sensitivity, d, phase.share)
        self.coef = self.coef + self.moment.inverse @ noisy / phase.slope


def _phase(setting: Setting, clip: float, share: float, slope: float) -> PlannedPhase:
    """A phase with the risk that it leaves, to leading order."""
    noise = setting.unit_noise(share) * (clip / slope) ** 2
    statistics = setting.spread * clipped_normal(clip, setting.sigma).square / slope**2
    return PlannedPhase(clip, share, slope, float(statistics + noise))
