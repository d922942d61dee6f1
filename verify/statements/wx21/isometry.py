"""WX21: the restricted isometry (Assumptions 1 and 2, Lemma 5)."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from minimax.methods.recursion import Interval, contraction
from verify.proofs.entry import Case, Chapter, Result, Status, result

Array = NDArray[np.float64]
WHOLE_RECORDS = Chapter("WX21")
LABELS = Chapter("WX21")
LEMMA_5 = Chapter("WX21")


ORDER = 17
"""2s + s* with s = 8s* and s* = 1."""
GROUPS = 3


def isometry_constant(X: Array, order: int) -> float:
    """The least Delta of the restricted isometry property, by all supports."""
    gram = X.T @ X / len(X) - np.eye(X.shape[1])
    supports = np.array(list(itertools.combinations(range(X.shape[1]), order)))
    blocks = gram[supports[:, :, None], supports[:, None, :]]
    return float(np.abs(np.linalg.eigvalsh(blocks)).max())


@WHOLE_RECORDS.states(
    "Assumption 1",
    r"Every $X_{S_t}$, $t\le T$, has the restricted isometry property of order $2s+s^*$,"
    r" $s=8s^*$: $(1-\Delta)\|v\|^2\le\|X_{S_t}v\|^2/|S_t|\le(1+\Delta)\|v\|^2$ for"
    r" $\|v\|_0\le2s+s^*$; uniform signs have it with enough rows.",
    kind="assumption",
    found="Met by uniform signs: order 17, p = 20, 3 groups of 4,000 rows have Δ below 2/7.",
    by="brute force",
    expected=Status.HOLDS,
    printed=Case("4,000 rows a group", rows=4000),
    mutant=Case("400 rows a group", rows=400),
    code=(
        "minimax.methods.recursion.chernoff_interval",
        "minimax.methods.recursion.coherence_interval",
    ),
)
def grouped_design(rng: np.random.Generator, *, rows: int) -> Result:
    """Does every group of so many uniform sign rows have the property of order 17, Delta <= 2/7?"""
    p = 20
    found = [
        isometry_constant(rng.choice([-1.0, 1.0], size=(rows, p)), ORDER) for _ in range(GROUPS)
    ]
    return result(max(found) <= 2 / 7, largest_Delta=max(found), groups=GROUPS, rows_each=rows)


@WHOLE_RECORDS.states(
    "Assumption 1, range of Delta",
    r"Theorems 9 and 11 ask $\Delta\le(9a^2-5b^2)/14$, so that a step with"
    r" $\|I-\eta D\|\le\frac27$ exists (linear model: $\Delta\le\frac27$).",
    kind="assumption",
    found="(9a² − 5b²)/14 must be (9a² − 5b²)/(9a² + 5b²): for 8x + cos x .043, not 2.6.",
    by="exact",
    uses=("Assumption 1", "Definition 9"),
    expected=Status.CORRECTED,
    severity="breaks a claim",
    printed=Case("Δ = (9a² − 5b²)/14", printed=True),
    corrected=Case("Δ = (9a² − 5b²)/(9a² + 5b²)", printed=False),
    mutant=Case("corrected, 1 % more", printed=False, stretch=1.01),
    wrong=(
        "5/(7a²(1−Δ)) ≤ η ≤ 9/(7b²(1+Δ)) is not empty if and only if"
        " Δ ≤ (9a² − 5b²)/(9a² + 5b²). The printed bound is the same only where"
        " 9a² + 5b² = 14, as for a = b = 1; it is not invariant under scaling f, and for"
        " f = 8x + cos x it allows Δ = 2.57. At Δ = 1 two columns of X may be equal; then e₁"
        " and e₂ have the same labels, and no estimator meets the bound of Theorem 11 at both."
        " (The proof has 5a² − 9b², which is negative, and a for a² in the lower end.)"
    ),
    code=("minimax.methods.recursion.contraction",),
)
def step_size_range(*, printed: bool, stretch: float = 1.0) -> Result:
    """Is there a step with |I - eta D| <= 2/7 at the largest Delta that the condition allows?

    D has eigenvalues in [a^2 (1 - Delta), b^2 (1 + Delta)]; the best step is 2 over their sum. Also
    a design whose first and last columns are equal must be left out.
    """
    worst, at = 0.0, (0.0, 0.0)
    columns = linalg.hadamard(32)[:, [*range(ORDER), 0]]
    equal = isometry_constant(columns, ORDER)
    for a, b in ((1.0, 1.0), (1.0, 1.2), (7.0, 9.0), (0.1, 0.12)):
        gap = 9 * a**2 - 5 * b**2
        Delta = gap / 14 if printed else stretch * gap / (9 * a**2 + 5 * b**2)
        interval = Interval(a**2 * (1 - Delta), b**2 * (1 + Delta))
        # The best step; where Delta > 1 the lower end is negative, and every step expands.
        rate = float(contraction(2 / (abs(interval.low) + interval.high), interval))
        if rate > worst:
            worst, at = rate, (b / a, Delta)
    return result(
        worst <= 2 / 7 + 1e-12 and at[1] < equal,
        largest_rate=worst,
        b_over_a_there=at[0],
        Delta_there=at[1],
        allowed=2 / 7,
        Delta_of_two_equal_columns=equal,
    )


@LABELS.states(
    "Assumption 2",
    r"$X\in\{\pm1\}^{n\times p}$ has the restricted isometry property of order $2s+s^*$,"
    r" $s=8s^*$, with a constant $\Delta$ (Theorem 6: $\Delta\le\frac27$).",
    kind="assumption",
    found="Can be met with p = 2n: two bases of 1,024 sign rows have Δ ≤ .265 at order 17.",
    by="exact",
    uses=("(8)",),
    expected=Status.HOLDS,
    printed=Case("1,024 rows, 2,048 columns", bits=10),
    mutant=Case("256 rows, 512 columns", bits=8),
    code=("minimax.problems.label_regression.lower.wx21_theorem_7",),
)
def two_bases(bits: int) -> Result:
    r"""A sign design with p = 2n: the Hadamard basis H and D H, D the signs of a bent function.

    Columns of one basis are orthogonal. If the bases' inner products are +-sqrt(n), then on a
    support with i columns of one and j of the other |X'X/n - I| <= sqrt(i j/n).
    """
    n = 2**bits
    H = linalg.hadamard(n)
    index = np.arange(n)
    low, high = index % 2 ** (bits // 2), index // 2 ** (bits // 2)
    bent = 1 - 2 * (np.bitwise_count(low & high) % 2).astype(int)
    # H' D H holds the inner products; its entries at (a, b) are the transform of bent at a xor b.
    transform = H @ bent
    flat = bool((np.abs(transform) == math.isqrt(n)).all())
    half = ORDER // 2
    Delta = math.sqrt(half * (ORDER - half) / n)
    return result(
        flat and Delta <= 2 / 7, rows=n, columns=2 * n, bound_on_Delta=Delta, allowed=2 / 7
    )


RIP_CONSTANT = 188.0


def failure(n: float, p: int, s: int, Delta: float) -> float:
    r"""A bound on log P(no RIP of order s with Delta) for uniform signs; 0 where n < s.

    A 1/4-net of the sphere of each support has at most 9^s points and loses a factor 2. For a unit
    u, <x, u>^2 has mean 1; P(mean >= 1 + t) <= exp(-n (t - log(1 + t))/2), as for a Gaussian, and
    P(mean <= 1 - t) <= exp(-n t^2/6), as the fourth moment is at most 3. With t = Delta/2 both are
    at most exp(-n Delta^2/48).
    """
    if n < s:
        return 0.0  # n rows have a kernel on s columns: the property fails surely
    supports = special.gammaln(p + 1) - special.gammaln(s + 1) - special.gammaln(p - s + 1)
    return float(min(math.log(2) + supports + s * math.log(9) - n * Delta**2 / 48, 0.0))


@LEMMA_5.states(
    "Lemma 5",
    r"If $n\ge C\Delta^{-2}(s\log(p/s)+\log(1/\xi))$, a uniform sign matrix has the"
    r" restricted isometry property of order $s$ with $\Delta$, with probability $1-\xi$.",
    kind="lemma",
    found="False at s = p, where log(p/s) = 0; with log(ep/s) the constant 188 is enough.",
    by="exact",
    uses=("Assumption 1",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("s log(p/s), C = 188", shift=0.0, constant=RIP_CONSTANT),
    corrected=Case("s log(ep/s), C = 188", shift=1.0, constant=RIP_CONSTANT),
    mutant=Case("corrected, C = 1/10: fewer rows than s", shift=1.0, constant=0.1),
    wrong=(
        "For s = p the condition is n ≥ CΔ⁻² log(1/ξ), free of p; whatever C is, for larger p"
        " the matrix has fewer rows than columns, hence a kernel. For s ≤ p/2, which covers"
        " every use, the two agree up to the constant."
    ),
    code=("minimax.methods.recursion.chernoff_interval",),
)
def enough_rows(*, shift: float, constant: float) -> Result:
    """Do n = constant Delta^-2 (s (log(p/s) + shift) + log(1/xi)) rows have the property?

    On sparse cells, and with s = p as large as refutes this constant at shift 0.
    """
    cells = [
        (p, s, Delta, xi)
        for p, s in ((20, 1), (20, 17), (1000, 17), (10**6, 170))
        for Delta in (2 / 7, 0.9)
        for xi in (0.5, 1e-6)
    ]
    full = math.ceil(constant / 0.25 * math.log(2)) + 1
    cells.append((full, full, 0.5, 0.5))
    worst, starved = -math.inf, 0
    for p, s, Delta, xi in cells:
        n = math.ceil(constant / Delta**2 * (s * (math.log(p / s) + shift) + math.log(1 / xi)))
        starved += n < s
        worst = max(worst, failure(n, p, s, Delta) - math.log(xi))
    return result(
        worst <= 0,
        cells_with_fewer_rows_than_s=starved,
        log_of_largest_failure_over_xi=worst,
        s_and_p_of_the_full_cell=full,
    )


@LEMMA_5.states(
    "Lemma 5, meaning of Delta",
    r"If $X$ has the property with $s$ and $\Delta$ then"
    r" $\Delta=\max_{\|x\|_2=1,\|x\|_0\le s}\|(\frac1nX^TX-I)x\|_2$.",
    kind="remark",
    found="The norm must be taken on the support of x: signs have Δ = 0 at order 1, not .49.",
    by="brute force",
    uses=("Assumption 1",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("all p rows", beyond=9),
    corrected=Case("rows of the support", beyond=0),
    mutant=Case("and one more row", beyond=1),
    wrong=(
        "The property bounds the quadratic form, so the eigenvalues of the blocks of"
        " X'X/n − I. Off the support (X'X/n − I)x is of order √(p/n), which the property does"
        " not bound: for one column of signs the block is 0."
    ),
    code=("minimax.methods.recursion.coherence_interval",),
)
def meaning_of_delta(rng: np.random.Generator, *, beyond: int) -> Result:
    """Is Delta the largest |(X'X/n - I) x|_2 over sparse unit x, p = 9?

    The norm is taken on the support of x and as many as `beyond` further places.
    """
    worst = 0.0
    n, p = 60, 9
    X = rng.choice([-1.0, 1.0], size=(n, p))
    gram = X.T @ X / n - np.eye(p)
    for order in (1, 2, 3):
        Delta = isometry_constant(X, order)
        largest = 0.0
        for support in itertools.combinations(range(p), order):
            others = [j for j in range(p) if j not in support]
            rows = [*support, *others[:beyond]]
            largest = max(largest, float(np.linalg.norm(gram[np.ix_(rows, list(support))], 2)))
        worst = max(worst, abs(largest - Delta))
        if order == 1:
            single = (Delta, largest)
    return result(
        worst <= 1e-9,
        largest_difference=worst,
        Delta_of_order_1=single[0],
        claimed_for_order_1=single[1],
    )
