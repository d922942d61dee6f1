"""Linear regression."""

from minimax.problems.regression.problem import RegressionProblem as RegressionProblem
