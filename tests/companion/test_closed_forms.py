"""The calculator's closed forms: what is printed, and conditions that say what the code asks."""

from __future__ import annotations

import random
from typing import Any

import pytest
import sympy

from minimax.core.bound import Bound
from minimax.core.symbolic import symbol
from verify.companion.closed_forms import condition, has_closed_form, letter, script_of
from verify.proofs.theorems import carried_bounds

SIZES = {"n": (1, 9), "d": (0, 4), "p": (0, 3), "s": (0, 2), "epsilon": (-3, 1), "delta": (-9, -1)}


def random_point(bound: Bound, rng: random.Random) -> dict[str, float]:
    point = {}
    for name in bound.parameters:
        low, high = SIZES.get(name, (-1, 1))
        value = 10 ** rng.uniform(low, high)
        point[name] = float(round(value)) if name in "ndps" else value
    return point


CONDITIONS = {
    (assumption.text, form.name): (assumption, form)
    for carried in carried_bounds()
    for form in carried.forms
    for assumption in form.assumptions
}


@pytest.mark.parametrize("key", CONDITIONS, ids=" | ".join)
def test_a_condition_says_what_its_code_asks(key: tuple[str, str]) -> None:
    """Words that state no relation are about the problem's form, so the same at every point; or of
    a bound whose settings are found, which has no closed form on the page."""
    assumption, bound = CONDITIONS[key]
    relation, rng = condition(assumption.text), random.Random(0)
    points = [random_point(bound, rng) for _ in range(60)]
    held = [bool(assumption.holds(point)) for point in points]
    if relation is None:
        assert len(set(held)) == 1 or not has_closed_form(bound)
        return
    for point, holds in zip(points, held, strict=True):
        values = {symbol(name): sympy.Float(value, 30) for name, value in point.items()}
        assert bool(relation.xreplace(values)) == holds, point


def test_a_condition_that_says_another_thing_is_seen() -> None:
    found = condition("d >= 2 s (blocks of at least two coordinates)")
    assert found == (symbol("d") >= 2 * symbol("s"))
    assert condition("Gaussian records") is None
    assert condition("e^(-n eps)/n < delta < 1/n").args


def test_what_occurs_twice_is_computed_once() -> None:
    x: Any = symbol("n")
    root = sympy.sqrt(x + 1)
    script = script_of(sympy.Max(root, sympy.log(root), evaluate=False) + sympy.erfc(x))
    assert script.startswith("const t0=")
    assert script.count("Math.sqrt") == 1
    assert "COMPANION.erfc(n)" in script
    assert letter("radius") == "a"
