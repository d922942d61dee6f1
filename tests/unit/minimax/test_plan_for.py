"""The calculator's other inversions, closed forms and figure."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sympy

from minimax.__main__ import main
from minimax.catalogue import PROBLEMS
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.core.symbolic import symbol
from minimax.plan_for import LARGEST_SIZE, plan_for
from minimax.problems.mean import MeanProblem
from minimax.problems.sparse_mean import SparseMeanProblem
from tests.commands import usage_error

MEAN = MeanProblem(10_000, 20)
SPARSE = SparseMeanProblem(100_000, 500, 3)
RISK = 0.01


@pytest.mark.parametrize(
    ("number", "privacy"),
    [
        ("epsilon", Pure(9.0)),
        ("epsilon", Approximate(9.0, 1e-6)),
        ("rho", ZeroConcentrated(9.0)),
        ("mu", Gaussian(9.0)),
    ],
)
def test_a_level_is_bracketed(number: str, privacy: Any) -> None:
    found = plan_for(MEAN, privacy, RISK, number)
    assert found.impossible_at is not None
    assert found.enough_at is not None
    assert found.impossible_at < found.enough_at
    for level, excluded in ((found.impossible_at, True), (1.01 * found.impossible_at, False)):
        assert (MEAN.best_lower(replace(privacy, **{number: level})).risk > RISK) is excluded
    for level, proven in ((found.enough_at, True), (0.99 * found.enough_at, False)):
        assert (MEAN.best_upper(replace(privacy, **{number: level})).risk <= RISK) is proven


@pytest.mark.parametrize(("number", "privacy"), [("epsilon", Pure(1.0)), ("mu", Gaussian(1.0))])
def test_a_level_above_1_is_no_whole_number(number: str, privacy: Any) -> None:
    """Between 4 and 16, say, both of which are."""
    few = replace(MEAN, n=30)
    for risk in (few.best_upper(replace(privacy, **{number: at})).risk for at in (1.3, 2.6, 7.1)):
        found = plan_for(few, privacy, risk, number).enough_at
        assert found is not None
        assert few.best_upper(replace(privacy, **{number: found})).risk <= risk
        assert few.best_upper(replace(privacy, **{number: 0.999 * found})).risk > risk


@pytest.mark.parametrize(("problem", "number"), [(MEAN, "d"), (SPARSE, "d"), (SPARSE, "s")])
def test_a_size_is_bracketed(problem: Any, number: str) -> None:
    privacy = ZeroConcentrated(0.1)
    found = plan_for(problem, privacy, RISK, number)
    assert found.enough_at is not None
    assert float(found.enough_at).is_integer()
    at = int(found.enough_at)
    assert replace(problem, **{number: at}).best_upper(privacy).risk <= RISK
    if at < LARGEST_SIZE:  # of sparse means all dimensions that are tried are within reach
        assert replace(problem, **{number: at + 1}).best_upper(privacy).risk > RISK
    if found.impossible_at is not None:
        at = int(found.impossible_at)
        assert found.enough_at < at
        assert replace(problem, **{number: at}).best_lower(privacy).risk > RISK
        assert replace(problem, **{number: at - 1}).best_lower(privacy).risk <= RISK


def test_the_largest_sizes_are_found_to_the_last_one() -> None:
    """Between 2^20 and the largest there may be more than a bisection of 20 steps tells."""
    problem, privacy = SparseMeanProblem(10**15, 10**9, 1), ZeroConcentrated(1.0)
    found = plan_for(problem, privacy, 1e-7, "s").enough_at
    assert found is not None
    assert found > 2**20
    assert replace(problem, s=int(found)).best_upper(privacy).risk <= 1e-7
    assert replace(problem, s=int(found) + 1).best_upper(privacy).risk > 1e-7


def test_what_no_budget_reaches() -> None:
    """Statistics alone exclude it: at the largest budget that was tried, and so at all."""
    found = plan_for(MEAN, ZeroConcentrated(1.0), 1e-4, "rho")
    assert found.impossible_at == 4.0**6 / 2
    assert found.enough_at is None
    easy = plan_for(MEAN, ZeroConcentrated(1.0), 100.0, "rho")
    assert easy.impossible_at is None
    assert easy.enough_at is not None


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_every_problem_answers(name: str) -> None:
    """At the ends of the grid too nothing but an answer comes."""
    sizes = {"n": 100_000, "d": 10, "p": 10, "s": 2}
    problem = PROBLEMS[name].at(sizes)
    budget = ZeroConcentrated(1.0, scope=problem.scope)
    risk = problem.zero_release_risk() / 50
    found = plan_for(problem, budget, risk, "rho")
    assert found.impossible_at is None or found.by
    assert found.enough_at is None or found.with_estimator


def answer(arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments.split()) == 0
    return capsys.readouterr().out


def test_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    level = answer("mean --n 10000 --d 20 --plan --for rho --risk .01", capsys)
    assert "no private estimator reaches it with rho <= 0.00097 " in level
    assert "proven to be reached at rho = 0.016" in level
    size = answer("mean --n 10000 --rho .1 --plan --for d --risk .01", capsys)
    assert "no private estimator reaches it at d = 89" in size
    assert "proven to be reached at d = 41" in size
    never = answer("mean --n 10000 --d 20 --plan --for epsilon --risk 1e-12", capsys)
    assert "no estimator here is proven to reach it at any epsilon that was tried" in never
    told = json.loads(answer("mean --n 10000 --d 20 --plan --for mu --risk .01 --json", capsys))
    assert told["number"] == "mu"
    shown = answer("mean --n 10000 --d 20 --plan --for mu --risk .01", capsys).split()
    printed = [float(shown[shown.index(sign) + 1]) for sign in ("<=", "=")]
    assert printed[0] <= told["impossible_at"] < told["enough_at"] <= printed[1]


def test_closed_forms(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = "mean --n 10000 --d 20 --rho .1"
    shown = answer(f"{numbers} --latex", capsys)
    assert "van Trees: Gaussian data\n  \\frac{d^{2}}" in shown
    rows = json.loads(answer(f"{numbers} --json", capsys))
    assert rows[0]["name"] == "van Trees: Gaussian data"
    assert "\\sigma^{2}" in rows[0]["latex"]
    assert "sigma**2" in rows[0]["closed_form"]
    assert rows == json.loads(answer(f"{numbers} --latex --json", capsys))
    upper = json.loads(answer(f"{numbers} --json --upper", capsys))
    assert upper[0]["latex"] is None  # the least over estimators is no formula
    assert upper[1]["latex"]


@pytest.mark.parametrize("form", ["1/(n + m)", "Function('F')(n)", "oo*n", "nan*n"])
def test_a_closed_form_that_cannot_be_computed_has_no_value(
    form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"n": symbol("n"), "m": sympy.Symbol("m"), "Function": sympy.Function}
    found = eval(form, {**names, "oo": sympy.oo, "nan": sympy.nan})
    bounds = MEAN.lower(ZeroConcentrated)
    changed = [replace(bounds[0], expression=lambda: found)]
    monkeypatch.setattr(MeanProblem, "lower", lambda self, model: changed)
    (row,) = json.loads(answer("mean --n 10000 --d 20 --rho .1 --json", capsys))
    assert row["total"] > 0
    assert row["closed_form_value"] is None


def test_closed_forms_are_told_apart_from_totals(capsys: pytest.CaptureFixture[str]) -> None:
    """On the safe side, and here and there far away: both numbers are given."""
    numbers = "mean --n 10000 --d 20 --epsilon .5 --delta 1e-6"
    shown = answer(f"{numbers} --latex", capsys)
    assert "may be much better. (a = radius)" in " ".join(shown.split())
    for side, sign in (("", 1), (" --upper", -1)):
        rows = json.loads(answer(f"{numbers} --json{side}", capsys))
        both = [(r["total"], r["closed_form_value"]) for r in rows if r["closed_form_value"]]
        assert all(sign * total >= sign * form * (1 - sign * 1e-12) for total, form in both)
        assert any(total != pytest.approx(form, rel=0.2) for total, form in both)
    outside = json.loads(answer("mean --n 10000 --d 20 --epsilon .5 --delta .4 --json", capsys))
    missing = [row for row in outside if row["total"] is None]
    assert missing
    assert all(row["closed_form"] and row["closed_form_value"] is None for row in missing)


def test_the_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new" / "bounds.svg"
    answer(f"bounded-mean --n 1000 --d 20 --rho .1 --plot {path}", capsys)
    assert "</svg>" in path.read_text()
    assert [p.name for p in path.parent.iterdir()] == ["bounds.svg"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("mean --n 10 --d 2 --rho 1 --for rho", "--for says what --plan looks for"),
        ("mean --n 10 --d 2 --rho 1 --plan --for rho --risk 1", "--rho is what --plan computes"),
        ("mean --n 10 --d 2 --rho 1 --plan --for s --risk 1", "--for s: mean has no s"),
        ("mean --d 2 --plan --for rho --risk 1", "required: --n"),
        ("mean --n 10 --plan --for rho --risk 1", "mean needs --d"),
        ("mean --d 2 --rho 1 --plan --risk 1 --latex", "--latex goes with the table"),
        ("mean --n 10 --d 2 --rho 1 --plot x.doc", "--plot: x.doc must end with .png"),
        ("mean --n 10 --d 2 --rho 1 --plot /proc/no/x.png", "--plot: cannot write to /proc/no"),
    ],
)
def test_bad_usage(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in usage_error(main, arguments.split(), capsys)
