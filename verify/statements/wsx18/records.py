"""WSX18 §2 and §3: local privacy, and the lower bounds for private records.

What differs from WX19: the range of epsilon is (0, 23/35], not (0, 1/2]; Theorem 1 has no upper
bound; there are no relaxed definitions and no algorithm for private records.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Literal

import mpmath

from minimax.core.bound import Assumption, Bound
from minimax.problems.local_regression.lower import (
    PAPER_EPSILON,
    claimed_theorem,
)
from verify.proofs.entry import Case, Kind, Result, Status, result
from verify.statements.repeats import EarlierVersion
from verify.statements.wx19.records import BOUNDED_NOISE
from verify.statements.wx21.local_bounds import FIRST, SECOND, THIRD, lower_bound
from verify.statements.wx21.local_privacy import bounded_noise_cases, identified, linear

PRELIMINARIES = EarlierVersion("WSX18")
LOWER_BOUNDS = EarlierVersion("WSX18")

PRELIMINARIES.repeats(
    "Definition 1",
    found="Pure ε only, as in WX19. Privacy given each past bounds the transcript's leak.",
    statement=(
        r"$Z_i$ is an $\epsilon$ sequentially locally private view of $X_i$ if for all"
        r" $z_{1:i-1}$, $x$, $x'$ and events $S$:"
        r" $Q_i(S\mid x,z_{1:i-1})\le e^\epsilon Q_i(S\mid x',z_{1:i-1})$; non-interactively"
        r" if $Q_i$ does not depend on $z_{1:i-1}$."
    ),
)

PRELIMINARIES.repeats("Definition 2")

LOWER_BOUNDS.states(
    "(1)",
    r"$\mathcal P_{1,p,C}$: $x$ uniform on $\{\pm1\}^p$, $y=\langle\theta,x\rangle+\sigma$,"
    r" $|\sigma|\le C$, $\|\theta\|_2\le1$, $\|\theta\|_0\le1$; $\theta$ is to be"
    r" estimated. (Section 4 refers to it as $\mathcal P_{s,p,C}$.)",
    kind="equation",
    found="As in WX19 the class lacks E[σ|x] = 0: θ and 0 may have the same data.",
    by="optimisation",
    expected=Status.CORRECTED,
    severity="harmless",
    **bounded_noise_cases(linear, 1.0),
    wrong=(
        BOUNDED_NOISE
        + " The lower bounds, the paper's only use of this class, stay true: here for a trivial"
        " reason, as no estimator, private or not, has a risk below 1/4 for any n, and with"
        " E[σ|x] = 0 for the right one."
    ),
    code=("minimax.problems.local_regression.lower", "minimax.methods.priors.TwoLabelPrior"),
    same_as="WX19:(1)",
)(identified)

LARGEST = 23 / 35
RANGE = Assumption("epsilon <= 23/35", lambda at: at["epsilon"] <= LARGEST)
EPSILONS = (0.001, 0.1, 0.5, LARGEST)
WIDER = {r"\frac12]": r"\frac{23}{35}]", "ε ≤ 1/2": "ε ≤ 23/35"}


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


LOWER_BOUNDS.repeats(
    "Theorem 1",
    numbers=WIDER,
    printed=Case("constant 0.85", check=bounded_below, bound=FIRST, number=1, constant=0.85),
    mutant=Case(
        "p² log p for p log p",
        check=bounded_below,
        bound=FIRST,
        number=1,
        constant=0.85,
        extra=1.0,
    ),
)


@LOWER_BOUNDS.states(
    "Theorem 1, range of epsilon",
    r"Theorems 1, 2, 3 and 5 ask $\epsilon\le\frac{23}{35}$, for which"
    r" $(e^\epsilon-1)^2\le2\epsilon^2$: the factor of the strong data processing"
    r" inequality as a square. (The paper does not say so; WX19 and WX21 have $\frac12$.)",
    kind="theorem",
    found="(e^ε − 1)² ≤ 2ε² up to ε = .6573: where 23/35 comes from. No bound needs it.",
    by="exact",
    uses=("Theorem 1",),
    expected=Status.HOLDS,
    printed=Case("23/35", largest=Fraction(23, 35)),
    mutant=Case("2/3", largest=Fraction(2, 3)),
    code=(
        "minimax.methods.divergences.symmetrised_kl_quadratic",
        "minimax.methods.divergences.report_variance",
    ),
)
def exponential_against_square(largest: Fraction) -> Result:
    """Is (e^eps - 1)^2 <= 2 eps^2 for eps <= largest? At the end: (e^eps - 1)/eps increases."""
    with mpmath.workdps(50):
        end = mpmath.mpf(largest.numerator) / largest.denominator
        root = mpmath.findroot(lambda x: mpmath.expm1(x) - mpmath.sqrt(2) * x, 0.66)
        value = (mpmath.expm1(end) / end) ** 2 / 2
    return result(value <= 1, ratio_at_the_end=float(value), place_of_equality=float(root))


LOWER_BOUNDS.repeats(
    "Theorem 2",
    numbers=WIDER,
    printed=Case("constant 3/4", check=bounded_below, bound=SECOND, number=2, constant=0.75),
    mutant=Case(
        "p² for p",
        check=bounded_below,
        bound=SECOND,
        number=2,
        constant=0.75,
        extra=1.0,
    ),
)


NUMBERED_THIRD: dict[str, Kind] = {"Theorem 3": "theorem", "(2)": "equation"}
"""Theorem 3 and its display."""

for number, kind in NUMBERED_THIRD.items():
    LOWER_BOUNDS.repeats(
        number,
        of="Theorem 3",
        kind=kind,
        numbers=WIDER,
        printed=Case("constant 1/2", check=bounded_below, bound=THIRD, number=3, constant=0.5),
        mutant=Case(
            "p² for p", check=bounded_below, bound=THIRD, number=3, constant=0.5, extra=1.0
        ),
    )
