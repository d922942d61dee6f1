"""CWZ19 appendix A.7: slips between (A.9) and (A.11), none of which does harm."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from verify.proofs.entry import Case, Chapter, Result, Status, result
from verify.statements.cwz19.appendix_a import peel
from verify.statements.cwz19.thresholding_step import ETA, Rng, small_steps

CHAPTER = Chapter("CWZ19")


@CHAPTER.states(
    "(A.9), noise term",
    r"$\frac\gamma{2\eta}(1+c)W=\frac\eta{2\gamma}(1+c)\frac\gamma{2\eta}W$ when the factor"
    r" $\eta/2\gamma$ is taken out of the bracket.",
    kind="equation",
    found="In the bracket (γ/2η)W should be (γ/η)²W; the next display has it right again.",
    printed=Case("γ/2η", power=1, half=True),
    corrected=Case("(γ/η)²", power=2, half=False),
    mutant=Case("(γ/η)²/2", power=2, half=True),
    by="symbolic",
    severity="harmless",
    wrong="Taking η/2γ out of γ/2η leaves (γ/η)², not γ/2η. A slip of the pen.",
    expected=Status.CORRECTED,
)
def bracket(*, power: int, half: bool) -> Result:
    """After (A.9): is (gamma/2eta)(1+c) W = (eta/2gamma)(1+c) x W for the printed x?"""
    import sympy as sp

    eta, gamma, c, W = sp.symbols("eta gamma c W", positive=True)
    inside = (gamma / eta) ** power / (2 if half else 1)
    difference = sp.factor((1 + c) * W * (gamma / (2 * eta) - eta / (2 * gamma) * inside))
    return result(difference == 0, left_minus_right=str(difference))


@CHAPTER.states(
    "(A.10), the set R",
    r"There is $R\subseteq S_t\setminus S_{t+1}$ with $|R|=|S_{t+1}\setminus(S_t\cup"
    r" S^*)|$, for every $t$ from 0.",
    kind="equation",
    found="No such R at t = 0, where β⁰ = 0 has no support; any s places around it will do.",
    printed=Case("S_0 = supp(0)", padded=False),
    corrected=Case("S_0 any s places", padded=True),
    mutant=Case("S_0 any s − 1 places", padded=True, missing=1),
    by="execution",
    severity="harmless",
    wrong=(
        "The argument needs |S_t| = s. β⁰ = 0 has empty support, so S_0 without S_1 is empty while"
        " S_1 has s − s* places outside S*. Taking for S_t any s places that hold the support"
        " repairs it."
    ),
    uses=("Algorithm 4.2",),
    expected=Status.CORRECTED,
)
def exchange(rng: Rng, *, padded: bool, missing: int = 0) -> Result:
    """After (A.10): has S_t without S_{t+1} a subset as large as S_{t+1} without S_t and S*?

    At t = 0, where beta = 0. S_0 is its support (empty), or any s - missing places that hold it.
    """
    least = math.inf
    for step in small_steps(rng, 50):
        S_next = peel(ETA / step.gamma * step.h * step.middle, step.noise)
        true = np.flatnonzero(step.best)
        S_0 = np.arange(len(S_next) - missing) if padded else np.array([], dtype=int)
        room = len(np.setdiff1d(S_0, S_next))
        least = min(least, room - len(np.setdiff1d(S_next, np.union1d(S_0, true))))
    return result(least >= 0, least_room_minus_need=int(least))


@CHAPTER.states(
    "(A.10), second use of Lemma 3.4",
    r"$\|v_R\|^2-\|\tilde\beta_{I_t\setminus(S_t\cup S^*)}\|^2\le\frac1c(1+\frac1c)"
    r"\|\tilde\beta_{I_t\setminus(S_t\cup S^*)}\|^2+cW$.",
    kind="equation",
    found="The noise of the second use is dropped: cW must be (c + 1 + 1/c)W.",
    printed=Case("cW", share=Fraction(0)),
    corrected=Case("(c + 1 + 1/c)W", share=Fraction(1)),
    mutant=Case("(c + .23(1 + 1/c))W", share=Fraction(23, 100)),
    by="exact",
    severity="harmless",
    wrong=(
        "Lemma 3.4 is applied twice and its noise counted once; the inequality then fails by the"
        " factor 1 + 1/(c³ + c² + c). The constant is hidden in c₃."
    ),
    uses=("Algorithm 3.2",),
    proof_uses=("Lemma 3.4",),
    expected=Status.CORRECTED,
)
def swapped_mass(*, share: Fraction) -> Result:
    """After (A.10): is |v_R|^2 <= (1 + 1/c + 1/c^2)|v_R'|^2 + (c + share (1 + 1/c)) W?

    Peeling allows |v_j| = |v_k| + 2|w|_inf, W = 4|w|_inf^2; the largest ratio of (x + 2w)^2 to
    a x^2 + 4 b w^2 is 1/a + 1/b. So b = c + 1/(1 + c) is the least that will do.
    """
    ratios = []
    for c in map(Fraction, ("3/2", "2", "5", "100")):
        a = 1 + 1 / c + 1 / c**2
        ratios.append(1 / a + 1 / (c + share * (1 + 1 / c)))
    return result(max(ratios) <= 1, largest_ratio=float(max(ratios)), at_c_100=float(ratios[-1]))


@CHAPTER.states(
    "(A.10), expansion of the square",
    r"$\frac\gamma2\|\hat\beta-\beta^t+\frac\eta\gamma g\|^2=\eta\langle\hat\beta-\beta^t,"
    r"g\rangle+\frac\gamma2\|\hat\beta-\beta^t\|^2+\frac{\eta^2}{2c\gamma}\|g\|^2$.",
    kind="equation",
    found="The term is η²/2γ, not η²/2cγ; two displays later the c is gone again.",
    printed=Case("η²/2cγ", divided=True),
    corrected=Case("η²/2γ", divided=False),
    mutant=Case("η²/γ", divided=False, times=2),
    by="symbolic",
    severity="harmless",
    wrong="A c > 1 has come into the denominator. What follows uses η²/2γ.",
    expected=Status.CORRECTED,
)
def expansion(*, divided: bool, times: int = 1) -> Result:
    """After (A.10): (gamma/2)|D + (eta/gamma) g|^2 = eta <D, g> + (gamma/2)|D|^2 + x |g|^2?"""
    import sympy as sp

    eta, gamma, c = sp.symbols("eta gamma c", positive=True)
    D, g = sp.symbols("D g", real=True)
    x = times * eta**2 / (2 * gamma) / (c if divided else 1)
    left = gamma / 2 * (D + eta / gamma * g) ** 2
    difference = sp.factor(left - eta * D * g - gamma / 2 * D**2 - x * g**2)
    return result(difference == 0, left_minus_right=str(difference))
