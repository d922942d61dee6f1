"""What the papers claim, as printed: by hand, with the errors that are known named beside it."""

from __future__ import annotations

import json
import math

import pytest

from minimax.__main__ import main
from minimax.core.bound import Bound, OutsideRegime, UpperBound
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from minimax.problems.bounded_mean import BoundedMeanProblem
from minimax.problems.erm.fixed_data import FixedData, fixed_data_bounds
from minimax.problems.erm.upper import claimed_theorem_5_4, theorem_5_4, theorem_8
from minimax.problems.local_regression import LocalRegressionProblem
from minimax.problems.local_regression.upper import claimed_wx19_theorem_1
from minimax.problems.mean import MeanProblem
from minimax.problems.mean.upper import claimed_theorem_3_2
from minimax.problems.sparse_mean.upper import claimed_theorem_3_4
from minimax.problems.sparse_regression import SparseRegressionProblem
from minimax.problems.sparse_regression.table_1 import table_1
from tests.commands import usage_error

POINT = {
    "n": 10.0**6,
    "d": 100.0,
    "p": 100.0,
    "s": 5.0,
    "sigma": 2.0,
    "radius": 3.0,
    "C": 2.0,
    "curvature": 0.5,
    "smoothness": 1.0,
    "G": 4.0,
    "gradient": 0.01,
    "epsilon": 0.5,
    "delta": 1e-7,
    "rho": 0.02,
}
LOG_D, LOG_N, LOG_DELTA = math.log(100), math.log(10**6), math.log(1e7)
COST = 1 / (10**6 * 0.5) ** 2
FRANK_WOLFE, TWO_STAGES, THRESHOLDING = table_1()


def at(bound: Bound) -> dict[str, float]:
    return {name: POINT[name] for name in bound.parameters}


@pytest.mark.parametrize(
    ("bound", "statistical", "privacy"),
    [
        (claimed_theorem_3_2(), 4e-4, 4 * 10**4 * LOG_DELTA * LOG_N * COST),
        (claimed_theorem_3_2(bounded=True), 4e-4, 4 * 10**4 * LOG_DELTA * COST),
        (claimed_theorem_3_4(), 2e-5 * LOG_D, 100 * LOG_D**2 * LOG_DELTA * LOG_N * COST),
        (claimed_wx19_theorem_1(), None, 100 * LOG_D / (10**6 * 0.25)),
        (FRANK_WOLFE, None, math.log(10**8) * COST ** (1 / 3)),
        (TWO_STAGES, None, 25 * COST),
        (THRESHOLDING, None, 25 * LOG_D * COST),
        (
            claimed_theorem_5_4(ZeroConcentrated),
            5 * (2 * 0.01 / 0.5) ** 2,
            8 * 16 * 5 * LOG_D / (10**12 * 0.25 * 0.02) * math.log(0.02 * 10**6 * 1.5 / 40),
        ),
        (
            claimed_theorem_5_4(Approximate),
            5 * (2 * 0.01 / 0.5) ** 2,
            8 * 16 * 5 * LOG_D * LOG_DELTA * COST / 0.25,
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Bound) else "",
)
def test_rates_are_those_printed(
    bound: UpperBound, statistical: float | None, privacy: float
) -> None:
    parts = bound.parts(**at(bound))
    assert bound.kind == "claimed"
    assert parts.statistical == (statistical and pytest.approx(statistical, rel=1e-12))
    assert parts.privacy == pytest.approx(privacy, rel=1e-12)
    assert bound.closed_form(**at(bound)) == pytest.approx(parts.total, rel=1e-12)
    assert "constant hidden" in bound.remark
    assert bound.latex()


def test_the_logarithm_of_theorem_5_4_vanishes_where_the_noise_does_not() -> None:
    """The refuted part of the claim is outside its regime here, not a bound of 0."""
    claim = claimed_theorem_5_4(ZeroConcentrated)
    assert claim is not None
    with pytest.raises(OutsideRegime, match="s kappa G"):
        claim.value(**{**at(claim), "rho": 1e-6})
    assert claimed_theorem_5_4(Gaussian) is None
    assert "that of T is meant" in claim.remark


@pytest.mark.parametrize(
    ("problem", "privacy", "sources"),
    [
        (MeanProblem(10**4, 5), Approximate(0.5, 1e-6), {"CWZ19: Theorem 3.2"}),
        (BoundedMeanProblem(10**4, 5), Approximate(0.5, 1e-6), {"CWZ19: Theorem 3.2"}),
        (
            SparseRegressionProblem(10**4, 20, 2),
            Approximate(0.5, 1e-6),
            {"CWZ19: Theorem 4.4", "WG19: Corollary 5.6", "WX21: Theorem 8", "WG19: Table 1"},
        ),
        (
            LocalRegressionProblem(10**4, 5),
            Approximate(0.5, 1e-6, scope="local"),
            {"WX19: Theorem 1"},
        ),
        (MeanProblem(10**4, 5), Pure(0.5), set()),
    ],
    ids=["mean", "bounded mean", "sparse", "local", "none"],
)
def test_a_claim_stands_where_it_was_made(
    problem: MeanProblem, privacy: Privacy, sources: set[str]
) -> None:
    claims = [bound for bound in problem.upper(privacy) if bound.kind == "claimed"]
    assert {bound.source for bound in claims} == sources


# --- Fixed data -----------------------------------------------------------------------------------

SIZES = ["--n", "100000", "--d", "50", "--s", "3"]
LOSS = ["--curvature", ".5", "--smoothness", "1", "--G", "1", "--gradient", ".001"]
GIVEN = [*SIZES, *LOSS]
COMMAND = ["fixed-data", *GIVEN, "--rho", ".1"]


def test_fixed_data_has_both_theorems(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--json"]) == 0
    rows = {(row["source"], row["kind"]): row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == {
        ("WG19: Theorem 5.4", "certified"),
        ("WX21: Theorem 8", "certified"),
        ("WG19: Theorem 5.4", "claimed"),
    }
    assert 0 < rows["WG19: Theorem 5.4", "certified"]["total"] < 1
    assert main([*COMMAND]) == 0
    shown = capsys.readouterr().out
    assert "kept = " in shown
    assert max(map(len, shown.splitlines())) <= 80 or "┃" in shown


def test_settings_of_least_error_are_no_worse_than_given_ones() -> None:
    data, privacy = FixedData(10**5, 50, 3, 0.5, 1.0, 1.0, 1e-3), ZeroConcentrated(0.1)
    distance = fixed_data_bounds(data, privacy)[0]
    noise = math.sqrt(5 / (2 * 0.1)) * 2 / 10**5  # five Gaussian gradients of sensitivity 2G/n
    given = fixed_data_bounds(
        FixedData(10**5, 50, 3, 0.5, 1.0, 1.0, 1e-3, kept=6, steps=5), privacy
    )
    by_hand = theorem_5_4(
        d=50, s=6, s_star=3, curvature=0.5, smoothness=1, gradient=1e-3, radius=1, noise=noise,
        steps=5,
    )  # fmt: skip
    assert given[0].value() == pytest.approx(by_hand.value(), rel=1e-9)
    assert distance.value() <= given[0].value()


def test_theorem_8_takes_the_loss_of_zero_for_its_gap() -> None:
    noise = math.sqrt(5 / (2 * 0.1)) * 2 / 10**5
    flat = FixedData(10**5, 50, 1, 1.0, 1.0, 1.0, 1e-3, kept=40, steps=5)
    found = fixed_data_bounds(flat, ZeroConcentrated(0.1))[1]
    by_hand = theorem_8(
        d=50, s=40, s_star=1, curvature=1, smoothness=1, gap=1e-3 + 0.5, noise=noise, steps=5
    )
    assert found.value() == pytest.approx(by_hand.value(), rel=1e-9)
    steep = FixedData(10**5, 50, 3, 0.5, 1.0, 1.0, 1e-3, kept=50)
    assert fixed_data_bounds(steep, ZeroConcentrated(0.1))[1].broken()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (["--s", "60"], "s must be at most d"),
        (["--kept", "2"], "kept must lie between"),
        (["--curvature", "2"], "curvature must be at most smoothness"),
        (["--mu", "1"], "rho"),
        (["--n", "1e99"], "--n"),
        (["--gradient", "0"], "must be positive"),
    ],
)
def test_fixed_data_refuses_by_name(
    changed: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in usage_error(main, [*COMMAND, *changed], capsys)
    assert "delta must be given" in usage_error(
        main, ["fixed-data", *GIVEN, "--epsilon", "1"], capsys
    )


# --- Designs that are not isotropic ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["regression", "logistic", "sparse-regression", "sparse-logistic"])
def test_a_wider_class_of_designs_has_the_same_floor_and_a_higher_ceiling(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = ["--n", "1e9", "--d", "6", "--rho", "1", *(["--s", "2"] if "sparse" in name else [])]
    ceilings = []
    for spread in ("1", "1.1"):
        assert main([name, *sizes, "--L", spread, "--upper", "--json"]) == 0
        ceilings.append(json.loads(capsys.readouterr().out)[0]["total"])
        assert main([name, *sizes, "--L", spread, "--json"]) == 0
        floors = [row["total"] for row in json.loads(capsys.readouterr().out)]
        assert max(floors) < ceilings[-1]
    assert ceilings[0] < ceilings[1]
    assert main([name, *sizes, "--L", "1.1"]) == 0
    assert "eigenvalues of E x x' in [1/(1.1" in capsys.readouterr().out.replace("\n  ", " ")


def test_a_spread_below_one_or_of_another_problem_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["--n", "100", "--d", "6", "--rho", "1", "--L"]
    assert "L must be at least 1" in usage_error(main, ["regression", *asked, ".5"], capsys)
    assert "--L is for" in usage_error(main, ["mean", *asked, "2"], capsys)
