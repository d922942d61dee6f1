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
from scipy import sparse
from sklearn.base import clone

from estimators.core.base import Array, LinearPredictor, PrivateEstimator, Seed
from estimators.core.checks import (
    SAFE_RANGE,
    check_between,
    check_sparsity,
    check_whole,
    number_or_auto,
)
from estimators.core.design import LARGEST
from estimators.core.links import Link, LinkPredictor, best_step, gradient_bound
from estimators.core.mechanisms import Release
from estimators.randomisers.signs import HypercubeRandomiser
from estimators.randomisers.vectors import (
    LARGEST_EPSILON,
    Randomiser,
    SphereRandomiser,
    blocks,
    mean_of_reports,
)
from estimators.regression import projected
from estimators.sparse_erm import hard_threshold
from minimax.core.bound import OutsideRegime, UpperBound
from minimax.core.privacy import Pure, Scope, SpendablePrivacy
from minimax.problems.local_regression.interactive import interactive_upper
from minimax.problems.local_regression.problem import LocalRegressionProblem
from minimax.problems.local_regression.upper import one_shot_upper

CAPS: dict[str, Literal["half", "best"]] = {"duchi": "half", "privunit": "best"}
"""The randomisers of gradients by name, as caps of `SphereRandomiser`."""


@dataclass(frozen=True)
class LocalPlan:
    """What a local protocol is for n users with p features: public, and known before any report."""

    link: Link
    randomiser: SphereRandomiser
    step_size: float
    steps: int


class LocalHardThresholding(LinkPredictor, PrivateEstimator):
    r"""Hard thresholding on privately reported gradients, a new group of users in every step.

    **Algorithm** (WX21: Algorithms 1 and 4, LDP-IHT). The users are split into `steps` = T groups,
    in their order. From theta = 0, for group t: each of its users forms the gradient

        g_i = f'(<x_i, theta>) (f(<x_i, theta>) - y_i) x_i,    features clipped to |x_j| <= scale,

    and reports it through a randomiser of vectors of norm at most r, to which longer ones are
    clipped; with g the mean of the reports, theta <- P(H_s(theta - eta g)), where H_s keeps the s
    entries of largest magnitude and P projects on the ball of `radius`. f is the link: none is
    f(x) = x.

    **Privacy.** Local and pure, for every data set and every link: a report's density is within
    e^epsilon of that at any other record (`estimators.randomisers.vectors`), theta is public,
    and a user reports once. A link is read off a table made before any record is looked at
    (`estimators.core.links.Link.tabulated`): a function that mixed its entries would let a gradient
    depend on other users. Sequentially interactive: group t is asked about what the groups before
    it reported. The options and the number of users are public.

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

    Parameters
    ----------
    privacy : Pure of scope "local", default epsilon = 1
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
    randomiser : {"duchi", "privunit"}
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
        privacy: SpendablePrivacy | None = None,
        s: int = 1,
        s_star: int | None = None,
        C: float = 1.0,
        link: Link | None = None,
        radius: float = 1.0,
        randomiser: Literal["duchi", "privunit"] = "duchi",
        steps: int | Literal["auto"] = "auto",
        step_size: float | Literal["auto"] = "auto",
        clip: float | Literal["auto"] = "auto",
        feature_scale: float = 1.0,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.s, self.s_star, self.C, self.link, self.radius = s, s_star, C, link, radius
        self.randomiser, self.steps, self.step_size = randomiser, steps, step_size
        self.clip, self.feature_scale, self.random_state = clip, feature_scale, random_state

    def fit(self, X: Any, y: ArrayLike) -> LocalHardThresholding:
        """Estimate sparse coefficients from one private report of each row of X with its y."""
        X, y = self._validated_pair(X, y, sparse_rows=True)
        n, p = X.shape
        plan = self._plan(n, p)
        rng, coef, ledger = self._rng(), np.zeros(p), []
        size = n // plan.steps
        for t in range(plan.steps):
            group = range(t * size, n if t == plan.steps - 1 else (t + 1) * size)
            gradients = self._gradients(X, y, group, coef, plan.link)
            mean, entry = mean_of_reports(gradients, plan.randomiser, rng)
            moved = hard_threshold(coef - plan.step_size * mean, int(self.s))
            coef = projected(moved, float(self.radius))
            ledger.append(replace(entry, part=f"group {t + 1}"))
        self._account(ledger)
        self.coef_, self.support_ = coef, np.flatnonzero(coef)
        self.n_iter_, self.step_size_ = plan.steps, plan.step_size
        self.randomiser_ = plan.randomiser
        return self

    def risk_bound(self, problem: LocalRegressionProblem) -> UpperBound:
        """The proven upper bound on the risk over a one-sparse class: see `interactive_upper`.

        For steps of length 1 without a link, and s, C, radius, clip and features as in the class.
        """
        plan = self._plan(problem.n, problem.p)
        given = (self.link, plan.step_size, self.s, float(self.radius), float(self.feature_scale))
        if given != (None, 1.0, 1, 1.0, 1.0) or self.clip != "auto" or self.C != problem.C:
            raise ValueError(
                "risk_bound needs step_size = s = radius = feature_scale = 1, no link, clip='auto'"
                f" and C = {problem.C:g}; got {self!r}"
            )

        def reports(n: int, p: int, C: float, epsilon: float) -> tuple[SphereRandomiser, int]:
            asked = clone(self).set_params(C=C, privacy=Pure(epsilon, scope="local"))
            found = asked._plan(n, p)
            return found.randomiser, found.steps

        fewest = 1 if self.steps == "auto" else int(self.steps)
        return interactive_upper(problem, self._budget(Pure), reports, fewest)

    def _gradients(
        self, X: Any, y: Array, group: range, coef: Array, link: Link
    ) -> Iterator[Array]:
        """The gradients of a group's users in blocks: a row depends on its own record alone."""
        scale, support = float(self.feature_scale), np.flatnonzero(coef)
        for rows in blocks(group, len(coef)):
            block = _clipped(X[rows], scale)
            inner = block[:, support] @ coef[support]
            # A link with values near the largest float must not stop the fit for one record.
            with np.errstate(all="ignore"):
                slope = link.derivative(inner) * (link.f(inner) - y[rows])
                slope = np.clip(np.where(np.isnan(slope), 0.0, slope), -LARGEST, LARGEST)
            block *= slope[:, None]
            yield block

    def _plan(self, n: int, p: int) -> LocalPlan:
        """Every option checked, and those that are "auto" worked out."""
        epsilon = report_epsilon(self._budget(Pure))
        s, s_star, link = self._model(p)
        radius, scale = float(self.radius), float(self.feature_scale)
        if self.randomiser not in CAPS:
            raise ValueError(f"randomiser must be 'duchi' or 'privunit', got {self.randomiser!r}")
        step = self._step(link, scale)
        clip = number_or_auto("clip", self.clip)
        if clip is None:
            clip = gradient_bound(link, p, s, s_star, float(self.C), radius, scale)
        randomiser = SphereRandomiser(p, epsilon, clip, CAPS[self.randomiser])
        noise = step * randomiser.length * math.sqrt(s / (n * p))
        return LocalPlan(link, randomiser, step, self._rounds(n, radius / noise))

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

    The s entries of largest magnitude are kept, and projected on the ball of `radius`.

    **Privacy.** Local, pure, for every data set; each user reports once, non-interactively: the
    question to user i depends on i alone.

    **Risk.** A coordinate's variance is at most (B/k)^2 coth(eps/2)^2/floor(n/p) for "coordinate",
    and for "hypercube" the squared entry of a report over n: pi/2 times as much for small epsilon
    and many features, less from epsilon = 2 on. So the l2 error squared is of order
    s p log(p) B^2/(n epsilon^2); with its constant for "coordinate" and s = 1: `risk_bound`.

    **Source.** WX21: Theorem 1's problem, one-sparse and non-interactive, for which the paper has
    no estimator. Under the prior of the theorem's proof y is +-B, and the report of "coordinate" is
    randomised response on sign(y) x_j:
    `minimax.problems.local_regression.randomised_response.randomised_response_risk` is the exact
    Bayes risk of the posterior mean, below which no estimate from these reports can go.

    **Departures from the paper.** None.

    Parameters
    ----------
    privacy : Pure of scope "local", default epsilon = 1
    s : int
        Number of non-zero coefficients kept, a bound on that of the true ones.
    C : float
        Bound on the noise. For `bound` only.
    radius : float
        Bound on |theta|_2.
    report : {"coordinate", "hypercube"}
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
        privacy: SpendablePrivacy | None = None,
        s: int = 1,
        C: float = 1.0,
        radius: float = 1.0,
        report: Literal["coordinate", "hypercube"] = "coordinate",
        bound: float | Literal["auto"] = "auto",
        feature_scale: float = 1.0,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.s, self.C, self.radius, self.report = s, C, radius, report
        self.bound, self.feature_scale, self.random_state = bound, feature_scale, random_state

    def fit(self, X: Any, y: ArrayLike) -> OneShotThreshold:
        """Estimate sparse coefficients from one private report of each row of X with its y."""
        X, y = self._validated_pair(X, y, sparse_rows=True)
        n, p = X.shape
        bound, randomiser = self._plan(p)
        rng, scale = self._rng(), float(self.feature_scale)
        weights = np.clip(y, -bound, bound) / scale**2
        if self.report == "coordinate":
            everyone, places = range(n), np.arange(p)
            mean, entry = coordinate_means(X, weights, everyone, places, scale, randomiser, rng)
        else:
            mean, entry = _vector_mean(X, weights, scale, randomiser, rng)
        coef = projected(hard_threshold(mean, int(self.s)), float(self.radius))
        self._account([entry])
        self.coef_, self.support_, self.randomiser_ = coef, np.flatnonzero(coef), randomiser
        return self

    def risk_bound(self, problem: LocalRegressionProblem) -> UpperBound:
        """The proven upper bound on the risk over a one-sparse class: see `one_shot_upper`.

        For ``report="coordinate"``, s = 1, and radius, features and bound as in the class.
        """
        bound, _ = self._plan(problem.p)
        options = (self.report, self.s, float(self.radius), float(self.feature_scale), bound)
        if options != ("coordinate", 1, 1.0, 1.0, 1.0 + problem.C):
            raise ValueError(
                "risk_bound needs report='coordinate', s = radius = feature_scale = 1 and"
                f" bound = 1 + C = {1 + problem.C:g}; got {self!r}"
            )
        return one_shot_upper(problem, self._budget(Pure))

    def _plan(self, p: int) -> tuple[float, HypercubeRandomiser]:
        """Every option checked; B, and what randomises a report."""
        epsilon = report_epsilon(self._budget(Pure))
        check_sparsity(self.s, p, dimension="p")
        check_between(*SAFE_RANGE, C=self.C, radius=self.radius, feature_scale=self.feature_scale)
        if self.report not in ("coordinate", "hypercube"):
            raise ValueError(f"report must be 'coordinate' or 'hypercube', got {self.report!r}")
        scale = float(self.feature_scale)
        bound = number_or_auto("bound", self.bound)
        if bound is None:
            bound = scale * math.sqrt(self.s) * float(self.radius) + float(self.C)
        width = 1 if self.report == "coordinate" else p
        return bound, HypercubeRandomiser(width, epsilon, bound / scale, "best")


def report_epsilon(budget: SpendablePrivacy) -> float:
    """What a report may spend, checked to be within the randomisers' range."""
    assert isinstance(budget, Pure)
    if budget.epsilon > LARGEST_EPSILON:
        raise ValueError(
            f"privacy.epsilon must be at most {LARGEST_EPSILON:g} for a local randomiser, got"
            f" {budget.epsilon!r}"
        )
    return budget.epsilon


def coordinate_means(
    X: Any,
    weights: Array,
    users: range,
    candidates: Array,
    scale: float,
    randomiser: Randomiser,
    rng: np.random.Generator,
) -> Release[Array]:
    """Reports of weight_i x_ij by some users, the i-th about the i-th of the candidates in turn.

    They are averaged over each candidate's users (0 if there are none).
    """
    rows, q = np.arange(users.start, users.stop), len(candidates)
    asked = np.arange(len(rows)) % q
    features = np.asarray(X[rows, candidates[asked]], dtype=float).reshape(len(rows))
    products = weights[rows] * np.clip(features, -scale, scale)
    reports, entry = randomiser.randomise(products[:, None], rng)
    sums = np.bincount(asked, weights=reports[:, 0], minlength=q)
    return Release(sums / np.maximum(np.bincount(asked, minlength=q), 1), entry)


def _vector_mean(
    X: Any, weights: Array, scale: float, randomiser: Randomiser, rng: np.random.Generator
) -> Release[Array]:
    """Reports of weight_i x_i, averaged."""
    n, p = X.shape
    rows = blocks(range(n), p)
    vectors = (_clipped(X[part], scale) * weights[part, None] for part in rows)
    return mean_of_reports(vectors, randomiser, rng)


def _clipped(rows: Any, scale: float) -> Array:
    """Rows, dense or CSR, as a new dense array with entries in [-scale, scale]."""
    dense = rows.toarray() if sparse.issparse(rows) else rows
    return np.clip(dense, -scale, scale)
