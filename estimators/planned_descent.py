"""Noisy gradient steps on a loss with a bounded slope, planned before the data are seen."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from estimators.core.base import Array, LinearPredictor, PlanWarning, PrivateEstimator, Seed
from estimators.core.checks import SAFE_RANGE, check_between, check_plannable, checked_start
from estimators.core.intervals import NoLaw, WithIntervals
from estimators.core.losses import (
    BoundedLoss,
    HuberLoss,
    LogisticLoss,
    accepted_responses,
    chosen_bounded_loss,
    record_by_record,
    slopes,
)
from estimators.core.mechanisms import Release, gaussian, k_norm
from estimators.core.spending import GivenPrivacy
from estimators.core.summaries import as_design
from estimators.regression import projected
from minimax.core.calibration import budget_of
from minimax.core.logistic_gradient import logistic_half_width
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.problems.logistic.planned import Phase, Plan, Setting, Slopes, best_plan

NEEDED = {
    "radius": "a bound on the l2 norm of the coefficients, a public number",
    "row_bound": "a bound on the l2 norm of the rows, a public number",
}
HOPELESS = 0.8
"""Where the plan expects to be off by more than this part of what the start may be off by, it
warns."""


class PlannedDescent(WithIntervals, PrivateEstimator):
    """What the classifier and the regressor share: options, the plan and the private descent."""

    releases = ("coef_",)
    named: ClassVar[Mapping[str, BoundedLoss]]
    """The losses that have names."""
    loss: str | BoundedLoss
    radius: float | None
    row_bound: float | None
    reach: float | None
    start: ArrayLike | None

    def _descend(self, X: Any, y: Array) -> None:
        """Check the options, run the planned phases, record the last iterate and what it cost."""
        n, d = X.shape
        loss, budget = self._check_options()
        unit = float(self.row_bound or 0)  # rows, measured in it, are at most 1 long
        limit, coef = float(self.radius or 0) * unit, self._first(d) * unit
        start = float(np.linalg.norm(coef))
        plan = self._plan(n, d, loss, start, budget)
        self._warn_if_hopeless(n, d, plan, limit + start)
        rng, design, seen = self._rng(), as_design(X), record_by_record(loss)
        y = accepted_responses(loss, y)
        weights = design.shortening(unit) / unit
        ledger = []
        for phase in plan.phases:
            reach = float(np.linalg.norm(coef))
            steep = slopes(seen, weights * design.predict(coef), y)
            if not is_logistic(loss):  # for an honest loss this clips nothing
                steep = np.clip(steep, -loss.largest_slope(reach), loss.largest_slope(reach))
            moves = 2 * half_width(loss, reach) / n
            gradient = design.correlate(weights * steep) / n
            noisy, entry = _noisy(gradient / moves, plan, phase, rng)
            coef = projected(coef - phase.step_size * moves * noisy, limit)
            ledger.append(entry)
        self._account(ledger)
        self.coef_, self.n_iter_ = coef / unit, len(plan.phases)
        self.error_law_ = NoLaw(
            "steps leave a part of the start that the unknown curvature decides"
        )

    def _typical_reach(self, limit: float, d: int) -> float:
        """About how large |<x, coef>| is where nobody says: its root mean square at most."""
        return limit / math.sqrt(d)

    def _plan(
        self, n: int, d: int, loss: BoundedLoss, start: float, budget: SpendablePrivacy
    ) -> Plan:
        """The phases: a function of public numbers."""
        limit = float(self.radius or 0) * float(self.row_bound or 0)
        reach = self._typical_reach(limit, d) if self.reach is None else float(self.reach)
        known = None
        if not is_logistic(loss):
            known = known_slopes(loss, start, limit, reach)
        return best_plan(Setting(float(n), float(d), limit, reach, start, known), budget_of(budget))

    def _warn_if_hopeless(self, n: int, d: int, plan: Plan, farthest: float) -> None:
        """By public numbers alone."""
        if plan.distance > HOPELESS * farthest:
            unit = float(self.row_bound or 0)
            warnings.warn(
                f"n = {n} is too small for {d} features, radius, row_bound and this budget: the"
                f" plan expects |coef - beta| of about {plan.distance / unit:.3g}, the start is off"
                f" by {farthest / unit:.3g} at most; tighter bounds, or a smaller `reach`, help",
                PlanWarning,
                stacklevel=5,
            )

    def _first(self, d: int) -> Array:
        """The first iterate, in the ball."""
        return projected(checked_start(self.start, d), float(self.radius or 0))

    def _check_options(self) -> tuple[BoundedLoss, SpendablePrivacy]:
        """Everything that can be wrong but `start`; the loss, and the budget to spend."""
        for name, about in NEEDED.items():
            if getattr(self, name) is None:
                raise ValueError(f"{name} must be given: {about}")
            check_between(*SAFE_RANGE, **{name: getattr(self, name)})
        if self.reach is not None:
            check_between(*SAFE_RANGE, reach=self.reach)
        loss = chosen_bounded_loss(self.loss, self.named)
        budget = self._budget(Pure, Approximate, ZeroConcentrated, Gaussian)
        check_plannable(budget)
        return loss, budget


def half_width(loss: BoundedLoss, reach: float) -> float:
    """Half of how far apart the gradients of two records can be at a b with |b| = reach.

    A record's gradient is slope(<x, b>, y) x, |x| <= 1, so |<x, b>| <= reach and the gradient is at
    most `largest_slope` long. Logistic gradients are never opposite at full length.
    """
    if is_logistic(loss):
        return float(logistic_half_width(reach))
    return loss.largest_slope(reach)


def is_logistic(loss: BoundedLoss) -> bool:
    """By the exact type: a subclass may do anything."""
    return type(loss) is LogisticLoss


LEAST_FLATNESS = 1e-13
"""Of the curvature that is planned for, over the largest."""


def known_slopes(loss: BoundedLoss, start: float, limit: float, reach: float) -> Slopes:
    """What a plan knows of a loss, checked. At the truth a slope is taken to be what it is at most
    at b = 0: so it is for likelihoods that know least where both labels have the same chance."""
    steepest = float(loss.smoothness)
    first, later, error = (loss.largest_slope(b) for b in (start, limit, 0.0))
    flattest = max(loss.flatness(reach), LEAST_FLATNESS * steepest)
    found = Slopes(first, later, error, min(flattest, steepest), steepest)
    for name, value in found._asdict().items():
        check_between(*SAFE_RANGE, **{f"loss ({name} slope)": value})
    return found


def _noisy(gradient: Array, plan: Plan, phase: Phase, rng: np.random.Generator) -> Release[Array]:
    """A gradient with the noise of a phase, in units of how far a record can move it.

    In these units the ledger says nothing of the iterate.
    """
    budget, about = plan.budget(phase), "gradient in units of its sensitivity"
    if plan.pure:
        epsilon = float(budget.epsilon)
        return k_norm(gradient, norm="l2", sensitivity=1.0, epsilon=epsilon, rng=rng, about=about)
    return gaussian(
        gradient, l2_sensitivity=1.0, scale=1 / float(budget.mu()), rng=rng, about=about
    )


class PlannedRobustRegression(LinearPredictor, PlannedDescent):
    """Linear regression by a few planned gradient steps on a loss with a bounded slope.

    **Algorithm.** Rows are shortened to l2 norm `row_bound` = c. From b = `start`, a few times:
    b <- b - eta_k [(1/n) sum_i l'(<x_i, b>, y_i) x_i + noise], and b is projected on the ball of
    `radius`. The last b is released. The plan is that of `PlannedLogisticRegression`, with what the
    loss says of its slopes and curvature. There is no intercept.

    **Privacy.** |l'| <= G(c|b|) = `loss.largest_slope` at every record, as |<x, b>| <= c|b|; slopes
    are clipped there, which does nothing where that is true and makes it true elsewhere. Replacing
    a record moves an averaged gradient by at most 2 c G(c|b|)/n in l2, whatever the data; b is a
    function of earlier releases, and a phase's share of the budget does not depend on it. Noise is
    as in `PlannedLogisticRegression`. A `PlanWarning` rests on public numbers alone.

    **Risk.** None is proved. Near the coefficients that the loss aims at, a step leaves what the
    curvature does, and noise of 2 (c G/mu)^2 d/n^2 times the square of the step.
    `ResidualClippedRegression` does better where the noise is normal and sigma is known: its clip
    shrinks, and it knows the second moment of the rows.

    **Intervals.** None, as in `PlannedLogisticRegression`.

    **Source.** this toolkit, for the Lipschitz losses of WG19: Theorem 5.4 and WX21: Theorem 8 with
    s = d.

    Parameters
    ----------
    privacy : Pure, Approximate, ZeroConcentrated or Gaussian, default Approximate(1, 1e-6)
    radius, row_bound : float
        Bounds on the norm of the coefficients and on that of the rows: public knowledge, without a
        default.
    loss : "huber" or an object like `estimators.core.losses.BoundedLoss`
        "huber" is `HuberLoss(1.0)`, for responses whose noise has a deviation of about 1. A loss of
        your own is asked about one record at a time, which takes about five microseconds each.
    reach : float or None
        About how large |<x, coef>| is: the plan counts on the curvature that such a shift sees.
        None is radius row_bound/sqrt(d).
    start : array of length d or None
        A public first guess, shortened to `radius`; None is 0.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_, n_iter_ (phases), error_law_ (why there are no intervals), privacy_, ledger_,
    n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import ZeroConcentrated
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-0.5, 0.5], (50_000, 4))
    >>> y = X @ [1, 0, 0, -1] + 0.2 * rng.standard_t(2, 50_000)
    >>> model = PlannedRobustRegression(
    ...     ZeroConcentrated(0.1), radius=2.0, row_bound=1.0, loss=HuberLoss(0.2), random_state=0
    ... ).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1, 0, 0, -1]).max() < 0.05)
    True
    """

    _sparse_rows = True
    named = MappingProxyType({"huber": HuberLoss()})

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        radius: float | None = None,
        row_bound: float | None = None,
        loss: str | BoundedLoss = "huber",
        reach: float | None = None,
        start: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.radius, self.row_bound = radius, row_bound
        self.loss, self.reach, self.start = loss, reach, start
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> PlannedRobustRegression:
        """Release private coefficients of y on the columns of X."""
        X, y = self._validated_pair(X, y, sparse_rows=True)
        self._descend(X, y)
        return self
