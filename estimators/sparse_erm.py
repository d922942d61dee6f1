"""Private empirical risk minimisation over sparse linear predictors: noisy hard thresholding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from estimators.core import schedules
from estimators.core.base import Array, LinearPredictor, PrivateEstimator, Seed
from estimators.core.checks import (
    check_between,
    check_no_start,
    check_penalty,
    check_problem,
    check_sparsity,
    check_whole,
    checked_start,
)
from estimators.core.design import Design
from estimators.core.losses import (
    LogisticLoss,
    Loss,
    SquaredLoss,
    accepted_responses,
    chosen_loss,
    record_by_record,
    slopes,
)
from estimators.core.mechanisms import gaussian
from estimators.core.spending import GivenPrivacy
from estimators.core.summaries import as_design
from estimators.core.two_classes import TwoClassPredictor
from estimators.regression import projected
from minimax.core.bound import Point, UpperBound
from minimax.core.calibration import Allowance, budget_of, paper_gradient_noise, repeated_noise
from minimax.core.privacy import Approximate, Gaussian, ZeroConcentrated
from minimax.core.symbolic import Number
from minimax.problems.logistic.problem import LogisticProblem
from minimax.problems.logistic.upper import noisy_logistic_upper
from minimax.problems.sparse_logistic.problem import SparseLogisticProblem
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from minimax.problems.sparse_regression.upper import noisy_thresholding_upper

Spendable = Approximate | ZeroConcentrated | Gaussian
SIZES = (1e-50, 1e50)
"""Where clip, step and scales must lie, so that iterates stay in the floating-point range."""
SHORTEST_ENTRY = 1e-140
"""Rows of entries smaller than this are treated as this long: their squares may underflow."""


def hard_threshold(v: Array, s: int) -> Array:
    """v with all but its s entries of largest magnitude set to zero."""
    kept = np.argpartition(np.abs(v), len(v) - s)[len(v) - s :]
    out = np.zeros_like(v)
    out[kept] = v[kept]
    return out


def slope_caps(design: Design, clip: float) -> Array:
    """For each record the largest |slope| with |slope| |x| <= clip."""
    shortest = SHORTEST_ENTRY * math.sqrt(design.d)
    return np.asarray(clip / np.maximum(design.norms, shortest))


def clipped_gradient(design: Design, y: Array, coef: Array, loss: Loss, caps: Array) -> Array:
    """The average of slope_i x_i over records, each slope clipped to its cap.

    A record's gradient has norm |slope_i| |x_i|, so clipping slopes to `slope_caps` is clipping
    gradients, and replacing a record moves the average by at most 2 clip/n in l2.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        predictions = design.predict(coef)
    weights = np.clip(slopes(loss, predictions, y), -caps, caps)
    return design.correlate(weights) / design.n


def paper_noise(privacy: Spendable, clip: float, n: int, steps: int) -> float:
    """The noise per step as printed in WG19: `minimax.core.calibration.paper_gradient_noise`.

    It is too small, see `NoisyHardThresholding`.
    """
    return float(paper_gradient_noise(privacy, clip, n, steps))


class _SparseDescent(PrivateEstimator):
    """What the regressor and the classifier share: options and the private descent."""

    releases = ("coef_", "support_")
    s: int
    loss: str | Loss
    clip: float
    steps: int
    step_size: float | Literal["auto"]
    feature_scale: float
    l2: float
    radius: float | None
    calibration: Literal["analytic", "paper"]
    schedule: schedules.Schedule
    condition: float
    start: ArrayLike | None

    def _descend(self, X: Any, y: Array, loss: Loss) -> None:
        """Check the options, run the descent, record its last iterate and what it cost."""
        n, d = X.shape
        self._check_options(d)
        if schedules.follows_theorem(self.schedule):
            schedules.run_with(
                self, self._theorem(n, d, loss), lambda copy: copy._descend(X, y, loss)
            )
            return
        step = self._step(loss)
        clip, steps, s = float(self.clip), int(self.steps), int(self.s)
        scale = self._noise(n)
        rng, design, loss = self._rng(), as_design(X), record_by_record(loss)
        caps, shrink = slope_caps(design, clip), 1 - step * float(self.l2)
        coef = self._start(d)
        for _ in range(steps):
            gradient = clipped_gradient(design, y, coef, loss, caps)
            noisy, entry = gaussian(
                gradient, l2_sensitivity=2 * clip / n, scale=scale, rng=rng, about="gradient"
            )
            coef = hard_threshold(shrink * coef - step * noisy, s)
            if self.radius is not None:
                coef = projected(coef, float(self.radius))
        self._account([replace(entry, count=steps)])
        self.coef_, self.support_ = coef, np.flatnonzero(coef)
        self.noise_scale_, self.step_size_ = scale, step

    def risk_bound(
        self, problem: SparseRegressionProblem | SparseLogisticProblem | LogisticProblem
    ) -> UpperBound:
        """The proven upper bound on the risk, WG19: Corollaries 5.6 and 5.8 with constants: see
        `noisy_thresholding_upper`; for the dense logistic problem, s = d, `noisy_logistic_upper`.
        Needs `radius`, no `l2`, and the squared or logistic loss."""
        check_problem(problem, SparseRegressionProblem, SparseLogisticProblem, LogisticProblem)
        self._check_options(problem.d)
        check_no_start(self.start)
        schedules.check_planned(self.schedule)
        loss = chosen_loss(self.loss)
        kinds: dict[type, Literal["squared", "logistic"]]
        kinds = {SquaredLoss: "squared", LogisticLoss: "logistic"}
        if self.radius is None or self.l2 != 0 or type(loss) not in kinds:
            raise ValueError("risk_bound covers radius given, l2 = 0, squared or logistic loss")
        asked = self._budget(Approximate, ZeroConcentrated, Gaussian)

        def noise(at: Point) -> Number:
            return self._noise(at["n"], Allowance(type(asked), at))

        if isinstance(problem, LogisticProblem):
            if kinds[type(loss)] != "logistic" or self.s != problem.d:
                raise ValueError("risk_bound of a LogisticProblem covers the logistic loss, s = d")
            return noisy_logistic_upper(
                problem,
                radius=float(self.radius),
                G=float(self.clip),
                step_size=self._step(loss),
                steps=int(self.steps),
                noise=noise,
                privacy=asked,
            )
        if isinstance(problem, SparseLogisticProblem) and kinds[type(loss)] != "logistic":
            raise ValueError("risk_bound of a SparseLogisticProblem covers the logistic loss")
        return noisy_thresholding_upper(
            problem,
            s=int(self.s),
            radius=float(self.radius),
            G=float(self.clip),
            step_size=self._step(loss),
            steps=int(self.steps),
            noise=noise,
            privacy=asked,
            loss=kinds[type(loss)],
        )

    def _noise(self, n: Number, budget: Allowance | None = None) -> Number:
        """Standard deviation of the noise on each averaged gradient."""
        budget = budget or budget_of(self._budget(Approximate, ZeroConcentrated, Gaussian))
        if self.calibration == "paper":
            return paper_gradient_noise(budget, float(self.clip), n, int(self.steps))
        return repeated_noise(budget, 2 * float(self.clip) / n, int(self.steps))

    def _smoothness(self, loss: Loss) -> float:
        return float(loss.smoothness) * float(self.feature_scale) ** 2 + float(self.l2)

    def _theorem(self, n: int, d: int, loss: Loss) -> schedules.Options:
        budget = self._budget(Approximate, ZeroConcentrated, Gaussian)
        numbers = {"clip": float(self.clip), "condition": float(self.condition)}
        smooth = self._smoothness(loss)
        return schedules.wg19_theorem_5_4(
            n, d, budget, s=int(self.s), radius=self.radius, smoothness=smooth, **numbers
        )

    def _step(self, loss: Loss) -> float:
        """The step size given, or the inverse smoothness at the public feature scale."""
        if self.step_size == "auto":
            return 1 / self._smoothness(loss)
        step = float(self.step_size)
        if not step * float(self.l2) < 2:
            raise ValueError(f"step_size must be below 2/l2 or the iterates diverge, got {step!r}")
        return step

    def _check_options(self, d: int) -> None:
        check_sparsity(self.s, d)
        check_whole(steps=self.steps)
        check_between(*SIZES, clip=self.clip, feature_scale=self.feature_scale)
        check_between(0, SIZES[1], condition=self.condition)
        if self.condition < 1:
            raise ValueError(f"condition must be at least 1, got {self.condition!r}")
        if isinstance(self.step_size, str):
            if self.step_size != "auto":
                raise ValueError(f"step_size must be 'auto' or a number, got {self.step_size!r}")
        else:
            check_between(*SIZES, step_size=self.step_size)
        check_penalty(SIZES[1], l2=self.l2)
        if self.radius is not None:
            check_between(*SIZES, radius=self.radius)
        if self.calibration not in ("analytic", "paper"):
            raise ValueError(f"calibration must be 'analytic' or 'paper', got {self.calibration!r}")
        self._start(d)

    def _start(self, d: int) -> Array:
        return checked_start(self.start, d, radius=self.radius, s=int(self.s))


class NoisyHardThresholding(LinearPredictor, _SparseDescent):
    """Noisy gradient steps, each followed by keeping the s largest coefficients.

    **Algorithm** (WG19: Algorithm 1, DP-IGHT, which is WX21: Algorithm 3, DP-IHT). From `start`,
    `steps` = T times: theta <- H_s(theta - eta (g + u + l2 theta)), where g is the average of the
    records' gradients slope_i x_i, each shortened to l2 norm `clip` = G; u ~ N(0, tau^2 I); H_s
    keeps the s entries of largest magnitude. With `radius`, theta is then shortened to that l2
    norm. Only the last theta is released.

    **Privacy.** Whatever rows, responses and loss, a record's shortened gradient has norm at most
    G, so replacing it moves g by at most 2G/n; the rest of a step sees the data only through
    g + u. The T Gaussian releases are together one, with mu = sqrt(T) (2G/n)/tau.

    **Risk.** `risk_bound`, for the class of `minimax.problems.sparse_regression.lower`. In
    general, WG19: Theorem 5.4: up to constants kappa^2 s* |grad L(theta*)|_inf^2/mu^2 (statistics)
    plus kappa^3 G^2 s* log d log(n)/(mu^2 n^2 rho) (privacy), with mu and kappa the sparse strong
    convexity and condition number, s >= C kappa^2 s*, T of order kappa log n and no gradient
    shortened; `minimax.problems.erm.upper` has the constants.

    **Source.** WG19: Algorithm 1, Theorems 5.2 and 5.4, Corollaries 5.6 and 5.8; WX21: Algorithm 3,
    Theorem 8.

    **Departures from the paper.** WG19 and WX21 assume a G-Lipschitz loss; squared loss has no
    finite G, so gradients are shortened here. T releases of sensitivity D spend T D^2/(2 tau^2),
    so WG19's tau^2 = T G^2/(n^2 rho) (Theorem 5.2) is right for D = sqrt(2) G/n, where replacing
    a record has D = 2G/n. ``calibration="paper"`` has their noise all the same: T G^2/(n^2 rho)
    for zCDP really spends 2 rho; T G^2 log(1/delta)/(n eps)^2 for (epsilon, delta) spends
    rho = 2 eps^2/log(1/delta), which at eps = 1, delta = 1e-5 is .174 and an epsilon of 3.0 by
    WG19: Lemma 3.4 (2.40 by the exact Gaussian curve). `privacy_` then reports the budget's
    epsilon with its real delta; ``accounting.compose(ledger_, Approximate, delta)`` the reverse.

    Parameters
    ----------
    privacy : Approximate, ZeroConcentrated or Gaussian, default Approximate(1, 1e-6)
    s : int
        Number of non-zero coefficients kept.
    loss : {"squared", "logistic"} or an object like `estimators.core.losses.Loss`
        "logistic" clips y to [0, 1] and makes `predict` return log-odds. A loss of your own is
        asked about one record at a time, which takes about five microseconds each.
    clip : float
        G, the largest norm |slope_i| |x_i| of a record's gradient. Noise grows with it; below the
        usual norm gradients lose length and convergence slows. Logistic slopes are at most 1, so
        there the largest usual row norm is enough.
    steps : int
        T. The noise per step grows like sqrt(T).
    step_size : float or "auto"
        eta. "auto" is 1/(smoothness * feature_scale^2 + l2): no look at the data.
    feature_scale : float
        A public guess of the largest standard deviation of <x, v> over unit vectors v with few
        non-zeros: for weakly correlated features, that of one feature. Used by "auto" only.
    l2 : float
        The penalty l2 |theta|^2/2. It does not involve the data, so its gradient is not shortened.
    radius : float or None
        Bound on |theta|_2; None for none.
    calibration : {"analytic", "paper"}
    schedule : {"planned", "theorem"}
        "theorem" sets `steps`, `step_size` and `calibration` to those of WG19: Theorem 5.4:
        `schedules.wg19_theorem_5_4`. It needs `radius`.
    condition : float
        kappa, the condition number on few coordinates. Used by ``schedule="theorem"`` only.
    start : array of shape (d,) or None
        theta_0, public, with at most s non-zeros and norm at most `radius`; None is 0.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_, support_ (sorted), noise_scale_ (tau), step_size_, privacy_, ledger_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import ZeroConcentrated
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((5000, 50))
    >>> y = 2 * X[:, 7] - X[:, 30]
    >>> estimator = NoisyHardThresholding(ZeroConcentrated(0.5), s=2, clip=10.0, random_state=0)
    >>> fitted = estimator.fit(X, y)
    >>> fitted.support_.tolist(), str(fitted.privacy_)
    ([7, 30], 'zCDP(rho=0.5)')
    """

    _sparse_rows = True

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        s: int = 1,
        loss: str | Loss = "squared",
        clip: float = 1.0,
        steps: int = 10,
        step_size: float | Literal["auto"] = "auto",
        feature_scale: float = 1.0,
        l2: float = 0.0,
        radius: float | None = None,
        calibration: Literal["analytic", "paper"] = "analytic",
        schedule: schedules.Schedule = "planned",
        condition: float = 1.0,
        start: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.s, self.loss, self.clip = s, loss, clip
        self.steps, self.step_size, self.feature_scale = steps, step_size, feature_scale
        self.l2, self.radius, self.calibration = l2, radius, calibration
        self.schedule, self.condition = schedule, condition
        self.start, self.random_state = start, random_state

    def fit(self, X: Any, y: Any) -> NoisyHardThresholding:
        """Release private sparse coefficients for predicting y from the rows of X."""
        X, y = self._validated_pair(X, y, sparse_rows=True)
        loss = chosen_loss(self.loss)
        self._descend(X, accepted_responses(loss, y), loss)
        return self


class NoisyHardThresholdingClassifier(TwoClassPredictor, _SparseDescent):
    """Noisy hard thresholding for two classes: private sparse logistic regression.

    **Algorithm.** `NoisyHardThresholding` on labels mapped to {0, 1}; <x, coef_> is the log-odds of
    ``classes_[1]``.

    **Privacy.** As there, if `classes` is given: whatever a record's label, it is the second class
    or it is not. Without it the two labels are read off y, and a y with another number of labels
    raises: `privacy_.assumes` then says that the set of labels is public.

    **Risk.** WG19: Corollary 5.8: up to constants and logarithms K^2 s* log d [1/n +
    log(1/delta)/(n eps)^2], if |x| <= K and the covariance of x is well conditioned.

    **Source.** WG19: Algorithm 1, Corollary 5.8; WX21: Algorithm 3, §VIII (with `l2`).

    **Departures from the paper.** Those of `NoisyHardThresholding`. WG19 §6.1 draws y = 1 with
    probability 1/(1 + exp <x, theta>), which is the model of its §5.2 at -theta: data made that way
    return -theta.

    Parameters
    ----------
    privacy, s, clip, steps, step_size, feature_scale, l2, radius, calibration, schedule, condition,
    start, random_state
        As for `NoisyHardThresholding`.
    loss : "logistic" or an object like `estimators.core.losses.Loss`
        A function of the log-odds and of y in {0, 1}.
    classes : sequence of two labels, or None
        The labels, whichever occur in y. The second is the positive one; any other label than the
        second, also one that is not in `classes`, counts as the first.

    Attributes
    ----------
    coef_ (one-dimensional), classes_, support_, noise_scale_, step_size_, privacy_, ledger_,
    n_features_in_
    """

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        s: int = 1,
        loss: str | Loss = "logistic",
        clip: float = 1.0,
        steps: int = 10,
        step_size: float | Literal["auto"] = "auto",
        feature_scale: float = 1.0,
        l2: float = 0.0,
        radius: float | None = None,
        calibration: Literal["analytic", "paper"] = "analytic",
        classes: Sequence[Any] | None = None,
        schedule: schedules.Schedule = "planned",
        condition: float = 1.0,
        start: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.s, self.loss, self.clip = s, loss, clip
        self.steps, self.step_size, self.feature_scale = steps, step_size, feature_scale
        self.l2, self.radius, self.calibration = l2, radius, calibration
        self.schedule, self.condition, self.classes = schedule, condition, classes
        self.start, self.random_state = start, random_state

    def fit(self, X: Any, y: Any) -> NoisyHardThresholdingClassifier:
        """Release private sparse coefficients for telling apart the two classes in y."""
        X, positive, classes = self._labelled(X, y)
        loss = chosen_loss(self.loss)
        if isinstance(loss, SquaredLoss):
            raise ValueError("loss must be a function of log-odds, like 'logistic'; got 'squared'")
        self._descend(X, positive, loss)
        self.classes_ = classes
        return self
