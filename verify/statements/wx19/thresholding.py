"""WX19 §4.2: Algorithm 1, LDP-IHT, and Theorem 4.

What differs from WX21: a step of the algorithm truncates the iterate before last, the randomiser's
radius is not given at all, and the paper says "near optimal" without a factor.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from estimators.core.links import IDENTITY, RATE, step_window
from estimators.regression import projected
from estimators.sparse_erm import hard_threshold
from minimax.methods.recursion import Interval, contraction
from verify.proofs.entry import Case, Result, Status, result
from verify.statements.repeats import FINAL, EarlierVersion
from verify.statements.wx21.isometry import failure
from verify.statements.wx21.local_algorithms import coin, optimality_gap, paper_radius, true_radius

CHAPTER = EarlierVersion("WX19")

CHAPTER.repeats("(5)")

CHAPTER.repeats(
    "Algorithm 1",
    found="No radius is given: (C + √s + √s*)√p makes the coin a probability, WX21's not.",
    statement=(
        r"LDP-IHT: user $i\in S_t$ reports $\mathcal R_\epsilon(x_i(\langle\theta_{t-1},x_i"
        r"\rangle-y_i))$ with the randomiser of Duchi et al. for vectors of norm at most some"
        r" $r$, its coin $\frac12+\frac{\|\nabla_i\|}{2r}$; the server steps, keeps $s=8s^*$"
        r" entries and projects on the unit ball."
    ),
    expected=Status.HOLDS,
    severity="none",
    wrong="",
    printed=Case("an r that bounds gradients", check=coin, link=IDENTITY, radius=true_radius),
    mutant=Case("r of WX21, (2 + C)√p", check=coin, link=IDENTITY, radius=paper_radius),
)

CHAPTER.repeats("Algorithm 1, step 1")


@CHAPTER.states(
    "Algorithm 1, step 6",
    r"$\tilde\theta_t=\theta_{t-1}-\eta\tilde\nabla_{t-1}$,"
    r" $\theta'_t=\mathrm{Trunc}(\tilde\theta_{t-1},s)$, projected on the ball to"
    r" $\theta_t$; without noise $\|\theta_T-\theta^*\|\le2^{-T}\|\theta^*\|$.",
    kind="algorithm",
    found="Trunc(θ̃_{t−1}) for Trunc(θ̃_t): two interleaved descents, the error is not halved.",
    by="execution",
    uses=("Algorithm 1",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("Trunc of the step before", delayed=True),
    corrected=Case("Trunc(θ̃_t, s)", delayed=False),
    mutant=Case("corrected, error divided by 4 each time", delayed=False, halves=0.25),
    wrong=(
        "θ̃_0 is not defined; with θ̃_0 = 0 the first group is wasted, and even and odd iterates"
        " are two separate descents, so that T steps do the work of T/2. A misprint: WX21 has"
        " θ̃_t. (Step 7 lacks the min after arg, in WX21 too.)"
    ),
    code=("estimators.local_regression.LocalHardThresholding",),
)
def halving(*, delayed: bool, halves: float = 0.5) -> Result:
    """Steps 3 to 7 of Algorithm 1 without noise: is the error at most halves^T |theta*|?

    Every group is the whole cube {-1, 1}^10, so that X'X/m = I, without noise in the labels or the
    reports; steps eta at both ends of the window and between. `delayed` truncates the result of
    the step before, which for t = 1 is theta_0 = 0. |theta*| = .3 is well inside the ball, so that
    the projection does not undo a step that is too long. Also, a step must contract by 2/7 before
    it is truncated, as truncation may cost 7/4.
    """
    p = 10
    X = np.array(list(itertools.product((-1.0, 1.0), repeat=p)))
    target = 0.3 * np.eye(p)[0]
    worst, at, contracted = 0.0, 0, 0.0
    low, high = step_window(IDENTITY, 0.0)
    for eta in (low, 1.0, high):
        theta = before = np.zeros(p)
        for t in range(1, 9):
            moved = theta - eta * X.T @ (X @ (theta - target)) / len(X)
            left = float(np.linalg.norm(theta - target))
            if left > 1e-12:
                contracted = max(contracted, float(np.linalg.norm(moved - target)) / left)
            theta = projected(hard_threshold(before if delayed else moved, 8), 1.0)
            before = moved
            ratio = float(np.linalg.norm(theta - target)) / (halves**t * 0.3)
            if ratio > worst:
                worst, at = ratio, t
    return result(
        worst <= 1 + 1e-9 and contracted <= 2 / 7 + 1e-9,
        largest_error_over_stated=worst,
        step_there=at,
        largest_contraction_before_truncation=contracted,
    )


CHAPTER.repeats("Assumption 1")


@CHAPTER.states(
    "Assumption 1, rows",
    r"Uniform signs with $n\ge c\Delta^{-2}(s^*\log p+\log\frac1\xi)$ rows have the"
    r" restricted isometry property with probability $1-\xi$, here of the order"
    r" $2s+s^*=17s^*$ that the assumption asks. (The text has $m$ rows and asks it of $n$.)",
    kind="assumption",
    found="s* log p is enough (c = 1,000), unlike the s log(p/s) of WX21's Lemma 5.",
    by="exact",
    uses=("Assumption 1",),
    expected=Status.HOLDS,
    printed=Case("c = 1,000", constant=1000.0),
    mutant=Case("c = 1/10", constant=0.1),
    code=("minimax.methods.recursion.chernoff_interval",),
)
def rows_for_isometry(*, constant: float) -> Result:
    """Have constant Delta^-2 (s* log p + log(1/xi)) uniform sign rows the isometry of order 17s*?

    `failure` bounds the chance that they do not, for p from 17 s* on.
    """
    worst, starved = -math.inf, 0
    for s_star, spread in itertools.product((1, 10, 1000), (1, 2, 100, 10**6)):
        for Delta, xi in itertools.product((2 / 7, 0.9), (0.5, 1e-9)):
            order = 17 * s_star
            p = order * spread
            n = math.ceil(constant / Delta**2 * (s_star * math.log(p) + math.log(1 / xi)))
            starved += n < order
            worst = max(worst, failure(n, p, order, Delta) - math.log(xi))
    return result(
        worst <= 0,
        log_of_largest_failure_over_xi=worst,
        cells_with_fewer_rows_than_columns=starved,
        constant=constant,
    )


CHAPTER.repeats(
    "Theorem 4",
    of="Theorem 5",
    found="As WX21 Theorem 5: noise (C + √s*)√p coth(ε/2) covers every record, O(C√p/ε) not.",
    wrong=(
        FINAL["WX21:Theorem 5"].wrong
        + " And the class (1) lacks E[σ|x] = 0, without which no bound that falls with n is true."
    ),
)


@CHAPTER.states(
    "Theorem 4, isometry",
    r"Under Assumption 1 with $\delta'=O(1)$ some step size makes $\|I-\eta X_F^TX_F/m\|"
    r"\le\frac27$ on $2s+s^*$ coordinates, so that a step halves the error up to noise.",
    kind="theorem",
    found="δ′ = O(1) must mean a small constant: the proof's halving needs δ′ ≤ 2/7.",
    by="exact",
    uses=("Theorem 4", "Assumption 1"),
    expected=Status.CORRECTED,
    severity="constants",
    printed=Case("δ′ = 1/2", Delta=0.5),
    corrected=Case("δ′ = 2/7", Delta=2 / 7),
    mutant=Case("δ′ = 2/7 and 1 %", Delta=1.01 * 2 / 7),
    wrong=(
        "The best step contracts by exactly δ′ (eigenvalues 1 ± δ′), and truncation expands by"
        " up to 7/4, so that 2^(−T) needs δ′ ≤ 2/7, as Theorem 5 asks and Theorem 4 (WX21:"
        " Theorem 5) does not. Rows are random, so it costs a constant in n."
    ),
    code=("estimators.core.links.step_window", "minimax.methods.recursion.contraction"),
)
def contracts(Delta: float) -> Result:
    """Has some step |I - eta H| <= 2/7 for every H with eigenvalues in [1 - Delta, 1 + Delta]?"""
    interval = Interval(1 - Delta, 1 + Delta)
    least = min(float(contraction(eta, interval)) for eta in np.linspace(0.01, 2, 200))
    return result(least <= RATE + 1e-12, best_contraction=least, needed=RATE)


CHAPTER.repeats(
    "(6)",
    of="(7)",
    found="The display of Theorem 4: for C/ε put (C + √s*) coth(ε/2), or clip.",
    numbers={"Theorem 5": "Theorem 4"},
)

CHAPTER.repeats(
    "Theorem 4, near optimal",
    of="Theorem 5, gap",
    found="The gap to Theorem 2 is √(log p log n) in the ℓ₂ norm, where WX21 says √log p.",
    statement=(
        r"With $s^*=1$ and $T=O(\log n)$ the error $\|\theta_T-\theta^*\|_2^2="
        r"O(\frac{p\log p\log n}{n\epsilon^2})$ is near optimal (up to logarithms), compared"
        r" with Theorem 2."
    ),
    expected=Status.HOLDS,
    severity="none",
    wrong="",
    printed=Case(
        "within √(log p log n)",
        check=optimality_gap,
        power_of_log_n=Fraction(1, 2),
    ),
    mutant=Case("within √log p", check=optimality_gap, power_of_log_n=Fraction(0)),
)
