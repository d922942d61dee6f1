"""CWZ19 appendix B: Stein's lemma, the privacy inequality, and the top of d truncated normals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from attacks.sparse_mean import lemma_3_2_counterexample
from attacks.sparse_regression import RegressionCounterexample, lemma_4_3_counterexample
from verify.ledger.cwz19.top_entries import TopEntries
from verify.ledger.entry import ALPHA, Entry, Form, Result, Status, result

Array = NDArray[np.float64]


# --- Lemma B.1 -----------------------------------------------------------------------------------

Density = tuple[Callable[[Any], Any], float]
"""A density up to its mass, and where its support ends."""
SMOOTH: list[Density] = [
    (lambda z: mpmath.exp(-(z**2) / 2), math.inf),
    (lambda z: 1 / (1 + z**2) ** 4, math.inf),
    (lambda z: mpmath.sech(z) ** 2, math.inf),
    (lambda z: mpmath.cos(mpmath.pi * z / 2) ** 2, 1.0),
]
CUT: list[Density] = [(lambda z: mpmath.exp(-(z**2) / 2), 1.0)]
FUNCTIONS: list[Callable[[Any], Any]] = [
    lambda z: z,
    lambda z: z**3 - z,
    lambda z: mpmath.sin(3 * z) + z / 2,
]


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


def spikes(*, heights: float) -> Result:
    """Does E|h p'/p| exist for h = 1 and p a sum of smooth spikes at 1, 2, ...?

    Spike k has height k^-heights and mass 2^-k, so p is continuously differentiable and E|h'| = 0;
    E|h p'/p| = int|p'| is twice the sum of the heights, here over the first 10^6 and the rest by
    the integral.
    """
    k = np.arange(1, 10**6 + 1)
    first = 2 * float(np.sum(k**-heights))
    rest = 2 * 1e6 ** (1 - heights) / (heights - 1) if heights > 1 else math.inf
    return result(math.isfinite(first + rest), first_million_spikes=first, rest=rest)


# --- Lemma B.2 -----------------------------------------------------------------------------------

SCORES = np.concatenate([-np.geomspace(0.1, 30, 12)[::-1], [0.0], np.geomspace(0.1, 30, 12)])
BUDGETS = list(itertools.product((0.01, 0.3, 0.99), (1e-4, 0.1), (0.5, 1.0, 5.0)))


def worst_gap(
    epsilon: float, delta: float, T: float, *, tail: bool, slope: float, spread: str
) -> float:
    r"""Largest E A - right side of Lemma B.2 over all (eps, delta)-close laws of A and A'.

    A linear program over laws p, q on `SCORES` and their excesses u >= p - e^eps q, v >= q -
    e^eps p of mass at most delta. `tail`: with the integral of P(A'^- > t) over t > T. `spread`:
    E|A'| or E A' next to `slope` eps.
    """
    a, k = SCORES, len(SCORES)
    size = np.abs(a) if spread == "E|A'|" else a
    p_gain = a - np.maximum(np.abs(a) - T, 0)
    q_gain = -a - slope * epsilon * size - (np.maximum(-a - T, 0) if tail else 0)
    eye, zero, e = np.eye(k), np.zeros((k, k)), math.exp(epsilon)
    upper = np.block([[eye, -e * eye, -eye, zero], [-e * eye, eye, zero, -eye]])
    masses = np.repeat(np.eye(4), k, axis=1)
    solved = optimize.linprog(
        -np.concatenate([p_gain, q_gain, np.zeros(2 * k)]),
        A_ub=np.vstack([upper, masses[2:]]),
        b_ub=np.concatenate([np.zeros(2 * k), [delta, delta]]),
        A_eq=masses[:2],
        b_eq=[1.0, 1.0],
        method="highs",
    )
    return float(-solved.fun) - 2 * delta * T


def lemma_b_2(*, tail: bool, slope: float = 2.0, spread: str = "E|A'|") -> Result:
    """Is the inequality true of every pair of close laws on a grid of scores and budgets?"""
    gaps = {place: worst_gap(*place, tail=tail, slope=slope, spread=spread) for place in BUDGETS}
    worst = max(gaps, key=lambda place: gaps[place])
    return result(
        gaps[worst] <= 1e-7,
        largest_left_minus_right=gaps[worst],
        at_epsilon=worst[0],
        delta=worst[1],
        T=worst[2],
    )


def leaky_release(*, tail: float) -> Result:
    """(B.3) for a mechanism: M(x) = x with chance .1, else nothing; (0, .1)-private.

    x is uniform on 1000 values. The attack scores 1 for nothing or the record itself and -10 for
    another record. So A = 1, and A' = -10 with chance .0999. epsilon = .001 and T = 1; `tail`
    multiplies the missing integral.
    """
    values, delta, epsilon, T = 1000, 0.1, 1e-3, 1.0
    miss = delta * (1 - 1 / values)
    member, outsider, outsider_abs = 1.0, 1 - 11 * miss, 1 + 9 * miss
    right = outsider + 2 * epsilon * outsider_abs + 2 * delta * T
    right += max(member - T, 0.0) + tail * miss * (10 - T)  # the tails of A and of A'
    return result(member <= right, mean_of_A=member, right_side=right)


def exponential(*, largest: float) -> Result:
    """Is e^eps - 1 <= 2 eps and 1 - e^-eps <= 2 eps for 0 < eps < `largest`?"""
    eps = np.linspace(1e-6, largest, 20_001)
    ratio = np.expm1(eps) / (2 * eps)
    turn = float(optimize.brentq(lambda x: math.expm1(x) - 2 * x, 0.5, 2))
    return result(ratio.max() <= 1, largest_ratio=float(ratio.max()), valid_up_to=turn)


# --- The top of d truncated normals ---------------------------------------------------------------


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


def selection(*, selected: bool, scale: float = 1.0) -> Result:
    r"""(B.1) for the sample mean, exactly: sum_i E A_i = sigma^2 s and risk sigma^2 d/n.

    sigma = 1 and n = 10^6 d. `selected` off: S fixed beforehand. `scale` multiplies the right side.
    """
    found = {}
    for d in (1000, 10**6):
        top = TopEntries(d, 10)
        signal = top.signal(selected=selected)
        found[d] = scale * (signal - math.sqrt(1e-6 * signal)) / top.gamma**2
    return result(
        max(found.values()) <= 10,
        left_side=10.0,
        right_side_at_d_1000=found[1000],
        at_d_a_million=found[10**6],
    )


def revealed(*, selected: bool, scale: float = 1.0) -> Result:
    r"""(B.5) for M = (s/n) sum_i y_i x_i, which is unbiased on S and 0 where x is.

    The rows are signs/sqrt(s) on S and 0 elsewhere, sigma = 1, n = 10^6 s^2. sum_i E A_i =
    sigma^2 s; E|M - beta|^2 = ((s - 1)|beta|^2 + s^2 sigma^2)/n.
    """
    s, found = 10, {}
    for d in (1000, 10**6):
        top = TopEntries(d, s)
        signal = top.signal(selected=selected) / s
        risk = ((s - 1) * signal + s**2) / (1e6 * s**2)
        found[d] = scale * s / top.gamma**2 * (signal - math.sqrt(risk * signal))
    return result(
        max(found.values()) <= s,
        left_side=float(s),
        right_side_at_d_1000=found[1000],
        at_d_a_million=found[10**6],
    )


def indicator(*, kept: bool, scale: float = 1.0) -> Result:
    """Is sum_j E(-nu_j pi'/pi), with 1(j in S) if `kept`, equal to E sum_S nu_j^2/gamma^2?"""
    top = TopEntries(1000, 10)
    whole = top.signal() / top.gamma**2
    t = top.nodes
    score = np.gradient(np.log(top.density(t)), t)
    summed = top.mean_over(-t * score)
    if not kept:
        summed = top.mean_over(-t * score, selected=False) * top.d / top.s
    return result(
        math.isclose(scale * summed, whole, rel_tol=1e-3), summed=scale * summed, stated=whole
    )


def growth(
    sums: Callable[[int], tuple[float, float]], sizes: tuple[int, int], *, power: float
) -> Result:
    """Does the members' sum grow from one d to the other by at least (ratio of log d)^power / 1.5?

    `sums` gives an interval for the sum.
    """
    (low, high), (first, last) = sizes, (sums(sizes[0]), sums(sizes[1]))
    needed = (math.log(high) / math.log(low)) ** power / 1.5
    least, most = last[0] / first[1], last[1] / first[0]
    return result(
        least >= needed,
        log_d_grows_by=math.log(high) / math.log(low),
        sum_grows_at_least_by=least,
        at_most_by=most,
        asked=needed,
    )


@lru_cache
def thresholded_sum(d: int) -> tuple[float, float]:
    """Interval of sum_i E A_i for the mean cut off at 1/4, given mu by Stein's formula."""
    found = lemma_3_2_counterexample(d, trials=40, confidence=1 - ALPHA).stein
    return found.low, found.high


@lru_cache
def least_squares(d: int) -> RegressionCounterexample:
    """Least squares on the columns that are not zero, s = 10."""
    return lemma_4_3_counterexample(d, n=400, trials=400, confidence=1 - ALPHA)


def least_squares_sum(d: int) -> tuple[float, float]:
    """Interval of its sum_i E A_i."""
    found = least_squares(d).member_sum
    return found.low, found.high


ENTRIES = (
    Entry(
        id="CWZ19:Lemma B.1",
        kind="lemma",
        summary="True of smooth densities; the paper applies it to one that is cut off at ±1.",
        statement=(
            r"(Stein) For a continuously differentiable density $p$ and differentiable $h$ with"
            r" $E|h'(Z)|<\infty$: $Eh'(Z)=E[-h(Z)p'(Z)/p(Z)]$."
        ),
        expected=Status.HOLDS,
        method="quadrature",
        printed=Form("normal, Student, logistic, cosine", lambda rng: stein(SMOOTH)),
        mutant=Form("normal cut off at ±1, as the proofs use it", lambda rng: stein(CUT)),
        code=("minimax.van_trees.van_trees",),
        slow=True,
    ),
    Entry(
        id="CWZ19:Lemma B.1, integrability",
        kind="lemma",
        summary="E|h'| < ∞ does not make the right side exist: h = 1 and a density of spikes.",
        statement=(r"Under $E|h'(Z)|<\infty$ alone the expectation $E[h(Z)p'(Z)/p(Z)]$ exists."),
        expected=Status.CORRECTED,
        method="exact",
        severity="harmless",
        printed=Form("spikes of height 1", lambda rng: spikes(heights=0.0)),
        corrected=Form("with E|h p'/p| < ∞ too: heights 1/k²", lambda rng: spikes(heights=2.0)),
        mutant=Form("heights 1/k", lambda rng: spikes(heights=1.0)),
        wrong=(
            "A smooth density may have spikes of height 1 at 1, 2, 3, … with masses 2^−k. For"
            " h = 1, E|h'| = 0 but ∫|p'| = ∞. With E|h p'/p| < ∞ added the lemma is true, because"
            " then h p has limits at ±∞, and they must be 0."
        ),
    ),
    Entry(
        id="CWZ19:(B.1)",
        kind="equation",
        summary="False: 10 against 81 (d = 10³) and 213 (d = 10⁶) for the sample mean, s = 10.",
        statement=(
            r"$E_\pi\sum_iEA_i\ge\frac{\sigma^2}{\gamma^2}\{E\sum_{j\in S}\nu_j^2-"
            r"\sqrt{E\|M-\mu\|^2}\sqrt{E\sum_{j\in S}\nu_j^2}\}$, $S$ the $s$ largest of $|\nu_j|$."
        ),
        expected=Status.REFUTED,
        method="quadrature",
        severity="breaks a claim",
        printed=Form("S chosen by ν", lambda rng: selection(selected=True)),
        relaxed=Form("S fixed beforehand", lambda rng: selection(selected=False)),
        mutant=Form("that, right side doubled", lambda rng: selection(selected=False, scale=2.0)),
        wrong=(
            "Stein's lemma is applied to g_j(ν)1(j ∈ S), which jumps where ν_j enters S, and the"
            " jump is dropped; it is the whole log d. The sample mean has Σ E A_i = σ²s under every"
            " prior."
        ),
        code=("attacks.sparse_mean.lemma_3_2_counterexample",),
    ),
    Entry(
        id="CWZ19:Mills ratio",
        kind="fact",
        summary="The lower bound misses √(2/π): at x = 2 it says .0677 and the truth is .0455.",
        statement=(
            r"$x^{-1}e^{-x^2/2}\le P(|Z|>x)\le e^{-x^2/2}$ for $x\ge\sqrt2$, $Z$ standard normal."
        ),
        expected=Status.CORRECTED,
        method="quadrature",
        severity="harmless",
        printed=Form("as printed", lambda rng: mills(corrected=False)),
        corrected=Form("√(2/π) x/(1 + x²) for 1/x", lambda rng: mills(corrected=True)),
        mutant=Form(
            "corrected, lower bound doubled", lambda rng: mills(corrected=True, factor=2.0)
        ),
        wrong=(
            "Mills' ratio is P(|Z| > x) ≥ √(2/π) (x/(1 + x²)) e^{−x²/2}, and √(2/π)/x is an upper"
            " bound. The conclusion drawn from it survives: see 'Section B.2, top entries'."
        ),
        code=("attacks.sparse_mean.TopNormalPrior",),
    ),
    Entry(
        id="CWZ19:Section B.2, top entries",
        kind="fact",
        summary="P(|ν_j| > 1/2) > 2s/d is true; the way there fails at 4s/d near 1/2.",
        statement=(
            r"As long as $4s/d<1/2$: $P(|\tilde\nu_j|>1/2)\ge4s/d$, hence $P(|\nu_j|>1/2)>2s/d$,"
            r" and $cs<E\sum_{j\in S}\nu_j^2<s$."
        ),
        expected=Status.CORRECTED,
        method="quadrature",
        severity="harmless",
        printed=Form("the step through 4s/d", lambda rng: top_half(step=True)),
        corrected=Form("the conclusion", lambda rng: top_half(step=False)),
        mutant=Form("with 4s/d", lambda rng: top_half(step=False, multiple=4.0)),
        wrong=(
            "At d = 8s, γ² = .36 and P(|normal| > 1/2) = .41 < .5 = 4s/d: Mills' ratio without its"
            " constant hides it. P(|ν_j| > 1/2) = .34 > .25 all the same."
        ),
        code=("attacks.sparse_mean.TopNormalPrior",),
    ),
    Entry(
        id="CWZ19:Section B.2, order statistic",
        kind="fact",
        summary="The s-th largest exceeds t unless at most s − 1 entries do, not s.",
        statement=(r"For $Y=|\nu|_{(d-s+1)}$: $P(Y>t)=1-P(\sum_j1(|\nu_j|>t)\le s)$."),
        expected=Status.CORRECTED,
        method="exact",
        severity="harmless",
        printed=Form("at most s", lambda rng: order_statistic(at_most=1)),
        corrected=Form("at most s − 1", lambda rng: order_statistic(at_most=0)),
        mutant=Form("at most s − 2", lambda rng: order_statistic(at_most=-1)),
        wrong=(
            "If exactly s entries exceed t, so does the s-th largest. The printed right side is"
            " smaller than the truth, so the bound drawn from it stands."
        ),
    ),
    Entry(
        id="CWZ19:Binomial tail",
        kind="fact",
        summary="All three links hold for s from 1 to 100 and d from 8.1 s to 10⁶ s.",
        statement=(
            r"For $N\sim\mathrm{Bin}(d,2s/d)$: $P(N\le s)\le\exp[-d\,\mathrm{kl}(s/d,2s/d)]="
            r"2^s(1-\frac s{d-s})^{d-s}<(2/e)^s$."
        ),
        expected=Status.HOLDS,
        method="exact",
        printed=Form("(2/e)^s", lambda rng: binomial_tail(rate=1.0)),
        mutant=Form("(2/e)^{2s}", lambda rng: binomial_tail(rate=2.0)),
    ),
    Entry(
        id="CWZ19:(B.2)",
        kind="equation",
        summary="The sum of a thresholded mean stays at σ²s while log d grows by 5/3.",
        statement=(
            r"$\sum_iE_\pi E A_{\mu,s}(x_i,M(X))\gtrsim\sigma^2s\log d$ for every $M$ of vanishing"
            r" risk."
        ),
        expected=Status.REFUTED,
        method="simulation",
        severity="breaks a claim",
        printed=Form(
            "grows like log d", lambda rng: growth(thresholded_sum, (1000, 100_000), power=1.0)
        ),
        relaxed=Form(
            "does not fall", lambda rng: growth(thresholded_sum, (1000, 100_000), power=0.0)
        ),
        wrong=(
            "It rests on (B.1). The mean cut off at 1/4 has vanishing risk and Σ E A_i = σ²s (1 +"
            " o(1)) for every d."
        ),
        code=("attacks.sparse_mean.lemma_3_2_counterexample",),
        slow=True,
    ),
    Entry(
        id="CWZ19:Lemma B.2",
        kind="lemma",
        summary="The tail of A' is missing: over close pairs of laws the bound is off by 2.9.",
        statement=(
            r"For $(\epsilon,\delta)$-private $M$, $0<\epsilon<1$, and $T>0$:"
            r" $EA_i\le EA'_i+2\epsilon E|A'_i|+2\delta T+\int_T^\infty P(|A_i|>t)dt$."
        ),
        expected=Status.CORRECTED,
        method="optimisation",
        severity="constants",
        printed=Form("as printed", lambda rng: lemma_b_2(tail=False)),
        corrected=Form("with ∫ P(A'⁻ > t) over t > T", lambda rng: lemma_b_2(tail=True)),
        mutant=Form("corrected, ε for 2ε", lambda rng: lemma_b_2(tail=True, slope=1.0)),
        wrong=(
            "The last step for the negative part replaces −∫_0^T P(A'⁻ > t) by −∫_0^∞: this drops"
            " ∫_T^∞ P(A'⁻ > t)dt. A moment bound needs neither T nor tails:"
            " E A ≤ sinh(ε) E|A'| + √δ (…)."
        ),
        code=("minimax.tracing.moment_bound",),
    ),
    Entry(
        id="CWZ19:(B.3)",
        kind="equation",
        summary="A mechanism that leaks its record with chance .1 has E A = 1; the claim is .10.",
        statement=(
            r"$EA_i\le EA'_i+2\epsilon E|A'_i|+2\delta T+\int_T^\infty P(|A_i|>t)dt$ for every"
            r" $(\epsilon,\delta)$-private $M$, every attack and every $T>0$."
        ),
        expected=Status.CORRECTED,
        method="exact",
        severity="constants",
        printed=Form("as printed, T = 1", lambda rng: leaky_release(tail=0.0)),
        corrected=Form("with ∫ P(A'⁻ > t) over t > T", lambda rng: leaky_release(tail=1.0)),
        mutant=Form("with half of that", lambda rng: leaky_release(tail=0.5)),
        wrong=(
            "A = 1 always, A' = −10 with chance .1 and else 1. E A' = −.1, the tail of A is 0"
            " beyond T = 1, and the right side is .1; the missing integral is .9. (The last line of"
            " the proof also prints E|A_i| for E|A'_i|.)"
        ),
        code=("minimax.tracing.moment_bound",),
    ),
    Entry(
        id="CWZ19:Lemma B.2, 2 epsilon",
        kind="lemma",
        summary="e^ε − 1 ≤ 2ε up to ε = 1.256, so the lemma's ε < 1 is enough; sinh ε would do.",
        statement=r"$e^\epsilon-1\le2\epsilon$ and $1-e^{-\epsilon}\le2\epsilon$, $0<\epsilon<1$.",
        expected=Status.HOLDS,
        method="brute force",
        printed=Form("ε < 1", lambda rng: exponential(largest=1.0)),
        mutant=Form("ε < 1.3", lambda rng: exponential(largest=1.3)),
        code=("minimax.tracing.moment_bound",),
    ),
    Entry(
        id="CWZ19:Section B.4, E A'",
        kind="equation",
        summary="The proofs bound E A', which is 0; Lemma B.2 needs E|A'|, as the lemmas say.",
        statement=(
            r"The first parts of Lemmas 4.1 and 4.3 are proved as $EA'_i\le\sqrt{E(A'_i)^2}\le"
            r"\sigma\sqrt{E\|M-\beta\|^2_{\Sigma_x}}$ and used next to $2\epsilon$."
        ),
        expected=Status.CORRECTED,
        method="optimisation",
        severity="harmless",
        printed=Form(
            "Lemma B.2 (with its tail) and E A'", lambda rng: lemma_b_2(tail=True, spread="E A'")
        ),
        corrected=Form("E|A'|", lambda rng: lemma_b_2(tail=True)),
        wrong=(
            "A misprint: E A' = 0 is known already, and the inequality with E A' for E|A'| is"
            " false. Cauchy-Schwarz bounds E|A'| just as well."
        ),
        code=("attacks.regression.RegressionAttack",),
    ),
    Entry(
        id="CWZ19:(B.5)",
        kind="equation",
        summary="False: 10 against 81 (d = 10³) and 213 (d = 10⁶) for M = (s/n)X'y, s = 10.",
        statement=(
            r"$E_\pi\sum_iEA_i\ge\frac{\sigma^2s}{\gamma^2}\{E\sum_{j\in S}\beta_j^2-"
            r"\sqrt{E\|M-\beta\|^2}\sqrt{E\sum_{j\in S}\beta_j^2}\}$,"
            r" $\beta_j=\nu_j1(j\in S)/\sqrt s$."
        ),
        expected=Status.REFUTED,
        method="quadrature",
        severity="breaks a claim",
        printed=Form("S chosen by ν", lambda rng: revealed(selected=True)),
        relaxed=Form("S fixed beforehand", lambda rng: revealed(selected=False)),
        mutant=Form("that, right side doubled", lambda rng: revealed(selected=False, scale=2.0)),
        wrong=(
            "The jump of 1(j ∈ S) is dropped as in (B.1). Where x vanishes off S, (s/n) Σ y_i x_i"
            " is unbiased without being told S, so Σ E A_i = σ²s under every prior."
        ),
        code=("attacks.sparse_regression.lemma_4_3_counterexample",),
    ),
    Entry(
        id="CWZ19:Section B.6, indicator",
        kind="equation",
        summary="Without 1(j ∈ S) the terms before (B.5) add up to 995, with it to 81 as stated.",
        statement=(
            r"$\sum_jE(-\beta_j\pi_j'(\beta_j)/\pi_j(\beta_j))=\frac s{\gamma^2}E\sum_{j\in S}"
            r"\beta_j^2$ (the display before (B.5), which has no indicator)."
        ),
        expected=Status.CORRECTED,
        method="quadrature",
        severity="harmless",
        printed=Form("over all j", lambda rng: indicator(kept=False)),
        corrected=Form("with 1(j ∈ S)", lambda rng: indicator(kept=True)),
        mutant=Form("with it, halved", lambda rng: indicator(kept=True, scale=0.5)),
        wrong="The indicator of B.2 was left out in B.6; (B.5) itself sums over S.",
        code=("attacks.sparse_regression.TopRegressionPrior",),
    ),
    Entry(
        id="CWZ19:(B.6)",
        kind="equation",
        summary="The sum of least squares stays at σ²s while log d grows fourfold.",
        statement=(
            r"$\sum_iE_\pi E A_{\beta,s}((y_i,x_i),M(y,X))\gtrsim\sigma^2s\log d$ for every $M$ of"
            r" vanishing risk."
        ),
        expected=Status.REFUTED,
        method="simulation",
        severity="breaks a claim",
        printed=Form(
            "grows like log d", lambda rng: growth(least_squares_sum, (1000, 10**12), power=1.0)
        ),
        relaxed=Form(
            "does not fall", lambda rng: growth(least_squares_sum, (1000, 10**12), power=0.0)
        ),
        wrong=(
            "It rests on (B.5). Least squares on the columns that are not zero has Σ A_i = σ²χ²_s"
            " whatever β, the prior and d."
        ),
        code=("attacks.sparse_regression.lemma_4_3_counterexample",),
        slow=True,
    ),
)
