"""WX21 Appendix A: sub-Gaussian variables, truncation, projection, chi-square tails."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from estimators.sparse_erm import hard_threshold
from verify.proofs.entry import Case, Chapter, Result, Status, result

Array = NDArray[np.float64]
SUB_GAUSSIAN = Chapter("WX21")
LEMMAS = Chapter("WX21")
CHI_SQUARE = Chapter("WX21")
POINTS = np.concatenate([-np.geomspace(1e-3, 30, 60), np.geomspace(1e-3, 30, 60)])


@SUB_GAUSSIAN.states(
    "Definition 10",
    r"$X$ is sub-Gaussian with $\sigma^2$ if $EX=0$ and $Ee^{sX}\le e^{\sigma^2s^2/2}$ for"
    r" all $s$; a vector if all $u^TX$, $\|u\|=1$, are. Uniform signs in $\{\pm1\}^d$ are"
    r" sub-Gaussian with $1$.",
    kind="definition",
    found="Uniform signs are sub-Gaussian with 1, and with nothing less.",
    by="exact",
    expected=Status.HOLDS,
    printed=Case("σ² = 1", variance=1.0),
    mutant=Case("σ² = .9", variance=0.9),
    code=("minimax.problems.local_regression.lower.report_energy",),
)
def signs_are_sub_gaussian(variance: float) -> Result:
    """log E exp(s <u, x>) = sum log cosh(s u_i) <= variance s^2/2, x uniform signs, |u| = 1."""
    directions = [np.array([1.0]), np.ones(4) / 2, np.array([0.8, 0.6]), np.ones(100) / 10]
    worst = max(
        float(np.sum(np.logaddexp(s * u, -s * u) - math.log(2))) / (variance * s**2 / 2)
        for u in directions
        for s in POINTS
    )
    return result(worst <= 1 + 1e-6, largest_ratio=worst)


@SUB_GAUSSIAN.states(
    "Definition 10, sums",
    r"If $X_1,\dots,X_n$ are all sub-Gaussian with $\sigma^2$ then $\sum a_iX_i$ is"
    r" sub-Gaussian with $\sigma^2\sum a_i^2$.",
    kind="remark",
    found="Σ a_i X_i has proxy |a|₂² only if the X_i are independent; in general |a|₁².",
    by="exact",
    uses=("Definition 10",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("any X_i: X_1 = ... = X_n", copies=True, by_length=True),
    corrected=Case("independent X_i", copies=False, by_length=True),
    mutant=Case("independent X_i, less 1 %", copies=False, by_length=True, share=0.99),
    relaxed=Case("any X_i, proxy σ²|a|₁²", copies=True, by_length=False),
    wrong=(
        "Independence is missing: with X_1 = X_2 a sign, X_1 + X_2 has variance 4, not 2. The"
        " proofs of Theorems 9 and 11 use it for sums over users, which are independent."
    ),
)
def sums(*, copies: bool, by_length: bool, share: float = 1.0) -> Result:
    """Is sum a_i X_i sub-Gaussian with share |a|_2^2 (or |a|_1^2)? Signs, independent or equal."""
    worst = 0.0
    for a in (np.array([1.0, 1.0]), np.array([1.0, -0.3, 2.0]), np.ones(10)):
        proxy = share * float(np.sum(a**2) if by_length else np.sum(np.abs(a)) ** 2)
        parts = np.array([a.sum()]) if copies else a
        for s in POINTS:
            log_moment = float(np.sum(np.logaddexp(s * parts, -s * parts) - math.log(2)))
            worst = max(worst, log_moment / (proxy * s**2 / 2))
    return result(worst <= 1 + 1e-6, largest_ratio=worst)


@LEMMAS.states(
    "Lemma 2",
    r"$X_1,\dots,X_n$ sub-Gaussian with $\sigma^2$: $P(\max X_i\ge t)\le"
    r" ne^{-t^2/2\sigma^2}$ and $P(\max|X_i|\ge t)\le2ne^{-t^2/2\sigma^2}$.",
    kind="lemma",
    found="Union bound and Chernoff, for t ≥ 0 (at t < 0 it is false, which is not meant).",
    by="exact",
    uses=("Definition 10",),
    expected=Status.HOLDS,
    printed=Case("exponent t²/2", power=1.0),
    mutant=Case("exponent .55 t²", power=1.1),
    code=("minimax.methods.recursion.subgaussian_top",),
)
def maximum_tail(power: float) -> Result:
    """P(max >= t) <= n e^{-power t^2/2} and twice it for max |.|: Gaussians, Rademacher sums.

    Independent ones, and Gaussians whose events are as disjoint as they can be (n P, at most 1).
    """
    worst = 0.0
    for n in (1, 2, 10, 1000):
        for t in np.linspace(0, 12, 61):
            stated = math.log(n) - power * t**2 / 2
            one = stats.norm.logsf(t)
            rademacher = stats.binom.logsf(math.ceil(50 + 5 * t) - 1, 100, 0.5)
            for log_tail in (one, rademacher):
                disjoint = min(math.log(n) + log_tail, 0.0)
                two_sided = min(disjoint + math.log(2), 0.0) - math.log(2)
                worst = max(worst, disjoint - stated, two_sided - stated)
    return result(worst <= 1e-9, largest_log_ratio=worst)


@LEMMAS.states(
    "Lemma 3",
    r"For $\theta_t=\mathrm{Trunc}(\theta,s)$, $\theta\in R^k$, and $\|\theta^*\|_0\le s$:"
    r" $\|\theta_t-\theta\|_2\le\frac{k-s}{k-s^*}\|\theta^*-\theta\|_2^2$.",
    kind="lemma",
    found="The left side must be squared, and s* is the sparsity of θ*; then it is sharp.",
    by="brute force",
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("left side as printed", printed=True),
    corrected=Case("squared, |θ*|₀ ≤ s* ≤ s", printed=False),
    mutant=Case("corrected, constant less 1 %", printed=False, factor=0.99),
    wrong=(
        "The two sides scale differently: divide θ and θ* by 100 and the printed inequality"
        " fails by a factor of 100. Squared it holds, with equality for θ = (1, ..., 1); s* is"
        " not defined in the lemma and is the number of non-zero entries of θ*. A slip of the"
        " print, or of its reading: the proofs use the squared form."
    ),
    code=(
        "estimators.sparse_erm.hard_threshold",
        "minimax.methods.recursion.thresholding_factor",
    ),
)
def truncation(rng: np.random.Generator, *, printed: bool, factor: float = 1.0) -> Result:
    """|Trunc(v, s) - v| against (k - s)/(k - s*) |x - v|^2: unsquared (printed) or squared.

    x has s* <= s entries: the best s* entries of v, random ones, and v = (1, ..., 1), which is the
    case of equality of the corrected form; all of them at the scales 1 and 1/100.
    """
    worst = 0.0
    for k, s, s_star in ((9, 8, 1), (17, 8, 1), (12, 6, 5), (40, 16, 2), (5, 3, 3)):
        vectors = [np.ones(k), *rng.standard_normal((20, k)), *rng.standard_cauchy((20, k))]
        for v in vectors:
            others = [hard_threshold(v, s_star)]
            mask = np.zeros(k)
            mask[rng.choice(k, s_star, replace=False)] = 1.0
            others += [mask * v, mask * rng.standard_normal(k)]
            kept = float(np.linalg.norm(hard_threshold(v, s) - v))
            for x in others:
                right = factor * (k - s) / (k - s_star) * float(np.sum((x - v) ** 2))
                for scale in (1.0, 0.01):
                    left = kept * scale if printed else (kept * scale) ** 2
                    worst = max(worst, left / (right * scale**2))
    return result(worst <= 1 + 1e-9, largest_left_over_right=worst)


def _ball(v: Array) -> Array:
    return v / max(1.0, float(np.linalg.norm(v)))


def _box(v: Array) -> Array:
    return np.clip(v, -0.5, 1.0)


def _half_space(v: Array) -> Array:
    return v - max(float(v.sum()), 0.0) / len(v)


def _two_sparse(v: Array) -> Array:
    return hard_threshold(v, 2)


@LEMMAS.states(
    "Lemma 4",
    r"$\mathcal K$ convex, $u\in\mathcal K$: $\|P_{\mathcal K}(v)-u\|_2\le\|v-u\|_2$.",
    kind="lemma",
    found="Projecting on a convex set brings v nearer to each u in it; on a sparse set not.",
    by="brute force",
    expected=Status.HOLDS,
    printed=Case("ball, box, half-space", sets=(_ball, _box, _half_space)),
    mutant=Case("vectors with two entries", sets=(_two_sparse,)),
    code=("minimax.methods.recursion.Recursion",),
)
def projection(rng: np.random.Generator, sets: tuple[Callable[[Array], Array], ...]) -> Result:
    """Is the projection of v at most as far from each u of the set as v is?"""
    worst = 0.0
    for project in sets:
        for _ in range(300):
            v = rng.standard_cauchy(4)
            u = project(rng.standard_normal(4) * 2)
            near = float(np.linalg.norm(project(v) - u))
            worst = max(worst, near / float(np.linalg.norm(v - u)))
    return result(worst <= 1 + 1e-9, largest_ratio=worst)


@CHI_SQUARE.states(
    "Lemma 6",
    r"$z\sim\chi^2_n$: $P(z-n\ge2\sqrt{nx}+2x)\le e^{-x}$.",
    kind="lemma",
    found="Holds (Laurent and Massart); the term 2x is what large x needs.",
    by="quadrature",
    expected=Status.HOLDS,
    printed=Case("2√(nx) + 2x", linear=2.0),
    mutant=Case("2√(nx) + 1.5x", linear=1.5),
)
def chi_square_tail(linear: float) -> Result:
    """P(z - n >= 2 sqrt(n x) + linear x) <= e^-x for z chi-square with n degrees of freedom."""
    worst = -math.inf
    for n in (1, 2, 5, 20, 100, 10_000):
        for x in np.geomspace(1e-3, 300, 80):
            log_tail = float(stats.chi2.logsf(n + 2 * math.sqrt(n * x) + linear * x, n))
            worst = max(worst, log_tail + x)
    return result(worst <= 1e-9, largest_log_ratio=worst)
