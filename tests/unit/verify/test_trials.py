"""How many trials the cells of a sweep and their controls get, and that a slope needs no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from verify.rates.claim import Claim, Sweep
from verify.rates.claims import all_claims
from verify.rates.grid import PROFILES, build
from verify.rates.judge import fit_slope
from verify.rates.measure import Measurement
from verify.rates.tasks import tasks_of

CLAIM = next(claim for claim in all_claims() if claim.name == "bounded-mean/tracing/GDP")


def trials(claim: Claim) -> dict[str, int]:
    """Of every task of the quick profile, with its mu for a cell."""
    cells, _, _ = build([claim], PROFILES["quick"])
    found = tasks_of(cells, PROFILES["quick"])
    names = {"control": "twin", "noisier": "louder"}
    return {names.get(t.label.split("|")[0], f"{t.point['mu']:g}"): t.trials for t in found}


def swept(**weights: float) -> Claim:
    sweep = replace(CLAIM.sweeps[0], variables=("mu",), **weights)
    return replace(CLAIM, sweeps=(sweep,))


@pytest.mark.parametrize(
    ("weights", "base", "ends", "twin", "louder"),
    [
        ({}, 160, 160, 80, 80),
        ({"weight": 8}, 1280, 1280, 80, 160),
        ({"weight": 8, "base_weight": 1}, 160, 1280, 80, 160),
        ({"weight": 1, "control_weight": 3}, 160, 160, 80, 240),
        ({"weight": 0.5}, 80, 80, 40, 40),
        ({"weight": 1, "base_weight": 0.5}, 80, 160, 40, 80),
    ],
)
def test_trials_by_weight(
    weights: dict[str, float], base: int, ends: int, twin: int, louder: int
) -> None:
    cells = {"0.15": ends, "0.3": base, "0.6": ends}
    assert trials(swept(**weights)) == {**cells, "twin": twin, "louder": louder}


def test_only_the_base_has_the_weight_of_the_base() -> None:
    sweep = Sweep("privacy", {"n": 10, "d": 2}, weight=6, base_weight=2)
    assert sweep.weight_at({"n": 10, "d": 2}) == 2
    assert sweep.weight_at({"n": 20, "d": 2}) == 6


def seen(risk: float, half: float, number: int) -> Measurement:
    return Measurement(risk, risk - half, risk + half, number, 0)


def test_the_base_has_no_leverage_on_a_slope() -> None:
    """A risk in the middle that is known worse, or is twice as large, leaves the exponent and its
    interval; at an end it does not."""
    x = [0.5, 1.0, 2.0]
    even = [seen(4.0, 0.4, 500), seen(2.0, 0.2, 500), seen(1.0, 0.1, 500)]
    plain = fit_slope(x, even, 1e-6)
    half = (plain.ci_high - plain.ci_low) / 2
    for k, moves in ((1, False), (0, True)):
        worse = [*even[:k], replace(seen(2 * even[k].risk, 2, 500), trials=60), *even[k + 1 :]]
        found = fit_slope(x, worse, 1e-6)
        found_half = (found.ci_high - found.ci_low) / 2
        same = found.fitted == pytest.approx(plain.fitted) and found_half == pytest.approx(half)
        assert same is not moves
