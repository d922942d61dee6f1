"""The calculator's closed forms: what is printed, and conditions that say what the code asks."""

from __future__ import annotations

import random
from typing import Any

import pytest
import sympy

from minimax.catalogue import PROBLEMS
from minimax.core.bound import Bound, UpperBound
from minimax.core.privacy import Privacy
from minimax.core.symbolic import symbol
from verify.companion.closed_forms import (
    bounds_under,
    condition,
    has_closed_form,
    letter,
    script_of,
)
from verify.companion.upper_forms import upper_forms
from verify.proofs.theorems import BUDGETS, REFERENCE, carried_bounds

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


# --- upper bounds at settings that are formulas --------------------------------------------------

WITHOUT = {("logistic", "Pure"), ("sparse-logistic", "Pure")}
"""Where only plans that are searched for have a proof."""
PROVEN = [
    pytest.param(name, budget, form, id=f"{name} | {type(budget).__name__} | {form.name}")
    for name in PROBLEMS
    for budget in BUDGETS
    for form in upper_forms(name, budget)
]


def comparable_uppers(name: str, budget: Privacy) -> list[Bound]:
    """The certified upper bounds of a problem that are curves of the calculator."""
    listed = [bound for _, bound in bounds_under(name, budget) if has_closed_form(bound)]
    loss = PROBLEMS[name].at(REFERENCE).loss
    upper = [bound for bound in (*listed, *upper_forms(name, budget)) if bound.side == "upper"]
    return [bound for bound in upper if bound.kind == "certified" and bound.loss is loss]


def test_every_problem_has_an_upper_curve() -> None:
    lacking = {
        (name, type(budget).__name__)
        for name in PROBLEMS
        for budget in BUDGETS
        if not comparable_uppers(name, budget)
    }
    assert lacking == WITHOUT


@pytest.mark.parametrize(("name", "budget", "form"), PROVEN)
def test_a_form_is_above_what_is_proved_at_its_settings(
    name: str, budget: Privacy, form: UpperBound
) -> None:
    """Its closed form is no less than its value, its settings meet its conditions at every point,
    and no lower bound is above it."""
    assert has_closed_form(form)
    rng = random.Random(name)
    for _ in range(12):
        point = random_point(form, rng)
        point["s"] = min(point.get("s", 1.0), point["d"])
        own = {key: point[key] for key in form.parameters}
        assert form.broken(**own) == []
        closed = form.closed_form(**own)
        assert closed >= form.value(**own) * (1 - 1e-8), own
    at = PROBLEMS[name].at(REFERENCE)
    whole = {**at.point, **budget.parameters}
    closed = form.closed_form(**{key: whole[key] for key in form.parameters})
    assert closed >= at.best_lower(budget).risk
    assert closed < 3 * at.zero_release_risk()


def test_a_form_below_its_value_is_seen() -> None:
    """Half of the noise would be."""
    form = upper_forms("regression", BUDGETS[2])[0]
    point = {**form.defaults, "n": 1e6}
    louder = form.closed_form(**{**point, "rho": point["rho"] * 4})
    assert louder < form.value(**point) * (1 - 1e-8)


def test_what_occurs_twice_is_computed_once() -> None:
    x: Any = symbol("n")
    root = sympy.sqrt(x + 1)
    script = script_of(sympy.Max(root, sympy.log(root), evaluate=False) + sympy.erfc(x))
    assert script.startswith("const t0=")
    assert script.count("Math.sqrt") == 1
    assert "COMPANION.erfc(n)" in script
    assert letter("radius") == "a"
