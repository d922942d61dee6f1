"""WX21: Figures 1 to 6 and §VIII-B, by the verdicts of `verify.figures`."""

from __future__ import annotations

from verify.proofs.entry import Chapter
from verify.statements.figures import needs_data, reads

CHAPTER = Chapter("WX21")

reads(
    CHAPTER,
    "Figure 1",
    "With the printed clip r = C√p the random start is what is seen; with planned steps it holds.",
    panel="WX21:Figure 1(a)",
    about="r = C√p: falls with n",
    of="Algorithm 1",
)
reads(
    CHAPTER,
    "Figure 2",
    "Not flat in p as printed: T = log(n/p) falls with p, and fewer steps leave more of the start.",
    panel="WX21:Figure 2(a')",
    about="as printed: within 1.5 for all p",
    of="Algorithm 2",
)
needs_data(
    CHAPTER,
    "Section VIII-B",
    "Real data: what grows with p is what 400 small steps leave, and not the price of privacy.",
    panel="WX21:Figure 3(a)",
    of="Algorithm 3",
)
needs_data(
    CHAPTER,
    "Figure 3",
    "On Covertype the gap grows with p, fivefold from the fewest columns to all.",
    panel="WX21:Figure 3(a)",
    of="Algorithm 3",
)
needs_data(
    CHAPTER,
    "Figure 4",
    "rcv1 is not there; on Reuters-21578 the gap grows as ε falls.",
    panel="WX21:Figure 4(c)",
    of="Algorithm 3",
)
reads(
    CHAPTER,
    "Figure 5",
    "η = .2 is outside of the theorem's window and diverges; inside of it the figure comes out.",
    panel="WX21:Figure 5(a)",
    about="f, r = bC√p: rises with growing p",
    of="Algorithm 4",
)
reads(
    CHAPTER,
    "Figure 6",
    "One-bit labels: within a factor 2 of Figure 2.",
    panel="WX21:Figure 6(a')",
    about="f, one-bit labels: within 2 of “one-bit labels”",
    of="Algorithm 5",
)
