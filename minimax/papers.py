"""The papers the toolkit follows, by the keys used in every `source` string."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper: who, what, where, and the version whose numbering we use."""

    key: str
    authors: str
    title: str
    version: str


PAPERS: dict[str, Paper] = {
    paper.key: paper
    for paper in (
        Paper(
            "CWZ19",
            "T. T. Cai, Y. Wang, L. Zhang",
            "The Cost of Privacy: Optimal Rates of Convergence for Parameter Estimation"
            " with Differential Privacy",
            "arXiv 1902.04495, with supplement",
        ),
        Paper(
            "WX21",
            "D. Wang, J. Xu",
            "On Sparse Linear Regression in the Local Differential Privacy Model",
            "IEEE Transactions on Information Theory 67 (2021)",
        ),
        Paper(
            "WX19",
            "D. Wang, J. Xu",
            "On Sparse Linear Regression in the Local Differential Privacy Model",
            "ICML 2019",
        ),
        Paper(
            "WSX18",
            "D. Wang, A. Smith, J. Xu",
            "High Dimensional Sparse Linear Regression under Local Differential Privacy",
            "NeurIPS 2018 workshop",
        ),
        Paper(
            "WG19",
            "L. Wang, Q. Gu",
            "Differentially Private Iterative Gradient Hard Thresholding for Sparse Learning",
            "IJCAI 2019",
        ),
    )
}

THIS_WORK = "tracebound"
"""Source key of statements proved in this toolkit's own docstrings."""


_STATEMENT = re.compile(rf"({'|'.join(PAPERS)}): (\([^()]+\)|[^()]+)")


def statement_in(source: str) -> str:
    """The numbered statement that a source names, as the ledger's id of it; or nothing.

    >>> statement_in("tracebound: in_sample (for CWZ19: (2.3))")
    'CWZ19:(2.3)'
    """
    found = _STATEMENT.search(source)
    return f"{found[1]}:{found[2].strip()}" if found else ""


def cite(source: str) -> str:
    """Expand a source such as ``"CWZ19: Theorem 3.1"`` into a full reference."""
    key, _, statement = source.partition(":")
    if key.strip() == THIS_WORK:
        return source
    try:
        paper = PAPERS[key.strip()]
    except KeyError:
        raise ValueError(f"source {source!r}: unknown paper key; known: {sorted(PAPERS)}") from None
    return f"{paper.authors}, {paper.title} ({paper.version}),{statement}"
