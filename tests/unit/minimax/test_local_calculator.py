"""The calculator on regression under local privacy: known values, forms of a problem, bad usage."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from minimax.__main__ import main
from minimax.core.privacy import Gaussian, Pure, Renyi, ZeroConcentrated
from minimax.plan import plan
from minimax.problems.local_regression.problem import SQUARED, LocalRegressionProblem
from minimax.problems.local_regression.problem import SUM as SUM_LOSS
from tests.commands import usage_error

RECORDS = ["local-regression", "--n", "10000", "--p", "20"]
LABELS = ["label-regression", "--n", "10000", "--p", "20", "--s", "1"]
NUMBERS = {"statistical", "privacy", "total"}
FORMS = {"closed_form", "closed_form_value", "latex"}
KEYS = {"name", "source", "kind", "assumptions", *FORMS, *NUMBERS}
SUM = ["--interactive", "--loss", "sum"]


def rows(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    assert main([*arguments, "--json"]) == 0
    return {row["name"]: row for row in json.loads(capsys.readouterr().out)}


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        ([*RECORDS, "--epsilon", ".5"], "Donsker-Varadhan: non-interactive", 0.130),
        ([*RECORDS, "--epsilon", ".5"], "private Fano: non-interactive", 0.0095),
        ([*RECORDS, "--epsilon", ".5", "--interactive"], "Le Cam: interactive", 0.0336),
        ([*RECORDS, "--epsilon", ".5", *SUM], "Le Cam: interactive, sum of errors", 0.0868),
        (
            [*RECORDS, "--alpha", "2", "--epsilon", str(math.log(1.25)), "--interactive"],
            "Le Cam: interactive",
            0.0099,
        ),
        ([*RECORDS, "--rho", ".125", "--interactive"], "Le Cam: interactive", 0.02266),
        (
            [*RECORDS, "--epsilon", ".5", "--delta", ".05"],
            "Donsker-Varadhan: non-interactive",
            0.00611,
        ),
        ([*LABELS, "--epsilon", ".5"], "Donsker-Varadhan: private labels", 0.0105),
        (
            [*LABELS, "--epsilon", ".5", "--b", "1"],
            "Donsker-Varadhan: private labels, link f",
            0.0105,
        ),
        (
            [*LABELS, "--epsilon", ".5", "--delta", "1e-3"],
            "Donsker-Varadhan: private labels",
            0.0104,
        ),
        (
            [*LABELS, "--epsilon", ".5", "--p", "1000", "--s", "10"],
            "Donsker-Varadhan: private labels",
            0.0502,
        ),
    ],
)
def test_reference_values(
    arguments: list[str], name: str, value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """n = 10^4, p = 20, epsilon = 1/2, C = 2 (the default) unless said."""
    row = rows(arguments, capsys)[name]
    assert set(row) == KEYS
    assert row["kind"] == "certified"
    assert row["total"] == pytest.approx(value, rel=0.02)


@pytest.mark.parametrize(
    "budget",
    [
        ["--epsilon", ".5"],
        ["--epsilon", ".5", "--delta", "1e-3"],
        ["--rho", ".1"],
        ["--rho", ".1", "--kappa", ".05"],
        ["--mu", ".4"],
        ["--alpha", "3", "--epsilon", ".2"],
    ],
)
def test_a_loss_and_an_interaction_select_the_rows(
    budget: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    squared = rows([*RECORDS, *budget], capsys)
    interactive = rows([*RECORDS, *budget, "--interactive"], capsys)
    assert set(interactive) < set(squared)
    assert {name for name in squared if "non-interactive" in name} == {
        name for name in set(squared) - set(interactive) if "claimed" not in name
    }
    assert rows([*RECORDS, *budget, "--non-interactive", "--loss", "squared"], capsys) == squared
    summed = rows([*RECORDS, *budget, "--loss", "sum"], capsys)
    assert not set(summed) & set(squared)
    assert all("sum of errors" in name or "Theorem 3" in name for name in summed)
    for found in (squared, interactive, summed):
        assert not any("loss:" in text for row in found.values() for text in row["assumptions"])


def test_the_printed_privacy_says_who_is_trusted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RECORDS, "--rho", ".125", "--kappa", ".1"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "local zCDP(kappa=0.1, rho=0.125)" in shown
    assert main([*LABELS, "--alpha", "2", "--epsilon", ".2"]) == 0
    assert "label RDP(alpha=2, epsilon=0.2)" in " ".join(capsys.readouterr().out.split())
    assert main(["mean", "--n", "100", "--d", "2", "--rho", ".125"]) == 0
    assert "radius; zCDP(rho=0.125)" in " ".join(capsys.readouterr().out.split())


def test_upper_rows_carry_the_papers_claims_and_what_is_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    many = ["--n", "1000000", "--upper"]
    records = rows([*RECORDS, "--epsilon", ".5", "--interactive", *many], capsys)
    assert [row["kind"] for row in records.values()] == 3 * ["certified"] + 2 * ["claimed"]
    best, once, halved = list(records.values())[:3]
    assert best["name"].startswith("best proven: SequentialHalving")
    assert best["total"] == halved["total"] < once["total"] / 3 < 0.1
    theorem_5, theorem_9 = (records[f"claimed rate of Theorem {k}"] for k in (5, 9))
    rate = 20 * math.log(20) * math.log(1e6) / (1e6 * 0.25)
    assert theorem_5["total"] == pytest.approx(4 * rate)
    assert theorem_9["total"] == pytest.approx(rate)
    assert "E[noise | x] = 0" in theorem_9["assumptions"][-1]
    alone = rows([*RECORDS, "--epsilon", ".5", *many], capsys)["claimed rate of Theorem 5"]
    assert alone["total"] is None
    assert any(text.startswith("NOT MET: sequentially") for text in alone["assumptions"])

    private = ["--epsilon", ".5", "--delta", "1e-3"]
    labels = rows([*LABELS, *private, *many], capsys)
    claimed = labels["claimed rate of Theorem 6"]
    rate = 4 * math.log(1000) ** 2 * math.log(20) / (1e6 * 0.25)
    assert claimed["total"] == pytest.approx(rate)
    assert "log(1/delta)^2 as printed" in claimed["assumptions"][-1]
    design = labels["one-shot correlation with private labels"]["assumptions"]
    assert "for rows independent and uniform on {-1, 1}^p" in design
    link = rows([*LABELS, *private, *many, "--b", "2"], capsys)
    assert link["claimed rate of Theorem 11"]["total"] == pytest.approx(4 * rate)
    assert "1/(n epsilon)" in link["claimed rate of Theorem 11"]["assumptions"][-1]
    assert next(iter(link)).startswith("best proven: releasing 0: no estimator")
    wide = rows([*LABELS, *many, "--epsilon", "1.5", "--delta", "1e-3"], capsys)
    row = wide["claimed rate of Theorem 6"]
    assert row["total"] is None
    assert "NOT MET: epsilon <= 1" in row["assumptions"]
    assert not any("claimed" in name for name in rows([*RECORDS, "--rho", "1", *many], capsys))


def test_the_table_shows_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RECORDS, "--epsilon", ".5", "--interactive", "--upper"]) == 0
    assert "E[noise" in capsys.readouterr().out


def test_claimed_lower_bounds_outside_their_range(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows([*RECORDS, "--epsilon", ".75"], capsys)
    for theorem in (1, 2):
        row = found[f"claimed rate of Theorem {theorem}"]
        assert row["total"] is None
        assert "NOT MET: epsilon <= 1/2" in row["assumptions"]
    assert found["Le Cam: interactive"]["total"] is not None


@pytest.mark.parametrize("loss", [SQUARED, SUM_LOSS], ids=str)
@pytest.mark.parametrize("interaction", [False, True])
@pytest.mark.parametrize("privacy", [Pure(1), Renyi(2, 0.5), ZeroConcentrated(0.3), Gaussian(1)])
def test_plan_counts_the_problems_own_loss(loss: Any, interaction: bool, privacy: Any) -> None:
    problem, risk = LocalRegressionProblem(1, 30, 2.0, interaction, loss), 0.05
    found = plan(problem, privacy, risk)
    assert found.enough_at is not None
    assert 30 < found.impossible_below <= found.enough_at
    assert ("sum of errors" in found.by) == (loss is SUM_LOSS)
    assert replace(problem, n=found.impossible_below - 1).best_lower(privacy).risk > risk
    assert replace(problem, n=found.enough_at).best_upper(privacy).risk <= risk
    assert replace(problem, n=found.enough_at - 1).best_upper(privacy).risk > risk


def test_plan_says_when_nothing_is_proven(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "label-regression",
        "--p",
        "50",
        "--s",
        "3",
        "--mu",
        ".5",
        "--plan",
        "--risk",
        ".1",
    ]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["enough_at"] > found["impossible_below"] > 1
    shown = "LabelHardThresholding(mechanism='binary', steps=1, step_size=1)"
    assert found["with_estimator"].startswith(shown)
    assert main([*arguments, "--b", "2"]) == 0
    assert "no estimator here is proven to reach it" in capsys.readouterr().out


@pytest.mark.parametrize("extreme", ["1e-100", "1e100"])
@pytest.mark.parametrize("size", ["1", "1e15"])
@pytest.mark.parametrize("upper", [[], ["--upper"]])
def test_extreme_numbers_are_numbers(
    extreme: str, size: str, upper: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for problem in (["local-regression"], ["label-regression", "--s", "1"]):
        for budget in (["--epsilon"], ["--rho"], ["--mu"], ["--alpha", "2", "--epsilon"]):
            options = ["--n", size, "--p", size, "--C", extreme, *budget, extreme, *upper]
            for row in rows([*problem, *options], capsys).values():
                assert row["total"] is None or 0 <= row["total"] < math.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*RECORDS, "--d", "5", "--rho", "1"], "--d is for bounded-mean,"),
        ([*LABELS, "--d", "5", "--rho", "1"], "--d is for bounded-mean,"),
        (
            ["mean", "--n", "10", "--d", "2", "--p", "3", "--rho", "1"],
            "--p is for label-regression",
        ),
        (["local-regression", "--n", "10", "--rho", "1"], "local-regression needs --p"),
        (["label-regression", "--n", "10", "--p", "5", "--rho", "1"], "label-regression needs --s"),
        (["mean", "--n", "10", "--rho", "1"], "mean needs --d"),
        ([*LABELS, "--s", "21", "--rho", "1"], "--s must be at most p = 20, got 21"),
        ([*RECORDS, "--s", "2", "--rho", "1"], "--s is for"),
        ([*RECORDS, "--b", "2", "--rho", "1"], "--b is for label-regression"),
        ([*RECORDS, "--sigma", "2", "--rho", "1"], "--sigma is for"),
        ([*RECORDS, "--radius", "2", "--rho", "1"], "--radius is for"),
        ([*LABELS, "--loss", "sum", "--rho", "1"], "--loss is for local-regression"),
        ([*LABELS, "--interactive", "--rho", "1"], "--interactive is for local-regression"),
        ([*RECORDS, "--interactive", "--non-interactive", "--rho", "1"], "not allowed with"),
        (["mean", "--n", "10", "--d", "2", "--alpha", "2", "--epsilon", "1"], "--alpha is for"),
        (["mean", "--n", "10", "--d", "2", "--kappa", "2", "--rho", "1"], "--kappa is for"),
        ([*RECORDS, "--alpha", "2", "--rho", "1"], "--alpha goes with --epsilon"),
        ([*RECORDS, "--kappa", "2", "--epsilon", "1"], "--kappa goes with --rho"),
        ([*RECORDS, "--kappa", "0", "--rho", "1"], "got 0; (0, rho)-zCDP is --rho alone"),
        ([*RECORDS, "--kappa", "x", "--rho", "1"], "--kappa: must be a number, got 'x'"),
        ([*LABELS, "--alpha", "2", "--epsilon", "1", "--delta", ".1"], "--alpha and --delta"),
        ([*RECORDS, "--alpha", "1", "--epsilon", "1"], "alpha must exceed 1"),
        ([*RECORDS, "--C", "0", "--rho", "1"], "--C"),
        ([*RECORDS, "--C", "1e200", "--rho", "1"], "--C"),
        ([*RECORDS, "--loss", "absolute", "--rho", "1"], "--loss"),
        (["local-regression", "--n", "10", "--p", "2.5", "--rho", "1"], "--p"),
        (RECORDS, "epsilon"),
    ],
)
def test_bad_usage_names_the_option(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in usage_error(main, arguments, capsys)
