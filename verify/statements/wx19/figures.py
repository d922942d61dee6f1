"""WX19: Figures 1 and 2, by the verdicts of `verify.figures`."""

from __future__ import annotations

from verify.proofs.entry import Chapter
from verify.statements.figures import needs_data, reads

CHAPTER = Chapter("WX19")

reads(
    CHAPTER,
    "Figure 1",
    "So it is with one-bit labels; as printed .8^T of a random start is left.",
    panel="WX19:Figure 1(c)",
    about="one-bit labels: rises with falling ε",
    of="Algorithm 2",
)
needs_data(
    CHAPTER,
    "Figure 2",
    "On Covertype the gap grows with p, eightfold from the fewest columns to all.",
    panel="WX19:Figure 2(a)",
    of="Algorithm 3",
)
