"""WX21 §VI and §VII-B: Theorems 7 and 10, lower bounds for private labels, and their proof."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from estimators.randomisers.labels import BinaryLabels, label_bound, purified_epsilon
from minimax.core.bound import Bound
from minimax.core.privacy import Pure
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.label_regression.uniform_noise import uniform_noise_bound
from minimax.problems.label_regression.upper import one_shot_label_upper
from verify.proofs.entry import Case, Chapter, Result, Status, result

Array = NDArray[np.float64]
CHAPTER = Chapter("WX21")


def sparse_log(p: float, s: float) -> float:
    """s log(p/s)."""
    return s * math.log(p / s)


Size = Callable[[float, float], float]
"""What stands for s log(p/s), from p and s."""
EPSILONS = (0.01, 0.5)


def _points(
    epsilons: tuple[float, ...],
) -> Iterator[tuple[int, int, float, float, float, float]]:
    """p, s, C, b, eps and n eps^2 b^2/(C^2 s log(p/s)), which is 1 where the minimum changes."""
    for ratio, s, C, b in itertools.product(
        (2.0, 2.9, 50.0, 3000.0), (1, 2, 10), (0.01, 1.0, 30.0), (1.0, 9.0)
    ):
        for epsilon, room in itertools.product(epsilons, (1e-3, 0.5, 1.0, 2.0, 1e4)):
            yield round(ratio * s), s, C, b, epsilon, room


@lru_cache(maxsize=8)
def _estimator(epsilon: float) -> Bound:
    """The proven risk of an estimator from eps-LDP labels, at any point."""
    problem = LabelRegressionProblem(n=100, p=10, s=1)
    return one_shot_label_upper(problem, Pure(epsilon, scope="label"))


@CHAPTER.states(
    "Theorem 7",
    r"Under Assumption 2 and for $\epsilon\in(0,\frac12]$ the non-interactive"
    r" $\epsilon$-LDP risk with private labels is at least of order"
    r" $\min\{1,\frac{C^2s\log(p/s)}{n\epsilon^2(1+\Delta)}\}$.",
    kind="theorem",
    found="Holds with constant 1/2, for every design X: no isometry is needed.",
    by="optimisation",
    uses=("Assumption 2", "Definition 2", "(8)"),
    proof_uses=("Theorem 10",),
    expected=Status.HOLDS,
    printed=Case("constant 1/2", constant=0.5, size=sparse_log, links=False),
    mutant=Case("p for s log(p/s)", constant=0.5, size=lambda p, s: p, links=False),
    code=(
        "minimax.problems.label_regression.lower.wx21_theorem_7",
        "minimax.problems.label_regression.upper.one_shot_label_upper",
    ),
)
def lower_bound(
    constant: float, size: Size, *, links: bool, epsilons: tuple[float, ...] = EPSILONS
) -> Result:
    """Is the certified bound at least constant min{1, C^2 size/(n eps^2 b^2)}?

    Such a claim must not exceed the proven risk of an estimator, for f(x) = b x and random rows.
    """
    least, above, certified = math.inf, 0.0, 0.0
    for p, s, C, b, epsilon, room in _points(epsilons):
        if not links and b != 1:
            continue
        n = max(1.0, room * C**2 * s * math.log(p / s) / (epsilon * b) ** 2)
        claim = min(1.0, C**2 * size(p, s) / (n * (epsilon * b) ** 2))
        bound = uniform_noise_bound().value(n=n, p=p, s=s, C=C, b=b, epsilon=epsilon)
        least = min(least, bound / claim)
        risk = _estimator(epsilon).value(n=n, p=p, s=s, C=C / b)
        above = max(above, constant * claim / risk)
        certified = max(certified, bound / risk)
    return result(
        least >= constant and max(above, certified) <= 1,
        least_certified_over_claimed=least,
        constant=constant,
        largest_claim_over_an_estimators_risk=above,
        largest_certified_over_that_risk=certified,
    )


@CHAPTER.states(
    "Theorem 7, tightness",
    r"By Theorem 7 the upper bound of Theorem 6, $O(C^2s\log p/(n\epsilon^2))$, is tight."
    r" (Here: what Theorem 6 takes for granted, that labels of the class can be reported"
    r" privately with noise of variance $O(C^2/\epsilon^2)$.)",
    kind="theorem",
    found="Follows for C ≥ √s* only: private labels have variance (C + √s*)²/ε², not C²/ε².",
    by="exact",
    uses=("Theorem 6", "Theorem 7"),
    proof_uses=("Theorem 6, privacy",),
    expected=Status.UNPROVED,
    severity="constants",
    step=Case("variance 20C²/ε², any C", constant=20.0),
    mutant=Case("variance 18C²/ε², C ≥ √s*", constant=18.0, least=1.0),
    relaxed=Case("variance 20C²/ε², C ≥ √s*", constant=20.0, least=1.0),
    wrong=(
        "Both theorems have C², and Theorem 7 is true; but the noise of Theorem 6 is private"
        " for C ≥ √s* only (see there), as labels of the class fill [−√s* − C, √s* + C]. So the"
        " rate is shown, up to logarithms, for C of order √s* or more (with random rows and"
        " clipping, √log n or more). Whether it is C² for smaller C is open: other mechanisms"
        " than noise on labels may reach it. As stated, Theorem 6 is also (ε,δ) with log²(1/δ)"
        " where Theorem 7 is pure, and has log p for log(p/s); the sentence that announces"
        " Theorem 7 has log p too."
    ),
    code=(
        "estimators.randomisers.labels.BinaryLabels",
        "minimax.problems.label_regression.lower.label_contraction",
    ),
)
def report_cost(constant: float, *, least: float = 0.0) -> Result:
    """Has a label's unbiased report a variance of at most constant C^2/eps^2, eps <= 1?

    `BinaryLabels`, the pure mechanism of least variance for eps <= 1, on labels of the class, with
    C at least `least` sqrt(s*).
    """
    ratios = {
        (C, s, epsilon): BinaryLabels(label_bound(s, C), epsilon).error() * (epsilon / C) ** 2
        for C, s, epsilon in itertools.product((0.05, 1.0, 20.0), (1, 8, 100), (1.0, 0.5, 0.01))
        if least * math.sqrt(s) <= C
    }
    return result(
        max(ratios.values()) <= constant,
        largest_ratio=max(ratios.values()),
        ratio_at_C_20_and_s_8=ratios[20.0, 8, 1.0],
        constant=constant,
    )


@CHAPTER.states(
    "Section VI, pure",
    r"By [40] any non-interactive $(\epsilon,\delta)$-LDP protocol can be made"
    r" $\epsilon$-LDP; so can Algorithm 2.",
    kind="remark",
    found="The transformation of [40] gives 8ε (10ε there), not ε, and for ε ≤ 1/4.",
    by="exact",
    uses=("Algorithm 2", "Definition 1"),
    expected=Status.CORRECTED,
    severity="constants",
    printed=Case("ε-LDP", multiple=1.0),
    corrected=Case("8ε-LDP", multiple=8.0),
    mutant=Case("7ε-LDP", multiple=7.0),
    wrong=(
        "Read with the same ε on both sides. GenProt is 10ε-LDP by its authors, and 8ε exactly"
        " as the public samples grow. To be ε-LDP the reports must be (ε/8, δ)-LDP, with 64"
        " times the variance: more than noise that is pure from the start."
    ),
    code=("estimators.randomisers.labels.PureFromApproximate",),
)
def purification(multiple: float) -> Result:
    """Is GenProt over (eps, delta)-LDP reports, with its clip 2 eps, (multiple eps)-LDP?

    The largest exact epsilon of the index over eps <= 1/4 and numbers of public samples.
    """
    worst = max(
        purified_epsilon(2 * epsilon, samples) / epsilon
        for epsilon in (0.01, 0.05, 0.1, 0.25)
        for samples in (2, 10, 100, 10_000)
    )
    return result(worst <= multiple + 1e-9, largest_epsilon_over_that_of_the_reports=worst)


CHAPTER.states(
    "Theorem 10",
    r"Under Assumption 2, $\epsilon\in(0,\frac12]$ and $f$ $(a,b)$-monotone, the"
    r" non-interactive risk with private labels is at least of order"
    r" $\min\{1,\frac{C^2s\log(p/s)}{nb^2\epsilon^2(1+\Delta)}\}$. (The text at hand reads"
    r" $\log\frac2s$, which would claim nothing for $s\ge2$; the proof and Theorem 7 have"
    r" $\log\frac ps$.)",
    kind="theorem",
    found="Holds with constant 1/2 and log(p/s), for every design X: no isometry is needed.",
    by="optimisation",
    uses=("Assumption 2", "Definition 9", "Definition 2"),
    proof_uses=("Lemma 14", "(31)", "Lemma 8", "Lemma 8, Fano", "Theorem 10, sum"),
    expected=Status.HOLDS,
    printed=Case("constant 1/2", constant=0.5, size=sparse_log, links=True),
    mutant=Case("p for s log(p/s)", constant=0.5, size=lambda p, s: p, links=True),
    code=(
        "minimax.problems.label_regression.lower.wx21_theorem_10",
        "minimax.methods.divergences.information_from_tv",
    ),
)(lower_bound)


# --- The packing ---------------------------------------------------------------------------------


def _signs(p: int, s: int) -> Array:
    """H(s): all vectors of {-1, 0, 1}^p with s non-zero entries."""
    every = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=p)))
    return np.asarray(every[np.abs(every).sum(axis=1) == s])


@CHAPTER.states(
    "Theorem 10, sum",
    r"$\sum_{i=1}^n\frac1{|V|^2}\sum_{v,v'}\|P_{v,i}-P_{v',i}\|_{TV}^2\le\dots\le"
    r"\frac{2b^2(1+\Delta)\delta^2}{C^2}$ for the packing (31) and uniform noise.",
    kind="theorem",
    found="The sum over i of squared variations lacks n; with it the constant 2 is enough.",
    by="brute force",
    uses=("(31)", "Assumption 2"),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("without n", with_n=False),
    corrected=Case("with n", with_n=True),
    mutant=Case("with n, constant 1/4", with_n=True, constant=0.25),
    wrong=(
        "|X(θ − θ′)|² ≤ n(1+Δ)|θ − θ′|²; the n is back in the next display. The line before"
        " lacks 1/|V|²."
    ),
    code=("minimax.methods.divergences.information_from_tv",),
)
def variation_sum(rng: np.random.Generator, *, with_n: bool, constant: float = 2.0) -> Result:
    """Is sum_i mean over pairs of TV^2 at most constant [n] b^2 (1 + Delta) delta^2/C^2?

    f(x) = b x and uniform noise, so TV = min(1, b|<x_i, theta - theta'>|/(2C)) exactly; Delta from
    all 2s columns. The largest mean square distance is reached by the pair z, -z.
    """
    p, s, delta, b, C = 6, 2, 0.1, 2.0, 1.0
    worst = 0.0
    for n in (8, 16, 32):
        X = rng.choice([-1.0, 1.0], size=(n, p))
        isometry = max(
            float(np.linalg.norm(X[:, list(c)].T @ X[:, list(c)] / n - np.eye(2 * s), 2))
            for c in itertools.combinations(range(p), 2 * s)
        )
        z = _signs(p, s)
        for vectors in (z, z[[0, -1]]):
            theta = delta * math.sqrt(2 / s) * vectors
            inner = np.abs((theta[:, None] - theta[None]) @ X.T)
            variation = np.minimum(1.0, b * inner / (2 * C))
            total = float((variation**2).mean(axis=(0, 1)).sum())
            stated = constant * b**2 * (1 + isometry) * delta**2 / C**2 * (n if with_n else 1)
            worst = max(worst, total / stated)
    return result(worst <= 1 + 1e-9, largest_sum_over_stated=worst, constant=constant)


def proof_scale(delta: float, s: int) -> float:
    """delta sqrt(2/s), which makes |theta|^2 = 2 delta^2."""
    return delta * math.sqrt(2 / s)


@CHAPTER.states(
    "(31)",
    r"For $\theta,\theta'$ in $\delta\sqrt{2/s}\,\tilde{\mathcal H}$, $\delta\le1/\sqrt2$:"
    r" $8\delta^2\ge\|\theta-\theta'\|_2^2\ge\delta^2$ (and $\|\theta\|_2\le1$). (The text"
    r" at hand reads $\sqrt{2/\delta}$, which does not shrink with $\delta$; the scale of"
    r" [36] is taken to be meant.)",
    kind="equation",
    found="Holds for the packing scaled by δ√(2/s), and both ends are reached; |θ|² = 2δ².",
    by="brute force",
    proof_uses=("Lemma 14",),
    expected=Status.HOLDS,
    printed=Case("δ√(2/s)", scale=proof_scale),
    mutant=Case("δ√(2/s), lower end 1.1δ²", scale=proof_scale, factor=1.1),
    code=("minimax.methods.blocks.block_exponent",),
)
def packing_distances(scale: Callable[[float, int], float], factor: float = 1.0) -> Result:
    """(31): delta^2 <= |theta - theta'|^2 <= 8 delta^2 and |theta| <= 1, theta = scale z?

    All pairs of H(s) at Hamming distance at least s/2; delta up to 1/sqrt 2. The lower end is
    multiplied by `factor`.
    """
    low, high, norm = math.inf, 0.0, 0.0
    for p, s in ((4, 1), (5, 2), (5, 4)):
        z = _signs(p, s)
        apart = (z[:, None] != z[None]).sum(axis=2)
        squared = ((z[:, None] - z[None]) ** 2).sum(axis=2)[(apart >= s / 2) & (apart > 0)]
        for delta in (0.05, 0.3, 1 / math.sqrt(2)):
            unit = scale(delta, s) ** 2
            low = min(low, unit * float(squared.min()) / delta**2)
            high = max(high, unit * float(squared.max()) / delta**2)
            norm = max(norm, unit * s)
    return result(
        low >= factor - 1e-12 and high <= 8 + 1e-12 and norm <= 1 + 1e-12,
        least_squared_distance_over_delta_squared=low,
        largest=high,
        largest_squared_norm=norm,
    )
