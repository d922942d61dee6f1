"""No sequence of draws is worth more than the budget: by the accountant, and by what is proved."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from estimators import Budget, LedgerEntry, compose
from estimators.core.accounting import NotAccountable
from estimators.core.budget import Overdrawn
from minimax.core.closeness import gaussian_hockey_stick
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from tests.effort import part
from tests.strategies import log_floats, privacies

pytestmark = pytest.mark.oldest

Kinds = tuple[type[SpendablePrivacy], ...]
SPENDERS: list[Kinds] = [
    (Pure, Approximate, ZeroConcentrated, Gaussian),
    (Pure, Approximate, ZeroConcentrated),
    (Approximate,),
    (Pure,),
]
"""What estimators of the package can spend."""
SIZES = st.one_of(st.floats(0.01, 1.0), log_floats(1e-6, 1.0))
DRAWS = st.lists(st.tuples(SIZES, st.sampled_from(SPENDERS), st.booleans()), max_size=12)
KEPT = st.sampled_from([None, Gaussian, ZeroConcentrated, Approximate])


def spending(handed: SpendablePrivacy, calls: int) -> tuple[LedgerEntry, ...]:
    """A ledger of so many equal calls that spends all that is handed."""
    power = 0.5 if isinstance(handed, Gaussian) else 1.0
    each = {name: value / calls**power for name, value in handed.parameters.items()}
    return (LedgerEntry("any", 1.0, "l1", 1.0, (type(handed)(**each),), calls),)


def within(ledger: tuple[LedgerEntry, ...], whole: SpendablePrivacy) -> bool:
    """Whether the accountant finds no more, but for the rounding of sums."""
    delta = whole.delta * (1 + 1e-9) if isinstance(whole, Approximate) else None
    try:
        found = compose(ledger, type(whole), delta).parameters
    except NotAccountable:  # more than all of delta
        return False
    return all(found[name] <= number * (1 + 1e-9) for name, number in whole.parameters.items())


@settings(max_examples=part(100, of=300))
@given(privacies(), KEPT, DRAWS)
@example(Approximate(1.0, 1e-6), Approximate, [(0.1, SPENDERS[2], False)] * 10)  # last digits
def test_no_sequence_of_draws_composes_to_more(
    whole: SpendablePrivacy, kept_in: Any, draws: list[tuple[float, Kinds, bool]]
) -> None:
    budget = Budget(whole, kept_in if isinstance(whole, Approximate) else None)
    everything: tuple[LedgerEntry, ...] = ()
    for size, kinds, fails in draws:
        before, left = budget.history, budget.left
        drawing = budget.share(size).drawing("any")
        try:
            handed = drawing.hand(*kinds)
        except (Overdrawn, TypeError):
            assert (budget.history, budget.left) == (before, left)
            continue
        if fails:
            drawing.__exit__(ValueError)
            assert (budget.history, budget.left) == (before, left)
            continue
        ledger = spending(handed, 1 + len(budget.history) % 3)
        drawing.enter(ledger)
        everything += ledger
        assert budget.history[:-1] == before
    assert budget.ledger == everything
    if everything:
        assert within(everything, whole)
        assert budget.spent is not None
        assert within(tuple(spending(budget.spent, 1)), whole)


@given(privacies())
def test_draws_that_nobody_refuses_do_compose_to_more(whole: SpendablePrivacy) -> None:
    assert not within(spending(whole, 1) * 2, whole)


@given(privacies(), st.floats(0.01, 0.99))
@example(Approximate(0.0015, 0.0009), 0.75)  # at this delta no epsilon is needed for the rest
def test_what_is_left_can_be_drawn_and_is_all(whole: SpendablePrivacy, size: float) -> None:
    budget = Budget(whole)
    kinds = SPENDERS[0]
    for share in (budget.share(size), None):
        drawing = (share or budget.amount(budget.left)).drawing("any")  # type: ignore[arg-type]
        drawing.enter(spending(drawing.hand(*kinds), 1))
    assert budget.left is None
    assert within(budget.ledger, whole)
    with pytest.raises(Overdrawn):
        budget.share(0.01).drawing("any").hand(*kinds)


# Draws that are chosen after results, in a world where every path can be counted


def size_after(path: tuple[int, ...], sizes: list[float]) -> float:
    """The next draw, which follows the results before it."""
    return sizes[(7 * sum(3**i * (o + 1) for i, o in enumerate(path)) + len(path)) % len(sizes)]


def law(epsilon: float, leak: float, bit: int) -> list[float]:
    """Randomised response, of a bit that is told with the chance `leak`."""
    true = (1 - leak) / (1 + math.exp(-epsilon))
    reports = [true, 1 - leak - true] if bit == 0 else [1 - leak - true, true]
    return [*reports, leak * (bit == 0), leak * (bit == 1)]


def paths(whole: Any, sizes: list[float], depth: int) -> list[tuple[float, float]]:
    """The chances of every path under the two bits, with draws until the budget refuses one."""
    found = []
    for path in itertools.product(range(4), repeat=depth):
        budget, chances = Budget(whole, type(whole)), (1.0, 1.0)
        for i, outcome in enumerate(path):
            drawing = budget.share(size_after(path[:i], sizes)).drawing("any")
            try:
                handed = drawing.hand(Pure, Approximate)
            except Overdrawn:
                later = path[i:]
                chances = chances if set(later) == {0} else (0.0, 0.0)  # count the path once
                break
            drawing.enter(spending(handed, 1))
            numbers = handed.parameters
            each = [law(numbers["epsilon"], numbers.get("delta", 0.0), b) for b in (0, 1)]
            chances = (chances[0] * each[0][outcome], chances[1] * each[1][outcome])
        found.append(chances)
    return found


@settings(max_examples=15)
@given(
    st.one_of(
        st.builds(Pure, log_floats(0.1, 4)),
        st.builds(Approximate, log_floats(0.1, 4), log_floats(1e-4, 0.2)),
    ),
    st.lists(st.floats(0.2, 0.7), min_size=2, max_size=5),
)
def test_adaptive_draws_are_within_the_budget(whole: Any, sizes: list[float]) -> None:
    counted = paths(whole, sizes, 4)
    assert math.fsum(p for p, _ in counted) == pytest.approx(1)
    delta = whole.parameters.get("delta", 0.0)
    lost = math.fsum(max(p - math.exp(whole.epsilon) * q, 0.0) for p, q in counted)
    assert lost <= delta + 1e-12
    twice = math.exp(whole.epsilon * 0.1)  # and the count can find too much
    assert math.fsum(max(p - twice * q, 0.0) for p, q in counted) > delta * 0.1


MU = Approximate(1.0, 1e-6).to_gaussian().mu
NODES = np.linspace(-12, 12, 20_001)


def after_one_draw(mu: float, rest: Any) -> float:
    """delta at epsilon = 1 of a draw of mu-GDP, and of a rest whose delta at epsilon - loss is
    `rest(loss)`."""
    losses = mu * NODES + mu**2 / 2
    values = np.array([rest(loss) for loss in losses]) * stats.norm.pdf(NODES)
    return float(integrate.trapezoid(values, NODES))


def hockey_stick(mu: float, epsilon: float) -> float:
    """delta of mu-GDP at an epsilon that may be negative."""
    if epsilon >= 0:
        return gaussian_hockey_stick(mu, epsilon)
    return 1 - math.exp(epsilon) * (1 - gaussian_hockey_stick(mu, -epsilon))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_gaussian_draws_add_up_exactly_and_mixtures_do_not(share: float) -> None:
    """Why a budget keeps to one definition: after a draw that lost much, the rest as GDP loses
    delta; after one that did not, delta is better spent by telling all with this chance. Each
    alone is within the budget, the choice between them is not."""
    mu, rest = MU * math.sqrt(share), MU * math.sqrt(1 - share)
    kept = after_one_draw(mu, lambda loss: hockey_stick(rest, 1 - loss))
    assert kept == pytest.approx(1e-6, rel=1e-6)
    given_delta = 1e-6 - hockey_stick(mu, 1.0)
    leak = after_one_draw(mu, lambda loss: max(1 - math.exp(1 - loss), 0.0)) + given_delta
    assert leak == pytest.approx(1e-6, rel=1e-6)

    def better(loss: float) -> float:
        told = max(1 - math.exp(1 - loss), 0.0)
        return max(hockey_stick(rest, 1 - loss), told + (1 - told) * given_delta)

    assert after_one_draw(mu, better) > 1.6e-6
