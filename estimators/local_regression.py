"""Sparse regression from locally private records: users randomise, the server only sees reports.

`LocalHardThresholding` is interactive: its users answer in turn, group after group, about the
server's current estimate. `OneShotThreshold` is not: what a user is asked is known beforehand. Each
user sends one report in either, so the guarantee of the whole is that of one report.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

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
from estimators.core.design import LARGEST
from estimators.core.links import Link, LinkPredictor, best_step, gradient_bound
from estimators.core.schedules import (
    Schedule,
    check_planned,
    follows_theorem,
    run_with,
    wx21_theorem_9,
)
from estimators.core.spending import GivenPrivacy
from estimators.core.summaries import Repeated
from estimators.randomisers.averages import clipped_rows, coordinate_means, vector_mean
from estimators.randomisers.base import VectorRandomiser, blocks, mean_of_reports
from estimators.randomisers.choice import (
    OnCube,
    OnSphere,
    cube_randomiser,
    report_epsilon,
    spent,
    sphere_randomiser,
)
from estimators.randomisers.vectors import SphereRandomiser
from estimators.regression import projected
from estimators.sparse_erm import hard_threshold
from minimax.core.bound import OutsideRegime, UpperBound
from minimax.core.privacy import Pure, Scope, ZeroConcentrated
from minimax.problems.local_regression.interactive import interactive_upper
from minimax.problems.local_regression.problem import LocalRegressionProblem
from minimax.problems.local_regression.upper import one_shot_upper, soft_cap_upper


@dataclass(frozen=True)
class LocalPlan:
    """What a local protocol is for n users with p features: public, and known before any report."""

    link: Link
    randomiser: VectorRandomiser
    step_size: float
    steps: int
    start: Array


class LocalHardThresholding(LinkPredictor, PrivateEstimator):
    r"""Hard thresholding on privately reported gradients, a new group of users in every step.

    **Algorithm** (WX21: Algorithms 1 and 4, LDP-IHT). The users are split into `steps` = T groups,
    in their order. From theta = `start`, for group t: each of its users forms the gradient

        g_i = f'(<x_i, theta>) (f(<x_i, theta>) - y_i) x_i,    features clipped to |x_j| <= scale,

    and reports it through a randomiser of vectors of norm at most r, to which longer ones are
    clipped; with g the mean of the reports, theta <- P(H_s(theta - eta g)), where H_s keeps the s
    entries of largest magnitude and P projects on the ball of `radius`. f is the link: none is
    f(x) = x.

    **Privacy.** Local, for every data set and every link: a report's density is within e^epsilon
    of that at any other record (`estimators.randomisers.vectors`), or its Renyi divergences are
    within rho alpha (`minimax.core.soft_cap`), theta is public, and a user reports once. A link is
    read off a table made before any record is looked at (`estimators.core.links.Link.tabulated`): a
    function that mixed its entries would let a gradient depend on other users. Sequentially
    interactive: group t is asked about what the groups before it reported. The options and the
    number of users are public.

    **Risk.** WX21: Theorems 5 and 9: up to constants the l2 error is 2^-T |theta*| plus
    sqrt(T s* log p/n) (r/b^2) coth(epsilon/2), with r of order b sqrt(p) (C + b sqrt s), for
    y = f(<x, theta*>) + noise, x uniform on {-1, 1}^p, noise within [-C, C] of mean zero given x,
    |theta*| <= radius, s = 8 s* and eta in the window of `estimators.core.links`. With its constant
    for f(x) = x and one coefficient: `risk_bound`.

    **Source.** WX21: Algorithms 1 and 4, Theorems 5 and 9.

    **Departures from the paper.**

    * Gradients are clipped to r, without which the randomiser's coin has a probability above 1:
      the paper's r supposes |<x, theta>| <= 1, and sqrt(s) is true (`gradient_bound`).
    * The window of steps is corrected, see `estimators.core.links`.
    * The paper's classes do not ask for noise of mean zero given x. Without it theta is not
      determined: theta = 0 and theta* = e_1 with noise -<x, theta*> give the same data.
    * ``randomiser="privunit"`` is not in the paper: the same kind of report with the least error.
    * Nor are zCDP budgets, for which the paper has a lower bound alone (Theorem 4): the error is
      that above with the length of a report, r sqrt(p)/mu for the soft cap, in place of
      r sqrt(p) coth(epsilon/2).

    Parameters
    ----------
    privacy : Pure or ZeroConcentrated of scope "local", default epsilon = 1
    s : int
        Number of non-zero coefficients kept. The theorems ask for 8 s*; s = s* is less noisy.
    s_star : int or None
        Bound on the number of non-zero true coefficients, at most s; None for s. For `clip` only.
    C : float
        Bound on the noise. For `clip` only.
    link : Link or None
        f. Its derivative is checked to stay in [a, b] where <x, theta> can be. Between
        4001 points, at which f and f' are read, cubics are used.
    radius : float
        Bound on |theta|_2.
    randomiser : {"auto", "duchi", "privunit", "softcap", "gaussian"}
        "auto": the paper's "duchi" for a pure budget; for zCDP the one of least error at p and rho:
        "softcap", but "privunit" from rho = 9 on (for few features sooner). "softcap" and
        "gaussian" need zCDP.
    steps : int or "auto"
        T, at most the number of users. "auto": halvings of `radius` until it is below the noise
        that reports of all n users would leave on s coordinates, log2(radius sqrt(n p/s)/(eta L))
        with L the length of a report; at least 1.
    step_size : float or "auto"
        eta. "auto": 2/(a^2 + b^2)/feature_scale^2, the best in the window; an error if that is
        empty, 9 a^2 <= 5 b^2.
    clip : float or "auto"
        r. "auto": `gradient_bound`, so that no gradient of the class is clipped. Noise grows like
        r, and most gradients are far shorter.
    feature_scale : float
        Features are clipped to [-feature_scale, feature_scale].
    schedule : {"planned", "theorem"}
        "theorem" sets `steps` and `clip`: `schedules.wx21_theorem_9`.
    start : array of shape (p,) or None
        theta_0, public, with at most s non-zeros and norm at most `radius`; None is 0.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_, support_ (sorted), n_iter_ (T), step_size_, randomiser_ (with its radius r and the length
    of a report), privacy_, ledger_ (one entry for each group), n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import Pure
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-1.0, 1.0], size=(100_000, 10))
    >>> y = 0.8 * X[:, 3] + rng.uniform(-0.5, 0.5, size=100_000)
    >>> model = LocalHardThresholding(Pure(2.0, scope="local"), C=0.5, random_state=0).fit(X, y)
    >>> model.support_.tolist(), len(model.ledger_), model.privacy_.epsilon
    ([3], 5, 2.0)
    """

    releases = ("coef_", "support_")
    scope: ClassVar[Scope] = "local"
    _sparse_rows = True

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        s: int = 1,
        s_star: int | None = None,
        C: float = 1.0,
        link: Link | None = None,
        radius: float = 1.0,
        randomiser: OnSphere = "auto",
        steps: int | Literal["auto"] = "auto",
        step_size: float | Literal["auto"] = "auto",
        clip: float | Literal["auto"] = "auto",
        feature_scale: float = 1.0,
        schedule: Schedule = "planned",
        start: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.s, self.s_star, self.C, self.link, self.radius = s, s_star, C, link, radius
        self.randomiser, self.steps, self.step_size = randomiser, steps, step_size
        self.clip, self.feature_scale = clip, feature_scale
        self.schedule, self.start, self.random_state = schedule, start, random_state

    def fit(self, X: Any, y: ArrayLike) -> LocalHardThresholding:
        """Estimate sparse coefficients from one private report of each row of X with its y."""
        X, y = self._validated_pair(X, y, sparse_rows=True)
        n, p = X.shape
        plan = self._plan(n, p)
        if follows_theorem(self.schedule):
            epsilon = report_epsilon(self._budget(Pure))  # the theorem has no other budget
            b, C, scale = plan.link.b, float(self.C), float(self.feature_scale)
            options = wx21_theorem_9(n, p, C=C, b=b, scale=scale, epsilon=epsilon)
            return run_with(self, options, lambda copy: copy.fit(X, y))
        rng, coef, ledger = self._rng(), plan.start, []
        size = n // plan.steps
        for t in range(plan.steps):
            group = range(t * size, n if t == plan.steps - 1 else (t + 1) * size)
            gradients = self._gradients(X, y, group, coef, plan.link)
            mean, entry = mean_of_reports(gradients, plan.randomiser, rng)
            moved = hard_threshold(coef - plan.step_size * mean, int(self.s))
            coef = projected(moved, float(self.radius))
            ledger.append(replace(spent(entry, self._asked), part=f"group {t + 1}"))
        self._account(ledger)
        self.coef_, self.support_ = coef, np.flatnonzero(coef)
        self.n_iter_, self.step_size_ = plan.steps, plan.step_size
        self.randomiser_ = plan.randomiser
        return self

    def risk_bound(self, problem: LocalRegressionProblem) -> UpperBound:
        """The proven upper bound on the risk over a one-sparse class: see `interactive_upper`.

        For steps of length 1 without a link, and s, C, radius, clip and features as in the class.
        """
        check_problem(problem, LocalRegressionProblem)
        check_no_start(self.start)
        check_planned(self.schedule)
        budget, plan = self._budget(Pure), self._plan(problem.n, problem.p)
        given = (self.link, plan.step_size, self.s, float(self.radius), float(self.feature_scale))
        if given != (None, 1.0, 1, 1.0, 1.0) or self.clip != "auto" or self.C != problem.C:
            raise ValueError(
                "risk_bound needs step_size = s = radius = feature_scale = 1, no link, clip='auto'"
                f" and C = {problem.C:g}; got {self!r}"
            )

        def reports(n: int, p: int, C: float, epsilon: float) -> tuple[SphereRandomiser, int]:
            asked = clone(self).set_params(C=C, privacy=Pure(epsilon, scope="local"))
            found = asked._plan(n, p)
            assert isinstance(found.randomiser, SphereRandomiser)
            return found.randomiser, found.steps

        fewest = 1 if self.steps == "auto" else int(self.steps)
        return interactive_upper(problem, budget, reports, fewest)

    def _gradients(
        self, X: Any, y: Array, group: range, coef: Array, link: Link
    ) -> Iterator[Array]:
        """The gradients of a group's users in blocks: a row depends on its own record alone."""
        scale, support = float(self.feature_scale), np.flatnonzero(coef)
        for rows in blocks(group, len(coef)):
            block = clipped_rows(X[rows], scale)
            inner = block[:, support] @ coef[support]
            # A link with values near the largest float must not stop the fit for one record.
            with np.errstate(all="ignore"):
                slope = link.derivative(inner) * (link.f(inner) - y[rows])
                slope = np.clip(np.where(np.isnan(slope), 0.0, slope), -LARGEST, LARGEST)
            block *= slope[:, None]
            yield block

    def _plan(self, n: int, p: int) -> LocalPlan:
        """Every option checked, and those that are "auto" worked out."""
        budget = self._budget(Pure, ZeroConcentrated)
        s, s_star, link = self._model(p)
        radius, scale = float(self.radius), float(self.feature_scale)
        step = self._step(link, scale)
        clip = number_or_auto("clip", self.clip)
        if clip is None:
            clip = gradient_bound(link, p, s, s_star, float(self.C), radius, scale)
        randomiser = sphere_randomiser(self.randomiser, budget, p, clip)
        noise = step * randomiser.length * math.sqrt(s / (n * p))
        start = checked_start(self.start, p, radius=radius, s=s)
        return LocalPlan(link, randomiser, step, self._rounds(n, radius / noise), start)

    def _rounds(self, n: int, reduction: float) -> int:
        """T as given, or the halvings that reduce the radius to the noise."""
        if self.steps == "auto":
            return min(n, max(1, math.ceil(math.log2(reduction))))
        check_whole(steps=self.steps)
        if int(self.steps) > n:
            raise ValueError(
                f"steps must be at most the number of users, n_samples = {n}, got {self.steps}"
            )
        return int(self.steps)

    def _model(self, p: int) -> tuple[int, int, Link]:
        """s, s* and the link, checked."""
        check_sparsity(self.s, p, dimension="p")
        if self.s_star is not None:
            check_whole(s_star=self.s_star)
            if self.s_star > self.s:
                raise ValueError(f"s_star must be at most s = {self.s}, got {self.s_star}")
        check_between(*SAFE_RANGE, C=self.C, radius=self.radius, feature_scale=self.feature_scale)
        link = self._link
        check_between(*SAFE_RANGE, **{"link.a": link.a, "link.b": link.b})
        if self.link is not None:
            farthest = float(self.feature_scale) * float(self.radius) * math.sqrt(self.s)
            link.check(farthest)
            link = link.tabulated(farthest)
        return int(self.s), int(self.s if self.s_star is None else self.s_star), link

    def _step(self, link: Link, scale: float) -> float:
        """The step size given, or the best in the window."""
        given = number_or_auto("step_size", self.step_size)
        if given is not None:
            return given
        try:
            return best_step(link) / scale**2
        except OutsideRegime as error:
            raise OutsideRegime(f"{error}; give step_size to go on without a proof") from None


class OneShotThreshold(LinearPredictor, PrivateEstimator):
    r"""One report of y x from each user, coordinates averaged, the largest kept.

    **Algorithm.** With y clipped to [-B, B] and features to [-k, k], k = `feature_scale`, let
    z = y x/k^2, whose entries are at most B/k and whose mean is theta if the features have mean
    square k^2 and are uncorrelated. User i reports

    * ``report="coordinate"``: z_j for j = i mod p, as the bit +-(B/k) coth(epsilon/2) with mean
      z_j: z_j is rounded to +-B/k without bias, and its sign kept with probability
      e^eps/(1 + e^eps). Coordinate j is averaged over its users (0 if there are none).
    * ``report="hypercube"``: all of z, through `HypercubeRandomiser` with the best cap.
    * ``report="softcap"``, ``"gaussian"``: all of z, as a vector of norm at most sqrt(p) B/k,
      through `SoftCapRandomiser` or with Gaussian noise: zCDP.

    The s entries of largest magnitude are kept, and projected on the ball of `radius`.

    **Privacy.** Local, for every data set; each user reports once, non-interactively: the question
    to user i depends on i alone. A bit and the hypercube are pure, at epsilon or for a budget of
    rho-zCDP at epsilon tanh(epsilon/2) = rho (`estimators.randomisers.choice`).

    **Risk.** A coordinate's variance is at most (B/k)^2 coth(eps/2)^2/floor(n/p) for "coordinate",
    and for "hypercube" the squared entry of a report over n: pi/2 times as much for small epsilon
    and many features, less from epsilon = 2 on. So the l2 error squared is of order
    s p log(p) B^2/(n epsilon^2). For "softcap" it is about p (B/k)^2/(mu^2 n), less than for a bit
    by 1.20 at rho = .1, 1.83 at 1 and 3.2 at 3 for many features. With constants for "coordinate"
    and "softcap" and s = 1: `risk_bound`.

    **Source.** WX21: Theorem 1's problem, one-sparse and non-interactive, for which the paper has
    no estimator. Under the prior of the theorem's proof y is +-B, and the report of "coordinate" is
    randomised response on sign(y) x_j:
    `minimax.problems.local_regression.randomised_response.randomised_response_risk` is the exact
    Bayes risk of the posterior mean, below which no estimate from these reports can go.

    **Departures from the paper.** None.

    Parameters
    ----------
    privacy : Pure or ZeroConcentrated of scope "local", default epsilon = 1
    s : int
        Number of non-zero coefficients kept, a bound on that of the true ones.
    C : float
        Bound on the noise. For `bound` only.
    radius : float
        Bound on |theta|_2.
    report : {"auto", "coordinate", "hypercube", "softcap", "gaussian"}
        "auto": "coordinate" for a pure budget; for zCDP "softcap", but "coordinate" if p = 1. The
        last two need zCDP. From rho = 6 on "hypercube" errs less still.
    bound : float or "auto"
        B. "auto": feature_scale sqrt(s) radius + C, the largest |y| in the class.
    feature_scale : float
        k. Features are clipped to [-k, k]; +-k is what they are in the class.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_, support_ (sorted), randomiser_, privacy_, ledger_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-1.0, 1.0], size=(100_000, 10))
    >>> y = 0.8 * X[:, 3] + rng.uniform(-0.5, 0.5, size=100_000)
    >>> model = OneShotThreshold(C=0.5, random_state=0).fit(X, y)
    >>> model.support_.tolist(), str(model.ledger_[0].mechanism)
    ([3], 'randomised response')
    """

    releases = ("coef_", "support_")
    scope: ClassVar[Scope] = "local"
    _sparse_rows = True

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        s: int = 1,
        C: float = 1.0,
        radius: float = 1.0,
        report: OnCube = "auto",
        bound: float | Literal["auto"] = "auto",
        feature_scale: float = 1.0,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.s, self.C, self.radius, self.report = s, C, radius, report
        self.bound, self.feature_scale, self.random_state = bound, feature_scale, random_state

    def fit(self, X: Any, y: ArrayLike) -> OneShotThreshold:
        """Estimate sparse coefficients from one private report of each row of X with its y."""
        if not isinstance(X, Repeated):
            X, y = self._validated_pair(X, y, sparse_rows=True)
        n, p = X.shape
        bound, randomiser, report = self._plan(p)
        rng, scale = self._rng(), float(self.feature_scale)
        weights = np.clip(y, -bound, bound) / scale**2
        if report == "coordinate":
            everyone, places = range(n), np.arange(p)
            mean, entry = coordinate_means(X, weights, everyone, places, scale, randomiser, rng)
        else:
            mean, entry = vector_mean(X, weights, scale, randomiser, rng)
        coef = projected(hard_threshold(mean, int(self.s)), float(self.radius))
        self._account([spent(entry, self._asked)])
        self.coef_, self.support_, self.randomiser_ = coef, np.flatnonzero(coef), randomiser
        return self

    def risk_bound(self, problem: LocalRegressionProblem) -> UpperBound:
        """The proven upper bound on the risk over a one-sparse class.

        Of `one_shot_upper` or `soft_cap_upper`, by what is reported; for s = 1, and radius,
        features and bound as in the class.
        """
        check_problem(problem, LocalRegressionProblem)
        bound, _, report = self._plan(problem.p)
        options = (self.s, float(self.radius), float(self.feature_scale), bound)
        if options != (1, 1.0, 1.0, 1.0 + problem.C) or report not in PROVEN:
            raise ValueError(
                "risk_bound needs report='coordinate' or 'softcap', s = radius = feature_scale = 1"
                f" and bound = 1 + C = {1 + problem.C:g}; got {self!r}"
            )
        return PROVEN[report](problem, self._budget(Pure, ZeroConcentrated))

    def asks_for_bits(self, p: int) -> bool:
        """Whether reports are bits about single coordinates, which can be counted."""
        return self._plan(p)[2] == "coordinate"

    def _plan(self, p: int) -> tuple[float, VectorRandomiser, str]:
        """Every option checked; B, what randomises a report, and what is reported."""
        budget = self._budget(Pure, ZeroConcentrated)
        check_sparsity(self.s, p, dimension="p")
        check_between(*SAFE_RANGE, C=self.C, radius=self.radius, feature_scale=self.feature_scale)
        scale = float(self.feature_scale)
        bound = number_or_auto("bound", self.bound)
        if bound is None:
            bound = scale * math.sqrt(self.s) * float(self.radius) + float(self.C)
        return bound, *cube_randomiser(self.report, budget, p, bound / scale)


PROVEN = {"coordinate": one_shot_upper, "softcap": soft_cap_upper}
"""The proven bound of each report that has one."""
