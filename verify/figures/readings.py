"""Sentences of a paper as tests of curves, each with a control that must break.

A test sees the curves of a panel and says REPRODUCED, REVERSED (the opposite is seen) or NOT
SEPARATED (the intervals cover both). It can plant both in the curves: `shown` makes what is claimed
plainly true, `denied` plainly false. The control of a verdict is the other of the two, judged by
the same test.

A test at several places divides its error probability between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np

from attacks.intervals import student_half_width
from verify.figures.curves import ALPHA, Array, Curve, Curves, Range, exponent, log_ratio

PLAIN = 8.0
"""By what factor a control plants a difference."""


class Verdict(Enum):
    """What became of a sentence."""

    REPRODUCED = "REPRODUCED"
    REVERSED = "REVERSED"
    NOT_SEPARATED = "NOT SEPARATED"
    NOT_REPRODUCIBLE = "NOT REPRODUCIBLE AS PRINTED"
    NO_DATA = "NO DATA"


class Finding(NamedTuple):
    """A verdict and what it rests on."""

    verdict: Verdict
    evidence: str


class SentenceTest(Protocol):
    """A sentence in executable form."""

    def judge(self, curves: Curves) -> Finding:
        """The verdict on these curves."""

    def shown(self, curves: Curves) -> Curves:
        """Curves in which the sentence is plainly true."""

    def denied(self, curves: Curves) -> Curves:
        """Curves in which the opposite is."""


class Control(NamedTuple):
    """What the test said of curves in which something else was planted."""

    planted: str
    finding: Finding
    broke: bool
    """Whether it gave the other verdict, which was due."""


def control(test: SentenceTest, curves: Curves, verdict: Verdict) -> Control:
    """The test on curves where another verdict is due."""
    if verdict is Verdict.REPRODUCED:
        planted, changed, due = "the opposite", test.denied(curves), Verdict.REVERSED
    else:
        planted, changed, due = "what is said", test.shown(curves), Verdict.REPRODUCED
    found = test.judge(changed)
    return Control(planted, found, found.verdict is due)


@dataclass(frozen=True)
class Reading:
    """One test of a sentence, and the verdict that is recorded for it."""

    about: str
    """Of which curves, in words."""
    test: SentenceTest
    expected: Verdict
    why: str
    """One line."""


@dataclass(frozen=True)
class Sentence:
    """What a paper says of a panel."""

    quote: str
    readings: tuple[Reading, ...]


def _places(curve: Curve, at: Sequence[float] | None) -> list[int]:
    """Where a test looks: everywhere, or at the values named that were measured."""
    chosen = [k for k, x in enumerate(curve.x) if at is None or x in at]
    if not chosen:
        raise ValueError(f"{curve.name} was not measured at any of {at}")
    return chosen


def verdict_of(yes: bool, no: bool) -> Verdict:
    """REPRODUCED if it is seen, REVERSED if the opposite is, else NOT SEPARATED."""
    return Verdict.REPRODUCED if yes else Verdict.REVERSED if no else Verdict.NOT_SEPARATED


def with_curves(curves: Curves, *changed: Curve) -> Curves:
    """The curves, some of them replaced."""
    return {**curves, **{curve.name: curve for curve in changed}}


def _percent(ranges: Sequence[Range], x: Sequence[float], name: str) -> str:
    return ", ".join(
        f"{math.exp(r.value):.3g} ({math.exp(r.low):.3g} … {math.exp(r.high):.3g}) at {name}{v:g}"
        for r, v in zip(ranges, x, strict=True)
    )


# --- the tests ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RatioBetween:
    """At every place the ratio of two curves lies between two numbers; REVERSED if it is plainly
    outside at one. What `Ahead`, `Close`, `Comparable` make."""

    first: str
    second: str
    least: float
    most: float
    at: tuple[float, ...] | None = None

    def judge(self, curves: Curves) -> Finding:
        """By intervals of the ratio at each place."""
        first, second = curves[self.first], curves[self.second]
        places = _places(first, self.at)
        found = [log_ratio(first, second, k, ALPHA / len(places)) for k in places]
        low, high = _log(self.least), _log(self.most)
        verdict = verdict_of(
            all(low < r.low and r.high < high for r in found),
            any(r.high < low or r.low > high for r in found),
        )
        x = [first.x[k] for k in places]
        return Finding(verdict, f"ratio {_percent(found, x, '')}")

    def shown(self, curves: Curves) -> Curves:
        """The first curve is the second times a factor within."""
        if self.least == 0:
            return self._planted(curves, self.most / PLAIN)
        return self._planted(curves, math.sqrt(self.least * self.most))

    def denied(self, curves: Curves) -> Curves:
        """... and far above."""
        return self._planted(curves, self.most * PLAIN)

    def _planted(self, curves: Curves, factor: float) -> Curves:
        other = curves[self.second]
        changed = replace(other.scaled([factor] * len(other.x)), name=self.first)
        return with_curves(curves, changed)


def _log(number: float) -> float:
    return -math.inf if number == 0 else math.log(number)


def Ahead(first: str, second: str, at: tuple[float, ...] | None = None) -> RatioBetween:
    """The first has the smaller mean error at every place; REVERSED if it plainly has the larger
    one somewhere."""
    return RatioBetween(first, second, 0.0, 1.0, at)


def Close(
    first: str, second: str, factor: float, at: tuple[float, ...] | None = None
) -> RatioBetween:
    """The first has less than so many times the error of the second."""
    return RatioBetween(first, second, 0.0, factor, at)


def Comparable(
    first: str, second: str, factor: float = 2.0, at: tuple[float, ...] | None = None
) -> RatioBetween:
    """The ratio lies within the factor, either way."""
    return RatioBetween(first, second, 1 / factor, factor, at)


@dataclass(frozen=True)
class ExponentBetween:
    """The log-log slope of a curve lies between two numbers."""

    curve: str
    least: float = -math.inf
    most: float = 0.0
    at: tuple[float, ...] | None = None

    def judge(self, curves: Curves) -> Finding:
        """By the interval of the slope."""
        curve = curves[self.curve]
        found = exponent(curve, _places(curve, self.at), ALPHA)
        verdict = verdict_of(
            self.least < found.low and found.high < self.most,
            found.high < self.least or found.low > self.most,
        )
        told = f"exponent {found.value:.2f} ({found.low:.2f} … {found.high:.2f})"
        return Finding(verdict, told)

    def shown(self, curves: Curves) -> Curves:
        """The curve is bent to the middle, or to one below the end."""
        bounded = math.isfinite(self.least)
        return self._bent(curves, (self.least + self.most) / 2 if bounded else self.most - 1)

    def denied(self, curves: Curves) -> Curves:
        """... and to one above the end."""
        return self._bent(curves, self.most + 1)

    def _bent(self, curves: Curves, slope: float) -> Curves:
        curve = curves[self.curve]
        places = _places(curve, self.at)
        x = np.array(curve.x) / curve.x[places[0]]
        now = exponent(curve, places, ALPHA).value
        return with_curves(curves, curve.scaled(x ** (slope - now)))


def Falls(curve: str, at: tuple[float, ...] | None = None) -> ExponentBetween:
    """The error falls along the axis."""
    return ExponentBetween(curve, at=at)


@dataclass(frozen=True)
class Rises:
    """The error rises from curve to curve, as they are named: the last lies above the first by the
    geometric mean over all places, and no curve plainly below the one before it."""

    curves: tuple[str, ...]
    at: tuple[float, ...] | None = None

    def judge(self, curves: Curves) -> Finding:
        """By intervals of ratios between neighbours, and of the last to the first."""
        steps = list(zip(self.curves[1:], self.curves[:-1], strict=True))
        pairs = [(self.curves[-1], self.curves[0]), *(steps if len(steps) > 1 else [])]
        ends, *between = (self._average(curves, *pair, ALPHA / len(pairs)) for pair in pairs)
        verdict = verdict_of(
            ends.low > 0 and all(step.high > 0 for step in between),
            ends.high < 0 or any(step.high < 0 for step in between),
        )
        told = f"{math.exp(ends.value):.3g} ({math.exp(ends.low):.3g} … {math.exp(ends.high):.3g})"
        return Finding(verdict, f"last over first {told}")

    def _average(self, curves: Curves, first: str, second: str, alpha: float) -> Range:
        places = _places(curves[first], self.at)
        found = [log_ratio(curves[first], curves[second], k, alpha) for k in places]
        value = float(np.mean([r.value for r in found]))
        half = float(np.linalg.norm([r.high - r.value for r in found])) / len(found)
        return Range(value - half, value, value + half)

    def shown(self, curves: Curves) -> Curves:
        """Every curve is the first, times a growing factor."""
        return self._planted(curves, PLAIN)

    def denied(self, curves: Curves) -> Curves:
        """... times a falling one."""
        return self._planted(curves, 1 / PLAIN)

    def _planted(self, curves: Curves, factor: float) -> Curves:
        first = curves[self.curves[0]]
        made = (
            replace(first.scaled([factor**k] * len(first.x)), name=name)
            for k, name in enumerate(self.curves)
        )
        return with_curves(curves, *made)


@dataclass(frozen=True)
class Flat:
    """No two curves are further apart than a factor, by the geometric mean over all places."""

    curves: tuple[str, ...]
    factor: float = 1.5
    at: tuple[float, ...] | None = None

    def judge(self, curves: Curves) -> Finding:
        """By intervals of every curve's ratio to the first, and of the last to each."""
        pairs = [(a, b) for k, b in enumerate(self.curves) for a in self.curves[k + 1 :]]
        rises = Rises(self.curves, self.at)
        found = [rises._average(curves, *pair, ALPHA / len(pairs)) for pair in pairs]
        bound = math.log(self.factor)
        verdict = verdict_of(
            all(max(-r.low, r.high) < bound for r in found),
            any(r.low > bound or r.high < -bound for r in found),
        )
        worst = max(found, key=lambda r: abs(r.value))
        told = ", ".join(f"{math.exp(v):.3g}" for v in worst)
        return Finding(verdict, f"largest ratio (low, value, high) {told}")

    def shown(self, curves: Curves) -> Curves:
        """All curves are the first."""
        return Rises(self.curves)._planted(curves, 1.0)

    def denied(self, curves: Curves) -> Curves:
        """... times growing factors."""
        return Rises(self.curves)._planted(curves, PLAIN)


@dataclass(frozen=True)
class GapShrinks:
    """The first curve lies above the second everywhere, and the gap is smaller at the last place
    than at the first: shrinking, but not vanishing."""

    first: str
    second: str

    def judge(self, curves: Curves) -> Finding:
        """By intervals of the gaps, in paired trials."""
        gaps = self._gaps(curves)
        means = [float(gap.mean()) for gap in gaps]
        halves = [student_half_width(gap, ALPHA / (len(gaps) + 1)) for gap in gaps]
        shrinks = means[0] - means[-1]
        half = math.hypot(halves[0], halves[-1])
        left = all(m > h for m, h in zip(means, halves, strict=True))
        verdict = verdict_of(
            shrinks > half and left,
            shrinks < -half or any(m < -h for m, h in zip(means, halves, strict=True)),
        )
        told = ", ".join(f"{m:.3g} ± {h:.2g}" for m, h in zip(means, halves, strict=True))
        return Finding(verdict, f"gaps {told}")

    def _gaps(self, curves: Curves) -> list[Array]:
        pairs = zip(curves[self.first].losses, curves[self.second].losses, strict=True)
        return [a - b for a, b in pairs]

    def shown(self, curves: Curves) -> Curves:
        """The first is the second plus a gap that falls to an eighth."""
        return self._planted(curves, 1 / PLAIN)

    def denied(self, curves: Curves) -> Curves:
        """... or grows eight times."""
        return self._planted(curves, PLAIN)

    def _planted(self, curves: Curves, factor: float) -> Curves:
        other = curves[self.second]
        size = PLAIN * float(np.max(other.means))
        gaps = size * factor ** np.linspace(0, 1, len(other.x))
        losses = tuple(v + gap for v, gap in zip(other.losses, gaps, strict=True))
        return with_curves(curves, replace(other, name=self.first, losses=losses))


@dataclass(frozen=True)
class Below:
    """The mean of a curve, or of a note of its fits, is below a number at every place."""

    curve: str
    bound: float
    at: tuple[float, ...] | None = None
    note: str = ""
    above: bool = False
    """The other way round: above the number."""

    def judge(self, curves: Curves) -> Finding:
        """By Student intervals at each place."""
        curve = curves[self.curve]
        places = _places(curve, self.at)
        sign = -1 if self.above else 1
        yes, no, told = [], [], []
        for place in places:
            values = self._values(curve, place)
            half = student_half_width(values, ALPHA / len(places))
            gap = sign * (float(values.mean()) - self.bound)
            yes.append(gap + half < 0)
            no.append(gap - half > 0)
            told.append(f"{values.mean():.3g} ± {half:.2g} at {curve.x[place]:g}")
        return Finding(verdict_of(all(yes), any(no)), ", ".join(told))

    def _values(self, curve: Curve, place: int) -> Array:
        return curve.notes[place][self.note] if self.note else curve.losses[place]

    def shown(self, curves: Curves) -> Curves:
        """The curve moved so that its means lie plainly on the side claimed."""
        return self._moved(curves, PLAIN if self.above else 1 / PLAIN)

    def denied(self, curves: Curves) -> Curves:
        """... on the other."""
        return self._moved(curves, 1 / PLAIN if self.above else PLAIN)

    def _moved(self, curves: Curves, factor: float) -> Curves:
        curve = curves[self.curve]
        target = factor * self.bound

        def moved(values: Array) -> Array:
            mean = float(values.mean())
            return values * (target / mean) if mean else values + target

        if not self.note:
            return with_curves(curves, replace(curve, losses=tuple(map(moved, curve.losses))))
        notes = tuple({**each, self.note: moved(each[self.note])} for each in curve.notes)
        return with_curves(curves, replace(curve, notes=notes))
