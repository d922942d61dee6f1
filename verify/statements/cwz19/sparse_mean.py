"""CWZ19 §3.4: peeling, and the algorithm for sparse means."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from estimators.core.accounting import delta_at
from estimators.core.mechanisms import peeling
from estimators.sparse_mean import SparseMean
from minimax.core.calibration import paper_peeling_scale, sparse_scales
from minimax.core.closeness import kl_pure
from minimax.core.privacy import Approximate, ZeroConcentrated
from minimax.problems.mean.upper import clip_bias
from minimax.problems.sparse_mean.lower import refuted_theorem_3_3
from minimax.problems.sparse_mean.problem import SparseMeanProblem
from minimax.problems.sparse_mean.upper import sparse_mean_upper
from verify.proofs.entry import ALPHA, Case, Chapter, Result, Status, result
from verify.rates.measure import interval

Array = NDArray[np.float64]
CHAPTER = Chapter("CWZ19")


# --- Algorithm 3.2 -------------------------------------------------------------------------------


@CHAPTER.states(
    "Algorithm 3.2",
    r"Peeling: $s$ times, append the largest $|v_j|+w_{ij}$ not yet taken,"
    r" $w_{ij}\sim\mathrm{Laplace}(2\lambda\sqrt{3s\log(1/\delta)}/\epsilon)$; release the"
    r" chosen $v_j$ with fresh noise of the same scale.",
    kind="algorithm",
    found="Run as printed: its first choice has the law that the printed noise scale gives.",
    by="simulation",
    expected=Status.HOLDS,
    printed=Case("the printed scale", share=1.0),
    mutant=Case("half of it", share=0.5),
    code=("estimators.core.mechanisms.peeling", "minimax.core.calibration.paper_peeling_scale"),
)
def first_choice(rng: np.random.Generator, *, share: float) -> Result:
    """How often peeling, run, prefers 1 to 0, against the law of Laplace noise at a scale b.

    P(1 + w_1 >= w_2) = 1 - (1 + 1/(2b)) e^{-1/b}/2 for independent Laplace(b). The noise is that
    of the algorithm for a sensitivity at which b = 1; the law is taken at share b. Without noise
    to speak of, the s largest come out in order.
    """
    epsilon, delta = 0.5, 1e-4
    sensitivity = 1 / paper_peeling_scale(1.0, 1, epsilon, delta)
    scale = paper_peeling_scale(sensitivity, 1, epsilon, delta)
    v = np.array([-1.0, 0.0])
    chosen = [
        peeling(v, 1, sensitivity=sensitivity, scale=scale, rng=rng)[0].support[0] == 0
        for _ in range(4000)
    ]
    b = share * scale
    law = 1 - (1 + 1 / (2 * b)) * math.exp(-1 / b) / 2
    found = interval(np.array(chosen, dtype=float), ALPHA, 0)
    quiet, _ = peeling(np.array([0.1, -3.0, 2.0]), 2, sensitivity=1.0, scale=1e-9, rng=rng)
    return result(
        found.ci_low <= law <= found.ci_high and list(quiet.support) == [1, 2],
        chance_by_the_law=law,
        frequency=found.risk,
        interval_from=found.ci_low,
        interval_to=found.ci_high,
    )


# --- Lemma 3.3 -----------------------------------------------------------------------------------


def _leaked(epsilon: float, delta: float, s: int, share: float) -> float:
    """A delta that the s released values alone need, neighbours lambda apart in each.

    `share` multiplies the noise.

    The test counts values on one side of the middle: each is there with chance 1 - e^{-e/2}/2
    under one data set and e^{-e/2}/2 under the other, e = lambda/scale.
    """
    e = 1 / (share * paper_peeling_scale(1.0, s, epsilon, delta))
    likely = 1 - math.exp(-e / 2) / 2
    counts = np.arange(s + 1)
    near = stats.binom.sf(counts - 1, s, likely)
    log_far = stats.binom.logsf(counts - 1, s, 1 - likely)
    return float(np.max(near - np.exp(np.minimum(epsilon + log_far, 700.0))))


def _advanced(epsilon: float, delta: float, s: int) -> float:
    """epsilon by advanced composition: s choices at 2e and s values at e, e = lambda/scale."""
    e = 1 / paper_peeling_scale(1.0, s, epsilon, delta)
    return float(math.sqrt(10 * s * math.log(1 / delta)) * e + s * (kl_pure(2 * e) + kl_pure(e)))


@CHAPTER.states(
    "Lemma 3.3",
    r"If $\lVert v(Z)-v(Z')\rVert_\infty<\lambda$ for adjacent data sets, peeling is"
    r" $(\epsilon,\delta)$-private; no range of $\epsilon,\delta$ is stated.",
    kind="lemma",
    found="Proved for ε ≤ .418 log(1/δ), which covers the theorems; false far outside.",
    by="optimisation",
    uses=("Algorithm 3.2", "Definition 1"),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("every ε (up to 100)", longest=100.0, most=math.inf),
    corrected=Case("ε ≤ .418 log(1/δ)", longest=10.0, most=0.418),
    mutant=Case("that with .4 of the noise", longest=10.0, most=0.418, share=0.4),
    wrong=(
        "The noise shrinks with log(1/δ) and 1/ε without end: for large ε the released values"
        " alone give more away. In the range ε < 1, δ < .09 the lemma is true, by zCDP: ρ ="
        " (5/24) ε²/log(1/δ). Advanced composition, which the constants suggest, ends earlier:"
        " it gives 1.086 at ε = 1, δ = .3, where peeling is still private."
    ),
    code=("estimators.core.mechanisms.peeling", "minimax.core.calibration.sparse_scales"),
)
def peeling_privacy(*, longest: float, most: float, share: float = 1.0) -> Result:
    """Is peeling (eps, delta)-private for eps <= longest and eps <= most log(1/delta)?

    Refuted by `_leaked`; proved by zCDP, rho = (5/2) s (lambda/scale)^2. `share` multiplies the
    noise.
    """
    grid = itertools.product(
        np.geomspace(0.01, longest, 12), (1e-12, 1e-3, 0.05, 0.3, 0.9), (1, 20, 1000)
    )
    inside = [(e, x, s) for e, x, s in grid if e <= most * math.log(1 / x)]
    ratio, epsilon, delta, s = max((_leaked(e, x, s, share) / x, e, x, s) for e, x, s in inside)
    if ratio <= 1:
        scales = [share * paper_peeling_scale(1.0, s, e, x) for e, x, s in inside]
        rho = [2.5 * s / b**2 for b, (*_, s) in zip(scales, inside, strict=True)]
        proved = [
            ZeroConcentrated(r).to_approximate(x).epsilon <= e
            for r, (e, x, _) in zip(rho, inside, strict=True)
        ]
        assert all(proved), "neither refuted nor proved"
    return result(
        ratio <= 1,
        largest_delta_of_a_test_over_stated=ratio,
        at_epsilon=float(epsilon),
        and_delta=delta,
        and_s=s,
        advanced_composition_at_epsilon_half_and_delta_4_in_10000=_advanced(0.5, 4e-4, 20),
        advanced_composition_at_epsilon_1_and_delta_three_tenths=_advanced(1.0, 0.3, 20),
    )


class GivenNoise:
    """Noise that is given, in place of a generator."""

    def __init__(self, rows: Iterable[Array]) -> None:
        self._rows = iter(rows)

    def laplace(self, scale: float, size: int | tuple[int, ...]) -> Array:
        return np.array(next(self._rows)[: int(np.prod(size))])


# --- Lemma 3.4 -----------------------------------------------------------------------------------


@CHAPTER.states(
    "Lemma 3.4",
    r"For $R_1\subseteq S$, $R_2\subseteq S^c$, $|R_1|=|R_2|$ and $c>0$: $\lVert"
    r" v_{R_2}\rVert_2^2\le(1+c)\lVert v_{R_1}\rVert_2^2+4(1+1/c)\sum_i\lVert"
    r" w_i\rVert_\infty^2$.",
    kind="lemma",
    found="Holds, with equality at v = (1, 3), c = 2; its proof has c and 1/c exchanged.",
    by="brute force",
    uses=("Algorithm 3.2",),
    expected=Status.HOLDS,
    printed=Case("factor 4", factor=4.0),
    mutant=Case("factor 3.9", factor=3.9),
    code=("estimators.core.mechanisms.peeling",),
)
def peeling_accuracy(rng: np.random.Generator, *, factor: float) -> Result:
    """|v_R2|^2 <= (1+c)|v_R1|^2 + factor (1+1/c) sum |w_i|_inf^2, on a grid of v and noise.

    R1 the smallest chosen, R2 the largest left out. Equality, with factor 4, at v = (1, 3),
    w = (1, -1), c = 2, where the two tie.
    """
    worst = 0.0
    cases = [(np.array([1.0, 3.0]), np.array([[1.0, -1.0]]))]
    for s in (1, 2):
        v = rng.integers(-4, 5, (1500, 4)).astype(float)
        w = rng.integers(-1, 2, (1500, s, 4)).astype(float)
        cases += list(zip(v, w, strict=True))
    for v, w in cases:
        s = len(w)
        noise = cast(np.random.Generator, GivenNoise(np.vstack([w, np.zeros_like(w[:1])])))
        found, _ = peeling(v, s, sensitivity=1.0, scale=1.0, rng=noise)
        chosen = np.zeros(len(v), dtype=bool)
        chosen[found.support] = True
        inside, outside = np.sort(v[chosen] ** 2), np.sort(v[~chosen] ** 2)[::-1]
        noisy = float(np.sum(np.max(np.abs(w), axis=1) ** 2))
        for k in range(1, min(s, len(outside)) + 1):
            left, first = float(outside[:k].sum()), float(inside[:k].sum())
            for c in (0.25, 0.5, 1.0, 2.0, 4.0):
                right = (1 + c) * first + factor * (1 + 1 / c) * noisy
                worst = max(worst, left / right if right else float(left > 0) * math.inf)
    return result(worst <= 1 + 1e-12, largest_left_over_right=worst)


# --- Algorithm 3.3 and Theorem 3.4 ---------------------------------------------------------------


@CHAPTER.states(
    "Algorithm 3.3",
    r"Clip the coordinates to $[-R,R]$, average, apply peeling with $\lambda=2R/n$:"
    r" $(\epsilon,\delta)$-private.",
    kind="algorithm",
    found="Private as printed where the theorems are: the ledger's δ is below a thousandth of it.",
    by="execution",
    uses=("Algorithm 3.2", "Definition 1"),
    proof_uses=("Lemma 3.3", "Section 3.2, sensitivity"),
    expected=Status.HOLDS,
    printed=Case("as printed", asked=1.0),
    mutant=Case("half the noise", asked=2.0),
    code=("estimators.sparse_mean.SparseMean",),
)
def release_privacy(*, asked: float) -> Result:
    """The ledger's delta of Algorithm 3.3, run at `asked` times epsilon, at epsilon itself."""
    ratios = []
    for epsilon, delta, s in ((0.5, 4e-4, 20), (0.9, 1e-5, 5), (0.1, 1e-8, 50)):
        fitted = SparseMean(
            privacy=Approximate(asked * epsilon, delta),
            s=s,
            R=1.0,
            method="peeling",
            calibration="paper",
            random_state=0,
        ).fit(np.zeros((8, 60)))
        assert np.count_nonzero(fitted.mean_) == s
        ratios.append(delta_at(fitted.ledger_, epsilon) / delta)
    return result(max(ratios) <= 1, largest_delta_over_stated=max(ratios))


K = 4.0


def _privacy_risk(n: float, s: float, log_d: float, log_term: float) -> float:
    """What the proven risk of Algorithm 3.3 has beyond its statistical part, where privacy rules.

    eps = 10^-6/n^(1/2): noise far above the sampling error.
    """
    epsilon = 1e-6 / math.sqrt(n)
    R = K * math.sqrt(math.log(n))
    problem = SparseMeanProblem(int(n), round(math.exp(log_d)), int(s))
    scales = sparse_scales(
        int(n),
        problem.s,
        R,
        Approximate(epsilon, math.exp(-log_term)),
        method="peeling",
        calibration="paper",
    )
    bound = sparse_mean_upper(problem, s=problem.s, R=R, scales=scales)
    return cast(float, bound.parts().privacy) * (n * epsilon) ** 2


@CHAPTER.states(
    "Theorem 3.4",
    r"With $R=K\sigma\sqrt{\log n}$ and $s\asymp s^*$, $s\ge s^*$, with high probability"
    r" $\lVert\hat\mu-\mu\rVert_2^2\lesssim\sigma^2\bigl(\frac{s^*\log d}n+\frac{(s^*\log"
    r" d)^2\log(1/\delta)\log n}{n^2\epsilon^2}\bigr)$.",
    kind="theorem",
    found="The risk proven in expectation has these exponents: s², log² d, log(1/δ), log n.",
    by="optimisation",
    uses=("Algorithm 3.3", "Section 3, sub-Gaussian"),
    proof_uses=(
        "Lemma 3.4",
        "Theorem 3.4, truncation",
        "(A.1)",
        "(A.2)",
        "(A.3)",
        "(A.4)",
        "Section A.3, maxima",
        "Lemma A.1",
    ),
    expected=Status.RATE,
    rate=True,
    printed=Case("log n", log_n_exponent=1.0),
    mutant=Case("log² n", log_n_exponent=2.0),
    code=(
        "minimax.problems.sparse_mean.upper.sparse_mean_upper",
        "estimators.sparse_mean.SparseMean.risk_bound",
    ),
)
def upper_rate(*, log_n_exponent: float) -> Result:
    """Are the proven risk's exponents in s, log d, log(1/delta) and log n those of the theorem?"""
    start: dict[str, float] = {"n": 1e4, "s": 10, "log_d": 20.0, "log_term": 20.0}
    steps = {
        "s": (160, 16.0, 2.0),
        "log_d": (40.0, 2.0, 2.0),
        "log_term": (320.0, 16.0, 1.0),
        "n": (1e16, 4.0, log_n_exponent),  # log n grows by 4
    }
    base = _privacy_risk(**start)
    slopes = {
        name: math.log(_privacy_risk(**{**start, name: value}) / base) / math.log(growth)
        for name, (value, growth, _) in steps.items()
    }
    return result(
        all(abs(slopes[name] - exponent) <= 0.15 for name, (*_, exponent) in steps.items()),
        exponent_of_s=slopes["s"],
        exponent_of_log_d=slopes["log_d"],
        exponent_of_log_1_over_delta=slopes["log_term"],
        exponent_of_log_n=slopes["n"],
    )


@CHAPTER.states(
    "Theorem 3.4, truncation",
    r"The proof replaces the clipped mean by $\bar X$ “by the choice of"
    r" $R=K\sigma\sqrt{\log n}$”, that is, none of the $nd$ entries exceeds $R$.",
    kind="theorem",
    found="For log d ≫ log n some entry is cut for sure; the clipped mean hardly moves, though.",
    by="brute force",
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("no entry is cut", entries=True),
    corrected=Case("the mean moves by less than σ/n", entries=False),
    mutant=Case("that at K = √2", entries=False, K=math.sqrt(2)),
    wrong=(
        "The largest of nd Gaussians is near σ√(2 log nd), above R once log d exceeds a"
        " multiple of log n (at n = 10⁸, log d = 10⁴, K = 10). What the proof needs is true all"
        " the same: clipped coordinates are sub-Gaussian about a mean within σ/n of μ."
    ),
    code=(
        "minimax.problems.mean.upper.clip_bias",
        "minimax.problems.sparse_mean.upper.clip_distance",
    ),
)
def truncation(*, entries: bool, K: float = 10.0) -> Result:
    """At R = K sqrt(log n), log d = sqrt(n): is no entry cut; is the mean hardly moved?

    With `entries`, the expected number of the n d entries that are cut must be below one;
    otherwise the clipping bias, times n, must be.
    """
    logs = []
    for n in (10**4, 10**6, 10**8):
        R = K * math.sqrt(math.log(n))
        tail = math.log(2) + float(special.log_ndtr(-R))
        cut = math.log(n) + math.sqrt(n) + tail
        moved = math.log(max(n * clip_bias(R, 1.0, 1.0), 1e-300))
        logs.append(cut if entries else moved)
    return result(max(logs) < 0, log_at_n_1e4=logs[0], log_at_n_1e8=logs[-1])


class Reused:
    """A generator whose last noise, of the value, is that which made the choice before."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._drawn: Array | None = None

    def laplace(self, scale: float, size: int | tuple[int, ...]) -> Array:
        if self._drawn is None:
            self._drawn = self._rng.laplace(scale=scale, size=size)
            return self._drawn.copy()
        return np.sort(self._drawn)[-int(np.prod(size)) :]


@CHAPTER.states(
    "Algorithm 3.2, fresh noise",
    r"The chosen $v_j$ are released with fresh noise $\tilde w_S$,"
    r" $\tilde w_j\sim\mathrm{Laplace}(2\lambda\sqrt{3s\log(1/\delta)}/\epsilon)$.",
    kind="algorithm",
    found="Run: the noise of a released value has mean 0 and mean size b; reused, it is .75 b up.",
    printed=Case("the mechanism's noise", reused=False),
    mutant=Case("the noise that chose the value", reused=True),
    by="simulation",
    code=("estimators.core.mechanisms.peeling",),
    uses=("Algorithm 3.2",),
    expected=Status.HOLDS,
)
def fresh_noise(rng: np.random.Generator, *, reused: bool) -> Result:
    """Is the noise of a released value centred, of mean size b, though the largest was chosen?

    v = (0, 0), s = 1. The noise that makes a coordinate the largest of two has mean .75 b. With
    `reused` the mechanism is given that noise again for the value.
    """
    epsilon, delta, errors = 0.5, 1e-4, []
    b = paper_peeling_scale(1.0, 1, epsilon, delta)
    for _ in range(8000):
        source = cast(np.random.Generator, Reused(rng)) if reused else rng
        found, _ = peeling(np.zeros(2), 1, sensitivity=1.0, scale=b, rng=source)
        errors.append(found.values[0] / b)
    mean = interval(np.array(errors) + 1, ALPHA, 0)  # intervals are for means that are positive
    size = interval(np.abs(errors), ALPHA, 0)
    return result(
        mean.ci_low <= 1 <= mean.ci_high and size.ci_low <= 1 <= size.ci_high,
        mean_over_b=mean.risk - 1,
        at_least=mean.ci_low - 1,
        at_most=mean.ci_high - 1,
        mean_size_over_b=size.risk,
    )


@CHAPTER.states(
    "Section 3.4, optimality",
    r"“With the usual choice of $\delta=n^{-(1+\omega)}$, the convergence rate of Algorithm 3"
    r" attains the lower bound, Theorem 3.3, up to a gap of $\log^2n$.”",
    kind="remark",
    found="So do the two formulas differ, by (1 + ω) log² n; the lower one is no bound, however.",
    printed=Case("log² n", power=2.0),
    mutant=Case("log^1.9 n", power=1.9),
    by="brute force",
    code=(
        "minimax.problems.sparse_mean.lower.refuted_theorem_3_3",
        "minimax.problems.sparse_mean.upper.sparse_mean_upper",
    ),
    uses=("Theorem 3.3", "Theorem 3.4"),
    despite=(
        "It compares two formulas, which differ by (1 + ω) log² n whether or not (3.3) is a bound."
    ),
    expected=Status.HOLDS,
)
def gap_of_the_formulas(*, power: float) -> Result:
    """Is Theorem 3.4's rate at most (1 + omega) log^power n times (3.3), omega = 1/2?

    The privacy term of the first is the second's times log(1/delta) log n = (1 + omega) log^2 n.
    """
    omega, ratios = 0.5, []
    for n, s, log_d, epsilon in itertools.product(
        (1e3, 1e6, 1e12), (1, 30), (5.0, 100.0), (1e-3, 0.1, 0.9)
    ):
        size = s * log_d
        privacy = (size / (n * epsilon)) ** 2
        rate = size / n + privacy * (1 + omega) * math.log(n) ** 2
        claimed = refuted_theorem_3_3().value(
            n=n, d=math.exp(log_d), s=s, sigma=1.0, epsilon=epsilon
        )
        ratios.append(rate / claimed / math.log(n) ** power)
    return result(
        max(ratios) <= 1 + omega, largest_gap_over_log_power=max(ratios), stated=1 + omega
    )
