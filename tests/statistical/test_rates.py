"""verify.rates: its verdicts have teeth, its output is what it says, bad usage is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from rich.console import Console
from sklearn.base import BaseEstimator

from minimax.core.bound import Point, Terms, UpperBound
from minimax.problems.bounded_mean import BoundedMeanProblem
from tests.commands import usage_error
from verify.rates import claim_study, main
from verify.rates.claim import Claim, Sweep
from verify.rates.claims import all_claims
from verify.rates.grid import PROFILES, Profile, build
from verify.rates.judge import (
    Reason,
    Verdict,
    ZeroRelease,
    fit_slope,
    judge_against_zero,
    level_reason,
    may_be_worse,
    slope_reason,
)
from verify.rates.known_noise import FEWEST, STATES, as_stated
from verify.rates.measure import Measurement, interval, losses, zero_losses
from verify.rates.report import print_report
from verify.rates.rows import ALPHA, Run
from verify.rates.run import run
from verify.rates.sequential import LOOKS, Seen
from verify.rates.special import worst_case_log_d
from verify.rates.tasks import FEWEST_TRIALS, tasks_of, weakened
from verify.seeds import cell_seed


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Results are kept in the working folder: no test finds those of another."""
    monkeypatch.chdir(tmp_path_factory.mktemp("work"))


@pytest.fixture(autouse=True)
def _mechanisms_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run asks them whether noise is as stated, a third of a second each; nothing here
    changes what they answer (`tests/unit/verify/test_known_noise.py` does)."""
    monkeypatch.setattr("verify.rates.run.as_stated", ASKED)


ASKED = cache(as_stated)
CLAIMS = {claim.name: claim for claim in all_claims()}
SWEEPS = [(claim, sweep) for claim in CLAIMS.values() for sweep in claim.sweeps]
PRIVATE = [name for name, claim in CLAIMS.items() if claim.control_point is not None]
BASE_ONLY = Profile("base", (0,), 60, 200, 2)


def check(claim: Claim, trials: int = 60) -> Run:
    return run([claim], replace(BASE_ONLY, trials=trials), seed=1)


def twin_alone(claim: Claim) -> Claim:
    """The non-private twin as the estimator, where the claim has its control.

    There is no control beside it, which would measure the same twin: privacy has no sweep.
    """
    assert claim.control_point is not None
    here = Sweep("statistics", claim.control_point)
    return replace(claim, estimator_at=claim.non_private, upper=None, sweeps=(here,))


@pytest.mark.parametrize("name", PRIVATE)
def test_a_non_private_twin_is_found_out(name: str) -> None:
    """In place of the private estimator it violates the lower bound: exit code 1.

    Trials are added while the interval is too wide to tell; each look has the level of one.
    """
    cheating = twin_alone(CLAIMS[name])
    for trials in (12, 24, 60):
        found = check(cheating, trials)
        (cell,) = found.cells
        if cell.verdict is not Verdict.INCONCLUSIVE:
            break
    assert cell.verdict is Verdict.VIOLATED
    assert cell.reason is Reason.LOWER_BROKEN
    assert found.exit_code == 1


@pytest.mark.parametrize("name", ["bounded-mean/tracing/zCDP", "bounded-mean/dilution/approximate"])
def test_a_control_that_does_not_break_is_a_failure(name: str) -> None:
    claim = CLAIMS[name]
    found = check(replace(claim, non_private=claim.estimator_at))
    assert found.exit_code == 1
    assert found.summary.controls_unbroken >= 1


def test_an_honest_claim_passes_and_the_flagship_is_tight() -> None:
    found = check(CLAIMS["bounded-mean/tracing/zCDP"])
    assert found.exit_code == 0
    flagship = next(row for row in found.cells if row.regime == "privacy")
    assert flagship.point["rho"] == 0.05
    assert flagship.ratio is not None
    assert 1 < flagship.ratio < 6


def test_an_estimator_that_releasing_0_outdoes_is_found_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Noise lifts it above every lower bound, and without an upper one nothing else objects."""
    claim = replace(CLAIMS["bounded-mean/tracing/GDP"], upper=None)
    drowned = replace(claim, estimator_at=lambda p: claim.estimator_at(weakened(p, 30)))
    honest, found = check(claim), check(drowned)
    assert [row.against_zero for row in honest.cells] == ["better"]
    assert [row.against_zero for row in found.cells] == ["worse"]
    assert (honest.exit_code, found.exit_code) == (0, 1)
    for run_ in (honest, found):
        assert run_.summary.consistent == run_.summary.cells == 1
        assert run_.summary.controls_unbroken == 0
    print_report(found, Console(width=200))
    assert capsys.readouterr().out.count("worse than releasing 0") == 2


def test_the_prior_counts_only_where_it_leaves_room() -> None:
    """A spread prior of small variance is held against; a packing's, at the bound, is not."""
    risk, far, near = measurement(4.0, 5.0), measurement(2.0, 3.0), measurement(0.2, 0.3)
    assert judge_against_zero(risk, 0.1, ZeroRelease(6.0, far)) == "worse"
    assert judge_against_zero(risk, 0.1, ZeroRelease(6.0, near)) == "better"
    assert judge_against_zero(risk, 0.1, ZeroRelease(3.0, near)) == "worse"
    assert judge_against_zero(risk, 0.1, ZeroRelease(4.5, near)) == "not separated"
    assert judge_against_zero(risk, 0.1, ZeroRelease(None, near)) == "not separated"
    told = ZeroRelease(6.0, far, prior_decides=False)
    assert judge_against_zero(risk, 0.1, told) == "worse under the prior"
    assert judge_against_zero(risk, 0.1, replace(told, largest=3.0)) == "worse"
    assert not may_be_worse(risk, 0.1, told)


def test_releasing_0_is_measured_on_the_trials_of_the_cell() -> None:
    """What `zero_losses` says is what an estimator that releases 0 loses, draw by draw."""
    claim = CLAIMS["mean/tracing/zCDP"]
    point = {"n": 5, "d": 3, "sigma": 1.0, "radius": 1.0, "rho": 1.0}
    prior = claim.lower.prior(**point)
    nothing = losses(lambda p: Nothing(), prior, point, 7, 3)
    assert nothing.tolist() == zero_losses(prior, 7, 3).tolist()
    assert len(set(nothing)) == 7


class Nothing(BaseEstimator):
    """Releases 0."""

    def fit(self, X: np.ndarray) -> Nothing:
        self.mean_ = np.zeros(X.shape[1])
        return self


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claim_knows_what_releasing_0_risks(name: str) -> None:
    """The lower bound is below it, so that it can be beaten."""
    claim = CLAIMS[name]
    for cell in build([claim], PROFILES["quick"]).cells:
        zero = claim.zero_release_risk(cell.point)
        assert zero is not None
        assert claim.lower.value(**cell.point) < zero


def test_every_claim_has_a_sweep_and_every_private_one_a_control() -> None:
    assert all(claim.sweeps for claim in CLAIMS.values())
    assert len(CLAIMS) == len(all_claims())  # no name is given twice
    without = set(CLAIMS) - set(PRIVATE)
    # No privacy term to break.
    assert without == {"sparse-mean/statistics/zCDP", "sparse-regression/statistics/zCDP"}


@pytest.mark.parametrize(
    ("problem", "regime", "wanted"),
    [
        ("mean", "privacy", {"n", "d", "epsilon", "rho", "mu"}),
        ("sparse-mean", "privacy", {"n", "d", "s", "epsilon", "rho"}),
        ("sparse-mean", "statistics", {"n", "s"}),
        ("regression", "privacy", {"n", "d", "epsilon", "rho", "mu"}),
        ("regression", "statistics", {"n", "d", "rho"}),
        ("sparse-regression", "privacy", {"n", "d", "s", "epsilon", "rho"}),
        ("sparse-regression", "statistics", {"n", "s"}),
        ("logistic", "privacy", {"n", "d", "rho"}),
        ("logistic", "statistics", {"n", "d"}),
    ],
)
def test_slopes_are_fitted_in_every_parameter(problem: str, regime: str, wanted: set[str]) -> None:
    """Each sweep stays where its claim's bound is proved, and deep in it has the exponents."""
    sweeps = [(c, s) for c, s in SWEEPS if (c.problem.name, s.regime) == (problem, regime)]
    assert {variable for _, sweep in sweeps for variable in sweep.variables} == wanted
    for claim, sweep in sweeps:
        _, series, dropped = build([claim], PROFILES["full"])
        assert not dropped
        for variable in sweep.variables:
            claim.lower.slope(variable, **sweep.asymptotic_point)
            (row,) = (s for s in series if (s.variable, s.regime) == (variable, regime))
            distinct = {cell.point[variable] for cell in row.cells}
            assert len(row.cells) == len(distinct) >= 6


def test_halved_noise_is_seen() -> None:
    """The upper bound of half the noise is violated by the real estimator."""
    claim = CLAIMS["bounded-mean/tracing/zCDP"]
    point = {"n": 1000, "d": 200, "sigma": 1.0, "radius": 1.0, "rho": 0.05}
    assert claim.upper is not None
    weaker = claim.upper(weakened(point, 0.5)).value()
    cheating = replace(claim, upper=lambda p: claim.upper(weakened(p, 0.5)))  # type: ignore[misc]
    found = check(cheating)
    assert found.exit_code == 1
    assert found.cells[0].measured.ci_low > weaker


SWEPT = Profile("swept", (-1, 0, 1), 60, 200, 2)


def test_a_wrong_exponent_is_found_out() -> None:
    """The same values with a closed form that says n^-1 where the risk falls like n^-2."""
    claim = CLAIMS["bounded-mean/tracing/GDP"]
    n = sp.Symbol("n", positive=True)
    lying = replace(claim.lower, expression=lambda: claim.lower.expr * n)
    found = run([replace(claim, lower=lying)], SWEPT, seed=2)
    assert found.exit_code == 1
    verdicts = {row.variable: row.verdict for row in found.slopes}
    assert verdicts["n"] is Verdict.VIOLATED
    assert verdicts["mu"] is not Verdict.VIOLATED
    reasons = {row.variable: row.reason for row in found.slopes}
    assert reasons["n"] is Reason.NO_EXPONENT
    assert all(control.broke for control in found.controls)  # the exponent is one off by chance


def test_every_kind_of_control_is_run() -> None:
    found = run([CLAIMS["bounded-mean/tracing/GDP"]], SWEPT, seed=2)
    assert found.exit_code == 0
    assert [control.kind for control in found.controls] == [
        "non-private twin",
        "noise x 2",
        "exponent in n shifted by one (privacy)",
        "exponent in mu shifted by one (privacy)",
    ]


def test_a_vacuous_upper_bound_leaves_its_control_unbroken() -> None:
    claim = CLAIMS["bounded-mean/tracing/GDP"]
    upper = claim.upper
    assert upper is not None

    def vacuous(p: Point) -> UpperBound:
        tight = upper(p)
        return replace(
            tight, formula=lambda q, found: Terms(None, 1000 * tight.formula(q, found).total)
        )

    found = check(replace(claim, upper=vacuous))
    assert found.exit_code == 1
    assert [control.kind for control in found.controls if not control.broke] == ["noise x 2"]


def test_whether_a_bound_is_vacuous_is_read_off_its_value() -> None:
    """Words beside a bound decide nothing: the control is run unless releasing 0 does as well."""
    claim = CLAIMS["bounded-mean/tracing/GDP"]
    upper = claim.upper
    assert upper is not None
    talking = replace(claim, upper=lambda p: replace(upper(p), remark="vacuous here, they say"))
    value = upper(claim.sweeps[0].base).value()
    kinds = {}
    for free in (value / 2, 2 * value):

        class Known(BoundedMeanProblem):
            def zero_release_risk(self, point: Point | None = None, free: float = free) -> float:
                return free

        found = check(replace(talking, projects=True, problem=Known))
        kinds[free] = [control.kind for control in found.controls]
    assert kinds == {value / 2: ["non-private twin"], 2 * value: ["non-private twin", "noise x 2"]}


def test_a_claim_that_was_never_seen_is_a_failure() -> None:
    """From the fewest trials there may be, eight times as many at the last look are still too few
    to learn anything of their noise."""
    assert LOOKS[-1] * FEWEST_TRIALS < FEWEST
    claim = CLAIMS["bounded-mean/tracing/GDP"]
    found = run([claim], replace(BASE_ONLY, trials=FEWEST_TRIALS), seed=1)
    assert found.summary.inconclusive == found.summary.cells == 1
    assert found.summary.violated == found.summary.controls_unbroken == 0
    assert found.summary.claims_without_a_consistent_cell == [claim.name]
    assert found.exit_code == 1


def test_the_worst_case_risk_grows_like_log_d_not_its_square() -> None:
    cases = [worst_case_log_d.worst_case(log_d, 800, 3, 1e-6) for log_d in (1e5, 1e6)]
    slope = fit_slope([c.log_d for c in cases], [c.measured for c in cases], 1e-6)
    assert slope_reason(slope, 1.0).verdict is Verdict.CONSISTENT
    assert slope_reason(slope, 2.0).verdict is Verdict.VIOLATED
    for case in cases:
        assert case.measured.ci_high < case.claimed / 3
        assert case.measured.ci_low > case.lower


def test_null_maxima_have_the_law_of_the_two_largest() -> None:
    """At log d small enough to enumerate: compare with real order statistics."""
    from scipy import stats

    d, draws = 4000, 3000
    rng = np.random.default_rng(5)
    simulated = worst_case_log_d.null_maxima(np.log(d), 1.0, draws, rng) * np.sqrt(
        worst_case_log_d.N
    )
    real = np.sort(np.abs(rng.standard_normal((draws, d))), axis=1)[:, -2:]
    for k in (0, 1):
        assert stats.ks_2samp(simulated[:, k], real[:, 1 - k]).pvalue > 1e-6
    assert stats.ks_2samp(simulated[:, 0], real[:, 0]).pvalue < 1e-6


def measurement(low: float, high: float) -> Measurement:
    return Measurement((low + high) / 2, low, high, 100, 0)


@pytest.mark.parametrize(
    ("low", "high", "lower", "upper", "verdict"),
    [
        (1.0, 1.2, 0.5, 2.0, Verdict.CONSISTENT),
        (0.95, 1.05, 1.0, None, Verdict.CONSISTENT),
        (0.5, 1.5, 1.0, None, Verdict.INCONCLUSIVE),
        (0.5, 0.9, 1.0, None, Verdict.VIOLATED),
        (2.1, 2.2, 1.0, 2.0, Verdict.VIOLATED),
        (1.9, 2.5, 1.0, 2.0, Verdict.INCONCLUSIVE),
    ],
)
def test_level_verdicts(
    low: float, high: float, lower: float, upper: float | None, verdict: Verdict
) -> None:
    assert level_reason(measurement(low, high), lower, upper).verdict is verdict


def test_slope_of_an_exact_power_is_recovered() -> None:
    x = [1.0, 2.0, 4.0, 8.0]
    cells = [measurement(0.99 * v**-1.5, 1.01 * v**-1.5) for v in x]
    slope = fit_slope(x, cells, 1e-3)
    assert slope.fitted == pytest.approx(-1.5)
    assert slope.ci_low < -1.5 < slope.ci_high
    assert slope_reason(slope, -0.5).verdict is Verdict.VIOLATED


def test_interval_covers_and_seeds_depend_on_the_label_only() -> None:
    rng = np.random.default_rng(0)
    misses = 0
    for _ in range(400):
        found = interval(rng.exponential(size=50), 0.2, 0)
        misses += not found.ci_low <= 1 <= found.ci_high
    assert 40 < misses < 140  # 80 expected; the exponential law is skewed
    assert cell_seed(1, "a") == cell_seed(1, "a") != cell_seed(2, "a")
    assert cell_seed(1, "a") != cell_seed(1, "b")


def test_the_command_writes_json_and_plots(tmp_path: Path) -> None:
    arguments = ["--only", "bounded-mean/tracing/GDP", "--seed", "4", "--jobs", "2"]
    arguments += ["--results", str(tmp_path / "kept")]
    path = tmp_path / "new" / "found.json"
    code = main([*arguments, "--json", str(path), "--plots", str(tmp_path / "plots")])
    assert code == 0
    found = json.loads(path.read_text())
    assert (tmp_path / "plots" / "bounded-mean-tracing-GDP.png").stat().st_size > 10_000
    assert {p.name for p in tmp_path.iterdir()} == {"new", "plots", "kept"}
    assert [p.name for p in path.parent.iterdir()] == [path.name]  # no leftovers
    assert len({cell["seed"] for cell in found["cells"]}) == 1  # that of their claim


def test_jobs_do_not_change_the_numbers() -> None:
    claim = CLAIMS["bounded-mean/tracing/GDP"]
    alone = run([claim], BASE_ONLY, seed=9, jobs=1)
    shared = run([claim], BASE_ONLY, seed=9, jobs=2)
    assert alone.as_json() == shared.as_json()
    other = run([claim], BASE_ONLY, seed=10, jobs=1)
    assert other.cells[0].measured.risk != alone.cells[0].measured.risk


def test_list_names_every_claim(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # where no name is folded
    assert main(["--list"]) == 0
    shown = capsys.readouterr().out
    for name in (*CLAIMS, worst_case_log_d.CLAIM):
        assert name.split("/")[-1] in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "nothing like this"], "--only"),
        (["--profile", "huge"], "--profile"),
        (["--jobs", "0"], "--jobs"),
        (["--seed", "-3"], "--seed"),
        (["--json", "."], "--json"),
        (["--json", "/proc/x.json"], "--json"),
        (["--plots", "/proc/nowhere"], "--plots"),
    ],
)
def test_bad_usage_is_refused_before_anything_runs(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in usage_error(main, arguments, capsys)


def test_the_error_of_a_run_is_divided_over_its_intervals_and_their_looks() -> None:
    claim = CLAIMS["bounded-mean/tracing/GDP"]
    grid = build([claim], BASE_ONLY)
    intervals = len(tasks_of(grid.cells, BASE_ONLY)) + len(grid.cells) + 2 * len(grid.series)
    assert run([claim], BASE_ONLY, seed=1).alpha <= ALPHA / (intervals * len(LOOKS))


def test_losses_that_are_plain_or_adjusted_have_half_of_the_error_each() -> None:
    values = np.random.default_rng(0).exponential(size=100)
    found = Seen({"task": values}, 0, 0.1).risk("task")
    assert found.ci_high == pytest.approx(interval(values, 0.1 / STATES, 0).ci_high)
    assert found.ci_high > interval(values, 0.1, 0).ci_high


def test_exponents_have_the_error_of_all_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    """m cells end at any of the looks each, plain or adjusted: see `sequential`."""
    seen: list[tuple[int, float]] = []
    levels: set[float] = set()

    def noted(x: Any, found: Any, alpha: float, states: float = 1, *more: Any) -> Any:
        seen.append((len(found), states))
        levels.add(alpha)
        return fit_slope(x, found, alpha, states, *more)

    monkeypatch.setattr(claim_study, "fit_slope", noted)
    found = run([CLAIMS["bounded-mean/tracing/GDP"]], SWEPT, seed=2)
    assert seen
    assert levels == {found.alpha / STATES}  # the level that its cells have
    assert all(states >= (STATES * len(LOOKS)) ** (cells - 1) for cells, states in seen)
