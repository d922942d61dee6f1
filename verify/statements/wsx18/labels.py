"""WSX18 §4: private labels. The statements are those of WX19 §5 under other numbers.

One letter, delta, stands for the privacy parameter and for the isometry constant.
"""

from __future__ import annotations

from verify.proofs.entry import Entry, Form, Result, Status
from verify.statements.repeats import repeat
from verify.statements.wsx18.records import LARGEST
from verify.statements.wx19.labels import PROOF, SAME_LABELS, UNCENTRED
from verify.statements.wx19.thresholding import rows_for_isometry
from verify.statements.wx21.label_bounds import EPSILONS, Size, lower_bound, sparse_log

NUMBERS = {
    "Theorem 6": "Theorem 4",
    "Assumption 2": "Assumption 1",
    "Algorithm 2": "Algorithm 1",
    "the class (8)": "the class of §4",
    "The class (8)": "The class of §4",
}


def bounded_below(size: Size) -> Result:
    """`lower_bound` up to epsilon = 23/35."""
    return lower_bound(0.4, size, links=False, epsilons=(*EPSILONS, LARGEST))


ENTRIES = (
    repeat(
        "WX21:(8)",
        "WSX18:Section 4, class of labels",
        summary="As (1), the class lacks E σ = 0: θ and 0 may then look the same.",
        severity="breaks a claim",
        wrong=SAME_LABELS
        + " of Theorem 4 is impossible on this class. WX21 has E[σ|x] = 0 in (1).",
    ),
    repeat("WX21:Algorithm 2", "WSX18:Algorithm 1", numbers=PROOF),
    repeat("WX21:Assumption 2", "WSX18:Assumption 1", numbers=NUMBERS),
    Entry(
        id="WSX18:Assumption 1, rows",
        kind="assumption",
        summary="s* log p rows are enough, with c = 1,000, for the order 17s* of the assumption.",
        statement=(
            r"Uniform signs with $n\ge c\Delta^{-2}(s^*\log p+\log\frac1\xi)$ rows have the"
            r" restricted isometry property (of order $17s^*$) with probability $1-\xi$."
        ),
        expected=Status.HOLDS,
        method="exact",
        printed=Form("c = 1,000", lambda rng: rows_for_isometry(constant=1000.0)),
        mutant=Form("c = 1/10", lambda rng: rows_for_isometry(constant=0.1)),
        code=("minimax.methods.recursion.chernoff_interval",),
        same_as="WX19:Assumption 1, rows",
    ),
    repeat(
        "WX21:Theorem 6",
        "WSX18:Theorem 4",
        numbers=NUMBERS,
        severity="breaks a claim",
        wrong=UNCENTRED,
    ),
    repeat(
        "WX21:Theorem 6, privacy",
        "WSX18:Theorem 4, privacy",
        numbers={**NUMBERS, **PROOF, "the paper's C": "WX19's C"},
    ),
    repeat("WX21:(9)", "WSX18:(3)"),
    repeat(
        "WX21:Theorem 7",
        "WSX18:Theorem 5",
        numbers={**NUMBERS, r"\frac12]": r"\frac{23}{35}]"},
        summary="Holds with constant 0.4 up to ε = 23/35, for every design: no isometry is needed.",
        printed=Form("constant 0.4", lambda rng: bounded_below(sparse_log)),
        mutant=Form("p for s log(p/s)", lambda rng: bounded_below(lambda p, s: p)),
    ),
    repeat(
        "WX21:Theorem 7, tightness",
        "WSX18:Theorem 5, tightness",
        numbers={"Theorem 6": "Theorem 4", "Theorem 7": "Theorem 5"},
    ),
)
