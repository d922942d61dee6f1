"""Measured Bayes risk of an estimator under the prior of a proof, with its interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attacks.intervals import clopper_pearson, student_half_width
from minimax.core.bound import Point, Prior, fit_arguments
from verify.seeds import streams

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


@dataclass(frozen=True)
class Measurement:
    """A mean over independent trials, with an interval at the level asked for.

    Student's for losses, the exact one for the share of trials in which something is so.
    """

    risk: float
    ci_low: float
    ci_high: float
    trials: int
    seed: int


def losses(
    make: Callable[[Point], BaseEstimator],
    prior: Prior,
    point: Point,
    trials: int,
    seed: int,
    first: int = 0,
    fits: int = 1,
) -> NDArray[np.float64]:
    """Losses of independent trials, from the `first` on: draw theta, draw data, fit, compare.

    With several fits, each with noise of its own, a trial's loss is their mean: trials are
    independent all the same, and the mean of all is the risk.
    """
    out = np.zeros(trials)
    for t, rng in enumerate(streams(seed, first, first + trials)):
        instance = prior.draw(rng)
        sample = fit_arguments(instance.sample(int(point["n"]), rng))
        for _ in range(fits):
            estimator = make(point)
            if "random_state" in estimator.get_params():
                estimator.set_params(random_state=rng)
            out[t] += instance.loss(released(estimator.fit(*sample))) / fits
    return out


def zero_losses(prior: Prior, trials: int, seed: int) -> NDArray[np.float64]:
    """Losses of releasing 0 in the trials of `losses`, which draw theta first."""
    drawn = [prior.draw(rng) for rng in streams(seed, 0, trials)]
    return np.array([instance.loss(np.zeros_like(instance.target)) for instance in drawn])


def released(estimator: BaseEstimator) -> NDArray[np.float64]:
    """What a fitted estimator gives out: its `mean_` or its `coef_`, flat."""
    release = estimator.coef_ if hasattr(estimator, "coef_") else estimator.mean_
    return np.asarray(release, dtype=float).ravel()


def interval(values: NDArray[np.float64], alpha: float, seed: int) -> Measurement:
    """Mean and two-sided Student interval of level 1 - alpha, of values that are not negative."""
    mean, half = float(np.mean(values)), student_half_width(values, alpha)
    return Measurement(mean, max(mean - half, 0.0), mean + half, len(values), seed)


def proportion(successes: int, trials: int, alpha: float, seed: int) -> Measurement:
    """The share of trials that succeeded, with its exact interval of level 1 - alpha."""
    return Measurement(successes / trials, *clopper_pearson(successes, trials, alpha), trials, seed)


def exactly(risk: float) -> Measurement:
    """A number known without error."""
    return Measurement(risk, risk, risk, trials=0, seed=0)
