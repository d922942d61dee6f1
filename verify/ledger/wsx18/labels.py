"""WSX18 §4: private labels. The statements are those of WX19 §5 under other numbers.

One letter, delta, stands for the privacy parameter and for the isometry constant.
"""

from __future__ import annotations

from verify.ledger.entry import Entry, Form, Status
from verify.ledger.repeats import repeat
from verify.ledger.wx19.labels import display
from verify.ledger.wx19.thresholding import rows_for_isometry

NUMBERS = {
    "Theorem 6": "Theorem 4",
    "Assumption 2": "Assumption 1",
    "Algorithm 2": "Algorithm 1",
    "the class (8)": "the class of §4",
    "The class (8)": "The class of §4",
}

ENTRIES = (
    repeat(
        "WX21:(8)",
        "WSX18:Section 4, class of labels",
        numbers={"Theorem 6": "Theorem 4", "Add E σ_i = 0, as in (1).": "Add E σ_i = 0."},
    ),
    repeat("WX21:Algorithm 2", "WSX18:Algorithm 1"),
    repeat("WX21:Assumption 2", "WSX18:Assumption 1", numbers=NUMBERS),
    Entry(
        id="WSX18:Assumption 1, rows",
        kind="assumption",
        summary="s* log p rows are enough, with c = 1,000, for the order 17s* of the assumption.",
        statement=(
            r"Uniform signs with $n\ge c\Delta^{-2}(s^*\log p+\ln\frac1\xi)$ rows have the"
            r" restricted isometry property (of order $17s^*$) with probability $1-\xi$."
        ),
        expected=Status.HOLDS,
        method="exact",
        printed=Form("c = 1,000", lambda rng: rows_for_isometry(constant=1000.0)),
        mutant=Form("c = 1/10", lambda rng: rows_for_isometry(constant=0.1)),
        code=("minimax.descent.chernoff_interval",),
        same_as="WX19:Assumption 1, rows",
    ),
    repeat("WX21:Theorem 6", "WSX18:Theorem 4", numbers=NUMBERS),
    repeat("WX21:Theorem 6, privacy", "WSX18:Theorem 4, privacy", numbers=NUMBERS),
    display("WSX18:(3)"),
)
