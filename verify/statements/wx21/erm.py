"""WX21 §VII: empirical risk minimisation under sparsity, and monotone measurements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.linalg import hadamard

from estimators.core.losses import LogisticLoss
from estimators.core.mechanisms import gaussian_scale
from estimators.sparse_erm import hard_threshold
from minimax.core.privacy import Approximate, Gaussian
from minimax.methods.recursion import gaussian_top
from verify.proofs.entry import Case, Chapter, Result, Status, result

Array = NDArray[np.float64]
CHAPTER = Chapter("WX21")


# --- Definitions 5 and 6 -------------------------------------------------------------------------


@CHAPTER.states(
    "Definition 5",
    r"DP-ERM: find $x^{priv}$, private, with small"
    r" $E\,L(x^{priv};D)-\min_{x\in\mathcal C}L(x;D)$,"
    r" $L(x;D)=\frac1n\sum\ell(x,z_i)$.",
    kind="definition",
    found="Run exactly: the exponential mechanism is private with excess risk in its bound.",
    by="exact",
    uses=("Definition 6",),
    expected=Status.HOLDS,
    printed=Case("ε-DP, excess in its bound", claimed=1.0),
    mutant=Case("claimed ε/2", claimed=0.5),
    code=("estimators.core.mechanisms.exponential_mechanism",),
)
def private_minimiser(*, claimed: float) -> Result:
    """The exponential mechanism for a mean of records in {0, 1/2, 1}, loss (x - z)^2, x on a grid.

    Exact output laws for all data sets of three records: is it claimed * epsilon-DP with an excess
    risk in [0, (2/eps) sensitivity log |grid|]?
    """
    epsilon, grid = 1.0, np.linspace(0, 1, 11)
    laws, excess = {}, []
    for data in itertools.product((0.0, 0.5, 1.0), repeat=3):
        risk = np.mean((grid[:, None] - np.array(data)) ** 2, axis=1)
        law = special.softmax(-epsilon * risk * 3 / 2)  # sensitivity 1/3
        laws[data] = law
        excess.append(float(law @ risk - risk.min()))
    leak = max(
        float(np.abs(np.log(laws[a]) - np.log(laws[b])).max())
        for a, b in itertools.permutations(laws, 2)
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
    )
    room = 2 / epsilon / 3 * math.log(len(grid))
    return result(
        leak <= claimed * epsilon and min(excess) >= 0 and max(excess) <= room,
        true_epsilon=leak,
        largest_excess_risk=max(excess),
        allowed_excess_risk=room,
    )


@CHAPTER.states(
    "Definition 6",
    r"$\mathcal A$ is $(\epsilon,\delta)$-DP if $P(\mathcal A(D)\in S)\le"
    r" e^\epsilon P(\mathcal A(D')\in S)+\delta$ for data sets that differ in one entry.",
    kind="definition",
    found="The analytic Gaussian noise meets it with equality; 5 % less noise does not.",
    by="quadrature",
    expected=Status.HOLDS,
    printed=Case("calibrated noise", shrink=1.0),
    mutant=Case("5 % less", shrink=0.95),
    code=("minimax.core.privacy.Approximate", "estimators.core.mechanisms.gaussian_scale"),
)
def gaussian_release(*, shrink: float) -> Result:
    """Gaussian noise calibrated to (eps, delta): P(S) <= e^eps Q(S) + delta for half-lines S?

    Half-lines are the worst events (Neyman and Pearson). The mean of n records in [0, 1].
    """
    worst = -math.inf
    for epsilon, delta in ((0.1, 1e-6), (0.5, 1e-3), (1.0, 1e-5), (4.0, 1e-2)):
        scale = shrink * gaussian_scale(Approximate(epsilon, delta), 1.0)
        t = np.linspace(-10, 14, 20_001) * scale
        gap = special.ndtr((1 - t) / scale) - math.exp(epsilon) * special.ndtr(-t / scale)
        worst = max(worst, float(gap.max()) / delta)
        exact = Gaussian(1 / scale).delta(epsilon) / delta
    return result(
        worst <= 1 + 1e-6, largest_delta_over_claimed=worst, closed_form_at_the_last=exact
    )


# --- Definitions 7 and 8, Assumption 3 -----------------------------------------------------------


def _blocks(H: Array, s: int) -> tuple[float, float, Array, Array]:
    """Least and largest eigenvalue of H on s coordinates, with their vectors."""
    d = len(H)
    least, most = (math.inf, np.zeros(d)), (-math.inf, np.zeros(d))
    for support in itertools.combinations(range(d), s):
        values, vectors = np.linalg.eigh(H[np.ix_(support, support)])
        for index, value in ((0, values[0]), (-1, values[-1])):
            vector = np.zeros(d)
            vector[list(support)] = vectors[:, index]
            if index == 0 and value < least[0]:
                least = (float(value), vector)
            if index == -1 and value > most[0]:
                most = (float(value), vector)
    return least[0], most[0], least[1], most[1]


def _sparse_steps(rng: np.random.Generator, d: int, s: int) -> list[Array]:
    steps = []
    for _ in range(40):
        step = np.zeros(d)
        step[rng.choice(d, s, replace=False)] = rng.standard_normal(s) * rng.choice([0.01, 1, 10])
        steps.append(step)
    return steps


@CHAPTER.states(
    "Definition 7",
    r"$f$ is $\rho_s$-RSC if $f(x)-f(x')-\langle\nabla f(x'),x-x'\rangle\ge"
    r"\frac{\rho_s}2\|x-x'\|_2^2$ whenever $\|x-x'\|_0\le s$.",
    kind="definition",
    found="Least squares with n < p: the restricted constant is .04, the unrestricted one 0.",
    by="brute force",
    expected=Status.HOLDS,
    printed=Case("least eigenvalue", factor=1.0),
    mutant=Case("1 % more", factor=1.01),
    code=("estimators.core.losses.SquaredLoss", "minimax.problems.erm.upper.theorem_5_4"),
)
def squared_curvature(rng: np.random.Generator, *, factor: float) -> Result:
    """Is factor * (least eigenvalue on s coordinates) an RSC constant of |Xb - y|^2/2n?

    n = 4 rows and d = 6 columns, so that unrestricted strong convexity fails; s = 2. Random pairs
    and the eigenvector.
    """
    n, d, s = 4, 6, 2
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    H = X.T @ X / n
    rho, _, witness, _ = _blocks(H, s)
    steps = [witness, *_sparse_steps(rng, d, s)]
    least = math.inf
    for step in steps:
        base = rng.standard_normal(d)
        values = [float(np.sum((X @ b - y) ** 2)) / (2 * n) for b in (base + step, base)]
        gap = values[0] - values[1] - float((X.T @ (X @ base - y) / n) @ step)
        least = min(least, gap / (factor * rho / 2 * float(step @ step)))
    return result(
        least >= 1 - 1e-9,
        least_gap_over_stated=least,
        restricted_constant=rho,
        unrestricted_constant=abs(float(np.linalg.eigvalsh(H)[0])),
    )


RIDGE = 1e-3
"""lambda of the paper's experiments with logistic regression."""


@CHAPTER.states(
    "Definition 8",
    r"$f$ is $\ell_s$-RSS if $f(x)-f(x')-\langle\nabla f(x'),x-x'\rangle\le"
    r"\frac{\ell_s}2\|x-x'\|_2^2$ whenever $\|x-x'\|_0\le s$.",
    kind="definition",
    found="Ridge logistic loss: ℓ_s = λ_max/4 + λ on s coordinates; sharp at 0.",
    by="brute force",
    expected=Status.HOLDS,
    printed=Case("λ_max/4 + λ", factor=1.0),
    mutant=Case("1 % less", factor=0.99),
    code=("estimators.core.losses.LogisticLoss",),
)
def logistic_smoothness(rng: np.random.Generator, *, factor: float) -> Result:
    """Is factor (L/4 + lambda), L the largest eigenvalue on s coordinates, an RSS constant?

    The ridge logistic loss; random pairs, and a short step along the eigenvector from 0, where the
    second derivative of the loss is 1/4.
    """
    n, d, s = 12, 6, 2
    loss = LogisticLoss()
    X, y = rng.standard_normal((n, d)), rng.integers(0, 2, n).astype(float)
    _, top, _, witness = _blocks(X.T @ X / n, s)
    stated = factor * (loss.smoothness * top + RIDGE)

    def risk(b: Array) -> float:
        return float(np.mean(loss.value(X @ b, y))) + RIDGE / 2 * float(b @ b)

    most = 0.0
    cases = [(np.zeros(d), 1e-3 * witness)]
    cases += [(rng.standard_normal(d), step) for step in _sparse_steps(rng, d, s)]
    for base, step in cases:
        gradient = X.T @ loss.slope(X @ base, y) / n + RIDGE * base
        gap = risk(base + step) - risk(base) - float(gradient @ step)
        most = max(most, gap / (stated / 2 * float(step @ step)))
    return result(most <= 1 + 1e-6, largest_gap_over_stated=most, stated_constant=stated)


@CHAPTER.states(
    "Assumption 3",
    r"$L(\cdot;D)$ is $\rho_s$-RSC and every $\ell(\cdot,z)$ is $\ell_s$-RSS,"
    r" $s=2k+k^*$, and $G$-Lipschitz in $\ell_2$, on $\mathcal C=\{\|x\|_0\le k\}$.",
    kind="assumption",
    found="Met by no loss unless x is bounded: strong convexity and Lipschitz clash.",
    by="exact",
    uses=("Definition 5", "Definition 7", "Definition 8"),
    expected=Status.CORRECTED,
    severity="constants",
    printed=Case("as far as 8G/ρ", reach=lambda G: 8 * G / RIDGE),
    corrected=Case(
        "as far as (G − 1)/ρ, logistic loss with ridge", reach=lambda G: (G - 1) / RIDGE
    ),
    mutant=Case("as far as G/ρ", reach=lambda G: G / RIDGE),
    wrong=(
        "Along one coordinate RSC gives L(x + te) − L(x) − t∂L ≥ ρt²/2 and a G-Lipschitz loss"
        " at most 2Gt: impossible for t > 4G/ρ. So Theorem 8, though true, is about no loss on"
        " all of C. On a bounded set (the algorithm would have to stay there), or with"
        " gradients clipped to G as in our estimators, it has content."
    ),
    code=(
        "estimators.sparse_erm.NoisyHardThresholding",
        "estimators.sparse_erm.clipped_gradient",
    ),
)
def lipschitz_and_convex(*, reach: Callable[[float], float]) -> Result:
    """Is there a G such that the ridge logistic loss has slopes within G up to |b| = reach(G)?

    |x| = 1, along one coordinate; by convexity slopes are steepest at the ends. They tend to
    1 + lambda |b|.
    """
    loss = LogisticLoss()
    slopes = {}
    for G in (1.01, 10.0, 100.0, 1e4):
        ends = reach(G) * np.array([-1.0, 1.0])
        slopes[G] = float(np.abs(loss.slope(ends, np.ones(2)) + RIDGE * ends).max())
    enough = [G for G, slope in slopes.items() if slope <= G]
    return result(
        enough,
        values_of_G_that_do=len(enough),
        slope_found_for_G_1=slopes[1.01],
        slope_found_for_G_10000=slopes[1e4],
    )


@CHAPTER.states(
    "Assumption 3, sparsity",
    r"$x^*=\arg\min_{\|x\|_0\le k}L(x;D)$ and $k^*=\|x^*\|_0$; Theorem 8 asks"
    r" $k\ge(1+64\kappa_s^2)k^*\ge65k^*$.",
    kind="assumption",
    found="The best k-sparse vector has k entries, so k ≥ 65k* needs a smaller class for x*.",
    by="brute force",
    uses=("Assumption 3", "Theorem 8"),
    expected=Status.CORRECTED,
    severity="constants",
    printed=Case("best k-sparse vector: k ≥ 65k* for some k ≤ 128", entries=None),
    corrected=Case("best 1-sparse vector", entries=1),
    mutant=Case("best 2-sparse vector: k = 130 is needed", entries=2),
    wrong=(
        "A further coordinate lowers the risk of almost every data set, so the minimiser over"
        " k-sparse vectors has exactly k entries, k* = k, and k ≥ 65k* never holds. As in the"
        " cited work on hard thresholding, a comparison with the best k*-sparse vector for a"
        " smaller k* must be meant; that is less than the excess risk of Definition 5."
    ),
    code=("minimax.problems.erm.upper.theorem_5_4",),
)
def sparsity_of_the_minimiser(rng: np.random.Generator, *, entries: int | None) -> Result:
    """Can k >= 65 k*, k* the number of entries of the best vector with k (or `entries`) of them?

    Orthogonal design of 128 signs, a one-sparse truth and noise: the best vector with r entries
    holds the r largest of X'y/n.
    """
    d = 128
    X = hadamard(d).astype(float)
    correlations = X.T @ (X[:, 0] + 0.5 * rng.standard_normal(d)) / d
    ratios = []
    for k in range(1, d + 1):
        best = hard_threshold(correlations, min(k, entries or k))
        ratios.append(k / np.count_nonzero(best))
    return result(max(ratios) >= 65, largest_k_over_k_star=max(ratios), needed=65.0)


# --- Remark 3, Definition 9 ----------------------------------------------------------------------


@CHAPTER.states(
    "Remark 3",
    r"The upper bound (10) depends on $p$ only through $\log p$, at fixed"
    r" $G,\rho_s,\ell_s$.",
    kind="remark",
    found="At fixed G the noise let in grows like log p; for rows in {±1}^p G grows like √p.",
    by="exact",
    uses=("(10)",),
    expected=Status.RATE,
    rate=True,
    printed=Case("power 0 of p", exponent=0.0),
    mutant=Case("power 1/2 of p", exponent=0.5),
    code=("minimax.methods.recursion.gaussian_top", "minimax.problems.erm.upper"),
)
def dimension_power(exponent: float) -> Result:
    """Is the noise that hard thresholding lets in of order p^exponent up to a power of log p?

    E of the 2k + k* largest squares among p Gaussians (`gaussian_top`), fixed k = 65, k* = 1, at
    p = 10^4 and 10^12, with the power of log p that is left.
    """
    kept, small, large = 131, 10**4, 10**12
    growth = math.log(gaussian_top(kept, large) / gaussian_top(kept, small))
    left = (growth - exponent * math.log(large / small)) / math.log(3)
    return result(
        abs(left) <= 2,
        power_of_log_p_left=left,
        growth_factor=math.exp(growth),
    )


@CHAPTER.states(
    "Definition 9",
    r"$f$ is $(a,b)$-monotone, $0<a\le b$, if it is differentiable with $f'(x)\in[a,b]$"
    r" for all $x$.",
    kind="definition",
    found="8x + cos x of the experiments is (7, 9)-monotone: its slopes fill [7, 9].",
    by="symbolic",
    expected=Status.HOLDS,
    printed=Case("8x + cos x with (7, 9)", cosine=1, a=7, b=9),
    mutant=Case("8x + 2 cos x with (7, 9)", cosine=2, a=7, b=9),
    code=("minimax.problems.label_regression.lower.wx21_theorem_10",),
)
def monotone(cosine: int, a: int, b: int) -> Result:
    """Does f' lie in [a, b] for f = 8x + `cosine` cos x?"""
    import sympy as sp

    x = sp.Symbol("x", real=True)
    slope = sp.diff(8 * x + cosine * sp.cos(x), x)
    found = sp.calculus.util.function_range(slope, x, sp.S.Reals)
    return result(
        a > 0 and found.is_subset(sp.Interval(a, b)), slopes=str(found), stated=f"[{a}, {b}]"
    )
