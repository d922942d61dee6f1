"""Sparse regression when only the labels are private: each user reports a randomised label, once.

The rows are public. Whatever is computed from the rows and the reports is post-processing, so the
number of steps, the penalty and the design may all be chosen freely: they cost no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from estimators.controls.regression import Risk
from estimators.core.base import Array, LinearPredictor, PrivateEstimator, Seed
from estimators.core.checks import (
    SAFE_RANGE,
    check_between,
    check_no_start,
    check_problem,
    check_sparsity,
    check_whole,
    checked_start,
    number_or_auto,
)
from estimators.core.design import Design
from estimators.core.lasso import screened_lasso
from estimators.core.links import Link, LinkPredictor, best_step, evaluated
from estimators.core.losses import SquaredLoss
from estimators.core.mechanisms import Release
from estimators.core.schedules import (
    Options,
    Schedule,
    check_planned,
    follows_theorem,
    run_with,
    wx21_theorem_11,
)
from estimators.core.spending import GivenPrivacy
from estimators.core.summaries import Repeated, Signs, as_design
from estimators.randomisers.label_budget import (
    LabelCalibration,
    LabelRandomiser,
    Mechanism,
    label_randomiser,
    noise_level,
    noise_tail,
    real_epsilon,
)
from estimators.randomisers.label_sums import Summable, mean_reports
from estimators.randomisers.labels import SubGamma, label_bound
from estimators.thresholding import SAFETY, thresholded_descent
from minimax.core.bound import Point, UpperBound
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Pure,
    Scope,
    ZeroConcentrated,
    at_point,
)
from minimax.problems.label_regression.descent import LabelDescent, label_descent_upper
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.label_regression.upper import one_shot_label_upper


class LabelEstimator(LinearPredictor, PrivateEstimator):
    """What estimators from randomised labels share: the label's range and its randomiser."""

    s: int
    C: float
    bound: float | Literal["auto"]
    mechanism: Mechanism
    calibration: LabelCalibration
    scope: ClassVar[Scope] = "label"
    _sparse_rows = True

    @property
    def _reach(self) -> float:
        """Bound on |theta| times that on f': see `label_bound`."""
        return 1.0

    def _randomiser(self, n: int) -> LabelRandomiser:
        budget = self._budget(Pure, Approximate, ZeroConcentrated, Gaussian)
        C = float(self.C)
        bound = label_bound(int(self.s), C, self._reach) if self.bound == "auto" else self.bound
        return label_randomiser(
            budget, float(bound), n, mechanism=self.mechanism, calibration=self.calibration, C=C
        )


class LabelHardThresholding(LinkPredictor, LabelEstimator):
    r"""Iterative hard thresholding on labels that their owners have randomised.

    **Model.** y = f(<x, theta*>) + noise, the rows x public, theta* with few non-zeros and norm at
    most `radius`, the noise of mean zero given x and at most C; f the identity, or a link with
    0 < a <= f' <= b.

    **Algorithm** (WX21: Algorithms 2 and 5). Each label is clipped to f(0) +- bound and randomised
    once: y~. Then, from theta = `start` and up to `steps` times,

        theta <- P(H_s(theta - eta g)),   g = (1/n) sum_i (f(<x_i, theta>) - y~_i) x_i,

    H_s keeping the s largest entries and P projecting on the ball. It stops when theta does.

    **Privacy.** Of the label alone: a user's row is public and used as it is. The clip is part of
    the user's report, so that two labels differ by 2 bound at most whatever they were; all the rest
    is post-processing.

    **Risk.** Let |Xv|^2/n be within 1 +- Delta of |v|^2 for v with 2s + s* non-zeros, s = 8 s*, and
    eta in [5/(7a(1 - Delta)), 9/(7b(1 + Delta))]. As in `estimators.core.links`, with f' once
    instead of twice, a step on the joint support F contracts by 2/7 and thresholding expands by 7/4
    at most, so

        |theta_T - theta*| <= 2^-T |theta*| + (7/2) eta sqrt(17 s*) |X'xi/n|_inf,

    xi = y~ - E y. The last factor is at most `label_budget.noise_level` with high probability, of
    order sqrt(tau^2 log(p)/n), tau^2 the variance of a report: in all bound^2 s* log(p)/(n eps^2).
    With constants, for random rows and s = s*: `risk_bound`.

    **Source.** WX21: Algorithms 2 and 5, Theorems 6 and 11.

    **Departures from the paper.** Step 5 of Algorithm 2 has the wrong sign: it climbs. Labels are
    clipped, and noise is calibrated to their range b sqrt(s) radius + C around f(0) instead of 2C:
    ``calibration="paper"`` has the printed noise, whose real epsilon is `real_epsilon_` (52 instead
    of 1 at s = 8, C = .05, delta = 10^-3). Theorem 11 takes the gradient of the squared loss, with
    f'(<x_i, theta>) as a further factor, so that the noise is weighted by numbers which depend on
    it and its bound does not follow; without that factor (the gradient of a convex loss, whose
    derivative is f) the noise term is X'xi/n at every step and no fresh sample is needed.
    ``loss="squared"`` has the factor, and `links.best_step` its step. Steps cost nothing, so the
    default runs to convergence. The classes (8) and (11) do not ask that the noise have mean zero,
    without which the labels do not determine theta*.

    Parameters
    ----------
    privacy : Pure, Approximate, ZeroConcentrated or Gaussian of scope "label", default Pure(1)
    s : int
        Number of non-zero coefficients kept. The theory asks for 8 times that of theta*.
    C : float
        Bound on the noise of a label.
    bound : float or "auto"
        Labels are clipped to f(0) +- bound. "auto" is b radius sqrt(s) + C: the range of the model
        for rows in [-1, 1]^p. Noise grows with it. It must not be read off the labels.
    radius : float
        Bound on |theta*|_2.
    link : estimators.core.links.Link or None
        None for the linear model. `predict` gives f(<x, coef_>).
    loss : {"matching", "squared"}
        The gradient of a record: (f - y~) x, or f' (f - y~) x. The same for the linear model.
    mechanism : {"auto", "laplace", "binary", "gaussian", "genprot"}
        See `estimators.randomisers.label_budget.label_randomiser`.
    calibration : {"analytic", "paper"}
    steps : int
        Most steps taken.
    step_size : float or "auto"
        eta. "auto" is .99 of the best step along the gradient on the support, shortened until
        eta <= |move|^2 n/(b |X move|^2) (squared: b^2), so that the matching loss falls.
    schedule : {"planned", "theorem"}
        "theorem" sets `steps`, `step_size`, `loss` and `calibration`: `schedules.wx21_theorem_11`.
    start : array of shape (p,) or None
        theta_0, with at most s non-zeros and norm at most `radius`; None is 0.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_, support_ (sorted), n_iter_, randomiser_ (with bound and noise), privacy_, ledger_,
    real_epsilon_ (at the delta of an (epsilon, delta) budget, else None), n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import Pure
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-1.0, 1.0], (5000, 400))
    >>> y = 0.8 * X[:, 7] - 0.6 * X[:, 30] + rng.uniform(-0.1, 0.1, 5000)
    >>> budget = Pure(1.0, scope="label")
    >>> fitted = LabelHardThresholding(budget, s=2, C=0.1, random_state=0).fit(X, y)
    >>> fitted.support_.tolist(), str(fitted.privacy_)
    ([7, 30], 'label pure(epsilon=1)')
    """

    releases = ("coef_", "support_", "n_iter_")

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        s: int = 1,
        C: float = 1.0,
        bound: float | Literal["auto"] = "auto",
        radius: float = 1.0,
        link: Link | None = None,
        loss: Literal["matching", "squared"] = "matching",
        mechanism: Mechanism = "auto",
        calibration: LabelCalibration = "analytic",
        steps: int = 200,
        step_size: float | Literal["auto"] = "auto",
        schedule: Schedule = "planned",
        start: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.s, self.C, self.bound, self.radius = s, C, bound, radius
        self.link, self.loss = link, loss
        self.mechanism, self.calibration = mechanism, calibration
        self.steps, self.step_size = steps, step_size
        self.schedule, self.start, self.random_state = schedule, start, random_state

    def fit(self, X: Any, y: ArrayLike) -> LabelHardThresholding:
        """Randomise the labels y and fit the reports by few of the public columns of X."""
        if isinstance(X, (Repeated, Signs)):
            y, self.n_features_in_ = np.asarray(y, dtype=float), X.d
        else:
            X, y = self._validated_pair(X, y, sparse_rows=True)
        self._check_options(X.shape[1])
        if follows_theorem(self.schedule):
            return run_with(self, self._theorem(*X.shape), lambda copy: copy.fit(X, y))
        link, design = self._link, as_design(X)
        link.check(_farthest(design, int(self.s), float(self.radius)))
        randomiser = self._randomiser(design.n)
        centre = float(np.asarray(link.f(np.zeros(1)), dtype=float)[0])
        reports, entry = _reports(randomiser, design, y - centre, self._rng())
        coef, made = thresholded_descent(
            design,
            _slope(link, reports + centre, squared=self.loss == "squared"),
            s=int(self.s),
            radius=float(self.radius),
            steps=int(self.steps),
            step_size=None if self.step_size == "auto" else float(self.step_size),
            smoothness=link.b**2 if self.loss == "squared" else link.b,
            start=self._start(design.d),
        )
        self._account([entry])
        self.coef_, self.support_, self.n_iter_ = coef, np.flatnonzero(coef), made
        self.randomiser_ = randomiser
        self.real_epsilon_ = real_epsilon(self.ledger_, self._asked)
        return self

    def risk_bound(self, problem: LabelRegressionProblem) -> UpperBound:
        """The proven upper bound on the risk: see `label_descent_upper`, for the estimator's own
        steps, and `one_shot_label_upper`, for one step of length 1 on one-bit labels.

        For the class's C, radius, s and link, and a range of labels that holds them.
        """
        check_problem(problem, LabelRegressionProblem)
        self._check_options(problem.p)
        check_no_start(self.start)
        check_planned(self.schedule)
        self._randomiser(problem.n)  # refuses a mechanism that cannot spend the budget
        link, slope = self._link, None if self.link is None else self._link.b
        proven = (float(self.radius), float(self.C), slope) == (1.0, problem.C, problem.b)
        plain = (self.bound, self.calibration, self.loss) == ("auto", "analytic", "matching")
        if not (proven and plain and self.mechanism in ("auto", "binary")):
            raise ValueError(
                "risk_bound needs radius = 1, the problem's C and link, bound='auto',"
                " loss='matching', calibration='analytic' and mechanism 'auto' or 'binary'; got"
                f" {self!r}"
            )
        budget = self._budget(Pure, Approximate, ZeroConcentrated, Gaussian)
        if self.step_size != "auto":
            given = (self.step_size, self.steps, self.s, self.mechanism, slope)
            if given != (1.0, 1, problem.s, "binary", None):
                raise ValueError("risk_bound needs step_size='auto', or one step of length 1")
            return one_shot_label_upper(problem, budget)

        def tail_at(at: Point) -> SubGamma:
            here = at_point(type(budget), at, "label")
            asked = clone(self).set_params(C=at["C"], privacy=here)
            return noise_tail(asked._randomiser(int(at["n"])), at["C"])

        s = int(self.s)
        descent = LabelDescent(s, link.a, link.b, SAFETY)
        return label_descent_upper(
            problem, budget, descent, tail_at, lambda at: link.b * math.sqrt(s) + at["C"]
        )

    def sums_reports(self, n: int) -> bool:
        """Whether n users may report in sums, as those of `Repeated` records do."""
        return isinstance(self._randomiser(n), Summable)

    @property
    def _reach(self) -> float:
        return self._link.b * float(self.radius)

    def _check_options(self, p: int) -> None:
        check_sparsity(self.s, p, dimension="p")
        number_or_auto("bound", self.bound)
        check_whole(steps=self.steps)
        check_between(*SAFE_RANGE, C=self.C, radius=self.radius)
        if self.loss not in ("matching", "squared"):
            raise ValueError(f"loss must be 'matching' or 'squared', got {self.loss!r}")
        number_or_auto("step_size", self.step_size)
        self._start(p)

    def _theorem(self, n: int, p: int) -> Options:
        epsilon = self._budget(Approximate).parameters["epsilon"]
        step = best_step(self._link)
        return wx21_theorem_11(n, p, epsilon, s=int(self.s), C=float(self.C), step=step)

    def _start(self, p: int) -> Array:
        return checked_start(self.start, p, radius=float(self.radius), s=int(self.s))


class LabelLasso(LabelEstimator):
    r"""The Lasso on labels that their owners have randomised.

    **Algorithm** (WX21 §VI). Labels clipped to +-bound and randomised once, y~; then
    argmin_theta |y~ - X theta|^2/(2n) + lambda |theta|_1, by scikit-learn's coordinate descent.

    **Privacy.** Of the label alone, as for `LabelHardThresholding`.

    **Risk.** y~ = X theta* + xi. If lambda >= 2 |X'xi/n|_inf and |Xv|^2/n >= kappa |v|^2 for
    |v_{S^c}|_1 <= 3 |v_S|_1, then |theta - theta*| <= 3 sqrt(s*) lambda/kappa (Wainwright, 2019,
    Theorem 7.13). ``penalty="auto"`` is twice `label_budget.noise_level`: with
    L = log(2p/chance), |x_j| the longest column and |x|_inf the largest entry,

        Gaussian  lambda = 2 sqrt(2 (scale^2 + C^2) L) |x_j|/n,
        binary    lambda = 2 sqrt(2 L) bound coth(eps/2) |x_j|/n,
        Laplace   lambda = 2 (sqrt(2 (2 scale^2 + C^2) L) |x_j| + scale |x|_inf L)/n,

    enough with probability 1 - chance (GenProt: the first, and 1 - chance - .01). No label may lie
    outside the range, or the clip adds a bias.

    **Source.** WX21 §VI, after Theorem 6.

    **Departures from the paper.** The paper has lambda = O(sqrt(log p/(n eps^2))): here with its
    constant, which contains the label's range. Labels are clipped.

    Parameters
    ----------
    privacy, C, mechanism, calibration, random_state
        As for `LabelHardThresholding`.
    s : int
        Bound on the number of non-zero coefficients, used by the default `bound` alone.
    bound : float or "auto"
        Labels are clipped to +-bound. "auto" is sqrt(s) + C.
    penalty : float or "auto"
        lambda. "auto" looks at the public rows and at the noise, not at the labels.
    chance : float
        That with which "auto" may be too small.
    refit : bool
        Whether to end by least squares on the support found, which undoes the Lasso's shrinkage.

    Attributes
    ----------
    coef_, support_ (sorted), penalty_, randomiser_, privacy_, ledger_, real_epsilon_,
    n_features_in_
    """

    releases = ("coef_", "support_")

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        s: int = 1,
        C: float = 1.0,
        bound: float | Literal["auto"] = "auto",
        mechanism: Mechanism = "auto",
        calibration: LabelCalibration = "analytic",
        penalty: float | Literal["auto"] = "auto",
        chance: float = 0.05,
        refit: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.s, self.C, self.bound = s, C, bound
        self.mechanism, self.calibration = mechanism, calibration
        self.penalty, self.chance, self.refit = penalty, chance, refit
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> LabelLasso:
        """Randomise the labels y and fit the reports by a Lasso on the public rows of X."""
        X, y = self._validated_pair(X, y, sparse_rows=True)
        self._check_options(X.shape[1])
        design, randomiser = Design(X), self._randomiser(X.shape[0])
        penalty = self._penalty(design, randomiser)
        reports, entry = randomiser.randomise(y, self._rng())
        coef = screened_lasso(design.X, reports, penalty, most_sweeps=10_000, tol=1e-4)
        support = np.flatnonzero(coef)
        if self.refit and len(support):
            coef = Risk(design.X, reports, SquaredLoss()).minimised(coef, support)
        self._account([entry])
        self.coef_, self.support_, self.penalty_ = coef, support, penalty
        self.randomiser_ = randomiser
        self.real_epsilon_ = real_epsilon(self.ledger_, self._asked)
        return self

    def _penalty(self, design: Design, randomiser: LabelRandomiser) -> float:
        if self.penalty != "auto":
            return float(self.penalty)
        level = noise_level(design, noise_tail(randomiser, float(self.C)), float(self.chance))
        return 2 * level or 1.0  # a design of zeros has no noise, and no coefficients

    def _check_options(self, p: int) -> None:
        check_sparsity(self.s, p, dimension="p")
        number_or_auto("bound", self.bound)
        check_between(*SAFE_RANGE, C=self.C)
        check_between(0, 1, chance=self.chance)
        if not isinstance(self.refit, (bool, np.bool_)):
            raise TypeError(f"refit must be True or False, got {self.refit!r}")
        number_or_auto("penalty", self.penalty)


def _reports(
    randomiser: LabelRandomiser, design: Design, y: Array, rng: np.random.Generator
) -> Release[Array]:
    """One report for each label; of `Repeated` records their means, which is all that sums over
    records have of them."""
    if isinstance(design, Repeated):
        assert isinstance(randomiser, Summable)
        return mean_reports(randomiser, y, design.counts, rng)
    return randomiser.randomise(y, rng)


def _slope(link: Link, reports: Array, *, squared: bool) -> Callable[[Array], Array]:
    """The slope of a record's loss; an error where the link fails, which no private value decides.

    Predictions are functions of the public rows and of the reports.
    """

    def slope(prediction: Array) -> Array:
        residual = evaluated("f", link.f, prediction) - reports
        return (
            residual * evaluated("derivative", link.derivative, prediction) if squared else residual
        )

    return slope


def _farthest(design: Design, s: int, radius: float) -> float:
    """Bound on |<x_i, theta>| for theta with s non-zeros and norm at most `radius`."""
    reach = radius * min(float(design.norms.max()), math.sqrt(s) * design.largest)
    return reach or radius
