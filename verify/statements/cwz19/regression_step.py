"""CWZ19 appendix A.5: noisy gradient descent for regression."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from estimators.regression import projected
from verify.proofs.entry import Case, Chapter, Result, Status, result

Array = NDArray[np.float64]
Rng = np.random.Generator
CHAPTER = Chapter("CWZ19")


@CHAPTER.states(
    "Section A.5, smoothness",
    r"On $E_1$, $L_n(\beta)=\frac1n\sum(y_i-x_i^\top\beta)^2$ is $(2L/d)$-smooth and"
    r" $(1/2Ld)$-strongly convex, and the step of Algorithm 4.1 is $\eta_0\nabla L_n$.",
    kind="equation",
    found="True of L_n/2, whose gradient is the algorithm's; L_n is only 3L/d-smooth.",
    by="exact",
    uses=("Algorithm 4.1",),
    proof_uses=("(D2)", "Section A.5, event E1"),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("L_n", half=False),
    corrected=Case("L_n/2", half=True),
    mutant=Case("L_n/2, strong convexity 1.01/2Ld", half=True, convexity=Fraction(101, 100)),
    wrong=(
        "∇L_n is twice the average of (x^⊤β − y)x by which Algorithm 4.1 steps, and the"
        " Hessian twice X^⊤X/n. With 1/2n in L_n everything agrees."
    ),
    echoes="CWZ19:Algorithm 4.1, loss",
)
def smoothness(*, half: bool, convexity: Fraction = Fraction(1)) -> Result:
    """Are the eigenvalues of the Hessian of L_n within [convexity/2Ld, 2L/d] on E1, all L >= 1?

    L_n is the mean of (y - x'beta)^2 (printed), or half of that. On E1 those of X'X/n are between
    1/Ld - 1/2Ld and L/d + 1/2Ld. In units of 1/d.
    """
    factor = Fraction(1) if half else Fraction(2)
    low, high = [], []
    for L in map(Fraction, ("1", "11/10", "2", "10")):
        low.append(factor * (1 / L - 1 / (2 * L)) * 2 * L)
        high.append(factor * (L + 1 / (2 * L)) / (2 * L))
    return result(
        min(low) >= convexity and max(high) <= 1,
        least_over_stated=float(min(low)),
        largest_over_stated=float(max(high)),
    )


def _boxes(rng: Rng) -> list[tuple[float, float, Array, Array, Array]]:
    """(L, c0, eigenvalues times d, minimiser without the constraint, beta_t); d = 3.

    Half of the minimisers lie outside the ball, and then beta_t is often the constrained one.
    """
    drawn = []
    for _ in range(100):
        L, c0 = float(rng.choice([1.01, 1.5, 3.0])), 1.0
        h = rng.choice([1 / (2 * L), 2 * L, 1.0], 3)
        m = rng.normal(size=3) * rng.choice([0.3, 2.0])
        beta = projected(rng.normal(size=3), c0)
        drawn.append((L, c0, h, m, beta))
    return drawn


def _constrained(h: Array, m: Array, c0: float) -> Array:
    """argmin over |b| <= c0 of sum h (b - m)^2, by bisection on the multiplier."""
    if np.linalg.norm(m) <= c0:
        return m
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.linalg.norm(h * m / (h + middle)) > c0 else (low, middle)
    return np.asarray(h * m / (h + high))


@CHAPTER.states(
    "(A.5)",
    r"$\|\beta^{t+1}-\hat\beta\|^2\le(1-\frac1{8L^2})\|\beta^t-\hat\beta\|^2"
    r"+(1+8L^2)\|w_t\|^2$, $\hat\beta$ the minimiser over $\|\beta\|\le C$.",
    kind="equation",
    found="Holds, whether or not the constraint is active; not by the step in its middle.",
    by="optimisation",
    uses=("Algorithm 4.1",),
    proof_uses=("Section A.5, smoothness", "(A.5), second inequality"),
    expected=Status.HOLDS,
    printed=Case("1 + 8L² on the noise", on_noise=1.0),
    mutant=Case("a tenth of it", on_noise=0.1),
    code=("minimax.methods.recursion.Recursion",),
)
def noisy_step(rng: Rng, *, on_noise: float) -> Result:
    """(A.5): |b_{t+1} - bhat|^2 <= (1 - 1/8L^2)|b_t - bhat|^2 + on_noise (1 + 8L^2)|w|^2?

    Units with d eigenvalues in [1/2L, 2L] and step 1/2L; the noise is aligned against the claim.
    """
    ratios = []
    for L, c0, h, m, beta in _boxes(rng):
        best = _constrained(h, m, c0)
        mean = beta - h * (beta - m) / (2 * L)
        for size in (0.0, 0.05, 0.2, 1.0):
            w = size * (mean - best)
            left = np.sum((projected(mean + w, c0) - best) ** 2)
            right = (1 - 1 / (8 * L**2)) * np.sum((beta - best) ** 2)
            right += on_noise * (1 + 8 * L**2) * np.sum(w**2)
            ratios.append(left / right)
    return result(max(ratios) <= 1, cases=len(ratios), largest_ratio=max(ratios))


@CHAPTER.states(
    "(A.5), second inequality",
    r"$\|\beta^t-\eta_0\nabla L_n(\beta^t)-\hat\beta\|^2\le(1-\frac1{4L^2})"
    r"\|\beta^t-\hat\beta\|^2$ for $\hat\beta=\arg\min_{\|\beta\|\le C}L_n$.",
    kind="equation",
    found="Fails when the constraint is active: the plain gradient step moves away from β̂.",
    by="optimisation",
    uses=("Algorithm 4.1",),
    proof_uses=("Section A.5, smoothness",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("β̂ over the ball", constrained=True),
    corrected=Case("β̂ over everything", constrained=False),
    mutant=Case("corrected, rate doubled", constrained=False, rate=2.0),
    wrong=(
        "At β^t = β̂ on the boundary the right side is 0 and the gradient is not. Comparing"
        " with the projected step, whose fixed point β̂ is, gives (A.5) all the same."
    ),
)
def plain_step(rng: Rng, *, constrained: bool, rate: float = 1.0) -> Result:
    """Within (A.5): |b_t - eta grad - bhat|^2 <= (1 - rate/4L^2)|b_t - bhat|^2?

    bhat the minimiser over the ball (the paper's), or over everything.
    """
    excess, worst = -math.inf, (0.0, 0.0)
    for L, c0, h, m, beta in _boxes(rng):
        best = _constrained(h, m, c0) if constrained else m
        for b in (beta, best, m + np.array([0.1, 0, 0])):
            left = float(np.sum((b - h * (b - m) / (2 * L) - best) ** 2))
            right = max(1 - rate / (4 * L**2), 0.0) * float(np.sum((b - best) ** 2))
            if left - right > excess:
                excess, worst = left - right, (left, right)
    return result(excess <= 1e-12, distance_after=worst[0], stated=worst[1])


@CHAPTER.states(
    "(A.6)",
    r"$\|\beta^T-\hat\beta\|^2\le\frac1n+(1+8L^2)\sum_{k<T}(1-\frac1{8L^2})^{T-k-1}"
    r"\|w_k\|^2$ for $T=8L^2\log(c_0^2n)$.",
    kind="equation",
    found="Holds: 8L² log(c₀²n) steps leave at most 1/n of the start.",
    by="exact",
    uses=("Algorithm 4.1",),
    proof_uses=("(A.5)",),
    expected=Status.HOLDS,
    printed=Case("T as stated", steps=1.0),
    mutant=Case("half as many steps", steps=0.5),
)
def start_forgotten(*, steps: float) -> Result:
    """(A.6): is (1 - 1/8L^2)^T |bhat|^2 <= 1/n for T = steps 8 L^2 log(c0^2 n), rounded up?"""
    ratios = []
    for L, c0, n in itertools.product((1.0, 1.5, 3.0, 10.0), (0.5, 1.0, 4.0), (1e2, 1e4, 1e7)):
        T = math.ceil(steps * 8 * L**2 * math.log(c0**2 * n))
        ratios.append((1 - 1 / (8 * L**2)) ** T * c0**2 * n)
    return result(max(ratios) <= 1, largest_left_over_times_n=max(ratios))


@CHAPTER.states(
    "Section A.5, event E1",
    r"$d\|n^{-1}X^\top X-\Sigma_x\|\le1/2L$ fails with probability at most $c_1e^{-c_2n}$"
    r" as long as $d<n$.",
    kind="equation",
    found="P(E1 fails) is of order e^{−cn/d}, not e^{−cn}: eigenvalues are 1/d, rows 1.",
    by="exact",
    uses=("(D1)", "(D2)"),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("exponent of order n", power=0),
    corrected=Case("exponent of order n/d", power=1),
    mutant=Case("exponent of order n/d^1.2", power=1.2),
    wrong=(
        "For x = ±e_J with J uniform a coordinate is never seen with chance (1 − 1/d)^n, and at"
        " d = n/2 the event almost never occurs. Matrix Chernoff gives 2d e^{−cn/d}. In Theorem"
        " 4.2, where n ≫ d^{3/2}, the term c₁e^{−c₂ log n} hides it."
    ),
    code=("minimax.methods.recursion.chernoff_interval",),
)
def covariance_event(*, power: float) -> Result:
    """§A.5, E1: does -log P(E1 fails) grow like n/d^power?

    x = +-e_J, J uniform: |x| = 1, covariance I/d. d X'X/n holds d/n times the counts of the
    coordinates; E1 fails when one count is off by a factor 1 - 1/2L, L = 2, with the chance p,
    and P(E1 fails) is between p and d p. n = 10^4 d.
    """
    d = np.array([10.0, 100.0, 1000.0, 10000.0])
    n = 1e4 * d
    exponent = -stats.binom.logcdf(np.floor(0.75 * n / d), n, 1 / d)
    relative = exponent * d**power / n
    return result(
        relative.min() >= 0.5 * relative.max(),
        at_d_10=relative[0],
        at_d_10000=relative[-1],
    )


def _chernoff(d: int, k: int, rho: float, level: float) -> float:
    """sup_s of s level - log E exp(s sum_j rho^j X_j) over a grid of s."""
    s = np.linspace(0.002, 0.998, 499)[:, None] / (2 * rho)
    weights = rho ** np.arange(1, k + 1)
    return float(np.max(s[:, 0] * level + d / 2 * np.sum(np.log1p(-2 * s * weights), axis=1)))


@CHAPTER.states(
    "Lemma A.2",
    r"$P(\sum_{j\le k}\lambda\rho^jX_j>\frac{\rho\lambda d}{1-\rho}+\Delta)\le"
    r"\exp(-\min\{\frac{(1-\rho^2)\Delta^2}{8\rho^2\lambda^2d},\frac\Delta{8\rho\lambda}\})"
    r"$ for $X_j\sim\chi^2_d$.",
    kind="lemma",
    found="Holds on the whole grid, by exact tails at k = 1 and Chernoff's bound above.",
    by="optimisation",
    expected=Status.HOLDS,
    printed=Case("8 and 8", divisor=8.0),
    mutant=Case("1 and 1", divisor=1.0),
)
def chi_square_tails(*, divisor: float) -> Result:
    """Lemma A.2 with its two 8s replaced: stated exponent against the truth, lambda = 1.

    k = 1 is exact; for k > 1 Chernoff's bound is at least as good as stated.
    """
    excess = {1: -math.inf, 3: -math.inf, 40: -math.inf}
    for d, k, rho, x in itertools.product(
        (1, 5, 100), excess, (0.05, 0.5, 0.95), (0.1, 1.0, 10.0, 200.0)
    ):
        Delta = x * math.sqrt(d)
        square = (1 - rho**2) * Delta**2 / (divisor * rho**2 * d)
        stated = min(square, Delta / (divisor * rho))
        level = rho * d / (1 - rho) + Delta
        true = -float(stats.chi2.logsf(level / rho, d)) if k == 1 else _chernoff(d, k, rho, level)
        excess[k] = max(excess[k], stated - true)
    return result(
        max(excess.values()) <= 1e-9,
        largest_excess_of_the_exponent_at_k_1=excess[1],
        at_k_40=excess[40],
    )
