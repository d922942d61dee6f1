"""Sparse regression from locally private labels."""

from minimax.problems.label_regression.problem import (
    LabelRegressionProblem as LabelRegressionProblem,
)
