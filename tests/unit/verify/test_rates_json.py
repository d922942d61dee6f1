"""The keys of the JSON file of `verify.rates`: programs read them, so none may go."""

from __future__ import annotations

import pytest

from verify.files import JSON
from verify.rates.claim import Ceiling
from verify.rates.grid import PROFILES, Dropped
from verify.rates.judge import Slope
from verify.rates.measure import Measurement
from verify.rates.rows import LevelControl, Row, Run, SlopeControl, SlopeRow, WorstCaseRow
from verify.rates.special.coverage import CoverageRow
from verify.rates.special.ordering.experiments import Setting
from verify.rates.special.ordering.rows import Comparison, Gap, MethodRow, Ordering, Pair, Tally

pytestmark = pytest.mark.oldest

CELL = (
    "claim problem regime point estimator privacy trials seed risk ci_low ci_high lower"
    " lower_source upper upper_source upper_remark ratio verdict"
)
RECORDED = {
    "run": "summary cells slopes controls dropped ordering",
    "summary": (
        "profile seed cells slopes consistent violated inconclusive controls controls_unbroken"
        " claims_without_a_consistent_cell dropped alpha alpha_per_interval"
    ),
    "cell": CELL,
    "worst case": f"{CELL} packing claimed",
    "slope": (
        "claim regime variable fitted ci_low ci_high intercept expected expected_source tolerance"
        " verdict labels points"
    ),
    "level control": "claim kind point risk ci_low ci_high trials seed side bound broke",
    "slope control": "claim kind side bound risk broke",
    "dropped": "claim point reason",
    "ordering": "rows comparisons claims",
    "method": (
        "experiment source variable method private point error ci_low ci_high against_zero trials"
        " seed options options_tried epsilon_spent"
    ),
    "comparison": (
        "experiment first second reported source point gap ci_low ci_high trials verdict seed"
    ),
    "tally": (
        "experiment first second reported source points ahead behind not_separated ahead_at_all"
    ),
}
"""As of 0.3, in the file's order."""
CELL_ADDED = {"upper_vacuous", "zero_release", "zero_release_under_prior", "against_zero"}
CELL_ADDED |= {"noticed_from", "reason"}
ADDED = {
    "run": {"coverage", "tightness", "noise_as_stated", "unseeded"},
    "summary": {"coverage", "worse_than_zero", "not_tight_enough"},
    "cell": CELL_ADDED,
    "worst case": CELL_ADDED,
    "slope": {"reason"},
    "level control": {"reason"},
    "slope control": {"half_width", "reason"},
    "dropped": {"unfitted"},
}
COVERAGE = (
    "claim point estimator privacy level tolerance trials seed coverage ci_low ci_high verdict"
    " reason"
)


def example() -> Run:
    """A run with one row of each kind."""
    found, point = Measurement(0.3, 0.2, 0.4, 10, 1), {"n": 100.0, "log_d": 2.0}
    upper = Ceiling(1.0, "U", "", vacuous=False)
    row = Row("c", "mean", "privacy", point, "E", "pure", found, 0.1, "L", upper)
    worst = WorstCaseRow(
        "w", "sparse-mean", "privacy", point, "E", "pure", found, 0.1, "L", None, 0.05, 9.0
    )
    slope = SlopeRow("c", "privacy", "n", Slope(1.0, 0.9, 1.1, 0.0), 1.0, "L", (row,))
    setting, pair = Setting(10, 5, 2, 1.0, 0.01), Pair("x", "a", "b", True, "WG19: §6")
    ordering = Ordering(
        [MethodRow("x", "s", "n", "a", True, setting, found, {"R": 1.0}, 1, 1.0)],
        [Comparison(pair, setting, Gap(0.1, 0.05, 0.2, 10), 1)],
        [Tally.of(pair, ["ahead"])],
    )
    controls = [LevelControl("c", "k", point, found, "lower", 1.0), SlopeControl(slope)]
    dropped = [Dropped("c", point, "n >= 1")]
    covered = [CoverageRow("coverage/x", point, "E", "pure", 0.9, 0.03, found)]
    rows = [row, worst], [slope], controls, dropped, ordering, covered
    return Run(PROFILES["quick"], 0, 1e-8, *rows)


def parts(run: JSON) -> dict[str, JSON]:
    """The objects of a JSON file by kind."""
    ordering = run["ordering"]
    return {
        "run": run,
        "summary": run["summary"],
        "cell": run["cells"][0],
        "worst case": run["cells"][1],
        "slope": run["slopes"][0],
        "level control": run["controls"][0],
        "slope control": run["controls"][1],
        "dropped": run["dropped"][0],
        "ordering": ordering,
        "method": ordering["rows"][0],
        "comparison": ordering["comparisons"][0],
        "tally": ordering["claims"][0],
    }


@pytest.mark.parametrize("kind", RECORDED)
def test_keys_are_the_recorded_ones(kind: str) -> None:
    keys = list(parts(example().as_json())[kind])
    assert [key for key in keys if key not in ADDED.get(kind, ())] == RECORDED[kind].split()


def test_coverage_has_keys_of_its_own() -> None:
    run = example().as_json()
    assert list(run["coverage"][0]) == COVERAGE.split()
    assert run["summary"]["coverage"] == 1
    assert run["summary"]["violated"] == 1  # a third of the intervals is far below 90 %


def test_without_orderings_the_key_stays() -> None:
    run = example().as_json()
    assert Run(PROFILES["quick"], 0, 1e-8, [], [], [], []).as_json().keys() == run.keys()
