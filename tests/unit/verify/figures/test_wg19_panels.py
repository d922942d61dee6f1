"""WG19's panels: set-ups as the paper has them, errors by hand, files that are not known."""

from __future__ import annotations

import bz2
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from estimators import Budget
from minimax import Approximate
from verify.data_sets import DATA_SETS, WrongContent, load, path_of
from verify.figures.curves import Curve
from verify.figures.panel import Fit, Point
from verify.figures.panels import wg19_choices, wg19_rates, wg19_real_data, wg19_simulated
from verify.figures.panels.wg19_choices import (
    CHARGED_IGHT,
    FREE_IGHT,
    by_cross_validation,
    cross_validated,
)
from verify.figures.panels.wg19_methods import (
    DENSE,
    Contest,
    Simulated,
    Split,
    half_mse,
    misclassified,
    relative_error,
)
from verify.figures.printed_cells import NearPrinted
from verify.figures.readings import Verdict, control

CONTESTS = [
    value
    for module in (wg19_simulated, wg19_real_data)
    for value in vars(module).values()
    if isinstance(value, Contest)
]
SIZE = (300, 400, 5)


def drawn(contest: Contest) -> Simulated:
    setting = wg19_simulated.Setting(SIZE, contest)
    return setting.draw(setting.point(2.0), np.random.default_rng(0))


def test_rows_are_shortened_to_twice_the_sparsity() -> None:
    X = drawn(wg19_simulated.LINEAR_SMALL).X
    assert math.sqrt(4 * SIZE[1] / 3) > 2 * SIZE[2], "or no row would be shortened"
    assert np.allclose(np.linalg.norm(X, axis=1), 2 * SIZE[2])


@pytest.mark.parametrize("contest", [wg19_simulated.LINEAR_SMALL, wg19_simulated.LOGISTIC_SMALL])
def test_theta_has_so_many_entries_within_one(contest: Contest) -> None:
    theta = drawn(contest).theta
    assert np.count_nonzero(theta) == SIZE[2]
    assert np.all(np.abs(theta) < 1)


def test_labels_follow_the_sign_of_section_5() -> None:
    sample = drawn(wg19_simulated.LOGISTIC_SMALL)
    assert set(np.unique(sample.y)) == {0.0, 1.0}
    assert np.corrcoef(sample.X @ sample.theta, sample.y)[0, 1] > 0.2


@pytest.mark.parametrize("contest", CONTESTS)
def test_all_grids_of_a_contest_are_equally_large(contest: Contest) -> None:
    own = (contest.denses,) if contest.denses else ()
    grids = contest.descents, contest.vertices, contest.clipped, contest.stages, *own
    assert len({len(grid.options) for grid in grids}) == 1
    assert all(len(values) >= 3 for grid in grids for values in grid.axes.values())


def test_rates_are_fitted_in_records_times_epsilon() -> None:
    point = wg19_rates.point_of_budget(500)
    assert point["n"] * point["epsilon"] == point["n·ε"] == 500
    sample = wg19_rates.signs(point, np.random.default_rng(0))
    assert set(np.unique(sample.X)) == {-1.0, 1.0}
    assert np.abs(sample.theta).sum() == pytest.approx(wg19_rates.REACH)
    assert np.array_equal(sample.y, sample.X @ sample.theta)
    assert wg19_rates.excess_risk(sample.theta, sample) == 0
    zero = np.zeros(len(sample.theta))
    assert wg19_rates.squared_distance(zero, sample) == pytest.approx(1)


def test_errors_by_hand() -> None:
    sample = Split(
        np.eye(2), np.ones(2), np.array([[1.0, 0], [0, 1], [1, 1]]), np.array([1.0, 0, 1])
    )
    assert half_mse(np.array([1.0, 1.0]), sample) == pytest.approx((0 + 1 + 1) / 6)
    assert misclassified(np.array([1.0, 1.0]), sample) == pytest.approx(1 / 3)
    assert relative_error(np.zeros(2), Simulated(np.eye(2), np.ones(2), np.ones(2))) == 1


def test_every_row_is_fitted_to_or_judged_by() -> None:
    X = sparse.csr_matrix(np.arange(20.0)[:, None])
    found = wg19_real_data.split(X, np.arange(20.0), 15, np.random.default_rng(0))
    assert found.X.shape[0] == 15
    assert sorted([*found.y, *found.y_test]) == list(range(20))
    assert np.array_equal(found.X.toarray().ravel(), found.y)


def test_the_same_features_are_drawn_for_both_parts() -> None:
    rows = sparse.csr_matrix(np.tile(np.arange(30.0), (4, 1)))
    found = wg19_real_data.e2006_draw(
        {"d": 7}, np.random.default_rng(0), (rows, np.ones(4)), (rows[:2], np.ones(2))
    )
    assert found.X.shape == (4, 7)
    assert found.X_test.shape == (2, 7)
    assert np.array_equal(found.X.toarray()[:2], found.X_test.toarray())


def test_cross_validation_takes_the_better_option_and_is_not_private() -> None:
    def fit(sample: Split, point: Point, rng: np.random.Generator, *, value: float) -> Fit:
        return Fit(np.array([value]), 1.0)

    X = np.linspace(-1, 1, 25)[:, None]
    sample = Simulated(X, 2 * X[:, 0], np.array([2.0]))
    choices = [{"value": value} for value in (0.0, 1.9, 5.0)]
    found = cross_validated(sample, {}, np.random.default_rng(0), fit=fit, choices=choices)
    assert found.estimate == [1.9]
    assert found.epsilon == math.inf


def test_a_charged_choice_draws_every_fit_and_score_from_one_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    budgets: list[Budget] = []

    class Watched(Budget):
        def __init__(self, total: Approximate) -> None:
            super().__init__(total)
            budgets.append(self)

    monkeypatch.setattr(wg19_choices, "Budget", Watched)
    contest = wg19_simulated.LINEAR_SMALL
    free, paid = by_cross_validation(contest)
    assert (free.name, free.variant) == (FREE_IGHT, "not private")
    assert (paid.name, paid.variant) == (CHARGED_IGHT, "private")
    point = {"epsilon": 2.0, "delta": 1e-3}
    found = paid.fit(drawn(contest), point, np.random.default_rng(0))
    assert found.epsilon == 2.0
    (whole,) = budgets
    fits = wg19_choices.FOLDS * len(contest.descents.options)
    by = Counter(draw.by for draw in whole.history)
    assert by == {"NoisyHardThresholding": fits + 1, "PrivateScore": fits}
    assert whole.spent is not None
    assert 0.999 < whole.spent.parameters["epsilon"] / 2 <= 1
    assert free.fit(drawn(contest), point, np.random.default_rng(0)).epsilon == math.inf


@pytest.mark.parametrize("contest", [c for c in CONTESTS if c.denses])
def test_the_toolkits_best_keeps_every_feature_and_its_budget(contest: Contest) -> None:
    (method,) = (each for each in contest.methods() if each.variant == "best")
    assert method.name == DENSE
    sample = drawn(contest)
    point = {"epsilon": 2.0, "delta": 1e-3}
    found = method.fit(sample, point, np.random.default_rng(0), **method.grid.options[0])
    assert np.count_nonzero(found.estimate) == sample.X.shape[1]
    assert found.epsilon == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((1.0, 1.01, 0.99), Verdict.REPRODUCED),
        ((2.0, 2.01, 1.99), Verdict.REVERSED),
        ((0.5, 1.5, 1.0), Verdict.NOT_SEPARATED),
    ],
)
def test_cells_against_printed_numbers(values: tuple[float, ...], verdict: Verdict) -> None:
    curve = Curve("DP-IGHT", "private", (2.0,), (np.array(values),))
    test = NearPrinted("DP-IGHT", {2.0: (1.0, 0.1), 4.0: (9.0, 0.1)})
    curves = {"DP-IGHT": curve}
    assert test.judge(curves).verdict is verdict
    assert control(test, curves, verdict).broke


def test_a_file_that_is_not_known_is_accepted_by_name_and_shape(tmp_path: Path) -> None:
    wanted = DATA_SETS["e2006-test"]
    assert path_of("e2006-test", tmp_path) is None
    content = b"-3.5 1:0.5 150360:0.25\n" * 3308
    (tmp_path / "E2006.test.bz2").write_bytes(bz2.compress(content))
    path_of.cache_clear()
    assert path_of("e2006-test", tmp_path) == tmp_path / "E2006.test.bz2"
    X, y = load("e2006-test", tmp_path)
    assert X.shape == (3308, 150_360)
    assert y[0] == -3.5
    assert "known by its rows" in wanted.acceptance
    assert "not known" not in DATA_SETS["housing"].acceptance


def test_a_file_of_another_length_is_refused(tmp_path: Path) -> None:
    (tmp_path / "E2006.train").write_bytes(b"1 1:1\n" * 100)
    with pytest.raises(WrongContent, match="100 rows, not 16087"):
        path_of("e2006-train", tmp_path)
