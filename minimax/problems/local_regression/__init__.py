"""Sparse regression from locally private records."""

from minimax.problems.local_regression.problem import (
    LocalRegressionProblem as LocalRegressionProblem,
)
