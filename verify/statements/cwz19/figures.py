"""CWZ19: Figures 1 to 4 and §6, by the verdicts of `verify.figures`."""

from __future__ import annotations

from verify.proofs.entry import Chapter
from verify.statements.figures import needs_data, reads

CHAPTER = Chapter("CWZ19")

reads(
    CHAPTER,
    "Figure 1",
    "Private percentiles leave a floor: at n = 10⁵ more than twice the error of the theory's R.",
    panel="CWZ19:Figure 1(a)",
    about="data-driven R, exact noise within a factor 2 of theory R, exact noise",
    of="Algorithm 3.1",
)
reads(
    CHAPTER,
    "Figure 2",
    "Comparable, since both sit on the floor that truncation leaves.",
    panel="CWZ19:Figure 2(a)",
    about="s by CV within a factor 2 of s = s*",
    of="Algorithm 3.3",
)
reads(
    CHAPTER,
    "Figure 3",
    "For means the gap to the sample mean shrinks and is there at every n.",
    panel="CWZ19:Figure 3(a)",
    about="theory R, exact noise: the gap to the sample mean shrinks, and is there at every n",
    of="Algorithm 3.1",
)
needs_data(
    CHAPTER,
    "Section 6",
    "Two real data sets; the SNP data are not public, and mice stand in for them.",
    panel="CWZ19:Figure 4(a)",
    of="Algorithm 3.3",
)
needs_data(
    CHAPTER,
    "Figure 4",
    "Housing: tuned, the error falls with m; with the theorem's steps it is noise.",
    panel="CWZ19:Figure 4(b)",
    of="Algorithm 4.1",
)
