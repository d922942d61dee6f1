"""WSX18 §2 and §3: local privacy, and the lower bounds for private records.

What differs from WX19: the range of epsilon is (0, 23/35], not (0, 1/2]; Theorem 1 has no upper
bound; there are no relaxed definitions and no algorithm for private records.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import mpmath
import sympy as sp

from minimax.bound import Bound
from minimax.core.bound import Assumption
from minimax.problems.local_regression.lower import (
    PAPER_EPSILON,
    claimed_theorem,
    theorem_1,
    theorem_2,
    theorem_3,
)
from verify.proofs.entry import Entry, Form, Result, Status, result
from verify.statements.repeats import repeat
from verify.statements.wx19.records import BOUNDED_NOISE
from verify.statements.wx21.local_bounds import lower_bound
from verify.statements.wx21.local_privacy import identified, linear

LARGEST = 23 / 35
RANGE = Assumption("epsilon <= 23/35", lambda at: at["epsilon"] <= LARGEST)
EPSILONS = (0.001, 0.1, 0.5, LARGEST)


def widened(claim: Bound) -> Bound:
    """A claim of WX21 with this paper's range of epsilon."""
    kept = tuple(one for one in claim.assumptions if one is not PAPER_EPSILON)
    return replace(claim, assumptions=(*kept, RANGE))


def bounded_below(
    bound: Bound, number: Literal[1, 2, 3], constant: float, extra: float = 0.0
) -> Result:
    """`lower_bound` up to epsilon = 23/35."""
    claim = widened(claimed_theorem(number))
    return lower_bound(bound, number, constant, extra, claim=claim, epsilons=EPSILONS)


def exponential_against_square(largest: sp.Rational) -> Result:
    """Is (e^eps - 1)^2 <= 2 eps^2 for eps <= largest? At the end: (e^eps - 1)/eps increases."""
    with mpmath.workdps(50):
        ratio = mpmath.expm1(mpmath.mpf(largest.p) / largest.q) * largest.q / largest.p
        root = mpmath.findroot(lambda x: mpmath.expm1(x) - mpmath.sqrt(2) * x, 0.66)
        value = ratio**2 / 2
    return result(value <= 1, ratio_at_the_end=float(value), place_of_equality=float(root))


def third(name: str, kind: Literal["theorem", "equation"]) -> Entry:
    """Theorem 3, whose display is (2)."""
    return repeat(
        "WX21:Theorem 3",
        name,
        kind=kind,
        numbers={r"\frac12]": r"\frac{23}{35}]", "ε ≤ 1/2": "ε ≤ 23/35"},
        printed=Form("constant 1/2", lambda rng: bounded_below(theorem_3(sharp=True), 3, 0.5)),
        mutant=Form("p² for p", lambda rng: bounded_below(theorem_3(sharp=True), 3, 0.5, 1.0)),
    )


PRELIMINARIES = (
    repeat(
        "WX21:Definition 1",
        "WSX18:Definition 1",
        summary="Pure ε only, as in WX19. Privacy given each past bounds the transcript's leak.",
        statement=(
            r"$Z_i$ is an $\epsilon$ sequentially locally private view of $X_i$ if for all"
            r" $z_{1:i-1}$, $x$, $x'$ and events $S$:"
            r" $Q_i(S\mid x,z_{1:i-1})\le e^\epsilon Q_i(S\mid x',z_{1:i-1})$; non-interactively"
            r" if $Q_i$ does not depend on $z_{1:i-1}$."
        ),
    ),
    repeat("WX21:Definition 2", "WSX18:Definition 2"),
)

LOWER_BOUNDS = (
    Entry(
        id="WSX18:(1)",
        kind="equation",
        summary="As in WX19 the class lacks E[σ|x] = 0: θ and 0 may have the same data.",
        statement=(
            r"$\mathcal P_{1,p,C}$: $x$ uniform on $\{\pm1\}^p$, $y=\langle\theta,x\rangle+\sigma$,"
            r" $|\sigma|\le C$, $\|\theta\|_2\le1$, $\|\theta\|_0\le1$; $\theta$ is to be"
            r" estimated. (Section 4 refers to it as $\mathcal P_{s,p,C}$.)"
        ),
        expected=Status.CORRECTED,
        method="optimisation",
        severity="harmless",
        printed=Form("noise bounded by C", lambda rng: identified(linear, 1.0, bias=1.0)),
        corrected=Form("and of mean zero", lambda rng: identified(linear, 1.0, bias=0.0)),
        mutant=Form("and of mean at most C/8", lambda rng: identified(linear, 1.0, bias=0.125)),
        wrong=BOUNDED_NOISE
        + " The lower bounds, the paper's only use of this class, stay true: here for a trivial"
        " reason, as no estimator, private or not, has a risk below 1/4 for any n, and with"
        " E[σ|x] = 0 for the right one.",
        code=("minimax.problems.local_regression.lower", "minimax.methods.priors.TwoLabelPrior"),
        same_as="WX19:(1)",
    ),
    repeat(
        "WX21:Theorem 1",
        "WSX18:Theorem 1",
        numbers={r"\frac12]": r"\frac{23}{35}]", "ε ≤ 1/2": "ε ≤ 23/35"},
        printed=Form("constant 0.85", lambda rng: bounded_below(theorem_1(), 1, 0.85)),
        mutant=Form("p² log p for p log p", lambda rng: bounded_below(theorem_1(), 1, 0.85, 1.0)),
    ),
    Entry(
        id="WSX18:Theorem 1, range of epsilon",
        kind="theorem",
        summary="(e^ε − 1)² ≤ 2ε² up to ε = .6573: where 23/35 comes from. No bound needs it.",
        statement=(
            r"Theorems 1, 2, 3 and 5 ask $\epsilon\le\frac{23}{35}$, for which"
            r" $(e^\epsilon-1)^2\le2\epsilon^2$: the factor of the strong data processing"
            r" inequality as a square. (The paper does not say so; WX19 and WX21 have $\frac12$.)"
        ),
        expected=Status.HOLDS,
        method="exact",
        printed=Form("23/35", lambda rng: exponential_against_square(sp.Rational(23, 35))),
        mutant=Form("2/3", lambda rng: exponential_against_square(sp.Rational(2, 3))),
        code=(
            "minimax.methods.divergences.symmetrised_kl_quadratic",
            "minimax.methods.divergences.report_variance",
        ),
    ),
    repeat(
        "WX21:Theorem 2",
        "WSX18:Theorem 2",
        numbers={r"\frac12]": r"\frac{23}{35}]", "ε ≤ 1/2": "ε ≤ 23/35"},
        printed=Form("constant 3/4", lambda rng: bounded_below(theorem_2(sharp=True), 2, 0.75)),
        mutant=Form("p² for p", lambda rng: bounded_below(theorem_2(sharp=True), 2, 0.75, 1.0)),
    ),
    third("WSX18:Theorem 3", "theorem"),
    third("WSX18:(2)", "equation"),
)
