"""The calculator: known values, its JSON, its inversion in n, and bad usage."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from estimators.sparse_regression import PrivateHardThresholding
from minimax.__main__ import main
from minimax.catalogue import PROBLEMS
from minimax.core.best import Best
from minimax.core.bound import OutsideRegime
from minimax.core.privacy import Approximate, Privacy, Pure, ZeroConcentrated
from minimax.plan import EXACT_UP_TO, LARGEST_N, plan
from minimax.problems.mean import MeanProblem
from minimax.problems.sparse_mean import SparseMeanProblem
from minimax.problems.sparse_regression import upper as sparse_upper
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from tests.commands import usage_error
from tests.effort import part

NUMBERS = {"statistical", "privacy", "total"}
FORMS = {"closed_form", "closed_form_value", "latex"}
KEYS = {"name", "source", "kind", "assumptions", *FORMS, *NUMBERS}
APPROXIMATE = ["--epsilon", ".5", "--delta", str(10 / 10_000**1.1)]
MEAN = ["mean", "--n", "10000", "--d", "20"]
SPARSE = ["sparse-mean", "--n", "10000", "--d", "1000", "--s", "10"]
BOUNDED = ["bounded-mean", "--n", "10000", "--d", "20"]
LINEAR = ["regression", "--n", "10000", "--d", "20"]
SPARSE_LINEAR = ["sparse-regression", "--n", "10000", "--d", "1000", "--s", "10"]
LOGISTIC = ["logistic", "--n", "10000", "--d", "20"]
LOCAL = ["local-regression", "--n", "10000", "--p", "20"]


def rows(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    assert main([*arguments, "--json"]) == 0
    return {row["name"]: row for row in json.loads(capsys.readouterr().out)}


@pytest.mark.oldest
@pytest.mark.parametrize(
    ("arguments", "name", "part", "value"),
    [
        ([*MEAN, *APPROXIMATE], "van Trees: Gaussian data", "statistical", 1.998e-3),
        ([*MEAN, *APPROXIMATE], "tracing: Gaussian data", "statistical", 1.998e-3),
        ([*MEAN, *APPROXIMATE], "tracing: Gaussian data", "privacy", 1.96e-5),
        ([*MEAN, "--epsilon", ".5"], "tracing: Gaussian data", "privacy", 2.27e-5),
        ([*MEAN, "--epsilon", ".5"], "tracing: Gaussian data, shifted score", "privacy", 9.89e-5),
        ([*MEAN, *APPROXIMATE], "tracing: Gaussian data, shifted score", "privacy", 6.20e-5),
        ([*MEAN, "--rho", ".125"], "tracing: Gaussian data", "privacy", 1.57e-5),
        ([*MEAN, "--mu", ".194"], "tracing: Gaussian data", "privacy", 1.04e-4),
        ([*MEAN, *APPROXIMATE], "packing: sub-Gaussian data", "privacy", 6.7e-5),
        ([*BOUNDED, *APPROXIMATE], "packing: bounded data", "privacy", 4.9e-6),
        ([*BOUNDED, "--epsilon", ".5"], "van Trees: sign data", "statistical", 1.95e-3),
        ([*BOUNDED, "--epsilon", ".5"], "tracing: sign data", "privacy", 6.39e-5),
        ([*BOUNDED, "--rho", ".125"], "tracing: sign data", "privacy", 1.60e-5),
        ([*SPARSE, *APPROXIMATE], "Fano: Gaussian data, blocks", "statistical", 2.65e-3),
        ([*SPARSE, *APPROXIMATE], "packing: sub-Gaussian data, blocks", "privacy", 9.3e-5),
        ([*SPARSE, *APPROXIMATE], "tracing: known support", "privacy", 4.86e-6),
    ],
)
def test_reference_values(
    arguments: list[str], name: str, part: str, value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rows(arguments, capsys)[name][part] == pytest.approx(value, rel=0.02)


@pytest.mark.oldest
@pytest.mark.parametrize(
    ("arguments", "name", "part", "value", "gained"),
    [
        ([*LINEAR, *APPROXIMATE], "van Trees: sign design", "statistical", 1.87e-3, 1.0),
        ([*LINEAR, *APPROXIMATE], "tracing: sign design", "statistical", 1.87e-3, 1.0),
        ([*LINEAR, *APPROXIMATE], "tracing: sign design", "privacy", 1.34e-5, 1.19),
        ([*LINEAR, "--epsilon", ".5"], "tracing: sign design", "privacy", 1.89e-5, 1.05),
        ([*LINEAR, "--mu", ".194"], "tracing: sign design", "privacy", 3.7e-5, 2.43),
        ([*SPARSE_LINEAR, *APPROXIMATE], "tracing: known support", "statistical", 9.8e-4, 1.0),
        ([*SPARSE_LINEAR, *APPROXIMATE], "Fano: sign design, blocks", "statistical", 9.8e-4, 2.7),
        # 7.2e-6 rests on the form of packing_bound that is false for a random common law.
        ([*SPARSE_LINEAR, *APPROXIMATE], "packing: sign design, blocks", "privacy", 7.2e-6, 0.968),
        ([*SPARSE_LINEAR, *APPROXIMATE], "tracing: known support", "privacy", 3.9e-6, 1.14),
    ],
)
def test_reference_values_of_regression(
    arguments: list[str],
    name: str,
    part: str,
    value: float,
    gained: float,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Known values, times what the proofs here gain over the ones they were computed with."""
    assert rows(arguments, capsys)[name][part] == pytest.approx(value * gained, rel=0.02)


@pytest.mark.oldest
@pytest.mark.parametrize(
    ("privacy", "value"),
    [
        (["--epsilon", ".5"], 1.4726e-4),
        (["--epsilon", ".5", "--delta", "1e-3"], 7.150e-5),
        (["--rho", ".125"], 3.290e-5),
        (["--mu", ".194"], 2.442e-4),
    ],
)
def test_values_of_logistic(
    privacy: list[str], value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pinned: spread, information and the delta term of the proof all move them."""
    row = rows([*LOGISTIC, *privacy], capsys)["tracing: score attack, sign design"]
    assert row["statistical"] == pytest.approx(20 / (10_000 / 4 + 745.33), rel=1e-4)
    assert row["privacy"] == pytest.approx(value, rel=2e-3)


@pytest.mark.oldest
def test_upper_rows_say_what_is_vacuous_and_what_is_claimed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    small, large = (
        rows(
            ["sparse-regression", "--n", n, "--d", "40", "--s", "2", *APPROXIMATE, "--upper"],
            capsys,
        )
        for n in ("1000", "10000000")
    )
    proven = "noisy hard thresholding, squared loss"
    assert any("vacuous" in text for text in small[proven]["assumptions"])
    assert not any("vacuous" in text for text in large[proven]["assumptions"])
    assert large[proven]["total"] < 0.1 * small[proven]["total"]
    kinds = {row["source"]: row["kind"] for row in large.values()}
    assert kinds["WG19: Corollary 5.6"] == "claimed"  # the last of that source
    assert {"CWZ19: Theorem 4.4", "WX21: Theorem 8", "tracebound"} <= set(kinds)
    for other in (MEAN, LINEAR, LOGISTIC):
        found = rows([*other, *APPROXIMATE, "--upper"], capsys)
        assert next(iter(found)).startswith("best proven: ")


def test_the_estimator_that_is_named_has_the_risk_that_is_printed() -> None:
    """The options in the text, given to the estimator, give back the proven risk."""
    problem = SparseRegressionProblem(10**6, 6, 2, 1.0, 1.0)
    best = sparse_upper.best_upper(problem, ZeroConcentrated(0.5))
    assert best.settings["s"] > problem.s
    named = PrivateHardThresholding(ZeroConcentrated(0.5), **best.settings)
    assert named.risk_bound(problem).value() == pytest.approx(best.risk, rel=1e-12)
    # what is printed is what was proved
    options = {}
    for setting in str(best).removeprefix("PrivateHardThresholding with ").split(", "):
        name, value = setting.split(" = ")
        options[name] = 1 / math.sqrt(2) if value == "1/sqrt(2)" else float(value)
    assert options == best.settings
    with pytest.raises(OutsideRegime, match="entry_bound"):
        named.set_params(entry_bound=None).risk_bound(problem).value()


ZERO = [("mean", [], 100.0), ("bounded-mean", [], 100.0), ("sparse-mean", ["--s", "10"], 10.0)]


@pytest.mark.parametrize(("problem", "sparsity", "risk"), ZERO, ids=[z[0] for z in ZERO])
def test_no_proven_risk_is_above_that_of_releasing_0(
    problem: str, sparsity: list[str], risk: float, capsys: pytest.CaptureFixture[str]
) -> None:
    where = [problem, "--d", "100", *sparsity, "--rho", "0.0002"]
    best = next(iter(rows([*where, "--n", "200", "--upper"], capsys).values()))
    assert best["total"] == risk
    assert best["name"].startswith("best proven: releasing 0")
    assert main([*where, "--plan", "--risk", str(risk * 1.1), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["enough_at"] == 1


def test_a_sparse_mean_that_needs_no_data(capsys: pytest.CaptureFixture[str]) -> None:
    where = ["sparse-mean", "--d", "1000", "--s", "10", "--rho", "0.02"]
    assert main([*where, "--n", "200"]) == 0
    assert "proven upper bound: 1.000e+01   (releasing 0" in capsys.readouterr().out
    assert main([*where, "--n", "2000"]) == 0
    assert "7.878e-01   (SparseMean with s = 10, sigma = 1" in capsys.readouterr().out
    assert main([*where, "--plan", "--risk", "11"]) == 0
    assert "proven to be reached at n = 1 " in capsys.readouterr().out


def test_table_says_where_upper_bounds_are_vacuous(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SPARSE_LINEAR, *APPROXIMATE]) == 0
    assert "proven upper bound: 1.000e-01   (releasing 0" in capsys.readouterr().out
    assert main([*LINEAR, *APPROXIMATE]) == 0
    assert "(NoisyGradientRegression with row_bound = 1, R = " in capsys.readouterr().out


def test_rows_have_the_keys_and_name_their_method(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (MEAN, BOUNDED, SPARSE, LINEAR, SPARSE_LINEAR, LOGISTIC):
        for name, row in rows([*arguments, "--epsilon", ".5", "--delta", "1e-6"], capsys).items():
            assert set(row) == KEYS
            assert name.split(":")[0] in {"van Trees", "tracing", "packing", "Fano"}
            if row["statistical"] is not None and row["privacy"] is not None:
                assert row["total"] == pytest.approx(row["statistical"] + row["privacy"])


def test_outside_its_regime_a_row_has_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows([*MEAN, "--epsilon", ".5", "--delta", "0.01"], capsys)
    row = found["tracing: claimed rate of Theorem 3.1"]
    assert row["total"] is None
    assert any(text.startswith("NOT MET") for text in row["assumptions"])


@pytest.mark.oldest
def test_table_shows_every_bound(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SPARSE, "--epsilon", ".5"]) == 0
    shown = capsys.readouterr().out
    assert "refuted" in shown
    assert "known support" in shown


BUDGETS = [Pure(0.5), Approximate(0.5, 1e-7), ZeroConcentrated(0.05)]
PLANNED = [
    (problem, privacy)
    for i, problem in enumerate(PROBLEMS)
    for j, privacy in enumerate(BUDGETS)
    if (i + j) % 3 < part(1, of=3)
]
"""Each problem under one budget, each budget in its turn; with --thorough, all of them."""


@pytest.mark.parametrize(("problem", "privacy"), PLANNED)
def test_plan_inverts_both_bounds(problem: str, privacy: Any) -> None:
    risk = 0.05
    sizes = {"d": 30.0, "sigma": 1.0, "radius": 4.0 if problem == "logistic" else 1.5, "s": 3.0}
    chosen = PROBLEMS[problem].at({**sizes, "p": 30.0, "n": 1})
    found = plan(chosen, privacy, risk)
    assert found.enough_at is not None
    assert found.impossible_below <= found.enough_at
    assert replace(chosen, n=found.impossible_below - 1).best_lower(privacy).risk > risk
    assert replace(chosen, n=found.impossible_below).best_lower(privacy).risk <= risk
    assert replace(chosen, n=found.enough_at).best_upper(privacy).risk <= risk
    fewer = found.enough_at - max(1, found.enough_at // EXACT_UP_TO)
    assert replace(chosen, n=fewer).best_upper(privacy).risk > risk


def test_a_plan_asks_an_expensive_bound_a_few_times_only() -> None:
    """At n about 10^12 a scan of powers of two and a bisection would ask it 80 times."""

    class Counted(MeanProblem):
        """Counts what it is asked."""

        asked: ClassVar[list[int]] = []

        def best_upper(self, privacy: Privacy) -> Best:
            """That of the mean."""
            self.asked.append(self.n)
            return super().best_upper(privacy)

    found = plan(Counted(1, 10**6), ZeroConcentrated(1e-6), 1e-5)
    assert found.enough_at is not None
    assert found.enough_at > 10**11
    assert len(Counted.asked) < 30


def test_a_plan_knows_what_no_number_of_records_reaches() -> None:
    nothing = plan(MeanProblem(1, 20), ZeroConcentrated(1e-6), 1e-30)
    assert (nothing.impossible_below, nothing.enough_at) == (LARGEST_N, None)
    anything = plan(MeanProblem(1, 20), ZeroConcentrated(1e-6), 25.0)
    assert (anything.impossible_below, anything.enough_at, anything.by) == (1, 1, "none")


@pytest.mark.oldest
def test_plan_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["mean", "--d", "20", "--rho", ".1", "--plan", "--risk", ".01"]
    assert main(arguments) == 0
    assert "no private estimator reaches it with n <" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["enough_at"] > 2000


@pytest.mark.oldest
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["median", "--n", "10", "--d", "2", "--rho", "1"], "median"),
        ([*MEAN, "--epsilon", "0"], "--epsilon"),
        ([*MEAN, "--epsilon", "1", "--delta", "1"], "--delta must lie in (0, 1)"),
        ([*MEAN, "--delta", "1e-6"], "--delta needs --epsilon too"),
        ([*LOCAL, "--alpha", "2"], "--alpha needs --epsilon too"),
        ([*LOCAL, "--kappa", "2"], "--kappa needs --rho too"),
        ([*LOCAL, "--alpha", "1", "--epsilon", "1"], "--alpha must exceed 1"),
        ([*LOCAL, "--kappa", "1", "--epsilon", "1"], "--kappa goes with --rho, not with --epsilon"),
        ([*MEAN, "--rho", "1", "--delta", ".1"], "--delta goes with --epsilon, not with --rho"),
        ([*MEAN, "--rho", "1", "--epsilon", "1"], "got --epsilon and --rho"),
        ([*MEAN, "--rho", "1", "--epsilon", "1", "--delta", ".1"], "got --epsilon and --rho"),
        (
            [*LOCAL, "--alpha", "2", "--epsilon", "1", "--delta", ".1"],
            "--alpha and --delta do not go together",
        ),
        ([*MEAN, "--rho", "-1"], "--rho"),
        ([*MEAN, "--rho", "nan"], "--rho"),
        (MEAN, "give exactly one of --epsilon (with or without --delta), --rho, --mu; got none"),
        ([*MEAN, "--rho", "1", "--mu", "1"], "got --rho and --mu"),
        ([*MEAN, "--s", "3", "--rho", "1"], "--s"),
        (["mean", "--d", "2", "--rho", "1"], "--n"),
        (["mean", "--n", "1.5", "--d", "2", "--rho", "1"], "--n"),
        (["mean", "--n", "1e20", "--d", "2", "--rho", "1"], "--n"),
        (["sparse-mean", "--n", "10", "--d", "2", "--s", "3", "--rho", "1"], "--s"),
        (["sparse-mean", "--n", "10", "--d", "2", "--rho", "1"], "--s"),
        ([*MEAN, "--rho", "1", "--plan"], "--risk"),
        ([*MEAN, "--rho", "1", "--plan", "--risk", "1"], "--n"),
        ([*BOUNDED, "--rho", "1", "--radius", "3"], "--radius"),
        ([*LOGISTIC, "--rho", "1", "--sigma", "2"], "--sigma"),
        ([*LINEAR, "--rho", "1", "--s", "2"], "--s"),
        (["sparse-regression", "--n", "10", "--d", "5", "--rho", "1"], "--s"),
    ],
)
def test_bad_usage_names_the_option(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in usage_error(main, arguments, capsys)


def test_the_best_for_a_sparse_mean_may_need_no_sparsity() -> None:
    few, all_of_them = SparseMeanProblem(30_000, 100, 5), SparseMeanProblem(30_000, 100, 100)
    budget = ZeroConcentrated(1e-3)
    assert few.best_upper(budget).estimator == "SparseMean"
    found = all_of_them.best_upper(budget)
    assert found.estimator == "NoisyMean"
    assert found.risk == MeanProblem(30_000, 100).best_upper(budget).risk
