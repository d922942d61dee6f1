"""Private classification in low dimension: a planned descent."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from estimators.core.base import Array, Seed
from estimators.core.checks import check_problem
from estimators.core.losses import (
    BoundedLoss,
    LogisticLoss,
    ProbitLoss,
    SmoothHingeLoss,
    chosen_bounded_loss,
    record_by_record,
    slopes,
)
from estimators.core.spending import GivenPrivacy
from estimators.core.two_classes import TwoClassPredictor
from estimators.planned_descent import PlannedDescent, is_logistic
from minimax.core.bound import UpperBound
from minimax.problems.logistic.planned import planned_logistic_upper, typical_reach
from minimax.problems.logistic.problem import LogisticProblem


class PlannedLogisticRegression(TwoClassPredictor, PlannedDescent):
    """A few noisy gradient steps on the logistic loss, planned before the data are seen; or on
    another loss of two classes whose slope is bounded.

    **Algorithm.** Rows are shortened to l2 norm `row_bound` = c. From b = `start`, a few times:
    b <- b - eta_k [(1/n) sum_i (p_i - y_i) x_i + noise], p_i = 1/(1 + exp(-<x_i, b>)), and b is
    projected on the ball of `radius`. The last b is released. The number of phases, their parts of
    the budget and their steps minimise what the proof's recursion expects, given n, d, the budget,
    radius, c and `reach`. There is no intercept: a column of ones does for one. Another loss
    l(<x, b>, y) has its slope l' in place of p_i - y_i.

    **Privacy.** Replacing a record moves an averaged gradient by at most 2 c w(c|b|)/n in l2,
    whatever the data, where w = `minimax.core.logistic_gradient.logistic_half_width` grows from 1/2
    at b = 0 to at most 1; b is a function of earlier releases, and a phase's share of the budget
    does not depend on it. Noise is Gaussian, or of density e^{-a|z|} for a pure budget; a budget of
    (epsilon, delta) is spent in the way that the plan expects more of, which for few features is
    the pure one. A `PlanWarning` rests on public numbers alone. For another loss w is a bound G on
    |l'|: as |<x, b>| <= c|b|, that is `loss.largest_slope` at c|b|, and slopes are clipped there,
    which does nothing where that is true and makes it true elsewhere. Then |l' x| <= c G at every
    record, and replacing one moves the average by at most 2 c G/n.

    **Risk.** `risk_bound`, for the logistic loss. Under zCDP, where coefficients are small, about
    4d/n + 8 d^2/(rho n^2) for |x| <= 1 and E x x' = I/d, which is the lower bound.

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
    loss : {"logistic", "probit", "hinge"} or an object like `estimators.core.losses.BoundedLoss`
        A function of <x, coef> and of y in {0, 1}: minus the log-likelihood of 1/(1 + e^-p) or of
        Phi(p), or `SmoothHingeLoss(1.0)`. A loss of your own is asked about one record at a time.
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

    named = MappingProxyType(
        {"logistic": LogisticLoss(), "probit": ProbitLoss(), "hinge": SmoothHingeLoss()}
    )

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        radius: float | None = None,
        row_bound: float | None = None,
        reach: float | None = None,
        start: ArrayLike | None = None,
        classes: Sequence[Any] | None = None,
        loss: str | BoundedLoss = "logistic",
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.radius, self.row_bound, self.reach = radius, row_bound, reach
        self.start, self.classes, self.loss = start, classes, loss
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> PlannedLogisticRegression:
        """Release private coefficients for telling apart the two classes in y."""
        X, positive, classes = self._labelled(X, y)
        self._descend(X, positive)
        self.classes_ = classes
        return self

    def predict_proba(self, X: Any) -> Array:
        """Chances of the two classes, one row per row of X: those at which <x, coef_> is the
        prediction of least expected loss."""
        loss, prediction = chosen_bounded_loss(self.loss, self.named), self.decision_function(X)
        if is_logistic(loss):
            return super().predict_proba(X)
        seen = record_by_record(loss)
        up, down = (np.abs(slopes(seen, prediction, np.full_like(prediction, y))) for y in (0, 1))
        both = up + down
        chance = np.divide(up, both, out=np.full_like(both, 0.5), where=both > 0)
        return np.column_stack([1 - chance, chance])

    def risk_bound(self, problem: LogisticProblem) -> UpperBound:
        """The proven upper bound on the risk: `planned_logistic_upper`."""
        check_problem(problem, LogisticProblem)
        loss, budget = self._check_options()
        if not is_logistic(loss):
            raise ValueError("risk_bound covers loss='logistic', which is the class's")
        if self.row_bound != 1 or self.start is not None:
            raise ValueError("risk_bound covers row_bound = 1, which is the class's, and no start")
        reach = None if self.reach is None else float(self.reach)
        return planned_logistic_upper(problem, budget, radius=float(self.radius or 0), reach=reach)

    def _typical_reach(self, limit: float, d: int) -> float:
        return typical_reach(limit, d)
