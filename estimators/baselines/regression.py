"""What others do for private linear regression in low dimension.

Two ways to release least squares that do not descend a gradient: noisy sufficient statistics with a
ridge that adapts to the data (AdaSSP), and a random projection of the records (Johnson and
Lindenstrauss). Both clip first, so their privacy does not rest on the data.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from estimators.baselines.statistics import (
    NoisyStatistics,
    StatisticsNoise,
    clipped_statistics,
    joint_release,
    least_eigenvalue,
    separate_releases,
    statistics_sensitivity,
)
from estimators.core.accounting import LedgerEntry
from estimators.core.base import Array, LinearPredictor, PrivateEstimator, Seed
from estimators.core.checks import SAFE_RANGE, check_between, check_whole
from estimators.core.design import Design, check_gram_fits
from estimators.core.error_laws import solved_error
from estimators.core.intervals import ErrorLaw, NoLaw, WithIntervals
from estimators.core.mechanisms import Release, propose_test_release
from estimators.core.spending import GivenPrivacy
from estimators.core.witness import shown
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated

RELEASES = 3
"""AdaSSP as published: an eigenvalue, a matrix and a vector, each with a third of the budget."""
ROOM = 1 - 1e-12
"""Parts of a budget are this much smaller, so that their rounded sum stays within it."""


class AdaptiveSufficientStatistics(WithIntervals, LinearPredictor, PrivateEstimator):
    """Least squares from noisy X'X and X'y, with a ridge only where the data need one: AdaSSP.

    **Algorithm** (Wang, 2018: Algorithm 2). Rows are shortened to l2 norm B = `row_bound`,
    responses clipped to [-R, R]. X'X and X'y are released with Gaussian noise. lam is a lower
    bound, with high probability, on the smallest eigenvalue of X'X, and eta an upper bound on that
    of the noise: the ridge is max(0, eta - lam) and coef_ = (noisy X'X + ridge I)^{-1} (noisy X'y).
    No intercept. ``release="joint"``: (X'X, c X'y) is one release, c of `joint_weight`; lam is the
    smallest eigenvalue of the noisy X'X less eta, eta = tau `operator_bound`, tau the noise of X'X.
    ``release="three"``, as published: the eigenvalue, X'X and X'y, each with a third of the budget;
    eta = tau sqrt(d log(2 d^2/rho)).

    **Privacy.** Jointly: replacing a record moves the release by at most `joint_sensitivity`. The
    three: by B^2, sqrt 2 B^2 (in Frobenius norm) and 2 B R, `statistics_sensitivity`, and they
    compose. Whatever the data; the rest is computed from what is released.

    **Risk.** Without a ridge and with the eigenvalues of X'X well above eta, the error beyond least
    squares is about G^{-1}(xi - Z beta) for G = X'X: with G = n v I its mean square is
    [d s^2 + |beta|^2 tau^2 (d + 1)/2]/(n v)^2, where s is the noise of X'y. For |beta| = R/B and
    many features the bracket is d B^4 |beta|^2/mu^2 times 27/4 jointly and 15 for the three. That
    is on a likely event: the expected loss is infinite, and no upper bound can be proved. The noise
    on X'X has a positive density everywhere and the ridge is at most eta, so that the eigenvalue of
    the matrix that is nearest to 0 has a positive density there, and 1/lambda^2 no mean.

    **Intervals.** `confidence_interval(level)` and `stderr_`: `solved_error`, where no bound was
    met and the responses' noise has the deviation `sigma`; without it R stands for it, which is
    the largest it can be. There are none with a ridge: its bias is not known.

    **Source.** Wang (2018), "Revisiting differentially private linear regression: optimal and
    adaptive prediction and estimation in unbounded domain", UAI.

    **Departures from the paper.** One release instead of three. Neighbours replace a record instead
    of adding or removing one: the matrix's sensitivity grows by sqrt 2, the vector's by 2, the
    eigenvalue's not at all. The noise on X'X is isotropic in Frobenius norm (off-diagonal variance
    tau^2/2), as in the author's own code, which has the same sensitivity as equal variances in the
    upper triangle and less noise. Scales are exact for the budget; the margin of a released lam is
    sqrt(2 log(1/rho)) of its standard deviations. ``calibration="paper"`` has the printed scales
    sqrt(log(6/delta)) 3/epsilon times B^2, B^2 and B R and the margin sqrt(log(6/delta));
    `privacy_` then reports what that gives under replacement.

    Parameters
    ----------
    privacy : Approximate, ZeroConcentrated or Gaussian, default Approximate(1, 1e-6)
    row_bound, R : float
        Bounds to which the norm of each row and each |y| are clipped.
    failure : float
        rho: probability with which the ridge may be too small; affects accuracy only.
    release : {"joint", "three"}
    sigma : float or None
        Standard deviation of the responses' noise, used by intervals only.
    calibration : {"analytic", "paper"}
        "paper" needs ``release="three"`` and an Approximate budget.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_, stderr_, ridge_, least_eigenvalue_ (lam), noise_scales_ (tau and s; before them that of
    the eigenvalue if it is released), error_law_ (what intervals are made of), privacy_, ledger_,
    n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import ZeroConcentrated
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-0.5, 0.5], (50_000, 4))
    >>> y = X @ [0.6, 0, 0, -0.6] + 0.1 * rng.standard_normal(50_000)
    >>> model = AdaptiveSufficientStatistics(ZeroConcentrated(0.1), random_state=0).fit(X, y)
    >>> bool(np.abs(model.coef_ - [0.6, 0, 0, -0.6]).max() < 0.02), str(model.privacy_)
    (True, 'zCDP(rho=0.1)')
    """

    releases = ("coef_", "ridge_", "least_eigenvalue_", "error_law_")
    _sparse_rows = True

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        row_bound: float = 1.0,
        R: float = 1.0,
        failure: float = 0.05,
        release: Literal["joint", "three"] = "joint",
        calibration: Literal["analytic", "paper"] = "analytic",
        sigma: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.row_bound = row_bound
        self.R = R
        self.failure = failure
        self.release = release
        self.sigma = sigma
        self.calibration = calibration
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> AdaptiveSufficientStatistics:
        """Release private coefficients of the regression of y on X."""
        X, y = self._validated_pair(X, y, sparse_rows=True)
        check_between(*SAFE_RANGE, row_bound=self.row_bound, R=self.R)
        check_between(0, 1, failure=self.failure)
        if self.sigma is not None:
            check_between(*SAFE_RANGE, sigma=self.sigma)
        check_gram_fits(X.shape[1])
        budget = self._check_release()
        bound, R, failure = float(self.row_bound), float(self.R), float(self.failure)
        rng = self._rng()
        data = clipped_statistics(X, y, bound, R)
        if self.release == "joint":
            assert not isinstance(budget, Pure)
            noisy = joint_release(data, bound, R, budget.to_gaussian().mu, failure, rng)
        else:
            moves = statistics_sensitivity(bound, R)
            noisy = separate_releases(data, moves, *self._noise(moves, budget), failure, rng)
        ridge = max(0.0, noisy.wanted - noisy.least)
        self._account(noisy.ledger)
        self.least_eigenvalue_, self.ridge_, self.noise_scales_ = noisy.least, ridge, noisy.scales
        matrix = noisy.gram + ridge * np.eye(len(noisy.gram))
        self.coef_ = np.asarray(np.linalg.solve(matrix, noisy.correlation), dtype=float)
        self.error_law_ = self._error_law(noisy)
        return self

    def _error_law(self, noisy: NoisyStatistics) -> ErrorLaw | NoLaw:
        """From what is released; the noisy X'X must be well above its noise."""
        if self.ridge_ > 0 or not float(least_eigenvalue(noisy.gram)) > noisy.wanted:
            return NoLaw("noise on X'X asks for a ridge, whose bias is not known")
        sigma = float(self.R if self.sigma is None else self.sigma)
        of_gram, of_vector = noisy.scales[-2:]
        return solved_error(self.coef_, noisy.gram, of_gram, of_vector, sigma)

    def _check_release(self) -> SpendablePrivacy:
        """How the statistics are released, checked; the budget to spend."""
        if self.release not in ("joint", "three"):
            raise ValueError(f"release must be 'joint' or 'three', got {self.release!r}")
        if self.calibration not in ("analytic", "paper"):
            raise ValueError(f"calibration must be 'analytic' or 'paper', got {self.calibration!r}")
        budget = self._budget(Approximate, ZeroConcentrated, Gaussian)
        if self.calibration == "paper":
            if self.release != "three":
                raise ValueError(f"calibration='paper' needs release='three', not {self.release!r}")
            if not isinstance(budget, Approximate):
                raise ValueError(f"calibration='paper' is for (epsilon, delta), not {budget}")
        return budget

    def _noise(
        self, moves: StatisticsNoise, budget: SpendablePrivacy
    ) -> tuple[StatisticsNoise, float]:
        """The noise of each of three releases, and the eigenvalue's margin in units of its own."""
        if self.calibration == "analytic":
            assert not isinstance(budget, Pure)
            mu = budget.to_gaussian().mu / math.sqrt(RELEASES)
            margin = math.sqrt(2 * math.log(1 / self.failure))
            return StatisticsNoise(*(moved / mu for moved in moves)), margin
        assert isinstance(budget, Approximate)
        margin = math.sqrt(math.log(2 * RELEASES / budget.delta))
        unit = margin * RELEASES / budget.epsilon
        square, product = moves.eigenvalue, moves.correlation / 2
        return StatisticsNoise(square * unit, square * unit, product * unit), margin


def sketch_log_delta(level: float, rows: int, epsilon: float) -> float:
    r"""log delta at which a Gaussian sketch of `rows` rows is (epsilon, delta)-DP.

    **Statement.** S has `rows` = r independent rows N(0, A'A), where every row of A has norm at
    most B and all eigenvalues of A'A are at least g B^2, g = `level`, for A and for its neighbour
    (one row replaced). Then for 1 < alpha < g + 1 the Renyi divergence of the two laws is at most
    -r/(2 (alpha - 1)) log(1 - alpha (alpha - 1)/(g (g + 1))), and delta follows by the conversion
    of Canonne, Kamath and Steinke (2020), with the best alpha. Attained: x in one data set, an
    orthogonal z in the other, |x| = |z| = B, both with w I appended.

    **Proof.** Put G = A'A and G' = G - xx' + zz'. The matrix of G' relative to G has only two
    eigenvalues that differ from 1, s_1 < 1 < s_2. As <v,x>^2 <= B^2 |v|^2 <= v'G'v/g,
    v'Gv <= v'G'v (1 + 1/g), so s_1 >= g/(g + 1); exchanged, s_2 <= (g + 1)/g. In that basis the
    pair of laws is, row by row, N(0,1) x N(0,1) against N(0, s_1) x N(0, s_2). Adding independent
    noise to both brings each s nearer to 1, so the extremes are the worst case, in both directions
    at once; and D_alpha(N(0,1) | N(0,s)) = [alpha log s - log(alpha s + 1 - alpha)]/(2 (alpha-1)).
    """
    product = level * (level + 1)

    def log_delta(position: float) -> float:
        gap = level * float(special.expit(position))
        alpha = 1 + gap
        renyi = -math.log1p(-min(alpha * gap / product, 1 - 1e-16))
        return rows / 2 * renyi - gap * epsilon + gap * math.log(gap) - alpha * math.log(alpha)

    best = optimize.minimize_scalar(log_delta, bounds=(-30.0, 30.0), method="bounded")
    return float(min(best.fun, 0.0))


@lru_cache(maxsize=1024)
def sketch_level(rows: int, privacy: Approximate) -> float:
    """The smallest eigenvalue of A'A, in units of B^2, at which a sketch is private: see
    `sketch_log_delta`. About sqrt(rows/(2 rho)), where rho is the budget's zCDP."""
    target = math.log(privacy.delta)

    def excess(log_level: float) -> float:
        return sketch_log_delta(math.exp(log_level), rows, privacy.epsilon) - target

    high = 1.0
    while excess(high) > 0:
        high += 1.0
    return math.exp(float(optimize.brentq(excess, -20.0, high, xtol=1e-10)) + 1e-9)


@lru_cache(maxsize=256)
def sketch_rows(n: int, p: int, privacy: Approximate) -> int:
    """The most rows, between 2p and n, for which `sketch_level` is at most n/(16 p).

    The eigenvalues of A'A for n rows of norm B average at most n B^2/p; a sixteenth of that leaves
    room for unequal ones. Uses public numbers only; 2p if no number of rows qualifies.
    """
    low, high = 2 * p, max(n, 2 * p)
    while low < high:
        middle = (low + high + 1) // 2
        if sketch_level(middle, privacy) <= n / (16 * p):
            low = middle
        else:
            high = middle - 1
    return low


class JohnsonLindenstraussRegression(LinearPredictor, PrivateEstimator):
    """Least squares on a private random projection of the records.

    **Algorithm** (Sheffet, 2017: Algorithm 1). A = [X, y] has n rows, shortened to l2 norm B =
    `row_bound`, and p = d + 1 columns. A noisy test asks whether the smallest eigenvalue of A'A is
    safely above w^2. If so, S = M A with M an r x n matrix of N(0,1) entries is released; if not, w
    I is appended to A first, which is ridge regression. coef_ is least squares on the sketch S.

    **Privacy.** Every neighbour's smallest eigenvalue is within B^2 of ours, so (eigenvalue -
    w^2)/B^2 is 1-Lipschitz, and above 1 it means that no neighbour is below w^2: this is
    propose-test-release, (eps_1, delta/2). Where the eigenvalues are at least w^2 at both
    neighbours, and after w I is appended in any case, the sketch is (eps - eps_1, delta/2)-DP by
    `sketch_log_delta`, from which w^2 = B^2 `sketch_level` comes. If the test passes although a
    neighbour is below w^2, everything may be lost; that has probability at most delta/2.

    **Risk.** Unaltered and with normal noise sigma, E|coef_ - ols|^2 is about
    sigma^2 n tr((X'X)^{-1})/(r - d - 1): a sketch of r rows is worth at most r records. Altered,
    there is the bias of a ridge w^2 on top. CWZ19 §5.3 saw the ridge used even for large n.

    **Source.** Sheffet (2017), "Differentially private ordinary least squares", ICML; the
    comparison [41] of CWZ19 §5.3.

    **Departures from the paper.** w is derived here, for replacement of a record, from the Renyi
    divergence of the exact worst pair. S is drawn from its law, r rows N(0, A'A), without forming
    M: the same release at the price of one Gram matrix. Rows are clipped.

    Parameters
    ----------
    privacy : Approximate, default Approximate(1, 1e-6)
    row_bound : float
        B: bound to which the l2 norm of each record (x_i, y_i) is clipped. Scale X and y so that
        they weigh about equally.
    projections : int, at least d + 1, or "theory"
        r; "theory" is `sketch_rows`, which depends on n, d and the budget only.
    test_share : float
        eps_1/eps.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_, altered_ (whether w I was appended), ridge_ (w^2 if so, else 0), projections_ (r),
    privacy_, ledger_, n_features_in_
    """

    releases = ("coef_", "ridge_", "altered_")
    _sparse_rows = True

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        row_bound: float = 1.0,
        projections: int | Literal["theory"] = "theory",
        test_share: float = 0.25,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.row_bound = row_bound
        self.projections = projections
        self.test_share = test_share
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> JohnsonLindenstraussRegression:
        """Release private coefficients of the regression of y on X."""
        X, y = self._validated_pair(X, y, sparse_rows=True)
        n, d = X.shape
        check_between(*SAFE_RANGE, row_bound=self.row_bound)
        check_between(0, 1, test_share=self.test_share)
        check_gram_fits(d + 1)
        budget = self._budget(Approximate)
        assert isinstance(budget, Approximate)
        test, release = (
            Approximate(budget.epsilon * share * ROOM, budget.delta / 2 * ROOM)
            for share in (self.test_share, 1 - self.test_share)
        )
        rows = self._rows(n, d + 1, release)
        square = float(self.row_bound) ** 2
        level = sketch_level(rows, release)
        rng = self._rng()
        gram = joint_gram(X, y, float(self.row_bound))
        distance = float(least_eigenvalue(gram)) / square - level
        passed, tested = propose_test_release(
            distance, epsilon=test.epsilon, delta=test.delta, rng=rng, about="smallest eigenvalue"
        )
        ridge = 0.0 if passed else level * square
        scale = math.sqrt(level * square)
        about = "sketch of the records; scale is w"
        entry = LedgerEntry("sketch", float(self.row_bound), "l2", scale, (release,), 1, about)
        sketch = gaussian_sketch(gram + ridge * np.eye(d + 1), rows, rng)
        sketch, sketched = shown(gram, Release(sketch, entry))
        solution = np.linalg.lstsq(sketch[:, :d], sketch[:, d], rcond=None)[0]
        self._account([tested, sketched])
        self.altered_, self.projections_, self.ridge_ = not passed, rows, ridge
        self.coef_ = np.asarray(solution, dtype=float)
        return self

    def _rows(self, n: int, p: int, release: Approximate) -> int:
        if isinstance(self.projections, str):
            if self.projections != "theory":
                raise ValueError(
                    f"projections must be an integer or 'theory', got {self.projections!r}"
                )
            return sketch_rows(n, p, release)
        check_whole(p, projections=self.projections)
        return int(self.projections)


def joint_gram(X: Any, y: Array, bound: float) -> Array:
    """A'A for A = [X, y] with rows shortened to l2 norm `bound`, without a copy of X."""
    design = Design(X)
    weights = bound / np.maximum(np.hypot(design.norms, y), bound)
    responses = weights * y
    gram, cross = design.moments(weights, responses)
    return np.block([[gram, cross[:, None]], [cross[None, :], np.dot(responses, responses)]])


def gaussian_sketch(gram: Array, rows: int, rng: np.random.Generator) -> Array:
    """M A for M with `rows` rows of N(0,1) entries, given A'A: rows N(0, A'A), independent."""
    values, vectors = np.linalg.eigh(gram)
    noise = rng.standard_normal((rows, len(gram)))
    return np.asarray((noise * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
