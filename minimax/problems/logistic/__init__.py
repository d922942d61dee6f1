"""Logistic regression."""

from minimax.problems.logistic.problem import LogisticProblem as LogisticProblem
