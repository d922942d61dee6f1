"""WG19: Figure 1, Tables 2 and 3, and §6.2, by the verdicts of `verify.figures`."""

from __future__ import annotations

from verify.proofs.entry import Chapter
from verify.statements.figures import needs_data, reads

CHAPTER = Chapter("WG19")

reads(
    CHAPTER,
    "Figure 1",
    "Not within twice the baseline's error with the noise (ε, δ) needs; with the printed, too"
    " little, it is at ε = 10.",
    panel="WG19:Figure 1(a)",
    about="DP-IGHT below 2 times IGHT, every ε",
    of="Algorithm 1",
)
needs_data(
    CHAPTER,
    "Section 6.2",
    "Two real data sets, E2006-TFIDF and RCV1; others stand in for them.",
    panel="WG19:Table 3(a)",
    of="Algorithm 1",
)
needs_data(
    CHAPTER,
    "Table 2",
    "E2006-TFIDF is read if it is given. On mice, which stand in for it, steps without a threshold"
    " are ahead of DP-IGHT.",
    panel="WG19:Table 2(b)",
    of="Algorithm 1",
)
needs_data(
    CHAPTER,
    "Table 3",
    "On Reuters-21578 DP-IGHT is ahead of the other two, as in the table; steps without a threshold"
    " are ahead of it.",
    panel="WG19:Table 3(a)",
    of="Algorithm 1",
)
