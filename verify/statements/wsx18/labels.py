"""WSX18 §4: private labels. The statements are those of WX19 §5 under other numbers.

One letter, delta, stands for the privacy parameter and for the isometry constant.
"""

from __future__ import annotations

from verify.proofs.entry import Case, Result, Status
from verify.statements.repeats import EarlierVersion
from verify.statements.wsx18.records import LARGEST
from verify.statements.wx19.labels import PROOF, SAME_LABELS, UNCENTRED
from verify.statements.wx19.thresholding import rows_for_isometry
from verify.statements.wx21.label_bounds import EPSILONS, Size, lower_bound, sparse_log

CHAPTER = EarlierVersion("WSX18")

CHAPTER.repeats(
    "Section 4, class of labels",
    of="(8)",
    found="As (1), the class lacks E σ = 0: θ and 0 may then look the same.",
    severity="breaks a claim",
    wrong=(SAME_LABELS + " of Theorem 4 is impossible on this class. WX21 has E[σ|x] = 0 in (1)."),
)

CHAPTER.repeats("Algorithm 1", of="Algorithm 2", numbers=PROOF)

NUMBERS = {
    "Theorem 6": "Theorem 4",
    "Assumption 2": "Assumption 1",
    "Algorithm 2": "Algorithm 1",
    "the class (8)": "the class of §4",
    "The class (8)": "The class of §4",
}

CHAPTER.repeats("Assumption 1", of="Assumption 2", numbers=NUMBERS)

CHAPTER.states(
    "Assumption 1, rows",
    r"Uniform signs with $n\ge c\Delta^{-2}(s^*\log p+\log\frac1\xi)$ rows have the"
    r" restricted isometry property (of order $17s^*$) with probability $1-\xi$.",
    kind="assumption",
    found="s* log p rows are enough, with c = 1,000, for the order 17s* of the assumption.",
    by="exact",
    expected=Status.HOLDS,
    printed=Case("c = 1,000", constant=1000.0),
    mutant=Case("c = 1/10", constant=0.1),
    code=("minimax.methods.recursion.chernoff_interval",),
    uses=("Assumption 1",),
    same_as="WX19:Assumption 1, rows",
)(rows_for_isometry)

CHAPTER.repeats(
    "Theorem 4", of="Theorem 6", numbers=NUMBERS, severity="breaks a claim", wrong=UNCENTRED
)

CHAPTER.repeats(
    "Theorem 4, privacy",
    of="Theorem 6, privacy",
    numbers={**NUMBERS, **PROOF, "the paper's C": "WX19's C"},
)

CHAPTER.repeats("(3)", of="(9)")


def bounded_below(size: Size) -> Result:
    """`lower_bound` up to epsilon = 23/35."""
    return lower_bound(0.4, size, links=False, epsilons=(*EPSILONS, LARGEST))


CHAPTER.repeats(
    "Theorem 5",
    of="Theorem 7",
    numbers={**NUMBERS, r"\frac12]": r"\frac{23}{35}]"},
    found="Holds with constant 0.4 up to ε = 23/35, for every design: no isometry is needed.",
    printed=Case("constant 0.4", check=bounded_below, size=sparse_log),
    mutant=Case("p for s log(p/s)", check=bounded_below, size=lambda p, s: p),
)

CHAPTER.repeats(
    "Theorem 5, tightness",
    of="Theorem 7, tightness",
    numbers={"Theorem 6": "Theorem 4", "Theorem 7": "Theorem 5"},
)
