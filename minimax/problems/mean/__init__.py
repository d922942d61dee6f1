"""The mean of sub-Gaussian records."""

from minimax.problems.mean.problem import MeanProblem as MeanProblem
