"""The wager on pairs: its size by enumeration, its power, and what common noise is worth."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import special, stats

from minimax import Gaussian, Pure
from verify.privacy import audit, query_answers
from verify.privacy.blackbox import PART, _Judge, search
from verify.privacy.budget import Counts, least_budget, refutes
from verify.privacy.events import Event
from verify.privacy.outcomes import Outcome, subject
from verify.privacy.statistics import Statistic, _votes, learned
from verify.privacy.tables import Layout, Pair, Table
from verify.privacy.wager import Agreement, Capital, exceeds, lead, least_ratio, log_wealth


def size(chances, m, epsilon, delta, level):
    """The chance of a verdict, over all ways in which m pairs may fall."""
    law = stats.multinomial(m, chances)
    every = (n for n in product(range(m + 1), repeat=3) if sum(n) <= m)
    found = (Agreement(*n, m - sum(n)) for n in every)
    return sum(law.pmf(n) for n in found if exceeds(n, epsilon, delta, level, epsilon))


@pytest.mark.parametrize("common", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_its_size_is_at_most_the_level_whatever_the_sides_have_in_common(common, delta):
    epsilon, m, level, q = 0.5, 24, 0.05, 0.3
    p = math.exp(epsilon) * q + delta
    both = common * q + (1 - common) * p * q
    allowed = (both, p - both, q - both, 1 - p - q + both)
    assert size(allowed, m, epsilon, delta, level) <= level
    far = (0.02, 0.9, 0.02, 0.06)  # the control: more than the claim allows is seen
    assert size(far, m, epsilon, delta, level) > 0.5


def test_a_larger_epsilon_is_never_easier_to_exceed():
    """So that the bound of `least_ratio` is as sure as one test."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        found = Agreement(*map(int, rng.multinomial(2000, rng.dirichlet([2, 2, 1, 4]))))
        over = [exceeds(found, e, 0.01, 1e-3, 0.3) for e in np.linspace(0.3, 6, 60)]
        assert over == sorted(over, reverse=True)


def test_pairs_that_agree_prove_more():
    """A ratio that no independent releases of this number show: 0.16 in place of 0.1."""
    m, claim, level = 60_000, Pure(0.1), 1e-5
    k, j = round(0.03 * m), round(0.03 * math.exp(-0.16) * m)
    apart, together = Counts.independent(k, j, m), Counts(k, j, m, j)
    assert not refutes(claim, apart.budget(claim, level))
    assert not refutes(claim, float(least_budget(claim, *together.chances(level))))
    found = together.budget(claim, level)
    assert 0.1 < found < math.log(k / j)
    assert least_ratio(Counts(j, k, m, j).agreement, 0.0, level, 0.1) == 0.0


def test_both_sides_of_a_pair_get_the_same_noise_and_pairs_get_other_noise():
    noisy = subject(lambda x, rng: float(x[0] + rng.laplace()))
    here, there = noisy.draw(np.zeros(1), np.ones(1), 50, np.random.default_rng(0))
    numbers = np.array([[outcome.numbers[0] for outcome in side] for side in (here, there)])
    np.testing.assert_allclose(numbers[1] - numbers[0], 1.0)
    assert len(np.unique(numbers)) == 100


def test_a_mechanism_with_noise_of_its_own_is_not_refuted_for_it():
    """Releases without anything in common: the wager holds for them too."""
    own = np.random.default_rng(1)
    found = audit(lambda q: float(q[0] + own.laplace()), Pure(1.0), neighbours=query_answers(1))
    assert not found.refuted
    half = audit(lambda q: float(q[0] + own.laplace() / 2), Pure(1.0), neighbours=query_answers(1))
    assert half.refuted  # the control


def walked(chances, rounds, m, seed, parcels=None):
    """Whether a wager of so many rounds, of two events each and looked at again and again, is ever
    won."""
    rng = np.random.default_rng(seed)
    capital = Capital(EPSILON, 0.0, parcels or rounds)
    for _ in range(rounds):
        drawn = rng.choice(4, size=(2, m), p=chances)
        for k in range(3, m + 1, 3):
            seen = [Agreement(*np.bincount(row[:k], minlength=4).tolist()) for row in drawn]
            if any(capital.least_ratio(each, 2, LEVEL) > 0 for each in seen):
                return True
        capital.close(seen)
    return False


EPSILON, LEVEL = 0.5, 0.1


def test_looking_again_and_again_in_every_round_costs_no_more_than_the_level():
    q = 0.3
    p = math.exp(EPSILON) * q
    allowed = (q, p - q, 0.0, 1 - p)
    won = sum(walked(allowed, 3, 15, seed) for seed in range(100))
    assert special.bdtrc(won - 1, 100, LEVEL) > 1e-3  # no more than level, as far as can be told
    broken = (0.05, 0.8, 0.0, 0.15)
    assert sum(walked(broken, 3, 15, seed) for seed in range(20)) > 15  # the control


def test_further_rounds_play_with_what_is_left_and_cost_no_more_than_the_level():
    q = 0.3
    p = math.exp(EPSILON) * q
    allowed, better = (q, p - q, 0.0, 1 - p), (0.2, 0.5, 0.0, 0.3)
    won = sum(walked(allowed, 6, 15, seed, parcels=1) for seed in range(100))
    assert special.bdtrc(won - 1, 100, LEVEL) > 1e-3
    after = [
        sum(walked(better, rounds, 18, seed, parcels=1) for seed in range(40)) for rounds in (1, 3)
    ]
    assert after[1] > after[0] + 10  # the control: what leads is won in overtime
    capital = Capital(EPSILON, 0.0, 1)
    assert not capital.over
    capital.close([])
    assert capital.over


def test_a_lead_is_in_deviations():
    p, q, n = 0.4, 0.1, 10_000
    bits = Counts.independent(int(p * n), int(q * n), n).agreement
    expected = (p - 2 * q) / math.sqrt(p * (1 - p) + 4 * q * (1 - q)) * math.sqrt(n)
    assert lead(bits, math.log(2), 0.0) == pytest.approx(expected, rel=0.01)
    assert lead(bits, math.log(4), 0.0) == pytest.approx(0.0, abs=0.2)
    assert lead(np.zeros((2, 2)), 1.0, 0.0) == 0.0


def test_what_leads_is_asked_further_and_what_was_asked_for_is_not_exceeded():
    def noisy(x, rng, scale=1 / 1.2):
        return float(x[0] + rng.laplace(scale=scale))

    few = {"releases": 3_000, "confidence": 0.999, "seed": 1}
    pairs = query_answers(1)[:1]
    short = search(subject(noisy), Pure(1.0), pairs, **few)
    assert short.stopped == "releases used"
    assert short.releases <= 3_000
    long = search(subject(noisy), Pure(1.0), pairs, most=40_000, **few)
    assert long.stopped == "refuted"
    assert 3_000 < long.releases <= 40_000
    assert 1.0 < long.best.budget <= 1.2
    within = search(  # the control: nothing leads where half of the claim is spent
        subject(lambda x, rng: noisy(x, rng, 2.0)), Pure(1.0), pairs, most=40_000, **few
    )
    assert within.releases <= 3_000


def test_intervals_have_no_part_in_overtime():
    judge = _Judge.of(Pure(0.1), 1e-3, 1)
    surely = Counts.independent(4000, 0, PART)
    table = surely.agreement.levels
    planned = judge._budget(surely, table, 1e-5, 1, complete=True)
    judge.capital.close([])
    assert judge._budget(surely, table, 1e-5, 1, complete=True) < planned


def placed(m, rng, late, shift):
    """A value at the first place or at the second: where it is and how large it is tell both."""
    values, places = shift + rng.laplace(size=m), rng.random(m) < late
    rows = [(None, v) if there else (v, None) for v, there in zip(values, places, strict=True)]
    return [Outcome(row, "[None, #]" if row[0] is None else "[#, None]") for row in rows]


def test_a_pattern_and_its_numbers_are_read_together():
    """Against the exact log ratio; the control counts the place twice, in each of two columns."""
    rng, layout = np.random.default_rng(0), Layout(2)
    first, second = (
        [*placed(20_000, rng, late, shift)] for late, shift in ((0.7, 1.0), (0.3, 0.0))
    )
    pair = layout.pair((first, second))
    place = np.where(np.isnan(pair.first.numbers[:, 0]), math.log(7 / 3), math.log(3 / 7))
    value = np.nansum(pair.first.numbers[:, :2], axis=1)
    exact = place + np.abs(value) - np.abs(value - 1)
    found = {each.about: each(pair.first) for each in learned(pair, layout)}
    off = {name: np.abs(odds - exact).mean() for name, odds in found.items()}
    assert off["its pattern and the numbers' odds, by 12 bins, together"] < 0.1
    assert off["the numbers' own odds, by 12 bins, together"] > 0.5


def test_what_a_round_wins_serves_the_next_and_a_loss_costs_a_parcel_only():
    good, bad, fresh = Agreement(300, 99, 0, 601), Agreement(300, 0, 99, 601), Capital(0.1, 0.0, 3)
    after = {
        name: Capital(0.1, 0.0, 3, [(found,)]) for name, found in (("won", good), ("lost", bad))
    }
    level = 1e-8
    alone = fresh.least_ratio(good, 1, level)
    assert after["won"].least_ratio(good, 1, level) > 1.15 * alone
    assert after["lost"].least_ratio(good, 1, level) >= alone > 0.1
    assert fresh.least_ratio(good, 4, level) < alone
    parts = least_ratio(good, 0.0, level / 3, 0.1)  # a round by itself, at a third of the level
    assert alone == pytest.approx(parts)


def test_a_large_batch_is_looked_at_in_parts_and_intervals_wait_for_all_of_it():
    judge = _Judge.of(Pure(0.1), 1e-3, 4)
    assert judge.parts(3 * PART + 7) == [PART + 3, PART + 2, PART + 2]
    assert judge.parts(10) == [10]
    assert _Judge.of(Gaussian(0.1), 1e-3, 4).parts(9 * PART) == [9 * PART]
    surely = Counts.independent(4000, 0, PART)
    table = surely.agreement.levels
    whole, part = (judge._budget(surely, table, 1e-5, 1, complete=c) for c in (True, False))
    assert whole > part


def test_a_broken_claim_at_a_small_epsilon_is_refuted_before_its_batch_is_complete():
    def noisy(x, rng):
        return float(x[0] + rng.laplace(scale=1 / 0.13))

    found = search(
        subject(noisy),
        Pure(0.1),
        query_answers(1)[:1],
        releases=200_000,
        confidence=0.999,
        seed=0,
    )
    assert found.stopped == "refuted"
    assert found.releases < 160_000
    assert found.best is not None
    assert 0.1 < found.best.budget < 0.13


def ramped(width):
    """The sum of twenty numbers' sides, in an event as it would be chosen."""
    votes = Statistic("votes", lambda table: np.tanh(table.numbers / 10).sum(axis=1))
    return Event(votes, 9.0, ">=", True, 0.0, width)


def reports(m, rng):
    """Twenty reports of 0 and of 1 with the same Laplace noise: epsilon = 0.2 in all."""
    noise = rng.laplace(scale=100.0, size=(m, 20))
    return Pair(*(Table(value + noise, [Outcome((), "")] * m) for value in (0.0, 1.0)))


def test_a_ramp_shows_what_bits_do_not():
    pair = reports(100_000, np.random.default_rng(0))
    won = {width: log_wealth(ramped(width).levels(pair), 0.1, 0.0, 0.1) for width in (0.0, 4.0)}
    assert won[4.0] > won[0.0] + 3
    assert log_wealth(ramped(4.0).levels(pair), 0.2, 0.0, 0.2) < 1  # the control: what is true
    bits = ramped(0.0)
    assert bits.levels(pair).tolist() == bits.counts(pair).agreement.levels.tolist()
    assert ramped(4.0).levels(pair).sum() == 100_000
    assert "the more so" in ramped(4.0).about


def test_the_size_of_a_ramp_is_at_most_its_level():
    """E X = e^eps E Y exactly, X and Y nearly one number."""
    rng = np.random.default_rng(1)
    epsilon, level, wrong = 0.5, 0.05, 0
    for _ in range(300):
        y = rng.integers(0, 9, size=200)
        kept = rng.random(200) < math.exp(epsilon) / 2
        x = np.where(kept, 2 * y, 0)
        cells = np.bincount(x * 17 + y, minlength=289).reshape(17, 17).astype(float)
        wrong += exceeds(cells, epsilon, 0.0, level, epsilon)
    assert special.bdtrc(wrong - 1, 300, level) > 1e-3
    assert exceeds(cells, 0.1, 0.0, level, 0.1)  # the control


def test_a_column_without_numbers_has_no_vote():
    """Nor do those that are infinite break the count; the third column tells the sides apart."""
    rng = np.random.default_rng(0)
    drawn = rng.standard_normal((2, 400, 3))
    drawn[:, :, 0] = np.nan
    drawn[:, ::3, 1] = np.inf
    drawn[0, :, 2] += 2.0
    pair = Pair(*(Table(side, np.zeros((400, 0), dtype=int)) for side in drawn))
    votes = _votes(pair, 3)
    first, second = (votes(table) for table in pair)
    assert np.isfinite([first, second]).all()
    assert first.mean() > second.mean() + 0.5
