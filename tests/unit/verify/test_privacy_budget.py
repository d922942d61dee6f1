"""What two chances prove about a budget: never more than is true, and all of it where that can be.

Oracles: channels on three outcomes whose budget is known, the trade-off curves, closed forms.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Pure,
    Renyi,
    ZeroConcentrated,
)
from verify.privacy.budget import (
    ORDERS,
    Counts,
    check_claim,
    least_budget,
    noticed_from,
    refutes,
    stated,
    with_budget,
)

CLAIMS: list[Privacy] = [
    Pure(1.0),
    Approximate(1.0, 0.05),
    ZeroConcentrated(0.5),
    OffsetConcentrated(0.1, 0.5),
    Gaussian(1.0),
    Renyi(3.0, 1.0),
]
chances = st.floats(0.001, 0.999)


def renyi(a: Any, p: np.ndarray, q: np.ndarray) -> Any:
    """D_a of two laws, for one order or several."""
    logs = np.multiply.outer(a, np.log(p)) + np.multiply.outer(1 - a, np.log(q))
    return special.logsumexp(logs, axis=-1) / (a - 1)


def real_budget(claim: Privacy, p: np.ndarray, q: np.ndarray) -> float:
    """The least number of the claim that two laws on a few outcomes keep, outcome by outcome."""
    both = ((p, q), (q, p))
    match claim:
        case Pure():
            return float(np.abs(np.log(p / q)).max())
        case Approximate():
            levels = np.linspace(0, 10, 20_001)
            sticks = [np.maximum(a - np.exp(levels)[:, None] * b, 0).sum(axis=1) for a, b in both]
            return float(levels[np.argmax(np.maximum(*sticks) <= claim.delta)])
        case Renyi():
            return float(max(renyi(claim.alpha, a, b) for a, b in both))
    kappa = getattr(claim, "kappa", 0.0)
    return float(max(np.max((renyi(ORDERS, a, b) - kappa) / ORDERS) for a, b in both))


NOT_GAUSSIAN = [claim for claim in CLAIMS if not isinstance(claim, Gaussian)]


@pytest.mark.parametrize("claim", NOT_GAUSSIAN, ids=str)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(p=st.tuples(chances, chances, chances), q=st.tuples(chances, chances, chances))
def test_no_event_proves_more_than_is_true(
    claim: Privacy, p: tuple[float, ...], q: tuple[float, ...]
) -> None:
    P, Q = (np.array(law) / sum(law) for law in (p, q))
    real = max(real_budget(claim, P, Q), 0.0)
    for event in list(product([False, True], repeat=3))[1:-1]:
        inside = np.array(event)
        found = float(least_budget(claim, P[inside].sum(), Q[inside].sum()))
        assert found <= real * (1 + 1e-9) + 1e-9


SHARP = [claim for claim in CLAIMS if isinstance(claim, (Pure, Approximate, Gaussian))]


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(p=chances, q=chances)
@example(p=1 / 32, q=1 / 128)
def test_the_trade_off_curve_agrees(claim: Privacy, p: float, q: float) -> None:
    """The definitions have their own bound on p given q: it holds at what is found, and for those
    that two outcomes decide it fails below. (Orders of zCDP are from a grid, which takes off a
    thousandth at most of the divergence kappa + rho alpha.)"""
    found = float(least_budget(claim, p, q))
    if found > 1e-6:
        slack = 1e-9 if claim in SHARP else 1e-3
        more = found + slack * (found + getattr(claim, "kappa", 0.0))
        assert with_budget(claim, more).tradeoff_log(math.log(q)) >= p * (1 - 1e-7)
        if claim in SHARP:
            assert with_budget(claim, found * 0.99).tradeoff_log(math.log(q)) < p


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(p=chances, q=chances, r=chances)
def test_wider_chances_prove_less(claim: Privacy, p: float, q: float, r: float) -> None:
    q, r, p = sorted((p, q, r))
    whole = float(least_budget(claim, p, q))
    assert float(least_budget(claim, r, q)) <= whole + 1e-12
    assert float(least_budget(claim, p, r)) <= whole + 1e-12
    assert float(least_budget(claim, q, p)) == 0


def test_the_best_event_proves_all_of_it() -> None:
    likely = float(special.expit(1.0))
    assert float(least_budget(Pure(9.0), likely, 1 - likely)) == pytest.approx(1.0)
    assert float(least_budget(Gaussian(9.0), 0.5, special.ndtr(-1.0))) == pytest.approx(1.0)
    p, q = np.array([likely, 1 - likely]), np.array([1 - likely, likely])
    assert float(least_budget(Renyi(3.0, 9.0), p[0], q[0])) == pytest.approx(renyi(3.0, p, q))
    small = 1e-3  # 2/pi of rho = mu^2/2
    p_half = float(special.ndtr(small / 2))
    rho = float(least_budget(ZeroConcentrated(1.0), p_half, 1 - p_half))
    assert rho == pytest.approx(small**2 / math.pi, rel=1e-2)


def test_chances_are_covered_as_often_as_stated() -> None:
    """Both Clopper-Pearson bounds, summed over all counts: each is wrong with chance level/2."""
    m, level, chance = 40, 0.1, 0.3
    weights = stats.binom.pmf(np.arange(m + 1), m, chance)
    low = sum(w for k, w in enumerate(weights) if Counts(k, 0, m, 0).chances(level)[0] > chance)
    high = sum(w for j, w in enumerate(weights) if Counts(0, j, m, 0).chances(level)[1] < chance)
    assert low <= level / 2
    assert high <= level / 2
    assert max(low, high) > level / 8  # not for being far too wide


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_the_power_is_what_it_says(claim: Privacy) -> None:
    drawn, level = 20_000, 1e-4
    found = noticed_from(claim, drawn, level)
    assert stated(claim) < found < 2.5 * stated(claim)
    assert noticed_from(claim, 10 * drawn, level) < found
    assert noticed_from(claim, 20, level) == math.inf
    p, budget = 0.5, with_budget(claim, found)
    q = min(x for x in np.linspace(0.001, 0.5, 2000) if least_budget(budget, p, x) <= found)
    rng = np.random.default_rng(0)
    hits = [
        refutes(claim, Counts.independent(*counts, drawn).budget(claim, level))
        for counts in rng.binomial(drawn, (p, q), size=(100, 2)).tolist()
    ]
    assert 80 <= sum(hits) <= 100


def test_what_is_no_claim_is_refused() -> None:
    for claim in (1.0, Pure, None):
        with pytest.raises(TypeError, match=r"^claim must"):
            check_claim(claim)
