"""CWZ19 §2.3: the tracing attack on sign data, its lemma, and the preliminary lower bound (2.3).

Lemma 2.1(2) hides two constants. Its proof gives them: for W_j = (M_j/sigma) sum_i (x_ij -
sigma p_j) + 3 |M_j - xbar_j| and u = 1/(7 C sigma n^2), C = 1/2 (Hoeffding's lemma: p_j lies in
an interval of length 2), E e^{-u sum W} <= exp(d (C (n sigma u)^2 - u sigma/3)), so that
P(sum W <= sigma d/6) <= exp(-d/(147 n^2)). The event {sum A <= sigma^2 d/12, |M - xbar|_1 <=
sigma d/36} lies in it. Hence c_2 = 1/36 and c_1 = 1/(12 sqrt 8).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special, stats

from attacks.mean import lemma_2_1_threshold
from minimax.core.calibration import noise_variance
from minimax.core.privacy import Approximate
from minimax.problems.bounded_mean.diluted import in_sample
from verify.proofs.entry import Case, Chapter, Result, Status, result

CHAPTER = Chapter("CWZ19")


def _upper_tail(d: int, mean: float, threshold: float) -> float:
    """P(<x - mu, M> > threshold) for M = (1..1), x in {-1, 1}^d with means `mean`."""
    ups = (threshold + d * mean + d) / 2
    return float(stats.binom.sf(math.floor(ups), d, (1 + mean) / 2))


@CHAPTER.states(
    "Lemma 2.1",
    r"Part 1. For sign data in $\{-\sigma,\sigma\}^d$ with mean $\mu\in[-1,1]^d$ and $x$"
    r" independent of $M\in[-1,1]^d$ (estimators take values where the parameter does):"
    r" $P(\langle x-\mu,M\rangle>\sigma^2\sqrt{8d\log(1/\delta)})<\delta$.",
    kind="lemma",
    found="Part 1 is true on [−σ, σ]^d, as the proof has it, not on the printed [−1, 1]^d.",
    by="brute force",
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("M and μ in [−1, 1]^d, σ = 1/10", size=10.0),
    corrected=Case("M and μ in [−σ, σ]^d", size=1.0),
    mutant=Case("|M_j| ≤ σ, a third of the threshold", size=1.0, share=1 / 3),
    wrong=(
        "A misprint: the text before the lemma has μ in [−σ, σ]^d, and the proof uses"
        " |M_j| ≤ σ. With [−1, 1] the scores are of order σ and the threshold σ². (The terms"
        " lie in an interval of length 2σ², not 4σ², so √(2d log(1/δ)) suffices.)"
    ),
    code=("attacks.mean.SignAttack", "attacks.mean.lemma_2_1_threshold"),
)
def outsiders(*, size: float, share: float = 1.0) -> Result:
    """Lemma 2.1(1) for M = size sigma (1, ..., 1): the chance against delta, exactly.

    sigma = 1, as only M/sigma counts. `share` multiplies the threshold.
    """
    cases = [
        (d, mean, delta)
        for d in (1, 4, 30, 300, 3000)
        for mean in (-0.9, -0.5, 0.0, 0.5, 0.9)
        for delta in (1e-6, 1e-3, 0.1, 0.5)
    ]
    ratios = [
        _upper_tail(d, mean, share * lemma_2_1_threshold(d, 1.0, delta) / size) / delta
        for d, mean, delta in cases
    ]
    worst = int(np.argmax(ratios))
    return result(
        max(ratios) < 1,
        largest_chance_over_delta=max(ratios),
        at_d=cases[worst][0],
        and_delta=cases[worst][2],
    )


C = 0.5
C_1 = 1 / (12 * math.sqrt(8))
C_2 = 1 / 36


def _least_mgf(n: int, S: int, weight: float) -> float:
    """max over M in [-1, 1] of E[e^{-u W} | S], sigma = 1: the posterior of p is a Beta law.

    W = M (S - n p) + weight |M - S/n|, p = 2b - 1, b ~ Beta(1 + (n+S)/2, 1 + (n-S)/2).
    """
    u = 1 / (7 * C * n**2)
    up = (n + S) // 2
    M = np.unique(np.concatenate([np.linspace(-1, 1, 41), [S / n]]))
    # E e^{u n M p} by Kummer's function, e^{-t} M(a, a+b, 2t) with t = u n M.
    t = u * n * M
    posterior = np.exp(-t) * special.hyp1f1(1 + up, n + 2, 2 * t)
    return float(np.max(np.exp(-u * (M * S + weight * np.abs(M - S / n))) * posterior))


@CHAPTER.states(
    "Lemma 2.1(2)",
    r"Part 2. If $n<c_1\sqrt{d/\log(1/\delta)}$, there is a prior of $\mu$ with"
    r" $P(\sum_i\langle x_i-\mu,M\rangle\le n\sigma^2\sqrt{8d\log(1/\delta)},\;  \lVert"
    r" M-\bar X\rVert_2<c_2\sigma\sqrt d)<\delta$.",
    kind="lemma",
    found="Holds with c₁ = 1/(12√8) and c₂ = 1/36, for |M_j| ≤ σ and the uniform prior.",
    by="optimisation",
    uses=("Lemma 2.1",),
    proof_uses=("Lemma 2.1, proof: range", "Lemma 2.1, proof: counts"),
    expected=Status.HOLDS,
    printed=Case("W with weight 1/α = 3, as in the proof", weight=3.0),
    mutant=Case("weight 1/α = 0.1", weight=0.1),
    code=("attacks.mean.SignAttack", "minimax.problems.bounded_mean.diluted.in_sample"),
)
def members(*, weight: float) -> Result:
    """Per coordinate, is P(sum_j W_j <= sigma d/6) <= exp(-d/(147 n^2)) for the best M?

    Markov with the exact E e^{-u W} under the uniform prior, S uniform on {-n, -n+2, ..., n}.
    """
    exponents = []
    for n in (1, 2, 3, 5, 10, 30, 100):
        u = 1 / (7 * C * n**2)
        mgf = float(np.mean([_least_mgf(n, S, weight) for S in range(-n, n + 1, 2)]))
        exponents.append((math.log(mgf) + u / 6) * 294 * C * n**2)
    return result(
        max(exponents) <= -1,
        largest_exponent_in_units_of_d_over_147_n_squared=max(exponents),
        c_1=C_1,
        c_2=C_2,
    )


@CHAPTER.states(
    "Lemma 2.1, proof: range",
    r"For $\varphi=-M_j n p_j$ with $|M_j|\le\sigma$, given the data,"
    r" $|\varphi-E\varphi|\le n\sigma$.",
    kind="equation",
    found="|φ − Eφ| reaches 2(n+1)/(n+2) nσ, not nσ; the proof works with C = 1/2.",
    by="brute force",
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("nσ", factor=1.0),
    corrected=Case("2nσ", factor=2.0),
    mutant=Case("1.9 nσ", factor=1.9),
    wrong=(
        "If all records are +σ the posterior mean of p is n/(n+2), and p = −1 is 2(n+1)/(n+2)"
        " away. Only the interval's length 2nσ matters: Hoeffding's lemma gives C = 1/2."
    ),
)
def posterior_range(*, factor: float) -> Result:
    """Is |phi - E phi| <= factor n sigma for phi = -M n p, |M| <= sigma, p in [-1, 1]?"""
    worst = max(
        abs(M) * abs(p - S / (n + 2))
        for n in (1, 5, 100)
        for S in range(-n, n + 1, 2)
        for M in (-1.0, 1.0)
        for p in (-1.0, 1.0)
    )
    return result(worst <= factor, largest_deviation_over_n_sigma=worst, stated=factor)


@CHAPTER.states(
    "Lemma 2.1, proof: counts",
    r"For $\tilde S$ the sum of $n$ signs, $(\tilde S+1)/2\sim\mathrm{Bin}(n,\tilde p)$,"
    r" and under the uniform prior $\tilde S$ is uniform on $\{-n,-n+2,\dots,n\}$.",
    kind="equation",
    found="The binomial count is (S̃ + n)/2, not (S̃ + 1)/2.",
    by="exact",
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("(S̃ + 1)/2", shift=1),
    corrected=Case("(S̃ + n)/2", shift=None),
    mutant=Case("that, with chance 1/n each", shift=None, values=0),
    wrong="A typing error: the next line of the proof uses k = (k̃ + n)/2.",
)
def uniform_counts(*, shift: int | None, values: int = 1) -> Result:
    """Is (S + shift)/2 a number of successes of n trials, S = sum of n signs? None: shift = n.

    And has each number the chance 1/(n + values) under the uniform prior?
    """
    uniform = True
    for n in (2, 3, 8):
        for S in range(-n, n + 1, 2):
            doubled = S + (n if shift is None else shift)
            if doubled % 2 or not 0 <= doubled // 2 <= n:
                return result(False, n=n, S=S, halved=doubled / 2)
            k = doubled // 2
            chance = math.comb(n, k) * math.exp(special.betaln(k + 1, n - k + 1))
            uniform &= math.isclose(chance, 1 / (n + values))
    return result(uniform, n=8, chance_of_each_count=chance, stated=1 / (8 + values))


@CHAPTER.states(
    "(2.3)",
    r"If $n<c_1\sqrt{d/\log(1/\delta)}$, $\epsilon<1$ and $\delta=o(1/n)$, every"
    r" $(\epsilon,\delta)$-private $M$ has $\sup_\mu E\lVert M-\bar"
    r" X\rVert_2\gtrsim\sigma\sqrt d$.",
    kind="equation",
    found="Holds with c₂ = 1/36; the certified in-sample bound is 9.8 times larger or more.",
    by="optimisation",
    uses=("Definition 1",),
    proof_uses=("Lemma 2.1", "Lemma 2.1(2)"),
    expected=Status.HOLDS,
    printed=Case("n = c₁√(d/log(1/δ))", stretch=1.0),
    mutant=Case("n 100,000 times larger", stretch=1e5),
    code=("minimax.problems.bounded_mean.diluted.in_sample",),
)
def preliminary(*, stretch: float) -> Result:
    """(2.3) with its constants: is E|M - xbar| certified to be c_2 sigma sqrt(d) (1 - chance)?

    At n = stretch c_1 sqrt(d/log(1/delta)), eps = .9; chance = P(|M - xbar| < c_2 sigma sqrt d) <=
    delta + n (e^eps delta + delta). `in_sample` bounds E|.|^2, and |.| <= 2 sigma sqrt d, so that
    E|.| >= E|.|^2/(2 sigma sqrt d).
    """
    epsilon = 0.9
    ratios, noises = [], []
    for d in (10**5, 10**7, 10**9):
        for delta in (1e-8, 1e-16):
            n = stretch * max(1.0, math.floor(C_1 * math.sqrt(d / math.log(1 / delta))))
            chance = delta * (1 + n * (math.exp(epsilon) + 1))
            claimed = C_2 * math.sqrt(d) * (1 - chance)
            lower = in_sample(Approximate).value(n=n, d=d, sigma=1.0, epsilon=epsilon, delta=delta)
            ratios.append(lower / (2 * math.sqrt(d)) / claimed)
            noise = d * noise_variance(Approximate(epsilon, delta), n, d, 1.0)
            noises.append(math.sqrt(noise) / claimed)
    return result(
        min(ratios) >= 1,
        smallest_certified_over_claimed=min(ratios),
        smallest_error_of_the_gaussian_mechanism_over_claimed=min(noises),
    )
