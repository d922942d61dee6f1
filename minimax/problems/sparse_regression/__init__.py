"""Sparse linear regression."""

from minimax.problems.sparse_regression.problem import (
    SparseRegressionProblem as SparseRegressionProblem,
)
