"""CWZ19 §8: group privacy and the spread of records over groups."""

from __future__ import annotations

import math

from minimax.divergences import group_delta
from verify.ledger.entry import Entry, Form, Result, Status, result

GRID = [(m, eps) for m in (1, 2, 3, 5, 9) for eps in (0.05, 0.25, 0.5, 1.0, 2.0)]
DELTA = 1e-12


def _needed(m: int, epsilon: float) -> float:
    """The largest P(M(X) in S)/delta at P(M(Z) in S) = 0 for data sets m replacements apart.

    Each replacement may turn a probability q into e^eps q + delta, and some mechanism does: two
    outputs, the probability of S along the path of data sets being this sequence.
    """
    q = 0.0
    for _ in range(m):
        q = math.exp(epsilon) * q + DELTA
    return q / DELTA


def group_privacy(*, printed: bool, factor: float = 1.0) -> Result:
    """Is the lemma's multiple of delta what the worst mechanism needs, on a grid of m and eps?

    Printed: (e^{eps m} - 1)/(e - 1). Corrected: `group_delta`, with e^eps - 1 below.
    """

    def stated(m: int, epsilon: float) -> float:
        if printed:
            return factor * math.expm1(m * epsilon) / math.expm1(1.0)
        return factor * float(group_delta(epsilon, DELTA, m)) / DELTA

    worst = max(_needed(m, eps) / stated(m, eps) for m, eps in GRID)
    return result(
        worst <= 1 + 1e-9,
        largest_needed_over_stated=worst,
        needed_at_m_2_and_eps_half=_needed(2, 0.5),
        stated_there=stated(2, 0.5),
    )


ENTRIES = (
    Entry(
        id="CWZ19:Lemma 8.1",
        kind="lemma",
        summary="The denominator of the additive term is e^ε − 1, not e − 1.",
        statement=(
            r"For data sets at most $m$ replacements apart, an $(\epsilon,\delta)$-private $M$ has"
            r" $P(M(X)\in S)\le e^{\epsilon m}P(M(Z)\in S)+\frac{e^{\epsilon m}-1}{e-1}\delta$."
        ),
        expected=Status.CORRECTED,
        method="brute force",
        severity="constants",
        printed=Form("denominator e − 1", lambda rng: group_privacy(printed=True)),
        corrected=Form("denominator e^ε − 1", lambda rng: group_privacy(printed=False)),
        mutant=Form(
            "corrected, constant halved", lambda rng: group_privacy(printed=False, factor=0.5)
        ),
        wrong=(
            "For ε < 1 the printed term is too small: at m = 2, ε = .5 a mechanism needs 2.65 δ and"
            " the lemma states 1.00 δ. Iterating the definition m times gives the geometric sum."
        ),
        code=("minimax.divergences.group_delta", "minimax.privacy.Approximate.group"),
    ),
)
