"""One call, one verdict: `audit`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from textwrap import fill
from typing import Any

import numpy as np

from attacks.estimate import check_confidence, check_count
from minimax.core.privacy import Privacy
from verify.privacy.blackbox import Search, search
from verify.privacy.budget import check_claim, letter, refutes, stated
from verify.privacy.hygiene import hygiene_checks
from verify.privacy.neighbours import (
    Neighbours,
    given_pairs,
    replaced_labels,
    replaced_records,
    two_values,
)
from verify.privacy.outcomes import CannotAudit, subject
from verify.privacy.rows import Check
from verify.privacy.whitebox import SEEN_THROUGH, whitebox_checks

RELEASES, MOST_PLANNED = 200_000, 1_000_000
"""Of an audit, unless told otherwise: at least, and at most, for small budgets."""
OVERTIME, MOST_RELEASES = 3, 2_000_000
"""How many times as many there may be if need be, and how many in all."""
CONFIDENCE = 0.999
ASSUMED = (
    "nothing is said of the data: they were taken to be five numbers, any of which may be replaced"
    " by any other; say data, bounds, values or neighbours if they are not"
)
SECONDS = 60.0
"""Of the processor that an audit may take."""
LEDGER_RELEASES, SEEN_RELEASES = 4_000, 480
"""Of an estimator whose mechanism calls were all replayed; and if it was seen through."""
COMMON, RARE = 0.5, 0.01
"""Chances of the events for which the power is told."""


class Verdict(Enum):
    """Of a claim."""

    REFUTED = "REFUTED"
    NOT_REFUTED = "NOT REFUTED"


@dataclass(frozen=True)
class Audit:
    """What was found about a claim, and all that was done to find it."""

    name: str
    claim: Privacy
    checks: tuple[Check, ...]
    """What an estimator did and holds, seen from inside; nothing for a function."""
    search: Search
    confidence: float
    seed: int
    seconds: float
    """Of the processor that it took."""
    assumed: bool = False
    """Whether nothing was said of what neighbours are."""

    @property
    def lower(self) -> float:
        """The claim's number is really at least this, with the stated confidence."""
        return max((test.budget for test in self.search.tested), default=0.0)

    @property
    def verdict(self) -> Verdict:
        """Whether the claim is refuted, from inside or by releases."""
        found = refutes(self.claim, self.lower) or any(c.passed is False for c in self.checks)
        return Verdict.REFUTED if found else Verdict.NOT_REFUTED

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted."""
        return self.verdict is Verdict.REFUTED

    @property
    def notices(self) -> tuple[str, ...]:
        """What should be known besides."""
        return (*self.search.notices, *([ASSUMED] if self.assumed and self.refuted else []))

    def noticed_from(self, likelier: float = COMMON) -> float:
        """The budget from which an event of this chance would have been noticed, 9 times in 10."""
        return self.search.noticed_from(self.claim, likelier)

    def summary(self) -> str:
        """The verdict in a few lines of at most 80 columns."""
        return "\n".join(fill(line, 80, subsequent_indent="    ") for line in _lines(self))

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        best = self.search.best
        return {
            "name": self.name,
            "claim": str(self.claim),
            "verdict": self.verdict.value,
            "number": letter(self.claim),
            "claimed": stated(self.claim),
            "lower": self.lower,
            "confidence": self.confidence,
            "pair": None if best is None else best.pair,
            "event": None if best is None else best.event,
            "likelier": None if best is None else best.counts.likelier,
            "rarer": None if best is None else best.counts.rarer,
            "both": None if best is None else best.counts.both,
            "drawn": None if best is None else best.counts.drawn,
            "noticed_from": self.noticed_from(),
            "noticed_from_rare": self.noticed_from(RARE),
            "pairs": list(self.search.pairs),
            "releases": self.search.releases,
            "stages": self.search.stages,
            "stopped": self.search.stopped,
            "seed": self.seed,
            "seconds": self.seconds,
            "notices": list(self.notices),
            "checks": [each._asdict() for each in self.checks],
        }


def _lines(found: Audit) -> list[str]:
    sign, claimed = letter(found.claim), stated(found.claim)
    lines = [f"{found.name}, claimed {found.claim}: {found.verdict.value}"]
    lines += [f"  {c.name}: {c.mark}{'; ' * bool(c.told)}{c.told}" for c in found.checks]
    best = found.search.best
    if best is not None:
        k, j, m, _ = best.counts
        lines += [
            f"  {sign} >= {found.lower:.4g} with confidence {found.confidence:g}"
            f" (claimed {claimed:.4g})",
            f"  data: {best.pair}",
            f"  event: {best.event}",
            f"  seen in {k} of {m} releases on one side, {j} of {m} on the other",
        ]
    lines.append(
        f"  tried: {len(found.search.pairs)} pairs of neighbours, {found.search.releases:,}"
        f" releases, {found.search.stopped}; seed {found.seed}"
    )
    if not found.search.tested and not found.refuted:
        lines.append("  nothing was tested, and nothing would have been noticed")
    elif not found.refuted:
        common, rare = (_from_where(found.noticed_from(chance)) for chance in (COMMON, RARE))
        lines += [
            f"  9 times in 10 an event of chance 1/2 would have shown {sign} {common},",
            f"  one of chance 1/100 {sign} {rare}",
        ]
    return lines + [f"  notice: {notice}" for notice in found.notices]


def _from_where(number: float) -> str:
    return f"from {number:.3g} on" if math.isfinite(number) else "never, however large"


def audit(
    mechanism: Any,
    claim: Privacy,
    *,
    data: Any = None,
    bounds: Any = None,
    responses: Any = None,
    values: Sequence[Any] | None = None,
    neighbours: Sequence[Neighbours | tuple[Any, Any]] | None = None,
    releases: int | None = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    seconds: float = SECONDS,
    name: str | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Audit:
    """Try to refute that a mechanism keeps a privacy claim.

    Parameters
    ----------
    mechanism : a function of data and a `numpy.random.Generator` that returns its release, whatever
        that is; or a scikit-learn-like estimator, which releases the attributes that its fit sets
    claim : `Pure`, `Approximate`, `ZeroConcentrated`, `Gaussian` or `Renyi` with its numbers; its
        scope says what neighbours are: central (one record is replaced), label (one label), local
        (the mechanism reports on one record, and any two are neighbours)
    data : an example of what the mechanism takes: an array or a list of n numbers or rows, (X, y),
        or for a local claim one record
    bounds : (low, high) of the records, or one such pair for each column. None: any finite record
        is allowed, and the mechanism has to clip
    responses : (low, high) of y, or the list of classes
    values : all that an entry of the data may be, if it is one of a few
    neighbours : pairs (X, X') of one's own instead, or `query_answers(...)`, `histograms(...)`
    releases : drawn at most, in all; None: 200,000, and up to five times as many for claims below
        1, whose events are closer; three times as many, up to two million, while an event
        exceeds the claim and not by enough; 4,000 of an estimator whose ledger was replayed, and
        480 if that left nothing to ask but whether draws depend on each other
    confidence : that no claim is refuted which holds, and that `lower` is below the real number
    seconds : of the processor, after which the audit stops, at the next look at the clock (60)
    tell : is called with a line about progress
    """
    check_claim(claim)
    for number, count, least in (("releases", releases or RELEASES, 1), ("seed", seed, 0)):
        check_count(number, count, least)
    check_confidence(confidence)
    if not seconds > 0:
        raise ValueError(f"seconds must be positive, got {seconds!r}")
    asked = subject(mechanism, name)
    pairs = neighbours_for(mechanism, claim, data, bounds, responses, values, neighbours)
    started, error = time.process_time(), 1 - confidence
    checks: list[Check] = []
    if hasattr(mechanism, "fit"):
        tell(f"{asked.name}: from inside")
        error /= 2
        checks = hygiene_checks(mechanism, pairs)
        checks += whitebox_checks(mechanism, claim, pairs, error)
    planned, most = (releases, 0) if releases is not None else enough_releases(claim, checks)
    if any(check.passed is False for check in checks):
        found = Search((), tuple(pair.about for pair in pairs), 0, 0, "refuted from inside", ())
    else:
        found = search(
            asked,
            claim,
            pairs,
            releases=planned,
            most=most,
            confidence=1 - error,
            seed=seed,
            seconds=seconds,
            tell=tell,
        )
    spent = time.process_time() - started
    assumed = data is None and values is None and neighbours is None
    return Audit(asked.name, claim, tuple(checks), found, confidence, seed, spent, assumed)


def enough_releases(claim: Privacy, checks: Sequence[Check] = ()) -> tuple[int, int]:
    """How many releases a claim is given unless told otherwise, and how many with overtime."""
    seen = {check.name: check.passed for check in checks}
    if SEEN_THROUGH in seen:
        return (SEEN_RELEASES if seen[SEEN_THROUGH] else LEDGER_RELEASES), 0
    more = 1 / max(stated(claim), 1e-9)
    planned = min(int(RELEASES * max(more, 1.0)), MOST_PLANNED)
    return planned, min(OVERTIME * planned, MOST_RELEASES)


def neighbours_for(
    mechanism: Any,
    claim: Privacy,
    data: Any = None,
    bounds: Any = None,
    responses: Any = None,
    values: Sequence[Any] | None = None,
    neighbours: Sequence[Any] | None = None,
) -> list[Neighbours]:
    """The pairs that are asked: those given, or those that the data and the claim's scope give."""
    if neighbours is not None:
        return given_pairs(neighbours)
    if claim.scope == "label":
        if not isinstance(data, tuple):
            raise CannotAudit("data must be (X, y) for a claim about labels")
        return replaced_labels(data, responses)
    if claim.scope == "local" and not hasattr(mechanism, "fit"):
        if data is None and values is None:
            raise CannotAudit("data must be an example of a record, or values all there are")
        return two_values(np.zeros(()) if data is None else data, bounds, values)
    if isinstance(data, tuple) and len(data) != 2:
        raise CannotAudit(
            f"data must be records, or (X, y); got a tuple of {len(data)}: give records as a list"
        )
    found = replaced_records(data, bounds, responses, values)
    return [_as_lists(pair) for pair in found] if isinstance(data, list) else found


def _as_lists(pair: Neighbours) -> Neighbours:
    """What is asked about a list is given lists."""
    return Neighbours(pair.about, pair.first.tolist(), pair.second.tolist())
