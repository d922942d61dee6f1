r"""The tracing attack on sparse regression, and why its claimed completeness fails (CWZ19 §4.3).

Given X and beta with support S, sum_i A_i = <(M - beta)_S, sum_i xi_i x_i>, xi the noise, and
Stein's lemma in xi gives sum_i E[A_i | X, beta] = sigma^2 sum_{j in S} dE[M_j | X, beta]/d beta_j.
Whatever is unbiased on S has the sum sigma^2 s at every beta, hence under *every prior*: no log d.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from attacks.estimate import Estimate, check_confidence, check_count, plain
from attacks.sparse_mean import TopNormalPrior, TracedSum, claimed_sum
from estimators.baselines.regression import AdaptiveSufficientStatistics
from estimators.controls.regression import LeastSquares
from estimators.core.base import LinearPredictor, PrivateEstimator, split_budget
from estimators.core.checks import SAFE_RANGE, check_between
from estimators.core.mechanisms import propose_test_release
from estimators.core.spending import GivenPrivacy
from estimators.core.truncation import theoretical_truncation
from estimators.regression import projected
from minimax.core.bound import Instance, Labelled
from minimax.core.loss import squared_distance
from minimax.core.privacy import Approximate
from minimax.methods.priors import LinearInstance, random_signs
from minimax.methods.tracing import GAUSSIAN_PRODUCT, Tail
from minimax.problems.sparse_regression.lower import refuted_lemma_4_3

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
SEARCH_SHARE = 0.05
"""Of the budget, for finding the visible columns: they are plain to see."""


@dataclass(frozen=True)
class SupportRegressionAttack:
    r"""A = <(M - beta)_S, (y - <x, beta>) x>, S = supp(beta): CWZ19: (4.5).

    **Soundness** (Lemma 4.3(1)). V = (M - beta)_S is independent of an outsider, so E_Q A = 0 and
    E_Q|A| <= sqrt(E_Q A^2) = sigma sqrt(E|V|^2_Sigma), Sigma = scale^2 I on S. (The proof prints
    E A' for E|A'|. The statement has |M - beta|^2_Sigma, the same where x vanishes off S, and no
    less where Sigma is diagonal.)

    **Completeness.** None that does not depend on the estimator: Lemma 4.3(2), sum_i E A_i at least
    of order sigma^2 s log d, is refuted by `lemma_4_3_counterexample`.

    **Source.** CWZ19: (4.5).
    """

    sigma: float = 1.0
    name: ClassVar[str] = "attack on the support <(M-beta)_S, (y-x'beta) x>"
    source: ClassVar[str] = "CWZ19: (4.5)"
    tail: ClassVar[Tail] = GAUSSIAN_PRODUCT
    symmetric: ClassVar[bool] = True

    def scores(
        self, records: Labelled, release: Array, instance: Instance, sample: Labelled
    ) -> Array:
        if not isinstance(records, Labelled):
            raise TypeError(f"records must be Labelled(X, y), got {type(records).__name__}")
        on = np.flatnonzero(instance.target)
        coef, rows = instance.target[on], records.X[:, on]
        return np.asarray((records.y - rows @ coef) * (rows @ (release[on] - coef)))

    def spread(self, release: Array, instance: RevealingInstance | LinearInstance, n: int) -> float:
        on = np.flatnonzero(instance.target)
        return float(instance.scale**2 * np.sum((release[on] - instance.target[on]) ** 2))

    def completeness(self, release: Array, instance: Instance, n: int) -> None:
        return None


@dataclass(frozen=True)
class RevealingInstance:
    """y = <x, beta> + N(0, sigma^2), x uniform signs of size 1/sqrt(s) on S and 0 elsewhere.

    S holds the positions of `coef` among d. Rows are CSR. As in CWZ19: Lemma 4.3, the design shows
    where beta is.
    """

    d: int
    support: Indices
    coef: Array
    sigma: float

    @property
    def scale(self) -> float:
        return 1 / math.sqrt(len(self.coef))

    @property
    def target(self) -> Array:
        beta = np.zeros(self.d)
        beta[self.support] = self.coef
        return beta

    def visible(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """The columns of S and the noise, of n records."""
        columns = random_signs(n, len(self.coef), self.scale, rng)
        return columns, self.sigma * rng.standard_normal(n)

    def placed(self, columns: Array) -> sparse.csr_matrix:
        """Those columns in their places among d."""
        n, s = columns.shape
        ends = np.arange(0, n * s + 1, s)
        return sparse.csr_matrix((columns.ravel(), np.tile(self.support, n), ends), (n, self.d))

    def sample(self, n: int, rng: np.random.Generator) -> Labelled:
        columns, noise = self.visible(n, rng)
        return Labelled(self.placed(columns), columns @ self.coef + noise)

    def loss(self, estimate: Array) -> float:
        """|estimate - beta|^2_Sigma: Sigma = E xx' is I/s on S and 0 elsewhere."""
        return self.scale**2 * squared_distance(estimate[self.support], self.coef)


@dataclass(frozen=True)
class TopRegressionPrior:
    """The prior and the design of the proof of CWZ19: Lemma 4.3(2).

    beta_j = nu_j/sqrt(s) on the s entries of largest magnitude of nu, which is as in
    `TopNormalPrior`; only these are drawn.
    """

    d: int
    s: int
    sigma: float = 1.0

    def __post_init__(self) -> None:
        _ = self.normal

    @property
    def normal(self) -> TopNormalPrior:
        """The prior of sqrt(s) beta."""
        return TopNormalPrior(self.d, self.s, self.sigma)

    def draw(self, rng: np.random.Generator) -> RevealingInstance:
        support = np.sort(rng.choice(self.d, self.s, replace=False, shuffle=False))
        coef = rng.permutation(self._magnitudes(rng)) * rng.choice([-1.0, 1.0], self.s)
        return RevealingInstance(self.d, support, coef / math.sqrt(self.s), self.sigma)

    def _magnitudes(self, rng: np.random.Generator) -> Array:
        """The s largest of d magnitudes.

        The tail probabilities P(|nu| > |nu_j|) are uniform; the least s of d uniforms p have
        1 - p_(k) = prod_{l <= k} U_l^{1/(d - l + 1)}.
        """
        steps = np.log(1 - rng.random(self.s)) / (self.d - np.arange(self.s))
        p, sd = -np.expm1(np.cumsum(steps)), math.sqrt(self.normal.variance)
        cut_off = 2 * stats.norm.sf(1 / sd)
        return np.asarray(sd * stats.norm.isf((cut_off + (1 - cut_off) * p) / 2))


class VisibleColumnsRegression(LinearPredictor, PrivateEstimator):
    """Private least squares on the columns that are not zero in most records.

    **Algorithm.** c_j = how many records have x_j != 0. If the set V = {j: c_j > n/2} is stable
    (propose-test-release), `AdaptiveSufficientStatistics` on the columns V, projected on the l2
    ball of `radius`; 0 elsewhere, and everywhere if the test fails or V is empty.

    **Privacy.** Replacing a record moves every c_j by at most one, so min_j |c_j - n/2| is
    1-Lipschitz, and above one V is the same at all neighbours. The two parts compose; the
    projection comes after.

    **Risk.** Where every row vanishes off S and nowhere on S, V = S but for the test, which fails
    with a chance exponentially small in n: that of the second part in dimension |S|. Without the
    projection it would be infinite, as a noisy matrix may be all but singular.

    **Source.** This work, to refute CWZ19: Lemma 4.3(2): see `lemma_4_3_counterexample`.

    Parameters
    ----------
    privacy : Approximate, delta < 1/2
    row_bound, R : float
        Bounds to which the norm of each row on V and each |y| are clipped.
    radius : float
        Bound on the norm of the coefficients.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_, visible_ (sorted), privacy_, ledger_, n_features_in_
    """

    _sparse_rows = True

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        row_bound: float = 1.0,
        R: float = 1.0,
        radius: float = 1.0,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.privacy = privacy
        self.row_bound, self.R, self.radius = row_bound, R, radius
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> VisibleColumnsRegression:
        """Release private coefficients of y on the visible columns of X."""
        X, y = self._validated_pair(X, y, sparse_rows=True)
        check_between(*SAFE_RANGE, row_bound=self.row_bound, R=self.R, radius=self.radius)
        budget = self._budget(Approximate)
        search, rest = split_budget(budget, SEARCH_SHARE, 1 - SEARCH_SHARE)
        assert isinstance(search, Approximate)
        if not search.delta < 0.5:
            raise ValueError(f"privacy.delta is too large, got {budget}")
        rng = self._rng()
        above = _nonzero_counts(X) - len(y) / 2
        passed, entry = propose_test_release(
            float(np.abs(above).min()),
            epsilon=search.epsilon,
            delta=search.delta,
            rng=rng,
            about="the columns that most records have",
        )
        self.visible_ = np.flatnonzero(above > 0) if passed else np.arange(0)
        # With nothing visible the fit is to nothing: `privacy_` belongs to the mechanism, and may
        # not tell which way the test went.
        columns = X[:, self.visible_] if len(self.visible_) else np.zeros((len(y), 1))
        inner = AdaptiveSufficientStatistics(
            rest, row_bound=self.row_bound, R=self.R, random_state=rng
        ).fit(columns, y)
        self.coef_ = np.zeros(X.shape[1])
        if len(self.visible_):
            self.coef_[self.visible_] = projected(inner.coef_, float(self.radius))
        self._account([entry, *inner.ledger_])
        return self


def _nonzero_counts(X: Any) -> Array:
    if sparse.issparse(X):
        return np.bincount(X.indices[X.data != 0], minlength=X.shape[1]).astype(float)
    return np.count_nonzero(X, axis=0).astype(float)


@dataclass(frozen=True, kw_only=True)
class RegressionCounterexample(TracedSum):
    """What least squares on the visible columns does to CWZ19: Lemma 4.3(2), by its (B.5)."""

    privacy: Approximate | None
    """The budget of the estimator; None for least squares itself."""

    @property
    def unbiased_sum(self) -> float:
        """sigma^2 s: the sum of every estimator that is unbiased on S."""
        return self.sigma**2 * self.s

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {**plain(self), "unbiased_sum": self.unbiased_sum, "refuted": self.refuted}


def lemma_4_3_counterexample(
    d: int,
    n: int = 20_000,
    s: int = 10,
    sigma: float = 0.3,
    *,
    privacy: Approximate | None = None,
    threshold: float = 0.0,
    trials: int = 400,
    seed: int = 0,
    confidence: float = 0.99,
) -> RegressionCounterexample:
    r"""Measure sum_i E A_i of least squares on the visible columns, under the lemma's own prior.

    **Claim** (CWZ19: Lemma 4.3(2), (B.5)). Let x vanish off S = supp(beta). For every private M of
    vanishing risk some prior makes sum_i E A_i at least of order sigma^2 s log d; the proof's gives
    sum_i E A_i >= sigma^2 (s/gamma^2) (E|beta|^2 - sqrt(E|M - beta|^2 E|beta|^2)).

    **Refuted.** *Least squares.* With x uniform signs on S, exactly the columns of S are not zero,
    and M = least squares on the columns that are not zero has (M - beta)_S = (X_S'X_S)^{-1} X_S'xi.
    So sum_i A_i = |P xi|^2, P the projection on s columns: sigma^2 times chi-square of s degrees,
    whatever beta, the prior and d. Noise in M that is independent of xi leaves the mean as it is.
    *A private M* (`privacy` given): `VisibleColumnsRegression` is (epsilon, delta)-DP on every data
    set, the choice of columns included, and its risk vanishes with n at every beta. The choice
    depends on X alone, hence not on xi. Given it, the release is A^{-1} (X'clip(y) + noise),
    projected on the ball, with A = G + Z, G = X_S'X_S and Z the noise and ridge on it. Its Jacobian
    in beta is P A^{-1} X'DX with 0 <= P, D <= I, so the sum is at most
    sigma^2 s E[largest eigenvalue of G/least of A] where A is safely positive, and the rest adds
    2 sigma sqrt(n P(it is not)): sigma^2 s (1 + o(1)) under every prior.

    **What is used.** That M can know S: from the design, which the lemma makes reveal it, or
    because S is fixed in advance; under either the sum has no log d. Where the design has no zeros
    nothing is shown here, and Theorem 4.3 is left unproved, not disproved. The proof fails where it
    applies Stein's lemma to g_j(nu) 1(j in S(nu)) and drops the jump at which nu_j enters S; as for
    `lemma_3_2_counterexample`, estimates set to zero below a `threshold` where the prior has mass
    (the control) do reach a sum that grows with log d.

    **Method.** Least squares needs the columns of S only; the private M is run on the n x d matrix,
    in CSR form.
    """
    for name, count, least in (("n", n, 1), ("trials", trials, 1), ("seed", seed, 0)):
        check_count(name, count, least)
    check_confidence(confidence)
    if not (privacy is None or isinstance(privacy, Approximate)):
        raise TypeError(f"privacy must be Approximate or None, got {privacy!r}")
    if not 0 <= threshold < math.inf:
        raise ValueError(f"threshold must be non-negative and finite, got {threshold!r}")
    prior = TopRegressionPrior(d, s, sigma)
    children = np.random.SeedSequence(seed).spawn(trials)
    rows = [_trial(prior, n, privacy, threshold, np.random.default_rng(c)) for c in children]
    total, loss, signal = (Estimate.over(x, confidence) for x in np.transpose(rows))

    return RegressionCounterexample(
        d=d,
        n=n,
        s=s,
        sigma=sigma,
        privacy=privacy,
        threshold=threshold,
        trials=trials,
        seed=seed,
        confidence=confidence,
        member_sum=total,
        loss=loss,
        signal=signal,
        claimed=claimed_sum(sigma**2 * s / prior.normal.variance, signal, loss),
        printed=refuted_lemma_4_3().value(d=d, s=s, sigma=sigma),
    )


def _trial(
    prior: TopRegressionPrior,
    n: int,
    privacy: Approximate | None,
    threshold: float,
    rng: np.random.Generator,
) -> tuple[float, float, float]:
    """(sum_i A_i, |M - beta|^2, |beta|^2)."""
    instance = prior.draw(rng)
    beta, (columns, noise) = instance.coef, instance.visible(n, rng)
    y, elsewhere = columns @ beta + noise, 0.0
    if privacy is None:
        release = LeastSquares().fit(columns, y).coef_
    else:
        level = theoretical_truncation(n, prior.sigma, 1.0)
        private = VisibleColumnsRegression(privacy, R=level, random_state=rng)
        whole = private.fit(instance.placed(columns), y).coef_
        release = whole[instance.support]
        elsewhere = float(whole @ whole - release @ release)
    release = np.where(np.abs(release) > threshold, release, 0.0)
    error = release - beta
    loss = float(error @ error) + max(elsewhere, 0.0)
    return float(error @ (noise @ columns)), loss, float(beta @ beta)
