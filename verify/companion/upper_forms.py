"""Upper bounds whose settings are formulas of the point, for the calculator's upper curves.

The least proven risk of a problem has settings that a search plans, and no closed form. But an
upper bound is true at every choice of its settings, and at these it has one, which is seldom below
what the search finds. Where there is none, the calculator says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minimax.catalogue import PROBLEMS
from minimax.core.bound import UpperBound
from minimax.core.privacy import Privacy, Pure
from minimax.core.problem import Problem
from minimax.problems.bounded_mean.problem import BoundedMeanProblem
from minimax.problems.logistic import upper as logistic
from minimax.problems.logistic.problem import LogisticProblem
from minimax.problems.mean.problem import MeanProblem
from minimax.problems.mean.upper import clipped_upper
from minimax.problems.regression import upper as regression
from minimax.problems.regression.problem import RegressionProblem
from minimax.problems.sparse_logistic.problem import SparseLogisticProblem
from minimax.problems.sparse_logistic.upper import of_all_coefficients
from minimax.problems.sparse_mean.problem import SparseMeanProblem
from minimax.problems.sparse_mean.upper import peeled_upper
from minimax.problems.sparse_regression import private_thresholding as sparse_regression
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from verify.proofs.theorems import REFERENCE

Forms = Callable[[Any, Privacy], list[UpperBound]]


def _sparse_mean(problem: SparseMeanProblem, privacy: Privacy) -> list[UpperBound]:
    dense = MeanProblem(problem.n, problem.d, problem.sigma, problem.radius)
    return [peeled_upper(problem, privacy), clipped_upper(dense, privacy)]


def _logistic(problem: LogisticProblem, privacy: Privacy) -> list[UpperBound]:
    """Under a pure budget only the planned descent has a proof."""
    return [] if isinstance(privacy, Pure) else [logistic.one_step_upper(problem, privacy)]


def _sparse_logistic(problem: SparseLogisticProblem, privacy: Privacy) -> list[UpperBound]:
    dense = LogisticProblem(problem.n, problem.d, problem.radius)
    return [of_all_coefficients(problem, each, privacy) for each in _logistic(dense, privacy)]


FORMS: dict[type[Problem], Forms] = {
    MeanProblem: lambda problem, privacy: [clipped_upper(problem, privacy)],
    BoundedMeanProblem: lambda problem, privacy: [clipped_upper(problem, privacy)],
    SparseMeanProblem: _sparse_mean,
    RegressionProblem: lambda problem, privacy: [regression.one_step_upper(problem, privacy)],
    SparseRegressionProblem: lambda problem, privacy: [
        sparse_regression.one_step_upper(problem, privacy)
    ],
    LogisticProblem: _logistic,
    SparseLogisticProblem: _sparse_logistic,
}
"""By problem; those that are not here list upper bounds with a closed form themselves."""


def upper_forms(name: str, budget: Privacy) -> list[UpperBound]:
    """The upper bounds of a problem under a budget, at settings that are formulas."""
    problem = PROBLEMS[name].at(REFERENCE)
    made = FORMS.get(type(problem))
    return made(problem, budget) if made else []
