"""Wrong names and wrong kinds of argument: the error says what is wrong and what to give."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest

import minimax.problems
from estimators import NoisyMean, OneShotThreshold, SparseMean
from minimax.__main__ import main
from minimax.calculator import rows, upper_rows
from minimax.catalogue import PROBLEMS
from minimax.core.bound import COUNTS, SHARED
from minimax.core.privacy import Privacy, Pure, ZeroConcentrated, parameter_names
from minimax.core.problem import Problem
from minimax.plan import plan
from minimax.problems.mean.centred import centred_mean_upper
from minimax.problems.mean.lower import tracing_gaussian
from minimax.problems.mean.problem import MeanProblem
from minimax.problems.mean.upper import best_noisy_mean
from minimax.problems.regression import RegressionProblem
from minimax.problems.sparse_mean import SparseMeanProblem
from minimax.problems.sparse_regression import SparseRegressionProblem

POINT = {"n": 1000.0, "d": 10.0, "sigma": 1.0, "radius": 1.0, "epsilon": 0.5}
NUMBERS = {"n": 1000, "d": 10, "p": 10, "s": 3, "sigma": 1.0, "radius": 1.0, "C": 1.0}
METHODS = ("value", "parts", "exact", "closed_form", "broken", "prior")


# --- Names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_misspelt_parameter_is_named(method: str) -> None:
    bound = tracing_gaussian(Pure)
    getattr(bound, method)(**POINT)
    with pytest.raises(TypeError, match=r"unknown parameter 'espilon'; it has n, d, .*epsilon"):
        getattr(bound, method)(**POINT, espilon=1.0)


def test_a_misspelt_parameter_is_no_default() -> None:
    """Where the right name has a default, the wrong one used to be ignored."""
    upper = centred_mean_upper(MeanProblem(1000, 10).point, Pure(0.5))
    assert upper.value(epsilon=1.0) < upper.value()
    with pytest.raises(TypeError, match="unknown parameter 'eps'; it has n"):
        upper.value(eps=1.0)


def test_a_slope_in_no_parameter_is_refused() -> None:
    noise = best_noisy_mean(MeanProblem(1000, 10), Pure(0.5))
    for bound in (tracing_gaussian(Pure), noise):
        for name in ("typo", "rho"):
            with pytest.raises(TypeError, match=f"unknown parameter '{name}'; it has n"):
                bound.slope(name, **POINT)
    resolved = centred_mean_upper(MeanProblem(1000, 10).point, Pure(0.5))
    assert resolved.resolve
    with pytest.raises(TypeError, match="unknown parameter 'typo'"):
        resolved.slope("typo")


def test_shared_names_are_those_of_the_problems_and_budgets() -> None:
    """A point of a whole problem may be given to each of its bounds."""
    problems = {name for problem in PROBLEMS.values() for name in problem.parameters()}
    budgets = {name for kind in get_args(Privacy) for name in parameter_names(kind)}
    assert problems | budgets == SHARED
    given = {**POINT, "rho": 0.1, "C": 1.0}
    assert tracing_gaussian(Pure).value(**given) == tracing_gaussian(Pure).value(**POINT)


# --- Classes and instances ------------------------------------------------------------------------


def constructors() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function of the problems that makes lower bounds from a definition."""
    for found in pkgutil.walk_packages(minimax.problems.__path__, "minimax.problems."):
        module = importlib.import_module(found.name)
        for name, function in inspect.getmembers(module, inspect.isfunction):
            signature = inspect.signature(function)
            takes = "type[Privacy]" in str(signature) and "model" in signature.parameters
            makes = "LowerBound" in str(signature.return_annotation)
            if function.__module__ == found.name and name[0] != "_" and takes and makes:
                yield f"{found.name}.{name}", function


CONSTRUCTORS = dict(constructors())
OTHERS = {"number": 1, "sparse": True}
"""What else a constructor must be given."""


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_a_definition_with_numbers_is_no_definition(name: str) -> None:
    make = CONSTRUCTORS[name]
    more = {key: OTHERS[key] for key in OTHERS if key in inspect.signature(make).parameters}
    with pytest.raises(TypeError, match=r"must be the class Pure here, not Pure\(epsilon=1.0"):
        make(model=Pure(1.0), **more)
    for wrong in (1.0, "pure", int, None):
        with pytest.raises(TypeError, match="privacy must be one of Pure, Approximate"):
            make(model=wrong, **more)


def test_constructors_are_found() -> None:
    assert "minimax.problems.mean.lower.tracing_gaussian" in CONSTRUCTORS
    assert len(CONSTRUCTORS) > 25


@pytest.mark.parametrize("kind", PROBLEMS.values(), ids=lambda kind: kind.name)
def test_a_definition_without_numbers_is_no_budget(kind: type[Problem]) -> None:
    problem = kind.at(NUMBERS)
    asked: dict[str, Callable[[Any], Any]] = {
        "upper": problem.upper,
        "best_upper": problem.best_upper,
        "best_lower": problem.best_lower,
        "rows": lambda privacy: rows(problem, privacy),
        "upper_rows": lambda privacy: upper_rows(problem, privacy),
        "plan": lambda privacy: plan(problem, privacy, 1.0),
    }
    for ask in asked.values():
        with pytest.raises(TypeError, match=r"give ZeroConcentrated\(rho=\.\.\.\), not the class"):
            ask(ZeroConcentrated)
        with pytest.raises(TypeError, match=r"one of Pure, .* with numbers, got 1.0"):
            ask(1.0)


def test_estimators_say_the_same() -> None:
    X = [[0.0], [1.0]]
    with pytest.raises(TypeError, match=r"give Pure\(epsilon=\.\.\.\), not the class"):
        NoisyMean(Pure, sigma=1, radius=1).fit(X)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"give Pure\(epsilon=\.\.\.\), not the class"):
        OneShotThreshold(Pure).fit(X, [0.0, 1.0])


@pytest.mark.parametrize("given", [{"sigma": 0.1}, {"radius": 0.1}, {"sigma": 2.0}])
def test_a_plan_for_other_scales_has_no_bound(given: dict[str, float]) -> None:
    """With R="auto" the estimator plans from its own sigma and radius: no bound for others."""
    unit = {"sigma": 1.0, "radius": 1.0}
    budget = ZeroConcentrated(0.05)
    dense, few = MeanProblem(1000, 20, **unit), SparseMeanProblem(1000, 20, 3, **unit)
    assert NoisyMean(budget, **unit).risk_bound(dense).value() > 0
    assert SparseMean(budget, s=3, **unit).risk_bound(few).value() > 0
    with pytest.raises(ValueError, match=r"must be that of the problem, 1\.0, got"):
        NoisyMean(budget, **{**unit, **given}).risk_bound(dense)
    with pytest.raises(ValueError, match=r"must be that of the problem, 1\.0, got"):
        SparseMean(budget, s=3, **{**unit, **given}).risk_bound(few)


def test_a_bound_is_about_one_class() -> None:
    problem = RegressionProblem(1000, 5, 1.0, 1.0)
    with pytest.raises(TypeError, match="problem must be a MeanProblem, got RegressionProblem"):
        NoisyMean(ZeroConcentrated(0.05), sigma=1.0, radius=1.0).risk_bound(problem)  # type: ignore[arg-type]


# --- Numbers of a problem -------------------------------------------------------------------------

WRONG_COUNTS = [("a", TypeError), (True, TypeError), (0, ValueError), (-1, ValueError)]
WRONG_COUNTS += [(2.5, ValueError), (float("nan"), ValueError), (float("inf"), ValueError)]
WRONG_SIZES = [("a", TypeError), (0.0, ValueError), (-1.0, ValueError), (float("inf"), ValueError)]


@pytest.mark.parametrize("kind", PROBLEMS.values(), ids=list(PROBLEMS))
def test_a_problem_refuses_a_wrong_number_by_name(kind: type[Problem]) -> None:
    numbers = {name: NUMBERS[name] for name, needed in kind.parameters().items() if needed}
    right = kind(**numbers)  # type: ignore[arg-type]
    assert right == kind(**{name: float(value) for name, value in numbers.items()})  # type: ignore[arg-type]
    for name in right.point:
        if name not in kind.parameters():
            continue  # the radius of bounded records
        for wrong, error in WRONG_COUNTS if name in COUNTS else WRONG_SIZES:
            with pytest.raises(error, match=f"^{name} must be "):
                kind(**{**numbers, name: wrong})  # type: ignore[arg-type]
    if "s" in numbers:
        with pytest.raises(ValueError, match=r"^s must be at most [dp] = 10, got 11"):
            kind(**{**numbers, "s": 11})  # type: ignore[arg-type]


@pytest.mark.parametrize("L", [0.5, 0.0, -1.0, float("nan"), "a"])
def test_an_empty_class_is_refused(L: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^L must be "):
        RegressionProblem(100, 5, L=L)
    with pytest.raises((TypeError, ValueError), match=r"^L must be "):
        SparseRegressionProblem(100, 5, 2, L=L)


# --- Numbers too far apart ------------------------------------------------------------------------

FAR_APART = {
    "regression": "--n 1000 --d 5 --rho .1 --sigma {} --radius 1e100 --upper",
    "sparse-mean": "--n 1000 --d 100 --s 5 --mu 1e-100 --sigma {} --radius 1e100 --upper",
    "mean": "--n 1 --d 1e15 --epsilon 1e-50 --sigma 1e100 --radius 1e10 --upper",
}


@pytest.mark.parametrize("problem", FAR_APART)
def test_numbers_beyond_floats_end_in_words(problem: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        main([problem, *FAR_APART[problem].format("1e-100").split()])
    assert ended.value.code == 2
    assert "error: these numbers are too far apart to compute with" in capsys.readouterr().err
    # a control: ordinary numbers have an answer
    usual = FAR_APART[problem].format("1").replace("1e-100", "1").replace("e100", "")
    usual = usual.replace("1e-50", "1").replace("1e15", "5")
    assert main([problem, *usual.split()]) == 0
    assert "certified" in capsys.readouterr().out


def test_far_apart_is_not_too_far_where_nothing_overflows(capsys: Any) -> None:
    options = "--n 1000 --d 50 --s 5 --rho .1 --sigma 1e-100 --radius 1e100 --upper"
    assert main(["sparse-regression", *options.split()]) == 0
    shown = capsys.readouterr().out
    assert "certified" in shown
    assert "nan" not in shown
