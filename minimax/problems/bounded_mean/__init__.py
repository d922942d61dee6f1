"""The mean of records in a cube."""

from minimax.problems.bounded_mean.problem import BoundedMeanProblem as BoundedMeanProblem
