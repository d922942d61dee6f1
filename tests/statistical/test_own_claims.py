"""A claim of one's own is checked like any other, and none passes without having been checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from minimax.core.bound import LowerBound, Optimum, Point, Terms, at_least
from minimax.core.privacy import Pure
from minimax.core.problem import Problem
from minimax.core.symbolic import LETTERS
from tests.commands import usage_error
from verify.rates import Claim, Sweep, main
from verify.rates import check as check_run
from verify.rates.grid import Profile


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Results are kept in the working folder: no test finds those of another."""
    monkeypatch.chdir(tmp_path_factory.mktemp("work"))


ARGUMENTS = ["--jobs", "1", "--seed", "3"]


class NoisyCoin(BaseEstimator):
    """The mean of n coins, with Laplace noise of a scale given as a multiple of 1/(n epsilon)."""

    def __init__(self, epsilon: float = 1.0, noise: float = 1.0, random_state: object = None):
        self.epsilon = epsilon
        self.noise = noise
        self.random_state = random_state

    def fit(self, X: np.ndarray) -> NoisyCoin:
        rng = np.random.default_rng(self.random_state)
        scale = self.noise / (len(X) * self.epsilon)
        self.mean_ = X.mean(axis=0) + rng.laplace(scale=scale, size=1)
        return self


class CoinProblem(Problem):
    """A name is all that a claim without a projection needs of its problem."""

    name = "coin"


@dataclass(frozen=True)
class Coins:
    """n fair coins in {0, 1}: prior and instance in one, as the prior is a point."""

    target = np.array([0.5])

    def draw(self, rng: np.random.Generator) -> Coins:
        return self

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.integers(0, 2, (n, 1)).astype(float)

    def loss(self, estimate: np.ndarray) -> float:
        return float((estimate[0] - 0.5) ** 2)


def risk_bound(factor: float) -> LowerBound:
    """`factor` times 1/(4 n) + 2/(n epsilon)^2, the exact risk of `NoisyCoin` on fair coins."""

    def formula(p: Point, found: Optimum) -> Terms:
        return Terms(factor / (4 * p["n"]), factor * 2 / (p["n"] * p["epsilon"]) ** 2)

    return LowerBound(
        name="coins",
        source="CWZ19: of one's own",
        parameters=("n", "epsilon"),
        formula=formula,
        expression=lambda: formula(LETTERS, {}).total,
        assumptions=(at_least("n", 2),),
        prior_at=lambda p, parts: Coins(),
    )


BASE = {"n": 40, "epsilon": 0.05}
SWEEPS = (Sweep("privacy", BASE, {"n": 1e6, "epsilon": 1e-8}, ("n", "epsilon"), weight=40),)


def claim(factor: float = 0.5, sweeps: tuple[Sweep, ...] = SWEEPS) -> Claim:
    """The lower bound is right for every factor up to 1."""
    return Claim(
        name="my/coin",
        problem=CoinProblem,
        model=Pure,
        lower=risk_bound(factor),
        estimator="NoisyCoin",
        estimator_at=lambda p: NoisyCoin(p["epsilon"]),
        non_private=lambda p: NoisyCoin(p["epsilon"], noise=0.0),
        sweeps=sweeps,
    )


def check(own: Claim, folder: Path) -> tuple[int, Mapping[str, list[dict[str, object]]]]:
    path = folder / "own.json"
    arguments = [*ARGUMENTS, "--json", str(path), "--plots", str(folder)]
    return main(arguments, claims=[own]), json.loads(path.read_text())


def test_a_claim_of_ones_own_gets_its_verdict(tmp_path: Path) -> None:
    code, found = check(claim(), tmp_path)
    assert code == 0
    assert {cell["claim"] for cell in found["cells"]} == {"my/coin"}
    assert [cell["verdict"] for cell in found["cells"]] == ["CONSISTENT"] * 5
    assert {slope["variable"]: slope["verdict"] for slope in found["slopes"]} == {
        "n": "CONSISTENT",
        "epsilon": "CONSISTENT",
    }
    assert all(control["broke"] for control in found["controls"])
    assert len(found["controls"]) == 3


def test_a_wrong_claim_of_ones_own_is_violated(tmp_path: Path) -> None:
    """The same estimator under a lower bound four times its risk."""
    code, found = check(claim(factor=4.0), tmp_path)
    assert code == 1
    assert {cell["verdict"] for cell in found["cells"]} == {"VIOLATED"}


def refused(claims: list[Claim], folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The message of a run that is refused with exit code 2."""
    run = partial(main, claims=claims)
    return usage_error(run, [*ARGUMENTS, "--plots", str(folder)], capsys)


@pytest.mark.parametrize(
    ("sweeps", "why"),
    [
        ((), "has no sweep"),
        ((Sweep("privacy", {"n": 1, "epsilon": 0.05}),), "n >= 2"),
        ((Sweep("privacy", {"n": 1, "epsilon": 0.05}, variables=("epsilon",)),), "n >= 2"),
        # The cell in the statistics regime does not stand in for the missing control.
        ((Sweep("statistics", BASE), Sweep("privacy", {"n": 1, "epsilon": 0.05})), "no control"),
    ],
)
def test_a_claim_that_would_not_be_checked_is_refused(
    sweeps: tuple[Sweep, ...], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = replace(claim(), name="my/good coin")
    message = refused([good, claim(sweeps=sweeps)], tmp_path, capsys)
    assert "'my/coin'" in message
    assert why in message


def test_claims_of_one_name_or_none_at_all_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "'my/coin'" in refused([claim(), claim(factor=4.0)], tmp_path, capsys)
    assert "no claim is given" in refused([], tmp_path, capsys)


def test_a_looser_bound_alone_makes_no_claim_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half the risk and a twenty-fifth of it are valid bounds of one estimator, which does worse
    than releasing 0 for these coins. The control: who says that the prior decides is taken at it.
    """
    sweeps = (Sweep("privacy", BASE, weight=40),)
    for factor, against in ((0.5, "not separated"), (0.04, "worse under the prior")):
        code, found = check(claim(factor, sweeps), tmp_path)
        assert code == 0
        assert [cell["against_zero"] for cell in found["cells"]] == [against]
    assert "worse than releasing 0 under the prior" in capsys.readouterr().out
    arguments = [*ARGUMENTS, "--plots", str(tmp_path), "--summary"]
    assert main(arguments, claims=[claim(0.04, sweeps)]) == 0
    shown = capsys.readouterr().out
    assert "0 cells worse than releasing 0\n" in shown
    assert "releasing 0 does better under the prior of the lower bound" in shown
    code, found = check(replace(claim(0.04, sweeps), prior_decides=True), tmp_path)
    assert code == 1
    assert [cell["against_zero"] for cell in found["cells"]] == ["worse"]


@pytest.mark.parametrize("more", [[], ["--summary"]])
def test_a_claim_without_a_level_control_is_told(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that is checked where statistics dominate; the other, which has a control, is not."""
    statistics = Sweep("statistics", {"n": 40, "epsilon": 10.0}, weight=4)
    own = [
        replace(claim(sweeps=(statistics,)), name="my/coin without"),
        claim(sweeps=(Sweep("privacy", BASE, weight=4),)),
    ]
    assert main([*ARGUMENTS, "--plots", str(tmp_path), *more], claims=own) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if "no level" in each]
    assert line == "no level control: my/coin without (no sweep where privacy dominates)"


def test_a_notebook_shows_what_is_told() -> None:
    """The control has a level control, and nothing is told of it."""
    few = Profile("few", (0,), 40, 10, 2)
    statistics = Sweep("statistics", {"n": 40, "epsilon": 10.0}, weight=4)
    told = "<p>no level control: my/coin (no sweep where privacy dominates)</p>"
    assert told in check_run(claim(sweeps=(statistics,)), profile=few)._repr_html_()
    assert "no level control" not in check_run(claim(), profile=few)._repr_html_()
