"""CWZ19 §8.3: how Theorem 4.4, noisy hard thresholding for regression, is proved.

L_n is a quadratic with Hessian H = X'X/n. On the supports that matter its eigenvalues lie between
alpha = 1/(8 L s) and gamma = 4 L/s, and eta_0 = s/(6 L). The checks below work with H directly.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats
from scipy.linalg import hadamard

from estimators.core.mechanisms import peeling
from minimax.core.calibration import paper_peeling_scale
from minimax.problems.sparse_mean.upper import laplace_maximum_rms
from verify.proofs.entry import ALPHA, Case, Chapter, Result, Status, result
from verify.rates.measure import interval
from verify.statements.cwz19.sparse_mean import GivenNoise

Array = NDArray[np.float64]
CHAPTER = Chapter("CWZ19")


# --- Fact 8.1 ------------------------------------------------------------------------------------


@CHAPTER.states(
    "Fact 8.1",
    r"(8.1): with high probability $\frac1{8Ls}\lVert\beta^t-\hat\beta\rVert_2^2\le\langle"
    r"\nabla L_n(\beta^t)-\nabla L_n(\hat\beta),\beta^t-\hat\beta\rangle\le\frac{4L}s\lVert"
    r"\beta^t-\hat\beta\rVert_2^2$ (here over all supports of size $s+s^*$).",
    kind="fact",
    found=(
        "Holds for sign design with room: s·λ is .59 to 1.45 on average against [1/16, 8] at n"
        " = 60."
    ),
    by="simulation",
    uses=("(8.1)", "(D1')", "(D2')"),
    proof_uses=("Fact 8.1, probability",),
    expected=Status.HOLDS,
    printed=Case("n = 60 records", n=60),
    mutant=Case("n = 2 records", n=2),
    code=("estimators.sparse_regression.PrivateHardThresholding",),
)
def restricted_eigenvalues(rng: np.random.Generator, *, n: int) -> Result:
    """The extreme eigenvalues of X_I'X_I/n over all I of size s + s*, against 1/(8Ls) and 4L/s.

    Signs over sqrt(s), so that |I| times the covariance lies in [1, 2] for s <= |I| <= 2s: L = 2.
    """
    d, s, support, L = 10, 2, 3, 2.0
    sets = np.array(list(itertools.combinations(range(d), support)))
    lows, highs = [], []
    for _ in range(60):
        X = rng.choice((-1.0, 1.0), (n, d)) / math.sqrt(s)
        H = X.T @ X / n
        found = np.linalg.eigvalsh(H[sets[:, :, None], sets[:, None, :]])
        lows.append(max(float(found.min()) * s, 0.0))
        highs.append(float(found.max()) * s)
    low, high = (interval(np.array(x), ALPHA, 0) for x in (lows, highs))
    return result(
        low.ci_low >= 1 / (8 * L) and high.ci_high <= 4 * L,
        least_eigenvalue_times_s=low.risk,
        stated_at_least=1 / (8 * L),
        largest_eigenvalue_times_s=high.risk,
        stated_at_most=4 * L,
    )


@CHAPTER.states(
    "Fact 8.1, probability",
    r"Under the assumptions of Theorem 4.4, (8.1) holds with probability at least"
    r" $1-c_1e^{-c_2n}$ (read, as restricted strong convexity is, for all $s$-sparse"
    r" $\beta^t$ and $s^*$-sparse $\hat\beta$).",
    kind="fact",
    found="Fails with a chance of order e^{−cn/s}, not e^{−cn}: rows of a Hadamard matrix.",
    by="exact",
    uses=("(8.1)", "(D1')", "(D2')"),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("exponent of order n", power=0),
    corrected=Case("exponent of order n/s", power=1),
    mutant=Case("exponent of order n/s^1.2", power=1.2),
    wrong=(
        "Bounded entries do not make ⟨x, u⟩ sub-Gaussian at the scale 1/√s. If x is one of m"
        " orthogonal sign vectors over √m, m = s + s* = d, a direction is not seen with chance"
        " (1 − 1/m)^n. As for the event E1 of Theorem 4.2, the condition on n makes n/s a"
        " multiple of log n, and the term c₁e^{−c₂ log n} of Theorem 4.4 covers it."
    ),
)
def unseen_direction(*, power: float) -> Result:
    """Does -log P((8.1) fails) grow like n/m^power, m = s + s* = d, for Hadamard rows?

    x is a row of a Hadamard matrix over sqrt(m), drawn uniformly, with a random sign: entries of
    size 1/sqrt(m), covariance I/m, mean 0. X'X/n has the eigenvalues count/n, the counts of the m
    rows. It fails, for a difference along that row, when a count is below n/(8Ls); L = 1.1, s* = 1.
    The chance is that of one count up to a factor m. n = 10^3 m.
    """
    rows = hadamard(16) / 4
    assert np.allclose(rows.T @ rows / 16, np.eye(16) / 16)
    m = np.array([16, 64, 256, 1024, 4096])
    n = 1000 * m
    exponent = -stats.binom.logcdf(np.ceil(n / (8 * 1.1 * (m - 1))) - 1, n, 1 / m)
    relative = exponent * m.astype(float) ** power / n
    return result(
        relative.min() >= 0.5 * relative.max(), at_m_16=relative[0], at_m_4096=relative[-1]
    )


# --- Lemma 8.3 -----------------------------------------------------------------------------------


RHO = 40
"""s = rho L^4 s* and the rate 1 - 1/(rho L^2); here L = 1, s* = 1."""


def _one_sparse_minimum(H: Array, b: Array, c0: float) -> float:
    """min of (beta - b)'H(beta - b)/2 over one-sparse beta of length at most c0."""
    gradient, diagonal = H @ b, np.diag(H)
    best = np.clip(gradient / diagonal, -c0, c0)
    return float(b @ gradient / 2 + np.min(diagonal * best**2 / 2 - gradient * best))


def algorithm_step(H: Array, b: Array, beta: Array, c0: float, noise: Array, own: Array) -> Array:
    """One iteration of Algorithm 4.2: gradient step, peeling with this noise, projection."""
    s = len(noise)
    half = beta - s / 6 * (H @ (beta - b))
    rows = cast(np.random.Generator, GivenNoise([*noise, own]))
    found, _ = peeling(half, s, sensitivity=1.0, scale=1.0, rng=rows)
    new = np.zeros_like(b)
    new[found.support] = found.values
    return new * min(1.0, c0 / float(np.linalg.norm(new)))


@CHAPTER.states(
    "Lemma 8.3",
    r"(8.2): $L_n(\beta^{t+1})-L_n(\hat\beta)\le(1-\frac1{\rho"
    r" L^2})(L_n(\beta^t)-L_n(\hat\beta))+c_3(\sum_i\lVert"
    r" w_i^t\rVert_\infty^2+\lVert\tilde w^t\rVert_2^2)$ under (8.1), for an absolute"
    r" constant $\rho$.",
    kind="lemma",
    found="Holds on the grid with ρ = 40 and c₃ = 1/s; c₃ = .4/s would do there.",
    by="brute force",
    uses=("(8.1)", "(8.2)", "Algorithm 4.2"),
    proof_uses=("Lemma A.3", "(A.7)", "(A.8)", "(A.9)", "(A.10)", "(A.11)", "Lemma A.4"),
    expected=Status.HOLDS,
    printed=Case("c₃ = 1/s", noise_weight=1.0),
    mutant=Case("c₃ = 1/(10s)", noise_weight=0.1),
    code=("estimators.sparse_regression.PrivateHardThresholding", "minimax.methods.recursion"),
)
def contraction(rng: np.random.Generator, *, noise_weight: float) -> Result:
    """(8.2) with rho = 40 and c_3 = noise_weight/s: the largest violation, in units of the noise.

    Random Hessians of condition at most 1.3, signals within and beyond the ball, three starts,
    Laplace noise of many sizes and noise that hides the largest coordinates.
    """
    needed, quiet = -math.inf, -math.inf
    for s, ball in itertools.product((RHO, 2 * RHO), (0.7, 1.0, 5.0)):
        d = 2 * s
        Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
        H = (Q * rng.uniform(1.0, 1.3, d)) @ Q.T / s
        b = 0.1 * rng.standard_normal(d)
        b[0] += 2.0
        c0 = ball * float(np.linalg.norm(b))
        best = _one_sparse_minimum(H, b, c0)

        def loss(x: Array, H: Array = H, b: Array = b, best: float = best) -> float:
            return float((x - b) @ H @ (x - b)) / 2 - best

        for start, size in itertools.product(range(3), (0.0, 0.001, 0.03, 1.0)):
            beta = np.zeros(d)
            if start:
                chosen = rng.choice(d, s, replace=False)
                beta[chosen] = b[chosen] if start == 1 else rng.standard_normal(s)
                beta *= min(1.0, c0 / float(np.linalg.norm(beta)))
            hidden = np.where(np.abs(b) > np.median(np.abs(b)), -size, size) * np.ones((s, 1))
            for noise in (size * rng.laplace(size=(s, d)), hidden):
                own = size * rng.laplace(size=s)
                new = algorithm_step(H, b, beta, c0, noise, own)
                excess = loss(new) - (1 - 1 / RHO) * loss(beta)
                total = float(np.sum(np.max(np.abs(noise), axis=1) ** 2) + own @ own)
                if size == 0:
                    quiet = max(quiet, excess)
                else:
                    needed = max(needed, excess / total * s)
    return result(
        quiet <= 1e-12 and needed <= noise_weight,
        needed_c_3_times_s=needed,
        stated_c_3_times_s=noise_weight,
        largest_excess_without_noise=quiet,
    )


# --- (8.3) to (8.5) ------------------------------------------------------------------------------


@CHAPTER.states(
    "(8.3)",
    r"$L_n(\beta^T)-L_n(\hat\beta)\le(1-\frac1{\rho L^2})^T8Lc_0^2+\sum_k(1-\frac1{\rho"
    r" L^2})^{T-k-1}W_k$, from (8.2), the upper half of (8.1) and"
    r" $\lVert\beta^0\rVert,\lVert\hat\beta\rVert\le c_0$.",
    kind="equation",
    found="L_n(0) − L_n(β̂) ≤ 8Lc₀² needs β̂ inside the ball: one record y = 10 gives 9.5 > 8.8.",
    by="brute force",
    proof_uses=("(8.1)", "(8.2)"),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("8Lc₀²", on_gradient=0.0),
    corrected=Case("8Lc₀² + c₀‖∇L_n(β̂)‖", on_gradient=1.0),
    mutant=Case("8Lc₀² + .99 c₀‖∇L_n(β̂)‖", on_gradient=0.99),
    wrong=(
        "(8.1) bounds the second-order part only. If the constraint ‖β‖ ≤ c₀ binds, ∇L_n(β̂)"
        " does not vanish on the support and adds up to c₀‖∇L_n(β̂)‖. With high probability"
        " that is small, and T grows by a constant."
    ),
)
def starting_gap(*, on_gradient: float) -> Result:
    """L_n(0) - L_n(betahat) <= 8 L c_0^2 + on_gradient c_0 |grad L_n(betahat)|, one record x = 1?

    c_0 = 1, betahat = min(y, 1), y up to 10^4. Also that iterating (8.2) gives the sum in (8.3), in
    rationals.
    """
    keep, weights = Fraction(19, 20), [Fraction(k, 7) for k in (3, 1, 4, 1, 5)]
    gap = Fraction(11)
    for weight in weights:
        gap = keep * gap + weight
    powers = reversed([keep**k for k in range(5)])
    total = keep**5 * 11 + sum(p * w for p, w in zip(powers, weights, strict=True))
    L, c0 = 1.1, 1.0
    worst = -math.inf
    for y in (*np.linspace(0, 10, 101), 1e4):
        fitted = min(y, c0)
        left = y**2 / 2 - (y - fitted) ** 2 / 2
        right = 8 * L * c0**2 + on_gradient * c0 * abs(fitted - y)
        worst = max(worst, left / right)
    return result(worst <= 1 and gap == total, largest_left_over_right=float(worst))


@CHAPTER.states(
    "(8.4)",
    r"$L_n(\beta^T)-L_n(\hat\beta)\ge L_n(\beta^T)-L_n(\beta^*)\ge\frac1{16Ls}\lVert"
    r"\beta^T-\beta^*\rVert_2^2-\langle\nabla L_n(\beta^*),\beta^*-\beta^T\rangle$.",
    kind="equation",
    found="Holds, with equality where all eigenvalues are 1/(8Ls); uses (8.1) at β*, not β̂.",
    by="brute force",
    proof_uses=("(8.1)",),
    expected=Status.HOLDS,
    printed=Case("1/(16Ls)", share=1.0),
    mutant=Case("1/(8Ls)", share=2.0),
)
def curvature(rng: np.random.Generator, *, share: float) -> Result:
    """L_n(b) - L_n(b*) >= (share/16Ls)|b - b*|^2 - <grad L_n(b*), b* - b>, eigenvalues >= 1/(8Ls)?

    Random Hessians, and the one whose eigenvalues all are 1/(8Ls), where it is an equality.
    """
    s, L, d = 4, 1.5, 6
    least = 1 / (8 * L * s)
    worst = 0.0
    for t in range(200):
        Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
        H = (Q * rng.uniform(least, 4 * L / s if t else least, d)) @ Q.T
        centre, true, last = rng.standard_normal((3, d))
        gap = (last - centre) @ H @ (last - centre) - (true - centre) @ H @ (true - centre)
        linear = float((H @ (true - centre)) @ (true - last))
        square = float(np.sum((last - true) ** 2))
        worst = max(worst, share / (16 * L * s) * square / (gap / 2 + linear))
    return result(worst <= 1 + 1e-9, largest_right_over_left=worst)


@CHAPTER.states(
    "(8.5)",
    r"$\frac1{16Ls}\lVert\beta^T-\beta^*\rVert_2^2\le\lVert\nabla"
    r" L_n(\beta^*)\rVert_\infty\sqrt{s+s^*}\lVert\beta^*-\beta^T\rVert_2+\frac1n+\sum_k(1-"
    r"\frac1{\rho L^2})^{T-k-1}W_k$ for $T=\rho L^2\log(8c_0^2Ln)$.",
    kind="equation",
    found="Holds: T iterations leave at most 1/n, and √(s + s*) is sharp.",
    by="brute force",
    proof_uses=("(8.3)", "(8.4)"),
    expected=Status.HOLDS,
    printed=Case("√(s + s*)", counted=12),
    mutant=Case("√s", counted=9),
)
def final_inequality(*, counted: int) -> Result:
    """(8.5): T iterations leave 1/n, and <g, D> <= |g|_inf sqrt(counted) |D|_2?

    D has s + s* = 12 non-zero entries, all alike where the inequality is sharp; s = 9.
    """
    left = []
    for rho, L, c0, n in itertools.product((2.0, 40.0), (1.0, 3.0), (0.5, 5.0), (10**2, 10**8)):
        T = rho * L**2 * math.log(8 * c0**2 * L * n)
        left.append((1 - 1 / (rho * L**2)) ** T * 8 * L * c0**2 * n)
    D, g = np.full(12, 0.3), np.full(12, 2.0)
    product = float(g @ D) / (2.0 * float(np.linalg.norm(D)))
    return result(
        max(left) <= 1 and product <= math.sqrt(counted) * (1 + 1e-12),
        largest_start_left_times_n=max(left),
        inner_product_over_norms=product,
        stated=math.sqrt(counted),
    )


# --- The events ----------------------------------------------------------------------------------


def _cut_chance(n: float, level: float, mean: float = 0.0) -> float:
    """P(max_i |y_i| > level), y_i ~ N(mean, 1) independent."""
    one = float(special.ndtr(mean - level) + special.ndtr(-mean - level))
    return -math.expm1(n * math.log1p(-one))


@CHAPTER.states(
    "Section 8.3, E1",
    r"With $R=\sigma\sqrt{2\log n}$, $P(\max_i|y_i|>R)\le c_1e^{-c_2\log n}$, “because"
    r" $y_i\sim N(0,\sigma^2)$”.",
    kind="equation",
    found="P(some |y_i| > σ√(2 log n)) = .18, .16, .14 at n = 10³, 10⁴, 10⁶: no power of n.",
    by="brute force",
    expected=Status.CORRECTED,
    severity="constants",
    printed=Case("R = σ√(2 log n)", extra=0.0, mean=0.0),
    corrected=Case("R = c₀c_x + σ√(3 log n)", extra=0.5, mean=1.0),
    mutant=Case("R = c₀c_x + σ√(2.01 log n)", extra=0.005, mean=1.0),
    wrong=(
        "The chance tends to zero like 1/√(π log n), not like a power of n, and y has mean xᵀβ,"
        " not 0. So the proof does not give the probability that Theorem 4.4 states. A larger"
        " constant mends it: R ≥ c₀c_x + σ√(2(1 + c) log n)."
    ),
    code=("estimators.core.truncation.theoretical_truncation",),
    echoes="CWZ19:Theorem 4.2, truncation",
)
def truncated_labels(*, extra: float, mean: float) -> Result:
    """Does P(some |y_i| > R) fall like a power of n, R = mean + sqrt(2 (1 + extra) log n)?

    Asked: like n^(-1/100) at least from n = 10^6 to 10^300. sigma = 1, |x'beta| <= mean.
    """
    chances = {
        n: _cut_chance(n, mean + math.sqrt(2 * (1 + extra) * math.log(n)), mean)
        for n in (1e3, 1e4, 1e6, 1e12, 1e300)
    }
    return result(
        chances[1e300] <= chances[1e6] * 1e-294**0.01,
        chance_at_n_1e3=chances[1e3],
        chance_at_n_1e4=chances[1e4],
        chance_at_n_1e6=chances[1e6],
        chance_at_n_1e12=chances[1e12],
    )


@CHAPTER.states(
    "Section 8.3, E2",
    r"On $E_2=\{\max_tW_t\le KR^2(s^*)^3\log^2d\log(1/\delta)\log^2n/(n\epsilon)^2\}$,"
    r" (8.5), (D1') and (D2') yield $\lVert\beta^T-\beta\rVert^2_\Sigma\lesssim\sigma^2("
    r"\dots+(s^*\log d)^2\log(1/\delta)\log^3n/(n\epsilon)^2)$.",
    kind="equation",
    found="With W of order s³, (8.5) gives s³, not the s² of (4.7); c₃ of order 1/s mends it.",
    by="brute force",
    uses=("(8.5)", "(D1')", "(D2')"),
    proof_uses=("Lemma A.1",),
    expected=Status.CORRECTED,
    severity="constants",
    printed=Case("c₃ constant", power=0.0),
    corrected=Case("c₃ = L/s", power=1.0),
    mutant=Case("c₃ = (L/s)^.9", power=0.9),
    wrong=(
        "(8.5) bounds ‖·‖²_Σ by a constant times W, so the cube of E₂ would stay. The proof of"
        " Lemma 8.3 weighs the selection noise by γ ≍ 1/s but ‖w̃‖² by c/3 + γ/2, c > 1, since"
        " one c does two jobs, and then calls both c₃. That c₃ = O(1/s) is possible is seen in"
        " Lemma 8.3."
    ),
    code=(
        "minimax.problems.sparse_regression.private_thresholding",
        "estimators.sparse_regression.PrivateHardThresholding",
    ),
)
def noise_rate(*, power: float) -> Result:
    """The exponent of s in the privacy term that (8.5) gives, against the 2 of (4.7).

    W = c_3 (sum |w_i|_inf^2 + |w~|^2) with the noise of Algorithm 4.2, c_3 = (L/s)^power; (8.5)
    then bounds |beta - beta*|_Sigma^2 <= (L/s)|.|^2 by 16 L^2 rho L^2 W.
    """
    n, epsilon, delta, L, rho, cx, c0, R, d = 1e12, 0.5, 1e-16, 1.5, 40.0, 1.0, 1.0, 8.0, 10**6
    T = rho * L**2 * math.log(8 * c0**2 * L * n)

    def term(s: float) -> float:
        size = s / (6 * L) * 4 * (R + c0 * cx) * cx / math.sqrt(s) / n
        scale = paper_peeling_scale(size, cast(int, s), epsilon / T, delta / T)
        noise = scale**2 * (s * laplace_maximum_rms(d) ** 2 + 2 * s)
        return (L / s) * 16 * L * s * rho * L**2 * (L / s) ** power * noise

    exponent = math.log(term(1000.0) / term(10.0)) / math.log(100)
    return result(abs(exponent - 2) <= 0.05, exponent_of_s=exponent, claimed=2)
