"""A sparse mean."""

from minimax.problems.sparse_mean.problem import SparseMeanProblem as SparseMeanProblem
