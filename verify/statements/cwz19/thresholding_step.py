"""CWZ19 appendix A.7: one step of private hard thresholding, from (A.7) to (A.11).

The loss is a quadratic with diagonal Hessian h, alpha <= h_j <= gamma, so that the minimiser over
s*-sparse vectors is known. The step is eta/gamma with eta = 2/3. Noise is given, not drawn by the
mechanism, so that it can be chosen against an inequality.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from verify.proofs.entry import Case, Chapter, Result, Status, result
from verify.statements.cwz19.appendix_a import peel

Rng = np.random.Generator
Array = NDArray[np.float64]
CHAPTER = Chapter("CWZ19")


@CHAPTER.states(
    "Lemma A.3",
    r"$\|\tilde P_s(v)-v\|^2\le(1+\frac1c)\frac{|I|-s}{|I|-\hat s}\|\hat v-v\|^2"
    r"+4(1+c)\sum_{i\le s}\|w_i\|_\infty^2$ for every $\hat v$ with $\hat s\le s$ entries.",
    kind="lemma",
    found="Holds for |I| > s, and the 4 is sharp: v = (2, 4), noise (1, −1), c = 1.",
    by="execution",
    uses=("Algorithm 3.2",),
    proof_uses=("Lemma 3.4",),
    expected=Status.HOLDS,
    printed=Case("4 on the noise", on_noise=4.0),
    mutant=Case("3.5 on the noise", on_noise=3.5),
    code=("estimators.core.mechanisms.peeling", "minimax.methods.recursion.thresholding_factor"),
)
def peeling_error(rng: Rng, *, on_noise: float) -> Result:
    """Lemma A.3: |P_s(v) - v|^2 <= (1+1/c)(|I|-s)/(|I|-s^)|v^ - v|^2 + on_noise (1+c) sum |w_i|^2?

    v^ is the best s^-sparse vector. First the sharp case v = (2, 4-), noise (1, -1), c = 1.
    """
    cases = [(np.array([2.0, 4 - 1e-9]), np.array([[1.0, -1.0]]))]
    for _ in range(300):
        d = int(rng.integers(2, 8))
        s = int(rng.integers(1, d))
        rows = rng.exponential(size=(s, 1)) * rng.choice([-1, 1], (s, d))
        cases.append((rng.exponential(size=d), rows))
    ratios = []
    for v, rows in cases:
        s, d = rows.shape
        left = np.sum(np.delete(v, peel(v, rows)) ** 2)
        square = np.sum(np.abs(rows).max(1) ** 2)
        for s_hat, c in itertools.product(range(1, s + 1), (0.2, 1.0, 5.0)):
            rest = np.sum(np.sort(v**2)[: d - s_hat])
            right = (1 + 1 / c) * (d - s) / (d - s_hat) * rest + on_noise * (1 + c) * square
            ratios.append(left / right)
    return result(max(ratios) <= 1, cases=len(ratios), largest_ratio=max(ratios))


@CHAPTER.states(
    "(A.7)",
    r"$\alpha\|\beta^t-\hat\beta\|^2\le\langle\nabla L_n(\beta^t)-\nabla L_n(\hat\beta),"
    r"\beta^t-\hat\beta\rangle\le\gamma\|\beta^t-\hat\beta\|^2$, $\alpha=1/8Ls$,"
    r" $\gamma=4L/s$.",
    kind="equation",
    found="Follows from (D2') on s to s + s* places when the sample is within a factor 2.",
    by="exact",
    uses=("(8.1)",),
    expected=Status.HOLDS,
    printed=Case("γ = 4L/s", smoothness=4),
    mutant=Case("γ = 2L/s", smoothness=2),
)
def restricted_constants(*, smoothness: int) -> Result:
    """(A.7) from (D2'): is the Hessian of L_n within [1/8Ls, smoothness L/s] on s + s* places?

    (D2') puts Sigma_I within [1/(L|I|), L/|I|], |I| from s to s + s*; on the event the sample
    covariance is within factors 1/2 and 2 of it, and L_n has twice that Hessian. In units of L/s.
    """
    lowest, highest = [], []
    for s, extra in itertools.product((1, 2, 10, 100), (0, 1, 2, 10, 100)):
        size = s + min(extra, s)
        lowest.append(2 * Fraction(1, 2) * Fraction(s, size))
        highest.append(2 * 2 * Fraction(s, size))
    return result(
        min(lowest) >= Fraction(1, 8) and max(highest) <= smoothness,
        least_of_s_L_times_curvature=float(min(lowest)),
        largest_of_s_over_L_times_smoothness=float(max(highest)),
    )


ETA = 2 / 3


class Step(NamedTuple):
    """beta_t, what peeling made of it, and the minimiser it is compared with."""

    h: Array
    middle: Array
    """The loss is sum h (b - middle)^2/2."""
    beta: Array
    support: NDArray[np.intp]
    fresh: Array
    """w~ on the new support, 0 elsewhere."""
    noise: Array
    gamma: float
    alpha: float
    best: Array

    def loss(self, b: Array) -> float:
        return float(np.sum(self.h * (b - self.middle) ** 2) / 2)

    @property
    def gradient(self) -> Array:
        return self.h * (self.beta - self.middle)

    @property
    def exact(self) -> Array:
        """beta~_{t+1}: the step kept on the new support, without w~."""
        out = np.zeros_like(self.beta)
        out[self.support] = (self.beta - ETA / self.gamma * self.gradient)[self.support]
        return out

    @property
    def after(self) -> Array:
        return self.exact + self.fresh

    @property
    def W(self) -> float:
        return float(4 * np.sum(np.abs(self.noise).max(1) ** 2))

    def norm2(self, places: NDArray[np.intp]) -> float:
        """|g restricted|^2."""
        return float(np.sum(self.gradient[places] ** 2))

    def sets(self) -> tuple[NDArray[np.intp], ...]:
        """(S_t, S_{t+1}, S*)."""
        return np.flatnonzero(self.beta), self.support, np.flatnonzero(self.best)


def make_step(
    rng: Rng, *, d: int, s: int, s_star: int, kappa: float, noise: float, gamma: float = 1.0
) -> Step:
    """A random step; `noise` scales the noise of the selection and of the values."""
    alpha = gamma / kappa
    h = rng.choice([alpha, gamma], d)
    middle = rng.exponential(size=d) * rng.choice([-1, 1], d)
    best = np.zeros(d)
    top = np.argsort(-h * middle**2)[:s_star]
    middle[np.setdiff1d(np.arange(d), top)] *= rng.choice([0.0, 1.0])
    best[top] = middle[top]
    beta = np.zeros(d)
    start = rng.permutation(d)[:s]
    beta[start] = middle[start] + rng.normal(size=s) * rng.choice([0.1, 1.0, 3.0])
    rows = noise * rng.exponential(size=(s, 1)) * rng.choice([-1, 1], (s, d))
    v = beta - ETA / gamma * h * (beta - middle)
    support = peel(v, rows)
    fresh = np.zeros(d)
    fresh[support] = noise * rng.normal(size=s)
    return Step(h, middle, beta, support, fresh, rows, gamma, alpha, best)


def small_steps(rng: Rng, count: int = 150) -> list[Step]:
    """Random steps in seven dimensions: without noise, with some, and with much."""
    return [
        make_step(rng, d=7, s=3, s_star=1, kappa=2.0, noise=float(rng.choice([0.0, 0.3, 3.0])))
        for _ in range(count)
    ]


@CHAPTER.states(
    "(A.8)",
    r"By (A.7), $L_n(\beta^{t+1})-L_n(\beta^t)\le\langle\beta^{t+1}-\beta^t,g^t\rangle"
    r"+\frac\gamma2\|\beta^{t+1}-\beta^t\|^2$, which is then completed to a square.",
    kind="equation",
    found="Needs smoothness between β^t and β^{t+1}, of which (A.7) says nothing.",
    by="optimisation",
    uses=("(A.7)",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("γ of (A.7) for β^t − β̂", pairwise=False),
    corrected=Case("γ for all pairs of s-sparse vectors", pairwise=True),
    mutant=Case(".95 of that γ", pairwise=True, share=0.95),
    wrong=(
        "(A.7), assumed for β^t − β̂ only, does not bound L_n along β^{t+1} − β^t, which has 2s"
        " other coordinates. Restricted smoothness on 2s + s* coordinates is what is meant. The"
        " proof also writes β^{t+1} for what peeling returns, before its projection on the"
        " ball."
    ),
)
def descent_lemma(rng: Rng, *, pairwise: bool, share: float = 1.0) -> Result:
    """(A.8), first line: L(b_{t+1}) - L(b_t) <= <b_{t+1} - b_t, g> + (gamma/2)|b_{t+1} - b_t|^2?

    With gamma from (A.7), which is about b_t - bhat alone, or from all differences of two
    s-sparse vectors, times `share`. The rest of (A.8) is an identity, checked too.
    """
    excess, identity = -math.inf, 0.0
    for step in small_steps(rng):
        known = step.beta - step.best
        gamma = share * step.gamma
        if not pairwise:
            gamma = float(np.sum(step.h * known**2) / np.sum(known**2))
        move = step.after - step.beta
        first = float(move @ step.gradient + gamma / 2 * move @ move)
        excess = max(excess, step.loss(step.after) - step.loss(step.beta) - first)
        shifted = move + ETA / gamma * step.gradient
        places = np.union1d(np.union1d(*step.sets()[:2]), step.sets()[2])
        second = gamma / 2 * np.sum(shifted[places] ** 2)
        second -= ETA**2 / (2 * gamma) * step.norm2(places)
        second += float((1 - ETA) * move @ step.gradient)
        identity = max(identity, abs(float(second) - first))
    return result(
        excess <= 1e-12 and identity <= 1e-9,
        largest_excess=excess,
        error_of_the_identity=identity,
    )


@CHAPTER.states(
    "(A.9)",
    r"$\langle\beta^{t+1}-\beta^t,g\rangle\le-\frac\eta\gamma\|g_{S_{t+1}}\|^2"
    r"+c\|\tilde w_{S_{t+1}}\|^2+\frac1{4c}\|g_{S_{t+1}}\|^2"
    r"-\langle\beta^t,g\rangle_{S_t\setminus S_{t+1}}$.",
    kind="equation",
    found="Holds, with equality at w̃ = g/2c.",
    by="optimisation",
    uses=("Algorithm 4.2",),
    proof_uses=("(A.9), noise term", "Lemma 3.4"),
    expected=Status.HOLDS,
    printed=Case("1/4c", spread=1.0),
    mutant=Case("1/5c", spread=0.8),
)
def first_order_term(rng: Rng, *, spread: float) -> Result:
    """(A.9) with spread/(4c) on |g|^2 over the new support; w~ is also chosen as g/2c."""
    excess = -math.inf
    for step, c in itertools.product(small_steps(rng, 60), (1.5, 4.0, 20.0)):
        S_t, S_next, _ = step.sets()
        aligned = np.zeros_like(step.beta)
        aligned[S_next] = step.gradient[S_next] / (2 * c)
        for fresh in (step.fresh, aligned):
            left = float((step.exact + fresh - step.beta) @ step.gradient)
            right = -ETA / step.gamma * step.norm2(S_next) + c * np.sum(fresh**2)
            right += spread / (4 * c) * step.norm2(S_next)
            lost = np.setdiff1d(S_t, S_next)
            right -= float(step.beta[lost] @ step.gradient[lost])
            excess = max(excess, left - float(right))
    return result(excess <= 1e-9, largest_excess=excess)


@CHAPTER.states(
    "(A.10)",
    r"$L_n(\beta^{t+1})-L_n(\beta^t)$ is at most $\frac\gamma2\|\beta^{t+1}-\beta^t"
    r"+\frac\eta\gamma g\|^2_{I_t}$ less $\frac{\eta^2}{2\gamma}\|g\|^2$ on"
    r" $I_t\setminus(S_t\cup S^*)$ and on $S_t\cup S^*$ and $\frac{\eta(1-\eta)}{2\gamma}"
    r"\|g_{S_{t+1}\setminus(S_t\cup S^*)}\|^2$, plus $\frac{1-\eta}c(4+\frac\eta{2\gamma})"
    r"\|g_{S_{t+1}}\|^2+(1-\eta)c\|\tilde w\|^2+(1-\eta)(1+c)\frac\gamma{2\eta}W$.",
    kind="equation",
    found="Holds for every step tried; without its noise terms it does not.",
    by="optimisation",
    uses=("Algorithm 4.2",),
    proof_uses=(
        "(A.8)",
        "(A.9)",
        "(A.10), the set R",
        "(A.10), second use of Lemma 3.4",
        "Lemma 3.4",
    ),
    expected=Status.HOLDS,
    printed=Case("as printed", on_noise=1.0),
    mutant=Case("without the noise terms", on_noise=0.0),
)
def whole_step(rng: Rng, *, on_noise: float) -> Result:
    """(A.10), with the terms in w~ and W multiplied by on_noise."""
    excess = -math.inf
    for step, c in itertools.product(small_steps(rng), (1.5, 4.0)):
        S_t, S_next, true = step.sets()
        known = np.union1d(S_t, true)
        everything = np.union1d(known, S_next)
        new = np.setdiff1d(S_next, known)
        g, gamma = step.gradient, step.gamma
        shifted = (step.after - step.beta + ETA / gamma * g)[everything]
        right = gamma / 2 * np.sum(shifted**2)
        right -= ETA**2 / (2 * gamma) * (step.norm2(new) + step.norm2(known))
        right -= ETA * (1 - ETA) / (2 * gamma) * step.norm2(new)
        right += (1 - ETA) / c * (4 + ETA / (2 * gamma)) * step.norm2(S_next)
        quiet = c * np.sum(step.fresh**2) + (1 + c) * gamma / (2 * ETA) * step.W
        right += on_noise * (1 - ETA) * quiet
        excess = max(excess, step.loss(step.after) - step.loss(step.beta) - float(right))
    return result(excess <= 1e-9, largest_excess=excess)


@CHAPTER.states(
    "(A.11)",
    r"$L_n(\beta^{t+1})-L_n(\beta^t)\le\frac{3s^*}{s+s^*}\eta(L_n(\hat\beta)-L_n(\beta^t))"
    r"-\frac3{36\gamma}(\|g_{S_t\cup S^*}\|^2-\frac{\alpha^2}4\|\hat\beta-\beta^t\|^2)"
    r"+\frac\gamma2\cdot\frac{3c+7}2W+(\frac c3+\frac\gamma2)\|\tilde w\|^2$ for"
    r" $s=72(\gamma/\alpha)^2s^*$.",
    kind="equation",
    found="Holds for s = 72(γ/α)²s*, which is 73,728 L⁴s*; at s = s* it fails.",
    by="optimisation",
    uses=("Algorithm 4.2",),
    proof_uses=("(A.10)", "Lemma A.3", "(A.10), expansion of the square", "(A.7)"),
    expected=Status.HOLDS,
    printed=Case("s = 72(γ/α)²s*", enough=True),
    mutant=Case("s = s*", enough=False),
)
def recursion(rng: Rng, *, enough: bool) -> Result:
    """(A.11) for s = 72 (gamma/alpha)^2 s* (enough) or s = s*; c as large as the proof asks."""
    excess, kappa = -math.inf, 1.1
    s = math.ceil(72 * kappa**2) if enough else 1
    for noise in (0.0, 0.01, 1.0) * 8:
        step = make_step(rng, d=s + 30, s=s, s_star=1, kappa=kappa, noise=noise)
        S_t, _, true = step.sets()
        gamma, alpha = step.gamma, step.alpha
        c = 4 * gamma * (1 / 3 * (4 + ETA / (2 * gamma)) + ETA**2 / gamma) / (ETA * (1 - ETA))
        gap = step.loss(step.beta) - step.loss(step.best)
        far = float(np.sum((step.best - step.beta) ** 2))
        right = -3 / (s + 1) * ETA * gap
        right -= 3 / (36 * gamma) * (step.norm2(np.union1d(S_t, true)) - alpha**2 / 4 * far)
        right += gamma / 2 * (3 * c + 7) / 2 * step.W
        right += (c / 3 + gamma / 2) * float(np.sum(step.fresh**2))
        excess = max(excess, step.loss(step.after) - step.loss(step.beta) - right)
    return result(excess <= 1e-9, s=s, largest_excess=excess)


@CHAPTER.states(
    "Lemma A.4",
    r"$\|g_{S_t\cup S^*}\|^2-\frac{\alpha^2}4\|\hat\beta-\beta^t\|^2\ge\frac\alpha2"
    r"(L_n(\beta^t)-L_n(\hat\beta))$.",
    kind="lemma",
    found="α/2 fails where L(β^t) < L(β̂), which s > s* allows; α in its place always holds.",
    by="optimisation",
    uses=("(A.7)",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("α/2", factor=0.5),
    corrected=Case("α", factor=1.0),
    mutant=Case("1.1 α", factor=1.1),
    wrong=(
        "β̂ has s* entries and β^t has s > s*, so L_n(β^t) may be the smaller; with minimum"
        " (2, 1), β^t = (2, 3/2), β̂ = (2, 0) the left side is −.3125 and the right −.1875."
        " Strong convexity gives α(L_n(β^t) − L_n(β̂)) ≤ −α⟨g, Δ⟩ − α²|Δ|²/2 ≤"
        " |g|² − α²|Δ|²/4 for every β^t, as |g + αΔ/2|² ≥ 0. Where L_n(β^t) < L_n(β̂) the last"
        " display of A.7 turns round too; there L_n(β^{t+1}) ≤ L_n(β^t) + noise is enough."
    ),
)
def gradient_domination(rng: Rng, *, factor: float) -> Result:
    """Lemma A.4: is |g|^2 - (alpha^2/4)|bhat - b|^2 >= factor alpha (L(b) - L(bhat))?

    All b with s entries, whether or not L(b) >= L(bhat). First middle = (2, 1), b = (2, 3/2), h = 1
    and the minimiser (2, 0) over one entry; then the near-equality b = 1, bhat = -1 + 1/100.
    """

    def by_hand(middle: list[float], b: list[float], best: list[float]) -> Step:
        ones, none = np.ones(len(b)), np.zeros((1, len(b)))
        where = np.array(middle), np.array(b), np.array(best)
        return Step(ones, where[0], where[1], np.array([0]), none[0], none, 1.0, 1.0, where[2])

    steps = [by_hand([2, 1], [2, 1.5], [2, 0]), by_hand([0.0], [1.0], [-0.99]), *small_steps(rng)]
    gaps = []
    for step in steps:
        S_t, _, true = step.sets()
        left = step.norm2(np.union1d(S_t, true))
        left -= step.alpha**2 / 4 * float(np.sum((step.best - step.beta) ** 2))
        gaps.append(left - factor * step.alpha * (step.loss(step.beta) - step.loss(step.best)))
    return result(min(gaps) >= -1e-9, least_left_minus_right=min(gaps), in_the_first_case=gaps[0])
