r"""Is a claim refuted by releases alone?

**The experiment.** Pairs of neighbours are asked in stages. In a stage every pair that is left
yields a fresh batch of releases, on both sides with the same noise (`Subject.draw`). First the
events that were chosen on *earlier* batches are counted on the fresh one, and each gives a lower
bound on the budget (`budget.Counts`); then the batch joins the earlier ones, statistics are learned
on the first half of them, thresholds are chosen on the second, the less promising half of the pairs
is given up, and batches double.

**Statement.** A mechanism that keeps its claim, and whose pairs of releases are independent (the
two of a pair need not be), is refuted with probability at most 1 - confidence, whatever the
mechanism, the pairs, the statistics, and the stage at which the audit ends; and with probability at
least `confidence` every lower bound that the audit gives is at most the real budget.

**Proof.** Given all earlier batches the events of a stage are fixed and the fresh releases are
independent of them, so that the counts are binomial and a bound at level a is too large with
conditional probability at most a (`budget`: two Clopper-Pearson bounds at a/2; for ratios at half
of that, the other half being for the `wager` on pairs). With K stages at
most, known beforehand, and E events in a stage, known before its batch is drawn, a is
(1 - confidence)/(K E), and all levels add up to at most 1 - confidence. To stop, early or for want
of time, only leaves out terms.

**Completeness.** None in general: a violation on other data, or in an event that is not found, is
not seen. `Search.noticed_from` says what would have been, had the event been the right one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from minimax.core.privacy import Privacy
from verify.privacy.budget import Counts, noticed_from, refutes
from verify.privacy.neighbours import Neighbours
from verify.privacy.outcomes import CannotAudit, Outcome, Subject
from verify.privacy.statistics import Event, Layout, Pair, joined, learned, promising_events

FIRST_SHARE = 0.1
"""Of all releases, for the first look at every pair."""
LEAST_BATCH = 40
PATIENCE = 10
"""Seconds by the clock for each that the processor may take: for mechanisms that wait."""
LAST_PAIRS = 2
"""About as many pairs are left when it matters."""
EVENTS = 2
"""Events of each pair that are tested."""
CURVE = 80
"""Points of the curve that is drawn."""
SLICE = 256
"""Releases between two looks at the clock."""


class Tested(NamedTuple):
    """One event, counted on releases that had no part in choosing it."""

    pair: str
    event: str
    counts: Counts
    level: float
    budget: float
    """A lower bound on the claim's number."""


@dataclass(frozen=True)
class Search:
    """What a search found and what it did."""

    tested: tuple[Tested, ...]
    pairs: tuple[str, ...]
    releases: int
    stages: int
    stopped: str
    """Why it ended: "refuted", "releases used", "out of time"."""
    notices: tuple[str, ...]
    curve: tuple[Counts, ...] = ()
    """Counts at many thresholds of the last statistic that was tested: for a picture."""

    @property
    def best(self) -> Tested | None:
        """The test that proves most."""
        return max(self.tested, key=lambda test: test.budget, default=None)

    def noticed_from(self, claim: Privacy, likelier: float) -> float:
        """The least budget that the largest test would have refuted with a chance of 9 in 10."""
        if not self.tested:
            return math.inf
        largest = max(self.tested, key=lambda test: test.counts.drawn)
        return noticed_from(claim, largest.counts.drawn, largest.level, likelier)


@dataclass
class _Asked:
    """A pair of neighbours with all that was released on it so far."""

    pair: Neighbours
    rng: np.random.Generator
    seen: list[Pair] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def promise(self) -> float:
        return max((event.promise for event in self.events), default=-math.inf)


class OutOfTime(Exception):
    """The seconds are used up."""


@dataclass
class Clock:
    """Counts the seconds that are left: the processor's, so that a busy machine decides nothing."""

    seconds: float
    started: tuple[float, float] = field(default_factory=lambda: _now())

    def check(self) -> None:
        """Raise once they are used up, or many times as many by the clock on the wall."""
        worked, waited = (now - then for now, then in zip(_now(), self.started, strict=True))
        if max(worked, waited / PATIENCE) > self.seconds:
            raise OutOfTime


def _now() -> tuple[float, float]:
    return time.process_time(), time.monotonic()


def plan(pairs: int, releases: int) -> list[tuple[int, int]]:
    """(pairs, releases on each side of each) for every stage, the first being a look only."""
    batch = max(LEAST_BATCH, int(FIRST_SHARE * releases / (2 * pairs)))
    stages, used = [(pairs, batch)], 2 * pairs * batch
    while True:
        pairs = (pairs + 1) // 2
        batch *= 2
        left = (releases - used) // (2 * pairs)
        if left < batch:
            if left >= LEAST_BATCH:
                stages.append((pairs, left))
            return stages
        if left < 3 * batch:  # too few for a further doubling: all at once
            batch = left
        stages.append((pairs, batch))
        used += 2 * pairs * batch


def search(
    subject: Subject,
    claim: Privacy,
    neighbours: Sequence[Neighbours],
    *,
    releases: int,
    confidence: float,
    seed: int,
    seconds: float = math.inf,
    tell: Callable[[str], None] = lambda text: None,
) -> Search:
    """Ask pairs of neighbours until the claim is refuted or the releases, or seconds, are used."""
    neighbours = _affordable(neighbours, releases)
    stages = plan(len(neighbours), releases)
    level, clock = (1 - confidence) / (len(stages) - 1), Clock(seconds)
    notices = [] if subject.takes_generator else [NO_GENERATOR]
    asked = _begun(neighbours, seed)
    tested: list[Tested] = []
    curve: tuple[Counts, ...] = ()
    used = done = 0
    stopped = "releases used"
    try:
        for k, (count, batch) in enumerate(stages):
            asked = sorted(asked, key=lambda each: -each.promise)[:count]
            tell(f"{subject.name}: stage {k + 1} of {len(stages)}, {batch} releases a side")
            fresh = [_drawn(each, subject, batch, clock) for each in asked]
            used, done = used + 2 * len(asked) * batch, done + 1
            if k == 0:
                layout, told = _first_look(fresh)
                notices += told or _of_noise(subject, neighbours[0], seed)
            pairs = [Pair(*map(layout.table, sides)) for sides in fresh]
            new = _tests(asked, pairs, claim, level)
            tested += new
            curve = _curve(asked, pairs, new) or curve
            if any(refutes(claim, test.budget) for test in new):
                stopped = "refuted"
                break
            if k + 1 < len(stages):
                _learn(asked, pairs, claim, stages[-1][1], level, layout, clock)
    except OutOfTime:
        stopped = "out of time"
    about = tuple(pair.about for pair in neighbours)
    return Search(tuple(tested), about, used, done, stopped, tuple(notices), curve)


def _affordable(neighbours: Sequence[Neighbours], releases: int) -> list[Neighbours]:
    """As many of the pairs as the releases allow to ask, from all over the list."""
    most = releases // (6 * LEAST_BATCH)
    if most < 1:
        raise CannotAudit(f"releases must be {6 * LEAST_BATCH} at least, got {releases}")
    if most >= len(neighbours):
        return list(neighbours)
    return [neighbours[int(k)] for k in np.linspace(0, len(neighbours) - 1, most)]


NO_GENERATOR = "the mechanism takes no generator: its releases cannot be drawn again"
ALIKE = "every release is the same, whatever the data and the noise: nothing to audit"
IGNORES = "the releases on neighbours are the same, noise for noise: the data seem to be ignored"
OTHER_NOISE = "noise does not come from the generator alone: its releases cannot be drawn again"
REDRAWN = 20
"""Releases that are drawn again with the same generator."""
NOTHING = "mechanism returns nothing (None) on every data set that was tried"


def _begun(neighbours: Sequence[Neighbours], seed: int) -> list[_Asked]:
    children = np.random.SeedSequence(seed).spawn(len(neighbours))
    rngs = map(np.random.default_rng, children)
    return [_Asked(pair, rng) for pair, rng in zip(neighbours, rngs, strict=True)]


def _drawn(
    asked: _Asked, subject: Subject, batch: int, clock: Clock
) -> tuple[list[Outcome], list[Outcome]]:
    sides: tuple[list[Outcome], list[Outcome]] = ([], [])
    for start in range(0, batch, SLICE):
        clock.check()
        drawn = subject.draw(
            asked.pair.first, asked.pair.second, min(SLICE, batch - start), asked.rng
        )
        for side, more in zip(sides, drawn, strict=True):
            side += more
    return sides


def _first_look(fresh: Sequence[tuple[list[Outcome], list[Outcome]]]) -> tuple[Layout, list[str]]:
    """The layout of the releases; raises if there are none to speak of."""
    everything = [outcome for sides in fresh for side in sides for outcome in side]
    forms = {outcome.form for outcome in everything}
    if all(form.startswith("raises ") for form in forms):
        example = min(forms)[:300].removeprefix("raises ")
        raise CannotAudit(f"mechanism raises on every data set that was tried: {example}")
    if forms == {"None"}:
        raise CannotAudit(NOTHING)
    if len(set(everything)) == 1:
        return Layout.of(everything), [ALIKE]
    ignored = all(first == second for first, second in fresh)
    return Layout.of(everything), [IGNORES] if ignored else []


def _of_noise(subject: Subject, pair: Neighbours, seed: int) -> list[str]:
    """A notice if the same generator does not give the same release."""
    if not subject.takes_generator:
        return []
    once, again = subject.draw(pair.first, pair.first, REDRAWN, np.random.default_rng(seed))
    return [] if once == again else [OTHER_NOISE]


def _tests(
    asked: Sequence[_Asked], fresh: Sequence[Pair], claim: Privacy, level: float
) -> list[Tested]:
    """The events of all pairs, counted on the fresh batch; the level is shared by all of them."""
    share = level / max(sum(len(each.events) for each in asked), 1)
    found = []
    for each, pair in zip(asked, fresh, strict=True):
        for event in each.events:
            counts = event.counts(pair)
            budget = counts.budget(claim, share)
            found.append(Tested(each.pair.about, event.about, counts, share, budget))
    return found


def _curve(
    asked: Sequence[_Asked], fresh: Sequence[Pair], tests: Sequence[Tested]
) -> tuple[Counts, ...]:
    """Counts of the best event of these, its threshold moved through the fresh releases."""
    events = [
        (event, pair) for each, pair in zip(asked, fresh, strict=True) for event in each.events
    ]
    if not tests:
        return ()
    event, pair = events[max(range(len(tests)), key=lambda k: tests[k].budget)]
    return event.counts_along(pair, CURVE)


def _learn(
    asked: Sequence[_Asked],
    fresh: Sequence[Pair],
    claim: Privacy,
    drawn: int,
    level: float,
    layout: Layout,
    clock: Clock,
) -> None:
    """Statistics from one half of all that was released, thresholds from the other."""
    for each, pair in zip(asked, fresh, strict=True):
        clock.check()
        each.seen.append(pair)
        whole = Pair(*(joined([own[side] for own in each.seen]) for side in (0, 1)))
        half = len(whole.first) // 2
        first, second = (
            Pair(*(table.part(rows) for table in whole))
            for rows in (slice(None, half), slice(half, None))
        )
        statistics = learned(first, layout.names())
        share = level / (LAST_PAIRS * EVENTS)
        each.events = promising_events(statistics, second, claim, drawn, share)[:EVENTS]
