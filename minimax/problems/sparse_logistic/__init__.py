"""Sparse logistic regression."""

from minimax.problems.sparse_logistic.problem import (
    SparseLogisticProblem as SparseLogisticProblem,
)
