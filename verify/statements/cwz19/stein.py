"""CWZ19 B.2: Stein's lemma and the top entries of a truncated normal vector."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import mpmath
import numpy as np
from scipy import stats

from verify.proofs.entry import Case, Chapter, Result, Status, result
from verify.statements.cwz19.top_entries import TopEntries

CHAPTER = Chapter("CWZ19")

# --- Lemma B.1 -----------------------------------------------------------------------------------


Function = Callable[[mpmath.mpf], mpmath.mpf]
Density = tuple[Function, float]
"""A density up to its mass, and where its support ends."""
SMOOTH: list[Density] = [
    (lambda z: mpmath.exp(-(z**2) / 2), math.inf),
    (lambda z: 1 / (1 + z**2) ** 4, math.inf),
    (lambda z: mpmath.sech(z) ** 2, math.inf),
    (lambda z: mpmath.cos(mpmath.pi * z / 2) ** 2, 1.0),
]
CUT: list[Density] = [(lambda z: mpmath.exp(-(z**2) / 2), 1.0)]
FUNCTIONS: list[Function] = [
    lambda z: z,
    lambda z: z**3 - z,
    lambda z: mpmath.sin(3 * z) + z / 2,
]


@CHAPTER.states(
    "Lemma B.1",
    r"(Stein) For a continuously differentiable density $p$ and differentiable $h$ with"
    r" $E|h'(Z)|<\infty$: $Eh'(Z)=E[-h(Z)p'(Z)/p(Z)]$.",
    kind="lemma",
    found="True of smooth densities; the paper applies it to one that is cut off at ±1.",
    by="quadrature",
    expected=Status.HOLDS,
    slow=True,
    printed=Case("normal, Student, logistic, cosine", densities=SMOOTH),
    mutant=Case("normal cut off at ±1, as the proofs use it", densities=CUT),
    code=("minimax.methods.van_trees.van_trees",),
)
def stein(densities: list[Density]) -> Result:
    """Is E h'(Z) = -E h(Z) p'(Z)/p(Z), to 10 digits, for these densities and three h?"""
    worst = 0.0
    for (p, end), h in itertools.product(densities, FUNCTIONS):
        reach = mpmath.inf if math.isinf(end) else end
        cuts = [-reach, 0, reach]
        mass = mpmath.quad(p, cuts)
        left = mpmath.quad(lambda z, h=h, p=p: mpmath.diff(h, z) * p(z), cuts) / mass
        right = -mpmath.quad(lambda z, h=h, p=p: h(z) * mpmath.diff(p, z), cuts) / mass
        worst = max(worst, float(abs(left - right)))
    return result(worst < 1e-8, largest_difference=worst)


@CHAPTER.states(
    "Lemma B.1, integrability",
    r"Under $E|h'(Z)|<\infty$ alone the expectation $E[h(Z)p'(Z)/p(Z)]$ exists.",
    kind="lemma",
    found="E|h'| < ∞ does not make the right side exist: h = 1 and a density of spikes.",
    by="exact",
    uses=("Lemma B.1",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("spikes of height 1", heights=0),
    corrected=Case("with E|h p'/p| < ∞ too: heights 1/k²", heights=2),
    mutant=Case("heights 1/k", heights=1),
    wrong=(
        "A smooth density may have spikes of height 1 at 1, 2, 3, … with masses 2^−k. For"
        " h = 1, E|h'| = 0 but ∫|p'| = ∞. With E|h p'/p| < ∞ added the lemma is true, because"
        " then h p has limits at ±∞, and they must be 0."
    ),
)
def spikes(*, heights: int) -> Result:
    """Does E|h p'/p| exist for h = 1 and p a sum of smooth spikes at 1, 2, ...?

    Spike k has height k^-heights and mass 2^-k, so p is continuously differentiable and E|h'| = 0;
    E|h p'/p| = int|p'| is twice the sum of the heights, whose convergence is decided symbolically.
    """
    import sympy as sp

    k = sp.Symbol("k", positive=True, integer=True)
    finite = sp.Sum(k ** -sp.Integer(heights), (k, 1, sp.oo)).is_convergent()
    first, later = (
        2 * float(np.sum(np.arange(low + 1.0, high + 1.0) ** -heights))
        for low, high in ((0, 10**3), (10**3, 10**6))
    )
    return result(
        finite == sp.true, variation_in_a_thousand_spikes=first, in_the_rest_of_a_million=later
    )


# --- The top of d truncated normals --------------------------------------------------------------


@CHAPTER.states(
    "Section B.2, order statistic",
    r"For $Y=|\nu|_{(d-s+1)}$: $P(Y>t)=1-P(\sum_j1(|\nu_j|>t)\le s)$.",
    kind="fact",
    found="The s-th largest exceeds t unless at most s − 1 entries do, not s.",
    by="exact",
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("at most s", at_most=1),
    corrected=Case("at most s − 1", at_most=0),
    mutant=Case("at most s − 2", at_most=-1),
    wrong=(
        "If exactly s entries exceed t, so does the s-th largest. The printed right side is"
        " smaller than the truth, so the bound drawn from it stands."
    ),
)
def order_statistic(*, at_most: int) -> Result:
    """Is P(the s-th largest > t) = 1 - P(at most s - 1 + `at_most` exceed t)? By enumeration."""
    worst = 0.0
    for d, p in itertools.product((3, 6), (0.1, 0.4)):
        for s in range(1, d):
            truth = sum(
                p ** sum(above) * (1 - p) ** (d - sum(above))
                for above in itertools.product((0, 1), repeat=d)
                if sorted(above)[d - s] == 1
            )
            stated = 1 - float(stats.binom.cdf(s - 1 + at_most, d, p))
            worst = max(worst, abs(truth - stated))
    return result(worst < 1e-12, largest_difference=worst)


@CHAPTER.states(
    "Mills ratio",
    r"$x^{-1}e^{-x^2/2}\le P(|Z|>x)\le e^{-x^2/2}$ for $x\ge\sqrt2$, $Z$ standard normal.",
    kind="fact",
    found="The lower bound misses √(2/π): at x = 2 it says .0677 and the truth is .0455.",
    by="quadrature",
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("as printed", corrected=False),
    corrected=Case("√(2/π) x/(1 + x²) for 1/x", corrected=True),
    mutant=Case("corrected, lower bound times 1.1", corrected=True, factor=1.1),
    wrong=(
        "Mills' ratio is P(|Z| > x) ≥ √(2/π) (x/(1 + x²)) e^{−x²/2}, and √(2/π)/x is an upper"
        " bound. The conclusion drawn from it survives: see 'Section B.2, top entries'."
    ),
    code=("attacks.sparse_mean.TopNormalPrior",),
)
def mills(*, corrected: bool, factor: float = 1.0) -> Result:
    """Is P(|Z| > x) at least the stated function, and at most e^{-x^2/2}, for x >= sqrt 2?"""
    x = np.concatenate([np.linspace(math.sqrt(2), 12, 500), [2.0]])
    truth = 2 * stats.norm.sf(x)
    lower = np.exp(-(x**2) / 2) / x
    if corrected:
        lower = math.sqrt(2 / math.pi) * x / (1 + x**2) * np.exp(-(x**2) / 2)
    ratio = factor * lower / truth
    return result(
        ratio.max() <= 1 and np.all(truth <= np.exp(-(x**2) / 2)),
        largest_stated_over_true=float(ratio.max()),
        stated_at_x_2=factor * float(lower[-1]),
        true_at_x_2=float(truth[-1]),
    )


@CHAPTER.states(
    "Section B.2, top entries",
    r"As long as $4s/d<1/2$: $P(|\tilde\nu_j|>1/2)\ge4s/d$, hence $P(|\nu_j|>1/2)>2s/d$,"
    r" and $cs<E\sum_{j\in S}\nu_j^2<s$.",
    kind="fact",
    found="P(|ν_j| > 1/2) > 2s/d is true; the way there fails at 4s/d near 1/2.",
    by="quadrature",
    proof_uses=("Mills ratio", "Binomial tail", "Section B.2, order statistic"),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("the step through 4s/d", step=True),
    corrected=Case("the conclusion", step=False),
    mutant=Case("with 3s/d", step=False, multiple=3.0),
    wrong=(
        "At d = 8s, γ² = .36 and P(|normal| > 1/2) = .41 < .5 = 4s/d: Mills' ratio without its"
        " constant hides it. P(|ν_j| > 1/2) = .34 > .25 all the same, and where s = o(d) the"
        " step is true for large d."
    ),
    code=("attacks.sparse_mean.TopNormalPrior",),
)
def top_half(*, step: bool, multiple: float = 2.0) -> Result:
    """Is P(|nu_j| > 1/2) > `multiple` s/d for all 4s/d < 1/2, and E sum nu_j^2 of order s?

    With `step`, the printed way there: P(|normal| > 1/2) >= 4s/d.
    """
    ratios, sums = [], []
    for s, over in itertools.product((1, 10, 100), (8.01, 9, 12, 30, 300, 10**5)):
        top = TopEntries(math.ceil(over * s), s)
        share = s / top.d
        above = float(top.exceeds(np.array(0.5)))
        if step:
            above = 2 * float(stats.norm.sf(0.5 / top.gamma))
        ratios.append(above / (share * (4 if step else multiple)))
        sums.append(top.signal() / s)
    return result(
        min(ratios) > 1 and min(sums) > 0.066 and max(sums) < 1,
        least_chance_over_stated=min(ratios),
        least_signal_over_s=min(sums),
        largest=max(sums),
    )


@CHAPTER.states(
    "Binomial tail",
    r"For $N\sim\mathrm{Bin}(d,2s/d)$: $P(N\le s)\le\exp[-d\,\mathrm{kl}(s/d,2s/d)]="
    r"2^s(1-\frac s{d-s})^{d-s}<(2/e)^s$.",
    kind="fact",
    found="All three links hold for s from 1 to 100 and d from 8.1 s to 10⁶ s.",
    by="exact",
    expected=Status.HOLDS,
    printed=Case("(2/e)^s", rate=1.0),
    mutant=Case("(2/e)^{2s}", rate=2.0),
)
def binomial_tail(*, rate: float) -> Result:
    """Is P(Bin(d, 2s/d) <= s) <= Chernoff's bound = 2^s (1 - s/(d-s))^(d-s) < (2/e)^(`rate` s)?"""
    worst, links = -math.inf, True
    for s, multiple in itertools.product((1, 2, 5, 20, 100), (8.1, 10, 30, 1000, 10**6)):
        d = math.ceil(multiple * s)
        q = s / d
        exponent = q * math.log(0.5) + (1 - q) * math.log((1 - q) / (1 - 2 * q))
        product = s * math.log(2) + (d - s) * math.log1p(-s / (d - s))
        links = links and math.isclose(-d * exponent, product, rel_tol=1e-9)
        tail = float(stats.binom.logcdf(s, d, 2 * q))
        links = links and tail <= product + 1e-12
        worst = max(worst, product / s - rate * (math.log(2) - 1))
    return result(
        links and worst < 0,
        chain_holds=links,
        largest_log_of_product_less_claim_over_s=worst,
    )
