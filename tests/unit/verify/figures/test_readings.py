"""Sentences as tests: each sees what is so, what is not, and what cannot be told."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from verify.figures.compound import UnlessNoise
from verify.figures.curves import Curve, Curves, exponent, log_ratio
from verify.figures.readings import (
    Ahead,
    Below,
    Close,
    Comparable,
    ExponentBetween,
    Falls,
    Flat,
    GapShrinks,
    Rises,
    SentenceTest,
    Verdict,
    control,
)

X = (100.0, 1000.0, 10000.0)


def curve(name, means, spread=0.05, trials=30, seed=0, x=X, draws="", notes=()):
    """Losses with these means and relative spread."""
    rng = np.random.default_rng(seed)
    losses = tuple(m * rng.uniform(1 - spread, 1 + spread, trials) for m in means)
    return Curve(name, "best", x[: len(means)], losses, draws, notes=notes)


def curves(*made: Curve) -> Curves:
    return {each.name: each for each in made}


LOW, HIGH = curve("low", (1, 0.5, 0.2)), curve("high", (3, 1.5, 0.6), seed=1)
SAME, WIDE = curve("same", (1, 0.5, 0.2), seed=2), curve("wide", (1, 0.5, 0.2), 0.99, 3, seed=3)
RISING = curve("rising", (0.2, 0.5, 1))
NOISE = curve("noise", (30, 30, 30), seed=4)
ZERO = curve("zero", (10, 10, 10), 0.01, seed=5)
SHARE = curve("share", (1, 1), x=X[:2], notes=({"used": np.ones(30)}, {"used": np.full(30, 0.9)}))
ALL = curves(LOW, HIGH, SAME, WIDE, RISING, NOISE, ZERO, SHARE)

YES, NO = Verdict.REPRODUCED, Verdict.REVERSED
UNSURE, CANNOT = Verdict.NOT_SEPARATED, Verdict.NOT_REPRODUCIBLE
CASES: list[tuple[SentenceTest, Verdict]] = [
    (Ahead("low", "high"), YES),
    (Ahead("high", "low"), NO),
    (Ahead("low", "same"), UNSURE),
    (Ahead("wide", "high"), UNSURE),
    (Ahead("rising", "high", at=(100.0,)), YES),
    (Ahead("rising", "high"), NO),
    (Close("high", "low", 4), YES),
    (Close("high", "low", 2), NO),
    (Comparable("same", "low"), YES),
    (Comparable("low", "high"), NO),
    (Comparable("high", "low"), NO),
    (Falls("low"), YES),
    (Falls("rising"), NO),
    (Falls("zero"), UNSURE),
    (ExponentBetween("low", -0.5, -0.2), YES),
    (ExponentBetween("low", -1.2, -0.8), NO),
    (Rises(("low", "high", "noise")), YES),
    (Rises(("noise", "high", "low")), NO),
    (Rises(("low", "noise", "high")), NO),
    (Rises(("low", "same")), UNSURE),
    (Flat(("low", "same")), YES),
    (Flat(("low", "high")), NO),
    (Flat(("low", "wide"), 1.2), UNSURE),
    (GapShrinks("high", "low"), YES),
    (GapShrinks("low", "high"), NO),
    (GapShrinks("rising", "low"), NO),
    (GapShrinks("same", "low"), UNSURE),
    (Below("low", 1.5), YES),
    (Below("low", 0.3), NO),
    (Below("low", 1.0, at=(100.0,)), UNSURE),
    (Below("high", 0.3, above=True), YES),
    (Below("share", 0.5, note="used", above=True), YES),
    (Below("share", 0.5, note="used"), NO),
    (UnlessNoise(Ahead("noise", "high"), "noise", "zero"), CANNOT),
    (UnlessNoise(Ahead("low", "high"), "low", "zero"), YES),
    (UnlessNoise(Ahead("high", "low"), "high", "zero"), NO),
]


@pytest.mark.parametrize(("test", "verdict"), CASES, ids=lambda each: str(each)[:60])
def test_verdicts_and_their_controls(test: SentenceTest, verdict: Verdict) -> None:
    found = test.judge(ALL)
    assert found.verdict is verdict, found.evidence
    assert found.evidence
    assert control(test, ALL, verdict).broke


@pytest.mark.parametrize("test", [case for case, _ in CASES], ids=lambda each: str(each)[:60])
def test_what_is_planted_is_seen(test: SentenceTest) -> None:
    assert test.judge(test.shown(ALL)).verdict is YES
    assert test.judge(test.denied(ALL)).verdict is NO


def test_a_test_without_teeth_is_noticed():
    """Trials that scatter so much that even a plain difference is not seen."""
    rng = np.random.default_rng(0)
    wild = tuple(np.exp(9 * rng.standard_normal(3)) for _ in X)
    both = curves(replace(LOW, losses=wild, name="low"), replace(HIGH, losses=wild, name="high"))
    bent = ExponentBetween("low", -1.01, -0.99)
    assert not control(bent, both, Verdict.NOT_SEPARATED).broke


def test_a_place_that_was_not_measured_is_an_error():
    with pytest.raises(ValueError, match="not measured"):
        Ahead("low", "high", at=(5.0,)).judge(ALL)


@pytest.mark.parametrize("paired", [True, False])
def test_intervals_of_ratios_cover(paired: bool) -> None:
    """Of exponential losses with means 2 and 1: 90 % intervals in 400 experiments; those for
    unpaired trials would be too wide for pairs that share most of their scatter."""
    rng, hits, widths = np.random.default_rng(1), 0, []
    for _ in range(400):
        common = rng.exponential(size=40)
        first = 2 * (common if paired else rng.exponential(size=40)) + 0.1 * rng.exponential(
            size=40
        )
        a = Curve("a", "best", (1.0,), (first,), "one")
        b = Curve("b", "best", (1.0,), (common,), "one" if paired else "other")
        found = log_ratio(a, b, 0, 0.1)
        hits += found.low < math.log(2.1) < found.high
        widths.append(found.high - found.low)
    assert 0.84 < hits / 400 < 0.95
    assert (np.mean(widths) < 0.1) == paired


def test_intervals_of_exponents_cover():
    rng, hits = np.random.default_rng(2), 0
    for _ in range(400):
        losses = tuple(x**-0.5 * rng.gamma(4.0, size=30) for x in X)
        found = exponent(Curve("a", "best", X, losses), range(3), 0.1)
        hits += found.low < -0.5 < found.high
    assert 0.85 < hits / 400 < 0.95
