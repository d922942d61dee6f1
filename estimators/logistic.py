"""Private logistic regression in low dimension: a planned descent."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from estimators.core.base import Array, PlanWarning, Seed
from estimators.core.checks import SAFE_RANGE, check_between, check_plannable, check_problem
from estimators.core.design import Design
from estimators.core.intervals import NoLaw, WithIntervals
from estimators.core.mechanisms import Release, gaussian, k_norm
from estimators.core.two_classes import TwoClassPredictor
from estimators.regression import projected
from minimax.core.bound import UpperBound
from minimax.core.calibration import budget_of
from minimax.core.logistic_gradient import logistic_half_width
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.problems.logistic.planned import (
    Phase,
    Plan,
    Setting,
    best_plan,
    planned_logistic_upper,
    typical_reach,
)
from minimax.problems.logistic.problem import LogisticProblem

NEEDED = {
    "radius": "a bound on the l2 norm of the coefficients, a public number",
    "row_bound": "a bound on the l2 norm of the rows, a public number",
}
HOPELESS = 0.8
"""Where the plan expects to be off by more than this part of what the start may be off by, it
warns."""


class PlannedLogisticRegression(WithIntervals, TwoClassPredictor):
    """A few noisy gradient steps on the logistic loss, planned before the data are seen.

    **Algorithm.** Rows are shortened to l2 norm `row_bound` = c. From b = `start`, a few times:
    b <- b - eta_k [(1/n) sum_i (p_i - y_i) x_i + noise], p_i = 1/(1 + exp(-<x_i, b>)), and b is
    projected on the ball of `radius`. The last b is released. The number of phases, their parts of
    the budget and their steps minimise what the proof's recursion expects, given n, d, the budget,
    radius, c and `reach`. There is no intercept: a column of ones does for one.

    **Privacy.** Replacing a record moves an averaged gradient by at most 2 c w(c|b|)/n in l2,
    whatever the data, where w = `minimax.core.logistic_gradient.logistic_half_width` grows from 1/2
    at b = 0 to at most 1; b is a function of earlier releases, and a phase's share of the budget
    does not depend on it. Noise is Gaussian, or of density e^{-a|z|} for a pure budget; a budget of
    (epsilon, delta) is spent in the way that the plan expects more of, which for few features is
    the pure one. A `PlanWarning` rests on public numbers alone.

    **Risk.** `risk_bound`. Under zCDP, where coefficients are small, about 4d/n + 8 d^2/(rho n^2)
    for |x| <= 1 and E x x' = I/d, which is the lower bound.

    **Intervals.** None: what the steps leave of the start depends on the curvature at coefficients
    on the way, which is neither public nor released. `confidence_interval` says so.

    **Source.** this toolkit, for the problem of WG19: Corollary 5.8 with s = d.

    Parameters
    ----------
    privacy : Pure, Approximate, ZeroConcentrated or Gaussian, default Approximate(1, 1e-6)
    radius, row_bound : float
        Bounds on the norm of the coefficients and on that of the rows: public knowledge, without a
        default.
    reach : float or None
        About how large |<x, coef>| is: the plan counts on the curvature there. None is
        radius row_bound/sqrt(d), which is right where rows have E x x' = I row_bound^2/d, or 2.5
        where that is larger, as bounds are often loose; radius row_bound is the most cautious.
    start : array of length d or None
        A public first guess, shortened to `radius`; None is 0.
    classes : sequence of two labels, or None
        The labels, whichever occur in y. The second is the positive one; any other label than the
        second, also one that is not in `classes`, counts as the first. Without it the labels are
        read off y, and `privacy_.assumes` that they are public.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_ (one-dimensional), classes_, n_iter_ (phases), error_law_ (why there are no intervals),
    privacy_, ledger_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import ZeroConcentrated
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-0.5, 0.5], (50_000, 4))
    >>> y = rng.random(50_000) < 1 / (1 + np.exp(-X @ [1, 0, 0, -1]))
    >>> model = PlannedLogisticRegression(
    ...     ZeroConcentrated(0.1), radius=2.0, row_bound=1.0, random_state=0
    ... )
    >>> fitted = model.fit(X, y)
    >>> bool(np.abs(fitted.coef_ - [1, 0, 0, -1]).max() < 0.1), str(fitted.privacy_)
    (True, 'zCDP(rho=0.1)')
    """

    releases = ("coef_",)

    def __init__(
        self,
        privacy: SpendablePrivacy | None = None,
        radius: float | None = None,
        row_bound: float | None = None,
        reach: float | None = None,
        start: ArrayLike | None = None,
        classes: Sequence[Any] | None = None,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.radius, self.row_bound, self.reach = radius, row_bound, reach
        self.start, self.classes = start, classes
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> PlannedLogisticRegression:
        """Release private coefficients for telling apart the two classes in y."""
        X, positive, classes = self._labelled(X, y)
        n, d = X.shape
        budget = self._check_options()
        unit = float(
            self.row_bound or 0
        )  # rows are measured in it, so that their length is at most 1
        limit, coef = float(self.radius or 0) * unit, self._first(d) * unit
        plan = self._plan(n, d, float(np.linalg.norm(coef)), budget)
        self._warn_if_hopeless(n, d, plan, limit + float(np.linalg.norm(coef)))
        rng, design = self._rng(), Design(X)
        weights = design.shortening(unit) / unit
        ledger = []
        for phase in plan.phases:
            slopes = special.expit(weights * design.predict(coef)) - positive
            gradient = design.correlate(weights * slopes) / n
            moves = 2 * logistic_half_width(float(np.linalg.norm(coef))) / n
            noisy, entry = _noisy(gradient / moves, plan, phase, rng)
            coef = projected(coef - phase.step_size * moves * noisy, limit)
            ledger.append(entry)
        self._account(ledger)
        self.coef_, self.classes_ = coef / unit, classes
        self.n_iter_ = len(plan.phases)
        self.error_law_ = NoLaw(
            "steps leave a part of the start that the unknown curvature decides"
        )
        return self

    def risk_bound(self, problem: LogisticProblem) -> UpperBound:
        """The proven upper bound on the risk: `planned_logistic_upper`."""
        check_problem(problem, LogisticProblem)
        budget = self._check_options()
        if self.row_bound != 1 or self.start is not None:
            raise ValueError("risk_bound covers row_bound = 1, which is the class's, and no start")
        reach = None if self.reach is None else float(self.reach)
        return planned_logistic_upper(problem, budget, radius=float(self.radius or 0), reach=reach)

    def _plan(self, n: int, d: int, start: float, budget: SpendablePrivacy) -> Plan:
        """The phases: a function of public numbers."""
        limit = float(self.radius or 0) * float(self.row_bound or 0)
        reach = typical_reach(limit, d) if self.reach is None else float(self.reach)
        setting = Setting(float(n), float(d), limit, reach, start)
        return best_plan(setting, budget_of(budget))

    def _warn_if_hopeless(self, n: int, d: int, plan: Plan, farthest: float) -> None:
        """By public numbers alone."""
        if plan.distance > HOPELESS * farthest:
            unit = float(self.row_bound or 0)
            warnings.warn(
                f"n = {n} is too small for {d} features, radius, row_bound and this budget: the"
                f" plan expects |coef - beta| of about {plan.distance / unit:.3g}, the start is off"
                f" by {farthest / unit:.3g} at most; tighter bounds, or a smaller `reach`, help",
                PlanWarning,
                stacklevel=3,
            )

    def _first(self, d: int) -> Array:
        """The first iterate, in the ball."""
        if self.start is None:
            return np.zeros(d)
        first = np.asarray(self.start, dtype=float)
        if first.shape != (d,) or not np.isfinite(first).all():
            raise ValueError(f"start must be {d} finite numbers, got {self.start!r}")
        return projected(first, float(self.radius or 0))

    def _check_options(self) -> SpendablePrivacy:
        """Everything that can be wrong but `start`; the budget to spend."""
        for name, about in NEEDED.items():
            if getattr(self, name) is None:
                raise ValueError(f"{name} must be given: {about}")
            check_between(*SAFE_RANGE, **{name: getattr(self, name)})
        if self.reach is not None:
            check_between(*SAFE_RANGE, reach=self.reach)
        budget = self._budget(Pure, Approximate, ZeroConcentrated, Gaussian)
        check_plannable(budget)
        return budget


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
