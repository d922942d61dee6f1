"""WX19: Figures 1 and 2, by the verdicts of `verify.figures`."""

from __future__ import annotations

from verify.proofs.entry import Chapter
from verify.statements.figures import needs_data, reads

CHAPTER = Chapter("WX19")

reads(
    CHAPTER,
    "Figure 1",
    "Not seen: .8^T or .9^T of a random start is left, and hides ε; with one-bit labels it is so.",
    panel="WX19:Figure 1(c)",
    about="as printed: rises with falling ε",
    of="Algorithm 2",
    unsaid="p, n, s* and ε, and which of η = 0.2 and 0.1 was used",
)
needs_data(
    CHAPTER,
    "Figure 2",
    "Ours (unit rows, c = 1, columns): 10.5 (4.9 … 22) times the gap from p = 20 to 54;"
    " 10 trials, seed 0.",
    panel="WX19:Figure 2(a)",
    of="Algorithm 3",
)
