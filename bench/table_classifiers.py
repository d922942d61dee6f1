"""What others do for private classification on a table with public ranges: see `table_peers`.

Each returns coefficients of the log odds, the intercept first.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special
from sklearn.linear_model import LogisticRegression
from table_peers import Fit, Task

from estimators.baselines.objective_perturbation import (
    linear_term,
    logistic_minimum,
    objective_perturbation,
    quieter,
)
from minimax.core.privacy import Approximate

MOMENTUM = 0.9


def noisy_descent(task: Task, privacy: Approximate) -> np.ndarray:
    """Logistic regression by noisy gradient descent with momentum, the last half averaged.

    No gradient is longer than the longest row R, so none is clipped. sqrt(n mu) steps of 4/R^2,
    which is one over the largest curvature a record can have.
    """
    Z, y, R = task.Z, task.y, task.schema.row_bound
    n, mu, rng = len(y), privacy.to_gaussian().mu, task.rng(2)
    steps = max(4, round(math.sqrt(n * mu)))
    noise = gradient_noise(R, n, steps, mu)
    coef, speed, path = np.zeros(Z.shape[1]), np.zeros(Z.shape[1]), []
    for _ in range(steps):
        gradient = Z.T @ (special.expit(Z @ coef) - y) / n
        speed = MOMENTUM * speed - gradient - noise * rng.standard_normal(len(coef))
        coef = coef + 4 / R**2 * speed
        path.append(coef)
    return np.asarray(np.mean(path[steps // 2 :], axis=0))


def gradient_noise(R: float, n: int, steps: int, mu: float) -> float:
    """On a mean of gradients of norm R at most, so that all the steps are mu-GDP."""
    return 2 * R * math.sqrt(steps) / (n * mu)


def perturbed_objective(task: Task, privacy: Approximate) -> np.ndarray:
    """Objective perturbation with the kinder of its two noises; the minimiser to rounding level."""
    R, p = task.schema.row_bound, task.Z.shape[1]
    chosen = quieter(p, privacy.epsilon, privacy.delta)
    perturbation = objective_perturbation(R, R**2 / 4, chosen)
    linear = linear_term(perturbation, p, task.rng(3))
    return logistic_minimum(task.Z, task.y, perturbation.ridge, linear)


def logistic_regression(task: Task, privacy: Approximate) -> np.ndarray:
    """Without privacy and all but without a penalty."""
    model = LogisticRegression(C=1e4, max_iter=3000).fit(task.Z[:, 1:], task.y)
    return np.concatenate([model.intercept_, model.coef_[0]])


def majority(task: Task, privacy: Approximate) -> np.ndarray:
    """The training share for everyone, without privacy."""
    coef = np.zeros(task.Z.shape[1])
    coef[0] = special.logit(task.y.mean())
    return coef


PRIVATE: dict[str, Fit] = {
    "noisy gradient descent": noisy_descent,
    "objective perturbation": perturbed_objective,
}
NOT_PRIVATE: dict[str, Fit] = {
    "logistic regression": logistic_regression,
    "majority": majority,
}
