"""CWZ19: Figures 1 to 4 and §6, by the verdicts of `verify.figures`."""

from __future__ import annotations

from verify.figures.catalogue import panel_of
from verify.figures.panels.cwz19_setups import TRUNCATION
from verify.proofs.entry import Case, Chapter, Status
from verify.statements.figures import needs_data, reads, verdict_on

CHAPTER = Chapter("CWZ19")

FIGURE_1 = panel_of("CWZ19:Figure 1(a)")
OF_THEORY = "less than twice the error of theory R, exact noise"
CHAPTER.states(
    "Figure 1",
    f"{FIGURE_1.title}: “{TRUNCATION}”.",
    kind="experiment",
    found="Holds with each coordinate's own percentiles, fails with pooled ones; neither is said.",
    by="simulation",
    expected=Status.UNPROVED,
    severity="harmless",
    step=Case(
        "2.5 and 97.5 per cent points of all entries, pooled",
        title="One way to read it",
        panel=FIGURE_1.id,
        about=f"pooled percentiles, exact noise: {OF_THEORY}",
    ),
    relaxed=Case(
        "of each coordinate, charged",
        title="Another way, which must hold",
        panel=FIGURE_1.id,
        about=f"percentiles per coordinate: {OF_THEORY}",
    ),
    wrong=(
        "§5.1 does not say of what the percentiles are. Pooled over coordinates whose means lie"
        " between -10 and 10 they cut the outer ones, a floor that n does not lower; taken of each"
        " coordinate they cut both sides alike, and the sentence holds, charged or not."
    ),
    code=("verify.figures",),
    uses=("Algorithm 3.1",),
    slow=True,
)(verdict_on)
reads(
    CHAPTER,
    "Figure 2",
    "Comparable; with pooled percentiles both sit on the floor that truncation leaves.",
    panel="CWZ19:Figure 2(a)",
    about="s by CV within a factor 2 of s = s*",
    of="Algorithm 3.3",
)
reads(
    CHAPTER,
    "Figure 3",
    "For means, with the theory's R, the gap to the sample mean shrinks and stays.",
    panel="CWZ19:Figure 3(a)",
    about="theory R, exact noise: the gap to the sample mean shrinks, and is there at every n",
    of="Algorithm 3.1",
)
needs_data(
    CHAPTER,
    "Section 6",
    "Two real data sets; the SNP data are not at hand, and mice stand in for them.",
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
