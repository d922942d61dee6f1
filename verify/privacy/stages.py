"""How the search for events goes on: which pairs are asked how often, and which events of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from minimax.core.privacy import Approximate, Privacy, Pure
from verify.privacy.budget import Counts, delta_of
from verify.privacy.events import Event, deviations, promising_events
from verify.privacy.neighbours import Neighbours
from verify.privacy.statistics import learned
from verify.privacy.tables import Layout, Pair, joined_pair
from verify.privacy.wager import Levels, lead

FIRST_SHARE, BROAD_SHARE = 0.1, 0.2
"""Of all releases, for the first look at every pair; the more if there may be overtime."""
LEAST_BATCH = 40
QUICK = 60
"""Releases a side for a look at what is plain; twice as many test it."""
LAST_PAIRS = 2
"""About as many pairs are left when it matters."""
EVENTS = 2
"""Events of each pair that are tested."""
NEAR_THE_END, HOPED, NEEDED = 2.2, 2.0, 5.0
"""The root of how many times more releases the last stage has; deviations by which an event may be
better than it seems, and by how many it must exceed the claim, about."""
MOST_LEARNED, MOST_CHOSEN = 40_000, 60_000
"""Rows of each side from which statistics are learned, and thresholds chosen: more add little."""
MOST_KEPT = 2 * MOST_CHOSEN
"""Rows of each side after which no further part of a batch is remembered, and no further batch: of
more only the counts are."""

OVERTIME, LEADING = (0.25, 0.75), 0.5
"""Shares of further releases; by how many deviations an event must exceed the claim for them."""
WORTH = 2
"""Times the planned releases that there must be with overtime: else a plan does not count on it."""
OPPOSED = 2.0
"""Deviations for a pair of which half of the answers rise and half of them fall: what is told of
answers one by one, as by sparse vectors and noisy maxima, shows most on these."""


@dataclass
class Asked:
    """A pair of neighbours with all that was released on it so far."""

    pair: Neighbours
    rng: np.random.Generator
    seen: list[Pair] = field(default_factory=list)
    """Batches of earlier stages."""
    fresh: list[Pair] = field(default_factory=list)
    """The parts of this stage's batch."""
    drawn: int = 0
    """Releases of each side in all, remembered or not."""
    events: list[Event] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    """Of the events, on what is fresh."""
    levels: list[Levels] = field(default_factory=list)
    """The same for the wager, which may be on a ramp."""
    apart: float = 0.0
    """How many deviations the two sides are apart in any statistic."""
    worth: float = 0.0
    """By which pairs are chosen: what is hoped of the next events, by the deviations of what was
    seen so far, what the last ones showed, which no choice among many has flattered, and, for as
    long as both are mostly noise, what is known of such pairs beforehand."""

    @property
    def promise(self) -> float:
        return max((event.promise for event in self.events), default=-math.inf)

    def take(self, part: Pair) -> None:
        """Fresh releases: count the events on them."""
        self.drawn += len(part.first)
        if sum(len(kept.first) for kept in self.fresh) < MOST_KEPT:
            self.fresh.append(part)
        self.counts = [
            counts.plus(event.counts(part))
            for event, counts in zip(self.events, self.counts, strict=True)
        ]
        more = [event.levels(part) for event in self.events]
        earlier = self.levels or [np.zeros_like(each) for each in more]
        self.levels = [a + b for a, b in zip(earlier, more, strict=True)]

    def next_stage(self) -> None:
        """What was fresh may be learned from."""
        if sum(len(kept.first) for kept in self.seen) < MOST_KEPT:
            self.seen += self.fresh
        self.fresh = []

    def await_counts(self) -> None:
        """Nothing of this stage's batch was seen yet."""
        self.counts, self.levels = [Counts(0, 0, 0, 0) for _ in self.events], []


def plan(pairs: int, releases: int, broad: bool = False) -> list[tuple[int, int]]:
    """(pairs, releases on each side of each) for every stage, the first being a look only.

    Where there are many releases, all pairs are first looked at and tested with a few: a gross
    mistake shows at once. A broad plan, which overtime may follow, takes more to choose the pair:
    the one that shows most is otherwise given up by chance.
    """
    share, least, few = (BROAD_SHARE, LAST_PAIRS, 2) if broad else (FIRST_SHARE, 1, 3)
    batch = max(LEAST_BATCH, int(share * releases / (2 * pairs)))
    stages = [(pairs, QUICK), (pairs, 2 * QUICK)] if batch > 6 * QUICK else []
    stages.append((pairs, batch))
    used = sum(2 * count * size for count, size in stages)
    while True:
        pairs = min(pairs, max((pairs + 1) // 2, least))
        batch *= 2
        left = (releases - used) // (2 * pairs)
        if left < batch:
            if left >= LEAST_BATCH:
                stages.append((pairs, left))
            return stages
        if left < few * batch:  # too few for a further doubling: all at once
            batch = left
        stages.append((pairs, batch))
        used += 2 * pairs * batch


def overtime(claim: Privacy, releases: int, most: int) -> list[tuple[int, int]]:
    """Further stages of one pair, if there may be `most` releases in all, and that is worth it; for
    claims about ratios, of which alone it can be said that an event leads."""
    if not isinstance(claim, (Pure, Approximate)) or most < WORTH * releases:
        return []
    sides = (int(share * (most - releases) / 2) for share in OVERTIME)
    return [(1, side) for side in sides if side >= LEAST_BATCH]


def leads(asked: Sequence[Asked], claim: Privacy) -> bool:
    """Whether an event exceeds the claim on releases that had no part in choosing it.

    Of a mechanism that spends just what it claims about one audit in three gets so far.
    """
    if not isinstance(claim, (Pure, Approximate)):
        return False
    found = [levels for each in asked for levels in each.levels]
    return (
        max((lead(each, claim.epsilon, delta_of(claim)) for each in found), default=0.0) > LEADING
    )


def kept(asked: Sequence[Asked], count: int) -> list[Asked]:
    """The most promising pairs, and for half of the places those whose sides are most apart.

    From few releases the promise of an event is mostly noise where the budget is small; whether the
    sides can be told apart at all shows much earlier.
    """
    ranked = sorted(asked, key=lambda each: -each.worth)
    promising, others = ranked[: (count + 1) // 2], ranked[(count + 1) // 2 :]
    return [*promising, *sorted(others, key=lambda each: -each.apart)[: count // 2]]


def hopeless(asked: Sequence[Asked], claim: Privacy, drawn: int) -> bool:
    """Whether no event would refute the claim in the last stage, were it better than it seems.

    The best of many events seems better than it is, and an end refutes nothing. It is asked only
    once so much was seen that an event which is yet to be seen would be too rare to refute.
    """
    if not isinstance(claim, (Pure, Approximate)):
        return False
    scales = [math.sqrt(drawn / min(max(each.drawn // 2, 1), MOST_CHOSEN)) for each in asked]
    hopes = [e.promise + (1 + HOPED) * scale for e, scale in zip(asked, scales, strict=True)]
    return max(scales) < NEAR_THE_END and max(hopes) < NEEDED


def learn(each: Asked, claim: Privacy, drawn: int, level: float, layout: Layout) -> None:
    """Statistics from one half of all that was released, thresholds from the other."""
    shown = max((deviations(counts, claim) for counts in each.counts), default=0.0)
    each.next_stage()
    whole = joined_pair(each.seen)
    half = len(whole.first) // 2
    first, second = (
        Pair(*(table.part(rows) for table in whole))
        for rows in (slice(None, min(half, MOST_LEARNED)), slice(half, half + MOST_CHOSEN))
    )
    statistics = learned(first, layout)
    share = level / (LAST_PAIRS * EVENTS)
    every = promising_events(statistics, second, claim, drawn, share)
    each.events = every[:EVENTS]
    each.apart = max((event.apart for event in every), default=0.0)
    each.worth = each.promise * math.sqrt(len(second.first) / drawn) + shown
    if isinstance(claim, (Pure, Approximate)):  # of others the promise is no number of deviations
        each.worth += OPPOSED * each.pair.opposed
