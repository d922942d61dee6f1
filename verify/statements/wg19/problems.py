"""WG19 (1.1), (5.2) and (5.3): the problems that the algorithm is to solve."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy import special

from estimators.controls.regression import IterativeHardThresholding
from estimators.core.losses import LogisticLoss, SquaredLoss
from verify.proofs.entry import Case, Chapter, Result, Status, result

Array = NDArray[np.float64]
Rng = np.random.Generator
INTRODUCTION = Chapter("WG19")
LINEAR = Chapter("WG19")
LOGISTIC = Chapter("WG19")


def best_subset(X: Array, y: Array, s: int) -> tuple[float, Array]:
    """The least |X theta - y|^2/2n over all supports of s places, and where it is."""
    found = []
    for support in map(list, itertools.combinations(range(X.shape[1]), s)):
        theta = np.zeros(X.shape[1])
        theta[support] = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
        found.append((float(np.mean(SquaredLoss().value(X @ theta, y))), theta))
    return min(found, key=lambda pair: pair[0])


@INTRODUCTION.states(
    "(1.1)",
    r"$\min_\theta L_S(\theta)=\frac1n\sum_i\ell(\theta;z_i)$ subject to $\|\theta\|_0\le s$, in"
    r" order to recover $\theta^*$, $\|\theta^*\|_0=s^*$, from which the data come.",
    kind="equation",
    found="Without noise θ* is the minimiser over all supports, if s ≥ s*; at s = s* − 1 not.",
    by="brute force",
    expected=Status.HOLDS,
    printed=Case("s = s* and s* + 1", sparsities=(3, 4)),
    mutant=Case("s = s* − 1", sparsities=(2,)),
    code=("estimators.controls.regression.IterativeHardThresholding",),
)
def recovers(rng: Rng, *, sparsities: tuple[int, ...]) -> Result:
    """Squared loss, labels without noise, d = 7 > n = 6 and s* = 3: is the minimiser theta*?"""
    X, target = rng.normal(size=(6, 7)), np.zeros(7)
    target[:3] = 1.0, -0.8, 0.5
    apart = [float(np.linalg.norm(best_subset(X, X @ target, s)[1] - target)) for s in sparsities]
    return result(max(apart) <= 1e-9, largest_distance_from_the_truth=max(apart))


@LINEAR.states(
    "(5.2)",
    r"$\min_\theta F(\theta)=\frac1{2n}\|X\theta-y\|_2^2$ subject to $\|\theta\|_0\le s$, with the"
    r" components $\ell_i(\theta)=(\langle x_i,\theta\rangle-y_i)^2/2$, solved by thresholded"
    r" gradient steps.",
    kind="equation",
    found="Steps reach the least F over all 120 supports on designs with n = 200, d = 10.",
    by="execution",
    uses=("(1.1)",),
    expected=Status.HOLDS,
    printed=Case("200 steps", steps=200),
    mutant=Case("2 steps", steps=2),
    code=(
        "estimators.core.losses.SquaredLoss",
        "estimators.controls.regression.IterativeHardThresholding",
    ),
)
def least_squares(rng: Rng, *, steps: int) -> Result:
    """Is F the mean of the components, and does the algorithm without noise end at its minimum?"""
    excess, apart = 0.0, 0.0
    for _ in range(5):
        X = rng.normal(size=(200, 10))
        y = X[:, :3] @ np.array([1.0, -0.7, 0.4]) + 0.3 * rng.normal(size=200)
        model = IterativeHardThresholding(s=3, method="gradient", refit=False, steps=steps)
        theta = model.fit(X, y).coef_
        components = np.mean(SquaredLoss().value(X @ theta, y))
        apart = max(apart, abs(float(np.sum((X @ theta - y) ** 2) / 400 - components)))
        excess = max(excess, float(components) - best_subset(X, y, 3)[0])
    return result(
        max(excess, apart) <= 1e-6, largest_excess=excess, largest_difference_from_components=apart
    )


@LOGISTIC.states(
    "(5.3)",
    r"$\min_\theta-\frac1n\sum_i[y_i\langle\theta,x_i\rangle-\log(1+e^{\langle\theta,x_i\rangle})]$"
    r" subject to $\|\theta\|_0\le s$ is the maximum likelihood problem of"
    r" $P(y_i=1)=e^{\langle\theta^*,x_i\rangle}/(1+e^{\langle\theta^*,x_i\rangle})$.",
    kind="equation",
    found="Minus the log-likelihood of the model of §5.2, least at θ* on average; of §6's not.",
    by="exact",
    uses=("(1.1)",),
    expected=Status.HOLDS,
    printed=Case("the model of §5.2", sign=1.0),
    mutant=Case("the model printed in §6, 1/(1 + e^⟨x,θ*⟩)", sign=-1.0),
    code=("estimators.core.losses.LogisticLoss",),
)
def likelihood(rng: Rng, *, sign: float) -> Result:
    """Is the loss minus the log-likelihood of P(y = 1) = 1/(1 + exp(-sign u)), with score zero?

    Both labels of every row are weighed with their chances, so that the mean is exact.
    """
    X, target = rng.normal(size=(30, 4)), np.array([1.0, -0.5, 0.0, 0.3])
    loss, off = LogisticLoss(), 0.0
    for theta in (target, *rng.normal(size=(20, 4))):
        u = X @ theta
        for label, likely in ((1.0, sign), (0.0, -sign)):
            value = loss.value(u, np.full(30, label))
            off = max(off, float(np.abs(value + special.log_expit(likely * u)).max()))
    u = X @ target
    chance = special.expit(sign * u)
    slope = chance * loss.slope(u, np.ones(30)) + (1 - chance) * loss.slope(u, np.zeros(30))
    score = float(np.linalg.norm(X.T @ slope / 30))
    return result(
        max(off, score) <= 1e-12,
        largest_difference_from_minus_log_likelihood=off,
        length_of_the_mean_gradient_at_the_truth=score,
    )
