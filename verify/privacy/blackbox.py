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
conditional probability at most a (`budget`: two Clopper-Pearson bounds at a/2, once the batch is
complete). With K stages at most, known beforehand, and E events in a stage, known before its batch
is drawn, a is (1 - confidence)/(K E), and all levels add up to at most 1 - confidence. For ratios
of chances they get half of that, and the other half is for one wager on pairs that runs through all
stages (`wager.Capital`) and may be looked at whenever a part of a batch has been drawn. Stages of
overtime, for what leads and not by enough, have this wager alone, with what is left of its wealth,
and no interval: they take nothing from the K. To stop, early or for want of time, only leaves out
terms.

**Completeness.** None in general: a violation on other data, or in an event that is not found, is
not seen. `Search.noticed_from` says what would have been, had the event been the right one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from minimax.core.privacy import Approximate, Privacy, Pure
from verify.privacy.budget import Counts, delta_of, noticed_from, refutes, stated
from verify.privacy.neighbours import Neighbours
from verify.privacy.outcomes import UNREAD, CannotAudit, Outcome, Subject
from verify.privacy.stages import (
    LEAST_BATCH,
    QUICK,
    Asked,
    hopeless,
    kept,
    leads,
    learn,
    overtime,
    plan,
)
from verify.privacy.tables import Layout, joined_pair
from verify.privacy.wager import Capital, Levels

PLAIN = 2.0
"""Times the claim that they must show for an end."""
PATIENCE = 10
"""Seconds by the clock for each that the processor may take: for mechanisms that wait."""
CURVE = 80
"""Points of the curve that is drawn."""
SLICE = 256
"""Releases between two looks at the clock."""
PART = 5_000
"""Of each side of a pair, between two looks at the wager: a smaller batch is drawn whole, since the
bound that it gives is worth more than its time."""


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
    """Why it ended: "refuted", "releases used", "nothing left to hope for", "out of time"."""
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
class _Judge:
    """Holds the error budget and turns counts into lower bounds."""

    claim: Privacy
    error: float
    stages: int
    """In which events are counted, at most."""
    capital: Capital | None = None

    @staticmethod
    def of(claim: Privacy, error: float, stages: int) -> _Judge:
        """With a wager, for a claim about ratios."""
        if not isinstance(claim, (Pure, Approximate)):
            return _Judge(claim, error, stages)
        return _Judge(claim, error, stages, Capital(claim.epsilon, delta_of(claim), stages))

    @property
    def level(self) -> float:
        """For a stage."""
        return self.error / self.stages

    def parts(self, batch: int) -> list[int]:
        """After how many releases each the judge looks; intervals wait for the whole batch."""
        looks = max(batch // PART, 1) if self.capital is not None else 1
        return [batch // looks + (k < batch % looks) for k in range(looks)]

    def tests(self, asked: Sequence[Asked], complete: bool) -> list[Tested]:
        """What the events of a stage show so far; the level is shared by all of them."""
        number = max(sum(len(each.events) for each in asked), 1)
        share = self.level / number
        return [
            Tested(
                each.pair.about,
                event.about,
                counts,
                share,
                self._budget(counts, levels, share, number, complete),
            )
            for each in asked
            for event, counts, levels in zip(each.events, each.counts, each.levels, strict=True)
        ]

    def _budget(
        self, counts: Counts, levels: Levels, share: float, events: int, complete: bool
    ) -> float:
        if self.capital is None:
            return counts.budget_by_chances(self.claim, share)
        wagered = self.capital.least_ratio(levels, events, self.error / 2)
        counted = complete and not self.capital.over
        return max(wagered, counts.budget_by_chances(self.claim, share / 2) if counted else 0.0)

    def close(self, asked: Sequence[Asked]) -> None:
        """The stage is over and has refuted nothing."""
        if self.capital is not None:
            self.capital.close([levels for each in asked for levels in each.levels])


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


def search(
    subject: Subject,
    claim: Privacy,
    neighbours: Sequence[Neighbours],
    *,
    releases: int,
    confidence: float,
    seed: int,
    most: int = 0,
    seconds: float = math.inf,
    tell: Callable[[str], None] = lambda text: None,
) -> Search:
    """Ask pairs of neighbours until the claim is refuted or the releases, or seconds, are used.

    There may be `most` releases in all, if that is more, while an event leads.
    """
    neighbours = _affordable(neighbours, releases)
    further = overtime(claim, releases, most)
    stages = plan(len(neighbours), releases, broad=bool(further))
    goal = max(batch for _, batch in (stages[-1], *further[:1]))
    judge, clock = _Judge.of(claim, 1 - confidence, len(stages) - 1), Clock(seconds)
    notices = [] if subject.takes_generator else [NO_GENERATOR]
    begun = asked = _begun(neighbours, seed)
    tested: list[Tested] = []
    done, stopped = 0, "releases used"
    try:
        tell(f"{subject.name}: a look at {len(asked)} pairs, {stages[0][1]} releases a side")
        looked, left = _looked(asked, subject, stages, clock)
        layout, told = _first_look(looked)
        notices += told or _of_noise(subject, neighbours[0], seed)
        for each, sides in zip(asked, looked, strict=True):
            each.take(layout.pair(sides))
        done = len(stages) - len(left)
        for count, batch in [*left, *further]:
            if done >= len(stages) and not leads(asked, claim):
                break
            for each in asked:
                clock.check()
                learn(each, claim, max(batch, goal), judge.level, layout)
            asked = kept(asked, count)
            if hopeless(asked, claim, max(batch, goal)):
                stopped = "nothing left to hope for"
                break
            of = len(stages) + len(further)
            tell(f"{subject.name}: stage {done + 1} of {of}, {batch} releases a side")
            for new in _played(asked, subject, judge, batch, layout, clock):
                if any(refutes(claim, test.budget) for test in new):
                    stopped = "refuted"
                    break
            tested += new
            done += 1
            if stopped == "refuted" and (batch > 2 * QUICK or _plain(claim, tested)):
                break
            judge.close(asked)
    except OutOfTime:
        stopped = "out of time"
    used = sum(2 * each.drawn for each in begun)
    about = tuple(pair.about for pair in neighbours)
    return Search(tuple(tested), about, used, done, stopped, tuple(notices), _curve(asked))


def _plain(claim: Privacy, tested: Sequence[Tested]) -> bool:
    """Whether a bound from a few releases is far above the claim: if not, more show more."""
    return max(test.budget for test in tested) > PLAIN * stated(claim)


def _played(
    asked: Sequence[Asked],
    subject: Subject,
    judge: _Judge,
    batch: int,
    layout: Layout,
    clock: Clock,
) -> Iterator[list[Tested]]:
    """What a stage shows, after each part of its batch."""
    for each in asked:
        each.await_counts()
    parts = judge.parts(batch)
    for k, size in enumerate(parts, start=1):
        for each in asked:
            each.take(layout.pair(_drawn(each, subject, size, clock)))
        yield judge.tests(asked, complete=k == len(parts))


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
NOT_READ = (
    "releases hold objects that cannot be looked into ({}): give out numbers, texts, arrays, or"
    " lists and dicts of them"
)
LOOKED = 500
"""Releases a side of each pair that are looked at, for as long as they are nothing."""
NOTHING = "mechanism returns nothing (None) on every data set that was tried"


def _begun(neighbours: Sequence[Neighbours], seed: int) -> list[Asked]:
    children = np.random.SeedSequence(seed).spawn(len(neighbours))
    rngs = map(np.random.default_rng, children)
    return [Asked(pair, rng) for pair, rng in zip(neighbours, rngs, strict=True)]


def _drawn(
    asked: Asked, subject: Subject, batch: int, clock: Clock
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


def _looked(
    asked: Sequence[Asked], subject: Subject, stages: Sequence[tuple[int, int]], clock: Clock
) -> tuple[list[tuple[list[Outcome], list[Outcome]]], list[tuple[int, int]]]:
    """A look at all pairs, and the stages that are left.

    Where it shows nothing, stages are spent on looking on: some mechanisms give out something once
    in a hundred times.
    """
    (_, batch), *left = stages
    looked = [_drawn(each, subject, batch, clock) for each in asked]
    while len(left) > 1 and len(looked[0][0]) < LOOKED and _forms(looked) == {"None"}:
        count, batch = left.pop(0)
        for each, sides in zip(asked, looked, strict=True):
            more = _drawn(each, subject, count * batch // len(asked), clock)
            for side, new in zip(sides, more, strict=True):
                side += new
    return looked, left


def _forms(looked: Sequence[tuple[list[Outcome], list[Outcome]]]) -> set[str]:
    return {outcome.form for sides in looked for side in sides for outcome in side}


def _first_look(
    fresh: Sequence[tuple[list[Outcome], list[Outcome]]],
) -> tuple[Layout, list[str]]:
    """The layout of the releases, and what to tell of them; raises if there are none."""
    everything = [outcome for sides in fresh for side in sides for outcome in side]
    forms = _forms(fresh)
    if all(form.startswith("raises ") for form in forms):
        example = min(forms)[:300].removeprefix("raises ")
        raise CannotAudit(f"mechanism raises on every data set that was tried: {example}")
    if forms == {"None"}:
        raise CannotAudit(NOTHING)
    unread = sorted({kind for form in forms for kind in UNREAD.findall(form)})
    told = [NOT_READ.format(", ".join(unread))] if unread else []
    if len(set(everything)) == 1:
        return Layout.of(everything), [*told, ALIKE]
    ignored = all(first == second for first, second in fresh)
    return Layout.of(everything), told + ([IGNORES] if ignored else [])


def _of_noise(subject: Subject, pair: Neighbours, seed: int) -> list[str]:
    """A notice if the same generator does not give the same release."""
    if not subject.takes_generator:
        return []
    once, again = subject.draw(pair.first, pair.first, REDRAWN, np.random.default_rng(seed))
    return [] if once == again else [OTHER_NOISE]


def _curve(asked: Sequence[Asked]) -> tuple[Counts, ...]:
    """Counts of the best event that was tested last, its threshold moved through what is fresh."""
    shown = [each for each in asked if each.fresh and each.counts]
    if not shown:
        return ()
    best = max(shown, key=lambda each: each.promise)
    return best.events[0].counts_along(joined_pair(best.fresh), CURVE)
