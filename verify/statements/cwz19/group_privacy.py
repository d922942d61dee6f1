"""CWZ19 §8: group privacy and the spread of records over groups."""

from __future__ import annotations

import math
from fractions import Fraction

from scipy import optimize, stats

from minimax.core.closeness import group_delta
from verify.proofs.entry import Case, Chapter, Result, Status, result
from verify.statements.cwz19.privacy import RATIO, excess, leaky_response, product

CHAPTER = Chapter("CWZ19")


@CHAPTER.states(
    "Section 8.1, post-processing",
    r"For $M$ private, $M_k(Z)=M(Y)$ with $Y$ drawn from $Z$ “is also differentially"
    r" private by post-processing”.",
    kind="remark",
    found="Drawing records again is no post-processing: two copies of a record cost 2ε.",
    by="exact",
    uses=("Fact 2.1",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("ε", ratio=RATIO),
    corrected=Case("2ε for two copies", ratio=RATIO**2),
    mutant=Case("e^ε = 11/5, below 9/4", ratio=Fraction(11, 5)),
    wrong=(
        "What changes is M's input, not its output. A record of Z is in Y several times, and"
        " that is paid for by group privacy, as the proof goes on to say."
    ),
    code=("minimax.core.privacy.Approximate.group",),
)
def repeated_record(*, ratio: Fraction) -> Result:
    """The delta at this e^eps of M_k(z) = M(z, z), M reporting two signs by randomised response.

    M itself is private at e^eps = 3/2 with delta = 0.
    """
    one = leaky_response(RATIO, Fraction(0))
    needed = excess(*product(one, one), ratio)
    return result(needed == 0, delta_needed=float(needed), ratio=float(ratio))


GRID = [(m, eps) for m in (1, 2, 3, 5, 9) for eps in (0.05, 0.25, 0.5, 1.0, 2.0)]
DELTA = 1e-12


def _needed(m: int, epsilon: float) -> float:
    """The largest P(M(X) in S)/delta at P(M(Z) in S) = 0 for data sets m replacements apart.

    Each replacement may turn a probability q into e^eps q + delta, and some mechanism does: two
    outputs, the probability of S along the path of data sets being this sequence.
    """
    q = 0.0
    for _ in range(m):
        q = math.exp(epsilon) * q + DELTA
    return q / DELTA


@CHAPTER.states(
    "Lemma 8.1",
    r"For data sets at most $m$ replacements apart, an $(\epsilon,\delta)$-private $M$ has"
    r" $P(M(X)\in S)\le e^{\epsilon m}P(M(Z)\in S)+\frac{e^{\epsilon m}-1}{e-1}\delta$.",
    kind="lemma",
    found="The denominator of the additive term is e^ε − 1, not e − 1.",
    by="brute force",
    uses=("Definition 1",),
    expected=Status.CORRECTED,
    severity="constants",
    printed=Case("denominator e − 1", printed=True),
    corrected=Case("denominator e^ε − 1", printed=False),
    mutant=Case("corrected, times .99", printed=False, factor=0.99),
    wrong=(
        "For ε < 1 the printed term is too small: at m = 2, ε = .5 a mechanism needs 2.65 δ and"
        " the lemma states 1.00 δ. Iterating the definition m times gives the geometric sum."
        " The proof's next step, δe^{εm} for a group of m, follows from e − 1 only."
    ),
    code=("minimax.core.closeness.group_delta", "minimax.core.privacy.Approximate.group"),
)
def group_privacy(*, printed: bool, factor: float = 1.0) -> Result:
    """Is the lemma's multiple of delta what the worst mechanism needs, on a grid of m and eps?

    Printed: (e^{eps m} - 1)/(e - 1). Corrected: `group_delta`, with e^eps - 1 below.
    """

    def stated(m: int, epsilon: float) -> float:
        if printed:
            return factor * math.expm1(m * epsilon) / math.expm1(1.0)
        return factor * float(group_delta(epsilon, DELTA, m)) / DELTA

    worst = max(_needed(m, eps) / stated(m, eps) for m, eps in GRID)
    return result(
        worst <= 1 + 1e-9,
        largest_needed_over_stated=worst,
        needed_at_m_2_and_eps_half=_needed(2, 0.5),
        stated_there=stated(2, 0.5),
    )


@CHAPTER.states(
    "Section 8.1, group term",
    r"When no record is drawn more than $m=r\log n$ times, Lemma 8.1 makes $M_k$ $(\epsilon"
    r" m,\delta e^{\epsilon m})$-private.",
    kind="equation",
    found="M_k's δ is δe^{εm}/ε, not δe^{εm}; counting n/k groups instead of n makes up for it.",
    by="brute force",
    uses=("Definition 1",),
    proof_uses=("Lemma 8.1",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("δe^{εm}", over_epsilon=False),
    corrected=Case("δe^{εm}/ε", over_epsilon=True),
    mutant=Case(".75 of it", over_epsilon=True, factor=0.75),
    wrong=(
        "With the right Lemma 8.1 the term is δ(e^{εm} − 1)/(e^ε − 1), up to δe^{εm}/ε, which"
        " for ε near log(n)/n is n times larger. The union bound has n/k terms, k of order"
        " log(1/δ)/ε, where the proof counts n, and that makes up for it."
    ),
    code=("minimax.core.closeness.group_delta",),
    echoes="CWZ19:Lemma 8.1",
)
def group_term(*, over_epsilon: bool, factor: float = 1.0) -> Result:
    """Is the additive term of a group of m at most factor delta e^{eps m} (over eps)?"""

    def stated(m: int, epsilon: float) -> float:
        return factor * DELTA * math.exp(m * epsilon) / (epsilon if over_epsilon else 1.0)

    worst = max(float(group_delta(eps, DELTA, m)) / stated(m, eps) for m, eps in GRID)
    return result(worst <= 1, largest_needed_over_stated=worst)


@CHAPTER.states(
    "Section 8.1, dichotomy",
    r"If $\log\delta/\log n$ tends to a constant $c<-1$, case 1 holds: $k/\log(n/k)\le"
    r" C\tau/\epsilon$ for a fixed $\tau$, $k=\frac C{2\epsilon}\log\frac1{n\delta}$.",
    kind="equation",
    found="δ = n^{−(1+ω)} is not always case 1: not for ε = log² n/n. Case 2 covers it.",
    by="brute force",
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("every ε > log(1/nδ)/n", epsilon_like="log"),
    corrected=Case("ε ≥ n^{−1/2}", epsilon_like="root"),
    mutant=Case("ε ≥ log³ n/n", epsilon_like="cube"),
    wrong=(
        "The bound log(n/k) ≳ log n needs nε to be a power of n, which e^{−nε}/n < δ does not"
        " give. For smaller ε the condition of case 2 holds. (Case 1 also takes Cτ/ε for a"
        " constant, which it is only for fixed ε.)"
    ),
)
def dichotomy(*, epsilon_like: str) -> Result:
    """Does k eps/(C log(n/k)) stay bounded in n for delta = n^{-(1+omega)}, as case 1 asks?

    eps = log(n)^2/n ("log"), log(n)^3/n ("cube") or n^{-1/2} ("root"); all satisfy e^{-n eps}/n <
    delta. The ratio may double from n = 10^4 to 10^64.
    """
    omega, C = 1.0, 0.5
    ratios = []
    for n in (1e4, 1e16, 1e64):
        powers = {"log": math.log(n) ** 2 / n, "cube": math.log(n) ** 3 / n, "root": n**-0.5}
        epsilon = powers[epsilon_like]
        assert n * epsilon > omega * math.log(n)  # e^{-n eps}/n < delta
        k = C / 2 * omega * math.log(n) / epsilon
        ratios.append(k * epsilon / (C * math.log(n / k)))
    return result(ratios[-1] <= 2 * ratios[0], ratio_at_n_1e4=ratios[0], ratio_at_n_1e64=ratios[-1])


# --- The spread of records over groups -----------------------------------------------------------


def largest_root(c: float) -> float:
    """The root above c of 1 + y (log c - log y + 1) - c, which is concave with value 1 at c."""

    def f(y: float) -> float:
        return 1 + y * (math.log(c / y) + 1) - c

    high = 2 * c + 1
    while f(high) > 0:
        high *= 2
    return float(optimize.brentq(f, c, high))


@CHAPTER.states(
    "Lemma 8.2",
    r"For $\ell\le c\,d\log d$ balls in $d$ bins and every $\zeta>0$,"
    r" $P(\max_iy_i>(r_c+\zeta)\log d)=o(1)$, $r_c>c$ the root of $1+y(\log c-\log"
    r" y+1)-c=0$.",
    kind="lemma",
    found="Holds: d·P(a bin > (r_c + .3) log d) falls like a power of d; at r_c − .3 it grows.",
    by="brute force",
    expected=Status.HOLDS,
    printed=Case("r_c + 0.3", offset=0.3),
    mutant=Case("r_c − 0.3", offset=-0.3),
)
def largest_load(*, offset: float) -> Result:
    """Expected number of the d bins with more than (r_c + offset) log d of c d log d balls.

    It bounds the chance that the fullest bin has that many, and must fall like a power of d. For
    offset < 0 it must not.
    """
    slopes, expected = [], 0.0
    for c in (0.2, 1.0, 5.0):
        logs = []
        for d in (10**3, 10**6, 10**9, 10**12):
            balls = math.floor(c * d * math.log(d))
            level = (largest_root(c) + offset) * math.log(d)
            expected = d * float(stats.binom.sf(math.floor(level), balls, 1 / d))
            logs.append(math.log(expected))
        slopes.append((logs[-1] - logs[0]) / (9 * math.log(10)))
    return result(
        max(slopes) < 0, largest_exponent_of_d=max(slopes), expected_at_c_5_and_d_1e12=expected
    )


@CHAPTER.states(
    "Section 8.1, case 1",
    r"In case 1, $k/\log(n/k)\le C\tau/\epsilon$, the union bound is $n(e^{\epsilon r\log"
    r" n}\delta+\delta e^{\epsilon r\log n})=2n^{-\tau+\epsilon r}$, and $\epsilon r<\tau$"
    r" for small $C$.",
    kind="equation",
    found="The sum is 2n^{−ω+εr}; the printed 2n^{−τ+εr} asks for a τ that is not too large.",
    by="brute force",
    uses=("Section 8.1, dichotomy",),
    proof_uses=("Lemma 8.2", "Section 8.1, group term"),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("τ", named="tau"),
    corrected=Case("ω, δ = n^{−(1+ω)}", named="omega"),
    mutant=Case("1.1 ω", named="omega", times=1.1),
    wrong=(
        "Case 1 says nδ ≥ (n/k)^{−2τ}, a bound from below that stays true for larger τ; the"
        " display needs nδ ≤ n^{−τ}, which the least such τ has and others have not. With"
        " δ < n^{−(1+ω)} it is 2n^{−ω+εr}, and C can be taken so small that εr < ω."
    ),
)
def case_1(*, named: str, times: float = 1.0) -> Result:
    """Is n (e^{eps r log n} + e^{eps r log n}) delta <= 2 n^{-x + eps r}, and does it vanish?

    x is `times` tau, the constant of case 1, or omega, delta = n^{-(1+omega)}; r the root at
    C tau/eps. Case 1 holds for every larger tau too: it bounds n delta from below, not from above.
    """
    epsilon, omega, tau, C = 0.5, 0.1, 1.0, 1e-4
    ratio, exponent = 0.0, 0.0
    for n in (1e8, 1e12, 1e16):
        delta = n ** -(1 + omega)
        k = C / 2 * math.log(1 / (n * delta)) / epsilon
        assert k / math.log(n / k) <= C * tau / epsilon  # case 1
        r = largest_root(C * tau / epsilon)
        x = times * {"tau": tau, "omega": omega}[named]
        exponent = -x + epsilon * r
        ratio = max(ratio, n ** (1 + epsilon * r) * delta / n**exponent)
    return result(
        ratio <= 1 + 1e-9 and exponent < 0, needed_over_stated=ratio, stated_exponent=exponent
    )


@CHAPTER.states(
    "Section 8.1, Chernoff",
    r"In case 2, $P(\max_im_i>\frac1\epsilon\log\frac1{2n\delta})\le\frac"
    r" nk\exp(-\frac{1/2C-1}3k)\le(\frac nk)^{1-(1-C/2)\tau/3\epsilon}$ with $k=\frac"
    r" C{2\epsilon}\log\frac1{2n\delta}$ and $C=1/2$.",
    kind="equation",
    found="The exponent is (2/C − 1)k/3; the printed (1/2C − 1)k/3 is 0 at the chosen C = 1/2.",
    by="brute force",
    uses=("Section 8.1, dichotomy",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("1/2C − 1", factor=0.5, shift=1.0),
    corrected=Case("2/C − 1", factor=2.0, shift=1.0),
    mutant=Case("2(2/C − 1)", factor=2.0, shift=2.0),
    wrong=(
        "The level is 2k/C, that is (1 + a)k with a = 2/C − 1; at C = 1/2 the printed exponent"
        " is zero and the bound n/k. The second display is that of 2/C − 1. (k itself is"
        " defined with log(1/nδ) first and log(1/2nδ) here.)"
    ),
)
def chernoff(*, factor: float, shift: float) -> Result:
    """Case 2: with a = factor/C - 1, is P(m_i > 2k/C) <= e^{-ak/3}, and does what follows follow?

    m_i ~ Bin(n, k/n). The next display, (n/k)^{1 - (1 - C/2) tau/(3 eps)} for k >
    (C/2)(tau/eps) log(n/k), needs a C/2 >= 1 - C/2. `shift` multiplies the exponent.
    """
    tails, follows = [], True
    for C in (0.1, 0.5, 0.9):
        a = shift * (factor / C - 1)
        follows &= a * C / 2 >= 1 - C / 2 - 1e-12
        for k in (2, 10, 50):
            log_tail = float(stats.binom.logsf(math.floor(2 * k / C), 10**6, k / 10**6))
            tails.append(log_tail + a * k / 3)
    return result(
        max(tails) <= 0 and follows,
        largest_log_of_tail_over_bound=max(tails),
        exponent_at_C_one_half=shift * (factor / 0.5 - 1) / 3,
        needed_there=1.0,
    )


@CHAPTER.states(
    "Section 8.2, conditional mean",
    r"For a fixed set $S$ of non-zero records, $\tilde M(X_S)=\alpha^{-1}E[M(X)\mid S]$ is"
    r" $(\epsilon,\delta)$-private.",
    kind="remark",
    found="The mean of a private M over its own noise is not private; M itself is meant.",
    by="exact",
    uses=("Definition 1",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("E[M | S]", averaged=True),
    corrected=Case("M with zeros filled in", averaged=False),
    mutant=Case("that at e^ε = 7/5, below 3/2", averaged=False, ratio=Fraction(7, 5)),
    wrong=(
        "As written the noise is averaged out and the release is exact. The next line equates"
        " it with M applied to X_S and zeros, which is private and all the proof needs."
    ),
    code=("minimax.problems.bounded_mean.diluted.dilution",),
)
def conditional_mean(*, averaged: bool, ratio: Fraction = RATIO) -> Result:
    """The delta of E[M | data] (or of M) at e^eps = ratio, M randomised response with 3/2.

    The mean over M's own noise is a fixed number for each data set: two point masses.
    """
    p, q = leaky_response(RATIO, Fraction(0))
    if averaged:
        signs = (0, 1, -1, 0)
        means = [sum(x * a for x, a in zip(signs, law, strict=True)) for law in (p, q)]
        same = means[0] == means[1]
        one, zero = Fraction(1), Fraction(0)
        p, q = (one, zero), ((one, zero) if same else (zero, one))
    needed = excess(p, q, ratio)
    return result(needed == 0, delta_needed=float(needed))
