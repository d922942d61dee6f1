"""What every problem promises; a problem enters by being exported from its package."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, replace
from typing import ClassVar

import numpy as np
import pytest

from minimax.catalogue import PROBLEMS
from minimax.core.bound import Labelled, LowerBound, OutsideRegime, UpperBound
from minimax.core.loss import Loss
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.core.problem import Problem
from minimax.problems.bounded_mean import BoundedMeanProblem
from minimax.problems.label_regression import LabelRegressionProblem
from minimax.problems.local_regression import LocalRegressionProblem
from minimax.problems.local_regression.problem import LOSSES
from minimax.problems.mean import MeanProblem
from minimax.problems.regression import RegressionProblem

POINT = {"n": 400.0, "d": 12.0, "p": 12.0, "s": 3.0, "sigma": 0.5, "C": 1.5}
OTHER = {"n": 10.0**6, "d": 40.0, "p": 40.0, "s": 2.0, "sigma": 2.0, "C": 0.3}
BUDGETS = [Pure(0.7), Approximate(0.7, 1e-6), ZeroConcentrated(0.1), Gaussian(0.4)]
FORMS = {
    **{name: problem.at(POINT) for name, problem in PROBLEMS.items()},
    **{
        f"local-regression {name} {interactive}": LocalRegressionProblem.at(
            POINT, loss=loss, interactive=interactive
        )
        for name, loss in LOSSES.items()
        for interactive in (False, True)
    },
    "label-regression with a link": LabelRegressionProblem.at({**POINT, "b": 0.5}),
}
every_form = pytest.mark.parametrize("problem", FORMS.values(), ids=FORMS.keys())


def test_the_catalogue_holds_what_the_packages_export() -> None:
    assert {"mean", "bounded-mean", "sparse-mean", "logistic"} < set(PROBLEMS)
    assert all(problem.name == name for name, problem in PROBLEMS.items())
    assert len({problem.about for problem in PROBLEMS.values()}) == len(PROBLEMS) == 9


@every_form
def test_a_problem_is_its_point_and_its_form(problem: Problem) -> None:
    assert type(problem).at(problem.point, **form_of(problem)) == problem
    assert set(problem.parameters()) <= {*problem.point, "b"}
    assert all(
        isinstance(problem.point[k], int) for k in ("n", "d", "s", "p") if k in problem.point
    )
    assert replace(problem, n=7).point == {**problem.point, "n": 7}
    with pytest.raises(FrozenInstanceError):
        problem.n = 3  # type: ignore[misc]


def form_of(problem: Problem) -> dict[str, object]:
    """Its options but for a radius that is no choice."""
    return {k: getattr(problem, k) for k in problem.options if k not in problem.point}


def columns(problem: Problem) -> int:
    return int(problem.point.get("d", problem.point.get("p", 0)))


@every_form
def test_records_are_of_the_class(problem: Problem) -> None:
    theta, rng = problem.farthest(), np.random.default_rng(5)
    drawn = problem.draw(theta, rng)
    X = drawn.X if isinstance(drawn, Labelled) else drawn
    assert theta.shape == (columns(problem),)
    assert X.shape == (problem.n, columns(problem))
    if isinstance(problem, (LocalRegressionProblem, LabelRegressionProblem)):
        slope = getattr(problem, "b", None) or 1.0
        assert set(np.unique(X)) == {-1.0, 1.0}
        assert np.max(np.abs(drawn.y - slope * (X @ theta))) <= problem.C
    elif isinstance(problem, BoundedMeanProblem):
        assert np.max(np.abs(X)) <= problem.sigma
    elif isinstance(drawn, Labelled):
        s = problem.point.get("s", columns(problem))
        assert np.allclose(np.abs(X), 1 / math.sqrt(s))
        assert drawn.y.shape == (problem.n,)
    if not isinstance(drawn, Labelled):  # the mean of the records is what is estimated
        assert np.max(np.abs(X.mean(axis=0) - theta)) < 5 * problem.point["sigma"] / math.sqrt(400)


@every_form
def test_records_tell_the_parameter(problem: Problem) -> None:
    """In large samples the rows' mean, or their correlation with labels, points along theta.

    The control: records of -theta point the other way.
    """
    large, theta = replace(problem, n=100_000), problem.farthest()

    def share(truth: np.ndarray) -> float:
        drawn = large.draw(truth, np.random.default_rng(6))
        if isinstance(drawn, Labelled):
            found = drawn.X.T @ (drawn.y - drawn.y.mean())
        else:
            found = drawn.mean(axis=0)
        return float(found @ theta / (np.linalg.norm(found) * np.linalg.norm(theta)))

    assert share(theta) > 0.9
    assert share(-theta) < -0.9


@every_form
def test_releasing_zero_has_the_risk_it_says(problem: Problem) -> None:
    """It is the loss of 0 at a parameter of the class that is as far as any, at any point."""
    for point in (POINT, OTHER):
        moved = type(problem).at({**problem.point, **point}, **form_of(problem))
        theta = moved.farthest()
        said = moved.zero_release_risk()
        assert moved.instance(theta).loss(np.zeros_like(theta)) == pytest.approx(said, rel=1e-12)
        assert moved.instance(theta).loss(0.1 * theta) < said
        assert problem.zero_release_risk(moved.point) == said


def test_a_wider_design_class_has_more_to_lose() -> None:
    wide = RegressionProblem(100, 5, L=2.0)
    assert wide.zero_release_risk() == 2 * replace(wide, L=1.0).zero_release_risk() == 0.4
    assert "L" not in wide.point


@every_form
@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_lower_bounds_stay_below_the_best_upper_bound(problem: Problem, privacy: Pure) -> None:
    for point in (POINT, OTHER):
        moved = type(problem).at({**problem.point, **point}, **form_of(problem))
        best = moved.best_upper(privacy).risk
        assert 0 <= moved.best_lower(privacy).risk <= best <= moved.zero_release_risk()


@every_form
@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_bounds_can_be_asked_at_the_problem(problem: Problem, privacy: Pure) -> None:
    lower, upper = problem.lower(type(privacy)), problem.upper(privacy)
    assert lower
    assert all(isinstance(bound, LowerBound) for bound in lower)
    assert all(isinstance(bound, UpperBound) for bound in upper)
    point = {**problem.point, **privacy.parameters}
    for bound in (*lower, *upper):
        assert isinstance(bound.loss, Loss)
        try:
            assert bound.value(**point) >= 0
        except OutsideRegime:
            continue
    certified = [bound for bound in lower if bound.kind == "certified"]
    assert any(bound.loss is problem.loss for bound in certified)


def test_a_bound_in_another_loss_says_so_and_is_not_compared() -> None:
    from minimax.calculator import rows

    class Elsewhere(MeanProblem):
        """The same bounds, held against another loss of the same name."""

        loss: ClassVar[Loss] = Loss(MeanProblem.loss.text)

    here, elsewhere = MeanProblem(1000, 20), Elsewhere(1000, 20)
    assert here.best_lower(Pure(0.5)).risk > 0
    assert elsewhere.best_lower(Pure(0.5)).risk == 0
    shown = [row for row in rows(elsewhere, Pure(0.5)) if f"loss: {here.loss}" in row.assumptions]
    assert len(shown) == len(rows(here, Pure(0.5)))
    assert not any("loss:" in note for row in rows(here, Pure(0.5)) for note in row.assumptions)


def test_the_radius_of_a_mean_is_sigma_unless_given() -> None:
    assert MeanProblem(10, 2, 3.0).radius == 3.0
    assert MeanProblem(10, 2, 3.0, 1.0).radius == 1.0
    assert BoundedMeanProblem(10, 2, 3.0, 3.0) == BoundedMeanProblem(10, 2, 3.0)
    assert "radius" not in BoundedMeanProblem.parameters()
    with pytest.raises(ValueError, match="radius is sigma for bounded-mean"):
        BoundedMeanProblem(10, 2, 3.0, 1.0)


def test_losses_are_what_they_compute_not_what_they_are_called() -> None:
    squared, summed = LOSSES["squared"], LOSSES["sum"]
    estimate, target = np.array([1.0, 2.0]), np.array([0.0, 4.0])
    assert (squared(estimate, target), summed(estimate, target)) == (5.0, 1.0)
    assert squared != Loss(squared.text, squared.measure)
    assert str(summed) == summed.text
    with pytest.raises(TypeError, match="Sigma"):
        RegressionProblem.loss(estimate, target)
