"""Measured Bayes risk of an estimator under the prior of a proof, with its interval."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attacks.intervals import clopper_pearson, student_half_width
from estimators.core.witness import seen_by
from minimax.core.bound import Point, Prior
from minimax.core.privacy import Privacy
from verify.rates.draws import given
from verify.rates.known_noise import CALLS, NoiseSeen
from verify.rates.known_sampling import sampling_surplus
from verify.seeds import stream, streams

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


class TrialError(RuntimeError):
    """The trial of this number failed, and why."""

    def __init__(self, number: int, why: BaseException) -> None:
        super().__init__(number, why)
        self.number, self.why = number, why


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
    independent all the same, and the mean of all is the risk. Every fit has a stream of its own, so
    that at another point, where data take more or fewer draws, its noise comes from the same ones.
    """
    return losses_with_noise(make, prior, point, trials, seed, first, fits)[:, 0]


def losses_with_noise(
    make: Callable[[Point], BaseEstimator],
    prior: Prior,
    point: Point,
    trials: int,
    seed: int,
    first: int = 0,
    fits: int = 1,
    *,
    paired: bool = False,
) -> NDArray[np.float64]:
    """A row for each trial of `losses`: its loss, how long its noise was (`known_noise`), and how
    large the sampling error of its records (`known_sampling`). `paired`: every second fit has the
    noise of the one before turned round, which leaves the mean as it is if noise is symmetric."""
    out = np.zeros((trials, 1 + CALLS + 1))
    for t, rng in enumerate(streams(seed, first, first + trials)):
        try:
            instance, estimator = prior.draw(rng), make(point)
            arguments = given(estimator, instance, int(point["n"]), rng)
            out[t, -1] = sampling_surplus(instance, arguments)
            noise = NoiseSeen(paired=paired)
            with seen_by(noise) if _adds_noise(estimator) else nullcontext():
                for k in range(fits):
                    noise.begin_fit()
                    if hasattr(estimator, "random_state"):
                        estimator.random_state = stream(seed, first + t, k)
                    out[t, 0] += instance.loss(released(estimator.fit(*arguments))) / fits
            out[t, 1:-1] = noise.surpluses
        except (Exception, SystemExit) as error:  # a user's own code may raise anything, or exit()
            raise TrialError(first + t, error) from error
    return out


def _adds_noise(estimator: BaseEstimator) -> bool:
    """Whether its noise is seen: reports of users would have to be made one by one."""
    return isinstance(_privacy(estimator), Privacy) and not reports_one_by_one(estimator)


def reports_one_by_one(estimator: BaseEstimator) -> bool:
    """Whether each user randomises a record or a label."""
    privacy = _privacy(estimator)
    return isinstance(privacy, Privacy) and privacy.scope != "central"


def _privacy(estimator: BaseEstimator) -> object:
    return getattr(estimator, "privacy", None)


def zero_losses(prior: Prior, trials: int, seed: int) -> NDArray[np.float64]:
    """Losses of releasing 0 in the trials of `losses`, which draw theta first."""
    drawn = [prior.draw(rng) for rng in streams(seed, 0, trials)]
    return np.array([instance.loss(np.zeros_like(instance.target)) for instance in drawn])


def released(estimator: BaseEstimator) -> NDArray[np.float64]:
    """What a fitted estimator gives out: its `mean_` or its `coef_`, flat."""
    release = estimator.coef_ if hasattr(estimator, "coef_") else estimator.mean_
    if np.iscomplexobj(release):
        raise TypeError("it releases complex numbers")
    return np.asarray(release, dtype=float).ravel()


def interval(
    values: NDArray[np.float64], alpha: float, seed: int, least: float = 0.0
) -> Measurement:
    """Mean and two-sided Student interval of level 1 - alpha, of values that are not negative; with
    a half-width of `least` or more."""
    mean, half = float(np.mean(values)), max(student_half_width(values, alpha), least)
    return Measurement(mean, max(mean - half, 0.0), mean + half, len(values), seed)


def correlations(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Of the means of several tasks whose t-th trials share their draws.

    Means over the first n_j and n_k trials, of which m are common, have the correlation
    r m/sqrt(n_j n_k) if the losses of a common trial have r.
    """
    out = np.eye(len(values))
    for j, k in itertools.combinations(range(len(values)), 2):
        common = min(len(values[j]), len(values[k]))
        first, second = (values[place][:common] - values[place][:common].mean() for place in (j, k))
        size = math.sqrt(float(first @ first) * float(second @ second))
        share = common / math.sqrt(len(values[j]) * len(values[k]))
        out[j, k] = out[k, j] = share * float(first @ second) / size if size else 0.0
    return out


def proportion(successes: int, trials: int, alpha: float, seed: int) -> Measurement:
    """The share of trials that succeeded, with its exact interval of level 1 - alpha."""
    return Measurement(successes / trials, *clopper_pearson(successes, trials, alpha), trials, seed)


def exactly(risk: float) -> Measurement:
    """A number known without error."""
    return Measurement(risk, risk, risk, trials=0, seed=0)
