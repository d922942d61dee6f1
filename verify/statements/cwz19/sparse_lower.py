r"""CWZ19 §3.3, B.2, B.3: the lower bound for sparse means, and what breaks it.

Lemma 3.2(2) and the displays (B.1), (B.2) of its proof are about private M of vanishing risk. One
such M is `NoisyMean`: clip, average, add independent noise. Given mu, sum_i E A_i is the sum over
the support of E clip(x_j)(x_j - mu_j), which Stein's lemma in x_j makes sigma^2 P(|x_j| < R). So it
is at most sigma^2 s at every mu, hence under every prior.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Literal

import numpy as np
from scipy import integrate, stats

from attacks.sparse_mean import SupportAttack, TopNormalPrior, lemma_3_2_counterexample
from minimax.core.calibration import noise_variance
from minimax.core.privacy import Approximate
from minimax.methods.priors import GaussianInstance
from minimax.problems.mean.problem import MeanProblem
from minimax.problems.mean.upper import noisy_mean_upper
from minimax.problems.sparse_mean.lower import refuted_theorem_3_3
from verify.proofs.entry import ALPHA, Case, Chapter, Result, Status, result
from verify.rates.special.worst_case_log_d import WorstCase, worst_case
from verify.statements.cwz19.clipped_sums import Sums, displayed, reaches, sums
from verify.statements.cwz19.top_entries import TopEntries

CHAPTER = Chapter("CWZ19")


# --- The attack ----------------------------------------------------------------------------------


@CHAPTER.states(
    "(3.2)",
    r"The attack is $A(x,M)=\langle(x-\mu)_{\mathrm{supp}(\mu)},M-\mu\rangle$.",
    kind="equation",
    found="The attack sees the support alone; its total is n⟨(X̄ − μ)_S, M − μ⟩.",
    printed=Case("on the support", everywhere=False),
    mutant=Case("on all coordinates", everywhere=True),
    by="execution",
    code=("attacks.sparse_mean.SupportAttack",),
    expected=Status.HOLDS,
)
def support_attack(rng: np.random.Generator, *, everywhere: bool) -> Result:
    """Is the attack's total n <(xbar - mu)_S, M - mu>, and blind to coordinates off the support?

    Blind: records and a release that are others off the support have the very same scores.
    `everywhere` compares with the inner product over all coordinates.
    """
    mean = np.array([0.5, 0.0, -0.25, 0.0, 0.0])
    sample, release = mean + rng.standard_normal((7, 5)), rng.standard_normal(5)
    on = np.ones(5, dtype=bool) if everywhere else mean != 0
    instance, elsewhere = GaussianInstance(mean, 1.0), 10.0 * (mean == 0)
    scores = SupportAttack().scores(sample, release, instance, sample)
    others = sample + elsewhere * rng.standard_normal((7, 5))
    blind = SupportAttack().scores(others, release + elsewhere, instance, others)
    seen = float(np.abs(blind - scores).max())
    expected = 7 * float((sample.mean(axis=0) - mean)[on] @ (release - mean)[on])
    return result(
        math.isclose(float(scores.sum()), expected, rel_tol=1e-9) and seen <= 1e-12,
        sum_of_scores=float(scores.sum()),
        inner_product=expected,
        largest_change_by_what_is_off_the_support=seen,
    )


# --- Lemma 3.2 -----------------------------------------------------------------------------------


def private_mean(n: int, d: int, s: int) -> Sums:
    """Those of a private `NoisyMean`.

    sigma = 1, |mu_j| <= 1, eps = 1/2, delta = n^-2, R = 1 + 4 sqrt(log n).
    """
    R = 1 + 4 * math.sqrt(math.log(n))
    noise = noise_variance(Approximate(0.5, float(n) ** -2), n, d, R)
    risk = noisy_mean_upper(MeanProblem(n, d), R=R, noise_variance=noise).value()
    return sums(s, R, risk)


@CHAPTER.states(
    "Lemma 3.2",
    r"For every $(\epsilon,\delta)$-private $M$ whose risk is $o(1)$ at every $\mu\in\Theta$ (2)"
    r" there is a prior with $\sum_iEA_i\gtrsim\sigma^2s\log d$. (For part (1) see Lemma 3.2(1).)",
    kind="lemma",
    found="Part (2): no prior will do. A private clipped mean has Σ E A_i ≤ σ²s at every μ.",
    printed=Case("σ²s log d", power=1),
    relaxed=Case("σ²s", power=0),
    by="quadrature",
    severity="breaks a claim",
    wrong=(
        "Clip, average, add noise (n = d², ε = 1/2, δ = n⁻²) satisfies every hypothesis and has"
        " Σ E A_i = σ² Σ_{j∈S} P(|x_j| < R) ≤ σ²s whatever μ, so whatever prior. Were M asked to"
        " be sparse like μ, soft-thresholding this one would do: it multiplies each term by a slope"
        " between 0 and 1."
    ),
    code=("estimators.mean.NoisyMean", "minimax.problems.sparse_mean.lower.refuted_lemma_3_2"),
    uses=("Definition 1", "(3.2)"),
    proof_uses=(
        "Lemma B.1",
        "(B.1)",
        "(B.2)",
        "Section B.2, any M",
        "Section B.2, order statistic",
        "Mills ratio",
        "Section B.2, top entries",
        "Binomial tail",
    ),
    expected=Status.REFUTED,
)
@CHAPTER.states(
    "(B.2)",
    r"$\sum_iE_\pi E A_{\mu,s}(x_i,M(X))\gtrsim\sigma^2s\log d$ under the proof's prior, for every"
    r" private $M$ of vanishing risk.",
    kind="equation",
    found="The sum of a private clipped mean is at most σ²s at every μ, so under this prior too.",
    printed=Case("σ²s log d", power=1),
    relaxed=Case("σ²s", power=0),
    by="quadrature",
    severity="breaks a claim",
    wrong="It rests on (B.1), whose right side is no lower bound for a private clipped mean.",
    code=("estimators.mean.NoisyMean",),
    echoes="CWZ19:Lemma 3.2",
    uses=("(3.2)",),
    proof_uses=(
        "(B.1)",
        "Section B.2, order statistic",
        "Mills ratio",
        "Section B.2, top entries",
        "Binomial tail",
    ),
    expected=Status.REFUTED,
)
def every_prior(*, power: int) -> Result:
    """sum_i E A_i of NoisyMean against s (log d)^power, largest over all mu."""
    return reaches(private_mean, power)


@CHAPTER.states(
    "Lemma 3.2(1)",
    r"If $M$ is independent of $x\sim N(\mu,\sigma^2I)$, $EA=0$ and $E|A|\le\sigma\sqrt{E\lVert"
    r" M-\mu\rVert_2^2}$.",
    kind="lemma",
    found="Holds, with √(2/π) to spare: a constant M has E|A′| = .798 σ‖M − μ‖.",
    printed=Case("constant 1", factor=1.0),
    mutant=Case("constant .79", factor=0.79),
    by="quadrature",
    code=("attacks.sparse_mean.SupportAttack", "minimax.methods.tracing.GAUSSIAN"),
    uses=("(3.2)",),
    expected=Status.HOLDS,
)
def outsider_mean(*, factor: float) -> Result:
    """E|A| of an outsider over sigma sqrt(E|M - mu|^2), for M that do not depend on the record.

    Given V = (M - mu)_S, A is N(0, sigma^2 |V|^2): E A = 0, E|A| = sigma sqrt(2/pi) E|V|. The
    largest ratio belongs to a constant M, the others to sample means of s coordinates.
    """
    absolute = integrate.quad(lambda z: abs(z) * stats.norm.pdf(z), -12, 12, points=[0.0])[0]
    first = integrate.quad(lambda z: z * stats.norm.pdf(z), -12, 12)[0]
    spread = [stats.chi(s).mean() / math.sqrt(s) for s in (1, 3, 30)]
    ratios = [absolute * share for share in (1.0, *spread)]
    return result(
        max(ratios) <= factor and abs(first) < 1e-12,
        largest_ratio=max(ratios),
        stated=factor,
        mean_score=abs(first),
    )


def displayed_sums(d: int, *, selected: bool = True) -> tuple[float, float]:
    """The sides of (B.1) for a private clipped mean under the proof's prior, s = 10, n = d^3.

    The left side is the least over all mu (it moves in the twelfth digit).
    """
    found = private_mean(d**3, d, 10)
    assert found.largest - found.least < 1e-9
    return found.least, displayed(TopEntries(d, 10), found.risk, selected=selected)


@CHAPTER.states(
    "(B.1)",
    r"$E_\pi\sum_iEA_i\ge\frac{\sigma^2}{\gamma^2}\{E\sum_{j\in S}\nu_j^2-\sqrt{E\|M-\mu\|^2}"
    r"\sqrt{E\sum_{j\in S}\nu_j^2}\}$, $S$ the $s$ largest of $|\nu_j|$, for private $M$.",
    kind="equation",
    found="False: 10 against 81 (d = 10³) and 213 (d = 10⁶) for a private clipped mean, s = 10.",
    printed=Case("S chosen by ν", selected=True),
    relaxed=Case("S fixed beforehand", selected=False),
    mutant=Case("that, right side doubled", selected=False, scale=2.0),
    by="quadrature",
    severity="breaks a claim",
    wrong=(
        "Stein's lemma is applied to g_j(ν)1(j ∈ S), which jumps where ν_j enters S, and the jump"
        " is dropped; it is the whole log d. A private clipped mean has Σ E A_i ≤ σ²s under every"
        " prior."
    ),
    code=("estimators.mean.NoisyMean", "attacks.sparse_mean.TopNormalPrior"),
    echoes="CWZ19:Lemma 3.2",
    uses=("(3.2)",),
    proof_uses=("Lemma B.1",),
    expected=Status.REFUTED,
)
def selection(*, selected: bool, scale: float = 1.0) -> Result:
    """(B.1) for a private clipped mean; `scale` multiplies the right side."""
    found = {d: displayed_sums(d, selected=selected) for d in (1000, 10**6)}
    return result(
        all(left >= scale * right for left, right in found.values()),
        left_side=found[1000][0],
        right_side_at_d_1000=scale * found[1000][1],
        at_d_a_million=scale * found[10**6][1],
    )


@CHAPTER.states(
    "Section B.2, any M",
    r"The steps to (B.1) use of $M$ only that its risk vanishes under the prior, not its privacy;"
    r" so they would show (B.1) for the mean cut off at $1/4$ too.",
    kind="equation",
    found="Run: the mean cut off at 1/4 has the sum 10 at d = 10³, 10⁴, where (B.1) says 79, 124.",
    printed=Case("(B.1)", with_log=True),
    relaxed=Case("without 1/γ²", with_log=False),
    by="simulation",
    severity="breaks a claim",
    wrong=(
        "The hard-thresholded mean (level 1/4, n = 4000, s = 10, risk .0024 under this prior)"
        " keeps S and nothing else, and its sum is σ²s for every d. It is not private, and so"
        " shows the slip in the steps; the lemma itself is refuted by a private M."
    ),
    code=("attacks.sparse_mean.lemma_3_2_counterexample",),
    echoes="CWZ19:Lemma 3.2",
    uses=("(B.1)",),
    expected=Status.REFUTED,
)
def proof_prior(rng: np.random.Generator, *, with_log: bool) -> Result:
    """(B.1) under the proof's prior for the hard-thresholded mean; without the factor 1/gamma^2?

    The sum is that of Stein's formula given mu, whose only noise is the prior's.
    """
    seed = int(rng.integers(2**31))
    sums, claims = [], []
    holds, decided = True, True
    for d in (10**3, 10**4):
        found = lemma_3_2_counterexample(d, trials=60, seed=seed, confidence=1 - ALPHA)
        scale = 1.0 if with_log else TopNormalPrior(d, found.s).variance
        holds &= found.stein.low >= scale * found.claimed.high
        decided &= holds or found.stein.high < scale * found.claimed.low
        sums.append(found.member_sum.value)
        claims.append(scale * found.claimed.value)
    assert decided, "the intervals decide neither way"
    return result(
        holds,
        sum_of_scores_at_d_1e3=sums[0],
        stated_at_d_1e3=claims[0],
        sum_of_scores_at_d_1e4=sums[1],
        stated_at_d_1e4=claims[1],
    )


# --- Theorem 3.3 ---------------------------------------------------------------------------------


@cache
def _cases(seed: int) -> tuple[WorstCase, ...]:
    return tuple(worst_case(log_d, 800, seed, ALPHA) for log_d in (1e5, 1e6))


@CHAPTER.states(
    "Theorem 3.3",
    r"If $s^*=o(d^{1-\omega})$, $\epsilon<1$, $\delta<n^{-(1+\omega)}$:"
    r" $\inf_M\sup_PE\lVert M-\mu\rVert_2^2\gtrsim\sigma^2\bigl(\frac{s^*\log"
    r" d}n+\frac{(s^*\log d)^2}{n^2\epsilon^2}\bigr)$.",
    kind="theorem",
    found="Refuted for s = 1, log d ≫ log(1/δ): stated over measured risk is 4.3, then 47.",
    printed=Case("(3.3)", bound="claimed"),
    relaxed=Case("certified bound", bound="lower"),
    by="simulation",
    severity="breaks a claim",
    wrong=(
        "For s = 1 a private estimator that releases the largest coordinate when no neighbour"
        " would change it has worst-case risk σ²[log d/n + log n log²(1/δ)/(nε)²] up to a"
        " constant: no (log d)². The proof rests on Lemma 3.2(2). For d polynomial in n the"
        " claim is unproved."
    ),
    code=(
        "estimators.stable_sparse_mean.StableSparseMean",
        "verify.rates.special.worst_case_log_d.worst_case",
        "minimax.problems.sparse_mean.lower.refuted_theorem_3_3",
        "minimax.problems.sparse_mean.lower.packing",
    ),
    slow=True,
    uses=("(3.3)", "Definition 1", "Section 3, sub-Gaussian"),
    proof_uses=("Lemma 3.2", "Lemma 3.2(1)", "(B.2)", "Lemma B.2"),
    expected=Status.REFUTED,
)
def worst_risk(rng: np.random.Generator, *, bound: Literal["claimed", "lower"]) -> Result:
    """Is one constant enough from log d = 10^5 to 10^6, up to a factor of two?

    The bound over the worst-case risk of a private estimator, s = 1, n = 10^10, eps = 10^-3,
    delta = n^-2. Decided by the ends of the risks' intervals that speak against the answer.
    """
    few, many = _cases(int(rng.integers(2**31)))
    growth = getattr(many, bound) / getattr(few, bound)
    holds = growth * few.measured.ci_high / many.measured.ci_low <= 2
    assert holds or growth * few.measured.ci_low / many.measured.ci_high > 2, "undecided"
    return result(
        holds,
        bound_over_risk_at_log_d_1e5=getattr(few, bound) / few.measured.risk,
        bound_over_risk_at_log_d_1e6=getattr(many, bound) / many.measured.risk,
        risk_at_log_d_1e6=many.measured.risk,
        bound_at_log_d_1e6=getattr(many, bound),
    )


@CHAPTER.states(
    "(3.3)",
    r"$\inf_M\sup_PE\lVert M-\mu\rVert_2^2\gtrsim\sigma^2\bigl(\frac{s^*\log d}n+\frac{(s^*\log"
    r" d)^2}{n^2\epsilon^2}\bigr)$ for all $n$ and $d$, over $\lVert\mu\rVert_\infty<1$,"
    r" $\lVert\mu\rVert_0\le s^*$.",
    kind="equation",
    found="It needs n ≳ s log d/ε as well: without it M = 0, of risk at most s, is below it.",
    printed=Case("n = 100, d → ∞", records=0.0),
    relaxed=Case("n ≥ s log d/ε: M = 0 is no counterexample", records=1.0),
    mutant=Case("n ≥ s log d/(2ε)", records=0.5),
    by="brute force",
    severity="breaks a claim",
    wrong=(
        "The right side grows without end in d while M = 0 has risk at most s*. Theorem 3.1 has"
        " such a condition, n ≳ √(d log(1/δ))/ε; here it is left out. With it M = 0 is no"
        " counterexample, but (3.3) is still false: see Theorem 3.3."
    ),
    code=("minimax.problems.sparse_mean.lower.refuted_theorem_3_3",),
    echoes="CWZ19:Theorem 3.3",
    uses=("(2.1)",),
    expected=Status.REFUTED,
)
def zero_estimator(*, records: float) -> Result:
    """Is the claimed bound at most s, which is a bound on the risk of M = 0, as d grows?

    n = 100, or at least `records` times s log d/eps.
    """
    epsilon, s = 0.5, 3
    ratios = []
    for log_d in (10.0, 100.0, 700.0):
        n = max(100.0, records * s * log_d / epsilon)
        claimed = refuted_theorem_3_3().value(
            n=n, d=math.exp(log_d), s=s, sigma=1.0, epsilon=epsilon
        )
        ratios.append(claimed / s)
    return result(
        max(ratios) <= 1,
        claimed_over_risk_of_zero_at_log_d_10=ratios[0],
        claimed_over_risk_of_zero_at_log_d_700=ratios[-1],
    )
