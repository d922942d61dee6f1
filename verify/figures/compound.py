"""Tests of sentences that are made of other tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from verify.figures.curves import Array, Curves
from verify.figures.readings import (
    Finding,
    RatioBetween,
    SentenceTest,
    Verdict,
    verdict_of,
    with_curves,
)


@dataclass(frozen=True)
class UnlessNoise:
    """A sentence about a method that is no better than releasing 0 cannot be tested: NOT
    REPRODUCIBLE AS PRINTED if its error is at least `least` of that of releasing 0 at every place,
    else what the test says."""

    test: SentenceTest
    noisy: str
    zero: str
    least: float = 1.0
    at: tuple[float, ...] | None = None

    def judge(self, curves: Curves) -> Finding:
        """First whether there is a signal at all."""
        signal = RatioBetween(self.noisy, self.zero, self.least, math.inf, self.at).judge(curves)
        if signal.verdict is Verdict.REPRODUCED:
            told = f"no better than releasing 0: {signal.evidence}"
            return Finding(Verdict.NOT_REPRODUCIBLE, told)
        return self.test.judge(curves)

    def shown(self, curves: Curves) -> Curves:
        """The method is far better than releasing 0, and the sentence plainly true."""
        return self.test.shown(self._with_signal(curves))

    def denied(self, curves: Curves) -> Curves:
        """... and the opposite."""
        return self.test.denied(self._with_signal(curves))

    def _with_signal(self, curves: Curves) -> Curves:
        """Releasing 0 costs far more than anything here."""
        zero = curves[self.zero]
        size = 1e3 * max(float(np.max(curve.means)) for curve in curves.values())
        losses = tuple(np.full_like(values, size) for values in zero.losses)
        return with_curves(curves, replace(zero, losses=losses))


@dataclass(frozen=True)
class Every:
    """All of some tests: REPRODUCED if each is, REVERSED if one is. Each plants in its own curves.

    The error probabilities add up, to one percent for each test.
    """

    tests: tuple[SentenceTest, ...]

    def judge(self, curves: Curves) -> Finding:
        """One after the other."""
        found = [test.judge(curves) for test in self.tests]
        verdict = verdict_of(
            all(each.verdict is Verdict.REPRODUCED for each in found),
            any(each.verdict is Verdict.REVERSED for each in found),
        )
        return Finding(verdict, "; ".join(each.evidence for each in found))

    def shown(self, curves: Curves) -> Curves:
        """Each is plainly true."""
        for test in self.tests:
            curves = test.shown(curves)
        return curves

    def denied(self, curves: Curves) -> Curves:
        """Each is plainly false."""
        for test in self.tests:
            curves = test.denied(curves)
        return curves


@dataclass(frozen=True)
class Typical:
    """A test of geometric means: for errors with so heavy tails that their means say little.

    A curve of losses v is read as m (1 + log v - log m), m their geometric mean. It has the mean m,
    and its relative deviations are those of log v, so that the delta method is exact: intervals of
    ratios are Student's for differences of log v.
    """

    test: SentenceTest

    def judge(self, curves: Curves) -> Finding:
        """What the test says of geometric means."""
        found = self.test.judge(geometric(curves))
        return found._replace(evidence=f"geometric means: {found.evidence}")

    def shown(self, curves: Curves) -> Curves:
        """The losses whose reading is what the test plants."""
        return _mapped(self.test.shown(geometric(curves)), _to_losses)

    def denied(self, curves: Curves) -> Curves:
        """... and the opposite."""
        return _mapped(self.test.denied(geometric(curves)), _to_losses)


def geometric(curves: Curves) -> Curves:
    """The curves as `Typical` reads them."""
    return _mapped(curves, _from_logarithms)


def _mapped(curves: Curves, change: Callable[[Array], Array]) -> Curves:
    return {
        name: replace(curve, losses=tuple(map(change, curve.losses)))
        for name, curve in curves.items()
    }


def _from_logarithms(losses: Array) -> Array:
    """Losses around their geometric mean, to first order."""
    logs = np.log(losses)
    return np.asarray(math.exp(logs.mean()) * (1 + logs - logs.mean()))


def _to_losses(read: Array) -> Array:
    """The inverse of `_from_logarithms`."""
    middle = float(read.mean())
    return np.asarray(middle * np.exp(read / middle - 1))
