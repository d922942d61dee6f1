"""The exact test of a ratio of chances: its size by enumeration, and its power."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from minimax import Pure
from verify.privacy.budget import Counts, least_budget, refutes
from verify.privacy.ratio import exceeds, least_ratio, upper_tail


@pytest.mark.parametrize("odds", [1.0, 1.3, 4.0])
def test_tails_are_those_of_scipy(odds):
    for m, s in ((9, 5), (30, 41), (200, 60)):
        for k in range(max(0, s - m), min(m, s) + 1, max(1, m // 9)):
            expected = stats.nchypergeom_fisher.sf(k - 1, 2 * m, m, s, odds)
            assert upper_tail(k, s, m, odds) == pytest.approx(expected, abs=1e-9)


def size(p, q, m, epsilon, delta, level):
    """The chance of a rejection, over all outcomes."""
    counts = np.arange(m + 1)
    law = np.outer(stats.binom.pmf(counts, m, p), stats.binom.pmf(counts, m, q))
    likely = [(k, j) for k in counts for j in counts if law[k, j] > 1e-12 and k > j]
    return sum(law[k, j] for k, j in likely if exceeds(int(k), int(j), m, epsilon, delta, level))


@pytest.mark.parametrize("q", [0.03, 0.3, 0.55])
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_its_size_is_at_most_the_level(q, delta):
    epsilon, m, level = 0.5, 40, 0.05
    p = math.exp(epsilon) * q + delta
    assert size(p, q, m, epsilon, delta, level) <= level
    if delta == 0 and q == 0.3:  # the control: more than the claim allows is seen
        assert size(min(2.5 * p, 0.95), q, m, epsilon, delta, level) > 0.2


def test_half_of_the_releases_do():
    """A ratio that two bounds do not separate, and this does: 0.25 in place of 0.1."""
    m, claim, level = 80_000, Pure(0.1), 1e-5
    k, j = round(0.031 * m), round(0.031 * math.exp(-0.25) * m)
    counts = Counts(k, j, m)
    assert not refutes(claim, float(least_budget(claim, *counts.chances(level))))
    found = counts.budget(claim, level)
    assert refutes(claim, found)
    assert found < math.log(k / j)
    assert least_ratio(j, k, m, 0.0, level, 0.1) == 0.0
